//! The f64 reference of a product, its error bound, and guarded tensors.

#![allow(dead_code, reason = "each test program uses a part")]

pub mod attention;
pub mod layer;
#[cfg(feature = "opencl")]
pub mod opencl;

use tile_std::prelude::*;

/// A small deterministic generator (xorshift64*); tests print their seed.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    /// A value in -2 .. 2 with a spread of magnitudes, many of them not representable in 16 bits.
    pub fn value(&mut self) -> f32 {
        let unit = (self.next() >> 40) as f32 / (1u64 << 24) as f32;
        (unit * 4.0 - 2.0) * [1.0, 1.0, 0.25, 0.01][self.below(4) as usize]
    }
}

/// The distance between neighbouring values of `T` at `x`.
pub fn ulp<T: Element>(x: f64) -> f64 {
    let (bits, least) = match T::DTYPE.name() {
        "bf16" => (7, -133),
        "f16" => (10, -24),
        _ => (23, -149),
    };
    let exponent = if x == 0.0 { least } else { (x.abs().log2().floor() as i32 - bits).max(least) };
    2f64.powi(exponent)
}

/// A product in f64 with, per element, the sum of the magnitudes of its terms.
pub struct Reference {
    pub value: Vec<f64>,
    pub magnitude: Vec<f64>,
    pub k: usize,
}

impl Reference {
    /// One plane: A is `[m, k]`, B is `[k, n]` or `[n, k]`, read through functions.
    pub fn new(
        (m, n, k): (usize, usize, usize),
        a: impl Fn(usize, usize) -> f64,
        b: impl Fn(usize, usize) -> f64,
    ) -> Reference {
        let b: Vec<f64> = (0..k * n).map(|i| b(i / n.max(1), i % n.max(1))).collect();
        let (mut value, mut magnitude) = (vec![0.0; m * n], vec![0.0; m * n]);
        for row in 0..m {
            for step in 0..k {
                let x = a(row, step);
                for col in 0..n {
                    let term = x * b[step * n + col];
                    value[row * n + col] += term;
                    magnitude[row * n + col] += term.abs();
                }
            }
        }
        Reference { value, magnitude, k }
    }

    /// The largest error that element `i` may have when it is accumulated in f32 and stored as `T`.
    pub fn bound<T: Element>(&self, i: usize) -> f64 {
        0.5 * ulp::<T>(self.value[i]) + self.k as f64 * 2f64.powi(-24) * self.magnitude[i]
    }

    /// Checks one element.
    pub fn check<T: Element>(&self, i: usize, found: f64) -> Result<(), String> {
        let want = self.value[i];
        if want.is_nan() || found.is_nan() {
            return if want.is_nan() == found.is_nan() {
                Ok(())
            } else {
                Err(format!("element {i}: {found}, not {want}"))
            };
        }
        if want.is_infinite() {
            return if found == want { Ok(()) } else { Err(format!("element {i}: {found}, not {want}")) };
        }
        let bound = self.bound::<T>(i);
        if (found - want).abs() <= bound {
            Ok(())
        } else {
            Err(format!("element {i}: {found}, not {want} within {bound:e}"))
        }
    }
}

/// How a tensor lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A tensor of its own.
    Owned,
    /// A part of a larger tensor, at an offset that the hardware takes.
    Aligned,
    /// A part of a larger tensor, at an odd column.
    Odd,
}

pub const FORMS: [Form; 3] = [Form::Owned, Form::Aligned, Form::Odd];

/// A tensor within a larger one whose other elements, and whose padding, are NaN.
pub struct Guarded<T: Element> {
    parent: Tensor<T>,
    shape: Shape,
    at: (usize, usize),
}

impl<T: Element> Guarded<T> {
    pub fn new(
        shape: Shape,
        form: Form,
        mut value: impl FnMut(usize, usize, usize, usize) -> f32,
    ) -> Guarded<T> {
        let [batch, depth, rows, cols] = shape;
        let (at, more) = match form {
            Form::Owned => ((0, 0), 0),
            Form::Aligned => ((3, 32), 40),
            Form::Odd => ((2, 7), 13),
        };
        let outer = if form == Form::Owned { shape } else { [batch, depth, rows + 5, cols + more] };
        let nan = T::from_f32(f32::NAN);
        let mut parent = Tensor::from_fn(outer, |_, _, _, _| nan).expect("a small tensor");
        parent.fill_padding(nan);
        let mut this = Guarded { parent, shape, at };
        let mut view = this.view_mut();
        for b in 0..batch {
            for d in 0..depth {
                for r in 0..rows {
                    let row = view.row_mut(b, d, r).expect("inside");
                    for (c, place) in row.iter_mut().enumerate() {
                        *place = T::from_f32(value(b, d, r, c));
                    }
                }
            }
        }
        this
    }

    pub fn view(&self) -> View<'_, T> {
        let [_, _, rows, cols] = self.shape;
        let (r, c) = self.at;
        let view = self.parent.view().slice_rows(r..r + rows).expect("inside");
        view.slice_cols(c..c + cols).expect("inside")
    }

    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        let [_, _, rows, cols] = self.shape;
        let (r, c) = self.at;
        let view = self.parent.view_mut().slice_rows(r..r + rows).expect("inside");
        view.slice_cols(c..c + cols).expect("inside")
    }

    pub fn get(&self, b: usize, d: usize, r: usize, c: usize) -> f64 {
        f64::from(self.view().get(b, d, r, c).expect("inside").to_f32())
    }

    /// True when no element outside the inner tensor, and no padding, has changed.
    pub fn is_intact(&self) -> bool {
        let [batch, depth, rows, cols] = self.parent.shape();
        let [_, _, inner_rows, inner_cols] = self.shape;
        let (r0, c0) = self.at;
        let outside = |r: usize, c: usize| r < r0 || r >= r0 + inner_rows || c < c0 || c >= c0 + inner_cols;
        let nan = |x: T| x.to_f32().is_nan();
        let mut intact = self.parent.padding().all(nan);
        for b in 0..batch {
            for d in 0..depth {
                for r in 0..rows {
                    for c in (0..cols).filter(|&c| outside(r, c)) {
                        intact &= nan(self.parent.get(b, d, r, c).expect("inside"));
                    }
                }
            }
        }
        intact
    }
}
