//! Every scalar type as a parameter, and the conversions among them.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
pub fn scalars(c: &mut gl<f32>, u: u32, i: i32, w: u64, f: f32, b: bool) {
    let at = own_tile::<8, 16>(c, Linear);
    let tile: rt<f32, 8, 16> = load(c, at);
    let sum = u as f32 + i as f32 + (w as u32) as f32 + f.max(0.0) + (b as u32) as f32;
    let far = -1i32 < i && !b;
    let shifted = (u << 3 | 1) & !(w as u32) ^ 0xff;
    let s: f32 = if far { sum } else { -sum + shifted.min(7) as f32 };
    store(c, &tile.scale(s), at);
}

pub fn main() {
    let mut c = Tensor::from_fn([1, 1, 2, 2], |_, _, _, _| 1.0f32).unwrap();
    scalars::launch(&Device::host(), &mut c, 1, 2, 3, 4.0, false).unwrap();
    assert_eq!(c.get(0, 0, 1, 1), Some(10.0));
}
