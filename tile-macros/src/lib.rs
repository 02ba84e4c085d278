//! The attribute `#[tile_kernel]`: a shim over `tile_front`, and its user documentation.
//!
//! *Not here*: any logic; the front end is a plain library so that it can be tested as one.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// Compiles a function over tiles for the host and for Intel GPUs, while the crate compiles.
///
/// The function is the program of one sub-group. It is generic over element types (`T: Element`,
/// `A: MmaInput`), sizes (`const BM: usize`) and switches (`const PREFETCH: bool`); the attribute lists the
/// instances to compile:
///
/// ```
/// use tile_std::prelude::*;
///
/// #[tile_kernel(instances(
///     <bf16, f32, 16, 32, 32; subgroups = (2, 2)>,
///     <f16,  f16, 8,  16, 16; subgroups = (4, 1)>,
/// ))]
/// pub fn matmul<A: MmaInput, C: Element, const BM: usize, const BN: usize, const BK: usize>(
///     c: &mut gl<C>, a: &gl<A>, b: &gl<A>,
/// ) {
///     let at = own_tile::<BM, BN>(c, Snake(8));
///     let mut acc: rt<f32, BM, BN, Acc> = zeros();
///     for k in 0..a.col_tiles(BK) {
///         let x: rt<A, BM, BK> = load(a, [at.row(), k]);
///         let y: rt<A, BK, BN, Vnni> = load_transform(b, [k, at.col()]);
///         mma_AB(&mut acc, &x, &y);
///     }
///     store(c, &acc.to::<C>(), at);
/// }
///
/// let a = Tensor::from_fn([1, 1, 5, 70], |_, _, r, c| bf16::from_f32((r + c) as f32))?;
/// let b = Tensor::from_fn([1, 1, 70, 9], |_, _, r, c| bf16::from_f32((r == c) as u8 as f32))?;
/// let mut c = Tensor::<f32>::zeros(5, 9)?;
/// matmul::launch::<bf16, f32, 16, 32, 32>(&Device::host(), &mut c, &a, &b)?;
/// assert_eq!(c.get(0, 0, 4, 8), Some(12.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # The attribute
///
/// | part | meaning |
/// |---|---|
/// | `instances(<ARGS; subgroups = (R, C)>, ..)` | one entry per instance: the generic arguments in order, and the grid of sub-groups that forms a work-group |
/// | `derive(HALF = BM / 2, ..)` | sizes computed from others; they are `const` parameters of the function but are not listed in the entries |
/// | `fns(f, other::g, ..)` | the device functions the kernel calls, by path |
/// | `crate = path` | where the generated code finds `tile_std` (for crates that re-export it) |
///
/// # What it makes
///
/// The function stays as written, for type checking and the editor. Beside it stands a module of the same name:
///
/// - `launch::<ARGS>(&device, ..)`: runs an instance; asking for one that was not compiled is a compile error
///   that lists those that were;
/// - `enqueue::<ARGS>(&device, ..)`: the same without waiting; it gives an event;
/// - `launch_with(&device, instance, &options, ..)`, `enqueue_with(..)`: the same for an instance chosen at run time;
/// - `INSTANCES`, `KERNEL`: the description of every instance, with its SPIR-V modules.
///
/// # The language
///
/// `let`, assignment, `if`/`else` and `match` on integers and `bool`, `for` over ranges (with `step_by`), `while`,
/// `break`, `continue`, early `return`, scalars `u32`, `i32`, `u64`, `f32`, `bool`, the ops and methods of
/// `tile_std::prelude`, and device functions ([`tile_fn`]). A tile's *source* (`zeros`, a load) has a written type;
/// everything after it is derived. Scalar arithmetic wraps, division by zero gives 0. Every rule has a code that
/// `cargo tile explain CODE` explains.
///
/// `#[unroll]` before a `for` writes its body out once per value of the counter, which is then a constant: an `if` or
/// `match` on it leaves one way only. Its bounds are literals, sizes, and counters of unrolled loops around it.
///
/// ```
/// use tile_std::prelude::*;
///
/// #[tile_kernel(instances(<3; subgroups = (1, 1)>))]
/// pub fn powers<const N: usize>(c: &mut gl<f32>, x: &gl<f32>, kind: u32) {
///     let at = own_tile::<8, 16>(c, Linear);
///     let x: rt<f32, 8, 16> = load(x, at);
///     let mut sum: rt<f32, 8, 16> = fill(1.0);
///     #[unroll]
///     for i in 0..N as u32 {
///         sum = match i {
///             0 => sum.add(&x),
///             _ => sum.add(&x.mul(&sum)),
///         };
///     }
///     let s = match kind {
///         0 => 1.0,
///         1 | 2 => 0.5,
///         3..=9 if kind % 2 == 1 => 0.25,
///         _ => 0.0,
///     };
///     store(c, &sum.scale(s), at);
/// }
///
/// let x = Tensor::from_slice(1, 2, &[1.0f32, 2.0])?;
/// let mut c = Tensor::<f32>::zeros(1, 2)?;
/// powers::launch::<3>(&Device::host(), &mut c, &x, 5)?;
/// assert_eq!(c.to_vec(), [2.0, 6.75]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A kernel that is an `unsafe fn` may store at any coordinate with `store_at`; its launchers are `unsafe`.
#[proc_macro_attribute]
pub fn tile_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    tile_front::tile_kernel(attr.into(), item.into()).into()
}

/// Makes a device function: one that kernels call, in this crate and in others.
///
/// A kernel lists the functions it calls in `fns(..)`, by path, and they are inlined into its device code. A function
/// is generic over element types, sizes and switches, which its arguments fix; it takes tiles and vectors by value,
/// `&` or `&mut`, scalars, and `&gl<T>`, and gives the value of its last expression.
///
/// ```
/// use tile_std::prelude::*;
///
/// #[tile_fn]
/// pub fn bias_relu<const M: usize, const N: usize>(
///     x: &rt<f32, M, N, Acc>, bias: &rv<f32, N, PerCol>,
/// ) -> rt<f32, M, N, Acc> {
///     x.add_col(bias).relu()
/// }
///
/// #[tile_kernel(fns(bias_relu), instances(<bf16, 16, 32, 16; subgroups = (1, 1)>))]
/// pub fn linear<A: MmaInput, const BM: usize, const BN: usize, const BK: usize>(
///     c: &mut gl<f32>, a: &gl<A>, b: &gl<A>, bias: &gl<f32>,
/// ) {
///     let at = own_tile::<BM, BN>(c, Linear);
///     let mut acc: rt<f32, BM, BN, Acc> = zeros();
///     for k in 0..a.col_tiles(BK) {
///         let x: rt<A, BM, BK> = load(a, [at.row(), k]);
///         let y: rt<A, BK, BN, Vnni> = load_transform(b, [k, at.col()]);
///         mma_AB(&mut acc, &x, &y);
///     }
///     let v: rv<f32, BN, PerCol> = load_vec(bias, [0, at.col()]);
///     store(c, &bias_relu(&acc, &v), at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let a = Tensor::from_fn([1, 1, 4, 3], |_, _, r, c| bf16::from_f32(r as f32 - c as f32))?;
///     let b = Tensor::from_fn([1, 1, 3, 2], |_, _, r, c| bf16::from_f32((r + c) as f32))?;
///     let bias = Tensor::from_slice(1, 2, &[1.0f32, -2.0])?;
///     let mut c = Tensor::<f32>::zeros(4, 2)?;
///     linear::launch::<bf16, 16, 32, 16>(&Device::host(), &mut c, &a, &b, &bias)?;
///     assert_eq!(c.to_vec(), [0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 5.0, 8.0]);
///     Ok(())
/// }
/// ```
///
/// A function gives several values as a tuple, `-> (rt<f32, M, N>, rv<f32, M, PerRow>)`, which its caller binds:
/// `let (x, m) = f(..);`. It may call other device functions, which it lists in the same way; the kernel lists only
/// those it calls itself. Functions do not call themselves, and end at their end (no `return`).
///
/// | option | meaning |
/// |---|---|
/// | `fns(f, other::g, ..)` | the device functions the function calls |
/// | `derive(HALF = M / 2, ..)` | relations between its sizes, which its callers must keep |
/// | `crate = path` | as for kernels |
///
/// ```
/// use tile_std::prelude::*;
///
/// #[tile_fn]
/// fn shifted<const M: usize, const N: usize>(x: &rt<f32, M, N>, top: &rv<f32, M, PerRow>) -> rt<f32, M, N> {
///     x.sub_row(top).exp2()
/// }
///
/// #[tile_fn(fns(shifted))]
/// pub fn soft<const M: usize, const N: usize>(x: &rt<f32, M, N>) -> (rt<f32, M, N>, rv<f32, M, PerRow>) {
///     let e = shifted(x, &x.row_max());
///     let sum = e.row_sum();
///     (e.div_row(&sum), sum)
/// }
///
/// #[tile_kernel(fns(soft), instances(<8, 16; subgroups = (1, 1)>))]
/// pub fn softmax<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>) {
///     let at = own_tile::<M, N>(y, Linear);
///     let x: rt<f32, M, N> = load(x, at);
///     let (p, _) = soft(&x);
///     store(y, &p, at);
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let x = Tensor::from_fn([1, 1, 1, 16], |_, _, _, c| c as f32)?;
///     let mut y = Tensor::<f32>::zeros(1, 16)?;
///     softmax::launch::<8, 16>(&Device::host(), &mut y, &x)?;
///     assert!((y.get(0, 0, 0, 15).unwrap() - 32768.0 / 65535.0).abs() < 1e-6);
///     Ok(())
/// }
/// ```
#[proc_macro_attribute]
pub fn tile_fn(attr: TokenStream, item: TokenStream) -> TokenStream {
    tile_front::tile_fn(attr.into(), item.into()).into()
}

/// Goes on with the expansion of a kernel that lists device functions. Not an interface.
#[doc(hidden)]
#[proc_macro]
pub fn tile_kernel_collect(input: TokenStream) -> TokenStream {
    tile_front::tile_kernel_collect(input.into()).into()
}

/// Goes on with the expansion of a device function that lists others. Not an interface.
#[doc(hidden)]
#[proc_macro]
pub fn tile_fn_collect(input: TokenStream) -> TokenStream {
    tile_front::tile_fn_collect(input.into()).into()
}
