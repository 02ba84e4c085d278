//! `; host` compiles an instance for the host alone, beyond what a device's registers hold.

use tile_std::prelude::*;

#[tile_kernel(instances(
    <8, 16; subgroups = (1, 1)>,
    <64, 256; subgroups = (2, 1); host>,
    <32, 512; host; subgroups = (1, 1)>,
))]
pub fn shift<const M: usize, const N: usize>(c: &mut gl<f32>, a: &gl<f32>) {
    let at = own_tile::<M, N>(c, Linear);
    let x: rt<f32, M, N> = load(a, at);
    store(c, &x.sub_row(&x.row_min()), at);
}

pub fn main() {
    let a = Tensor::from_fn([1, 1, 70, 100], |_, _, r, c| (r * 100 + c) as f32).unwrap();
    let mut c = Tensor::<f32>::zeros(70, 100).unwrap();
    // Columns past the edge are 0 and the least of their tile.
    shift::launch::<64, 256>(&Device::host(), &mut c, &a).unwrap();
    assert_eq!(c.get(0, 0, 69, 99), Some(6999.0));
    shift::launch::<32, 512>(&Device::host(), &mut c, &a).unwrap();
    assert_eq!(c.get(0, 0, 69, 99), Some(6999.0));
    assert!(shift::launch::<64, 256>(&Device::sim(), &mut c, &a).is_err());
    let modules: Vec<bool> = shift::INSTANCES.iter().map(|i| !i.modules.is_empty()).collect();
    assert_eq!(modules, [true, false, false]);
}
