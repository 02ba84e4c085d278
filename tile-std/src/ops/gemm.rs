//! Owns matrix multiplication over tensors: options, shape checks, the launches.
//!
//! *Guarantees*: shapes that do not fit are errors that print both; every form of the operands, every epilogue and every
//! split computes in f32 and rounds once. *Not here*: how a product is computed (`plan`), the kernels
//! ([`crate::kernels`]).

mod error;
mod plan;

use std::time::Duration;

pub use error::GemmError;
pub(crate) use error::{over_planes, product};
pub use plan::Ending;
pub use plan::GemmPlan;
use plan::{Wanted, Way, plan};

use crate::kernels::gemm::gemm as plain;
use crate::kernels::gemm_fused::gemm_fused as fused;
use crate::kernels::gemm_split::{JOIN, gemm_join as join, gemm_split as split, gemm_split_atomic as atomic};
use crate::prelude::*;
use crate::{Generic, InstanceInfo};

/// How the splits of K are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitForm {
    /// Each in a plane of its own, which a second kernel adds in their order: the same bits in every run.
    #[default]
    TwoPass,
    /// All in one plane, by atomic adds: the memory of one plane, and bits that depend on which split ends first.
    Atomic,
}

/// How a product is computed. The default multiplies `[M, K]` by `[K, N]` and chooses the rest by device and shape.
///
/// ```
/// use tile_std::prelude::*;
/// use tile_std::{GemmOptions, gemm_into};
///
/// let a = Tensor::from_fn([1, 1, 3, 2], |_, _, k, m| bf16::from_f32((m + k) as f32))?; // [K, M]
/// let b = Tensor::from_fn([1, 1, 4, 3], |_, _, n, k| bf16::from_f32((n * k) as f32))?; // [N, K]
/// let mut c = Tensor::<f32>::zeros(2, 4)?;
/// let options = GemmOptions { transpose_a: true, transpose_b: true, ..GemmOptions::default() };
/// gemm_into(&Device::host(), &mut c, &a, &b, &options)?;
/// assert_eq!(c.get(0, 0, 1, 2), Some(16.0)); // 1*0 + 2*2 + 3*4
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GemmOptions<'a> {
    /// A is given as `[K, M]`.
    pub transpose_a: bool,
    /// B is given as `[N, K]`.
    pub transpose_b: bool,
    /// Parts that K is cut into, in whole steps; 0 and 1 do not cut it. `None` cuts it where C has few tiles and K is
    /// long, by shape alone, and never on the host device.
    pub split: Option<usize>,
    /// How the parts are added.
    pub split_form: SplitForm,
    /// The instance to run, one of `kernels::gemm::gemm::INSTANCES`, of `gemm_fused` or of a split; `None` chooses one.
    pub instance: Option<&'static InstanceInfo>,
    /// K steps between a prefetch and its use; `None` takes the tuned distance.
    pub ahead: Option<u32>,
    /// Work-group columns of a stack in the snake order; `None` takes the tuned width.
    pub snake: Option<u32>,
    /// Options of the launches.
    pub launch: LaunchOptions<'a>,
}

/// A function of every element, as the end of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// The element itself.
    #[default]
    Identity,
    /// `x` where `x > 0`, else 0.
    Relu,
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`, the usual approximation of GELU.
    Gelu,
    /// `x / (1 + exp(-x))`.
    Silu,
}

impl Activation {
    /// Its number, as [`crate::functions::activated`] has it.
    fn number(self) -> u32 {
        match self {
            Activation::Identity => 0,
            Activation::Relu => 1,
            Activation::Gelu => 2,
            Activation::Silu => 3,
        }
    }
}

/// What is added to a product, as BLAS's `beta * C`.
#[derive(Clone, Copy, Debug, Default)]
pub enum Addend<'a, C: Element> {
    /// Nothing.
    #[default]
    None,
    /// What the output held before, times a factor; with 0 it is not read, and may hold NaN. On a GPU this takes tiles of 16
    /// rows of C, since the old values need registers: with another output, [`Addend::Tensor`] is faster.
    Output(f32),
    /// A tensor of C's shape and type (or with one plane for all), times a factor; with 0 it is not read.
    Tensor(View<'a, C>, f32),
}

/// What is done to a product before it is rounded: `C = activation(alpha * A * B + bias) + add`.
///
/// The default is the product itself. With `alpha` and `add` this is BLAS's product; with [`Addend::Tensor`] and 1 a
/// layer with its residual. A and B are not read where `alpha` is 0: they may hold NaN.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, C: Element> {
    /// Factor of the product.
    pub alpha: f32,
    /// One row with a value per column, of C's type, for all planes.
    pub bias: Option<View<'a, C>>,
    /// What follows the bias.
    pub activation: Activation,
    /// What is added last.
    pub add: Addend<'a, C>,
}

impl<C: Element> Default for Epilogue<'_, C> {
    fn default() -> Self {
        Epilogue { alpha: 1.0, bias: None, activation: Activation::Identity, add: Addend::None }
    }
}

impl<C: Element> Epilogue<'_, C> {
    /// What there is to do beside the product.
    fn ending(&self) -> Ending {
        match self.add {
            Addend::Output(beta) if beta != 0.0 => Ending::ReadsOutput,
            Addend::None | Addend::Output(_)
                if self.alpha == 1.0 && self.bias.is_none() && self.activation == Activation::Identity =>
            {
                Ending::None
            }
            Addend::None | Addend::Output(_) | Addend::Tensor(..) => Ending::Some,
        }
    }
}

/// What the launches of a product did.
#[derive(Debug)]
#[non_exhaustive]
pub struct GemmReport {
    /// How the product was computed.
    pub plan: GemmPlan,
    /// The launch that multiplied.
    pub product: Report,
    /// The launch that added the splits.
    pub join: Option<Report>,
}

impl GemmReport {
    /// The time of all launches.
    pub fn elapsed(&self) -> Duration {
        self.product.elapsed + self.join.as_ref().map_or(Duration::ZERO, |join| join.elapsed)
    }
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
    let mut c = Tensor::with_shape(product(a.shape(), b.shape(), [false, false])?)?;
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
) -> Result<GemmReport, GemmError> {
    gemm_fused_into(device, c, a, b, &Epilogue::default(), options)
}

/// Multiplies A by B into `c` with an [`Epilogue`], in one pass over C: what follows a product in a layer costs what it reads.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, an instance of other types, or a failed launch.
///
/// ```
/// use tile_std::prelude::*;
/// use tile_std::{Activation, Addend, Epilogue, GemmOptions, gemm_fused_into};
///
/// let x = Tensor::from_slice(1, 2, &[1.0, 2.0].map(bf16::from_f32))?;
/// let w = Tensor::from_slice(2, 3, &[1.0, -1.0, 0.0, 2.0, -2.0, 0.5].map(bf16::from_f32))?;
/// let bias = Tensor::from_slice(1, 3, &[0.5f32, 0.0, -3.0])?;
/// let mut y = Tensor::<f32>::from_slice(1, 3, &[100.0, 200.0, 300.0])?;
/// let layer = Epilogue {
///     bias: Some(bias.view()),
///     activation: Activation::Relu,
///     add: Addend::Output(1.0), // y += relu(x * w + bias)
///     ..Epilogue::default()
/// };
/// gemm_fused_into(&Device::host(), &mut y, &x, &w, &layer, &GemmOptions::default())?;
/// assert_eq!(y.to_vec(), [105.5, 200.0, 300.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gemm_fused_into<'a, A: MmaInput, C: Element>(
    device: &Device,
    c: impl Into<ViewMut<'a, C>>,
    a: impl Into<View<'a, A>>,
    b: impl Into<View<'a, A>>,
    epilogue: &Epilogue<'_, C>,
    options: &GemmOptions<'_>,
) -> Result<GemmReport, GemmError> {
    let (c, mut a, mut b) = (c.into(), a.into(), b.into());
    let forms = [options.transpose_a, options.transpose_b];
    let needed = product(a.shape(), b.shape(), forms)?;
    if c.shape() != needed {
        return Err(GemmError::Output { needed, found: c.shape() });
    }
    if epilogue.alpha == 0.0 {
        a = if options.transpose_a { a.slice_rows(..0)? } else { a.slice_cols(..0)? };
        b = if options.transpose_b { b.slice_cols(..0)? } else { b.slice_rows(..0)? };
    }
    let end = End::new(device, epilogue, needed)?;
    let wanted = wanted::<A, C>(a.shape(), needed, options, epilogue.ending());
    let plan = plan(device, &wanted, options)?;
    let (a, b) = (over_planes(a, needed)?, over_planes(b, needed)?);
    let (instance, launch, ahead, snake) = (plan.instance, &options.launch, plan.ahead, plan.snake);
    // A launch refuses dimensions beyond u32, and splits and steps are no more than those.
    let [splits, each] = [plan.splits, plan.each].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let [batch, depth, rows, cols] = needed;
    let planes = batch.saturating_mul(plan.splits);
    let (product, join) = match plan.way {
        Way::Plain => (plain::launch_with(device, instance, launch, c, a, b, ahead, snake)?, None),
        Way::Fused => {
            let (bias, d) = (end.bias(), end.d());
            let End { alpha, activation, beta, own, .. } = end;
            let report = fused::launch_with(
                device, instance, launch, c, a, b, bias, d, alpha, activation, beta, own, ahead, snake,
            )?;
            (report, None)
        }
        Way::Split => {
            let mut parts = Tensor::<f32>::with_shape_on(device, [planes, depth, rows, cols])?;
            let product =
                split::launch_with(device, instance, launch, &mut parts, a, b, splits, each, ahead, snake)?;
            (product, Some(end.join(device, launch, c, &parts, splits)?))
        }
        Way::Atomic => {
            let [m, n] = tile_of(instance);
            let shape = [planes, depth, rows.div_ceil(m), cols.div_ceil(n).saturating_mul(16)];
            let mut places = Tensor::<bf16>::with_shape_on(device, shape)?;
            let mut sum = Tensor::<f32>::with_shape_on(device, needed)?;
            let product = atomic::launch_with(
                device,
                instance,
                launch,
                &mut places,
                &mut sum,
                a,
                b,
                splits,
                each,
                ahead,
                snake,
            )?;
            (product, Some(end.join(device, launch, c, &sum, 1)?))
        }
    };
    Ok(GemmReport { plan, product, join })
}

/// How [`gemm_into`] computes the product of A and B of these shapes; with an ending, how [`gemm_fused_into`]
/// does.
///
/// # Errors
/// [`GemmError`]: shapes that do not fit, or an instance of other types.
///
/// ```
/// use tile_std::prelude::*;
/// use tile_std::{Ending, GemmOptions, explain_gemm};
///
/// let [a, b] = [[1, 1, 8192, 4096], [1, 1, 4096, 4096]];
/// let plan = explain_gemm::<bf16, bf16>(&Device::sim(), a, b, Ending::None, &GemmOptions::default())?;
/// assert_eq!((plan.ahead, plan.snake, plan.splits), (2, 8, 1));
/// assert!(plan.to_string().contains("the row of the paper's tables for 8192 x 4096 x 4096"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain_gemm<A: MmaInput, C: Element>(
    device: &Device,
    a: Shape,
    b: Shape,
    end: Ending,
    options: &GemmOptions<'_>,
) -> Result<GemmPlan, GemmError> {
    let needed = product(a, b, [options.transpose_a, options.transpose_b])?;
    plan(device, &wanted::<A, C>(a, needed, options, end), options)
}

fn wanted<A: Element, C: Element>(a: Shape, shape: Shape, options: &GemmOptions<'_>, end: Ending) -> Wanted {
    let k = if options.transpose_a { a[2] } else { a[3] };
    Wanted { a: A::DTYPE, c: C::DTYPE, shape, k, end }
}

/// Rows and columns of an instance's tile of C.
fn tile_of(instance: &InstanceInfo) -> [usize; 2] {
    let mut sizes = instance.generics.iter().filter_map(|g| match g {
        Generic::Size(size) => Some(*size as usize),
        Generic::Type(_) | Generic::Flag(_) => None,
    });
    [0, 1].map(|_| sizes.next().expect("the sizes of a product's instance begin with its tile of C"))
}

/// An epilogue as kernels take it: what is left out is an empty tensor, or a factor of 0.
struct End<'a, C: Element> {
    alpha: f32,
    bias: Option<View<'a, C>>,
    activation: u32,
    /// The tensor to add, and its factor.
    d: Option<View<'a, C>>,
    beta: f32,
    /// The factor of the old output.
    own: f32,
    none: Tensor<C>,
}

impl<'a, C: Element> End<'a, C> {
    fn new(device: &Device, epilogue: &Epilogue<'a, C>, c: Shape) -> Result<End<'a, C>, GemmError> {
        let Epilogue { alpha, bias, activation, add } = *epilogue;
        if let Some(bias) = bias
            && bias.shape() != [1, 1, 1, c[3]]
        {
            return Err(GemmError::Bias { bias: bias.shape(), c });
        }
        let (d, beta, own) = match add {
            Addend::None => (None, 0.0, 0.0),
            Addend::Output(own) => (None, 0.0, own),
            Addend::Tensor(d, beta) => {
                let shape = d.shape();
                let plane = |axis: usize| shape[axis] == c[axis] || shape[axis] == 1;
                if shape[2..] != c[2..] || !plane(0) || !plane(1) {
                    return Err(GemmError::Addend { addend: shape, c });
                }
                (Some(over_planes(d, c)?), beta, 0.0)
            }
        };
        let none = Tensor::with_shape_on(device, [1, 1, 0, 0])?;
        Ok(End { alpha, bias, activation: activation.number(), d, beta, own, none })
    }

    fn bias(&self) -> View<'_, C> {
        self.bias.unwrap_or(self.none.view())
    }

    fn d(&self) -> View<'_, C> {
        self.d.unwrap_or(self.none.view())
    }

    /// Adds the splits into C.
    fn join(
        &self,
        device: &Device,
        launch: &LaunchOptions<'_>,
        c: ViewMut<'_, C>,
        parts: &Tensor<f32>,
        splits: u32,
    ) -> Result<Report, GemmError> {
        let [rows, cols] = JOIN.map(Generic::Size);
        let instance = join::KERNEL
            .find(&[Generic::Type(C::DTYPE), rows, cols])
            .expect("the join is compiled for every type of C; the test `every_split_joins` checks it");
        let (bias, d) = (self.bias(), self.d());
        let End { alpha, activation, beta, own, .. } = *self;
        Ok(join::launch_with(
            device, instance, launch, c, parts, bias, d, splits, alpha, activation, beta, own,
        )?)
    }
}
