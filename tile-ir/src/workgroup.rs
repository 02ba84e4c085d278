//! Owns the rules about a work-group's shared memory as a whole: what fits, what shapes it has, which positions are known to
//! lie outside, and how the halves of split barriers pair.
//!
//! *Assumes* a structurally sound kernel. *Not here*: single ops (`ops::group`), who reaches a barrier (`uniform`).

use std::collections::HashMap;

use crate::error::{Code, Diagnostic, Span};
use crate::ir::{
    Barrier, Exit, GroupOp, Kernel, LoadForm, Op, OpKind, Region, SharedAt, SharedType, ValueId,
};
use crate::legal::{Arithmetic, MMA_COLS, MMA_ROWS, SHARED_BYTES, element_type};
use crate::ops::group::shared_window;
use crate::scalar::Const;
use crate::types::DType;

/// Every broken rule about shared memory and split barriers.
pub(crate) fn check(kernel: &Kernel) -> Vec<Diagnostic> {
    let mut out = vec![];
    check_shapes(kernel, &mut out);
    check_capacity(kernel, &mut out);
    check_positions(kernel, &mut out);
    if let Some(Arrived::At(span)) = pair(&kernel.body, Arrived::No, &mut vec![], &mut out) {
        unmatched(span, "at the end of the kernel", &mut out);
    }
    out
}

fn check_shapes(kernel: &Kernel, out: &mut Vec<Diagnostic>) {
    for shared in &kernel.shared {
        let dtype = shared.ty.dtype();
        if dtype != DType::Bool && element_type(dtype).arithmetic == Arithmetic::None {
            out.push(Diagnostic::new(
                Code::ElementOp,
                shared.span,
                format!("shared memory is of bf16, f16, f32 or i32; here `{}` is of {dtype}", shared.ty),
                format!("convert what is shared: `.to::<{}>()`", dtype.wide()),
            ));
        }
        let (units, found) = match shared.ty {
            SharedType::Tile { rows, cols, .. } => (
                [("rows", MMA_ROWS, rows), ("columns", MMA_COLS, cols)].to_vec(),
                "a shared tile has rows in multiples of 8 and columns in multiples of 16",
            ),
            SharedType::Vector { len, .. } => {
                ([("elements", MMA_ROWS, len)].to_vec(), "a shared vector has elements in multiples of 8")
            }
        };
        if let Some((what, unit, have)) = units.into_iter().find(|(_, u, n)| *n == 0 || !n.is_multiple_of(*u))
        {
            out.push(Diagnostic::new(
                Code::SharedShape,
                shared.span,
                format!("{found}; here `{}` has {have} {what}", shared.ty),
                format!("use {} {what}", crate::ops::whole_units(have, unit)),
            ));
        }
    }
}

fn check_capacity(kernel: &Kernel, out: &mut Vec<Diagnostic>) {
    let bytes = kernel.shared_bytes();
    if bytes <= SHARED_BYTES || kernel.host_only {
        return;
    }
    let list: Vec<String> =
        kernel.shared.iter().map(|s| format!("`{}` {} bytes", s.name, s.ty.bytes())).collect();
    out.push(Diagnostic::new(
        Code::SharedCapacity,
        kernel.shared.last().map_or(Span::NONE, |s| s.span),
        format!(
            "a work-group has {SHARED_BYTES} bytes of shared memory; here {bytes} are asked for: {}",
            list.join(", ")
        ),
        "use smaller shared tiles in this instance, or use one tile twice; `; host` compiles it for the host device alone",
    ));
}

/// Refuses constant positions outside the shared memory.
fn check_positions(kernel: &Kernel, out: &mut Vec<Diagnostic>) {
    let mut constants: HashMap<ValueId, u32> = HashMap::new();
    kernel.body.walk(&mut |op| {
        if let (OpKind::Const(Const::U32(v)), [id]) = (&op.kind, op.results.as_slice()) {
            constants.insert(*id, *v);
        }
    });
    kernel.body.walk(&mut |op| {
        let OpKind::Group(what) = &op.kind else { return };
        let (id, at, window) = match what {
            GroupOp::Load { shared, at, form } => {
                let Some(&result) = op.results.first() else { return };
                (*shared, at, shared_window(*form, kernel.ty(result)))
            }
            GroupOp::Store { shared, value, at } => {
                (*shared, at, shared_window(LoadForm::Plain, kernel.ty(*value)))
            }
            GroupOp::LoadCoop { .. } | GroupOp::StoreCoop { .. } | GroupOp::Barrier(_) => return,
        };
        let Some(shared) = kernel.shared(id) else { return };
        let SharedAt { row, col } = at;
        let (rows, cols) = shared.ty.shape();
        let axes = [("row", *row, window.0, rows), ("column", Some(*col), window.1, cols)];
        for (axis, value, size, extent) in axes {
            let Some(&tile) = value.and_then(|v| constants.get(&v)) else { continue };
            let end = (u64::from(tile) + 1) * u64::from(size);
            if end > u64::from(extent) && size <= extent {
                let axis = if row.is_none() { "position" } else { axis };
                out.push(Diagnostic::new(
                    Code::SharedAccess,
                    op.span,
                    format!(
                        "`{}` stays inside its shared memory; `{}` is `{}`, whose last {axis} here is {}, and this one is {tile}",
                        op.kind.name(),
                        shared.name,
                        shared.ty,
                        extent / size.max(1) - 1
                    ),
                    "positions count tiles or vectors of the size that is moved",
                ));
            }
        }
    });
}

/// Whether a `barrier_arrive` waits for its `barrier_wait`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrived {
    No,
    At(Span),
}

fn report(span: Span, message: String, out: &mut Vec<Diagnostic>) {
    let help =
        "write `barrier_arrive();`, work that needs nothing of the others, `barrier_wait();` in one block";
    out.push(Diagnostic::new(Code::BarrierPairing, span, message, help));
}

fn unmatched(span: Span, place: &str, out: &mut Vec<Diagnostic>) {
    let message =
        format!("each `barrier_arrive` is followed by one `barrier_wait`; here none follows {place}");
    report(span, message, out);
}

/// Follows a region; the state at its end, or `None` when control does not go on. `loops` holds the state at the start of
/// each loop around.
fn pair(
    region: &Region,
    start: Arrived,
    loops: &mut Vec<Arrived>,
    out: &mut Vec<Diagnostic>,
) -> Option<Arrived> {
    let mut state = start;
    for op in &region.ops {
        if let OpKind::Group(GroupOp::Barrier(kind)) = &op.kind {
            state = step(op, *kind, state, out);
        } else if let OpKind::If { then, otherwise, .. } = &op.kind {
            let ends = [then, otherwise].map(|r| pair(r, state, loops, out));
            state = match ends {
                [None, None] => return None,
                [Some(one), None] | [None, Some(one)] => one,
                [Some(a), Some(b)] => {
                    if matches!(a, Arrived::No) != matches!(b, Arrived::No) {
                        let span = if let Arrived::At(s) = a { s } else { op.span };
                        let span = if let Arrived::At(s) = b { s } else { span };
                        unmatched(span, "on one way of an `if`", out);
                    }
                    if a == Arrived::No { a } else { b }
                }
            };
        } else if let OpKind::For { body, .. } | OpKind::While { body, .. } = &op.kind {
            // The condition of a `while` runs before each run of the body, and once more behind the last.
            if let OpKind::While { cond, .. } = &op.kind {
                state = pair(cond, state, loops, out)?;
            }
            loops.push(state);
            let end = pair(body, state, loops, out);
            loops.pop();
            let again = match (&op.kind, end) {
                (OpKind::While { cond, .. }, Some(end)) => pair(cond, end, loops, &mut vec![]),
                (_, end) => end,
            };
            if let Some(end) = again {
                same_as_start(state, end, "before the next run of the loop", op.span, out);
            }
        }
    }
    let here = region.ops.last().map_or(Span::NONE, |op| op.span);
    match &region.exit {
        Exit::Yield(_) => Some(state),
        Exit::Return => {
            if let Arrived::At(span) = state {
                unmatched(span, "before the kernel ends", out);
            }
            None
        }
        Exit::Break(_) | Exit::Continue(_) => {
            let start = loops.last().copied().unwrap_or(Arrived::No);
            same_as_start(start, state, "before the run of the loop ends", here, out);
            None
        }
    }
}

fn same_as_start(start: Arrived, end: Arrived, place: &str, here: Span, out: &mut Vec<Diagnostic>) {
    match (start, end) {
        (Arrived::No, Arrived::At(span)) => unmatched(span, place, out),
        (Arrived::At(_), Arrived::No) => {
            report(
                here,
                "each `barrier_arrive` is followed by one `barrier_wait`; here a loop waits for what was arrived before it"
                    .into(),
                out,
            );
        }
        (Arrived::No, Arrived::No) | (Arrived::At(_), Arrived::At(_)) => {}
    }
}

fn step(op: &Op, kind: Barrier, state: Arrived, out: &mut Vec<Diagnostic>) -> Arrived {
    match (kind, state) {
        (Barrier::Full, Arrived::No) | (Barrier::Wait, Arrived::At(_)) => Arrived::No,
        (Barrier::Arrive, Arrived::No) => Arrived::At(op.span),
        (Barrier::Wait, Arrived::No) => {
            report(
                op.span,
                "`barrier_wait` follows one `barrier_arrive`; here none stands before it".into(),
                out,
            );
            Arrived::No
        }
        (Barrier::Full | Barrier::Arrive, Arrived::At(_)) => {
            let message = format!(
                "each `barrier_arrive` is followed by one `barrier_wait`; here `{}` stands between the two",
                kind.name()
            );
            report(op.span, message, out);
            if kind == Barrier::Arrive { Arrived::At(op.span) } else { Arrived::No }
        }
    }
}
