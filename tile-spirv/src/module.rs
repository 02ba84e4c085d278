//! Owns a SPIR-V module under construction: ids, interned types and constants, capabilities, blocks, and where
//! a pure instruction is placed.
//!
//! A pure instruction is emitted once per dominating region (value numbering) and in the outermost block
//! where its operands exist, so that addresses which a loop does not change are computed before the loop.
//!
//! *Assumes*: callers emit structured control flow and bracket every region with [`Emit::push_scope`] and
//! [`Emit::pop_scope`]. *Guarantees*: the same calls give the same words. *Not here*: what an op means.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rspirv::binary::Assemble;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl,
    LoopControl, MemoryAccess, MemoryModel, Op, SelectionControl, StorageClass, Word,
};

/// A SPIR-V result id.
pub(crate) type Id = Word;

/// Extensions by the capability that needs them.
const EXTENSIONS: &[(Capability, &str)] = &[
    (Capability::Subgroup2DBlockIOINTEL, "SPV_INTEL_2d_block_io"),
    (Capability::SubgroupMatrixMultiplyAccumulateINTEL, "SPV_INTEL_subgroup_matrix_multiply_accumulate"),
    (Capability::BFloat16ConversionINTEL, "SPV_INTEL_bfloat16_conversion"),
    (Capability::SubgroupShuffleINTEL, "SPV_INTEL_subgroups"),
    (Capability::SubgroupBufferBlockIOINTEL, "SPV_INTEL_subgroups"),
    (Capability::SplitBarrierINTEL, "SPV_INTEL_split_barrier"),
    (Capability::AtomicFloat32AddEXT, "SPV_EXT_shader_atomic_float_add"),
    (Capability::TensorFloat32RoundingINTEL, "SPV_INTEL_tensor_float32_conversion"),
];

/// A type, by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ty {
    /// `bool`.
    Bool,
    /// Integer of so many bits.
    Int(u32),
    /// Float of so many bits.
    Float(u32),
    /// Vector of 8 `bool`s.
    Bool8,
    /// Vector of 8 integers of so many bits.
    Int8(u32),
    /// Vector of 8 floats of so many bits.
    Float8(u32),
    /// Vector of integers: bits, components.
    IntVec(u32, u32),
    /// Vector of floats: bits, components.
    FloatVec(u32, u32),
    /// Vector of `bool`s of so many components.
    BoolVec(u32),
}

impl Ty {
    /// Number of components; 1 for a scalar.
    pub(crate) fn components(self) -> u32 {
        match self {
            Ty::Bool | Ty::Int(_) | Ty::Float(_) => 1,
            Ty::Bool8 | Ty::Int8(_) | Ty::Float8(_) => 8,
            Ty::IntVec(_, n) | Ty::FloatVec(_, n) | Ty::BoolVec(n) => n,
        }
    }

    /// The type of what comparing two values of this type gives.
    pub(crate) fn bools(self) -> Ty {
        match self {
            Ty::Bool | Ty::Int(_) | Ty::Float(_) => Ty::Bool,
            Ty::Bool8 | Ty::Int8(_) | Ty::Float8(_) => Ty::Bool8,
            Ty::IntVec(_, n) | Ty::FloatVec(_, n) | Ty::BoolVec(n) => Ty::BoolVec(n),
        }
    }
}

type Key = (Op, Id, Vec<Word>);

/// A loop being emitted, as far as placing instructions goes.
struct Level {
    /// The block before the loop, whose last instruction branches to the header.
    preheader: usize,
    /// The scope that block belongs to.
    scope: usize,
    /// The header's block and its phis so far.
    header: usize,
    phis: Vec<Instruction>,
}

/// A module under construction.
pub(crate) struct Emit {
    /// True once a f32 division or square root was emitted that must be rounded correctly.
    pub(crate) divides: bool,
    builder: dr::Builder,
    classes: HashMap<Op, &'static rspirv::grammar::Instruction<'static>>,
    types: BTreeMap<Ty, Id>,
    pointers: BTreeMap<(u32, Id), Id>,
    arrays: BTreeMap<(Id, u32), Id>,
    constants: HashMap<(Id, u64), Id>,
    nulls: BTreeMap<Id, Id>,
    /// Values of integer and bool constants, by id.
    known: HashMap<Id, u64>,
    decorated: BTreeSet<Id>,
    capabilities: BTreeSet<u32>,
    opencl_std: Option<Id>,
    builtins: BTreeMap<u32, Id>,
    void: Id,
    function: Id,
    parameters: Vec<(Id, Id)>,
    variables: Vec<Instruction>,
    blocks: Vec<dr::Block>,
    seen: HashMap<Key, Id>,
    scopes: Vec<Vec<Key>>,
    levels: Vec<Level>,
    /// Loop depth at which an id is defined; absent means 0.
    depth: HashMap<Id, usize>,
}

impl Emit {
    /// Starts a module with one empty function.
    pub(crate) fn new() -> Emit {
        let mut builder = dr::Builder::new();
        // spirv-val's OpenCL 2.2 rules apply to SPIR-V 1.2.
        builder.set_version(1, 2);
        let void = builder.type_void();
        let function = builder.id();
        let mut emit = Emit {
            divides: false,
            builder,
            classes: HashMap::new(),
            types: BTreeMap::new(),
            pointers: BTreeMap::new(),
            arrays: BTreeMap::new(),
            constants: HashMap::new(),
            nulls: BTreeMap::new(),
            known: HashMap::new(),
            decorated: BTreeSet::new(),
            capabilities: BTreeSet::new(),
            opencl_std: None,
            builtins: BTreeMap::new(),
            void,
            function,
            parameters: vec![],
            variables: vec![],
            blocks: vec![],
            seen: HashMap::new(),
            scopes: vec![vec![]],
            levels: vec![],
            depth: HashMap::new(),
        };
        for capability in [
            Capability::Addresses,
            Capability::Kernel,
            Capability::Vector16,
            Capability::Int64,
            Capability::Int16,
        ] {
            emit.need(capability);
        }
        let entry = emit.label();
        emit.begin(entry);
        emit
    }

    /// Declares that the module uses a capability.
    pub(crate) fn need(&mut self, capability: Capability) {
        self.capabilities.insert(capability as u32);
    }

    /// Returns a fresh id, for labels and other forward references.
    pub(crate) fn label(&mut self) -> Id {
        self.builder.id()
    }

    fn instruction(&mut self, op: Op, ty: Option<Id>, id: Option<Id>, operands: Vec<Operand>) -> Instruction {
        // rspirv finds the class by walking its table; doing so once per opcode keeps an unoptimised build quick.
        let class = *self.classes.entry(op).or_insert_with(|| Instruction::new(op, None, None, vec![]).class);
        Instruction { class, result_type: ty, result_id: id, operands }
    }

    // ---- types and constants ----

    /// Returns the id of a type.
    pub(crate) fn ty(&mut self, ty: Ty) -> Id {
        if let Some(&id) = self.types.get(&ty) {
            return id;
        }
        let id = match ty {
            Ty::Bool => self.builder.type_bool(),
            Ty::Int(bits) => {
                if bits == 8 {
                    self.need(Capability::Int8);
                }
                self.builder.type_int(bits, 0)
            }
            Ty::Float(bits) => {
                if bits == 16 {
                    self.need(Capability::Float16);
                }
                self.builder.type_float(bits, None)
            }
            Ty::Bool8 => self.vector(Ty::Bool, 8),
            Ty::Int8(bits) => self.vector(Ty::Int(bits), 8),
            Ty::Float8(bits) => self.vector(Ty::Float(bits), 8),
            Ty::IntVec(bits, count) => self.vector(Ty::Int(bits), count),
            Ty::FloatVec(bits, count) => self.vector(Ty::Float(bits), count),
            Ty::BoolVec(count) => self.vector(Ty::Bool, count),
        };
        self.types.insert(ty, id);
        id
    }

    fn vector(&mut self, of: Ty, count: u32) -> Id {
        let of = self.ty(of);
        self.builder.type_vector(of, count)
    }

    /// Returns the type of a pointer to `pointee`.
    pub(crate) fn pointer(&mut self, class: StorageClass, pointee: Id) -> Id {
        if let Some(&id) = self.pointers.get(&(class as u32, pointee)) {
            return id;
        }
        let id = self.builder.type_pointer(None, class, pointee);
        self.pointers.insert((class as u32, pointee), id);
        id
    }

    /// Returns an integer constant of 16, 32 or 64 bits, or a `bool`.
    pub(crate) fn int(&mut self, ty: Ty, value: u64) -> Id {
        let type_id = self.ty(ty);
        if let Some(&id) = self.constants.get(&(type_id, value)) {
            return id;
        }
        let id = match ty {
            Ty::Bool if value != 0 => self.builder.constant_true(type_id),
            Ty::Bool => self.builder.constant_false(type_id),
            Ty::Int(64) => self.builder.constant_bit64(type_id, value),
            Ty::Int(_)
            | Ty::Float(_)
            | Ty::Bool8
            | Ty::Int8(_)
            | Ty::Float8(_)
            | Ty::IntVec(..)
            | Ty::FloatVec(..)
            | Ty::BoolVec(_) => self.builder.constant_bit32(type_id, value as u32),
        };
        self.constants.insert((type_id, value), id);
        if !matches!(ty, Ty::Float(_)) {
            self.known.insert(id, value);
        }
        id
    }

    /// Returns a `u32` constant.
    pub(crate) fn u32(&mut self, value: u32) -> Id {
        self.int(Ty::Int(32), u64::from(value))
    }

    /// Returns a `u64` constant.
    pub(crate) fn u64(&mut self, value: u64) -> Id {
        self.int(Ty::Int(64), value)
    }

    /// Returns the all-zero constant of a type.
    pub(crate) fn null(&mut self, ty: Ty) -> Id {
        let ty = self.ty(ty);
        if let Some(&id) = self.nulls.get(&ty) {
            return id;
        }
        let id = self.builder.constant_null(ty);
        self.nulls.insert(ty, id);
        id
    }

    /// True when the id is an all-zero constant made by [`Emit::null`].
    pub(crate) fn is_null(&self, id: Id) -> bool {
        self.nulls.values().any(|&n| n == id)
    }

    /// Returns the value of an integer or `bool` constant.
    pub(crate) fn known(&self, id: Id) -> Option<u64> {
        self.known.get(&id).copied()
    }

    // ---- module-level declarations ----

    /// Adds a parameter of the kernel.
    pub(crate) fn parameter(&mut self, ty: Id) -> Id {
        let id = self.builder.id();
        self.parameters.push((id, ty));
        id
    }

    /// Returns the variable of a built-in, of type `ty`.
    pub(crate) fn builtin(&mut self, which: BuiltIn, ty: Ty) -> Id {
        if let Some(&id) = self.builtins.get(&(which as u32)) {
            return id;
        }
        let pointee = self.ty(ty);
        let pointer = self.pointer(StorageClass::Input, pointee);
        let id = self.builder.id();
        let variable = self.instruction(
            Op::Variable,
            Some(pointer),
            Some(id),
            vec![Operand::StorageClass(StorageClass::Input)],
        );
        self.builder.insert_types_global_values(dr::InsertPoint::End, variable);
        self.builder.decorate(id, Decoration::BuiltIn, [Operand::BuiltIn(which)]);
        self.builder.decorate(id, Decoration::Constant, []);
        self.builtins.insert(which as u32, id);
        id
    }

    /// Decorates an id, which value numbering may hand out more than once.
    pub(crate) fn decorate_once(&mut self, id: Id, decoration: Decoration) {
        if self.decorated.insert(id) {
            self.builder.decorate(id, decoration, []);
        }
    }

    fn array(&mut self, of: Id, count: u32) -> Id {
        if let Some(&id) = self.arrays.get(&(of, count)) {
            return id;
        }
        let length = self.u32(count);
        let id = self.builder.type_array(of, length);
        self.arrays.insert((of, count), id);
        id
    }

    /// Adds a variable in the memory of the work-group holding `count` values of type `of`.
    pub(crate) fn shared(&mut self, of: Id, count: u32) -> Id {
        let pointee = self.array(of, count);
        let pointer = self.pointer(StorageClass::Workgroup, pointee);
        let id = self.builder.id();
        let class = vec![Operand::StorageClass(StorageClass::Workgroup)];
        let variable = self.instruction(Op::Variable, Some(pointer), Some(id), class);
        self.builder.insert_types_global_values(dr::InsertPoint::End, variable);
        id
    }

    /// Adds a private variable holding `count` values of type `of` (a plain one when `count` is 1).
    pub(crate) fn private(&mut self, of: Id, count: u32) -> Id {
        let pointee = if count == 1 { of } else { self.array(of, count) };
        let pointer = self.pointer(StorageClass::Function, pointee);
        let id = self.builder.id();
        let variable = self.instruction(
            Op::Variable,
            Some(pointer),
            Some(id),
            vec![Operand::StorageClass(StorageClass::Function)],
        );
        self.variables.push(variable);
        id
    }

    // ---- blocks ----

    /// Begins the block with this label.
    pub(crate) fn begin(&mut self, label: Id) {
        let instruction = self.instruction(Op::Label, None, Some(label), vec![]);
        self.blocks.push(dr::Block { label: Some(instruction), instructions: vec![] });
    }

    fn current(&self) -> usize {
        self.blocks.len() - 1
    }

    /// The label of the block being emitted.
    pub(crate) fn current_label(&self) -> Id {
        self.blocks[self.current()].label.as_ref().and_then(|l| l.result_id).expect("every block has a label")
    }

    fn push(&mut self, instruction: Instruction) {
        let current = self.current();
        self.blocks[current].instructions.push(instruction);
    }

    /// Ends the block with a jump.
    pub(crate) fn branch(&mut self, to: Id) {
        let i = self.instruction(Op::Branch, None, None, vec![Operand::IdRef(to)]);
        self.push(i);
    }

    /// Ends the block with a two-way jump whose ways meet again at `merge`.
    pub(crate) fn branch_merging(&mut self, cond: Id, yes: Id, no: Id, merge: Id) {
        let m = self.instruction(
            Op::SelectionMerge,
            None,
            None,
            vec![Operand::IdRef(merge), Operand::SelectionControl(SelectionControl::NONE)],
        );
        self.push(m);
        self.branch_if(cond, yes, no);
    }

    /// Ends the block with a two-way jump.
    pub(crate) fn branch_if(&mut self, cond: Id, yes: Id, no: Id) {
        let operands = [cond, yes, no].map(Operand::IdRef).to_vec();
        let i = self.instruction(Op::BranchConditional, None, None, operands);
        self.push(i);
    }

    /// Ends the kernel here.
    pub(crate) fn ret(&mut self) {
        let i = self.instruction(Op::Return, None, None, vec![]);
        self.push(i);
    }

    /// Ends a block that control never reaches.
    pub(crate) fn unreachable(&mut self) {
        let i = self.instruction(Op::Unreachable, None, None, vec![]);
        self.push(i);
    }

    /// Emits a phi in the current block (which must hold nothing else yet).
    pub(crate) fn phi(&mut self, ty: Id, from: &[(Id, Id)]) -> Id {
        let id = self.builder.id();
        let operands = from.iter().flat_map(|&(v, l)| [Operand::IdRef(v), Operand::IdRef(l)]).collect();
        let i = self.instruction(Op::Phi, Some(ty), Some(id), operands);
        self.push(i);
        self.set_depth(id);
        id
    }

    // ---- loops ----

    /// Ends the current block as a loop's preheader and begins the header.
    pub(crate) fn begin_loop(&mut self, header: Id) {
        let preheader = self.current();
        self.branch(header);
        self.begin(header);
        self.levels.push(Level {
            preheader,
            scope: self.scopes.len() - 1,
            header: self.current(),
            phis: vec![],
        });
        self.push_scope();
    }

    /// Adds a phi of the innermost loop's header; `id` was reserved with [`Emit::label`].
    pub(crate) fn header_phi(&mut self, id: Id, ty: Id, from: [(Id, Id); 2]) {
        let operands = from.iter().flat_map(|&(v, l)| [Operand::IdRef(v), Operand::IdRef(l)]).collect();
        let i = self.instruction(Op::Phi, Some(ty), Some(id), operands);
        if let Some(level) = self.levels.last_mut() {
            level.phis.push(i);
        }
    }

    /// Says that `id` is defined inside the innermost loop.
    pub(crate) fn set_depth(&mut self, id: Id) {
        let depth = self.levels.len();
        if depth > 0 {
            self.depth.insert(id, depth);
        }
    }

    /// Says that `id` is defined at this loop depth.
    pub(crate) fn set_depth_to(&mut self, id: Id, depth: usize) {
        self.depth.insert(id, depth);
    }

    /// Says that `id`, which may come from inside a loop that has ended, is available here.
    pub(crate) fn settle(&mut self, id: Id) {
        let here = self.levels.len();
        if let Some(depth) = self.depth.get_mut(&id) {
            *depth = (*depth).min(here);
        }
    }

    /// Ends the header block.
    pub(crate) fn loop_merge(&mut self, exit: Id, continuing: Id, body: Id, control: LoopControl) {
        let i = self.instruction(
            Op::LoopMerge,
            None,
            None,
            vec![Operand::IdRef(exit), Operand::IdRef(continuing), Operand::LoopControl(control)],
        );
        self.push(i);
        self.branch(body);
    }

    /// Ends the innermost loop; the current block must have branched.
    pub(crate) fn end_loop(&mut self) {
        self.pop_scope();
        if let Some(level) = self.levels.pop() {
            self.blocks[level.header].instructions.splice(0..0, level.phis);
        }
    }

    /// Opens a region: pure instructions emitted in it are forgotten at its end.
    pub(crate) fn push_scope(&mut self) {
        self.scopes.push(vec![]);
    }

    /// Closes the region.
    pub(crate) fn pop_scope(&mut self) {
        for key in self.scopes.pop().unwrap_or_default() {
            self.seen.remove(&key);
        }
    }

    // ---- instructions ----

    /// Emits an instruction with a result where the emission stands.
    pub(crate) fn value(&mut self, op: Op, ty: Id, operands: Vec<Operand>) -> Id {
        let id = self.builder.id();
        let i = self.instruction(op, Some(ty), Some(id), operands);
        self.push(i);
        self.set_depth(id);
        id
    }

    /// Emits an instruction without a result.
    pub(crate) fn effect(&mut self, op: Op, operands: Vec<Operand>) {
        let i = self.instruction(op, None, None, operands);
        self.push(i);
    }

    /// Emits a total, effect-free instruction once, in the outermost block where its operands exist.
    pub(crate) fn pure(&mut self, op: Op, ty: Ty, operands: &[Id]) -> Id {
        let ty = self.ty(ty);
        self.pure_with(op, ty, operands, &[])
    }

    /// Like [`Emit::pure`], with literals after the operands.
    pub(crate) fn pure_with(&mut self, op: Op, ty: Id, operands: &[Id], literals: &[u32]) -> Id {
        let mut all = operands.to_vec();
        all.extend(literals);
        let mut args: Vec<Operand> = operands.iter().map(|&o| Operand::IdRef(o)).collect();
        args.extend(literals.iter().map(|&l| Operand::LiteralBit32(l)));
        self.placed((op, ty, all), operands, args)
    }

    /// Emits an instruction known by `key` once, in the outermost block where its operands exist.
    fn placed(&mut self, key: Key, operands: &[Id], args: Vec<Operand>) -> Id {
        let (op, ty, _) = key;
        if let Some(&id) = self.seen.get(&key) {
            return id;
        }
        let depth = operands.iter().filter_map(|o| self.depth.get(o)).max().copied().unwrap_or(0);
        let id = self.builder.id();
        let i = self.instruction(op, Some(ty), Some(id), args);
        let scope = match self.levels.get(depth) {
            Some(level) => {
                let (block, scope) = (level.preheader, level.scope);
                let at = self.blocks[block].instructions.len() - 1;
                self.blocks[block].instructions.insert(at, i);
                if depth > 0 {
                    self.depth.insert(id, depth);
                }
                scope
            }
            None => {
                self.push(i);
                self.set_depth(id);
                self.scopes.len() - 1
            }
        };
        self.seen.insert(key.clone(), id);
        self.scopes[scope].push(key);
        id
    }

    /// Calls an instruction of `OpenCL.std`.
    pub(crate) fn opencl(&mut self, number: u32, ty: Ty, operands: &[Id]) -> Id {
        let args = self.opencl_args(number, operands);
        let ty = self.ty(ty);
        self.value(Op::ExtInst, ty, args)
    }

    /// Like [`Emit::opencl`], once and in the outermost block where the operands exist.
    pub(crate) fn opencl_once(&mut self, number: u32, ty: Ty, operands: &[Id]) -> Id {
        let args = self.opencl_args(number, operands);
        let ty = self.ty(ty);
        let mut all = vec![number];
        all.extend(operands);
        self.placed((Op::ExtInst, ty, all), operands, args)
    }

    fn opencl_args(&mut self, number: u32, operands: &[Id]) -> Vec<Operand> {
        let set = match self.opencl_std {
            Some(set) => set,
            None => {
                let set = self.builder.ext_inst_import("OpenCL.std");
                self.opencl_std = Some(set);
                set
            }
        };
        let mut args = vec![Operand::IdRef(set), Operand::LiteralExtInstInteger(number)];
        args.extend(operands.iter().map(|&o| Operand::IdRef(o)));
        args
    }

    /// Loads a built-in's value.
    pub(crate) fn load_builtin(&mut self, which: BuiltIn, ty: Ty, align: u32) -> Id {
        let variable = self.builtin(which, ty);
        let key = (Op::Load, variable, vec![]);
        if let Some(&id) = self.seen.get(&key) {
            return id;
        }
        // Built-ins never change, so the entry block is as good a place as any and dominates every use.
        let type_id = self.ty(ty);
        let id = self.builder.id();
        let operands = vec![
            Operand::IdRef(variable),
            Operand::MemoryAccess(MemoryAccess::ALIGNED),
            Operand::LiteralBit32(align),
        ];
        let i = self.instruction(Op::Load, Some(type_id), Some(id), operands);
        self.blocks[0].instructions.insert(0, i);
        self.seen.insert(key, id);
        id
    }

    // ---- finishing ----

    /// Completes the module, whose entry point has these modes, and returns its words with the capabilities and
    /// extensions it declares.
    pub(crate) fn finish(
        mut self,
        entry: &str,
        modes: &[(ExecutionMode, &[u32])],
    ) -> (Vec<u32>, Vec<Capability>, Vec<&'static str>) {
        let capabilities: Vec<Capability> =
            self.capabilities.iter().filter_map(|&c| Capability::from_u32(c)).collect();
        for &capability in &capabilities {
            self.builder.capability(capability);
        }
        let mut extensions: Vec<&'static str> =
            EXTENSIONS.iter().filter(|(c, _)| capabilities.contains(c)).map(|&(_, name)| name).collect();
        // Rows of one extension stand together.
        extensions.dedup();
        for &name in &extensions {
            self.builder.extension(name);
        }
        self.builder.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
        let interface: Vec<Id> = self.builtins.values().copied().collect();
        self.builder.entry_point(ExecutionModel::Kernel, self.function, entry, interface);
        for (mode, operands) in modes {
            self.builder.execution_mode(self.function, *mode, operands);
        }
        let types: Vec<Id> = self.parameters.iter().map(|&(_, ty)| ty).collect();
        let function_type = self.builder.type_function(self.void, types);
        let def = self.instruction(
            Op::Function,
            Some(self.void),
            Some(self.function),
            vec![Operand::FunctionControl(FunctionControl::NONE), Operand::IdRef(function_type)],
        );
        let end = self.instruction(Op::FunctionEnd, None, None, vec![]);
        let parameters = std::mem::take(&mut self.parameters);
        let parameters = parameters
            .into_iter()
            .map(|(id, ty)| self.instruction(Op::FunctionParameter, Some(ty), Some(id), vec![]))
            .collect();
        self.blocks[0].instructions.splice(0..0, std::mem::take(&mut self.variables));
        let mut module = self.builder.module();
        module.functions.push(dr::Function {
            def: Some(def),
            end: Some(end),
            parameters,
            blocks: std::mem::take(&mut self.blocks),
        });
        (module.assemble(), capabilities, extensions)
    }
}
