//! Owns the matrix multiplies.
//!
//! *Guarantees*: every element is a chain of fused multiply-adds in f32, K upward, so the result does not
//! depend on the CPU. *Not here*: the chain's SIMD bodies (`simd`).

use crate::element::{Element, MmaInput};
use crate::role::{Accumulator, AccumulatorElement, LeftOperand, RightOperand, RightOperandT};
use crate::simd;
use crate::tile::{AccumulatorCols, AccumulatorRows, Dim, InnerDim, SameOperand, rt};

/// Accumulates `acc += a * b`; `b` comes from `load_transform`, that is from a [K, N] tensor.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let ones = vec![bf16::ONE; 32 * 32];
/// let g = gl::of(&ones, 32, 32).expect("32 x 32 elements are there");
/// let a: rt<bf16, 8, 32> = load(&g, [0, 0]);
/// let b: rt<bf16, 32, 16, Vnni> = load_transform(&g, [0, 0]);
/// let mut acc: rt<f32, 8, 16, Acc> = zeros();
/// mma_AB(&mut acc, &a, &b);
/// assert_eq!(acc.get(7, 15), 32.0);
/// ```
#[allow(non_snake_case, reason = "the field's name: A times B")]
#[inline]
pub fn mma_AB<
    TC: AccumulatorElement,
    TA: MmaInput + SameOperand<TB>,
    TB: MmaInput,
    LC: Accumulator,
    LA: LeftOperand,
    LB: RightOperand,
    const CM: usize,
    const CN: usize,
    const M: usize,
    const AK: usize,
    const BK: usize,
    const N: usize,
>(
    acc: &mut rt<TC, CM, CN, LC>,
    a: &rt<TA, M, AK, LA>,
    b: &rt<TB, BK, N, LB>,
) where
    Dim<AK>: InnerDim<Dim<BK>, AK, BK>,
    Dim<CM>: AccumulatorRows<Dim<M>, CM, M>,
    Dim<CN>: AccumulatorCols<Dim<N>, CN, N>,
{
    accumulate(acc, a, b);
}

/// Accumulates `acc += a * b`; `b` comes from `load_transpose`, that is from an [N, K] tensor, and its shape
/// is K x N all the same.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let a: Vec<f16> = (0..8 * 16).map(|i| f16::from_f32((i % 16) as f32)).collect();
/// let b: Vec<f16> = (0..16 * 16).map(|i| f16::from_f32((i / 16) as f32)).collect();
/// let (a, b) = (gl::of(&a, 8, 16).expect("fits"), gl::of(&b, 16, 16).expect("fits"));
/// let a: rt<f16, 8, 16> = load(&a, [0, 0]);
/// let b: rt<f16, 16, 16, VnniT> = load_transpose(&b, [0, 0]); // column n of B holds n
/// let mut acc: rt<f32, 8, 16, Acc> = zeros();
/// mma_ABt(&mut acc, &a, &b);
/// assert_eq!(acc.get(0, 3), 3.0 * 120.0);
/// ```
#[allow(non_snake_case, reason = "the field's name: A times B transposed")]
#[inline]
pub fn mma_ABt<
    TC: AccumulatorElement,
    TA: MmaInput + SameOperand<TB>,
    TB: MmaInput,
    LC: Accumulator,
    LA: LeftOperand,
    LB: RightOperandT,
    const CM: usize,
    const CN: usize,
    const M: usize,
    const AK: usize,
    const BK: usize,
    const N: usize,
>(
    acc: &mut rt<TC, CM, CN, LC>,
    a: &rt<TA, M, AK, LA>,
    b: &rt<TB, BK, N, LB>,
) where
    Dim<AK>: InnerDim<Dim<BK>, AK, BK>,
    Dim<CM>: AccumulatorRows<Dim<M>, CM, M>,
    Dim<CN>: AccumulatorCols<Dim<N>, CN, N>,
{
    accumulate(acc, a, b);
}

/// Both multiplies are one on the host: a tile that was loaded transposed is K x N like the other.
#[inline]
fn accumulate<
    TC: Element,
    TA: Element,
    TB: Element,
    LC,
    LA,
    LB,
    const CM: usize,
    const CN: usize,
    const M: usize,
    const AK: usize,
    const BK: usize,
    const N: usize,
>(
    acc: &mut rt<TC, CM, CN, LC>,
    a: &rt<TA, M, AK, LA>,
    b: &rt<TB, BK, N, LB>,
) {
    simd::mma([CM, CN, AK], acc.values_mut(), a.values(), b.values());
}
