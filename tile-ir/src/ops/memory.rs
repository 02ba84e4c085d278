//! Owns the typing rules of ops that touch globals: owning a tile, loads, prefetches, stores.

use super::{Checked, check_shape, result, tile_of};
use crate::error::{Code, Diagnostic};
use crate::ir::{Access, Coord, Kernel, LoadForm, Op, OpKind, Order, ParamId, ValueId};
use crate::legal::{self, Device};
use crate::types::{DType, Role, ScalarType, TileType, Type};

pub(super) fn check(kernel: &Kernel, op: &Op) -> Checked {
    let one = |r: Result<(), Diagnostic>| r.map(|()| Device::ALL.to_vec()).map_err(|d| vec![d]);
    match &op.kind {
        OpKind::OwnTile { global, tile, order } => one(check_own(kernel, op, *global, *tile, order)),
        OpKind::Load { global, at, form } => {
            let Type::Tile(tile) = result(kernel, op)? else {
                return one(Err(Diagnostic::new(
                    Code::UntypedSource,
                    op.span,
                    format!("`{}` gives a tile", form.name()),
                    "write its type: `let x: rt<T, ROWS, COLS> = ..`",
                )));
            };
            one(check_load(kernel, op, *global, at, *form, tile))
        }
        OpKind::Prefetch { global, at, tile, peers } => {
            one(global_of(kernel, op, *global).and_then(|(dtype, _)| {
                check_coord(kernel, op, at)?;
                check_shape(TileType { dtype, rows: tile.0, cols: tile.1, role: Role::Row }, op)?;
                let parts = peers.map_or(1, |p| p.count(kernel.subgroups));
                // A prefetch of a whole tile is cut into messages of at most 32 rows and 64 bytes; only sharing has a rule.
                if peers.is_none() {
                    return Ok(());
                }
                legal::prefetch_cut(*tile, dtype.size_bytes(), parts).map(|_| ()).map_err(|why| {
                    Diagnostic::new(
                        Code::PrefetchCut,
                        op.span,
                        format!("a shared prefetch cuts its tile into equal block messages; {why}"),
                        "change the tile size or the grid of sub-groups, or use `prefetch_load`",
                    )
                })
            }))
        }
        OpKind::Store { global, tile, at } | OpKind::StoreTranspose { global, tile, at } => {
            one(check_store(kernel, op, *global, *tile, at))
        }
        OpKind::AtomicAdd { global, value, at, vector } => {
            one(check_atomic(kernel, op, *global, *value, at, *vector))
        }
        OpKind::LoadVector { global, at } => {
            let Type::Vector(v) = result(kernel, op)? else {
                return one(Err(Diagnostic::new(
                    Code::UntypedSource,
                    op.span,
                    "`load_vec` gives a vector",
                    "write its type: `let v: rv<T, LEN, PerCol> = ..`",
                )));
            };
            one(global_of(kernel, op, *global).and_then(|(dtype, _)| {
                check_coord(kernel, op, at)?;
                if v.dtype != dtype {
                    return Err(Diagnostic::new(
                        Code::LoadForm,
                        op.span,
                        format!("a vector has the element type of its tensor; here `{v}` is loaded from `gl<{dtype}>`"),
                        format!("write `rv<{dtype}, {}, {}>` and convert with `.to::<T>()`", v.len, v.encoding.name()),
                    ));
                }
                super::check_type(Type::Vector(v), op)
            }))
        }
        OpKind::LoadScalar { global, at } => {
            let given = result(kernel, op)?;
            one(global_of(kernel, op, *global).and_then(|(dtype, _)| {
                check_coord(kernel, op, at)?;
                let gives = dtype.scalar();
                if given == Type::Scalar(gives) {
                    return Ok(());
                }
                Err(Diagnostic::new(
                    Code::Mismatch,
                    op.span,
                    format!("`load_scalar` of `gl<{dtype}>` gives {gives}, not {given}"),
                    "",
                ))
            }))
        }
        OpKind::Const(_)
        | OpKind::Binary { .. }
        | OpKind::Unary { .. }
        | OpKind::Compare { .. }
        | OpKind::Cast { .. }
        | OpKind::Dim { .. }
        | OpKind::Place(_)
        | OpKind::Zeros
        | OpKind::Mma { .. }
        | OpKind::Convert { .. }
        | OpKind::Scale { .. }
        | OpKind::Fill { .. }
        | OpKind::MapUnary { .. }
        | OpKind::MapBinary { .. }
        | OpKind::MapTernary { .. }
        | OpKind::Selection(_)
        | OpKind::Vector(_)
        | OpKind::Reduce { .. }
        | OpKind::KeepFirst { .. }
        | OpKind::Triangle { .. }
        | OpKind::Group(_)
        | OpKind::Transpose { .. }
        | OpKind::TopK(_)
        | OpKind::SubTile { .. }
        | OpKind::SetSubTile { .. }
        | OpKind::While { .. }
        | OpKind::For { .. }
        | OpKind::If { .. } => one(Err(Diagnostic::new(
            Code::Structure,
            op.span,
            format!("`{}` does not touch memory", op.kind.name()),
            "",
        ))),
    }
}

pub(super) fn global_of(kernel: &Kernel, op: &Op, id: ParamId) -> Result<(DType, Access), Diagnostic> {
    kernel.global(id).ok_or_else(|| {
        Diagnostic::new(
            Code::Arguments,
            op.span,
            format!("`{}` needs a `gl` parameter", op.kind.name()),
            "pass a parameter of type `&gl<T>` or `&mut gl<T>`",
        )
    })
}

/// The element type of an output.
pub(super) fn output_of(kernel: &Kernel, op: &Op, id: ParamId) -> Result<DType, Diagnostic> {
    let (dtype, access) = global_of(kernel, op, id)?;
    if access != Access::Out {
        return Err(Diagnostic::new(
            Code::Arguments,
            op.span,
            format!("`{}` writes to an output; this parameter is an input", op.kind.name()),
            "make the parameter `&mut gl<T>`",
        ));
    }
    Ok(dtype)
}

pub(super) fn check_coord(kernel: &Kernel, op: &Op, at: &Coord) -> Result<(), Diagnostic> {
    for value in at.values() {
        let ty = kernel.ty(value);
        if ty != Type::Scalar(ScalarType::U32) {
            return Err(Diagnostic::new(
                Code::Mismatch,
                op.span,
                format!("coordinates are u32; here one is {ty}"),
                "convert it: `x as u32`",
            ));
        }
    }
    Ok(())
}

fn check_own(
    kernel: &Kernel,
    op: &Op,
    global: ParamId,
    tile: (u32, u32),
    order: &Order,
) -> Result<(), Diagnostic> {
    let (dtype, access) = global_of(kernel, op, global)?;
    if access != Access::Out {
        return Err(Diagnostic::new(
            Code::Grid,
            op.span,
            "`own_tile` deals out the tiles of an output; this parameter is an input",
            "pass a `&mut gl<T>` parameter",
        ));
    }
    // One row is what a vector takes.
    let rows = if tile.0 == 1 { legal::MMA_ROWS } else { tile.0 };
    let shaped = |rows, cols| check_shape(TileType { dtype, rows, cols, role: Role::Row }, op);
    // A tile that is stored transposed is owned as it lies in memory.
    shaped(rows, tile.1).or_else(|why| shaped(tile.1, tile.0).map_err(|_| why))?;
    if let Order::Snake(width) = order
        && kernel.ty(*width) != Type::Scalar(ScalarType::U32)
    {
        return Err(Diagnostic::new(
            Code::Mismatch,
            op.span,
            format!("the width of `Snake` is u32; here it is {}", kernel.ty(*width)),
            "write `Snake(8)`",
        ));
    }
    let u32s =
        op.results.iter().all(|&v| kernel.values.get(v.0 as usize) == Some(&Type::Scalar(ScalarType::U32)));
    if op.results.len() != 4 || !u32s {
        return Err(Diagnostic::new(Code::Structure, op.span, "`own_tile` gives four u32", ""));
    }
    Ok(())
}

fn check_load(
    kernel: &Kernel,
    op: &Op,
    global: ParamId,
    at: &Coord,
    form: LoadForm,
    tile: TileType,
) -> Result<(), Diagnostic> {
    let (dtype, _) = global_of(kernel, op, global)?;
    check_coord(kernel, op, at)?;
    if tile.dtype.in_memory() != dtype {
        return Err(Diagnostic::new(
            Code::LoadForm,
            op.span,
            format!("a tile has the element type of its tensor; here `{tile}` is loaded from `gl<{dtype}>`"),
            format!(
                "write `rt<{dtype}, {}, {}, {}>` and convert with `.to::<T>()`",
                tile.rows, tile.cols, tile.role
            ),
        ));
    }
    if !form.gives(tile.role, tile.dtype) {
        let gives = match form {
            LoadForm::Plain => "`Row`, or `Acc` for f32 and i32",
            LoadForm::Transform => "`Vnni`, for bf16, f16, i8, u8 and tf32",
            LoadForm::Transpose => "`Row` of types that compute, or `VnniT` for bf16, f16, i8, u8 and tf32",
        };
        return Err(Diagnostic::new(
            Code::LoadForm,
            op.span,
            format!("`{}` gives a tile of role {gives}; here `{tile}` is asked for", form.name()),
            match tile.role {
                // The form exists, but not for this type.
                Role::Vnni | Role::VnniT
                    if !LoadForm::Transform.gives(Role::Vnni, dtype)
                        && !LoadForm::Transpose.gives(Role::VnniT, dtype) =>
                {
                    "load it with `load` and convert it before it is packed: no load packs this type"
                        .to_string()
                }
                role @ (Role::Row | Role::Vnni | Role::VnniT | Role::Acc) => {
                    super::how_to_get(role).to_string()
                }
            },
        ));
    }
    check_shape(tile, op)
}

fn check_store(
    kernel: &Kernel,
    op: &Op,
    global: ParamId,
    tile: ValueId,
    at: &Coord,
) -> Result<(), Diagnostic> {
    let dtype = output_of(kernel, op, global)?;
    check_coord(kernel, op, at)?;
    let t = tile_of(kernel, op, tile)?;
    let stores = t.role == Role::Row || (t.role == Role::Acc && dtype.accumulates());
    if t.dtype != dtype || !stores {
        return Err(Diagnostic::new(
            Code::StoreShape,
            op.span,
            format!("a tensor of {dtype} stores `Row` tiles of {dtype}; here the tile is `{t}`"),
            if t.role.is_right_operand() {
                "load it with `load`: a packed tile is a right operand of a multiply and nothing else"
                    .to_string()
            } else {
                format!("convert it first: `.to::<{dtype}>()`")
            },
        ));
    }
    check_shape(t, op)
}

fn check_atomic(
    kernel: &Kernel,
    op: &Op,
    global: ParamId,
    value: ValueId,
    at: &Coord,
    vector: bool,
) -> Result<(), Diagnostic> {
    let dtype = output_of(kernel, op, global)?;
    check_coord(kernel, op, at)?;
    let ty = kernel.ty(value);
    let (fits, takes) = if vector {
        (ty.vector().is_some(), "a vector")
    } else {
        (ty.tile().is_some_and(|t| !t.role.is_right_operand()), "a `Row` or `Acc` tile")
    };
    if !fits {
        return Err(Diagnostic::new(
            Code::AtomicType,
            op.span,
            format!("`{}` adds {takes}; here it is `{ty}`", op.kind.name()),
            "a tile goes with `atomic_add`, a vector with `atomic_add_vec`",
        ));
    }
    if ty.dtype() != Some(dtype) || !dtype.accumulates() {
        return Err(Diagnostic::new(
            Code::AtomicType,
            op.span,
            format!(
                "an atomic add adds f32 to an f32 output, or i32 to an i32 output; here it adds `{ty}` to `gl<{dtype}>`"
            ),
            "make the output `&mut gl<f32>` and convert with `.to::<f32>()`",
        ));
    }
    super::check_type(ty, op)
}
