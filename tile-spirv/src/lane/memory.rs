//! Owns loads and stores of globals.
//!
//! *Assumes* planes from `abi` and positions from `coord`. *Guarantees*: an element outside its plane is 0 when loaded and
//! dropped when stored, and no byte outside the plane is touched. A tile that lies inside moves in whole vectors; at an edge,
//! what is inside does. *Not here*: elements (`elements`).

use rspirv::spirv::{Op as Inst, StorageClass};
use tile_ir::ir::{Coord, LoadForm, Op, ParamId, Unit, ValueId};
use tile_ir::types::DType;

use super::elements::in_memory;
use super::slabs::{Slab, wide};
use crate::LowerError;
use crate::abi::Plane;
use crate::arith::{U32, U64};
use crate::control::Lowering;
use crate::lanes::{LANES, footprint};
use crate::module::{Id, Ty};

/// Part of a plane, and how much of it is there.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) plane: Plane,
    pub(crate) row: Id,
    pub(crate) col: Id,
    /// Rows and columns of it that lie in the plane, from the first on.
    pub(crate) rows: Id,
    pub(crate) cols: Id,
    /// `bool`: all of its columns lie in the plane.
    all_cols: Id,
    /// `bool`: all of it lies in the plane.
    inside: Id,
}

impl Lowering<'_> {
    /// The window of `rows x cols` elements at a coordinate.
    pub(crate) fn window(
        &mut self,
        global: ParamId,
        at: &Coord,
        (rows, cols): (u32, u32),
        unit: (u32, u32),
    ) -> Result<Window, LowerError> {
        let plane = self.plane(global, at.batch, at.depth)?;
        let row = self.exact(at.row, unit.0)?.at(&mut self.e, 0);
        let col = self.exact(at.col, unit.1)?.at(&mut self.e, 0);
        // A plane that does not exist has no columns.
        let there = self.left(plane.rows, row, rows);
        let beside = self.left(plane.cols, col, cols);
        let (whole_rows, whole_cols) = (self.e.u32(rows), self.e.u32(cols));
        let all_rows = self.e.compare(Inst::IEqual, there, whole_rows);
        let all_cols = self.e.compare(Inst::IEqual, beside, whole_cols);
        let inside = self.e.both_true(all_rows, all_cols);
        Ok(Window { plane, row, col, rows: there, cols: beside, all_cols, inside })
    }

    /// The window of a tile or vector at a coordinate that counts such.
    fn window_of(&mut self, global: ParamId, at: &Coord, shape: (u32, u32)) -> Result<Window, LowerError> {
        self.window(global, at, shape, (Self::unit(at, shape.0), Self::unit(at, shape.1)))
    }

    /// The window of a vector: one row, which a coordinate counts as such in either unit.
    pub(crate) fn line(&mut self, global: ParamId, at: &Coord, len: u32) -> Result<Window, LowerError> {
        let unit = if at.unit == Unit::Tiles { len } else { 1 };
        self.window(global, at, (1, len), (1, unit))
    }

    /// One row of a window.
    pub(crate) fn row_of(&mut self, w: &Window, row: Id) -> Window {
        let e = &mut self.e;
        let there = e.compare(Inst::ULessThan, row, w.rows);
        let (zero, one) = (e.u32(0), e.u32(1));
        let rows = e.select(U32, there, one, zero);
        let inside = e.both_true(there, w.all_cols);
        Window { row: e.add(U32, w.row, row), rows, inside, ..*w }
    }

    /// How many of `most` indices from `first` on are below `end`.
    fn left(&mut self, end: Id, first: Id, most: u32) -> Id {
        let e = &mut self.e;
        let some = e.compare(Inst::UGreaterThan, end, first);
        let (left, zero, most) = (e.sub(U32, end, first), e.u32(0), e.u32(most));
        let left = e.select(U32, some, left, zero);
        e.min(U32, left, most)
    }

    /// Elements from a plane's base to the one at a row and column of a window.
    fn offset(&mut self, w: &Window, row: Id, col: Id) -> Id {
        let e = &mut self.e;
        let row = e.add(U32, w.row, row);
        let col = e.add(U32, w.col, col);
        let col = e.add(U32, w.plane.global.x0, col);
        let (row, col, pitch) = (e.widen(row), e.widen(col), e.widen(w.plane.global.pitch));
        let before = e.mul(U64, row, pitch);
        e.add(U64, before, col)
    }

    /// A pointer to the element at a row and column of a window, as one to another type.
    pub(crate) fn pointer_in(&mut self, w: &Window, (row, col): (Id, Id), ty: Ty) -> Id {
        let offset = self.offset(w, row, col);
        let element = in_memory(w.plane.global.dtype, 1);
        let element_id = self.e.ty(element);
        let pointer = self.e.pointer(StorageClass::CrossWorkgroup, element_id);
        let at = self.e.pure_with(Inst::InBoundsPtrAccessChain, pointer, &[w.plane.base, offset], &[]);
        if ty == element {
            return at;
        }
        let ty = self.e.ty(ty);
        let pointer = self.e.pointer(StorageClass::CrossWorkgroup, ty);
        self.e.pure_with(Inst::Bitcast, pointer, &[at], &[])
    }

    /// Loads `n` neighbours of a row, which lie in the plane, for a slab of this element type.
    fn read_run(&mut self, w: &Window, at: (Id, Id), dtype: DType, n: u32) -> Id {
        let ty = in_memory(dtype, n);
        let from = self.pointer_in(w, at, ty);
        let bits = self.load_from(from, ty, dtype.size_bytes());
        self.widened_from(dtype, n, bits)
    }

    fn write_run(&mut self, w: &Window, at: (Id, Id), dtype: DType, n: u32, value: Id) {
        let bits = self.narrowed_to(dtype, n, value);
        let to = self.pointer_in(w, at, in_memory(dtype, n));
        self.store_to(to, bits, dtype.size_bytes());
    }

    /// Runs `moved` for every run of neighbours that lies in a window: row, column, how many.
    fn each_run(
        &mut self,
        w: &Window,
        slab: Slab,
        mut moved: impl FnMut(&mut Self, (Id, Id), u32) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let (whole, rest) = (slab.cols / LANES, slab.cols % LANES);
        let w = *w;
        let whole_rows = slab.rows;
        self.branch(
            w.inside,
            &[],
            |s| {
                s.each(whole_rows, |s, row| {
                    if whole > 0 {
                        s.each_of_few(whole, |s, j| {
                            let col = s.e.mul_u32(j, LANES);
                            moved(s, (row, col), LANES)
                        })?;
                    }
                    // Tiles have columns in multiples of 8.
                    if rest > 0 {
                        let col = s.e.u32(LANES * whole);
                        moved(s, (row, col), rest)?;
                    }
                    Ok(())
                })?;
                Ok(Some(vec![]))
            },
            |_| Ok(Some(vec![])),
        )?;
        let outside = self.e.not(w.inside);
        self.branch(
            outside,
            &[],
            |s| {
                s.each_below(w.rows, |s, row| {
                    let full = s.e.shr_u32(w.cols, LANES.trailing_zeros());
                    s.each_below(full, |s, j| {
                        let col = s.e.mul_u32(j, LANES);
                        moved(s, (row, col), LANES)
                    })?;
                    let first = s.e.mul_u32(full, LANES);
                    s.carried_through((first, w.cols), &[], |s, col, _| {
                        moved(s, (row, col), 1).map(|()| vec![])
                    })?;
                    Ok(())
                })?;
                Ok(Some(vec![]))
            },
            |_| Ok(Some(vec![])),
        )?;
        Ok(())
    }

    /// Fills a slab from a window: 0 outside the plane.
    pub(crate) fn read_window(&mut self, w: &Window, slab: Slab) -> Result<(), LowerError> {
        let outside = self.e.not(w.inside);
        self.branch(outside, &[], |s| s.clear(slab).map(|()| Some(vec![])), |_| Ok(Some(vec![])))?;
        self.each_run(w, slab, |s, (row, col), n| {
            let value = s.read_run(w, (row, col), slab.dtype, n);
            s.put_run(slab, (row, col), n, value);
            Ok(())
        })
    }

    /// Writes a slab to a window, as far as it lies in the plane.
    pub(crate) fn write_window(&mut self, w: &Window, slab: Slab) -> Result<(), LowerError> {
        self.each_run(w, slab, |s, (row, col), n| {
            let value = s.get_run(slab, (row, col), n);
            s.write_run(w, (row, col), slab.dtype, n, value);
            Ok(())
        })
    }

    /// Zeros in a slab.
    pub(crate) fn clear(&mut self, slab: Slab) -> Result<(), LowerError> {
        let zero = self.e.null(slab.ty());
        self.each(slab.count(), |s, i| {
            s.put_vector(slab, i, zero);
            Ok(())
        })
    }

    /// Writes `n` neighbours of a row of a slab. A run of part of a vector that is more than one element begins a vector,
    /// whose other components become 0.
    pub(crate) fn put_run(&mut self, slab: Slab, (row, col): (Id, Id), n: u32, value: Id) {
        if n == 1 {
            let at = self.index(slab, row, col);
            self.put_element(slab, at, value);
            return;
        }
        let value = if n == LANES {
            value
        } else {
            let zero = self.e.null(wide(slab.dtype, n));
            let numbers: Vec<u32> = (0..LANES).map(|i| if i < n { i } else { n }).collect();
            let ty = self.e.ty(slab.ty());
            self.e.pure_with(Inst::VectorShuffle, ty, &[value, zero], &numbers)
        };
        let at = self.vector_number(slab, row, col);
        self.put_vector(slab, at, value);
    }

    pub(crate) fn get_run(&mut self, slab: Slab, (row, col): (Id, Id), n: u32) -> Id {
        if n == 1 {
            let at = self.index(slab, row, col);
            return self.get_element(slab, at);
        }
        let at = self.vector_number(slab, row, col);
        let all = self.get_vector(slab, at);
        if n == LANES {
            return all;
        }
        let numbers: Vec<u32> = (0..n).collect();
        let ty = self.e.ty(wide(slab.dtype, n));
        self.e.pure_with(Inst::VectorShuffle, ty, &[all, all], &numbers)
    }

    /// The number of the vector that begins at a row and column of a slab.
    fn vector_number(&mut self, slab: Slab, row: Id, col: Id) -> Id {
        let first = self.e.mul_u32(row, slab.across());
        let j = self.e.shr_u32(col, LANES.trailing_zeros());
        self.e.add(U32, first, j)
    }

    /// `load`, `load_transform`, `load_transpose`.
    pub(crate) fn lane_load(
        &mut self,
        op: &Op,
        global: ParamId,
        at: &Coord,
        form: LoadForm,
    ) -> Result<(), LowerError> {
        let (result, tile) = self.tile_result(op)?;
        let shape = footprint(tile, form);
        let w = self.window_of(global, at, shape)?;
        if form == LoadForm::Transpose {
            return self.scratch((tile.dtype, shape.0, shape.1), |s, before| {
                s.read_window(&w, before)?;
                let slab = s.new_slab(result)?;
                s.transpose_slab(before, slab)
            });
        }
        let slab = self.new_slab(result)?;
        self.read_window(&w, slab)
    }

    /// `store`.
    pub(crate) fn lane_store(
        &mut self,
        global: ParamId,
        tile: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let slab = self.slab(tile)?;
        let w = self.window_of(global, at, (slab.rows, slab.cols))?;
        self.write_window(&w, slab)
    }

    /// `store_transpose`.
    pub(crate) fn lane_store_transpose(
        &mut self,
        global: ParamId,
        tile: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let slab = self.slab(tile)?;
        let w = self.window_of(global, at, (slab.cols, slab.rows))?;
        self.scratch((slab.dtype, slab.cols, slab.rows), |s, after| {
            s.transpose_slab(slab, after)?;
            s.write_window(&w, after)
        })
    }

    /// `load_vec`.
    pub(crate) fn lane_load_vector(
        &mut self,
        op: &Op,
        global: ParamId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let slab = self.new_slab(result)?;
        let w = self.line(global, at, slab.cols)?;
        self.read_window(&w, slab)
    }

    /// `store_vec`.
    pub(crate) fn lane_store_vector(
        &mut self,
        global: ParamId,
        vector: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let slab = self.slab(vector)?;
        let w = self.line(global, at, slab.cols)?;
        self.write_window(&w, slab)
    }

    /// `load_scalar`.
    pub(crate) fn lane_load_scalar(
        &mut self,
        op: &Op,
        global: ParamId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let w = self.window(global, at, (1, 1), (1, 1))?;
        let dtype = w.plane.global.dtype;
        let ty = wide(dtype, 1);
        let (zero, first) = (self.e.int(ty, 0), self.e.u32(0));
        let ids = self
            .branch(
                w.inside,
                &[ty],
                |s| Ok(Some(vec![s.read_run(&w, (first, first), dtype, 1)])),
                |_| Ok(Some(vec![zero])),
            )?
            .ok_or(LowerError::Malformed("a branch has no way on"))?;
        self.bind(&[result], &ids);
        Ok(())
    }
}
