//! Owns the meaning of a top-k, by sorting, and what the host bodies give for the same values.

use std::cmp::Ordering;
use std::rc::Rc;

use tile_ir::ir::{Op, TopK};
use tile_ir::types::{Along, DType};
use tile_lang::prelude::*;

use super::{Eval, Grid, Stop, Val, extents};
use crate::fuzz::number::Num;

/// A base beyond this counts as this.
const MAX_BASE: u32 = 0x8000_0000;

/// An element with its index.
type Entry = (Num, u32);

/// What comes first: NaN, the larger number, the lower index.
fn order(a: &Entry, b: &Entry) -> Ordering {
    let numbers = match (a.0.int, b.0.int) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_) | None, _) => match (a.0.v.is_nan(), b.0.v.is_nan()) {
            (false, false) => b.0.v.partial_cmp(&a.0.v).unwrap_or(Ordering::Equal),
            (a, b) => b.cmp(&a),
        },
    };
    numbers.then(a.1.cmp(&b.1))
}

/// True when correct devices agree which of two elements comes first.
fn decided(a: &Num, b: &Num) -> bool {
    let error = a.e + b.e;
    // What may be NaN is unknown, so a NaN is certain.
    error == 0.0 || a.v.is_nan() || b.v.is_nan() || (f64::from(a.v) - f64::from(b.v)).abs() > 1.001 * error
}

/// The value at a place of a sorted line. Where the order is open, the values there differ by no more than the largest error.
fn shown(value: Num, sure: bool, largest_error: f64) -> Num {
    match value.int {
        Some(_) => value,
        None if value.is_unknown() || value.v.is_nan() => value,
        // Of a zero with an open sign too, the result is plus.
        None if value.v == 0.0 && value.e <= f64::from(f32::from_bits(1)) && sure => Num::exact(0.0),
        None => Num { e: if sure { value.e } else { largest_error }, ..value },
    }
}

impl Eval<'_> {
    /// `row_topk`, `col_topk`.
    pub(super) fn top_k(&mut self, op: &Op, what: &TopK) -> Result<Vec<Val>, Stop> {
        let &[values, _] = op.results.as_slice() else {
            return Err(Stop::Malformed("a top-k gives two tiles"));
        };
        let (rows, cols, dtype) = extents(self.kernel.ty(values))?;
        let tile = self.grid(what.tile)?;
        let running = match &what.running {
            None => None,
            Some(r) => Some((self.grid(r.values)?, self.grid(r.indices)?, self.u32(r.base)?.min(MAX_BASE))),
        };
        let (lines, room) = match what.along {
            Along::Rows => (rows, cols),
            Along::Cols => (cols, rows),
        };
        let line_of = |grid: &Grid, line: usize| -> Vec<Num> {
            match what.along {
                Along::Rows => grid.row(line).to_vec(),
                Along::Cols => grid.data.iter().skip(line).step_by(grid.cols).copied().collect(),
            }
        };
        self.spend(4 * tile.data.len())?;
        let k = what.k as usize;
        let least = if dtype == DType::I32 { Num::whole(i32::MIN) } else { Num::exact(f32::NEG_INFINITY) };
        let mut out = [vec![least; rows * cols], vec![Num::whole(-1); rows * cols]];
        for line in 0..lines {
            let mut all: Vec<Entry> = line_of(&tile, line).into_iter().zip(0..).collect();
            if let Some((values, indices, base)) = &running {
                all.iter_mut().for_each(|entry| entry.1 += base);
                for (value, index) in line_of(values, line).into_iter().zip(line_of(indices, line)).take(k) {
                    match index.int {
                        Some(-1) => {}
                        Some(index) => all.push((value, index as u32)),
                        // Correct devices may disagree about it.
                        None => all.push((Num::UNKNOWN, 0)),
                    }
                }
            }
            all.sort_by(order);
            let unknown = all.iter().any(|(value, _)| value.is_unknown());
            let largest_error = all.iter().map(|(value, _)| value.e).fold(0.0, f64::max);
            for (i, (value, index)) in all.iter().enumerate().take(k) {
                let at = match what.along {
                    Along::Rows => line * room + i,
                    Along::Cols => i * lines + line,
                };
                let sure = all.iter().enumerate().all(|(j, (other, _))| i == j || decided(value, other));
                out[0][at] = if unknown { Num::UNKNOWN } else { shown(*value, sure, largest_error) };
                out[1][at] = if unknown || !sure { Num::UNKNOWN } else { Num::whole(*index as i32) };
            }
        }
        if what.running.is_none() {
            self.agrees(refute(what, room, &tile, &out))?;
        }
        Ok(out.map(|data| Val::Grid(Rc::new(Grid { cols, data }))).to_vec())
    }
}

/// Applies the host body to tiles of sizes that the fuzzer makes; says where it gives something else.
fn refute(what: &TopK, room: usize, tile: &Grid, want: &[Vec<Num>; 2]) -> Option<String> {
    fn with<const M: usize, const N: usize>(
        what: &TopK,
        tile: &Grid,
        want: &[Vec<Num>; 2],
    ) -> Option<String> {
        let values: Vec<f32> = tile.data.iter().map(|x| x.v).collect();
        let x: rt<f32, M, N> = load(&gl::of(&values, M as u32, N as u32).ok()?, [0, 0]);
        let k = what.k as usize;
        // Rows of a result, and its values and indices one after the other.
        let found: Vec<(f32, i32)> = match what.along {
            Along::Rows => {
                let (v, i) = x.row_topk::<16>(k);
                (0..M * 16).map(|at| (v.get(at / 16, at % 16), i.get(at / 16, at % 16))).collect()
            }
            Along::Cols => {
                let (v, i) = x.col_topk::<8>(k);
                (0..8 * N).map(|at| (v.get(at / N, at % N), i.get(at / N, at % N))).collect()
            }
        };
        let wrong = found.iter().zip(want[0].iter().zip(&want[1])).position(|((v, i), (value, index))| {
            !value.admits(*v) || index.int.is_some_and(|index| index != *i)
        })?;
        Some(format!(
            "host `{}` of {M} x {N} gives {:?} at {wrong}, the evaluator {} and {}",
            what.name(),
            found[wrong],
            want[0][wrong],
            want[1][wrong]
        ))
    }
    let expected = if what.along == Along::Rows { 16 } else { 8 };
    if room != expected || tile.data.iter().any(|x| x.int.is_some()) {
        return None;
    }
    macro_rules! sizes {
        ($($m:literal: $($n:literal)+;)+) => {
            match (tile.data.len() / tile.cols.max(1), tile.cols) {
                $( $( ($m, $n) => with::<$m, $n>(what, tile, want), )+ )+
                _ => None,
            }
        };
    }
    sizes! { 8: 16 32 48; 16: 16 32 48; 24: 16 32 48; 32: 16 32 48; }
}
