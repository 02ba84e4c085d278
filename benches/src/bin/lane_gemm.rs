//! Compares the library's GEMM as a `lane` module on an OpenCL CPU with its host body, in interleaved runs.
//!
//! ```text
//! TILE_OPENCL_LIBRARY=$PWD/target/tools/opencl/lib/libintelocl.so \
//!     cargo run --release -p benches --features opencl --bin lane_gemm -- --size 1024
//! ```
//!
//! Both use all cores and have their tensors where they work. The host runs the instance it prefers, the CPU every instance
//! of the same element types that has a `lane` module, since the best tile is not known beforehand.

use std::process::ExitCode;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Clock, Contestant, Plan, measure};
use benches::machine;
use clap::Parser;
use tile_std::kernels::gemm::gemm;
use tile_std::prelude::*;
use tile_std::{GemmError, GemmOptions, Generic, InstanceInfo, gemm_into};

/// Compares `lane` modules with the host body.
#[derive(Parser)]
struct Options {
    /// Rows and columns of the matrices.
    #[arg(long, default_value_t = 1024)]
    size: usize,
    /// Rounds; in each, every contestant has one turn.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Milliseconds of a turn; a turn has at least one call.
    #[arg(long, default_value_t = 150)]
    turn: u64,
}

/// Instances of bf16 in and f32 out, B as [K, N], without prefetches, with a `lane` module.
fn instances() -> impl Iterator<Item = &'static InstanceInfo> {
    let plain = |i: &&InstanceInfo| {
        matches!(
            i.generics,
            [Generic::Type(a), Generic::Type(c), .., Generic::Flag(false), Generic::Flag(false)]
                if (*a, *c) == (bf16::DTYPE, f32::DTYPE)
        ) && i.modules.iter().any(|m| m.target == "lane")
    };
    gemm::INSTANCES.iter().filter(plain)
}

fn run(options: &Options) -> Result<(), String> {
    let n = options.size;
    let (cpu, _) = Device::select(Some("opencl")).map_err(|e| e.to_string())?;
    let host = Device::host();
    println!("machine: {}", machine::describe(&host));
    println!("lane modules on: {cpu}");
    println!(
        "method: {n} x {n} x {n}, bf16 to f32; {} rounds; in each, every contestant has one turn of {} ms (at least one \
         call), in rotated order; GFLOP/s are medians; ratios are speed / speed of the host within each round, then median \
         [quartiles], by time passed (wall) and by CPU time used (cpu)",
        options.rounds, options.turn
    );
    let told = |e: TensorError| e.to_string();
    let element = |seed: usize| {
        move |_, _, r: usize, c: usize| bf16::from_f32(((r * 7 + c * 5 + seed) % 17) as f32 - 8.0)
    };
    let a = Tensor::from_fn([1, 1, n, n], element(0)).map_err(told)?;
    let b = Tensor::from_fn([1, 1, n, n], element(3)).map_err(told)?;
    let (there_a, there_b) = (a.to_device(&cpu).map_err(told)?, b.to_device(&cpu).map_err(told)?);
    let mut on_host = Tensor::<f32>::zeros(n, n).map_err(told)?;
    gemm_into(&host, &mut on_host, &a, &b, &GemmOptions::default()).map_err(|e| e.to_string())?;
    let want = on_host.to_vec();
    let chosen: Vec<&'static InstanceInfo> = instances().collect();
    let mut outputs = vec![];
    for &instance in &chosen {
        let mut c = Tensor::<f32>::with_shape_on(&cpu, [1, 1, n, n]).map_err(told)?;
        let with = GemmOptions { instance: Some(instance), ..GemmOptions::default() };
        gemm_into(&cpu, &mut c, &there_a, &there_b, &with).map_err(|e| e.to_string())?;
        if c.to_vec() != want {
            return Err(format!("{} differs from the host", instance.name));
        }
        outputs.push(c);
    }
    let mut contestants = vec![Contestant::new("host", || {
        gemm_into(&host, &mut on_host, &a, &b, &GemmOptions::default()).map(|_| ())
    })];
    for (&instance, c) in chosen.iter().zip(&mut outputs) {
        let (cpu, there_a, there_b) = (&cpu, &there_a, &there_b);
        contestants.push(Contestant::new(instance.name, move || {
            let with = GemmOptions { instance: Some(instance), ..GemmOptions::default() };
            gemm_into(cpu, &mut *c, there_a, there_b, &with).map(|_| ())?;
            Ok::<(), GemmError>(())
        }));
    }
    let plan = Plan {
        who: Who::Process,
        rounds: options.rounds,
        turn: Duration::from_millis(options.turn),
        pause: Duration::from_millis(3),
    };
    let measured = measure(&mut contestants, plan).map_err(|e| e.to_string())?;
    let work = 2.0 * (n as f64).powi(3);
    println!("{:<44} {:>8} {:>20} {:>20}", "", "GFLOP/s", "wall / host", "cpu / host");
    for (i, name) in measured.names().iter().enumerate() {
        let ratio = |clock| measured.speed_ratio(i, 0, clock);
        let speed = work / measured.seconds(i, Clock::Wall).median * 1e-9;
        println!("{name:<44} {speed:>8.1} {:>20} {:>20}", ratio(Clock::Wall), ratio(Clock::Cpu));
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("lane_gemm: {why}");
            ExitCode::FAILURE
        }
    }
}
