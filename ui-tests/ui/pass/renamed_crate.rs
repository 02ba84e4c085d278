//! A crate that re-exports `tile_std` names it in the attribute, by its path from the root.

mod reexport {
    pub use tile_std;
}

use self::reexport::tile_std::prelude::*;

#[tile_kernel(crate = crate::renamed_crate::reexport::tile_std, instances(<f16; subgroups = (1, 1)>))]
pub fn copy<T: Element>(c: &mut gl<T>, a: &gl<T>) {
    let at = own_tile::<8, 16>(c, Linear);
    let tile: rt<T, 8, 16> = load(a, at);
    store(c, &tile, at);
}

pub fn main() {
    let a = Tensor::from_fn([1, 1, 1, 1], |_, _, _, _| f16::ONE).unwrap();
    let mut c = Tensor::<f16>::zeros(1, 1).unwrap();
    copy::launch::<f16>(&Device::host(), &mut c, &a).unwrap();
    assert_eq!(c.to_vec(), [f16::ONE]);
}
