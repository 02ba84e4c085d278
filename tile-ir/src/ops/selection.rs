//! Owns the typing rules of comparisons, masks and positions.

use super::map::{fits, needs};
use super::{Checked, check_type, result};
use crate::error::{Code, Diagnostic};
use crate::ir::{Kernel, Op, Selection};
use crate::legal::Device;
use crate::types::{DType, ScalarType, Type};

/// Checks that no op but those of this family, and control flow, makes or takes a mask.
///
/// # Errors
/// [`Code::Mask`] with the op and the mask.
pub(super) fn check_no_mask(kernel: &Kernel, op: &Op) -> Result<(), Diagnostic> {
    let values = op.kind.operands().into_iter().chain(op.results.iter().copied());
    let Some(mask) = values.map(|v| kernel.ty(v)).find(|ty| ty.is_mask()) else { return Ok(()) };
    let made = !op.kind.operands().iter().any(|&v| kernel.ty(v).is_mask());
    let (here, help) = if made {
        ("makes", "compare tiles or vectors: `x.lt(&y)`, `x.ge(0.0)`")
    } else {
        ("takes", "choose elements by it: `mask.select(&x, 0.0)`")
    };
    Err(Diagnostic::new(
        Code::Mask,
        op.span,
        format!(
            "a mask comes from a comparison and goes to `and`, `or`, `xor`, `not`, `any` and `select`; here `{}` {here} `{mask}`",
            op.kind.name()
        ),
        help,
    ))
}

pub(super) fn check(kernel: &Kernel, op: &Op, what: &Selection) -> Checked {
    let out = result(kernel, op)?;
    check_type(out, op).map_err(|d| vec![d])?;
    let name = what.name();
    let fail = |code, message: String, help: &str| Err(vec![Diagnostic::new(code, op.span, message, help)]);
    match what {
        Selection::Compare { lhs, rhs, .. } => {
            let (lhs, rhs) = (kernel.ty(*lhs), kernel.ty(*rhs));
            if lhs.tile().is_some_and(|t| t.role.is_right_operand()) {
                return fail(
                    Code::MapOperand,
                    format!("`{name}` works on `Row` and `Acc` tiles; here the tile is `{lhs}`"),
                    "compare the elements before packing: load the tile with `load`",
                );
            }
            if lhs.is_mask() || rhs.is_mask() {
                let mask = if lhs.is_mask() { lhs } else { rhs };
                return fail(
                    Code::Mask,
                    format!(
                        "a mask comes from a comparison and goes to `and`, `or`, `xor`, `not`, `any` and `select`; here `{name}` takes `{mask}`"
                    ),
                    "masks are equal where `a.xor(&b).not()` is true",
                );
            }
            if !fits(lhs, rhs) {
                let (needs, help) = needs(lhs, rhs);
                return fail(
                    Code::MapOperand,
                    format!("`{name}` of `{lhs}` takes {needs}; here it is `{rhs}`"),
                    help,
                );
            }
            if Some(out) != lhs.mask() {
                return fail(Code::Structure, format!("`{name}` gives a mask, not {out}"), "");
            }
        }
        Selection::Logic { lhs, rhs, .. } => {
            let (lhs, rhs) = (kernel.ty(*lhs), kernel.ty(*rhs));
            if !lhs.is_mask() || lhs != rhs || lhs != out {
                return fail(
                    Code::Mask,
                    format!("`{name}` combines two masks of one type; here they are `{lhs}` and `{rhs}`"),
                    "compare tiles or vectors of one size",
                );
            }
        }
        Selection::Not { mask } => {
            let mask = kernel.ty(*mask);
            if !mask.is_mask() || mask != out {
                return fail(
                    Code::Mask,
                    format!("`not` is the complement of a mask; here it is `{mask}`"),
                    "",
                );
            }
        }
        Selection::Any { mask } => {
            let mask = kernel.ty(*mask);
            if !mask.is_mask() {
                return fail(
                    Code::Mask,
                    format!("`any` says whether a mask is true anywhere; here it is `{mask}`"),
                    "compare first: `x.gt(0.0).any()`",
                );
            }
            if out != Type::Scalar(ScalarType::Bool) {
                return fail(Code::Structure, format!("`any` gives a bool, not {out}"), "");
            }
        }
        Selection::Select { mask, yes, no } => {
            let (mask, yes, no) = (kernel.ty(*mask), kernel.ty(*yes), kernel.ty(*no));
            let packed = yes.tile().is_some_and(|t| t.role.is_right_operand());
            if yes != out || packed || yes.is_mask() || yes.dtype().is_none() {
                return fail(
                    Code::Select,
                    format!(
                        "`select` chooses elements of `Row` and `Acc` tiles and of vectors; here it is `{yes}`"
                    ),
                    "",
                );
            }
            if Some(mask) != yes.mask() {
                return fail(
                    Code::Select,
                    format!(
                        "`select` takes operands of the mask's shape; here the mask is `{mask}` and the operand `{yes}`"
                    ),
                    "compare a tile or vector of the same size",
                );
            }
            let scalar = yes.dtype().map(|d| Type::Scalar(d.scalar()));
            if no != yes && Some(no) != scalar {
                return fail(
                    Code::Select,
                    format!(
                        "the second operand of `select` has the first one's type, `{yes}`, or is a scalar; here it is `{no}`"
                    ),
                    "convert one of them with `.to::<T>()`",
                );
            }
        }
        Selection::Iota { along, start } => {
            if let Type::Vector(v) = out
                && v.encoding != (*along).into()
            {
                return fail(
                    Code::Iota,
                    format!("a vector counts along itself; here `{out}` would count by {}", along.name()),
                    "",
                );
            }
            let packed = out.tile().is_some_and(|t| t.role.is_right_operand());
            let counts = out.dtype().is_some_and(|d| matches!(d, DType::F32 | DType::I32)) && !packed;
            if !counts {
                return fail(
                    Code::Iota,
                    format!(
                        "`iota` counts in f32 or i32, in `Row` and `Acc` tiles and vectors; here it would make `{out}`"
                    ),
                    "count in f32 or i32 and convert: `.to::<T>()`",
                );
            }
            let scalar = out.dtype().map(|d| Type::Scalar(d.scalar()));
            if Some(kernel.ty(*start)) != scalar {
                return fail(
                    Code::Iota,
                    format!(
                        "`iota` starts at a scalar of its element type; here `{out}` starts at {}",
                        kernel.ty(*start)
                    ),
                    "",
                );
            }
        }
    }
    Ok(Device::ALL.to_vec())
}
