//! T001: the attribute goes on a function.

use tile_std::prelude::*;

#[tile_kernel(instances(<16; subgroups = (1, 1)>))]
struct Kernel;

fn main() {}
