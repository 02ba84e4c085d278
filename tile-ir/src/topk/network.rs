//! Owns the networks that sort and merge: pairs of positions to be ordered one after the other, the larger first.
//!
//! A body that keeps a list per lane takes these steps without a branch, on a GPU as on the host.
//! *Assumes* lengths that are powers of two. *Guarantees*: right for whatever is compared, by the tests. Sorting 8 takes
//! 19 pairs, which is the fewest.

/// Sorts a list (Batcher's odd-even merge sort).
pub fn sort(len: usize) -> Vec<(usize, usize)> {
    let mut out = vec![];
    sort_part(0, len, &mut out);
    out
}

fn sort_part(first: usize, len: usize, out: &mut Vec<(usize, usize)>) {
    if len > 1 {
        sort_part(first, len / 2, out);
        sort_part(first + len / 2, len / 2, out);
        merge_part(first, len, 1, out);
    }
}

/// Sorts a list whose halves are sorted (Batcher's odd-even merge).
pub fn merge(len: usize) -> Vec<(usize, usize)> {
    let mut out = vec![];
    merge_part(0, len, 1, &mut out);
    out
}

fn merge_part(first: usize, len: usize, step: usize, out: &mut Vec<(usize, usize)>) {
    let next = 2 * step;
    if next >= len {
        out.push((first, first + step));
        return;
    }
    merge_part(first, len, next, out);
    merge_part(first + step, len, next, out);
    out.extend((first + step..first + len - step).step_by(next).map(|i| (i, i + step)));
}

/// Sorts a list that rises and falls but once, wherever it begins.
pub fn clean(len: usize) -> Vec<(usize, usize)> {
    let mut out = vec![];
    let mut distance = len / 2;
    while distance > 0 {
        out.extend((0..len).filter(|i| i & distance == 0).map(|i| (i, i | distance)));
        distance /= 2;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pairs: &[(usize, usize)], list: &mut [u32]) {
        for &(a, b) in pairs {
            if list[a] < list[b] {
                list.swap(a, b);
            }
        }
    }

    fn falls(list: &[u32]) -> bool {
        list.is_sorted_by(|a, b| a >= b)
    }

    // A network that sorts every list of zeros and ones sorts every list (the 0-1 principle).
    #[test]
    fn networks_sort_every_list_of_zeros_and_ones() {
        assert_eq!([1, 2, 4, 8, 16, 32].map(|n| sort(n).len()), [0, 1, 5, 19, 63, 191]);
        for len in [1, 2, 4, 8, 16] {
            for bits in 0..1u32 << len {
                let mut list: Vec<u32> = (0..len).map(|i| bits >> i & 1).collect();
                run(&sort(len), &mut list);
                assert!(falls(&list), "{len} {bits:b}");
            }
        }
        for len in [2, 4, 8, 16, 32] {
            for (a, b) in (0..=len / 2).flat_map(|a| (0..=len / 2).map(move |b| (a, b))) {
                let falling = |ones: usize| (0..len / 2).map(move |i| u32::from(i < ones));
                let mut list: Vec<u32> = falling(a).chain(falling(b)).collect();
                run(&merge(len), &mut list);
                assert!(falls(&list), "{len} {a} {b}");
            }
        }
        for len in [1, 2, 4, 8, 16, 32] {
            for (first, ones) in (0..len).flat_map(|first| (0..=len).map(move |ones| (first, ones))) {
                let mut list: Vec<u32> =
                    (0..len).map(|i| u32::from((i + len - first) % len < ones)).collect();
                run(&clean(len), &mut list);
                assert!(falls(&list), "{len} {first} {ones}");
            }
        }
    }

    // Lists of 32 have too many inputs to try; these are sorted and shuffled runs of different numbers.
    #[test]
    fn the_longest_list_is_sorted() {
        for seed in 0..1000u32 {
            let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
            let mut list: Vec<u32> = (0..32)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    state % 40
                })
                .collect();
            run(&sort(32), &mut list);
            assert!(falls(&list), "{seed}");
        }
    }
}
