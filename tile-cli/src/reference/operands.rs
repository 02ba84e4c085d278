//! Owns which operand types each op takes, found by asking the typing rules themselves.
//!
//! *Guarantees*: nothing here repeats a rule: an op takes a type when `tile_ir::ops::check` accepts it with some result.
//! *Not here*: rules about where an op stands (the verifier's).

use tile_ir::error::{Diagnostic, Span};
use tile_ir::ir::{
    Access, Coord, Exit, Extreme, Kernel, LoadForm, Op, OpKind, Param, ParamId, ParamKind, Reduction, Region,
    Selection, TopK, Unit, ValueId, VectorOp,
};
use tile_ir::map::{MapBinary, MapTernary, MapUnary};
use tile_ir::ops::list::{Entry, Family};
use tile_ir::scalar::Compare;
use tile_ir::types::{Along, DType, Encoding, Role, ScalarType, TileType, Type, VectorType, WIDE_UNIT};

/// Rows and columns of the tiles that are tried: legal for every role and element type.
const SIDE: u32 = 32;

/// A kernel to which operands are added.
struct Bench {
    kernel: Kernel,
}

/// Where a type stands in a table: its role or encoding.
pub fn column(ty: Type) -> &'static str {
    match ty {
        Type::Tile(t) => t.role.name(),
        Type::Vector(v) => v.encoding.name(),
        Type::Scalar(_) => "scalar",
    }
}

/// Every tile and vector type of one size, and the scalar f32.
pub fn universe() -> Vec<Type> {
    let mut all = vec![];
    for role in [Role::Row, Role::Acc, Role::Vnni, Role::VnniT] {
        all.extend(
            DType::ALL.iter().map(|&dtype| Type::Tile(TileType { dtype, rows: SIDE, cols: SIDE, role })),
        );
    }
    for &encoding in Encoding::ALL {
        let len = if encoding == Encoding::Wide { WIDE_UNIT } else { SIDE };
        all.extend(DType::ALL.iter().map(|&dtype| Type::Vector(VectorType { dtype, len, encoding })));
    }
    all.push(Type::Scalar(ScalarType::F32));
    all
}

impl Bench {
    /// An empty kernel: what it does is not looked at.
    fn new() -> Bench {
        Bench {
            kernel: Kernel {
                name: "bench".into(),
                instance: String::new(),
                params: vec![],
                subgroups: (1, 1),
                shared: vec![],
                unowned_stores: false,
                host_only: false,
                values: vec![],
                body: Region { args: vec![], ops: vec![], exit: Exit::Yield(vec![]) },
            },
        }
    }

    fn value(&mut self, ty: Type) -> ValueId {
        self.kernel.new_value(ty)
    }

    fn global(&mut self, dtype: DType, access: Access) -> ParamId {
        self.kernel.params.push(Param { name: "g".into(), kind: ParamKind::Global { dtype, access } });
        ParamId(self.kernel.params.len() as u32 - 1)
    }

    fn at(&mut self) -> Coord {
        let zero = self.value(Type::Scalar(ScalarType::U32));
        Coord { batch: None, depth: None, row: zero, col: zero, unit: Unit::Tiles }
    }

    /// What the typing rule says of the op without a result, then with each of these.
    fn judged(&mut self, kind: &OpKind, results: &[Type]) -> Vec<Result<(), Vec<Diagnostic>>> {
        let mut tried = vec![vec![]];
        for ty in results {
            let mut results = vec![self.kernel.new_value(*ty)];
            if let (OpKind::TopK(_), Type::Tile(values)) = (kind, *ty) {
                results.push(self.kernel.new_value(Type::Tile(TileType { dtype: DType::I32, ..values })));
            }
            tried.push(results);
        }
        let check = |results| {
            let op = Op { kind: kind.clone(), results, span: Span::NONE };
            tile_ir::ops::check(&self.kernel, &op).map(|_| ())
        };
        tried.into_iter().map(check).collect()
    }

    /// True when the op is accepted with some result.
    fn accepts(&mut self, kind: &OpKind, results: &[Type]) -> bool {
        self.judged(kind, results).iter().any(Result::is_ok)
    }

    /// The op with `ty` as its main operand (for sources: as its result), and all else fitting it.
    fn kinds(&mut self, entry: &Entry, ty: Type) -> Option<Vec<OpKind>> {
        let name = entry.name.as_str();
        let number = self.value(Type::Scalar(ty.dtype().map_or(ScalarType::F32, |d| d.scalar())));
        let index = self.value(Type::Scalar(ScalarType::U32));
        let dtype = ty.dtype().unwrap_or(DType::F32);
        Some(match entry.family {
            Family::Zeros => vec![OpKind::Zeros],
            Family::Fill => vec![OpKind::Fill { value: self.value(Type::Scalar(dtype.scalar())) }],
            Family::Load => {
                // Tiles of tf32 come from f32, tensors of it there are none.
                let of = if dtype == DType::Tf32 { DType::F32 } else { dtype };
                let (global, at) = (self.global(of, Access::In), self.at());
                let form = LoadForm::ALL.iter().find(|f| f.name() == name).copied()?;
                vec![OpKind::Load { global, at, form }]
            }
            Family::LoadVector => {
                let (global, at) = (self.global(dtype, Access::In), self.at());
                vec![OpKind::LoadVector { global, at }]
            }
            Family::Store => {
                let (global, at, tile) = (self.global(dtype, Access::Out), self.at(), self.value(ty));
                vec![match name {
                    "store" => OpKind::Store { global, tile, at },
                    _ => OpKind::StoreTranspose { global, tile, at },
                }]
            }
            Family::Transpose => vec![OpKind::Transpose { tile: self.value(ty) }],
            Family::SubTile => {
                let (tile, part) = (self.value(ty), self.value(ty));
                vec![if name == "sub_tile" {
                    OpKind::SubTile { tile, at: (0, 0) }
                } else {
                    OpKind::SetSubTile { tile, part, at: (0, 0) }
                }]
            }
            Family::AtomicAdd => {
                let (global, at, value) = (self.global(dtype, Access::Out), self.at(), self.value(ty));
                vec![OpKind::AtomicAdd { global, value, at, vector: name == "atomic_add_vec" }]
            }
            Family::Mma => {
                let a = self.value(ty);
                let mut all = vec![];
                for role in [Role::Vnni, Role::VnniT] {
                    let b = self.value(Type::Tile(TileType { dtype, rows: SIDE, cols: SIDE, role }));
                    for &dtype in DType::ALL {
                        let acc = TileType { dtype, rows: SIDE, cols: SIDE, role: Role::Acc };
                        all.push(OpKind::Mma { acc: self.value(Type::Tile(acc)), a, b });
                    }
                }
                all
            }
            Family::Convert => vec![OpKind::Convert { tile: self.value(ty) }],
            Family::Scale => vec![OpKind::Scale { tile: self.value(ty), by: number }],
            Family::MapUnary => {
                vec![OpKind::MapUnary { op: MapUnary::from_name(name)?, value: self.value(ty) }]
            }
            Family::MapBinary => {
                let (op, lhs) = (MapBinary::from_name(name)?, self.value(ty));
                vec![OpKind::MapBinary { op, lhs, rhs: lhs }]
            }
            Family::MapTernary => {
                let (op, x) = (MapTernary::from_name(name)?, self.value(ty));
                vec![OpKind::MapTernary { op, x, a: x, b: x }]
            }
            Family::MapCompare => {
                let (op, lhs) = (Compare::ALL.iter().find(|c| c.name() == name).copied()?, self.value(ty));
                vec![OpKind::Selection(Selection::Compare { op, lhs, rhs: lhs })]
            }
            Family::Select => {
                let (mask, yes) = (self.value(ty.mask()?), self.value(ty));
                vec![OpKind::Selection(Selection::Select { mask, yes, no: yes })]
            }
            Family::Iota => {
                let along = if name == "iota_rows" { Along::Rows } else { Along::Cols };
                let start = self.value(Type::Scalar(dtype.scalar()));
                vec![OpKind::Selection(Selection::Iota { along, start })]
            }
            Family::Reduce => {
                let (line, how) = name.split_once('_')?;
                let how = Reduction::ALL.iter().find(|r| r.name() == how).copied()?;
                let along = if line == "row" { Along::Rows } else { Along::Cols };
                vec![OpKind::Reduce { how, along, tile: self.value(ty), running: None }]
            }
            Family::TopK => {
                let along = if name == "row_topk" { Along::Rows } else { Along::Cols };
                vec![OpKind::TopK(TopK { along, k: 8, tile: self.value(ty), running: None })]
            }
            Family::StoreVector => {
                let (global, at, vector) = (self.global(dtype, Access::Out), self.at(), self.value(ty));
                vec![OpKind::Vector(VectorOp::Store { global, vector, at })]
            }
            Family::ReduceVector => {
                let how = Reduction::ALL.iter().find(|r| name.ends_with(r.name())).copied()?;
                vec![OpKind::Vector(VectorOp::Reduce { how, vector: self.value(ty) })]
            }
            Family::Arg => {
                let how = Extreme::ALL.iter().find(|e| name.ends_with(e.name())).copied()?;
                let along = if name.starts_with("row_") { Along::Rows } else { Along::Cols };
                let value = self.value(ty);
                vec![OpKind::Vector(if name == how.name() {
                    VectorOp::Arg { how, vector: value }
                } else {
                    VectorOp::ArgLines { how, along, tile: value }
                })]
            }
            Family::Encode => {
                let to = if name == "to_per_row" { Along::Rows } else { Along::Cols };
                vec![OpKind::Vector(VectorOp::Encode { vector: self.value(ty), to })]
            }
            Family::KeepFirst => {
                let along = if name == "keep_cols" { Along::Cols } else { Along::Rows };
                vec![OpKind::KeepFirst { tile: self.value(ty), along, keep: index, fill: number }]
            }
            Family::Triangle => vec![OpKind::Triangle {
                tile: self.value(ty),
                lower: name == "tril",
                row_start: index,
                col_start: index,
                fill: number,
            }],
            // These take tensors and scalars, not tiles or vectors.
            Family::Logic
            | Family::SharedMove
            | Family::SharedCopy
            | Family::Barrier
            | Family::OwnTile
            | Family::Place
            | Family::Dim
            | Family::LoadScalar
            | Family::Prefetch
            | Family::Const
            | Family::Binary
            | Family::Unary
            | Family::Compare
            | Family::Cast
            | Family::For
            | Family::While
            | Family::If => return None,
        })
    }
}

/// What the typing rules say of an op with `ty` as its main operand (for sources: as its result), once per way to complete it.
/// `None` if the op has no tile or vector.
pub fn judged(entry: &Entry, ty: Type) -> Option<Vec<Result<(), Vec<Diagnostic>>>> {
    let mut bench = Bench::new();
    let is_source = matches!(
        entry.family,
        Family::Zeros | Family::Fill | Family::Iota | Family::Load | Family::LoadVector
    );
    let mut results = if is_source { vec![ty] } else { universe() };
    results.extend(ty.mask());
    results.push(Type::Scalar(ScalarType::I32));
    let kinds = bench.kinds(entry, ty)?;
    Some(kinds.iter().flat_map(|kind| bench.judged(kind, &results)).collect())
}

/// The types that an op takes as its main operand, or gives as a source. `None` if it has no tile or vector.
pub fn taken(entry: &Entry) -> Option<Vec<Type>> {
    let mut taken = vec![];
    for ty in universe() {
        if judged(entry, ty)?.iter().any(Result::is_ok) {
            taken.push(ty);
        }
    }
    Some(taken)
}

/// True when `.to` makes elements of type `to` from a `Row` tile of type `from`.
pub fn converts(from: DType, to: DType) -> bool {
    let tile = |dtype| Type::Tile(TileType { dtype, rows: SIDE, cols: SIDE, role: Role::Row });
    let mut bench = Bench::new();
    let kind = OpKind::Convert { tile: bench.value(tile(from)) };
    bench.accepts(&kind, &[tile(to)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tile_ir::ops::list::all;

    #[test]
    fn every_op_on_tiles_takes_something_and_not_everything() {
        for entry in all() {
            let Some(taken) = taken(&entry) else { continue };
            let all = universe().len();
            assert!(!taken.is_empty() && taken.len() < all, "{}: {} of {all}", entry.name, taken.len());
        }
    }

    #[test]
    fn packed_tiles_are_refused_by_element_wise_ops() {
        let abs = Family::MapUnary.entries().swap_remove(0);
        let taken = taken(&abs).expect("an op on tiles");
        assert!(taken.iter().all(|ty| !matches!(column(*ty), "Vnni" | "VnniT")), "{taken:?}");
        assert!(converts(DType::Bf16, DType::F32));
    }
}
