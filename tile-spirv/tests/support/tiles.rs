//! Owns kernels that compute one tile from tiles, vectors and scalars, run on the simulator.
#![allow(dead_code, reason = "each test file uses its part")]

use crate::support::{Build, U32, tile, vector};
use crate::tensor::{Ready, Shape, Tensor, launch};
use tile_ir::ir::{Access, Coord, LoadForm, OpKind, Order, ParamId, Unit, ValueId};
use tile_ir::map::MapBinary;
use tile_ir::scalar::Const;
use tile_ir::types::{Along, DType, Role, ScalarType, Type};
use tile_sim::{Arg, Memory};

/// A kernel whose output is one tile.
pub struct OneTile {
    pub b: Build,
    pub size: (u32, u32),
    c: ParamId,
    inputs: Vec<(DType, ParamId)>,
    scalars: usize,
    at: Coord,
}

impl OneTile {
    pub fn new(out: DType, size: (u32, u32)) -> OneTile {
        let mut b = Build::new("one", "", (1, 1));
        b.kernel.unowned_stores = true;
        let c = b.global("c", out, Access::Out);
        b.own_tile(c, size, Order::Linear);
        let zero = b.u32(0);
        let at = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
        OneTile { b, size, c, inputs: vec![], scalars: 0, at }
    }

    /// An input, to be given to [`Ran::new`] in the same order. Inputs come before scalars.
    pub fn input(&mut self, dtype: DType) -> ParamId {
        assert_eq!(self.scalars, 0, "inputs come before scalars");
        let id = self.b.global("in", dtype, Access::In);
        self.inputs.push((dtype, id));
        id
    }

    pub fn scalar(&mut self, ty: ScalarType) -> ValueId {
        self.scalars += 1;
        self.b.scalar("s", ty)
    }

    /// A tile of the output's size from a new input.
    pub fn tile(&mut self, dtype: DType, role: Role) -> ValueId {
        let global = self.input(dtype);
        self.b.load(global, self.at, LoadForm::Plain, tile(dtype, self.size.0, self.size.1, role))
    }

    /// A vector that fits the output, from a new input of one row.
    pub fn vector(&mut self, dtype: DType, along: Along) -> ValueId {
        let global = self.input(dtype);
        let len = match along {
            Along::Rows => self.size.0,
            Along::Cols => self.size.1,
        };
        self.b.one(OpKind::LoadVector { global, at: self.at }, vector(dtype, len, along))
    }

    /// A tile of f32, or of i32, that shows a vector: every row, or column, is the vector.
    pub fn shown(&mut self, of: ValueId) -> ValueId {
        let v = self.b.kernel.ty(of).vector().expect("a vector is shown");
        let dtype = v.dtype.wide();
        let wide = self.b.convert(of, vector(dtype, v.len, v.encoding));
        let ty = tile(dtype, self.size.0, self.size.1, Role::Row);
        // Minus 0 is neutral for every sum.
        let zero = if dtype.is_integer() {
            self.b.one(OpKind::Const(Const::I32(0)), Type::Scalar(ScalarType::I32))
        } else {
            self.b.f32(-0.0)
        };
        let zeros = self.b.one(OpKind::Fill { value: zero }, ty);
        self.b.map(MapBinary::Add, zeros, wide)
    }

    /// Ends the kernel with its tile.
    pub fn finish(mut self, value: ValueId) -> Ran {
        let value = match self.b.kernel.ty(value) {
            Type::Tile(t) if t.role == Role::Acc && !t.dtype.accumulates() => panic!("accumulators are wide"),
            Type::Tile(_) => value,
            Type::Vector(_) => self.shown(value),
            Type::Scalar(s) => {
                let dtype = if s == ScalarType::I32 { DType::I32 } else { DType::F32 };
                let ty = tile(dtype, self.size.0, self.size.1, Role::Row);
                self.b.one(OpKind::Fill { value }, ty)
            }
        };
        self.b.push(OpKind::Store { global: self.c, tile: value, at: self.at }, &[]);
        let out = self.b.kernel.ty(value).dtype().expect("a tile is stored");
        let ready = Ready::new(&tile_spirv::lower(&self.b.finish()).expect("lowers")[0]);
        Ran { ready, out, size: self.size, inputs: self.inputs.iter().map(|&(d, _)| d).collect() }
    }

    pub fn u32_scalar(&mut self) -> ValueId {
        let value = self.scalar(ScalarType::U32);
        assert_eq!(self.b.kernel.ty(value), U32);
        value
    }
}

/// What an input holds: its shape and elements.
pub type Source<'a> = (Shape, &'a dyn Fn(u32, u32, u32) -> f32);

/// The same by bits.
pub type BitSource<'a> = (Shape, &'a dyn Fn(u32, u32, u32) -> u32);

/// A kernel of one tile, ready to run.
pub struct Ran {
    ready: Ready,
    out: DType,
    pub size: (u32, u32),
    inputs: Vec<DType>,
}

impl Ran {
    /// Runs the kernel and returns its tile row by row.
    pub fn run(&self, sources: &[Source<'_>], scalars: &[Arg]) -> Vec<f32> {
        assert_eq!(sources.len(), self.inputs.len());
        let mut memory = Memory::new();
        let out = Tensor::map(&mut memory, self.out, Shape::plain(self.size.0, self.size.1), None);
        let mut args = out.args();
        for (&dtype, (shape, f)) in self.inputs.iter().zip(sources) {
            args.extend(Tensor::map(&mut memory, dtype, *shape, Some(*f)).args());
        }
        args.extend(scalars);
        launch(&self.ready, &mut memory, &out, self.size, (1, 1), &args).expect("runs");
        out.read(&memory)
    }

    /// Runs the kernel on inputs given by the bits of their elements, and returns the bits of its tile.
    pub fn run_bits(&self, sources: &[BitSource<'_>], scalars: &[Arg]) -> Vec<u32> {
        assert_eq!(sources.len(), self.inputs.len());
        let mut memory = Memory::new();
        let out = Tensor::map(&mut memory, self.out, Shape::plain(self.size.0, self.size.1), None);
        let mut args = out.args();
        for (&dtype, (shape, f)) in self.inputs.iter().zip(sources) {
            args.extend(Tensor::map_bits(&mut memory, dtype, *shape, Some(*f)).args());
        }
        args.extend(scalars);
        launch(&self.ready, &mut memory, &out, self.size, (1, 1), &args).expect("runs");
        out.read_bits(&memory)
    }

    /// Runs with tiles and vectors that just fit: `f` gives elements by input, row and column.
    pub fn run_fitting(
        &self,
        vectors: &[Option<Along>],
        f: &dyn Fn(usize, u32, u32) -> f32,
        scalars: &[Arg],
    ) -> Vec<f32> {
        let fs: Vec<_> =
            (0..self.inputs.len()).map(|i| move |_plane: u32, r: u32, c: u32| f(i, r, c)).collect();
        let sources: Vec<Source<'_>> = fs
            .iter()
            .zip(vectors)
            .map(|(f, along)| {
                let shape = match along {
                    None => Shape::plain(self.size.0, self.size.1),
                    Some(Along::Rows) => Shape::plain(1, self.size.0),
                    Some(Along::Cols) => Shape::plain(1, self.size.1),
                };
                (shape, f as &dyn Fn(u32, u32, u32) -> f32)
            })
            .collect();
        self.run(&sources, scalars)
    }
}

/// True when both are the same number, or both NaN. Zeros must have the same sign.
pub fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
