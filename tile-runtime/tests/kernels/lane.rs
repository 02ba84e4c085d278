//! Modules for OpenCL CPU devices assembled by hand: plain OpenCL SPIR-V, one work-item per sub-group. Written from
//! the contract of a launch, without our own code generator, so that a wrong ABI on one side cannot agree with itself.
#![allow(dead_code, reason = "each test binary uses some of them")]

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{self, Capability, StorageClass, Word};
use tile_runtime::{DType, GridInfo, GroupInfo, InstanceInfo, ModuleInfo, ParamInfo, ParamKind, ScalarType};

use crate::kernels::{input, output};

/// The parameters of one tensor.
struct Tensor {
    base: Word,
    depth: Word,
    rows: Word,
    cols: Word,
    pitch: Word,
    x0: Word,
    batch_stride: Word,
    depth_stride: Word,
}

struct Assembler {
    b: Builder,
    int: Word,
    long: Word,
    float: Word,
    truth: Word,
    pointer: Word,
    ids: [Word; 2],
}

impl Assembler {
    fn new(extra: &[Capability]) -> Assembler {
        let mut b = Builder::new();
        b.set_version(1, 2);
        let plain = [Capability::Addresses, Capability::Kernel, Capability::Int64];
        plain.iter().chain(extra).for_each(|capability| b.capability(*capability));
        b.memory_model(spirv::AddressingModel::Physical64, spirv::MemoryModel::OpenCL);
        let (int, long, float) = (b.type_int(32, 0), b.type_int(64, 0), b.type_float(32, None));
        let (truth, triple) = (b.type_bool(), b.type_vector(long, 3));
        let pointer = b.type_pointer(None, StorageClass::CrossWorkgroup, float);
        let place = b.type_pointer(None, StorageClass::Input, triple);
        let ids = [spirv::BuiltIn::WorkgroupId, spirv::BuiltIn::LocalInvocationId].map(|built_in| {
            let id = b.variable(place, None, StorageClass::Input, None);
            b.decorate(id, spirv::Decoration::BuiltIn, [Operand::BuiltIn(built_in)]);
            id
        });
        Assembler { b, int, long, float, truth, pointer, ids }
    }

    fn begin(&mut self, name: &str, params: &[Word], work_group: Option<u32>) -> Vec<Word> {
        let void = self.b.type_void();
        let signature = self.b.type_function(void, params.iter().copied());
        let none = spirv::FunctionControl::NONE;
        let function = self.b.begin_function(void, None, none, signature).expect("no function is open");
        let parameter = |ty: &Word| self.b.function_parameter(*ty).expect("a function is open");
        let values = params.iter().map(parameter).collect();
        self.b.entry_point(spirv::ExecutionModel::Kernel, function, name, self.ids);
        if let Some(size) = work_group {
            self.b.execution_mode(function, spirv::ExecutionMode::LocalSize, [size, 1, 1]);
        }
        self.b.begin_block(None).expect("a function is open");
        values
    }

    fn end(mut self) -> &'static [u8] {
        self.b.ret().expect("a block is open");
        self.b.end_function().expect("a function is open");
        let words = self.b.module().assemble();
        Box::leak(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Box<[u8]>>())
    }

    fn tensor_types(&self) -> [Word; 9] {
        let (int, long) = (self.int, self.long);
        [self.pointer, int, int, int, int, int, int, long, long]
    }

    fn constant(&mut self, value: u32) -> Word {
        self.b.constant_bit32(self.int, value)
    }

    fn add(&mut self, x: Word, y: Word) -> Word {
        self.b.i_add(self.int, None, x, y).expect("a block is open")
    }

    fn mul(&mut self, x: Word, y: Word) -> Word {
        self.b.i_mul(self.int, None, x, y).expect("a block is open")
    }

    fn div(&mut self, x: Word, y: Word) -> Word {
        self.b.u_div(self.int, None, x, y).expect("a block is open")
    }

    fn rem(&mut self, x: Word, y: Word) -> Word {
        self.b.u_mod(self.int, None, x, y).expect("a block is open")
    }

    fn div_up(&mut self, x: Word, y: u32) -> Word {
        let (less, divisor) = (self.constant(y - 1), self.constant(y));
        let more = self.add(x, less);
        self.div(more, divisor)
    }

    fn below(&mut self, x: Word, y: Word) -> Word {
        self.b.u_less_than(self.truth, None, x, y).expect("a block is open")
    }

    fn wide(&mut self, x: Word) -> Word {
        self.b.u_convert(self.long, None, x).expect("a block is open")
    }

    fn id(&mut self, which: usize) -> Word {
        let triple = self.b.type_vector(self.long, 3);
        let ids = self.b.load(triple, None, self.ids[which], None, []).expect("a block is open");
        let id = self.b.composite_extract(self.long, None, ids, [0]).expect("a block is open");
        self.b.u_convert(self.int, None, id).expect("a block is open")
    }

    /// The pointer to an element.
    fn element(&mut self, t: &Tensor, [batch, depth, row, col]: [Word; 4]) -> Word {
        let four = self.constant(4);
        let four = self.wide(four);
        let mut address = self.b.convert_ptr_to_u(self.long, None, t.base).expect("a block is open");
        let (row, pitch) = (self.wide(row), self.wide(t.pitch));
        let row = self.b.i_mul(self.long, None, row, pitch).expect("a block is open");
        let col = self.add(col, t.x0);
        let col = self.wide(col);
        let within = self.b.i_add(self.long, None, row, col).expect("a block is open");
        let steps = [(within, four), (self.wide(batch), t.batch_stride), (self.wide(depth), t.depth_stride)];
        for (count, stride) in steps {
            let step = self.b.i_mul(self.long, None, count, stride).expect("a block is open");
            address = self.b.i_add(self.long, None, address, step).expect("a block is open");
        }
        self.b.convert_u_to_ptr(self.pointer, None, address).expect("a block is open")
    }
}

fn tensor(params: &[Word]) -> Tensor {
    let &[base, _batch, depth, rows, cols, pitch, x0, batch_stride, depth_stride] = params else {
        panic!("a tensor is nine parameters")
    };
    Tensor { base, depth, rows, cols, pitch, x0, batch_stride, depth_stride }
}

/// `y = alpha x` in tiles of 8 x 16, one work-item each, element by element. With `rounds`, the sub-group does all of
/// it that many times, so that a launch takes a while.
fn assemble_scale((down, across): (u32, u32), rounds: u32, work_group: Option<u32>) -> &'static [u8] {
    let mut a = Assembler::new(&[]);
    let mut types = [a.tensor_types(), a.tensor_types()].concat();
    types.push(a.float);
    let params = a.begin("scale", &types, work_group);
    let (y, x, alpha) = (tensor(&params[..9]), tensor(&params[9..18]), params[18]);
    let place = a.b.type_pointer(None, StorageClass::Function, a.int);
    let counter = a.b.variable(place, None, StorageClass::Function, None);
    let [zero, one, eight, sixteen, end] = [0, 1, 8, 16, 128 * rounds].map(|n| a.constant(n));
    let (subgroup_rows, subgroup_cols) = (a.constant(down), a.constant(across));
    let (group, subgroup) = (a.id(0), a.id(1));
    let (tile_rows, tile_cols) = (a.div_up(y.rows, 8), a.div_up(y.cols, 16));
    let (group_rows, group_cols) = (a.div_up(tile_rows, down), a.div_up(tile_cols, across));
    let per_plane = a.mul(group_rows, group_cols);
    let (plane, group) = (a.div(group, per_plane), a.rem(group, per_plane));
    let (batch, depth) = (a.div(plane, y.depth), a.rem(plane, y.depth));
    let first = |a: &mut Assembler, group: Word, subgroups: Word, subgroup: Word, tile: Word| {
        let from = a.mul(group, subgroups);
        let at = a.add(from, subgroup);
        a.mul(at, tile)
    };
    let (group_row, group_col) = (a.div(group, group_cols), a.rem(group, group_cols));
    let (subgroup_row, subgroup_col) = (a.div(subgroup, subgroup_cols), a.rem(subgroup, subgroup_cols));
    let row = first(&mut a, group_row, subgroup_rows, subgroup_row, eight);
    let col = first(&mut a, group_col, subgroup_cols, subgroup_col, sixteen);
    a.b.store(counter, zero, None, []).expect("a block is open");
    let [header, body, work, next, done] = [(); 5].map(|()| a.b.id());
    a.b.branch(header).expect("a block is open");
    a.b.begin_block(Some(header)).expect("a function is open");
    let count = a.b.load(a.int, None, counter, None, []).expect("a block is open");
    let more = a.below(count, end);
    a.b.branch_conditional(more, body, done, []).expect("a block is open");
    a.b.begin_block(Some(body)).expect("a function is open");
    let (down, across) = (a.div(count, sixteen), a.rem(count, sixteen));
    let down = a.rem(down, eight);
    let (row, col) = (a.add(row, down), a.add(col, across));
    let (in_rows, in_cols) = (a.below(row, y.rows), a.below(col, y.cols));
    let inside = a.b.logical_and(a.truth, None, in_rows, in_cols).expect("a block is open");
    a.b.branch_conditional(inside, work, next, []).expect("a block is open");
    a.b.begin_block(Some(work)).expect("a function is open");
    let at = [batch, depth, row, col];
    let (from, to) = (a.element(&x, at), a.element(&y, at));
    let aligned = [Operand::LiteralBit32(4)];
    let memory = Some(spirv::MemoryAccess::ALIGNED);
    let value = a.b.load(a.float, None, from, memory, aligned.clone()).expect("a block is open");
    let value = a.b.f_mul(a.float, None, value, alpha).expect("a block is open");
    a.b.store(to, value, memory, aligned).expect("a block is open");
    a.b.branch(next).expect("a block is open");
    a.b.begin_block(Some(next)).expect("a function is open");
    let count = a.add(count, one);
    a.b.store(counter, count, None, []).expect("a block is open");
    a.b.branch(header).expect("a block is open");
    a.b.begin_block(Some(done)).expect("a function is open");
    a.end()
}

/// Row 0 of the output holds the bits of the scalars, one column each; a `u64` takes two, low half first.
fn assemble_scalars(extra: &[Capability]) -> &'static [u8] {
    let mut a = Assembler::new(extra);
    let mut types = a.tensor_types().to_vec();
    types.extend([a.int, a.int, a.long, a.float, a.int]);
    let params = a.begin("scalars", &types, Some(1));
    let y = tensor(&params[..9]);
    let &[unsigned, signed, wide, float, flag] = &params[9..] else { panic!("five scalars") };
    let shift = a.constant(32);
    let shift = a.wide(shift);
    let low = a.b.u_convert(a.int, None, wide).expect("a block is open");
    let high = a.b.shift_right_logical(a.long, None, wide, shift).expect("a block is open");
    let high = a.b.u_convert(a.int, None, high).expect("a block is open");
    let zero = a.constant(0);
    for (col, value) in [unsigned, signed, low, high, float, flag].into_iter().enumerate() {
        let value =
            if value == float { float } else { a.b.bitcast(a.float, None, value).expect("a block is open") };
        let col = a.constant(col as u32);
        let to = a.element(&y, [zero, zero, zero, col]);
        let aligned = [Operand::LiteralBit32(4)];
        a.b.store(to, value, Some(spirv::MemoryAccess::ALIGNED), aligned).expect("a block is open");
    }
    a.end()
}

fn instance(
    kernel: &'static str,
    params: Vec<ParamInfo>,
    subgroups: (u32, u32),
    modules: Vec<ModuleInfo>,
) -> &'static InstanceInfo {
    Box::leak(Box::new(InstanceInfo {
        kernel,
        name: "<8, 16>",
        generics: &[],
        params: Box::leak(params.into_boxed_slice()),
        subgroups,
        grid: GridInfo { param: 0, tile: (8, 16) },
        group: GroupInfo::NONE,
        modules: Box::leak(modules.into_boxed_slice()),
        absent: &[],
        live_tile_bytes: 0,
        host_tile_bytes: 0,
        run: |_, _| (),
    }))
}

fn module(target: &'static str, words: &'static [u8], entry: &'static str) -> ModuleInfo {
    let (devices, options, igc_options): (&[&str], &[&str], &[&str]) = match target {
        "xe" => (&["pvc", "bmg"], &["-cl-intel-256-GRF-per-thread"], &["Key=1"]),
        _ => (&["cpu"], &[], &[]),
    };
    ModuleInfo { target, devices, words, entry, options, igc_options }
}

const fn scalar(name: &'static str, scalar: ScalarType) -> ParamInfo {
    ParamInfo { name, kind: ParamKind::Scalar(scalar) }
}

fn scale_params() -> Vec<ParamInfo> {
    vec![output("y", DType::F32), input("x", DType::F32), scalar("alpha", ScalarType::F32)]
}

/// `y = alpha x`. For the target `xe` the words are the same; no GPU here will run them.
pub fn scale(subgroups: (u32, u32), rounds: u32) -> &'static InstanceInfo {
    let words = assemble_scale(subgroups, rounds, None);
    let modules = ["xe", "lane"].map(|target| module(target, words, "scale"));
    instance("scale", scale_params(), subgroups, modules.into())
}

/// The same, for work-groups of another size than its sub-groups make.
pub fn scale_for_work_groups_of(work_items: u32) -> &'static InstanceInfo {
    let words = assemble_scale((1, 1), 1, Some(work_items));
    instance("scale", scale_params(), (1, 1), vec![module("lane", words, "scale")])
}

/// The same with other words, another entry point or another target.
pub fn scale_with(target: &'static str, words: &'static [u8], entry: &'static str) -> &'static InstanceInfo {
    instance("scale", scale_params(), (1, 1), vec![module(target, words, entry)])
}

/// The same with a build option.
pub fn scale_with_option(option: &'static str) -> &'static InstanceInfo {
    let whole = module("lane", scale_words(), "scale");
    let options = Box::leak(Box::new([option]));
    instance("scale", scale_params(), (1, 1), vec![ModuleInfo { options, ..whole }])
}

/// The words of [`scale`].
pub fn scale_words() -> &'static [u8] {
    assemble_scale((1, 1), 1, None)
}

/// The kernel that writes its scalars; its module needs `extra` as well.
pub fn scalars(extra: &[Capability]) -> &'static InstanceInfo {
    let params = vec![
        output("y", DType::F32),
        scalar("unsigned", ScalarType::U32),
        scalar("signed", ScalarType::I32),
        scalar("wide", ScalarType::U64),
        scalar("float", ScalarType::F32),
        scalar("flag", ScalarType::Bool),
    ];
    instance("scalars", params, (1, 1), vec![module("lane", assemble_scalars(extra), "scalars")])
}
