//! The kernels of the library. Each file holds the mathematics, the schedule and the kernel.
//!
//! *Not here*: which instance to take for which shape, and checks of shapes ([`crate::ops`]).

pub mod argmax;
pub mod attention;
pub mod cast;
pub mod decode;
pub mod gated;
pub mod gemm;
pub mod gemm_fused;
pub mod gemm_i8;
pub mod gemm_split;
pub mod gemv;
pub mod layer_norm;
pub mod rms_norm;
pub mod rope;
pub mod rope_pairs;
pub mod row_sum;
pub mod softmax;
pub mod softmax_topk;
pub mod softmax_wide;
pub mod transpose;

#[cfg(test)]
mod tests {
    /// Devices are judged by what they can do, so a kernel must be there for GPUs and for CPUs.
    #[test]
    fn every_instance_with_a_module_has_one_for_each_target() {
        for kernel in crate::KERNELS {
            let mut compiled = 0;
            for instance in kernel.instances.iter().filter(|instance| !instance.modules.is_empty()) {
                let mut targets: Vec<&str> = instance.modules.iter().map(|module| module.target).collect();
                targets.dedup();
                assert_eq!(targets, ["xe", "lane"], "{instance}");
                compiled += 1;
            }
            assert!(compiled > 0, "{} is for the host alone", kernel.name);
        }
    }
}
