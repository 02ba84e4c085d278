//! Owns softmax with the k largest weights of every row: shape checks, the choice of the instance, the launch.

use crate::Generic;
use crate::kernels::softmax_topk::{MOST, POLICY, POLICY_ROOMY_F32, room, softmax_topk as kernel};
use crate::ops::dispatch::{Choice, RowError, RowOptions, Rule, choose, resolve, same_shape};
use crate::prelude::*;

/// What the weights that [`softmax_topk()`] keeps are divided by. Softmax without a choice is [`softmax`](super::softmax()).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denominator {
    /// The sum over the row: they are the largest elements of the row's softmax.
    Row,
    /// The sum over what is kept: they are normalised once more, and sum to 1.
    Kept,
}

/// The `k` largest weights of the softmax of every row, largest first, and their columns, as two new tensors of `k` columns.
///
/// Elements are chosen and ordered by `x` itself, of which the softmax is a rising function: NaN first, then falling, of
/// equal ones the lower column first. So columns of a row are all different and less than `x`'s columns, whatever is in
/// it. Weights are computed in f32. A row with NaN or +inf has weights of NaN, as does one of nothing but -inf; -inf beside numbers
/// has weight 0.
///
/// ```
/// use tile_std::ops::{Denominator, softmax_topk};
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(1, 4, &[0.0f32, 2f32.ln(), 0.0, 4f32.ln()])?;
/// let (weights, columns) = softmax_topk(&Device::host(), &x, 3, Denominator::Row)?;
/// assert_eq!(columns.to_vec(), [3, 1, 0]);
/// assert!((weights.get(0, 0, 0, 0).unwrap_or(0.0) - 4.0 / 8.0).abs() < 1e-6);
/// let (weights, _) = softmax_topk(&Device::host(), &x, 3, Denominator::Kept)?;
/// assert!((weights.get(0, 0, 0, 0).unwrap_or(0.0) - 4.0 / 7.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: a `k` that is 0, above 32 or above the columns of `x`, out of memory, or a failed launch.
pub fn softmax_topk<'a, T: Element>(
    device: &Device,
    x: impl Into<View<'a, T>>,
    k: usize,
    by: Denominator,
) -> Result<(Tensor<T>, Tensor<i32>), RowError> {
    let x = x.into();
    check_k(k, x.shape())?;
    let [batch, depth, rows, _] = x.shape();
    let kept = [batch, depth, rows, k];
    let (mut weights, mut columns) = (Tensor::with_shape(kept)?, Tensor::with_shape(kept)?);
    softmax_topk_into(device, (weights.view_mut(), columns.view_mut()), x, by, &RowOptions::default())?;
    Ok((weights, columns))
}

/// [`softmax_topk()`] into weights and columns of one shape, whose columns are the `k`, with every choice open.
///
/// ```
/// use tile_std::ops::{Denominator, RowOptions, explain_softmax_topk, softmax_topk_into};
/// use tile_std::prelude::*;
///
/// let device = Device::host();
/// let x = Tensor::from_fn([1, 1, 5, 60], |_, _, r, c| bf16::from_f32((7 * c % 60 + r) as f32))?;
/// let (mut weights, mut columns) = (Tensor::<bf16>::zeros(5, 2)?, Tensor::<i32>::zeros(5, 2)?);
/// let to = (weights.view_mut(), columns.view_mut());
/// let report = softmax_topk_into(&device, to, &x, Denominator::Kept, &RowOptions::default())?;
/// let choice = explain_softmax_topk::<bf16>(&device, x.shape(), 2, Denominator::Kept)?;
/// assert_eq!(report.instance, choice.instance.name);
/// assert_eq!((columns.get(0, 0, 4, 0), columns.get(0, 0, 4, 1)), (Some(17), Some(34)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: outputs of two shapes or without the rows of `x`, a `k` that is 0, above 32 or above the columns of `x`, an
/// instance of other types or with room for fewer elements, or a failed launch.
pub fn softmax_topk_into<'a, T: Element>(
    device: &Device,
    (weights, columns): (impl Into<ViewMut<'a, T>>, impl Into<ViewMut<'a, i32>>),
    x: impl Into<View<'a, T>>,
    by: Denominator,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let (weights, columns, x) = (weights.into(), columns.into(), x.into());
    same_shape(OP, ("the output of weights", weights.shape()), ("the output of columns", columns.shape()))?;
    let k = weights.cols();
    check_k(k, x.shape())?;
    if weights.shape()[..3] != x.shape()[..3] {
        let rule = "the outputs must have x's rows and planes";
        return Err(RowError::new(OP, rule, ("each output", weights.shape()), ("x", x.shape())));
    }
    // An instance set by hand may have more room than is needed.
    let given = options.instance.and_then(|instance| instance.generics.get(2));
    let places = match given {
        Some(&Generic::Size(places)) if places >= room(k) => places,
        _ => room(k),
    };
    let (policy, front) = (policy::<T>(places), front::<T>(by, places));
    let instance = resolve(OP, &kernel::KERNEL, policy, device, x.cols(), &front, options)?;
    Ok(kernel::launch_with(device, instance, &options.launch, weights, columns, x)?)
}

/// The instance that [`softmax_topk()`] takes for a shape of `x` and a `k` on a device, and why.
///
/// # Errors
/// [`RowError`]: a `k` that is 0, above 32 or above the columns.
pub fn explain_softmax_topk<T: Element>(
    device: &Device,
    shape: Shape,
    k: usize,
    by: Denominator,
) -> Result<Choice, RowError> {
    check_k(k, shape)?;
    let places = room(k);
    Ok(choose(&kernel::KERNEL, policy::<T>(places), device, shape[3], &front::<T>(by, places)))
}

const OP: &str = "softmax_topk";

fn front<T: Element>(by: Denominator, places: u64) -> [Generic; 3] {
    [Generic::Type(T::DTYPE), Generic::Flag(by == Denominator::Kept), Generic::Size(places)]
}

fn policy<T: Element>(places: u64) -> &'static [Rule] {
    if T::DTYPE == f32::DTYPE && places > room(1) { POLICY_ROOMY_F32 } else { POLICY }
}

fn check_k(k: usize, shape: Shape) -> Result<(), RowError> {
    if (1..=MOST.min(shape[3])).contains(&k) {
        return Ok(());
    }
    Err(RowError::Kept { op: OP, k, most: MOST, columns: shape[3] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::dispatch::tests::policy_instances_exist;

    #[test]
    fn every_row_of_the_policy_is_compiled() {
        for by in [Denominator::Row, Denominator::Kept] {
            for places in [1, 8, 9, 32].map(room) {
                policy_instances_exist(&kernel::KERNEL, policy::<bf16>(places), &front::<bf16>(by, places));
                policy_instances_exist(&kernel::KERNEL, policy::<f16>(places), &front::<f16>(by, places));
                policy_instances_exist(&kernel::KERNEL, policy::<f32>(places), &front::<f32>(by, places));
            }
        }
    }
}
