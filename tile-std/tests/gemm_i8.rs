//! GEMM of bytes: exact on ragged sizes, both forms of B, padded and offset views, batches, and at the ends of the range.

use tile_std::ops::{gemm_i8, gemm_i8_into};
use tile_std::prelude::*;
use tile_std::{GemmError, GemmOptions};

mod reference;
use reference::Rng;

fn devices() -> [Device; 2] {
    [Device::host(), Device::sim()]
}

/// A matrix in the middle of a larger one, whose other elements are the guard.
struct Middle<T: AnyElement> {
    parent: Tensor<T>,
    shape: [usize; 2],
    at: (usize, usize),
}

impl<T: AnyElement + PartialEq> Middle<T> {
    fn new(shape: [usize; 2], at: (usize, usize), guard: T, mut value: impl FnMut() -> T) -> Middle<T> {
        let [rows, cols] = shape;
        let inside =
            |r: usize, c: usize| (at.0..at.0 + rows).contains(&r) && (at.1..at.1 + cols).contains(&c);
        let mut parent = Tensor::from_fn([2, 1, rows + 2 * at.0, cols + 2 * at.1], |_, _, r, c| {
            if inside(r, c) { value() } else { guard }
        })
        .expect("small");
        parent.fill_padding(guard);
        Middle { parent, shape, at }
    }

    fn view(&self) -> View<'_, T> {
        let ([rows, cols], (r, c)) = (self.shape, self.at);
        let view = self.parent.view().slice_rows(r..r + rows).expect("inside");
        view.slice_cols(c..c + cols).expect("inside")
    }

    fn view_mut(&mut self) -> ViewMut<'_, T> {
        let ([rows, cols], (r, c)) = (self.shape, self.at);
        let view = self.parent.view_mut().slice_rows(r..r + rows).expect("inside");
        view.slice_cols(c..c + cols).expect("inside")
    }

    /// True when nothing outside the matrix has changed.
    fn is_intact(&self, guard: T) -> bool {
        let ([rows, cols], (top, left)) = (self.shape, self.at);
        let inside = |r: usize, c: usize| (top..top + rows).contains(&r) && (left..left + cols).contains(&c);
        let [planes, _, all_rows, all_cols] = self.parent.shape();
        let at = |p, r, c| inside(r, c) || self.parent.get(p, 0, r, c) == Some(guard);
        self.parent.padding().all(|x| x == guard)
            && (0..planes).all(|p| (0..all_rows).all(|r| (0..all_cols).all(|c| at(p, r, c))))
    }
}

fn check(
    device: &Device,
    (m, n, k): (usize, usize, usize),
    transpose_b: bool,
    at: (usize, usize),
    rng: &mut Rng,
) {
    let a = Middle::new([m, k], at, 77i8, || rng.next() as i8);
    let b = Middle::new(if transpose_b { [n, k] } else { [k, n] }, at, 77i8, || rng.next() as i8);
    let mut c = Middle::new([m, n], at, -7i32, || 5);
    let options = GemmOptions { transpose_b, ..GemmOptions::default() };
    let told = || format!("{} {m} {n} {k} {transpose_b} {at:?}", device.name());
    gemm_i8_into(device, c.view_mut(), a.view(), b.view(), &options)
        .unwrap_or_else(|e| panic!("{}: {e}", told()));
    assert!(a.is_intact(77) && b.is_intact(77) && c.is_intact(-7), "{}: outside changed", told());
    for (p, i, j) in (0..2 * m * n).map(|x| (x / n / m, x / n % m, x % n)) {
        let at_b = |s| if transpose_b { b.view().get(p, 0, j, s) } else { b.view().get(p, 0, s, j) };
        let of = |x: Option<i8>| i32::from(x.expect("inside"));
        let want: i32 = (0..k).map(|s| of(a.view().get(p, 0, i, s)) * of(at_b(s))).sum();
        assert_eq!(c.view().get(p, 0, i, j), Some(want), "{}: plane {p} [{i}, {j}]", told());
    }
}

#[test]
fn ragged_sizes_are_exact() {
    let mut rng = Rng(0x18_0001);
    let sizes = [1, 7, 16, 31, 33, 64, 65];
    for (i, &m) in sizes.iter().enumerate() {
        for (j, &n) in sizes.iter().enumerate() {
            let k = [1, 5, 32, 63, 64, 66, 100][(i + 2 * j) % 7];
            let at = [(0, 0), (2, 4), (3, 7)][(i + j) % 3];
            let (device, transpose_b) = (&devices()[(i + j) % 2], (i + i * j) % 2 == 0);
            check(device, (m, n, k), transpose_b, at, &mut rng);
        }
    }
}

#[test]
fn every_instance_is_exact() {
    for instance in tile_std::kernels::gemm_i8::gemm_i8::INSTANCES {
        let transpose_b = instance.generics.last() == Some(&tile_std::Generic::Flag(true));
        let options = GemmOptions { transpose_b, instance: Some(instance), ..GemmOptions::default() };
        let value = |r: usize, c: usize| ((r * 37 + c * 101) % 256) as u8 as i8;
        let a = Tensor::from_fn([1, 1, 40, 70], |_, _, r, c| value(r, c)).expect("small");
        let b = Tensor::from_fn([1, 1, 70, 50], |_, _, r, c| value(c, r)).expect("small");
        let turned = Tensor::from_fn([1, 1, 50, 70], |_, _, r, c| value(r, c)).expect("small");
        for device in devices() {
            let mut c = Tensor::<i32>::zeros(40, 50).expect("small");
            let b = if transpose_b { &turned } else { &b };
            gemm_i8_into(&device, &mut c, &a, b, &options)
                .unwrap_or_else(|e| panic!("{}: {e}", instance.name));
            for (i, j) in (0..40 * 50).map(|x| (x / 50, x % 50)) {
                let want: i32 = (0..70).map(|s| i32::from(value(i, s)) * i32::from(value(j, s))).sum();
                assert_eq!(c.get(0, 0, i, j), Some(want), "{} {}: [{i}, {j}]", device.name(), instance.name);
            }
        }
    }
}

#[test]
fn sums_wrap_beyond_the_range_and_planes_repeat() {
    for device in devices() {
        // 131,072 products of 16,384 are 2^31.
        let a = Tensor::from_fn([1, 1, 1, 131_072], |_, _, _, _| -128i8).expect("small");
        let b = Tensor::from_fn([1, 1, 131_072, 1], |_, _, _, _| -128i8).expect("small");
        assert_eq!(gemm_i8(&device, &a, &b).expect("shapes fit").to_vec(), [i32::MIN], "{}", device.name());
        let a = Tensor::from_fn([3, 2, 2, 3], |b, d, r, c| (b + d + r + c) as i8).expect("small");
        let b = Tensor::from_fn([1, 1, 3, 2], |_, _, r, c| r as i8 - c as i8).expect("small");
        let c = gemm_i8(&device, &a, &b).expect("planes of 1 repeat");
        assert_eq!(c.shape(), [3, 2, 2, 2]);
        // (3, 4, 5) times (0, 1, 2) and (-1, 0, 1), in the last plane's first row.
        assert_eq!((c.get(2, 1, 0, 0), c.get(2, 1, 0, 1)), (Some(14), Some(2)), "{}", device.name());
    }
}

#[test]
fn empty_products_and_wrong_calls() {
    for device in devices() {
        for (m, n, k) in [(0, 5, 5), (5, 0, 5), (5, 4, 0)] {
            let (a, b) =
                (Tensor::<i8>::zeros(m, k).expect("small"), Tensor::<i8>::zeros(k, n).expect("small"));
            let c = gemm_i8(&device, &a, &b).unwrap_or_else(|e| panic!("{m} {n} {k}: {e}"));
            assert_eq!(c.to_vec(), vec![0; m * n]);
        }
    }
    let (a, b) = (Tensor::<i8>::zeros(4, 5).expect("small"), Tensor::<i8>::zeros(6, 7).expect("small"));
    let error = gemm_i8(&Device::host(), &a, &b).expect_err("5 and 6 differ").to_string();
    assert!(error.contains("[1, 1, 4, 5]") && error.contains("[1, 1, 6, 7]"), "{error}");
    let b = Tensor::<i8>::zeros(5, 7).expect("small");
    let mut c = Tensor::<i32>::zeros(4, 7).expect("small");
    let instance = tile_std::kernels::gemm_i8::gemm_i8::KERNEL.find_named("<32, 64, 64, true>");
    assert!(instance.is_some());
    let options = GemmOptions { instance, ..GemmOptions::default() };
    let error = gemm_i8_into(&Device::host(), &mut c, &a, &b, &options).expect_err("it takes [N, K]");
    assert!(matches!(error, GemmError::Instance { .. }), "{error}");
}
