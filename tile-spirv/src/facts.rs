//! Owns what is known of scalar values before lowering: upper bounds, factors of two, where each is defined.
//!
//! *Assumes* the launch contract of the target: an extent of a plane is at most [`MAX_EXTENT`].
//! *Guarantees*: bounds hold for every launch that obeys it; values without a known bound have their type's.

use std::collections::{BTreeMap, BTreeSet};

use tile_ir::ir::{Dim, Kernel, Op, OpKind, ParamKind, Place, Region, ValueId};
use tile_ir::scalar::{Binary, Const};
use tile_ir::types::ScalarType;

/// Largest number of rows or columns of a plane: the surface fields of a block message hold 24 bits
/// (SPV_INTEL_2d_block_io, restrictions: width and height at most 2^24).
pub(crate) const MAX_EXTENT: u64 = 1 << 24;

/// What is known of every value.
pub(crate) struct Facts<'a> {
    defs: Vec<Option<&'a Op>>,
    bounds: Vec<u64>,
    twos: Vec<u32>,
    only_multiplied: BTreeSet<ValueId>,
}

impl<'a> Facts<'a> {
    /// Looks at every op of a kernel once.
    pub(crate) fn of(kernel: &'a Kernel) -> Facts<'a> {
        let bounds = kernel.values.iter().map(|t| t.scalar().map_or(0, most)).collect();
        let mut facts = Facts {
            defs: vec![None; kernel.values.len()],
            bounds,
            twos: vec![0; kernel.values.len()],
            only_multiplied: BTreeSet::new(),
        };
        for param in &kernel.params {
            if let ParamKind::Scalar { value, ty: ScalarType::Bool } = param.kind {
                facts.bounds[value.0 as usize] = 1;
            }
        }
        facts.walk(kernel, &kernel.body);
        facts.only_multiplied = only_multiplied(&kernel.body);
        facts
    }

    /// The op that defines a value; `None` for parameters and region arguments.
    pub(crate) fn def(&self, value: ValueId) -> Option<&'a Op> {
        self.defs[value.0 as usize]
    }

    /// The constant a value is, if it is one.
    pub(crate) fn constant(&self, value: ValueId) -> Option<Const> {
        match self.def(value)?.kind {
            OpKind::Const(c) => Some(c),
            _ => None,
        }
    }

    /// The largest value a u32, u64 or bool can have (all bits for signed and floating types).
    pub(crate) fn bound(&self, value: ValueId) -> u64 {
        self.bounds[value.0 as usize]
    }

    /// How many low bits of the value are certainly 0.
    pub(crate) fn twos(&self, value: ValueId) -> u32 {
        self.twos[value.0 as usize]
    }

    /// True when all that reads the value is one matrix multiplication in its own region, as the right operand.
    pub(crate) fn only_multiplied(&self, value: ValueId) -> bool {
        self.only_multiplied.contains(&value)
    }

    fn set(&mut self, value: ValueId, bound: u64, twos: u32) {
        let index = value.0 as usize;
        self.bounds[index] = self.bounds[index].min(bound);
        self.twos[index] = twos;
    }

    fn walk(&mut self, kernel: &Kernel, region: &'a Region) {
        for op in &region.ops {
            for &result in &op.results {
                self.defs[result.0 as usize] = Some(op);
            }
            match &op.kind {
                OpKind::OwnTile { tile, .. } => {
                    if let [_, _, row, col] = op.results[..] {
                        let (rows, cols) = kernel.subgroups;
                        self.set(row, MAX_EXTENT / u64::from(tile.0.max(1)) + u64::from(rows), 0);
                        self.set(col, MAX_EXTENT / u64::from(tile.1.max(1)) + u64::from(cols), 0);
                    }
                }
                OpKind::For { lo, hi, step, body, .. } => {
                    if let Some(&counter) = body.args.first() {
                        let signed = kernel.ty(counter).scalar() == Some(ScalarType::I32);
                        if !signed {
                            let bound = self.bound(*hi).saturating_sub(1);
                            self.set(counter, bound, self.twos(*lo).min(step.trailing_zeros()));
                        }
                    }
                    self.walk(kernel, body);
                }
                OpKind::While { cond, body, .. } => {
                    self.walk(kernel, cond);
                    self.walk(kernel, body);
                }
                OpKind::If { then, otherwise, .. } => {
                    self.walk(kernel, then);
                    self.walk(kernel, otherwise);
                }
                other => {
                    if let Some(&result) = op.results.first()
                        && kernel.ty(result).scalar().is_some()
                    {
                        let (bound, twos) = self.scalar(kernel, other);
                        self.set(result, bound, twos);
                    }
                }
            }
        }
    }

    fn scalar(&self, kernel: &Kernel, kind: &OpKind) -> (u64, u32) {
        let unknown = (u64::MAX, 0);
        match kind {
            OpKind::Const(c) => match *c {
                Const::U32(v) => (v.into(), twos_of(v.into())),
                Const::U64(v) => (v, twos_of(v)),
                Const::Bool(v) => (v.into(), 0),
                Const::I32(_) | Const::F32(_) => unknown,
            },
            OpKind::Dim { dim: Dim::Rows | Dim::Cols, .. } => (MAX_EXTENT, 0),
            OpKind::Place(Place::Id) => (u64::from(kernel.subgroups.0 * kernel.subgroups.1) - 1, 0),
            OpKind::Place(Place::Row) => (u64::from(kernel.subgroups.0) - 1, 0),
            OpKind::Place(Place::Col) => (u64::from(kernel.subgroups.1) - 1, 0),
            OpKind::Cast { value } => match kernel.ty(*value).scalar() {
                Some(ScalarType::U32 | ScalarType::U64 | ScalarType::Bool) => {
                    let (bound, twos) = (self.bound(*value), self.twos(*value));
                    // A truncating cast keeps the bound only if nothing is cut off; `set` caps at the type.
                    if bound <= u64::from(u32::MAX) { (bound, twos) } else { unknown }
                }
                _ => unknown,
            },
            OpKind::Binary { op, lhs, rhs } => {
                let ty = kernel.ty(*lhs).scalar();
                if !matches!(ty, Some(ScalarType::U32 | ScalarType::U64 | ScalarType::Bool)) {
                    return unknown;
                }
                let top = ty.map_or(0, most);
                let (a, b) = (self.bound(*lhs), self.bound(*rhs));
                let (s, t) = (self.twos(*lhs), self.twos(*rhs));
                let nonzero = |v: &ValueId| match self.constant(*v) {
                    Some(Const::U32(c)) => Some(u64::from(c)).filter(|&c| c != 0),
                    Some(Const::U64(c)) => Some(c).filter(|&c| c != 0),
                    Some(Const::I32(_) | Const::F32(_) | Const::Bool(_)) | None => None,
                };
                let fits = |v: Option<u64>| v.filter(|&v| v <= top).unwrap_or(u64::MAX);
                match op {
                    Binary::Add => (fits(a.checked_add(b)), s.min(t)),
                    Binary::Sub => (u64::MAX, s.min(t)),
                    Binary::Mul => (fits(a.checked_mul(b)), (s + t).min(31)),
                    // By 0 gives 0, by more than 0 at most the dividend.
                    Binary::Div => (nonzero(rhs).map_or(a, |c| a / c), 0),
                    Binary::Rem => (a.min(b.saturating_sub(1)), 0),
                    Binary::And => (a.min(b), s.max(t)),
                    Binary::Or | Binary::Xor => (u64::MAX, s.min(t)),
                    Binary::Shr => {
                        (nonzero(rhs).map_or(a, |c| a >> (c % ty.map_or(1, |t| u64::from(t.bits())))), 0)
                    }
                    Binary::Shl => match nonzero(rhs) {
                        Some(c) if c < 32 => (fits(a.checked_mul(1 << c)), (s + c as u32).min(31)),
                        Some(_) | None => unknown,
                    },
                    Binary::Min => (a.min(b), s.min(t)),
                    Binary::Max => (a.max(b), s.min(t)),
                }
            }
            _ => unknown,
        }
    }
}

fn only_multiplied(body: &Region) -> BTreeSet<ValueId> {
    let (mut uses, mut found) = (BTreeMap::<ValueId, u32>::new(), BTreeSet::new());
    let mut count = |values: &[ValueId]| values.iter().for_each(|v| *uses.entry(*v).or_default() += 1);
    let mut regions = vec![body];
    while let Some(region) = regions.pop() {
        let mut here = BTreeSet::<ValueId>::new();
        for op in &region.ops {
            count(&op.kind.operands());
            if let OpKind::Mma { b, .. } = &op.kind
                && here.contains(b)
            {
                found.insert(*b);
            }
            here.extend(&op.results);
            regions.extend(op.kind.regions());
        }
        count(region.exit.values());
    }
    found.retain(|v| uses.get(v) == Some(&1));
    found
}

fn twos_of(value: u64) -> u32 {
    value.trailing_zeros().min(31)
}

fn most(ty: ScalarType) -> u64 {
    match ty {
        ScalarType::Bool => 1,
        ScalarType::U32 => u32::MAX.into(),
        ScalarType::I32 | ScalarType::F32 | ScalarType::U64 => u64::MAX,
    }
}
