//! Owns the element-wise operations over tensors and the transpose: shape checks, the choice of the instance, the launch.

use crate::Generic;
use crate::kernels::cast::{self, cast as cast_kernel};
use crate::kernels::gated::{self, gated as gated_kernel};
use crate::kernels::transpose::{self, transpose as transpose_kernel};
use crate::ops::dispatch::{Choice, RowError, RowOptions, choose, resolve, same_shape};
use crate::prelude::*;

/// `silu(gate) * up`, element by element, as a new tensor, computed in f32; `silu(x)` is `x / (1 + e^-x)`.
///
/// ```
/// use tile_std::prelude::*;
///
/// let (gate, up) = (Tensor::from_slice(1, 2, &[0.0f32, 20.0])?, Tensor::from_slice(1, 2, &[5.0f32, 0.5])?);
/// let y = tile_std::ops::silu_mul(&Device::host(), &gate, &up)?;
/// assert!(y.get(0, 0, 0, 0) == Some(0.0) && (y.get(0, 0, 0, 1).unwrap_or(0.0) - 10.0).abs() < 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: tensors of different shapes, out of memory, or a failed launch.
pub fn silu_mul<'a, T: Element>(
    device: &Device,
    gate: impl Into<View<'a, T>>,
    up: impl Into<View<'a, T>>,
) -> Result<Tensor<T>, RowError> {
    let (gate, up) = (gate.into(), up.into());
    let mut y = Tensor::with_shape(gate.shape())?;
    silu_mul_into(device, &mut y, gate, up, &RowOptions::default())?;
    Ok(y)
}

/// [`silu_mul`] into `y`, with every choice open.
///
/// # Errors
/// [`RowError`]: tensors of different shapes, an instance of other types, or a failed launch.
pub fn silu_mul_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    gate: impl Into<View<'a, T>>,
    up: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_gated("silu_mul", false, device, y.into(), (gate.into(), up.into()), options)
}

/// `gelu(gate) * up`, element by element, as a new tensor, computed in f32; `gelu` is the usual approximation by `tanh`.
///
/// ```
/// use tile_std::prelude::*;
///
/// let (gate, up) = (Tensor::from_slice(1, 2, &[0.0f32, 20.0])?, Tensor::from_slice(1, 2, &[5.0f32, 0.5])?);
/// let y = tile_std::ops::gelu_mul(&Device::host(), &gate, &up)?;
/// assert!(y.get(0, 0, 0, 0) == Some(0.0) && (y.get(0, 0, 0, 1).unwrap_or(0.0) - 10.0).abs() < 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`silu_mul`].
pub fn gelu_mul<'a, T: Element>(
    device: &Device,
    gate: impl Into<View<'a, T>>,
    up: impl Into<View<'a, T>>,
) -> Result<Tensor<T>, RowError> {
    let (gate, up) = (gate.into(), up.into());
    let mut y = Tensor::with_shape(gate.shape())?;
    gelu_mul_into(device, &mut y, gate, up, &RowOptions::default())?;
    Ok(y)
}

/// [`gelu_mul`] into `y`, with every choice open.
///
/// # Errors
/// As for [`silu_mul_into`].
pub fn gelu_mul_into<'a, T: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    gate: impl Into<View<'a, T>>,
    up: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    run_gated("gelu_mul", true, device, y.into(), (gate.into(), up.into()), options)
}

/// The instance that [`silu_mul`] takes for a shape on a device, and why.
pub fn explain_silu_mul<T: Element>(device: &Device, shape: Shape) -> Choice {
    choose(&gated_kernel::KERNEL, gated::POLICY, device, shape[3], &front::<T>(false))
}

/// The instance that [`gelu_mul`] takes for a shape on a device, and why.
pub fn explain_gelu_mul<T: Element>(device: &Device, shape: Shape) -> Choice {
    choose(&gated_kernel::KERNEL, gated::POLICY, device, shape[3], &front::<T>(true))
}

fn front<T: Element>(gelu: bool) -> [Generic; 2] {
    [Generic::Type(T::DTYPE), Generic::Flag(gelu)]
}

fn run_gated<T: Element>(
    op: &'static str,
    gelu: bool,
    device: &Device,
    y: ViewMut<'_, T>,
    (gate, up): (View<'_, T>, View<'_, T>),
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    same_shape(op, ("up", up.shape()), ("the gate", gate.shape()))?;
    same_shape(op, ("the output", y.shape()), ("the gate", gate.shape()))?;
    let front = front::<T>(gelu);
    let instance = resolve(op, &gated_kernel::KERNEL, gated::POLICY, device, gate.cols(), &front, options)?;
    Ok(gated_kernel::launch_with(device, instance, &options.launch, y, gate, up)?)
}

/// `x` in another element type, as a new tensor.
///
/// To a float, elements are rounded to nearest even; to an integer likewise, and then they saturate, and NaN gives 0.
/// Integers go to a 16-bit float by way of f32. The types differ: a conversion to the same type is a copy
/// ([`Tensor::from_view`]), and there is no instance for it.
///
/// ```
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(1, 3, &[2.5f32, -300.0, f32::NAN])?;
/// let y: Tensor<i8> = tile_std::ops::cast(&Device::host(), &x)?;
/// assert_eq!(y.to_vec(), [2, -128, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: equal types, out of memory, or a failed launch.
pub fn cast<'a, T: AnyElement, U: AnyElement>(
    device: &Device,
    x: impl Into<View<'a, T>>,
) -> Result<Tensor<U>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(x.shape())?;
    cast_into(device, &mut y, x, &RowOptions::default())?;
    Ok(y)
}

/// [`cast()`] into `y`, with every choice open.
///
/// # Errors
/// [`RowError`]: an output of another shape, equal types, an instance of other types, or a failed launch.
pub fn cast_into<'a, T: AnyElement, U: AnyElement>(
    device: &Device,
    y: impl Into<ViewMut<'a, U>>,
    x: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let (y, x) = (y.into(), x.into());
    same_shape("cast", ("the output", y.shape()), ("x", x.shape()))?;
    if T::DTYPE == U::DTYPE {
        return Err(RowError::Types { op: "cast", rule: "the types must differ", found: T::DTYPE.name() });
    }
    let front = [Generic::Type(T::DTYPE), Generic::Type(U::DTYPE)];
    let instance = resolve("cast", &cast_kernel::KERNEL, cast::POLICY, device, x.cols(), &front, options)?;
    Ok(cast_kernel::launch_with(device, instance, &options.launch, y, x)?)
}

/// The instance that [`cast()`] takes for a shape on a device, and why; `None` for equal types.
pub fn explain_cast<T: AnyElement, U: AnyElement>(device: &Device, shape: Shape) -> Option<Choice> {
    let front = [Generic::Type(T::DTYPE), Generic::Type(U::DTYPE)];
    (T::DTYPE != U::DTYPE).then(|| choose(&cast_kernel::KERNEL, cast::POLICY, device, shape[3], &front))
}

/// Types whose tensors [`transpose()`] takes: those a message can transpose on the way.
pub trait Transposable: AnyElement {}
impl Transposable for bf16 {}
impl Transposable for f16 {}
impl Transposable for f32 {}
impl Transposable for i32 {}

/// The transpose of every plane, `[batch, depth, cols, rows]`, as a new tensor.
///
/// ```
/// use tile_std::prelude::*;
///
/// let x = Tensor::from_slice(2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let y = tile_std::ops::transpose(&Device::host(), &x)?;
/// assert_eq!((y.shape(), y.to_vec()), ([1, 1, 3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: out of memory, or a failed launch.
pub fn transpose<'a, T: Transposable>(
    device: &Device,
    x: impl Into<View<'a, T>>,
) -> Result<Tensor<T>, RowError> {
    let x = x.into();
    let mut y = Tensor::with_shape(transposed(x.shape()))?;
    transpose_into(device, &mut y, x, &RowOptions::default())?;
    Ok(y)
}

/// [`transpose()`] into `y`, with every choice open.
///
/// # Errors
/// [`RowError`]: an output that is not `[batch, depth, cols, rows]`, an instance of another type, or a failed launch.
pub fn transpose_into<'a, T: Transposable>(
    device: &Device,
    y: impl Into<ViewMut<'a, T>>,
    x: impl Into<View<'a, T>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let (y, x) = (y.into(), x.into());
    if y.shape() != transposed(x.shape()) {
        let rule = "the output must have x's columns as rows and x's rows as columns";
        return Err(RowError::new("transpose", rule, ("the output", y.shape()), ("x", x.shape())));
    }
    let front = [Generic::Type(T::DTYPE)];
    let (kernel, policy) = (&transpose_kernel::KERNEL, transpose::POLICY);
    let instance = resolve("transpose", kernel, policy, device, x.cols(), &front, options)?;
    Ok(transpose_kernel::launch_with(device, instance, &options.launch, y, x)?)
}

/// The instance that [`transpose()`] takes for a shape of `x` on a device, and why.
pub fn explain_transpose<T: Transposable>(device: &Device, shape: Shape) -> Choice {
    choose(&transpose_kernel::KERNEL, transpose::POLICY, device, shape[3], &[Generic::Type(T::DTYPE)])
}

fn transposed([batch, depth, rows, cols]: Shape) -> Shape {
    [batch, depth, cols, rows]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::dispatch::tests::policy_instances_exist;

    #[test]
    fn every_row_of_the_policies_is_compiled() {
        for gelu in [false, true] {
            for front in [front::<bf16>(gelu), front::<f16>(gelu), front::<f32>(gelu)] {
                policy_instances_exist(&gated_kernel::KERNEL, gated::POLICY, &front);
            }
        }
        let types =
            [bf16::DTYPE, f16::DTYPE, f32::DTYPE, i32::DTYPE, i8::DTYPE, u8::DTYPE].map(Generic::Type);
        for (i, from) in types.into_iter().enumerate() {
            for (_, to) in types.into_iter().enumerate().filter(|(j, _)| i != *j) {
                policy_instances_exist(&cast_kernel::KERNEL, cast::POLICY, &[from, to]);
            }
        }
        for of in &types[..4] {
            policy_instances_exist(&transpose_kernel::KERNEL, transpose::POLICY, &[*of]);
        }
    }
}
