//! Owns the matrix multiplies.
//!
//! *Guarantees*: every element is a chain of fused multiply-adds in f32, K upward, or a sum in i32 that wraps, so the
//! result does not depend on the CPU. *Not here*: the chain's SIMD bodies (`simd`).

use crate::element::{MmaOperand, TileElement};
use crate::role::{Accumulator, AccumulatorElement, LeftOperand, RightOperand, RightOperandT};
use crate::simd;
use crate::tile::{AccumulatorCols, AccumulatorRows, InnerDim, Multiplies, Tile};

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
pub fn mma_AB<C: Tile, A: Tile, B: Tile>(acc: &mut C, a: &A, b: &B)
where
    A::Role: LeftOperand,
    B::Role: RightOperand,
    C::Role: Accumulator,
    C::Element: AccumulatorElement<A::Element>,
    A::Element: MmaOperand + Multiplies<B::Element>,
    A::Cols: InnerDim<B::Rows>,
    A::Rows: AccumulatorRows<C::Rows>,
    B::Cols: AccumulatorCols<C::Cols>,
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
pub fn mma_ABt<C: Tile, A: Tile, B: Tile>(acc: &mut C, a: &A, b: &B)
where
    A::Role: LeftOperand,
    B::Role: RightOperandT,
    C::Role: Accumulator,
    C::Element: AccumulatorElement<A::Element>,
    A::Element: MmaOperand + Multiplies<B::Element>,
    A::Cols: InnerDim<B::Rows>,
    A::Rows: AccumulatorRows<C::Rows>,
    B::Cols: AccumulatorCols<C::Cols>,
{
    accumulate(acc, a, b);
}

/// Both multiplies are one on the host: a tile that was loaded transposed is K x N like the other.
#[inline]
fn accumulate<C: Tile, A: Tile, B: Tile>(acc: &mut C, a: &A, b: &B) {
    let shape = [C::ROWS, C::COLS, A::COLS];
    if <C::Element as TileElement>::DTYPE.is_integer() {
        simd::integer::mma(shape, acc.values_mut(), a.values(), b.values());
    } else {
        simd::mma(shape, acc.values_mut(), a.values(), b.values());
    }
}
