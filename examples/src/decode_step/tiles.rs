//! Owns the decoder in operations of `tile_std`: some tokens in, the logits of what follows the last one out.
//!
//! Between layers a token is two tensors: what the last part of a layer made, and the sum of everything before it; the next
//! norm adds them. Keys and values of all tokens stay in caches. *Not here*: sizes and weights (`model`).

use thiserror::Error;
use tile_std::ops::{
    AttentionError, AttentionOptions, DecodeOptions, Normed, RmsNorm, Rope, RopeLayout, RowError, RowOptions,
    add_rms_norm, argmax, attention_into, decode_into, gemv, rms_norm, rope, rope_kv_write, silu_mul,
};
use tile_std::prelude::*;
use tile_std::{GemmError, GemmOptions, gemm_into};

use super::model::{EPS, Layer, Sizes, Weights, angle};

/// A part of the decoder that failed.
#[derive(Debug, Error)]
pub enum TilesError {
    /// See [`RowError`].
    #[error(transparent)]
    Rows(#[from] RowError),
    /// See [`GemmError`].
    #[error(transparent)]
    Gemm(#[from] GemmError),
    /// See [`AttentionError`].
    #[error(transparent)]
    Attention(Box<AttentionError>),
    /// See [`TensorError`].
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

impl From<AttentionError> for TilesError {
    fn from(error: AttentionError) -> TilesError {
        TilesError::Attention(Box::new(error))
    }
}

/// A decoder with the keys and values of the tokens it has seen.
#[derive(Debug)]
pub struct Tiles<'a> {
    device: &'a Device,
    sizes: Sizes,
    weights: Weights,
    /// Keys and values of each layer, `[1, kv heads, capacity, dim]`.
    caches: Vec<[Tensor<bf16>; 2]>,
    /// Cosines and sines, `[capacity, dim / 2]`.
    turns: [Tensor<f32>; 2],
    /// Tokens in the caches.
    seen: usize,
}

impl<'a> Tiles<'a> {
    /// A decoder that has seen nothing.
    ///
    /// # Errors
    /// [`TensorError`]: out of memory.
    pub fn new(device: &'a Device, sizes: Sizes, weights: &Weights) -> Result<Tiles<'a>, TensorError> {
        let cache = || Tensor::with_shape_on(device, [1, sizes.kv_heads, sizes.capacity, sizes.dim]);
        let mut caches = vec![];
        for _ in 0..sizes.layers {
            caches.push([cache()?, cache()?]);
        }
        let table = |of: fn(f32) -> f32| {
            let shape = [1, 1, sizes.capacity, sizes.dim / 2];
            Tensor::from_fn(shape, |_, _, r, c| of(angle(&sizes, r, c)))?.to_device(device)
        };
        let turns = [table(f32::cos)?, table(f32::sin)?];
        Ok(Tiles { device, sizes, weights: weights.to_device(device)?, caches, turns, seen: 0 })
    }

    /// Reads tokens, of which the first follows those read before, and gives the logits of the token after the last, and
    /// which one is largest.
    ///
    /// # Errors
    /// [`TilesError`]: more tokens than the caches hold, a token that does not exist, none, or a failed launch.
    pub fn read(&mut self, tokens: &[usize]) -> Result<(Vec<f32>, usize), TilesError> {
        let device = self.device;
        let mut sum = Tensor::with_shape([1, 1, tokens.len(), self.sizes.hidden])?;
        for (row, token) in tokens.iter().enumerate() {
            let mut to = sum.view_mut().slice_rows(row..=row)?;
            to.copy_from(self.weights.embedding.view().slice_rows(*token..=*token)?)?;
        }
        let first = self.weights.layers.first().map_or(&self.weights.norm, |layer| &layer.attention_norm);
        let mut y = rms_norm(device, &sum, &norm(first))?;
        for i in 0..self.weights.layers.len() {
            let made = self.attend(i, &y)?;
            let layer = &self.weights.layers[i];
            Normed { y, sum } = add_rms_norm(device, &made, &sum, &norm(&layer.mlp_norm))?;
            let made = self.feed_forward(layer, &y)?;
            let next = self.weights.layers.get(i + 1).map_or(&self.weights.norm, |next| &next.attention_norm);
            Normed { y, sum } = add_rms_norm(device, &made, &sum, &norm(next))?;
        }
        self.seen += tokens.len();
        let last = y.view().slice_rows(tokens.len().saturating_sub(1)..)?;
        let logits: Tensor<f32> = gemv(device, &self.weights.logits, last)?;
        let best = argmax(device, &logits)?.to_vec().first().map_or(0, |best| *best as usize);
        Ok((logits.to_vec(), best))
    }

    /// The attention part of a layer, and its tokens into the caches.
    fn attend(&mut self, i: usize, y: &Tensor<bf16>) -> Result<Tensor<bf16>, TilesError> {
        let (device, sizes, layer) = (self.device, self.sizes, &self.weights.layers[i]);
        let (rows, heads, kv_heads) = (y.rows(), sizes.heads, sizes.kv_heads);
        let [cos, sin] = self.turns.each_ref().map(Tensor::view);
        let turn = Rope { cos, sin, first: self.seen, layout: RopeLayout::HalfSplit };
        let qkv = product(device, &layer.qkv, y)?;
        let (k_from, v_from) = (sizes.q_cols(), sizes.q_cols() + sizes.kv_cols());
        let k = qkv.view().slice_cols(k_from..v_from)?.split_cols(kv_heads)?;
        let v = qkv.view().slice_cols(v_from..)?.split_cols(kv_heads)?;
        let [keys, values] = &mut self.caches[i];
        let into = (keys.view_mut(), values.view_mut());
        rope_kv_write(device, into, (k, v), self.seen, &turn, &RowOptions::default())?;
        let q = rope(device, qkv.view().slice_cols(..k_from)?.split_cols(heads)?, &turn)?;
        let all = ..self.seen + rows;
        let (keys, values) = (keys.view().slice_rows(all)?, values.view().slice_rows(all)?);
        let mut o = Tensor::zeros(rows, sizes.q_cols())?;
        let out = o.view_mut().split_cols(heads)?;
        if rows == 1 {
            // Heads that share keys are the rows of one matrix.
            let (out, q) = (out.split_depth(kv_heads)?, q.view().split_depth(kv_heads)?);
            decode_into(device, out, q, keys, values, &DecodeOptions::default())?;
        } else {
            let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
            attention_into(device, out, &q, keys, values, &options)?;
        }
        product(device, &layer.output, &o)
    }

    /// The feed-forward part of a layer.
    fn feed_forward(&self, layer: &Layer, y: &Tensor<bf16>) -> Result<Tensor<bf16>, TilesError> {
        let both = product(self.device, &layer.gate_up, y)?;
        let (gate, up) =
            (both.view().slice_cols(..self.sizes.inner)?, both.view().slice_cols(self.sizes.inner..)?);
        product(self.device, &layer.down, &silu_mul(self.device, gate, up)?)
    }
}

/// `w` times every row of `x`.
fn product(device: &Device, w: &Tensor<bf16>, x: &Tensor<bf16>) -> Result<Tensor<bf16>, TilesError> {
    if x.rows() <= 8 {
        return Ok(gemv(device, w, x)?);
    }
    let mut y = Tensor::zeros(x.rows(), w.rows())?;
    gemm_into(device, &mut y, x, w, &GemmOptions { transpose_b: true, ..GemmOptions::default() })?;
    Ok(y)
}

fn norm(weight: &Tensor<bf16>) -> RmsNorm<'_, bf16> {
    RmsNorm { weight: weight.view(), eps: EPS }
}
