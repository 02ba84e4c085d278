//! Owns the count of registers: which tiles and vectors are alive at one time, and how many bytes they take.
//!
//! A part of a tile is in the tile's registers, and a tile with a part replaced is in the part's: nothing is moved. So registers are
//! counted, not values.
//! *Assumes* a kernel whose ops obey their typing rules. *Not here*: whether Intel's compiler spills (`cargo tile verify` asks
//! it).

use crate::error::Span;
use crate::ir::{Exit, Kernel, OpKind, Region, ValueId};
use crate::types::TileType;

/// The largest set of tiles alive at one time.
pub(crate) struct Peak {
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The op where they are alive.
    pub(crate) span: Span,
    /// Their types; of those that share registers, the ones that add some.
    pub(crate) tiles: Vec<String>,
}

/// Rows and columns of a piece: the parts of a tile are made of whole pieces.
const PIECE: (u32, u32) = (8, 8);

/// Registers of a value, which others may share.
#[derive(Clone)]
struct Piece {
    /// Which registers they are.
    id: usize,
    bytes: u64,
}

fn pieces_of(tile: TileType) -> (u32, u32) {
    (tile.rows / PIECE.0, tile.cols / PIECE.1)
}

/// The pieces of every value: one, if no part of it is read or replaced.
fn pieces(kernel: &Kernel) -> Vec<Vec<Piece>> {
    let mut count = 0;
    let mut fresh = |bytes: u64| {
        count += 1;
        Piece { id: count - 1, bytes }
    };
    let mut all: Vec<Vec<Piece>> = kernel.values.iter().map(|t| vec![fresh(t.register_bytes())]).collect();
    let mut cut = |all: &mut Vec<Vec<Piece>>, value: ValueId, tile: TileType| {
        let ((rows, cols), old) = (pieces_of(tile), &mut all[value.0 as usize]);
        let wanted = rows as usize * cols as usize;
        if old.len() != wanted {
            let bytes = u64::from(PIECE.0 * PIECE.1) * u64::from(tile.dtype.size_bytes());
            *old = (0..wanted).map(|_| fresh(bytes)).collect();
        }
    };
    kernel.body.walk(&mut |op| {
        let (whole, part, at) = if let OpKind::SubTile { tile, at } = &op.kind {
            (*tile, op.results.first(), *at)
        } else if let OpKind::SetSubTile { tile, part, at } = &op.kind {
            (*tile, Some(part), *at)
        } else {
            return;
        };
        let (Some(&part), Some(&result)) = (part, op.results.first()) else { return };
        let (Some(outer), Some(inner)) = (kernel.ty(whole).tile(), kernel.ty(part).tile()) else { return };
        cut(&mut all, whole, outer);
        let ((_, across), (high, wide)) = (pieces_of(outer), pieces_of(inner));
        let place = |r: u32, c: u32| ((at.0 * high + r) * across + at.1 * wide + c) as usize;
        let places: Vec<usize> =
            (0..high).flat_map(|r| (0..wide).map(move |c| (r, c))).map(|(r, c)| place(r, c)).collect();
        let mut registers = all[whole.0 as usize].clone();
        if matches!(op.kind, OpKind::SubTile { .. }) {
            registers = places.iter().map(|at| registers[*at].clone()).collect();
        } else {
            cut(&mut all, part, inner);
            for (at, new) in places.iter().zip(&all[part.0 as usize]) {
                registers[*at] = new.clone();
            }
        }
        all[result.0 as usize] = registers;
    });
    all
}

/// The search for the point where the most is alive.
struct Search<'a> {
    kernel: &'a Kernel,
    pieces: Vec<Vec<Piece>>,
    /// For each piece the last look that counted it.
    seen: Vec<u64>,
    looks: u64,
    peak: Peak,
}

impl Search<'_> {
    fn note(&mut self, live: &[bool], span: Span) {
        self.looks += 1;
        let (mut bytes, mut tiles) = (0u64, vec![]);
        for (value, _) in live.iter().enumerate().filter(|(_, on)| **on) {
            let before = bytes;
            for piece in &self.pieces[value] {
                if std::mem::replace(&mut self.seen[piece.id], self.looks) != self.looks {
                    bytes = bytes.saturating_add(piece.bytes);
                }
            }
            if bytes > before {
                tiles.push(value);
            }
        }
        if bytes > self.peak.bytes {
            let tiles = tiles.into_iter().map(|v| self.kernel.values[v].to_string()).collect();
            self.peak = Peak { bytes, span, tiles };
        }
    }
}

/// Finds the point where the most tile bytes are alive. A loop keeps everything alive that its body reads
/// from outside; an op's operands that die at the op share registers with a result of the same type.
pub(crate) fn live_peak(kernel: &Kernel) -> Peak {
    let pieces = pieces(kernel);
    let count = pieces.iter().flatten().map(|p| p.id + 1).max().unwrap_or(0);
    let peak = Peak { bytes: 0, span: Span::NONE, tiles: vec![] };
    let mut search = Search { kernel, pieces, seen: vec![0; count], looks: 0, peak };
    walk_live(&kernel.body, &mut vec![false; kernel.values.len()], &mut search);
    search.peak
}

fn reads_outside(region: &Region) -> Vec<ValueId> {
    let mut inner = region.args.clone();
    let mut reads = vec![];
    region.walk(&mut |op| {
        inner.extend(&op.results);
        for nested in op.kind.regions() {
            inner.extend(&nested.args);
            reads.extend(nested.exit.values());
        }
        reads.extend(op.kind.operands());
    });
    reads.extend(region.exit.values());
    reads.retain(|v| !inner.contains(v));
    reads
}

/// Walks a region backwards; `live` holds what is alive after it and, on return, before it.
fn walk_live(region: &Region, live: &mut [bool], peak: &mut Search) {
    match &region.exit {
        // What lives after the loop lives at a `break` too; it is in `live` already, as are the next iteration's reads.
        Exit::Yield(values) | Exit::Break(values) | Exit::Continue(values) => {
            values.iter().for_each(|v| live[v.0 as usize] = true);
        }
        Exit::Return => live.fill(false),
    }
    for op in region.ops.iter().rev() {
        let mut with_results = live.to_vec();
        op.results.iter().for_each(|v| with_results[v.0 as usize] = true);
        peak.note(&with_results, op.span);
        op.results.iter().for_each(|v| live[v.0 as usize] = false);
        match &op.kind {
            OpKind::For { .. } | OpKind::While { .. } => {
                let outside: Vec<ValueId> = op.kind.regions().into_iter().flat_map(reads_outside).collect();
                outside.iter().for_each(|v| live[v.0 as usize] = true);
                for region in op.kind.regions() {
                    walk_live(region, &mut live.to_vec(), peak);
                }
            }
            OpKind::If { then, otherwise, .. } => {
                let mut before = live.to_vec();
                for branch in [then, otherwise] {
                    let mut inside = live.to_vec();
                    walk_live(branch, &mut inside, peak);
                    inside.iter().enumerate().filter(|(_, on)| **on).for_each(|(i, _)| before[i] = true);
                }
                live.copy_from_slice(&before);
            }
            OpKind::Const(_)
            | OpKind::Binary { .. }
            | OpKind::Unary { .. }
            | OpKind::Compare { .. }
            | OpKind::Cast { .. }
            | OpKind::Dim { .. }
            | OpKind::Place(_)
            | OpKind::OwnTile { .. }
            | OpKind::Zeros
            | OpKind::Load { .. }
            | OpKind::Prefetch { .. }
            | OpKind::Store { .. }
            | OpKind::Mma { .. }
            | OpKind::Convert { .. }
            | OpKind::Fill { .. }
            | OpKind::MapUnary { .. }
            | OpKind::MapBinary { .. }
            | OpKind::MapTernary { .. }
            | OpKind::Selection(_)
            | OpKind::Vector(_)
            | OpKind::Reduce { .. }
            | OpKind::LoadScalar { .. }
            | OpKind::KeepFirst { .. }
            | OpKind::Triangle { .. }
            | OpKind::LoadVector { .. }
            | OpKind::Group(_)
            | OpKind::Transpose { .. }
            | OpKind::TopK(_)
            | OpKind::SubTile { .. }
            | OpKind::SetSubTile { .. }
            | OpKind::StoreTranspose { .. }
            | OpKind::AtomicAdd { .. }
            | OpKind::Scale { .. } => {}
        }
        op.kind.operands().iter().for_each(|v| live[v.0 as usize] = true);
        // A convert streams through its operand: source and result are alive together, an accumulation is in place.
        if matches!(op.kind, OpKind::Convert { .. }) {
            let mut both = live.to_vec();
            op.results.iter().for_each(|v| both[v.0 as usize] = true);
            peak.note(&both, op.span);
        }
        peak.note(live, op.span);
    }
    region.args.iter().for_each(|v| live[v.0 as usize] = false);
}
