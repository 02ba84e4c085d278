//! Vectors, element-wise ops, reductions, masks and loops through the attribute, rustc, the lowering and the
//! simulator: host == simulator == a plain loop.

mod reference;

use reference::Rng;
use tile_std::prelude::*;

fn matrix<T: Element>(rows: usize, cols: usize, seed: u64) -> Tensor<T> {
    let mut rng = Rng(seed);
    let mut t = Tensor::from_fn([1, 1, rows, cols], |_, _, _, _| T::from_f32(rng.value())).expect("small");
    t.fill_padding(T::from_f32(f32::NAN));
    t
}

fn at<T: Element>(t: &Tensor<T>, r: usize, c: usize) -> f64 {
    f64::from(t.get(0, 0, r, c).expect("inside").to_f32())
}

fn close(what: &str, found: f64, want: f64, tolerance: f64) {
    let fits = (found - want).abs() <= tolerance * want.abs().max(1.0)
        || (found.is_nan() && want.is_nan())
        || found == want;
    assert!(fits, "{what}: {found}, not {want}");
}

/// Row softmax of a matrix of up to `N` columns: the maximum is taken out, columns past the edge do not count.
#[tile_kernel(instances(
    <bf16, 8, 64; subgroups = (4, 1)>,
    <f16, 16, 128; subgroups = (2, 1)>,
    <f32, 8, 32; subgroups = (1, 1)>,
))]
fn softmax<T: Element, const M: usize, const N: usize>(y: &mut gl<T>, x: &gl<T>) {
    let own = own_tile::<M, N>(y, Linear);
    if own.outside() {
        return;
    }
    let raw: rt<T, M, N> = load(x, [own.row(), 0]);
    let logits = raw.to::<f32>().scale(1.442695).keep_cols(x.cols(), -3.0e38);
    let shifted = logits.sub_row(&logits.row_max()).exp2();
    let out = shifted.div_row(&shifted.row_sum());
    store(y, &out.to::<T>(), own);
}

#[test]
fn softmax_agrees_with_f64_on_ragged_rows() {
    fn check<T: Element, const M: usize, const N: usize>(cols: usize, device: &Device) -> Vec<f64>
    where
        softmax::Kernel: softmax::Compiled<T, M, N>,
    {
        let x = matrix::<T>(37, cols, 11);
        let mut y = Tensor::<T>::zeros(37, cols).expect("small");
        softmax::launch::<T, M, N>(device, &mut y, &x).unwrap_or_else(|e| panic!("{e}"));
        let mut all = vec![];
        for r in 0..37 {
            let exps: Vec<f64> = (0..cols).map(|c| at(&x, r, c).exp()).collect();
            let sum: f64 = exps.iter().sum();
            for (c, e) in exps.iter().enumerate() {
                close(&format!("{} row {r} col {c} of {cols}", device.name()), at(&y, r, c), e / sum, 5e-3);
                all.push(at(&y, r, c));
            }
        }
        all
    }
    for device in [Device::host(), Device::sim()] {
        for cols in [1, 7, 16, 31, 33, 63, 64] {
            check::<bf16, 8, 64>(cols, &device);
            check::<f16, 16, 128>(cols * 2, &device);
        }
        for cols in [1, 5, 16, 32] {
            check::<f32, 8, 32>(cols, &device);
        }
    }
}

/// RMS norm of rows of any width, in steps of `N` columns.
#[tile_kernel(instances(<bf16, 8, 32; subgroups = (4, 1)>, <f32, 8, 16; subgroups = (2, 2)>))]
fn rms<T: Element, const M: usize, const N: usize>(y: &mut gl<T>, x: &gl<T>, weight: &gl<T>, eps: f32) {
    let own = own_tile::<M, N>(y, Linear);
    let mut squares: rv<f32, M, PerRow> = zeros();
    for k in 0..x.col_tiles(N) {
        let part: rt<T, M, N> = load(x, [own.row(), k]);
        let wide = part.to::<f32>();
        squares = wide.mul(&wide).row_sum_with(&squares);
    }
    let inverse = squares.scale(1.0 / x.cols() as f32).add(eps).rsqrt();
    let part: rt<T, M, N> = load(x, [own.row(), own.col()]);
    let w: rv<T, N, PerCol> = load_vec(weight, [0, own.col()]);
    let out = part.to::<f32>().mul_row(&inverse).mul_col(&w.to::<f32>());
    store(y, &out.to::<T>(), own);
}

#[test]
fn rms_norm_agrees_with_f64() {
    fn check<T: Element, const M: usize, const N: usize>(device: &Device, cols: usize, tolerance: f64)
    where
        rms::Kernel: rms::Compiled<T, M, N>,
    {
        let (x, w) = (matrix::<T>(19, cols, 5), matrix::<T>(1, cols, 6));
        let mut y = Tensor::<T>::zeros(19, cols).expect("small");
        rms::launch::<T, M, N>(device, &mut y, &x, &w, 1e-5).unwrap_or_else(|e| panic!("{e}"));
        for r in 0..19 {
            let mean = (0..cols).map(|c| at(&x, r, c).powi(2)).sum::<f64>() / cols as f64;
            for c in 0..cols {
                let want = at(&x, r, c) / (mean + 1e-5).sqrt() * at(&w, 0, c);
                close(&format!("{} {r} {c} of {cols}", device.name()), at(&y, r, c), want, tolerance);
            }
        }
    }
    for device in [Device::host(), Device::sim()] {
        for cols in [1, 16, 33, 100] {
            check::<bf16, 8, 32>(&device, cols, 1e-2);
            check::<f32, 8, 16>(&device, cols, 1e-5);
        }
    }
}

/// Each element-wise op in a column block of its own would hide mistakes; so one op per launch, chosen by `op`.
#[tile_kernel(instances(<f32; subgroups = (1, 1)>, <bf16; subgroups = (1, 1)>, <f16; subgroups = (1, 1)>))]
fn maps<T: Element>(y: &mut gl<T>, x: &gl<T>, z: &gl<T>, op: u32, s: f32) {
    let own = own_tile::<8, 16>(y, Linear);
    let a: rt<T, 8, 16> = load(x, own);
    let b: rt<T, 8, 16> = load(z, own);
    let mut r: rt<T, 8, 16> = zeros();
    if op == 0 {
        r = a.abs();
    }
    if op == 1 {
        r = a.neg();
    }
    if op == 2 {
        r = a.relu();
    }
    if op == 3 {
        r = a.exp2();
    }
    if op == 4 {
        r = a.exp();
    }
    if op == 5 {
        r = a.log2();
    }
    if op == 6 {
        r = a.log();
    }
    if op == 7 {
        r = a.sqrt();
    }
    if op == 8 {
        r = a.rsqrt();
    }
    if op == 9 {
        r = a.recip();
    }
    if op == 10 {
        r = a.sigmoid();
    }
    if op == 11 {
        r = a.silu();
    }
    if op == 12 {
        r = a.tanh();
    }
    if op == 13 {
        r = a.gelu();
    }
    if op == 14 {
        r = a.add(&b);
    }
    if op == 15 {
        r = a.sub(&b);
    }
    if op == 16 {
        r = a.mul(&b);
    }
    if op == 17 {
        r = a.div(&b);
    }
    if op == 18 {
        r = a.min(&b);
    }
    if op == 19 {
        r = a.max(&b);
    }
    if op == 20 {
        r = a.add(s);
    }
    if op == 21 {
        r = a.sub(s);
    }
    if op == 22 {
        r = a.mul(s);
    }
    if op == 23 {
        r = a.div(s);
    }
    if op == 24 {
        r = a.min(s);
    }
    if op == 25 {
        r = a.max(s);
    }
    if op == 26 {
        r = a.add_row(&b.row_max());
    }
    if op == 27 {
        r = a.sub_col(&b.col_sum());
    }
    if op == 28 {
        r = a.mul_row(&b.row_min_with(&a.row_prod()));
    }
    if op == 29 {
        r = a.tril(1, 3, -7.0);
    }
    if op == 30 {
        r = a.triu(2, 0, 7.0);
    }
    if op == 31 {
        r = a.keep_cols(5, 0.5);
    }
    if op == 32 {
        r = a.keep_rows(3, 0.25);
    }
    store(y, &r, own);
}

const EDGE: [f32; 12] =
    [0.0, -0.0, 1.0, -1.0, 0.5, -2.75, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-30, 80.0, -90.0];

fn expected(
    op: u32,
    a: &dyn Fn(usize, usize) -> f64,
    b: &dyn Fn(usize, usize) -> f64,
    r: usize,
    c: usize,
    s: f64,
) -> f64 {
    let x = a(r, c);
    let y = b(r, c);
    let number_min = |p: f64, q: f64| p.min(q);
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    match op {
        0 => x.abs(),
        1 => -x,
        2 => {
            if x > 0.0 || x.is_nan() {
                x
            } else {
                0.0
            }
        }
        3 => x.exp2(),
        4 => x.exp(),
        5 => x.log2(),
        6 => x.ln(),
        7 => x.sqrt(),
        8 => 1.0 / x.sqrt(),
        9 => 1.0 / x,
        10 => 1.0 / (1.0 + (-x).exp()),
        11 => {
            if x == f64::NEG_INFINITY {
                0.0
            } else {
                x / (1.0 + (-x).exp())
            }
        }
        12 => x.tanh(),
        13 => {
            if x == f64::NEG_INFINITY {
                0.0
            } else {
                x / (1.0 + (-2.0 * inner).exp())
            }
        }
        14 => x + y,
        15 => x - y,
        16 => x * y,
        17 => x / y,
        18 => number_min(x, y),
        19 => x.max(y),
        20 => x + s,
        21 => x - s,
        22 => x * s,
        23 => x / s,
        24 => number_min(x, s),
        25 => x.max(s),
        26 => x + (0..16).map(|j| b(r, j)).fold(f64::NAN, f64::max),
        27 => x - (0..8).map(|i| b(i, c)).sum::<f64>(),
        28 => {
            x * number_min(
                (0..16).map(|j| a(r, j)).product(),
                (0..16).map(|j| b(r, j)).fold(f64::NAN, f64::min),
            )
        }
        29 => {
            if 3 + c <= 1 + r {
                x
            } else {
                -7.0
            }
        }
        30 => {
            if c >= 2 + r {
                x
            } else {
                7.0
            }
        }
        31 => {
            if c < 5 {
                x
            } else {
                0.5
            }
        }
        32 => {
            if r < 3 {
                x
            } else {
                0.25
            }
        }
        _ => unreachable!("33 ops"),
    }
}

fn check_maps<T: Element>(unit: f64)
where
    maps::Kernel: maps::Compiled<T>,
{
    let mut rng = Rng(99);
    let edges = |r: usize, c: usize| (r < 2).then(|| EDGE[(r * 16 + c) % EDGE.len()]);
    let mut values = |positive: bool| {
        Tensor::from_fn([1, 1, 8, 16], |_, _, r, c| {
            let v = edges(r, c).unwrap_or_else(|| rng.value());
            T::from_f32(if positive { v.abs() + 0.125 } else { v })
        })
        .expect("small")
    };
    let (x, z, p) = (values(false), values(false), values(true));
    let mut executed = 0;
    for op in 0..33 {
        let x = if matches!(op, 5..=8) { &p } else { &x };
        let s = 1.75f32;
        let run = |device: &Device| {
            let mut y = Tensor::<T>::zeros(8, 16).expect("small");
            maps::launch::<T>(device, &mut y, x, &z, op, s).unwrap_or_else(|e| panic!("op {op}: {e}"));
            y
        };
        let (host, sim) = (run(&Device::host()), run(&Device::sim()));
        for (r, c) in (0..8).flat_map(|r| (0..16).map(move |c| (r, c))) {
            let want = expected(op, &|i, j| at(x, i, j), &|i, j| at(&z, i, j), r, c, f64::from(s));
            // What does not fit the element type becomes infinite or flushes to 0.
            let want = f64::from(T::from_f32(want as f32).to_f32());
            for (device, y) in [("host", &host), ("sim", &sim)] {
                let found = at(y, r, c);
                let tolerance = unit * if want.abs() < 1e-20 { 1e-20 } else { 1.0 };
                close(
                    &format!("{} op {op} on {device} at {r}, {c} of {}", T::NAME, at(x, r, c)),
                    found,
                    want,
                    tolerance,
                );
            }
        }
        executed += 1;
    }
    println!("{}: {executed} ops on host and simulator", T::NAME);
}

#[test]
fn every_map_reduction_and_mask_agrees_on_edge_values() {
    check_maps::<f32>(4e-5);
    check_maps::<f16>(2e-3);
    check_maps::<bf16>(1.6e-2);
}

/// Collatz steps of a scalar, by `while` with `break` and `continue`; a tile is carried through.
#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn walks<const M: usize>(y: &mut gl<f32>, x: &gl<f32>, start: u32, most: u32) {
    let own = own_tile::<M, 16>(y, Linear);
    let mut acc: rt<f32, M, 16> = load(x, own);
    let mut n = start;
    let mut steps = 0u32;
    while n != 1 {
        steps += 1;
        if steps > most {
            break;
        }
        if n % 2 == 0 {
            n = n / 2;
            continue;
        }
        n = 3 * n + 1;
        acc = acc.add(1.0);
    }
    for k in 0..100u32 {
        if k >= steps {
            break;
        }
        acc = acc.scale(0.5).add_col(&acc.col_max());
    }
    let first = load_scalar(x, [3, 5]);
    store(y, &acc.add(first), own);
}

#[test]
fn loops_leave_early_alike() {
    let x = matrix::<f32>(16, 16, 8);
    for (start, most) in [(1, 10), (7, 100), (27, 5), (6, 3), (97, 1000)] {
        let run = |device: &Device| {
            let mut y = Tensor::<f32>::zeros(16, 16).expect("small");
            walks::launch::<16>(device, &mut y, &x, start, most).unwrap_or_else(|e| panic!("{e}"));
            y.to_vec()
        };
        let (host, sim) = (run(&Device::host()), run(&Device::sim()));
        assert!(
            host.iter().zip(&sim).all(|(h, s)| h.to_bits() == s.to_bits()),
            "{start} {most}: {host:?} {sim:?}"
        );
        let mut acc: Vec<f32> = x.to_vec();
        let (mut n, mut steps) = (start, 0);
        while n != 1 {
            steps += 1;
            if steps > most {
                break;
            }
            if n % 2 == 0 {
                n /= 2;
                continue;
            }
            n = 3 * n + 1;
            acc.iter_mut().for_each(|v| *v += 1.0);
        }
        for _ in 0..steps.min(100) {
            let top: Vec<f32> =
                (0..16).map(|c| (0..16).map(|r| acc[r * 16 + c]).fold(f32::NAN, f32::max)).collect();
            acc.iter_mut().enumerate().for_each(|(i, v)| *v = *v * 0.5 + top[i % 16]);
        }
        let first = x.get(0, 0, 3, 5).expect("inside");
        assert!(acc.iter().zip(&host).all(|(w, h)| (w + first).to_bits() == h.to_bits()), "{start} {most}");
    }
}

/// Multiplies into an accumulator that the kernel owns, and gives the sum of its rows.
#[tile_fn]
fn accumulate<A: MmaInput, const M: usize, const N: usize, const K: usize>(
    acc: &mut rt<f32, M, N, Acc>,
    x: &rt<A, M, K>,
    b: &gl<A>,
    k: u32,
    gain: f32,
) -> rv<f32, M, PerRow> {
    let y: rt<A, K, N, Vnni> = load_transform(b, [k, 0]);
    mma_AB(acc, x, &y);
    *acc = acc.scale(gain.exp2());
    acc.row_sum()
}

mod elsewhere {
    use tile_std::prelude::*;

    /// A function of another module, with a switch.
    #[tile_fn]
    pub(super) fn finish<const M: usize, const N: usize, const SQUARE: bool>(
        mut acc: rt<f32, M, N, Acc>,
        sums: &rv<f32, M, PerRow>,
    ) -> rt<f32, M, N, Acc> {
        if SQUARE {
            acc = acc.mul(&acc);
        }
        acc.add_row(sums)
    }
}

#[tile_kernel(fns(accumulate, elsewhere::finish), instances(<bf16, 16, 32, 16; subgroups = (1, 1)>))]
fn with_functions<A: MmaInput, const M: usize, const N: usize, const K: usize>(
    c: &mut gl<f32>,
    a: &gl<A>,
    b: &gl<A>,
) {
    let at = own_tile::<M, N>(c, Linear);
    let mut acc: rt<f32, M, N, Acc> = zeros();
    let mut sums: rv<f32, M, PerRow> = zeros();
    for k in 0..a.col_tiles(K) {
        let x: rt<A, M, K> = load(a, [at.row(), k]);
        sums = accumulate(&mut acc, &x, b, k, 1.0).max(&sums);
    }
    store(c, &elsewhere::finish::<M, N, true>(acc, &sums), at);
}

#[test]
fn device_functions_mean_the_same_everywhere() {
    let (a, b) = (matrix::<bf16>(11, 40, 1), matrix::<bf16>(40, 30, 2));
    let run = |device: &Device| {
        let mut c = Tensor::<f32>::zeros(11, 30).expect("small");
        with_functions::launch::<bf16, 16, 32, 16>(device, &mut c, &a, &b).unwrap_or_else(|e| panic!("{e}"));
        c
    };
    let (host, sim) = (run(&Device::host()), run(&Device::sim()));
    let mut acc = vec![0.0f64; 11 * 30];
    let mut sums = [0.0f64; 11];
    for k in 0..3 {
        for (i, v) in acc.iter_mut().enumerate() {
            let (r, c) = (i / 30, i % 30);
            *v = 2.0
                * (*v + (k * 16..(k * 16 + 16).min(40)).map(|s| at(&a, r, s) * at(&b, s, c)).sum::<f64>());
        }
        for (r, s) in sums.iter_mut().enumerate() {
            *s = s.max(acc[r * 30..][..30].iter().sum());
        }
    }
    for (i, v) in acc.iter().enumerate() {
        let (r, c) = (i / 30, i % 30);
        let want = v * v + sums[r];
        close(&format!("host {r} {c}"), at(&host, r, c), want, 1e-4);
        close(&format!("sim {r} {c}"), at(&sim, r, c), want, 1e-4);
    }
}
