//! The interpreter loop of one sub-group: 16 lanes in lock-step, with divergence and calls.
//!
//! Divergence: lanes that take different branches become groups, each with the block it goes to. The group
//! whose block comes first in structured order runs; groups that meet at a block run together from there.
//! Structured order puts a merge block after everything of its construct and a continue target after the
//! loop's body, so lanes reconverge exactly at merge blocks.
//! *Assumes*: decoded code (rows, blocks and callees in range; no recursion).
//! *Guarantees*: state is explicit, so a sub-group can stop at a barrier and resume; errors carry their place.
//! *Not here*: what single instructions compute, scheduling of sub-groups (`run`).

use crate::access::{self, Columns, Env};
use crate::error::{Cause, Fault, Place, Rule, SimError, broken, bug, unsupported};
use crate::inst::{Block, Function, Inst};
use crate::lanes::{LANES, Lanes, POISON, lanes_of};
use crate::module::Code;
use crate::{alu, block, lanes, wide};

/// Why a sub-group stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Done,
    /// At a work-group barrier: function and instruction number.
    Barrier(u32, u32),
}

#[derive(Debug)]
struct Frame {
    function: u32,
    block: u32,
    ip: u32,
    /// Groups of lanes that wait at the start of a block.
    waiting: Vec<(u32, u16)>,
    /// Lanes that returned.
    returned: u16,
    /// Block each lane came from, for phis.
    previous: [u32; LANES],
    /// Rows that receive the result, if any.
    result: Option<(u32, u32)>,
}

/// One sub-group: registers, private memory, call stack.
#[derive(Debug)]
pub(crate) struct Subgroup {
    pub(crate) lanes: Lanes,
    pub(crate) private: Columns,
    pub(crate) inputs: Columns,
    pub(crate) tally: crate::counters::Tally,
    frames: Vec<Frame>,
}

impl Subgroup {
    pub(crate) fn new(code: &Code) -> Subgroup {
        Subgroup {
            lanes: Lanes::new(&code.constants, code.rows as usize),
            private: Columns { words: vec![[POISON; LANES]; code.private_words as usize] },
            inputs: Columns { words: vec![[0; LANES]; code.input_words()] },
            tally: Default::default(),
            frames: Vec::new(),
        }
    }

    /// Prepares to run `function` with the given live lanes. Parameters are written by the caller.
    pub(crate) fn start(&mut self, code: &Code, function: u32, live: u16) {
        self.lanes.reset(code.constants.len(), live);
        self.tally = Default::default();
        self.frames.clear();
        self.frames.push(Frame::new(function, None));
    }
}

impl Frame {
    fn new(function: u32, result: Option<(u32, u32)>) -> Frame {
        Frame {
            function,
            block: 0,
            ip: u32::MAX,
            waiting: Vec::new(),
            returned: 0,
            previous: [u32::MAX; LANES],
            result,
        }
    }

    /// Sends lanes to blocks and picks the group that runs next; `None` if all returned.
    fn go(&mut self, f: &Function, lanes: &mut Lanes, targets: &[(u32, u16)]) -> bool {
        let from = self.block;
        for (_, mask) in targets {
            if *mask == lanes::FULL {
                self.previous = [from; LANES];
            } else {
                lanes_of(*mask).for_each(|l| self.previous[l] = from);
            }
        }
        if let (true, [(target, mask)]) = (self.waiting.is_empty(), targets) {
            self.block = *target;
            self.ip = u32::MAX;
            lanes.mask = *mask;
            return true;
        }
        for (target, mask) in targets.iter().filter(|(_, mask)| *mask != 0) {
            match self.waiting.iter_mut().find(|(block, _)| block == target) {
                Some((_, waiting)) => *waiting |= mask,
                None => self.waiting.push((*target, *mask)),
            }
        }
        let next = (0..self.waiting.len()).min_by_key(|i| f.blocks[self.waiting[*i].0 as usize].order);
        let Some(next) = next else { return false };
        let (target, mask) = self.waiting.swap_remove(next);
        self.block = target;
        self.ip = u32::MAX;
        lanes.mask = mask;
        true
    }
}

/// Splits active lanes by a condition row.
fn split(lanes: &Lanes, cond: u32) -> Result<(u16, u16), Fault> {
    let row = lanes.row(cond)?;
    if lanes.is_uniform(cond) {
        return Ok(if row[0] != 0 { (lanes.mask, 0) } else { (0, lanes.mask) });
    }
    let taken = lanes_of(lanes.mask).filter(|l| row[*l] != 0).fold(0u16, |m, l| m | 1 << l);
    Ok((taken, lanes.mask & !taken))
}

fn phis(lanes: &mut Lanes, block: &Block, previous: &[u32; LANES]) -> Result<(), Fault> {
    let first = previous[lanes.mask.trailing_zeros() as usize % LANES];
    let same = lanes_of(lanes.mask).all(|l| previous[l] == first);
    let source = |phi: &crate::inst::Phi, from: u32| {
        let found = phi.sources.iter().find(|(block, _)| *block == from).map(|(_, row)| *row);
        found.ok_or_else(|| bug(format!("a phi has no value for predecessor block {from}")))
    };
    if same && !block.phi_hazard {
        for phi in &block.phis {
            lanes.copy(phi.dst, source(phi, first)?, phi.rows)?;
        }
        return Ok(());
    }
    // All phis read before any writes, so every lane's new values are gathered first.
    let mut values = Vec::new();
    for phi in &block.phis {
        for i in 0..phi.rows {
            let mut row = [POISON; LANES];
            let mut uniform = same;
            for l in lanes_of(lanes.mask) {
                let from = source(phi, previous[l])? + i;
                uniform &= lanes.is_uniform(from);
                row[l] = lanes.row(from)?[l];
            }
            values.push((phi.dst + i, row, uniform));
        }
    }
    for (dst, row, uniform) in values {
        lanes.put(dst, row, uniform);
    }
    Ok(())
}

/// Runs until the sub-group is done or stands at a work-group barrier.
pub(crate) fn resume(sg_lanes: &mut Lanes, frames: &mut Frames, env: &mut Env<'_>) -> Result<Stop, SimError> {
    let code = env.code;
    loop {
        let Some(frame) = frames.0.last_mut() else {
            let here = Place { group: Some(env.group), subgroup: Some(env.subgroup), ..Place::default() };
            return env.shared.end(env.subgroup).map(|()| Stop::Done).map_err(|fault| fault.at(here));
        };
        let function = &code.functions[frame.function as usize];
        let outcome = step_block(sg_lanes, frame, function, env);
        let ip = frame.ip;
        match outcome {
            Ok(Flow::Next) => {}
            Ok(Flow::Barrier) => return Ok(Stop::Barrier(frame.function, ip)),
            Ok(Flow::Call { callee, args, dst, rows }) => {
                let target = &code.functions[callee as usize];
                let place = place_of(code, function, ip, env);
                let mut enter = || -> Result<(), Fault> {
                    for ((src, n), (param, _)) in args.iter().zip(&target.params) {
                        sg_lanes.copy(*param, *src, *n)?;
                    }
                    Ok(())
                };
                enter().map_err(|fault| fault.at(place))?;
                frames.0.push(Frame::new(callee, (rows > 0).then_some((dst, rows))));
            }
            Ok(Flow::Returned) => {
                let returned = frame.returned;
                frames.0.pop();
                if !frames.0.is_empty() {
                    sg_lanes.mask = returned;
                }
            }
            Err(fault) => return Err(fault.at(place_of(code, function, ip, env))),
        }
    }
}

/// The call stack, apart from the registers so that both can be borrowed.
pub(crate) struct Frames<'a>(&'a mut Vec<Frame>);

impl Subgroup {
    /// Splits the state into what an [`Env`] borrows and the rest.
    pub(crate) fn parts(
        &mut self,
    ) -> (&mut Lanes, Frames<'_>, &mut Columns, &Columns, &mut crate::counters::Tally) {
        (&mut self.lanes, Frames(&mut self.frames), &mut self.private, &self.inputs, &mut self.tally)
    }
}

fn place_of(code: &Code, function: &Function, ip: u32, env: &Env<'_>) -> Place {
    let site = ip.checked_sub(1).and_then(|i| function.sites.get(i as usize));
    Place {
        instruction: site.map(|s| code.site_name(*s)).unwrap_or_default(),
        function: function.name.clone(),
        group: Some(env.group),
        subgroup: Some(env.subgroup),
    }
}

/// What the loop over instructions ended with.
enum Flow<'a> {
    Next,
    Barrier,
    Call { callee: u32, args: &'a [(u32, u32)], dst: u32, rows: u32 },
    Returned,
}

/// Enters the frame's block if it stands before it, then runs it to its end.
fn step_block<'f>(
    lanes: &mut Lanes,
    frame: &mut Frame,
    function: &'f Function,
    env: &mut Env<'_>,
) -> Result<Flow<'f>, Fault> {
    let block = &function.blocks[frame.block as usize];
    if frame.ip == u32::MAX {
        frame.ip = block.start;
        let steps = u64::from(block.steps);
        if *env.steps_left < steps {
            return Err(Box::new(Cause::StepLimit(env.options.step_limit)));
        }
        *env.steps_left -= steps;
        env.tally.steps += steps;
        env.block_runs[block.number as usize] += 1;
        if frame.block == 0 && frame.previous[0] == u32::MAX {
            fresh_variables(lanes, function, env)?;
        }
        if !block.phis.is_empty() {
            phis(lanes, block, &frame.previous)?;
        }
    }
    loop {
        let inst = &function.insts[frame.ip as usize];
        frame.ip += 1;
        match inst {
            Inst::Branch(target) => {
                frame.go(function, lanes, &[(*target, lanes.mask)]);
                return Ok(Flow::Next);
            }
            Inst::BranchIf { cond, then, other, structured } => {
                let (yes, no) = split(lanes, *cond)?;
                if yes != 0 && no != 0 && !structured {
                    return Err(unsupported("a branch that lanes take differently, without a merge block"));
                }
                let one = [(if yes != 0 { *then } else { *other }, yes | no)];
                let both = [(*then, yes), (*other, no)];
                frame.go(function, lanes, if yes != 0 && no != 0 { &both } else { &one });
                return Ok(Flow::Next);
            }
            Inst::Switch { selector, bits, default, cases, structured } => {
                let values = lanes.scalar(*selector, *bits)?;
                let mut targets: Vec<(u32, u16)> = Vec::new();
                for l in lanes_of(lanes.mask) {
                    let case = cases.iter().find(|(value, _)| *value == values[l]);
                    let target = case.map_or(*default, |(_, target)| *target);
                    match targets.iter_mut().find(|(block, _)| *block == target) {
                        Some((_, mask)) => *mask |= 1 << l,
                        None => targets.push((target, 1 << l)),
                    }
                }
                if targets.len() > 1 && !structured {
                    return Err(unsupported("a switch that lanes take differently, without a merge block"));
                }
                frame.go(function, lanes, &targets);
                return Ok(Flow::Next);
            }
            Inst::Return | Inst::ReturnValue { .. } => {
                if let (Inst::ReturnValue { src }, Some((dst, rows))) = (inst, frame.result) {
                    lanes.copy(dst, *src, rows)?;
                }
                frame.returned |= lanes.mask;
                return Ok(if frame.go(function, lanes, &[]) { Flow::Next } else { Flow::Returned });
            }
            Inst::Unreachable => return Err(broken(Rule::Unreachable, "it was executed")),
            Inst::Call { callee, args, dst, rows } => {
                return Ok(Flow::Call { callee: *callee, args, dst: *dst, rows: *rows });
            }
            Inst::Barrier { workgroup } => {
                if lanes.mask != lanes.live {
                    return Err(broken(
                        if *workgroup { Rule::Barrier } else { Rule::Converged },
                        format!("active lanes are {:#06x} of {:#06x}", lanes.mask, lanes.live),
                    ));
                }
                if *workgroup {
                    env.shared.arrive(env.subgroup);
                    return stop(env);
                }
            }
            Inst::Arrive | Inst::Wait => {
                if lanes.mask != lanes.live {
                    let detail = format!("active lanes are {:#06x} of {:#06x}", lanes.mask, lanes.live);
                    return Err(broken(Rule::Barrier, detail));
                }
                if matches!(inst, Inst::Wait) {
                    return stop(env);
                }
                env.shared.arrive(env.subgroup);
            }
            other => execute(lanes, env, other)?,
        }
    }
}

/// Stops at a work-group barrier.
fn stop<'f>(env: &mut Env<'_>) -> Result<Flow<'f>, Fault> {
    env.tally.barriers += 1;
    env.shared.wait(env.subgroup)?;
    Ok(Flow::Barrier)
}

fn fresh_variables(lanes: &mut Lanes, function: &Function, env: &mut Env<'_>) -> Result<(), Fault> {
    for var in &function.vars {
        access::poison(env, var.offset, var.size);
        if let Some((row, layout)) = var.init {
            for slot in &env.code.layouts[layout as usize].slots {
                let values = lanes.scalar(row + slot.row, slot.bits)?;
                env.private.write(var.offset + slot.offset, u32::from(slot.bits / 8), &values);
            }
        }
    }
    Ok(())
}

/// Executes an instruction that does not change control flow.
fn execute(lanes: &mut Lanes, env: &mut Env<'_>, inst: &Inst) -> Result<(), Fault> {
    let code = env.code;
    match inst {
        Inst::Nop => {}
        Inst::Copy { dst, src, n } => lanes.copy(*dst, *src, *n)?,
        Inst::Gather { dst, rows } => {
            for (i, row) in rows.iter().enumerate() {
                let value = *lanes.row(*row)?;
                let uniform = lanes.is_uniform(*row);
                lanes.put(dst + i as u32, value, uniform);
            }
        }
        Inst::Undef { dst, n } => (0..*n).for_each(|i| lanes.put(dst + i, [POISON; LANES], true)),
        Inst::Alu(alu) => lanes.alu(alu)?,
        Inst::Select { dst, cond, step, a, b, n, rows } => {
            for i in 0..u32::from(*n) {
                let cond = cond + i * u32::from(*step);
                select(lanes, cond, dst + i * rows, a + i * rows, b + i * rows, *rows)?;
            }
        }
        Inst::AnyAll { all, dst, src, n } => {
            let mut out = [u32::from(*all); LANES];
            let mut uniform = true;
            for i in 0..u32::from(*n) {
                let row = lanes.row(src + i)?;
                uniform &= lanes.is_uniform(src + i);
                for (o, v) in out.iter_mut().zip(row) {
                    *o = if *all { *o & v } else { *o | v };
                }
            }
            lanes.put(*dst, out, uniform);
        }
        Inst::Dot { dst, a, b, n, bits } => wide::dot(lanes, *dst, *a, *b, *n, *bits)?,
        Inst::Wide { kind, dst, a, b, n, bits } => wide::run(lanes, *kind, *dst, *a, *b, *n, *bits)?,
        Inst::Repack { dst, src, from, to, bytes } => wide::repack(lanes, *dst, *src, *from, *to, *bytes)?,
        Inst::ExtractDynamic { dst, vector, index, bits, index_bits, n } => {
            wide::extract(lanes, *dst, *vector, (*index, *index_bits), *bits, *n)?;
        }
        Inst::InsertDynamic { dst, vector, value, index, bits, index_bits, n } => {
            wide::insert(lanes, *dst, *vector, *value, (*index, *index_bits), *bits, *n)?;
        }
        Inst::Access { dst, base, offset, dynamic } => {
            let mut uniform = lanes.scalar_uniform(*base, 64);
            let mut out = lanes.scalar(*base, 64)?.map(|v| v.wrapping_add(*offset));
            for index in dynamic {
                uniform &= lanes.scalar_uniform(index.row, index.bits);
                let values = lanes.scalar(index.row, index.bits)?;
                for (o, v) in out.iter_mut().zip(values) {
                    *o = o.wrapping_add((alu::signed(v, index.bits) as u64).wrapping_mul(index.stride));
                }
            }
            lanes.put_scalar(*dst, 64, &out, uniform);
        }
        Inst::Load { dst, ptr, layout, align } => {
            access::load(lanes, env, *dst, *ptr, &code.layouts[*layout as usize], *align)?;
        }
        Inst::Store { ptr, src, layout, align } => {
            access::store(lanes, env, *ptr, *src, &code.layouts[*layout as usize], *align)?;
        }
        Inst::CopyMemory { to, from, size, align } => {
            access::copy_memory(lanes, env, *to, *from, *size, *align)?;
        }
        Inst::Atomic(atomic) => access::atomic(lanes, env, atomic)?,
        Inst::Block2d(message) => message.run(lanes, env)?,
        Inst::BlockRead { dst, ptr, bits, n } => {
            block::linear(lanes, env, block::Linear::Read, *ptr, *dst, *bits, *n)?;
        }
        Inst::BlockWrite { ptr, src, bits, n } => {
            block::linear(lanes, env, block::Linear::Write, *ptr, *src, *bits, *n)?;
        }
        Inst::BlockPrefetch { ptr, bytes } => block::linear_prefetch(lanes, env, *ptr, *bytes)?,
        Inst::Dpas(dpas) => {
            dpas.run(lanes)?;
            env.tally.dpas += 1;
        }
        Inst::Group(op) => op.run(lanes)?,
        Inst::Barrier { .. }
        | Inst::Arrive
        | Inst::Wait
        | Inst::Call { .. }
        | Inst::Branch(_)
        | Inst::BranchIf { .. }
        | Inst::Switch { .. }
        | Inst::Return
        | Inst::ReturnValue { .. }
        | Inst::Unreachable => return Err(bug("control flow reached the straight-line executor")),
    }
    Ok(())
}

fn select(lanes: &mut Lanes, cond: u32, dst: u32, a: u32, b: u32, rows: u32) -> Result<(), Fault> {
    let picks = *lanes.row(cond)?;
    if lanes.is_uniform(cond) {
        return lanes.copy(dst, if picks[0] != 0 { a } else { b }, rows);
    }
    for i in 0..rows {
        let (x, y) = (*lanes.row(a + i)?, *lanes.row(b + i)?);
        lanes.put(dst + i, std::array::from_fn(|l| if picks[l] != 0 { x[l] } else { y[l] }), false);
    }
    Ok(())
}
