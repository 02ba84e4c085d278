//! Owns the decoder in plain loops of f32, token by token: what the tiles are checked against.
//!
//! *Not here*: rounding of what lies between two steps, which is to bf16 on the tiles' side.

use tile_std::prelude::*;

use super::model::{EPS, Sizes, Weights, angle};

/// A decoder with the keys and values of the tokens it has seen.
#[derive(Debug)]
pub struct Plain<'a> {
    sizes: Sizes,
    weights: &'a Weights,
    /// Keys and values of each layer, token after token.
    caches: Vec<[Vec<f32>; 2]>,
    seen: usize,
}

impl<'a> Plain<'a> {
    /// A decoder that has seen nothing.
    pub fn new(sizes: Sizes, weights: &'a Weights) -> Plain<'a> {
        Plain { sizes, weights, caches: vec![[vec![], vec![]]; sizes.layers], seen: 0 }
    }

    /// Reads a token and gives the logits of the next one.
    pub fn read(&mut self, token: usize) -> Vec<f32> {
        let mut x = row(&self.weights.embedding, token);
        for i in 0..self.weights.layers.len() {
            let layer = &self.weights.layers[i];
            let made = self.attend(i, &norm(&x, &layer.attention_norm));
            add(&mut x, &made);
            let both = product(&layer.gate_up, &norm(&x, &layer.mlp_norm));
            let (gate, up) = both.split_at(self.sizes.inner);
            let inner: Vec<f32> = gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
            add(&mut x, &product(&layer.down, &inner));
        }
        self.seen += 1;
        product(&self.weights.logits, &norm(&x, &self.weights.norm))
    }

    fn attend(&mut self, i: usize, y: &[f32]) -> Vec<f32> {
        let (sizes, layer) = (self.sizes, &self.weights.layers[i]);
        let mut qkv = product(&layer.qkv, y);
        let (q, kv) = qkv.split_at_mut(sizes.q_cols());
        let (k, v) = kv.split_at_mut(sizes.kv_cols());
        for head in q.chunks_exact_mut(sizes.dim).chain(k.chunks_exact_mut(sizes.dim)) {
            turn(&sizes, self.seen, head);
        }
        let [keys, values] = &mut self.caches[i];
        keys.extend_from_slice(k);
        values.extend_from_slice(v);
        let mut o = vec![];
        for (h, q) in q.chunks_exact(sizes.dim).enumerate() {
            let from = h / (sizes.heads / sizes.kv_heads) * sizes.dim;
            let of = |cache: &[f32], token: usize| -> Vec<f32> {
                let at = token * sizes.kv_cols() + from;
                cache[at..at + sizes.dim].to_vec()
            };
            let scale = 1.0 / (sizes.dim as f32).sqrt();
            let scores: Vec<f32> = (0..=self.seen).map(|t| dot(q, &of(keys, t)) * scale).collect();
            let most = scores.iter().copied().fold(f32::MIN, f32::max);
            let powers: Vec<f32> = scores.iter().map(|s| (s - most).exp()).collect();
            let total: f32 = powers.iter().sum();
            let mut sum = vec![0.0; sizes.dim];
            for (token, power) in powers.iter().enumerate() {
                let part: Vec<f32> = of(values, token).iter().map(|v| v * power / total).collect();
                add(&mut sum, &part);
            }
            o.extend(sum);
        }
        product(&layer.output, &o)
    }
}

fn row(m: &Tensor<bf16>, r: usize) -> Vec<f32> {
    m.row(0, 0, r).unwrap_or(&[]).iter().map(|x| x.to_f32()).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product(w: &Tensor<bf16>, x: &[f32]) -> Vec<f32> {
    (0..w.rows()).map(|r| dot(&row(w, r), x)).collect()
}

fn add(to: &mut [f32], what: &[f32]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}

fn norm(x: &[f32], weight: &Tensor<bf16>) -> Vec<f32> {
    let inverse = 1.0 / (dot(x, x) / x.len() as f32 + EPS).sqrt();
    x.iter().zip(row(weight, 0)).map(|(x, w)| x * inverse * w).collect()
}

fn turn(sizes: &Sizes, position: usize, head: &mut [f32]) {
    let (left, right) = head.split_at_mut(sizes.dim / 2);
    for (pair, (a, b)) in left.iter_mut().zip(right).enumerate() {
        let (sin, cos) = angle(sizes, position, pair).sin_cos();
        (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
    }
}
