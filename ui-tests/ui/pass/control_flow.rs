//! Loops, branches as values, shadowing, early return, compound assignment.

use tile_std::prelude::*;

#[tile_kernel(instances(<4; subgroups = (1, 1)>))]
pub fn control<const STEP: usize>(c: &mut gl<f32>, a: &gl<f32>, n: u32, flip: bool) {
    let at = own_tile::<8, 16>(c, Linear);
    if at.outside() || n == 0 {
        return;
    }
    let x: rt<f32, 8, 16> = load(a, at);
    let mut sum = 0u32;
    for i in (0..n).step_by(STEP) {
        let i = i + 1;
        if i % 2 == 1 {
            sum += i;
        } else {
            for _ in 0..i {
                sum <<= 1;
            }
        }
    }
    let factor = if flip { -(sum as f32) } else { sum as f32 };
    let out = if n > 100 { x.scale(factor) } else { x };
    store(c, &out, at);
}

pub fn main() {
    let a = Tensor::from_fn([1, 1, 2, 2], |_, _, _, _| 1.0f32).unwrap();
    let mut c = Tensor::<f32>::zeros(2, 2).unwrap();
    control::launch::<4>(&Device::host(), &mut c, &a, 101, true).unwrap();
    assert_eq!(c.get(0, 0, 0, 0), Some(-(1..=101).step_by(4).sum::<i32>() as f32));
}
