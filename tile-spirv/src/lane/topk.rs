//! Owns `row_topk` and `col_topk`: a list per column in memory, which most elements do not enter.
//!
//! Sixteen columns are looked at together. An element is compared with the last of its column's list, and where one of sixteen
//! comes before that, it sinks into the lists from the top. Rows are columns of the transposed tile.
//!
//! *Guarantees*: the order of `tile_ir::topk`, of equal elements the lower index first, and the bits of the host.
//! *Not here*: keys (`ops::topk`).

use rspirv::spirv::Op as Inst;
use tile_ir::ir::{Op, TopK};
use tile_ir::topk::MAX_BASE;
use tile_ir::types::{Along, DType};

use super::selection::{BOOLS, WORDS};
use super::slabs::Slab;
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::{Id, Ty};

/// The lists of 16 columns: vectors of keys and of indices, the first ones first.
#[derive(Clone, Copy)]
struct Lists {
    keys: Slab,
    indices: Slab,
}

/// Values and indices with a column per list.
#[derive(Clone, Copy)]
struct Pair {
    values: Slab,
    indices: Slab,
}

/// Running elements, and the index of the tile's first element.
type Before = Option<(Pair, Id)>;

/// No element: behind every element, by its index.
const NONE: u64 = u32::MAX as u64;

impl Lowering<'_> {
    /// `row_topk`, `col_topk`.
    pub(crate) fn lane_top_k(&mut self, op: &Op, what: &TopK) -> Result<(), LowerError> {
        let &[values, indices] = op.results.as_slice() else {
            return Err(LowerError::Malformed("a top-k gives two tiles"));
        };
        let from = self.slab(what.tile)?;
        let out = Pair { values: self.new_slab(values)?, indices: self.new_slab(indices)? };
        let before = match &what.running {
            None => None,
            Some(running) => {
                let pair = Pair { values: self.slab(running.values)?, indices: self.slab(running.indices)? };
                let (base, most) = (self.scalar(running.base)?, self.e.u32(MAX_BASE));
                Some((pair, self.e.min(U32, base, most)))
            }
        };
        match what.along {
            Along::Cols => self.top_of(what.k, from, before, out),
            Along::Rows => self.turned(from, |s, from| {
                let rows = |slab: Slab| (slab.dtype, slab.cols, slab.rows);
                s.scratch(rows(out.values), |s, values| {
                    s.scratch(rows(out.indices), |s, indices| {
                        let turned = Pair { values, indices };
                        match before {
                            None => s.top_of(what.k, from, None, turned)?,
                            Some((pair, base)) => s.turned(pair.values, |s, values| {
                                s.turned(pair.indices, |s, indices| {
                                    s.top_of(what.k, from, Some((Pair { values, indices }, base)), turned)
                                })
                            })?,
                        }
                        s.transpose_slab(values, out.values)?;
                        s.transpose_slab(indices, out.indices)
                    })
                })
            }),
        }
    }

    /// The transpose of a slab, for a while.
    fn turned(
        &mut self,
        slab: Slab,
        f: impl FnOnce(&mut Self, Slab) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        self.scratch((slab.dtype, slab.cols, slab.rows), |s, turned| {
            s.transpose_slab(slab, turned)?;
            f(s, turned)
        })
    }

    /// The best `k` of every column of a slab.
    fn top_of(&mut self, k: u32, from: Slab, before: Before, out: Pair) -> Result<(), LowerError> {
        self.scratch((DType::I32, k, LANES), |s, keys| {
            s.scratch((DType::I32, k, LANES), |s, indices| {
                let lists = Lists { keys, indices };
                s.each(from.across(), |s, j| s.top_of_columns(lists, j, from, before, out))
            })
        })
    }

    /// The same for the vector of number `j` in each row.
    fn top_of_columns(
        &mut self,
        lists: Lists,
        j: Id,
        from: Slab,
        before: Before,
        out: Pair,
    ) -> Result<(), LowerError> {
        let k = lists.keys.rows;
        let place = |s: &mut Self, slab: Slab, row: Id| {
            let first = s.e.mul_u32(row, slab.across());
            s.e.add(U32, first, j)
        };
        let (least, none) = (self.e.null(WORDS), self.number(WORDS, NONE));
        self.each(k, |s, i| {
            s.put_vector(lists.keys, i, least);
            s.put_vector(lists.indices, i, none);
            Ok(())
        })?;
        if let Some((pair, _)) = before {
            self.each(k, |s, i| {
                let at = place(s, pair.values, i);
                let value = s.get_vector(pair.values, at);
                let key = s.wide_key(WORDS, pair.values.dtype, value);
                let index = s.get_vector(pair.indices, at);
                let absent = s.e.pure(Inst::IEqual, BOOLS, &[index, none]);
                let key = s.e.select(WORDS, absent, least, key);
                s.sink(lists, (key, index))
            })?;
        }
        let last = self.e.u32(k - 1);
        self.each(from.rows, |s, row| {
            let at = place(s, from, row);
            let x = s.get_vector(from, at);
            let key = s.wide_key(WORDS, from.dtype.wide(), x);
            let index = before.map_or(row, |(_, base)| s.e.add(U32, row, base));
            let index = s.spread_over(WORDS, index);
            let least = (s.get_vector(lists.keys, last), s.get_vector(lists.indices, last));
            let enters = s.before(WORDS, (key, index), least);
            let any = s.e.pure(Inst::Any, Ty::Bool, &[enters]);
            s.branch(any, &[], |s| s.sink(lists, (key, index)).map(|()| Some(vec![])), |_| Ok(Some(vec![])))?;
            Ok(())
        })?;
        self.each(k, |s, i| {
            let key = s.get_vector(lists.keys, i);
            let value = s.value_of_key(WORDS, out.values.dtype, key);
            let index = s.get_vector(lists.indices, i);
            let at = place(s, out.values, i);
            s.put_vector(out.values, at, value);
            s.put_vector(out.indices, at, index);
            Ok(())
        })?;
        if out.values.rows > k {
            let value = self.value_of_key(WORDS, out.values.dtype, least);
            self.each(out.values.rows - k, |s, i| {
                let row = s.e.add_u32(i, k);
                let at = place(s, out.values, row);
                s.put_vector(out.values, at, value);
                s.put_vector(out.indices, at, none);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Puts an element into each list: what it comes before moves down, and the last is lost.
    fn sink(&mut self, lists: Lists, (key, index): (Id, Id)) -> Result<(), LowerError> {
        let (zero, end) = (self.e.u32(0), self.e.u32(lists.keys.rows));
        self.carried_through((zero, end), &[(WORDS, key), (WORDS, index)], |s, i, sinking| {
            let (key, index) = (sinking[0], sinking[1]);
            let old = (s.get_vector(lists.keys, i), s.get_vector(lists.indices, i));
            let first = s.before(WORDS, (key, index), old);
            let (upper, lower) = (s.e.select(WORDS, first, key, old.0), s.e.select(WORDS, first, old.0, key));
            s.put_vector(lists.keys, i, upper);
            let (upper, below) =
                (s.e.select(WORDS, first, index, old.1), s.e.select(WORDS, first, old.1, index));
            s.put_vector(lists.indices, i, upper);
            Ok(vec![lower, below])
        })?;
        Ok(())
    }
}
