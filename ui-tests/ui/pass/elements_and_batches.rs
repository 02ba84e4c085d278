//! Both coordinate forms, in tiles and in elements, and orders of any width.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 2)>))]
pub fn shift<const N: usize>(c: &mut gl<f32>, a: &gl<f32>, by: u32, width: u32) {
    let at = own_tile::<8, N>(c, Snake(width));
    let col = at.col() * (N as u32) + by;
    let tile: rt<f32, 8, N> = load(a, elements([at.batch(), at.depth(), at.row() * 8, col]));
    store(c, &tile, at);
}

pub fn main() {
    let a = Tensor::from_fn([2, 1, 9, 40], |b, _, r, c| (b * 1000 + r * 40 + c) as f32).unwrap();
    let mut c = Tensor::<f32>::with_shape([2, 1, 9, 40]).unwrap();
    shift::launch::<16>(&Device::host(), &mut c, &a, 3, 4).unwrap();
    assert_eq!((c.get(1, 0, 8, 36), c.get(1, 0, 8, 37)), (Some(1359.0), Some(0.0)));
}
