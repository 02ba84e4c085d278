//! Owns the target `lane`: CPUs, through OpenCL.
//!
//! One work-item is one sub-group, and what is a register of 16 lanes on a GPU is a vector of 16 components. A tile is a
//! *slab* of such vectors in private memory, row after row, so that ops on it are loops and a module stays small: 32 registers
//! of a CPU would not hold a tile of 8 KiB, and its first-level cache does. Elements are held in the type they compute in (a
//! 16-bit one as the f32 of its value, a mask as 0 or all ones), as on the host device. The matrix multiplication keeps a
//! block of 8 x 32 accumulators in registers.
//!
//! | file | owns |
//! |---|---|
//! | `slabs` | private memory: which slab a value has, and when it is free for another |
//! | `walk` | loops over the vectors of a slab |
//! | `elements` | vectors of elements: in memory, in the type they compute in, rounded |
//! | `memory`, `atomic`, `group` | loads and stores of globals, atomic adds, shared memory and barriers |
//! | `mma`, `map`, `selection`, `reduce`, `position`, `topk`, `layout` | ops on tiles and vectors |
//!
//! *Guarantees*: SPIR-V 1.2 for OpenCL without an extension; sums of a matrix multiplication run upwards along K in one fused
//! multiply-add each, and every other op has the recipe and order that the host has. *Not here*: control flow, scalars,
//! coordinates, which are those of `xe`.

mod atomic;
mod elements;
mod group;
mod layout;
mod map;
mod memory;
mod mma;
mod position;
mod reduce;
mod selection;
pub(crate) mod slabs;
mod topk;
mod walk;

use rspirv::spirv::ExecutionMode;
use tile_ir::ir::{Op, OpKind, VectorOp};
use tile_ir::verify::Verified;

use crate::control::{End, Lowering};
use crate::lane::slabs::Slabs;
use crate::xe::entry_name;
use crate::{LowerError, Module, Target};

/// Without it a f32 division may be off by 2.5 units in the last place, and a square root by 3 (OpenCL C, relative error of
/// operators and of math functions).
const EXACT_DIVISION: &str = "-cl-fp32-correctly-rounded-divide-sqrt";
/// The operand of `VecTypeHint` for 16 x f32: the number of components in the high half, 4 for a 32-bit float in the low
/// half (SPIR-V, `Vec Type Hint`). Intel's compiler then does not merge work-items into vectors of its own.
const SIXTEEN_FLOATS: u32 = 16 << 16 | 4;

/// The target `lane`.
pub struct Lane;

impl Target for Lane {
    fn name(&self) -> &'static str {
        "lane"
    }

    fn lower(&self, kernel: &Verified) -> Result<Module, LowerError> {
        let kernel = kernel.kernel();
        let entry = entry_name(&kernel.name, &kernel.instance);
        let mut lowering = Lowering::new(kernel, Some(Slabs::of(kernel)));
        lowering.declare();
        if let End::Yield(_) = lowering.region(&kernel.body)? {
            lowering.e.ret();
        }
        let options = if lowering.e.divides { vec![EXACT_DIVISION] } else { vec![] };
        let modes: [(ExecutionMode, &[u32]); 2] =
            [(ExecutionMode::VecTypeHint, &[SIXTEEN_FLOATS]), (ExecutionMode::ContractionOff, &[])];
        let (words, capabilities, extensions) = lowering.e.finish(&entry, &modes);
        Ok(Module {
            target: self.name(),
            words,
            entry,
            devices: vec!["cpu"],
            options,
            igc_options: vec![],
            capabilities,
            extensions,
        })
    }
}

impl<'a> Lowering<'a> {
    /// Emits an op on tiles or vectors.
    pub(crate) fn lane_op(&mut self, op: &'a Op) -> Result<(), LowerError> {
        match &op.kind {
            OpKind::Load { global, at, form } => self.lane_load(op, *global, at, *form),
            // A prefetch has no effect but on time, and Intel's runtime for CPUs is three times slower with it (measured).
            OpKind::Prefetch { .. } => Ok(()),
            OpKind::Store { global, tile, at } => self.lane_store(*global, *tile, at),
            OpKind::StoreTranspose { global, tile, at } => self.lane_store_transpose(*global, *tile, at),
            OpKind::LoadVector { global, at } => self.lane_load_vector(op, *global, at),
            OpKind::LoadScalar { global, at } => self.lane_load_scalar(op, *global, at),
            OpKind::AtomicAdd { global, value, at, .. } => self.lane_atomic_add(*global, *value, at),
            OpKind::Zeros => self.lane_zeros(op),
            OpKind::Fill { value } => self.lane_fill(op, *value),
            OpKind::Mma { acc, a, b } => self.lane_mma(op, *acc, *a, *b),
            OpKind::Convert { tile } => self.lane_convert(op, *tile),
            OpKind::Scale { tile, by } => self.lane_scale(op, *tile, *by),
            OpKind::MapUnary { op: what, value } => self.lane_unary(op, *what, *value),
            OpKind::MapBinary { op: what, lhs, rhs } => self.lane_binary(op, *what, *lhs, *rhs),
            OpKind::MapTernary { op: what, x, a, b } => self.lane_ternary(op, *what, *x, [*a, *b]),
            OpKind::Selection(what) => self.lane_selection(op, what),
            OpKind::KeepFirst { tile, along, keep, fill } => {
                self.lane_keep_first(op, *tile, *along, *keep, *fill)
            }
            OpKind::Triangle { tile, lower, row_start, col_start, fill } => {
                self.lane_triangle(op, *tile, *lower, (*row_start, *col_start), *fill)
            }
            OpKind::Reduce { how, along, tile, running } => {
                self.lane_reduce(op, *how, *along, *tile, *running)
            }
            OpKind::Vector(what) => match what {
                VectorOp::Store { global, vector, at } => self.lane_store_vector(*global, *vector, at),
                VectorOp::Reduce { how, vector } => self.lane_reduce_vector(op, *how, *vector),
                VectorOp::Arg { how, vector } => self.lane_arg(op, *how, *vector),
                VectorOp::ArgLines { how, along, tile } => self.lane_arg_lines(op, *how, *along, *tile),
                VectorOp::Encode { vector, .. } => self.lane_encode(op, *vector),
            },
            OpKind::TopK(what) => self.lane_top_k(op, what),
            OpKind::Transpose { tile } => self.lane_transpose(op, *tile),
            OpKind::SubTile { tile, at } => self.lane_sub_tile(op, *tile, *at),
            OpKind::SetSubTile { tile, part, at } => self.lane_set_sub_tile(op, *tile, *part, *at),
            OpKind::Group(what) => self.lane_group(op, what),
            // Scalars are emitted when something needs them; control flow is lowered for all targets alike.
            OpKind::OwnTile { .. }
            | OpKind::Const(_)
            | OpKind::Binary { .. }
            | OpKind::Unary { .. }
            | OpKind::Compare { .. }
            | OpKind::Cast { .. }
            | OpKind::Dim { .. }
            | OpKind::Place(_)
            | OpKind::For { .. }
            | OpKind::While { .. }
            | OpKind::If { .. } => Ok(()),
        }
    }
}
