//! Owns what a kernel of the suite is launched on.
//!
//! A kernel takes its coordinates from its scalars: `n` counts tiles down, `w` across. *Guarantees*: coordinates 0, in the middle,
//! at the last tile, past the edge and at the end of `u32`; tensors that just fit, are ragged, or are smaller
//! than a tile; least and larger pitches, aligned bases and others; one plane and several.

use tile_ir::scalar::Const;
use tile_ir::types::DType;

use super::bodies::Body;
use crate::fuzz::program::{Case, Stmt};
use crate::fuzz::tensor::Spec;

/// Makes the kernel of a body, with the first of its launches.
pub fn kernel(seed: u64, body: &Body, types: [DType; 3], sizes: [u32; 3], subgroups: (u32, u32)) -> Case {
    let spec = |n: u64| Spec {
        batch: 1,
        depth: 1,
        rows: sizes[0],
        cols: sizes[1],
        x0: 0,
        extra_pitch: 0,
        repeated: false,
        seed: seed * 8 + n,
        odd: false,
    };
    Case {
        seed,
        types,
        sizes,
        flag: seed.is_multiple_of(2),
        is_unsafe: body.is_unsafe,
        functions: vec![],
        subgroups,
        body: body.lines.iter().map(|line| Stmt::line(line.as_str())).collect(),
        tensors: [spec(0), spec(1), spec(2), spec(3)],
        scalars: [
            Const::U32(0),
            Const::I32(-3),
            Const::U64(0),
            Const::F32(0.5f32.to_bits()),
            Const::Bool(true),
        ],
        order: ["Snake(2)", "Linear", "Upward"][(seed % 3) as usize],
    }
}

/// A launch: coordinates, shapes and places of the tensors.
struct Launch {
    down: u32,
    across: u64,
    /// Rows and columns beyond the tile.
    more: (i32, i32),
    planes: (u32, u32),
    x0: u32,
    extra_pitch: u32,
    odd: bool,
    number: f32,
    count: i32,
    switch: bool,
}

const fn launch(down: u32, across: u64, more: (i32, i32)) -> Launch {
    Launch {
        down,
        across,
        more,
        planes: (1, 1),
        x0: 0,
        extra_pitch: 0,
        odd: false,
        number: 0.5,
        count: -3,
        switch: true,
    }
}

/// The launches of every kernel.
const LAUNCHES: &[Launch] = &[
    launch(0, 0, (0, 0)),
    Launch { x0: 3, extra_pitch: 1, odd: true, number: -1.25, ..launch(1, 0, (5, 3)) },
    // The last tiles, both cut.
    Launch { x0: 1, odd: true, switch: false, number: -0.0, ..launch(1, 1, (9, 17)) },
    // Past the last row, and past the last column.
    Launch { odd: true, number: f32::INFINITY, ..launch(7, 0, (1, 1)) },
    Launch { extra_pitch: 3, switch: false, count: i32::MIN, ..launch(0, 9, (1, 1)) },
    Launch { x0: 15, number: f32::NAN, count: i32::MAX, ..launch(u32::MAX, u64::MAX, (0, 5)) },
    // Smaller than a tile.
    Launch { x0: 2, extra_pitch: 2, odd: true, number: 1e-39, ..launch(0, 0, (-7, -15)) },
    Launch { odd: true, count: 31, number: 3.0e38, ..launch(0, 33, (-3, -1)) },
    // Several planes and work-groups.
    Launch { planes: (2, 2), odd: true, number: 40.5, ..launch(0, 1, (20, 40)) },
    Launch { planes: (1, 3), x0: 5, extra_pitch: 1, switch: false, count: 0, ..launch(2, 0, (30, 16)) },
];

/// The launches of a kernel.
pub fn launches(kernel: &Case) -> Vec<Case> {
    let [m, n, k] = kernel.sizes;
    LAUNCHES
        .iter()
        .enumerate()
        .map(|(number, launch)| {
            let mut case = kernel.clone();
            for (i, spec) in case.tensors.iter_mut().enumerate() {
                let (tall, wide) = if i == 1 { (m.max(n), n.max(k)) } else { (m, n) };
                let extent = |tile: u32, more: i32| tile.saturating_add_signed(more).max(1);
                (spec.rows, spec.cols) = (extent(tall, launch.more.0), extent(wide, launch.more.1));
                (spec.batch, spec.depth) = launch.planes;
                (spec.x0, spec.extra_pitch, spec.odd) = (launch.x0, launch.extra_pitch, launch.odd && i > 0);
                // One plane for all batches, for one of the inputs.
                spec.repeated = i == 2 && number % 3 == 2;
            }
            case.scalars = [
                Const::U32(launch.down),
                Const::I32(launch.count),
                Const::U64(launch.across),
                Const::F32(launch.number.to_bits()),
                Const::Bool(launch.switch),
            ];
            case
        })
        .collect()
}
