//! A layer of a mixture of experts: every word of a rhyme goes to the two experts that score it highest.
//!
//! Run with `cargo run --release --example softmax_topk`; `TILE_DEVICE=sim` executes the device's words instead of the host
//! bodies. A token's scores are its products with the experts' gates, `softmax_topk` chooses two and weighs them, each
//! expert multiplies the tokens that came to it, and a token gets the weighted sum back. The program compares itself with
//! plain loops and exits non-zero if something is wrong.

use std::process::ExitCode;

use tile_std::gemm;
use tile_std::ops::{Denominator, RowOptions, explain_softmax_topk, softmax_topk_into};
use tile_std::prelude::*;

/// Columns of a token, experts, and how many of them a token visits.
const DIM: usize = 64;
const EXPERTS: usize = 48;
const CHOSEN: usize = 2;

const RHYME: &str = "this is the farmer sowing his corn that kept the cock that crowed in the morn that waked the priest all \
    shaven and shorn that married the man all tattered and torn that kissed the maiden all forlorn that milked the cow with \
    the crumpled horn that tossed the dog that worried the cat that killed the rat that ate the malt that lay in the house \
    that jack built";

/// A number in -1 .. 1, the same for the same arguments.
fn noise(seed: u64, i: u64, j: u64) -> f32 {
    let mut x = (seed << 48 ^ i << 24 ^ j).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((x ^ x >> 32) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// A word is the sum of a vector per letter and place.
fn token(word: &str, c: usize) -> bf16 {
    let letters = word.bytes().enumerate();
    bf16::from_f32(letters.map(|(i, l)| noise(1, u64::from(l) * 32 + i as u64, c as u64)).sum::<f32>() * 0.5)
}

fn numbers(t: &Tensor<bf16>, r: usize) -> Vec<f64> {
    (0..t.cols()).map(|c| t.get(0, 0, r, c).map_or(f64::NAN, |x| f64::from(x.to_f32()))).collect()
}

/// The product of a row with a matrix.
fn product(x: &[f64], matrix: &Tensor<bf16>) -> Vec<f64> {
    let mut y = vec![0.0; matrix.cols()];
    for (r, x) in x.iter().enumerate() {
        y.iter_mut().zip(numbers(matrix, r)).for_each(|(y, m)| *y += x * m);
    }
    y
}

/// The layer in plain loops, for one token: the experts, their weights, and the sum.
fn plain(x: &[f64], gates: &Tensor<bf16>, experts: &[Tensor<bf16>]) -> (Vec<usize>, Vec<f64>, Vec<f64>) {
    let scores = product(x, gates);
    let mut order: Vec<usize> = (0..EXPERTS).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order.truncate(CHOSEN);
    let powers: Vec<f64> = order.iter().map(|e| (scores[*e] - scores[order[0]]).exp()).collect();
    let total: f64 = powers.iter().sum();
    let weights: Vec<f64> = powers.iter().map(|p| p / total).collect();
    let mut out = vec![0.0; DIM];
    for (e, w) in order.iter().zip(&weights) {
        out.iter_mut().zip(product(x, &experts[*e])).for_each(|(out, y)| *out += w * y);
    }
    (order, weights, out)
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let words: Vec<&str> = RHYME.split_whitespace().collect();
    let tokens = Tensor::from_fn([1, 1, words.len(), DIM], |_, _, r, c| token(words[r], c))?;
    let random = |seed: u64, cols: usize| {
        Tensor::from_fn([1, 1, DIM, cols], move |_, _, r, c| {
            bf16::from_f32(noise(seed, r as u64, c as u64) * 0.25)
        })
    };
    let gates = random(2, EXPERTS)?;
    let experts = (0..EXPERTS as u64).map(|e| random(3 + e, DIM)).collect::<Result<Vec<_>, _>>()?;

    let (device, why) = Device::best()?;
    println!("device   {device}: {why}");
    let scores: Tensor<f32> = gemm(&device, &tokens, &gates)?;
    let by = Denominator::Kept;
    println!("instance {}", explain_softmax_topk::<f32>(&device, scores.shape(), CHOSEN, by)?);
    let mut weights = Tensor::<f32>::zeros(words.len(), CHOSEN)?;
    let mut chosen = Tensor::<i32>::zeros(words.len(), CHOSEN)?;
    let to = (weights.view_mut(), chosen.view_mut());
    println!("router   {}", softmax_topk_into(&device, to, &scores, by, &RowOptions::default())?);

    // Every expert multiplies its tokens at once.
    let mut out = vec![vec![0.0f32; DIM]; words.len()];
    let mut load = vec![];
    for (e, matrix) in experts.iter().enumerate() {
        let places = (0..words.len()).flat_map(|t| (0..CHOSEN).map(move |j| (t, j)));
        let mine: Vec<(usize, usize)> =
            places.filter(|(t, j)| chosen.get(0, 0, *t, *j) == Some(e as i32)).collect();
        let batch = Tensor::from_fn([1, 1, mine.len(), DIM], |_, _, r, c| token(words[mine[r].0], c))?;
        let done: Tensor<f32> = gemm(&device, &batch, matrix)?;
        for (r, (t, j)) in mine.iter().enumerate() {
            let weight = weights.get(0, 0, *t, *j).unwrap_or(f32::NAN);
            for (c, out) in out[*t].iter_mut().enumerate() {
                *out += weight * done.get(0, 0, r, c).unwrap_or(f32::NAN);
            }
        }
        load.push(mine.len());
    }

    let (mut error, mut same) = (0.0f64, true);
    for (t, word) in words.iter().enumerate() {
        let (order, shares, sums) = plain(&numbers(&tokens, t), &gates, &experts);
        let found: Vec<usize> =
            (0..CHOSEN).map(|j| chosen.get(0, 0, t, j).map_or(EXPERTS, |e| e as usize)).collect();
        if found != order {
            eprintln!("{word} went to {found:?} and not to {order:?}");
            same = false;
        }
        let weight = |j| f64::from(weights.get(0, 0, t, j).unwrap_or(f32::NAN));
        let pairs = shares.iter().enumerate().map(|(j, w)| (weight(j), *w));
        for (found, want) in pairs.chain(out[t].iter().map(|x| f64::from(*x)).zip(sums)) {
            let differs = (found - want).abs();
            error = if differs.is_finite() { error.max(differs) } else { f64::INFINITY };
        }
    }
    let busiest = load.iter().copied().enumerate().max_by_key(|(_, n)| *n).unwrap_or_default();
    println!(
        "{} words, {} of {EXPERTS} experts have work, expert {} the most with {} words",
        words.len(),
        load.iter().filter(|n| **n > 0).count(),
        busiest.0,
        busiest.1
    );
    println!("largest error {error:.2e}");
    // Everything is computed in f32 from bf16: sums of 64 products of numbers below 16 are off by less than this.
    Ok(same && error < 1e-4 && load.iter().sum::<usize>() == CHOSEN * words.len())
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => {
            println!("softmax_topk routes every word as plain loops do");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            eprintln!("softmax_topk: a route, a weight or a result differs from plain loops");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("softmax_topk: {error}");
            ExitCode::FAILURE
        }
    }
}
