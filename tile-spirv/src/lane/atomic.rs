//! Owns atomic adds to globals: of integers in one instruction, of f32 by comparing and exchanging until nobody came between
//! (OpenCL has no atomic addition of floats without an extension).

use rspirv::dr::Operand;
use rspirv::spirv::{LoopControl, Op as Inst, Scope};
use tile_ir::ir::{Coord, ParamId, ValueId};
use tile_ir::types::{DType, Type};

use super::memory::Window;
use crate::LowerError;
use crate::arith::U32;
use crate::control::Lowering;
use crate::module::{Id, Ty};

impl Lowering<'_> {
    /// `atomic_add`, `atomic_add_vec`.
    pub(crate) fn lane_atomic_add(
        &mut self,
        global: ParamId,
        value: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let slab = self.slab(value)?;
        let w: Window = match self.kernel.ty(value) {
            Type::Vector(v) => self.line(global, at, v.len)?,
            Type::Tile(_) | Type::Scalar(_) => {
                let shape = (slab.rows, slab.cols);
                self.window(global, at, shape, (Self::unit(at, shape.0), Self::unit(at, shape.1)))?
            }
        };
        self.each_below(w.rows, |s, row| {
            s.each_below(w.cols, |s, col| {
                let index = s.index(slab, row, col);
                let element = s.get_element(slab, index);
                let to = s.pointer_in(&w, (row, col), U32);
                s.add_at(to, slab.dtype, element);
                Ok(())
            })
        })
    }

    /// One indivisible addition, in no order with others.
    fn add_at(&mut self, to: Id, dtype: DType, element: Id) {
        let (scope, relaxed) = (self.e.u32(Scope::Device as u32), self.e.int(U32, 0));
        let words = self.e.ty(U32);
        if dtype.is_integer() {
            let operands = [to, scope, relaxed, element].map(Operand::IdRef).to_vec();
            self.e.value(Inst::AtomicIAdd, words, operands);
            return;
        }
        let reals = Ty::Float(32);
        let first = self.e.value(Inst::AtomicLoad, words, [to, scope, relaxed].map(Operand::IdRef).to_vec());
        let before = self.e.current_label();
        let [header, body, continuing, exit] = [(); 4].map(|()| self.e.label());
        self.e.begin_loop(header);
        self.e.loop_merge(exit, continuing, body, LoopControl::NONE);
        self.e.begin(body);
        let old = self.e.label();
        self.e.set_depth(old);
        let sum = self.e.pure(Inst::Bitcast, reals, &[old]);
        let sum = self.e.pure(Inst::FAdd, reals, &[sum, element]);
        let sum = self.e.pure(Inst::Bitcast, U32, &[sum]);
        let operands = [to, scope, relaxed, relaxed, sum, old].map(Operand::IdRef).to_vec();
        let found = self.e.value(Inst::AtomicCompareExchange, words, operands);
        let again = self.e.compare(Inst::INotEqual, found, old);
        self.e.branch(continuing);
        self.e.begin(continuing);
        self.e.header_phi(old, words, [(first, before), (found, continuing)]);
        self.e.branch_if(again, header, exit);
        self.e.end_loop();
        self.e.begin(exit);
    }
}
