//! Measures what a launch costs beside the kernel: building its program, taking it from the cache, the queue.
//!
//! `cargo bench -p tile-runtime --features opencl --bench launch [ROUNDS]`, with the OpenCL library of
//! `TILE_OPENCL_LIBRARY`, else Intel's runtime for CPUs where `scripts/get-opencl` put it, else the system's. The
//! kernel is a small one assembled by hand. All figures are of one run; the host device is measured beside.

#[path = "../tests/kernels/mod.rs"]
mod kernels;
#[path = "../tests/kernels/lane.rs"]
mod lane;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernels::launch_plain;
use tile_runtime::cache::Cache;
use tile_runtime::opencl::Devices;
use tile_runtime::opencl::LIBRARY_VARIABLE;
use tile_runtime::opencl::facts::Target;
use tile_runtime::opencl::ocl::Ocl;
use tile_runtime::{Device, InstanceInfo, LaunchOptions, Tensor, enqueue};

/// Launches in a row whose time is divided by their number.
const IN_A_ROW: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().filter_map(|arg| arg.parse::<usize>().ok()).next().unwrap_or(9).max(1);
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/opencl/lib/libintelocl.so");
    let named = std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from);
    let library = named.or(Some(fetched).filter(|path| path.exists())).unwrap_or("libOpenCL.so.1".into());
    let start = Instant::now();
    // SAFETY: the user named an OpenCL, or it is Intel's or the system's; only `Devices` calls it.
    let driver = Arc::new(unsafe { Ocl::load(&library) }?);
    let devices = Devices::with_driver(driver.clone(), None)?;
    let found = start.elapsed();
    let device = devices.select("opencl")?;
    println!("{device}; medians of {rounds} rounds [smallest, largest]");
    println!("load the driver, find its devices and open queues: {found:.1?}, once per process");
    if device.target() != Target::Lane {
        return Err("the kernels of this benchmark are for CPUs".into());
    }
    let instance = lane::scale((1, 1), 1);

    let folder = tempfile::tempdir()?;
    let cache = Cache::in_folder(folder.path());
    let (mut cold, mut warm, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        cache.clear()?;
        for times in [&mut cold, &mut warm] {
            let devices = Devices::with_driver(driver.clone(), Some(cache.clone()))?;
            let device = Device::OpenCl(devices.select("opencl")?);
            let (mut y, x) = (tensor(&device)?, tensor(&device)?);
            let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
            let built = launch_plain(&device, instance, args)?.built.ok_or("a new device builds")?;
            times.push(built.took);
            let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
            let start = Instant::now();
            launch_plain(&device, instance, args)?;
            again.push(start.elapsed());
        }
    }
    report("first launch of a kernel, program built from SPIR-V", cold);
    report("first launch in another process, program from the cache on disk", warm);
    report("second launch, waited for", again);

    let device = Device::OpenCl(device);
    let (mut queued, mut waited, mut ran, mut host) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        queued.push(in_a_row(&device, instance, false)?.0);
        let (each, on_device) = in_a_row(&device, instance, true)?;
        waited.push(each);
        ran.push(on_device);
        host.push(in_a_row(&Device::host(), instance, true)?.0);
    }
    report("launch into the queue (1000 in a row, then one wait)", queued);
    report("launch and wait", waited);
    report("  of it on the device, by its clock", ran);
    report("launch of an empty body on the host device", host);
    Ok(())
}

fn tensor(device: &Device) -> Result<Tensor<f32>, Box<dyn Error>> {
    Ok(Tensor::with_shape_on(device, [1, 1, 8, 16])?)
}

/// The time of one of many launches of one work-group, and that on the device of the last one.
fn in_a_row(
    device: &Device,
    instance: &'static InstanceInfo,
    wait: bool,
) -> Result<(Duration, Duration), Box<dyn Error>> {
    let options = LaunchOptions { strict: true, ..LaunchOptions::default() };
    let (mut y, x) = (tensor(device)?, tensor(device)?);
    let mut times = None;
    let start = Instant::now();
    for number in 1..=IN_A_ROW {
        let args = &mut [(&mut y).into(), (&x).into(), 2.0f32.into()];
        let event = enqueue(device, instance, args, &options)?;
        if wait || number == IN_A_ROW {
            times = event.wait()?.times;
        }
    }
    Ok((start.elapsed() / IN_A_ROW, times.unwrap_or_default().ran))
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (least, most) = (times[0], times[times.len() - 1]);
    println!("{what}: {:.1?} [{least:.1?}, {most:.1?}]", times[times.len() / 2]);
}
