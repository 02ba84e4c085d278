//! Parsing: from words to checked, decoded code.
//!
//! *Guarantees*: malformed words are typed errors, never panics; the result can run any number of times.
//! *Not here*: decoding of functions (`decode`), types (`types`), capabilities (`requirements`).

use crate::access::{GRANULE, SPACE_CONSTANT, SPACE_INPUT, SPACE_SHARED, space_base};
use crate::decode::{Context, Value, literal, operand_id};
use crate::error::{Fault, Place, Rule, SimError, broken, malformed, unsupported};
use crate::inst::{Function, PrivateVar, Site};
use crate::types::{Layout, Type};
use rspirv::binary::ParseState;
use rspirv::dr;
use rspirv::spirv::{
    AddressingModel, BuiltIn, Decoration, ExecutionMode, FPRoundingMode, MemoryModel, Op, StorageClass,
};
use std::fmt;

/// A parsed SPIR-V module, ready to run.
#[derive(Debug)]
pub struct Module {
    pub(crate) code: Code,
}

/// The kind of a kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Pointer to global memory (CrossWorkgroup).
    Global,
    /// Pointer to work-group memory (Workgroup).
    Shared,
    /// Integer of this many bits.
    Int(u8),
    /// Float of this many bits.
    Float(u8),
    /// A type that cannot be passed at launch.
    Other(String),
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamKind::Global => f.write_str("a pointer to global memory"),
            ParamKind::Shared => f.write_str("a pointer to work-group memory"),
            ParamKind::Int(bits) => write!(f, "a {bits}-bit integer"),
            ParamKind::Float(bits) => write!(f, "a {bits}-bit float"),
            ParamKind::Other(what) => f.write_str(what),
        }
    }
}

/// A kernel of a module.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) function: u32,
    pub(crate) params: Vec<ParamKind>,
    pub(crate) local_size: Option<[u32; 3]>,
}

/// A built-in variable.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) builtin: BuiltIn,
    pub(crate) bits: u8,
    pub(crate) n: u8,
    pub(crate) offset: u32,
}

/// Bytes that each built-in variable takes in its memory.
const INPUT_BYTES: u32 = 32;

/// Everything that running needs.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) functions: Vec<Function>,
    pub(crate) entries: Vec<Entry>,
    /// Values of the first register rows.
    pub(crate) constants: Vec<u32>,
    pub(crate) rows: u32,
    pub(crate) private_words: u32,
    /// By granule of private memory: 1 + index of the variable that owns it, or 0.
    pub(crate) granules: Vec<u32>,
    pub(crate) private_vars: Vec<PrivateVar>,
    pub(crate) constant_bytes: Vec<u8>,
    pub(crate) shared_bytes: u32,
    /// Offset and size of every work-group variable.
    pub(crate) shared_vars: Vec<(u64, u64)>,
    pub(crate) layouts: Vec<Layout>,
    /// Names of instructions, by the index used in blocks and sites.
    pub(crate) names: Vec<String>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) block_count: u32,
}

impl Code {
    pub(crate) fn input_words(&self) -> usize {
        self.inputs.len() * (INPUT_BYTES / 4) as usize
    }

    pub(crate) fn site_name(&self, site: Site) -> String {
        let name = &self.names[usize::from(site.name)];
        if site.result == 0 { name.clone() } else { format!("%{} = {name}", site.result) }
    }
}

impl Module {
    /// Parses the words of a module and checks what can be checked without running it.
    ///
    /// # Errors
    /// [`SimError::Malformed`] if the words are not valid SPIR-V, [`SimError::Rule`] if a static rule is
    /// broken, [`SimError::Unsupported`] if the module needs something the simulator does not implement.
    pub fn parse(words: &[u32]) -> Result<Module, SimError> {
        let nowhere = |fault: Fault| fault.at(Place::default());
        check_words(words).map_err(nowhere)?;
        let parsed = dr::load_words(words).map_err(|state| {
            nowhere(match state {
                ParseState::OpcodeUnknown(_, index, opcode) => {
                    unsupported(format!("opcode {opcode} (instruction {index})"))
                }
                other => malformed(other.to_string()),
            })
        })?;
        let mut context = Context::new();
        for inst in parsed.global_inst_iter() {
            global(&mut context, inst).map_err(|fault| {
                fault.at(Place { instruction: instruction_name(inst), ..Place::default() })
            })?;
        }
        crate::functions::decode(&mut context, &parsed)?;
        entries(&mut context, &parsed).map_err(nowhere)?;
        Ok(Module { code: context.code })
    }

    /// Names and parameter kinds of the module's kernels.
    pub fn entry_points(&self) -> impl Iterator<Item = (&str, &[ParamKind])> {
        self.code.entries.iter().map(|e| (e.name.as_str(), e.params.as_slice()))
    }
}

/// Name of an instruction for messages.
pub(crate) fn instruction_name(inst: &dr::Instruction) -> String {
    match inst.result_id {
        Some(id) => format!("%{id} = Op{}", inst.class.opname),
        None => format!("Op{}", inst.class.opname),
    }
}

/// Checks the frame of the words, which rspirv takes for granted in places.
fn check_words(words: &[u32]) -> Result<(), Fault> {
    const HEADER: usize = 5;
    if words.len() < HEADER {
        return Err(malformed(format!("{} words; a header has {HEADER}", words.len())));
    }
    let mut at = HEADER;
    while at < words.len() {
        let (count, opcode) = ((words[at] >> 16) as usize, words[at] & 0xffff);
        if count == 0 || count > words.len() - at {
            return Err(malformed(format!("word {at}: an instruction of {count} words")));
        }
        if opcode == Op::SpecConstantOp as u32 {
            return Err(unsupported("OpSpecConstantOp"));
        }
        at += count;
    }
    Ok(())
}

/// Takes in one instruction outside functions.
fn global(context: &mut Context, inst: &dr::Instruction) -> Result<(), Fault> {
    let op = inst.class.opcode;
    match op {
        Op::Capability => {
            if let Some(dr::Operand::Capability(capability)) = inst.operands.first() {
                context.declared.capability(*capability)?;
            }
        }
        Op::Extension => {
            if let Some(dr::Operand::LiteralString(name)) = inst.operands.first() {
                context.declared.extension(name);
            }
        }
        Op::ExtInstImport => {
            if let (Some(id), Some(dr::Operand::LiteralString(name))) =
                (inst.result_id, inst.operands.first())
            {
                context.imports.insert(id, name.clone());
            }
        }
        Op::MemoryModel => {
            if inst.operands
                != [
                    dr::Operand::AddressingModel(AddressingModel::Physical64),
                    dr::Operand::MemoryModel(MemoryModel::OpenCL),
                ]
            {
                return Err(unsupported("a memory model other than Physical64 OpenCL"));
            }
        }
        Op::Name => {
            if let [dr::Operand::IdRef(id), dr::Operand::LiteralString(name)] = inst.operands.as_slice() {
                context.debug_names.insert(*id, name.clone());
            }
        }
        Op::Decorate => decorate(context, inst)?,
        // Entry points and modes are read once functions are known; the rest has no effect on results.
        Op::EntryPoint
        | Op::ExecutionMode
        | Op::MemberDecorate
        | Op::DecorateString
        | Op::MemberDecorateString
        | Op::DecorationGroup
        | Op::Source
        | Op::SourceContinued
        | Op::SourceExtension
        | Op::String
        | Op::MemberName
        | Op::ModuleProcessed
        | Op::Line
        | Op::NoLine => {}
        Op::GroupDecorate | Op::GroupMemberDecorate | Op::DecorateId => {
            return Err(unsupported(format!("Op{op:?}")));
        }
        Op::Variable => global_variable(context, inst)?,
        op if op.is_type() => define_type(context, inst)?,
        _ => context.constant(inst)?,
    }
    Ok(())
}

fn decorate(context: &mut Context, inst: &dr::Instruction) -> Result<(), Fault> {
    let target = operand_id(inst, 0)?;
    let entry = context.decorations.entry(target).or_default();
    match inst.operands.get(1..) {
        Some([dr::Operand::Decoration(Decoration::BuiltIn), dr::Operand::BuiltIn(builtin)]) => {
            entry.builtin = Some(*builtin);
        }
        Some([dr::Operand::Decoration(Decoration::SaturatedConversion)]) => entry.saturated = true,
        Some([dr::Operand::Decoration(Decoration::FPRoundingMode), dr::Operand::FPRoundingMode(mode)]) => {
            entry.rounding = Some(*mode);
        }
        Some([dr::Operand::Decoration(Decoration::CPacked)]) => entry.packed = true,
        Some([dr::Operand::Decoration(Decoration::ArrayStride), dr::Operand::LiteralBit32(stride)]) => {
            context.types.strides.insert(target, *stride);
        }
        Some([dr::Operand::Decoration(Decoration::LinkageAttributes), ..]) => entry.linkage = true,
        _ => {}
    }
    Ok(())
}

fn define_type(context: &mut Context, inst: &dr::Instruction) -> Result<(), Fault> {
    use rspirv::spirv::Capability as C;
    let id = inst.result_id.ok_or_else(|| unsupported(format!("Op{:?}", inst.class.opcode)))?;
    let declared = &context.declared;
    let what = |bits: u32| format!("{bits}-bit {}", inst.class.opname);
    let ty = match inst.class.opcode {
        Op::TypeVoid => Type::Void,
        Op::TypeBool => Type::Bool,
        Op::TypeInt => {
            let bits = literal(inst, 0)?;
            match bits {
                8 => declared.need(&[C::Int8], &what(8))?,
                16 => declared.need(&[C::Int16], &what(16))?,
                32 => {}
                64 => declared.need(&[C::Int64], &what(64))?,
                other => return Err(malformed(format!("an integer of {other} bits"))),
            }
            Type::Int(bits as u8)
        }
        Op::TypeFloat => {
            let bits = literal(inst, 0)?;
            if inst.operands.len() > 1 {
                return Err(unsupported("a float type with an encoding (bfloat16, fp8)"));
            }
            match bits {
                16 => declared.need(&[C::Float16, C::Float16Buffer], &what(16))?,
                32 => {}
                64 => declared.need(&[C::Float64], &what(64))?,
                other => return Err(malformed(format!("a float of {other} bits"))),
            }
            Type::Float(bits as u8)
        }
        Op::TypeVector => {
            let (element, n) = (operand_id(inst, 0)?, literal(inst, 1)?);
            context.types.scalar_bits(element)?;
            match n {
                2..=4 => {}
                8 | 16 => declared.need(&[C::Vector16], "a vector of 8 or 16")?,
                other => return Err(malformed(format!("a vector of {other} components"))),
            }
            Type::Vector(element, n as u8)
        }
        Op::TypeArray => {
            let length = context.integer(operand_id(inst, 1)?)?;
            if length == 0 {
                return Err(malformed("an array of length 0"));
            }
            Type::Array(operand_id(inst, 0)?, length)
        }
        Op::TypeStruct => {
            let members: Vec<u32> =
                (0..inst.operands.len()).map(|i| operand_id(inst, i)).collect::<Result<_, _>>()?;
            if members.is_empty() {
                return Err(unsupported("a struct without members"));
            }
            let packed = context.decorations.get(&id).is_some_and(|d| d.packed);
            Type::Struct { members, packed }
        }
        Op::TypePointer => {
            let Some(dr::Operand::StorageClass(class)) = inst.operands.first() else {
                return Err(malformed("a pointer type without a storage class"));
            };
            Type::Pointer { class: *class, pointee: operand_id(inst, 1)? }
        }
        Op::TypeFunction => Type::Function {
            result: operand_id(inst, 0)?,
            params: (1..inst.operands.len()).map(|i| operand_id(inst, i)).collect::<Result<_, _>>()?,
        },
        other => return Err(unsupported(format!("Op{other:?}"))),
    };
    context.types.insert(id, ty)
}

/// Whether a built-in is a `size_t` value, and how many components it has.
fn builtin_shape(builtin: BuiltIn) -> Option<(bool, u8)> {
    Some(match builtin {
        BuiltIn::WorkgroupId
        | BuiltIn::NumWorkgroups
        | BuiltIn::WorkgroupSize
        | BuiltIn::EnqueuedWorkgroupSize
        | BuiltIn::LocalInvocationId
        | BuiltIn::GlobalInvocationId
        | BuiltIn::GlobalSize
        | BuiltIn::GlobalOffset => (true, 3),
        BuiltIn::GlobalLinearId | BuiltIn::LocalInvocationIndex => (true, 1),
        BuiltIn::SubgroupId
        | BuiltIn::SubgroupSize
        | BuiltIn::SubgroupMaxSize
        | BuiltIn::NumSubgroups
        | BuiltIn::NumEnqueuedSubgroups
        | BuiltIn::SubgroupLocalInvocationId
        | BuiltIn::WorkDim => (false, 1),
        _ => return None,
    })
}

fn global_variable(context: &mut Context, inst: &dr::Instruction) -> Result<(), Fault> {
    let (Some(id), Some(ty)) = (inst.result_id, inst.result_type) else {
        return Err(malformed("a variable without id or type"));
    };
    let (class, pointee) = context.types.pointee(ty)?;
    if inst.operands.first() != Some(&dr::Operand::StorageClass(class)) {
        return Err(malformed("the storage class of a variable is not that of its type"));
    }
    let address = match class {
        StorageClass::Input => {
            let builtin = context.decorations.get(&id).and_then(|d| d.builtin);
            let Some(builtin) = builtin else { return Err(unsupported("an Input variable without BuiltIn")) };
            let Some((size_t, components)) = builtin_shape(builtin) else {
                return Err(unsupported(format!("built-in {builtin:?}")));
            };
            let (bits, n) = context.types.shape(pointee)?;
            let want = if size_t { 64 } else { 32 };
            if bits != want || n != components || !context.types.is_int(pointee)? {
                return Err(broken(
                    Rule::BuiltInType,
                    format!("{builtin:?} is {n} x {bits} bits; it is {components} x {want} bits"),
                ));
            }
            let offset = context.code.inputs.len() as u32 * INPUT_BYTES;
            context.code.inputs.push(Input { builtin, bits, n, offset });
            space_base(SPACE_INPUT) + u64::from(offset)
        }
        StorageClass::Workgroup => {
            let (size, align) = context.types.size_align(pointee)?;
            let at = u64::from(context.code.shared_bytes).next_multiple_of(align.max(128));
            context.code.shared_bytes = u32::try_from(at + size)
                .ok()
                .filter(|total| *total <= 1 << 20)
                .ok_or_else(|| unsupported("more than 1 MiB of work-group variables"))?;
            context.code.shared_vars.push((at, size));
            space_base(SPACE_SHARED) + at
        }
        StorageClass::UniformConstant => {
            let Ok(init) = operand_id(inst, 1) else {
                return Err(unsupported("a UniformConstant variable without an initialiser"));
            };
            let layout = context.types.layout(pointee)?;
            let at = context.code.constant_bytes.len().next_multiple_of(128);
            let value = context.value(init)?;
            if value.ty != pointee {
                return Err(malformed(format!("initialiser %{init} is not of the variable's type")));
            }
            let mut bytes = vec![0; layout.size as usize];
            for slot in &layout.slots {
                let row = (value.row + slot.row) as usize;
                let size = usize::from(slot.bits / 8);
                let low = u64::from(context.code.constants[row]);
                let high = if slot.bits == 64 { u64::from(context.code.constants[row + 1]) << 32 } else { 0 };
                let start = slot.offset as usize;
                bytes[start..start + size].copy_from_slice(&(low | high).to_le_bytes()[..size]);
            }
            context.code.constant_bytes.resize(at, 0);
            context.code.constant_bytes.extend(bytes);
            space_base(SPACE_CONSTANT) + at as u64
        }
        other => return Err(unsupported(format!("a module-scope variable of class {other:?}"))),
    };
    context.define_constant(id, ty, &[address as u32, (address >> 32) as u32])
}

/// Reads entry points and execution modes.
fn entries(context: &mut Context, parsed: &dr::Module) -> Result<(), Fault> {
    for inst in &parsed.entry_points {
        let Some(dr::Operand::LiteralString(name)) = inst.operands.get(2) else {
            return Err(malformed("an entry point without a name"));
        };
        if inst.operands.first() != Some(&dr::Operand::ExecutionModel(rspirv::spirv::ExecutionModel::Kernel))
        {
            return Err(unsupported(format!("entry point `{name}` is not a kernel")));
        }
        let id = operand_id(inst, 1)?;
        let Some((function, ty)) = context.functions.get(&id).copied() else {
            return Err(malformed(format!("entry point `{name}` names %{id}, which is not a function")));
        };
        let Type::Function { params, result } = context.types.get(ty)?.clone() else {
            return Err(malformed(format!("%{ty} is not a function type")));
        };
        if *context.types.get(result)? != Type::Void {
            return Err(malformed(format!("kernel `{name}` returns a value")));
        }
        let params = params.iter().map(|p| param_kind(context, *p)).collect::<Result<_, _>>()?;
        let mut entry = Entry { name: name.clone(), function, params, local_size: None };
        for mode in
            parsed.execution_modes.iter().filter(|m| operand_id(m, 0).is_ok_and(|target| target == id))
        {
            execution_mode(&mut entry, mode)?;
        }
        context.code.entries.push(entry);
    }
    Ok(())
}

fn param_kind(context: &Context, ty: u32) -> Result<ParamKind, Fault> {
    Ok(match context.types.get(ty)? {
        Type::Pointer { class: StorageClass::CrossWorkgroup, .. } => ParamKind::Global,
        Type::Pointer { class: StorageClass::Workgroup, .. } => ParamKind::Shared,
        Type::Int(bits) => ParamKind::Int(*bits),
        Type::Float(bits) => ParamKind::Float(*bits),
        other => ParamKind::Other(format!("{other:?}, which cannot be passed")),
    })
}

fn execution_mode(entry: &mut Entry, mode: &dr::Instruction) -> Result<(), Fault> {
    match mode.operands.get(1) {
        Some(dr::Operand::ExecutionMode(ExecutionMode::SubgroupSize)) => {
            let size = literal(mode, 2)?;
            if size != 16 {
                return Err(unsupported(format!("sub-group size {size}; the simulator has 16 lanes")));
            }
        }
        Some(dr::Operand::ExecutionMode(ExecutionMode::LocalSize)) => {
            entry.local_size = Some([literal(mode, 2)?, literal(mode, 3)?, literal(mode, 4)?]);
        }
        // Hints and float controls do not change what the simulator computes.
        _ => {}
    }
    Ok(())
}

impl Context {
    /// Adds a private variable and returns its address offset.
    pub(crate) fn private_variable(&mut self, id: u32, size: u64) -> Result<PrivateVar, Fault> {
        /// Most private memory of a module, in granules (256 KiB per lane).
        const MOST: usize = 1 << 12;
        let granules = (size.max(1)).div_ceil(u64::from(GRANULE)) as usize;
        let start = self.code.granules.len();
        if start + granules + 1 > MOST {
            return Err(unsupported("more than 256 KiB of Function variables"));
        }
        let var = PrivateVar { id, offset: start as u32 * GRANULE, size: size as u32, init: None };
        let owner = self.code.private_vars.len() as u32 + 1;
        self.code.granules.extend(std::iter::repeat_n(owner, granules));
        self.code.granules.push(0);
        self.code.private_vars.push(var.clone());
        self.code.private_words = self.code.granules.len() as u32 * GRANULE / 4;
        Ok(var)
    }
}

/// What decorations say about one id.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Decorations {
    pub(crate) builtin: Option<BuiltIn>,
    pub(crate) saturated: bool,
    pub(crate) rounding: Option<FPRoundingMode>,
    pub(crate) packed: bool,
    pub(crate) linkage: bool,
}

/// A value that is known when the module is parsed.
impl Context {
    pub(crate) fn value(&self, id: u32) -> Result<Value, Fault> {
        self.values.get(&id).copied().ok_or_else(|| malformed(format!("%{id} is not a value")))
    }
}
