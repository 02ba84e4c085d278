//! Owns the sizes and the weights of the little decoder: random numbers that are the same in every run.
//!
//! A matrix is `[outputs, inputs]`, as checkpoints keep them; queries, keys and values are one matrix, and so are gate and up.
//! *Not here*: what is done with them (`tiles`, `plain`).

use tile_std::prelude::*;

/// Sizes of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Layers.
    pub layers: usize,
    /// Elements of a token between layers.
    pub hidden: usize,
    /// Heads of queries, a multiple of `kv_heads`.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Elements of a head, a multiple of 32.
    pub dim: usize,
    /// Elements of a token inside the feed-forward part.
    pub inner: usize,
    /// Tokens there are.
    pub vocabulary: usize,
    /// Tokens the caches hold.
    pub capacity: usize,
}

impl Sizes {
    /// Elements of all queries of a token.
    pub fn q_cols(&self) -> usize {
        self.heads * self.dim
    }

    /// Elements of all keys of a token, and of all values.
    pub fn kv_cols(&self) -> usize {
        self.kv_heads * self.dim
    }
}

/// What keeps the norm of a token of zeros from being infinite.
pub const EPS: f32 = 1e-5;

/// The cosine or sine by which pair `pair` of a head is turned at a position.
pub fn angle(sizes: &Sizes, position: usize, pair: usize) -> f32 {
    position as f32 * 10_000f32.powf(-2.0 * pair as f32 / sizes.dim as f32)
}

/// The weights of one layer.
#[derive(Debug)]
pub struct Layer {
    /// Factors of the norm before attention.
    pub attention_norm: Tensor<bf16>,
    /// Queries, then keys, then values.
    pub qkv: Tensor<bf16>,
    /// From the heads back to a token.
    pub output: Tensor<bf16>,
    /// Factors of the norm before the feed-forward part.
    pub mlp_norm: Tensor<bf16>,
    /// Gate, then up.
    pub gate_up: Tensor<bf16>,
    /// From the feed-forward part back to a token.
    pub down: Tensor<bf16>,
}

/// The weights of a decoder.
#[derive(Debug)]
pub struct Weights {
    /// A row per token.
    pub embedding: Tensor<bf16>,
    /// The layers, first to last.
    pub layers: Vec<Layer>,
    /// Factors of the last norm.
    pub norm: Tensor<bf16>,
    /// A row per token.
    pub logits: Tensor<bf16>,
}

/// A small deterministic generator (SplitMix64).
struct Numbers(u64);

impl Numbers {
    /// A number in -1 .. 1.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ bits >> 31) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// A matrix that keeps the size of what it is multiplied with: its elements have the variance `1 / inputs`.
    fn matrix(&mut self, outputs: usize, inputs: usize) -> Result<Tensor<bf16>, TensorError> {
        let size = (3.0 / inputs as f32).sqrt();
        Tensor::from_fn([1, 1, outputs, inputs], |_, _, _, _| bf16::from_f32(self.next() * size))
    }

    fn factors(&mut self, count: usize) -> Result<Tensor<bf16>, TensorError> {
        Tensor::from_fn([1, 1, 1, count], |_, _, _, _| bf16::from_f32(1.0 + 0.25 * self.next()))
    }
}

impl Weights {
    /// Random weights; equal seeds give equal weights.
    ///
    /// # Errors
    /// [`TensorError`]: out of memory.
    pub fn random(sizes: &Sizes, seed: u64) -> Result<Weights, TensorError> {
        let (mut n, hidden) = (Numbers(seed), sizes.hidden);
        let mut layers = vec![];
        for _ in 0..sizes.layers {
            layers.push(Layer {
                attention_norm: n.factors(hidden)?,
                qkv: n.matrix(sizes.q_cols() + 2 * sizes.kv_cols(), hidden)?,
                output: n.matrix(hidden, sizes.q_cols())?,
                mlp_norm: n.factors(hidden)?,
                gate_up: n.matrix(2 * sizes.inner, hidden)?,
                down: n.matrix(hidden, sizes.inner)?,
            });
        }
        let (embedding, logits) = (n.matrix(sizes.vocabulary, hidden)?, n.matrix(sizes.vocabulary, hidden)?);
        Ok(Weights { embedding, layers, norm: n.factors(hidden)?, logits })
    }

    /// The same weights where `device` reads them.
    ///
    /// # Errors
    /// [`TensorError`]: out of memory.
    pub fn to_device(&self, device: &Device) -> Result<Weights, TensorError> {
        let mut layers = vec![];
        for layer in &self.layers {
            layers.push(Layer {
                attention_norm: layer.attention_norm.to_device(device)?,
                qkv: layer.qkv.to_device(device)?,
                output: layer.output.to_device(device)?,
                mlp_norm: layer.mlp_norm.to_device(device)?,
                gate_up: layer.gate_up.to_device(device)?,
                down: layer.down.to_device(device)?,
            });
        }
        Ok(Weights {
            embedding: self.embedding.try_clone()?,
            layers,
            norm: self.norm.to_device(device)?,
            logits: self.logits.to_device(device)?,
        })
    }
}
