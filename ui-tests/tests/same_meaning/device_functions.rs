//! Device functions: every form in which a parameter is passed, and every place where a call may stand.

use super::{on_both, ones, scalar_of, tensor};
use tile_std::prelude::*;

/// Takes every kind of parameter; what it gets by value it may change, what it gets by `&mut` it does change.
#[tile_fn]
#[allow(clippy::too_many_arguments)]
fn mix<T: Element, const M: usize, const N: usize, const FLIP: bool>(
    mut own: rt<f32, M, N>,
    seen: &rt<T, M, N>,
    kept: &mut rt<f32, M, N>,
    mut rows: rv<f32, M, PerRow>,
    cols: &rv<T, N, PerCol>,
    tops: &mut rv<f32, M, PerRow>,
    tensor: &gl<T>,
    mut n: u32,
    i: i32,
    w: u64,
    s: f32,
    on: bool,
) -> rt<f32, M, N> {
    own = own.add(&seen.to::<f32>());
    rows = rows.scale(s);
    n += 1;
    *kept = kept.scale(2.0).add_row(&rows);
    if FLIP {
        *kept = kept.neg();
    }
    *tops = own.row_max_with(tops);
    let here = load_scalar(tensor, [n, 1]);
    let x: rt<T, M, N> = load(tensor, [n, 0]);
    let shift = (i + 1) as f32 + (w >> 40) as f32 + here;
    if on { own.add_col(&cols.to::<f32>()).add(shift) } else { x.to::<f32>().sub(shift) }
}

/// Gives nothing; does nothing unless asked to.
#[tile_fn]
fn maybe_clear<const M: usize>(x: &mut rt<f32, M, 16>, on: bool) {
    if on {
        *x = zeros();
    }
}

#[tile_kernel(
    fns(mix, maybe_clear),
    instances(<bf16, true; subgroups = (1, 1)>, <f32, false; subgroups = (1, 1)>)
)]
fn every_form<T: Element, const FLIP: bool>(
    y: &mut gl<f32>,
    z: &mut gl<f32>,
    a: &gl<T>,
    n: u32,
    i: i32,
    w: u64,
    s: f32,
    on: bool,
) {
    let at = own_tile::<8, 16>(y, Linear);
    let x: rt<T, 8, 16> = load(a, [0, 0]);
    let own = x.to::<f32>();
    let cols: rv<T, 16, PerCol> = load_vec(a, [3, 0]);
    let rows = own.row_sum();
    // Names that the function uses too.
    let mut kept: rt<f32, 8, 16> = fill(3.0);
    let mut tops: rv<f32, 8, PerRow> = fill(1.0);
    let tensor = n;
    let mut sum = mix::<T, 8, 16, FLIP>(
        own.scale(1.0),
        &x,
        &mut kept,
        rows.scale(1.0),
        &cols,
        &mut tops,
        a,
        n,
        i,
        w,
        s,
        on,
    );
    for k in 0..tensor {
        // What the function did to its own copies is not seen here.
        let more = mix::<T, 8, 16, FLIP>(
            own.scale(1.0),
            &x,
            &mut kept,
            rows.scale(1.0),
            &cols,
            &mut tops,
            a,
            k,
            i - 1,
            w,
            s,
            !on,
        );
        sum = sum.scale(0.5).add(&more);
        if k == 1 {
            continue;
        }
        maybe_clear(&mut kept, k == 3);
    }
    store(y, &sum.add(&own), at);
    store(z, &kept.add_row(&tops).add_row(&rows), at);
}

#[test]
fn each_form_of_parameter_means_what_it_does_in_rust() {
    fn check<T: Element, const FLIP: bool>()
    where
        every_form::Kernel: every_form::Compiled<T, FLIP>,
    {
        let mut a = tensor::<T>(29, 13, |r, c| ((r * 13 + c * 5) % 16) as f32 - 4.0);
        a.fill_padding(T::from_f32(f32::NAN));
        let at = |r: usize, c: usize| a.get(0, 0, r, c).map_or(0.0, T::to_f32);
        for (n, i, w, s, on) in [
            (0, 3, 0, 1.0, true),
            (1, -1, 7 << 40, 0.5, false),
            (3, 0, 5, -2.0, true),
            (5, 2, u64::MAX >> 20, 0.25, true),
        ] {
            let [y, z] = on_both(
                (8, 16),
                |_, _| -77.0,
                |device, [y, z]| every_form::launch::<T, FLIP>(device, y, z, &a, n, i, w, s, on),
            );
            for r in 0..8 {
                let own: Vec<f32> = (0..16).map(|c| at(r, c)).collect();
                let rows: f32 = own.iter().sum();
                let (mut kept, mut tops) = (vec![3.0f32; 16], 1.0f32);
                let mut mix = |kept: &mut Vec<f32>, n: u32, i: i32, on: bool| -> Vec<f32> {
                    let n = n as usize + 1;
                    for k in kept.iter_mut() {
                        *k = *k * 2.0 + rows * s;
                        *k = if FLIP { -*k } else { *k };
                    }
                    tops = own.iter().map(|o| o + o).fold(tops, f32::max);
                    let shift = (i + 1) as f32 + (w >> 40) as f32 + at(n, 1);
                    let cell = |c: usize| {
                        if on { own[c] + own[c] + at(3, c) + shift } else { at(n * 8 + r, c) - shift }
                    };
                    (0..16).map(cell).collect()
                };
                let mut sum = mix(&mut kept, n, i, on);
                for k in 0..n {
                    let more = mix(&mut kept, k, i - 1, !on);
                    sum.iter_mut().zip(&more).for_each(|(s, m)| *s = *s * 0.5 + m);
                    if k == 1 {
                        continue;
                    }
                    if k == 3 {
                        kept.fill(0.0);
                    }
                }
                for c in 0..16 {
                    assert_eq!(y[r * 16 + c], sum[c] + own[c], "{} y, n {n}: ({r}, {c})", T::NAME);
                    assert_eq!(z[r * 16 + c], kept[c] + tops + rows, "{} z, n {n}: ({r}, {c})", T::NAME);
                }
            }
        }
    }
    check::<bf16, true>();
    check::<f32, false>();
}

#[tile_fn]
fn collatz(n: u32) -> u32 {
    if n % 2 == 0 { n / 2 } else { 3 * n + 1 }
}

#[tile_fn]
fn steps<const MOST: usize>(mut n: u32) -> u32 {
    let mut count = 0u32;
    while n > 1 {
        if count == MOST as u32 {
            break;
        }
        count += 1;
        if n % 2 == 0 {
            n = n / 2;
            continue;
        }
        n = 3 * n + 1;
    }
    count
}

#[tile_fn]
fn is_small(n: u32, s: f32) -> bool {
    (n as f32) < s.sqrt().max(3.0)
}

#[tile_kernel(fns(collatz, steps, is_small), instances(<; subgroups = (1, 1)>))]
fn calls_anywhere(y: &mut gl<f32>, ones: &gl<f32>, start: u32, s: f32) {
    let at = own_tile::<8, 16>(y, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    let mut n = start;
    let mut rounds = 0u32;
    while !is_small(collatz(n), s) && rounds < steps::<50>(start) {
        n = collatz(collatz(n));
        rounds += if is_small(n, s * 4.0) { 2 } else { 1 };
    }
    for i in collatz(2)..steps::<7>(start) {
        if is_small(i, s) {
            continue;
        }
        n += collatz(i) * steps::<3>(i + n);
    }
    store(y, &one.scale((n * 64 + rounds) as f32), at);
}

#[test]
fn a_call_may_stand_wherever_a_value_may() {
    let ones = ones();
    let collatz = |n: u32| if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
    let steps = |most: u32, mut n: u32| {
        let mut count = 0;
        while n > 1 && count != most {
            count += 1;
            n = collatz(n);
        }
        count
    };
    let is_small = |n: u32, s: f32| (n as f32) < s.sqrt().max(3.0);
    for start in [1, 2, 6, 7, 27, 100, 871] {
        for s in [0.0, 16.0, 400.0] {
            let got = scalar_of(|device, y| calls_anywhere::launch(device, y, &ones, start, s));
            let (mut n, mut rounds) = (start, 0);
            while !is_small(collatz(n), s) && rounds < steps(50, start) {
                n = collatz(collatz(n));
                rounds += if is_small(n, s * 4.0) { 2 } else { 1 };
            }
            for i in collatz(2)..steps(7, start) {
                if !is_small(i, s) {
                    n += collatz(i) * steps(3, i + n);
                }
            }
            assert_eq!(got, (n * 64 + rounds) as f32, "start {start}, s {s}");
        }
    }
}
