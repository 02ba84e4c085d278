//! Owns one process's contests: for each form of B and each size, tile and the peers.

use std::num::NonZeroUsize;
use std::time::Duration;

use benches::clock::Who;
use benches::contest::{Contestant, Plan, measure};
use benches::machine;
use benches::peers::{OpenBlas, Operands, Peer};
use tile_std::kernels::gemm::gemm::KERNEL;
use tile_std::prelude::*;
use tile_std::{GemmOptions, Generic, InstanceInfo, gemm_into};

use crate::Options;
use crate::table::{self, Row};

/// Measures everything with this many threads.
///
/// # Errors
/// A line that says what failed.
pub fn run(options: &Options, threads: NonZeroUsize) -> Result<(), String> {
    let entries = entries(options)?;
    let mut peers = vec![Peer::MatrixMultiply, Peer::Gemm, Peer::Faer];
    match OpenBlas::open(threads.get()) {
        Ok(blas) => {
            println!("\nOpenBLAS: kernels for {}", blas.core().as_deref().unwrap_or("an unnamed CPU"));
            peers.push(Peer::OpenBlas(blas));
        }
        Err(e) => println!("OpenBLAS: not here, left out ({e}; Debian's package is libopenblas0)"),
    }
    let device = Device::host_with_threads(threads);
    let mut rows = Vec::new();
    for b_transposed in [false, true] {
        for &n in &options.sizes {
            println!("\n# {}; n = {n}; {device}; {}", form(b_transposed), machine::load());
            let entries: Vec<&Entry> = entries.iter().filter(|e| e.fits(b_transposed)).collect();
            let row = contest(options, &device, threads, &entries, &peers, n, b_transposed)?;
            rows.push(row);
        }
    }
    println!("\n# all sizes; {device}");
    table::print_closing(&rows);
    table::print_floor(&rows, threads.get());
    Ok(())
}

/// How B is given.
pub fn form(b_transposed: bool) -> &'static str {
    if b_transposed { "B as [N, K]" } else { "B as [K, N]" }
}

/// A way to run tile: the output's type, and an instance unless tile chooses.
struct Entry {
    output: Output,
    instance: Option<&'static InstanceInfo>,
    /// Elements by which rows of A and B lie further apart than they are long.
    pad: usize,
}

#[derive(Clone, Copy)]
enum Output {
    Bf16,
    F32,
}

impl Entry {
    fn name(&self) -> String {
        match (self.instance, self.output) {
            (Some(instance), _) => format!("tile {}", instance.name),
            (None, Output::F32) if self.pad > 0 => format!("tile -> f32, rows {} further apart", self.pad),
            (None, Output::F32) => "tile -> f32".to_string(),
            (None, Output::Bf16) => "tile -> bf16".to_string(),
        }
    }

    fn fits(&self, b_transposed: bool) -> bool {
        // The kernel's generics are A, C, BM, BN, BK, TRANS_B, PREFETCH.
        self.instance.is_none_or(|instance| instance.generics.get(5) == Some(&Generic::Flag(b_transposed)))
    }
}

/// What tile enters: both outputs as it chooses, then what was asked for.
fn entries(options: &Options) -> Result<Vec<Entry>, String> {
    let mut entries = vec![
        Entry { output: Output::F32, instance: None, pad: 0 },
        Entry { output: Output::Bf16, instance: None, pad: 0 },
    ];
    entries.extend(options.pad.map(|pad| Entry { output: Output::F32, instance: None, pad }));
    for name in &options.instance {
        let instance =
            KERNEL.find_named(name).ok_or_else(|| format!("no instance is called `{name}`: {KERNEL}"))?;
        let output = match instance.generics {
            [Generic::Type(a), Generic::Type(c), ..] if *a == bf16::DTYPE && *c == f32::DTYPE => Output::F32,
            [Generic::Type(a), Generic::Type(c), ..] if *a == bf16::DTYPE && *c == bf16::DTYPE => {
                Output::Bf16
            }
            _ => return Err(format!("`{name}` is not measured here: A must be bf16, C bf16 or f32")),
        };
        entries.push(Entry { output, instance: Some(instance), pad: 0 });
    }
    Ok(entries)
}

/// A number in -1..1 that bf16 holds, the same on every run.
fn element(seed: usize, row: usize, col: usize) -> bf16 {
    let mixed =
        (row.wrapping_mul(0x9e37_79b9) ^ col.wrapping_mul(0x85eb_ca6b) ^ seed).wrapping_mul(0x2545_f491);
    bf16::from_f32(((mixed >> 8) % 255) as f32 / 128.0 - 127.0 / 128.0)
}

/// An n x n matrix in rows that lie `pad` elements further apart than they are long; the rest is NaN.
fn matrix(seed: usize, n: usize, pad: usize) -> Result<Tensor<bf16>, String> {
    let at = |r, c| if c < n { element(seed, r, c) } else { bf16::NAN };
    Tensor::from_fn([1, 1, n, n + pad], |_, _, r, c| at(r, c)).map_err(|e| e.to_string())
}

fn contest(
    options: &Options,
    device: &Device,
    threads: NonZeroUsize,
    entries: &[&Entry],
    peers: &[Peer],
    n: usize,
    b_transposed: bool,
) -> Result<Row, String> {
    let factors = |pad| -> Result<_, String> { Ok((matrix(1, n, pad)?, matrix(2, n, pad)?)) };
    let plain = factors(0)?;
    let padded = factors(options.pad.unwrap_or(0))?;
    let floats = |m: &Tensor<bf16>| m.to_vec().into_iter().map(bf16::to_f32).collect::<Vec<f32>>();
    let operands = Operands::new(n, floats(&plain.0), floats(&plain.1), b_transposed);
    let mut products: Vec<Vec<f32>> = peers.iter().map(|_| vec![0.0f32; n * n]).collect();
    for (peer, product) in peers.iter().zip(&mut products) {
        peer.multiply(product, &operands, threads.get());
    }
    let expected = products.first().cloned().unwrap_or_default();
    for (peer, product) in peers.iter().zip(&products) {
        compare(peer.name(), product, &expected, 1e-5)?;
    }

    let mut contestants = Vec::new();
    for entry in entries {
        let gemm = GemmOptions { transpose_b: b_transposed, instance: entry.instance, ..Default::default() };
        let (a, b) = if entry.pad > 0 { &padded } else { &plain };
        contestants.push(match entry.output {
            Output::F32 => tile::<f32>(device, entry.name(), a, b, gemm, (&expected, 1e-5))?,
            Output::Bf16 => tile::<bf16>(device, entry.name(), a, b, gemm, (&expected, 4e-3))?,
        });
    }
    let tiles = contestants.len();
    for (peer, product) in peers.iter().zip(&mut products) {
        let operands = &operands;
        contestants.push(Contestant::new(peer.name(), move || {
            peer.multiply(product, operands, threads.get());
            Ok::<(), String>(())
        }));
    }
    let plan = Plan {
        who: Who::Process,
        rounds: options.rounds,
        turn: Duration::from_millis(options.turn),
        pause: Duration::from_millis(3),
    };
    let measured = measure(&mut contestants, plan).map_err(|e| e.to_string())?;
    let row = Row { n, b_transposed, tiles, measured };
    table::print_contest(&row);
    Ok(row)
}

/// Tile as a contestant, after a comparison of its product with the peers', so that nobody is fast by being
/// wrong. The product has as many rows and columns as A has rows.
fn tile<'a, C: Element>(
    device: &'a Device,
    name: String,
    a: &'a Tensor<bf16>,
    b: &'a Tensor<bf16>,
    options: GemmOptions<'a>,
    (expected, limit): (&[f32], f64),
) -> Result<Contestant<'a>, String> {
    let n = a.rows();
    let mut c = Tensor::<C>::zeros(n, n).map_err(|e| e.to_string())?;
    let multiply = move |c: &mut Tensor<C>| -> Result<(), String> {
        let a = a.view().slice_cols(..n).map_err(|e| e.to_string())?;
        let b = b.view().slice_cols(..n).map_err(|e| e.to_string())?;
        gemm_into(device, c, a, b, &options).map(|_| ()).map_err(|e| e.to_string())
    };
    multiply(&mut c)?;
    compare(&name, &c.iter().map(|x| x.to_f32()).collect::<Vec<f32>>(), expected, limit)?;
    Ok(Contestant::new(name, move || multiply(&mut c)))
}

/// Checks that two products differ by no more than `limit`, relative, in the Frobenius norm.
fn compare(name: &str, product: &[f32], expected: &[f32], limit: f64) -> Result<(), String> {
    let square = |x: f64| x * x;
    let off: f64 = product.iter().zip(expected).map(|(p, e)| square(f64::from(*p) - f64::from(*e))).sum();
    let size: f64 = expected.iter().map(|e| square(f64::from(*e))).sum();
    let error = if size > 0.0 { (off / size).sqrt() } else { off.sqrt() };
    if error <= limit && product.len() == expected.len() {
        return Ok(());
    }
    Err(format!(
        "{name} computed another product: it is off by {error:.1e}, relative; the limit is {limit:.0e}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_product_is_told() {
        let right = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(compare("x", &right, &right, 1e-5), Ok(()));
        assert!(compare("x", &[1.0, 2.0, 3.0, 4.1], &right, 1e-5).is_err());
        assert!(compare("x", &[f32::NAN, 2.0, 3.0, 4.0], &right, 1e-5).is_err());
        assert!(compare("x", &right[..3], &right, 1e-5).is_err());
    }

    #[test]
    fn elements_are_spread_over_the_interval() {
        let all: Vec<f32> = (0..64 * 64).map(|i| element(1, i / 64, i % 64).to_f32()).collect();
        assert!(all.iter().all(|x| x.abs() < 1.0));
        assert!(all.iter().filter(|x| **x > 0.0).count() > 1500);
        assert!(all.iter().filter(|x| **x < 0.0).count() > 1500);
    }
}
