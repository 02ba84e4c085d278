//! Work-group orders and ownership, against the rules written out and by exhaustion.

use std::collections::HashSet;

use tile_lang::launch::{Arg, Args, Cx, RawGlobal};
use tile_lang::place::Order;
use tile_lang::prelude::*;
use tile_lang::{DType, ops};

fn orders() -> impl Iterator<Item = Order> {
    [Linear, Upward].into_iter().chain([0, 1, 2, 3, 5, 8, 100, u32::MAX].map(Snake))
}

#[test]
fn every_order_visits_every_place_of_every_grid_once() {
    let most = if cfg!(miri) { 3 } else { 20 };
    for order in orders() {
        for rows in 1..=most {
            for cols in 1..=most {
                let places: HashSet<_> =
                    (0..u64::from(rows * cols)).map(|id| order.place(id, (rows, cols))).collect();
                assert_eq!(places.len(), (rows * cols) as usize, "{order:?} on {rows} x {cols}");
                assert!(places.iter().all(|&(r, c)| r < rows.into() && c < cols.into()));
            }
        }
    }
}

#[test]
fn snake_walks_stacks_down_and_up_and_rows_right_and_left() {
    // Three rows, stacks of 2 and 2 and 1 columns.
    let walk: Vec<_> = (0..15).map(|id| Snake(2).place(id, (3, 5))).collect();
    let expected = [
        (0, 0),
        (0, 1),
        (1, 1),
        (1, 0),
        (2, 0),
        (2, 1),
        (2, 2),
        (2, 3),
        (1, 3),
        (1, 2),
        (0, 2),
        (0, 3),
        (0, 4),
        (1, 4),
        (2, 4),
    ];
    assert_eq!(walk, expected);
    let linear: Vec<_> = (0..6).map(|id| Linear.place(id, (2, 3))).collect();
    assert_eq!(linear, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    let upward: Vec<_> = (0..6).map(|id| Upward.place(id, (2, 3))).collect();
    assert_eq!(upward, [(1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (0, 2)]);
}

#[test]
fn huge_grids_neither_overflow_nor_leave_the_grid() {
    let grid = (u32::MAX, u32::MAX);
    let last = u64::from(u32::MAX) * u64::from(u32::MAX) - 1;
    for order in orders() {
        for id in [0, 1, last / 2, last] {
            let (row, col) = order.place(id, grid);
            assert!(row < grid.0.into() && col < grid.1.into(), "{order:?} {id}");
        }
    }
}

/// The tiles that all sub-groups of a launch over a `batch x depth x rows x cols` output own.
#[allow(unsafe_code, reason = "stands in for the host device, which vouches for pointers")]
fn owned(shape: [u32; 4], subgroups: (u32, u32), order: Order) -> Vec<([u32; 4], bool)> {
    let [batch, depth, rows, cols] = shape;
    let plane = u64::from(rows * cols);
    let mut data = vec![0f32; shape.iter().product::<u32>() as usize];
    // SAFETY: the vector has all elements of the shape and outlives the arguments.
    let raw = unsafe {
        let strides = (plane * u64::from(depth), plane);
        RawGlobal::new(DType::F32, data.as_mut_ptr().cast(), shape, cols, strides, true)
    };
    let args = [Arg::Global(raw)];
    let grid = (rows.div_ceil(8).div_ceil(subgroups.0), cols.div_ceil(16).div_ceil(subgroups.1));
    let mut all = vec![];
    for group in 0..u64::from(grid.0 * grid.1 * batch * depth) {
        for subgroup in 0..subgroups.0 * subgroups.1 {
            let cx = Cx { group, grid, planes: (batch, depth), subgroup, subgroups };
            // SAFETY: every place is bound once.
            let args = unsafe { Args::new(&cx, &args) };
            let c = args.global_mut::<f32>(0);
            let at = ops::place::own_tile_in::<8, 16>(&cx, &c, order);
            all.push(([at.batch(), at.depth(), at.row(), at.col()], at.outside()));
        }
    }
    all
}

#[test]
fn sub_groups_own_every_tile_of_the_output_once() {
    for order in orders() {
        for subgroups in [(1, 1), (2, 2), (8, 4), (3, 1)] {
            for shape in [[1, 1, 8, 16], [1, 1, 50, 70], [2, 3, 9, 33], [1, 1, 1, 1], [3, 1, 40, 16]] {
                let all = owned(shape, subgroups, order);
                let distinct: HashSet<_> = all.iter().map(|(at, _)| *at).collect();
                assert_eq!(distinct.len(), all.len(), "{order:?} {shape:?}: a tile has two owners");
                let inside = all.iter().filter(|(_, outside)| !outside).count() as u32;
                let [batch, depth, rows, cols] = shape;
                assert_eq!(inside, batch * depth * rows.div_ceil(8) * cols.div_ceil(16));
            }
        }
    }
    assert!(owned([1, 1, 0, 16], (2, 2), Linear).is_empty());
}

#[test]
fn places_in_a_work_group_go_row_after_row() {
    let cx = Cx { subgroup: 6, subgroups: (2, 4), ..Cx::SOLO };
    assert_eq!(ops::place::subgroup_id_in(&cx), 6);
    assert_eq!((ops::place::subgroup_row_in(&cx), ops::place::subgroup_col_in(&cx)), (1, 2));
}
