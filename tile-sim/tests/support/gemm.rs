//! The three probe modules of a hand-written GEMM, and a plain reference for them.

use super::Random;
use tile_sim::{Arg, Counters, Launch, Memory, Module, Options, SimError, run_with};

/// C += A B with A [M, K], B [K, N]; 32x64 per sub-group, 8x4 sub-groups, no prefetch.
pub const NO_PREFETCH: &str = include_str!("../data/gemm_32x64_nopf.spvasm");
/// The same with a prefetch three steps ahead.
pub const PREFETCH: &str = include_str!("../data/gemm_32x64_pvc.spvasm");
/// B given as [N, K]; one sub-group per work-group.
pub const TRANSPOSED: &str = include_str!("../data/gemm_bf16_btrans.spvasm");

/// A problem: bf16 inputs as patterns, row-major.
pub struct Problem {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Vec<u16>,
    /// [K, N].
    pub b: Vec<u16>,
}

fn value(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

impl Problem {
    pub fn random(m: usize, n: usize, k: usize, seed: u64) -> Problem {
        let mut random = Random(seed);
        let a = (0..m * k).map(|_| random.bf16()).collect();
        let b = (0..k * n).map(|_| random.bf16()).collect();
        Problem { m, n, k, a, b }
    }

    /// Sums in ascending k with one rounding per step, as the simulator promises.
    pub fn reference(&self) -> Vec<f32> {
        let mut c = vec![0f32; self.m * self.n];
        for i in 0..self.m {
            for j in 0..self.n {
                for k in 0..self.k {
                    let (x, y) = (value(self.a[i * self.k + k]), value(self.b[k * self.n + j]));
                    c[i * self.n + j] = x.mul_add(y, c[i * self.n + j]);
                }
            }
        }
        c
    }

    fn bytes(values: &[u16]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn b_transposed(&self) -> Vec<u16> {
        (0..self.n * self.k).map(|i| self.b[i % self.k * self.n + i / self.k]).collect()
    }

    /// Runs a probe module; `transposed` says how it takes B.
    pub fn run(
        &self,
        module: &Module,
        transposed: bool,
        options: &Options,
    ) -> Result<(Vec<f32>, Counters), SimError> {
        let mut memory = Memory::new();
        let a = memory.map(Self::bytes(&self.a), 0);
        let b = if transposed { self.b_transposed() } else { self.b.clone() };
        let b = memory.map(Self::bytes(&b), 0);
        let c = memory.map(vec![0xff; self.m * self.n * 4], 0);
        memory.protect(a);
        memory.protect(b);
        let args = [
            Arg::Pointer(a),
            Arg::Pointer(b),
            Arg::Pointer(c),
            Arg::U32(self.m as u32),
            Arg::U32(self.n as u32),
            Arg::U32(self.k as u32),
        ];
        let (tile_n, tile_m, local) = if transposed { (64, 32, 16) } else { (256, 256, 16 * 32) };
        let launch = Launch {
            entry: "gemm",
            groups: [self.n.div_ceil(tile_n) as u32, self.m.div_ceil(tile_m) as u32, 1],
            local: [local, 1, 1],
            args: &args,
        };
        let counters = run_with(module, &mut memory, &launch, options)?;
        let c = memory.unmap(c);
        let c = c.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        Ok((c, counters))
    }
}
