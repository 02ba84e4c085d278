//! Owns shared memory, cooperative copies and barriers between the work-items of a work-group.
//!
//! A shared tile lies row after row in its element type. A split barrier needs an extension that CPUs do not have: arriving
//! does nothing, and waiting is the whole barrier, which orders more than a kernel may rely on.
//!
//! *Assumes* the verifier's rules: every sub-group reaches what it must, constant positions are inside. *Not guaranteed*:
//! where a position outside leads, which the kernel must not have (the simulator and `TILE_CHECK=race` report it).

use rspirv::spirv::{Op as Inst, StorageClass};
use tile_ir::ir::{Barrier, Coord, GroupOp, LoadForm, Op, ParamId, Place, SharedAt, SharedId, ValueId};
use tile_ir::types::DType;

use super::elements::in_memory;
use super::slabs::Slab;
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::Id;

/// Shared memory as addresses need it.
#[derive(Clone, Copy)]
struct Shared {
    variable: Id,
    dtype: DType,
    rows: u32,
    cols: u32,
}

impl Lowering<'_> {
    /// Emits an op of a work-group.
    pub(crate) fn lane_group(&mut self, op: &Op, what: &GroupOp) -> Result<(), LowerError> {
        match what {
            GroupOp::Load { shared, at, form } => {
                let result = self.result(op)?;
                let shared = self.lane_shared(*shared)?;
                self.load_lane_shared(result, shared, at, *form)
            }
            GroupOp::Store { shared, value, at } => {
                let (shared, slab) = (self.lane_shared(*shared)?, self.slab(*value)?);
                let first = self.first_of(shared, at, (slab.rows, slab.cols))?;
                self.write_shared(shared, slab, first)
            }
            GroupOp::LoadCoop { shared, global, at } => self.lane_load_coop(*shared, *global, at),
            GroupOp::StoreCoop { global, shared, at } => self.lane_store_coop(*global, *shared, at),
            GroupOp::Barrier(Barrier::Arrive) => Ok(()),
            GroupOp::Barrier(Barrier::Full | Barrier::Wait) => {
                self.lower_barrier(Barrier::Full);
                Ok(())
            }
        }
    }

    fn lane_shared(&self, id: SharedId) -> Result<Shared, LowerError> {
        let bad = LowerError::Malformed("shared memory is not defined");
        let (Some(shared), Some(&variable)) = (self.kernel.shared(id), self.shared.get(id.0 as usize)) else {
            return Err(bad);
        };
        let (rows, cols) = shared.ty.shape();
        Ok(Shared { variable, dtype: shared.ty.dtype(), rows, cols })
    }

    /// The element at which the part of `rows x cols` at a position starts; the first behind the memory if it is outside.
    fn first_of(
        &mut self,
        shared: Shared,
        at: &SharedAt,
        (rows, cols): (u32, u32),
    ) -> Result<Id, LowerError> {
        let (col, has_col) = self.inside(at.col, cols, shared.cols)?;
        let col = self.e.mul_u32(col, cols);
        let (mut first, mut inside) = (col, has_col);
        if let Some(row) = at.row {
            let (row, has_row) = self.inside(row, rows, shared.rows)?;
            let before = self.e.mul_u32(row, rows * shared.cols);
            first = self.e.add(U32, before, col);
            inside = self.e.both_true(has_row, has_col);
        }
        let behind = self.e.u32(shared.rows * shared.cols);
        Ok(self.e.select(U32, inside, first, behind))
    }

    /// A pointer to `n` elements at an index.
    fn shared_run(&mut self, shared: Shared, index: Id, n: u32) -> Id {
        let element = self.e.ty(in_memory(shared.dtype, 1));
        let pointer = self.e.pointer(StorageClass::Workgroup, element);
        let at = self.e.pure_with(Inst::InBoundsAccessChain, pointer, &[shared.variable, index], &[]);
        if n == 1 {
            return at;
        }
        let run = self.e.ty(in_memory(shared.dtype, n));
        let pointer = self.e.pointer(StorageClass::Workgroup, run);
        self.e.pure_with(Inst::Bitcast, pointer, &[at], &[])
    }

    /// Runs over the part of shared memory that a slab corresponds to: pointer, place in the slab, how many elements.
    fn each_shared(
        &mut self,
        shared: Shared,
        slab: Slab,
        first: Id,
        mut moved: impl FnMut(&mut Self, Slab, Id, (Id, Id), u32),
    ) -> Result<(), LowerError> {
        let (whole, rest) = (slab.cols / LANES, slab.cols % LANES);
        self.each(slab.rows, |s, row| {
            let before = s.e.mul_u32(row, shared.cols);
            let start = s.e.add(U32, first, before);
            if whole > 0 {
                s.each_of_few(whole, |s, j| {
                    let col = s.e.mul_u32(j, LANES);
                    let index = s.e.add(U32, start, col);
                    let to = s.shared_run(shared, index, LANES);
                    moved(s, slab, to, (row, col), LANES);
                    Ok(())
                })?;
            }
            if rest > 0 {
                let col = s.e.u32(LANES * whole);
                let index = s.e.add_u32(start, LANES * whole);
                let to = s.shared_run(shared, index, rest);
                moved(s, slab, to, (row, col), rest);
            }
            Ok(())
        })
    }

    /// Fills a slab from shared memory.
    fn read_shared(&mut self, shared: Shared, slab: Slab, first: Id) -> Result<(), LowerError> {
        self.each_shared(shared, slab, first, |s, slab, from, (row, col), n| {
            let bits = s.load_from(from, in_memory(slab.dtype, n), slab.dtype.size_bytes());
            let value = s.widened_from(slab.dtype, n, bits);
            s.put_run(slab, (row, col), n, value);
        })
    }

    fn load_lane_shared(
        &mut self,
        result: ValueId,
        shared: Shared,
        at: &SharedAt,
        form: LoadForm,
    ) -> Result<(), LowerError> {
        if form == LoadForm::Transpose {
            let tile = self.tile_type(result)?;
            let first = self.first_of(shared, at, (tile.cols, tile.rows))?;
            return self.scratch((tile.dtype, tile.cols, tile.rows), |s, before| {
                s.read_shared(shared, before, first)?;
                let slab = s.new_slab(result)?;
                s.transpose_slab(before, slab)
            });
        }
        let slab = self.new_slab(result)?;
        let first = self.first_of(shared, at, (slab.rows, slab.cols))?;
        self.read_shared(shared, slab, first)
    }

    /// Each sub-group copies every so many rows.
    fn lane_load_coop(&mut self, shared: SharedId, global: ParamId, at: &Coord) -> Result<(), LowerError> {
        let shared = self.lane_shared(shared)?;
        let (down, across) = self.kernel.subgroups;
        let peers = down * across;
        let shape = (shared.rows, shared.cols);
        let unit = (Self::unit(at, shape.0), Self::unit(at, shape.1));
        let me = self.place(Place::Id);
        let rounds = shared.rows.div_ceil(peers);
        let whole = self.window(global, at, shape, unit)?;
        self.each(rounds, |s, round| {
            let skipped = s.e.mul_u32(round, peers);
            let row = s.e.add(U32, me, skipped);
            let end = s.e.u32(shared.rows);
            let mine = s.e.compare(Inst::ULessThan, row, end);
            s.branch(
                mine,
                &[],
                |s| {
                    let w = s.row_of(&whole, row);
                    s.scratch((shared.dtype, 1, shared.cols), |s, slab| {
                        s.read_window(&w, slab)?;
                        let first = s.e.mul_u32(row, shared.cols);
                        s.write_shared(shared, slab, first)
                    })?;
                    Ok(Some(vec![]))
                },
                |_| Ok(Some(vec![])),
            )?;
            Ok(())
        })
    }

    fn write_shared(&mut self, shared: Shared, slab: Slab, first: Id) -> Result<(), LowerError> {
        self.each_shared(shared, slab, first, |s, slab, to, (row, col), n| {
            let value = s.get_run(slab, (row, col), n);
            let bits = s.narrowed_to(slab.dtype, n, value);
            s.store_to(to, bits, slab.dtype.size_bytes());
        })
    }

    /// Each sub-group stores the tile that it owns.
    fn lane_store_coop(&mut self, global: ParamId, shared: SharedId, at: &Coord) -> Result<(), LowerError> {
        let shared = self.lane_shared(shared)?;
        let (down, across) = self.kernel.subgroups;
        let shape = (shared.rows / down, shared.cols / across);
        let (row, col) = (self.place(Place::Row), self.place(Place::Col));
        let row = self.e.mul_u32(row, shape.0 * shared.cols);
        let col = self.e.mul_u32(col, shape.1);
        let first = self.e.add(U32, row, col);
        let unit = (Self::unit(at, shape.0), Self::unit(at, shape.1));
        let w = self.window(global, at, shape, unit)?;
        self.scratch((shared.dtype, shape.0, shape.1), |s, slab| {
            s.read_shared(shared, slab, first)?;
            s.write_window(&w, slab)
        })
    }
}
