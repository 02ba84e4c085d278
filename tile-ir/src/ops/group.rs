//! Owns the typing rules of ops on shared memory: element types, roles, shapes, and coordinates that are known.
//!
//! *Not here*: whether every sub-group reaches an op (`uniform`), capacity and the pairing of split barriers (`workgroup`).

use super::memory::{check_coord, global_of};
use super::{Checked, check_type, result};
use crate::error::{Code, Diagnostic};
use crate::ir::{Barrier, GroupOp, Kernel, LoadForm, Op, Shared, SharedAt, SharedId, SharedType};
use crate::legal::Device;
use crate::types::{Role, ScalarType, TileType, Type};

pub(super) fn check(kernel: &Kernel, op: &Op, what: &GroupOp) -> Checked {
    let checked = match what {
        GroupOp::Load { shared, at, form } => {
            let out = result(kernel, op)?;
            check_load(kernel, op, what, (*shared, at, *form), out)
        }
        GroupOp::Store { shared, value, at } => {
            check_store(kernel, op, what, (*shared, at), kernel.ty(*value))
        }
        GroupOp::LoadCoop { shared, global, at } | GroupOp::StoreCoop { shared, global, at } => {
            check_coop(kernel, op, what, *shared, *global, at)
        }
        GroupOp::Barrier(Barrier::Full | Barrier::Arrive | Barrier::Wait) => Ok(()),
    };
    checked.map(|()| Device::ALL.to_vec()).map_err(|d| vec![d])
}

fn shared_of<'k>(kernel: &'k Kernel, op: &Op, id: SharedId) -> Result<&'k Shared, Diagnostic> {
    kernel.shared(id).ok_or_else(|| {
        Diagnostic::new(Code::Structure, op.span, format!("{id} is not shared memory of the kernel"), "")
    })
}

fn wrong(op: &Op, message: impl Into<String>, help: impl Into<String>) -> Result<(), Diagnostic> {
    Err(Diagnostic::new(Code::SharedAccess, op.span, message, help))
}

fn check_at(kernel: &Kernel, op: &Op, at: &SharedAt) -> Result<(), Diagnostic> {
    match at.values().map(|v| kernel.ty(v)).find(|ty| *ty != Type::Scalar(ScalarType::U32)) {
        None => Ok(()),
        Some(ty) => Err(Diagnostic::new(
            Code::Mismatch,
            op.span,
            format!("coordinates are u32; here one is {ty}"),
            "convert it: `x as u32`",
        )),
    }
}

/// The rows and columns of shared memory that an op moves for a value of this type.
pub fn shared_window(form: LoadForm, ty: Type) -> (u32, u32) {
    match ty {
        Type::Tile(t) => form.window((t.rows, t.cols)),
        Type::Vector(v) => (1, v.len),
        Type::Scalar(_) => (1, 1),
    }
}

fn fits(op: &Op, name: &str, shared: &Shared, (rows, cols): (u32, u32)) -> Result<(), Diagnostic> {
    let (have_rows, have_cols) = shared.ty.shape();
    if rows <= have_rows && cols <= have_cols {
        return Ok(());
    }
    wrong(
        op,
        format!(
            "`{name}` moves a part of its shared memory; `{}` is `{}`, and here {rows} x {cols} elements are moved",
            shared.name, shared.ty
        ),
        "make the shared memory larger, or move a smaller part",
    )
}

/// A value and the shared memory beside it: both tiles or both vectors, of one element type.
fn belong(op: &Op, name: &str, shared: &Shared, value: Type) -> Result<(), Diagnostic> {
    match (shared.ty, value) {
        (SharedType::Tile { .. }, Type::Tile(_)) | (SharedType::Vector { .. }, Type::Vector(_)) => {}
        (SharedType::Tile { .. }, Type::Vector(_) | Type::Scalar(_)) => {
            return wrong(
                op,
                format!("`{name}` works on an `sv`; `{}` is `{}`", shared.name, shared.ty),
                "use `load_shared` and `store_shared` with an `st`",
            );
        }
        (SharedType::Vector { .. }, Type::Tile(_) | Type::Scalar(_)) => {
            return wrong(
                op,
                format!("`{name}` works on an `st`; `{}` is `{}`", shared.name, shared.ty),
                "use `load_vec_shared` and `store_vec_shared` with an `sv`",
            );
        }
    }
    if value.dtype() != Some(shared.ty.dtype()) {
        return wrong(
            op,
            format!(
                "what is moved has the element type of its shared memory; `{}` is `{}`, and here a `{value}` is moved",
                shared.name, shared.ty
            ),
            format!("convert with `.to::<{}>()`", shared.ty.dtype()),
        );
    }
    Ok(())
}

fn check_load(
    kernel: &Kernel,
    op: &Op,
    what: &GroupOp,
    (shared, at, form): (SharedId, &SharedAt, LoadForm),
    out: Type,
) -> Result<(), Diagnostic> {
    let (name, shared) = (what.name(), shared_of(kernel, op, shared)?);
    check_at(kernel, op, at)?;
    belong(op, name, shared, out)?;
    check_type(out, op)?;
    if let Type::Tile(TileType { dtype, role, .. }) = out
        && !form.gives(role, dtype)
    {
        let gives = match form {
            LoadForm::Plain => "`Row`, or `Acc` for f32 and i32",
            LoadForm::Transform => "`Vnni`, for 16-bit types",
            LoadForm::Transpose => "`Row`, or `VnniT` for 16-bit types",
        };
        return wrong(
            op,
            format!("`{name}` gives a tile of role {gives}; here `{out}` is asked for"),
            match role {
                Role::Row | Role::Acc => "load it with `load_shared`",
                Role::Vnni => "load it with `load_transform_shared`",
                Role::VnniT => "load it with `load_transpose_shared`",
            },
        );
    }
    fits(op, name, shared, shared_window(form, out))
}

fn check_store(
    kernel: &Kernel,
    op: &Op,
    what: &GroupOp,
    (shared, at): (SharedId, &SharedAt),
    value: Type,
) -> Result<(), Diagnostic> {
    let (name, shared) = (what.name(), shared_of(kernel, op, shared)?);
    check_at(kernel, op, at)?;
    belong(op, name, shared, value)?;
    check_type(value, op)?;
    if let Type::Tile(tile) = value
        && tile.role.is_right_operand()
    {
        return wrong(
            op,
            format!("`{name}` stores `Row` and `Acc` tiles; here the tile is `{tile}`"),
            "store the tile before it is packed, and load it with `load_transform_shared`",
        );
    }
    fits(op, name, shared, shared_window(LoadForm::Plain, value))
}

fn check_coop(
    kernel: &Kernel,
    op: &Op,
    what: &GroupOp,
    shared: SharedId,
    global: crate::ir::ParamId,
    at: &crate::ir::Coord,
) -> Result<(), Diagnostic> {
    let (name, shared) = (what.name(), shared_of(kernel, op, shared)?);
    let (dtype, _) = global_of(kernel, op, global)?;
    check_coord(kernel, op, at)?;
    if let SharedType::Vector { .. } = shared.ty {
        return wrong(
            op,
            format!("`{name}` copies an `st`; `{}` is `{}`", shared.name, shared.ty),
            "load the vector with `load_vec` and store it with `store_vec_shared`",
        );
    }
    if dtype != shared.ty.dtype() {
        return wrong(
            op,
            format!(
                "`{name}` copies elements as they are; `{}` is `{}` and the tensor is `gl<{dtype}>`",
                shared.name, shared.ty
            ),
            format!("make it an `st<{dtype}, ..>`"),
        );
    }
    Ok(())
}
