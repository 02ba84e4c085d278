//! Figures of kernels written by hand, which those of `tile_std` are held against.
//!
//! *Owns*: the figures, and what of an instance is compared with each. *Assumes*: the same compiler, IGC 2.40.14. *Guarantees*: nothing
//! here was measured on a device; hand-written kernels are for tensors without edges. *Not here*: reading machine code
//! ([`crate::interior`]); the GEMM, whose loop is held to more (`tests/gemm_bars.rs`).

use crate::inspect::Figures;

/// What is compared of an instance.
pub enum Of {
    /// Clocks of the arithmetic of a trip through the loop.
    Trip,
    /// Instructions of a trip, by units of which a trip makes so many.
    TripOf(f64),
    /// Instructions of the interior, by units of which a sub-group makes so many.
    Interior(f64),
}

/// A figure of a kernel written by hand.
pub struct Hand {
    /// Name of the kernel of `tile_std`.
    pub kernel: &'static str,
    /// Instance, as written in the kernel's attribute.
    pub instance: &'static str,
    /// What is compared.
    pub of: Of,
    /// The unit, and what was written by hand.
    pub what: &'static str,
    /// On pvc and on bmg.
    figures: [f64; 2],
}

/// Kernels written by hand for the same compiler (IGC 2.40.14): in SPIR-V (attention) and in OpenCL C (the others), for tensors
/// without edges and for a head of 128, a row of 128 with k = 8, and a row of 4096.
pub const BY_HAND: &[Hand] = &[
    Hand {
        kernel: "attention",
        instance: "<bf16, 128, 16, 32>",
        of: Of::Trip,
        what: "clocks per 32 keys; 16 queries, 32 keys a trip, lazy rescaling, maxima in a lane vector",
        figures: [343.0, 307.0],
    },
    Hand {
        kernel: "attention",
        instance: "<bf16, 128, 16, 32>",
        of: Of::Trip,
        what: "clocks per 32 keys; the same with 64 keys a trip",
        figures: [700.0 / 2.0, 563.0 / 2.0],
    },
    Hand {
        kernel: "softmax_topk",
        instance: "<f16, true, 8, 128>",
        of: Of::Interior(16.0),
        what: "instructions per row; a row per lane, i32 keys, of equal elements the lower index",
        figures: [117.0, 115.0],
    },
    Hand {
        kernel: "softmax_topk",
        instance: "<f16, true, 8, 128>",
        of: Of::Interior(16.0),
        what: "instructions per row; float keys: no NaN, of equal negative elements the higher index",
        figures: [95.2, 93.8],
    },
    Hand {
        kernel: "rms_norm",
        instance: "<bf16, false, 256, 16, true>",
        of: Of::Interior(8.0 * 256.0 / 16.0),
        what: "instructions per 16 elements; one 2-D load per sub-group, sub-group block write",
        figures: [8.8, 8.3],
    },
    Hand {
        kernel: "gemv",
        instance: "<bf16, f32, 256, 2>",
        of: Of::TripOf(4.0),
        what: "instructions per 256 elements; four rows share x",
        figures: [43.0, 43.0],
    },
    Hand {
        kernel: "gemv",
        instance: "<bf16, f32, 256, 2>",
        of: Of::TripOf(4.0),
        what: "instructions per 256 elements; one row, x as f32 in shared memory",
        figures: [59.0, 54.0],
    },
];

impl Of {
    /// What an instance costs in the units of a figure written by hand; `None` without such a loop or a store.
    pub fn measured(&self, figures: &Figures) -> Option<f64> {
        match self {
            Of::Trip => figures.trip.map(|counts| counts.clocks() as f64),
            Of::TripOf(units) => figures.trip.map(|counts| counts.total() as f64 / units),
            Of::Interior(units) => figures.interior.map(|counts| counts.total() as f64 / units),
        }
    }
}

impl Hand {
    /// The figure on a device; `None` but for pvc and bmg.
    pub fn figure(&self, device: &str) -> Option<f64> {
        let [pvc, bmg] = self.figures;
        match device {
            "pvc" => Some(pvc),
            "bmg" => Some(bmg),
            _ => None,
        }
    }
}
