//! Owns what a kernel receives: parameters, surfaces of globals, its place in the launch.
//!
//! *Assumes* the launch contract: base 64-byte aligned, `x0 * esz` a multiple of 4, pitch a multiple of 16 bytes and at
//! least 64 and not below the surface's width, plane strides multiples of 64 bytes, extents and widths up to 2^24;
//! work-groups = grid rows x grid columns x planes, at most 2^32 - 1.
//! *Guarantees*: every surface handed to a block message has a legal width and height, whatever the extents;
//! everything here is emitted so that it is computed before any loop.
//! *Not here*: coordinates (`coord`), masks (`edge`).

use rspirv::spirv::{BuiltIn, Op, StorageClass};
use tile_ir::ir::{Dim, OpKind, Order, ParamId, ParamKind, Place, ValueId};
use tile_ir::types::{DType, ScalarType};

use crate::LowerError;
use crate::arith::{U32, U64};
use crate::control::{Lowering, Value};
use crate::lanes::LANES;
use crate::module::{Id, Ty};

/// The arguments that describe one global.
#[derive(Clone, Copy)]
pub(crate) struct Global {
    pub(crate) dtype: DType,
    ptr: Id,
    ptr_type: Id,
    batch: Id,
    depth: Id,
    rows: Id,
    cols: Id,
    pub(crate) pitch: Id,
    pub(crate) x0: Id,
    batch_stride: Id,
    depth_stride: Id,
}

/// One plane of a global.
#[derive(Clone, Copy)]
pub(crate) struct Plane {
    /// The global's arguments.
    pub(crate) global: Global,
    /// Pointer to element (0, -x0).
    pub(crate) base: Id,
    /// Rows of the plane; not 0 only because it does not exist.
    pub(crate) rows: Id,
    /// Columns of the plane; 0 when it does not exist or is empty.
    pub(crate) cols: Id,
    /// `bool`: the plane exists and has rows.
    pub(crate) live: Id,
}

/// One plane of a global as block messages see it.
#[derive(Clone, Copy)]
pub(crate) struct Surface {
    /// Bytes of an element.
    pub(crate) esz: u32,
    /// Pointer to element (0, -x0).
    pub(crate) base: Id,
    /// Columns by which the base was aligned down.
    pub(crate) x0: Id,
    /// Width in bytes for loads and prefetches: rounded up.
    pub(crate) load_width: Id,
    /// Width in bytes for stores: rounded down.
    pub(crate) store_width: Id,
    /// Height in rows, at least 1.
    pub(crate) height: Id,
    /// Bytes from row to row.
    pub(crate) pitch: Id,
    /// Rows of the plane.
    pub(crate) rows: Id,
    /// Columns of the plane; 0 when it does not exist or is empty.
    pub(crate) cols: Id,
    /// `bool`: the plane exists and has rows.
    pub(crate) live: Id,
    /// `bool`: rows are at least 64 bytes, the least a block message takes.
    pub(crate) wide: Id,
    /// `bool`: the hardware itself gives 0 beyond the last column and drops stores there.
    pub(crate) trusted: Id,
}

impl Lowering<'_> {
    /// Declares the kernel's parameters and its shared memory.
    pub(crate) fn declare(&mut self) {
        for param in &self.kernel.params {
            let global = match param.kind {
                ParamKind::Global { dtype, .. } => Some(self.declare_global(dtype)),
                ParamKind::Scalar { value, ty } => {
                    let id = self.declare_scalar(ty);
                    self.set(value, Value::Scalar(id));
                    None
                }
            };
            self.globals.push(global);
        }
        for shared in &self.kernel.shared {
            let (rows, cols) = shared.ty.shape();
            let element = self.e.ty(Ty::Int(8 * shared.ty.dtype().size_bytes()));
            let variable = self.e.shared(element, rows * cols);
            self.shared.push(variable);
        }
    }

    fn declare_global(&mut self, dtype: DType) -> Global {
        let e = &mut self.e;
        let element = e.ty(Ty::Int(8 * dtype.size_bytes()));
        let ptr_type = e.pointer(StorageClass::CrossWorkgroup, element);
        let ptr = e.parameter(ptr_type);
        let (u32s, u64s) = (e.ty(U32), e.ty(U64));
        let [batch, depth, rows, cols, pitch, x0] = [(); 6].map(|()| e.parameter(u32s));
        let [batch_stride, depth_stride] = [(); 2].map(|()| e.parameter(u64s));
        Global { dtype, ptr, ptr_type, batch, depth, rows, cols, pitch, x0, batch_stride, depth_stride }
    }

    fn declare_scalar(&mut self, ty: ScalarType) -> Id {
        let e = &mut self.e;
        let carried = match ty {
            ScalarType::U32 | ScalarType::I32 | ScalarType::Bool => U32,
            ScalarType::U64 => U64,
            ScalarType::F32 => Ty::Float(32),
        };
        let type_id = e.ty(carried);
        let id = e.parameter(type_id);
        if ty == ScalarType::Bool {
            let zero = e.u32(0);
            return e.compare(Op::INotEqual, id, zero);
        }
        id
    }

    /// The arguments of a global.
    pub(crate) fn global(&self, id: ParamId) -> Result<Global, LowerError> {
        self.globals.get(id.0 as usize).copied().flatten().ok_or(LowerError::Malformed("a global is not one"))
    }

    /// A dimension of a global.
    pub(crate) fn dim(&self, id: ParamId, dim: Dim) -> Result<Id, LowerError> {
        let g = self.global(id)?;
        Ok(match dim {
            Dim::Batch => g.batch,
            Dim::Depth => g.depth,
            Dim::Rows => g.rows,
            Dim::Cols => g.cols,
            Dim::Pitch => g.pitch,
        })
    }

    /// True when the value is the plane index that `own_tile` gave for this very global, and so within it.
    fn owned_plane(&self, id: ParamId, value: ValueId, which: usize) -> bool {
        self.facts.def(value).is_some_and(|op| {
            matches!(op.kind, OpKind::OwnTile { global, .. } if global == id)
                && op.results.get(which) == Some(&value)
        })
    }

    /// The plane of a global at a batch and depth index. An index outside gives a plane that is not live,
    /// with a base that points to plane 0.
    pub(crate) fn plane(
        &mut self,
        id: ParamId,
        batch: Option<ValueId>,
        depth: Option<ValueId>,
    ) -> Result<Plane, LowerError> {
        let g = self.global(id)?;
        let mut exists = self.e.int(Ty::Bool, 1);
        let mut offset = self.e.u64(0);
        let axes = [(batch, g.batch, g.batch_stride), (depth, g.depth, g.depth_stride)];
        let mut terms = vec![];
        for (which, (index, extent, stride)) in axes.into_iter().enumerate() {
            let at = match index {
                Some(v) => self.scalar(v)?,
                None => self.e.u32(0),
            };
            if !index.is_some_and(|v| self.owned_plane(id, v, which)) {
                let inside = self.e.compare(Op::ULessThan, at, extent);
                exists = self.e.both_true(exists, inside);
            }
            terms.push((at, stride));
        }
        for (at, stride) in terms {
            let zero = self.e.u32(0);
            let at = self.e.select(U32, exists, at, zero);
            let at = self.e.widen(at);
            let bytes = self.e.mul(U64, at, stride);
            offset = self.e.add(U64, offset, bytes);
        }
        let e = &mut self.e;
        let base = if e.known(offset) == Some(0) {
            g.ptr
        } else {
            let address = e.pure(Op::ConvertPtrToU, U64, &[g.ptr]);
            let address = e.add(U64, address, offset);
            e.pure_with(Op::ConvertUToPtr, g.ptr_type, &[address], &[])
        };
        let zero = e.u32(0);
        let has_rows = e.compare(Op::UGreaterThan, g.rows, zero);
        let live = e.both_true(exists, has_rows);
        let cols = e.select(U32, live, g.cols, zero);
        Ok(Plane { global: g, base, rows: g.rows, cols, live })
    }

    /// The plane of a global as block messages see it.
    pub(crate) fn surface(
        &mut self,
        id: ParamId,
        batch: Option<ValueId>,
        depth: Option<ValueId>,
    ) -> Result<Surface, LowerError> {
        let Plane { global: g, base, rows, cols, live } = self.plane(id, batch, depth)?;
        let e = &mut self.e;
        let esz = g.dtype.size_bytes();
        let (one, least) = (e.u32(1), e.u32(64));
        let columns = e.add(U32, g.x0, g.cols);
        let width = e.mul_u32(columns, esz);
        let up = if esz < 4 {
            let up = e.add_u32(width, 3);
            e.and_u32(up, !3)
        } else {
            width
        };
        let down = if esz < 4 { e.and_u32(width, !3) } else { width };
        let load_width = e.max(U32, up, least);
        let store_width = e.max(U32, down, least);
        let wide = e.compare(Op::UGreaterThanEqual, width, least);
        let even = e.compare(Op::IEqual, up, down);
        let fits = e.both_true(wide, even);
        let trusted = e.both_true(live, fits);
        let height = e.max(U32, g.rows, one);
        let pitch = e.mul_u32(g.pitch, esz);
        let x0 = g.x0;
        Ok(Surface { esz, base, x0, load_width, store_width, height, pitch, rows, cols, live, wide, trusted })
    }

    /// Where this sub-group stands in its work-group.
    pub(crate) fn place(&mut self, place: Place) -> Id {
        let id = match self.slabs {
            None => self.e.load_builtin(BuiltIn::SubgroupId, U32, 4),
            // A work-item is a sub-group.
            Some(_) => {
                let all = self.e.load_builtin(BuiltIn::LocalInvocationId, Ty::IntVec(64, 3), 32);
                let u64s = self.e.ty(U64);
                let id = self.e.pure_with(Op::CompositeExtract, u64s, &[all], &[0]);
                self.e.narrow(id)
            }
        };
        let cols = self.e.u32(self.kernel.subgroups.1);
        match place {
            Place::Id => id,
            Place::Row => self.e.div(U32, id, cols),
            Place::Col => self.e.rem(U32, id, cols),
        }
    }

    /// The number of this lane in its sub-group. The only value that differs between lanes.
    pub(crate) fn lane(&mut self) -> Id {
        self.e.load_builtin(BuiltIn::SubgroupLocalInvocationId, U32, 4)
    }

    /// The tile this sub-group owns, as batch, depth, row and column.
    pub(crate) fn own_tile(
        &mut self,
        id: ParamId,
        tile: (u32, u32),
        order: &Order,
    ) -> Result<[Id; 4], LowerError> {
        let g = self.global(id)?;
        let width = match order {
            Order::Linear | Order::Upward => None,
            Order::Snake(width) => Some(self.scalar(*width)?),
        };
        let (row_in, col_in) = (self.place(Place::Row), self.place(Place::Col));
        let (sgr, sgc) = self.kernel.subgroups;
        let e = &mut self.e;
        let all = e.load_builtin(BuiltIn::WorkgroupId, Ty::IntVec(64, 3), 32);
        let u64s = e.ty(U64);
        let group = e.pure_with(Op::CompositeExtract, u64s, &[all], &[0]);
        let group = e.narrow(group);
        let tiles_m = e.div_ceil_u32(g.rows, tile.0);
        let tiles_n = e.div_ceil_u32(g.cols, tile.1);
        let gm = e.div_ceil_u32(tiles_m, sgr);
        let gn = e.div_ceil_u32(tiles_n, sgc);
        let per_plane = e.mul(U32, gm, gn);
        let plane = e.div(U32, group, per_plane);
        let in_plane = e.rem(U32, group, per_plane);
        let batch = e.div(U32, plane, g.depth);
        let depth = e.rem(U32, plane, g.depth);
        let (wm, wn) = match width {
            None => {
                let (row, col) = (e.div(U32, in_plane, gn), e.rem(U32, in_plane, gn));
                let row = if *order == Order::Upward {
                    let one = e.u32(1);
                    let last = e.sub(U32, gm, one);
                    e.sub(U32, last, row)
                } else {
                    row
                };
                (row, col)
            }
            Some(width) => {
                // A width beyond the grid is one stack over the whole grid; clamping keeps `width * gm` in 32 bits.
                let one = e.u32(1);
                let width = e.min(U32, width, gn);
                let width = e.max(U32, width, one);
                let per_stack = e.mul(U32, width, gm);
                let stack = e.div(U32, in_plane, per_stack);
                let first = e.mul(U32, stack, width);
                let left = e.sub(U32, gn, first);
                let here = e.min(U32, width, left);
                let r = e.rem(U32, in_plane, per_stack);
                let (row, col) = (e.div(U32, r, here), e.rem(U32, r, here));
                let row = mirrored_if_odd(e, stack, row, gm);
                let col = mirrored_if_odd(e, row, col, here);
                let col = e.add(U32, first, col);
                (row, col)
            }
        };
        let row = e.mul_u32(wm, sgr);
        let row = e.add(U32, row, row_in);
        let col = e.mul_u32(wn, sgc);
        let col = e.add(U32, col, col_in);
        Ok([batch, depth, row, col])
    }
}

/// `odd is odd ? extent - 1 - at : at`.
fn mirrored_if_odd(e: &mut crate::module::Emit, odd: Id, at: Id, extent: Id) -> Id {
    let (zero, one) = (e.u32(0), e.u32(1));
    let bit = e.and_u32(odd, 1);
    let is_odd = e.compare(Op::INotEqual, bit, zero);
    let last = e.sub(U32, extent, one);
    let mirrored = e.sub(U32, last, at);
    e.select(U32, is_odd, mirrored, at)
}

const _: () = assert!(LANES == 16, "SubgroupSize and every layout are for 16 lanes");
