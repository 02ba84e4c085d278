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

/// The sum of the squares of every row. `QUARTER` is `N / 4`: the squares are added up quarter by quarter, so that only
/// one of them is in registers beside the tile.
///
/// ```
/// use tile_std::functions::row_squares;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(row_squares), instances(<64, 16; subgroups = (1, 1)>))]
/// fn lengths<const N: usize, const QUARTER: usize>(y: &mut gl<f32>, x: &gl<f32>) {
///     let at = own_tile::<8, 16>(y, Linear);
///     let tile: rt<f32, 8, N> = load(x, [at.row(), 0]);
///     let zero: rt<f32, 8, 16> = zeros();
///     store(y, &zero.add_row(&row_squares::<N, QUARTER>(&tile).sqrt()), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let x = Tensor::from_slice(1, 2, &[3.0f32, 4.0])?;
///     let mut y = Tensor::<f32>::zeros(1, 1)?;
///     lengths::launch::<64, 16>(&Device::host(), &mut y, &x)?;
///     assert!((y.get(0, 0, 0, 0).unwrap() - 5.0).abs() < 1e-5);
///     Ok(())
/// }
/// ```
#[tile_fn]
pub fn row_squares<const N: usize, const QUARTER: usize>(x: &rt<f32, 8, N>) -> rv<f32, 8, PerRow> {
    let first = x.sub_tile::<8, QUARTER>(0, 0);
    let mut sum = first.mul(&first);
    #[unroll]
    for i in 1..4u32 {
        let part = x.sub_tile::<8, QUARTER>(0, i);
        sum = part.fma(&part, &sum);
    }
    sum.row_sum()
}

/// The product with a matrix whose columns have one element of 1 or -1 each, which is exact: an f32 is the sum of three bf16.
///
/// Numbers below 1e-36 in size may become 0; infinities and NaN spread over their row, see [`moved`].
///
/// ```
/// use tile_std::functions::exact_product;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(exact_product), instances(<8, 16, 16; subgroups = (1, 1)>))]
/// fn permuted<const M: usize, const K: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>, order: &gl<bf16>) {
///     let at = own_tile::<M, N>(y, Linear);
///     let tile: rt<f32, M, K> = load(x, [at.row(), 0]);
///     let matrix: rt<bf16, K, N, Vnni> = load_transform(order, [0, at.col()]);
///     store(y, &exact_product::<M, K, N>(&tile, &matrix), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let x = Tensor::from_slice(1, 2, &[1.234567f32, -7.654321])?;
///     let order = Tensor::from_slice(2, 2, &[0.0, 1.0, 1.0, 0.0].map(bf16::from_f32))?;
///     let mut y = Tensor::<f32>::zeros(1, 2)?;
///     permuted::launch::<8, 16, 16>(&Device::host(), &mut y, &x, &order)?;
///     assert_eq!(y.to_vec(), [-7.654321, 1.234567]);
///     Ok(())
/// }
/// ```
#[tile_fn]
pub fn exact_product<const M: usize, const K: usize, const N: usize>(
    x: &rt<f32, M, K>,
    matrix: &rt<bf16, K, N, Vnni>,
) -> rt<f32, M, N> {
    // Half of it, since the largest f32 rounds to an infinite bf16.
    let half = x.scale(0.5);
    let high = half.to::<bf16>();
    let rest = half.sub(&high.to::<f32>());
    let middle = rest.to::<bf16>();
    let low = rest.sub(&middle.to::<f32>()).to::<bf16>();
    let mut sum: rt<f32, M, N, Acc> = zeros();
    mma_AB(&mut sum, &high, matrix);
    mma_AB(&mut sum, &middle, matrix);
    mma_AB(&mut sum, &low, matrix);
    sum.to::<f32>().scale(2.0)
}

/// [`exact_product`] with a square matrix that moves elements, infinities and NaN among them: each goes where its row of the
/// matrix says, and nowhere else.
///
/// ```
/// use tile_std::functions::{exact_product, moved};
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(moved, exact_product), instances(<8, 16; subgroups = (1, 1)>))]
/// fn permuted<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>, order: &gl<bf16>) {
///     let at = own_tile::<M, N>(y, Linear);
///     let tile: rt<f32, M, N> = load(x, [at.row(), 0]);
///     let matrix: rt<bf16, N, N, Vnni> = load_transform(order, [0, 0]);
///     store(y, &moved::<M, N>(&tile, &matrix), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let x = Tensor::from_slice(1, 2, &[f32::INFINITY, 3.0])?;
///     let order = Tensor::from_slice(2, 2, &[0.0, -1.0, 1.0, 0.0].map(bf16::from_f32))?;
///     let mut y = Tensor::<f32>::zeros(1, 2)?;
///     permuted::launch::<8, 16>(&Device::host(), &mut y, &x, &order)?;
///     assert_eq!(y.to_vec(), [3.0, f32::NEG_INFINITY]);
///     Ok(())
/// }
/// ```
#[tile_fn(fns(exact_product))]
pub fn moved<const M: usize, const N: usize>(
    x: &rt<f32, M, N>,
    matrix: &rt<bf16, N, N, Vnni>,
) -> rt<f32, M, N> {
    let zero: rt<f32, M, N> = zeros();
    let finite = x.abs().lt(f32::INFINITY);
    let numbers = exact_product::<M, N, N>(&finite.select(x, 0.0), matrix);
    // 1 and -1 stand for the infinities, 2 for NaN.
    let strange = finite.select(&zero, 1.0);
    let signed = x.lt(0.0).select(&strange.neg(), &strange);
    let sign = x.ne(x).select(&strange.scale(2.0), &signed).to::<bf16>();
    let mut arrived: rt<f32, M, N, Acc> = zeros();
    mma_AB(&mut arrived, &sign, matrix);
    let there = arrived.to::<f32>();
    let infinite = there.scale(f32::INFINITY);
    let kind = there.abs();
    let mixed = kind.gt(0.5).select(&infinite, &numbers);
    kind.gt(1.5).select(&infinite.sub(&infinite), &mixed)
}

/// The end of BLAS's product, `alpha * acc + beta * c[r, c]`. Where `beta` is 0, C is not read: it may hold NaN.
///
/// `row` and `col` are the tile's place in tiles, as `own_tile` gives them, in the plane `batch`, `depth` of `c`. A large
/// accumulator goes in slices, since it fills half of the registers of a GPU: `acc.to::<f32>().sub_tile::<8, N>(i, 0)`.
/// C is another tensor than the output: a kernel reads its output only where it owns it.
///
/// ```
/// use tile_std::functions::alpha_beta;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(alpha_beta), instances(<8, 16; subgroups = (1, 1)>))]
/// fn blas<const M: usize, const N: usize>(d: &mut gl<f32>, c: &gl<bf16>, alpha: f32, beta: f32) {
///     let at = own_tile::<M, N>(d, Linear);
///     let acc: rt<f32, M, N, Acc> = fill(3.0);
///     store(d, &alpha_beta(&acc.to::<f32>(), c, at.batch(), at.depth(), at.row(), at.col(), alpha, beta), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let c = Tensor::from_slice(1, 2, &[bf16::from_f32(4.0), bf16::NAN])?;
///     let mut d = Tensor::<f32>::zeros(1, 2)?;
///     blas::launch::<8, 16>(&Device::host(), &mut d, &c, 2.0, 0.5)?;
///     assert_eq!(d.get(0, 0, 0, 0), Some(8.0));
///     blas::launch::<8, 16>(&Device::host(), &mut d, &c, 2.0, 0.0)?;
///     assert_eq!(d.to_vec(), [6.0, 6.0]);
///     Ok(())
/// }
/// ```
#[tile_fn]
#[allow(clippy::too_many_arguments, reason = "a device function sees nothing of its caller")]
pub fn alpha_beta<T: Element, const M: usize, const N: usize>(
    acc: &rt<f32, M, N>,
    c: &gl<T>,
    batch: u32,
    depth: u32,
    row: u32,
    col: u32,
    alpha: f32,
    beta: f32,
) -> rt<f32, M, N> {
    let mut out = acc.scale(alpha);
    if beta != 0.0 {
        let before: rt<T, M, N> = load(c, [batch, depth, row, col]);
        out = out.add(&before.to::<f32>().scale(beta));
    }
    out
}

/// Adds the input of a layer to what the layer made of it: `acc[r, c] + x[r, c]`.
///
/// `row` and `col` are the tile's place in tiles, as for [`alpha_beta`].
///
/// ```
/// use tile_std::functions::residual;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(residual), instances(<8, 16; subgroups = (1, 1)>))]
/// fn layer<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f16>) {
///     let at = own_tile::<M, N>(y, Linear);
///     let acc: rt<f32, M, N, Acc> = fill(3.0);
///     store(y, &residual(&acc.to::<f32>(), x, at.batch(), at.depth(), at.row(), at.col()), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let x = Tensor::from_slice(1, 2, &[f16::from_f32(0.5), f16::from_f32(-4.0)])?;
///     let mut y = Tensor::<f32>::zeros(1, 2)?;
///     layer::launch::<8, 16>(&Device::host(), &mut y, &x)?;
///     assert_eq!(y.to_vec(), [3.5, -1.0]);
///     Ok(())
/// }
/// ```
#[tile_fn]
pub fn residual<T: Element, const M: usize, const N: usize>(
    acc: &rt<f32, M, N>,
    x: &gl<T>,
    batch: u32,
    depth: u32,
    row: u32,
    col: u32,
) -> rt<f32, M, N> {
    let input: rt<T, M, N> = load(x, [batch, depth, row, col]);
    acc.add(&input.to::<f32>())
}

/// The activation of a layer by its number: 1 is relu, 2 gelu, 3 silu, and every other number leaves the tile as it is.
///
/// ```
/// use tile_std::functions::activated;
/// use tile_std::prelude::*;
///
/// #[tile_kernel(fns(activated), instances(<8, 16; subgroups = (1, 1)>))]
/// fn layer<const M: usize, const N: usize>(y: &mut gl<f32>, activation: u32) {
///     let at = own_tile::<M, N>(y, Linear);
///     let acc: rt<f32, M, N, Acc> = fill(-3.0);
///     store(y, &activated(acc, activation), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let mut y = Tensor::<f32>::zeros(1, 2)?;
///     layer::launch::<8, 16>(&Device::host(), &mut y, 0)?;
///     assert_eq!(y.to_vec(), [-3.0, -3.0]);
///     layer::launch::<8, 16>(&Device::host(), &mut y, 1)?;
///     assert_eq!(y.to_vec(), [0.0, 0.0]);
///     Ok(())
/// }
/// ```
#[tile_fn]
pub fn activated<const M: usize, const N: usize>(
    x: rt<f32, M, N, Acc>,
    activation: u32,
) -> rt<f32, M, N, Acc> {
    match activation {
        1 => x.relu(),
        2 => x.gelu(),
        3 => x.silu(),
        _ => x,
    }
}
