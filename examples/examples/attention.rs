//! Guesses the next letter of a poem by attention: four heads look for the last 1, 2, 4 and 8 letters further up.
//!
//! Run with `cargo run --release --example attention`; `TILE_DEVICE=sim` executes the device's words instead of the host
//! bodies. The key of a place is the code of the letters that end there, the value is the letter that follows: what an
//! induction head of a language model does. It checks itself against plain loops and exits non-zero if something is wrong.

use std::process::ExitCode;

use tile_std::ops::{AttentionOptions, attention_into, explain_attention};
use tile_std::prelude::*;

/// Letters each head looks at, and columns of a head: every letter has `DIM / letters` of them.
const CONTEXTS: [usize; 4] = [1, 2, 4, 8];
const DIM: usize = 64;

/// Factor of the scores: a place that agrees in all letters has a score of `DIM / 4`.
const SCALE: f32 = 0.25;

/// A cumulative rhyme, which says most of what it says many times.
fn poem() -> String {
    let parts = [
        "the house that jack built",
        "the malt that lay in ",
        "the rat that ate ",
        "the cat that killed ",
        "the dog that worried ",
        "the cow with the crumpled horn that tossed ",
        "the maiden all forlorn that milked ",
        "the man all tattered and torn that kissed ",
        "the priest all shaven and shorn that married ",
        "the cock that crowed in the morn that waked ",
    ];
    (1..=parts.len())
        .map(|n| format!("this is {}. ", parts[..n].iter().rev().copied().collect::<String>()))
        .collect()
}

/// Element `c` of the code of a place: -1 or 1, by the letter before it that the column belongs to.
fn code(text: &[u8], place: usize, letters: usize, c: usize) -> bf16 {
    let width = DIM / letters;
    let letter = place.checked_sub(c / width).map_or(0, |at| text[at]);
    let mixed = (u64::from(letter) * 64 + (c % width) as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    if (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 63 == 0 {
        bf16::ONE
    } else {
        bf16::NEG_ONE
    }
}

/// Attention in plain loops, of one query.
fn plain(q: &[f64], k: &[Vec<f64>], v: &[Vec<f64>]) -> Vec<f64> {
    let scores: Vec<f64> =
        k.iter().map(|k| f64::from(SCALE) * q.iter().zip(k).map(|(a, b)| a * b).sum::<f64>()).collect();
    let largest = scores.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let column = |c: usize| weights.iter().zip(v).map(|(w, v)| w * v[c]).sum::<f64>();
    (0..DIM).map(|c| if weights.is_empty() { 0.0 } else { column(c) / total }).collect()
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let poem = poem();
    let text = poem.as_bytes();
    let mut alphabet = text.to_vec();
    alphabet.sort_unstable();
    alphabet.dedup();
    assert!(alphabet.len() <= DIM, "every letter has a column of V");
    let (heads, places) = (CONTEXTS.len(), text.len() - 1);
    // A place may look at those before it, whose next letters are known: one key fewer than there are queries.
    let q = Tensor::from_fn([1, heads, places, DIM], |_, h, i, c| code(text, i, CONTEXTS[h], c))?;
    let k = Tensor::from_fn([1, heads, places - 1, DIM], |_, h, j, c| code(text, j, CONTEXTS[h], c))?;
    let v = Tensor::from_fn([1, heads, places - 1, DIM], |_, _, j, c| {
        if alphabet.get(c) == Some(&text[j + 1]) { bf16::ONE } else { bf16::ZERO }
    })?;
    let mut o = Tensor::<bf16>::with_shape([1, heads, places, DIM])?;

    let (device, why) = Device::best()?;
    println!("device    {device}: {why}");
    let options = AttentionOptions { causal: true, scale: Some(SCALE), ..AttentionOptions::default() };
    let choice = explain_attention::<bf16>(&device, q.shape(), k.shape(), v.shape(), &options)?;
    println!("instance  {choice}");
    let report = attention_into(&device, &mut o, &q, &k, &v, &options)?;
    println!("attention {report}");

    let numbers = |t: &Tensor<bf16>, h: usize, r: usize| -> Vec<f64> {
        (0..DIM).map(|c| t.get(0, h, r, c).map_or(f64::NAN, |x| f64::from(x.to_f32()))).collect()
    };
    let (mut error, mut right) = (0.0f64, [0; CONTEXTS.len()]);
    for (h, right) in right.iter_mut().enumerate() {
        let keys: Vec<_> = (0..places - 1).map(|j| numbers(&k, h, j)).collect();
        let values: Vec<_> = (0..places - 1).map(|j| numbers(&v, h, j)).collect();
        for i in 0..places {
            let found = numbers(&o, h, i);
            let want = plain(&numbers(&q, h, i), &keys[..i], &values[..i]);
            let differs = |(a, b): (&f64, &f64)| if a.is_finite() { (a - b).abs() } else { f64::INFINITY };
            error = found.iter().zip(&want).map(differs).fold(error, f64::max);
            let guess = (0..alphabet.len()).max_by(|a, b| found[*a].total_cmp(&found[*b]));
            *right += usize::from(guess.is_some_and(|c| alphabet[c] == text[i + 1]));
        }
    }
    for (letters, right) in CONTEXTS.iter().zip(right) {
        println!("letters {letters}: {right} of {places} guesses are right");
    }
    println!("largest error {error:.2e}");
    // The results are sums of weights, at most 1: rounded once as weights and once when they are stored (8 bits each).
    let agrees = error <= 2.0 * 2f64.powi(-8);
    Ok(agrees && right.is_sorted() && right[CONTEXTS.len() - 1] * 10 > places * 8)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => {
            println!("attention agrees with plain loops, and more letters guess better");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            eprintln!("attention: a result differs from plain loops, or the guesses are bad");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("attention: {error}");
            ExitCode::FAILURE
        }
    }
}
