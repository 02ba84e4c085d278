//! Owns the program `gemm`: two matrices in, their product, its check and a report out.
//!
//! *Guarantees*: the product is written only after its check passed, and whole or not at all; the status is 0 for a
//! correct product, 1 for a failure, 2 for a command line that cannot be understood; a failure is one line. *Not
//! here*: the kernel and its launch (`tile_std`), files ([`crate::files`]).

mod arguments;
mod check;
pub(crate) mod digits;
mod multiply;
mod progress;
mod words;

use std::ffi::OsString;
use std::io::Write;

use thiserror::Error;
use tile_std::{Device, DeviceError, GemmError, Shape};

use crate::files::{FileError, Format, Place};
use crate::matrix::{ElementType, Matrix};
use arguments::{Arguments, Compute};
use check::Broken;
use multiply::{Job, multiply, product_shape};
use progress::Log;
use words::Out;

/// Where the program writes.
pub struct Streams<'a> {
    /// For the report.
    pub out: &'a mut dyn Write,
    /// For errors and news.
    pub err: &'a mut (dyn Write + Send),
    /// `err` is a terminal.
    pub err_is_terminal: bool,
}

/// A product that was not made, or is not right.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Shapes(Box<Shapes>),
    #[error(
        "--instance {part:?} must fit one instance that multiplies {a} into {c} with B as {b_form}; it fits {count} of: \
         {names}"
    )]
    Instance {
        part: String,
        count: String,
        a: &'static str,
        c: ElementType,
        b_form: &'static str,
        names: String,
    },
    #[error(transparent)]
    Gemm(Box<GemmError>),
    #[error(transparent)]
    Wrong(Box<Wrong>),
    #[error("cannot write the report: {0}")]
    Report(std::io::Error),
}

/// Operands that do not fit.
#[derive(Debug, Error)]
#[error(
    "A's columns must equal B's {}, and batches must be equal or 1; {a} is {a_shape:?} and {b} is {b_shape:?}",
    if *transpose_b { "columns (--transpose-b: B is [N, K])" } else { "rows" }
)]
struct Shapes {
    a: String,
    a_shape: Vec<usize>,
    b: String,
    b_shape: Vec<usize>,
    transpose_b: bool,
}

/// A product that failed its check.
#[derive(Debug, Error)]
#[error(
    "the product of {a} and {b} is wrong: element {:?} (batch, row, column) must be within {:e} of {:e}; it is {:e}",
    broken.at, broken.bound, broken.reference, broken.value
)]
struct Wrong {
    a: String,
    b: String,
    broken: Broken,
}

impl From<GemmError> for Failure {
    fn from(error: GemmError) -> Failure {
        Failure::Gemm(Box::new(error))
    }
}

/// Runs the program with this command line, whose first element is its name. Returns the status to exit with.
pub fn run(line: impl IntoIterator<Item = OsString>, streams: Streams<'_>) -> u8 {
    let Streams { out, err, err_is_terminal } = streams;
    let arguments = match arguments::parse(line) {
        Ok(arguments) => arguments,
        Err((text, 0)) => return u8::from(write!(out, "{text}").and_then(|()| out.flush()).is_err()),
        Err((text, status)) => {
            complain(err, &text);
            return status;
        }
    };
    let mut log = Log { stream: err, terminal: err_is_terminal };
    match product(&arguments, &mut Out::new(out), &mut log) {
        Ok(()) => 0,
        Err(failure) => {
            complain(log.stream, &failure.to_string());
            1
        }
    }
}

/// One line, whatever is in the text: names of files and tensors may hold anything. If even that cannot be written
/// there is only the status left to tell.
fn complain(err: &mut dyn Write, text: &str) {
    let line = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>();
    let _ = writeln!(err, "gemm: {line}").and_then(|()| err.flush());
}

fn product(arguments: &Arguments, out: &mut Out<'_>, log: &mut Log<'_>) -> Result<(), Failure> {
    let (device, why) = match &arguments.device {
        Some(name) => (Device::select(Some(name))?.0, format!("--device {name} asks for it")),
        None => Device::best().map(|(device, why)| (device, why.to_string()))?,
    };
    let shipped = arguments.a.is_none();
    let place = |given: &Option<OsString>, ours| match given {
        Some(name) => Place::parse(name),
        None => Place::parse(&digits::file(ours)),
    };
    let a_place = place(&arguments.a, "digits_asked.npy")?;
    let b_place = place(&arguments.b, "digits_known.safetensors:known")?;
    let target = arguments.out.as_ref().map(|name| Place::parse(name)).transpose()?;
    if let Some(target) = &target {
        target.check_writable(arguments.out_dtype)?;
    }

    let (a, b) = (a_place.read()?, b_place.read()?);
    let shape = product_shape(a.tensor_shape(), b.tensor_shape(), arguments.transpose_b);
    let shape: Shape = shape.ok_or_else(|| {
        Failure::Shapes(Box::new(Shapes {
            a: a_place.to_string(),
            a_shape: a.shape().to_vec(),
            b: b_place.to_string(),
            b_shape: b.shape().to_vec(),
            transpose_b: arguments.transpose_b,
        }))
    })?;
    let compute = arguments.compute.unwrap_or_else(|| compute_type(&a, &b));
    let job = Job {
        a: &a,
        b: &b,
        transpose_b: arguments.transpose_b,
        compute,
        out: arguments.out_dtype,
        device: &device,
        instance: arguments.instance.as_deref(),
        check: !arguments.no_check,
    };
    let product = multiply(&job, log)?;

    let [a_rounding, b_rounding] = product.operands;
    out.operand("A", &a_place, &a, compute, a_rounding);
    out.operand("B", &b_place, &b, compute, b_rounding);
    out.line("device", &format!("{device}: {why}"));
    let plan = &product.report.plan;
    let chosen = if arguments.instance.is_some() { "as --instance asks" } else { &plan.why };
    out.line("instance", &format!("{}, {chosen}", plan.instance));
    out.ran(&product.report.product);
    out.line("C", &format!("{:?} {}", product.matrix.shape(), arguments.out_dtype));
    out.times(product.times, shape, a.tensor_shape()[3]);
    if let Some(check) = &product.check {
        if let Some(broken) = check.broken {
            return Err(Failure::Wrong(Box::new(Wrong {
                a: a_place.to_string(),
                b: b_place.to_string(),
                broken,
            })));
        }
        out.check(check);
    } else {
        out.line("check", "left out (--no-check)");
    }
    if let Some(target) = &target {
        target.write(&product.matrix)?;
        out.line("written", &written(target));
    }
    if shipped && let Some(answers) = digits::answers(&a, &b, &product.matrix)? {
        out.answers(&answers);
    }
    out.end().map_err(Failure::Report)
}

/// The type both operands are rounded to if nobody says: bf16, unless f16 costs nothing.
fn compute_type(a: &Matrix, b: &Matrix) -> Compute {
    let both = [a, b].map(|matrix| matrix.elements().element_type());
    if both == [ElementType::F16; 2] { Compute::F16 } else { Compute::Bf16 }
}

fn written(target: &Place) -> String {
    match target.format() {
        Format::Npy => target.to_string(),
        Format::Safetensors => format!("{target} (tensor {:?})", target.tensor_to_write()),
    }
}
