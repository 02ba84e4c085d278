//! Owns the evidence that a kernel means one thing: each small kernel here goes through the attribute, rustc,
//! lowering and the simulator, and its result on the host equals the simulator's bit for bit, and both equal what
//! plain Rust gives.
//!
//! *Assumes* that a scalar multiplied into a tile of ones arrives unchanged, so scalars are observed through
//! `.scale(s)`; integers go out in pieces of 16 bits, which f32 holds exactly.
//! *Not here*: matrices of real sizes (tile-std), the meaning of single SPIR-V words (tile-sim).

mod choices;
mod closures;
mod device_functions;
mod integers;
mod layouts;
mod loops;
mod nested_functions;
mod operands;
mod products;
mod scalars;
mod scopes;
mod selection;
mod tiles;
mod topk;
mod vector_ops;
mod vectors;
mod wide;

use tile_std::prelude::*;

/// Runs a launch on the host and on the simulator, each with fresh outputs of `shape` filled with `fill`, and
/// gives the outputs, which must agree bit for bit.
fn on_both<T: Bits, const N: usize>(
    (rows, cols): (usize, usize),
    fill: impl Fn(usize, usize) -> T,
    launch: impl Fn(&Device, &mut [Tensor<T>; N]) -> Result<Report, LaunchError>,
) -> [Vec<T>; N] {
    let run = |device: &Device| {
        let mut outputs: [Tensor<T>; N] = std::array::from_fn(|_| {
            Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| fill(r, c)).expect("a small tensor")
        });
        launch(device, &mut outputs).unwrap_or_else(|e| panic!("on {}: {e}", device.name()));
        outputs.map(|t| t.to_vec())
    };
    let (host, sim) = (run(&Device::host()), run(&Device::sim()));
    for (output, (h, s)) in host.iter().zip(&sim).enumerate() {
        for (i, (h, s)) in h.iter().zip(s).enumerate() {
            assert_eq!(
                h.bits(),
                s.bits(),
                "output {output}, element ({}, {}): host {h:?}, simulator {s:?}",
                i / cols,
                i % cols
            );
        }
    }
    host
}

/// The bits of an element; all NaNs are one.
trait Bits: AnyElement {
    /// Gives them.
    fn bits(self) -> u32;
}

impl<T: AnyElement> Bits for T {
    fn bits(self) -> u32 {
        let value = T::word_of(self.to_scalar());
        if value.is_nan() && !T::DTYPE.is_integer() { f32::NAN.to_bits() } else { value.to_bits() }
    }
}

/// A tensor whose element (r, c) is `f(r, c)`.
fn tensor<T: Element>(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f32) -> Tensor<T> {
    Tensor::from_fn([1, 1, rows, cols], |_, _, r, c| T::from_f32(f(r, c))).expect("a small tensor")
}

/// An 8 x 16 tensor of ones.
fn ones() -> Tensor<f32> {
    tensor(8, 16, |_, _| 1.0)
}

/// Runs a kernel that scales ones by a scalar, and gives the scalar.
fn scalar_of(launch: impl Fn(&Device, &mut Tensor<f32>) -> Result<Report, LaunchError>) -> f32 {
    let [c] = on_both((8, 16), |_, _| -77.0, |device, [c]| launch(device, c));
    assert!(c.iter().all(|v| v.bits() == c[0].bits()), "every element is the scalar: {c:?}");
    c[0]
}
