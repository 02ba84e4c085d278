//! Runs the words of the GEMM on the simulator and compares with an f64 reference, at edges above all.

mod support;
#[path = "support/tensor.rs"]
mod tensor;

use support::Gemm;
use tensor::{Ready, Shape, Tensor, launch, launch_with, noise, rounded};
use tile_ir::types::DType;
use tile_sim::{Arg, Memory};

/// A problem to run a GEMM on.
#[derive(Clone, Copy, Debug)]
struct Problem {
    m: u32,
    n: u32,
    k: u32,
    batch: u32,
    depth: u32,
    x0: [u32; 3],
    extra_pitch: u32,
    broadcast_b: bool,
    /// B has one batch less than A and C; the missing one is zeros.
    short_b: bool,
}

impl Problem {
    fn plain(m: u32, n: u32, k: u32) -> Problem {
        Problem {
            m,
            n,
            k,
            batch: 1,
            depth: 1,
            x0: [0; 3],
            extra_pitch: 0,
            broadcast_b: false,
            short_b: false,
        }
    }
}

fn half_ulp(dtype: DType, v: f64) -> f64 {
    let fraction = match dtype {
        DType::Bf16 => 7,
        DType::F16 => 10,
        DType::F32 => 23,
        DType::I8 | DType::U8 | DType::I32 | DType::Tf32 | DType::Bool => {
            unreachable!("operands of these products are bf16 and f16")
        }
    };
    let least = match dtype {
        DType::F16 => -14,
        DType::Bf16 | DType::F32 => -126,
        DType::I8 | DType::U8 | DType::I32 | DType::Tf32 | DType::Bool => {
            unreachable!("operands of these products are bf16 and f16")
        }
    };
    let exponent = (v.abs().log2().floor() as i32).max(least);
    0.5 * 2f64.powi(exponent - fraction)
}

fn run(gemm: Gemm, module: &Ready, p: Problem) {
    let mut memory = Memory::new();
    let shape = |rows, cols, x0, broadcast| Shape {
        batch: p.batch,
        depth: p.depth,
        rows,
        cols,
        x0,
        extra_pitch: p.extra_pitch,
        broadcast,
    };
    let plane_of = |plane: u32, broadcast: bool| if broadcast { 0 } else { plane };
    let fill = |seed: u32, rows: u32, cols: u32| -> Vec<f32> {
        let planes = p.batch * p.depth;
        let mut out = Vec::with_capacity((planes * rows * cols) as usize);
        for plane in 0..planes {
            for row in 0..rows {
                out.extend((0..cols).map(|col| rounded(gemm.input, noise(seed, plane, row, col))));
            }
        }
        out
    };
    let (a_values, b_values) = (fill(1, p.m, p.k), fill(2, p.k, p.n));
    let a_at = |plane: u32, i: u32, k: u32| a_values[((plane * p.m + i) * p.k + k) as usize];
    let b_at = |plane: u32, k: u32, j: u32| b_values[((plane * p.k + k) * p.n + j) as usize];
    let c = Tensor::map(&mut memory, gemm.output, shape(p.m, p.n, p.x0[0], false), None);
    let a = Tensor::map(&mut memory, gemm.input, shape(p.m, p.k, p.x0[1], false), Some(&a_at));
    let b_rows_cols = if gemm.trans_b { (p.n, p.k) } else { (p.k, p.n) };
    let b = Tensor::map(
        &mut memory,
        gemm.input,
        Shape {
            batch: p.batch - u32::from(p.short_b),
            ..shape(b_rows_cols.0, b_rows_cols.1, p.x0[2], p.broadcast_b)
        },
        Some(&|plane, r, s| if gemm.trans_b { b_at(plane, s, r) } else { b_at(plane, r, s) }),
    );
    let mut args = c.args();
    args.extend(a.args());
    args.extend(b.args());
    args.push(Arg::U32(3));
    launch(module, &mut memory, &c, (gemm.tile.0, gemm.tile.1), gemm.subgroups, &args)
        .unwrap_or_else(|e| panic!("{p:?}: {e}"));
    a.read(&memory);
    let got = c.read(&memory);
    let mut at = got.iter();
    for plane in 0..p.batch * p.depth {
        for i in 0..p.m {
            for j in 0..p.n {
                let (mut sum, mut size) = (0f64, 0f64);
                let missing = p.short_b && plane >= (p.batch - 1) * p.depth;
                for k in 0..if missing { 0 } else { p.k } {
                    let x =
                        f64::from(a_at(plane, i, k)) * f64::from(b_at(plane_of(plane, p.broadcast_b), k, j));
                    sum += x;
                    size += x.abs();
                }
                let got = f64::from(*at.next().expect("one value per element"));
                let allowed = half_ulp(gemm.output, sum) + f64::from(p.k) * 2f64.powi(-24) * size + 1e-30;
                assert!(
                    (got - sum).abs() <= allowed,
                    "{p:?} plane {plane} ({i}, {j}): {got} instead of {sum}, allowed {allowed:e}"
                );
            }
        }
    }
}

fn lowered(gemm: Gemm) -> Ready {
    Ready::new(&tile_spirv::lower(&gemm.build()).expect("the GEMM lowers")[0])
}

/// A small instance, so that few elements cover every path.
const SMALL: Gemm = Gemm {
    input: DType::Bf16,
    output: DType::F32,
    tile: (16, 32, 32),
    subgroups: (2, 2),
    trans_b: false,
    prefetch: true,
};

const SIZES: [u32; 8] = [1, 7, 16, 17, 31, 33, 64, 100];

fn ragged(gemm: Gemm) {
    let module = lowered(gemm);
    let mut ran = 0;
    for (i, &m) in SIZES.iter().enumerate() {
        for &n in &SIZES {
            // Every pair of sizes in (m, n), (m, k) and (n, k) without the full cube.
            for k in [SIZES[i], SIZES[(i + n as usize) % SIZES.len()], 0] {
                run(gemm, &module, Problem::plain(m, n, k));
                ran += 1;
            }
        }
    }
    assert_eq!(ran, 192);
}

#[test]
fn ragged_sizes_bf16_to_f32() {
    ragged(SMALL);
}

#[test]
fn ragged_sizes_bf16_to_bf16() {
    ragged(Gemm { output: DType::Bf16, ..SMALL });
}

#[test]
fn ragged_sizes_f16_to_f16() {
    ragged(Gemm { input: DType::F16, output: DType::F16, ..SMALL });
}

#[test]
fn ragged_sizes_of_a_transposed_operand() {
    ragged(Gemm { trans_b: true, ..SMALL });
    ragged(Gemm { trans_b: true, input: DType::F16, output: DType::Bf16, ..SMALL });
}

#[test]
fn views_batches_and_pitches() {
    for trans_b in [false, true] {
        for output in [DType::F32, DType::Bf16] {
            let gemm = Gemm { trans_b, output, ..SMALL };
            let module = lowered(gemm);
            for (m, n, k) in [(33, 35, 37), (16, 32, 64), (17, 5, 3), (40, 65, 31), (20, 129, 200)] {
                for x0 in [[0, 0, 0], [2, 2, 2], [4, 30, 14], [8, 8, 8]] {
                    for broadcast_b in [false, true] {
                        run(
                            gemm,
                            &module,
                            Problem {
                                batch: 2,
                                depth: 3,
                                x0,
                                extra_pitch: 24,
                                broadcast_b,
                                ..Problem::plain(m, n, k)
                            },
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_plane_that_an_input_lacks_is_zeros() {
    for trans_b in [false, true] {
        let gemm = Gemm { trans_b, ..SMALL };
        let module = lowered(gemm);
        for (m, n, k) in [(33, 35, 37), (16, 32, 64)] {
            run(gemm, &module, Problem { batch: 2, depth: 2, short_b: true, ..Problem::plain(m, n, k) });
        }
    }
}

#[test]
fn the_main_instance() {
    for gemm in [
        Gemm::MAIN,
        Gemm { prefetch: false, ..Gemm::MAIN },
        Gemm { trans_b: true, ..Gemm::MAIN },
        Gemm { output: DType::Bf16, input: DType::F16, ..Gemm::MAIN },
    ] {
        let module = lowered(gemm);
        for (m, n, k) in [(256, 256, 96), (257, 301, 33), (31, 63, 95)] {
            run(gemm, &module, Problem::plain(m, n, k));
        }
    }
}

/// The paper's accounting: with shared prefetches a 256 x 256 x 32 work-group fetches 32 KiB per step, every byte once.
#[test]
fn the_main_instance_prefetches_every_byte_once() {
    let ready = lowered(Gemm::MAIN);
    let mut memory = Memory::new();
    let zero = |_: u32, _: u32, _: u32| 0.0;
    let c = Tensor::map(&mut memory, DType::F32, Shape::plain(256, 256), None);
    let a = Tensor::map(&mut memory, DType::Bf16, Shape::plain(256, 32), Some(&zero));
    let b = Tensor::map(&mut memory, DType::Bf16, Shape::plain(32, 256), Some(&zero));
    let args: Vec<Arg> = [&c, &a, &b].iter().flat_map(|t| t.args()).chain([Arg::U32(0)]).collect();
    let options = tile_sim::Options { traffic: true, ..Default::default() };
    let ran = launch_with(&ready, &mut memory, &c, (32, 64), (8, 4), &args, &options).expect("runs");
    assert_eq!(ran.bytes_prefetched, 32 * 1024);
    assert_eq!(ran.block_prefetches, 64, "two small messages per sub-group");
    assert!(ran.traffic.as_ref().expect("asked for").prefetched.exactly_once());
    assert_eq!(ran.dpas, 32 * 32);
}
