//! Owns the random numbers of the fuzzer.
//!
//! *Guarantees*: a seed gives the same numbers in every run and on every machine. *Not here*: what is made of them.

/// A sequence of pseudo-random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

/// Mixes the bits of a number.
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Dice {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(mix(seed ^ 0x51ED_270B_9F1C_2A37))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.bits() % n as u64) as usize }
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
