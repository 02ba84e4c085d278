//! Owns matrix multiplication of bytes over tensors: shape checks, the choice of the instance, the launch.

use crate::kernels::gemm::{AHEAD, SNAKE};
use crate::kernels::gemm_i8::{SIZES, gemm_i8 as kernel};
use crate::ops::dispatch::Choice;
use crate::ops::gemm::{GemmError, GemmOptions, over_planes, product};
use crate::prelude::*;
use crate::{Generic, InstanceInfo};

/// Multiplies A `[M, K]` by B `[K, N]`, both of i8, into a new tensor `[M, N]` of i32.
///
/// Sums are exact up to K of 131,071 and wrap beyond. Batch and depth of A and B are equal, or 1 in one of them, which is
/// then used for every plane of the other.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, out of memory, or a failed launch.
///
/// ```
/// use tile_std::ops::gemm_i8;
/// use tile_std::prelude::*;
///
/// let a = Tensor::from_slice(2, 3, &[1i8, 2, 3, -128, -128, -128])?;
/// let b = Tensor::from_slice(3, 1, &[-128i8, -128, 127])?;
/// let c = gemm_i8(&Device::host(), &a, &b)?;
/// assert_eq!(c.to_vec(), [-3, 16512]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gemm_i8<'a>(
    device: &Device,
    a: impl Into<View<'a, i8>>,
    b: impl Into<View<'a, i8>>,
) -> Result<Tensor<i32>, GemmError> {
    let (a, b) = (a.into(), b.into());
    let mut c = Tensor::with_shape(product(a.shape(), b.shape(), [false, false])?)?;
    gemm_i8_into(device, &mut c, a, b, &GemmOptions::default())?;
    Ok(c)
}

/// Multiplies A by B into `c`, with every choice open; [`GemmOptions::instance`] is one of
/// `kernels::gemm_i8::gemm_i8::INSTANCES`.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, an instance of the other form of B, or a failed launch.
pub fn gemm_i8_into<'a>(
    device: &Device,
    c: impl Into<ViewMut<'a, i32>>,
    a: impl Into<View<'a, i8>>,
    b: impl Into<View<'a, i8>>,
    options: &GemmOptions<'_>,
) -> Result<Report, GemmError> {
    let (c, a, b) = (c.into(), a.into(), b.into());
    let op = "gemm_i8";
    if options.transpose_a {
        return Err(GemmError::Option { op, option: "transpose_a" });
    }
    if options.split.is_some_and(|splits| splits > 1) {
        return Err(GemmError::Option { op, option: "split" });
    }
    let needed = product(a.shape(), b.shape(), [false, options.transpose_b])?;
    if c.shape() != needed {
        return Err(GemmError::Output { needed, found: c.shape() });
    }
    let instance = match options.instance {
        Some(instance) => fits(instance, options.transpose_b)?,
        None => explain_gemm_i8(needed, options.transpose_b).instance,
    };
    let (a, b) = (over_planes(a, needed)?, over_planes(b, needed)?);
    let (ahead, snake) = (options.ahead.unwrap_or(AHEAD[0]), options.snake.unwrap_or(SNAKE));
    Ok(kernel::launch_with(device, instance, &options.launch, c, a, b, ahead, snake)?)
}

/// The instance that [`gemm_i8_into`] takes for a shape of C, and why.
pub fn explain_gemm_i8(c: Shape, transpose_b: bool) -> Choice {
    let (bound, sizes) =
        SIZES.iter().find(|(bound, _)| c[2] <= *bound).expect("the last bound is usize::MAX");
    let key: Vec<Generic> =
        sizes.map(Generic::Size).into_iter().chain([Generic::Flag(transpose_b)]).collect();
    let instance = kernel::KERNEL.find(&key).expect(
        "every row of SIZES is compiled for both forms of B; the test `policy_instances_exist` checks it",
    );
    let of =
        if *bound == usize::MAX { "any number of rows".to_string() } else { format!("up to {bound} rows") };
    Choice { instance, why: format!("{} rows take the tile for {of}", c[2]) }
}

/// Checks that an instance chosen by hand takes B in this form.
fn fits(instance: &'static InstanceInfo, transpose_b: bool) -> Result<&'static InstanceInfo, GemmError> {
    let ours = kernel::INSTANCES.iter().any(|i| std::ptr::eq(i, instance));
    if ours && instance.generics.last() == Some(&Generic::Flag(transpose_b)) {
        return Ok(instance);
    }
    let forms = format!("B given as {}", if transpose_b { "[N, K]" } else { "[K, N]" });
    Err(GemmError::Instance { instance: instance.to_string(), a: "i8", c: "i32", forms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_instances_exist() {
        for rows in SIZES.iter().flat_map(|(bound, _)| [*bound, bound.saturating_add(1)]).chain([0]) {
            for transpose_b in [false, true] {
                let choice = explain_gemm_i8([1, 1, rows, 64], transpose_b);
                assert_eq!(choice.instance.generics[3], Generic::Flag(transpose_b), "{choice}");
            }
        }
    }
}
