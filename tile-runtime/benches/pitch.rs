//! Measures what a cache line of padding behind each row is worth on the host device.
//!
//! Prints, for bf16 GEMMs whose row stride is a power of two, the speed with that stride and with one more line
//! per row, run alternately. `cargo bench -p tile-runtime --bench pitch [ROUNDS]`.

#[path = "../tests/kernels/mod.rs"]
mod kernels;

use std::time::{Duration, Instant};

use kernels::{GEMM, launch_plain};
use tile_lang::prelude::bf16;
use tile_runtime::{Device, Tensor, TensorLayout, View};

const LINE: usize = 64 / size_of::<bf16>();

fn main() {
    let rounds = std::env::args().filter_map(|arg| arg.parse::<usize>().ok()).next().unwrap_or(7).max(1);
    let device = Device::host();
    println!("{device}; best of {rounds} alternating rounds");
    for n in [128, 256, 512, 1024, 2048] {
        let gflops = [0, LINE].map(|padding| (padding, Vec::new()));
        let mut times: Vec<(usize, Vec<Duration>)> = gflops.into();
        for _ in 0..rounds {
            for (padding, times) in &mut times {
                times.push(gemm(&device, n, *padding));
            }
        }
        let [plain, padded] = [0, 1].map(|i| {
            let times = &times[i].1;
            // The best, not the median: other load on the machine only ever adds time.
            let best = times.iter().min().expect("at least one round");
            2.0 * (n as f64).powi(3) / best.as_secs_f64() / 1e9
        });
        println!(
            "n = {n:4}, row of {:4} bytes: {plain:6.1} GFLOP/s; with a line more: {padded:6.1}; ratio {:.2}",
            n * size_of::<bf16>(),
            padded / plain
        );
    }
}

fn gemm(device: &Device, n: usize, padding: usize) -> Duration {
    let layout = TensorLayout::pitched([1, 1, n, n], n + padding, size_of::<bf16>()).expect("small");
    // The row of an owned tensor is line-aligned; views of it with any pitch are, too.
    let [a, b] = [1.0, 2.0].map(|value| {
        Tensor::from_fn([1, 1, 1, layout.span()], |_, _, _, _| bf16::from_f32(value)).expect("small")
    });
    let [a, b] = [&a, &b].map(|t| t.row(0, 0, 0).expect("one row"));
    let view = |row| View::with_layout(row, layout).expect("as long as the layout");
    let mut c = Tensor::<f32>::zeros(n, n).expect("small");
    let repeats = (1 << 27) / (n * n * n) + 1;
    let start = Instant::now();
    for _ in 0..repeats {
        launch_plain(device, &GEMM, &mut [(&mut c).into(), view(a).into(), view(b).into()]).expect("legal");
    }
    start.elapsed() / repeats as u32
}
