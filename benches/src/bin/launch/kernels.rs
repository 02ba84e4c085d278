//! Owns the contests of the library's kernels: the OpenCL device against the host device, kernel by kernel.

use std::fmt::Display;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Clock, Contestant, Plan, measure};
use tile_std::ops::{
    AttentionOptions, DecodeOptions, LayerNorm, RmsNorm, Rope, RopeLayout, RowOptions, argmax_into,
    attention_into, cast_into, decode_into, gemm_i8_into, layer_norm_into, rms_norm_into, rope_into,
    row_sum_into, silu_mul_into, softmax_into, transpose_into,
};
use tile_std::prelude::*;
use tile_std::{GemmOptions, gemm_into};

use crate::Options;

/// One call of a kernel whose tensors are where it works.
type Call = Box<dyn FnMut() -> Result<(), String>>;

/// A kernel: its name, and how its call on a device is made.
type Kernel = (&'static str, fn(&Device) -> Result<Call, String>);

/// Rows and columns of the GEMMs.
const N: usize = 1024;
/// The tensors of row kernels.
const ROWS: Shape = [1, 1, 4096, 4096];

const KERNELS: &[Kernel] = &[
    ("gemm bf16 to f32, 1024^3", |on| {
        let (device, a, b) =
            (on.clone(), pattern::<bf16>(on, [1, 1, N, N])?, pattern::<bf16>(on, [1, 1, N, N])?);
        let mut c = room::<f32>(on, [1, 1, N, N])?;
        call(move || gemm_into(&device, &mut c, &a, &b, &GemmOptions::default()))
    }),
    ("gemm i8 to i32, 1024^3", |on| {
        let (device, a, b) = (on.clone(), room::<i8>(on, [1, 1, N, N])?, room::<i8>(on, [1, 1, N, N])?);
        let mut c = room::<i32>(on, [1, 1, N, N])?;
        call(move || gemm_i8_into(&device, &mut c, &a, &b, &GemmOptions::default()))
    }),
    ("attention causal bf16, 8 heads, 1024 x 64", |on| {
        let shape = [1, 8, 1024, 64];
        let device = on.clone();
        let (q, k, v) =
            (pattern::<bf16>(on, shape)?, pattern::<bf16>(on, shape)?, pattern::<bf16>(on, shape)?);
        let mut o = room::<bf16>(on, shape)?;
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        call(move || attention_into(&device, &mut o, &q, &k, &v, &options).map_err(|e| e.to_string()))
    }),
    ("decode bf16, 8 heads of 4 queries, 4096 x 128", |on| {
        let (device, keys) = (on.clone(), [1, 8, 4096, 128]);
        let (q, k, v) =
            (pattern::<bf16>(on, [1, 8, 4, 128])?, pattern::<bf16>(on, keys)?, pattern::<bf16>(on, keys)?);
        let mut o = room::<bf16>(on, [1, 8, 4, 128])?;
        call(move || {
            decode_into(&device, &mut o, &q, &k, &v, &DecodeOptions::default()).map_err(|e| e.to_string())
        })
    }),
    ("rms_norm bf16, 4096 x 4096", |on| {
        let (device, x, mut y) = (on.clone(), pattern::<bf16>(on, ROWS)?, room::<bf16>(on, ROWS)?);
        let weight = pattern::<bf16>(on, [1, 1, 1, ROWS[3]])?;
        call(move || {
            let norm = RmsNorm { weight: weight.view(), eps: 1e-5 };
            rms_norm_into(&device, &mut y, &x, &norm, &RowOptions::default())
        })
    }),
    ("layer_norm bf16, 4096 x 4096", |on| {
        let (device, x, mut y) = (on.clone(), pattern::<bf16>(on, ROWS)?, room::<bf16>(on, ROWS)?);
        let (weight, bias) =
            (pattern::<bf16>(on, [1, 1, 1, ROWS[3]])?, pattern::<bf16>(on, [1, 1, 1, ROWS[3]])?);
        call(move || {
            let norm = LayerNorm { weight: weight.view(), bias: bias.view(), eps: 1e-5 };
            layer_norm_into(&device, &mut y, &x, &norm, &RowOptions::default())
        })
    }),
    ("rope bf16, 8 heads, 1024 x 128", |on| {
        let shape = [1, 8, 1024, 128];
        let (device, x, mut y) = (on.clone(), pattern::<bf16>(on, shape)?, room::<bf16>(on, shape)?);
        let (cos, sin) = (pattern::<f32>(on, [1, 1, 1024, 64])?, pattern::<f32>(on, [1, 1, 1024, 64])?);
        call(move || {
            let turn = Rope { cos: cos.view(), sin: sin.view(), layout: RopeLayout::HalfSplit, first: 0 };
            rope_into(&device, &mut y, &x, &turn, &RowOptions::default())
        })
    }),
    ("softmax bf16, 4096 x 4096", |on| {
        let (device, x, mut y) = (on.clone(), pattern::<bf16>(on, ROWS)?, room::<bf16>(on, ROWS)?);
        call(move || softmax_into(&device, &mut y, &x, &RowOptions::default()))
    }),
    ("row_sum bf16, 4096 x 4096", |on| {
        let (device, x, mut y) =
            (on.clone(), pattern::<bf16>(on, ROWS)?, room::<f32>(on, [1, 1, ROWS[2], 1])?);
        call(move || row_sum_into(&device, &mut y, &x, &RowOptions::default()))
    }),
    ("argmax bf16, 4096 x 4096", |on| {
        let (device, x, mut y) =
            (on.clone(), pattern::<bf16>(on, ROWS)?, room::<i32>(on, [1, 1, ROWS[2], 1])?);
        call(move || argmax_into(&device, &mut y, &x, &RowOptions::default()))
    }),
    ("silu_mul bf16, 4096 x 4096", |on| {
        let (device, gate, up) = (on.clone(), pattern::<bf16>(on, ROWS)?, pattern::<bf16>(on, ROWS)?);
        let mut y = room::<bf16>(on, ROWS)?;
        call(move || silu_mul_into(&device, &mut y, &gate, &up, &RowOptions::default()))
    }),
    ("cast f32 to bf16, 4096 x 4096", |on| {
        let (device, x, mut y) = (on.clone(), pattern::<f32>(on, ROWS)?, room::<bf16>(on, ROWS)?);
        call(move || cast_into(&device, &mut y, &x, &RowOptions::default()))
    }),
    ("transpose f32, 4096 x 4096", |on| {
        let (device, x, mut y) = (on.clone(), pattern::<f32>(on, ROWS)?, room::<f32>(on, ROWS)?);
        call(move || transpose_into(&device, &mut y, &x, &RowOptions::default()))
    }),
];

fn call<R, E: Display>(mut kernel: impl FnMut() -> Result<R, E> + 'static) -> Result<Call, String> {
    Ok(Box::new(move || kernel().map(|_| ()).map_err(|e| e.to_string())))
}

fn room<T: AnyElement>(device: &Device, shape: Shape) -> Result<Tensor<T>, String> {
    Tensor::with_shape_on(device, shape).map_err(|e| e.to_string())
}

/// Small numbers of both signs, on a device.
fn pattern<T: Element>(device: &Device, shape: Shape) -> Result<Tensor<T>, String> {
    let value =
        |_, d: usize, r: usize, c: usize| T::from_f32(((d * 11 + r * 7 + c * 5) % 17) as f32 / 8.0 - 1.0);
    Tensor::from_fn(shape, value).and_then(|x| x.to_device(device)).map_err(|e| e.to_string())
}

/// Runs a contest per kernel and prints its line.
pub fn contests(device: &Device, options: &Options) -> Result<(), String> {
    println!(
        "\n# the library's kernels, tensors where they work; {} rounds; in each, every contestant has one turn of {} ms \
         (at least one call), in rotated order; ms are medians; ratios are speed / speed of the host device within each \
         round, then median [quartiles], by time passed (wall) and by CPU time used (cpu)",
        options.rounds, options.turn
    );
    println!("{:<46} {:<10} {:>9} {:>20} {:>20}", "", "", "ms", "wall / host", "cpu / host");
    let plan = Plan {
        who: Who::Process,
        rounds: options.rounds,
        turn: Duration::from_millis(options.turn),
        pause: Duration::from_millis(3),
    };
    for (name, make) in KERNELS.iter().filter(|(name, _)| name.contains(&options.only)) {
        let mut contestants = vec![Contestant::new("host", make(&Device::host())?)];
        let mut there = make(device)?;
        // Some kernels have no module for every device; the error says which, and the others go on.
        if let Err(why) = there() {
            println!("{name:<46} {why}");
            continue;
        }
        contestants.push(Contestant::new(device.name(), there));
        if name.starts_with("gemm bf16") {
            contestants.extend(openblas());
        }
        let measured = measure(&mut contestants, plan).map_err(|e| e.to_string())?;
        for (i, who) in measured.names().iter().enumerate() {
            let ratio = |clock| measured.speed_ratio(i, 0, clock);
            let ms = measured.seconds(i, Clock::Wall).median * 1e3;
            println!("{name:<46} {who:<10} {ms:>9.3} {:>20} {:>20}", ratio(Clock::Wall), ratio(Clock::Cpu));
        }
    }
    Ok(())
}

/// OpenBLAS on the same product in f32, with all cores.
#[cfg(feature = "peers")]
fn openblas() -> Option<Contestant<'static>> {
    use benches::peers::{OpenBlas, Operands, Peer};

    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let blas = match OpenBlas::open(threads) {
        Ok(blas) => Peer::OpenBlas(blas),
        Err(why) => {
            println!("OpenBLAS does not take part: {why}");
            return None;
        }
    };
    let values = |step: usize| (0..N * N).map(|i| (i * step % 17) as f32 / 8.0 - 1.0).collect::<Vec<f32>>();
    let (x, mut c) = (Operands::new(N, values(7), values(5), false), vec![0.0f32; N * N]);
    Some(Contestant::new("OpenBLAS", move || {
        blas.multiply(&mut c, &x, threads);
        Ok::<(), String>(())
    }))
}

#[cfg(not(feature = "peers"))]
fn openblas() -> Option<Contestant<'static>> {
    println!("OpenBLAS does not take part: this build lacks the feature `peers`");
    None
}
