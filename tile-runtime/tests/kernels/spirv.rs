//! Device modules assembled by hand, as the code generator emits them: the argument ABI, the order of
//! work-groups, 2-D block messages. Written from the contract and the extension texts, without our own code
//! generator, so that a wrong ABI on one side cannot agree with itself.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv;
use tile_runtime::{DType, GridInfo, GroupInfo, InstanceInfo, ModuleInfo, ParamInfo, ParamKind, ScalarType};

use crate::kernels::{input, output};

/// How the copy kernel treats the right edge of its output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The surface ends at the last column.
    Kept,
    /// The surface ends at the end of the padding, so that stores reach it.
    Ignored,
    /// The input is written, too.
    InputWritten,
}

/// One tensor parameter of a kernel under construction.
struct Surface {
    base: u32,
    depth: u32,
    rows: u32,
    cols: u32,
    pitch: u32,
    x0: u32,
    batch_stride: u32,
    depth_stride: u32,
}

struct Assembler {
    b: Builder,
    element_bytes: u32,
    u32: u32,
    u64: u32,
    coordinate: u32,
    pointer: u32,
    registers: u32,
    group: u32,
}

impl Assembler {
    /// Opens the entry point with these parameter types and gives it with its parameters.
    fn new(element_bytes: u32) -> Assembler {
        let mut b = Builder::new();
        b.set_version(1, 2);
        for capability in [
            spirv::Capability::Addresses,
            spirv::Capability::Kernel,
            spirv::Capability::Int64,
            spirv::Capability::Int16,
            spirv::Capability::SubgroupDispatch,
            spirv::Capability::Subgroup2DBlockIOINTEL,
        ] {
            b.capability(capability);
        }
        b.extension("SPV_INTEL_2d_block_io");
        b.memory_model(spirv::AddressingModel::Physical64, spirv::MemoryModel::OpenCL);
        let (u32, u64) = (b.type_int(32, 0), b.type_int(64, 0));
        let element = if element_bytes == 2 { b.type_int(16, 0) } else { u32 };
        let (coordinate, triple) = (b.type_vector(u32, 2), b.type_vector(u64, 3));
        let pointer = b.type_pointer(None, spirv::StorageClass::CrossWorkgroup, element);
        let eight = b.constant_bit32(u32, 8);
        let array = b.type_array(element, eight);
        let registers = b.type_pointer(None, spirv::StorageClass::Function, array);
        let input = b.type_pointer(None, spirv::StorageClass::Input, triple);
        let group = b.variable(input, None, spirv::StorageClass::Input, None);
        b.decorate(group, spirv::Decoration::BuiltIn, [Operand::BuiltIn(spirv::BuiltIn::WorkgroupId)]);
        Assembler { b, element_bytes, u32, u64, coordinate, pointer, registers, group }
    }

    fn begin(&mut self, name: &str, params: &[u32]) -> Vec<u32> {
        let void = self.b.type_void();
        let signature = self.b.type_function(void, params.iter().copied());
        let function = self
            .b
            .begin_function(void, None, spirv::FunctionControl::NONE, signature)
            .expect("no function is open");
        let values =
            params.iter().map(|ty| self.b.function_parameter(*ty).expect("a function is open")).collect();
        self.b.entry_point(spirv::ExecutionModel::Kernel, function, name, [self.group]);
        self.b.execution_mode(function, spirv::ExecutionMode::SubgroupSize, [16]);
        self.b.begin_block(None).expect("a function is open");
        values
    }

    fn end(mut self) -> &'static [u8] {
        self.b.ret().expect("a block is open");
        self.b.end_function().expect("a function is open");
        let words = self.b.module().assemble();
        Box::leak(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Box<[u8]>>())
    }

    fn constant(&mut self, value: u32) -> u32 {
        self.b.constant_bit32(self.u32, value)
    }

    fn add(&mut self, x: u32, y: u32) -> u32 {
        self.b.i_add(self.u32, None, x, y).expect("a block is open")
    }

    fn mul(&mut self, x: u32, y: u32) -> u32 {
        self.b.i_mul(self.u32, None, x, y).expect("a block is open")
    }

    fn div(&mut self, x: u32, y: u32) -> u32 {
        self.b.u_div(self.u32, None, x, y).expect("a block is open")
    }

    fn rem(&mut self, x: u32, y: u32) -> u32 {
        self.b.u_mod(self.u32, None, x, y).expect("a block is open")
    }

    fn at_least(&mut self, value: u32, least: u32) -> u32 {
        let (truth, least) = (self.b.type_bool(), self.constant(least));
        let more = self.b.u_greater_than(truth, None, value, least).expect("a block is open");
        self.b.select(self.u32, None, more, value, least).expect("a block is open")
    }

    /// The nine parameters of a tensor.
    fn tensor_types(&self) -> [u32; 9] {
        let (int, long) = (self.u32, self.u64);
        [self.pointer, int, int, int, int, int, int, long, long]
    }

    fn surface(params: &[u32]) -> Surface {
        let &[base, _batch, depth, rows, cols, pitch, x0, batch_stride, depth_stride] = params else {
            panic!("a tensor is nine parameters")
        };
        Surface { base, depth, rows, cols, pitch, x0, batch_stride, depth_stride }
    }

    fn group_id(&mut self) -> u32 {
        let triple = self.b.type_vector(self.u64, 3);
        let ids = self.b.load(triple, None, self.group, None, []).expect("a block is open");
        let id = self.b.composite_extract(self.u64, None, ids, [0]).expect("a block is open");
        self.b.u_convert(self.u32, None, id).expect("a block is open")
    }

    /// Base, width, height, pitch and coordinate of a tensor's plane, in what block messages take.
    fn message(&mut self, s: &Surface, plane: (u32, u32), at: (u32, u32), to_pitch: bool) -> [u32; 5] {
        let offset = |a: &mut Assembler, index: u32, stride: u32| {
            let index = a.b.u_convert(a.u64, None, index).expect("a block is open");
            a.b.i_mul(a.u64, None, index, stride).expect("a block is open")
        };
        let (batch, depth) = (offset(self, plane.0, s.batch_stride), offset(self, plane.1, s.depth_stride));
        let address = self.b.convert_ptr_to_u(self.u64, None, s.base).expect("a block is open");
        let address = self.b.i_add(self.u64, None, address, batch).expect("a block is open");
        let address = self.b.i_add(self.u64, None, address, depth).expect("a block is open");
        let base = self.b.convert_u_to_ptr(self.pointer, None, address).expect("a block is open");
        let element_bytes = self.constant(self.element_bytes);
        let pitch = self.mul(s.pitch, element_bytes);
        let end = self.add(s.x0, s.cols);
        let width = self.mul(end, element_bytes);
        let (width, height) = (self.at_least(width, 64), self.at_least(s.rows, 1));
        let width = if to_pitch { pitch } else { width };
        let x = self.add(s.x0, at.1);
        let coordinate =
            self.b.composite_construct(self.coordinate, None, [x, at.0]).expect("a block is open");
        [base, width, height, pitch, coordinate]
    }

    fn registers(&mut self) -> u32 {
        self.b.variable(self.registers, None, spirv::StorageClass::Function, None)
    }

    fn load_block(&mut self, [base, width, height, pitch, at]: [u32; 5], registers: u32) {
        let [bytes, w, h, c] = [self.element_bytes, 16, 8, 1].map(|n| self.constant(n));
        self.b
            .subgroup2_d_block_load_intel(bytes, w, h, c, base, width, height, pitch, at, registers)
            .expect("a block is open");
    }

    fn store_block(&mut self, [base, width, height, pitch, at]: [u32; 5], registers: u32) {
        let [bytes, w, h, c] = [self.element_bytes, 16, 8, 1].map(|n| self.constant(n));
        self.b
            .subgroup2_d_block_store_intel(bytes, w, h, c, registers, base, width, height, pitch, at)
            .expect("a block is open");
    }
}

/// `y = x` in tiles of 8 x 16, `z` is not looked at; one sub-group per work-group. Rows of `y` must have at least 64 bytes, a multiple
/// of 4; `x` is not masked.
fn assemble_copy(element_bytes: u32, edge: Edge) -> &'static [u8] {
    let mut a = Assembler::new(element_bytes);
    let types = [a.tensor_types(), a.tensor_types(), a.tensor_types()].concat();
    let params = a.begin("copy", &types);
    let (y, x) = (Assembler::surface(&params[..9]), Assembler::surface(&params[9..18]));
    let registers = a.registers();
    let [seven, eight, fifteen, sixteen] = [7, 8, 15, 16].map(|n| a.constant(n));
    let group = a.group_id();
    let (rows, cols) = (a.add(y.rows, seven), a.add(y.cols, fifteen));
    let (down, across) = (a.div(rows, eight), a.div(cols, sixteen));
    let per_plane = a.mul(down, across);
    let (plane, id) = (a.div(group, per_plane), a.rem(group, per_plane));
    let plane = (a.div(plane, y.depth), a.rem(plane, y.depth));
    let (row, col) = (a.div(id, across), a.rem(id, across));
    let at = (a.mul(row, eight), a.mul(col, sixteen));
    let from = a.message(&x, plane, at, false);
    let to = a.message(&y, plane, at, edge == Edge::Ignored);
    a.load_block(from, registers);
    a.store_block(to, registers);
    if edge == Edge::InputWritten {
        a.store_block(from, registers);
    }
    a.end()
}

/// Row i of the 8 x 16 output holds scalar i in every column; a `u64` takes two rows, low half first.
fn assemble_scalars() -> &'static [u8] {
    let mut a = Assembler::new(4);
    let float = a.b.type_float(32, None);
    let mut types = a.tensor_types().to_vec();
    types.extend([a.u32, a.u32, a.u64, float, a.u32]);
    let params = a.begin("scalars", &types);
    let y = Assembler::surface(&params[..9]);
    let registers = a.registers();
    let &[unsigned, signed, wide, float, flag] = &params[9..] else { panic!("five scalars") };
    let low = a.b.u_convert(a.u32, None, wide).expect("a block is open");
    let shift = a.constant(32);
    let shift = a.b.u_convert(a.u64, None, shift).expect("a block is open");
    let high = a.b.shift_right_logical(a.u64, None, wide, shift).expect("a block is open");
    let high = a.b.u_convert(a.u32, None, high).expect("a block is open");
    let bits = a.b.bitcast(a.u32, None, float).expect("a block is open");
    let zero = a.constant(0);
    let place = a.b.type_pointer(None, spirv::StorageClass::Function, a.u32);
    for (row, value) in [unsigned, signed, low, high, bits, flag, zero, zero].into_iter().enumerate() {
        let row = a.constant(row as u32);
        let at = a.b.in_bounds_access_chain(place, None, registers, [row]).expect("a block is open");
        a.b.store(at, value, None, []).expect("a block is open");
    }
    let to = a.message(&y, (zero, zero), (zero, zero), false);
    a.store_block(to, registers);
    a.end()
}

fn module(words: &'static [u8], entry: &'static str) -> &'static [ModuleInfo] {
    let devices = &["pvc", "bmg"];
    let info = ModuleInfo { target: "xe", devices, words, entry, options: &[], igc_options: &[] };
    Box::leak(Box::new([info]))
}

/// The copy kernel `(y, x, z)` as an instance. Its host body does nothing.
pub fn copy(dtype: DType, edge: Edge) -> &'static InstanceInfo {
    let params: &'static [ParamInfo] =
        Box::leak(Box::new([output("y", dtype), input("x", dtype), input("z", dtype)]));
    Box::leak(Box::new(InstanceInfo {
        kernel: "copy",
        name: "<8, 16>",
        generics: &[],
        params,
        subgroups: (1, 1),
        grid: GridInfo { param: 0, tile: (8, 16) },
        modules: module(assemble_copy(dtype.size_bytes(), edge), "copy"),
        absent: &[],
        live_tile_bytes: 0,
        host_tile_bytes: 0,
        group: GroupInfo::NONE,
        run: |_, _| (),
    }))
}

/// The kernel that writes its scalars, as an instance. Its host body does nothing.
pub fn scalars() -> &'static InstanceInfo {
    const fn scalar(name: &'static str, scalar: ScalarType) -> ParamInfo {
        ParamInfo { name, kind: ParamKind::Scalar(scalar) }
    }
    Box::leak(Box::new(InstanceInfo {
        kernel: "scalars",
        name: "<>",
        generics: &[],
        params: Box::leak(Box::new([
            output("y", DType::F32),
            scalar("unsigned", ScalarType::U32),
            scalar("signed", ScalarType::I32),
            scalar("wide", ScalarType::U64),
            scalar("float", ScalarType::F32),
            scalar("flag", ScalarType::Bool),
        ])),
        subgroups: (1, 1),
        grid: GridInfo { param: 0, tile: (8, 16) },
        modules: module(assemble_scalars(), "scalars"),
        absent: &[],
        live_tile_bytes: 0,
        host_tile_bytes: 0,
        group: GroupInfo::NONE,
        run: |_, _| (),
    }))
}
