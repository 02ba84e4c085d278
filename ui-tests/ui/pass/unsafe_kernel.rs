//! An `unsafe` kernel may store anywhere, with or without an inner `unsafe` block.

use tile_std::prelude::*;

/// Writes each tile to the place opposite of its own.
///
/// # Safety
/// `c` has as many tiles as `a`.
#[tile_kernel(instances(<bf16; subgroups = (2, 2)>))]
pub unsafe fn reverse<T: Element>(c: &mut gl<T>, a: &gl<T>) {
    let at = own_tile::<8, 16>(c, Linear);
    if at.outside() {
        return;
    }
    let tile: rt<T, 8, 16> = load(a, at);
    let row = c.row_tiles(8) - 1 - at.row();
    // SAFETY: no other sub-group has this row and column.
    unsafe {
        store_at(c, &tile, [row, at.col()]);
    }
}

pub fn main() {
    let a = Tensor::from_fn([1, 1, 16, 16], |_, _, r, _| bf16::from_f32(r as f32)).unwrap();
    let mut c = Tensor::<bf16>::zeros(16, 16).unwrap();
    // SAFETY: both have two tiles.
    unsafe { reverse::launch::<bf16>(&Device::host(), &mut c, &a) }.unwrap();
    assert_eq!(c.get(0, 0, 0, 0), Some(bf16::from_f32(8.0)));
}
