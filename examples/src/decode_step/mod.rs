//! Owns the program `decode_step`: a decoder of a few layers writes some tokens.
//!
//! The layers are those of Llama: a root-mean-square norm, attention with rotary positions whose heads share keys and values, and a
//! gated feed-forward part, each added to what came in. The prompt is read at once; each token after it is the likeliest one, read by
//! itself, with the keys and values of those before it in a cache. The weights are random, so what is written means nothing.
//!
//! *Guarantees*: the logits of every token are compared with those of plain loops in f32, and a difference is an error.
//! *Not here*: the operations (`tile_std::ops`).

mod model;
mod plain;
mod tiles;

use std::io::{self, Write};

use thiserror::Error;
use tile_std::prelude::*;

use self::plain::Plain;
use self::tiles::Tiles;

pub use self::model::{Sizes, Weights};
pub use self::tiles::TilesError;

/// Why there is no text, or a wrong one.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// See [`TilesError`].
    #[error(transparent)]
    Tiles(Box<TilesError>),
    /// See [`TensorError`].
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The device computed something else than plain loops.
    #[error("the logits after token {at} differ by {error:.4} of their size; {bound:.4} would be rounding")]
    Logits {
        /// The token's place.
        at: usize,
        /// Relative Frobenius norm of the difference.
        error: f64,
        /// Most that rounding explains.
        bound: f64,
    },
    /// The device chose a token that is not the likeliest.
    #[error("after token {at} comes {found}, but plain loops find {want} likelier by {by}")]
    Token {
        /// The token's place.
        at: usize,
        /// What the device chose.
        found: usize,
        /// What plain loops choose.
        want: usize,
        /// How much larger its logit is.
        by: f32,
    },
    /// The answer could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<TilesError> for DecodeError {
    fn from(error: TilesError) -> DecodeError {
        DecodeError::Tiles(Box::new(error))
    }
}

/// Decodes `steps` tokens after a prompt of `prompt` tokens, and checks every one.
///
/// # Errors
/// [`DecodeError`]: sizes that do not fit each other, a failed launch, or a wrong result.
pub fn run(
    device: &Device,
    sizes: Sizes,
    (prompt, steps): (usize, usize),
    out: &mut dyn Write,
) -> Result<(), DecodeError> {
    let weights = Weights::random(&sizes, 7)?;
    let mut tiles = Tiles::new(device, sizes, &weights)?;
    let mut plain = Plain::new(sizes, &weights);
    let mut tokens: Vec<usize> = (0..prompt).map(|i| (i * i * 31 + i * 7 + 3) % sizes.vocabulary).collect();
    // A token is rounded to bf16, by up to 2^-9 of itself, about ten times in a layer; errors of random signs add up like
    // their squares, and the factor 2 is for the largest of many tokens.
    let bound = 2.0 * 2f64.powi(-9) * (10.0 * sizes.layers as f64).sqrt();
    let (mut read, mut largest) = (0, 0.0f64);
    for _ in 0..steps {
        let (logits, next) = tiles.read(&tokens[read..])?;
        let mut want = vec![];
        for token in &tokens[read..] {
            want = plain.read(*token);
        }
        read = tokens.len();
        let error = relative(&logits, &want);
        largest = largest.max(error);
        if error.is_nan() || error > bound {
            return Err(DecodeError::Logits { at: read, error, bound });
        }
        // A tie within the error of both may go either way.
        let best = (0..want.len()).max_by(|a, b| want[*a].total_cmp(&want[*b])).unwrap_or(0);
        let by = want[best] - want[next];
        let size = (want.iter().map(|x| x * x).sum::<f32>() / want.len() as f32).sqrt();
        if by > 8.0 * bound as f32 * size {
            return Err(DecodeError::Token { at: read, found: next, want: best, by });
        }
        tokens.push(next);
    }
    let text = |tokens: &[usize]| tokens.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    writeln!(out, "prompt  {}", text(&tokens[..prompt]))?;
    writeln!(out, "decoded {}", text(&tokens[prompt..]))?;
    writeln!(out, "largest error of the logits: {largest:.4} of their size, of {bound:.4} allowed")?;
    Ok(())
}

/// The Frobenius norm of the difference relative to that of `want`.
fn relative(found: &[f32], want: &[f32]) -> f64 {
    let square = |x: f32| f64::from(x) * f64::from(x);
    let error: f64 = found.iter().zip(want).map(|(a, b)| square(a - b)).sum();
    (error / want.iter().map(|x| square(*x)).sum::<f64>()).sqrt()
}
