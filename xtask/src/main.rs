//! `cargo xtask`: the checks of this repository, the same for a person and for CI.
//!
//! *Guarantees*: `validate` runs every step and names it even when an earlier one failed; exit code 0 only when none
//! failed. *Not here*: what the steps check ([`graph`], [`sources`], or the programs they run).
#![forbid(unsafe_code)]

mod graph;
mod sources;
mod steps;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs everything that CI runs.
    Validate {
        /// Leaves out the slow steps: fetching tools, documentation, tests, the vendor tools, the example.
        #[arg(long)]
        fast: bool,
    },
}

fn main() -> ExitCode {
    let Cli { command: Command::Validate { fast } } = Cli::parse();
    if steps::validate(&workspace(), fast) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the workspace folder: the parent of this crate, which is where cargo found it.
fn workspace() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}
