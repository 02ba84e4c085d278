//! Owns the lowering of verified IR to the machine: a back end like `tile-spirv`, of the ops that the proof needs.
//!
//! *Guarantees*: an op it has no lowering for is refused by name. *Not here*: what instructions do (`machine`).

use std::collections::BTreeMap;

use tile_ir::ir::{
    Coord, Exit, Kernel, LoadForm, Op, OpKind, Order, ParamKind, Reduction, Region, Unit, ValueId,
};
use tile_ir::map::MapBinary;
use tile_ir::scalar::{Binary, Const};
use tile_ir::types::{Along, Role, TileType, Type};
use tile_ir::verify::Verified;

use crate::machine::{Combine, Inst, LANES, Lanes, Opaque, Program, Scalar};

/// What an IR value is here.
#[derive(Clone, Debug)]
enum Place {
    Scalar(Scalar),
    /// Opaque tiles, row after row, and how many there are per row.
    Tile(Vec<Opaque>, usize),
    /// One value per row, in the lanes of as many registers as the rows need.
    Rows(Vec<Lanes>),
}

struct Lowering<'a> {
    kernel: &'a Kernel,
    places: BTreeMap<ValueId, Place>,
    out: Program,
    insts: Vec<Vec<Inst>>,
}

/// Lowers a kernel.
pub fn lower(kernel: &Verified) -> Result<Program, String> {
    let facts = kernel.facts();
    let kernel = kernel.kernel();
    let mut this = Lowering { kernel, places: BTreeMap::new(), out: Program::default(), insts: vec![vec![]] };
    this.out.grid = (facts.grid.0 as usize, (facts.tile.0 as usize, facts.tile.1 as usize));
    this.out.subgroups = (kernel.subgroups.0 as usize, kernel.subgroups.1 as usize);
    for (i, param) in kernel.params.iter().enumerate() {
        if let ParamKind::Scalar { value, .. } = param.kind {
            let to = this.scalar_for(value);
            this.emit(Inst::Argument(to, i));
        }
    }
    this.ops(&kernel.body.ops)?;
    if kernel.body.exit != Exit::Return {
        return Err("a kernel ends".into());
    }
    this.out.insts = this.insts.pop().unwrap_or_default();
    Ok(this.out)
}

/// The shape of the opaque tiles that make up a tile: right operands have as many rows as columns.
fn piece(t: TileType) -> (usize, usize) {
    if t.role == Role::Vnni { (16, 16) } else { (8, 16) }
}

impl Lowering<'_> {
    fn emit(&mut self, inst: Inst) {
        if let Some(insts) = self.insts.last_mut() {
            insts.push(inst);
        }
    }

    fn new_scalar(&mut self) -> Scalar {
        self.out.scalars += 1;
        self.out.scalars - 1
    }

    fn scalar_for(&mut self, value: ValueId) -> Scalar {
        let to = self.new_scalar();
        self.places.insert(value, Place::Scalar(to));
        to
    }

    fn scalar(&self, value: ValueId) -> Result<Scalar, String> {
        match self.places.get(&value) {
            Some(Place::Scalar(s)) => Ok(*s),
            other => Err(format!("{value} is not a scalar: {other:?}")),
        }
    }

    fn tile_type(&self, value: ValueId) -> Result<TileType, String> {
        self.kernel.ty(value).tile().ok_or_else(|| format!("{value} is not a tile"))
    }

    fn tile_for(&mut self, value: ValueId) -> Result<(Vec<Opaque>, usize), String> {
        let t = self.tile_type(value)?;
        let (rows, cols) = piece(t);
        let across = t.cols as usize / cols;
        let count = t.rows as usize / rows * across;
        let all: Vec<Opaque> = (self.out.opaques..self.out.opaques + count).collect();
        self.out.opaques += count;
        self.places.insert(value, Place::Tile(all.clone(), across));
        Ok((all, across))
    }

    fn tile(&self, value: ValueId) -> Result<(Vec<Opaque>, usize), String> {
        match self.places.get(&value) {
            Some(Place::Tile(all, across)) => Ok((all.clone(), *across)),
            other => Err(format!("{value} is not a tile: {other:?}")),
        }
    }

    /// A coordinate of a tile in elements.
    fn start(&mut self, at: &Coord, t: TileType) -> Result<[Scalar; 2], String> {
        if at.unit == Unit::Elements {
            return Ok([self.scalar(at.row)?, self.scalar(at.col)?]);
        }
        let mut out = [0; 2];
        for (out, (value, size)) in out.iter_mut().zip([(at.row, t.rows), (at.col, t.cols)]) {
            let (by, to, from) = (self.new_scalar(), self.new_scalar(), self.scalar(value)?);
            self.emit(Inst::Const(by, Const::U32(size)));
            self.emit(Inst::Binary(to, Binary::Mul, from, by));
            *out = to;
        }
        Ok(out)
    }

    /// The offsets of the opaque tiles of a tile.
    fn offsets(t: TileType, count: usize, across: usize) -> impl Iterator<Item = [usize; 2]> {
        let (rows, cols) = piece(t);
        (0..count).map(move |i| [i / across * rows, i % across * cols])
    }

    fn ops(&mut self, ops: &[Op]) -> Result<(), String> {
        ops.iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: &Op) -> Result<(), String> {
        let refused = || Err(format!("this target has no `{}`", op.kind.name()));
        let first = op.results.first().copied();
        let result = move || first.ok_or("an op has no result".to_string());
        match &op.kind {
            OpKind::Const(c) => {
                let to = self.scalar_for(result()?);
                self.emit(Inst::Const(to, *c));
            }
            OpKind::Binary { op: what, lhs, rhs } => {
                let (a, b) = (self.scalar(*lhs)?, self.scalar(*rhs)?);
                let to = self.scalar_for(result()?);
                self.emit(Inst::Binary(to, *what, a, b));
            }
            OpKind::Unary { op: what, value } => {
                let a = self.scalar(*value)?;
                let to = self.scalar_for(result()?);
                self.emit(Inst::Unary(to, *what, a));
            }
            OpKind::Compare { op: what, lhs, rhs } => {
                let (a, b) = (self.scalar(*lhs)?, self.scalar(*rhs)?);
                let to = self.scalar_for(result()?);
                self.emit(Inst::Compare(to, *what, a, b));
            }
            OpKind::Cast { value } => {
                let Type::Scalar(ty) = self.kernel.ty(result()?) else { return refused() };
                let a = self.scalar(*value)?;
                let to = self.scalar_for(result()?);
                self.emit(Inst::Cast(to, ty, a));
            }
            OpKind::Dim { global, dim } => {
                let to = self.scalar_for(result()?);
                self.emit(Inst::Dim(to, global.0 as usize, *dim));
            }
            OpKind::OwnTile { order: Order::Linear, .. } => {
                let all: Vec<Scalar> = op.results.iter().map(|&v| self.scalar_for(v)).collect();
                let [batch, depth, row, col] = all[..] else { return refused() };
                self.emit(Inst::Const(batch, Const::U32(0)));
                self.emit(Inst::Const(depth, Const::U32(0)));
                self.emit(Inst::Own(row, col));
            }
            OpKind::Zeros => {
                let shape = piece(self.tile_type(result()?)?);
                for to in self.tile_for(result()?)?.0 {
                    self.emit(Inst::Zeros(to, shape));
                }
            }
            OpKind::Load { global, at, form: LoadForm::Plain | LoadForm::Transform } => {
                let t = self.tile_type(result()?)?;
                let start = self.start(at, t)?;
                let (all, across) = self.tile_for(result()?)?;
                for (&to, offset) in all.iter().zip(Self::offsets(t, all.len(), across)) {
                    self.emit(Inst::Load(to, piece(t), global.0 as usize, start, offset));
                }
            }
            OpKind::Store { global, tile, at } => {
                let t = self.tile_type(*tile)?;
                let start = self.start(at, t)?;
                let (all, across) = self.tile(*tile)?;
                for (&from, offset) in all.iter().zip(Self::offsets(t, all.len(), across)) {
                    self.emit(Inst::Store(from, global.0 as usize, start, offset));
                }
            }
            OpKind::Mma { acc, a, b } => {
                let (old, n) = self.tile(*acc)?;
                let ((x, across_k), (y, _)) = (self.tile(*a)?, self.tile(*b)?);
                let (new, _) = self.tile_for(result()?)?;
                for (i, (&to, &from)) in new.iter().zip(&old).enumerate() {
                    self.emit(Inst::CopyOpaque(to, from));
                    for k in 0..across_k {
                        self.emit(Inst::MulAdd(to, x[i / n * across_k + k], y[k * n + i % n]));
                    }
                }
            }
            OpKind::Scale { tile, by } => {
                let by = self.scalar(*by)?;
                let (from, _) = self.tile(*tile)?;
                for (&to, &from) in self.tile_for(result()?)?.0.iter().zip(&from) {
                    self.emit(Inst::CombineScalar(to, Combine::Mul, from, by));
                }
            }
            OpKind::Reduce { how: Reduction::Max, along: Along::Rows, tile, running: None } => {
                // Opaque tiles do not say where a row is: it goes through memory.
                let t = self.tile_type(*tile)?;
                let (all, across) = self.tile(*tile)?;
                for (&from, [row, col]) in all.iter().zip(Self::offsets(t, all.len(), across)) {
                    self.emit(Inst::Spill(from, row, col));
                }
                let count = (t.rows as usize).div_ceil(LANES);
                let registers: Vec<Lanes> = (self.out.lanes..self.out.lanes + count).collect();
                self.out.lanes += count;
                for (i, &to) in registers.iter().enumerate() {
                    self.emit(Inst::RowMax(to, i * LANES, t.cols as usize));
                }
                self.places.insert(result()?, Place::Rows(registers));
            }
            OpKind::MapBinary { op: MapBinary::Sub, lhs, rhs } => {
                let t = self.tile_type(*lhs)?;
                let (from, across) = self.tile(*lhs)?;
                let Some(Place::Rows(registers)) = self.places.get(rhs).cloned() else { return refused() };
                for (i, &lanes) in registers.iter().enumerate() {
                    let rows = (t.rows as usize - i * LANES).min(LANES);
                    self.emit(Inst::SpillLanes(lanes, i * LANES, rows));
                }
                let (new, _) = self.tile_for(result()?)?;
                for ((&to, &from), [row, _]) in new.iter().zip(&from).zip(Self::offsets(t, new.len(), across))
                {
                    self.emit(Inst::Broadcast(to, piece(t), row));
                    self.emit(Inst::Combine(to, Combine::Sub, from, to));
                }
            }
            OpKind::For { lo, hi, step, inits, body } => self.counted(op, (*lo, *hi, *step), inits, body)?,
            _ => return refused(),
        }
        Ok(())
    }

    fn counted(
        &mut self,
        op: &Op,
        (lo, hi, step): (ValueId, ValueId, u32),
        inits: &[ValueId],
        body: &Region,
    ) -> Result<(), String> {
        let (lo, hi) = (self.scalar(lo)?, self.scalar(hi)?);
        let Some((&counter, carried)) = body.args.split_first() else { return Err("no counter".into()) };
        let counter = self.scalar_for(counter);
        // One home for each carried value, which the body reads and its end writes.
        for (&arg, &init) in carried.iter().zip(inits) {
            self.copy(arg, init)?;
        }
        self.insts.push(vec![]);
        self.ops(&body.ops)?;
        let Exit::Yield(yields) = &body.exit else { return Err("this target has no `break`".into()) };
        let next: Vec<Place> = yields.iter().filter_map(|v| self.places.get(v).cloned()).collect();
        for (&arg, from) in carried.iter().zip(&next) {
            let to = self.places.get(&arg).cloned();
            self.copy_places(to.as_ref(), from)?;
        }
        let insts = self.insts.pop().unwrap_or_default();
        self.emit(Inst::For { counter, lo, hi, step, body: insts });
        for (&result, &arg) in op.results.iter().zip(carried) {
            self.copy(result, arg)?;
        }
        Ok(())
    }

    fn copy(&mut self, to: ValueId, from: ValueId) -> Result<(), String> {
        match self.kernel.ty(to) {
            Type::Scalar(_) => {
                self.scalar_for(to);
            }
            Type::Tile(_) => {
                self.tile_for(to)?;
            }
            Type::Vector(_) => return Err("this target carries no vectors".into()),
        }
        let (to, from) = (self.places.get(&to).cloned(), self.places.get(&from).cloned());
        self.copy_places(to.as_ref(), from.as_ref().ok_or("a value is missing")?)
    }

    fn copy_places(&mut self, to: Option<&Place>, from: &Place) -> Result<(), String> {
        match (to, from) {
            (Some(Place::Scalar(to)), Place::Scalar(from)) => self.emit(Inst::CopyScalar(*to, *from)),
            (Some(Place::Tile(to, _)), Place::Tile(from, _)) => {
                for (&to, &from) in to.iter().zip(from) {
                    self.emit(Inst::CopyOpaque(to, from));
                }
            }
            (to, from) => return Err(format!("{from:?} does not go to {to:?}")),
        }
        Ok(())
    }
}
