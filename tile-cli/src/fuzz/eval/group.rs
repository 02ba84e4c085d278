//! Owns the meaning of shared memory and barriers.
//!
//! Sub-groups run to their ends one after the other, and what others store comes to them from barrier to barrier: a work-group runs
//! as often as it has barriers, and once more; each time what one barrier more makes visible is known.
//! *Assumes*: no race: between two barriers nobody reads what another stores. *Not here*: whether a kernel obeys that (the
//! simulator and the host report it).

use tile_ir::ir::{Barrier, GroupOp, LoadForm, OpKind, SharedAt, SharedId, ValueId};
use tile_ir::types::Type;

use super::{Eval, Grid, Stop};
use crate::fuzz::number::Num;

/// The elements of each shared tile or vector.
type Memory = Vec<Vec<Num>>;

/// The shared memory of a work-group.
pub(super) struct Shared {
    /// What stands there at the start and behind each barrier; what nobody stored is unknown.
    published: Vec<Memory>,
    /// What the sub-group at work sees: that, and what it stored since.
    seen: Memory,
    /// What all sub-groups stored in this run before the first barrier, before the second, and so on.
    stored: Vec<Vec<(usize, usize, Num)>>,
    /// Barriers behind the sub-group at work.
    barriers: usize,
    /// How often the work-group has run.
    runs: usize,
    /// What nobody stored, and the same in runs whose results do not count: numbers, so that conditions on them are decided.
    untouched: [Memory; 2],
}

const MISSING: Stop = Stop::Malformed("no such shared memory");

impl Shared {
    /// Shared memory as a work-group finds it.
    pub(super) fn fresh(kernel: &tile_ir::ir::Kernel) -> Shared {
        let count = |(rows, cols): (u32, u32)| rows as usize * cols as usize;
        let all = |number: &dyn Fn(&tile_ir::ir::Shared) -> Num| -> Memory {
            kernel.shared.iter().map(|s| vec![number(s); count(s.ty.shape())]).collect()
        };
        let untouched = [all(&|_| Num::UNKNOWN), all(&|s| Num::zero(s.ty.dtype()))];
        let first = untouched[usize::from(kernel.waits())].clone();
        let published = vec![first.clone()];
        Shared { seen: first, published, stored: vec![vec![]], barriers: 0, runs: 0, untouched }
    }

    /// A sub-group begins.
    pub(super) fn enter(&mut self) {
        self.barriers = 0;
        self.seen.clone_from(&self.published[0]);
    }

    fn store(&mut self, shared: SharedId, place: usize, value: Num) -> Result<(), Stop> {
        let shared = shared.0 as usize;
        *self.seen.get_mut(shared).and_then(|m| m.get_mut(place)).ok_or(MISSING)? = value;
        self.stored[self.barriers].push((shared, place, value));
        Ok(())
    }

    fn barrier(&mut self) {
        self.barriers += 1;
        if self.stored.len() == self.barriers {
            self.stored.push(vec![]);
        }
        if let Some(memory) = self.published.get(self.barriers) {
            self.seen.clone_from(memory);
        }
    }

    /// All sub-groups have run; true if they must run again.
    pub(super) fn again(&mut self) -> bool {
        self.runs += 1;
        if self.runs >= self.stored.len() {
            return false;
        }
        let counts = self.runs + 1 == self.stored.len();
        self.published = vec![self.untouched[usize::from(!counts)].clone()];
        for stored in &self.stored {
            let mut memory = self.published[self.published.len() - 1].clone();
            for (shared, place, value) in stored {
                memory[*shared][*place] = *value;
            }
            self.published.push(memory);
        }
        self.stored = vec![vec![]];
        true
    }
}

impl Eval<'_> {
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
        let (width, memory) = (self.width(*shared)?, self.shared.seen.get(shared.0 as usize).ok_or(MISSING)?);
        let element = |r: usize, c: usize| memory.get((top + r) * width + left + c).copied().ok_or(MISSING);
        let place = |i: usize| if turned { (i % cols, i / cols) } else { (i / cols, i % cols) };
        let data = (0..rows * cols).map(place).map(|(r, c)| element(r, c)).collect::<Result<_, _>>()?;
        Ok(Grid { cols, data })
    }

    fn store_shared(&mut self, shared: SharedId, value: ValueId, at: &SharedAt) -> Result<(), Stop> {
        let grid = self.grid(value)?;
        let (top, left) = self.part(at, (grid.data.len() / grid.cols, grid.cols))?;
        let width = self.width(shared)?;
        for (i, v) in grid.data.iter().enumerate() {
            self.shared.store(shared, (top + i / grid.cols) * width + left + i % grid.cols, *v)?;
        }
        Ok(())
    }

    /// Runs an op of a work-group that gives no value.
    pub(super) fn group_op(&mut self, op: &GroupOp) -> Result<(), Stop> {
        match op {
            GroupOp::Barrier(Barrier::Arrive) => Ok(()),
            GroupOp::Barrier(Barrier::Full | Barrier::Wait) => {
                self.shared.barrier();
                Ok(())
            }
            GroupOp::Load { .. } => Err(MISSING),
            GroupOp::Store { shared, value, at } => self.store_shared(*shared, *value, at),
            GroupOp::LoadCoop { shared, global, at } => {
                // Each sub-group stands for all: what one copies, the others copy too.
                let (rows, cols) = self.kernel.shared(*shared).ok_or(MISSING)?.ty.shape();
                let read = self.read(*global, at, (rows as usize, cols as usize))?;
                for (place, value) in read.into_iter().enumerate() {
                    self.shared.store(*shared, place, value)?;
                }
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
                let memory = self.shared.seen.get(shared.0 as usize).ok_or(MISSING)?.clone();
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
