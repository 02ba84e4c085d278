//! `while` with `break` and `continue`, nested in and around `for`, with a tile and scalars carried.

use tile_std::prelude::*;

#[tile_kernel(instances(<8; subgroups = (1, 1)>))]
pub fn newton<const M: usize>(y: &mut gl<f32>, x: &gl<f32>, rounds: u32, most: i32) {
    let at = own_tile::<M, 16>(y, Linear);
    let goal: rt<f32, M, 16> = load(x, at);
    let mut root = goal.add(1.0).scale(0.5);
    let mut left = most;
    let mut done = false;
    while !done && left > 0 {
        left -= 1;
        for i in 0..rounds {
            if i % 2 == 1 {
                continue;
            }
            root = root.add(&goal.div(&root)).scale(0.5);
            while left > 10 {
                left -= 3;
                if left == 12 {
                    break;
                }
            }
        }
        if left < 2 {
            done = true;
        }
    }
    store(y, &root, at);
}

pub fn main() {
    let x = Tensor::from_fn([1, 1, 3, 5], |_, _, r, c| (1 + r * 5 + c) as f32).unwrap();
    let mut y = Tensor::<f32>::zeros(3, 5).unwrap();
    newton::launch::<8>(&Device::host(), &mut y, &x, 5, 20).unwrap();
    assert!(x.iter().zip(y.iter()).all(|(x, y)| (y - x.sqrt()).abs() < 1e-5));
}
