//! Derived sizes are used as plain parameters and left out of a launch.

use tile_std::prelude::*;

#[tile_kernel(
    derive(HALF = M / 2, WIDE = HALF * 4),
    instances(<16; subgroups = (2, 1)>, <32; subgroups = (1, 1)>)
)]
pub fn halves<const M: usize, const HALF: usize, const WIDE: usize>(c: &mut gl<f32>, s: f32) {
    let at = own_tile::<HALF, WIDE>(c, Linear);
    let mut acc: rt<f32, HALF, WIDE, Acc> = load(c, at);
    acc = acc.scale(s);
    store(c, &acc, at);
}

pub fn main() {
    let mut c = Tensor::from_fn([1, 1, 9, 9], |_, _, _, _| 1.5f32).unwrap();
    halves::launch::<16>(&Device::host(), &mut c, 2.0).unwrap();
    halves::launch::<32>(&Device::host(), &mut c, 2.0).unwrap();
    assert!(c.iter().all(|v| v == 6.0));
}
