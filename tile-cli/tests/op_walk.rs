//! The walk over every op, every element type and every role: what the typing rule accepts is compiled, and the simulator and the
//! host bodies give what it means; what it refuses is refused with a rule's code and a message that names the op or the type.
//!
//! *Assumes*: the conformance suite for kernels (`conform::bodies`). *Not here*: its many launches (`conformance`), ops on scalars
//! and tensors alone (`op_contract`).

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use tile_cli::conform::{compile_all, kernels, launches};
use tile_cli::fuzz::judge::Verdict;
use tile_cli::reference::operands::{column, judged, taken, universe};
use tile_ir::error::Code;
use tile_ir::ir::{Kernel, Op, OpKind, Selection, VectorOp};
use tile_ir::ops::list::{Family, all};
use tile_ir::types::Type;

/// An op, an element type and a role: `MapUnary abs bf16 Row`.
type Cell = (String, &'static str, &'static str);

fn cell(op: &str, ty: Type) -> Cell {
    (op.to_string(), ty.dtype().map_or("f32", |d| d.name()), column(ty))
}

/// The type that the tables of the reference list an op under: its main operand, of a source its result.
fn main_type(kernel: &Kernel, op: &Op) -> Option<Type> {
    let value = match &op.kind {
        OpKind::Zeros | OpKind::Fill { .. } | OpKind::Load { .. } | OpKind::LoadVector { .. } => {
            *op.results.first()?
        }
        OpKind::Selection(Selection::Iota { .. }) => *op.results.first()?,
        OpKind::Selection(Selection::Compare { lhs, .. }) => *lhs,
        OpKind::Selection(Selection::Select { yes, .. }) => *yes,
        OpKind::Store { tile, .. }
        | OpKind::StoreTranspose { tile, .. }
        | OpKind::Transpose { tile }
        | OpKind::SubTile { tile, .. }
        | OpKind::SetSubTile { tile, .. }
        | OpKind::Convert { tile }
        | OpKind::Scale { tile, .. }
        | OpKind::Reduce { tile, .. }
        | OpKind::KeepFirst { tile, .. }
        | OpKind::Triangle { tile, .. } => *tile,
        OpKind::AtomicAdd { value, .. } | OpKind::MapUnary { value, .. } => *value,
        OpKind::Mma { a, .. } => *a,
        OpKind::MapBinary { lhs, .. } => *lhs,
        OpKind::MapTernary { x, .. } => *x,
        OpKind::TopK(what) => what.tile,
        OpKind::Vector(
            VectorOp::Store { vector, .. }
            | VectorOp::Reduce { vector, .. }
            | VectorOp::Arg { vector, .. }
            | VectorOp::Encode { vector, .. },
        ) => *vector,
        OpKind::Vector(VectorOp::ArgLines { tile, .. }) => *tile,
        _ => return None,
    };
    Some(kernel.ty(value))
}

/// The cells that a kernel of the suite has, judged on one launch with odd values and one on several work-groups.
fn ran() -> BTreeSet<Cell> {
    let kernels = kernels();
    let compiled = compile_all(&kernels);
    let each = kernels.par_iter().zip(compiled).map(|(kernel, compiled)| {
        let ready = match compiled {
            Ok(Ok(ready)) => ready,
            Ok(Err(_)) => return vec![],
            Err(f) => panic!("{}: {:?}: {}", kernel.label(), f.kind, f.detail),
        };
        let all = launches::launches(&kernel.case);
        for case in [&all[1], &all[8]] {
            let verdict = ready.judge(case, None);
            assert!(
                matches!(verdict, Verdict::Agrees { .. } | Verdict::Skipped(_)),
                "{}: {verdict:?}\n{}",
                kernel.label(),
                case.text()
            );
        }
        let ir = ready.kernel().kernel();
        let mut cells = vec![];
        ir.body.walk(&mut |op| {
            if let Some(ty) = main_type(ir, op) {
                cells.push(cell(&format!("{:?} {}", op.kind.family(), op.kind.name()), ty));
            }
        });
        cells
    });
    each.flatten_iter().collect()
}

#[test]
fn every_op_type_and_role_is_run_or_refused_by_name() {
    let ran = ran();
    // Types that a source or a conversion gives: no kernel has a tile of another, whatever an op would take.
    let sources = [Family::Zeros, Family::Fill, Family::Load, Family::LoadVector, Family::Iota];
    let made: Vec<Type> = all()
        .iter()
        .filter(|entry| sources.contains(&entry.family))
        .flat_map(|entry| taken(entry).unwrap_or_default())
        .collect();
    let mut never_made = 0u32;
    let (mut accepted, mut refused) = (0u32, BTreeMap::<Code, u32>::new());
    let mut problems = vec![];
    for entry in all() {
        let name = format!("{:?} {}", entry.family, entry.name);
        for ty in universe() {
            let Some(judged) = judged(&entry, ty) else { continue };
            if let Type::Scalar(_) = ty {
                continue;
            }
            if judged.iter().any(Result::is_ok) && !made.contains(&ty) {
                never_made += 1;
                continue;
            }
            if judged.iter().any(Result::is_ok) {
                accepted += 1;
                let cell = cell(&name, ty);
                if !ran.contains(&cell) {
                    problems.push(format!("`{name}` takes `{ty}`, which no kernel of `conform` shows"));
                }
                continue;
            }
            let why: Vec<_> = judged.into_iter().filter_map(Result::err).flatten().collect();
            // A way to complete the op may lack a result, which is the compiler's own affair.
            let named = why.iter().find(|d| {
                let names = [entry.name.clone(), ty.to_string()].into_iter().chain(entry.calls.clone());
                d.code != Code::Structure && names.into_iter().any(|n| d.message.contains(&n))
            });
            match named {
                Some(d) => *refused.entry(d.code).or_default() += 1,
                None => problems.push(format!(
                    "`{name}` refuses `{ty}` without a word about it: {:?}",
                    why.iter().map(ToString::to_string).collect::<BTreeSet<_>>()
                )),
            }
        }
    }
    println!(
        "{accepted} cells of op, element type and role are run; {never_made} are of types that no op makes; refused: {refused:?}"
    );
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    let refused: u32 = refused.values().sum();
    assert!(accepted >= 300 && refused >= 1000, "only {accepted} cells accepted, {refused} refused");
}
