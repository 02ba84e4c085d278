//! Owns matrix multiplication over tensors: shape checks, the choice of the instance, the launch.

use thiserror::Error;

use crate::kernels::gemm::gemm as kernel;
use crate::prelude::*;
use crate::{Generic, InstanceInfo};

/// How a product is computed. The default multiplies `[M, K]` by `[K, N]` and chooses the rest by shape.
///
/// ```
/// use tile_std::prelude::*;
/// use tile_std::{GemmOptions, gemm_into};
///
/// let a = Tensor::from_fn([1, 1, 2, 3], |_, _, r, c| bf16::from_f32((r + c) as f32))?;
/// let b = Tensor::from_fn([1, 1, 4, 3], |_, _, n, k| bf16::from_f32((n * k) as f32))?; // [N, K]
/// let mut c = Tensor::<f32>::zeros(2, 4)?;
/// let options = GemmOptions { transpose_b: true, ..GemmOptions::default() };
/// gemm_into(&Device::host(), &mut c, &a, &b, &options)?;
/// assert_eq!(c.get(0, 0, 1, 2), Some(16.0)); // 1*0 + 2*2 + 3*4
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GemmOptions<'a> {
    /// B is given as `[N, K]`.
    pub transpose_b: bool,
    /// The instance to run, one of `kernels::gemm::gemm::INSTANCES`; `None` chooses one by shape.
    pub instance: Option<&'static InstanceInfo>,
    /// K steps between a prefetch and its use; `None` takes the tuned distance.
    pub ahead: Option<u32>,
    /// Work-group columns of a stack in the snake order; `None` takes the tuned width.
    pub snake: Option<u32>,
    /// Options of the launch.
    pub launch: LaunchOptions<'a>,
}

/// A product that was refused or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GemmError {
    /// Pass matrices that fit.
    #[error(
        "gemm: A's columns must equal B's {}; A is {a:?} and B is {b:?} (batch, depth, rows, cols)",
        if *.transpose_b { "columns (B is given as [N, K])" } else { "rows" }
    )]
    Inner {
        /// Shape of A.
        a: Shape,
        /// Shape of B.
        b: Shape,
        /// B is given as `[N, K]`.
        transpose_b: bool,
    },
    /// Pass an output of the product's shape.
    #[error("gemm: the output must be {needed:?}; here it is {found:?} (batch, depth, rows, cols)")]
    Output {
        /// Shape the output must have: that of A times B.
        needed: Shape,
        /// Shape it has.
        found: Shape,
    },
    /// Pass operands with equal batch and depth, or 1 where one plane serves all.
    #[error(
        "gemm: batch and depth of A and B must be equal or 1; A is {a:?} and B is {b:?} (batch, depth, rows, cols)"
    )]
    Planes {
        /// Shape of A.
        a: Shape,
        /// Shape of B.
        b: Shape,
    },
    /// Choose an instance with these element types and this form of B.
    #[error("gemm: the instance {instance} does not multiply {a} into {c} with B given as {b_form}")]
    Instance {
        /// The instance asked for.
        instance: &'static str,
        /// Element type of A and B.
        a: &'static str,
        /// Element type of C.
        c: &'static str,
        /// `[K, N]` or `[N, K]`.
        b_form: &'static str,
    },
    /// See [`TensorError`].
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// Multiplies A `[M, K]` by B `[K, N]` into a new tensor `[M, N]`, accumulating in f32.
///
/// Batch and depth of A and B are equal, or 1 in one of them, which is then used for every plane of the other.
/// Elements beyond f32 accumulation are rounded once, to nearest even, when C is stored.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, out of memory, or a failed launch.
pub fn gemm<'a, A: MmaInput, C: Element>(
    device: &Device,
    a: impl Into<View<'a, A>>,
    b: impl Into<View<'a, A>>,
) -> Result<Tensor<C>, GemmError> {
    let (a, b) = (a.into(), b.into());
    let mut c = Tensor::with_shape(product(a.shape(), b.shape(), false)?)?;
    gemm_into(device, &mut c, a, b, &GemmOptions::default())?;
    Ok(c)
}

/// Multiplies A by B into `c`, with every choice open. See [`GemmOptions`] for an example.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, an instance of other types, or a failed launch.
pub fn gemm_into<'a, A: MmaInput, C: Element>(
    device: &Device,
    c: impl Into<ViewMut<'a, C>>,
    a: impl Into<View<'a, A>>,
    b: impl Into<View<'a, A>>,
    options: &GemmOptions<'_>,
) -> Result<Report, GemmError> {
    let (c, a, b) = (c.into(), a.into(), b.into());
    let needed = product(a.shape(), b.shape(), options.transpose_b)?;
    if c.shape() != needed {
        return Err(GemmError::Output { needed, found: c.shape() });
    }
    let instance = match options.instance {
        Some(instance) => fits::<A, C>(instance, options.transpose_b)?,
        None => choose::<A, C>(device, needed, a.shape()[3], options.transpose_b),
    };
    let (a, b) = (over_planes(a, needed)?, over_planes(b, needed)?);
    let (ahead, snake) = (options.ahead.unwrap_or(AHEAD), options.snake.unwrap_or(SNAKE));
    Ok(kernel::launch_with(device, instance, &options.launch, c, a, b, ahead, snake)?)
}

/// An operand with its single plane repeated for every plane of the product.
pub(super) fn over_planes<T: AnyElement>(v: View<'_, T>, product: Shape) -> Result<View<'_, T>, TensorError> {
    let [batch, depth, ..] = product;
    let v = if v.shape()[0] == batch { v } else { v.broadcast(tile_runtime::Axis::Batch, batch)? };
    if v.shape()[1] == depth { Ok(v) } else { v.broadcast(tile_runtime::Axis::Depth, depth) }
}

/// Prefetch distance in K steps (SyclKittens paper, D.2, "shape-adaptive lookahead": 2 for all squares).
pub(super) const AHEAD: u32 = 2;

/// Width of a stack in work-group columns (ibid., "snake-curve group swizzle": 8 for most shapes).
pub(super) const SNAKE: u32 = 8;

/// Tile sizes by rows of C: the first row whose bound is not below M is taken. Small M would leave most of a
/// large tile empty.
const SIZES: &[(usize, [u64; 3])] = &[(8, [8, 32, 32]), (64, [16, 64, 32]), (usize::MAX, [32, 64, 32])];

/// Tile sizes on the host device, where they are memory and not registers, largest first (measured: `gemm_host` in
/// benches). The large one reads A and B less often, and C once per 128 steps of K.
const HOST_SIZES: &[[u64; 3]] = &[[256, 128, 128], [128, 128, 64]];

/// Rows and columns below which most of a [`HOST_SIZES`] tile would be empty.
const HOST_LEAST: usize = 96;

/// The tile sizes for the host device with this many threads: of those that give every thread two tiles, the ones
/// that compute least beyond the edges of C and K, and of equals the largest.
fn host_sizes(threads: usize, c: Shape, k: usize) -> Option<[u64; 3]> {
    let [batch, depth, rows, cols] = c.map(|extent| extent as u64);
    if c[2] < HOST_LEAST || c[3] < HOST_LEAST {
        return None;
    }
    let tiles = |[m, n, _]: [u64; 3]| batch * depth * rows.div_ceil(m) * cols.div_ceil(n);
    HOST_SIZES.iter().copied().filter(|&sizes| tiles(sizes) >= 2 * threads as u64).min_by_key(|&sizes| {
        let [m, n, depth] = sizes;
        u128::from(tiles(sizes) * m * n) * u128::from((k as u64).next_multiple_of(depth))
    })
}

fn generics<A: Element, C: Element>([m, n, k]: [u64; 3], transpose_b: bool) -> [Generic; 7] {
    let types = [Generic::Type(A::DTYPE), Generic::Type(C::DTYPE)];
    let sizes = [Generic::Size(m), Generic::Size(n), Generic::Size(k)];
    [types[0], types[1], sizes[0], sizes[1], sizes[2], Generic::Flag(transpose_b), Generic::Flag(true)]
}

fn choose<A: MmaInput, C: Element>(
    device: &Device,
    c: Shape,
    k: usize,
    transpose_b: bool,
) -> &'static InstanceInfo {
    let &(_, mut sizes) =
        SIZES.iter().find(|(bound, _)| c[2] <= *bound).expect("the last bound is usize::MAX");
    if let Device::Host(host) = device {
        sizes = host_sizes(host.threads(), c, k).unwrap_or(sizes);
    }
    kernel::KERNEL.find(&generics::<A, C>(sizes, transpose_b)).expect(
        "every row of SIZES and HOST_SIZES is compiled for all element types; the test `policy_instances_exist` \
         checks it",
    )
}

/// Checks that an instance chosen by hand multiplies these types in this form.
fn fits<A: MmaInput, C: Element>(
    instance: &'static InstanceInfo,
    transpose_b: bool,
) -> Result<&'static InstanceInfo, GemmError> {
    let ours = kernel::INSTANCES.iter().any(|i| std::ptr::eq(i, instance));
    let g = instance.generics;
    let types = g.first() == Some(&Generic::Type(A::DTYPE)) && g.get(1) == Some(&Generic::Type(C::DTYPE));
    if ours && types && g.get(5) == Some(&Generic::Flag(transpose_b)) {
        return Ok(instance);
    }
    let b_form = if transpose_b { "[N, K]" } else { "[K, N]" };
    Err(GemmError::Instance { instance: instance.name, a: A::DTYPE.name(), c: C::DTYPE.name(), b_form })
}

/// The shape of the product, if the operands fit.
pub(super) fn product(a: Shape, b: Shape, transpose_b: bool) -> Result<Shape, GemmError> {
    let [k, n] = if transpose_b { [b[3], b[2]] } else { [b[2], b[3]] };
    if a[3] != k {
        return Err(GemmError::Inner { a, b, transpose_b });
    }
    let plane = |x: usize, y: usize| match (x, y) {
        (x, y) if x == y => Ok(x),
        (1, y) => Ok(y),
        (x, 1) => Ok(x),
        _ => Err(GemmError::Planes { a, b }),
    };
    Ok([plane(a[0], b[0])?, plane(a[1], b[1])?, a[2], n])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_instances_exist() {
        fn all<A: MmaInput>() {
            for transpose_b in [false, true] {
                let rows = SIZES.iter().map(|(bound, _)| *bound).chain([4096]);
                for c in rows.flat_map(|m| [[1, 1, m, 64], [1, 1, m.min(1 << 20), 4096]]) {
                    for device in [Device::host(), Device::sim()] {
                        choose::<A, f32>(&device, c, 64, transpose_b);
                        choose::<A, bf16>(&device, c, 64, transpose_b);
                        choose::<A, f16>(&device, c, 64, transpose_b);
                    }
                }
                for sizes in HOST_SIZES {
                    assert!(kernel::KERNEL.find(&generics::<A, f32>(*sizes, transpose_b)).is_some());
                    assert!(kernel::KERNEL.find(&generics::<A, bf16>(*sizes, transpose_b)).is_some());
                    assert!(kernel::KERNEL.find(&generics::<A, f16>(*sizes, transpose_b)).is_some());
                }
            }
        }
        all::<bf16>();
        all::<f16>();
    }

    #[test]
    fn the_host_takes_large_tiles_where_they_waste_nothing() {
        let (large, small) = (Some([256, 128, 128]), Some([128, 128, 64]));
        let of = |threads, m, n, k| host_sizes(threads, [1, 1, m, n], k);
        assert_eq!(of(2, 512, 512, 512), large);
        assert_eq!(of(2, 300, 1024, 512), small, "300 rows fill three tiles of 128 better than two of 256");
        assert_eq!(of(2, 512, 512, 192), small, "192 is three times 64");
        assert_eq!(of(2, 256, 256, 256), small, "two large tiles are too few for two threads");
        assert_eq!(of(2, 128, 256, 256), None);
        assert_eq!(of(1, 4096, 95, 4096), None);
        assert_eq!(host_sizes(1, [2, 3, 256, 128], 128), large);
    }

    #[test]
    fn shapes_that_do_not_fit_print_both() {
        let error = product([1, 1, 3, 4], [1, 1, 5, 2], false).expect_err("4 columns and 5 rows do not fit");
        let text = error.to_string();
        assert!(text.contains("[1, 1, 3, 4]") && text.contains("[1, 1, 5, 2]"), "{text}");
        assert!(product([2, 1, 3, 4], [3, 1, 4, 2], false).is_err());
        assert_eq!(product([2, 1, 3, 4], [1, 5, 4, 2], false).expect("planes of 1 repeat"), [2, 5, 3, 2]);
        assert_eq!(product([1, 1, 3, 4], [1, 1, 7, 4], true).expect("B is [N, K]"), [1, 1, 3, 7]);
    }
}
