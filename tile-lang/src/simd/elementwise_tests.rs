//! Every element-wise op holds the accuracy of its row against f64, and every level this CPU has gives the bits of the
//! portable level; reductions combine in the order that `tile_ir::ops::reduce` fixes, literally.

use core::mem::MaybeUninit;

use tile_ir::ir::Reduction;
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::types::Along;

use super::map::{self, Right};
use super::tests::{bits, levels};
use super::{Level, level, reduce};

/// Values at which functions break: zeros, infinities, NaN, subnormals, limits of range, thresholds of recipes.
const EDGES: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1.1754942e-38,
    0.5,
    -0.5,
    0.55,
    0.54999995,
    0.70710677,
    std::f32::consts::FRAC_1_SQRT_2,
    0.99999994,
    1.0000001,
    1.5,
    127.0,
    127.99999,
    128.0,
    129.0,
    129.5,
    -126.0,
    -126.5,
    -149.0,
    -149.5,
    -150.0,
    -150.5,
    -151.0,
    -152.0,
    88.0,
    88.72284,
    89.0,
    -87.33655,
    -88.0,
    -103.97,
    -104.0,
    -110.0,
    160.0,
    -160.0,
    1e4,
    -1e4,
    -10000.001,
    1e10,
    -1e10,
    1e20,
    -1e20,
];

/// Edges, a dense sweep where functions are interesting, and a coarse one over all bit patterns.
fn sweep() -> Vec<f32> {
    let dense = (-60_000..60_000).map(|i| i as f32 * 0.002_317);
    let fine = (-20_000..20_000).map(|i| 1.0 + i as f32 * 1.2e-6);
    let all = (0..=u32::MAX).step_by(24_593).map(f32::from_bits);
    EDGES.iter().copied().chain(dense).chain(fine).chain(all).collect()
}

fn exact(op: MapUnary, x: f64) -> f64 {
    match op {
        MapUnary::Abs => x.abs(),
        MapUnary::Neg => -x,
        MapUnary::Relu if x < 0.0 => 0.0,
        MapUnary::Relu => x,
        MapUnary::Exp2 => x.exp2(),
        MapUnary::Exp => x.exp(),
        MapUnary::Log2 => x.log2(),
        MapUnary::Log => x.ln(),
        MapUnary::Sqrt => x.sqrt(),
        MapUnary::Rsqrt => 1.0 / x.sqrt(),
        MapUnary::Recip => 1.0 / x,
        MapUnary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        MapUnary::Silu | MapUnary::Gelu if x == f64::NEG_INFINITY => 0.0,
        MapUnary::Silu => x / (1.0 + (-x).exp()),
        MapUnary::Tanh => x.tanh(),
        MapUnary::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            x / (1.0 + (-2.0 * inner).exp())
        }
    }
}

fn run_unary(level: Level, op: MapUnary, src: &[f32]) -> Vec<f32> {
    let mut out = vec![MaybeUninit::new(7f32); src.len()];
    // SAFETY: the level is available.
    unsafe { (map::bodies(level).unary)(op, src, &mut out) };
    // SAFETY: all were initialised, with 7.
    out.into_iter().map(|v| unsafe { v.assume_init() }).collect()
}

fn run_binary(level: Level, op: MapBinary, src: &[f32], right: Right<'_>) -> Vec<f32> {
    let mut out = vec![MaybeUninit::new(7f32); src.len()];
    // SAFETY: the level is available.
    unsafe { (map::bodies(level).binary)(op, src, right, &mut out) };
    // SAFETY: all were initialised, with 7.
    out.into_iter().map(|v| unsafe { v.assume_init() }).collect()
}

fn run_reduce(
    level: Level,
    how: Reduction,
    along: Along,
    (rows, cols): (usize, usize),
    src: &[f32],
) -> Vec<f32> {
    let mut out = vec![MaybeUninit::new(7f32); if along == Along::Rows { rows } else { cols }];
    // SAFETY: the level is available.
    unsafe { reduce::body(level)(how, along, cols, src, &mut out) };
    // SAFETY: all were initialised, with 7.
    out.into_iter().map(|v| unsafe { v.assume_init() }).collect()
}

/// Equal bits; the payload and sign of a NaN that arithmetic makes are open.
fn same(got: &[f32], want: &[f32], what: impl core::fmt::Debug) {
    assert_eq!(got.len(), want.len(), "{what:?}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!(
            g.to_bits() == w.to_bits() || (g.is_nan() && w.is_nan()),
            "{what:?}, element {i}: {g:e} instead of {w:e}"
        );
    }
}

/// Distance in units of the last place of f32, which no result is below.
fn units(found: f32, want: f64) -> f64 {
    let exponent = want.abs().log2().floor().clamp(-126.0, 127.0);
    (f64::from(found) - want).abs() / 2f64.powf(exponent - 23.0)
}

/// Checks one result by its row: `ulp`, of which 0 means correctly rounded, for results of at least 1e-36.
fn check(name: &str, ulp: u32, input: impl core::fmt::Debug + Copy, found: f32, want: f64) -> f64 {
    let bound = f64::from(ulp).max(0.5);
    if want.is_nan() || found.is_nan() {
        assert!(want.is_nan() && found.is_nan(), "{name}({input:?}) is {found:e} instead of {want:e}");
    } else if want.is_infinite() {
        assert_eq!(f64::from(found), want, "{name}({input:?})");
    } else if want.abs() >= f64::from(f32::MAX) {
        // Rounded up or down at the end of the range.
        let least = f64::from(f32::MAX) - bound * 2f64.powi(104);
        assert!(
            f64::from(found) * want.signum() >= least,
            "{name}({input:?}) is {found:e} instead of {want:e}"
        );
    } else if want.abs() < 1e-36 {
        assert!(f64::from(found.abs()) < 1.001e-36, "{name}({input:?}) is {found:e} instead of {want:e}");
    } else {
        let error = if found.is_infinite() { units(f32::MAX, want) + 1.0 } else { units(found, want) };
        assert!(
            error <= bound,
            "{name}({input:?}) is {found:e}, {error:.2} ulp from {want:e}; bound {bound}"
        );
        return error;
    }
    0.0
}

#[test]
fn unary_ops_hold_their_accuracy() {
    let inputs = sweep();
    for &op in MapUnary::ALL {
        let mut worst = (0.0, 0.0);
        for (&x, &found) in inputs.iter().zip(&run_unary(level(), op, &inputs)) {
            let error = check(op.name(), op.ulp(), x, found, exact(op, x.into()));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        println!("{}: {:.3} ulp at {:e}", op.name(), worst.0, worst.1);
    }
}

#[test]
fn primitives_are_better_than_their_rows() {
    let inputs = sweep();
    for (&x, found) in inputs.iter().zip(run_unary(level(), MapUnary::Exp2, &inputs)) {
        let want = f64::from(x).exp2();
        if want < f64::from(f32::MAX) {
            // Subnormal results count in the same units; nothing is flushed.
            assert!(units(found, want.max(1e-60)) <= 1.02, "exp2({x:e}) is {found:e} instead of {want:e}");
        }
    }
    for (&x, found) in inputs.iter().zip(run_unary(level(), MapUnary::Log2, &inputs)) {
        if x > 0.0 && x.is_finite() && x != 1.0 {
            let want = f64::from(x).log2();
            assert!(units(found, want) <= 1.68, "log2({x:e}) is {found:e} instead of {want:e}");
        }
    }
    let whole: Vec<f32> = (-149..128).map(|i| i as f32).collect();
    for (&x, found) in whole.iter().zip(run_unary(level(), MapUnary::Exp2, &whole)) {
        assert_eq!(f64::from(found), 2f64.powi(x as i32), "exp2({x})");
        assert_eq!(run_unary(level(), MapUnary::Log2, &[found]), [x], "log2({found:e})");
    }
}

#[test]
fn signs_and_zeros_are_exact() {
    for &x in EDGES {
        assert_eq!(run_unary(level(), MapUnary::Abs, &[x])[0].to_bits(), x.to_bits() & 0x7fff_ffff);
        assert_eq!(run_unary(level(), MapUnary::Neg, &[x])[0].to_bits(), x.to_bits() ^ 0x8000_0000);
    }
}

#[test]
fn binary_ops_hold_their_accuracy() {
    let mut inputs: Vec<f32> = bits(4000, 5).into_iter().map(f32::from_bits).collect();
    inputs.extend(EDGES);
    for &op in MapBinary::ALL {
        for &b in EDGES.iter().chain(&[3.0, -0.1, 7.77e8]) {
            for (&a, found) in inputs.iter().zip(run_binary(level(), op, &inputs, Right::PerRow(&[b]))) {
                let (x, y) = (f64::from(a), f64::from(b));
                let want = match op {
                    MapBinary::Add => x + y,
                    MapBinary::Sub => x - y,
                    MapBinary::Mul => x * y,
                    // The reciprocal, which is in f32 alone, may be 0, infinite or subnormal.
                    MapBinary::Div => match 1.0 / b {
                        r if r != 0.0 && !r.is_normal() => x * f64::from(r),
                        0.0 => x * 0.0f64.copysign(y),
                        _ => x / y,
                    },
                    MapBinary::Min => x.min(y),
                    MapBinary::Max => x.max(y),
                };
                // Sums of f32 are rounded twice through f64, which is at most a hair over half a unit.
                match op {
                    MapBinary::Add | MapBinary::Sub | MapBinary::Mul => {
                        same(&[found], &[want as f32], (op, a, b));
                    }
                    MapBinary::Div => {
                        check(op.name(), op.ulp(), (a, b), found, want);
                    }
                    MapBinary::Min | MapBinary::Max => {
                        assert!(found == want as f32 || (found.is_nan() && want.is_nan()), "{op:?} {a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn levels_give_the_same_bits() {
    let inputs = sweep();
    let special: Vec<f32> = bits(4096, 11).into_iter().map(f32::from_bits).collect();
    for level in levels() {
        for &op in MapUnary::ALL {
            same(&run_unary(level, op, &inputs), &run_unary(Level::Portable, op, &inputs), (level, op));
            for len in 0..70 {
                let part = &special[len..2 * len];
                same(&run_unary(level, op, part), &run_unary(Level::Portable, op, part), (level, op, len));
            }
        }
        for &op in MapBinary::ALL {
            for (rows, cols) in [(1, 1), (3, 5), (8, 16), (5, 48), (16, 33), (32, 64), (0, 4), (4, 0)] {
                let (src, values) = (&special[..rows * cols], &special[1000..]);
                for right in [
                    Right::PerRow(&values[..rows]),
                    Right::PerCol(&values[..cols]),
                    Right::PerCol(&values[..rows * cols]),
                ] {
                    let run = |level| run_binary(level, op, src, right);
                    same(&run(level), &run(Level::Portable), (level, op, rows, cols));
                }
            }
        }
    }
}

#[test]
fn right_operands_meet_their_row_and_column() {
    let src: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let by = |right| run_binary(level(), MapBinary::Add, &src, right);
    assert_eq!(by(Right::PerRow(&[10.0, 20.0])), [10.0, 11.0, 12.0, 23.0, 24.0, 25.0]);
    assert_eq!(by(Right::PerCol(&[10.0, 20.0, 30.0])), [10.0, 21.0, 32.0, 13.0, 24.0, 35.0]);
    assert_eq!(by(Right::PerCol(&src)), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(by(Right::PerRow(&[0.5])), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
}

fn combine(how: Reduction, a: f32, b: f32) -> f32 {
    match how {
        Reduction::Sum => a + b,
        Reduction::Prod => a * b,
        Reduction::Max | Reduction::Min if a.is_nan() => b,
        Reduction::Max | Reduction::Min if b.is_nan() => a,
        Reduction::Max => {
            if a > b {
                a
            } else {
                b
            }
        }
        Reduction::Min => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}

/// The header of `tile_ir::ops::reduce`, word by word, for a row of at least 16 columns.
fn row_by_the_text(how: Reduction, row: &[f32]) -> f32 {
    let mut lanes: Vec<f32> = (0..16)
        .map(|l| row[l..].iter().copied().step_by(16).reduce(|a, b| combine(how, a, b)).expect("a column"))
        .collect();
    for half in [8, 4, 2, 1] {
        lanes = (0..half).map(|l| combine(how, lanes[l], lanes[l + half])).collect();
    }
    lanes[0]
}

fn cols_by_the_text(how: Reduction, cols: usize, src: &[f32]) -> Vec<f32> {
    (0..cols)
        .map(|c| src[c..].iter().copied().step_by(cols).reduce(|a, b| combine(how, a, b)).expect("a row"))
        .collect()
}

#[test]
fn reductions_follow_the_text_at_every_level() {
    let special: Vec<f32> = bits(8192, 3).into_iter().map(f32::from_bits).collect();
    let random = |b: u32| (b as i32) as f32 / i32::MAX as f32;
    // Neither sums nor products of these are alike in two orders.
    let plain: Vec<f32> = bits(8192, 4).into_iter().map(random).collect();
    let nans = vec![f32::NAN; 8192];
    for level in levels().into_iter().chain([Level::Portable]) {
        for &how in Reduction::ALL {
            for (rows, cols) in
                [(1, 16), (8, 16), (8, 32), (3, 48), (16, 64), (9, 80), (32, 128), (24, 144), (2, 1024)]
            {
                for data in [&special, &plain, &nans] {
                    let src = &data[..rows * cols];
                    let by_row: Vec<f32> = src.chunks(cols).map(|row| row_by_the_text(how, row)).collect();
                    let what = (level, how, rows, cols);
                    same(&run_reduce(level, how, Along::Rows, (rows, cols), src), &by_row, what);
                    let by_col = cols_by_the_text(how, cols, src);
                    same(&run_reduce(level, how, Along::Cols, (rows, cols), src), &by_col, what);
                }
            }
        }
    }
}

/// Shapes that no device takes still have a meaning on the host: lanes without a column take no part.
#[test]
fn ragged_reductions_are_total() {
    for level in levels().into_iter().chain([Level::Portable]) {
        for &how in Reduction::ALL {
            for cols in 0..40usize {
                let src: Vec<f32> = (0..3 * cols).map(|i| (i % 7) as f32 - 3.0).collect();
                let want: Vec<f32> = (0..3)
                    .map(|r| {
                        let row = src[r * cols..][..cols].iter().copied();
                        row.reduce(|a, b| combine(how, a, b)).unwrap_or(how.neutral())
                    })
                    .collect();
                let by_row = run_reduce(level, how, Along::Rows, (3, cols), &src);
                assert_eq!(by_row, want, "{level:?} {how:?} {cols}");
                let by_col = run_reduce(level, how, Along::Cols, (3, cols), &src);
                assert_eq!(by_col, if cols == 0 { vec![] } else { cols_by_the_text(how, cols, &src) });
            }
            assert_eq!(run_reduce(level, how, Along::Cols, (0, 20), &[]), [how.neutral(); 20]);
        }
    }
}
