//! Tiles of bytes and of tf32: products in every form, requantised output, at the edges of tensors.

use super::on_both;
use tile_std::prelude::*;

/// A product of bytes, and its rows scaled down to bytes.
#[tile_kernel(instances(<8, 32, 32; subgroups = (2, 1)>, <16, 64, 64; subgroups = (1, 2)>))]
fn bytes<const M: usize, const N: usize, const K: usize>(
    c: &mut gl<i32>,
    a: &gl<i8>,
    b: &gl<u8>,
    bt: &gl<i8>,
    which: u32,
) {
    let at = own_tile::<M, N>(c, Linear);
    if at.outside() {
        return;
    }
    let mut acc: rt<i32, M, N, Acc> = zeros();
    for k in 0..a.col_tiles(K) {
        let x: rt<i8, M, K> = load(a, [at.row(), k]);
        if which == 1 {
            let y: rt<i8, K, N, VnniT> = load_transpose(bt, [at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            let y: rt<u8, K, N, Vnni> = load_transform(b, [k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    if which == 2 {
        let small = acc.to::<f32>().scale(0.01).to::<i8>();
        store(c, &small.to::<i32>().mul(3), at);
        return;
    }
    store(c, &acc, at);
}

fn byte(seed: usize, r: usize, c: usize) -> i32 {
    let x = (r * 7919 + c * 104_729 + seed * 31).wrapping_mul(0x9E37_79B9) >> 7;
    if x.is_multiple_of(5) { [0x80, 0x7F, 0xFF, 0, 1][x / 5 % 5] } else { (x & 0xFF) as i32 }
}

#[test]
fn products_of_bytes_are_exact_and_requantise() {
    fn check<const M: usize, const N: usize, const K: usize>(m: usize, n: usize, k: usize)
    where
        bytes::Kernel: bytes::Compiled<M, N, K>,
    {
        let signed = |seed, r, c| byte(seed, r, c) as u8 as i8;
        let mut a = Tensor::from_fn([1, 1, m, k], |_, _, r, c| signed(1, r, c)).expect("small");
        let mut b = Tensor::from_fn([1, 1, k, n], |_, _, r, c| byte(2, r, c) as u8).expect("small");
        let mut bt = Tensor::from_fn([1, 1, n, k], |_, _, r, c| signed(3, r, c)).expect("small");
        a.fill_padding(-1);
        b.fill_padding(0xFF);
        bt.fill_padding(-1);
        for which in 0..3u32 {
            let [got] = on_both(
                (m, n),
                |_, _| -77,
                |device, [c]| bytes::launch::<M, N, K>(device, c, &a, &b, &bt, which),
            );
            for r in 0..m {
                for c in 0..n {
                    let right = |i: usize| {
                        if which == 1 { i32::from(signed(3, c, i)) } else { byte(2, i, c) & 0xFF }
                    };
                    let sum = (0..k).fold(0i32, |s, i| s.wrapping_add(i32::from(signed(1, r, i)) * right(i)));
                    let want = if which == 2 {
                        3 * ((sum as f32 * 0.01).round_ties_even() as i32).clamp(-128, 127)
                    } else {
                        sum
                    };
                    assert_eq!(got[r * n + c], want, "{which} {m}x{n}x{k} ({r}, {c})");
                }
            }
        }
    }
    for (m, n, k) in [(8, 32, 32), (1, 1, 1), (13, 37, 65), (20, 70, 100), (33, 65, 31), (5, 9, 0)] {
        check::<8, 32, 32>(m, n, k);
        check::<16, 64, 64>(m, n, k);
    }
}

/// Moves tiles of bytes and converts between them; outputs of bytes have tails.
#[tile_kernel(instances(<i8, u8; subgroups = (1, 1)>, <u8, i8; subgroups = (1, 2)>, <f32, i8; subgroups = (1, 1)>))]
fn converted<T: AnyElement, U: AnyElement>(c: &mut gl<U>, a: &gl<T>) {
    let at = own_tile::<8, 64>(c, Linear);
    let x: rt<T, 8, 64> = load(a, at);
    store(c, &x.to::<U>(), at);
}

#[test]
fn outputs_of_bytes_keep_their_edges() {
    for (m, n) in [(8, 64), (1, 1), (9, 65), (17, 127), (8, 62), (3, 131)] {
        let a = Tensor::from_fn([1, 1, m, n], |_, _, r, c| byte(4, r, c) as u8 as i8).expect("small");
        let [got] = on_both((m, n), |_, _| 77u8, |device, [c]| converted::launch::<i8, u8>(device, c, &a));
        let want = a.to_vec().into_iter().map(|v| v.max(0) as u8);
        assert!(got.iter().copied().eq(want), "i8 to u8 {m}x{n}");
        let a = Tensor::from_fn([1, 1, m, n], |_, _, r, c| byte(4, r, c) as u8).expect("small");
        let [got] = on_both((m, n), |_, _| 77i8, |device, [c]| converted::launch::<u8, i8>(device, c, &a));
        let want = a.to_vec().into_iter().map(|v| v.min(127) as i8);
        assert!(got.iter().copied().eq(want), "u8 to i8 {m}x{n}");
        let value = |r: usize, c: usize| match byte(5, r, c) {
            0 => f32::NAN,
            0x80 => f32::NEG_INFINITY,
            v => (v - 120) as f32 * 1.25,
        };
        let a = Tensor::from_fn([1, 1, m, n], |_, _, r, c| value(r, c)).expect("small");
        let [got] = on_both((m, n), |_, _| 77i8, |device, [c]| converted::launch::<f32, i8>(device, c, &a));
        let want = a.to_vec().into_iter().map(|v| v.round_ties_even() as i32);
        let want = want.map(|v| v.clamp(-128, 127) as i8);
        assert!(got.iter().copied().eq(want), "f32 to i8 {m}x{n}");
    }
}

/// A product of f32 tensors through tf32 operands.
#[tile_kernel(instances(<8, 16, 8; subgroups = (2, 2)>, <16, 48, 24; subgroups = (1, 1)>))]
fn single<const M: usize, const N: usize, const K: usize>(
    c: &mut gl<f32>,
    a: &gl<f32>,
    b: &gl<f32>,
    flip: bool,
) {
    let at = own_tile::<M, N>(c, Linear);
    if at.outside() {
        return;
    }
    let mut acc: rt<f32, M, N, Acc> = zeros();
    for k in 0..a.col_tiles(K) {
        let x: rt<tf32, M, K> = load(a, [at.row(), k]);
        if flip {
            let y: rt<tf32, K, N, VnniT> = load_transpose(b, [at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            let y: rt<tf32, K, N, Vnni> = load_transform(b, [k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    store(c, &acc, at);
}

#[test]
fn products_of_tf32_round_their_operands() {
    fn tf32_of(v: f32) -> f32 {
        let bits = v.to_bits();
        f32::from_bits((bits + 0xFFF + (bits >> 13 & 1)) & !0x1FFF)
    }
    fn check<const M: usize, const N: usize, const K: usize>(m: usize, n: usize, k: usize)
    where
        single::Kernel: single::Compiled<M, N, K>,
    {
        let value = |seed: usize, r: usize, c: usize| {
            let v = byte(seed, r, c);
            // Small numbers that tf32 has, plus bits it has not: products and sums of the rounded ones are exact.
            (v % 32 - 15) as f32 * (1.0 + f32::EPSILON * (v * 31 % 8192) as f32)
        };
        for flip in [false, true] {
            let mut a = Tensor::from_fn([1, 1, m, k], |_, _, r, c| value(1, r, c)).expect("small");
            let shape = if flip { [1, 1, n, k] } else { [1, 1, k, n] };
            let of_b = |r, c| if flip { value(2, c, r) } else { value(2, r, c) };
            let mut b = Tensor::from_fn(shape, |_, _, r, c| of_b(r, c)).expect("small");
            a.fill_padding(f32::NAN);
            b.fill_padding(f32::NAN);
            let [got] = on_both(
                (m, n),
                |_, _| -77.0,
                |device, [c]| single::launch::<M, N, K>(device, c, &a, &b, flip),
            );
            for r in 0..m {
                for c in 0..n {
                    let want = (0..k)
                        .fold(0.0f32, |sum, i| tf32_of(value(1, r, i)).mul_add(tf32_of(value(2, i, c)), sum));
                    assert_eq!(got[r * n + c], want, "{flip} {m}x{n}x{k} ({r}, {c})");
                }
            }
        }
    }
    for (m, n, k) in [(8, 16, 8), (1, 1, 1), (13, 37, 21), (20, 50, 30), (5, 9, 0)] {
        check::<8, 16, 8>(m, n, k);
        check::<16, 48, 24>(m, n, k);
    }
}
