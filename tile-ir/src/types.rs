//! Owns the types of tile IR: element and scalar types, tile roles, tile types.
//!
//! *Guarantees*: every predicate about a type ("is it a matrix operand", "how wide is it") is answered here
//! and nowhere else, so two crates cannot disagree. *Not here*: which block messages or matrix
//! instructions a shape may use (`legal`), and how a target packs a tile into registers (the target).

use core::fmt;

/// The element type of a tile or of a global tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// bfloat16: 8 exponent and 7 fraction bits.
    Bf16,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 32-bit integer, wrapping.
    I32,
    /// TensorFloat-32: an f32 rounded to 10 fraction bits. The type of operands of a matrix multiply, not of tensors.
    Tf32,
    /// Truth value: the element of a mask. No tensor holds it and no arithmetic takes it.
    Bool,
}

impl DType {
    /// Every element type that kernel text names, in the order used by listings. Masks have another.
    pub const ALL: &'static [DType] =
        &[DType::Bf16, DType::F16, DType::F32, DType::I8, DType::U8, DType::I32, DType::Tf32];

    /// The element types that element-wise ops, reductions and masks work on.
    pub const COMPUTING: &'static [DType] = &[DType::Bf16, DType::F16, DType::F32, DType::I32];

    /// The element types that compute in f32.
    pub const FLOATS: &'static [DType] = &[DType::Bf16, DType::F16, DType::F32];

    /// The name in kernel source, instance names and the text form.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bf16 => "bf16",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I32 => "i32",
            DType::Tf32 => "tf32",
            DType::Bool => "bool",
        }
    }

    /// Reads the name of an element type that a tensor may have, as [`DType::name`] writes it.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.name() == name)
    }

    /// Bytes of one element in memory; of a mask, the register bytes it takes where flags run short.
    pub const fn size_bytes(self) -> u32 {
        match self {
            DType::I8 | DType::U8 => 1,
            DType::Bf16 | DType::F16 | DType::Bool => 2,
            DType::F32 | DType::I32 | DType::Tf32 => 4,
        }
    }

    /// The type of a single element as a scalar, in which element-wise ops and reductions compute.
    pub const fn scalar(self) -> ScalarType {
        match self {
            DType::Bf16 | DType::F16 | DType::F32 | DType::Tf32 => ScalarType::F32,
            DType::I8 | DType::U8 | DType::I32 => ScalarType::I32,
            DType::Bool => ScalarType::Bool,
        }
    }

    /// The element type of what reductions give: [`DType::scalar`] as an element type.
    pub const fn wide(self) -> DType {
        match self {
            DType::Bf16 | DType::F16 | DType::F32 | DType::Tf32 => DType::F32,
            DType::I8 | DType::U8 | DType::I32 => DType::I32,
            DType::Bool => DType::Bool,
        }
    }

    /// The element type of the tensors that tiles of this type are loaded from.
    pub const fn in_memory(self) -> DType {
        match self {
            DType::Tf32 => DType::F32,
            DType::Bf16 | DType::F16 | DType::F32 | DType::I8 | DType::U8 | DType::I32 | DType::Bool => self,
        }
    }

    /// True for the types that accumulators have.
    pub const fn accumulates(self) -> bool {
        matches!(self, DType::F32 | DType::I32)
    }

    /// True for the integers.
    pub const fn is_integer(self) -> bool {
        matches!(self.scalar(), ScalarType::I32)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a scalar value. Scalars are uniform: every lane of a sub-group holds the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScalarType {
    /// Unsigned 32-bit integer, wrapping.
    U32,
    /// Signed 32-bit integer, wrapping.
    I32,
    /// Unsigned 64-bit integer, wrapping.
    U64,
    /// IEEE binary32.
    F32,
    /// Truth value.
    Bool,
}

impl ScalarType {
    /// Every scalar type.
    pub const ALL: &'static [ScalarType] =
        &[ScalarType::U32, ScalarType::I32, ScalarType::U64, ScalarType::F32, ScalarType::Bool];

    /// The Rust name, which is also the name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::U32 => "u32",
            ScalarType::I32 => "i32",
            ScalarType::U64 => "u64",
            ScalarType::F32 => "f32",
            ScalarType::Bool => "bool",
        }
    }

    /// Reads a name as [`ScalarType::name`] writes it.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        ScalarType::ALL.iter().copied().find(|s| s.name() == name)
    }

    /// True for the integer types.
    pub const fn is_integer(self) -> bool {
        matches!(self, ScalarType::U32 | ScalarType::I32 | ScalarType::U64)
    }

    /// True for integers and floats, false for `bool`.
    pub const fn is_number(self) -> bool {
        !matches!(self, ScalarType::Bool)
    }

    /// Width in bits; `bool` counts as 1.
    pub const fn bits(self) -> u32 {
        match self {
            ScalarType::U32 | ScalarType::I32 | ScalarType::F32 => 32,
            ScalarType::U64 => 64,
            ScalarType::Bool => 1,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which part a tile's registers play in a matrix multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Left operand, and the form for element-wise work.
    Row,
    /// Packed right operand, loaded from a row-major [K, N] tensor.
    Vnni,
    /// Packed right operand, loaded from an [N, K] tensor by `load_transpose`; its shape is still K x N.
    VnniT,
    /// Accumulator of a matrix multiplication.
    Acc,
}

impl Role {
    /// The name in kernel source and in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Row => "Row",
            Role::Vnni => "Vnni",
            Role::VnniT => "VnniT",
            Role::Acc => "Acc",
        }
    }

    /// True for both packed forms of the right operand.
    pub const fn is_right_operand(self) -> bool {
        matches!(self, Role::Vnni | Role::VnniT)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of a register tile: `rt<dtype, rows, cols, role>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileType {
    /// Element type.
    pub dtype: DType,
    /// Rows of the tile.
    pub rows: u32,
    /// Columns of the tile.
    pub cols: u32,
    /// Role of its registers.
    pub role: Role,
}

impl TileType {
    /// Bytes the tile occupies in the registers of one sub-group.
    pub const fn register_bytes(self) -> u64 {
        (self.rows as u64 * self.cols as u64).saturating_mul(self.dtype.size_bytes() as u64)
    }

    /// Bytes the tile occupies on the host device, which keeps every element as `f32`
    /// (measured: 16-bit storage ran at 0.72-0.79x).
    pub const fn host_bytes(self) -> u64 {
        (self.rows as u64 * self.cols as u64).saturating_mul(4)
    }

    /// The mask that belongs to the tile element by element.
    pub const fn mask(self) -> TileType {
        TileType { dtype: DType::Bool, role: Role::Row, ..self }
    }
}

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rt<{}, {}, {}, {}>", self.dtype, self.rows, self.cols, self.role)
    }
}

/// Which line of a tile an element of a vector belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Along {
    /// One element per row of a tile, such as the maxima of its rows.
    Rows,
    /// One element per column of a tile, such as a bias.
    Cols,
}

impl Along {
    /// Both encodings.
    pub const ALL: &'static [Along] = &[Along::Rows, Along::Cols];

    /// The marker in kernel source: the third argument of `rv`.
    pub const fn name(self) -> &'static str {
        match self {
            Along::Rows => "PerRow",
            Along::Cols => "PerCol",
        }
    }
}

/// How the elements of a vector lie in registers, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// One element per row or column of a tile.
    Line(Along),
    /// Neighbouring elements in one lane, 8 at a time: 16 bytes of a 16-bit type. For vectors by themselves, such as a row that is
    /// normalised.
    Wide,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: &'static [Encoding] =
        &[Encoding::Line(Along::Rows), Encoding::Line(Along::Cols), Encoding::Wide];

    /// The marker in kernel source: the third argument of `rv`.
    pub const fn name(self) -> &'static str {
        match self {
            Encoding::Line(along) => along.name(),
            Encoding::Wide => "Wide",
        }
    }

    /// The lines of a tile that the elements belong to; a wide vector has none.
    pub const fn along(self) -> Option<Along> {
        match self {
            Encoding::Line(along) => Some(along),
            Encoding::Wide => None,
        }
    }
}

impl From<Along> for Encoding {
    fn from(along: Along) -> Encoding {
        Encoding::Line(along)
    }
}

/// Elements of the least wide vector: 8 in each of 16 lanes.
pub const WIDE_UNIT: u32 = 128;

/// The type of a register vector: `rv<dtype, len, encoding>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorType {
    /// Element type.
    pub dtype: DType,
    /// Number of elements.
    pub len: u32,
    /// How they lie in registers.
    pub encoding: Encoding,
}

impl VectorType {
    /// Bytes the vector occupies in the registers of one sub-group: its elements lie across the lanes, in whole
    /// registers of 16.
    pub const fn register_bytes(self) -> u64 {
        self.len.div_ceil(16) as u64 * 16 * self.dtype.size_bytes() as u64
    }

    /// Bytes the vector occupies on the host device.
    pub const fn host_bytes(self) -> u64 {
        self.len as u64 * 4
    }

    /// The mask that belongs to the vector element by element.
    pub const fn mask(self) -> VectorType {
        VectorType { dtype: DType::Bool, ..self }
    }
}

impl fmt::Display for VectorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rv<{}, {}, {}>", self.dtype, self.len, self.encoding.name())
    }
}

/// The type of an IR value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A uniform scalar.
    Scalar(ScalarType),
    /// A register tile.
    Tile(TileType),
    /// A register vector.
    Vector(VectorType),
}

impl Type {
    /// The tile type, if this is one.
    pub const fn tile(self) -> Option<TileType> {
        match self {
            Type::Tile(t) => Some(t),
            Type::Scalar(_) | Type::Vector(_) => None,
        }
    }

    /// The vector type, if this is one.
    pub const fn vector(self) -> Option<VectorType> {
        match self {
            Type::Vector(v) => Some(v),
            Type::Scalar(_) | Type::Tile(_) => None,
        }
    }

    /// The element type of a tile or vector.
    pub const fn dtype(self) -> Option<DType> {
        match self {
            Type::Tile(t) => Some(t.dtype),
            Type::Vector(v) => Some(v.dtype),
            Type::Scalar(_) => None,
        }
    }

    /// True for masks.
    pub fn is_mask(self) -> bool {
        self.dtype() == Some(DType::Bool)
    }

    /// The mask that belongs to a tile or vector element by element.
    pub const fn mask(self) -> Option<Type> {
        match self {
            Type::Tile(t) => Some(Type::Tile(t.mask())),
            Type::Vector(v) => Some(Type::Vector(v.mask())),
            Type::Scalar(_) => None,
        }
    }

    /// Bytes in the registers of one sub-group that count against the budget; scalars do not.
    pub const fn register_bytes(self) -> u64 {
        match self {
            Type::Tile(t) => t.register_bytes(),
            Type::Vector(v) => v.register_bytes(),
            Type::Scalar(_) => 0,
        }
    }

    /// Bytes on the host device; scalars do not count.
    pub const fn host_bytes(self) -> u64 {
        match self {
            Type::Tile(t) => t.host_bytes(),
            Type::Vector(v) => v.host_bytes(),
            Type::Scalar(_) => 0,
        }
    }

    /// The scalar type, if this is one.
    pub const fn scalar(self) -> Option<ScalarType> {
        match self {
            Type::Scalar(s) => Some(s),
            Type::Tile(_) | Type::Vector(_) => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(s) => s.fmt(f),
            Type::Tile(t) => t.fmt(f),
            Type::Vector(v) => v.fmt(f),
        }
    }
}
