//! Owns the step from two matrices to their product: rounding, the instance, the launches, the check.
//!
//! *Assumes*: the shapes fit ([`product_shape`]). *Guarantees*: the matrix returned is that of the launch the
//! report describes. *Not here*: files, words.

use std::time::{Duration, Instant};

use tile_std::kernels::gemm::gemm as kernel;
use tile_std::prelude::{Element, MmaInput};
use tile_std::{
    Device, GemmError, GemmOptions, GemmReport, Generic, InstanceInfo, LaunchOptions, Shape, Tensor, View,
    bf16, f16, gemm_into,
};

use super::Failure;
use super::arguments::Compute;
use super::check::{Check, check};
use super::progress::{Log, watched};
use crate::matrix::{ElementType, Elements, Matrix, Stored};

/// What to compute.
pub struct Job<'a> {
    /// The left matrix.
    pub a: &'a Matrix,
    /// The right matrix.
    pub b: &'a Matrix,
    /// B is given as `[N, K]`.
    pub transpose_b: bool,
    /// Type of the operands.
    pub compute: Compute,
    /// Type of the product.
    pub out: ElementType,
    /// Where to compute.
    pub device: &'a Device,
    /// A part of the name of the instance to run.
    pub instance: Option<&'a str>,
    /// Compare with an f64 reference.
    pub check: bool,
}

/// What came out.
pub struct Product {
    /// The product.
    pub matrix: Matrix,
    /// What the operands became.
    pub operands: [Rounding; 2],
    /// The report of the first launch.
    pub report: GemmReport,
    /// How long it took.
    pub times: Times,
    /// What the check found, if there was one.
    pub check: Option<Check>,
}

/// What happened to the elements of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounding {
    /// Elements that were NaN or infinite in the file.
    pub not_finite: u64,
    /// Finite elements that the type of the operands cannot hold and that became infinite.
    pub overflowed: u64,
}

/// Times of equal launches.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Time of the first launch, which starts threads.
    pub first: Duration,
    /// Median over all launches.
    pub median: Duration,
    /// Launches.
    pub runs: usize,
}

/// The shape of the product, if the operands fit. Batches must be equal or 1.
pub fn product_shape(a: Shape, b: Shape, transpose_b: bool) -> Option<Shape> {
    let [k, n] = if transpose_b { [b[3], b[2]] } else { [b[2], b[3]] };
    let batch = match (a[0], b[0]) {
        (x, y) if x == y => x,
        (1, y) => y,
        (x, 1) => x,
        _ => return None,
    };
    (a[3] == k).then_some([batch, 1, a[2], n])
}

/// Multiplies, and checks the product if the job says so.
///
/// # Errors
/// [`Failure::Instance`] if the name does not choose one instance, [`Failure::Gemm`] if the launch is refused.
pub fn multiply(job: &Job<'_>, log: &mut Log<'_>) -> Result<Product, Failure> {
    match job.compute {
        Compute::Bf16 => of_operands::<bf16>(job, log),
        Compute::F16 => of_operands::<f16>(job, log),
    }
}

fn of_operands<A: MmaInput>(job: &Job<'_>, log: &mut Log<'_>) -> Result<Product, Failure> {
    match job.out {
        ElementType::F32 => of_types::<A, f32>(job, log),
        ElementType::Bf16 => of_types::<A, bf16>(job, log),
        ElementType::F16 => of_types::<A, f16>(job, log),
    }
}

fn of_types<A: MmaInput, C: Stored>(job: &Job<'_>, log: &mut Log<'_>) -> Result<Product, Failure> {
    let instance = job.instance.map(|name| find_instance::<A, C>(name, job.transpose_b)).transpose()?;
    let (a, a_rounding) = operand::<A>(job.a)?;
    let (b, b_rounding) = operand::<A>(job.b)?;
    let needed = product_shape(a.shape(), b.shape(), job.transpose_b);
    let shape = needed.expect("the caller compared the shapes, to name the files if they do not fit");
    let mut c = Tensor::<C>::with_shape(shape).map_err(GemmError::from)?;

    let options = GemmOptions { transpose_b: job.transpose_b, instance, ..GemmOptions::default() };
    let report = watched(log, "multiplying", "work-groups", |tell| {
        let launch = LaunchOptions { progress: Some(tell), ..options.launch };
        gemm_into(job.device, &mut c, &a, &b, &GemmOptions { launch, ..options }).map_err(Failure::from)
    })?;
    let times = repeat(report.elapsed(), job.device, || {
        Ok(gemm_into(job.device, &mut c, &a, &b, &options)?.elapsed())
    })?;
    let check = job.check.then(|| {
        watched(log, "checking against f64", "rows", |tell| check(&c, &a, &b, job.transpose_b, tell))
    });
    let batched = job.a.shape().len() == 3 || job.b.shape().len() == 3;
    let [batch, _, rows, cols] = shape;
    let sizes = if batched { vec![batch, rows, cols] } else { vec![rows, cols] };
    let matrix =
        Matrix::new(sizes, C::elements(c.to_vec())).expect("a tensor has as many elements as its shape");
    Ok(Product { matrix, operands: [a_rounding, b_rounding], report, times, check })
}

/// The matrix as a tensor of the operand type, each element rounded to nearest even.
fn operand<A: Element>(matrix: &Matrix) -> Result<(Tensor<A>, Rounding), Failure> {
    let mut rounding = Rounding::default();
    let mut round = |x: f32| {
        let rounded = A::from_f32(x);
        rounding.not_finite += u64::from(!x.is_finite());
        rounding.overflowed += u64::from(x.is_finite() && !rounded.to_f32().is_finite());
        rounded
    };
    let values: Vec<A> = match matrix.elements() {
        Elements::F32(values) => values.iter().map(|x| round(*x)).collect(),
        Elements::Bf16(values) => values.iter().map(|x| round(x.to_f32())).collect(),
        Elements::F16(values) => values.iter().map(|x| round(x.to_f32())).collect(),
    };
    // A tensor of its own: its pitch and base suit every device.
    let view = View::from_slice_with_shape(&values, matrix.tensor_shape());
    let tensor = view.and_then(Tensor::from_view).map_err(GemmError::from)?;
    Ok((tensor, rounding))
}

/// Launches again while that takes little time: one launch of a small product says more about the start of
/// threads than about the product. The simulator's time says nothing about a GPU, so it runs once.
fn repeat(
    first: Duration,
    device: &Device,
    mut launch: impl FnMut() -> Result<Duration, Failure>,
) -> Result<Times, Failure> {
    const LONG: Duration = Duration::from_millis(100);
    const ENOUGH: Duration = Duration::from_millis(200);
    const MOST_RUNS: usize = 500;
    let mut times = vec![first];
    let start = Instant::now();
    if matches!(device, Device::Host(_)) && first < LONG {
        while start.elapsed() < ENOUGH && times.len() < MOST_RUNS {
            times.push(launch()?);
        }
    }
    times.sort_unstable();
    Ok(Times { first, median: times[times.len() / 2], runs: times.len() })
}

/// The only instance for these types and this form of B whose name has `part` in it, white space aside. `16x64x32`
/// means these tile sizes.
fn find_instance<A: Element, C: Stored>(
    part: &str,
    transpose_b: bool,
) -> Result<&'static InstanceInfo, Failure> {
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let sizes = !part.is_empty() && part.chars().all(|c| c.is_ascii_digit() || c == 'x');
    let wanted = if sizes { format!(",{},", part.replace('x', ",")) } else { letters(part) };
    let key = [(0, Generic::Type(A::DTYPE)), (1, Generic::Type(C::DTYPE)), (5, Generic::Flag(transpose_b))];
    let legal =
        |instance: &&InstanceInfo| key.iter().all(|(i, value)| instance.generics.get(*i) == Some(value));
    let candidates = kernel::INSTANCES.iter().filter(legal).collect::<Vec<_>>();
    let fitting = candidates.iter().filter(|i| letters(i.name).contains(&wanted)).collect::<Vec<_>>();
    if let [only] = fitting.as_slice() {
        return Ok(only);
    }
    let (count, listed) = match fitting.len() {
        0 => ("none".to_owned(), candidates),
        n => (n.to_string(), fitting.into_iter().copied().collect()),
    };
    let names = listed.iter().map(|i| i.name).collect::<Vec<_>>().join("; ");
    let b_form = if transpose_b { "[N, K]" } else { "[K, N]" };
    Err(Failure::Instance { part: part.into(), count, a: A::DTYPE.name(), c: C::TYPE, b_form, names })
}
