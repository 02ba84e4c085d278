//! Softmax with the k largest weights on ragged and degenerate shapes, views, and extreme values: host and simulator against
//! f64, and against the three operations one after the other.

mod reference;
mod rows;

use std::cmp::Ordering;

use reference::{FORMS, Form, Guarded, Rng};
use rows::{ROWS, Rows, compare, devices};
use tile_std::ops::{
    Denominator, RowError, RowOptions, explain_softmax_topk, softmax, softmax_topk, softmax_topk_into,
};
use tile_std::prelude::*;
use tile_std::{Generic, InstanceInfo};

const BOTH: [Denominator; 2] = [Denominator::Row, Denominator::Kept];

/// What a row of logits looks like.
#[derive(Clone, Copy, Debug)]
enum Logits {
    Of(Rows),
    /// Few different numbers, zeros of both signs among them.
    Ties,
    /// NaN of both signs, infinities and ties.
    Awkward,
}

const KINDS: [Logits; 6] = [
    Logits::Of(Rows::Plain),
    Logits::Of(Rows::Large),
    Logits::Of(Rows::Equal),
    Logits::Of(Rows::Special),
    Logits::Ties,
    Logits::Awkward,
];

impl Logits {
    fn value(self, rng: &mut Rng, r: usize, c: usize, cols: usize) -> f32 {
        match (self, rng.below(12)) {
            (Logits::Of(rows), _) => rows.value(rng, r, c, cols),
            (Logits::Ties, i) => [0.0, -0.0, -1.5, 2.0][i as usize % 4],
            (Logits::Awkward, 0) if !r.is_multiple_of(3) => f32::NAN,
            (Logits::Awkward, 1) if !r.is_multiple_of(3) => -f32::NAN,
            (Logits::Awkward, 2) if r % 3 == 2 => f32::INFINITY,
            (Logits::Awkward, 0..=4) => f32::NEG_INFINITY,
            (Logits::Awkward, i) => i as f32 - 8.0,
        }
    }
}

/// NaN first, then falling; a stable sort leaves the lower column first.
fn rank(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => b.partial_cmp(&a).expect("numbers are ordered"),
        (a, b) => b.cmp(&a),
    }
}

/// The weights of a row with error bounds, and their columns.
///
/// The bounds are those of the softmax (`tests/softmax.rs`). A row of several tiles of 128 carries its sum from one to the next,
/// which rounds a factor and a product more each time; what the factors' exponents add to those of the terms makes up `x - m`.
fn expected(x: &[f64], k: usize, by: Denominator) -> (Vec<(f64, f64)>, Vec<i32>) {
    const UNIT: f64 = 1.0 / 16_777_216.0;
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|a, b| rank(x[*a], x[*b]));
    order.truncate(k);
    let columns = order.iter().map(|c| *c as i32).collect();
    let bad =
        x.iter().any(|v| v.is_nan() || *v == f64::INFINITY) || x.iter().all(|v| *v == f64::NEG_INFINITY);
    if bad {
        return (vec![(f64::NAN, 0.0); k], columns);
    }
    let m = x[order[0]];
    let relative = |d: f64| UNIT * (6.0 * d.abs().min(200.0) + 16.0);
    let power = |c: usize| (x[c] - m).exp();
    let counted: Vec<usize> = match by {
        Denominator::Row => (0..x.len()).collect(),
        Denominator::Kept => order.clone(),
    };
    let sum: f64 = counted.iter().map(|c| power(*c)).sum();
    let of_terms = counted.iter().map(|c| power(*c) * relative(x[*c] - m)).sum::<f64>() / sum;
    let of_sum = of_terms + UNIT * (counted.len() as f64 + 20.0 * x.len().div_ceil(128) as f64);
    let weight = |c: &usize| {
        let w = power(*c) / sum;
        (w, w * (relative(x[*c] - m) + of_sum) + 2e-36)
    };
    (order.iter().map(weight).collect(), columns)
}

struct Case {
    shape: Shape,
    k: usize,
    by: Denominator,
    kind: Logits,
    forms: [Form; 2],
    seed: u64,
    instance: Option<&'static InstanceInfo>,
}

fn run<T: Element>(device: &Device, case: &Case) {
    let Case { shape, k, by, kind, forms, seed, instance } = *case;
    let told =
        format!("{} {shape:?} k {k} {by:?} {kind:?} {forms:?} {} seed {seed:#x}", device.name(), T::DTYPE);
    let mut rng = Rng(seed);
    let x = Guarded::<T>::new(shape, forms[0], |_, _, r, c| kind.value(&mut rng, r, c, shape[3]));
    let kept = [shape[0], shape[1], shape[2], k];
    let mut weights = Guarded::<T>::new(kept, forms[1], |_, _, _, _| f32::NAN);
    let mut around = Tensor::from_fn([shape[0], shape[1], shape[2], k + 2], |_, _, _, _| -5).expect("small");
    let columns = around.view_mut().slice_cols(1..k + 1).expect("inside");
    let options = RowOptions { instance, ..RowOptions::default() };
    softmax_topk_into(device, (weights.view_mut(), columns), x.view(), by, &options)
        .unwrap_or_else(|e| panic!("{told}: {e}"));
    assert!(x.is_intact() && weights.is_intact(), "{told}: something outside a tensor changed");
    let of_row = |b, d, r| {
        let row: Vec<f64> = (0..shape[3]).map(|c| x.get(b, d, r, c)).collect();
        expected(&row, k, by)
    };
    compare(&weights, kept, &told, |b, d, r| of_row(b, d, r).0);
    for (b, d) in (0..shape[0] * shape[1]).map(|p| (p / shape[1], p % shape[1])) {
        for r in 0..shape[2] {
            let mut want = of_row(b, d, r).1;
            want.insert(0, -5);
            want.push(-5);
            assert_eq!(around.row(b, d, r).expect("inside"), want, "{told}: row ({b}, {d}, {r})");
        }
    }
}

fn any_type(device: &Device, case: &Case, which: usize) {
    match which % 3 {
        0 => run::<bf16>(device, case),
        1 => run::<f16>(device, case),
        _ => run::<f32>(device, case),
    }
}

#[test]
fn ragged_shapes_views_and_extreme_values() {
    let mut rng = Rng(0x70BC_0001);
    let mut executed = 0;
    for (i, cols) in [1, 2, 7, 8, 9, 17, 33, 64, 127, 128, 129, 257, 700, 1024].into_iter().enumerate() {
        for (j, kind) in KINDS.into_iter().enumerate() {
            let rows = ROWS[rng.below(ROWS.len() as u64) as usize];
            let planes = if cols < 100 && rng.below(3) == 0 { [2, 3] } else { [1, 1] };
            let mut form = || FORMS[rng.below(3) as usize];
            let forms = [form(), form()];
            let most = cols.min(32);
            let k = [1, most, most.min(8), 1 + rng.below(most as u64) as usize][(i + j) % 4];
            let (shape, seed) = ([planes[0], planes[1], rows, cols], rng.next() | 1);
            for device in devices() {
                let by = BOTH[(i + j) / 3 % 2];
                let case = Case { shape, k, by, kind, forms, seed, instance: None };
                any_type(&device, &case, i + j);
                executed += 1;
            }
        }
    }
    assert_eq!(executed, 14 * 6 * 2);
}

#[test]
fn every_instance_takes_narrow_and_wide_rows() {
    let types = [bf16::DTYPE, f16::DTYPE, f32::DTYPE].map(Generic::Type);
    let mut executed = 0;
    for instance in tile_std::kernels::softmax_topk::softmax_topk::INSTANCES {
        let [of, Generic::Flag(kept), Generic::Size(room), Generic::Size(n), ..] = instance.generics else {
            panic!("the kernel's generics are T, KEPT, K, N");
        };
        let which = types.iter().position(|t| t == of).expect("a float type");
        for (cols, kind) in [(*room as usize + 3, Logits::Ties), (*n as usize + 45, Logits::Of(Rows::Plain))]
        {
            for device in devices() {
                if instance.modules.is_empty() && !matches!(device, Device::Host(_)) {
                    continue;
                }
                let (shape, forms, k) = ([1, 1, 19, cols], [Form::Odd, Form::Owned], *room as usize - 1);
                let by = BOTH[usize::from(*kept)];
                let case = Case { shape, k, by, kind, forms, seed: 0x51, instance: Some(instance) };
                any_type(&device, &case, which);
                executed += 1;
            }
        }
    }
    assert!(executed >= 12 * 2 * 2, "{executed}");
}

/// The sum over the row cancels: what is kept of the softmax and normalised again is the softmax of what is kept.
#[test]
fn the_three_operations_one_after_the_other_give_the_same() {
    let (shape, k) = ([1, 1, 21, 130], 7);
    let mut rng = Rng(0x3057);
    let x = Tensor::from_fn(shape, |_, _, _, _| 4.0 * rng.value()).expect("small");
    for device in devices() {
        let all = softmax(&device, &x).expect("shapes fit");
        let (of_row, columns) = softmax_topk(&device, &x, k, Denominator::Row).expect("k fits");
        let (of_kept, same) = softmax_topk(&device, &x, k, Denominator::Kept).expect("k fits");
        assert_eq!(columns.to_vec(), same.to_vec());
        for r in 0..shape[2] {
            let row = all.row(0, 0, r).expect("inside");
            let mut largest = row.to_vec();
            largest.sort_by(|a, b| b.total_cmp(a));
            let total: f32 = largest[..k].iter().sum();
            for (j, p) in largest[..k].iter().enumerate() {
                let get = |t: &Tensor<f32>| t.get(0, 0, r, j).expect("inside");
                let column = columns.get(0, 0, r, j).expect("inside") as usize;
                let near = |found: f32, want: f32| (found - want).abs() <= 2e-5 * want;
                assert!(near(row[column], *p), "row {r}: weight {j} is that of column {column}");
                assert!(near(get(&of_row), *p), "row {r}, weight {j}: {} is not {p}", get(&of_row));
                assert!(near(get(&of_kept), p / total), "row {r}, weight {j}: {}", get(&of_kept));
            }
        }
    }
}

#[test]
fn wrong_calls_are_errors() {
    let device = Device::host();
    let x = Tensor::<bf16>::zeros(4, 5).expect("small");
    for (k, x) in [(6, &x), (0, &x), (33, &Tensor::zeros(4, 50).expect("small"))] {
        let error = softmax_topk(&device, x, k, Denominator::Row).expect_err("k does not fit");
        let text = error.to_string();
        let said = format!("here k is {k} and x has {} columns", x.cols());
        assert!(matches!(error, RowError::Kept { .. }) && text.contains(&said), "{text}");
        let asked = explain_softmax_topk::<bf16>(&device, x.shape(), k, Denominator::Row);
        assert_eq!(asked.expect_err("k does not fit").to_string(), text);
    }
    let go = |[weights, columns]: [(usize, usize); 2], instance: Option<&'static InstanceInfo>| {
        let mut weights = Tensor::<bf16>::zeros(weights.0, weights.1).expect("small");
        let mut columns = Tensor::<i32>::zeros(columns.0, columns.1).expect("small");
        let options = RowOptions { instance, ..RowOptions::default() };
        let to = (weights.view_mut(), columns.view_mut());
        softmax_topk_into(&device, to, &x, Denominator::Kept, &options).map(|report| report.instance)
    };
    let text = |error: RowError| error.to_string();
    let two = go([(4, 2), (4, 3)], None).map_err(text).expect_err("two shapes");
    assert!(two.contains("[1, 1, 4, 2]") && two.contains("[1, 1, 4, 3]"), "{two}");
    let rows = go([(3, 2), (3, 2)], None).map_err(text).expect_err("3 rows are not 4");
    assert!(rows.contains("[1, 1, 3, 2]") && rows.contains("[1, 1, 4, 5]"), "{rows}");
    let of = |k, by| {
        let shape = [1, 1, 4, 32];
        explain_softmax_topk::<bf16>(&device, shape, k, by).expect("k fits").instance
    };
    let other = go([(4, 2), (4, 2)], Some(of(2, Denominator::Row))).map_err(text).expect_err("another sum");
    assert!(other.contains("begins with <bf16, true, 8, ..>"), "{other}");
    // More room than is needed is no mistake.
    let roomy = of(9, Denominator::Kept);
    assert_eq!(go([(4, 2), (4, 2)], Some(roomy)).map_err(text).expect("it fits"), roomy.name);
}

#[test]
fn no_rows_are_fine_and_the_choice_says_why() {
    for device in devices() {
        let x = Tensor::<f16>::zeros(0, 9).expect("empty");
        let (weights, columns) = softmax_topk(&device, &x, 3, Denominator::Kept).expect("nothing to do");
        assert_eq!((weights.shape(), columns.shape()), ([1, 1, 0, 3], [1, 1, 0, 3]));
    }
    let choice = explain_softmax_topk::<f16>(&Device::sim(), [1, 1, 9, 300], 12, Denominator::Row);
    assert_eq!(
        choice.expect("k fits").to_string(),
        "softmax_topk<f16, false, 32, 128>: rows of 300 columns take the instance for any width on GPUs"
    );
}
