//! Owns softmax and log-softmax over tensors: shape checks, the choice of the instance, the launch.

use crate::Generic;
use crate::kernels::softmax::{POLICY, POLICY_LOG, softmax as kernel};
use crate::kernels::softmax_wide::{APPLY_POLICY, SUMS_POLICY, softmax_apply, softmax_sums, widest};
use crate::ops::dispatch::{Choice, RowError, RowOptions, Rule, choose, resolve, same_shape};
use crate::prelude::*;

/// The softmax of every row, as a new tensor: `e^x` over its sum in the row, computed in f32.
///
/// A row with NaN or +inf gives NaN, as does one of nothing but -inf; -inf beside numbers gives 0.
///
/// ```
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(2, 2, &[0.0f32, 0.0, 1e4, -1e4])?;
/// let y = tile_std::ops::softmax(&Device::host(), &x)?;
/// assert_eq!(y.to_vec(), [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: out of memory, or a failed launch.
pub fn softmax<'a, T: Element>(device: &Device, x: impl Into<View<'a, T>>) -> Result<Tensor<T>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(x.shape())?;
    softmax_into(device, &mut y, x, &RowOptions::default())?;
    Ok(y)
}

/// The softmax of every row into `y`, with every choice open. See [`softmax`].
///
/// On GPUs, rows of more than 8,192 columns take two launches (the logarithm's of more than 4,096); the report is the
/// second's. An instance set by hand takes one, whatever the width.
///
/// ```
/// use tile_std::ops::{RowOptions, explain_softmax, softmax_into};
/// use tile_std::prelude::*;
///
/// let device = Device::host();
/// let x = Tensor::<bf16>::zeros(3, 50)?;
/// let mut y = Tensor::<bf16>::zeros(3, 50)?;
/// let report = softmax_into(&device, &mut y, &x, &RowOptions::default())?;
/// assert_eq!(report.instance, explain_softmax::<bf16>(&device, x.shape()).instance.name);
/// assert_eq!(y.get(0, 0, 2, 49), Some(bf16::from_f32(0.02)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: an output of another shape than `x`, an instance of other types, or a failed launch.
pub fn softmax_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    x: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run("softmax", false, device, y.into(), x.into(), options)
}

/// The logarithm of [`softmax`], as a new tensor: `x` less the logarithm of the sum of `e^x` in the row.
///
/// ```
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(1, 2, &[3.0f32, 3.0])?;
/// let y = tile_std::ops::log_softmax(&Device::host(), &x)?;
/// assert!((y.get(0, 0, 0, 1).unwrap_or(0.0) + 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`softmax`].
pub fn log_softmax<'a, T: Element>(
    device: &Device,
    x: impl Into<View<'a, T>>,
) -> Result<Tensor<T>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(x.shape())?;
    log_softmax_into(device, &mut y, x, &RowOptions::default())?;
    Ok(y)
}

/// [`log_softmax`] into `y`, with every choice open.
///
/// # Errors
/// As for [`softmax_into`].
pub fn log_softmax_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    x: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run("log_softmax", true, device, y.into(), x.into(), options)
}

/// The instance that [`softmax`] takes for a shape on a device, and why; of two launches, the second's.
pub fn explain_softmax<T: Element>(device: &Device, shape: Shape) -> Choice {
    explain::<T>(device, shape[3], false)
}

/// The instance that [`log_softmax`] takes for a shape on a device, and why; of two launches, the second's.
pub fn explain_log_softmax<T: Element>(device: &Device, shape: Shape) -> Choice {
    explain::<T>(device, shape[3], true)
}

fn explain<T: Element>(device: &Device, cols: usize, log: bool) -> Choice {
    if is_wide(device, cols, log) {
        return choose(&softmax_apply::KERNEL, APPLY_POLICY, device, cols, &front::<T>(log));
    }
    choose(&kernel::KERNEL, policy(log), device, cols, &front::<T>(log))
}

/// True for rows that one work-group does not hold.
fn is_wide(device: &Device, cols: usize, log: bool) -> bool {
    !matches!(device, Device::Host(_)) && cols > widest(log)
}

fn policy(log: bool) -> &'static [Rule] {
    if log { POLICY_LOG } else { POLICY }
}

fn front<T: Element>(log: bool) -> [Generic; 2] {
    [Generic::Type(T::DTYPE), Generic::Flag(log)]
}

fn run<T: Element>(
    op: &'static str,
    log: bool,
    device: &Device,
    y: ViewMut<'_, T>,
    x: View<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    same_shape(op, ("the output", y.shape()), ("x", x.shape()))?;
    if options.instance.is_none() && is_wide(device, x.cols(), log) {
        return run_wide(log, device, y, x, options);
    }
    let instance = resolve(op, &kernel::KERNEL, policy(log), device, x.cols(), &front::<T>(log), options)?;
    Ok(kernel::launch_with(device, instance, &options.launch, y, x)?)
}

/// Maxima and sums first, in tensors of one column, and then every element.
fn run_wide<T: Element>(
    log: bool,
    device: &Device,
    y: ViewMut<'_, T>,
    x: View<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let [batch, depth, rows, cols] = x.shape();
    let column = [batch, depth, rows, 1];
    let (mut tops, mut sums) =
        (Tensor::with_shape_on(device, column)?, Tensor::with_shape_on(device, column)?);
    let of = [Generic::Type(T::DTYPE)];
    let first = choose(&softmax_sums::KERNEL, SUMS_POLICY, device, cols, &of).instance;
    softmax_sums::launch_with(device, first, &options.launch, &mut tops, &mut sums, x)?;
    let second = choose(&softmax_apply::KERNEL, APPLY_POLICY, device, cols, &front::<T>(log)).instance;
    Ok(softmax_apply::launch_with(device, second, &options.launch, y, x, &tops, &sums)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::dispatch::tests::policy_instances_exist;

    #[test]
    fn every_row_of_the_policy_is_compiled() {
        for log in [false, true] {
            for front in [front::<bf16>(log), front::<f16>(log), front::<f32>(log)] {
                policy_instances_exist(&kernel::KERNEL, policy(log), &front);
                policy_instances_exist(&softmax_apply::KERNEL, APPLY_POLICY, &front);
                policy_instances_exist(&softmax_sums::KERNEL, SUMS_POLICY, &front[..1]);
            }
        }
    }
}
