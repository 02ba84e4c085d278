//! Owns the operations that make one number of every row: shape checks, the choice of the instance, the launch.

use crate::Generic;
use crate::kernels::argmax::{self, argmax as argmax_kernel};
use crate::kernels::row_sum::{self, row_sum as sum_kernel};
use crate::ops::dispatch::{Choice, RowError, RowOptions, choose, resolve};
use crate::prelude::*;

/// The sum of every row, `[batch, depth, rows, 1]`, as a new tensor, in f32. That of no columns is 0.
///
/// ```
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_fn([1, 1, 2, 1000], |_, _, r, _| bf16::from_f32(r as f32 + 1.0))?;
/// assert_eq!(tile_std::ops::row_sum(&Device::host(), &x)?.to_vec(), [1000.0, 2000.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: out of memory, or a failed launch.
pub fn row_sum<'a, T: Element>(device: &Device, x: impl Into<View<'a, T>>) -> Result<Tensor<f32>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(one_column(x.shape()))?;
    row_sum_into(device, &mut y, x, &RowOptions::default())?;
    Ok(y)
}

/// [`row_sum()`] into `y`, with every choice open.
///
/// # Errors
/// [`RowError`]: an output that is not `[batch, depth, rows, 1]`, an instance of other types, or a failed launch.
pub fn row_sum_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, f32>>,
    x: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_sum("row_sum", false, device, y.into(), x.into(), options)
}

/// The mean of every row, `[batch, depth, rows, 1]`, as a new tensor, in f32. That of no columns is NaN.
///
/// ```
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(1, 4, &[1.0f32, 2.0, 3.0, 4.0])?;
/// assert_eq!(tile_std::ops::row_mean(&Device::host(), &x)?.to_vec(), [2.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`row_sum()`].
pub fn row_mean<'a, T: Element>(device: &Device, x: impl Into<View<'a, T>>) -> Result<Tensor<f32>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(one_column(x.shape()))?;
    row_mean_into(device, &mut y, x, &RowOptions::default())?;
    Ok(y)
}

/// [`row_mean`] into `y`, with every choice open.
///
/// # Errors
/// As for [`row_sum_into`].
pub fn row_mean_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, f32>>,
    x: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_sum("row_mean", true, device, y.into(), x.into(), options)
}

/// The instance that [`row_sum()`] takes for a shape of `x` on a device, and why.
pub fn explain_row_sum<T: Element>(device: &Device, shape: Shape) -> Choice {
    choose(&sum_kernel::KERNEL, row_sum::POLICY, device, shape[3], &front::<T>(false))
}

/// The instance that [`row_mean`] takes for a shape of `x` on a device, and why.
pub fn explain_row_mean<T: Element>(device: &Device, shape: Shape) -> Choice {
    choose(&sum_kernel::KERNEL, row_sum::POLICY, device, shape[3], &front::<T>(true))
}

fn front<T: Element>(mean: bool) -> [Generic; 2] {
    [Generic::Type(T::DTYPE), Generic::Flag(mean)]
}

fn run_sum<T: Element>(
    op: &'static str,
    mean: bool,
    device: &Device,
    y: ViewMut<'_, f32>,
    x: View<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    check_one_column(op, y.shape(), x.shape())?;
    let instance =
        resolve(op, &sum_kernel::KERNEL, row_sum::POLICY, device, x.cols(), &front::<T>(mean), options)?;
    Ok(sum_kernel::launch_with(device, instance, &options.launch, y, x)?)
}

/// The column of the largest element of every row, `[batch, depth, rows, 1]`, as a new tensor.
///
/// The first of equal elements counts. NaN counts as -inf: in a row of nothing else the answer is 0.
///
/// ```
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(2, 3, &[1.0f32, 5.0, 5.0, f32::NAN, -2.0, -7.0])?;
/// assert_eq!(tile_std::ops::argmax(&Device::host(), &x)?.to_vec(), [1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: rows without elements, out of memory, or a failed launch.
pub fn argmax<'a, T: Element>(device: &Device, x: impl Into<View<'a, T>>) -> Result<Tensor<i32>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(one_column(x.shape()))?;
    argmax_into(device, &mut y, x, &RowOptions::default())?;
    Ok(y)
}

/// [`argmax()`] into `y`, with every choice open.
///
/// # Errors
/// [`RowError`]: rows without elements, an output that is not `[batch, depth, rows, 1]`, an instance of another type, or a
/// failed launch.
pub fn argmax_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, i32>>,
    x: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let (y, x) = (y.into(), x.into());
    check_one_column("argmax", y.shape(), x.shape())?;
    if x.cols() == 0 && x.shape()[..3].iter().all(|extent| *extent > 0) {
        let rule = "a row without elements has no largest";
        return Err(RowError::new("argmax", rule, ("the output", y.shape()), ("x", x.shape())));
    }
    let front = [Generic::Type(T::DTYPE)];
    let (kernel, policy) = (&argmax_kernel::KERNEL, argmax::POLICY);
    let instance = resolve("argmax", kernel, policy, device, x.cols(), &front, options)?;
    Ok(argmax_kernel::launch_with(device, instance, &options.launch, y, x)?)
}

/// The instance that [`argmax()`] takes for a shape of `x` on a device, and why.
pub fn explain_argmax<T: Element>(device: &Device, shape: Shape) -> Choice {
    choose(&argmax_kernel::KERNEL, argmax::POLICY, device, shape[3], &[Generic::Type(T::DTYPE)])
}

fn one_column([batch, depth, rows, _]: Shape) -> Shape {
    [batch, depth, rows, 1]
}

fn check_one_column(op: &'static str, y: Shape, x: Shape) -> Result<(), RowError> {
    if y == one_column(x) {
        return Ok(());
    }
    Err(RowError::new(op, "the output must have x's rows and one column", ("the output", y), ("x", x)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::dispatch::tests::policy_instances_exist;

    #[test]
    fn every_row_of_the_policies_is_compiled() {
        for of in [bf16::DTYPE, f16::DTYPE, f32::DTYPE].map(Generic::Type) {
            policy_instances_exist(&argmax_kernel::KERNEL, argmax::POLICY, &[of]);
            for mean in [false, true] {
                policy_instances_exist(&sum_kernel::KERNEL, row_sum::POLICY, &[of, Generic::Flag(mean)]);
            }
        }
    }
}
