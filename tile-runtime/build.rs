//! Makes the feature `opencl` link on machines without OpenCL.
//!
//! `cl-sys` asks the linker for a library named OpenCL. `src/opencl/ocl.rs` defines every function of it that we
//! call and finds the real library while the program runs, so an archive without members is all the linker needs.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_OPENCL").is_some() {
        let folder = PathBuf::from(std::env::var("OUT_DIR")?);
        std::fs::write(folder.join("libOpenCL.a"), b"!<arch>\n")?;
        println!("cargo:rustc-link-search=native={}", folder.display());
    }
    Ok(())
}
