//! Owns the program `norms`: which written digit is it, whatever the light was?
//!
//! The images of `data/` are changed as a camera would: each gets an exposure and a haze of its own. The product of two
//! images then says more about the light than about the digits. A layer norm of every image takes both away: what is left is the
//! correlation of two images, and the known image with the largest one has the answer.
//!
//! *Guarantees*: what the device gave is compared with plain loops in f64, and a difference is an error. *Not here*: where
//! the images come from (`data/README.md`), reading them ([`crate::files`]).

use std::io::{self, Write};

use thiserror::Error;
use tile_std::ops::{LayerNorm, RowError, argmax, cast, layer_norm, softmax, transpose};
use tile_std::prelude::*;
use tile_std::{GemmError, GemmOptions, gemm_into};

use crate::files::{FileError, Place};
use crate::gemm::digits::file;

/// Pixels of an image.
const PIXELS: usize = 64;

/// What keeps the variance of an empty image from being 0.
const EPS: f32 = 1e-6;

/// Why there is no answer, or a wrong one.
#[derive(Debug, Error)]
pub enum NormsError {
    /// A shipped file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A shipped file does not hold what it should.
    #[error("{0} does not hold images of 64 pixels")]
    Contents(&'static str),
    /// See [`RowError`].
    #[error(transparent)]
    Rows(#[from] RowError),
    /// See [`GemmError`].
    #[error(transparent)]
    Gemm(#[from] GemmError),
    /// See [`TensorError`].
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The device computed something else than plain loops.
    #[error("{what} is {found} and not {want}, at row {row}")]
    Wrong {
        /// What was compared.
        what: &'static str,
        /// The row.
        row: usize,
        /// What the device gave.
        found: f64,
        /// What plain loops give.
        want: f64,
    },
    /// The answer could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs the program on a device, and tells what it did.
///
/// # Errors
/// [`NormsError`].
pub fn run(device: &Device, out: &mut dyn Write) -> Result<(), NormsError> {
    let labels = |tensor| Place::parse(&file(&format!("digits_known.safetensors:{tensor}")))?.read_u8();
    let (asked_labels, known_labels) = (labels("asked_labels")?, labels("known_labels")?);
    let asked = images("digits_asked.npy", [asked_labels.len(), PIXELS])?;
    let columns = images("digits_known.safetensors:known", [PIXELS, known_labels.len()])?;
    let known = transpose(device, &columns)?;
    let (asked, known) = (in_some_light(&asked, 1)?, in_some_light(&known, 5)?);
    writeln!(
        out,
        "{} images are asked, {} are known, each in a light of its own",
        asked.rows(),
        known.rows()
    )?;
    let right = |scores: &Tensor<f32>| -> Result<usize, NormsError> {
        let nearest = argmax(device, scores)?;
        check_largest(scores, &nearest)?;
        let is_right = |(row, label): (usize, &u8)| {
            let column = nearest.get(0, 0, row, 0).and_then(|c| usize::try_from(c).ok());
            column.and_then(|c| known_labels.get(c)) == Some(label)
        };
        Ok(asked_labels.iter().enumerate().filter(|of| is_right(*of)).count())
    };
    let plain = right(&products(device, &asked, &known)?)?;
    writeln!(out, "largest product:     {plain} of {} answers are right", asked.rows())?;

    let (ones, zeros) = (vec![1.0f32; PIXELS], vec![0.0f32; PIXELS]);
    let weight = View::from_slice(&ones, 1, PIXELS)?;
    let bias = View::from_slice(&zeros, 1, PIXELS)?;
    let norm = LayerNorm { weight, bias, eps: EPS };
    let (asked_normed, known_normed) =
        (layer_norm(device, &asked, &norm)?, layer_norm(device, &known, &norm)?);
    check_normed(&asked, &asked_normed)?;
    check_normed(&known, &known_normed)?;
    let scores = products(device, &asked_normed, &known_normed)?;
    let normed = right(&scores)?;
    writeln!(out, "largest correlation: {normed} of {} answers are right", asked.rows())?;
    if normed <= plain {
        return Err(NormsError::Wrong {
            what: "the number of right answers",
            row: 0,
            found: normed as f64,
            want: asked.rows() as f64,
        });
    }
    let shares = softmax(device, &scores)?;
    for row in 0..shares.rows() {
        let sum = shares.row(0, 0, row).unwrap_or(&[]).iter().map(|share| f64::from(*share)).sum::<f64>();
        close("the sum of a softmax", row, sum, 1.0, 1e-4)?;
    }
    writeln!(out, "norms, maxima and softmax agree with plain loops in f64")?;
    Ok(())
}

/// Reads a matrix of images as f32.
fn images(name: &'static str, [rows, cols]: [usize; 2]) -> Result<Tensor<f32>, NormsError> {
    let matrix = Place::parse(&file(name))?.read()?;
    if matrix.shape() != [rows, cols] {
        return Err(NormsError::Contents(name));
    }
    let at = |r: usize, c: usize| matrix.elements().get(r * cols + c).unwrap_or(f32::NAN);
    Ok(Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| at(r, c))?)
}

/// Every image with an exposure (a factor) and a haze (a summand) of its own.
fn in_some_light(images: &Tensor<f32>, seed: usize) -> Result<Tensor<f32>, TensorError> {
    let light = |r: usize| ((r + seed) * 7919 % 97) as f32 / 97.0;
    let haze = |r: usize| ((r + seed) * 104_729 % 89) as f32 / 89.0;
    Tensor::from_fn([1, 1, images.rows(), PIXELS], |_, _, r, c| {
        let pixel = images.get(0, 0, r, c).unwrap_or(f32::NAN);
        pixel * (0.2 + 3.0 * light(r)) + haze(r)
    })
}

/// The product of every image with every known one, over the number of pixels.
fn products(device: &Device, a: &Tensor<f32>, b: &Tensor<f32>) -> Result<Tensor<f32>, NormsError> {
    let (a, b): (Tensor<bf16>, Tensor<bf16>) = (cast(device, a)?, cast(device, b)?);
    let mut c = Tensor::zeros(a.rows(), b.rows())?;
    let options = GemmOptions { transpose_b: true, ..GemmOptions::default() };
    gemm_into(device, &mut c, &a, &b, &options)?;
    Ok(c)
}

fn close(what: &'static str, row: usize, found: f64, want: f64, most: f64) -> Result<(), NormsError> {
    if (found - want).abs() <= most { Ok(()) } else { Err(NormsError::Wrong { what, row, found, want }) }
}

fn check_normed(x: &Tensor<f32>, y: &Tensor<f32>) -> Result<(), NormsError> {
    let line = |t: &Tensor<f32>, row| -> Vec<f64> {
        t.row(0, 0, row).unwrap_or(&[]).iter().map(|v| f64::from(*v)).collect()
    };
    for row in 0..x.rows() {
        let pixels = line(x, row);
        let mean = pixels.iter().sum::<f64>() / PIXELS as f64;
        let variance = pixels.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / PIXELS as f64;
        let inverse = 1.0 / (variance + f64::from(EPS)).sqrt();
        for (pixel, found) in pixels.iter().zip(line(y, row)) {
            close("a normed pixel", row, found, (pixel - mean) * inverse, 1e-4)?;
        }
    }
    Ok(())
}

fn check_largest(scores: &Tensor<f32>, places: &Tensor<i32>) -> Result<(), NormsError> {
    for row in 0..scores.rows() {
        let line = scores.row(0, 0, row).unwrap_or(&[]);
        let mut best = 0;
        for (column, score) in line.iter().enumerate() {
            if *score > line[best] {
                best = column;
            }
        }
        let found = places.get(0, 0, row, 0).map_or(f64::NAN, f64::from);
        close("the column of the largest score", row, found, best as f64, 0.0)?;
    }
    Ok(())
}
