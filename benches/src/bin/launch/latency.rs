//! Owns the cost of launches: the first one of a kernel, with and without the cache on disk, and those that follow.

use std::process::Command;
use std::time::{Duration, Instant};

use benches::contest::Spread;
use tile_std::prelude::*;
use tile_std::{GemmOptions, gemm_into};

/// Launches in a row whose time is divided by their number.
const IN_A_ROW: u32 = 1000;

/// The kernel that is nothing but a launch: one tile.
#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
fn scaled<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>, by: f32) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<f32, M, N> = load(x, [at.row(), at.col()]);
    store(y, &tile.mul(by), at);
}

/// The kernels whose first launch is measured.
const KERNELS: [&str; 2] = ["one tile scaled", "the library's GEMM, 256 x 256 x 256 of bf16"];

/// Launches each kernel for the first time in this process and prints what building it took.
pub fn first_launch(device: &Device) -> Result<(), String> {
    let built = |report: Report| {
        let built = report.built.ok_or("the first launch of a process builds")?;
        println!("{} {}", built.from_cache, built.took.as_secs_f64());
        Ok::<(), String>(())
    };
    let (x, mut y) = (room::<f32>(device, 8, 16)?, room::<f32>(device, 8, 16)?);
    built(scaled::launch::<8, 16>(device, &mut y, &x, 2.0).map_err(|e| e.to_string())?)?;
    let (a, b, mut c) =
        (room::<bf16>(device, 256, 256)?, room(device, 256, 256)?, room::<f32>(device, 256, 256)?);
    let product = gemm_into(device, &mut c, &a, &b, &GemmOptions::default()).map_err(|e| e.to_string())?;
    built(product.product)
}

fn room<T: AnyElement>(device: &Device, rows: usize, cols: usize) -> Result<Tensor<T>, String> {
    Tensor::with_shape_on(device, [1, 1, rows, cols]).map_err(|e| e.to_string())
}

/// First launches in processes of their own: with an empty cache, then with the cache that the first one filled.
pub fn first_launches(rounds: usize) -> Result<(), String> {
    println!(
        "\n# first launch of a kernel, each in a new process; medians of {rounds} rounds [quartiles], in ms"
    );
    let mut times = vec![[Vec::new(), Vec::new()]; KERNELS.len()];
    for _ in 0..rounds {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        for cached in [false, true] {
            let lines = child(folder.path())?;
            if lines.len() != KERNELS.len() || lines.iter().any(|(from_cache, _)| *from_cache != cached) {
                return Err(format!("{lines:?} is not a launch of each kernel with from_cache {cached}"));
            }
            for (times, (_, seconds)) in times.iter_mut().zip(lines) {
                times[usize::from(cached)].push(seconds * 1e3);
            }
        }
    }
    for (name, [cold, warm]) in KERNELS.iter().zip(times) {
        let show = |times: Vec<f64>| {
            let spread = Spread::of(times);
            format!("{:.2} [{:.2} {:.2}]", spread.median, spread.low, spread.high)
        };
        println!("{name}: built from SPIR-V {}, taken from the cache on disk {}", show(cold), show(warm));
    }
    Ok(())
}

/// Runs this program for first launches with a cache in a folder; gives a line per kernel.
fn child(cache: &std::path::Path) -> Result<Vec<(bool, f64)>, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let output = Command::new(program)
        .arg("--first-launch")
        .env("TILE_CACHE_DIR", cache)
        .output()
        .map_err(|e| format!("cannot start this program again: {e}"))?;
    let (told, text) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        return Err(format!("first launches failed: {}", told.trim()));
    }
    let line = |line: &str| {
        let (from_cache, seconds) = line.split_once(' ')?;
        Some((from_cache.parse().ok()?, seconds.parse().ok()?))
    };
    text.lines().map(|text| line(text).ok_or_else(|| format!("`{text}` is no answer"))).collect()
}

/// Launches of one tile, in a row.
pub fn latencies(device: &Device, rounds: usize) -> Result<(), String> {
    println!(
        "\n# a launch of one tile, {IN_A_ROW} in a row; medians of {rounds} rounds [quartiles], in microseconds each"
    );
    let host = Device::host();
    let (mut queued, mut waited, mut ran, mut on_host) = (vec![], vec![], vec![], vec![]);
    // Builds the program.
    in_a_row(device, true)?;
    for _ in 0..rounds {
        queued.push(in_a_row(device, false)?.0);
        let (each, on_device) = in_a_row(device, true)?;
        waited.push(each);
        ran.push(on_device);
        on_host.push(in_a_row(&host, true)?.0);
    }
    let rows = [
        ("enqueued, and one wait for all", queued),
        ("enqueued and waited for", waited),
        ("  of it on the device, by its clock", ran),
        ("on the host device", on_host),
    ];
    for (what, times) in rows {
        let spread = Spread::of(times.iter().map(|time| time.as_secs_f64() * 1e6));
        println!("{what:<36} {:>8.1} [{:.1} {:.1}]", spread.median, spread.low, spread.high);
    }
    Ok(())
}

/// The time of one of many launches, and that on the device of the last one.
fn in_a_row(device: &Device, wait: bool) -> Result<(Duration, Duration), String> {
    let (x, mut y) = (room::<f32>(device, 8, 16)?, room::<f32>(device, 8, 16)?);
    let mut times = None;
    let start = Instant::now();
    for number in 1..=IN_A_ROW {
        let event = scaled::enqueue::<8, 16>(device, &mut y, &x, 2.0).map_err(|e| e.to_string())?;
        if wait || number == IN_A_ROW {
            times = event.wait().map_err(|e| e.to_string())?.times;
        }
    }
    Ok((start.elapsed() / IN_A_ROW, times.unwrap_or_default().ran))
}
