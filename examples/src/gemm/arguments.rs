//! Owns the command line of the program `gemm`.
//!
//! *Guarantees*: a mistake is one line. *Not here*: what the arguments mean together (`crate::gemm`).

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Parser, ValueEnum};

use crate::matrix::ElementType;

/// Multiplies two matrices: C = A * B, accumulated in f32, and checks the product against an f64 reference.
///
/// Without --a and --b it multiplies the two matrices in examples/data and shows what the product is good for.
///
/// Files end in .npy (f32, f16) or .safetensors (f32, f16, bf16; FILE.safetensors:TENSOR chooses a tensor, which is
/// not needed if there is only one). A is [M, K] or [batch, M, K] and B is [K, N] or [batch, K, N]; a matrix without a
/// batch serves all matrices of the other's batch.
#[derive(Debug, Parser)]
#[command(name = "gemm", max_term_width = 110)]
pub struct Arguments {
    /// The left matrix.
    #[arg(long, value_name = "FILE", requires = "b")]
    pub a: Option<OsString>,
    /// The right matrix.
    #[arg(long, value_name = "FILE", requires = "a")]
    pub b: Option<OsString>,
    /// Where to write C; a .safetensors file will hold nothing else. May be one of the inputs.
    #[arg(long, value_name = "FILE")]
    pub out: Option<OsString>,
    /// Element type of C. (.npy has no bf16.)
    #[arg(long, value_name = "TYPE", value_enum, default_value = "f32")]
    pub out_dtype: ElementType,
    /// Type both matrices are rounded to for the multiplication; f16 if both are f16, else bf16, if not given.
    #[arg(long, value_name = "TYPE", value_enum)]
    pub compute: Option<Compute>,
    /// B is given as [N, K].
    #[arg(long, requires = "b")]
    pub transpose_b: bool,
    /// Where to compute: host, sim, sim:pvc, sim:bmg, ... The simulator runs the GPU's code, slowly. If not given, the
    /// variable TILE_DEVICE decides, then what is there.
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Compiled instance of the kernel: a part of its name (or 16x64x32 for its tile sizes) that fits one only.
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Do not compare the product with an f64 reference, which costs more time than the product.
    #[arg(long)]
    pub no_check: bool,
}

/// Types a multiplication can have as input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compute {
    /// The upper half of an `f32`.
    Bf16,
    /// 16-bit IEEE floating point.
    F16,
}

/// Reads the command line, whose first element is the name of the program.
///
/// # Errors
/// Text to show and the status to exit with. The text is one line, except that of `--help`, whose status is 0.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Arguments, (String, u8)> {
    Arguments::try_parse_from(line).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => (error.render().to_string(), 0),
        _ => {
            let text = error.render().to_string();
            // clap adds the usage and a pointer to --help, in paragraphs of their own.
            let said = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
            let said = said.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
            let line = said.collect::<Vec<_>>().join(" ");
            (format!("{}; see --help", line.trim_start_matches("error: ")), 2)
        }
    })
}
