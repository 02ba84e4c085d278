//! Launches that are not waited for, through the launchers that `#[tile_kernel]` makes, on every device that is here.
//!
//! *Not here*: faults of devices (`opencl_faults` of `tile-runtime`).

mod reference {
    #[cfg(feature = "opencl")]
    pub mod opencl;
}

use tile_std::prelude::*;

#[tile_kernel(instances(<8, 16; subgroups = (2, 2)>, <16, 32; subgroups = (1, 1)>))]
fn scaled<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>, by: f32) {
    let at = own_tile::<M, N>(y, Linear);
    let tile: rt<f32, M, N> = load(x, [at.batch(), at.depth(), at.row(), at.col()]);
    store(y, &tile.mul(by), at);
}

#[tile_kernel(instances(<8, 16; subgroups = (1, 1)>))]
unsafe fn anywhere<const M: usize, const N: usize>(y: &mut gl<f32>, by: f32) {
    let _at = own_tile::<M, N>(y, Linear);
    let tile: rt<f32, M, N> = fill(by);
    store_at(y, &tile, [0, 0]);
}

fn pattern(device: &Device, shape: Shape) -> Tensor<f32> {
    let whole = Tensor::from_fn(shape, |b, d, r, c| (b * 700 + d * 300 + r * 17 + c) as f32 - 90.0);
    whole.and_then(|whole| whole.to_device(device)).expect("small")
}

fn room(device: &Device, shape: Shape) -> Tensor<f32> {
    Tensor::with_shape_on(device, shape).expect("small")
}

fn sendable(event: Event) -> impl Send {
    event
}

/// All that holds of events on any device.
fn events(device: &Device) {
    for shape in [[1, 1, 20, 50], [2, 3, 9, 17], [1, 1, 1, 1], [1, 1, 0, 5], [0, 2, 3, 4]] {
        let x = pattern(device, shape);
        let [mut y, mut z, mut w] = [(); 3].map(|()| room(device, shape));
        let first = scaled::enqueue::<8, 16>(device, &mut y, &x, 2.0).expect("legal");
        let two = first.then(|| scaled::enqueue::<16, 32>(device, &mut z, &y, 3.0)).expect("legal");
        let options = LaunchOptions { strict: true, ..LaunchOptions::default() };
        let instance = &scaled::INSTANCES[0];
        let all = two.then(|| scaled::enqueue_with(device, instance, &options, &mut w, &z, 5.0));
        let report = all.expect("legal").wait().expect("it goes well");
        assert_eq!((report.kernel, report.instance, report.device), ("scaled", instance.name, device.name()));
        assert_eq!(report.times.is_some(), device.name() == "opencl" && !x.to_vec().is_empty());
        assert!(w.iter().zip(x.iter()).all(|(w, x)| w == 30.0 * x), "{shape:?}");
        // Nobody waits but the reader. Tensors that go first take nothing with them that the launch needs.
        drop(scaled::enqueue::<8, 16>(device, &mut y, &w, -1.0).expect("legal"));
        std::mem::forget(scaled::enqueue::<8, 16>(device, &mut z, &y, 2.0).expect("legal"));
        drop((w, y));
        assert!(z.iter().zip(x.iter()).all(|(z, x)| z == -60.0 * x), "{shape:?}");
        // An event outlives the tensors and goes to another thread.
        let event = scaled::enqueue::<8, 16>(device, &mut z, &x, 4.0).expect("legal");
        drop((z, x));
        let waited = std::thread::spawn(move || event.wait().map(|report| report.work_groups));
        assert_eq!(waited.join().expect("no panic").expect("it goes well") == 0, shape.contains(&0));
    }
    let mut y = room(device, [1, 1, 8, 16]);
    // SAFETY: one sub-group.
    let event = unsafe { anywhere::enqueue::<8, 16>(device, &mut y, 7.0) }.expect("legal");
    drop(sendable(event));
    assert!(y.iter().all(|y| y == 7.0));
}

/// Threads that launch at once, into one queue, each with tensors of its own and an input of all.
fn threads(device: &Device) {
    let shared = pattern(device, [1, 1, 30, 30]);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let shared = &shared;
            scope.spawn(move || {
                let mut y = room(device, [1, 1, 30, 30]);
                for round in 0..20 {
                    let by = (thread * 100 + round) as f32;
                    let event = scaled::enqueue::<8, 16>(device, &mut y, shared, by).expect("legal");
                    if round % 3 == 0 {
                        event.wait().expect("it goes well");
                    }
                    assert!(y.iter().zip(shared.iter()).all(|(y, x)| y == by * x), "{by}");
                }
            });
        }
    });
}

#[test]
fn events_of_the_host_are_done() {
    let device = Device::host();
    let (x, mut y) = (pattern(&device, [1, 1, 20, 50]), room(&device, [1, 1, 20, 50]));
    let event = scaled::enqueue::<8, 16>(&device, &mut y, &x, 2.0).expect("legal");
    assert!(event.is_done());
    events(&device);
    threads(&device);
}

#[test]
fn events_of_the_simulator_are_done() {
    events(&Device::sim());
    events(&Device::sim_lane());
}

#[cfg(feature = "opencl")]
#[test]
fn opencl_launches_are_not_waited_for() {
    let Some(device) = reference::opencl::cpu("opencl_launches_are_not_waited_for") else { return };
    events(&device);
    threads(&device);
}

#[cfg(feature = "opencl")]
#[test]
fn opencl_outputs_that_must_be_copied_back_are_refused_without_waiting() {
    let name = "opencl_outputs_that_must_be_copied_back_are_refused_without_waiting";
    let Some(device) = reference::opencl::cpu(name) else { return };
    let x = pattern(&Device::host(), [1, 1, 8, 16]);
    let mut y = room(&Device::host(), [1, 1, 8, 16]);
    let refused = scaled::enqueue::<8, 16>(&device, &mut y, &x, 2.0).expect_err("no place to copy from");
    assert!(matches!(refused, LaunchError::MustWait { parameter: "y", .. }), "{refused}");
    // An input is copied before the call returns, so it may change or go at once.
    let mut y = room(&device, [1, 1, 8, 16]);
    let expected: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
    let event = scaled::enqueue::<8, 16>(&device, &mut y, &x, 2.0).expect("legal");
    drop(x);
    assert_eq!(event.wait().expect("it goes well").moved.len(), 1);
    assert_eq!(y.to_vec(), expected);
}
