//! Multiplies two matrices: `cargo run --release --example gemm`, or with `-- --help`.
//!
//! *Not here*: the program itself (`examples::gemm`); this hands it the streams of the process.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use examples::gemm::{Streams, run};

fn main() -> ExitCode {
    let err_is_terminal = io::stderr().is_terminal();
    let (mut out, mut err) = (io::stdout(), io::stderr());
    ExitCode::from(run(std::env::args_os(), Streams { out: &mut out, err: &mut err, err_is_terminal }))
}
