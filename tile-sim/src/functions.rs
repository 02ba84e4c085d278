//! Decoding functions: register windows, private variables, blocks, structured order.
//!
//! Recursion is forbidden in OpenCL, so every function has one fixed window of registers: it starts after
//! the windows of all its callers, and kernels share the space after the constants.
//! *Guarantees*: no recursion; every block ends in its only terminator; branch targets exist and are not the
//! entry block; phis have a value for every predecessor.

use crate::decode::{Context, Value, operand_id, result};
use crate::error::{Fault, Place, SimError, malformed, unsupported};
use crate::inst::{Block, Function, Inst, Phi, Site};
use crate::instructions;
use crate::module::instruction_name;
use crate::types::Type;
use rspirv::dr;
use rspirv::spirv::{Op, StorageClass};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Decodes all functions of a module into `context.code`.
pub(crate) fn decode(context: &mut Context, parsed: &dr::Module) -> Result<(), SimError> {
    let at = |f: &dr::Function| Place {
        function: f.def.as_ref().and_then(|d| d.result_id).map(|id| format!("%{id}")).unwrap_or_default(),
        ..Place::default()
    };
    let constants = context.code.constants.len() as u32;
    context.code.rows = constants;
    for (index, f) in parsed.functions.iter().enumerate() {
        declare(context, f, index as u32).map_err(|fault| fault.at(at(f)))?;
    }
    let order = callers_first(context, parsed).map_err(|fault| fault.at(Place::default()))?;
    let mut starts = vec![constants; parsed.functions.len()];
    let mut decoded: Vec<Function> = Vec::new();
    decoded.resize_with(parsed.functions.len(), Function::default);
    let globals = context.values.clone();
    for index in order {
        let f = &parsed.functions[index];
        context.values.clone_from(&globals);
        let mut decoder = Decoder::new(context, f, starts[index]);
        decoder.function(f)?;
        let (function, end, callees) = (decoder.out, decoder.next, decoder.callees);
        for callee in callees {
            starts[callee as usize] = starts[callee as usize].max(end);
        }
        context.code.rows = context.code.rows.max(end);
        decoded[index] = function;
    }
    spread_barriers(&mut decoded);
    context.code.functions = decoded;
    Ok(())
}

fn declare(context: &mut Context, f: &dr::Function, index: u32) -> Result<(), Fault> {
    let def = f.def.as_ref().ok_or_else(|| malformed("a function without OpFunction"))?;
    let (id, _) = result(def)?;
    let ty = operand_id(def, 1)?;
    let Type::Function { result: returned, params } = context.types.get(ty)? else {
        return Err(malformed(format!("%{ty} is not a function type")));
    };
    if Some(*returned) != def.result_type || params.len() != f.parameters.len() {
        return Err(malformed("a function does not match its type"));
    }
    for (param, want) in f.parameters.iter().zip(params) {
        if param.result_type != Some(*want) {
            return Err(malformed("a parameter does not match the function's type"));
        }
    }
    if f.blocks.is_empty() {
        return Err(unsupported("a function without a body (imported)"));
    }
    if context.functions.insert(id, (index, ty)).is_some() {
        return Err(malformed(format!("%{id} is defined twice")));
    }
    Ok(())
}

/// Indices of functions so that callers come before callees; fails on recursion.
fn callers_first(context: &Context, parsed: &dr::Module) -> Result<Vec<usize>, Fault> {
    let mut callees: Vec<BTreeSet<usize>> = Vec::new();
    for f in &parsed.functions {
        let calls =
            f.blocks.iter().flat_map(|b| &b.instructions).filter(|i| i.class.opcode == Op::FunctionCall);
        let mut set = BTreeSet::new();
        for call in calls {
            let id = operand_id(call, 0)?;
            let (index, _) = context
                .functions
                .get(&id)
                .ok_or_else(|| malformed(format!("a call of %{id}, not a function")))?;
            set.insert(*index as usize);
        }
        callees.push(set);
    }
    let mut callers = vec![0usize; callees.len()];
    callees.iter().flatten().for_each(|callee| callers[*callee] += 1);
    let mut ready: Vec<usize> = (0..callees.len()).filter(|i| callers[*i] == 0).collect();
    let mut order = Vec::new();
    while let Some(index) = ready.pop() {
        order.push(index);
        for callee in &callees[index] {
            callers[*callee] -= 1;
            if callers[*callee] == 0 {
                ready.push(*callee);
            }
        }
    }
    if order.len() < callees.len() {
        return Err(malformed("functions call each other recursively"));
    }
    Ok(order)
}

/// A function has a barrier if one it calls has.
fn spread_barriers(functions: &mut [Function]) {
    loop {
        let with: HashSet<usize> = (0..functions.len()).filter(|i| functions[*i].barrier).collect();
        let mut changed = false;
        for f in functions.iter_mut().filter(|f| !f.barrier) {
            f.barrier = f
                .insts
                .iter()
                .any(|inst| matches!(inst, Inst::Call { callee, .. } if with.contains(&(*callee as usize))));
            changed |= f.barrier;
        }
        if !changed {
            return;
        }
    }
}

/// Decodes one function.
pub(crate) struct Decoder<'a> {
    pub(crate) context: &'a mut Context,
    pub(crate) out: Function,
    pub(crate) labels: HashMap<u32, u32>,
    /// Merge and continue blocks of loops and merge blocks of switches: legal targets of divergent jumps.
    pub(crate) exits: HashSet<u32>,
    pub(crate) callees: Vec<u32>,
    /// Whether the block being decoded has a merge instruction.
    pub(crate) merges: bool,
    /// Type of the function's result.
    pub(crate) returns: u32,
    next: u32,
}

impl<'a> Decoder<'a> {
    fn new(context: &'a mut Context, f: &dr::Function, start: u32) -> Decoder<'a> {
        let id = f.def.as_ref().and_then(|d| d.result_id).unwrap_or(0);
        let name = context.debug_names.get(&id).cloned().unwrap_or_else(|| format!("%{id}"));
        Decoder {
            context,
            out: Function { name, ..Function::default() },
            labels: HashMap::new(),
            exits: HashSet::new(),
            callees: Vec::new(),
            merges: false,
            returns: f.def.as_ref().and_then(|d| d.result_type).unwrap_or(0),
            next: start,
        }
    }

    /// Takes fresh rows for a value.
    fn allocate(&mut self, id: u32, ty: u32) -> Result<u32, Fault> {
        let n = self.context.types.rows(ty)?;
        let row = self.next;
        self.next += n;
        self.context.check_rows(self.next)?;
        self.context.insert(id, Value { row, ty })?;
        Ok(row)
    }

    fn function(&mut self, f: &dr::Function) -> Result<(), SimError> {
        let name = self.out.name.clone();
        let at = |inst: Option<&dr::Instruction>, fault: Fault| {
            let instruction = inst.map(instruction_name).unwrap_or_default();
            fault.at(Place { instruction, function: name.clone(), ..Place::default() })
        };
        self.declare_all(f).map_err(|fault| at(None, fault))?;
        for (index, block) in f.blocks.iter().enumerate() {
            self.block(block, index == 0).map_err(|(inst, fault)| at(Some(inst), fault))?;
        }
        self.order(f).map_err(|fault| at(None, fault))
    }

    /// Gives rows to every result (phis refer forward) and numbers to every block.
    fn declare_all(&mut self, f: &dr::Function) -> Result<(), Fault> {
        for param in &f.parameters {
            let (id, ty) = result(param)?;
            let row = self.allocate(id, ty)?;
            self.out.params.push((row, self.context.types.rows(ty)?));
        }
        for (index, block) in f.blocks.iter().enumerate() {
            let label = block.label.as_ref().and_then(|l| l.result_id);
            let label = label.ok_or_else(|| malformed("a block without a label"))?;
            if self.labels.insert(label, index as u32).is_some() {
                return Err(malformed(format!("label %{label} is defined twice")));
            }
        }
        for inst in f.blocks.iter().flat_map(|b| &b.instructions) {
            match inst.class.opcode {
                Op::LoopMerge => {
                    self.exits.insert(operand_id(inst, 0)?);
                    self.exits.insert(operand_id(inst, 1)?);
                }
                Op::Variable => self.variable(inst)?,
                Op::ExtInst if self.is_nonsemantic(inst) => {}
                _ => {
                    if let (Some(id), Some(ty)) = (inst.result_id, inst.result_type)
                        && self.context.types.get(ty)? != &Type::Void
                    {
                        self.allocate(id, ty)?;
                    }
                }
            }
        }
        for block in &f.blocks {
            if let [.., merge, last] = block.instructions.as_slice()
                && merge.class.opcode == Op::SelectionMerge
                && last.class.opcode == Op::Switch
            {
                self.exits.insert(operand_id(merge, 0)?);
            }
        }
        Ok(())
    }

    fn is_nonsemantic(&self, inst: &dr::Instruction) -> bool {
        let set = operand_id(inst, 0).ok().and_then(|id| self.context.imports.get(&id));
        set.is_some_and(|name| name.starts_with("NonSemantic.") || name == "OpenCL.DebugInfo.100")
    }

    /// A Function variable: its pointer is a constant address in private memory.
    fn variable(&mut self, inst: &dr::Instruction) -> Result<(), Fault> {
        let (id, ty) = result(inst)?;
        let (class, pointee) = self.context.types.pointee(ty)?;
        if class != StorageClass::Function {
            return Err(malformed(format!("variable %{id} in a function has class {class:?}")));
        }
        let size = self.context.types.size(pointee)?;
        let mut var = self.context.private_variable(id, size)?;
        if inst.operands.len() > 1 {
            let init = self.context.operand_of(inst, 1, pointee)?;
            var.init = Some((init.row, self.context.layout(pointee)?));
        }
        self.out.vars.push(var);
        self.allocate(id, ty)?;
        Ok(())
    }

    fn block<'i>(&mut self, block: &'i dr::Block, entry: bool) -> Result<(), (&'i dr::Instruction, Fault)> {
        let mut out = Block { start: self.out.insts.len() as u32, ..Block::default() };
        let mut counts: HashMap<u16, u32> = HashMap::new();
        self.merges = false;
        let mut body = entry;
        for (i, inst) in block.instructions.iter().enumerate() {
            let fail = |fault: Fault| (inst, fault);
            let op = inst.class.opcode;
            let last = i + 1 == block.instructions.len();
            if matches!(op, Op::Line | Op::NoLine) {
                continue;
            }
            if matches!(op, Op::SelectionMerge | Op::LoopMerge) {
                self.merges = true;
                continue;
            }
            self.context.declared.instruction(op, inst.class.capabilities).map_err(fail)?;
            let name = self.site_name(inst).map_err(fail)?;
            *counts.entry(name).or_default() += 1;
            if op == Op::Phi {
                if body {
                    return Err(fail(malformed("OpPhi after another instruction or in the entry block")));
                }
                let phi = self.phi(inst).map_err(fail)?;
                out.phis.push(phi);
                continue;
            }
            body = true;
            let decoded = instructions::decode(self, inst).map_err(fail)?;
            let terminates = matches!(
                decoded,
                Inst::Branch(_)
                    | Inst::BranchIf { .. }
                    | Inst::Switch { .. }
                    | Inst::Return
                    | Inst::ReturnValue { .. }
                    | Inst::Unreachable
            );
            if terminates != last {
                return Err(fail(malformed("a block ends with a branch, a return or OpUnreachable")));
            }
            if matches!(decoded, Inst::Barrier { workgroup: true } | Inst::Arrive | Inst::Wait) {
                self.out.barrier = true;
            }
            self.out.insts.push(decoded);
            self.out.sites.push(Site { name, result: inst.result_id.unwrap_or(0) });
        }
        let written: HashSet<u32> = out.phis.iter().map(|phi| phi.dst).collect();
        out.phi_hazard =
            out.phis.iter().flat_map(|phi| phi.sources.iter()).any(|(_, source)| written.contains(source));
        out.end = self.out.insts.len() as u32;
        out.steps = counts.values().sum();
        out.histogram = counts.into_iter().collect();
        out.histogram.sort_unstable();
        out.number = self.context.code.block_count;
        self.context.code.block_count += 1;
        self.out.blocks.push(out);
        Ok(())
    }

    fn site_name(&mut self, inst: &dr::Instruction) -> Result<u16, Fault> {
        let mut name = format!("Op{}", inst.class.opname);
        if inst.class.opcode == Op::ExtInst
            && let Some(dr::Operand::LiteralExtInstInteger(number)) = inst.operands.get(1)
        {
            name = format!("{name} {}", crate::opencl_std::name(*number));
        }
        self.context.name(name)
    }

    fn phi(&mut self, inst: &dr::Instruction) -> Result<Phi, Fault> {
        let (id, ty) = result(inst)?;
        let mut sources = Vec::new();
        for pair in 0..inst.operands.len() / 2 {
            let value = self.context.operand_of(inst, 2 * pair, ty)?;
            sources.push((self.target(operand_id(inst, 2 * pair + 1)?)?, value.row));
        }
        let dst = self.context.value(id)?.row;
        Ok(Phi { dst, rows: self.context.types.rows(ty)?, sources: sources.into() })
    }

    /// The block number of a label.
    pub(crate) fn target(&self, label: u32) -> Result<u32, Fault> {
        self.labels.get(&label).copied().ok_or_else(|| malformed(format!("%{label} is not a label")))
    }

    /// Gives blocks their structured order: reverse postorder of a walk that visits a construct's merge
    /// block first and its continue target second, so that both come after the construct's other blocks.
    fn order(&mut self, f: &dr::Function) -> Result<(), Fault> {
        let mut children: Vec<Vec<u32>> = Vec::new();
        for block in &f.blocks {
            let mut list = Vec::new();
            for inst in block.instructions.iter().rev().take(2).rev() {
                if matches!(inst.class.opcode, Op::SelectionMerge | Op::LoopMerge) {
                    list.push(self.target(operand_id(inst, 0)?)?);
                    if inst.class.opcode == Op::LoopMerge {
                        list.push(self.target(operand_id(inst, 1)?)?);
                    }
                }
            }
            let targets = match self.out.insts[self.out.blocks[children.len()].end as usize - 1] {
                Inst::Branch(target) => vec![target],
                Inst::BranchIf { then, other, .. } => vec![other, then],
                Inst::Switch { default, ref cases, .. } => {
                    let mut all: Vec<u32> = cases.iter().rev().map(|(_, target)| *target).collect();
                    all.push(default);
                    all
                }
                _ => Vec::new(),
            };
            if targets.contains(&0) {
                return Err(malformed("a branch to the entry block"));
            }
            let here = children.len() as u32;
            let phis = targets.iter().flat_map(|target| &self.out.blocks[*target as usize].phis);
            if phis.into_iter().any(|phi| phi.sources.iter().all(|(from, _)| *from != here)) {
                return Err(malformed("an OpPhi without a value for one of its block's predecessors"));
            }
            list.extend(targets);
            children.push(list);
        }
        let mut finished = vec![false; children.len()];
        let mut seen = vec![false; children.len()];
        let mut order = children.len() as u32;
        let mut stack = vec![(0u32, 0usize)];
        seen[0] = true;
        while let Some((block, child)) = stack.pop() {
            match children[block as usize].get(child) {
                Some(next) => {
                    stack.push((block, child + 1));
                    if !seen[*next as usize] {
                        seen[*next as usize] = true;
                        stack.push((*next, 0));
                    }
                }
                None if !finished[block as usize] => {
                    finished[block as usize] = true;
                    order -= 1;
                    self.out.blocks[block as usize].order = order;
                }
                None => {}
            }
        }
        Ok(())
    }
}
