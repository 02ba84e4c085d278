//! Scalar arithmetic, comparisons, casts and control flow over scalars.

use super::{on_both, ones, scalar_of};
use tile_std::prelude::*;

/// Gives the `u32` of a kernel that writes its upper 16 bits to one output and its lower 16 bits to another.
fn u32_of(
    launch: impl Fn(&Device, &mut Tensor<f32>, &mut Tensor<f32>) -> Result<Report, LaunchError>,
) -> u32 {
    let [high, low] = on_both((8, 16), |_, _| -77.0, |device, [high, low]| launch(device, high, low));
    (high[0] as u32) << 16 | low[0] as u32
}

const U32S: [u32; 10] = [0, 1, 2, 3, 31, 32, 33, 0x8000_0000, u32::MAX - 1, u32::MAX];

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn u32_ops(high: &mut gl<f32>, low: &mut gl<f32>, ones: &gl<f32>, op: u32, x: u32, y: u32) {
    let at = own_tile::<8, 16>(high, Linear);
    let mut r = 0u32;
    if op == 0 {
        r = x + y;
    } else if op == 1 {
        r = x - y;
    } else if op == 2 {
        r = x * y;
    } else if op == 3 {
        r = x / y;
    } else if op == 4 {
        r = x % y;
    } else if op == 5 {
        r = x << y;
    } else if op == 6 {
        r = x >> y;
    } else if op == 7 {
        r = x.min(y);
    } else if op == 8 {
        r = x.max(y);
    } else if op == 9 {
        r = (x & y) | (x ^ 5);
    } else if op == 10 {
        r = !x;
    } else if op == 11 {
        r = (x < y) as u32 + 2 * (x <= y) as u32 + 4 * (x == y) as u32 + 8 * (x > y || x != y) as u32;
    } else if op == 12 {
        r += x;
        r -= y;
        r *= 3;
        r <<= 1;
        r |= 1;
    } else {
        r = x as u64 as i32 as u32;
    }
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(high, &one.scale((r >> 16) as f32), at);
    store(low, &one.scale((r & 0xffff) as f32), at);
}

#[test]
fn u32_arithmetic_wraps_divides_by_zero_and_shifts_modulo_32() {
    let ones = ones();
    let plain: [fn(u32, u32) -> u32; 14] = [
        |x, y| x.wrapping_add(y),
        |x, y| x.wrapping_sub(y),
        |x, y| x.wrapping_mul(y),
        |x, y| x.checked_div(y).unwrap_or(0),
        |x, y| x.checked_rem(y).unwrap_or(0),
        |x, y| x.wrapping_shl(y),
        |x, y| x.wrapping_shr(y),
        |x, y| x.min(y),
        |x, y| x.max(y),
        |x, y| (x & y) | (x ^ 5),
        |x, _| !x,
        |x, y| (x < y) as u32 + 2 * (x <= y) as u32 + 4 * (x == y) as u32 + 8 * (x != y) as u32,
        |x, y| (x.wrapping_sub(y).wrapping_mul(3) << 1) | 1,
        |x, _| x,
    ];
    for (op, plain) in (0..).zip(plain) {
        for x in U32S {
            for y in U32S {
                let got = u32_of(|device, high, low| u32_ops::launch(device, high, low, &ones, op, x, y));
                assert_eq!(got, plain(x, y), "op {op} of {x} and {y}");
            }
        }
    }
}

const I32S: [i32; 9] = [0, 1, -1, 2, 33, -33, 0x4000_0000, i32::MIN, i32::MAX];

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn i32_ops(high: &mut gl<f32>, low: &mut gl<f32>, ones: &gl<f32>, op: u32, x: i32, y: i32) {
    let at = own_tile::<8, 16>(high, Linear);
    let r = if op == 0 {
        x + y
    } else if op == 1 {
        x - y
    } else if op == 2 {
        x * y
    } else if op == 3 {
        x / y
    } else if op == 4 {
        x % y
    } else if op == 5 {
        x << y
    } else if op == 6 {
        x >> y
    } else if op == 7 {
        x.min(y)
    } else if op == 8 {
        x.max(y)
    } else if op == 9 {
        -x
    } else if op == 10 {
        (x < y) as i32 - 2 * (x >= y) as i32
    } else {
        x as u64 as u32 as i32
    };
    let bits = r as u32;
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(high, &one.scale((bits >> 16) as f32), at);
    store(low, &one.scale((bits & 0xffff) as f32), at);
}

#[test]
fn i32_arithmetic_wraps_divides_by_zero_and_shifts_with_its_sign() {
    let ones = ones();
    let plain: [fn(i32, i32) -> i32; 12] = [
        |x, y| x.wrapping_add(y),
        |x, y| x.wrapping_sub(y),
        |x, y| x.wrapping_mul(y),
        |x, y| if y == 0 { 0 } else { x.wrapping_div(y) },
        |x, y| if y == 0 { 0 } else { x.wrapping_rem(y) },
        |x, y| x.wrapping_shl(y as u32),
        |x, y| x.wrapping_shr(y as u32),
        |x, y| x.min(y),
        |x, y| x.max(y),
        |x, _| x.wrapping_neg(),
        |x, y| (x < y) as i32 - 2 * (x >= y) as i32,
        |x, _| x,
    ];
    for (op, plain) in (0..).zip(plain) {
        for x in I32S {
            for y in I32S {
                let got = u32_of(|device, high, low| i32_ops::launch(device, high, low, &ones, op, x, y));
                assert_eq!(got as i32, plain(x, y), "op {op} of {x} and {y}");
            }
        }
    }
}

const U64S: [u64; 8] = [0, 1, 3, 33, 65, 0xffff_ffff, 0x8000_0000_0000_0001, u64::MAX];

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn u64_ops(high: &mut gl<f32>, low: &mut gl<f32>, ones: &gl<f32>, op: u32, upper: bool, x: u64, y: u64) {
    let at = own_tile::<8, 16>(high, Linear);
    let mut r = x;
    if op == 0 {
        r = x + y;
    } else if op == 1 {
        r = x - y;
    } else if op == 2 {
        r = x * y;
    } else if op == 3 {
        r = x / y;
    } else if op == 4 {
        r = x % y;
    } else if op == 5 {
        r = x << y;
    } else if op == 6 {
        r = x >> y;
    } else if op == 7 {
        r = x.min(y) ^ x.max(y);
    } else if op == 8 {
        r = (x as i32) as u64;
    }
    let half = if upper { (r >> 32) as u32 } else { r as u32 };
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(high, &one.scale((half >> 16) as f32), at);
    store(low, &one.scale((half & 0xffff) as f32), at);
}

#[test]
fn u64_arithmetic_wraps_divides_by_zero_and_shifts_modulo_64() {
    let ones = ones();
    let plain: [fn(u64, u64) -> u64; 10] = [
        |x, y| x.wrapping_add(y),
        |x, y| x.wrapping_sub(y),
        |x, y| x.wrapping_mul(y),
        |x, y| x.checked_div(y).unwrap_or(0),
        |x, y| x.checked_rem(y).unwrap_or(0),
        |x, y| x.wrapping_shl(y as u32),
        |x, y| x.wrapping_shr(y as u32),
        |x, y| x.min(y) ^ x.max(y),
        |x, _| x as i32 as u64,
        |x, _| x,
    ];
    for (op, plain) in (0..).zip(plain) {
        for x in U64S {
            for y in U64S {
                let half = |upper| {
                    u32_of(|device, high, low| u64_ops::launch(device, high, low, &ones, op, upper, x, y))
                };
                let got = u64::from(half(true)) << 32 | u64::from(half(false));
                assert_eq!(got, plain(x, y), "op {op} of {x} and {y}");
            }
        }
    }
}

const F32S: [f32; 12] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0e7,
    4.0e9,
    1.0e20,
    -1.0e20,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn f32_ops(c: &mut gl<f32>, ones: &gl<f32>, op: u32, x: f32, y: f32) {
    let at = own_tile::<8, 16>(c, Linear);
    let r = if op == 0 {
        x + y
    } else if op == 1 {
        x - y
    } else if op == 2 {
        x * y
    } else if op == 3 {
        x / y
    } else if op == 4 {
        x.min(y)
    } else if op == 5 {
        x.max(y)
    } else if op == 6 {
        -x
    } else if op == 7 {
        let less = if x < y { 1.0 } else { 0.0 };
        let equal = if x == y { 2.0 } else { 0.0 };
        let other = if x != y { 4.0 } else { 0.0 };
        let more = if x >= y { 8.0 } else { 0.0 };
        let not_more = if !(x > y) { 16.0 } else { 0.0 };
        less + equal + other + more + not_more
    } else {
        x * 0.1 + y
    };
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(c, &one.scale(r), at);
}

fn larger(x: f32, y: f32) -> f32 {
    if x.is_nan() || y > x { y } else { x }
}

fn smaller(x: f32, y: f32) -> f32 {
    if x.is_nan() || y < x { y } else { x }
}

#[test]
fn f32_arithmetic_follows_ieee_and_min_and_max_prefer_the_number_to_the_nan() {
    let ones = ones();
    let plain: [fn(f32, f32) -> f32; 9] = [
        |x, y| x + y,
        |x, y| x - y,
        |x, y| x * y,
        |x, y| x / y,
        smaller,
        larger,
        |x, _| -x,
        |x, y| {
            (x < y) as u32 as f32
                + 2.0 * (x == y) as u32 as f32
                + 4.0 * (x != y) as u32 as f32
                + 8.0 * (x >= y) as u32 as f32
                + if x > y { 0.0 } else { 16.0 }
        },
        |x, y| x * 0.1 + y,
    ];
    for (op, plain) in (0..).zip(plain) {
        for x in F32S {
            for y in F32S {
                // Which zero `min` and `max` give of 0.0 and -0.0 is open, in Rust and in OpenCL.
                if matches!(op, 4 | 5) && x == 0.0 && y == 0.0 && x.to_bits() != y.to_bits() {
                    continue;
                }
                let got = scalar_of(|device, c| f32_ops::launch(device, c, &ones, op, x, y));
                let want = plain(x, y);
                assert!(
                    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                    "op {op} of {x} and {y}: {got}, plain Rust gives {want}"
                );
            }
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn float_casts(high: &mut gl<f32>, low: &mut gl<f32>, ones: &gl<f32>, to: u32, x: f32) {
    let at = own_tile::<8, 16>(high, Linear);
    let mut bits = x as u32;
    if to == 1 {
        bits = x as i32 as u32;
    } else if to == 2 {
        bits = x as u64 as u32;
    } else if to == 3 {
        bits = (x as u64 >> 32) as u32;
    }
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(high, &one.scale((bits >> 16) as f32), at);
    store(low, &one.scale((bits & 0xffff) as f32), at);
}

#[test]
fn casts_from_f32_truncate_and_saturate_and_nan_gives_0() {
    let ones = ones();
    let plain: [fn(f32) -> u32; 4] =
        [|x| x as u32, |x| x as i32 as u32, |x| x as u64 as u32, |x| (x as u64 >> 32) as u32];
    let values = [0.99, -0.99, -2.0, 2147483648.0, -2147483648.0, 4294967296.0, 1.8446744e19, -1.0e20];
    for (to, plain) in (0..).zip(plain) {
        for x in values.into_iter().chain(F32S) {
            let got = u32_of(|device, high, low| float_casts::launch(device, high, low, &ones, to, x));
            assert_eq!(got, plain(x), "cast {to} of {x}");
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn casts_to_float(c: &mut gl<f32>, ones: &gl<f32>, from: u32, u: u32, i: i32, w: u64, b: bool) {
    let at = own_tile::<8, 16>(c, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    let r = if from == 0 {
        u as f32
    } else if from == 1 {
        i as f32
    } else if from == 2 {
        w as f32
    } else {
        (b as u32) as f32
    };
    store(c, &one.scale(r), at);
}

#[test]
fn casts_to_f32_round_to_nearest_even() {
    let ones = ones();
    for v in [0, 1, 0x0100_0001, 0x0100_0003, 0x7fff_ffc0, 0xffff_ff7f, 0xffff_ff80, u64::MAX, 1 << 40 | 1] {
        let (u, i, w, b) = (v as u32, v as i32, v, v & 1 == 1);
        for (from, want) in (0..).zip([u as f32, i as f32, w as f32, b as u32 as f32]) {
            let got = scalar_of(|device, c| casts_to_float::launch(device, c, &ones, from, u, i, w, b));
            assert_eq!(got, want, "cast {from} of {v}");
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn loops(c: &mut gl<f32>, ones: &gl<f32>, lo: u32, hi: u32, skip: bool) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut sum = 0u32;
    let mut last = 7u32;
    for i in lo..hi {
        for j in (0..i).step_by(3) {
            if skip && j % 2 == 0 {
                sum += 1;
            } else {
                sum = sum + i * j;
                last = j;
            }
        }
        for _ in i..2 {
            sum *= 2;
        }
        let sum = last;
        last = sum + 1;
    }
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(c, &one.scale((sum % 65536 * 64 + last % 64) as f32), at);
}

#[test]
fn nested_loops_with_steps_carry_their_scalars() {
    let ones = ones();
    let plain = |lo: u32, hi: u32, skip: bool| {
        let (mut sum, mut last) = (0u32, 7u32);
        for i in lo..hi {
            for j in (0..i).step_by(3) {
                if skip && j % 2 == 0 {
                    sum += 1;
                } else {
                    sum += i * j;
                    last = j;
                }
            }
            for _ in i..2 {
                sum *= 2;
            }
            last += 1;
        }
        (sum % 65536 * 64 + last % 64) as f32
    };
    for (lo, hi) in [(0, 0), (0, 1), (3, 1), (0, 9), (1, 20), (u32::MAX, u32::MAX), (u32::MAX, 0)] {
        for skip in [false, true] {
            let got = scalar_of(|device, c| loops::launch(device, c, &ones, lo, hi, skip));
            assert_eq!(got, plain(lo, hi, skip), "{lo}..{hi}, {skip}");
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn signed_and_wide_loops(c: &mut gl<f32>, ones: &gl<f32>, lo: i32, hi: i32, from: u64) {
    let at = own_tile::<8, 16>(c, Linear);
    let mut sum = 0i32;
    for i in (lo..hi).step_by(2) {
        sum += i;
    }
    let mut count = 0u32;
    for _ in from..from + 3 {
        count += 1;
    }
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    store(c, &one.scale((sum * 8) as f32 + count as f32), at);
}

#[test]
fn loops_count_with_i32_and_u64_to_the_ends_of_their_ranges() {
    let ones = ones();
    let ends = [(-5, 6), (i32::MAX - 3, i32::MAX), (i32::MIN, i32::MIN + 5), (3, -3)];
    for (lo, hi) in ends {
        for from in [0, 1 << 40, u64::MAX - 3, u64::MAX - 1] {
            let sum = (lo..hi).step_by(2).fold(0i32, |sum, i| sum.wrapping_add(i));
            let count = (from..from.wrapping_add(3)).count();
            let got = scalar_of(|device, c| signed_and_wide_loops::launch(device, c, &ones, lo, hi, from));
            assert_eq!(got, sum.wrapping_mul(8) as f32 + count as f32, "{lo}..{hi}, {from}");
        }
    }
}

#[tile_kernel(instances(<; subgroups = (1, 1)>))]
fn early_return(c: &mut gl<f32>, ones: &gl<f32>, n: u32, positive: bool) {
    let at = own_tile::<8, 16>(c, Linear);
    if at.outside() {
        return;
    }
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    if n == 0 {
        return;
    } else if n > 100 {
        store(c, &one.scale(100.0), at);
        return;
    }
    if !positive && n > 5 {
        store(c, &one.scale(-(n as f32)), at);
    } else {
        store(c, &one.scale(n as f32), at);
    }
}

#[test]
fn an_early_return_leaves_what_was_stored() {
    let ones = ones();
    for (n, positive, want) in
        [(0, true, -77.0), (101, true, 100.0), (7, true, 7.0), (7, false, -7.0), (5, false, 5.0)]
    {
        let got = scalar_of(|device, c| early_return::launch(device, c, &ones, n, positive));
        assert_eq!(got, want, "{n}, {positive}");
    }
}

#[tile_kernel(instances(<true, 3; subgroups = (1, 1)>, <false, 40; subgroups = (1, 1)>))]
fn constants<const FLAG: bool, const N: usize>(c: &mut gl<f32>, ones: &gl<f32>, x: bool) {
    let at = own_tile::<8, 16>(c, Linear);
    let one: rt<f32, 8, 16> = load(ones, [0, 0]);
    let size = (N * 2 + 1) as u32;
    let small = N < 10;
    let mut r = if FLAG && x { 1u32 } else { 2 };
    if N >= 10 {
        r += 4;
    }
    if small == x {
        r += 8;
    }
    if FLAG != x {
        r += 16;
    }
    let literal = 300 as u32 + 0x10 + (-1i32 as u32) % 16;
    store(c, &one.scale((r * 1000 + size + literal) as f32), at);
}

#[test]
fn constants_are_what_the_instance_says() {
    let ones = ones();
    for x in [false, true] {
        let got = scalar_of(|device, c| constants::launch::<true, 3>(device, c, &ones, x));
        let r = if x { 1 } else { 2 } + if x { 8 } else { 0 } + if x { 0 } else { 16 };
        assert_eq!(got, (r * 1000 + 7 + 331) as f32);
        let got = scalar_of(|device, c| constants::launch::<false, 40>(device, c, &ones, x));
        let r = 2 + 4 + if x { 0 } else { 8 } + if x { 16 } else { 0 };
        assert_eq!(got, (r * 1000 + 81 + 331) as f32);
    }
}
