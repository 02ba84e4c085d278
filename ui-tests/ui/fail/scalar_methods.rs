//! T014: scalars have operators and the methods of Rust's f32.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
fn kernel<const M: usize>(c: &mut gl<f32>, s: f32) {
    let at = own_tile::<M, 16>(c, Linear);
    let p = s.gelu();
    let q = s.add(1.0);
    let r = s.neg();
    let t = s.rsqrt();
    let u = s.scale(2.0);
    let v = s.to::<bf16>();
    let tile: rt<f32, M, 16> = fill(p + q + r + t);
    store(c, &tile, at);
}

fn main() {}
