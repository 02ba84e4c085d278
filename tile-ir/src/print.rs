//! Owns the text form of a kernel (`cargo tile dump KERNEL --format ir`).
//!
//! *Guarantees*: equal kernels print equally, and value names in the text are the [`ValueId`]s of the kernel.
//! Spans are left out. *Not here*: reading the text back.

use crate::ir::{
    Coord, Exit, GroupOp, Kernel, Op, OpKind, Order, ParamKind, Region, SharedAt, Unit, ValueId, VectorOp,
};
use core::fmt::{self, Write};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols) = self.subgroups;
        write!(f, "kernel {}{} subgroups=({rows}, {cols})", self.name, self.instance)?;
        if self.unowned_stores {
            f.write_str(" unowned_stores")?;
        }
        if self.host_only {
            f.write_str(" host")?;
        }
        f.write_str("\n")?;
        for (i, param) in self.params.iter().enumerate() {
            match param.kind {
                ParamKind::Global { dtype, access } => {
                    let access = match access {
                        crate::ir::Access::In => "in",
                        crate::ir::Access::Out => "out",
                    };
                    writeln!(f, "  param @{i} {}: {access} gl<{dtype}>", param.name)?;
                }
                ParamKind::Scalar { value, ty } => {
                    writeln!(f, "  param @{i} {}: {ty} = {value}", param.name)?
                }
            }
        }
        for (i, shared) in self.shared.iter().enumerate() {
            writeln!(f, "  shared ${i} {}: {}", shared.name, shared.ty)?;
        }
        f.write_str("{\n")?;
        print_region(self, &self.body, 1, f)?;
        f.write_str("}\n")
    }
}

fn list(values: &[ValueId]) -> String {
    let mut out = String::new();
    for (i, v) in values.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        let _ = write!(out, "{v}");
    }
    out
}

fn coord(at: &Coord) -> String {
    let mut out = String::from(match at.unit {
        Unit::Tiles => "[",
        Unit::Elements => "elements[",
    });
    if at.batch.is_some() || at.depth.is_some() {
        for plane in [at.batch, at.depth] {
            match plane {
                Some(v) => drop(write!(out, "{v}, ")),
                None => out.push_str("0, "),
            }
        }
    }
    let _ = write!(out, "{}, {}]", at.row, at.col);
    out
}

fn print_region(kernel: &Kernel, region: &Region, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for op in &region.ops {
        print_op(kernel, op, depth, f)?;
    }
    let indent = "  ".repeat(depth);
    match &region.exit {
        Exit::Return => writeln!(f, "{indent}return"),
        Exit::Break(values) => writeln!(f, "{indent}break {}", list(values)),
        Exit::Continue(values) => writeln!(f, "{indent}continue {}", list(values)),
        Exit::Yield(values) if values.is_empty() => Ok(()),
        Exit::Yield(values) => writeln!(f, "{indent}yield {}", list(values)),
    }
}

fn print_group(op: &GroupOp, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(op.name())?;
    let place = |at: &SharedAt| list(&at.values().collect::<Vec<_>>());
    match op {
        GroupOp::Load { shared, at, .. } => write!(f, " {shared} [{}]", place(at)),
        GroupOp::Store { shared, value, at } => write!(f, " {shared} {value} [{}]", place(at)),
        GroupOp::LoadCoop { shared, global, at } => write!(f, " {shared} {global} {}", coord(at)),
        GroupOp::StoreCoop { global, shared, at } => write!(f, " {global} {shared} {}", coord(at)),
        GroupOp::Barrier(_) => Ok(()),
    }
}

fn print_op(kernel: &Kernel, op: &Op, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let indent = "  ".repeat(depth);
    f.write_str(&indent)?;
    if !op.results.is_empty() {
        write!(f, "{} = ", list(&op.results))?;
    }
    match &op.kind {
        OpKind::Const(value) => write!(f, "{value}")?,
        OpKind::Dim { global, dim } => write!(f, "{global}.{}", dim.name())?,
        OpKind::OwnTile { global, tile, order } => {
            write!(f, "own_tile {global} {}x{} ", tile.0, tile.1)?;
            match order {
                Order::Linear => f.write_str("linear")?,
                Order::Upward => f.write_str("upward")?,
                Order::Snake(width) => write!(f, "snake({width})")?,
            }
        }
        OpKind::Load { global, at, form } => write!(f, "{} {global} {}", form.name(), coord(at))?,
        OpKind::Prefetch { global, at, tile, peers } => {
            write!(f, "{} {global} {}x{} {}", op.kind.name(), tile.0, tile.1, coord(at))?;
            if let Some(peers) = peers {
                write!(f, " peers={}", peers.name())?;
            }
        }
        OpKind::Store { global, tile: value, at }
        | OpKind::StoreTranspose { global, tile: value, at }
        | OpKind::AtomicAdd { global, value, at, .. }
        | OpKind::Vector(VectorOp::Store { global, vector: value, at }) => {
            write!(f, "{} {global} {value} {}", op.kind.name(), coord(at))?;
        }
        OpKind::TopK(what) => write!(f, "{} {} k={}", what.name(), list(&what.operands()), what.k)?,
        OpKind::SubTile { at, .. } | OpKind::SetSubTile { at, .. } => {
            write!(f, "{} {} ({}, {})", op.kind.name(), list(&op.kind.operands()), at.0, at.1)?;
        }
        OpKind::For { lo, hi, step, inits, body } => {
            write!(
                f,
                "for {} in {lo}..{hi} step {step}",
                body.args.first().map_or(String::new(), |v| v.to_string())
            )?;
            for (arg, init) in body.args.iter().skip(1).zip(inits) {
                write!(f, " {arg}={init}")?;
            }
            f.write_str(" {\n")?;
            print_region(kernel, body, depth + 1, f)?;
            write!(f, "{indent}}}")?;
        }
        OpKind::While { inits, cond, body } => {
            write!(f, "while")?;
            for (arg, init) in cond.args.iter().zip(inits) {
                write!(f, " {arg}={init}")?;
            }
            f.write_str(" {\n")?;
            print_region(kernel, cond, depth + 1, f)?;
            writeln!(f, "{indent}}} do {} {{", list(&body.args))?;
            print_region(kernel, body, depth + 1, f)?;
            write!(f, "{indent}}}")?;
        }
        OpKind::LoadVector { global, at } | OpKind::LoadScalar { global, at } => {
            write!(f, "{} {global} {}", op.kind.name(), coord(at))?;
        }
        OpKind::Group(what) => print_group(what, f)?,
        OpKind::If { cond, then, otherwise } => {
            writeln!(f, "if {cond} {{")?;
            print_region(kernel, then, depth + 1, f)?;
            if !otherwise.ops.is_empty() || otherwise.exit != Exit::Yield(vec![]) {
                writeln!(f, "{indent}}} else {{")?;
                print_region(kernel, otherwise, depth + 1, f)?;
            }
            write!(f, "{indent}}}")?;
        }
        OpKind::Binary { .. }
        | OpKind::Unary { .. }
        | OpKind::Compare { .. }
        | OpKind::Cast { .. }
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
        | OpKind::Transpose { .. } => {
            f.write_str(op.kind.name())?;
            let operands = op.kind.operands();
            if !operands.is_empty() {
                write!(f, " {}", list(&operands))?;
            }
        }
    }
    if !op.results.is_empty() {
        f.write_str(" : ")?;
        for (i, v) in op.results.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}", kernel.ty(*v))?;
        }
    }
    f.write_str("\n")
}
