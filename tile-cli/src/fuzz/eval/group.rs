//! Owns the meaning of shared memory, as far as one sub-group after the other can show it.
//!
//! *Assumes*: a sub-group reads from shared memory what it stored there itself, or what a cooperative copy put there: the
//! sub-groups of a work-group run to their ends one after the other, and a barrier does nothing.

use tile_ir::ir::{GroupOp, LoadForm, OpKind, SharedAt, SharedId, ValueId};
use tile_ir::types::Type;

use super::{Eval, Grid, Stop};
use crate::fuzz::number::Num;

/// The shared tiles and vectors of a work-group; what nobody stored is unknown.
pub(super) type Shared = Vec<Vec<Num>>;

const MISSING: Stop = Stop::Malformed("no such shared memory");

impl Eval<'_> {
    /// Shared memory as a work-group finds it.
    pub(super) fn fresh(kernel: &tile_ir::ir::Kernel) -> Shared {
        let count = |(rows, cols): (u32, u32)| rows as usize * cols as usize;
        kernel.shared.iter().map(|s| vec![Num::UNKNOWN; count(s.ty.shape())]).collect()
    }

    fn part(&self, at: &SharedAt, (rows, cols): (usize, usize)) -> Result<(usize, usize), Stop> {
        let row = at.row.map_or(Ok(0), |row| self.u32(row))? as usize;
        Ok((row * rows, self.u32(at.col)? as usize * cols))
    }

    fn width(&self, shared: SharedId) -> Result<usize, Stop> {
        Ok(self.kernel.shared(shared).ok_or(MISSING)?.ty.shape().1 as usize)
    }

    /// The elements of a part of shared memory that a load gives.
    pub(super) fn load_shared(&self, op: &OpKind, ty: Type) -> Result<Grid, Stop> {
        let OpKind::Group(GroupOp::Load { shared, at, form }) = op else { return Err(MISSING) };
        let (rows, cols, _) = super::extents(ty)?;
        let turned = *form == LoadForm::Transpose;
        let (high, wide) = if turned { (cols, rows) } else { (rows, cols) };
        let (top, left) = self.part(at, (high, wide))?;
        let (width, memory) = (self.width(*shared)?, self.shared.get(shared.0 as usize).ok_or(MISSING)?);
        let element = |r: usize, c: usize| memory.get((top + r) * width + left + c).copied().ok_or(MISSING);
        let place = |i: usize| if turned { (i % cols, i / cols) } else { (i / cols, i % cols) };
        let data = (0..rows * cols).map(place).map(|(r, c)| element(r, c)).collect::<Result<_, _>>()?;
        Ok(Grid { cols, data })
    }

    fn store_shared(&mut self, shared: SharedId, value: ValueId, at: &SharedAt) -> Result<(), Stop> {
        let grid = self.grid(value)?;
        let (top, left) = self.part(at, (grid.data.len() / grid.cols, grid.cols))?;
        let width = self.width(shared)?;
        let memory = self.shared.get_mut(shared.0 as usize).ok_or(MISSING)?;
        for (i, v) in grid.data.iter().enumerate() {
            *memory.get_mut((top + i / grid.cols) * width + left + i % grid.cols).ok_or(MISSING)? = *v;
        }
        Ok(())
    }

    /// Runs an op of a work-group that gives no value.
    pub(super) fn group_op(&mut self, op: &GroupOp) -> Result<(), Stop> {
        match op {
            GroupOp::Barrier(_) => Ok(()),
            GroupOp::Load { .. } => Err(MISSING),
            GroupOp::Store { shared, value, at } => self.store_shared(*shared, *value, at),
            GroupOp::LoadCoop { shared, global, at } => {
                let (rows, cols) = self.kernel.shared(*shared).ok_or(MISSING)?.ty.shape();
                let read = self.read(*global, at, (rows as usize, cols as usize))?;
                *self.shared.get_mut(shared.0 as usize).ok_or(MISSING)? = read;
                Ok(())
            }
            GroupOp::StoreCoop { global, shared, at } => {
                // The part that belongs to this sub-group's tile.
                let (rows, cols) = self.kernel.shared(*shared).ok_or(MISSING)?.ty.shape();
                let (down, across) = self.kernel.subgroups;
                let (rows, cols) = ((rows / down) as usize, (cols / across) as usize);
                let (row, col) = (self.subgroup / u64::from(across), self.subgroup % u64::from(across));
                let width = cols * across as usize;
                let (top, left) = (row as usize * rows, col as usize * cols);
                let ([batch, depth, row, col], _) = self.origin(at, (rows, cols))?;
                let memory = self.shared.get(shared.0 as usize).ok_or(MISSING)?.clone();
                let tensor = self.tensors.get_mut(global.0 as usize).and_then(Option::as_mut);
                let tensor = tensor.ok_or(Stop::Malformed("a tensor was expected"))?;
                for i in 0..rows * cols {
                    let (r, c) = (i / cols, i % cols);
                    tensor.set(
                        [batch, depth, row + r as u64, col + c as u64],
                        memory[(top + r) * width + left + c],
                    );
                }
                Ok(())
            }
        }
    }
}
