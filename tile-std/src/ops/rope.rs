//! Owns rotary position embeddings over tensors: shape checks, the choice of the instance, the launch.

use crate::kernels::rope::{self, rope as halves_kernel};
use crate::kernels::rope_pairs::{self, rope_pairs as pairs_kernel};
use crate::ops::dispatch::{Choice, RowError, RowOptions, Rule, choose, resolve, same_shape};
use crate::prelude::*;
use crate::{Generic, KernelInfo};

/// Which elements of a row are turned together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RopeLayout {
    /// Element `p` with element `p + D / 2`.
    #[default]
    HalfSplit,
    /// Element `2p` with element `2p + 1`.
    Interleaved,
}

/// The parameters of a rotary position embedding.
#[derive(Clone, Copy, Debug)]
pub struct Rope<'a> {
    /// Cosines, `[positions, D / 2]`.
    pub cos: View<'a, f32>,
    /// Sines, `[positions, D / 2]`.
    pub sin: View<'a, f32>,
    /// The position of row 0: rows of the tables that are skipped.
    pub first: usize,
    /// Which elements are turned together.
    pub layout: RopeLayout,
}

/// Turns every row by its position, `[batch, heads, positions, D]`, as a new tensor, computed in f32.
///
/// `D` is a multiple of 32.
///
/// ```
/// use tile_std::ops::{Rope, RopeLayout, rope};
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_fn([1, 1, 2, 32], |_, _, _, c| (c == 0) as u8 as f32)?;
/// let cos = Tensor::from_fn([1, 1, 2, 16], |_, _, r, _| (r as f32).cos())?;
/// let sin = Tensor::from_fn([1, 1, 2, 16], |_, _, r, _| (r as f32).sin())?;
/// let turn = Rope { cos: cos.view(), sin: sin.view(), first: 0, layout: RopeLayout::HalfSplit };
/// let y = rope(&Device::host(), &x, &turn)?;
/// assert_eq!((y.get(0, 0, 1, 0), y.get(0, 0, 1, 16)), (Some(1f32.cos()), Some(1f32.sin())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: columns that are no multiple of 32, tables that do not fit, out of memory, or a failed launch.
pub fn rope<'a, T: Element>(
    device: &Device,
    x: impl Into<View<'a, T>>,
    turn: &Rope<'_>,
) -> Result<Tensor<T>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(x.shape())?;
    rope_into(device, &mut y, x, turn, &RowOptions::default())?;
    Ok(y)
}

/// [`rope()`] into `y`, with every choice open.
///
/// # Errors
/// [`RowError`]: tensors that do not fit, an instance of other types, or a failed launch.
pub fn rope_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    x: impl Into<View<'a, T>>,
    turn: &Rope<'_>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let (y, x) = (y.into(), x.into());
    same_shape("rope", ("the output", y.shape()), ("x", x.shape()))?;
    let nothing = (
        ViewMut::from_slice_with_shape(&mut [], [0, 0, 0, 0])?,
        View::from_slice_with_shape(&[], [0, 0, 0, 0])?,
    );
    run("rope", device, true, (y, x), nothing, turn, options)
}

/// Turns queries `[batch, heads, positions, D]` and keys, which may have another number of heads, in one launch; see
/// [`rope()`].
///
/// ```
/// use tile_std::ops::{Rope, RopeLayout, rope, rope_qk};
/// use tile_std::prelude::*;
///
/// let value = |_, h: usize, r: usize, c: usize| bf16::from_f32((h * 7 + r * 3 + c) as f32);
/// let (q, k) = (Tensor::from_fn([1, 4, 3, 32], value)?, Tensor::from_fn([1, 2, 3, 32], value)?);
/// let cos = Tensor::from_fn([1, 1, 3, 16], |_, _, r, c| (r as f32 / (c + 1) as f32).cos())?;
/// let sin = Tensor::from_fn([1, 1, 3, 16], |_, _, r, c| (r as f32 / (c + 1) as f32).sin())?;
/// let turn = Rope { cos: cos.view(), sin: sin.view(), first: 0, layout: RopeLayout::Interleaved };
/// let device = Device::host();
/// let (turned_q, turned_k) = rope_qk(&device, &q, &k, &turn)?;
/// assert_eq!(turned_q.to_vec(), rope(&device, &q, &turn)?.to_vec());
/// assert_eq!(turned_k.to_vec(), rope(&device, &k, &turn)?.to_vec());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`rope()`], and for queries and keys that differ in more than their heads.
pub fn rope_qk<'a, T: Element>(
    device: &Device,
    q: impl Into<View<'a, T>>,
    k: impl Into<View<'a, T>>,
    turn: &Rope<'_>,
) -> Result<(Tensor<T>, Tensor<T>), RowError> {
    let (q, k) = (q.into(), k.into());
    let (mut y, mut z) = (Tensor::with_shape(q.shape())?, Tensor::with_shape(k.shape())?);
    rope_qk_into(device, (y.view_mut(), z.view_mut()), (q, k), turn, &RowOptions::default())?;
    Ok((y, z))
}

/// [`rope_qk`] of `(q, k)` into two tensors, with every choice open.
///
/// # Errors
/// As for [`rope_into`].
pub fn rope_qk_into<T: Element>(
    device: &Device,
    (y, z): (ViewMut<'_, T>, ViewMut<'_, T>),
    (q, k): (View<'_, T>, View<'_, T>),
    turn: &Rope<'_>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let op = "rope_qk";
    same_shape(op, ("the output for q", y.shape()), ("q", q.shape()))?;
    same_shape(op, ("the output for k", z.shape()), ("k", k.shape()))?;
    let but_heads = |[batch, _, rows, cols]: Shape| [batch, rows, cols];
    if but_heads(q.shape()) != but_heads(k.shape()) {
        let rule = "q and k must have the same batch, rows and columns";
        return Err(RowError::new(op, rule, ("q", q.shape()), ("k", k.shape())));
    }
    // The grid is that of the one with more heads.
    if q.shape()[1] >= k.shape()[1] {
        run(op, device, false, (y, q), (z, k), turn, options)
    } else {
        run(op, device, false, (z, k), (y, q), turn, options)
    }
}

/// Turns keys `[batch, heads, positions, D]` and writes them to rows `at ..` of a key cache `[batch, heads, capacity, D]`, and
/// values of the same shape unchanged to the same rows of a value cache, in one launch.
///
/// ```
/// use tile_std::ops::{Rope, RopeLayout, RowOptions, rope_kv_write};
/// use tile_std::prelude::*;
///
/// let one = Tensor::from_fn([1, 2, 1, 32], |_, h, _, _| f16::from_f32(h as f32 + 1.0))?;
/// let (cos, sin) = (Tensor::from_fn([1, 1, 9, 16], |_, _, _, _| 1.0f32)?, Tensor::<f32>::zeros(9, 16)?);
/// let turn = Rope { cos: cos.view(), sin: sin.view(), first: 8, layout: RopeLayout::HalfSplit };
/// let mut keys = Tensor::<f16>::with_shape([1, 2, 10, 32])?;
/// let mut values = Tensor::<f16>::with_shape([1, 2, 10, 32])?;
/// let caches = (keys.view_mut(), values.view_mut());
/// rope_kv_write(&Device::host(), caches, (one.view(), one.view()), 8, &turn, &RowOptions::default())?;
/// assert_eq!(values.get(0, 1, 8, 5), Some(f16::from_f32(2.0)));
/// assert_eq!(values.get(0, 1, 9, 5), Some(f16::from_f32(0.0)));
///
/// let caches = (keys.view_mut(), values.view_mut());
/// let full = rope_kv_write(&Device::host(), caches, (one.view(), one.view()), 10, &turn, &RowOptions::default());
/// assert!(full.is_err_and(|e| e.to_string().contains("10 .. 11")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`rope_into`]; [`RowError::Capacity`] if the rows do not fit into the caches.
pub fn rope_kv_write<T: Element>(
    device: &Device,
    (keys, values): (ViewMut<'_, T>, ViewMut<'_, T>),
    (k, v): (View<'_, T>, View<'_, T>),
    at: usize,
    turn: &Rope<'_>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let op = "rope_kv_write";
    same_shape(op, ("v", v.shape()), ("k", k.shape()))?;
    same_shape(op, ("the value cache", values.shape()), ("the key cache", keys.shape()))?;
    let but_rows = |[batch, depth, _, cols]: Shape| [batch, depth, cols];
    if but_rows(keys.shape()) != but_rows(k.shape()) {
        let rule = "the caches must have the batch, heads and columns of k";
        return Err(RowError::new(op, rule, ("the key cache", keys.shape()), ("k", k.shape())));
    }
    let (rows, capacity) = (k.rows(), keys.rows());
    let end = at.checked_add(rows).filter(|end| *end <= capacity);
    let end = end.ok_or(RowError::Capacity { op, at, rows, capacity })?;
    let (keys, values) = (keys.slice_rows(at..end)?, values.slice_rows(at..end)?);
    run(op, device, true, (keys, k), (values, v), turn, options)
}

/// The instance that [`rope()`] takes for a shape of `x` on a device, and why. ([`rope_qk`] takes the one beside it that turns two
/// tensors.)
pub fn explain_rope<T: Element>(device: &Device, shape: Shape, layout: RopeLayout) -> Choice {
    let (kernel, policy) = kernel_of(layout, shape[3]);
    choose(kernel, policy, device, shape[3], &[Generic::Type(T::DTYPE), Generic::Flag(true)])
}

fn kernel_of(layout: RopeLayout, cols: usize) -> (&'static KernelInfo, &'static [Rule]) {
    match layout {
        RopeLayout::Interleaved => (&pairs_kernel::KERNEL, rope_pairs::POLICY),
        RopeLayout::HalfSplit if cols.is_multiple_of(64) => (&halves_kernel::KERNEL, rope::POLICY),
        RopeLayout::HalfSplit => (&halves_kernel::KERNEL, rope::POLICY_16),
    }
}

type Turned<'a, T> = (ViewMut<'a, T>, View<'a, T>);

/// Turns `x` into `y`, and turns or with `copy` moves `w` into `z`, whose shapes agree with them in all but the heads, of
/// which `x` has at least as many.
fn run<T: Element>(
    op: &'static str,
    device: &Device,
    copy: bool,
    (y, x): Turned<'_, T>,
    (z, w): Turned<'_, T>,
    turn: &Rope<'_>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let [_, _, rows, cols] = x.shape();
    let (cos, sin) = (turn.cos, turn.sin);
    same_shape(op, ("the sines", sin.shape()), ("the cosines", cos.shape()))?;
    if !cols.is_multiple_of(32) {
        return Err(RowError::new(
            op,
            "columns must be a multiple of 32",
            ("x", x.shape()),
            ("the cosines", cos.shape()),
        ));
    }
    let [batch, depth, positions, pairs] = cos.shape();
    let enough = turn.first.checked_add(rows).is_some_and(|end| end <= positions);
    if [batch, depth, pairs] != [1, 1, cols / 2] || !enough && rows > 0 {
        let rule =
            "the tables must have a row for every position, `first` and on, and a column for every pair";
        return Err(RowError::new(op, rule, ("the cosines", cos.shape()), ("x", x.shape())));
    }
    let (kernel, policy) = kernel_of(turn.layout, cols);
    let front = [Generic::Type(T::DTYPE), Generic::Flag(copy)];
    let instance = resolve(op, kernel, policy, device, cols, &front, options)?;
    // No table has more rows than a u32 counts.
    let first = u32::try_from(turn.first).unwrap_or(u32::MAX);
    let launch = &options.launch;
    Ok(match turn.layout {
        RopeLayout::HalfSplit => {
            halves_kernel::launch_with(device, instance, launch, y, z, x, w, cos, sin, first)?
        }
        RopeLayout::Interleaved => {
            let places = Tensor::from_fn([1, 1, 48, 32], |_, _, r, c| {
                bf16::from_f32(f32::from(rope_pairs::PLACES[r][c]))
            })?;
            pairs_kernel::launch_with(device, instance, launch, y, z, x, w, cos, sin, &places, first)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::dispatch::tests::policy_instances_exist;

    #[test]
    fn every_row_of_the_policies_is_compiled() {
        for of in [bf16::DTYPE, f16::DTYPE, f32::DTYPE].map(Generic::Type) {
            for copy in [false, true] {
                let front = [of, Generic::Flag(copy)];
                policy_instances_exist(&halves_kernel::KERNEL, rope::POLICY, &front);
                policy_instances_exist(&halves_kernel::KERNEL, rope::POLICY_16, &front);
                policy_instances_exist(&pairs_kernel::KERNEL, rope_pairs::POLICY, &front);
            }
        }
    }
}
