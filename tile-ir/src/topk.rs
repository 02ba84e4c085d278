//! Owns the order of elements in a top-k: a number without sign for every element, larger for what comes first.
//!
//! The order is total: NaN, all alike, then +inf down to -inf, zeros of both signs alike. Elements that are alike have one
//! number, and from it one value: NaN is the quiet NaN, a zero is +0.
//! *Not here*: what the op does (`ir::TopK`).

pub mod network;

/// The largest `k`.
pub const MAX_K: u32 = 32;

/// The largest index of a tile's first column or row beside running elements; a larger one counts as this. So indices never
/// wrap around, and none of a tile's elements is -1.
pub const MAX_BASE: u32 = 1 << 31;

/// The key of +inf; that of -inf is 0.
const INFINITY: u32 = 2 * 0x7F80_0000;
/// The key of NaN.
const NAN: u32 = INFINITY + 1;

/// The key of an f32.
///
/// ```
/// use tile_ir::topk::key;
///
/// let falling = [f32::NAN, f32::INFINITY, 1.0, 1e-45, 0.0, -1e-45, -2.0, f32::NEG_INFINITY];
/// assert!(falling.is_sorted_by(|a, b| key(*a) > key(*b)));
/// assert_eq!((key(-f32::NAN), key(-0.0)), (key(f32::NAN), key(0.0)));
/// ```
pub const fn key(x: f32) -> u32 {
    let bits = x.to_bits() as i32;
    // Sign and size as two's complement, then counted from -inf. The NaNs of both signs come to lie above +inf.
    let sign = bits >> 31;
    let signed = (bits ^ (sign & i32::MAX)).wrapping_sub(sign);
    let above = (signed as u32).wrapping_add(0x7F80_0000);
    if above > NAN { NAN } else { above }
}

/// The value of a key.
///
/// ```
/// use tile_ir::topk::{key, value};
///
/// assert_eq!((value(key(-1.5)), value(key(-0.0)).to_bits()), (-1.5, 0));
/// assert!(value(key(-f32::NAN)).is_nan());
/// ```
pub const fn value(key: u32) -> f32 {
    if key >= NAN {
        return f32::NAN;
    }
    let signed = key.wrapping_sub(0x7F80_0000) as i32;
    let size = signed.unsigned_abs();
    f32::from_bits(if signed < 0 { size | 0x8000_0000 } else { size })
}

/// The key of an i32.
pub const fn key_i32(x: i32) -> u32 {
    (x as u32) ^ 0x8000_0000
}

/// The value of the key of an i32.
pub const fn value_i32(key: u32) -> i32 {
    (key ^ 0x8000_0000) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_and_give_back_every_kind_of_number() {
        let sizes = [0u32, 1, 2, 0x007F_FFFF, 0x0080_0000, 0x3F80_0000, 0x7F7F_FFFF, 0x7F80_0000];
        let numbers: Vec<f32> =
            sizes.iter().flat_map(|&s| [s, s | 0x8000_0000]).map(f32::from_bits).collect();
        for &a in &numbers {
            assert_eq!(value(key(a)), a);
            assert!(key(a) < key(f32::NAN));
            for &b in &numbers {
                assert_eq!(a.partial_cmp(&b), Some(key(a).cmp(&key(b))), "{a} {b}");
            }
        }
        for nan in [0x7F80_0001, 0x7FFF_FFFF, 0xFF80_0001, 0xFFFF_FFFF] {
            assert_eq!(key(f32::from_bits(nan)), key(f32::NAN), "{nan:x}");
        }
        assert_eq!([i32::MIN, -1, 0, i32::MAX].map(|x| value_i32(key_i32(x))), [i32::MIN, -1, 0, i32::MAX]);
        assert!(key_i32(-1) < key_i32(0) && key_i32(i32::MIN) < key_i32(-1));
    }
}
