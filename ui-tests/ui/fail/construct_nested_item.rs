//! T010: a body has no items.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>) {
    use std::f32::consts::PI;
    macro_rules! two {
        () => {
            2
        };
    }
    const HALF: usize = two!() * 4;
    static CIRCLE: f32 = PI;
    struct Pair(f32, f32);
    type Tile = rt<f32, 8, 16>;
    trait Twice {}
    let at = own_tile::<M, 16>(c, Linear);
    fn twice(v: u32) -> u32 {
        v * 2
    }
    let tile: rt<f32, M, 16> = zeros();
    store(c, &tile, at);
}

fn main() {}
