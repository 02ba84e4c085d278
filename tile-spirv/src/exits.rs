//! Owns `while`, and how a run of a loop ends: `break`, `continue` and the end of the body meet here.
//!
//! *Guarantees*: structured loops: one merge block and one continue target, to which the exits of nested branches
//! jump directly; carried values pass through phis exactly where several ways meet.
//! *Not here*: counted loops (`loops`).

use rspirv::spirv::LoopControl;
use tile_ir::ir::{Exit, Op, OpKind, Region, ValueId};

use crate::LowerError;
use crate::arith::U32;
use crate::control::{End, Lowering};
use crate::loops::Loop;
use crate::module::{Id, Ty};

/// Where the runs of a loop end, and the ways that lead there: carried values and the block they come from.
pub(crate) struct Ends {
    exit: Id,
    continuing: Id,
    breaks: Vec<(Vec<Id>, Id)>,
    continues: Vec<(Vec<Id>, Id)>,
}

impl Ends {
    /// The ends of a loop with these labels, to which nothing leads yet.
    pub(crate) fn new(exit: Id, continuing: Id) -> Ends {
        Ends { exit, continuing, breaks: vec![], continues: vec![] }
    }
}

/// True when a run of a loop with this body may end by `break` or `continue`.
pub(crate) fn leaves(body: &Region) -> bool {
    matches!(body.exit, Exit::Break(_) | Exit::Continue(_))
        || body.ops.iter().any(|op| match &op.kind {
            OpKind::If { then, otherwise, .. } => leaves(then) || leaves(otherwise),
            // Those of a nested loop are its own.
            _ => false,
        })
}

impl<'a> Lowering<'a> {
    /// `break` or `continue` of the innermost loop.
    pub(crate) fn leave(&mut self, breaks: bool, values: &[ValueId]) -> Result<End, LowerError> {
        let homes = self.loops.last().map(|l| l.homes.clone()).unwrap_or_default();
        let ids = self.exit_ids(values, &homes)?;
        let from = self.e.current_label();
        let innermost = self.loops.last_mut().ok_or(LowerError::Malformed("no loop to leave"))?;
        let ends = &mut innermost.ends;
        let (ways, to) =
            if breaks { (&mut ends.breaks, ends.exit) } else { (&mut ends.continues, ends.continuing) };
        ways.push((ids, from));
        self.e.branch(to);
        Ok(End::Return)
    }

    /// Emits the body of the innermost loop; afterwards no block is open. `bind` gives the region's arguments their
    /// meaning.
    pub(crate) fn run(&mut self, body: &'a Region, bind: impl FnOnce(&mut Self)) -> Result<(), LowerError> {
        let leaves = leaves(body);
        // What the body computes is not there on a way that left it early.
        if leaves {
            self.e.push_scope();
        }
        let end = self.frame(|s| {
            bind(s);
            match s.region(body)? {
                End::Yield(values) => {
                    let homes = s.loops.last().map(|l| l.homes.clone()).unwrap_or_default();
                    Ok(Some(s.exit_ids(&values, &homes)?))
                }
                End::Return => Ok(None),
            }
        })?;
        if let Some(ids) = end {
            let from = self.e.current_label();
            let innermost = self.loops.last_mut().ok_or(LowerError::Malformed("a loop is not open"))?;
            let ends = &mut innermost.ends;
            ends.continues.push((ids, from));
            let to = ends.continuing;
            self.e.branch(to);
        }
        if leaves {
            self.e.pop_scope();
        }
        Ok(())
    }

    /// `while`: tested at the top.
    pub(crate) fn lower_while(
        &mut self,
        op: &'a Op,
        inits: &[ValueId],
        cond: &'a Region,
        body: &'a Region,
    ) -> Result<(), LowerError> {
        let types = self.id_types(inits);
        let start = self.all_ids(inits)?;
        let homes = self.homes_from(inits)?;
        // A split speaks of the loads of another loop.
        let outer = self.split.take();
        let before = self.e.current_label();
        let [header, test, inner, continuing, exit] = [(); 5].map(|()| self.e.label());
        self.e.begin_loop(header);
        self.e.loop_merge(exit, continuing, test, LoopControl::DONT_UNROLL);
        self.e.begin(test);
        let phis: Vec<Id> = start.iter().map(|_| self.e.label()).collect();
        phis.iter().for_each(|&id| self.e.set_depth(id));
        // It has no counter.
        let zero = self.e.u32(0);
        self.loops.push(Loop::new(zero, U32, exit, continuing, homes.clone()));
        let goes_on = self.frame(|s| {
            s.bind(&cond.args, &phis);
            s.bind_homes(&cond.args, &homes);
            match s.region(cond)? {
                End::Yield(values) => match s.all_ids(&values)?[..] {
                    [one] => Ok(one),
                    _ => Err(LowerError::Malformed("a condition yields one value")),
                },
                End::Return => Err(LowerError::Malformed("a condition has no way on")),
            }
        })?;
        let tested = self.e.current_label();
        self.e.branch_if(goes_on, inner, exit);
        self.e.begin(inner);
        self.run(body, |s| {
            s.bind(&body.args, &phis);
            s.bind_homes(&body.args, &homes);
        })?;
        let Loop { ends, .. } = self.loops.pop().ok_or(LowerError::Malformed("a loop is not open"))?;
        let yields = self.begin_continuing(continuing, &ends, &types, &start);
        for ((&phi, &init), (&next, &ty)) in phis.iter().zip(&start).zip(yields.iter().zip(&types)) {
            let ty = self.e.ty(ty);
            self.e.header_phi(phi, ty, [(init, before), (next, continuing)]);
        }
        self.e.branch(header);
        self.e.end_loop();
        let results = self.begin_exit(exit, &ends, &types, &phis, tested);
        self.split = outer;
        self.bind(&op.results, &results);
        self.leave_homes(&op.results, &homes);
        Ok(())
    }

    /// Begins the continue target and gives the values carried into the next run. `fallback` stands in where no run ever
    /// goes on: then nothing reaches the block.
    pub(crate) fn begin_continuing(
        &mut self,
        continuing: Id,
        ends: &Ends,
        types: &[Ty],
        fallback: &[Id],
    ) -> Vec<Id> {
        self.e.begin(continuing);
        match &ends.continues[..] {
            [] => fallback.to_vec(),
            [(ids, _)] => ids.clone(),
            all => self.meet(types, all),
        }
    }

    /// Begins the block after a loop and gives the carried values there: `values` come from the block `tested`.
    pub(crate) fn begin_exit(
        &mut self,
        exit: Id,
        ends: &Ends,
        types: &[Ty],
        values: &[Id],
        tested: Id,
    ) -> Vec<Id> {
        self.e.begin(exit);
        let out = if ends.breaks.is_empty() {
            values.to_vec()
        } else {
            let mut all = vec![(values.to_vec(), tested)];
            all.extend(ends.breaks.iter().cloned());
            self.meet(types, &all)
        };
        out.iter().for_each(|&id| self.e.settle(id));
        out
    }

    /// One phi per carried id.
    fn meet(&mut self, types: &[Ty], ways: &[(Vec<Id>, Id)]) -> Vec<Id> {
        let mut out = vec![];
        for (i, &ty) in types.iter().enumerate() {
            let from: Vec<(Id, Id)> =
                ways.iter().filter_map(|(ids, label)| Some((*ids.get(i)?, *label))).collect();
            let ty = self.e.ty(ty);
            out.push(self.e.phi(ty, &from));
        }
        out
    }
}
