//! Owns a plain evaluator of verified IR: the meaning of a kernel, element by element, as `tile-ir` documents it.
//!
//! *Assumes* a verified kernel. *Guarantees*: it shares no code with the lowering or the simulator; it ends (step
//! limit). *Not here*: how far a device may be from a number (`number`).

mod choose;
mod group;
mod topk;
mod vector;

use std::rc::Rc;

use tile_ir::ir::{
    Coord, Dim, Exit, Kernel, LoadForm, Op, OpKind, Order, ParamKind, Place, Region, Selection, Unit, ValueId,
};
use tile_ir::map::MapBinary;
use tile_ir::scalar::{self, Binary, Compare, Const, Unary};
use tile_ir::types::{Along, DType, ScalarType, Type};
use tile_ir::verify::Verified;

use super::host;
use super::number::{Num, dot, reduce_any_order};
use super::tensor::Tensor;

/// A mistake that the evaluator makes on purpose, to show that the fuzzer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Tiles are subtracted the wrong way round.
    Difference,
    /// Loads see the padding beyond the last column.
    Padding,
    /// Division of integers by zero gives 1.
    DivisionByZero,
    /// `continue` leaves the loop.
    Continue,
    /// A reduction of rows forgets the last column.
    LastColumn,
    /// A multiplication forgets the last product.
    LastProduct,
}

impl Plant {
    /// Every mistake.
    pub const ALL: &'static [Plant] = &[
        Plant::Difference,
        Plant::Padding,
        Plant::DivisionByZero,
        Plant::Continue,
        Plant::LastColumn,
        Plant::LastProduct,
    ];
}

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A branch depends on a number that correct devices may disagree about.
    #[error("a branch depends on rounding")]
    Ambiguous,
    /// The kernel runs for too long.
    #[error("the kernel runs for too long")]
    Steps,
    /// The IR is not what the verifier promises.
    #[error("the verified IR is malformed: {0}")]
    Malformed(&'static str),
    /// A host body gives something else.
    #[error("{0}")]
    Host(String),
}

/// Ops and elements after which an evaluation gives up.
const STEPS: u64 = 20_000_000;

const UNDEFINED: Stop = Stop::Malformed("a scalar op that is not defined");

#[derive(Clone, Debug)]
struct Grid {
    cols: usize,
    data: Vec<Num>,
}

impl Grid {
    fn row(&self, r: usize) -> &[Num] {
        &self.data[r * self.cols..(r + 1) * self.cols]
    }
}

fn turned(grid: &Grid) -> Grid {
    let rows = grid.data.len() / grid.cols;
    Grid {
        cols: rows,
        data: (0..grid.data.len()).map(|i| grid.data[i % rows * grid.cols + i / rows]).collect(),
    }
}

#[derive(Clone, Debug)]
enum Val {
    /// A scalar; the error is that of an f32.
    Scalar(Const, f64),
    Grid(Rc<Grid>),
}

/// Rows and columns of a tile; a vector is one row.
fn extents(ty: Type) -> Result<(usize, usize, DType), Stop> {
    match ty {
        Type::Tile(t) => Ok((t.rows as usize, t.cols as usize, t.dtype)),
        Type::Vector(v) => Ok((1, v.len as usize, v.dtype)),
        Type::Scalar(_) => Err(Stop::Malformed("a tile was expected")),
    }
}

/// One sub-group at work.
struct Eval<'a> {
    kernel: &'a Kernel,
    tensors: &'a mut [Option<Tensor>],
    group: u64,
    subgroup: u64,
    values: Vec<Option<Val>>,
    steps: u64,
    plant: Option<Plant>,
    shared: &'a mut group::Shared,
}

/// How a region ended.
enum End {
    Yield(Vec<Val>),
    Break(Vec<Val>),
    Continue(Vec<Val>),
    Return,
}

/// Number of work-groups of a launch.
pub fn groups(kernel: &Verified, output: &Tensor) -> u32 {
    let (s, (rows, cols)) = (&output.spec, kernel.facts().tile);
    let (down, across) = kernel.kernel().subgroups;
    s.rows.div_ceil(rows).div_ceil(down) * s.cols.div_ceil(cols).div_ceil(across) * s.batch * s.depth
}

/// Runs a kernel over its grid. `tensors` has one entry per parameter, `None` for scalars; `scalars` the others.
///
/// # Errors
/// See [`Stop`].
pub fn evaluate(
    kernel: &Verified,
    tensors: &mut [Option<Tensor>],
    scalars: &[Option<Const>],
    plant: Option<Plant>,
) -> Result<(), Stop> {
    let facts = kernel.facts();
    let output = tensors.get(facts.grid.0 as usize).and_then(Option::as_ref);
    let count = groups(kernel, output.ok_or(Stop::Malformed("the grid's tensor"))?);
    let kernel = kernel.kernel();
    let mut steps = 0;
    for group in 0..u64::from(count) {
        let mut shared = group::Shared::fresh(kernel);
        let before = kernel.waits().then(|| tensors.to_vec());
        loop {
            for subgroup in 0..u64::from(kernel.subgroups.0 * kernel.subgroups.1) {
                let values = vec![None; kernel.values.len()];
                let shared = &mut shared;
                shared.enter();
                let mut eval = Eval { kernel, tensors, group, subgroup, values, steps, plant, shared };
                for (param, value) in kernel.params.iter().zip(scalars) {
                    if let (ParamKind::Scalar { value: id, .. }, Some(c)) = (&param.kind, value) {
                        eval.values[id.0 as usize] = Some(Val::Scalar(*c, 0.0));
                    }
                }
                eval.region(&kernel.body)?;
                steps = eval.steps;
            }
            match &before {
                Some(before) if shared.again() => tensors.clone_from_slice(before),
                Some(_) | None => break,
            }
        }
    }
    Ok(())
}

fn number(c: Const, e: f64) -> Result<Num, Stop> {
    match c {
        Const::F32(bits) => Ok(Num { int: None, v: f32::from_bits(bits), e }),
        Const::I32(v) => Ok(Num::whole(v)),
        Const::U32(_) | Const::U64(_) | Const::Bool(_) => Err(Stop::Malformed("an f32 or i32 was expected")),
    }
}

fn float(n: Num) -> Val {
    Val::Scalar(n.int.map_or(Const::F32(n.v.to_bits()), Const::I32), n.e)
}

impl Eval<'_> {
    fn get(&self, id: ValueId) -> Result<&Val, Stop> {
        self.values
            .get(id.0 as usize)
            .and_then(Option::as_ref)
            .ok_or(Stop::Malformed("a value before its op"))
    }

    fn all(&self, ids: &[ValueId]) -> Result<Vec<Val>, Stop> {
        ids.iter().map(|id| self.get(*id).cloned()).collect()
    }

    fn bind(&mut self, to: &[ValueId], values: Vec<Val>) -> Result<(), Stop> {
        if to.len() != values.len() {
            return Err(Stop::Malformed("counts of values differ"));
        }
        for (id, value) in to.iter().zip(values) {
            self.values[id.0 as usize] = Some(value);
        }
        Ok(())
    }

    fn scalar(&self, id: ValueId) -> Result<(Const, f64), Stop> {
        match self.get(id)? {
            Val::Scalar(c, e) => Ok((*c, *e)),
            Val::Grid(_) => Err(Stop::Malformed("a scalar was expected")),
        }
    }

    fn f32(&self, id: ValueId) -> Result<Num, Stop> {
        let (c, e) = self.scalar(id)?;
        number(c, e)
    }

    fn u32(&self, id: ValueId) -> Result<u32, Stop> {
        match self.scalar(id)?.0 {
            Const::U32(v) => Ok(v),
            Const::I32(_) | Const::U64(_) | Const::F32(_) | Const::Bool(_) => {
                Err(Stop::Malformed("a u32 was expected"))
            }
        }
    }

    fn truth(&self, val: &Val) -> Result<bool, Stop> {
        match val {
            Val::Scalar(Const::Bool(v), _) => Ok(*v),
            Val::Scalar(..) | Val::Grid(_) => Err(Stop::Malformed("a bool was expected")),
        }
    }

    fn grid(&self, id: ValueId) -> Result<Rc<Grid>, Stop> {
        match self.get(id)? {
            Val::Grid(g) => Ok(g.clone()),
            Val::Scalar(..) => Err(Stop::Malformed("a tile was expected")),
        }
    }

    fn spend(&mut self, n: usize) -> Result<(), Stop> {
        self.steps += n as u64;
        if self.steps > STEPS { Err(Stop::Steps) } else { Ok(()) }
    }

    fn tensor(&self, id: tile_ir::ir::ParamId) -> Result<&Tensor, Stop> {
        self.tensors
            .get(id.0 as usize)
            .and_then(Option::as_ref)
            .ok_or(Stop::Malformed("a tensor was expected"))
    }

    fn region(&mut self, region: &Region) -> Result<End, Stop> {
        for op in &region.ops {
            self.spend(1)?;
            let results = match self.op(op)? {
                End::Yield(values) => values,
                other => return Ok(other),
            };
            self.bind(&op.results, results)?;
        }
        Ok(match &region.exit {
            Exit::Yield(values) => End::Yield(self.all(values)?),
            Exit::Break(values) => End::Break(self.all(values)?),
            Exit::Continue(values) if self.plant == Some(Plant::Continue) => End::Break(self.all(values)?),
            Exit::Continue(values) => End::Continue(self.all(values)?),
            Exit::Return => End::Return,
        })
    }

    fn op(&mut self, op: &Op) -> Result<End, Stop> {
        match &op.kind {
            OpKind::If { cond, then, otherwise } => {
                let taken = if self.truth(self.get(*cond)?)? { then } else { otherwise };
                self.region(taken)
            }
            OpKind::For { lo, hi, step, inits, body } => self.counted((*lo, *hi, *step), inits, body),
            OpKind::While { inits, cond, body } => {
                let mut carried = self.all(inits)?;
                loop {
                    self.spend(1)?;
                    self.bind(&cond.args, carried.clone())?;
                    let End::Yield(goes) = self.region(cond)? else {
                        return Err(Stop::Malformed("a condition yields"));
                    };
                    let goes = goes.first().ok_or(Stop::Malformed("a condition yields one value"))?;
                    if !self.truth(goes)? {
                        return Ok(End::Yield(carried));
                    }
                    self.bind(&body.args, carried)?;
                    match self.region(body)? {
                        End::Yield(values) | End::Continue(values) => carried = values,
                        End::Break(values) => return Ok(End::Yield(values)),
                        End::Return => return Ok(End::Return),
                    }
                }
            }
            OpKind::OwnTile { global, tile, order } => {
                let own = self.own(*global, *tile, order)?;
                Ok(End::Yield(own.map(|v| Val::Scalar(Const::U32(v), 0.0)).to_vec()))
            }
            OpKind::Store { global, tile, at } | OpKind::StoreTranspose { global, tile, at } => {
                let mut grid = self.grid(*tile)?;
                if matches!(op.kind, OpKind::StoreTranspose { .. }) {
                    grid = Rc::new(turned(&grid));
                }
                let rows = grid.data.len() / grid.cols;
                self.spend(grid.data.len())?;
                let (origin, _) = self.origin(at, (rows, grid.cols))?;
                let tensor = self.tensors.get_mut(global.0 as usize).and_then(Option::as_mut);
                let tensor = tensor.ok_or(Stop::Malformed("a tensor was expected"))?;
                for r in 0..rows {
                    for c in 0..grid.cols {
                        let [batch, depth, row, col] = origin;
                        tensor.set(
                            [batch, depth, row + r as u64, col + c as u64],
                            grid.data[r * grid.cols + c],
                        );
                    }
                }
                Ok(End::Yield(vec![]))
            }
            OpKind::AtomicAdd { global, value, at, vector } => {
                let grid = self.grid(*value)?;
                let rows = if *vector { 1 } else { grid.data.len() / grid.cols };
                let ([batch, depth, row, col], _) = self.origin(at, (rows, grid.cols))?;
                let tensor = self.tensors.get_mut(global.0 as usize).and_then(Option::as_mut);
                let tensor = tensor.ok_or(Stop::Malformed("a tensor was expected"))?;
                for (i, value) in grid.data.iter().enumerate() {
                    let place = [batch, depth, row + (i / grid.cols) as u64, col + (i % grid.cols) as u64];
                    if let Some(old) = tensor.get(place) {
                        // Exact if it is the only addition to the element, as the kernels of the suite have it.
                        tensor.set(place, old.binary(MapBinary::Add, *value));
                    }
                }
                Ok(End::Yield(vec![]))
            }
            OpKind::Prefetch { .. } => Ok(End::Yield(vec![])),
            OpKind::TopK(what) => Ok(End::Yield(self.top_k(op, what)?)),
            OpKind::Vector(what) if op.results.is_empty() => self.vector_effect(what),
            OpKind::Group(what) if op.results.is_empty() => {
                self.group_op(what)?;
                Ok(End::Yield(vec![]))
            }
            _ => {
                let ty = op.results.first().map(|id| self.kernel.ty(*id));
                let ty = ty.ok_or(Stop::Malformed("an op without result"))?;
                Ok(End::Yield(vec![match ty {
                    Type::Scalar(s) => self.scalar_op(op, s)?,
                    Type::Tile(_) | Type::Vector(_) => {
                        let grid = self.grid_op(op, ty)?;
                        self.spend(grid.data.len())?;
                        Val::Grid(Rc::new(grid))
                    }
                }]))
            }
        }
    }

    fn counted(
        &mut self,
        (lo, hi, step): (ValueId, ValueId, u32),
        inits: &[ValueId],
        body: &Region,
    ) -> Result<End, Stop> {
        let wide = |c: Const| match c {
            Const::U32(v) => Ok((i128::from(v), ScalarType::U32)),
            Const::I32(v) => Ok((i128::from(v), ScalarType::I32)),
            Const::U64(v) => Ok((i128::from(v), ScalarType::U64)),
            Const::F32(_) | Const::Bool(_) => Err(Stop::Malformed("a counter is an integer")),
        };
        let (mut at, ty) = wide(self.scalar(lo)?.0)?;
        let (end, _) = wide(self.scalar(hi)?.0)?;
        let mut carried = self.all(inits)?;
        while at < end {
            self.spend(1)?;
            let counter = match ty {
                ScalarType::I32 => Const::I32(at as i32),
                ScalarType::U64 => Const::U64(at as u64),
                ScalarType::U32 | ScalarType::F32 | ScalarType::Bool => Const::U32(at as u32),
            };
            let mut args = vec![Val::Scalar(counter, 0.0)];
            args.extend(carried);
            self.bind(&body.args, args)?;
            match self.region(body)? {
                End::Yield(values) | End::Continue(values) => carried = values,
                End::Break(values) => return Ok(End::Yield(values)),
                End::Return => return Ok(End::Return),
            }
            at += i128::from(step);
        }
        Ok(End::Yield(carried))
    }

    /// The owned tile, as the order of work-groups deals it out.
    fn own(&self, global: tile_ir::ir::ParamId, tile: (u32, u32), order: &Order) -> Result<[u32; 4], Stop> {
        let s = &self.tensor(global)?.spec;
        let (down, across) = self.kernel.subgroups;
        let gm = u64::from(s.rows.div_ceil(tile.0).div_ceil(down));
        let gn = u64::from(s.cols.div_ceil(tile.1).div_ceil(across));
        let (plane, id) = (self.group / (gm * gn), self.group % (gm * gn));
        let (wm, wn) = match order {
            Order::Linear => (id / gn, id % gn),
            Order::Upward => (gm - 1 - id / gn, id % gn),
            Order::Snake(width) => {
                let w = u64::from(self.u32(*width)?).max(1);
                let stack = id / (w * gm);
                let first = stack * w;
                let width = w.min(gn - first);
                let r = id - stack * w * gm;
                let (mut row, mut col) = (r / width, r % width);
                if stack % 2 == 1 {
                    row = gm - 1 - row;
                }
                if row % 2 == 1 {
                    col = width - 1 - col;
                }
                (row, first + col)
            }
        };
        let depth = u64::from(s.depth);
        let (down, across) = (u64::from(down), u64::from(across));
        let row = wm * down + self.subgroup / across;
        let col = wn * across + self.subgroup % across;
        Ok([plane / depth, plane % depth, row, col].map(|v| v as u32))
    }

    fn origin(&self, at: &Coord, (rows, cols): (usize, usize)) -> Result<([u64; 4], bool), Stop> {
        let plane = |id: Option<ValueId>| id.map_or(Ok(0), |id| self.u32(id));
        let (rows, cols) = match at.unit {
            Unit::Tiles => (rows as u64, cols as u64),
            Unit::Elements => (1, 1),
        };
        let (row, col) = (u64::from(self.u32(at.row)?) * rows, u64::from(self.u32(at.col)?) * cols);
        Ok(([plane(at.batch)?.into(), plane(at.depth)?.into(), row, col], true))
    }

    /// Reads rows x cols elements; 0 outside.
    fn read(
        &self,
        global: tile_ir::ir::ParamId,
        at: &Coord,
        (rows, cols): (usize, usize),
    ) -> Result<Vec<Num>, Stop> {
        let ([batch, depth, row, col], _) = self.origin(at, (rows, cols))?;
        let tensor = self.tensor(global)?;
        let outside = if self.plant == Some(Plant::Padding) { f32::NAN } else { 0.0 };
        let mut data = Vec::with_capacity(rows * cols);
        for r in 0..rows as u64 {
            for c in 0..cols as u64 {
                let element = tensor.get([batch, depth, row + r, col + c]);
                let just_outside = col + c < u64::from(tensor.pitch());
                let missing = if just_outside && outside != 0.0 {
                    Num::exact(outside)
                } else {
                    Num::zero(tensor.dtype)
                };
                data.push(element.unwrap_or(missing));
            }
        }
        Ok(data)
    }

    /// Stops if a host body was refuted. A planted mistake is for the words to find.
    fn agrees(&self, refuted: Option<String>) -> Result<(), Stop> {
        match refuted {
            Some(what) if self.plant.is_none() => Err(Stop::Host(what)),
            Some(_) | None => Ok(()),
        }
    }

    fn scalar_op(&mut self, op: &Op, ty: ScalarType) -> Result<Val, Stop> {
        Ok(match &op.kind {
            OpKind::Const(c) => Val::Scalar(*c, 0.0),
            OpKind::Binary { op, lhs, rhs } => {
                let ((a, ae), (b, be)) = (self.scalar(*lhs)?, self.scalar(*rhs)?);
                if let (Const::F32(_), Const::F32(_)) = (a, b) {
                    let (a, b) = (number(a, ae)?, number(b, be)?);
                    return Ok(float(match op {
                        Binary::Add => a.binary(MapBinary::Add, b),
                        Binary::Sub => a.binary(MapBinary::Sub, b),
                        Binary::Mul => a.binary(MapBinary::Mul, b),
                        Binary::Div => a.divided(b),
                        Binary::Min => a.binary(MapBinary::Min, b),
                        Binary::Max => a.binary(MapBinary::Max, b),
                        Binary::Rem | Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                            return Err(UNDEFINED);
                        }
                    }));
                }
                let by_zero = matches!(b, Const::U32(0) | Const::I32(0) | Const::U64(0));
                if self.plant == Some(Plant::DivisionByZero) && *op == Binary::Div && by_zero {
                    return Ok(Val::Scalar(scalar::cast(Const::U32(1), b.ty()).ok_or(UNDEFINED)?, 0.0));
                }
                Val::Scalar(scalar::binary(*op, a, b).ok_or(UNDEFINED)?, 0.0)
            }
            OpKind::Unary { op, value } => {
                let (a, e) = self.scalar(*value)?;
                let e = if *op == Unary::Neg { e } else { 0.0 };
                Val::Scalar(scalar::unary(*op, a).ok_or(UNDEFINED)?, e)
            }
            OpKind::Compare { op, lhs, rhs } => {
                let ((a, ae), (b, be)) = (self.scalar(*lhs)?, self.scalar(*rhs)?);
                if ae + be > 0.0 {
                    self.certain(*op, number(a, ae)?, number(b, be)?)?;
                }
                Val::Scalar(Const::Bool(scalar::compare(*op, a, b).ok_or(UNDEFINED)?), 0.0)
            }
            OpKind::Cast { value } => {
                let (a, e) = self.scalar(*value)?;
                let cast = |c| scalar::cast(c, ty).ok_or(UNDEFINED);
                if ty == ScalarType::F32 {
                    return Ok(Val::Scalar(cast(a)?, e));
                }
                if e > 0.0 {
                    let n = number(a, e)?;
                    let end = |s: f64| cast(Const::F32(((f64::from(n.v) + s * n.e) as f32).to_bits()));
                    if n.is_unknown() || end(1.0)? != cast(a)? || end(-1.0)? != cast(a)? {
                        return Err(Stop::Ambiguous);
                    }
                }
                Val::Scalar(cast(a)?, 0.0)
            }
            OpKind::Dim { global, dim } => {
                let t = self.tensor(*global)?;
                let v = match dim {
                    Dim::Batch => t.spec.batch,
                    Dim::Depth => t.spec.depth,
                    Dim::Rows => t.spec.rows,
                    Dim::Cols => t.spec.cols,
                    Dim::Pitch => t.pitch(),
                };
                Val::Scalar(Const::U32(v), 0.0)
            }
            OpKind::Place(place) => {
                let across = u64::from(self.kernel.subgroups.1);
                let v = match place {
                    Place::Id => self.subgroup,
                    Place::Row => self.subgroup / across,
                    Place::Col => self.subgroup % across,
                };
                Val::Scalar(Const::U32(v as u32), 0.0)
            }
            OpKind::Selection(Selection::Any { mask }) => Val::Scalar(Const::Bool(self.any(*mask)?), 0.0),
            OpKind::MapUnary { op, value } => float(self.f32(*value)?.unary(*op)),
            OpKind::Vector(what) => self.vector_scalar(what)?,
            OpKind::LoadScalar { global, at } => float(self.read(*global, at, (1, 1))?[0]),
            _ => return Err(UNDEFINED),
        })
    }

    /// Stops if numbers within their errors compare otherwise.
    fn certain(&self, _op: Compare, a: Num, b: Num) -> Result<(), Stop> {
        if a.is_unknown() || b.is_unknown() {
            return Err(Stop::Ambiguous);
        }
        let distance = (f64::from(a.v) - f64::from(b.v)).abs();
        if distance <= (a.e + b.e) * 1.001 { Err(Stop::Ambiguous) } else { Ok(()) }
    }

    fn grid_op(&mut self, op: &Op, ty: Type) -> Result<Grid, Stop> {
        let (rows, cols, dtype) = extents(ty)?;
        let grid = |data: Vec<Num>| Grid { cols, data };
        let each = |g: &Grid, f: &dyn Fn(Num) -> Num| grid(g.data.iter().map(|x| f(*x)).collect());
        Ok(match &op.kind {
            OpKind::Zeros => grid(vec![Num::zero(dtype); rows * cols]),
            OpKind::Fill { value } => grid(vec![self.f32(*value)?.to(dtype); rows * cols]),
            OpKind::Load { global, at, form: LoadForm::Plain | LoadForm::Transform } => {
                let read = self.read(*global, at, (rows, cols))?;
                // A tile of tf32 comes from f32.
                grid(read.into_iter().map(|x| x.to(dtype)).collect())
            }
            OpKind::Load { global, at, form: LoadForm::Transpose } => {
                let read = self.read(*global, at, (cols, rows))?;
                grid((0..rows * cols).map(|i| read[(i % cols) * rows + i / cols].to(dtype)).collect())
            }
            OpKind::Group(_) => self.load_shared(&op.kind, ty)?,
            OpKind::Vector(what) => self.vector_grid(what)?,
            OpKind::LoadVector { global, at } => grid(self.read(*global, at, (1, cols))?),
            OpKind::Transpose { tile } => turned(&*self.grid(*tile)?),
            OpKind::SubTile { tile, at } => {
                let whole = self.grid(*tile)?;
                let (top, left) = (at.0 as usize * rows, at.1 as usize * cols);
                let part = (top..top + rows).flat_map(|r| &whole.row(r)[left..left + cols]);
                grid(part.copied().collect())
            }
            OpKind::SetSubTile { tile, part, at } => {
                let (mut whole, part) = (Grid::clone(&*self.grid(*tile)?), self.grid(*part)?);
                let (top, left) = (at.0 as usize * (part.data.len() / part.cols), at.1 as usize * part.cols);
                for (i, value) in part.data.iter().enumerate() {
                    whole.data[(top + i / part.cols) * cols + left + i % part.cols] = *value;
                }
                whole
            }
            OpKind::Convert { tile } => each(&*self.grid(*tile)?, &|x| x.to(dtype)),
            OpKind::Scale { tile, by } => {
                let by = self.f32(*by)?;
                each(&*self.grid(*tile)?, &|x| x.binary(MapBinary::Mul, by).to(dtype))
            }
            OpKind::MapUnary { op, value } => {
                let operand = self.grid(*value)?;
                let done = each(&operand, &|x| x.unary(*op).to(dtype));
                self.agrees(host::refute_unary(*op, dtype, &operand.data, &done.data))?;
                done
            }
            OpKind::MapBinary { op, lhs, rhs } => {
                let left = self.grid(*lhs)?;
                let f = |a: Num, b: Num| match self.plant {
                    Some(Plant::Difference) if *op == MapBinary::Sub => b.binary(*op, a).to(dtype),
                    _ => a.binary(*op, b).to(dtype),
                };
                let right = self.beside(*rhs, ty, left.data.len())?;
                let done: Vec<Num> = left.data.iter().zip(&right).map(|(a, b)| f(*a, *b)).collect();
                // A scalar or vector beside a 16-bit tile is not rounded to the tile's type.
                if dtype == DType::F32 || self.kernel.ty(*rhs) == ty {
                    self.agrees(host::refute_binary(*op, dtype, &left.data, &right, &done))?;
                }
                grid(done)
            }
            OpKind::MapTernary { op, x, a, b } => {
                let x = self.grid(*x)?;
                let (a, b) = (self.beside(*a, ty, x.data.len())?, self.beside(*b, ty, x.data.len())?);
                let each = x.data.iter().zip(a).zip(b);
                grid(each.map(|((x, a), b)| choose::ternary(*op, *x, a, b).to(dtype)).collect())
            }
            OpKind::Selection(what) => grid(self.selected(what, ty, rows * cols)?),
            OpKind::Reduce { how, along, tile, running } => {
                let g = self.grid(*tile)?;
                let last = usize::from(self.plant == Some(Plant::LastColumn));
                let reduced: Vec<Num> = match along {
                    Along::Rows => (0..g.data.len() / g.cols)
                        .map(|r| reduce_any_order(*how, &g.row(r)[..g.cols - last]))
                        .collect(),
                    Along::Cols => (0..g.cols)
                        .map(|c| {
                            let column = g.data.iter().skip(c).step_by(g.cols).copied();
                            column.reduce(|a, b| a.binary(how.combiner(), b)).unwrap_or(Num::UNKNOWN)
                        })
                        .collect(),
                };
                self.agrees(host::refute_reduce(*how, *along, g.cols, &g.data, &reduced))?;
                match running {
                    None => grid(reduced),
                    Some(id) => {
                        let running = self.grid(*id)?;
                        let pairs = running.data.iter().zip(reduced);
                        grid(pairs.map(|(a, b)| a.binary(how.combiner(), b)).collect())
                    }
                }
            }
            OpKind::KeepFirst { tile, along, keep, fill } => {
                let (keep, fill) = (self.u32(*keep)? as usize, self.f32(*fill)?.to(dtype));
                let g = self.grid(*tile)?;
                let index = |i: usize| match along {
                    Along::Rows => i / cols,
                    Along::Cols => i % cols,
                };
                let data = g.data.iter().enumerate();
                grid(data.map(|(i, x)| if index(i) < keep { *x } else { fill }).collect())
            }
            OpKind::Triangle { tile, lower, row_start, col_start, fill } => {
                let (row, col) = (u64::from(self.u32(*row_start)?), u64::from(self.u32(*col_start)?));
                let fill = self.f32(*fill)?.to(dtype);
                let g = self.grid(*tile)?;
                let kept = |i: usize| {
                    let (r, c) = (row + (i / cols) as u64, col + (i % cols) as u64);
                    if *lower { c <= r } else { c >= r }
                };
                let data = g.data.iter().enumerate();
                grid(data.map(|(i, x)| if kept(i) { *x } else { fill }).collect())
            }
            OpKind::Mma { acc, a, b } => {
                let (acc, a, b) = (self.grid(*acc)?, self.grid(*a)?, self.grid(*b)?);
                self.spend(rows * cols * a.cols)?;
                let k = a.cols - usize::from(self.plant == Some(Plant::LastProduct));
                let mut data = Vec::with_capacity(rows * cols);
                for r in 0..rows {
                    for c in 0..cols {
                        let products = (0..k).map(|k| (a.data[r * a.cols + k], b.data[k * cols + c]));
                        data.push(dot(acc.data[r * cols + c], products));
                    }
                }
                grid(data)
            }
            _ => return Err(Stop::Malformed("an op that gives no tile")),
        })
    }
}
