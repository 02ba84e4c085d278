//! Owns loops.
//!
//! A `for` counts its runs beforehand and becomes a loop that tests at its end, so it can neither overflow nor run
//! forever. Up to three copies of a body are emitted from the same region: the first run, when an accumulator starts
//! as zeros (the matrix instruction then reads a null operand instead of registers somebody had to clear);
//! the interior runs, whose loads need no masks; and the runs that touch an untrusted edge (`edge`).
//!
//! *Not here*: where a loop is split (`edge`), `while` and how runs end early (`exits`).

use rspirv::spirv::{LoopControl, Op as Inst};
use tile_ir::ir::{Op, OpKind, Region, ValueId};
use tile_ir::types::ScalarType;

use crate::LowerError;
use crate::control::{Edge, End, Lowering, Value, always_returns, scalar_ty};
use crate::exits::{Ends, leaves};
use crate::lane::slabs::Homes;
use crate::module::{Id, Ty};

/// A loop being emitted.
pub(crate) struct Loop {
    first: Id,
    ty: Ty,
    /// Multiples of the counter kept as induction variables: scale, phi, value before the loop.
    inductions: Vec<(u32, Id, Id)>,
    /// How runs end.
    pub(crate) ends: Ends,
    /// Where carried tiles and vectors live on targets that keep them in memory.
    pub(crate) homes: Homes,
}

impl Loop {
    /// A loop whose counter starts at `first`.
    pub(crate) fn new(first: Id, ty: Ty, exit: Id, continuing: Id, homes: Homes) -> Loop {
        Loop { first, ty, inductions: vec![], ends: Ends::new(exit, continuing), homes }
    }
}

impl<'a> Lowering<'a> {
    /// `for`.
    pub(crate) fn lower_for(
        &mut self,
        op: &'a Op,
        (lo, hi, step): (ValueId, ValueId, u32),
        inits: &[ValueId],
        body: &'a Region,
    ) -> Result<(), LowerError> {
        let counter_type = self.kernel.ty(lo).scalar().ok_or(LowerError::Malformed("a counter is a tile"))?;
        let ty = scalar_ty(counter_type);
        let (lo_id, hi_id) = (self.scalar(lo)?, self.scalar(hi)?);
        let trips = self.trip_count(counter_type, lo_id, hi_id, step);
        let types = self.id_types(inits);
        let start = self.all_ids(inits)?;
        let homes = self.homes_from(inits)?;
        let zero = self.e.int(ty, 0);
        let runs = Runs { body, ty, lo: lo_id, step, types, homes: homes.clone() };
        if leaves(body) {
            // Neither peeled nor split: a run may not happen although the ones before it did.
            let outer = self.split.take();
            let results = self.runs(&runs, zero, trips, &start, false)?;
            self.split = outer;
            self.bind(&op.results, &results);
            self.leave_homes(&op.results, &homes);
            return Ok(());
        }
        if always_returns(&self.facts, body) {
            let some = self.e.compare(Inst::UGreaterThan, trips, zero);
            if let Some(0) = self.e.known(some) {
                self.bind(&op.results, &start);
                self.leave_homes(&op.results, &homes);
                return Ok(());
            }
            let ended =
                self.branch(some, &[], |s| s.once(&runs, zero, &start).map(|_| None), |_| Ok(Some(vec![])))?;
            ended.ok_or(LowerError::Malformed("a branch has no way on"))?;
            self.bind(&op.results, &start);
            self.leave_homes(&op.results, &homes);
            return Ok(());
        }
        let split = match self.slabs {
            Some(_) => None,
            None => self.plan_split(body, lo_id, step, ty, trips)?,
        };
        // Only innermost loops: copies of copies would multiply.
        let innermost = !body.ops.iter().any(holds_loop);
        let peel = innermost && start.iter().any(|&id| self.e.is_null(id));
        let outer = self.split.take();
        let results = match split {
            None => self.runs(&runs, zero, trips, &start, peel)?,
            Some(plan) => {
                let interior = self.e.min(ty, plan.interior, trips);
                self.split = Some((plan.clone(), Edge::Never));
                let middle = self.runs(&runs, zero, interior, &start, peel)?;
                self.split = Some((plan, Edge::Mask));
                self.runs(&runs, interior, trips, &middle, false)?
            }
        };
        self.split = outer;
        self.bind(&op.results, &results);
        self.leave_homes(&op.results, &homes);
        Ok(())
    }

    /// How often a loop runs, as a count of the counter's width.
    fn trip_count(&mut self, counter: ScalarType, lo: Id, hi: Id, step: u32) -> Id {
        let ty = scalar_ty(counter);
        let e = &mut self.e;
        let zero = e.int(ty, 0);
        let distance = e.sub(ty, hi, lo);
        let runs = if counter == ScalarType::I32 {
            // The wrapped difference, read as unsigned, is exact when hi > lo.
            e.pure(Inst::SGreaterThan, Ty::Bool, &[hi, lo])
        } else {
            e.compare(Inst::UGreaterThan, hi, lo)
        };
        let distance = e.select(ty, runs, distance, zero);
        if step == 1 {
            return distance;
        }
        let by = e.int(ty, u64::from(step));
        let whole = e.div(ty, distance, by);
        let rest = e.rem(ty, distance, by);
        let more = e.compare(Inst::INotEqual, rest, zero);
        let one = e.int(ty, 1);
        let plus = e.add(ty, whole, one);
        e.select(ty, more, plus, whole)
    }

    /// Runs `start..end` of a loop, giving the carried ids.
    fn runs(
        &mut self,
        runs: &Runs<'a>,
        start: Id,
        end: Id,
        carried: &[Id],
        peel: bool,
    ) -> Result<Vec<Id>, LowerError> {
        let some = self.e.compare(Inst::ULessThan, start, end);
        self.guarded(some, &runs.types, carried, |s| {
            if !peel {
                return s.repeat(runs, start, end, carried);
            }
            let after = s.once(runs, start, carried)?;
            let one = s.e.int(runs.ty, 1);
            let next = s.e.add(runs.ty, start, one);
            let more = s.e.compare(Inst::ULessThan, next, end);
            s.guarded(more, &runs.types, &after, |s| s.repeat(runs, next, end, &after))
        })
    }

    /// The counter at run number `run`.
    fn counter_at(&mut self, runs: &Runs<'_>, run: Id) -> Id {
        let step = self.e.int(runs.ty, u64::from(runs.step));
        let distance = self.e.mul(runs.ty, run, step);
        self.e.add(runs.ty, runs.lo, distance)
    }

    /// Emits the body once, outside a loop. When the body always ends the kernel, the result is empty.
    fn once(&mut self, runs: &Runs<'a>, run: Id, carried: &[Id]) -> Result<Vec<Id>, LowerError> {
        let counter = self.counter_at(runs, run);
        self.frame(|s| {
            let (first, rest) = runs.args()?;
            s.set(first, Value::Scalar(counter));
            s.bind(rest, carried);
            s.bind_homes(rest, &runs.homes);
            match s.region(runs.body)? {
                End::Yield(values) => s.exit_ids(&values, &runs.homes),
                End::Return => Ok(vec![]),
            }
        })
    }

    /// Emits the loop for the runs `start..end`, of which there is at least one.
    fn repeat(&mut self, runs: &Runs<'a>, start: Id, end: Id, carried: &[Id]) -> Result<Vec<Id>, LowerError> {
        let (counter, rest) = runs.args()?;
        let first = self.counter_at(runs, start);
        let last = self.counter_at(runs, end);
        let before = self.e.current_label();
        let [header, body, continuing, exit] = [(); 4].map(|()| self.e.label());
        self.e.begin_loop(header);
        // Unrolling costs registers and payload copies (measured by Intel's compiler: 0.75 -> 1.2 instructions per dpas).
        self.e.loop_merge(exit, continuing, body, LoopControl::DONT_UNROLL);
        self.e.begin(body);
        let phis: Vec<Id> = carried.iter().map(|_| self.e.label()).collect();
        phis.iter().for_each(|&id| self.e.set_depth(id));
        self.loops.push(Loop::new(first, runs.ty, exit, continuing, runs.homes.clone()));
        let depth = self.loops.len() - 1;
        let phis_in = phis.clone();
        self.run(runs.body, |s| {
            s.set(counter, Value::Counter(depth));
            s.bind(rest, &phis);
            s.bind_homes(rest, &runs.homes);
        })?;
        let bound = self.facts.bound(counter);
        let (scale, phi) = self.exit_induction(depth, bound, runs.step);
        let Loop { inductions, ends, .. } =
            self.loops.pop().ok_or(LowerError::Malformed("a loop is not open"))?;
        let yields = self.begin_continuing(continuing, &ends, &runs.types, carried);
        for ((&phi, &init), (&next, &ty)) in phis_in.iter().zip(carried).zip(yields.iter().zip(&runs.types)) {
            let ty = self.e.ty(ty);
            self.e.header_phi(phi, ty, [(init, before), (next, continuing)]);
        }
        let mut test = self.e.int(Ty::Bool, 0);
        for (of, id, init) in inductions {
            let by = self.e.int(runs.ty, u64::from(runs.step.wrapping_mul(of)));
            let next = self.e.add(runs.ty, id, by);
            let ty = self.e.ty(runs.ty);
            self.e.header_phi(id, ty, [(init, before), (next, continuing)]);
            if (of, id) == (scale, phi) {
                let scale = self.e.int(runs.ty, u64::from(scale));
                let limit = self.e.mul(runs.ty, last, scale);
                test = self.e.compare(Inst::INotEqual, next, limit);
            }
        }
        self.e.branch_if(test, header, exit);
        self.e.end_loop();
        Ok(self.begin_exit(exit, &ends, &runs.types, &yields, continuing))
    }

    /// The induction variable whose end tells the loop's: an existing multiple if it cannot wrap, else the counter.
    /// The test is for equality, which the counter of exactly `end - start` runs meets once.
    fn exit_induction(&mut self, depth: usize, bound: u64, step: u32) -> (u32, Id) {
        let fits = |scale: u32| {
            let reach = bound.saturating_add(u64::from(step)).saturating_add(1);
            reach.saturating_mul(u64::from(scale)) <= 1 << 31
        };
        let existing = self.loops[depth].inductions.iter().find(|&&(s, ..)| s == 1 || fits(s));
        match existing {
            Some(&(scale, phi, _)) => (scale, phi),
            None => (1, self.induction(depth, 1)),
        }
    }

    /// The counter of the loop at `depth` times `scale`, as an induction variable.
    pub(crate) fn induction(&mut self, depth: usize, scale: u32) -> Id {
        let (first, ty) = (self.loops[depth].first, self.loops[depth].ty);
        if let Some(&(_, phi, _)) = self.loops[depth].inductions.iter().find(|&&(s, ..)| s == scale) {
            return phi;
        }
        let by = self.e.int(ty, u64::from(scale));
        let init = self.e.mul(ty, first, by);
        let phi = self.e.label();
        self.e.set_depth_to(phi, depth + 1);
        self.loops[depth].inductions.push((scale, phi, init));
        phi
    }
}

fn holds_loop(op: &Op) -> bool {
    matches!(op.kind, OpKind::For { .. } | OpKind::While { .. })
        || op.kind.regions().iter().any(|region| region.ops.iter().any(holds_loop))
}

/// What all copies of a loop share.
struct Runs<'a> {
    body: &'a Region,
    ty: Ty,
    lo: Id,
    step: u32,
    types: Vec<Ty>,
    homes: Homes,
}

impl Runs<'_> {
    fn args(&self) -> Result<(ValueId, &[ValueId]), LowerError> {
        let (first, rest) =
            self.body.args.split_first().ok_or(LowerError::Malformed("a loop has no counter"))?;
        Ok((*first, rest))
    }
}
