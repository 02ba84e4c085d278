//! Owns private memory: which slab a tile or vector lies in, where values meet, and when a slab is free for another.
//!
//! A slab belongs to one value until nothing reads it any more. Two rules save copies: an op may write its result over an
//! operand that only it reads (*owned*), and a loop keeps a carried value in one *home*, which each run's end writes.
//!
//! *Assumes*: a region's ops are emitted in order, each followed by [`Lowering::retire`]. *Guarantees*: a slab that a live
//! value lies in is written by nothing but the op that owns the value. *Not here*: how elements are read (`walk`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tile_ir::ir::{Kernel, Op, Region, ValueId};
use tile_ir::types::{DType, Type};

use crate::LowerError;
use crate::control::{Lowering, Value};
use crate::lanes::LANES;
use crate::module::{Id, Ty};

/// Where the values that control flow carries live: a slab for each tile or vector, nothing for a scalar. Empty on targets
/// that keep tiles in registers.
pub(crate) type Homes = Vec<Option<Id>>;

/// What is in a slab: vectors of a type, and how many.
type Size = (Ty, u32);

/// The slabs of a kernel.
pub(crate) struct Slabs {
    sizes: BTreeMap<Id, Size>,
    holders: BTreeMap<Id, u32>,
    free: BTreeMap<Size, Vec<Id>>,
    /// The values nothing reads after an op.
    deaths: HashMap<*const Op, Vec<ValueId>>,
    /// Values that one op reads, once, in the region that makes them.
    owned: BTreeSet<ValueId>,
}

impl Slabs {
    /// Looks at every use of every value of a kernel.
    pub(crate) fn of(kernel: &Kernel) -> Slabs {
        let mut slabs = Slabs {
            sizes: BTreeMap::new(),
            holders: BTreeMap::new(),
            free: BTreeMap::new(),
            deaths: HashMap::new(),
            owned: BTreeSet::new(),
        };
        let mut uses = BTreeMap::new();
        slabs.scan(&kernel.body, &mut uses);
        slabs.owned.retain(|v| uses.get(v) == Some(&1));
        slabs
    }

    /// Counts the uses in a region, and gives the values it reads that it does not make.
    fn scan(&mut self, region: &Region, uses: &mut BTreeMap<ValueId, u32>) -> BTreeSet<ValueId> {
        let mut here: BTreeSet<ValueId> = region.args.iter().copied().collect();
        let mut last: BTreeMap<ValueId, usize> = BTreeMap::new();
        for (at, op) in region.ops.iter().enumerate() {
            for value in op.kind.operands() {
                *uses.entry(value).or_default() += 1;
                last.insert(value, at);
                if here.contains(&value) {
                    self.owned.insert(value);
                }
            }
            for nested in op.kind.regions() {
                last.extend(self.scan(nested, uses).into_iter().map(|v| (v, at)));
            }
            for &result in &op.results {
                here.insert(result);
                last.insert(result, at);
            }
        }
        for &value in region.exit.values() {
            *uses.entry(value).or_default() += 1;
            last.insert(value, region.ops.len());
        }
        let mut outer = BTreeSet::new();
        for (value, at) in last {
            if !here.contains(&value) {
                outer.insert(value);
            } else if let Some(op) = region.ops.get(at) {
                self.deaths.entry(core::ptr::from_ref(op)).or_default().push(value);
            }
        }
        outer
    }

    fn hold(&mut self, var: Id) {
        *self.holders.entry(var).or_default() += 1;
    }

    fn let_go(&mut self, var: Id) {
        let left = self.holders.entry(var).or_default();
        *left = left.saturating_sub(1);
        if *left == 0
            && let Some(&size) = self.sizes.get(&var)
        {
            self.free.entry(size).or_default().push(var);
        }
    }
}

/// A slab as ops on it need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slab {
    /// The private variable.
    pub(crate) var: Id,
    /// Element type.
    pub(crate) dtype: DType,
    /// Rows; 1 for a vector.
    pub(crate) rows: u32,
    /// Columns, or elements of a vector. The last vector of a row may have components beyond them.
    pub(crate) cols: u32,
}

impl Slab {
    /// Vectors of a row.
    pub(crate) fn across(self) -> u32 {
        self.cols.div_ceil(LANES)
    }

    /// Vectors of all rows.
    pub(crate) fn count(self) -> u32 {
        self.rows * self.across()
    }

    /// The type of its vectors.
    pub(crate) fn ty(self) -> Ty {
        wide(self.dtype, LANES)
    }
}

/// The type of `n` elements in the type they compute in; masks are integers in memory.
pub(crate) fn wide(dtype: DType, n: u32) -> Ty {
    match (dtype.is_integer() || dtype == DType::Bool, n) {
        (true, 1) => Ty::Int(32),
        (true, n) => Ty::IntVec(32, n),
        (false, 1) => Ty::Float(32),
        (false, n) => Ty::FloatVec(32, n),
    }
}

/// Element type, rows and columns of a value in memory.
fn shape(ty: Type) -> Option<(DType, u32, u32)> {
    match ty {
        Type::Tile(t) => Some((t.dtype, t.rows, t.cols)),
        Type::Vector(v) => Some((v.dtype, 1, v.len)),
        Type::Scalar(_) => None,
    }
}

const SCALAR: LowerError = LowerError::Malformed("a scalar has no slab");

impl Lowering<'_> {
    /// The slab of a value.
    pub(crate) fn slab(&self, value: ValueId) -> Result<Slab, LowerError> {
        let (dtype, rows, cols) = shape(self.kernel.ty(value)).ok_or(SCALAR)?;
        match self.get(value) {
            Some(Value::Tile(ids) | Value::Vector(ids)) if ids.len() == 1 => {
                Ok(Slab { var: ids[0], dtype, rows, cols })
            }
            Some(Value::Tile(_) | Value::Vector(_) | Value::Scalar(_) | Value::Counter(_)) | None => {
                Err(LowerError::Malformed("a tile is not defined"))
            }
        }
    }

    /// A slab that nothing lies in.
    fn allocate(&mut self, dtype: DType, rows: u32, cols: u32) -> Slab {
        let mut slab = Slab { var: 0, dtype, rows, cols };
        let size = (slab.ty(), slab.count());
        let free = self.slabs.as_mut().and_then(|s| s.free.get_mut(&size)?.pop());
        slab.var = match free {
            Some(var) => var,
            None => {
                let ty = self.e.ty(size.0);
                let var = self.e.private(ty, size.1);
                if let Some(slabs) = &mut self.slabs {
                    slabs.sizes.insert(var, size);
                }
                var
            }
        };
        slab
    }

    /// The slab for the result of an op.
    pub(crate) fn new_slab(&mut self, result: ValueId) -> Result<Slab, LowerError> {
        let (dtype, rows, cols) = shape(self.kernel.ty(result)).ok_or(SCALAR)?;
        let slab = self.allocate(dtype, rows, cols);
        self.place_in(result, slab);
        Ok(slab)
    }

    /// The slab for the result of an op that reads each vector of an operand before it writes the same vector of the result:
    /// the operand's own, if nothing else reads that.
    pub(crate) fn slab_over(&mut self, result: ValueId, operand: ValueId) -> Result<Slab, LowerError> {
        let (dtype, rows, cols) = shape(self.kernel.ty(result)).ok_or(SCALAR)?;
        let old = self.slab(operand)?;
        let same = wide(dtype, LANES) == old.ty() && (rows, cols) == (old.rows, old.cols);
        if same && self.owns(operand) {
            let slab = Slab { dtype, ..old };
            self.place_in(result, slab);
            return Ok(slab);
        }
        self.new_slab(result)
    }

    /// A slab for the time of one op.
    pub(crate) fn scratch<T>(
        &mut self,
        (dtype, rows, cols): (DType, u32, u32),
        f: impl FnOnce(&mut Self, Slab) -> Result<T, LowerError>,
    ) -> Result<T, LowerError> {
        let slab = self.allocate(dtype, rows, cols);
        self.hold_var(slab.var);
        let result = f(self, slab);
        self.let_go_var(slab.var);
        result
    }

    fn owns(&self, value: ValueId) -> bool {
        self.slabs.as_ref().is_some_and(|s| s.owned.contains(&value))
    }

    fn place_in(&mut self, value: ValueId, slab: Slab) {
        let ids = vec![slab.var];
        let is_tile = self.kernel.ty(value).tile().is_some();
        self.set(value, if is_tile { Value::Tile(ids) } else { Value::Vector(ids) });
    }

    fn hold_var(&mut self, var: Id) {
        if let Some(slabs) = &mut self.slabs {
            slabs.hold(var);
        }
    }

    fn let_go_var(&mut self, var: Id) {
        if let Some(slabs) = &mut self.slabs {
            slabs.let_go(var);
        }
    }

    /// Notes that a value lies where it says.
    pub(crate) fn hold(&mut self, value: &Value) {
        if let (Some(slabs), Value::Tile(ids) | Value::Vector(ids)) = (&mut self.slabs, value) {
            ids.iter().for_each(|&var| slabs.hold(var));
        }
    }

    /// Notes that a value no longer lies where it says.
    pub(crate) fn let_go(&mut self, value: Option<&Value>) {
        if let (Some(slabs), Some(Value::Tile(ids) | Value::Vector(ids))) = (&mut self.slabs, value) {
            ids.iter().for_each(|&var| slabs.let_go(var));
        }
    }

    /// Forgets the values that nothing reads after an op.
    pub(crate) fn retire(&mut self, op: &Op) {
        let dead = self.slabs.as_ref().and_then(|s| s.deaths.get(&core::ptr::from_ref(op)));
        for value in dead.cloned().unwrap_or_default() {
            if shape(self.kernel.ty(value)).is_some() {
                self.forget(value);
            }
        }
    }

    // ---- where control flow meets ----

    /// Homes for values of these types, which nothing has written yet.
    pub(crate) fn new_homes(&mut self, values: &[ValueId]) -> Homes {
        if self.slabs.is_none() {
            return vec![];
        }
        let mut homes = vec![];
        for &value in values {
            homes.push(shape(self.kernel.ty(value)).map(|(dtype, rows, cols)| {
                let var = self.allocate(dtype, rows, cols).var;
                self.hold_var(var);
                var
            }));
        }
        homes
    }

    /// Homes that hold these values: their own slabs where nothing else reads them, else copies.
    pub(crate) fn homes_from(&mut self, values: &[ValueId]) -> Result<Homes, LowerError> {
        if self.slabs.is_none() {
            return Ok(vec![]);
        }
        let mut homes = vec![];
        for &value in values {
            if self.kernel.ty(value).scalar().is_some() {
                homes.push(None);
                continue;
            }
            let from = self.slab(value)?;
            let var = if self.owns(value) {
                from.var
            } else {
                let to = self.allocate(from.dtype, from.rows, from.cols);
                self.copy_slab(from, to)?;
                to.var
            };
            self.hold_var(var);
            homes.push(Some(var));
        }
        Ok(homes)
    }

    /// Leaves a region with these values: tiles go to their homes, all at once; gives the ids of the others.
    pub(crate) fn exit_ids(&mut self, values: &[ValueId], homes: &Homes) -> Result<Vec<Id>, LowerError> {
        let mut moves = vec![];
        for (&value, home) in values.iter().zip(homes) {
            if let &Some(var) = home {
                let from = self.slab(value)?;
                if from.var != var {
                    moves.push((from, Slab { var, ..from }));
                }
            }
        }
        // What another move overwrites first goes elsewhere.
        let written: Vec<Id> = moves.iter().map(|(_, to)| to.var).collect();
        let mut kept = vec![];
        for (from, _) in &mut moves {
            if written.contains(&from.var) {
                let apart = self.allocate(from.dtype, from.rows, from.cols);
                self.hold_var(apart.var);
                kept.push(apart.var);
                self.copy_slab(*from, apart)?;
                *from = apart;
            }
        }
        for (from, to) in moves {
            self.copy_slab(from, to)?;
        }
        kept.into_iter().for_each(|var| self.let_go_var(var));
        self.all_ids(values)
    }

    /// Says that values lie in homes.
    pub(crate) fn bind_homes(&mut self, values: &[ValueId], homes: &Homes) {
        for (&value, home) in values.iter().zip(homes) {
            if let (Some(var), Some((dtype, rows, cols))) = (*home, shape(self.kernel.ty(value))) {
                self.place_in(value, Slab { var, dtype, rows, cols });
            }
        }
    }

    /// Ends the time of homes: these results are all that still lies there.
    pub(crate) fn leave_homes(&mut self, results: &[ValueId], homes: &Homes) {
        self.bind_homes(results, homes);
        homes.iter().flatten().for_each(|&var| self.let_go_var(var));
    }

    /// Copies all vectors of a slab.
    pub(crate) fn copy_slab(&mut self, from: Slab, to: Slab) -> Result<(), LowerError> {
        self.each(from.count(), |s, i| {
            let vector = s.get_vector(from, i);
            s.put_vector(to, i, vector);
            Ok(())
        })
    }
}
