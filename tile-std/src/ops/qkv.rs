//! Owns the fused projection of attention: Q, K and V of one input in one product.
//!
//! The weights lie side by side in one packed tensor, and so do the three results, of which [`Qkv`] gives views. One
//! product reads the input once, and K and V, which are narrow where heads of Q share them, have tiles enough to fill a GPU
//! only together with Q. Three outputs would gain nothing over views, since every operation takes rows that lie further apart
//! than they are long; and a kernel of its own would be the GEMM once more. *Guarantees*: an element has the bits it has in
//! a product of its own with the same plan. *Not here*: rotary embedding and the cache (`rope`), attention.

use crate::ops::gemm::{Epilogue, GemmError, GemmOptions, GemmReport, gemm_fused_into, product};
use crate::prelude::*;

/// The weights of Q, K and V in one tensor.
pub struct QkvWeight<A: MmaInput> {
    packed: Tensor<A>,
    widths: [usize; 3],
    transposed: bool,
}

impl<A: MmaInput> QkvWeight<A> {
    /// Copies three weights side by side: each `[K, N]`, or `[N, K]` when `transposed`. Done once, when a model is loaded.
    ///
    /// # Errors
    /// [`GemmError::Weights`] unless all have one plane and the same K, or out of memory.
    pub fn pack<'a>(
        q: impl Into<View<'a, A>>,
        k: impl Into<View<'a, A>>,
        v: impl Into<View<'a, A>>,
        transposed: bool,
    ) -> Result<QkvWeight<A>, GemmError> {
        let parts = [q.into(), k.into(), v.into()];
        let [q, k, v] = parts.map(|part| part.shape());
        let (sum, width) = if transposed { (3, 2) } else { (2, 3) };
        if [q, k, v].iter().any(|shape| shape[..2] != [1, 1] || shape[sum] != q[sum]) {
            return Err(GemmError::Weights { q, k, v, transposed });
        }
        let widths = [q, k, v].map(|shape| shape[width]);
        let mut shape = q;
        // Widths that are no size together are no size for a tensor either.
        shape[width] = widths.iter().fold(0, |all: usize, width| all.saturating_add(*width));
        let mut packed = Tensor::with_shape(shape)?;
        let mut from = 0;
        for (part, width) in parts.into_iter().zip(widths) {
            let all = packed.view_mut();
            let range = from..from + width;
            let mut place = if transposed { all.slice_rows(range)? } else { all.slice_cols(range)? };
            place.copy_from(part)?;
            from += width;
        }
        Ok(QkvWeight { packed, widths, transposed })
    }

    /// A copy on a device.
    ///
    /// # Errors
    /// As [`Tensor::to_device`].
    pub fn to_device(&self, device: &Device) -> Result<QkvWeight<A>, TensorError> {
        let packed = self.packed.to_device(device)?;
        Ok(QkvWeight { packed, widths: self.widths, transposed: self.transposed })
    }

    /// Columns of Q, K and V.
    pub fn widths(&self) -> [usize; 3] {
        self.widths
    }
}

/// Q, K and V of one input, in one tensor.
pub struct Qkv<C: Element> {
    packed: Tensor<C>,
    widths: [usize; 3],
}

impl<C: Element> Qkv<C> {
    /// Room for Q, K and V of an input of this shape, on a device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn with_room_on(device: &Device, x: Shape, widths: [usize; 3]) -> Result<Qkv<C>, TensorError> {
        let [batch, depth, rows, _] = x;
        let cols = widths.iter().fold(0, |all: usize, width| all.saturating_add(*width));
        Ok(Qkv { packed: Tensor::with_shape_on(device, [batch, depth, rows, cols])?, widths })
    }

    /// Q, `[batch, depth, rows, N of Q]`; [`View::split_cols`] makes heads of it.
    pub fn q(&self) -> View<'_, C> {
        self.part(0)
    }

    /// K, `[batch, depth, rows, N of K]`.
    pub fn k(&self) -> View<'_, C> {
        self.part(1)
    }

    /// V, `[batch, depth, rows, N of V]`.
    pub fn v(&self) -> View<'_, C> {
        self.part(2)
    }

    fn part(&self, i: usize) -> View<'_, C> {
        let from: usize = self.widths[..i].iter().sum();
        let part = self.packed.view().slice_cols(from..from + self.widths[i]);
        part.expect("the tensor was made with as many columns as the three have together")
    }
}

/// Multiplies an input `[.., rows, K]` by the packed weights of Q, K and V, in one launch (two where K is split).
///
/// The parts start at their own columns: where the widths are multiples of 32 elements of 16 bits, as heads are, GPUs take the
/// views as they lie.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, out of memory, or a failed launch.
///
/// ```
/// use tile_std::ops::{QkvWeight, qkv};
/// use tile_std::prelude::*;
///
/// // Four heads of Q to two of K and V, of 32 columns each; as a linear layer keeps them, [N, K].
/// let weight = |n: usize| Tensor::from_fn([1, 1, n, 64], |_, _, n, k| bf16::from_f32(f32::from(u8::from(n == k))));
/// let weight = QkvWeight::pack(&weight(128)?, &weight(64)?, &weight(64)?, true)?;
/// let x = Tensor::from_fn([1, 1, 10, 64], |_, _, r, c| bf16::from_f32((r + c) as f32))?;
/// let out = qkv::<bf16, bf16>(&Device::host(), &x, &weight)?;
/// assert_eq!(out.k().to_vec(), x.to_vec());
/// let heads = out.q().split_cols(4)?; // [batch, heads, rows, 32], as attention takes it
/// assert_eq!(heads.get(0, 1, 9, 31), x.get(0, 0, 9, 63));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn qkv<'a, A: MmaInput, C: Element>(
    device: &Device,
    x: impl Into<View<'a, A>>,
    weight: &QkvWeight<A>,
) -> Result<Qkv<C>, GemmError> {
    let x = x.into();
    product(x.shape(), weight.packed.shape(), [false, weight.transposed])?;
    let mut out = Qkv::with_room_on(device, x.shape(), weight.widths)?;
    qkv_into(device, &mut out, x, weight, &Epilogue::default(), &GemmOptions::default())?;
    Ok(out)
}

/// Projects into `out`, with an epilogue over the packed columns (such as a bias of Q, K and V, one after the other) and with
/// every choice open; [`GemmOptions::transpose_b`] is the weight's.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, or a failed launch.
pub fn qkv_into<'a, A: MmaInput, C: Element>(
    device: &Device,
    out: &mut Qkv<C>,
    x: impl Into<View<'a, A>>,
    weight: &QkvWeight<A>,
    epilogue: &Epilogue<'_, C>,
    options: &GemmOptions<'_>,
) -> Result<GemmReport, GemmError> {
    let x = x.into();
    let options = GemmOptions { transpose_b: weight.transposed, ..*options };
    let forms = [options.transpose_a, options.transpose_b];
    let needed = product(x.shape(), weight.packed.shape(), forms)?;
    if out.packed.shape() != needed || out.widths != weight.widths {
        return Err(GemmError::Output { needed, found: out.packed.shape() });
    }
    gemm_fused_into(device, &mut out.packed, x, &weight.packed, epilogue, &options)
}
