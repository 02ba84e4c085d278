//! Device functions for kernels of this and other crates: list them in `fns(..)`.
//!
//! *Guarantees*: a function here computes in f32 and rounds nothing. *Not here*: kernels ([`crate::kernels`]).

use crate::prelude::*;

/// Adds a bias, one value per column, to an accumulator: `acc[r, c] + bias[0, col * N + c]`.
///
/// `col` is the accumulator's column in tiles of `N`, as `own_tile` gives it; `bias` has one row, and counts as 0 past
/// its end.
///
/// ```
/// use tile_std::functions::bias;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(bias), instances(<16, 32; subgroups = (1, 1)>))]
/// fn spread<const M: usize, const N: usize>(c: &mut gl<f32>, row: &gl<bf16>) {
///     let at = own_tile::<M, N>(c, Linear);
///     let acc: rt<f32, M, N, Acc> = zeros();
///     store(c, &bias(&acc, row, at.col()), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let row = Tensor::from_fn([1, 1, 1, 40], |_, _, _, c| bf16::from_f32(c as f32))?;
///     let mut c = Tensor::<f32>::zeros(3, 40)?;
///     spread::launch::<16, 32>(&Device::host(), &mut c, &row)?;
///     assert_eq!(c.get(0, 0, 2, 33), Some(33.0));
///     Ok(())
/// }
/// ```
#[tile_fn]
pub fn bias<T: Element, const M: usize, const N: usize>(
    acc: &rt<f32, M, N, Acc>,
    bias: &gl<T>,
    col: u32,
) -> rt<f32, M, N, Acc> {
    let row: rv<T, N, PerCol> = load_vec(bias, [0, col]);
    acc.add_col(&row.to::<f32>())
}

/// Multiplies an activated gate with an accumulator, element by element: `silu(gate) * acc`, the middle of a gated
/// feed-forward layer.
///
/// ```
/// use tile_std::functions::silu_mul;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(silu_mul), instances(<8, 16; subgroups = (1, 1)>))]
/// fn gated<const M: usize, const N: usize>(y: &mut gl<f32>, gate: &gl<f32>, up: &gl<f32>) {
///     let at = own_tile::<M, N>(y, Linear);
///     let g: rt<f32, M, N> = load(gate, at);
///     let u: rt<f32, M, N> = load(up, at);
///     store(y, &silu_mul(&g, &u), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let (gate, up) = (Tensor::from_slice(1, 2, &[0.0f32, 1.0])?, Tensor::from_slice(1, 2, &[5.0f32, 2.0])?);
///     let mut y = Tensor::<f32>::zeros(1, 2)?;
///     gated::launch::<8, 16>(&Device::host(), &mut y, &gate, &up)?;
///     assert!((y.get(0, 0, 0, 1).unwrap() - 1.462_117_2).abs() < 1e-5);
///     Ok(())
/// }
/// ```
#[tile_fn]
pub fn silu_mul<const M: usize, const N: usize>(gate: &rt<f32, M, N>, up: &rt<f32, M, N>) -> rt<f32, M, N> {
    gate.silu().mul(up)
}

/// The middle of a gated feed-forward layer whose gate has a bias: `silu(gate[r, c] + row[0, col * N + c]) * up[r, c]`,
/// of two accumulators.
///
/// `col` is the tiles' column in tiles of `N`, as for [`bias`].
///
/// ```
/// use tile_std::functions::silu_mul_bias;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(silu_mul_bias), instances(<8, 16; subgroups = (1, 1)>))]
/// fn gated<const M: usize, const N: usize>(y: &mut gl<f32>, row: &gl<f32>) {
///     let at = own_tile::<M, N>(y, Linear);
///     let gate: rt<f32, M, N, Acc> = zeros();
///     let up: rt<f32, M, N, Acc> = fill(3.0);
///     store(y, &silu_mul_bias(&gate, &up, row, at.col()), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let row = Tensor::from_slice(1, 2, &[0.0f32, 1.0])?;
///     let mut y = Tensor::<f32>::zeros(1, 2)?;
///     gated::launch::<8, 16>(&Device::host(), &mut y, &row)?;
///     assert!((y.get(0, 0, 0, 1).unwrap() - 3.0 * 0.731_058_6).abs() < 1e-5);
///     Ok(())
/// }
/// ```
#[tile_fn(fns(bias, silu_mul))]
pub fn silu_mul_bias<T: Element, const M: usize, const N: usize>(
    gate: &rt<f32, M, N, Acc>,
    up: &rt<f32, M, N, Acc>,
    row: &gl<T>,
    col: u32,
) -> rt<f32, M, N> {
    let shifted = bias(gate, row, col).to::<f32>();
    silu_mul(&shifted, &up.to::<f32>())
}
