//! Owns the product of a matrix and a few vectors over tensors: shape checks, the choice of the instance, the launch.

use crate::Generic;
use crate::kernels::gemv::{POLICY, gemv as kernel};
use crate::ops::dispatch::{Choice, RowError, RowOptions, choose, resolve};
use crate::ops::gemm::over_planes;
use crate::prelude::*;

/// `w[n, ..] . x[m, ..]` of every row of `x` and of `w`, as a new tensor `[batch, depth, rows of x, rows of w]`, summed in f32.
///
/// `x` is `[batch, depth, M, K]`, `w` is `[N, K]`, as layers keep their weights, with as many planes as `x`, or 1 in batch or
/// depth, which then serves all. Made for a token or a few: of more than eight rows [`gemm`](crate::gemm()) makes better use.
///
/// ```
/// use tile_std::ops::gemv;
/// use tile_std::prelude::*;
///
/// let w = Tensor::from_fn([1, 1, 3, 1000], |_, _, n, _| bf16::from_f32(n as f32))?;
/// let x = Tensor::from_fn([1, 1, 1, 1000], |_, _, _, k| bf16::from_f32((k % 2) as f32))?;
/// let y: Tensor<f32> = gemv(&Device::host(), &w, &x)?;
/// assert_eq!(y.to_vec(), [0.0, 500.0, 1000.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RowError`]: shapes that do not fit, out of memory, or a failed launch.
pub fn gemv<'a, T: Element, C: Element>(
    device: &Device,
    w: impl Into<View<'a, T>>,
    x: impl Into<View<'a, T>>,
) -> Result<Tensor<C>, RowError> {
    let (w, x) = (w.into(), x.into());
    let mut y = Tensor::with_shape(product(w.shape(), x.shape())?)?;
    gemv_into(device, &mut y, w, x, None, &RowOptions::default())?;
    Ok(y)
}

/// [`gemv()`] into `y`, with every choice open, plus `add`: a bias `[1, N]`, or a residual of y's shape, with planes as `w`.
///
/// ```
/// use tile_std::ops::{RowOptions, gemv_into};
/// use tile_std::prelude::*;
///
/// let w = Tensor::from_slice(2, 2, &[1.0f32, 2.0, 3.0, 4.0])?;
/// let x = Tensor::from_slice(2, 2, &[1.0f32, 0.0, 1.0, 1.0])?;
/// let bias = Tensor::from_slice(1, 2, &[0.5f32, -0.5])?;
/// let mut y = Tensor::<f32>::zeros(2, 2)?;
/// gemv_into(&Device::host(), &mut y, &w, &x, Some(bias.view()), &RowOptions::default())?;
/// assert_eq!(y.to_vec(), [1.5, 2.5, 3.5, 6.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`gemv()`], and an instance of other types.
pub fn gemv_into<'a, T: Element, C: Element>(
    device: &Device,
    y: impl Into<ViewMut<'a, C>>,
    w: impl Into<View<'a, T>>,
    x: impl Into<View<'a, T>>,
    add: Option<View<'a, C>>,
    options: &RowOptions<'_>,
) -> Result<Report, RowError> {
    let (y, w, x) = (y.into(), w.into(), x.into());
    let needed = product(w.shape(), x.shape())?;
    if y.shape() != needed {
        let rule = "the output must have x's planes and rows, and a column per row of w";
        return Err(RowError::new(OP, rule, ("the output", y.shape()), ("w", w.shape())));
    }
    let add = match add {
        Some(add) => over_planes(addend(add, needed)?, needed)?,
        None => View::from_slice(&[], 0, 0)?,
    };
    let front = front::<T, C>();
    let instance = resolve(OP, &kernel::KERNEL, POLICY, device, needed[3], &front, options)?;
    Ok(kernel::launch_with(device, instance, &options.launch, y, over_planes(w, needed)?, x, add)?)
}

/// The instance that [`gemv()`] takes for a shape of `y` on a device, and why.
pub fn explain_gemv<T: Element, C: Element>(device: &Device, y: Shape) -> Choice {
    choose(&kernel::KERNEL, POLICY, device, y[3], &front::<T, C>())
}

const OP: &str = "gemv";

fn front<T: Element, C: Element>() -> [Generic; 2] {
    [Generic::Type(T::DTYPE), Generic::Type(C::DTYPE)]
}

/// The shape of the product, if the operands fit.
fn product(w: Shape, x: Shape) -> Result<Shape, RowError> {
    let planes = |i: usize| w[i] == x[i] || w[i] == 1;
    let rule = if w[3] != x[3] {
        "w must have x's columns"
    } else if !planes(0) || !planes(1) {
        "batch and depth of w must be those of x, or 1"
    } else {
        return Ok([x[0], x[1], x[2], w[2]]);
    };
    Err(RowError::new(OP, rule, ("w", w), ("x", x)))
}

/// The addend, if it fits.
fn addend<C: Element>(add: View<'_, C>, y: Shape) -> Result<View<'_, C>, RowError> {
    let found = add.shape();
    let fits = |i: usize| found[i] == y[i] || found[i] == 1;
    if fits(0) && fits(1) && fits(2) && found[3] == y[3] {
        return Ok(add);
    }
    let rule = "what is added must have the output's columns, and its planes and rows, or 1";
    Err(RowError::new(OP, rule, ("the addend", found), ("the output", y)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::dispatch::tests::policy_instances_exist;

    #[test]
    fn every_row_of_the_policy_is_compiled() {
        fn outputs<T: Element>() {
            for front in [front::<T, bf16>(), front::<T, f16>(), front::<T, f32>()] {
                policy_instances_exist(&kernel::KERNEL, POLICY, &front);
            }
        }
        outputs::<bf16>();
        outputs::<f16>();
        outputs::<f32>();
    }
}
