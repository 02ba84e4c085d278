//! Owns kernels that compute scalars and store them: every part of a result fills an 8 x 16 tile of an f32 output.
#![allow(dead_code, reason = "each test file uses its part")]

use crate::support::{Build, U32, tile};
use crate::tensor::{Ready, Shape, Tensor, launch};
use tile_ir::ir::{Access, Coord, LoadForm, OpKind, Order, ParamId, Unit, ValueId};
use tile_ir::scalar::{Binary, Const};
use tile_ir::types::{DType, Role, ScalarType, Type};
use tile_sim::{Arg, Memory};

/// Parts a result may have: a u64 is stored as four numbers of 16 bits, each of which f32 holds exactly.
pub const PARTS: u32 = 4;

/// A kernel under construction that shows scalars.
pub struct Show {
    pub b: Build,
    out: ParamId,
    input: ParamId,
    ones: ValueId,
    shown: u32,
}

impl Show {
    pub fn new(name: &str) -> Show {
        let mut b = Build::new(name, "", (1, 1));
        b.kernel.unowned_stores = true;
        let out = b.global("c", DType::F32, Access::Out);
        let input = b.global("ones", DType::F32, Access::In);
        b.own_tile(out, (8, 16), Order::Linear);
        let zero = b.u32(0);
        let at = Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles };
        let ones = b.load(input, at, LoadForm::Plain, tile(DType::F32, 8, 16, Role::Row));
        Show { b, out, input, ones, shown: 0 }
    }

    fn store(&mut self, number: ValueId) {
        let ty = tile(DType::F32, 8, 16, Role::Row);
        let value = self.b.one(OpKind::Scale { tile: self.ones, by: number }, ty);
        let (row, col) = (self.b.u32(0), self.b.u32(self.shown));
        let at = Coord { batch: None, depth: None, row, col, unit: Unit::Tiles };
        self.b.push(OpKind::Store { global: self.out, tile: value, at }, &[]);
        self.shown += 1;
    }

    /// Prefetches the input at a row of tiles.
    pub fn prefetch_at(&mut self, row: ValueId) {
        let col = self.b.u32(0);
        let at = Coord { batch: None, depth: None, row, col, unit: Unit::Tiles };
        self.b.push(OpKind::Prefetch { global: self.input, at, tile: (8, 16), peers: None }, &[]);
    }

    /// Shows a scalar in as many parts as it needs.
    pub fn show(&mut self, value: ValueId) {
        let f32s = Type::Scalar(ScalarType::F32);
        match self.b.kernel.ty(value) {
            Type::Scalar(ScalarType::F32) => self.store(value),
            Type::Scalar(ty) => {
                let wide = self.b.one(OpKind::Cast { value }, Type::Scalar(ScalarType::U64));
                let parts = if ty == ScalarType::Bool { 1 } else { PARTS };
                for part in 0..parts {
                    let by = self.b.constant(Const::U64(16 * u64::from(part)));
                    let mask = self.b.constant(Const::U64(0xFFFF));
                    let shifted = self.b.binary(Binary::Shr, wide, by);
                    let low = self.b.binary(Binary::And, shifted, mask);
                    let low = self.b.one(OpKind::Cast { value: low }, U32);
                    let number = self.b.one(OpKind::Cast { value: low }, f32s);
                    self.store(number);
                }
            }
            Type::Tile(_) | Type::Vector(_) => panic!("a tile is not a scalar"),
        }
    }

    /// The module, and how many numbers it shows.
    pub fn module(self) -> (tile_spirv::Module, u32) {
        let shown = self.shown;
        (tile_spirv::lower(&self.b.finish()).expect("lowers").remove(0), shown)
    }

    pub fn lower(self) -> (Ready, u32) {
        let (module, shown) = self.module();
        (Ready::new(&module), shown)
    }
}

/// An argument for a scalar constant.
pub fn arg(value: Const) -> Arg {
    match value {
        Const::U32(v) => Arg::U32(v),
        Const::I32(v) => Arg::I32(v),
        Const::U64(v) => Arg::U64(v),
        Const::F32(v) => Arg::F32(f32::from_bits(v)),
        Const::Bool(v) => Arg::U32(v.into()),
    }
}

/// Runs a showing kernel and returns the shown numbers.
pub fn run(module: &Ready, shown: u32, scalars: &[Arg]) -> Vec<f32> {
    let mut memory = Memory::new();
    let ones = Tensor::map(&mut memory, DType::F32, Shape::plain(8, 16), Some(&|_, _, _| 1.0));
    let out = Tensor::map(&mut memory, DType::F32, Shape::plain(8, 16 * shown), None);
    let mut args = out.args();
    args.extend(ones.args());
    args.extend(scalars);
    // One work-group shows everything; the grid would give one per tile.
    let grid = out.seen_as(Shape::plain(8, 16));
    launch(module, &mut memory, &grid, (8, 16), (1, 1), &args).expect("runs");
    let all = out.read(&memory);
    (0..shown as usize)
        .map(|part| {
            let first = all[16 * part];
            let row = &all[16 * part..16 * part + 16];
            assert!(row.iter().all(|v| v.to_bits() == first.to_bits()), "lanes differ: {row:?}");
            first
        })
        .collect()
}

/// Puts the parts of a shown integer together.
pub fn whole(parts: &[f32]) -> u64 {
    parts.iter().rev().fold(0, |sum, &p| (sum << 16) | p as u64)
}
