//! Owns uniformity: which scalars have one value in all sub-groups of a work-group, and the rule that follows: a barrier and a
//! cooperative copy are reached by all of them or by none.
//!
//! Inside a sub-group every scalar is uniform by its type. Between the sub-groups of a work-group a scalar *varies* if it
//! comes from where the sub-group stands (`subgroup_id`, the row and column of `own_tile`), from an output that others
//! write, or from a varying scalar; a value that a branch or loop gives varies if the condition or the number of runs
//! does. Loop-carried values are followed to a fixed point.
//!
//! *Guarantees*: what is not called varying is the same in every sub-group of a work-group that gets there, so
//! `check` accepts no kernel in which some sub-groups wait at a barrier for others that never come.
//! *Not here*: races on shared memory (the host device finds them at run time).

use crate::error::{Code, Diagnostic};
use crate::ir::{Access, Exit, GroupOp, Kernel, Op, OpKind, Place, Region, ValueId};
use crate::scalar::{Binary, Const};
use crate::types::Type;

/// Why a value varies: what it comes from, as a message names it.
pub type Cause = &'static str;

/// Which values of a kernel vary between the sub-groups of a work-group.
pub struct Uniformity<'k> {
    kernel: &'k Kernel,
    varies: Vec<Option<Cause>>,
    /// Values of `u32` constants.
    constants: Vec<Option<u32>>,
    changed: bool,
}

/// A way out of a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Return,
    Break,
    Continue,
}

impl<'k> Uniformity<'k> {
    /// Analyses a kernel.
    pub fn of(kernel: &'k Kernel) -> Uniformity<'k> {
        let count = kernel.values.len();
        let mut this =
            Uniformity { kernel, varies: vec![None; count], constants: vec![None; count], changed: true };
        while this.changed {
            this.changed = false;
            this.region(&kernel.body);
        }
        this
    }

    /// What a value varies with; `None` if it is the same in every sub-group of a work-group.
    pub fn cause(&self, value: ValueId) -> Option<Cause> {
        self.varies.get(value.0 as usize).copied().flatten()
    }

    fn first_cause(&self, values: &[ValueId]) -> Option<Cause> {
        values.iter().find_map(|&v| self.cause(v))
    }

    fn set(&mut self, value: ValueId, cause: Option<Cause>) {
        if let (Some(slot @ None), Some(_)) = (self.varies.get_mut(value.0 as usize), cause) {
            *slot = cause;
            self.changed = true;
        }
    }

    fn set_all(&mut self, values: &[ValueId], cause: Option<Cause>) {
        values.iter().for_each(|&v| self.set(v, cause));
    }

    /// Joins what flows into values from the ways of a region that go on.
    fn flow(&mut self, to: &[ValueId], from: &[ValueId]) {
        for (&to, &from) in to.iter().zip(from) {
            let cause = self.cause(from);
            self.set(to, cause);
        }
    }

    fn region(&mut self, region: &Region) {
        for op in &region.ops {
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        match &op.kind {
            OpKind::If { cond, then, otherwise } => {
                self.region(then);
                self.region(otherwise);
                for region in [then, otherwise] {
                    if let Exit::Yield(values) = &region.exit {
                        self.flow(&op.results, values);
                    }
                }
                // With one way left there is nothing to choose between.
                if matches!((&then.exit, &otherwise.exit), (Exit::Yield(_), Exit::Yield(_))) {
                    let cause = self.cause(*cond);
                    self.set_all(&op.results, cause);
                }
            }
            OpKind::For { lo, inits, body, .. } => {
                if let Some((&counter, carried)) = body.args.split_first() {
                    let cause = self.cause(*lo);
                    self.set(counter, cause);
                    self.carry(op, inits, body, carried);
                }
            }
            OpKind::While { inits, cond, body } => {
                self.flow(&cond.args, inits);
                self.region(cond);
                self.carry(op, inits, body, &body.args);
                let next: Vec<ValueId> = body.args.clone();
                self.flow(&cond.args, &next);
            }
            OpKind::OwnTile { .. } => {
                let (rows, cols) = self.kernel.subgroups;
                if let [_, _, row, col] = op.results.as_slice() {
                    self.set(*row, (rows > 1).then_some("the row of `own_tile`"));
                    self.set(*col, (cols > 1).then_some("the column of `own_tile`"));
                }
            }
            OpKind::Place(place) => {
                let (rows, cols) = self.kernel.subgroups;
                let (many, name) = match place {
                    Place::Id => (rows > 1 || cols > 1, "`subgroup_id`"),
                    Place::Row => (rows > 1, "`subgroup_row`"),
                    Place::Col => (cols > 1, "`subgroup_col`"),
                };
                self.set_all(&op.results, many.then_some(name));
            }
            OpKind::LoadScalar { global, at } => {
                let values: Vec<ValueId> = at.values().collect();
                let cause = match self.kernel.global(*global) {
                    Some((_, Access::Out)) => Some("`load_scalar` of an output"),
                    Some((_, Access::In)) | None => self.first_cause(&values),
                };
                self.set_all(&op.results, cause);
            }
            OpKind::Const(value) => {
                if let (Const::U32(v), Some(&id)) = (value, op.results.first()) {
                    self.constants[id.0 as usize] = Some(*v);
                }
            }
            OpKind::Binary { op: Binary::Div, lhs, rhs } if self.names_the_group(*lhs, *rhs) => {}
            OpKind::Binary { .. }
            | OpKind::Unary { .. }
            | OpKind::Compare { .. }
            | OpKind::Cast { .. }
            | OpKind::Dim { .. }
            | OpKind::MapUnary { .. }
            | OpKind::MapBinary { .. }
            | OpKind::MapTernary { .. } => {
                let cause = self.first_cause(&op.kind.operands());
                self.set_all(&op.results, cause);
            }
            // A scalar out of a tile or vector is as different as the tiles are.
            OpKind::Zeros
            | OpKind::Load { .. }
            | OpKind::Prefetch { .. }
            | OpKind::Store { .. }
            | OpKind::Mma { .. }
            | OpKind::Convert { .. }
            | OpKind::Scale { .. }
            | OpKind::Fill { .. }
            | OpKind::Reduce { .. }
            | OpKind::LoadVector { .. }
            | OpKind::KeepFirst { .. }
            | OpKind::Triangle { .. }
            | OpKind::Selection(_)
            | OpKind::Vector(_)
            | OpKind::Transpose { .. }
            | OpKind::TopK(_)
            | OpKind::SubTile { .. }
            | OpKind::SetSubTile { .. }
            | OpKind::StoreTranspose { .. }
            | OpKind::AtomicAdd { .. }
            | OpKind::Group(_) => {
                for &result in &op.results {
                    if matches!(self.kernel.values.get(result.0 as usize), Some(Type::Scalar(_))) {
                        self.set(result, Some("an element of a tile"));
                    }
                }
            }
        }
    }

    /// True for `at.group_row()` and `at.group_col()`: the row of `own_tile` by the rows of the grid of sub-groups. (A
    /// sub-group's row is the work-group's times these rows, plus its own.)
    fn names_the_group(&self, lhs: ValueId, rhs: ValueId) -> bool {
        let (rows, cols) = self.kernel.subgroups;
        let by = self.constants.get(rhs.0 as usize).copied().flatten();
        let mut own = false;
        self.kernel.body.walk(&mut |op| {
            if let (OpKind::OwnTile { .. }, [_, _, row, col]) = (&op.kind, op.results.as_slice()) {
                own |= (lhs == *row && by == Some(rows)) || (lhs == *col && by == Some(cols));
            }
        });
        own
    }

    /// What a loop carries: joins over its start, its runs and its ends.
    fn carry(&mut self, op: &Op, inits: &[ValueId], body: &Region, carried: &[ValueId]) {
        self.flow(carried, inits);
        self.region(body);
        let mut ways = vec![];
        collect_ways(body, &mut ways);
        for values in ways {
            self.flow(carried, &values);
            self.flow(&op.results, &values);
        }
        let early = [Way::Break, Way::Continue].into_iter().find_map(|way| self.leaves(body, None, way));
        self.set_all(carried, early);
        let cause = early.or_else(|| self.trips(&op.kind));
        self.flow(&op.results, carried);
        self.set_all(&op.results, cause);
    }

    /// What the number of runs of a loop varies with, ways out of its body left out.
    fn trips(&self, kind: &OpKind) -> Option<Cause> {
        if let OpKind::For { lo, hi, .. } = kind {
            return self.cause(*lo).or_else(|| self.cause(*hi));
        }
        let OpKind::While { cond, .. } = kind else { return None };
        self.first_cause(cond.exit.values())
    }

    /// What it varies with whether a region is left this way; `path` is what reaching the region varies with.
    fn leaves(&self, region: &Region, path: Option<Cause>, way: Way) -> Option<Cause> {
        let mut path = path;
        for op in &region.ops {
            if let OpKind::If { cond, then, otherwise } = &op.kind {
                let inner = path.or_else(|| self.cause(*cond));
                for region in [then, otherwise] {
                    if let Some(found) = self.leaves(region, inner, way) {
                        return Some(found);
                    }
                }
                // Who left another way does not come here.
                for other in [Way::Return, Way::Break, Way::Continue] {
                    for region in [then, otherwise] {
                        path = path.or_else(|| self.leaves(region, inner, other));
                    }
                }
            } else if let (OpKind::For { body, .. } | OpKind::While { body, .. }, Way::Return) =
                (&op.kind, way)
            {
                let inner =
                    path.or_else(|| self.trips(&op.kind)).or_else(|| self.leaves(body, path, Way::Break));
                for region in condition(&op.kind).into_iter().chain([body]) {
                    if let Some(found) = self.leaves(region, inner, way) {
                        return Some(found);
                    }
                }
            }
        }
        let exits = matches!(
            (&region.exit, way),
            (Exit::Return, Way::Return) | (Exit::Break(_), Way::Break) | (Exit::Continue(_), Way::Continue)
        );
        path.filter(|_| exits)
    }
}

/// The values of every way into the next run of a loop or out of it.
fn collect_ways(region: &Region, out: &mut Vec<Vec<ValueId>>) {
    fn inner(region: &Region, out: &mut Vec<Vec<ValueId>>) {
        for op in &region.ops {
            if let OpKind::If { then, otherwise, .. } = &op.kind {
                inner(then, out);
                inner(otherwise, out);
            }
        }
        if let Exit::Break(values) | Exit::Continue(values) = &region.exit {
            out.push(values.clone());
        }
    }
    inner(region, out);
    if let Exit::Yield(values) = &region.exit {
        out.push(values.clone());
    }
}

/// Why not every sub-group is here.
#[derive(Clone, Copy)]
enum Apart {
    Condition(Cause),
    Loop(Cause),
    Behind(&'static str, Cause),
}

impl core::fmt::Display for Apart {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Apart::Condition(cause) => write!(f, "under a condition that depends on {cause}"),
            Apart::Loop(cause) => write!(f, "in a loop whose number of runs depends on {cause}"),
            Apart::Behind(what, cause) => {
                write!(f, "behind a `{what}` under a condition that depends on {cause}")
            }
        }
    }
}

/// Checks that every barrier and cooperative copy is reached by all sub-groups of a work-group, with one coordinate.
pub(crate) fn check(kernel: &Kernel) -> Vec<Diagnostic> {
    let mut any = false;
    kernel.body.walk(&mut |op| any |= is_collective(&op.kind));
    if !any {
        return vec![];
    }
    let values = Uniformity::of(kernel);
    let mut out = vec![];
    check_region(&values, &kernel.body, None, &mut out);
    out
}

/// The region that a loop runs before each run of its body.
fn condition(kind: &OpKind) -> Option<&Region> {
    if let OpKind::While { cond, .. } = kind { Some(cond) } else { None }
}

fn is_collective(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Group(GroupOp::Barrier(_) | GroupOp::LoadCoop { .. } | GroupOp::StoreCoop { .. }))
}

fn check_region(values: &Uniformity<'_>, region: &Region, apart: Option<Apart>, out: &mut Vec<Diagnostic>) {
    let mut apart = apart;
    for op in &region.ops {
        if let OpKind::If { cond, then, otherwise } = &op.kind {
            let cause = values.cause(*cond);
            let inner = apart.or(cause.map(Apart::Condition));
            for region in [then, otherwise] {
                check_region(values, region, inner, out);
                for (way, name) in
                    [(Way::Return, "return"), (Way::Break, "break"), (Way::Continue, "continue")]
                {
                    apart =
                        apart.or_else(|| values.leaves(region, cause, way).map(|c| Apart::Behind(name, c)));
                }
            }
        } else if let OpKind::For { body, .. } | OpKind::While { body, .. } = &op.kind {
            let trips = values.trips(&op.kind);
            let regions = || condition(&op.kind).into_iter().chain([body]);
            let left = |path, way, name| {
                regions().find_map(|r| values.leaves(r, path, way)).map(|c| Apart::Behind(name, c))
            };
            let returned = left(None, Way::Return, "return");
            let inner =
                apart.or(trips.map(Apart::Loop)).or_else(|| left(None, Way::Break, "break")).or(returned);
            regions().for_each(|region| check_region(values, region, inner, out));
            // Who returned in some runs is missing behind the loop as well.
            apart = apart.or(returned).or_else(|| left(trips, Way::Return, "return"));
        } else if is_collective(&op.kind) {
            check_op(values, op, apart, out);
        }
    }
}

fn check_op(values: &Uniformity<'_>, op: &Op, apart: Option<Apart>, out: &mut Vec<Diagnostic>) {
    let name = op.kind.name();
    if let Some(apart) = apart {
        out.push(Diagnostic::new(
            Code::BarrierDivergence,
            op.span,
            format!(
                "`{name}` is reached by every sub-group of a work-group or by none; here it stands {apart}, which differs \
                 between sub-groups"
            ),
            "keep the work under the condition and move the rest out of it: loads outside a tensor give 0, stores are dropped",
        ));
    }
    if let OpKind::Group(GroupOp::LoadCoop { at, .. }) = &op.kind {
        let coordinates: Vec<ValueId> = at.values().collect();
        if let Some(cause) = values.first_cause(&coordinates) {
            out.push(Diagnostic::new(
                Code::CoopCoordinate,
                op.span,
                format!(
                    "`{name}` copies one tile for a whole work-group, so its coordinate is the same in every sub-group; here it \
                     depends on {cause}"
                ),
                "use the work-group's own place: `at.group_row()`, `at.group_col()`, or a loop counter",
            ));
        }
    }
}
