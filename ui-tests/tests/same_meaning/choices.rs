//! Unrolled loops, `match`, values of branches and several values at once.

use super::{on_both, ones, scalar_of, tensor};
use tile_std::prelude::*;

/// Unrolled loops around, in and beside loops that run, with counters of every integer type.
#[tile_kernel(instances(<3, 4; subgroups = (1, 1)>, <5, 1; subgroups = (1, 1)>))]
fn unrolled<const R: usize, const S: usize>(y: &mut gl<f32>, x: &gl<f32>, n: u32, stop: u32) {
    let at = own_tile::<8, 16>(y, Linear);
    let mut a: rt<f32, 8, 16> = load(x, at);
    let mut count = 0u32;
    #[unroll]
    for i in (0..R as u32).step_by(2) {
        a = a.scale(1.0 + i as f32);
        for k in 0..n {
            if k == stop {
                break;
            }
            #[unroll]
            for j in 0..S as i32 {
                if j == 2 {
                    continue;
                }
                if i == 2 && j == 3 {
                    break;
                }
                if k % 2 == 1 {
                    a = a.add((j + 1) as f32);
                }
                count += i + j as u32;
                if count > 50 {
                    store(y, &a.neg(), at);
                    return;
                }
            }
        }
        #[unroll]
        for w in 4294967296u64..4294967298 {
            count = count * 2
                + (w % 7) as u32
                + match i {
                    0 => 1,
                    2 => w as u32,
                    _ => 3,
                };
        }
        count = count % 41;
    }
    store(y, &a.add(count as f32), at);
}

#[test]
fn unrolled_loops_run_as_they_are_written() {
    fn check<const R: usize, const S: usize>()
    where
        unrolled::Kernel: unrolled::Compiled<R, S>,
    {
        let x = tensor::<f32>(8, 16, |r, c| (r * 16 + c) as f32 / 64.0);
        for (n, stop) in [(0, 0), (1, 9), (2, 9), (4, 3), (9, 9)] {
            let [got] = on_both(
                (8, 16),
                |_, _| -77.0,
                |device, [y]| unrolled::launch::<R, S>(device, y, &x, n, stop),
            );
            let want = |mut a: f32| {
                let mut count = 0u32;
                for i in (0..R as u32).step_by(2) {
                    a *= 1.0 + i as f32;
                    for k in 0..n {
                        if k == stop {
                            break;
                        }
                        for j in 0..S as i32 {
                            if j == 2 {
                                continue;
                            }
                            if i == 2 && j == 3 {
                                break;
                            }
                            if k % 2 == 1 {
                                a += (j + 1) as f32;
                            }
                            count += i + j as u32;
                            if count > 50 {
                                return -a;
                            }
                        }
                    }
                    for w in 4294967296u64..4294967298 {
                        let more = match i {
                            0 => 1,
                            2 => w as u32,
                            _ => 3,
                        };
                        count = count * 2 + (w % 7) as u32 + more;
                    }
                    count %= 41;
                }
                a + count as f32
            };
            for (i, got) in got.iter().enumerate() {
                assert_eq!(*got, want(i as f32 / 64.0), "<{R}, {S}>, n {n}, stop {stop}: element {i}");
            }
        }
    }
    check::<3, 4>();
    check::<5, 1>();
}

/// A `match` as a value, as a statement, with guards, on every scalar type it takes, on a size and on a switch.
#[tile_kernel(instances(<16, true; subgroups = (1, 1)>, <8, false; subgroups = (1, 1)>))]
fn matches<const M: usize, const FLAG: bool>(
    y: &mut gl<f32>,
    ones: &gl<f32>,
    n: u32,
    i: i32,
    w: u64,
    b: bool,
) {
    let at = own_tile::<8, 16>(y, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    let mut sum = match n {
        0 => 1u32,
        1 | 4 | 6..=7 => n * 10,
        10..20 if b => 200,
        10..=12 => 300,
        _ if n % 2 == 0 => {
            let half = n / 2;
            half + 400
        }
        _ => 500,
    };
    match i * 2 {
        -4 => sum += 1000,
        -3..=3 => {}
        8 | 10 => sum = 0,
        _ => return,
    }
    for k in 0..n % 9 {
        match k {
            2 => continue,
            5 => break,
            _ => {
                sum += match b {
                    true => k,
                    false => 2 * k,
                }
            }
        }
    }
    sum += match w {
        0 => 0,
        4294967296 => 7,
        4294967297..=18446744073709551615 => 8,
        _ => 9,
    };
    sum += match M {
        8 => 10000,
        9..=15 => 20000,
        _ => 30000,
    };
    match FLAG {
        true => sum += 1,
        false => {}
    }
    store(y, &one.scale(sum as f32), at);
}

#[test]
fn a_match_chooses_as_in_rust() {
    fn check<const M: usize, const FLAG: bool>()
    where
        matches::Kernel: matches::Compiled<M, FLAG>,
    {
        let ones = ones();
        for (n, i, w, b) in [
            (0, 0, 0, true),
            (1, 1, 1, false),
            (4, -2, 4294967296, true),
            (6, 4, 4294967297, false),
            (7, 5, u64::MAX, true),
            (5, 0, 3, false),
            (10, -1, 0, true),
            (12, -2, 5, false),
            (13, 1, 7, false),
            (19, 0, 9, true),
            (20, 0, 9, true),
            (26, 9, 9, true),
            (33, -9, 9, false),
        ] {
            let got = scalar_of(|device, y| matches::launch::<M, FLAG>(device, y, &ones, n, i, w, b));
            let want = || {
                let mut sum = match n {
                    0 => 1u32,
                    1 | 4 | 6..=7 => n * 10,
                    10..20 if b => 200,
                    10..=12 => 300,
                    _ if n % 2 == 0 => n / 2 + 400,
                    _ => 500,
                };
                match i * 2 {
                    -4 => sum += 1000,
                    -3..=3 => {}
                    8 | 10 => sum = 0,
                    _ => return -77.0,
                }
                for k in 0..n % 9 {
                    match k {
                        2 => continue,
                        5 => break,
                        _ => sum += if b { k } else { 2 * k },
                    }
                }
                sum += match w {
                    0 => 0,
                    4294967296 => 7,
                    4294967297.. => 8,
                    _ => 9,
                };
                sum += match M {
                    8 => 10000,
                    9..=15 => 20000,
                    _ => 30000,
                };
                (sum + u32::from(FLAG)) as f32
            };
            assert_eq!(got, want(), "<{M}, {FLAG}>, n {n}, i {i}, w {w}, b {b}");
        }
    }
    check::<16, true>();
    check::<8, false>();
}

/// Several values of branches at once; the values of a block.
#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn several(y: &mut gl<f32>, x: &gl<f32>, n: u32, b: bool) {
    let at = own_tile::<8, 16>(y, Linear);
    let a: rt<f32, 8, 16> = load(x, at);
    let (big, top, k) = if b {
        (a.scale(2.0), a.row_max(), n + 1)
    } else {
        let shifted = a.add(1.0);
        let top = shifted.row_min();
        (shifted, top, 3)
    };
    let (lo, hi): (u32, f32) = match n {
        0 => (1, 2.0),
        1 => (n + 4, 0.5),
        _ => {
            if b {
                (7, 4.0)
            } else {
                (n, 8.0)
            }
        }
    };
    let (_, last) = (n, {
        let more = hi + 1.0;
        more * 2.0
    });
    let less = if lo < if b { 2 } else { 6 } { 1.0 } else { -1.0 };
    store(y, &big.add_row(&top).scale(less).add(last + (k * 100 + lo) as f32), at);
}

#[test]
fn several_values_are_chosen_at_once() {
    let x = tensor::<f32>(8, 16, |r, c| (r * 16 + c) as f32 / 64.0);
    for (n, b) in [(0, true), (0, false), (1, true), (1, false), (5, true), (5, false)] {
        let [got] = on_both((8, 16), |_, _| -77.0, |device, [y]| several::launch(device, y, &x, n, b));
        for r in 0..8 {
            let at = |c: usize| (r * 16 + c) as f32 / 64.0;
            for c in 0..16 {
                let (big, top, k) =
                    if b { (at(c) * 2.0, at(15), n + 1) } else { (at(c) + 1.0, at(0) + 1.0, 3) };
                let (lo, hi) = match (n, b) {
                    (0, _) => (1, 2.0),
                    (1, _) => (n + 4, 0.5),
                    (_, true) => (7, 4.0),
                    (_, false) => (n, 8.0),
                };
                let less = if lo < if b { 2 } else { 6 } { 1.0f32 } else { -1.0 };
                let want = (big + top) * less + ((hi + 1.0) * 2.0 + (k * 100 + lo) as f32);
                assert_eq!(got[r * 16 + c], want, "n {n}, b {b}: ({r}, {c})");
            }
        }
    }
}

/// The right operand of `&&` and `||`, and the guard of a `match`, run only where Rust runs them.
#[tile_kernel(instances(<8; subgroups = (1, 1)>))]
fn lazy<const M: usize>(y: &mut gl<f32>, n: u32) {
    let at = own_tile::<M, 16>(y, Linear);
    let mut m = 1u32;
    let both = n > 2 && {
        m = m + 10;
        m > 5
    };
    let either = n > 4 || {
        m = m + 100;
        n == 0
    };
    let guarded = match n {
        3 if {
            m = m + 1000;
            n > 7
        } =>
        {
            1u32
        }
        _ => 2u32,
    };
    if n == 5 && {
        if both {
            let left: rt<f32, M, 16> = fill(-1.0);
            store(y, &left, at);
            return;
        }
        true
    } {
        m = 0;
    }
    let code = m * 10 + guarded + if both { 4u32 } else { 0u32 } + if either { 5u32 } else { 0u32 };
    let x: rt<f32, M, 16> = fill(code as f32);
    store(y, &x, at);
}

#[test]
fn right_operands_run_only_where_they_are_needed() {
    for n in 0..8u32 {
        let [got] = on_both((8, 16), |_, _| 7.0f32, |device, [y]| lazy::launch::<8>(device, y, n));
        let mut m = 1;
        let both = n > 2 && {
            m += 10;
            m > 5
        };
        let either = n > 4 || {
            m += 100;
            n == 0
        };
        m += if n == 3 { 1000 } else { 0 };
        let code = m * 10 + 2 + if both { 4 } else { 0 } + if either { 5 } else { 0 };
        let want = if n == 5 { -1.0 } else { code as f32 };
        assert!(got.iter().all(|v| *v == want), "n {n}: {} instead of {want}", got[0]);
    }
}
