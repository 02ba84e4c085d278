//! A private kernel without generic parameters, called as a plain function too.

use tile_std::prelude::*;

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn double(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<8, 16>(c, Linear);
    let tile: rt<f32, 8, 16> = load(a, at);
    store(c, &tile.scale(2.0), at);
}

pub fn main() {
    let (a, mut c) = ([1.0f32, 2.0, 3.0], [0.0f32; 3]);
    double(&mut gl::of_mut(&mut c, 1, 3).unwrap(), &gl::of(&a, 1, 3).unwrap());
    assert_eq!(c, [2.0, 4.0, 6.0]);
    let mut c = [0.0f32; 3];
    let out = ViewMut::from_slice(&mut c, 1, 3).unwrap();
    double::launch(&Device::host(), out, View::from_slice(&a, 1, 3).unwrap()).unwrap();
    assert_eq!(c, [2.0, 4.0, 6.0]);
}
