//! Owns the emission of element-wise ops: the recipes of `tile_ir::map` over instructions, on whole chunks of tiles, on
//! registers of vectors and on scalars.
//!
//! *Assumes* the register layouts of `lanes`. *Guarantees*: a 16-bit operand is widened exactly, the result is rounded
//! once; products and sums that a recipe keeps apart are rounded apart (the module turns contraction off), so that they
//! have the bits of the host. *Not here*: what an op computes (`tile_ir::map`), masks (`mask`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Decoration, Op as Inst, OpenclStd100Op as Std};
use tile_ir::ir::{Op, ValueId};
use tile_ir::map::{self, Bits, MapBinary, MapUnary, Math};
use tile_ir::types::{Along, DType, Encoding, Role, TileType, Type};

use crate::LowerError;
use crate::arith::U32;
use crate::control::{Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Emit, Id, Ty};

/// f32 per lane.
pub(crate) const LANE: Ty = Ty::Float(32);
/// Eight f32 per lane: a chunk.
pub(crate) const CHUNK: Ty = Ty::Float8(32);

/// Emits the primitives of recipes on values of one type.
pub(crate) struct Emitted<'e> {
    e: &'e mut Emit,
    ty: Ty,
    /// True where an instruction is emitted once, outside the loops that do not change it.
    once: bool,
    /// True where the device has instructions of its own for `exp2` and its kin, within the bounds of the table.
    native: bool,
}

impl<'e> Emitted<'e> {
    /// On chunks of a tile.
    pub(crate) fn chunks(e: &'e mut Emit) -> Emitted<'e> {
        Emitted { e, ty: CHUNK, once: false, native: true }
    }

    /// On registers of a vector.
    pub(crate) fn registers(e: &'e mut Emit) -> Emitted<'e> {
        Emitted { e, ty: LANE, once: false, native: true }
    }

    /// On uniform scalars.
    pub(crate) fn scalars(e: &'e mut Emit, native: bool) -> Emitted<'e> {
        Emitted { e, ty: LANE, once: true, native }
    }

    /// On vectors of the target `lane`.
    pub(crate) fn wide(e: &'e mut Emit, ty: Ty) -> Emitted<'e> {
        Emitted { e, ty, once: true, native: false }
    }

    fn inst(&mut self, op: Inst, ty: Ty, operands: &[Id]) -> Id {
        if self.once {
            return self.e.pure(op, ty, operands);
        }
        let ty = self.e.ty(ty);
        self.e.value(op, ty, operands.iter().map(|&o| Operand::IdRef(o)).collect())
    }

    fn std(&mut self, op: Std, operands: &[Id]) -> Id {
        if self.once {
            return self.e.opencl_once(op as u32, self.ty, operands);
        }
        self.e.opencl(op as u32, self.ty, operands)
    }
}

/// What a value of elements in the type they compute in is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A chunk of a tile.
    Chunk,
    /// A register of a vector.
    Register,
}

impl Form {
    /// The SPIR-V type of such a value of elements of a type.
    fn ty(self, dtype: DType) -> Ty {
        match self {
            Form::Chunk => Layout::wide_chunk(dtype),
            Form::Register => Layout::register(dtype),
        }
    }

    fn emitted(self, e: &mut Emit) -> Emitted<'_> {
        match self {
            Form::Chunk => Emitted::chunks(e),
            Form::Register => Emitted::registers(e),
        }
    }
}

impl Math for Emitted<'_> {
    type Value = Id;
    fn constant(&mut self, value: f32) -> Id {
        let id = self.e.int(LANE, u64::from(value.to_bits()));
        match self.ty.components() {
            1 => id,
            n => self.e.pure(Inst::CompositeConstruct, self.ty, &vec![id; n as usize]),
        }
    }
    fn add(&mut self, a: Id, b: Id) -> Id {
        self.inst(Inst::FAdd, self.ty, &[a, b])
    }
    fn sub(&mut self, a: Id, b: Id) -> Id {
        self.inst(Inst::FSub, self.ty, &[a, b])
    }
    fn mul(&mut self, a: Id, b: Id) -> Id {
        self.inst(Inst::FMul, self.ty, &[a, b])
    }
    fn fma(&mut self, a: Id, b: Id, c: Id) -> Id {
        self.std(Std::fma, &[a, b, c])
    }
    fn neg(&mut self, a: Id) -> Id {
        self.inst(Inst::FNegate, self.ty, &[a])
    }
    fn abs(&mut self, a: Id) -> Id {
        self.std(Std::fabs, &[a])
    }
    fn min(&mut self, a: Id, b: Id) -> Id {
        self.extreme(Std::fmin, Inst::FOrdLessThan, a, b)
    }
    fn max(&mut self, a: Id, b: Id) -> Id {
        self.extreme(Std::fmax, Inst::FOrdGreaterThan, a, b)
    }
    fn if_less(&mut self, a: Id, b: Id, x: Id, y: Id) -> Id {
        let bools = self.ty.bools();
        let less = self.inst(Inst::FOrdLessThan, bools, &[a, b]);
        self.inst(Inst::Select, self.ty, &[less, x, y])
    }
    // One instruction each (xe_facts 4); the exact forms of OpenCL take up to 17. On CPUs `native_exp2` may be off by 2.3e-4
    // (measured on Intel's runtime), and `exp2` is within 3 ulp (OpenCL C, relative error of math functions), whichever of these
    // the driver likes; the recipe has the bits of the host.
    fn exp2(&mut self, a: Id) -> Id {
        if self.native { self.std(Std::native_exp2, &[a]) } else { map::exp2(self, a) }
    }
    fn log2(&mut self, a: Id) -> Id {
        if self.native { self.std(Std::native_log2, &[a]) } else { map::log2(self, a) }
    }
    fn recip(&mut self, a: Id) -> Id {
        if self.native {
            return self.std(Std::native_recip, &[a]);
        }
        self.e.divides = true;
        let one = self.constant(1.0);
        self.inst(Inst::FDiv, self.ty, &[one, a])
    }
    fn sqrt(&mut self, a: Id) -> Id {
        self.e.divides |= !self.native;
        self.std(if self.native { Std::native_sqrt } else { Std::sqrt }, &[a])
    }
    fn rsqrt(&mut self, a: Id) -> Id {
        if self.native {
            return self.std(Std::native_rsqrt, &[a]);
        }
        let root = self.sqrt(a);
        self.recip(root)
    }
}

impl Emitted<'_> {
    /// Integers beside the values.
    fn words(&self) -> Ty {
        match self.ty.components() {
            1 => Ty::Int(32),
            n => Ty::IntVec(32, n),
        }
    }

    fn on_words(&mut self, op: Inst, a: Id, b: Id) -> Id {
        self.inst(op, self.words(), &[a, b])
    }

    /// The operand that is a number if the other is NaN (OpenCL extended instructions, fmin and fmax). Those leave open which of
    /// two zeros they give; the host gives the second, and so does a device without an instruction of its own.
    fn extreme(&mut self, std: Std, better: Inst, a: Id, b: Id) -> Id {
        if self.native {
            return self.std(std, &[a, b]);
        }
        let bools = self.ty.bools();
        let wins = self.inst(better, bools, &[a, b]);
        let either = self.inst(Inst::Select, self.ty, &[wins, a, b]);
        let nan = self.inst(Inst::FUnordNotEqual, bools, &[b, b]);
        self.inst(Inst::Select, self.ty, &[nan, a, either])
    }
}

impl Bits for Emitted<'_> {
    type Word = Id;
    fn word(&mut self, value: u32) -> Id {
        let id = self.e.u32(value);
        match self.ty.components() {
            1 => id,
            n => self.e.pure(Inst::CompositeConstruct, self.words(), &vec![id; n as usize]),
        }
    }
    fn bits(&mut self, value: Id) -> Id {
        self.inst(Inst::Bitcast, self.words(), &[value])
    }
    fn of_bits(&mut self, bits: Id) -> Id {
        self.inst(Inst::Bitcast, self.ty, &[bits])
    }
    fn add_words(&mut self, a: Id, b: Id) -> Id {
        self.on_words(Inst::IAdd, a, b)
    }
    fn sub_words(&mut self, a: Id, b: Id) -> Id {
        self.on_words(Inst::ISub, a, b)
    }
    fn and_words(&mut self, a: Id, b: Id) -> Id {
        self.on_words(Inst::BitwiseAnd, a, b)
    }
    fn shift_left(&mut self, a: Id, by: u32) -> Id {
        let by = self.word(by);
        self.on_words(Inst::ShiftLeftLogical, a, by)
    }
    fn shift_right(&mut self, a: Id, by: u32) -> Id {
        let by = self.word(by);
        self.on_words(Inst::ShiftRightArithmetic, a, by)
    }
    fn number(&mut self, a: Id) -> Id {
        self.inst(Inst::ConvertSToF, self.ty, &[a])
    }
}

/// The right operand of a binary op on a tile, as one chunk per block of the tile.
pub(crate) enum Right {
    /// A chunk for every chunk of the tile.
    Chunks(Vec<Id>),
    /// One chunk for the whole tile.
    All(Id),
    /// A chunk per block of rows.
    Down(Vec<Id>),
    /// A chunk per block of columns.
    Across(Vec<Id>),
}

impl Right {
    /// The chunk beside that of a block.
    pub(crate) fn at(&self, layout: Layout, down: u32, across: u32) -> Id {
        match self {
            Right::Chunks(all) => all[layout.index(down, across)],
            Right::All(one) => *one,
            Right::Down(blocks) => blocks[down as usize],
            Right::Across(blocks) => blocks[across as usize],
        }
    }
}

impl Lowering<'_> {
    /// The one result of an op.
    pub(crate) fn result(&self, op: &Op) -> Result<ValueId, LowerError> {
        match op.results[..] {
            [result] => Ok(result),
            _ => Err(LowerError::Malformed("an op has one result")),
        }
    }

    /// Computes a unary op on elements of a type, in the type they compute in.
    pub(crate) fn unary_of(&mut self, form: Form, dtype: DType, what: MapUnary, x: Id) -> Id {
        if !dtype.is_integer() {
            return map::unary(&mut form.emitted(&mut self.e), what, x);
        }
        integer_unary(&mut self.e, form.ty(dtype), what, x)
    }

    /// Computes a binary op on elements of a type, in the type they compute in.
    pub(crate) fn binary_of(&mut self, form: Form, dtype: DType, what: MapBinary, x: Id, y: Id) -> Id {
        if !dtype.is_integer() {
            return map::binary(&mut form.emitted(&mut self.e), what, x, y);
        }
        integer_binary(&mut self.e, form.ty(dtype), what, x, y)
    }

    /// Eight copies of a value that every lane has.
    pub(crate) fn splat(&mut self, ty: Ty, value: Id) -> Id {
        self.e.pure(Inst::CompositeConstruct, ty, &[value; 8])
    }

    /// `fill`.
    pub(crate) fn lower_fill(&mut self, op: &Op, value: ValueId) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let number = self.scalar(value)?;
        let value = match self.held(result) {
            Type::Tile(tile) => {
                let chunk = self.filled_chunk(tile, number);
                Value::Tile(vec![chunk; Layout::of(tile).count()])
            }
            Type::Vector(v) => {
                let register = self.rounded(v.dtype, Layout::register(v.dtype), number);
                Value::Vector(vec![register; Layout::registers(v)])
            }
            Type::Scalar(_) => return Err(LowerError::Malformed("a fill makes a tile or vector")),
        };
        self.set(result, value);
        Ok(())
    }

    /// A chunk of a tile all of whose elements are a number.
    pub(crate) fn filled_chunk(&mut self, tile: TileType, number: Id) -> Id {
        let chunk = Layout::of(tile).chunk();
        if tile.dtype == tile.dtype.wide() {
            return self.splat(chunk, number);
        }
        let bits = self.narrowed(tile.dtype, LANE, number);
        let bits = if tile.role == Role::Row {
            bits
        } else {
            // Packed operands hold two elements of a column in one word.
            let low = self.e.resize(U32, bits);
            let by = self.e.u32(16);
            let high = self.e.pure(Inst::ShiftLeftLogical, U32, &[low, by]);
            self.e.pure(Inst::BitwiseOr, U32, &[low, high])
        };
        self.splat(chunk, bits)
    }

    /// `abs`, `exp2`, …
    pub(crate) fn lower_map_unary(
        &mut self,
        op: &Op,
        what: MapUnary,
        value: ValueId,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let out = match self.held(result) {
            Type::Tile(tile) => {
                let chunks = self.tile(value)?;
                let mut out = vec![];
                for chunk in chunks {
                    let x = self.widened(tile.dtype, CHUNK, chunk);
                    let y = self.unary_of(Form::Chunk, tile.dtype, what, x);
                    out.push(self.narrowed(tile.dtype, CHUNK, y));
                }
                Value::Tile(out)
            }
            Type::Vector(v) => {
                let registers = self.vector(value)?;
                let mut out = vec![];
                for x in registers {
                    let y = self.unary_of(Form::Register, v.dtype, what, x);
                    out.push(self.rounded(v.dtype, LANE, y));
                }
                Value::Vector(out)
            }
            // Scalars are emitted when something needs them.
            Type::Scalar(_) => return Ok(()),
        };
        self.set(result, out);
        Ok(())
    }

    /// `add`, `mul`, … with a tile, vector or scalar on the right.
    pub(crate) fn lower_map_binary(
        &mut self,
        op: &Op,
        what: MapBinary,
        lhs: ValueId,
        rhs: ValueId,
    ) -> Result<(), LowerError> {
        let result = self.result(op)?;
        let out = match self.held(result) {
            Type::Tile(tile) => {
                let left = self.tile(lhs)?;
                let layout = Layout::of(tile);
                let (right, what) = self.right(tile, rhs, what)?;
                let mut out = vec![0; layout.count()];
                for across in 0..layout.across() {
                    for down in 0..layout.down() {
                        let at = layout.index(down, across);
                        let x = self.widened(tile.dtype, CHUNK, left[at]);
                        let y = right.at(layout, down, across);
                        let z = self.binary_of(Form::Chunk, tile.dtype, what, x, y);
                        out[at] = self.narrowed(tile.dtype, CHUNK, z);
                    }
                }
                Value::Tile(out)
            }
            Type::Vector(v) => {
                let left = self.vector(lhs)?;
                let (right, what) = match self.held(rhs) {
                    Type::Scalar(_) => {
                        let number = self.scalar(rhs)?;
                        let (number, what) = divisor(Emitted::scalars(&mut self.e, true), number, what);
                        (vec![number; left.len()], what)
                    }
                    Type::Vector(_) => (self.vector(rhs)?, what),
                    Type::Tile(_) => return Err(LowerError::Malformed("a vector is combined with a tile")),
                };
                let mut out = vec![];
                for (x, y) in left.into_iter().zip(right) {
                    let z = self.binary_of(Form::Register, v.dtype, what, x, y);
                    out.push(self.rounded(v.dtype, LANE, z));
                }
                Value::Vector(out)
            }
            Type::Scalar(_) => return Err(LowerError::Malformed("a scalar is combined as a tile")),
        };
        self.set(result, out);
        Ok(())
    }

    /// Brings a right operand into the form of chunks, and says what is left to do with it: a divisor that serves many
    /// elements is inverted before it is spread.
    pub(crate) fn right(
        &mut self,
        tile: TileType,
        rhs: ValueId,
        what: MapBinary,
    ) -> Result<(Right, MapBinary), LowerError> {
        match self.held(rhs) {
            Type::Tile(of) => {
                let mut chunks = vec![];
                for chunk in self.tile(rhs)? {
                    chunks.push(self.widened(of.dtype, CHUNK, chunk));
                }
                Ok((Right::Chunks(chunks), what))
            }
            Type::Scalar(_) => {
                let number = self.scalar(rhs)?;
                let (number, what) = divisor(Emitted::scalars(&mut self.e, true), number, what);
                Ok((Right::All(self.splat(Layout::wide_chunk(tile.dtype), number)), what))
            }
            Type::Vector(v) => {
                let mut left = what;
                let mut registers = vec![];
                for register in self.vector(rhs)? {
                    let (register, rest) = divisor(Emitted::registers(&mut self.e), register, what);
                    registers.push(register);
                    left = rest;
                }
                let right = match v.encoding {
                    Encoding::Wide => return Err(LowerError::Malformed("a wide vector meets a tile")),
                    Encoding::Line(Along::Cols) => {
                        Right::Across(registers.iter().map(|&r| self.spread(v.dtype, &[r; 8])).collect())
                    }
                    Encoding::Line(Along::Rows) => {
                        let blocks = Layout::of(tile).down();
                        Right::Down((0..blocks).map(|down| self.rows_of(v.dtype, &registers, down)).collect())
                    }
                };
                Ok((right, left))
            }
        }
    }

    /// A chunk of eight values where the emission stands.
    fn spread(&mut self, dtype: DType, parts: &[Id]) -> Id {
        let ty = self.e.ty(Layout::wide_chunk(dtype));
        self.e.value(Inst::CompositeConstruct, ty, parts.iter().map(|&p| Operand::IdRef(p)).collect())
    }

    /// The elements of a vector along rows that belong to a block of eight rows, each in every lane. A constant lane costs
    /// no instruction (xe_facts 5).
    fn rows_of(&mut self, dtype: DType, registers: &[Id], down: u32) -> Id {
        let parts: Vec<Id> = (8 * down..8 * down + 8)
            .map(|row| self.lane_of(Layout::register(dtype), registers[(row / LANES) as usize], row % LANES))
            .collect();
        self.spread(dtype, &parts)
    }

    /// Elements in the type they compute in, exactly. `shape` is that of a f32 value.
    pub(crate) fn widened(&mut self, from: DType, shape: Ty, bits: Id) -> Id {
        let e = &mut self.e;
        match from {
            // Masks have no numbers, bytes are unpacked chunk by chunk (`bytes`), and nothing but a matrix instruction reads
            // tf32.
            DType::F32 | DType::I32 | DType::I8 | DType::U8 | DType::Tf32 | DType::Bool => bits,
            DType::Bf16 => {
                e.need(Capability::BFloat16ConversionINTEL);
                let ty = e.ty(shape);
                e.value(Inst::ConvertBF16ToFINTEL, ty, vec![Operand::IdRef(bits)])
            }
            DType::F16 => {
                let (half, ty) = (e.ty(halves(shape)), e.ty(shape));
                let half = e.value(Inst::Bitcast, half, vec![Operand::IdRef(bits)]);
                e.value(Inst::FConvert, ty, vec![Operand::IdRef(half)])
            }
        }
    }

    /// Elements of one type in the type they compute in, as elements of another in the type those compute in: exact
    /// between floats, nearest even from integers, nearest even and saturating to them. `shape` is that of f32 values.
    pub(crate) fn across(&mut self, shape: Ty, from: DType, to: DType, value: Id) -> Id {
        let ints = if shape == CHUNK { Ty::Int8(32) } else { Ty::Int(32) };
        match (from.is_integer(), to.is_integer()) {
            (false, false) | (true, true) => value,
            (true, false) => {
                let ty = self.e.ty(shape);
                self.e.value(Inst::ConvertSToF, ty, vec![Operand::IdRef(value)])
            }
            (false, true) => {
                let rounded = self.e.opencl(Std::rint as u32, shape, &[value]);
                let (ty, bools) = (self.e.ty(ints), self.e.ty(shape.bools()));
                let id = self.e.value(Inst::ConvertFToS, ty, vec![Operand::IdRef(rounded)]);
                self.e.decorate_once(id, Decoration::SaturatedConversion);
                // NaN gives 0, which the decoration alone leaves open.
                let number =
                    self.e.value(Inst::FOrdEqual, bools, [value, value].map(Operand::IdRef).to_vec());
                let zero = self.e.null(ints);
                self.e.value(Inst::Select, ty, [number, id, zero].map(Operand::IdRef).to_vec())
            }
        }
    }

    /// Values, of the type that a type computes in, rounded to it, as its bits. `shape` is that of the f32 value.
    pub(crate) fn narrowed(&mut self, to: DType, shape: Ty, value: Id) -> Id {
        let e = &mut self.e;
        match to {
            DType::F32 | DType::I32 | DType::I8 | DType::U8 | DType::Tf32 | DType::Bool => value,
            DType::Bf16 => {
                e.need(Capability::BFloat16ConversionINTEL);
                let ty = e.ty(words(shape));
                e.value(Inst::ConvertFToBF16INTEL, ty, vec![Operand::IdRef(value)])
            }
            DType::F16 => {
                let (half, ty) = (e.ty(halves(shape)), e.ty(words(shape)));
                let half = e.value(Inst::FConvert, half, vec![Operand::IdRef(value)]);
                e.value(Inst::Bitcast, ty, vec![Operand::IdRef(half)])
            }
        }
    }

    /// f32 values rounded to a type, still as f32: what a 16-bit vector holds.
    pub(crate) fn rounded(&mut self, to: DType, shape: Ty, value: Id) -> Id {
        if to == to.wide() {
            return value;
        }
        let bits = self.narrowed(to, shape, value);
        self.widened(to, shape, bits)
    }
}

/// Computes a unary op on integers.
pub(crate) fn integer_unary(e: &mut Emit, ty: Ty, what: MapUnary, x: Id) -> Id {
    match what {
        // The least i32 has no absolute value; what wraps around is itself.
        MapUnary::Abs => e.opencl(Std::s_abs as u32, ty, &[x]),
        // The verifier admits `abs` and `neg` only.
        MapUnary::Neg
        | MapUnary::Relu
        | MapUnary::Exp2
        | MapUnary::Exp
        | MapUnary::Log2
        | MapUnary::Log
        | MapUnary::Sqrt
        | MapUnary::Rsqrt
        | MapUnary::Recip
        | MapUnary::Sigmoid
        | MapUnary::Silu
        | MapUnary::Tanh
        | MapUnary::Gelu => {
            let ty = e.ty(ty);
            e.value(Inst::SNegate, ty, vec![Operand::IdRef(x)])
        }
    }
}

/// Computes a binary op on integers.
pub(crate) fn integer_binary(e: &mut Emit, ty: Ty, what: MapBinary, x: Id, y: Id) -> Id {
    let inst = match what {
        MapBinary::Add => Inst::IAdd,
        MapBinary::Sub => Inst::ISub,
        MapBinary::Min => return e.opencl(Std::s_min as u32, ty, &[x, y]),
        MapBinary::Max => return e.opencl(Std::s_max as u32, ty, &[x, y]),
        // The verifier refuses the division of integers.
        MapBinary::Mul | MapBinary::Div => Inst::IMul,
    };
    let ty = e.ty(ty);
    e.value(inst, ty, [x, y].map(Operand::IdRef).to_vec())
}

/// For a division, the reciprocal of the divisor and the product that is left; otherwise nothing changes.
fn divisor(mut m: Emitted<'_>, value: Id, what: MapBinary) -> (Id, MapBinary) {
    match what {
        // The recipe of a quotient is the product with the reciprocal, so this gives the same bits.
        MapBinary::Div => (map::unary(&mut m, MapUnary::Recip, value), MapBinary::Mul),
        MapBinary::Add | MapBinary::Sub | MapBinary::Mul | MapBinary::Min | MapBinary::Max => (value, what),
    }
}

fn halves(shape: Ty) -> Ty {
    if shape == CHUNK { Ty::Float8(16) } else { Ty::Float(16) }
}

fn words(shape: Ty) -> Ty {
    if shape == CHUNK { Ty::Int8(16) } else { Ty::Int(16) }
}
