//! Owns the emission of shared memory, cooperative copies and barriers.
//!
//! A shared tile lies in pieces of 8 x 16 elements, each row after row, pieces below each other first: a chunk of a tile in
//! registers is then one contiguous piece, which one sub-group block message moves as it is (512 bytes of f32, 256 of 16-bit
//! elements; xe_facts 7). A transposing load reads eight (f32, 16-bit `Row`) or sixteen (`VnniT`) neighbours of a row per
//! lane, one message per chunk. A shared vector lies element after element.
//!
//! *Assumes* the verifier's rules: every sub-group reaches what it must, constant positions are inside. *Not guaranteed*: where a
//! position outside leads, which the kernel must not have (the simulator and `TILE_CHECK=race` report it). *Not here*: loads and stores of globals (`memory`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, MemoryAccess, Op as Inst, StorageClass};
use tile_ir::ir::{
    Access, Barrier, Coord, GroupOp, LoadForm, Op, OpKind, ParamId, Place, SharedAt, SharedId, ValueId,
};
use tile_ir::types::{DType, Role, TileType, Type, VectorType};

use crate::LowerError;
use crate::arith::U32;
use crate::control::{Edge, Lowering, Value};
use crate::lanes::{LANES, Layout};
use crate::module::{Id, Ty};
use crate::ops::map::LANE;

/// Rows of a piece.
const PIECE_ROWS: u32 = 8;
/// Elements of a piece.
const PIECE: u32 = PIECE_ROWS * LANES;

/// Scope "Workgroup" (SPIR-V, Scope).
const WORKGROUP: u32 = 2;
/// Memory semantics (SPIR-V): acquire, release, sequentially consistent, work-group memory, cross-work-group memory.
const ACQUIRE: u32 = 0x2;
const RELEASE: u32 = 0x4;
const ORDERED: u32 = 0x10;
const OF_GROUP: u32 = 0x100;
const OF_GLOBALS: u32 = 0x200;

/// Shared memory as addresses need it.
#[derive(Clone, Copy)]
struct Pieces {
    variable: Id,
    dtype: DType,
    rows: u32,
    cols: u32,
}

impl Pieces {
    /// Elements from a piece to its right neighbour.
    fn stride(self) -> u32 {
        self.rows / PIECE_ROWS * PIECE
    }
}

impl Lowering<'_> {
    /// Emits an op of a work-group.
    pub(crate) fn lower_group(&mut self, op: &Op, what: &GroupOp) -> Result<(), LowerError> {
        match what {
            GroupOp::Load { shared, at, form } => {
                let result = self.result(op)?;
                let pieces = self.pieces(*shared)?;
                match self.kernel.ty(result) {
                    Type::Vector(ty) => {
                        let registers = self.load_shared_vector(pieces, ty, at)?;
                        self.set(result, Value::Vector(registers));
                    }
                    Type::Tile(tile) => {
                        let chunks = self.load_shared_tile(pieces, tile, *form, at)?;
                        self.set(result, Value::Tile(chunks));
                    }
                    Type::Scalar(_) => return Err(LowerError::Malformed("shared memory gives a scalar")),
                }
                Ok(())
            }
            GroupOp::Store { shared, value, at } => {
                let pieces = self.pieces(*shared)?;
                match self.kernel.ty(*value) {
                    Type::Vector(ty) => self.store_shared_vector(pieces, *value, ty, at),
                    Type::Tile(tile) => {
                        let chunks = self.tile(*value)?;
                        let base = self.tile_base(pieces, (tile.rows, tile.cols), at)?;
                        self.store_pieces(pieces, &chunks, tile, base);
                        Ok(())
                    }
                    Type::Scalar(_) => Err(LowerError::Malformed("a scalar goes to shared memory")),
                }
            }
            GroupOp::LoadCoop { shared, global, at } => self.lower_load_coop(*shared, *global, at),
            GroupOp::StoreCoop { global, shared, at } => self.lower_store_coop(*global, *shared, at),
            GroupOp::Barrier(kind) => {
                self.lower_barrier(*kind);
                Ok(())
            }
        }
    }

    fn pieces(&self, id: SharedId) -> Result<Pieces, LowerError> {
        let bad = LowerError::Malformed("shared memory is not defined");
        let (Some(shared), Some(&variable)) = (self.kernel.shared(id), self.shared.get(id.0 as usize)) else {
            return Err(bad);
        };
        let (rows, cols) = shared.ty.shape();
        Ok(Pieces { variable, dtype: shared.ty.dtype(), rows, cols })
    }

    // ---- barriers ----

    /// Whether the sub-groups of a work-group may show each other what they stored to globals: only where a kernel stores at
    /// any coordinate, since what is owned is read by its owner alone.
    fn shows_globals(&self) -> bool {
        let mut reads = false;
        self.kernel.body.walk(&mut |op| {
            if let OpKind::Load { global, .. }
            | OpKind::LoadVector { global, .. }
            | OpKind::LoadScalar { global, .. }
            | OpKind::Group(GroupOp::LoadCoop { global, .. }) = &op.kind
            {
                reads |= matches!(self.kernel.global(*global), Some((_, Access::Out)));
            }
        });
        reads && self.kernel.unowned_stores
    }

    pub(crate) fn lower_barrier(&mut self, kind: Barrier) {
        let memory = if self.shows_globals() { OF_GROUP | OF_GLOBALS } else { OF_GROUP };
        let (inst, order) = match kind {
            Barrier::Full => (Inst::ControlBarrier, ORDERED),
            Barrier::Arrive => (Inst::ControlBarrierArriveINTEL, RELEASE),
            Barrier::Wait => (Inst::ControlBarrierWaitINTEL, ACQUIRE),
        };
        if kind != Barrier::Full {
            self.e.need(Capability::SplitBarrierINTEL);
        }
        let [scope, semantics] = [WORKGROUP, memory | order].map(|v| self.e.u32(v));
        self.e.effect(
            inst,
            vec![Operand::IdScope(scope), Operand::IdScope(scope), Operand::IdMemorySemantics(semantics)],
        );
    }

    // ---- addresses ----

    /// A position along one axis in units of `size` of `extent` elements, and whether it is inside.
    pub(crate) fn inside(&mut self, value: ValueId, size: u32, extent: u32) -> Result<(Id, Id), LowerError> {
        let limit = extent / size.max(1);
        let id = self.scalar(value)?;
        if self.facts.bound(value) < u64::from(limit) {
            return Ok((id, self.e.int(Ty::Bool, 1)));
        }
        let limit = self.e.u32(limit);
        let inside = self.e.compare(Inst::ULessThan, id, limit);
        Ok((id, inside))
    }

    /// An index if the position is inside, else the first behind the memory.
    fn or_behind(&mut self, p: Pieces, inside: Id, index: Id) -> Id {
        let behind = self.e.u32(p.rows * p.cols);
        self.e.select(U32, inside, index, behind)
    }

    /// The element at which the tile of `rows x cols` at a position starts.
    fn tile_base(&mut self, p: Pieces, (rows, cols): (u32, u32), at: &SharedAt) -> Result<Id, LowerError> {
        let Some(row) = at.row else { return Err(LowerError::Malformed("a tile's position has no row")) };
        let ((row, has_row), (col, has_col)) =
            (self.inside(row, rows, p.rows)?, self.inside(at.col, cols, p.cols)?);
        let down = self.e.mul_u32(row, rows / PIECE_ROWS * PIECE);
        let across = self.e.mul_u32(col, cols / LANES * p.stride());
        let base = self.e.add(U32, down, across);
        let inside = self.e.both_true(has_row, has_col);
        Ok(self.or_behind(p, inside, base))
    }

    /// A pointer to the element at an index.
    fn element_of(&mut self, p: Pieces, index: Id) -> Id {
        let element = self.e.ty(Ty::Int(8 * p.dtype.size_bytes()));
        let pointer = self.e.pointer(StorageClass::Workgroup, element);
        let operands = [p.variable, index].map(Operand::IdRef).to_vec();
        self.e.value(Inst::InBoundsAccessChain, pointer, operands)
    }

    /// The integers a chunk of this element type is moved as.
    fn words_of(dtype: DType) -> Ty {
        Ty::Int8(8 * dtype.size_bytes())
    }

    // ---- tiles ----

    fn store_pieces(&mut self, p: Pieces, chunks: &[Id], tile: TileType, base: Id) {
        let layout = Layout::of(tile);
        self.e.need(Capability::SubgroupBufferBlockIOINTEL);
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let chunk = chunks[layout.index(down, across)];
                let value = match p.dtype {
                    DType::F32 => self.e.pure(Inst::Bitcast, Self::words_of(p.dtype), &[chunk]),
                    DType::I8
                    | DType::U8
                    | DType::I32
                    | DType::Bf16
                    | DType::F16
                    | DType::Tf32
                    | DType::Bool => chunk,
                };
                let index = self.e.add_u32(base, across * p.stride() + down * PIECE);
                let to = self.element_of(p, index);
                self.e.effect(Inst::SubgroupBlockWriteINTEL, [to, value].map(Operand::IdRef).to_vec());
            }
        }
    }

    /// Reads the piece at an index as integers.
    fn read_piece(&mut self, p: Pieces, index: Id) -> Id {
        self.e.need(Capability::SubgroupBufferBlockIOINTEL);
        let from = self.element_of(p, index);
        let words = self.e.ty(Self::words_of(p.dtype));
        self.e.value(Inst::SubgroupBlockReadINTEL, words, vec![Operand::IdRef(from)])
    }

    fn load_shared_tile(
        &mut self,
        p: Pieces,
        tile: TileType,
        form: LoadForm,
        at: &SharedAt,
    ) -> Result<Vec<Id>, LowerError> {
        if form == LoadForm::Transpose {
            return self.load_shared_transposed(p, tile, at);
        }
        let base = self.tile_base(p, (tile.rows, tile.cols), at)?;
        Ok(self.load_pieces(p, tile, base))
    }

    fn load_pieces(&mut self, p: Pieces, tile: TileType, base: Id) -> Vec<Id> {
        let layout = Layout::of(tile);
        let mut out = vec![0; layout.count()];
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let first = down * (layout.chunk_rows() / PIECE_ROWS);
                let index = self.e.add_u32(base, across * p.stride() + first * PIECE);
                let upper = self.read_piece(p, index);
                out[layout.index(down, across)] = if tile.role == Role::Vnni {
                    // Neighbours below each other become the halves of a word.
                    let index = self.e.add_u32(index, PIECE);
                    let lower = self.read_piece(p, index);
                    let both = self.e.pure(Inst::CompositeConstruct, Ty::IntVec(16, 16), &[upper, lower]);
                    self.e.pure(Inst::Bitcast, layout.chunk(), &[both])
                } else {
                    self.as_chunk(layout, upper)
                };
            }
        }
        out
    }

    fn as_chunk(&mut self, layout: Layout, words: Id) -> Id {
        match layout.chunk() {
            Ty::Float8(32) => self.e.pure(Inst::Bitcast, Ty::Float8(32), &[words]),
            _ => words,
        }
    }

    /// Loads the transpose of the `cols x rows` part at a position: each lane reads along a row of the memory.
    fn load_shared_transposed(
        &mut self,
        p: Pieces,
        tile: TileType,
        at: &SharedAt,
    ) -> Result<Vec<Id>, LowerError> {
        let Some(row) = at.row else { return Err(LowerError::Malformed("a tile's position has no row")) };
        let layout = Layout::of(tile);
        let (row, has_row) = self.inside(row, tile.cols, p.rows)?;
        let (col, has_col) = self.inside(at.col, tile.rows, p.cols)?;
        let inside = self.e.both_true(has_row, has_col);
        // Columns of the memory in steps of eight, which may be half a piece. What is outside has none.
        let eights = self.e.mul_u32(col, tile.rows / PIECE_ROWS);
        let zero = self.e.u32(0);
        let eights = self.e.select(U32, inside, eights, zero);
        let lane = self.lane();
        let along = self.e.mul_u32(lane, LANES);
        let top = self.e.mul_u32(row, tile.cols / PIECE_ROWS * PIECE);
        let top = self.or_behind(p, inside, top);
        let start = self.e.add(U32, top, along);
        let (moved, bytes) = match tile.role {
            Role::VnniT => (Ty::Int8(32), 32),
            Role::Row | Role::Acc | Role::Vnni => (Self::words_of(p.dtype), 8 * p.dtype.size_bytes()),
        };
        let moved_id = self.e.ty(moved);
        let pointer = self.e.pointer(StorageClass::Workgroup, moved_id);
        let mut out = vec![0; layout.count()];
        for down in 0..layout.down() {
            let eight = self.e.add_u32(eights, down * (layout.chunk_rows() / PIECE_ROWS));
            let piece = self.e.shr_u32(eight, 1);
            let right = self.e.mul_u32(piece, p.stride());
            let half = self.e.and_u32(eight, 1);
            let half = self.e.mul_u32(half, PIECE_ROWS);
            let column = self.e.add(U32, right, half);
            for across in 0..layout.across() {
                let index = self.e.add(U32, start, column);
                let index = self.e.add_u32(index, across * (LANES / PIECE_ROWS) * PIECE);
                let element = self.element_of(p, index);
                let from = self.e.value(Inst::Bitcast, pointer, vec![Operand::IdRef(element)]);
                let operands = vec![
                    Operand::IdRef(from),
                    Operand::MemoryAccess(MemoryAccess::ALIGNED),
                    Operand::LiteralBit32(bytes),
                ];
                let words = self.e.value(Inst::Load, moved_id, operands);
                out[layout.index(down, across)] = self.as_chunk(layout, words);
            }
        }
        Ok(out)
    }

    // ---- vectors ----

    fn store_shared_vector(
        &mut self,
        p: Pieces,
        value: ValueId,
        ty: VectorType,
        at: &SharedAt,
    ) -> Result<(), LowerError> {
        let registers = self.vector(value)?;
        let (first, inside) = self.inside(at.col, ty.len, p.cols)?;
        let first = self.e.mul_u32(first, ty.len);
        let first = self.or_behind(p, inside, first);
        let lane = self.lane();
        let mine = self.e.add(U32, first, lane);
        for (i, register) in registers.into_iter().enumerate() {
            let before = i as u32 * LANES;
            let bits = match p.dtype {
                DType::F32 => self.e.pure(Inst::Bitcast, U32, &[register]),
                // The verifier keeps masks, bytes and tf32 out of shared memory.
                DType::I8 | DType::U8 | DType::I32 | DType::Tf32 | DType::Bool => register,
                DType::Bf16 | DType::F16 => self.narrowed(p.dtype, LANE, register),
            };
            let index = self.e.add_u32(mine, before);
            let left = ty.len - before;
            if left >= LANES {
                self.store_element(p, index, bits);
                continue;
            }
            let left = self.e.u32(left);
            let has = self.e.compare(Inst::ULessThan, lane, left);
            self.branch(
                has,
                &[],
                |s| {
                    s.store_element(p, index, bits);
                    Ok(Some(vec![]))
                },
                |_| Ok(Some(vec![])),
            )?;
        }
        Ok(())
    }

    fn store_element(&mut self, p: Pieces, index: Id, bits: Id) {
        let to = self.element_of(p, index);
        let access =
            [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(p.dtype.size_bytes())];
        self.e.effect(Inst::Store, [to, bits].into_iter().map(Operand::IdRef).chain(access).collect());
    }

    fn load_shared_vector(
        &mut self,
        p: Pieces,
        ty: VectorType,
        at: &SharedAt,
    ) -> Result<Vec<Id>, LowerError> {
        let (first, inside) = self.inside(at.col, ty.len, p.cols)?;
        let first = self.e.mul_u32(first, ty.len);
        let first = self.or_behind(p, inside, first);
        let lane = self.lane();
        let mut out = vec![];
        for before in (0..ty.len).step_by(LANES as usize) {
            // Lanes beyond the end read what others read; nobody looks at them.
            let lane = if ty.len - before < LANES { self.e.and_u32(lane, PIECE_ROWS - 1) } else { lane };
            let mine = self.e.add(U32, first, lane);
            let index = self.e.add_u32(mine, before);
            let from = self.element_of(p, index);
            let bits = self.e.ty(Ty::Int(8 * p.dtype.size_bytes()));
            let operands = vec![
                Operand::IdRef(from),
                Operand::MemoryAccess(MemoryAccess::ALIGNED),
                Operand::LiteralBit32(p.dtype.size_bytes()),
            ];
            let bits = self.e.value(Inst::Load, bits, operands);
            out.push(match p.dtype {
                DType::F32 => self.e.pure(Inst::Bitcast, LANE, &[bits]),
                DType::I8 | DType::U8 | DType::I32 | DType::Tf32 | DType::Bool => bits,
                DType::Bf16 | DType::F16 => self.widened(p.dtype, LANE, bits),
            });
        }
        Ok(out)
    }

    // ---- cooperative copies ----

    fn lower_load_coop(&mut self, shared: SharedId, global: ParamId, at: &Coord) -> Result<(), LowerError> {
        let p = self.pieces(shared)?;
        let (rows, cols) = self.kernel.subgroups;
        let peers = rows * cols;
        let (part_rows, part_cols) = part(p.rows, p.cols, peers);
        let (down, across) = (p.rows / part_rows, p.cols / part_cols);
        let count = down * across;
        let tile = TileType { dtype: p.dtype, rows: part_rows, cols: part_cols, role: Role::Row };
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, Self::unit(at, p.rows))?;
        let col = self.exact(at.col, Self::unit(at, p.cols))?;
        let me = self.place(Place::Id);
        for round in 0..count.div_ceil(peers) {
            let number = self.e.add_u32(me, round * peers);
            let copy = |s: &mut Self| {
                let downs = s.e.u32(down);
                let (below, beside) = (s.e.rem(U32, number, downs), s.e.div(U32, number, downs));
                let rows = s.e.mul_u32(below, part_rows);
                let cols = s.e.mul_u32(beside, part_cols);
                let place = (row.plus(&mut s.e, rows), col.plus(&mut s.e, cols));
                let chunks = s.tile_at(tile, LoadForm::Plain, surface, Edge::Test, at, place)?;
                let first = s.e.mul_u32(below, part_rows / PIECE_ROWS * PIECE);
                let right = s.e.mul_u32(beside, part_cols / LANES * p.stride());
                let base = s.e.add(U32, first, right);
                s.store_pieces(p, &chunks, tile, base);
                Ok(Some(vec![]))
            };
            if (round + 1) * peers <= count {
                self.frame(copy)?;
                continue;
            }
            let limit = self.e.u32(count);
            let mine = self.e.compare(Inst::ULessThan, number, limit);
            self.branch(mine, &[], copy, |_| Ok(Some(vec![])))?;
        }
        Ok(())
    }

    fn lower_store_coop(&mut self, global: ParamId, shared: SharedId, at: &Coord) -> Result<(), LowerError> {
        let p = self.pieces(shared)?;
        let (down, across) = self.kernel.subgroups;
        let tile = TileType { dtype: p.dtype, rows: p.rows / down, cols: p.cols / across, role: Role::Row };
        let (row, col) = (self.place(Place::Row), self.place(Place::Col));
        let row = self.e.mul_u32(row, tile.rows / PIECE_ROWS * PIECE);
        let col = self.e.mul_u32(col, tile.cols / LANES * p.stride());
        let base = self.e.add(U32, row, col);
        let chunks = self.load_pieces(p, tile, base);
        self.store_chunks(&chunks, tile, global, at)
    }
}

/// Rows and columns of the parts of a cooperative copy: the largest that block messages move at once and that all
/// sub-groups get equally many of; else the largest of which each gets one, else the smallest.
fn part(rows: u32, cols: u32, peers: u32) -> (u32, u32) {
    let shapes = [(32, 32), (32, 16), (16, 32), (16, 16), (8, 32), (8, 16)];
    let fits = |&(r, c): &(u32, u32)| rows.is_multiple_of(r) && cols.is_multiple_of(c);
    let count = |&(r, c): &(u32, u32)| (rows / r) * (cols / c);
    let even = shapes.iter().filter(|s| fits(s)).find(|s| count(s).is_multiple_of(peers));
    let enough = || shapes.iter().filter(|s| fits(s)).find(|s| count(s) >= peers);
    even.or_else(enough).copied().unwrap_or((PIECE_ROWS, LANES))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_are_as_large_as_equal_shares_allow() {
        assert_eq!(part(64, 64, 4), (32, 32));
        assert_eq!(part(64, 64, 8), (32, 16));
        assert_eq!(part(64, 64, 32), (8, 16));
        assert_eq!(part(24, 48, 3), (8, 16));
        assert_eq!(part(8, 16, 4), (8, 16));
        assert_eq!(part(32, 32, 1), (32, 32));
        assert_eq!(part(40, 16, 4), (8, 16));
    }
}
