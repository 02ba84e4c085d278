//! Barriers where every sub-group comes: under conditions and in loops that a whole work-group agrees on.

use tile_std::prelude::*;

#[tile_kernel(instances(<f32, 8, 16; subgroups = (2, 2)>, <bf16, 16, 16; subgroups = (2, 2)>))]
pub fn agreed<T: Element, const M: usize, const N: usize>(
    y: &mut gl<T>,
    x: &gl<T>,
    rounds: u32,
    lengths: &gl<f32>,
) {
    let at = own_tile::<M, N>(y, Linear);
    let mut s: sv<f32, 256> = shared();
    let mut sum: rv<f32, M, PerRow> = zeros();
    let tile: rt<T, M, N> = load(x, at);
    // Every sub-group of a work-group reads one length, and so takes the same way.
    if load_scalar(lengths, [0, at.group_row()]) < 0.5 {
        return;
    }
    let mut left = rounds;
    while left > 0 {
        if left == 7 {
            break;
        }
        store_vec_shared(&mut s, &tile.to::<f32>().row_sum(), subgroup_id());
        barrier_arrive();
        let turned = (subgroup_id() + left) % 4;
        barrier_wait();
        let part: rv<f32, M, PerRow> = load_vec_shared(&s, turned);
        sum = sum.add(&part);
        barrier();
        left = left - 1;
    }
    store(y, &tile.to::<f32>().add_row(&sum).to::<T>(), at);
}

pub fn main() {
    let x = Tensor::from_fn([1, 1, 19, 40], |_, _, r, c| ((r * 3 + c) % 5) as f32).unwrap();
    let lengths = Tensor::from_fn([1, 1, 1, 2], |_, _, _, c| if c == 1 { 0.0f32 } else { 1.0 }).unwrap();
    let mut y = Tensor::<f32>::zeros(19, 40).unwrap();
    agreed::launch::<f32, 8, 16>(&Device::host(), &mut y, &x, 4, &lengths).unwrap();
    let at = |r: usize, c: usize| x.get(0, 0, r, c).unwrap_or(0.0);
    for r in 0..19 {
        for c in 0..40 {
            let (group, row) = (c / 32, r % 8);
            let lines = [row, row + 8].map(|line| r / 16 * 16 + line);
            let sum: f32 = lines
                .iter()
                .flat_map(|line| (0..32).map(move |i| (*line, group * 32 + i)))
                .map(|(r, c)| at(r, c))
                .sum();
            let want = if r / 16 == 1 { 0.0 } else { at(r, c) + sum };
            assert_eq!(y.get(0, 0, r, c).unwrap(), want, "{r} {c}");
        }
    }
}
