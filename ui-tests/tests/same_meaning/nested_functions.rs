//! Device functions that call others: across modules and crates, by several ways, with several values and derived sizes.

use super::{on_both, ones, scalar_of, tensor};
use tile_std::functions::silu_mul_bias;
use tile_std::prelude::*;

mod deep {
    use tile_std::prelude::*;

    /// Private to its module, and reached through a public one.
    #[tile_fn]
    fn rounded(s: f32) -> f32 {
        // The table's `exp2`, not that of Rust's `f32`.
        s.exp2()
    }

    #[tile_fn(fns(rounded))]
    pub fn weight(s: f32, n: u32) -> (f32, u32) {
        if n % 2 == 0 { (rounded(s), n / 2) } else { (rounded(s).recip(), 3 * n + 1) }
    }

    /// Named like a function outside.
    #[tile_fn]
    pub fn step(n: u32) -> u32 {
        n + 100
    }
}

#[tile_fn]
fn step(n: u32) -> u32 {
    n + 1
}

/// Calls one function by two ways, and changes what it is given through two calls.
#[tile_fn(fns(step, self::deep::weight))]
fn walk<const M: usize>(x: &mut rt<f32, M, 16>, mut n: u32, s: f32) -> u32 {
    let mut count = 0u32;
    while n > 1 && count < 12 {
        let (w, next) = deep::weight(s, n);
        *x = x.scale(w);
        n = next;
        count = step(count);
    }
    count
}

#[tile_fn(fns(walk, crate::nested_functions::deep::step))]
fn twice<const M: usize>(x: &mut rt<f32, M, 16>, n: u32) -> u32 {
    let first = walk(x, n, 0.5);
    let second = walk(&mut *x, deep::step(n) % 7, 1.0);
    first * 1000 + second
}

/// The upper half of a row sum, whose size its caller derives too.
#[tile_fn(derive(HALF = M / 2 + (M & 0), TWICE = HALF << 2))]
fn spread<const M: usize, const HALF: usize, const TWICE: usize>(
    x: &rt<f32, M, 16>,
    y: &gl<f32>,
) -> (rt<f32, HALF, 16>, rv<f32, M, PerRow>) {
    let z: rt<f32, HALF, 16> = load(y, [1, 0]);
    (z.scale(TWICE as f32), x.row_sum())
}

#[tile_kernel(
    fns(twice, deep::weight, spread, tile_std::functions::silu_mul_bias),
    derive(H = M / 2, W = H * 4),
    instances(<16; subgroups = (1, 1)>, <32; subgroups = (1, 1)>)
)]
fn everything<const M: usize, const H: usize, const W: usize>(
    y: &mut gl<f32>,
    x: &gl<f32>,
    row: &gl<bf16>,
    n: u32,
) {
    let at = own_tile::<H, 16>(y, Linear);
    let mut a: rt<f32, H, 16> = load(x, [0, 0]);
    let code = twice(&mut a, n);
    let (w, _) = deep::weight(1.0, n);
    let moved: rt<f32, M, 16> = fill(0.25);
    let (z, sums): (rt<f32, H, 16>, rv<f32, M, PerRow>) = spread::<M, H, W>(&moved, x);
    let mut gate: rt<f32, H, 16, Acc> = fill(w);
    let up: rt<f32, H, 16, Acc> = fill(2.0);
    if n == 3 {
        gate = gate.neg();
    }
    let glu = silu_mul_bias(&gate, &up, row, 0);
    let rows: rt<f32, M, 16> = zeros();
    let total = rows.add_row(&sums).col_max();
    store(y, &a.add(&z).add_col(&total).add(&glu).add((code % 4096) as f32), at);
}

#[test]
fn functions_call_functions_of_other_modules_and_crates() {
    fn check<const M: usize>()
    where
        everything::Kernel: everything::Compiled<M>,
    {
        let half = M / 2;
        let x = tensor::<f32>(2 * half, 16, |r, c| ((r * 3 + c) % 11) as f32 - 3.0);
        let row = tensor::<bf16>(1, 11, |_, c| c as f32 / 4.0);
        for n in [0, 1, 2, 3, 6, 7, 27] {
            let [got] = on_both(
                (half, 16),
                |_, _| -77.0,
                |device, [y]| everything::launch::<M>(device, y, &x, &row, n),
            );
            let weight = |s: f32, n: u32| {
                if n.is_multiple_of(2) { (s.exp2(), n / 2) } else { (1.0 / s.exp2(), 3 * n + 1) }
            };
            let walk = |a: &mut f32, mut n: u32, s: f32| {
                let mut count = 0;
                while n > 1 && count < 12 {
                    let (w, next) = weight(s, n);
                    *a *= w;
                    n = next;
                    count += 1;
                }
                count
            };
            for r in 0..half {
                for c in 0..16 {
                    let mut a = x.get(0, 0, r, c).expect("inside");
                    let code = walk(&mut a, n, 0.5) * 1000 + walk(&mut a, (n + 100) % 7, 1.0);
                    let z = x.get(0, 0, half + r, c).expect("inside") * (half * 4) as f32;
                    let w = weight(1.0, n).0;
                    let gate = if n == 3 { -w } else { w } + row.get(0, 0, 0, c).map_or(0.0, bf16::to_f32);
                    let glu = gate / (1.0 + (-gate).exp()) * 2.0;
                    let want = a + z + 4.0 + glu + (code % 4096) as f32;
                    let got = got[r * 16 + c];
                    assert!(
                        (got - want).abs() <= want.abs() * 1e-5 + 1e-4,
                        "M {M}, n {n}: ({r}, {c}) {got} {want}"
                    );
                }
            }
        }
    }
    check::<16>();
    check::<32>();
}

/// Which methods of a function work on scalars does not depend on what its sizes and switches choose.
#[tile_fn]
fn chosen<const M: usize, const FLAG: bool>(s: f32) -> f32 {
    let mut t = s;
    if M > 32 {
        t = t.exp2();
    } else if FLAG {
        t = t.exp();
    }
    match M {
        16 => t = t.recip(),
        64 => t = t.sqrt(),
        _ => t = t.tanh(),
    }
    #[unroll]
    for i in 40..M as u32 {
        t = t.max(i as f32 * 0.001).sqrt();
    }
    t
}

#[tile_kernel(
    fns(chosen),
    instances(<16, true; subgroups = (1, 1)>, <16, false; subgroups = (1, 1)>, <48, true; subgroups = (1, 1)>, <64, false; subgroups = (1, 1)>)
)]
fn choose<const M: usize, const FLAG: bool>(y: &mut gl<f32>, ones: &gl<f32>, s: f32) {
    let at = own_tile::<8, 16>(y, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(y, &one.scale(chosen::<M, FLAG>(s)), at);
}

#[test]
fn methods_on_scalars_are_the_tables_in_every_branch() {
    let ones = ones();
    for s in [0.3f32, 1.7, 5.1, f32::NAN, f32::INFINITY, -0.0] {
        // Host and simulator agree bit for bit, which they would not if one used Rust's functions.
        scalar_of(|device, y| choose::launch::<16, true>(device, y, &ones, s));
        scalar_of(|device, y| choose::launch::<16, false>(device, y, &ones, s));
        scalar_of(|device, y| choose::launch::<48, true>(device, y, &ones, s));
        let got = scalar_of(|device, y| choose::launch::<64, false>(device, y, &ones, s));
        assert!(got.is_nan() || got >= 0.0);
    }
}
