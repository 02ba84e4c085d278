//! The largest tiles: what just fits runs, in a debug build too, and what does not is refused while compiling; nothing
//! overflows a stack.

use tile_std::prelude::*;

/// 64 x 64 f32: exactly the 16,384 bytes of a sub-group's registers, in one tile, in several, and across a loop.
#[tile_kernel(instances(<64, 64; subgroups = (1, 1)>, <8, 512; subgroups = (2, 1)>, <512, 2048; subgroups = (1, 2); host>))]
fn whole<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>, n: u32) {
    let at = own_tile::<M, N>(y, Linear);
    let mut t: rt<f32, M, N> = load(x, at);
    for _ in 0..n {
        t = t.scale(0.5);
    }
    store(y, &t, at);
}

#[tile_kernel(instances(<32, 64; subgroups = (1, 1)>))]
fn halves<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>, n: u32) {
    let at = own_tile::<M, N>(y, Linear);
    let mut a: rt<f32, M, N> = load(x, at);
    let mut b: rt<f32, M, N> = fill(1.0);
    for k in 0..n {
        let old = a;
        a = b;
        b = if k % 2 == 0 { old.scale(2.0) } else { old };
    }
    store(y, &a.sub(&b), at);
}

/// Parts of the largest tile take no registers of their own, nor does the tile with a part replaced.
#[tile_kernel(instances(<64, 64; subgroups = (1, 1)>))]
fn parts<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>) {
    let at = own_tile::<M, N>(y, Linear);
    let mut t: rt<f32, M, N> = load(x, at);
    let (upper, lower) = (t.sub_tile::<32, 64>(0, 0), t.sub_tile::<32, 64>(1, 0));
    t.set_sub_tile(&lower, 0, 0);
    t.set_sub_tile(&upper, 1, 0);
    store(y, &t, at);
}

fn input(rows: usize, cols: usize) -> Tensor<f32> {
    Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| ((r * 7 + c * 3) % 64) as f32).expect("small")
}

#[test]
fn a_tile_of_all_registers_runs_on_host_and_simulator() {
    assert_eq!(whole::INSTANCES[0].live_tile_bytes, 16_384);
    assert_eq!(whole::INSTANCES[1].live_tile_bytes, 16_384);
    for device in [Device::host(), Device::sim()] {
        let x = input(67, 70);
        let mut y = Tensor::<f32>::zeros(67, 70).expect("small");
        whole::launch::<64, 64>(&device, &mut y, &x, 3).expect("it fits");
        assert!(y.to_vec().iter().zip(x.to_vec()).all(|(y, x)| *y == x * 0.125), "{}", device.name());
        let x = input(9, 520);
        let mut y = Tensor::<f32>::zeros(9, 520).expect("small");
        whole::launch::<8, 512>(&device, &mut y, &x, 1).expect("it fits");
        assert!(y.to_vec().iter().zip(x.to_vec()).all(|(y, x)| *y == x * 0.5), "{}", device.name());
    }
}

#[test]
fn two_tiles_of_half_the_registers_run_on_host_and_simulator() {
    assert_eq!(halves::INSTANCES[0].live_tile_bytes, 16_384);
    for device in [Device::host(), Device::sim()] {
        for n in [0, 1, 2, 5] {
            let x = input(33, 64);
            let mut y = Tensor::<f32>::zeros(33, 64).expect("small");
            halves::launch::<32, 64>(&device, &mut y, &x, n).expect("it fits");
            for (y, x) in y.to_vec().iter().zip(x.to_vec()) {
                let (mut a, mut b) = (x, 1.0);
                for k in 0..n {
                    (a, b) = (b, if k % 2 == 0 { a * 2.0 } else { a });
                }
                assert_eq!(*y, a - b, "{}, n {n}", device.name());
            }
        }
    }
}

#[test]
fn parts_of_the_largest_tile_run_on_host_and_simulator() {
    assert_eq!(parts::INSTANCES[0].live_tile_bytes, 16_384);
    for device in [Device::host(), Device::sim()] {
        let x = input(64, 64);
        let mut y = Tensor::<f32>::zeros(64, 64).expect("small");
        parts::launch::<64, 64>(&device, &mut y, &x).expect("it fits");
        for row in 0..64 {
            assert_eq!(y.get(0, 0, row, 5), x.get(0, 0, (row + 32) % 64, 5), "{}, row {row}", device.name());
        }
    }
    // What is computed from a part is a tile of its own.
    let source = "fn k<const M: usize>(y: &mut gl<f32>, x: &gl<f32>) { let at = own_tile::<M, 64>(y, Linear); \
                  let t: rt<f32, M, 64> = load(x, at); let u = t.sub_tile::<8, 64>(0, 0).neg(); \
                  store(y, &t.scale(u.row_sum().reduce_sum()), at); }";
    let why = tile_front::compile_source("instances(<64; subgroups = (1, 1)>)", source)
        .map(|_| ())
        .expect_err("too much");
    assert!(
        why.join("\n").contains("18432 bytes are alive: rt<f32, 64, 64, Row>, rt<f32, 8, 64, Row>"),
        "{why:?}"
    );
}

#[test]
fn a_tile_of_megabytes_runs_on_the_host() {
    assert_eq!(whole::INSTANCES[2].live_tile_bytes, 512 * 2048 * 4);
    let x = input(513, 4000);
    let mut y = Tensor::<f32>::zeros(513, 4000).expect("it fits");
    whole::launch::<512, 2048>(&Device::host(), &mut y, &x, 2).expect("it fits");
    assert!(y.to_vec().iter().zip(x.to_vec()).all(|(y, x)| *y == x * 0.25));
}

/// What the attribute says of one tile of this size.
fn verdict(rows: usize, cols: usize, host: &str) -> Result<(), String> {
    let source = "fn k<const M: usize, const N: usize>(y: &mut gl<f32>) { \
                  let at = own_tile::<M, N>(y, Linear); let t: rt<f32, M, N> = zeros(); store(y, &t, at); }";
    let attr = format!("instances(<{rows}, {cols}; subgroups = (1, 1){host}>)");
    tile_front::compile_source(&attr, source).map(|_| ()).map_err(|e| e.join("\n"))
}

#[test]
fn the_next_larger_tile_is_refused_while_compiling() {
    assert_eq!(verdict(64, 64, ""), Ok(()));
    for (rows, cols) in [(72, 64), (64, 80), (16, 272)] {
        let why = verdict(rows, cols, "").expect_err("it does not fit the registers");
        assert!(why.contains("[T021]") && why.contains("16384 bytes"), "{why}");
    }
    // 8176 x 4096 f32 are all that the largest host stack has room for.
    assert_eq!(verdict(8176, 4096, "; host"), Ok(()));
    for (rows, cols) in [(8184, 4096), (8176, 4112), (1 << 20, 1 << 20), (4_294_967_288, 4_294_967_280)] {
        let why = verdict(rows, cols, "; host").expect_err("it does not fit a stack");
        assert!(why.contains("[T021]") && why.contains("133955584 bytes"), "{why}");
    }
}
