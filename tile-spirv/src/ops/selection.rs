//! Owns the emission of comparisons, masks, choices, positions and element-wise ops of three operands.
//!
//! A mask is a `bool` per element: vectors of 8 beside the chunks of a tile, one per register of a vector.
//! *Assumes* the register layouts of `lanes`. *Guarantees*: 16-bit elements are compared as their exact f32.
//! *Not here*: masks by position (`mask`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as Inst, Scope};
use tile_ir::ir::{Logic, Op, Selection, ValueId};
use tile_ir::map::{self, MapBinary, MapTernary};
use tile_ir::scalar::Compare;
use tile_ir::types::{Along, DType, TileType, Type};

use crate::LowerError;
use crate::arith::U32;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};
use crate::ops::map::{CHUNK, Emitted, LANE};

const SCALAR: LowerError = LowerError::Malformed("a selection makes a tile or vector");

/// The instruction of a comparison. With NaN all are false but `ne`, as in Rust.
pub(crate) const fn comparison(op: Compare, integers: bool) -> Inst {
    match op {
        Compare::Lt if integers => Inst::SLessThan,
        Compare::Le if integers => Inst::SLessThanEqual,
        Compare::Gt if integers => Inst::SGreaterThan,
        Compare::Ge if integers => Inst::SGreaterThanEqual,
        Compare::Eq if integers => Inst::IEqual,
        Compare::Ne if integers => Inst::INotEqual,
        Compare::Lt => Inst::FOrdLessThan,
        Compare::Le => Inst::FOrdLessThanEqual,
        Compare::Gt => Inst::FOrdGreaterThan,
        Compare::Ge => Inst::FOrdGreaterThanEqual,
        Compare::Eq => Inst::FOrdEqual,
        Compare::Ne => Inst::FUnordNotEqual,
    }
}

const fn logic(op: Logic) -> Inst {
    match op {
        Logic::And => Inst::LogicalAnd,
        Logic::Or => Inst::LogicalOr,
        Logic::Xor => Inst::LogicalNotEqual,
    }
}

impl Lowering<'_> {
    /// Comparisons, masks, choices, positions.
    pub(crate) fn lower_selection(&mut self, op: &Op, what: &Selection) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let value = match what {
            Selection::Compare { op, lhs, rhs } => self.compare_elements(*op, *lhs, *rhs)?,
            Selection::Logic { op, lhs, rhs } => {
                let (ty, left) = self.mask_of(*lhs)?;
                let (_, right) = self.mask_of(*rhs)?;
                let parts = left.into_iter().zip(right);
                let all = parts.map(|(x, y)| self.here(logic(*op), ty, &[x, y])).collect();
                self.like(result, all)?
            }
            Selection::Not { mask } => {
                let (ty, parts) = self.mask_of(*mask)?;
                let all = parts.into_iter().map(|x| self.here(Inst::LogicalNot, ty, &[x])).collect();
                self.like(result, all)?
            }
            Selection::Any { mask } => Value::Scalar(self.any_element(*mask)?),
            Selection::Select { mask, yes, no } => self.select_elements(result, *mask, *yes, *no)?,
            Selection::Iota { along, start } => self.count_elements(result, *along, *start)?,
        };
        self.set(result, value);
        Ok(())
    }

    /// `fma`.
    pub(crate) fn lower_map_ternary(
        &mut self,
        op: &Op,
        what: MapTernary,
        x: ValueId,
        [a, b]: [ValueId; 2],
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let ty = self.held(result);
        let (left, a, b) = (self.parts(x)?, self.operand_parts(ty, a)?, self.operand_parts(ty, b)?);
        let mut all = vec![];
        for (i, x) in left.into_iter().enumerate() {
            let part = match ty {
                Type::Tile(t) => {
                    let x = self.widened(t.dtype, CHUNK, x);
                    let y = map::ternary(&mut Emitted::chunks(&mut self.e), what, x, a[i], b[i]);
                    self.narrowed(t.dtype, CHUNK, y)
                }
                Type::Vector(v) => {
                    let y = map::ternary(&mut Emitted::registers(&mut self.e), what, x, a[i], b[i]);
                    self.rounded(v.dtype, LANE, y)
                }
                Type::Scalar(_) => return Err(SCALAR),
            };
            all.push(part);
        }
        let value = self.like(result, all)?;
        self.set(result, value);
        Ok(())
    }

    /// An instruction where the emission stands.
    fn here(&mut self, inst: Inst, ty: Ty, operands: &[Id]) -> Id {
        let ty = self.e.ty(ty);
        self.e.value(inst, ty, operands.iter().map(|&o| Operand::IdRef(o)).collect())
    }

    /// The chunks of a tile or the registers of a vector.
    fn parts(&self, value: ValueId) -> Result<Vec<Id>, LowerError> {
        match self.held(value) {
            Type::Tile(_) => self.tile(value),
            Type::Vector(_) => self.vector(value),
            Type::Scalar(_) => Err(SCALAR),
        }
    }

    /// The parts of an operand beside a tile or vector of a type, as f32: its own, or a number in every one.
    fn operand_parts(&mut self, beside: Type, value: ValueId) -> Result<Vec<Id>, LowerError> {
        match (self.held(value), beside) {
            (Type::Tile(tile), _) => {
                let parts = self.tile(value)?;
                Ok(parts.into_iter().map(|part| self.widened(tile.dtype, CHUNK, part)).collect())
            }
            (Type::Vector(_), _) => self.vector(value),
            (Type::Scalar(_), Type::Tile(tile)) => {
                let number = self.scalar(value)?;
                Ok(vec![self.splat(Layout::wide_chunk(tile.dtype), number); Layout::of(tile).count()])
            }
            (Type::Scalar(_), Type::Vector(v)) => Ok(vec![self.scalar(value)?; Layout::registers(v)]),
            (Type::Scalar(_), Type::Scalar(_)) => Err(SCALAR),
        }
    }

    /// The parts of a mask and their type.
    fn mask_of(&self, value: ValueId) -> Result<(Ty, Vec<Id>), LowerError> {
        let ty = if self.held(value).tile().is_some() { Ty::Bool8 } else { Ty::Bool };
        Ok((ty, self.parts(value)?))
    }

    /// Parts as a value of the result's kind.
    fn like(&self, result: ValueId, parts: Vec<Id>) -> Result<Value, LowerError> {
        match self.held(result) {
            Type::Tile(_) => Ok(Value::Tile(parts)),
            Type::Vector(_) => Ok(Value::Vector(parts)),
            Type::Scalar(_) => Err(SCALAR),
        }
    }

    /// Whether a mask is true in any of its parts, in any lane.
    fn any_element(&mut self, mask: ValueId) -> Result<Id, LowerError> {
        let (ty, mut parts) = self.mask_of(mask)?;
        if let Type::Vector(v) = self.kernel.ty(mask)
            && !v.len.is_multiple_of(LANES)
            && let Some(last) = parts.last_mut()
        {
            // The lanes behind the last element hold none.
            let (lane, len) = (self.lane(), self.e.u32(v.len % LANES));
            let inside = self.e.compare(Inst::ULessThan, lane, len);
            *last = self.here(Inst::LogicalAnd, Ty::Bool, &[*last, inside]);
        }
        let joined = parts.into_iter().reduce(|x, y| self.here(Inst::LogicalOr, ty, &[x, y]));
        let mut all = joined.ok_or(LowerError::Malformed("a mask has parts"))?;
        if ty == Ty::Bool8 {
            all = self.here(Inst::Any, Ty::Bool, &[all]);
        }
        self.e.need(Capability::Groups);
        let scope = self.e.u32(Scope::Subgroup as u32);
        let ty = self.e.ty(Ty::Bool);
        Ok(self.e.value(Inst::GroupAny, ty, vec![Operand::IdScope(scope), Operand::IdRef(all)]))
    }

    fn compare_elements(&mut self, op: Compare, lhs: ValueId, rhs: ValueId) -> Result<Value, LowerError> {
        let ty = self.held(lhs);
        let inst = comparison(op, ty.dtype().is_some_and(DType::is_integer));
        match ty {
            Type::Tile(tile) => {
                let left = self.tile(lhs)?;
                let layout = Layout::of(tile);
                // The right operand is spread as that of any op that uses it once.
                let (right, _) = self.right(tile, rhs, MapBinary::Min)?;
                let mut all = vec![0; layout.count()];
                for across in 0..layout.across() {
                    for down in 0..layout.down() {
                        let at = layout.index(down, across);
                        let x = self.widened(tile.dtype, CHUNK, left[at]);
                        let y = right.at(layout, down, across);
                        all[at] = self.here(inst, Ty::Bool8, &[x, y]);
                    }
                }
                Ok(Value::Tile(all))
            }
            ty @ Type::Vector(_) => {
                let (left, right) = (self.vector(lhs)?, self.operand_parts(ty, rhs)?);
                let parts = left.into_iter().zip(right);
                Ok(Value::Vector(parts.map(|(x, y)| self.here(inst, Ty::Bool, &[x, y])).collect()))
            }
            Type::Scalar(_) => Err(SCALAR),
        }
    }

    fn select_elements(
        &mut self,
        result: ValueId,
        mask: ValueId,
        yes: ValueId,
        no: ValueId,
    ) -> Result<Value, LowerError> {
        let ty = self.held(result);
        let number = self.held(no).scalar().is_some();
        let (_, mask) = self.mask_of(mask)?;
        let (shape, no) = match ty {
            Type::Tile(tile) if number => {
                let number = self.scalar(no)?;
                let chunk = self.filled_chunk(tile, number);
                (Layout::of(tile).chunk(), vec![chunk; Layout::of(tile).count()])
            }
            Type::Tile(tile) => (Layout::of(tile).chunk(), self.tile(no)?),
            Type::Vector(v) if number => {
                let number = self.scalar(no)?;
                (Layout::register(v.dtype), vec![self.rounded(v.dtype, LANE, number); Layout::registers(v)])
            }
            Type::Vector(v) => (Layout::register(v.dtype), self.vector(no)?),
            Type::Scalar(_) => return Err(SCALAR),
        };
        let parts = mask.into_iter().zip(self.parts(yes)?).zip(no);
        let all = parts.map(|((m, y), n)| self.here(Inst::Select, shape, &[m, y, n])).collect();
        self.like(result, all)
    }

    /// `iota`: the index is exact in f32, so that adding the start rounds once.
    fn count_elements(&mut self, result: ValueId, along: Along, start: ValueId) -> Result<Value, LowerError> {
        let start = self.scalar(start)?;
        match self.held(result) {
            Type::Tile(tile) => self.count_tile(tile, along, start),
            Type::Vector(v) => {
                let registers = Layout::registers(v) as u32;
                let register = |s: &mut Self, j| s.lane_number(v.dtype, LANES * j, start);
                Ok(Value::Vector((0..registers).map(|j| register(self, j)).collect()))
            }
            Type::Scalar(_) => Err(SCALAR),
        }
    }

    fn count_tile(&mut self, tile: TileType, along: Along, start: Id) -> Result<Value, LowerError> {
        let layout = Layout::of(tile);
        let mut all = vec![0; layout.count()];
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let parts: [Id; 8] = match along {
                    Along::Cols => [self.lane_number(tile.dtype, LANES * across, start); 8],
                    Along::Rows => core::array::from_fn(|i| {
                        let row = layout.chunk_rows() * down + i as u32;
                        let word = if tile.dtype.is_integer() { row } else { (row as f32).to_bits() };
                        let row = self.e.int(Layout::register(tile.dtype), word.into());
                        self.counted(tile.dtype, start, row)
                    }),
                };
                all[layout.index(down, across)] =
                    self.e.pure(Inst::CompositeConstruct, layout.chunk(), &parts);
            }
        }
        Ok(Value::Tile(all))
    }

    /// The start plus the lane's number plus an offset.
    fn lane_number(&mut self, dtype: DType, offset: u32, start: Id) -> Id {
        let lane = self.lane();
        let offset = self.e.u32(offset);
        let index = self.e.add(U32, lane, offset);
        let index = if dtype.is_integer() { index } else { self.e.pure(Inst::ConvertUToF, LANE, &[index]) };
        self.counted(dtype, start, index)
    }

    fn counted(&mut self, dtype: DType, start: Id, index: Id) -> Id {
        let add = if dtype.is_integer() { Inst::IAdd } else { Inst::FAdd };
        self.e.pure(add, Layout::register(dtype), &[start, index])
    }
}
