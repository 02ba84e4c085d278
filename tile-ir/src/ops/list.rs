//! Owns the list of all ops: what each is called in kernel source, what it does, how exact it is.
//!
//! *Guarantees*: a new kind of op does not compile before it has a [`Family`] here, and the op contract test fails by name for
//! a family that lacks a call, a golden file, a typing rule, a run or a documented example. The language reference is generated from this list.
//! *Not here*: which operand types an op takes (`ops::check`), what it computes (`map`, `scalar`).

mod vector;

use crate::ir::{Barrier, GroupOp, LoadForm, Logic, OpKind, Place, Reduction, Selection, VectorOp};
use crate::map::{MapBinary, MapTernary, MapUnary};
use crate::scalar::{Binary, Compare, Unary};
use crate::types::Along;

macro_rules! families {
    ($( $(#[doc = $doc:literal])+ $V:ident = $title:literal ),+ $(,)?) => {
        /// A kind of op: the ops that share a typing rule and a lowering.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Family { $( $(#[doc = $doc])+ $V ),+ }

        impl Family {
            /// Every kind, in the order of the reference.
            pub const ALL: &'static [Family] = &[ $( Family::$V ),+ ];
            /// Its heading in the reference.
            pub const fn title(self) -> &'static str { match self { $( Family::$V => $title ),+ } }
            /// What its ops have in common, as sentences.
            pub const fn doc(self) -> &'static str { match self { $( Family::$V => concat!($($doc),+).trim_ascii() ),+ } }
        }
    };
}

families! {
    /// The tile of the output that only this sub-group has: what a safe kernel stores to.
    OwnTile = "The owned tile",
    /// The place of the sub-group in its work-group.
    Place = "Places",
    /// A dimension of a tensor.
    Dim = "Dimensions of a tensor",
    /// A tile of zeros, of the written type.
    Zeros = "Zeros",
    /// A tile or vector of one value, rounded to the written type.
    Fill = "Fill",
    /// A tile from memory, of the written type; elements outside the tensor are 0.
    Load = "Loads of tiles",
    /// A vector from consecutive elements of one row of a tensor; elements outside the tensor are 0.
    LoadVector = "Loads of vectors",
    /// One element of a tensor as an f32 scalar; 0 outside the tensor.
    LoadScalar = "Loads of scalars",
    /// Warms the caches with a tile, and has no other effect.
    Prefetch = "Prefetches",
    /// Writes a tile; elements outside the tensor are dropped.
    Store = "Stores of tiles",
    /// Stores a vector to consecutive elements of one row of an output: with `store_vec` at the place that belongs to the owned tile (a
    /// `PerCol` vector to row `at.row()`, as its `at.col()`-th vector; a `PerRow` vector to row `at.col()`, as its `at.row()`-th), with
    /// `store_vec_at`, in an `unsafe` kernel, anywhere. Elements outside the tensor are dropped.
    StoreVector = "Stores of vectors",
    /// Adds to elements of an output of f32 or i32 that other sub-groups may be adding to, each in one indivisible step; elements outside
    /// the tensor are dropped. The order of the additions is open.
    AtomicAdd = "Atomic adds",
    /// Adds the product of two tiles to an accumulator.
    Mma = "Matrix multiplication",
    /// Converts the elements, rounding to nearest even.
    Convert = "Conversions",
    /// Multiplies every element by an f32 scalar.
    Scale = "Scaling",
    /// Element-wise ops of one operand. 16-bit elements are computed in f32 and rounded once.
    MapUnary = "Element-wise ops of one operand",
    /// Element-wise ops of two operands: the right one has the left one's type, or is an f32 scalar for all elements, or (in the
    /// forms that end in `_row` and `_col`) an f32 vector with one element per row or column of the tile.
    MapBinary = "Element-wise ops of two operands",
    /// Element-wise ops of three operands: each of the last two has the first one's type, or is an f32 scalar for all elements.
    MapTernary = "Element-wise ops of three operands",
    /// Comparisons of tiles and vectors, which give a mask (`rt<bool, ..>`, `rv<bool, ..>`). The right operand is what an
    /// element-wise op of two operands takes.
    MapCompare = "Comparisons of elements",
    /// Masks combined element by element, and asked for a true one.
    Logic = "Combinations of masks",
    /// The elements of one operand where a mask is true, and of another elsewhere.
    Select = "Selection",
    /// A vector or tile of positions, of the written type: a scalar plus the row, column or index of every element.
    Iota = "Positions",
    /// Reductions of a tile: `row_*` gives one f32 per row, `col_*` one per column; the forms that end in `_with` go on
    /// from a running vector.
    Reduce = "Reductions",
    /// The k largest elements of every row or column, largest first, as a tile of f32 (or i32) values and one of i32 indices. NaN ranks
    /// above every number, zeros of both signs are equal, of equal elements the one of the lower index comes first. Zeros come out as
    /// +0. Past the first k, values are -inf (the least i32) and indices -1. The forms that end in `_with` go on from running values
    /// and indices; a running element of index -1 is none.
    TopK = "Top-k",
    /// Reductions of a vector to a scalar: f32, or i32 for a vector of integers. All lanes have it, so it may decide a branch.
    ReduceVector = "Reductions of vectors",
    /// Positions, as i32, of the largest or smallest element: of every row or column of a tile as a vector, of a vector as a scalar. NaN
    /// loses to every number, as in `row_max`, and of equal elements (the two zeros are equal) the first one counts; where all are NaN, that is index 0.
    Arg = "Positions of the largest and smallest",
    /// The elements of a vector, in order, in the other encoding.
    Encode = "Conversions between encodings",
    /// Keeps the first columns or rows of a tile and replaces the others.
    KeepFirst = "Tail masks",
    /// Keeps the elements on one side of a diagonal and replaces the others.
    Triangle = "Triangular masks",
    /// Moves tiles and vectors between registers and the shared memory of a work-group, which `shared()` makes.
    SharedMove = "Shared memory",
    /// Copies a tile between a tensor and shared memory; the sub-groups of the work-group share the work.
    SharedCopy = "Cooperative copies",
    /// Orders what the sub-groups of a work-group do to shared memory.
    Barrier = "Barriers",
    /// The transpose of a tile, as a `Row` tile.
    Transpose = "Transposes",
    /// Parts of a tile, at places known at compile time.
    SubTile = "Parts of tiles",
    /// A literal, or a constant of f32 that no literal has.
    Const = "Scalar constants",
    /// Scalar arithmetic of two operands of one type.
    Binary = "Scalar arithmetic",
    /// Scalar negation and complement.
    Unary = "Scalar negation and complement",
    /// Scalar comparisons, which give `bool`.
    Compare = "Scalar comparisons",
    /// Scalar conversions with `as`.
    Cast = "Scalar conversions",
    /// Counted loops.
    For = "Counted loops",
    /// Loops with a condition.
    While = "Conditional loops",
    /// Branches.
    If = "Branches",
}

/// How close the result of an op is to the exact one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// Every target gives these very bits (NaN payloads aside).
    Exact,
    /// Within so many units in the last place of f32, before the result is rounded to its type.
    Ulp(u32),
    /// Rounded after every step, in an order that the target chooses.
    AnyOrder,
}

/// An op as documentation and tests see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub family: Family,
    /// Its name in the text form: what [`OpKind::name`] gives.
    pub name: String,
    /// How kernel source spells it: functions, methods, operators, keywords.
    pub calls: Vec<String>,
    /// What it does, as a sentence.
    pub doc: &'static str,
    /// How close its result is.
    pub accuracy: Accuracy,
}

impl OpKind {
    /// The kind of op.
    pub const fn family(&self) -> Family {
        match self {
            OpKind::Const(_) => Family::Const,
            OpKind::Binary { .. } => Family::Binary,
            OpKind::Unary { .. } => Family::Unary,
            OpKind::Compare { .. } => Family::Compare,
            OpKind::Cast { .. } => Family::Cast,
            OpKind::Dim { .. } => Family::Dim,
            OpKind::Place(_) => Family::Place,
            OpKind::OwnTile { .. } => Family::OwnTile,
            OpKind::Zeros => Family::Zeros,
            OpKind::Load { .. } => Family::Load,
            OpKind::Prefetch { .. } => Family::Prefetch,
            OpKind::Store { .. } | OpKind::StoreTranspose { .. } => Family::Store,
            OpKind::AtomicAdd { .. } => Family::AtomicAdd,
            OpKind::Transpose { .. } => Family::Transpose,
            OpKind::SubTile { .. } | OpKind::SetSubTile { .. } => Family::SubTile,
            OpKind::Mma { .. } => Family::Mma,
            OpKind::Convert { .. } => Family::Convert,
            OpKind::Scale { .. } => Family::Scale,
            OpKind::Fill { .. } => Family::Fill,
            OpKind::MapUnary { .. } => Family::MapUnary,
            OpKind::MapBinary { .. } => Family::MapBinary,
            OpKind::MapTernary { .. } => Family::MapTernary,
            OpKind::Selection(Selection::Compare { .. }) => Family::MapCompare,
            OpKind::Selection(Selection::Logic { .. } | Selection::Not { .. } | Selection::Any { .. }) => {
                Family::Logic
            }
            OpKind::Selection(Selection::Select { .. }) => Family::Select,
            OpKind::Selection(Selection::Iota { .. }) => Family::Iota,
            OpKind::Reduce { .. } => Family::Reduce,
            OpKind::TopK(_) => Family::TopK,
            OpKind::Vector(VectorOp::Store { .. }) => Family::StoreVector,
            OpKind::Vector(VectorOp::Reduce { .. }) => Family::ReduceVector,
            OpKind::Vector(VectorOp::Arg { .. } | VectorOp::ArgLines { .. }) => Family::Arg,
            OpKind::Vector(VectorOp::Encode { .. }) => Family::Encode,
            OpKind::LoadVector { .. } => Family::LoadVector,
            OpKind::LoadScalar { .. } => Family::LoadScalar,
            OpKind::KeepFirst { .. } => Family::KeepFirst,
            OpKind::Triangle { .. } => Family::Triangle,
            OpKind::Group(GroupOp::Load { .. } | GroupOp::Store { .. }) => Family::SharedMove,
            OpKind::Group(GroupOp::LoadCoop { .. } | GroupOp::StoreCoop { .. }) => Family::SharedCopy,
            OpKind::Group(GroupOp::Barrier(_)) => Family::Barrier,
            OpKind::For { .. } => Family::For,
            OpKind::While { .. } => Family::While,
            OpKind::If { .. } => Family::If,
        }
    }
}

impl Family {
    fn entry(self, name: &str, calls: &[&str], accuracy: Accuracy, doc: &'static str) -> Entry {
        let calls = calls.iter().map(|c| (*c).to_string()).collect();
        Entry { family: self, name: name.to_string(), calls, doc: doc.trim_ascii(), accuracy }
    }

    /// One entry whose op does what the family says.
    fn single(self, name: &str, calls: &[&str], accuracy: Accuracy) -> Vec<Entry> {
        vec![self.entry(name, calls, accuracy, self.doc())]
    }

    /// The ops of the family.
    pub fn entries(self) -> Vec<Entry> {
        use Accuracy::{AnyOrder, Exact};
        match self {
            Family::OwnTile => {
                self.single("own_tile", &["own_tile", "batch", "depth", "row", "col", "outside"], Exact)
            }
            Family::Place => Place::ALL
                .iter()
                .map(|p| {
                    let doc = match p {
                        Place::Id => "The number of the sub-group in its work-group, counted row by row.",
                        Place::Row => "The row of the sub-group in the grid of its work-group.",
                        Place::Col => "The column of the sub-group in the grid of its work-group.",
                    };
                    self.entry(p.name(), &[p.name()], Exact, doc)
                })
                .collect(),
            Family::Dim => self.single(
                "dim",
                &["batch", "depth", "rows", "cols", "pitch", "row_tiles", "col_tiles"],
                Exact,
            ),
            Family::Zeros => self.single("zeros", &["zeros"], Exact),
            Family::Fill => self.single("fill", &["fill"], Exact),
            Family::Load => LoadForm::ALL
                .iter()
                .map(|form| {
                    let doc = match form {
                        LoadForm::Plain => "Loads a tile as it lies in memory.",
                        LoadForm::Transform => {
                            "Loads a right operand from a [K, N] tensor, packing it on the way."
                        }
                        LoadForm::Transpose => {
                            "Loads a right operand, or a `Row` tile, from an [N, K] tensor, transposing it on the way."
                        }
                    };
                    self.entry(form.name(), &[form.name()], Exact, doc)
                })
                .collect(),
            Family::LoadVector => self.single("load_vec", &["load_vec"], Exact),
            Family::LoadScalar => self.single("load_scalar", &["load_scalar"], Exact),
            Family::Prefetch => {
                let [whole, shared] = [
                    "Warms the caches with a whole tile.",
                    "Warms the caches with a tile that the sub-groups of a row or column of the work-group share: each fetches its part.",
                ];
                vec![
                    self.entry("prefetch_load", &["prefetch_load"], Exact, whole),
                    self.entry("prefetch_load_coop", &["prefetch_load_coop"], Exact, shared),
                ]
            }
            Family::Store => vec![
                self.entry("store", &["store", "store_at"], Exact, "Stores a tile as it is."),
                self.entry("store_transpose", &["store_transpose"], Exact, "Stores the transpose of a tile."),
            ],
            Family::AtomicAdd => {
                let [tile, vector] = [
                    "Adds a tile to a tensor, element by element.",
                    "Adds a vector to consecutive elements of one row of a tensor.",
                ];
                vec![
                    self.entry("atomic_add", &["atomic_add"], AnyOrder, tile),
                    self.entry("atomic_add_vec", &["atomic_add_vec"], AnyOrder, vector),
                ]
            }
            Family::Transpose => self.single("transpose", &["transpose"], Exact),
            Family::SubTile => {
                let [part, set] = ["Reads a part of a tile as a tile of its own.", "Replaces a part of a tile."];
                vec![
                    self.entry("sub_tile", &["sub_tile"], Exact, part),
                    self.entry("set_sub_tile", &["set_sub_tile"], Exact, set),
                ]
            }
            Family::Mma => self.single("mma", &["mma_AB", "mma_ABt"], AnyOrder),
            Family::Convert => self.single("to", &["to"], Exact),
            Family::Scale => self.single("scale", &["scale"], Exact),
            Family::MapUnary => MapUnary::ALL
                .iter()
                .map(|op| self.entry(op.name(), &[op.name()], of_ulp(op.ulp()), op.doc()))
                .collect(),
            Family::MapBinary => MapBinary::ALL
                .iter()
                .map(|op| {
                    let name = op.name();
                    let calls = [name, &format!("{name}_row"), &format!("{name}_col")];
                    self.entry(name, &calls, of_ulp(op.ulp()), op.doc())
                })
                .collect(),
            Family::MapTernary => MapTernary::ALL
                .iter()
                .map(|op| self.entry(op.name(), &[op.name()], of_ulp(op.ulp()), op.doc()))
                .collect(),
            Family::MapCompare => Compare::ALL
                .iter()
                .map(|op| {
                    let name = op.name();
                    let calls = [name, &format!("{name}_row"), &format!("{name}_col")];
                    self.entry(name, &calls, Exact, op.doc())
                })
                .collect(),
            Family::Logic => {
                let [and, or, xor, not, any] = [
                    "True where both masks are.",
                    "True where one of two masks is.",
                    "True where just one of two masks is.",
                    "True where the mask is not.",
                    "Says whether the mask is true for any element: a scalar.",
                ];
                let named = [
                    (Logic::And.name(), and),
                    (Logic::Or.name(), or),
                    (Logic::Xor.name(), xor),
                    ("not", not),
                    ("any", any),
                ];
                named.iter().map(|(name, doc)| self.entry(name, &[name], Exact, doc)).collect()
            }
            Family::Select => self.single("select", &["select"], Exact),
            Family::Iota => {
                let [rows, cols] = [
                    "A scalar plus the row of every element, or its index in a vector along rows.",
                    "A scalar plus the column of every element, or its index in a vector along columns.",
                ];
                vec![
                    self.entry("iota_rows", &["iota_rows", "iota"], Exact, rows),
                    self.entry("iota_cols", &["iota_cols", "iota"], Exact, cols),
                ]
            }
            Family::Reduce => reductions(),
            Family::TopK => {
                let [rows, cols] = [
                    "The largest elements of every row, along the columns of two tiles.",
                    "The largest elements of every column, along the rows of two tiles. Where a tile can be loaded transposed, this form costs less.",
                ];
                vec![
                    self.entry("row_topk", &["row_topk", "row_topk_with"], Exact, rows),
                    self.entry("col_topk", &["col_topk", "col_topk_with"], Exact, cols),
                ]
            }
            Family::StoreVector => vector::stores(),
            Family::ReduceVector => vector::reductions(),
            Family::Arg => vector::positions(),
            Family::Encode => vector::encodings(),
            Family::KeepFirst => vec![
                self.entry(
                    "keep_cols",
                    &["keep_cols"],
                    Exact,
                    "Keeps the first columns; the others become a value.",
                ),
                self.entry(
                    "keep_rows",
                    &["keep_rows"],
                    Exact,
                    "Keeps the first rows; the others become a value.",
                ),
            ],
            Family::Triangle => vec![
                self.entry(
                    "tril",
                    &["tril"],
                    Exact,
                    "Keeps what lies on and below the diagonal of the whole matrix.",
                ),
                self.entry(
                    "triu",
                    &["triu"],
                    Exact,
                    "Keeps what lies on and above the diagonal of the whole matrix.",
                ),
            ],
            Family::SharedMove => SHARED_MOVES
                .iter()
                .map(|(name, doc)| {
                    let calls: &[&str] = if *name == "load_shared" { &["load_shared", "shared"] } else { &[name] };
                    self.entry(name, calls, Exact, doc)
                })
                .collect(),
            Family::SharedCopy => vec![
                self.entry(
                    "load_coop",
                    &["load_coop", "group_row", "group_col"],
                    Exact,
                    "Fills a shared tile from a tensor; elements outside the tensor are 0.",
                ),
                self.entry(
                    "store_coop",
                    &["store_coop"],
                    Exact,
                    "Stores a shared tile to the tiles that the sub-groups own; elements outside the tensor are dropped.",
                ),
            ],
            Family::Barrier => Barrier::ALL
                .iter()
                .map(|kind| {
                    let doc = match kind {
                        Barrier::Full => "Waits until every sub-group of the work-group is here; what each did before is visible to all after.",
                        Barrier::Arrive => "Says that this sub-group is here, and goes on: the first half of a barrier.",
                        Barrier::Wait => "Waits until every sub-group has arrived: the second half of a barrier.",
                    };
                    self.entry(kind.name(), &[kind.name()], Exact, doc)
                })
                .collect(),
            Family::Const => self.single("const", &["1", "f32::INFINITY", "f32::NEG_INFINITY", "f32::NAN"], Exact),
            Family::Binary => {
                Binary::ALL.iter().map(|op| self.entry(op.name(), &[op.symbol()], Exact, op.doc())).collect()
            }
            Family::Unary => {
                Unary::ALL.iter().map(|op| self.entry(op.name(), &[op.symbol()], Exact, op.doc())).collect()
            }
            Family::Compare => {
                Compare::ALL.iter().map(|op| self.entry(op.name(), &[op.symbol()], Exact, op.doc())).collect()
            }
            Family::Cast => self.single("cast", &["as"], Exact),
            Family::For => self.single("for", &["for"], Exact),
            Family::While => self.single("while", &["while"], Exact),
            Family::If => self.single("if", &["if"], Exact),
        }
    }
}

/// The moves between registers and shared memory: name and text.
const SHARED_MOVES: &[(&str, &str)] = &[
    ("load_shared", "Loads a tile from shared memory."),
    ("load_transform_shared", "Loads a right operand from shared memory, packing it on the way."),
    (
        "load_transpose_shared",
        "Loads the transpose of a tile in shared memory, as a `Row` tile or a right operand.",
    ),
    ("load_vec_shared", "Loads a vector from shared memory."),
    ("store_shared", "Stores a tile to shared memory."),
    ("store_vec_shared", "Stores a vector to shared memory."),
];

fn of_ulp(ulp: u32) -> Accuracy {
    if ulp == 0 { Accuracy::Exact } else { Accuracy::Ulp(ulp) }
}

const fn accuracy_of(how: Reduction) -> Accuracy {
    match how {
        Reduction::Max | Reduction::Min => Accuracy::Exact,
        Reduction::Sum | Reduction::Prod => Accuracy::AnyOrder,
    }
}

fn reductions() -> Vec<Entry> {
    let mut all = vec![];
    for (along, line) in [(Along::Rows, "row"), (Along::Cols, "col")] {
        for how in Reduction::ALL {
            let accuracy = accuracy_of(*how);
            let doc = match (along, how) {
                (Along::Rows, Reduction::Max) => "The largest element of every row; NaN only if all are.",
                (Along::Rows, Reduction::Min) => "The smallest element of every row; NaN only if all are.",
                (Along::Rows, Reduction::Sum) => "The sum of every row.",
                (Along::Rows, Reduction::Prod) => "The product of every row.",
                (Along::Cols, Reduction::Max) => "The largest element of every column; NaN only if all are.",
                (Along::Cols, Reduction::Min) => "The smallest element of every column; NaN only if all are.",
                (Along::Cols, Reduction::Sum) => "The sum of every column.",
                (Along::Cols, Reduction::Prod) => "The product of every column.",
            };
            let name = format!("{line}_{}", how.name());
            let calls = [name.as_str(), &format!("{name}_with")];
            all.push(Family::Reduce.entry(&name, &calls, accuracy, doc));
        }
    }
    all
}

/// Every op.
pub fn all() -> Vec<Entry> {
    Family::ALL.iter().flat_map(|family| family.entries()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_entry_is_whole_and_alone() {
        let mut seen = BTreeSet::new();
        for entry in all() {
            let Entry { family, name, calls, doc, .. } = &entry;
            assert!(seen.insert((*family, name.clone())), "{name} is listed twice");
            assert!(!calls.is_empty(), "{name}");
            let sentence =
                doc.ends_with('.') && doc.chars().next().is_some_and(|c| !c.is_lowercase() || c == 'e');
            assert!(sentence, "the text of `{name}` is no sentence: {doc}");
        }
    }
}
