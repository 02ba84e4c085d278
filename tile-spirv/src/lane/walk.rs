//! Owns loops over the vectors of a slab, and how a vector or element of one is read and written.
//!
//! *Assumes*: scalars that a loop's body needs were emitted before it. *Guarantees*: structured loops whose bodies are
//! emitted once. *Not here*: loops of kernel text (`loops`).

use rspirv::dr::Operand;
use rspirv::spirv::{LoopControl, MemoryAccess, Op as Inst, StorageClass};

use super::slabs::{Slab, wide};
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::lanes::LANES;
use crate::module::{Id, Ty};

/// Steps that are written out rather than looped over.
const WRITTEN_OUT: u32 = 4;

impl Lowering<'_> {
    /// Runs `from..end` (u32) of a loop with carried values, and gives them at its end.
    pub(crate) fn carried_through(
        &mut self,
        (from, end): (Id, Id),
        carried: &[(Ty, Id)],
        body: impl FnOnce(&mut Self, Id, &[Id]) -> Result<Vec<Id>, LowerError>,
    ) -> Result<Vec<Id>, LowerError> {
        let before = self.e.current_label();
        let [header, test, inner, continuing, exit] = [(); 5].map(|()| self.e.label());
        self.e.begin_loop(header);
        self.e.loop_merge(exit, continuing, test, LoopControl::NONE);
        self.e.begin(test);
        let counter = self.e.label();
        let phis: Vec<Id> = carried.iter().map(|_| self.e.label()).collect();
        phis.iter().chain([&counter]).for_each(|&id| self.e.set_depth(id));
        let more = self.e.compare(Inst::ULessThan, counter, end);
        self.e.branch_if(more, inner, exit);
        self.e.begin(inner);
        let next = body(self, counter, &phis)?;
        self.e.branch(continuing);
        self.e.begin(continuing);
        let step = self.e.add_u32(counter, 1);
        let ty = self.e.ty(U32);
        self.e.header_phi(counter, ty, [(from, before), (step, continuing)]);
        for ((&phi, &(ty, init)), &next) in phis.iter().zip(carried).zip(&next) {
            let ty = self.e.ty(ty);
            self.e.header_phi(phi, ty, [(init, before), (next, continuing)]);
        }
        self.e.branch(header);
        self.e.end_loop();
        self.e.begin(exit);
        phis.iter().for_each(|&id| self.e.settle(id));
        Ok(phis)
    }

    /// Runs `0..end`.
    pub(crate) fn each_below(
        &mut self,
        end: Id,
        body: impl FnOnce(&mut Self, Id) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let zero = self.e.u32(0);
        self.carried_through((zero, end), &[], |s, i, _| body(s, i).map(|()| vec![])).map(|_| ())
    }

    /// Runs `0..count`; a single run is no loop.
    pub(crate) fn each(
        &mut self,
        count: u32,
        body: impl FnOnce(&mut Self, Id) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let end = self.e.u32(count);
        if count == 1 {
            let zero = self.e.u32(0);
            return body(self, zero);
        }
        self.each_below(end, body)
    }

    /// Runs `0..count`, written out if there are few.
    pub(crate) fn each_of_few(
        &mut self,
        count: u32,
        mut body: impl FnMut(&mut Self, Id) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        if count > WRITTEN_OUT {
            return self.each(count, body);
        }
        for i in 0..count {
            let i = self.e.u32(i);
            body(self, i)?;
        }
        Ok(())
    }

    /// Runs over the vectors of a slab: row, number in the row, number in the slab.
    pub(crate) fn each_vector(
        &mut self,
        slab: Slab,
        mut body: impl FnMut(&mut Self, [Id; 3]) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let across = slab.across();
        self.each(slab.rows, |s, row| {
            let first = s.e.mul_u32(row, across);
            s.each_of_few(across, |s, j| {
                let at = s.e.add(U32, first, j);
                body(s, [row, j, at])
            })
        })
    }

    // ---- vectors and elements of a slab ----

    fn vector_pointer(&mut self, slab: Slab, at: Id) -> Id {
        if slab.count() == 1 {
            return slab.var;
        }
        let vector = self.e.ty(slab.ty());
        let pointer = self.e.pointer(StorageClass::Function, vector);
        self.e.pure_with(Inst::InBoundsAccessChain, pointer, &[slab.var, at], &[])
    }

    /// The vector of this number.
    pub(crate) fn get_vector(&mut self, slab: Slab, at: Id) -> Id {
        let from = self.vector_pointer(slab, at);
        self.load_from(from, slab.ty(), 4 * LANES)
    }

    /// Writes the vector of this number.
    pub(crate) fn put_vector(&mut self, slab: Slab, at: Id, vector: Id) {
        let to = self.vector_pointer(slab, at);
        self.store_to(to, vector, 4 * LANES);
    }

    fn element_pointer(&mut self, slab: Slab, at: Id) -> Id {
        let element = self.e.ty(wide(slab.dtype, 1));
        let pointer = self.e.pointer(StorageClass::Function, element);
        let first = self.e.pure_with(Inst::Bitcast, pointer, &[slab.var], &[]);
        self.e.pure_with(Inst::InBoundsPtrAccessChain, pointer, &[first, at], &[])
    }

    /// The element at an index: row times 16 vectors' components, plus column.
    pub(crate) fn get_element(&mut self, slab: Slab, at: Id) -> Id {
        let from = self.element_pointer(slab, at);
        self.load_from(from, wide(slab.dtype, 1), 4)
    }

    /// Writes the element at an index.
    pub(crate) fn put_element(&mut self, slab: Slab, at: Id, element: Id) {
        let to = self.element_pointer(slab, at);
        self.store_to(to, element, 4);
    }

    /// The index of the element at a row and column.
    pub(crate) fn index(&mut self, slab: Slab, row: Id, col: Id) -> Id {
        let first = self.e.mul_u32(row, slab.across() * LANES);
        self.e.add(U32, first, col)
    }

    /// Loads a value of a type.
    pub(crate) fn load_from(&mut self, from: Id, ty: Ty, align: u32) -> Id {
        let ty = self.e.ty(ty);
        let operands = vec![
            Operand::IdRef(from),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(align),
        ];
        self.e.value(Inst::Load, ty, operands)
    }

    /// Stores a value.
    pub(crate) fn store_to(&mut self, to: Id, value: Id, align: u32) {
        let access = [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(align)];
        self.e.effect(Inst::Store, [to, value].into_iter().map(Operand::IdRef).chain(access).collect());
    }
}
