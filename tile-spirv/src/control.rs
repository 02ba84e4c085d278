//! Owns regions and branches, and the values that kernel text names.
//!
//! *Guarantees*: structured control flow with merges; scalars are emitted when something needs them, tile ops in
//! order. *Not here*: loops (`loops`), single ops.

use std::collections::BTreeMap;

use tile_ir::ir::{Exit, Kernel, Op, OpKind, Region, ValueId};
use tile_ir::scalar::Const;
use tile_ir::types::{Encoding, ScalarType, Type};

use crate::LowerError;
use crate::abi::Global;
use crate::arith::{U32, U64};
use crate::edge::Split;
use crate::facts::Facts;
use crate::lane::slabs::{Homes, Slabs};
use crate::lanes::{Layout, wide_tile};
use crate::loops::Loop;
use crate::module::{Emit, Id, Ty};
use crate::ops::memory::Late;

/// What a kernel value is in the module.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar.
    Scalar(Id),
    /// The chunks of a tile.
    Tile(Vec<Id>),
    /// The registers of a vector.
    Vector(Vec<Id>),
    /// The counter of the loop at this depth, made when something asks for it.
    Counter(usize),
}

/// How a load treats the last column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// The load tests whether it crosses.
    Test,
    /// The loop's bounds exclude a crossing.
    Never,
    /// The load may cross in any run.
    Mask,
}

/// How control leaves a region.
pub(crate) enum End {
    /// It goes on, with these values.
    Yield(Vec<ValueId>),
    /// It does not: the kernel, or this run of the innermost loop, has ended.
    Return,
}

/// The state of lowering one kernel.
pub(crate) struct Lowering<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) facts: Facts<'a>,
    pub(crate) e: Emit,
    pub(crate) globals: Vec<Option<Global>>,
    /// The variables of shared memory.
    pub(crate) shared: Vec<Id>,
    /// Loads of the innermost loop whose edge the loop's split takes care of.
    pub(crate) split: Option<(Split, Edge)>,
    /// Masked loads of right operands, put off until the multiplication that alone reads them.
    pub(crate) late: BTreeMap<ValueId, Late>,
    /// The words of `Row` tiles of 16 bits that came transposed, chunks of 16 rows: two rows each, as in a packed operand.
    pub(crate) words: BTreeMap<ValueId, Vec<Id>>,
    values: Vec<Option<Value>>,
    undo: Vec<Vec<(ValueId, Option<Value>)>>,
    pub(crate) loops: Vec<Loop>,
    /// Tiles in memory, on the target that keeps them there; `None` where they are in registers.
    pub(crate) slabs: Option<Slabs>,
}

/// The SPIR-V type of a scalar type.
pub(crate) fn scalar_ty(ty: ScalarType) -> Ty {
    match ty {
        ScalarType::U32 | ScalarType::I32 => U32,
        ScalarType::U64 => U64,
        ScalarType::F32 => Ty::Float(32),
        ScalarType::Bool => Ty::Bool,
    }
}

/// The condition's value, where kernel text fixed it.
fn decided(facts: &Facts<'_>, cond: ValueId) -> Option<bool> {
    match facts.constant(cond) {
        Some(Const::Bool(value)) => Some(value),
        Some(Const::U32(_) | Const::I32(_) | Const::U64(_) | Const::F32(_)) | None => None,
    }
}

/// True when control never goes on after the region.
pub(crate) fn always_returns(facts: &Facts<'_>, region: &Region) -> bool {
    region.exit == Exit::Return
        || region.ops.iter().any(|op| match &op.kind {
            OpKind::If { cond, then, otherwise } => match decided(facts, *cond) {
                Some(true) => always_returns(facts, then),
                Some(false) => always_returns(facts, otherwise),
                None => always_returns(facts, then) && always_returns(facts, otherwise),
            },
            _ => false,
        })
}

impl<'a> Lowering<'a> {
    /// Starts lowering a kernel.
    pub(crate) fn new(kernel: &'a Kernel, slabs: Option<Slabs>) -> Lowering<'a> {
        Lowering {
            kernel,
            facts: Facts::of(kernel),
            e: Emit::new(),
            globals: vec![],
            shared: vec![],
            split: None,
            late: BTreeMap::new(),
            words: BTreeMap::new(),
            values: vec![None; kernel.values.len()],
            undo: vec![vec![]],
            loops: vec![],
            slabs,
        }
    }

    // ---- values ----

    /// Gives a value its meaning, until the current value frame closes.
    pub(crate) fn set(&mut self, value: ValueId, to: Value) {
        self.hold(&to);
        let old = self.values[value.0 as usize].replace(to);
        if let Some(frame) = self.undo.last_mut() {
            frame.push((value, old));
        }
    }

    pub(crate) fn frame<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, LowerError>,
    ) -> Result<T, LowerError> {
        self.undo.push(vec![]);
        let result = f(self);
        for (value, old) in self.undo.pop().unwrap_or_default().into_iter().rev() {
            let gone = core::mem::replace(&mut self.values[value.0 as usize], old);
            self.let_go(gone.as_ref());
        }
        result
    }

    /// What a value is now, if it has been emitted.
    pub(crate) fn get(&self, value: ValueId) -> Option<&Value> {
        self.values[value.0 as usize].as_ref()
    }

    /// The id of a scalar, emitting what it depends on.
    pub(crate) fn scalar(&mut self, value: ValueId) -> Result<Id, LowerError> {
        // A work list rather than recursion: a long chain of statements must not exhaust the stack.
        let mut wanted = vec![value];
        while let Some(&top) = wanted.last() {
            match self.get(top) {
                Some(Value::Scalar(_) | Value::Counter(_)) => {
                    wanted.pop();
                }
                Some(Value::Tile(_) | Value::Vector(_)) => {
                    return Err(LowerError::Malformed("a tile is used as a scalar"));
                }
                None => {
                    let op = self.facts.def(top).ok_or(LowerError::Malformed("a value is not defined"))?;
                    let missing: Vec<ValueId> = op
                        .kind
                        .operands()
                        .into_iter()
                        .filter(|&v| !matches!(self.get(v), Some(Value::Scalar(_) | Value::Counter(_))))
                        .collect();
                    match &op.kind {
                        _ if !missing.is_empty() => wanted.extend(missing),
                        OpKind::OwnTile { global, tile, order } => {
                            let ids = self.own_tile(*global, *tile, order)?;
                            self.bind(&op.results, &ids);
                        }
                        _ => {
                            let id = self.lower_scalar(op)?;
                            self.set(top, Value::Scalar(id));
                        }
                    }
                }
            }
        }
        match self.get(value) {
            Some(&Value::Scalar(id)) => Ok(id),
            Some(&Value::Counter(depth)) => Ok(self.induction(depth, 1)),
            Some(Value::Tile(_) | Value::Vector(_)) | None => {
                Err(LowerError::Malformed("a scalar is missing"))
            }
        }
    }

    /// The chunks of a tile.
    pub(crate) fn tile(&self, value: ValueId) -> Result<Vec<Id>, LowerError> {
        match self.get(value) {
            Some(Value::Tile(chunks)) => Ok(chunks.clone()),
            Some(Value::Scalar(_) | Value::Counter(_) | Value::Vector(_)) | None => {
                Err(LowerError::Malformed("a tile is not defined"))
            }
        }
    }

    /// Forgets a value nothing reads any more.
    pub(crate) fn forget(&mut self, value: ValueId) {
        let gone = self.values[value.0 as usize].take();
        self.let_go(gone.as_ref());
    }

    /// What a value is in registers: a wide vector is held as a tile.
    pub(crate) fn held(&self, value: ValueId) -> Type {
        match self.kernel.ty(value) {
            Type::Vector(v) if v.encoding == Encoding::Wide => Type::Tile(wide_tile(v)),
            ty @ (Type::Scalar(_) | Type::Tile(_) | Type::Vector(_)) => ty,
        }
    }

    /// The ids that carry a value: one for a scalar; the chunks of a tile and the registers of a vector, or none where
    /// these are in memory.
    fn ids(&mut self, value: ValueId) -> Result<Vec<Id>, LowerError> {
        match self.held(value) {
            Type::Tile(_) | Type::Vector(_) if self.slabs.is_some() => Ok(vec![]),
            Type::Scalar(_) => Ok(vec![self.scalar(value)?]),
            Type::Tile(_) => self.tile(value),
            Type::Vector(_) => self.vector(value),
        }
    }

    pub(crate) fn all_ids(&mut self, values: &[ValueId]) -> Result<Vec<Id>, LowerError> {
        let mut out = vec![];
        for &v in values {
            out.extend(self.ids(v)?);
        }
        Ok(out)
    }

    /// The SPIR-V type of each id that carries these values.
    pub(crate) fn id_types(&self, values: &[ValueId]) -> Vec<Ty> {
        let mut out = vec![];
        for &v in values {
            match self.held(v) {
                Type::Tile(_) | Type::Vector(_) if self.slabs.is_some() => {}
                Type::Scalar(s) => out.push(scalar_ty(s)),
                Type::Tile(t) => {
                    let layout = Layout::of(t);
                    out.extend(std::iter::repeat_n(layout.chunk(), layout.count()));
                }
                Type::Vector(v) => {
                    out.extend(std::iter::repeat_n(Layout::register(v.dtype), Layout::registers(v)));
                }
            }
        }
        out
    }

    pub(crate) fn bind(&mut self, values: &[ValueId], ids: &[Id]) {
        let mut rest = ids;
        for &v in values {
            let (value, used) = match self.held(v) {
                // These have homes.
                Type::Tile(_) | Type::Vector(_) if self.slabs.is_some() => (None, 0),
                Type::Scalar(_) => (rest.first().map(|&id| Value::Scalar(id)), 1),
                Type::Tile(t) => {
                    let count = Layout::of(t).count();
                    (rest.get(..count).map(|c| Value::Tile(c.to_vec())), count)
                }
                Type::Vector(v) => {
                    let count = Layout::registers(v);
                    (rest.get(..count).map(|r| Value::Vector(r.to_vec())), count)
                }
            };
            if let Some(value) = value {
                self.set(v, value);
            }
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    // ---- regions and branches ----

    /// Emits a region's ops; after [`End::Return`] the current block has ended.
    pub(crate) fn region(&mut self, region: &'a Region) -> Result<End, LowerError> {
        for op in &region.ops {
            if !self.op(op)? {
                return Ok(End::Return);
            }
            self.retire(op);
        }
        Ok(match &region.exit {
            Exit::Yield(values) => End::Yield(values.clone()),
            Exit::Return => {
                self.e.ret();
                End::Return
            }
            Exit::Break(values) => self.leave(true, values)?,
            Exit::Continue(values) => self.leave(false, values)?,
        })
    }

    /// Emits one op; false when control does not go on after it.
    fn op(&mut self, op: &'a Op) -> Result<bool, LowerError> {
        match &op.kind {
            OpKind::For { lo, hi, step, inits, body } => {
                self.lower_for(op, (*lo, *hi, *step), inits, body)?;
            }
            OpKind::While { inits, cond, body } => self.lower_while(op, inits, cond, body)?,
            OpKind::If { cond, then, otherwise } => return self.lower_if(op, *cond, then, otherwise),
            _ if self.slabs.is_some() => self.lane_op(op)?,
            OpKind::Load { global, at, form } => self.lower_load(op, *global, at, *form)?,
            OpKind::Prefetch { global, at, tile, peers } => {
                self.lower_prefetch(*global, at, *tile, *peers)?
            }
            OpKind::Store { global, tile, at } => self.lower_store(*global, *tile, at)?,
            OpKind::Zeros => self.lower_zeros(op)?,
            OpKind::Mma { acc, a, b } => self.lower_mma(op, *acc, *a, *b)?,
            OpKind::Convert { tile } => self.lower_convert(op, *tile)?,
            OpKind::Scale { tile, by } => self.lower_scale(op, *tile, *by)?,
            OpKind::Fill { value } => self.lower_fill(op, *value)?,
            OpKind::MapUnary { op: what, value } => self.lower_map_unary(op, *what, *value)?,
            OpKind::MapBinary { op: what, lhs, rhs } => self.lower_map_binary(op, *what, *lhs, *rhs)?,
            OpKind::MapTernary { op: what, x, a, b } => self.lower_map_ternary(op, *what, *x, [*a, *b])?,
            OpKind::Selection(what) => self.lower_selection(op, what)?,
            OpKind::Reduce { how, along, tile, running } => {
                self.lower_reduce(op, *how, *along, *tile, *running)?;
            }
            OpKind::LoadVector { global, at } => self.lower_load_vector(op, *global, at)?,
            OpKind::LoadScalar { global, at } => self.lower_load_scalar(op, *global, at)?,
            OpKind::KeepFirst { tile, along, keep, fill } => {
                self.lower_keep_first(op, *tile, *along, *keep, *fill)?;
            }
            OpKind::Triangle { tile, lower, row_start, col_start, fill } => {
                self.lower_triangle(op, *tile, *lower, (*row_start, *col_start), *fill)?;
            }
            OpKind::Group(what) => self.lower_group(op, what)?,
            OpKind::TopK(what) => self.lower_top_k(op, what)?,
            OpKind::Vector(what) => self.lower_vector_op(op, what)?,
            OpKind::Transpose { tile } => self.lower_transpose(op, *tile)?,
            OpKind::SubTile { tile, at } => self.lower_sub_tile(op, *tile, *at)?,
            OpKind::SetSubTile { tile, part, at } => self.lower_set_sub_tile(op, *tile, *part, *at)?,
            OpKind::StoreTranspose { global, tile, at } => self.lower_store_transpose(*global, *tile, at)?,
            OpKind::AtomicAdd { global, value, at, .. } => self.lower_atomic_add(*global, *value, at)?,
            // Scalars are emitted when something needs them.
            OpKind::OwnTile { .. }
            | OpKind::Const(_)
            | OpKind::Binary { .. }
            | OpKind::Unary { .. }
            | OpKind::Compare { .. }
            | OpKind::Cast { .. }
            | OpKind::Dim { .. }
            | OpKind::Place(_) => {}
        }
        Ok(true)
    }

    fn lower_if(
        &mut self,
        op: &'a Op,
        cond: ValueId,
        then: &'a Region,
        otherwise: &'a Region,
    ) -> Result<bool, LowerError> {
        let homes = self.new_homes(&op.results);
        let ids = if let Some(known) = decided(&self.facts, cond) {
            let taken = if known { then } else { otherwise };
            self.frame(|s| s.arm(taken, &homes))?
        } else {
            let cond = self.scalar(cond)?;
            let types = self.id_types(&op.results);
            self.branch(
                cond,
                &types,
                |s| s.arm(then, &homes),
                |s| {
                    if otherwise.ops.is_empty() && otherwise.exit == Exit::Yield(vec![]) {
                        Ok(Some(vec![]))
                    } else {
                        s.arm(otherwise, &homes)
                    }
                },
            )?
        };
        if let Some(ids) = &ids {
            self.bind(&op.results, ids);
        }
        self.leave_homes(&op.results, &homes);
        Ok(ids.is_some())
    }

    fn arm(&mut self, region: &'a Region, homes: &Homes) -> Result<Option<Vec<Id>>, LowerError> {
        match self.region(region)? {
            End::Yield(values) => Ok(Some(self.exit_ids(&values, homes)?)),
            End::Return => Ok(None),
        }
    }

    /// Emits a two-way branch. An arm gives its ids, or `None` when control does not go on; the result is the ids after
    /// the branch, or `None` when neither arm goes on.
    pub(crate) fn branch(
        &mut self,
        cond: Id,
        types: &[Ty],
        yes: impl FnOnce(&mut Self) -> Result<Option<Vec<Id>>, LowerError>,
        no: impl FnOnce(&mut Self) -> Result<Option<Vec<Id>>, LowerError>,
    ) -> Result<Option<Vec<Id>>, LowerError> {
        let [yes_label, no_label, merge] = [(); 3].map(|()| self.e.label());
        self.e.branch_merging(cond, yes_label, no_label, merge);
        let first = self.open_arm(yes_label, merge, yes)?;
        let second = self.open_arm(no_label, merge, no)?;
        self.e.begin(merge);
        let ids = match (first, second) {
            (None, None) => {
                self.e.unreachable();
                return Ok(None);
            }
            (Some((ids, _)), None) | (None, Some((ids, _))) => ids,
            (Some((a, from_a)), Some((b, from_b))) => {
                let mut ids = vec![];
                for ((&ty, &x), &y) in types.iter().zip(&a).zip(&b) {
                    let ty = self.e.ty(ty);
                    ids.push(if x == y { x } else { self.e.phi(ty, &[(x, from_a), (y, from_b)]) });
                }
                ids
            }
        };
        ids.iter().for_each(|&id| self.e.settle(id));
        Ok(Some(ids))
    }

    fn open_arm(
        &mut self,
        label: Id,
        merge: Id,
        arm: impl FnOnce(&mut Self) -> Result<Option<Vec<Id>>, LowerError>,
    ) -> Result<Option<(Vec<Id>, Id)>, LowerError> {
        self.e.begin(label);
        self.e.push_scope();
        let ids = self.frame(arm)?;
        let end = ids.map(|ids| {
            let from = self.e.current_label();
            self.e.branch(merge);
            (ids, from)
        });
        self.e.pop_scope();
        Ok(end)
    }

    /// Runs `f` only if `cond`; otherwise the values stay as they are.
    pub(crate) fn guarded(
        &mut self,
        cond: Id,
        types: &[Ty],
        otherwise: &[Id],
        f: impl FnOnce(&mut Self) -> Result<Vec<Id>, LowerError>,
    ) -> Result<Vec<Id>, LowerError> {
        match self.e.known(cond) {
            Some(0) => Ok(otherwise.to_vec()),
            Some(_) => self.frame(f),
            None => {
                let stay = otherwise.to_vec();
                let ids = self.branch(cond, types, |s| f(s).map(Some), |_| Ok(Some(stay)))?;
                ids.ok_or(LowerError::Malformed("a guard has no way on"))
            }
        }
    }
}
