//! Kernels of one module do not meet: each has a module of its own, and a helper of another crate item's name.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
pub fn one(c: &mut gl<f32>, s: f32) {
    let at = own_tile::<8, 16>(c, Linear);
    let tile: rt<f32, 8, 16> = load(c, at);
    store(c, &tile.scale(s), at);
}

#[tile_kernel(instances(<; subgroups = (2, 2)>))]
pub fn two(c: &mut gl<f32>, s: f32) {
    let at = own_tile::<16, 32>(c, Linear);
    let tile: rt<f32, 16, 32, Acc> = load(c, at);
    store(c, &tile.scale(s), at);
}

pub fn main() {
    let mut c = Tensor::from_fn([1, 1, 3, 3], |_, _, _, _| 1.0f32).unwrap();
    let device = Device::host();
    one::launch(&device, &mut c, 2.0).unwrap();
    two::launch(&device, &mut c, 3.0).unwrap();
    assert!(c.iter().all(|v| v == 6.0));
    assert_eq!((one::INSTANCES[0].subgroups, two::INSTANCES[0].subgroups), ((1, 1), (2, 2)));
}
