//! Owns the edge rule: what lies beyond the last column of a surface the hardware does not cut by itself.
//!
//! The hardware cuts rows always, and columns exactly if the surface is at least 64 bytes wide and a multiple of 4
//! bytes (SPV_INTEL_2d_block_io, restrictions). Elsewhere a tile that crosses the last column is masked in registers.
//! An innermost loop is split so that its interior runs hold no mask: the runs before the first crossing are counted
//! outside the loop. Messages of wide vectors (`ops`) cut nothing, so there a row must exist as well.
//!
//! *Guarantees*: after masking, whatever the padding held (NaN too) is 0. *Not here*: the messages (`ops`).

use std::collections::BTreeSet;

use rspirv::spirv::{Capability, Op as Inst, Scope};
use tile_ir::ir::{Coord, GroupOp, Kernel, LoadForm, OpKind, ParamId, Region, Unit, ValueId};
use tile_ir::types::{DType, Encoding, TileType};

use crate::LowerError;
use crate::abi::Surface;
use crate::arith::U32;
use crate::control::{Edge, Lowering};
use crate::coord::Position;
use crate::lanes::{LANES, Layout, footprint};
use crate::module::{Emit, Id, Ty};

/// How an innermost loop is split.
#[derive(Clone)]
pub(crate) struct Split {
    /// Runs before the first that may cross an untrusted edge; may exceed the trip count.
    pub(crate) interior: Id,
    /// The loads this count speaks of, by their results.
    pub(crate) loads: BTreeSet<ValueId>,
}

/// A load of a tile or of a wide vector as the split sees it.
struct Candidate<'a> {
    result: ValueId,
    global: ParamId,
    at: &'a Coord,
    /// Columns of the tensor that it reads.
    cols: u32,
    /// Whether its messages cut nothing: neither the rows, nor a column anywhere.
    wide: bool,
}

/// What a loop body holds: its loads, the values that differ between runs, and whether it holds no other loop.
struct Body<'a> {
    loads: Vec<Candidate<'a>>,
    moving: BTreeSet<ValueId>,
    innermost: bool,
}

impl<'a> Body<'a> {
    fn of(kernel: &Kernel, region: &'a Region) -> Body<'a> {
        let moving = region.args.iter().copied().collect();
        let mut body = Body { loads: vec![], moving, innermost: true };
        region.walk(&mut |op| {
            for nested in op.kind.regions() {
                body.moving.extend(&nested.args);
            }
            match &op.kind {
                OpKind::For { .. } | OpKind::While { .. } => body.innermost = false,
                OpKind::Load { global, at, form } => {
                    if let Some(&result) = op.results.first()
                        && let Some(tile) = kernel.ty(result).tile()
                    {
                        let (_, cols) = footprint(tile, *form);
                        body.loads.push(Candidate { result, global: *global, at, cols, wide: false });
                    }
                }
                OpKind::LoadVector { global, at } => {
                    if let Some(&result) = op.results.first()
                        && let Some(ty) = kernel.ty(result).vector()
                        && ty.encoding == Encoding::Wide
                    {
                        body.loads.push(Candidate { result, global: *global, at, cols: ty.len, wide: true });
                    }
                }
                _ => {}
            }
            // A scalar computed from values that do not move does not move either, wherever it stands.
            let moves = op.kind.operands().iter().any(|v| body.moving.contains(v));
            if moves || !is_scalar(&op.kind) {
                body.moving.extend(&op.results);
            }
        });
        body
    }
}

fn is_scalar(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Const(_)
            | OpKind::Binary { .. }
            | OpKind::Unary { .. }
            | OpKind::Compare { .. }
            | OpKind::Cast { .. }
            | OpKind::Dim { .. }
            | OpKind::Place(_)
    )
}

fn holds_barrier(region: &Region) -> bool {
    let mut found = false;
    region.walk(&mut |op| found |= matches!(op.kind, OpKind::Group(GroupOp::Barrier(_))));
    found
}

impl<'a> Lowering<'a> {
    /// Counts the runs of an innermost loop whose loads certainly do not cross an untrusted edge.
    pub(crate) fn plan_split(
        &mut self,
        body: &'a Region,
        lo: Id,
        step: u32,
        ty: Ty,
        trips: Id,
    ) -> Result<Option<Split>, LowerError> {
        let Body { loads, moving, innermost } = Body::of(self.kernel, body);
        let Some(&counter) = body.args.first() else { return Ok(None) };
        // Sub-groups may cross an edge in different runs, and a barrier in two copies is two barriers.
        if !innermost || loads.is_empty() || holds_barrier(body) {
            return Ok(None);
        }
        let mut split = Split { interior: trips, loads: BTreeSet::new() };
        let zero = self.e.int(ty, 0);
        for load in loads {
            let plane_moves =
                [load.at.batch, load.at.depth].into_iter().flatten().any(|v| moving.contains(&v));
            let Some(fixed) = self.fixed_part(load.at.col, counter, &moving) else { continue };
            if plane_moves || (fixed.counts && ty != U32) {
                continue;
            }
            let surface = self.surface(load.global, load.at.batch, load.at.depth)?;
            if load.wide && (moving.contains(&load.at.row) || self.may_be_odd(load.at, surface)) {
                continue;
            }
            let interior = if fixed.counts {
                let mut base = lo;
                for value in fixed.terms {
                    let id = self.scalar(value)?;
                    base = self.e.add(U32, base, id);
                }
                self.runs_inside(surface, load.at.unit, load.cols, base, step)
            } else {
                let col = self.exact(load.at.col, Self::unit(load.at, load.cols))?;
                let crosses = self.crosses(surface, col, load.cols);
                self.e.select(ty, crosses, zero, trips)
            };
            let safe = if load.wide {
                let row = self.exact(load.at.row, 1)?.at(&mut self.e, 0);
                let exists = self.e.compare(Inst::ULessThan, row, surface.rows);
                self.e.select(ty, exists, interior, zero)
            } else {
                self.e.select(ty, surface.trusted, trips, interior)
            };
            split.interior = self.e.min(ty, split.interior, safe);
            split.loads.insert(load.result);
        }
        Ok((!split.loads.is_empty()).then_some(split))
    }

    /// How many runs `i` keep `base + i * step` at a column whose tile ends inside the plane. A sum that wraps later
    /// does so beyond every plane, and a base that has wrapped is the column it wrapped to.
    fn runs_inside(&mut self, surface: Surface, unit: Unit, cols: u32, base: Id, step: u32) -> Id {
        let e = &mut self.e;
        let zero = e.u32(0);
        let size = e.u32(cols);
        // Coordinates below this are inside.
        let full = match unit {
            Unit::Tiles => e.div(U32, surface.cols, size),
            Unit::Elements => {
                let last = e.sub(U32, surface.cols, size);
                let count = e.add_u32(last, 1);
                let any = e.compare(Inst::UGreaterThanEqual, surface.cols, size);
                e.select(U32, any, count, zero)
            }
        };
        let left = e.sub(U32, full, base);
        let some = e.compare(Inst::UGreaterThan, full, base);
        let left = e.select(U32, some, left, zero);
        e.div_ceil_u32(left, step)
    }

    /// Reads a column as [counter +] values the loop does not change; `None` if it is something else.
    fn fixed_part(&self, col: ValueId, counter: ValueId, moving: &BTreeSet<ValueId>) -> Option<FixedPart> {
        if col == counter {
            return Some(FixedPart { counts: true, terms: vec![] });
        }
        if !moving.contains(&col) {
            return Some(FixedPart { counts: false, terms: vec![col] });
        }
        let (lhs, rhs) = self.addends(col)?;
        let other = match (lhs == counter, rhs == counter) {
            (true, _) => rhs,
            (_, true) => lhs,
            (false, false) => return None,
        };
        (!moving.contains(&other)).then(|| FixedPart { counts: true, terms: vec![other] })
    }

    /// How a load treats the last column where the emission stands.
    pub(crate) fn edge_of(&self, result: ValueId) -> Edge {
        match &self.split {
            Some((split, edge)) if split.loads.contains(&result) => *edge,
            Some(_) | None => Edge::Test,
        }
    }

    /// `bool`: a tile of `cols` columns at `col` reaches beyond the last column of the plane.
    pub(crate) fn crosses(&mut self, surface: Surface, col: Position, cols: u32) -> Id {
        let end = col.at(&mut self.e, cols);
        self.e.compare(Inst::UGreaterThan, end, surface.cols)
    }

    /// Sets every element of a loaded tile beyond the last column to 0.
    pub(crate) fn mask(
        &mut self,
        chunks: &[Id],
        tile: TileType,
        form: LoadForm,
        surface: Surface,
        col: Position,
    ) -> Vec<Id> {
        let layout = Layout::of(tile);
        let mut out = chunks.to_vec();
        for across in 0..layout.across() {
            for down in 0..layout.down() {
                let index = layout.index(down, across);
                out[index] = self.masked_chunk(out[index], tile, form, surface, col, (down, across));
            }
        }
        out
    }

    /// One chunk of a loaded tile with every element beyond the last column set to 0.
    pub(crate) fn masked_chunk(
        &mut self,
        chunk: Id,
        tile: TileType,
        form: LoadForm,
        surface: Surface,
        col: Position,
        (down, across): (u32, u32),
    ) -> Id {
        let layout = Layout::of(tile);
        let mask = match form {
            LoadForm::Plain | LoadForm::Transform => {
                self.column_mask(surface, col, layout.chunk_cols() * across, tile, form)
            }
            LoadForm::Transpose if tile.role.is_right_operand() => {
                self.words_mask(surface.cols, col, layout.chunk_rows() * down, 32, 4 / surface.esz)
            }
            LoadForm::Transpose => {
                self.words_mask(surface.cols, col, layout.chunk_rows() * down, layout.component_bits(), 1)
            }
        };
        self.masked(chunk, mask, layout.chunk())
    }

    fn masked(&mut self, chunk: Id, mask: Id, ty: Ty) -> Id {
        let e = &mut self.e;
        let bits = match ty {
            Ty::Float8(bits) => Ty::Int8(bits),
            Ty::FloatVec(bits, count) => Ty::IntVec(bits, count),
            Ty::Bool
            | Ty::Int(_)
            | Ty::Float(_)
            | Ty::Bool8
            | Ty::Int8(_)
            | Ty::IntVec(..)
            | Ty::BoolVec(_) => {
                return e.pure(Inst::BitwiseAnd, ty, &[chunk, mask]);
            }
        };
        let word = e.pure(Inst::Bitcast, bits, &[chunk]);
        let kept = e.pure(Inst::BitwiseAnd, bits, &[word, mask]);
        e.pure(Inst::Bitcast, ty, &[kept])
    }

    /// All bits where this lane's columns are inside, in each component of a chunk.
    fn column_mask(
        &mut self,
        surface: Surface,
        col: Position,
        offset: u32,
        tile: TileType,
        form: LoadForm,
    ) -> Id {
        let lane = self.lane();
        let bytes = form == LoadForm::Plain && tile.dtype.size_bytes() == 1;
        let e = &mut self.e;
        let first = col.at(e, offset);
        if bytes {
            // Two columns in a component of 16 bits.
            let twice = e.mul_u32(lane, 2);
            let column = e.add(U32, first, twice);
            let word = mask_of(e, surface.cols, column, 16, 2);
            return e.pure(Inst::CompositeConstruct, Ty::Int8(16), &[word; 8]);
        }
        if form == LoadForm::Plain && tile.dtype == DType::Tf32 {
            // Two rows of 8 columns in a component.
            let column = e.and_u32(lane, 7);
            let column = e.add(U32, first, column);
            let word = mask_of(e, surface.cols, column, 32, 1);
            return e.pure(Inst::CompositeConstruct, Ty::IntVec(32, 4), &[word; 4]);
        }
        let bits = if form == LoadForm::Plain { 8 * tile.dtype.size_bytes() } else { 32 };
        let column = e.add(U32, first, lane);
        let word = mask_of(e, surface.cols, column, bits, 1);
        e.pure(Inst::CompositeConstruct, Ty::Int8(bits), &[word; 8])
    }

    /// For a transposed tile: component `i` holds in `bits` bits the next `per` columns of the tensor from `offset` on, the
    /// same in every lane; those below `limit` are inside. In a packed operand these are 4 bytes, or 2 elements of 16 bits, or 1
    /// of tf32.
    ///
    /// Lane `l` computes the mask of word `l`, and a broadcast hands it to all: a constant lane costs no instruction
    /// (xe_facts 5), whereas 16 scalar masks would take 100 and spill.
    pub(crate) fn words_mask(&mut self, limit: Id, col: Position, offset: u32, bits: u32, per: u32) -> Id {
        let words = offset / per;
        let lane = self.lane();
        let e = &mut self.e;
        e.need(Capability::Groups);
        let base = col.at(e, per * (words / LANES * LANES));
        let skipped = e.mul_u32(lane, per);
        let first = e.add(U32, base, skipped);
        let word = mask_of(e, limit, first, bits, per);
        let scope = e.u32(Scope::Subgroup as u32);
        let words: Vec<Id> = (0..8)
            .map(|i| {
                let from = e.u32(words % LANES + i);
                e.pure(Inst::GroupBroadcast, Ty::Int(bits), &[scope, word, from])
            })
            .collect();
        e.pure(Inst::CompositeConstruct, Ty::Int8(bits), &words)
    }
}

/// The bits of a word of `per` neighbouring elements that lie below a limit, the first of them at a column.
fn mask_of(e: &mut Emit, limit: Id, column: Id, bits: u32, per: u32) -> Id {
    let ty = Ty::Int(bits);
    let columns: Vec<Id> = (0..per).map(|i| e.add_u32(column, i)).collect();
    let inside: Vec<Id> = columns.into_iter().map(|c| e.compare(Inst::ULessThan, c, limit)).collect();
    let mut word = e.int(ty, 0);
    for (i, inside) in (1..).zip(inside) {
        let ones = e.int(ty, (1 << (bits / per * i)) - 1);
        word = e.select(ty, inside, ones, word);
    }
    word
}

/// A column that a loop's counter moves by whole steps, or not at all.
struct FixedPart {
    counts: bool,
    terms: Vec<ValueId>,
}
