//! Owns the emission of ops that touch globals: loads, prefetches, stores.
//!
//! *Assumes* surfaces from `abi` and positions from `coord`. *Guarantees*: one message per largest legal block; a load
//! gives 0 outside its plane; a store writes nothing outside it.
//! *Not here*: when a tile crosses an untrusted edge, and masks (`edge`); shapes of messages (`lanes`).

use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Op as Inst, StorageClass};
use tile_ir::ir::{Access, Coord, LoadForm, Op, ParamId, Peers, Place, Unit, ValueId};
use tile_ir::legal;
use tile_ir::types::{DType, TileType};

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::U32;
use crate::control::{Edge, Lowering, Value};
use crate::coord::Position;
use crate::lanes::{self, Layout, Message, footprint};
use crate::module::{Id, Ty};

/// A masked load of a right operand that is emitted chunk by chunk where the matrix instructions read it. All of it at once
/// beside a 32 x 64 accumulator does not fit the registers (measured on pvc: 1,216 bytes spilled in a loop of bf16).
#[derive(Clone, Copy)]
pub(crate) struct Late {
    tile: TileType,
    surface: Surface,
    x: Position,
    row: Position,
    col: Position,
}

impl<'a> Lowering<'a> {
    /// `load`, `load_transform`, `load_transpose`.
    pub(crate) fn lower_load(
        &mut self,
        op: &Op,
        global: ParamId,
        at: &Coord,
        form: LoadForm,
    ) -> Result<(), LowerError> {
        let (result, tile) = self.tile_result(op)?;
        let surface = self.surface(global, at.batch, at.depth)?;
        let (rows, cols) = footprint(tile, form);
        let row = self.exact(at.row, Self::unit(at, rows))?;
        let col = self.exact(at.col, Self::unit(at, cols))?;
        let edge = self.edge_of(result);
        let packed = form == LoadForm::Transpose && tile.role.is_right_operand();
        // Only an input: a store must not come between.
        let input = matches!(self.kernel.global(global), Some((_, Access::In)));
        let late = edge == Edge::Mask && packed && input && self.facts.only_multiplied(result);
        if late && !self.may_be_odd(at, surface) {
            let x = self.load_x(at, form, tile, surface, col)?;
            let row = row.only_if(&mut self.e, surface.live);
            self.late.insert(result, Late { tile, surface, x, row, col });
            return Ok(());
        }
        if Self::comes_in_pairs(tile, form) && !self.may_be_odd(at, surface) {
            let x = self.load_x(at, form, tile, surface, col)?;
            let words = self.words_load(tile, surface, edge, x, (row, col))?;
            self.set_words(result, tile, words);
            return Ok(());
        }
        let chunks = self.tile_at(tile, form, surface, edge, at, (row, col))?;
        self.set(result, Value::Tile(chunks));
        Ok(())
    }

    /// True for a `Row` tile of 16-bit elements that is transposed on the way.
    fn comes_in_pairs(tile: TileType, form: LoadForm) -> bool {
        form == LoadForm::Transpose && Layout::of(tile).chunk() == Ty::Int8(16)
    }

    /// Gives a tile of 16-bit elements its meaning by the words that hold two of its rows each.
    pub(crate) fn set_words(&mut self, result: ValueId, tile: TileType, words: Vec<Id>) {
        let chunks = self.parted(tile, &words);
        self.set(result, Value::Tile(chunks));
        self.words.insert(result, words);
    }

    /// Loads a tile whose first element is at a row and column; `at` says what is known of the column.
    pub(crate) fn tile_at(
        &mut self,
        tile: TileType,
        form: LoadForm,
        surface: Surface,
        edge: Edge,
        at: &Coord,
        (row, col): (Position, Position),
    ) -> Result<Vec<Id>, LowerError> {
        if self.may_be_odd(at, surface) {
            // Blocks begin at a multiple of 4 bytes (SPV_INTEL_2d_block_io, restrictions).
            let column = col.at(&mut self.e, 0);
            let odd = self.is_odd(column, surface);
            let zero = self.e.u32(0);
            let filled = self.e.compare(Inst::UGreaterThan, surface.cols, zero);
            let apart = self.e.both_true(odd, filled);
            let even = self.e.and_u32(column, !(4 / surface.esz - 1));
            let layout = Layout::of(tile);
            let types = vec![layout.chunk(); layout.count()];
            self.branch(
                apart,
                &types,
                |s| Ok(Some(s.gather(tile, form, surface, row, col))),
                |s| {
                    let even = Position::at_id(even);
                    let x = s.load_x(at, form, tile, surface, even)?;
                    s.edged_load(tile, form, surface, edge, x, (row, even)).map(Some)
                },
            )?
            .ok_or(LowerError::Malformed("a branch has no way on"))
        } else {
            let x = self.load_x(at, form, tile, surface, col)?;
            self.edged_load(tile, form, surface, edge, x, (row, col))
        }
    }

    /// Block loads, with elements beyond the last column set to 0.
    fn edged_load(
        &mut self,
        tile: TileType,
        form: LoadForm,
        surface: Surface,
        edge: Edge,
        x: Position,
        (row, col): (Position, Position),
    ) -> Result<Vec<Id>, LowerError> {
        if Self::comes_in_pairs(tile, form) {
            let words = self.words_load(tile, surface, edge, x, (row, col))?;
            return Ok(self.parted(tile, &words));
        }
        let row = if edge == Edge::Never { row } else { row.only_if(&mut self.e, surface.live) };
        let messages = lanes::loads(tile, form)?;
        let chunks = self.block_load(messages, tile, form, surface, edge, (x, row))?;
        match edge {
            Edge::Never => Ok(chunks),
            Edge::Mask => Ok(self.mask(&chunks, tile, form, surface, col)),
            Edge::Test => {
                let cold = self.is_cold(surface, col, footprint(tile, form).1);
                let layout = Layout::of(tile);
                let types = vec![layout.chunk(); layout.count()];
                let kept = chunks.clone();
                self.branch(
                    cold,
                    &types,
                    |s| Ok(Some(s.mask(&chunks, tile, form, surface, col))),
                    |_| Ok(Some(kept)),
                )?
                .ok_or(LowerError::Malformed("a branch has no way on"))
            }
        }
    }

    /// The words of a `Row` tile of 16-bit elements, transposed: a transposing message moves 32 bits, so pairs of rows come as
    /// in a right operand, and are taken apart only where elements are used. (Taken apart before a branch at the edge, each pair
    /// of rows took two instructions more, measured with Intel's compiler on pvc.)
    fn words_load(
        &mut self,
        tile: TileType,
        surface: Surface,
        edge: Edge,
        x: Position,
        at: (Position, Position),
    ) -> Result<Vec<Id>, LowerError> {
        self.edged_load(lanes::in_words(tile), LoadForm::Transpose, surface, edge, x, at)
    }

    /// A tile of 16-bit elements from the words that hold two of its rows each.
    fn parted(&mut self, tile: TileType, words: &[Id]) -> Vec<Id> {
        let (from, to) = (Layout::of(lanes::in_words(tile)), Layout::of(tile));
        let rows = self.e.ty(to.chunk());
        let mut out = vec![0; to.count()];
        for across in 0..to.across() {
            for down in 0..to.down() {
                let words = words[from.index(down / 2, across)];
                let words = self.e.pure(Inst::Bitcast, Ty::IntVec(16, 16), &[words]);
                let first = 8 * (down % 2);
                let numbers: Vec<u32> = (first..first + 8).collect();
                out[to.index(down, across)] =
                    self.e.pure_with(Inst::VectorShuffle, rows, &[words, words], &numbers);
            }
        }
        out
    }

    /// `bool`: the tile needs the edge rule done in registers.
    fn is_cold(&mut self, surface: Surface, col: Position, cols: u32) -> Id {
        let crosses = self.crosses(surface, col, cols);
        let untrusted = self.e.not(surface.trusted);
        self.e.both_true(untrusted, crosses)
    }

    /// True when a column could lie beside a multiple of 4 bytes, which block messages do not take.
    pub(crate) fn may_be_odd(&self, at: &Coord, surface: Surface) -> bool {
        let needed = (4 / surface.esz).trailing_zeros();
        at.unit == Unit::Elements && self.facts.twos(at.col) < needed
    }

    pub(crate) fn is_odd(&mut self, column: Id, surface: Surface) -> Id {
        let bit = self.e.and_u32(column, 4 / surface.esz - 1);
        let zero = self.e.u32(0);
        self.e.compare(Inst::INotEqual, bit, zero)
    }

    /// The column of the first block in elements of the message: words of 32 bits for a transposing load.
    /// `col` must be a multiple of 4 bytes.
    fn load_x(
        &mut self,
        at: &Coord,
        form: LoadForm,
        tile: TileType,
        surface: Surface,
        col: Position,
    ) -> Result<Position, LowerError> {
        let per = 4 / surface.esz;
        Ok(match (form, at.unit) {
            (LoadForm::Plain | LoadForm::Transform, _) => col.plus(&mut self.e, surface.x0),
            (LoadForm::Transpose, _) if surface.esz == 4 => col.plus(&mut self.e, surface.x0),
            // The launch contract aligns x0 to 4 bytes.
            (LoadForm::Transpose, Unit::Elements) => {
                let column = col.plus(&mut self.e, surface.x0).at(&mut self.e, 0);
                Position::at_id(self.e.shr_u32(column, per.trailing_zeros()))
            }
            // Tiles are whole words wide. An induction variable of its own in words: Intel's compiler adds to the
            // payload, where a shift costs a copy more (measured on pvc with 8 transposing loads: 53 -> 65).
            (LoadForm::Transpose, Unit::Tiles) => {
                let words = self.exact(at.col, tile.rows / per)?;
                let x0 = self.e.shr_u32(surface.x0, per.trailing_zeros());
                words.plus(&mut self.e, x0)
            }
        })
    }

    fn block_load(
        &mut self,
        messages: Vec<Message>,
        tile: TileType,
        form: LoadForm,
        surface: Surface,
        edge: Edge,
        (x, y): (Position, Position),
    ) -> Result<Vec<Id>, LowerError> {
        let layout = Layout::of(tile);
        let (inst, capability) = match form {
            LoadForm::Plain => (Inst::Subgroup2DBlockLoadINTEL, Capability::Subgroup2DBlockIOINTEL),
            LoadForm::Transform if tile.dtype == DType::Tf32 => {
                (Inst::Subgroup2DBlockLoadINTEL, Capability::Subgroup2DBlockIOINTEL)
            }
            LoadForm::Transform => {
                (Inst::Subgroup2DBlockLoadTransformINTEL, Capability::Subgroup2DBlockTransformINTEL)
            }
            LoadForm::Transpose => {
                (Inst::Subgroup2DBlockLoadTransposeINTEL, Capability::Subgroup2DBlockTransposeINTEL)
            }
        };
        self.e.need(Capability::Subgroup2DBlockIOINTEL);
        self.e.need(capability);
        let chunk = self.e.ty(layout.chunk());
        let mut filled = vec![];
        // All messages first, then the registers: the loads overlap.
        for m in messages {
            // The array's element is exactly what the message writes, or the variable would stay in memory (xe_facts 1.4).
            let variable = self.e.private(chunk, m.chunks.len() as u32);
            let (mut m, mut y) = (m, y);
            if form == LoadForm::Transpose && edge == Edge::Never {
                let down = self.hidden(m.y, surface);
                y = y.plus(&mut self.e, down);
                m.y = 0;
            }
            let mut operands = self.message(&m, surface, surface.load_width, x, y);
            operands.push(Operand::IdRef(variable));
            self.e.effect(inst, operands);
            filled.push((variable, m.chunks));
        }
        let pointer = self.e.pointer(StorageClass::Function, chunk);
        let mut out = vec![0; layout.count()];
        for (variable, chunks) in filled {
            let single = chunks.len() == 1;
            for (i, at) in chunks.into_iter().enumerate() {
                let from = if single {
                    variable
                } else {
                    let index = self.e.u32(i as u32);
                    let operands = [variable, index].map(Operand::IdRef).to_vec();
                    self.e.value(Inst::InBoundsAccessChain, pointer, operands)
                };
                out[at] = self.e.value(Inst::Load, chunk, vec![Operand::IdRef(from)]);
            }
        }
        Ok(out)
    }

    /// One masked chunk of a right operand whose load was put off.
    pub(crate) fn late_chunk(&mut self, late: &Late, down: u32, across: u32) -> Result<Id, LowerError> {
        let Late { tile, surface, x, row, col } = *late;
        let at = Layout::of(tile).index(down, across);
        let form = LoadForm::Transpose;
        let messages = lanes::loads(tile, form)?.into_iter().filter(|m| m.chunks == [at]).collect();
        let chunks = self.block_load(messages, tile, form, surface, Edge::Mask, (x, row))?;
        Ok(self.masked_chunk(chunks[at], tile, form, surface, col, (down, across)))
    }

    /// A constant that Intel's compiler cannot see. It would turn messages at constant distances into copies of one
    /// address payload per message and run; at a distance it does not know, each keeps its own payload
    /// through the loop (measured on pvc with 8 transposing loads: 53 -> 41 instructions besides dpas).
    fn hidden(&mut self, value: u32, surface: Surface) -> Id {
        // A pitch is at least 64 bytes, so this is at least 8192, which no offset in a tile of 16 KiB reaches.
        let large = self.e.mul_u32(surface.pitch, 128);
        let value = self.e.u32(value);
        self.e.min(U32, value, large)
    }

    /// The operands all block messages begin with, the private pointer left out.
    fn message(&mut self, m: &Message, s: Surface, width: Id, x: Position, y: Position) -> Vec<Operand> {
        let e = &mut self.e;
        let shape = [m.elem_bytes, m.width, m.height, m.count].map(|v| e.u32(v));
        let (x, y) = (x.at(e, m.x), y.at(e, m.y));
        let point = self.point(x, y);
        let surface = [s.base, width, s.height, s.pitch, point];
        shape.into_iter().chain(surface).map(Operand::IdRef).collect()
    }

    /// `prefetch_load`, `prefetch_load_coop`.
    pub(crate) fn lower_prefetch(
        &mut self,
        global: ParamId,
        at: &Coord,
        tile: (u32, u32),
        peers: Option<Peers>,
    ) -> Result<(), LowerError> {
        let surface = self.surface(global, at.batch, at.depth)?;
        let mut y = self.wrapping(at.row, Self::unit(at, tile.0))?;
        let mut x = self.wrapping(at.col, Self::unit(at, tile.1))?.plus(&mut self.e, surface.x0);
        let mut area = tile;
        if let Some(peers) = peers {
            let parts = peers.count(self.kernel.subgroups);
            let cut = legal::prefetch_cut(tile, surface.esz, parts).map_err(LowerError::PrefetchCut)?;
            let part = match peers {
                Peers::Row => self.place(Place::Col),
                Peers::Col => self.place(Place::Row),
            };
            let down = self.e.u32(cut.down);
            let (part_y, part_x) = (self.e.rem(U32, part, down), self.e.div(U32, part, down));
            let (dy, dx) = (self.e.mul_u32(part_y, cut.height), self.e.mul_u32(part_x, cut.width));
            y = y.plus(&mut self.e, dy);
            x = x.plus(&mut self.e, dx);
            area = (cut.height, cut.width);
        }
        if self.may_be_odd(at, surface) {
            let column = x.at(&mut self.e, 0);
            x = Position::at_id(self.e.and_u32(column, !(4 / surface.esz - 1)));
        }
        self.e.need(Capability::Subgroup2DBlockIOINTEL);
        for m in lanes::prefetches(surface.esz, area.0, area.1)? {
            let operands = self.message(&m, surface, surface.load_width, x, y);
            self.e.effect(Inst::Subgroup2DBlockPrefetchINTEL, operands);
        }
        Ok(())
    }

    /// `store`.
    pub(crate) fn lower_store(
        &mut self,
        global: ParamId,
        tile: ValueId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let chunks = self.tile(tile)?;
        let tile = self.tile_type(tile)?;
        self.store_chunks(&chunks, tile, global, at)
    }

    /// Stores the chunks of a tile.
    pub(crate) fn store_chunks(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        global: ParamId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, Self::unit(at, tile.rows))?;
        let col = self.exact(at.col, Self::unit(at, tile.cols))?;
        if !self.may_be_odd(at, surface) {
            return self.even_store(chunks, tile, surface, row, col);
        }
        let column = col.at(&mut self.e, 0);
        let odd = self.is_odd(column, surface);
        self.branch(
            odd,
            &[],
            |s| s.lanewise_store(chunks, tile, surface, row, col).map(|()| Some(vec![])),
            |s| s.even_store(chunks, tile, surface, row, col).map(|()| Some(vec![])),
        )?;
        Ok(())
    }

    /// Stores a tile at a column that block messages take.
    fn even_store(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        row: Position,
        col: Position,
    ) -> Result<(), LowerError> {
        let cold = self.is_cold(surface, col, tile.cols);
        self.branch(
            cold,
            &[],
            |s| s.tail_store(chunks, tile, surface, row, col).map(|()| Some(vec![])),
            |s| s.block_store(chunks, tile, surface, row, col).map(|()| Some(vec![])),
        )?;
        Ok(())
    }

    pub(crate) fn block_store(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        surface: Surface,
        row: Position,
        col: Position,
    ) -> Result<(), LowerError> {
        let layout = Layout::of(tile);
        let x = col.plus(&mut self.e, surface.x0);
        let row = row.only_if(&mut self.e, surface.live);
        self.e.need(Capability::Subgroup2DBlockIOINTEL);
        let chunk = self.e.ty(layout.chunk());
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let m = Message {
                    elem_bytes: surface.esz,
                    width: layout.chunk_cols(),
                    height: layout.chunk_rows(),
                    count: 1,
                    x: layout.chunk_cols() * across,
                    y: layout.chunk_rows() * down,
                    chunks: vec![],
                };
                let variable = self.e.private(chunk, 1);
                let value = chunks[layout.index(down, across)];
                self.e.effect(Inst::Store, vec![Operand::IdRef(variable), Operand::IdRef(value)]);
                let mut operands = self.message(&m, surface, surface.store_width, x, row);
                operands.insert(4, Operand::IdRef(variable));
                self.e.effect(Inst::Subgroup2DBlockStoreINTEL, operands);
            }
        }
        Ok(())
    }
}
