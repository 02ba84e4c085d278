//! Device functions of another module, of another crate, and renamed: with every kind of parameter.

use tile_std::functions::bias;
use tile_std::prelude::*;

pub mod parts {
    pub mod deep {
        use tile_std::prelude::*;

        /// Multiplies one block into `acc`; `count` counts.
        #[tile_fn]
        pub fn step<A: MmaInput, const M: usize, const N: usize, const K: usize>(
            acc: &mut rt<f32, M, N, Acc>,
            a: &gl<A>,
            b: &gl<A>,
            row: u32,
            k: u32,
        ) {
            let x: rt<A, M, K> = load(a, [row, k]);
            let y: rt<A, K, N, Vnni> = load_transform(b, [k, 0]);
            mma_AB(acc, &x, &y);
        }
    }

    use tile_std::prelude::*;

    #[tile_fn]
    pub fn bias<const M: usize, const N: usize, const TWICE: bool>(
        x: rt<f32, M, N, Acc>,
        top: &mut rv<f32, M, PerRow>,
    ) -> rt<f32, M, N, Acc> {
        *top = x.row_max_with(top);
        if TWICE { x.scale(2.0) } else { x }
    }
}

use parts::bias as largest;

#[tile_kernel(fns(parts::deep::step, bias, largest), instances(<f16, 16, 32, 16; subgroups = (1, 1)>))]
pub fn linear<A: MmaInput, const M: usize, const N: usize, const K: usize>(
    c: &mut gl<f32>,
    a: &gl<A>,
    b: &gl<A>,
    row: &gl<f32>,
) {
    let at = own_tile::<M, N>(c, Linear);
    let mut acc: rt<f32, M, N, Acc> = zeros();
    for k in 0..a.col_tiles(K) {
        parts::deep::step::<A, M, N, K>(&mut acc, a, b, at.row(), k);
    }
    let mut top: rv<f32, M, PerRow> = fill(0.0);
    let acc = largest::<M, N, true>(bias(&acc, row, at.col()), &mut top);
    store(c, &acc.sub_row(&top), at);
}

pub fn main() {
    let a = Tensor::from_fn([1, 1, 5, 20], |_, _, r, k| f16::from_f32((r * k % 3) as f32)).unwrap();
    let b = Tensor::from_fn([1, 1, 20, 7], |_, _, k, c| f16::from_f32((k + c) as f32 % 4.0)).unwrap();
    let row = Tensor::from_fn([1, 1, 1, 7], |_, _, _, c| c as f32).unwrap();
    let mut c = Tensor::<f32>::zeros(5, 7).unwrap();
    linear::launch::<f16, 16, 32, 16>(&Device::host(), &mut c, &a, &b, &row).unwrap();
    for r in 0..5 {
        let plain =
            |c: usize| (0..20).map(|k| (r * k % 3) as f32 * ((k + c) as f32 % 4.0)).sum::<f32>() + c as f32;
        let top = (0..7).map(plain).fold(0.0, f32::max);
        for col in 0..7 {
            assert_eq!(c.get(0, 0, r, col), Some(2.0 * plain(col) - top));
        }
    }
}
