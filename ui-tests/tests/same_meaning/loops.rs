//! `while`, `break` and `continue`: what they carry, and how they nest; integers of every width as counters.

use super::{on_both, ones, scalar_of, tensor};
use tile_std::prelude::*;

/// Tiles, vectors and scalars are carried by three loops that leave and go on early.
#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn nested(y: &mut gl<f32>, x: &gl<f32>, n: u32, stop: u32, skip: u32) {
    let at = own_tile::<8, 16>(y, Linear);
    let mut a: rt<f32, 8, 16> = load(x, at);
    let mut b: rt<f32, 8, 16> = fill(1.0);
    let mut v = a.row_max();
    let mut count = 0u32;
    let mut i = 0u32;
    while i < n {
        i += 1;
        let old = a;
        a = b;
        if i % skip == 0 {
            b = old.scale(0.5);
            continue;
        }
        b = old.add(&a);
        for j in 0..i {
            if j == stop {
                break;
            }
            count += 1;
            if (i + j) % 2 == 0 {
                continue;
            }
            let mut k = j;
            while k > 0 {
                k -= 1;
                v = v.scale(0.5).add(1.0);
                if k == 2 {
                    a = a.sub_row(&v);
                    break;
                }
                if k > 4 {
                    continue;
                }
                b = b.add(1.0);
            }
            if count > 40 {
                break;
            }
        }
        if count > 60 {
            v = v.neg();
            break;
        }
    }
    store(y, &a.scale(0.125).add(&b.add_row(&v)).add((count * 100 + i) as f32), at);
}

#[test]
fn nested_loops_carry_tiles_past_break_and_continue() {
    let x = tensor::<f32>(8, 16, |r, c| (r * 16 + c) as f32 / 64.0);
    for (n, stop, skip) in [(0, 0, 1), (1, 9, 2), (5, 9, 1), (7, 3, 3), (9, 99, 4), (12, 5, 99), (30, 30, 5)]
    {
        let [got] =
            on_both((8, 16), |_, _| -77.0, |device, [y]| nested::launch(device, y, &x, n, stop, skip));
        for r in 0..8 {
            let mut v = x.get(0, 0, r, 15).expect("inside");
            let mut a: Vec<f32> = (0..16).map(|c| x.get(0, 0, r, c).expect("inside")).collect();
            let mut b = vec![1.0f32; 16];
            let (mut count, mut i) = (0, 0);
            while i < n {
                i += 1;
                let old = a.clone();
                a = b.clone();
                if i % skip == 0 {
                    b = old.iter().map(|o| o * 0.5).collect();
                    continue;
                }
                b = old.iter().zip(&a).map(|(o, a)| o + a).collect();
                for j in 0..i {
                    if j == stop {
                        break;
                    }
                    count += 1;
                    if (i + j) % 2 == 0 {
                        continue;
                    }
                    let mut k = j;
                    while k > 0 {
                        k -= 1;
                        v = v * 0.5 + 1.0;
                        if k == 2 {
                            a.iter_mut().for_each(|a| *a -= v);
                            break;
                        }
                        if k > 4 {
                            continue;
                        }
                        b.iter_mut().for_each(|b| *b += 1.0);
                    }
                    if count > 40 {
                        break;
                    }
                }
                if count > 60 {
                    v = -v;
                    break;
                }
            }
            for c in 0..16 {
                let want = a[c] * 0.125 + (b[c] + v) + (count * 100 + i) as f32;
                assert_eq!(got[r * 16 + c], want, "n {n}, stop {stop}, skip {skip}: ({r}, {c})");
            }
        }
    }
}

/// A walk whose end is found in memory: the condition loads, and `return` leaves from within.
#[tile_kernel(instances(<; subgroups = (2, 1)>))]
fn until_zero(y: &mut gl<f32>, x: &gl<f32>, list: &gl<bf16>) {
    let at = own_tile::<8, 16>(y, Linear);
    if at.outside() {
        return;
    }
    let mut sum: rt<f32, 8, 16> = load(x, at);
    let mut i = 0u32;
    while load_scalar(list, [at.row(), i]) != 0.0 && i < 1000 {
        let by = load_scalar(list, [at.row(), i]);
        if by < 0.0 {
            store(y, &sum.scale(by), at);
            return;
        }
        sum = if by > 8.0 { sum.sub(by) } else { sum.add_col(&sum.col_max()) };
        i += 1;
    }
    store(y, &sum, at);
}

#[test]
fn a_condition_may_load_and_a_body_may_return() {
    let x = tensor::<f32>(20, 30, |r, c| ((r * 30 + c) % 23) as f32);
    let lists = [vec![1.0, 9.0, 2.0, 0.0, 5.0], vec![3.0, -2.0, 4.0], vec![7.0; 5]];
    let mut list = tensor::<bf16>(3, 5, |r, c| lists[r].get(c).copied().unwrap_or(0.0));
    list.fill_padding(bf16::NAN);
    let [got] = on_both((20, 30), |_, _| -77.0, |device, [y]| until_zero::launch(device, y, &x, &list));
    for (row, list) in lists.iter().enumerate() {
        for col in 0..2 {
            let at = |r: usize, c: usize| x.get(0, 0, row * 8 + r, col * 16 + c).unwrap_or(0.0);
            let mut sum: Vec<f32> = (0..128).map(|i| at(i / 16, i % 16)).collect();
            for by in list.iter().take(5).take_while(|v| **v != 0.0) {
                if *by < 0.0 {
                    sum.iter_mut().for_each(|v| *v *= by);
                    break;
                }
                let top: Vec<f32> =
                    (0..16).map(|c| (0..8).map(|r| sum[r * 16 + c]).fold(f32::NAN, f32::max)).collect();
                for (i, v) in sum.iter_mut().enumerate() {
                    *v = if *by > 8.0 { *v - by } else { *v + top[i % 16] };
                }
            }
            for (i, want) in sum.iter().enumerate() {
                let (r, c) = (row * 8 + i / 16, col * 16 + i % 16);
                if r < 20 && c < 30 {
                    assert_eq!(got[r * 30 + c], *want, "({r}, {c})");
                }
            }
        }
    }
}

/// Counts with `i32` and `u64`, up and down, past their 32-bit halves; `piece` chooses 16 bits to show.
#[tile_kernel(instances(<3; subgroups = (1, 1)>))]
fn counters<const STEP: usize>(
    y: &mut gl<f32>,
    ones: &gl<f32>,
    lo: i32,
    hi: i32,
    from: u64,
    to: u64,
    piece: u32,
) {
    let at = own_tile::<8, 16>(y, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    let mut low = 0i32;
    for i in (lo..hi).step_by(STEP) {
        if i == 5 {
            continue;
        }
        if i > 1000 {
            break;
        }
        low = low * 3 + i;
    }
    let mut n = hi;
    while n > lo {
        n -= 7;
        if n % 2 != 0 {
            low = low ^ n;
            continue;
        }
        low += 1;
    }
    let mut wide = from;
    for i in from..to {
        if i % 5 == 4 {
            continue;
        }
        wide = wide * 3 + i;
        if wide > 0x7000000000000000 {
            break;
        }
    }
    let mut left = to;
    while left > from {
        left = left - 1 - left % 3;
        wide ^= left << 7;
        if left < 4 {
            break;
        }
    }
    let shown = if piece < 4 {
        (wide >> (piece as u64 * 16)) & 0xffff
    } else {
        (low as u32 as u64 >> ((piece - 4) as u64 * 16)) & 0xffff
    };
    store(y, &one.scale(shown as f32), at);
}

#[test]
fn counters_of_every_width_go_on_and_leave_alike() {
    let ones = ones();
    let big = 1u64 << 32;
    for (lo, hi) in [(0, 0), (-9, 9), (5, -5), (-50, -3), (990, 1012), (i32::MIN + 9, i32::MIN + 50)] {
        for (from, to) in [(0, 0), (0, 9), (9, 3), (big - 4, big + 5), (u64::MAX - 20, u64::MAX - 1)] {
            let mut pieces = [0u64; 6];
            for (piece, got) in pieces.iter_mut().enumerate() {
                *got = scalar_of(|device, y| {
                    counters::launch::<3>(device, y, &ones, lo, hi, from, to, piece as u32)
                }) as u64;
            }
            let mut low = 0i32;
            for i in (lo..hi).step_by(3) {
                if i == 5 {
                    continue;
                }
                if i > 1000 {
                    break;
                }
                low = low.wrapping_mul(3).wrapping_add(i);
            }
            let mut n = hi;
            while n > lo {
                n = n.wrapping_sub(7);
                if n % 2 != 0 {
                    low ^= n;
                    continue;
                }
                low = low.wrapping_add(1);
            }
            let mut wide = from;
            for i in from..to {
                if i % 5 == 4 {
                    continue;
                }
                wide = wide.wrapping_mul(3).wrapping_add(i);
                if wide > 0x7000000000000000 {
                    break;
                }
            }
            let mut left = to;
            while left > from {
                left = left.wrapping_sub(1 + left % 3);
                wide ^= left << 7;
                if left < 4 {
                    break;
                }
            }
            let got = pieces[0] | pieces[1] << 16 | pieces[2] << 32 | pieces[3] << 48;
            assert_eq!(got, wide, "u64 of {from}..{to}");
            assert_eq!((pieces[4] | pieces[5] << 16) as u32, low as u32, "i32 of {lo}..{hi}");
        }
    }
}
