//! Owns what an expression or a block does beside giving a value: which variables of an outer scope it assigns,
//! and whether it does anything but compute.
//!
//! *Guarantees*: a variable that a block declares itself does not count while it shadows. The answer decides
//! which values a loop or branch carries.

use std::collections::BTreeSet;

use crate::ast::{
    At, Block, CallOp, Expr, ExprKind, FunctionArg, GroupCall, Method, Operand, OrderRef, PartIndex, Stmt,
    TopKFrom,
};

/// The names of outer variables that the blocks assign or accumulate into.
pub fn assigned(blocks: &[&Block]) -> BTreeSet<String> {
    let mut walk = Walk { declared: vec![], out: BTreeSet::new() };
    for block in blocks {
        walk.block(block);
    }
    walk.out
}

/// The names of variables of an outer scope that an expression assigns.
pub fn assigned_in(e: &Expr) -> BTreeSet<String> {
    let mut walk = Walk { declared: vec![], out: BTreeSet::new() };
    walk.expr(e);
    walk.out
}

impl Expr {
    /// True if nothing but a value comes of the expression, as far as its form tells.
    pub fn only_computes(&self) -> bool {
        match &self.kind {
            ExprKind::Int(..)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Name(_)
            | ExprKind::Flag(_)
            | ExprKind::SizeCompare(..)
            | ExprKind::SizeCast(..) => true,
            ExprKind::Unary(_, a) | ExprKind::Cast(a, ..) | ExprKind::Paren(a) => a.only_computes(),
            ExprKind::Binary(_, a, b) | ExprKind::Logic(_, a, b) | ExprKind::Compare(_, a, b) => {
                a.only_computes() && b.only_computes()
            }
            ExprKind::Method {
                receiver, method: Method::Part | Method::Tiles(..) | Method::Outside, ..
            } => receiver.only_computes(),
            ExprKind::Method { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Block(_)
            | ExprKind::If { .. }
            | ExprKind::Call(_) => false,
        }
    }
}

struct Walk {
    declared: Vec<String>,
    out: BTreeSet<String>,
}

impl Walk {
    fn part_index(&mut self, at: &[PartIndex; 2]) {
        for index in at {
            if let PartIndex::Scalar(e) = index {
                self.expr(e);
            }
        }
    }

    fn target(&mut self, name: &str) {
        if !self.declared.iter().any(|d| d == name) {
            self.out.insert(name.to_string());
        }
    }

    fn block(&mut self, block: &Block) {
        let depth = self.declared.len();
        for stmt in &block.stmts {
            match stmt {
                Stmt::Let { name, value, .. } => {
                    self.expr(value);
                    self.declared.push(name.to_string());
                }
                Stmt::LetTuple { names, value, .. } => {
                    self.expr(value);
                    self.declared.extend(names.iter().flatten().map(|name| name.to_string()));
                }
                Stmt::Assign { name, value, .. } => {
                    self.expr(value);
                    self.target(&name.to_string());
                }
                Stmt::For { counter, lo, hi, body, .. } => {
                    self.expr(lo);
                    self.expr(hi);
                    let depth = self.declared.len();
                    self.declared.extend(counter.iter().map(|c| c.to_string()));
                    self.block(body);
                    self.declared.truncate(depth);
                }
                Stmt::While { cond, body, .. } => {
                    self.expr(cond);
                    self.block(body);
                }
                Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_) => {}
                Stmt::Expr(e) => self.expr(e),
            }
        }
        if let Some(tail) = &block.tail {
            self.expr(tail);
        }
        self.declared.truncate(depth);
    }

    fn at(&mut self, at: &At) {
        if let At::List { coords, .. } = at {
            coords.iter().for_each(|c| self.expr(c));
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Int(..)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Name(_)
            | ExprKind::Flag(_) => {}
            ExprKind::SizeCompare(..) | ExprKind::SizeCast(..) => {}
            ExprKind::Unary(_, a) | ExprKind::Cast(a, ..) | ExprKind::Paren(a) => self.expr(a),
            ExprKind::Binary(_, a, b) | ExprKind::Logic(_, a, b) | ExprKind::Compare(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Tuple(parts) => parts.iter().for_each(|e| self.expr(e)),
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { cond, then, otherwise } => {
                self.expr(cond);
                self.block(then);
                if let Some(block) = otherwise {
                    self.block(block);
                }
            }
            ExprKind::Method { receiver, method, .. } => {
                self.expr(receiver);
                if let (Method::SetSubTile { .. }, ExprKind::Name(name)) = (method, &receiver.kind) {
                    self.target(&name.to_string());
                }
                match method {
                    Method::Scale(by) => self.expr(by),
                    Method::MapBinary(_, _, operand) => match &**operand {
                        Operand::Reference(e) | Operand::Value(e) => self.expr(e),
                    },
                    Method::Reduce(_, _, running) => running.iter().for_each(|e| self.expr(e)),
                    Method::Choose(_, operands) => operands.iter().for_each(|operand| match operand {
                        Operand::Reference(e) | Operand::Value(e) => self.expr(e),
                    }),
                    Method::Keep(_, args) => args.iter().for_each(|e| self.expr(e)),
                    Method::Triangle(_, args) => args.iter().for_each(|e| self.expr(e)),
                    Method::SubTile { at, .. } => self.part_index(at),
                    Method::SetSubTile { part, at } => {
                        self.part_index(at);
                        self.expr(part);
                    }
                    // The parser sees to it that a closure assigns nothing.
                    Method::Closure(closure) => closure.other.iter().for_each(|e| self.expr(e)),
                    Method::TopK(call) => {
                        if let TopKFrom::Running(args) = &call.from {
                            args.iter().for_each(|e| self.expr(e));
                        }
                    }
                    Method::Part
                    | Method::Transpose
                    | Method::Vector(_)
                    | Method::Tiles(..)
                    | Method::Outside
                    | Method::To(_)
                    | Method::MapUnary(_) => {}
                }
            }
            ExprKind::Call(call) => match &call.op {
                CallOp::Zeros | CallOp::Place(_) => {}
                CallOp::OwnTile { order, .. } => {
                    if let OrderRef::Snake(width) = order {
                        self.expr(width);
                    }
                }
                CallOp::Function(call) => {
                    for arg in &call.args {
                        match arg {
                            FunctionArg::Reference(e) | FunctionArg::Value(e) => self.expr(e),
                            FunctionArg::Mutable(name) | FunctionArg::Given(name) => {
                                self.target(&name.to_string());
                            }
                        }
                    }
                }
                CallOp::Group(group) => match &**group {
                    GroupCall::Shared { .. } | GroupCall::Barrier(_) => {}
                    GroupCall::Load { at, .. } => at.iter().for_each(|e| self.expr(e)),
                    GroupCall::Store { value, at, .. } => {
                        self.expr(value);
                        at.iter().for_each(|e| self.expr(e));
                    }
                    GroupCall::LoadCoop { at, .. } | GroupCall::StoreCoop { at, .. } => self.at(at),
                },
                CallOp::Fill(value) | CallOp::Iota(_, value) => self.expr(value),
                CallOp::Load { at, .. }
                | CallOp::Prefetch { at, .. }
                | CallOp::LoadVector { at, .. }
                | CallOp::LoadScalar { at, .. } => self.at(at),
                CallOp::Store { tile, at, .. }
                | CallOp::StoreTranspose { tile, at, .. }
                | CallOp::StoreVector { vector: tile, at, .. }
                | CallOp::AtomicAdd { value: tile, at, .. } => {
                    self.expr(tile);
                    self.at(at);
                }
                CallOp::Mma { acc, a, b, .. } => {
                    self.expr(a);
                    self.expr(b);
                    self.target(&acc.to_string());
                }
            },
        }
    }
}
