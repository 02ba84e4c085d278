//! Owns the emission of what is special to wide vectors: loads, stores, reductions, positions.
//!
//! A wide vector is held as chunks (`lanes`), so that element-wise ops treat it as a tile. Every lane moves 8 neighbouring
//! elements at a time, which are 16 bytes, or 32 of 32-bit elements: one message for 128 elements (xe_facts 7; 4 B alignment is
//! enough). A vector that crosses the last column, or begins at an odd 16-bit element, moves element by element.
//!
//! *Guarantees*: an element outside the plane is 0, and no byte outside it is touched.

use rspirv::dr::Operand;
use rspirv::spirv::{MemoryAccess, Op as Inst};
use tile_ir::ir::{Coord, Extreme, ParamId, Reduction, ValueId};
use tile_ir::types::{DType, TileType, VectorType, WIDE_UNIT};

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::{U32, U64};
use crate::control::{Edge, Lowering, Value};
use crate::coord::Position;
use crate::lanes::{LANES, Layout, wide_tile};
use crate::module::{Id, Ty};
use crate::ops::map::{CHUNK, Form};
use crate::ops::vector_reduce::CHUNK_KEYS;

/// Neighbouring elements in a lane.
const PER_LANE: u32 = WIDE_UNIT / LANES;

/// Where a wide vector lies in memory.
#[derive(Clone, Copy)]
struct Place {
    surface: Surface,
    row: Id,
    /// The first column of the vector.
    start: Position,
    /// The first column of this lane.
    col: Position,
}

/// A lane's 8 elements as a message moves them: in 32-bit words, whatever the elements.
fn message_words(surface: Surface) -> Ty {
    if surface.esz == 4 { Ty::Int8(32) } else { Ty::IntVec(32, 2 * surface.esz) }
}

impl Lowering<'_> {
    fn wide_place(&mut self, ty: VectorType, global: ParamId, at: &Coord) -> Result<Place, LowerError> {
        let surface = self.surface(global, at.batch, at.depth)?;
        let row = self.exact(at.row, 1)?.at(&mut self.e, 0);
        let start = self.exact(at.col, Self::unit(at, ty.len))?;
        let lane = self.lane();
        let before = self.e.mul_u32(lane, PER_LANE);
        let col = start.plus(&mut self.e, before);
        Ok(Place { surface, row, start, col })
    }

    /// Two `bool`s: the row exists and has columns; elements move one by one.
    fn wide_edge(&mut self, ty: VectorType, place: Place, at: &Coord) -> (Id, Id) {
        let Place { surface, row, start, .. } = place;
        let has_row = self.e.compare(Inst::ULessThan, row, surface.rows);
        // A plane that does not exist has no columns.
        let none = self.e.u32(0);
        let has_columns = self.e.compare(Inst::UGreaterThan, surface.cols, none);
        let exists = self.e.both_true(has_row, has_columns);
        let mut by_element = self.crosses(surface, start, ty.len);
        if self.may_be_odd(at, surface) {
            let column = start.at(&mut self.e, 0);
            let odd = self.is_odd(column, surface);
            by_element = self.e.pure(Inst::LogicalOr, Ty::Bool, &[by_element, odd]);
        }
        (exists, by_element)
    }

    /// `load_vec` of a wide vector.
    pub(super) fn lower_load_wide(
        &mut self,
        result: ValueId,
        ty: VectorType,
        global: ParamId,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let place = self.wide_place(ty, global, at)?;
        let layout = Layout::of(wide_tile(ty));
        // The ways meet in words: IGC moves the 16-bit elements of each way apart and together again otherwise.
        let words = message_words(place.surface);
        let mut chunks = if self.edge_of(result) == Edge::Never {
            self.wide_whole(place, layout)
        } else {
            let (exists, by_element) = self.wide_edge(ty, place, at);
            let types = vec![words; layout.count()];
            let zero = self.e.null(words);
            let zeros = vec![zero; layout.count()];
            self.branch(
                exists,
                &types,
                |s| {
                    s.branch(
                        by_element,
                        &types,
                        |s| s.wide_elements(place, layout).map(Some),
                        |s| Ok(Some(s.wide_whole(place, layout))),
                    )
                },
                |_| Ok(Some(zeros)),
            )?
            .ok_or(LowerError::Malformed("a branch has no way on"))?
        };
        if words != layout.chunk() {
            chunks = chunks.into_iter().map(|w| self.e.pure(Inst::Bitcast, layout.chunk(), &[w])).collect();
        }
        self.set(result, Value::Tile(chunks));
        Ok(())
    }

    /// The address of this lane's part of the first chunk.
    fn wide_address(&mut self, place: Place) -> Id {
        let first = place.col.at(&mut self.e, 0);
        self.address(place.surface, place.row, first)
    }

    fn beyond(&mut self, address: Id, chunk: u32, surface: Surface) -> Id {
        let offset = self.e.u64(u64::from(WIDE_UNIT * chunk * surface.esz));
        self.e.add(U64, address, offset)
    }

    fn wide_whole(&mut self, place: Place, layout: Layout) -> Vec<Id> {
        let address = self.wide_address(place);
        let words = message_words(place.surface);
        let mut out = vec![];
        for b in 0..layout.across() {
            let address = self.beyond(address, b, place.surface);
            let from = self.pointer_as(words, address);
            let ty = self.e.ty(words);
            let access = [Operand::MemoryAccess(MemoryAccess::ALIGNED), Operand::LiteralBit32(4)];
            out.push(self.e.value(
                Inst::Load,
                ty,
                std::iter::once(Operand::IdRef(from)).chain(access).collect(),
            ));
        }
        out
    }

    /// Chunk after chunk, each behind a branch: all together would hold more words than there are registers.
    fn wide_elements(&mut self, place: Place, layout: Layout) -> Result<Vec<Id>, LowerError> {
        let words = message_words(place.surface);
        let zero = self.e.null(words);
        let mut out = vec![];
        for b in 0..layout.across() {
            let first = place.start.at(&mut self.e, WIDE_UNIT * b);
            let begins_inside = self.e.compare(Inst::ULessThan, first, place.surface.cols);
            let chunk = self.branch(
                begins_inside,
                &[words],
                |s| Ok(Some(vec![s.wide_words_by_element(place, b)])),
                |_| Ok(Some(vec![zero])),
            )?;
            out.extend(chunk.ok_or(LowerError::Malformed("a branch has no way on"))?);
        }
        Ok(out)
    }

    /// The words of the chunk of number `b`, of which an element is inside.
    ///
    /// Made by arithmetic: IGC splits words that are only elements side by side, and with them those of the other way.
    fn wide_words_by_element(&mut self, place: Place, b: u32) -> Id {
        let surface = place.surface;
        let one = self.e.u32(1);
        let last = self.e.sub(U32, surface.cols, one);
        let zero = self.e.u32(0);
        let per_word = 4 / surface.esz;
        let mut words = vec![];
        for c in 0..PER_LANE {
            let column = place.col.at(&mut self.e, WIDE_UNIT * b + c);
            let inside = self.e.compare(Inst::ULessThan, column, surface.cols);
            // A lane outside reads the last column instead, so that all lanes read together.
            let column = self.e.min(U32, column, last);
            let bits = self.read_word(surface, place.row, column);
            let bits = if surface.esz == 4 { bits } else { self.e.resize(U32, bits) };
            let bits = self.e.select(U32, inside, bits, zero);
            match words.last_mut() {
                Some(word) if c % per_word != 0 => {
                    let by = self.e.u32(8 * surface.esz * (c % per_word));
                    let shifted = self.e.pure(Inst::ShiftLeftLogical, U32, &[bits, by]);
                    *word = self.e.pure(Inst::BitwiseOr, U32, &[*word, shifted]);
                }
                _ => words.push(bits),
            }
        }
        let ty = self.e.ty(message_words(surface));
        self.e.value(Inst::CompositeConstruct, ty, words.into_iter().map(Operand::IdRef).collect())
    }

    /// `store_vec` of a wide vector.
    pub(super) fn lower_store_wide(
        &mut self,
        global: ParamId,
        value: ValueId,
        ty: VectorType,
        at: &Coord,
    ) -> Result<(), LowerError> {
        let chunks = self.tile(value)?;
        let place = self.wide_place(ty, global, at)?;
        let (exists, by_element) = self.wide_edge(ty, place, at);
        let tile = wide_tile(ty);
        let none = || Ok(Some(vec![]));
        self.branch(
            exists,
            &[],
            |s| {
                s.branch(
                    by_element,
                    &[],
                    |s| s.store_wide(&chunks, place, tile, true).and_then(|()| none()),
                    |s| s.store_wide(&chunks, place, tile, false).and_then(|()| none()),
                )
            },
            |_| none(),
        )?;
        Ok(())
    }

    fn store_wide(
        &mut self,
        chunks: &[Id],
        place: Place,
        tile: TileType,
        by_element: bool,
    ) -> Result<(), LowerError> {
        let address = self.wide_address(place);
        for (b, &chunk) in (0..).zip(chunks) {
            let address = self.beyond(address, b, place.surface);
            if by_element {
                self.store_run_by_element(chunk, tile, place.surface, (place.col, WIDE_UNIT * b), address)?;
            } else {
                self.store_run(chunk, tile, place.surface, address);
            }
        }
        Ok(())
    }

    /// The components of a chunk combined by halves.
    fn within(&mut self, how: Reduction, dtype: DType, mut parts: Vec<Id>) -> Id {
        while parts.len() > 1 {
            let (left, right) = parts.split_at(parts.len() / 2);
            let pairs: Vec<(Id, Id)> = left.iter().copied().zip(right.iter().copied()).collect();
            parts = pairs
                .into_iter()
                .map(|(x, y)| self.binary_of(Form::Register, dtype, how.combiner(), x, y))
                .collect();
        }
        parts[0]
    }

    fn components(&mut self, dtype: DType, chunk: Id) -> Vec<Id> {
        (0..PER_LANE).map(|i| self.component(dtype, chunk, i)).collect()
    }

    /// The reduction of a wide vector: chunks from left to right, then each lane's 8 elements, then the lanes.
    pub(super) fn reduced_wide(
        &mut self,
        how: Reduction,
        vector: ValueId,
        ty: VectorType,
    ) -> Result<Id, LowerError> {
        let mut sum = None;
        for chunk in self.tile(vector)? {
            let next = self.widened(ty.dtype, CHUNK, chunk);
            sum = Some(match sum {
                Some(sum) => self.binary_of(Form::Chunk, ty.dtype, how.combiner(), sum, next),
                None => next,
            });
        }
        let sum = sum.ok_or(LowerError::Malformed("a vector has no registers"))?;
        let parts = self.components(ty.dtype, sum);
        Ok(self.within(how, ty.dtype, parts))
    }

    /// The best key in each lane of a wide vector, and the keys and indices of the 8 elements that it is among.
    pub(super) fn arg_wide(
        &mut self,
        how: Extreme,
        vector: ValueId,
        ty: VectorType,
    ) -> Result<(Id, Vec<[Id; 2]>), LowerError> {
        let mut best: Option<[Id; 2]> = None;
        for (b, chunk) in (0..).zip(self.tile(vector)?) {
            let elements = self.widened(ty.dtype, CHUNK, chunk);
            let next = [
                self.keys(CHUNK_KEYS, how, ty.dtype, elements),
                self.number(CHUNK_KEYS, u64::from(WIDE_UNIT * b)),
            ];
            best = Some(match best {
                Some(best) => self.better(CHUNK_KEYS, best, next),
                None => next,
            });
        }
        let [keys, firsts] = best.ok_or(LowerError::Malformed("a vector has no registers"))?;
        let (keys, firsts) = (self.components(DType::I32, keys), self.components(DType::I32, firsts));
        let lane = self.lane();
        let before = self.e.mul_u32(lane, PER_LANE);
        let mut all = vec![];
        for (c, (&key, first)) in (0..).zip(keys.iter().zip(firsts)) {
            let inner = self.e.add_u32(before, c);
            all.push([key, self.e.add(U32, first, inner)]);
        }
        Ok((self.within(Reduction::Max, DType::I32, keys), all))
    }
}
