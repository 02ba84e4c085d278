//! A result becomes the left operand of the next multiply; tiles without a written type are derived.

use tile_std::prelude::*;

#[tile_kernel(instances(<bf16, 16; subgroups = (1, 1)>))]
pub fn chain<T: MmaInput, const N: usize>(c: &mut gl<T>, a: &gl<T>, b: &gl<T>) {
    let at = own_tile::<8, N>(c, Linear);
    let x: rt<T, 8, N> = load(a, [at.row(), 0]);
    let y: rt<T, N, N, Vnni> = load_transform(b, [0, 0]);
    let mut acc: rt<f32, 8, N, Acc> = zeros();
    mma_AB(&mut acc, &x, &y);
    let p = acc.to::<T>();
    let z: rt<T, N, N, VnniT> = load_transpose(b, [0, 0]);
    let mut twice: rt<f32, 8, N, Acc> = zeros();
    mma_ABt(&mut twice, &p, &z);
    let out = twice.scale(0.5);
    store(c, &out.to::<T>(), at);
}

pub fn main() {
    let one = |same: bool| bf16::from_f32(same as u8 as f32);
    let a = Tensor::from_fn([1, 1, 8, 16], |_, _, r, c| bf16::from_f32((r * 16 + c) as f32)).unwrap();
    let b = Tensor::from_fn([1, 1, 16, 16], |_, _, r, c| one(r == c)).unwrap();
    let mut c = Tensor::<bf16>::zeros(8, 16).unwrap();
    chain::launch::<bf16, 16>(&Device::host(), &mut c, &a, &b).unwrap();
    assert_eq!(c.get(0, 0, 7, 15), Some(bf16::from_f32(63.5)));
}
