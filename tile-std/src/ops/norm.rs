//! Owns the norms of rows over tensors: shape checks, the choice of the instance, the launch.

use crate::Generic;
use crate::kernels::layer_norm::{self, layer_norm as layer_kernel};
use crate::kernels::rms_norm::{self, rms_norm as rms_kernel};
use crate::ops::dispatch::{Choice, RowError, RowOptions, choose, one_per_column, resolve, same_shape};
use crate::prelude::*;

/// The parameters of a root-mean-square norm.
#[derive(Clone, Copy, Debug)]
pub struct RmsNorm<'a, T: Element> {
    /// One factor per column, `[1, cols]`.
    pub weight: View<'a, T>,
    /// What is added to the mean of the squares.
    pub eps: f32,
}

/// The parameters of a layer norm.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<'a, T: Element> {
    /// One factor per column, `[1, cols]`.
    pub weight: View<'a, T>,
    /// One summand per column, `[1, cols]`.
    pub bias: View<'a, T>,
    /// What is added to the variance.
    pub eps: f32,
}

/// The output of a norm of a sum: the normalized rows, and the sum itself.
#[derive(Debug)]
pub struct Normed<T: Element> {
    /// The normalized sum.
    pub y: Tensor<T>,
    /// `x + residual`, rounded once. The norm is that of the sum before it was rounded.
    pub sum: Tensor<T>,
}

/// `x / sqrt(mean(x^2) + eps) * weight` of every row, as a new tensor, computed in f32.
///
/// ```
/// use tile_std::ops::{RmsNorm, rms_norm};
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(1, 2, &[3.0f32, -4.0])?;
/// let weight = Tensor::from_slice(1, 2, &[1.0f32, 2.0])?;
/// let y = rms_norm(&Device::host(), &x, &RmsNorm { weight: weight.view(), eps: 0.0 })?;
/// let rms = 12.5f32.sqrt();
/// assert!((y.get(0, 0, 0, 1).unwrap_or(0.0) + 8.0 / rms).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: a weight that does not fit, out of memory, or a failed launch.
pub fn rms_norm<'a, T: Element>(
    device: &Device,
    x: impl Into<View<'a, T>>,
    norm: &RmsNorm<'_, T>,
) -> Result<Tensor<T>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(x.shape())?;
    rms_norm_into(device, &mut y, x, norm, &RowOptions::default())?;
    Ok(y)
}

/// [`rms_norm()`] into `y`, with every choice open.
///
/// # Errors
/// [`RowError`]: tensors that do not fit, an instance of other types, or a failed launch.
pub fn rms_norm_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    x: impl Into<View<'a, T>>,
    norm: &RmsNorm<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_rms("rms_norm", device, y.into(), x.into(), None, norm, options)
}

/// The [`rms_norm()`] of `x + residual`, with the sum.
///
/// ```
/// use tile_std::ops::{RmsNorm, add_rms_norm};
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(1, 2, &[1.0f32, 1.0])?;
/// let residual = Tensor::from_slice(1, 2, &[1.0f32, 1.0])?;
/// let weight = Tensor::from_slice(1, 2, &[1.0f32, 1.0])?;
/// let out = add_rms_norm(&Device::host(), &x, &residual, &RmsNorm { weight: weight.view(), eps: 0.0 })?;
/// assert_eq!((out.sum.to_vec(), out.y.to_vec()), (vec![2.0, 2.0], vec![1.0, 1.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: tensors that do not fit, out of memory, or a failed launch.
pub fn add_rms_norm<'a, T: Element>(
    device: &Device,
    x: impl Into<View<'a, T>>,
    residual: impl Into<View<'a, T>>,
    norm: &RmsNorm<'_, T>,
) -> Result<Normed<T>, RowError> {
    let (x, residual) = (x.into(), residual.into());
    let (mut y, mut sum) = (Tensor::with_shape(x.shape())?, Tensor::with_shape(x.shape())?);
    let out = (y.view_mut(), sum.view_mut());
    add_rms_norm_into(device, out, x, residual, norm, &RowOptions::default())?;
    Ok(Normed { y, sum })
}

/// [`add_rms_norm`] into `(y, sum)`, with every choice open.
///
/// # Errors
/// As for [`rms_norm_into`].
pub fn add_rms_norm_into<'a, T: Element>(
    device: &Device,
    (y, sum): (ViewMut<'a, T>, ViewMut<'a, T>),
    x: impl Into<View<'a, T>>,
    residual: impl Into<View<'a, T>>,
    norm: &RmsNorm<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_rms("add_rms_norm", device, y, x.into(), Some((sum, residual.into())), norm, options)
}

/// `(x - mean(x)) / sqrt(var(x) + eps) * weight + bias` of every row, as a new tensor, computed in f32. The variance is
/// the mean of the squared differences from the mean.
///
/// ```
/// use tile_std::ops::{LayerNorm, layer_norm};
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(1, 2, &[1e6f32, 1e6 + 2.0])?;
/// let (weight, bias) = (Tensor::from_slice(1, 2, &[1.0f32, 1.0])?, Tensor::from_slice(1, 2, &[0.5f32, 0.5])?);
/// let norm = LayerNorm { weight: weight.view(), bias: bias.view(), eps: 0.0 };
/// let y = layer_norm(&Device::host(), &x, &norm)?;
/// assert_eq!(y.to_vec(), [-0.5, 1.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: a weight or bias that does not fit, out of memory, or a failed launch.
pub fn layer_norm<'a, T: Element>(
    device: &Device,
    x: impl Into<View<'a, T>>,
    norm: &LayerNorm<'_, T>,
) -> Result<Tensor<T>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(x.shape())?;
    layer_norm_into(device, &mut y, x, norm, &RowOptions::default())?;
    Ok(y)
}

/// [`layer_norm()`] into `y`, with every choice open.
///
/// # Errors
/// As for [`rms_norm_into`].
pub fn layer_norm_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    x: impl Into<View<'a, T>>,
    norm: &LayerNorm<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_layer("layer_norm", device, y.into(), x.into(), None, norm, options)
}

/// The [`layer_norm()`] of `x + residual`, with the sum.
///
/// ```
/// use tile_std::ops::{LayerNorm, add_layer_norm};
/// use tile_std::prelude::*;
///
/// let row = |values: [f32; 2]| Tensor::from_slice(1, 2, &values);
/// let (x, residual, weight, bias) = (row([1.0, 2.0])?, row([0.0, 1.0])?, row([1.0, 1.0])?, row([0.0, 0.0])?);
/// let norm = LayerNorm { weight: weight.view(), bias: bias.view(), eps: 0.0 };
/// let out = add_layer_norm(&Device::host(), &x, &residual, &norm)?;
/// assert_eq!((out.sum.to_vec(), out.y.to_vec()), (vec![1.0, 3.0], vec![-1.0, 1.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`add_rms_norm`].
pub fn add_layer_norm<'a, T: Element>(
    device: &Device,
    x: impl Into<View<'a, T>>,
    residual: impl Into<View<'a, T>>,
    norm: &LayerNorm<'_, T>,
) -> Result<Normed<T>, RowError> {
    let (x, residual) = (x.into(), residual.into());
    let (mut y, mut sum) = (Tensor::with_shape(x.shape())?, Tensor::with_shape(x.shape())?);
    let out = (y.view_mut(), sum.view_mut());
    add_layer_norm_into(device, out, x, residual, norm, &RowOptions::default())?;
    Ok(Normed { y, sum })
}

/// [`add_layer_norm`] into `(y, sum)`, with every choice open.
///
/// # Errors
/// As for [`rms_norm_into`].
pub fn add_layer_norm_into<'a, T: Element>(
    device: &Device,
    (y, sum): (ViewMut<'a, T>, ViewMut<'a, T>),
    x: impl Into<View<'a, T>>,
    residual: impl Into<View<'a, T>>,
    norm: &LayerNorm<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_layer("add_layer_norm", device, y, x.into(), Some((sum, residual.into())), norm, options)
}

/// The instance that [`rms_norm()`], or [`add_rms_norm`] if `add`, takes for a shape on a device, and why.
pub fn explain_rms_norm<T: Element>(device: &Device, shape: Shape, add: bool) -> Choice {
    choose(&rms_kernel::KERNEL, rms_norm::POLICY, device, shape[3], &front::<T>(add))
}

/// The instance that [`layer_norm()`], or [`add_layer_norm`] if `add`, takes for a shape on a device, and why.
pub fn explain_layer_norm<T: Element>(device: &Device, shape: Shape, add: bool) -> Choice {
    choose(&layer_kernel::KERNEL, layer_norm::POLICY, device, shape[3], &front::<T>(add))
}

fn front<T: Element>(add: bool) -> [Generic; 2] {
    [Generic::Type(T::DTYPE), Generic::Flag(add)]
}

/// The sum to write and the residual to add. Without them the kernel takes empty ones and touches neither.
type Residual<'a, T> = Option<(ViewMut<'a, T>, View<'a, T>)>;

fn residual_or_empty<'a, T: Element>(
    op: &'static str,
    x: Shape,
    residual: Residual<'a, T>,
) -> Result<(ViewMut<'a, T>, View<'a, T>), RowError> {
    let Some((sum, residual)) = residual else {
        return Ok((ViewMut::from_slice(&mut [], 0, 0)?, View::from_slice(&[], 0, 0)?));
    };
    same_shape(op, ("the sum", sum.shape()), ("x", x))?;
    same_shape(op, ("the residual", residual.shape()), ("x", x))?;
    Ok((sum, residual))
}

fn run_rms<T: Element>(
    op: &'static str,
    device: &Device,
    y: ViewMut<'_, T>,
    x: View<'_, T>,
    residual: Residual<'_, T>,
    norm: &RmsNorm<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    same_shape(op, ("the output", y.shape()), ("x", x.shape()))?;
    one_per_column(op, ("the weight", norm.weight.shape()), ("x", x.shape()))?;
    let front = front::<T>(residual.is_some());
    let instance = resolve(op, &rms_kernel::KERNEL, rms_norm::POLICY, device, x.cols(), &front, options)?;
    let (sum, residual) = residual_or_empty(op, x.shape(), residual)?;
    let launch = &options.launch;
    Ok(rms_kernel::launch_with(device, instance, launch, y, sum, x, residual, norm.weight, norm.eps)?)
}

fn run_layer<T: Element>(
    op: &'static str,
    device: &Device,
    y: ViewMut<'_, T>,
    x: View<'_, T>,
    residual: Residual<'_, T>,
    norm: &LayerNorm<'_, T>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    same_shape(op, ("the output", y.shape()), ("x", x.shape()))?;
    one_per_column(op, ("the weight", norm.weight.shape()), ("x", x.shape()))?;
    one_per_column(op, ("the bias", norm.bias.shape()), ("x", x.shape()))?;
    let front = front::<T>(residual.is_some());
    let instance = resolve(op, &layer_kernel::KERNEL, layer_norm::POLICY, device, x.cols(), &front, options)?;
    let (sum, residual) = residual_or_empty(op, x.shape(), residual)?;
    let (launch, LayerNorm { weight, bias, eps }) = (&options.launch, *norm);
    Ok(layer_kernel::launch_with(device, instance, launch, y, sum, x, residual, weight, bias, eps)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::dispatch::tests::policy_instances_exist;

    #[test]
    fn every_row_of_the_policies_is_compiled() {
        for add in [false, true] {
            for front in [front::<bf16>(add), front::<f16>(add), front::<f32>(add)] {
                policy_instances_exist(&rms_kernel::KERNEL, rms_norm::POLICY, &front);
                policy_instances_exist(&layer_kernel::KERNEL, layer_norm::POLICY, &front);
            }
        }
    }
}
