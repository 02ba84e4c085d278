//! Owns the search for positions of extremes, as `tile_ir::ops::vector` defines them.
//!
//! An element's *key* orders as the op does: the better one of two has the larger key, equal elements (the two zeros) have equal
//! keys, and NaN has the least. *Guarantees*: one body for every CPU, whose loops over 16 lanes compilers turn into vector code.

use core::mem::MaybeUninit;

use tile_ir::ir::Extreme;
use tile_ir::types::Along;

use super::storage::{Filled, Unfilled};
use crate::element::Arithmetic;

const LANES: usize = 16;

/// The key of a word of an element of `T`.
#[inline(always)]
fn key<T: Arithmetic>(how: Extreme, word: f32) -> i32 {
    let bits = word.to_bits() as i32;
    if T::DTYPE.is_integer() {
        return match how {
            Extreme::Max => bits,
            Extreme::Min => !bits,
        };
    }
    let size = bits & i32::MAX;
    let up = if bits < 0 { -size } else { size };
    let key = match how {
        Extreme::Max => up,
        Extreme::Min => -up,
    };
    if size > f32::INFINITY.to_bits() as i32 { i32::MIN } else { key }
}

/// The first index of the largest key; 0 if there is none.
#[inline(always)]
fn first_largest(keys: impl Iterator<Item = i32>) -> i32 {
    let (mut best, mut at) = (i32::MIN, 0);
    for (i, key) in (0..).zip(keys) {
        if key > best {
            (best, at) = (key, i);
        }
    }
    at
}

/// The first position of the extreme of some elements.
#[inline(never)]
pub(crate) fn position<T: Arithmetic>(how: Extreme, values: &[f32]) -> i32 {
    let (groups, rest) = values.as_chunks::<LANES>();
    let (mut best, mut at) = ([i32::MIN; LANES], [i32::MAX; LANES]);
    for (first, group) in (0i32..).step_by(LANES).zip(groups) {
        let lanes = best.iter_mut().zip(&mut at).zip(group);
        for (index, ((best, at), value)) in (first..).zip(lanes) {
            let key = key::<T>(how, *value);
            let wins = key > *best || *at == i32::MAX;
            *best = if wins { key } else { *best };
            *at = if wins { index } else { *at };
        }
    }
    let tail = groups.len() * LANES;
    let all = best.into_iter().zip(at).filter(|(_, at)| *at != i32::MAX);
    let all = all.chain((tail as i32..).zip(rest).map(|(i, value)| (key::<T>(how, *value), i)));
    // The largest key, and of equal ones the least index.
    all.max_by_key(|(key, at)| (*key, core::cmp::Reverse(*at))).map_or(0, |(_, at)| at)
}

impl<'vector> Unfilled<'vector> {
    /// Writes, as integers, the positions of the extremes of `src`, a tile of `cols` columns; `along` is what stays.
    #[inline(always)]
    pub(crate) fn positions<T: Arithmetic>(
        mut self,
        how: Extreme,
        along: Along,
        cols: usize,
        src: &[f32],
    ) -> Filled<'vector> {
        let word = |at: i32| MaybeUninit::new(f32::from_bits(at as u32));
        let dst = self.memory();
        dst.fill(word(0));
        match along {
            Along::Rows => {
                for (to, row) in dst.iter_mut().zip(src.chunks_exact(cols.max(1))) {
                    *to = word(position::<T>(how, row));
                }
            }
            Along::Cols => {
                for (c, to) in dst.iter_mut().enumerate() {
                    let column = src.chunks_exact(cols.max(1)).map(|row| key::<T>(how, row[c]));
                    *to = word(first_largest(column));
                }
            }
        }
        // SAFETY: `fill` wrote all of it.
        unsafe { self.assume_filled() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_numbers_do() {
        let line = [f32::NAN, f32::NEG_INFINITY, -1.0, -1e-45, -0.0, 1e-45, 1.0, f32::INFINITY];
        for pair in line.windows(2) {
            assert!(key::<f32>(Extreme::Max, pair[0]) < key::<f32>(Extreme::Max, pair[1]), "{pair:?}");
        }
        for pair in line[1..].windows(2) {
            assert!(key::<f32>(Extreme::Min, pair[0]) > key::<f32>(Extreme::Min, pair[1]), "{pair:?}");
        }
        assert_eq!(key::<f32>(Extreme::Max, 0.0), key::<f32>(Extreme::Max, -0.0));
        assert!(key::<f32>(Extreme::Min, -f32::NAN) < key::<f32>(Extreme::Min, f32::INFINITY));
    }

    #[test]
    fn the_first_of_equals_is_found_in_every_length() {
        for len in 1..70usize {
            for at in 0..len {
                let values: Vec<f32> =
                    (0..len).map(|i| if i == at || i == len - 1 { 3.0 } else { -1.0 }).collect();
                assert_eq!(position::<f32>(Extreme::Max, &values), at as i32, "{len}");
                assert_eq!(position::<f32>(Extreme::Max, &vec![f32::NAN; len]), 0);
            }
        }
    }
}
