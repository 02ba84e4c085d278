//! Owns the machine: sub-groups of 32 lanes with opaque tiles and a scratch memory.
//!
//! *Guarantees*: a lane reads only its own registers, and another's through scratch memory; opaque tiles give their
//! elements to nothing but the instructions on whole tiles. *Not here*: how a kernel becomes instructions (`lower`).

use tile_ir::ir::Dim;
use tile_ir::scalar::{self, Binary, Compare, Const, Unary};
use tile_ir::types::ScalarType;

/// Lanes of a sub-group.
pub const LANES: usize = 32;

/// A scalar register, the same for all lanes.
pub type Scalar = usize;
/// An opaque tile of at most 16 x 16 elements.
pub type Opaque = usize;
/// A register of one f32 per lane.
pub type Lanes = usize;

/// A matrix in memory.
#[derive(Clone, Debug)]
pub struct Plane {
    pub values: Vec<f32>,
    pub rows: usize,
    pub cols: usize,
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub enum Arg {
    Plane(Plane),
    F32(f32),
}

/// How the elements of two opaque tiles, or of one and a scalar, combine.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    Sub,
    Mul,
}

/// An instruction.
#[derive(Clone, Debug)]
pub enum Inst {
    Const(Scalar, Const),
    Argument(Scalar, usize),
    Dim(Scalar, usize, Dim),
    /// Row and column of the sub-group's tile among all tiles of the output.
    Own(Scalar, Scalar),
    Binary(Scalar, Binary, Scalar, Scalar),
    Unary(Scalar, Unary, Scalar),
    Compare(Scalar, Compare, Scalar, Scalar),
    Cast(Scalar, ScalarType, Scalar),
    CopyScalar(Scalar, Scalar),
    /// Makes an opaque tile of this shape, all zeros.
    Zeros(Opaque, (usize, usize)),
    CopyOpaque(Opaque, Opaque),
    /// Loads from a plane at (row, col) plus an offset, in elements; 0 outside.
    Load(Opaque, (usize, usize), usize, [Scalar; 2], [usize; 2]),
    /// Stores likewise; nothing outside.
    Store(Opaque, usize, [Scalar; 2], [usize; 2]),
    /// `acc += a * b`.
    MulAdd(Opaque, Opaque, Opaque),
    Combine(Opaque, Combine, Opaque, Opaque),
    CombineScalar(Opaque, Combine, Opaque, Scalar),
    /// Writes an opaque tile to scratch memory at (row, col).
    Spill(Opaque, usize, usize),
    /// Lane `l` gets the largest of row `l` of scratch memory, of this many columns; fewer rows than lanes.
    RowMax(Lanes, usize, usize),
    /// Lane `l` writes its value to column 0 of row `first + l` of scratch memory, for `count` lanes.
    SpillLanes(Lanes, usize, usize),
    /// An opaque tile whose every column is column 0 of scratch memory from this row.
    Broadcast(Opaque, (usize, usize), usize),
    /// Runs the body for each value of the counter.
    For {
        counter: Scalar,
        lo: Scalar,
        hi: Scalar,
        step: u32,
        body: Vec<Inst>,
    },
}

/// A kernel as the machine runs it.
#[derive(Debug, Default)]
pub struct Program {
    pub scalars: usize,
    pub opaques: usize,
    pub lanes: usize,
    pub insts: Vec<Inst>,
    /// The output and the tile that each sub-group owns of it.
    pub grid: (usize, (usize, usize)),
    /// Sub-groups of a work-group.
    pub subgroups: (usize, usize),
}

/// The lane and register that hold an element of an opaque tile of this many columns.
pub fn place(row: usize, col: usize, cols: usize) -> (usize, usize) {
    let number = row * cols + col;
    ((number * 11 + number / LANES) % LANES, number / LANES)
}

#[derive(Clone, Debug)]
struct Tile {
    shape: (usize, usize),
    /// By register, then by lane.
    registers: Vec<[f32; LANES]>,
}

impl Tile {
    fn new((rows, cols): (usize, usize), element: impl Fn(usize, usize) -> f32) -> Tile {
        let mut tile =
            Tile { shape: (rows, cols), registers: vec![[f32::NAN; LANES]; (rows * cols).div_ceil(LANES)] };
        for r in 0..rows {
            for c in 0..cols {
                let (lane, register) = place(r, c, cols);
                tile.registers[register][lane] = element(r, c);
            }
        }
        tile
    }

    fn get(&self, r: usize, c: usize) -> f32 {
        let (lane, register) = place(r, c, self.shape.1);
        self.registers[register][lane]
    }

    /// Combines register by register: the elements of two tiles of one shape lie alike.
    fn zip(&self, other: &Tile, f: impl Fn(f32, f32) -> f32) -> Tile {
        let pairs = self.registers.iter().zip(&other.registers);
        let registers = pairs.map(|(x, y)| std::array::from_fn(|lane| f(x[lane], y[lane]))).collect();
        Tile { shape: self.shape, registers }
    }
}

struct Subgroup<'a> {
    args: &'a mut [Arg],
    own: (u32, u32),
    scalars: Vec<Const>,
    opaques: Vec<Tile>,
    lanes: Vec<[f32; LANES]>,
    scratch: Vec<Vec<f32>>,
}

/// Runs every sub-group of a launch; gives the arguments afterwards.
pub fn run(program: &Program, mut args: Vec<Arg>) -> Vec<Arg> {
    let (output, tile) = program.grid;
    let Arg::Plane(plane) = &args[output] else { panic!("the grid comes from a plane") };
    let groups =
        |size: usize, tile: usize, subgroups: usize| size.div_ceil(tile).div_ceil(subgroups) * subgroups;
    let rows = groups(plane.rows, tile.0, program.subgroups.0);
    let cols = groups(plane.cols, tile.1, program.subgroups.1);
    for row in 0..rows {
        for col in 0..cols {
            let mut subgroup = Subgroup {
                args: &mut args,
                own: (row as u32, col as u32),
                scalars: vec![Const::U32(0); program.scalars],
                opaques: vec![Tile::new((0, 0), |_, _| 0.0); program.opaques],
                lanes: vec![[f32::NAN; LANES]; program.lanes],
                scratch: vec![vec![f32::NAN; 512]; 512],
            };
            subgroup.run(&program.insts);
        }
    }
    args
}

fn combine(how: Combine, x: f32, y: f32) -> f32 {
    match how {
        Combine::Sub => x - y,
        Combine::Mul => x * y,
    }
}

impl Subgroup<'_> {
    fn run(&mut self, insts: &[Inst]) {
        insts.iter().for_each(|inst| self.step(inst));
    }

    fn plane(&self, arg: usize) -> &Plane {
        match &self.args[arg] {
            Arg::Plane(plane) => plane,
            Arg::F32(_) => panic!("argument {arg} is a scalar"),
        }
    }

    fn index(&self, s: Scalar) -> usize {
        match self.scalars[s] {
            Const::U32(v) => v as usize,
            other => panic!("an index is u32: {other:?}"),
        }
    }

    fn step(&mut self, inst: &Inst) {
        match inst {
            Inst::Const(to, value) => self.scalars[*to] = *value,
            Inst::Argument(to, arg) => match self.args[*arg] {
                Arg::F32(v) => self.scalars[*to] = Const::F32(v.to_bits()),
                Arg::Plane(_) => panic!("argument {arg} is a plane"),
            },
            Inst::Dim(to, arg, dim) => {
                let plane = self.plane(*arg);
                let value = match dim {
                    Dim::Batch | Dim::Depth => 1,
                    Dim::Rows => plane.rows,
                    Dim::Cols | Dim::Pitch => plane.cols,
                };
                self.scalars[*to] = Const::U32(value as u32);
            }
            Inst::Own(row, col) => {
                (self.scalars[*row], self.scalars[*col]) = (Const::U32(self.own.0), Const::U32(self.own.1));
            }
            Inst::Binary(to, op, a, b) => {
                self.scalars[*to] =
                    scalar::binary(*op, self.scalars[*a], self.scalars[*b]).expect("verified");
            }
            Inst::Unary(to, op, a) => {
                self.scalars[*to] = scalar::unary(*op, self.scalars[*a]).expect("verified")
            }
            Inst::Compare(to, op, a, b) => {
                let value = scalar::compare(*op, self.scalars[*a], self.scalars[*b]).expect("verified");
                self.scalars[*to] = Const::Bool(value);
            }
            Inst::Cast(to, ty, a) => {
                self.scalars[*to] = scalar::cast(self.scalars[*a], *ty).expect("verified")
            }
            Inst::CopyScalar(to, from) => self.scalars[*to] = self.scalars[*from],
            Inst::Zeros(to, shape) => self.opaques[*to] = Tile::new(*shape, |_, _| 0.0),
            Inst::CopyOpaque(to, from) => self.opaques[*to] = self.opaques[*from].clone(),
            Inst::Load(to, shape, arg, [row, col], [down, right]) => {
                let (row, col) = (self.index(*row) + down, self.index(*col) + right);
                let plane = self.plane(*arg);
                let tile = Tile::new(*shape, |r, c| {
                    let inside = row + r < plane.rows && col + c < plane.cols;
                    if inside { plane.values[(row + r) * plane.cols + col + c] } else { 0.0 }
                });
                self.opaques[*to] = tile;
            }
            Inst::Store(from, arg, [row, col], [down, right]) => {
                let (row, col) = (self.index(*row) + down, self.index(*col) + right);
                let tile = &self.opaques[*from];
                let Arg::Plane(plane) = &mut self.args[*arg] else { panic!("argument {arg} is a scalar") };
                for r in 0..tile.shape.0.min(plane.rows.saturating_sub(row)) {
                    for c in 0..tile.shape.1.min(plane.cols.saturating_sub(col)) {
                        plane.values[(row + r) * plane.cols + col + c] = tile.get(r, c);
                    }
                }
            }
            Inst::MulAdd(acc, a, b) => {
                let (x, y, old) = (&self.opaques[*a], &self.opaques[*b], &self.opaques[*acc]);
                let tile = Tile::new(old.shape, |r, c| {
                    (0..x.shape.1).fold(old.get(r, c), |sum, k| sum + x.get(r, k) * y.get(k, c))
                });
                self.opaques[*acc] = tile;
            }
            Inst::Combine(to, how, a, b) => {
                self.opaques[*to] = self.opaques[*a].zip(&self.opaques[*b], |x, y| combine(*how, x, y));
            }
            Inst::CombineScalar(to, how, a, by) => {
                let Const::F32(bits) = self.scalars[*by] else { panic!("a factor is f32") };
                let tile = &self.opaques[*a];
                self.opaques[*to] = tile.zip(tile, |x, _| combine(*how, x, f32::from_bits(bits)));
            }
            Inst::Spill(from, row, col) => {
                let tile = &self.opaques[*from];
                for r in 0..tile.shape.0 {
                    for c in 0..tile.shape.1 {
                        self.scratch[row + r][col + c] = tile.get(r, c);
                    }
                }
            }
            Inst::RowMax(to, first, cols) => {
                let rows = &self.scratch;
                let largest =
                    |lane: usize| rows[first + lane][..*cols].iter().copied().fold(f32::NAN, f32::max);
                self.lanes[*to] = std::array::from_fn(largest);
            }
            Inst::SpillLanes(from, first, count) => {
                for lane in 0..*count {
                    self.scratch[first + lane][0] = self.lanes[*from][lane];
                }
            }
            Inst::Broadcast(to, shape, first) => {
                self.opaques[*to] = Tile::new(*shape, |r, _| self.scratch[first + r][0]);
            }
            Inst::For { counter, lo, hi, step, body } => {
                let (mut i, end) = (self.index(*lo), self.index(*hi));
                while i < end {
                    self.scalars[*counter] = Const::U32(i as u32);
                    self.run(body);
                    i += *step as usize;
                }
            }
        }
    }
}
