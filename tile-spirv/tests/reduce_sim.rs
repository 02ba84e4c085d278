//! Runs reductions and masks on the simulator and compares with loops over single elements.

mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;

use support::tile;
use tensor::{noise, rounded};
use tile_ir::ir::{OpKind, Reduction};
use tile_ir::types::{Along, DType, Role, ScalarType};
use tile_sim::Arg;
use tiles::{OneTile, same};

fn combine(how: Reduction, a: f32, b: f32) -> f32 {
    match how {
        Reduction::Max => a.max(b),
        Reduction::Min => a.min(b),
        Reduction::Sum => a + b,
        Reduction::Prod => a * b,
    }
}

/// The order that `tile_ir::ops::reduce` writes down.
fn reference(how: Reduction, along: Along, size: (u32, u32), at: &dyn Fn(u32, u32) -> f32) -> Vec<f32> {
    match along {
        Along::Cols => {
            (0..size.1).map(|c| (1..size.0).fold(at(0, c), |sum, r| combine(how, sum, at(r, c)))).collect()
        }
        Along::Rows => (0..size.0)
            .map(|r| {
                let mut lanes: Vec<f32> = (0..16)
                    .map(|l| (1..size.1 / 16).fold(at(r, l), |sum, j| combine(how, sum, at(r, l + 16 * j))))
                    .collect();
                for distance in [8, 4, 2, 1] {
                    lanes = (0..distance).map(|l| combine(how, lanes[l], lanes[l + distance])).collect();
                }
                lanes[0]
            })
            .collect(),
    }
}

/// Noise with a few NaN and infinities: all of row and column 1 is NaN; row and column 2 has one NaN; 3 one infinity.
fn element(dtype: DType, row: u32, col: u32) -> f32 {
    let value = match (row, col) {
        (1, _) | (_, 1) => f32::NAN,
        (2, 5) | (6, 2) => f32::NAN,
        (3, 9) => f32::INFINITY,
        (7, 3) => f32::NEG_INFINITY,
        _ => noise(21, 0, row, col) + 2.5,
    };
    rounded(dtype, value)
}

const SIZES: [(u32, u32); 6] = [(8, 16), (16, 16), (8, 128), (24, 48), (32, 32), (40, 16)];

#[test]
fn every_reduction_of_every_tile() {
    let mut nans = 0;
    for &how in Reduction::ALL {
        for &along in Along::ALL {
            for size in SIZES {
                for (dtype, role) in
                    [(DType::F32, Role::Acc), (DType::Bf16, Role::Row), (DType::F16, Role::Row)]
                {
                    for running in [false, true] {
                        let mut t = OneTile::new(DType::F32, size);
                        let x = t.tile(dtype, role);
                        let before = running.then(|| t.vector(DType::F32, along));
                        let r = t.b.reduce(how, along, x, before);
                        let earlier = |i: u32| if i == 4 { f32::NAN } else { noise(4, 4, 0, i) * 2.0 };
                        let f = |i: usize, r: u32, c: u32| {
                            if i == 0 { element(dtype, r, c) } else { earlier(c) }
                        };
                        let inputs = [None, Some(along)];
                        let got = t.finish(r).run_fitting(&inputs[..if running { 2 } else { 1 }], &f, &[]);
                        let mut want = reference(how, along, size, &|r, c| element(dtype, r, c));
                        if running {
                            for (i, v) in want.iter_mut().enumerate() {
                                *v = combine(how, earlier(i as u32), *v);
                            }
                        }
                        for r in 0..size.0 {
                            for c in 0..size.1 {
                                let want = want[if along == Along::Rows { r } else { c } as usize];
                                let got = got[(r * size.1 + c) as usize];
                                nans += u32::from(want.is_nan());
                                assert!(
                                    same(got, want),
                                    "{how:?} {along:?} {size:?} {dtype} running {running} ({r}, {c}): {got}, not {want}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(nans > 1000, "{nans} results are NaN");
}

const TYPES: [(DType, Role); 3] =
    [(DType::F32, Role::Acc), (DType::Bf16, Role::Row), (DType::F16, Role::Row)];

/// Compares a masked tile with `keeps`; what stays keeps its bits, NaN included.
fn check_mask(
    name: &str,
    dtype: DType,
    size: (u32, u32),
    fill: f32,
    got: &[f32],
    keeps: &dyn Fn(u32, u32) -> bool,
) {
    for r in 0..size.0 {
        for c in 0..size.1 {
            let want = if keeps(r, c) { element(dtype, r, c) } else { rounded(dtype, fill) };
            let got = got[(r * size.1 + c) as usize];
            assert!(same(got, want), "{name} {dtype} ({r}, {c}): {got}, not {want}");
        }
    }
}

#[test]
fn columns_and_rows_beyond_an_index_are_replaced() {
    let size = (24, 48);
    for (dtype, role) in TYPES {
        for &along in Along::ALL {
            let mut t = OneTile::new(dtype, size);
            let x = t.tile(dtype, role);
            let (keep, fill) = (t.u32_scalar(), t.scalar(ScalarType::F32));
            let y =
                t.b.one(OpKind::KeepFirst { tile: x, along, keep, fill }, tile(dtype, size.0, size.1, role));
            let ran = t.finish(y);
            for keep in [0, 1, 7, 8, 15, 16, 17, 23, 24, 25, 47, 48, 49, 1 << 31, u32::MAX] {
                for fill in [f32::NEG_INFINITY, 1.0 / 3.0, f32::NAN] {
                    let f = |_: usize, r: u32, c: u32| element(dtype, r, c);
                    let got = ran.run_fitting(&[None], &f, &[Arg::U32(keep), Arg::F32(fill)]);
                    let keeps = |r, c| if along == Along::Rows { r < keep } else { c < keep };
                    check_mask(&format!("keep {along:?} {keep}"), dtype, size, fill, &got, &keeps);
                }
            }
        }
    }
}

#[test]
fn triangles_compare_indices_that_do_not_wrap() {
    let size = (24, 48);
    for (dtype, role) in TYPES {
        for lower in [true, false] {
            let mut t = OneTile::new(dtype, size);
            let x = t.tile(dtype, role);
            let (row_start, col_start, fill) = (t.u32_scalar(), t.u32_scalar(), t.scalar(ScalarType::F32));
            let kind = OpKind::Triangle { tile: x, lower, row_start, col_start, fill };
            let y = t.b.one(kind, tile(dtype, size.0, size.1, role));
            let ran = t.finish(y);
            let max = u32::MAX;
            for (row, col) in [
                (0, 0),
                (0, 16),
                (16, 0),
                (100, 87),
                (87, 100),
                (3, 26),
                (47, 0),
                (0, 23),
                (0, 24),
                (48, 0),
                (0, max),
                (max, 0),
                (max, max),
                (max, max - 20),
                (max - 20, max),
                (1 << 31, 0),
                (0, 1 << 31),
                (1 << 31, (1 << 31) + 5),
                ((1 << 30) + 8, 0),
                (0, (1 << 30) + 8),
            ] {
                let f = |_: usize, r: u32, c: u32| element(dtype, r, c);
                let args = [Arg::U32(row), Arg::U32(col), Arg::F32(-7.0)];
                let got = ran.run_fitting(&[None], &f, &args);
                let keeps = |r: u32, c: u32| {
                    let (r, c) = (u64::from(row) + u64::from(r), u64::from(col) + u64::from(c));
                    if lower { c <= r } else { c >= r }
                };
                check_mask(&format!("lower {lower} {row} {col}"), dtype, size, -7.0, &got, &keeps);
            }
        }
    }
}

/// The fused softmax over several tiles of rows, with columns that the tile exceeds and NaN around them.
#[test]
fn a_fused_softmax_of_ragged_rows() {
    use tensor::{Ready, Shape, Tensor, launch};
    for (dtype, allowed) in [(DType::F32, 1e-6), (DType::Bf16, 4e-3), (DType::F16, 1e-3)] {
        let kernel = support::softmax(dtype, (16, 128));
        let ready = Ready::new(&tile_spirv::lower(&kernel).expect("lowers")[0]);
        for (rows, cols) in [(16, 128), (37, 128), (16, 1), (9, 99), (150, 33), (1, 64)] {
            let mut memory = tile_sim::Memory::new();
            let at = |r: u32, c: u32| rounded(dtype, noise(17, 0, r, c) * 4.0);
            let out = Tensor::map(&mut memory, dtype, Shape::plain(rows, cols), None);
            let input = Tensor::map(&mut memory, dtype, Shape::plain(rows, cols), Some(&|_, r, c| at(r, c)));
            let args = [out.args(), input.args()].concat();
            launch(&ready, &mut memory, &out, (16, 128), (8, 1), &args).expect("runs");
            let got = out.read(&memory);
            for r in 0..rows {
                let sum: f64 = (0..cols).map(|c| f64::from(at(r, c)).exp()).sum();
                for c in 0..cols {
                    let want = f64::from(at(r, c)).exp() / sum;
                    let got = f64::from(got[(r * cols + c) as usize]);
                    assert!(
                        (got - want).abs() <= allowed,
                        "{dtype} {rows}x{cols} ({r}, {c}): {got}, not {want}"
                    );
                }
            }
        }
    }
}
