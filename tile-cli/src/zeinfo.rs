//! Reads the `.ze_info` section: what the compiler says about a kernel it built.
//!
//! *Assumes*: the YAML that ocloc's disassembler writes out. *Guarantees*: an absent `spill_size` is 0, which is how
//! the format says "none" (xe_facts §6). *Not here*: argument layout.

use serde::Deserialize;

/// Execution environment of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelEnvironment {
    /// Registers per thread.
    pub grf_count: u64,
    /// Threads per vector engine at that register count.
    pub eu_threads: u64,
    /// Lanes per instruction.
    pub simd: u64,
    /// Bytes per thread that did not fit the registers.
    pub spill_bytes: u64,
    /// Bytes of scratch memory per thread: spills and private arrays.
    pub scratch_bytes: u64,
    /// Bytes of shared local memory per work-group.
    pub slm_bytes: u64,
}

/// Why `.ze_info` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ZeInfoError {
    /// It is not the YAML expected.
    #[error("cannot read .ze_info: {0}")]
    Format(#[from] serde_yaml_ng::Error),
    /// The kernel is not in it.
    #[error(".ze_info has no kernel `{0}`")]
    NoKernel(String),
}

#[derive(Deserialize)]
struct File {
    kernels: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
    execution_env: Environment,
    #[serde(default)]
    per_thread_memory_buffers: Vec<Buffer>,
}

#[derive(Deserialize)]
struct Environment {
    grf_count: u64,
    eu_thread_count: u64,
    simd_size: u64,
    #[serde(default)]
    spill_size: u64,
    #[serde(default)]
    slm_size: u64,
}

#[derive(Deserialize)]
struct Buffer {
    #[serde(rename = "type")]
    kind: String,
    size: u64,
}

/// Reads what `text` says about the kernel `name`.
///
/// # Errors
/// When the text is malformed or does not mention the kernel.
pub fn parse(text: &str, name: &str) -> Result<KernelEnvironment, ZeInfoError> {
    let file: File = serde_yaml_ng::from_str(text)?;
    let kernel = file
        .kernels
        .into_iter()
        .find(|kernel| kernel.name == name)
        .ok_or_else(|| ZeInfoError::NoKernel(name.to_owned()))?;
    let scratch = kernel.per_thread_memory_buffers.iter().filter(|buffer| buffer.kind == "scratch");
    Ok(KernelEnvironment {
        grf_count: kernel.execution_env.grf_count,
        eu_threads: kernel.execution_env.eu_thread_count,
        simd: kernel.execution_env.simd_size,
        spill_bytes: kernel.execution_env.spill_size,
        scratch_bytes: scratch.map(|buffer| buffer.size).sum(),
        slm_bytes: kernel.execution_env.slm_size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---
version:         '1.73'
kernels:
  - name:            gemm
    execution_env:
      grf_count:       128
      has_dpas:        true
      simd_size:       16
      spill_size:      5632
      eu_thread_count: 8
    per_thread_memory_buffers:
      - type:            scratch
        usage:           single_space
        size:            8192
  - name:            clean
    execution_env:
      grf_count:       256
      simd_size:       16
      eu_thread_count: 4
";

    #[test]
    fn spills_and_scratch_are_read() {
        let environment = parse(TEXT, "gemm").expect("well formed");
        assert_eq!((environment.spill_bytes, environment.scratch_bytes), (5632, 8192));
        assert_eq!((environment.grf_count, environment.eu_threads, environment.simd), (128, 8, 16));
    }

    #[test]
    fn an_absent_spill_is_none() {
        let environment = parse(TEXT, "clean").expect("well formed");
        assert_eq!((environment.spill_bytes, environment.scratch_bytes, environment.grf_count), (0, 0, 256));
    }

    #[test]
    fn a_missing_kernel_and_a_missing_field_are_errors() {
        assert!(matches!(parse(TEXT, "absent"), Err(ZeInfoError::NoKernel(_))));
        let no_registers = TEXT.replace("grf_count", "grf_counts");
        assert!(matches!(parse(&no_registers, "gemm"), Err(ZeInfoError::Format(_))));
    }
}
