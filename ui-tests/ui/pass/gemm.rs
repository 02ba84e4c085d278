//! One source for all element types and sizes, with constant branches.

use tile_std::prelude::*;

#[tile_kernel(instances(
    <bf16, f32, 16, 32, 32, false, true; subgroups = (4, 2)>,
    <f16, f16, 8, 16, 16, true, false; subgroups = (1, 1)>,
))]
pub fn gemm<
    A: MmaInput,
    C: Element,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TRANS_B: bool,
    const PREFETCH: bool,
>(
    c: &mut gl<C>,
    a: &gl<A>,
    b: &gl<A>,
    ahead: u32,
) {
    let at = own_tile::<BM, BN>(c, Snake(8));
    if at.outside() {
        return;
    }
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let x: rt<A, BM, BK> = load(a, [at.batch(), at.depth(), at.row(), k]);
        if PREFETCH {
            prefetch_load_coop::<rt<A, BM, BK>>(a, [at.batch(), at.depth(), at.row(), k + ahead], Peers::Row);
            prefetch_load::<rt<A, BK, BN>>(b, [k + ahead, at.col()]);
        }
        if TRANS_B {
            let y: rt<A, BK, BN, VnniT> = load_transpose(b, [at.batch(), at.depth(), at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            let y: rt<A, BK, BN, Vnni> = load_transform(b, [at.batch(), at.depth(), k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    store(c, &acc.to::<C>(), at);
}

pub fn main() {
    let a = Tensor::from_fn([1, 1, 5, 70], |_, _, r, c| bf16::from_f32((r + c) as f32)).unwrap();
    let b = Tensor::from_fn([1, 1, 70, 9], |_, _, r, c| bf16::from_f32((r == c) as u8 as f32)).unwrap();
    let mut c = Tensor::<f32>::zeros(5, 9).unwrap();
    let device = Device::host();
    gemm::launch::<bf16, f32, 16, 32, 32, false, true>(&device, &mut c, &a, &b, 2).unwrap();
    assert_eq!(c.get(0, 0, 4, 8), Some(12.0));
    let half = Tensor::<f16>::zeros(9, 70).unwrap();
    let mut d = Tensor::<f16>::zeros(5, 9).unwrap();
    let a = Tensor::<f16>::zeros(5, 70).unwrap();
    let instance = gemm::KERNEL.find_named("<f16, f16, 8, 16, 16, true, false>").unwrap();
    gemm::launch_with(&device, instance, &LaunchOptions::default(), &mut d, &a, &half, 0).unwrap();
}
