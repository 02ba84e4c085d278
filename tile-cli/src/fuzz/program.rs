//! Owns a case: a kernel as text in a tree of statements, its instance, its tensors and scalars.
//!
//! The tree exists so that a failing case can be made smaller: every statement may be dropped, every block opened, and a
//! statement lists simpler texts for itself. *Not here*: making cases up (`write`), making them smaller (`shrink`).

use std::fmt::Write as _;

use tile_ir::scalar::Const;
use tile_ir::types::DType;

use super::tensor::Spec;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// One line, and simpler ones that may stand in its place.
    Line {
        /// The line.
        text: String,
        /// Simpler lines of the same meaning to the rest of the kernel.
        simpler: Vec<String>,
    },
    /// A line that opens a block, the block, and the block of its `else`.
    Block {
        /// The line, without the brace.
        head: String,
        /// The statements.
        body: Vec<Stmt>,
        /// The statements of `else`.
        other: Option<Vec<Stmt>>,
    },
}

impl Stmt {
    /// A line without a simpler form.
    pub fn line(text: impl Into<String>) -> Stmt {
        Stmt::Line { text: text.into(), simpler: vec![] }
    }
}

/// A kernel with what it is launched on.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The seed it was made from.
    pub seed: u64,
    /// Element types `A`, `B`, `C`.
    pub types: [DType; 3],
    /// Sizes `M`, `N`, `K`.
    pub sizes: [u32; 3],
    /// Sub-groups of a work-group as (rows, cols).
    pub subgroups: (u32, u32),
    /// The body after `own_tile`.
    pub body: Vec<Stmt>,
    /// Tensors `c`, `a`, `b`, `f`.
    pub tensors: [Spec; 4],
    /// Scalars `n: u32`, `i: i32`, `w: u64`, `x: f32`, `p: bool`.
    pub scalars: [Const; 5],
    /// The order of the work-groups.
    pub order: &'static str,
}

/// The names of the scalar parameters.
pub const SCALARS: [&str; 5] = ["n", "i", "w", "x", "p"];

impl Case {
    /// The arguments of the attribute.
    pub fn attr(&self) -> String {
        let [a, b, c] = self.types;
        let [m, n, k] = self.sizes;
        let (rows, cols) = self.subgroups;
        format!("instances(<{a}, {b}, {c}, {m}, {n}, {k}; subgroups = ({rows}, {cols})>)")
    }

    /// The element types of the tensors.
    pub fn dtypes(&self) -> [DType; 4] {
        let [a, b, c] = self.types;
        [c, a, b, DType::F32]
    }

    /// The kernel's text.
    pub fn source(&self) -> String {
        let mut text = String::from(
            "fn fuzzed<A: MmaInput, B: Element, C: Element, const M: usize, const N: usize, const K: usize>(\n    \
             c: &mut gl<C>, a: &gl<A>, b: &gl<B>, f: &gl<f32>, n: u32, i: i32, w: u64, x: f32, p: bool,\n) {\n",
        );
        let _ = writeln!(text, "    let own = own_tile::<M, N>(c, {});", self.order);
        write_block(&mut text, &self.body, 1);
        text.push_str("}\n");
        text
    }

    /// The case as a text that a reader can rebuild: attribute, kernel, tensors and scalars.
    pub fn text(&self) -> String {
        let mut text = format!("// seed {}\n#[tile_kernel({})]\n{}", self.seed, self.attr(), self.source());
        for ((name, dtype), s) in ["c", "a", "b", "f"].iter().zip(self.dtypes()).zip(&self.tensors) {
            let _ = writeln!(
                text,
                "// {name}: {dtype} [{}, {}, {}, {}], starts {} bytes after a line, {} bytes of extra pitch{}, values {}{}",
                s.batch,
                s.depth,
                s.rows,
                s.cols,
                s.x0 * 4,
                s.extra_pitch * 16,
                if s.repeated { ", one plane repeated" } else { "" },
                s.seed,
                if s.odd { " with NaN and infinities" } else { "" },
            );
        }
        for (name, value) in SCALARS.iter().zip(self.scalars) {
            let _ = writeln!(text, "// {name} = {value}");
        }
        text
    }
}

fn write_block(text: &mut String, body: &[Stmt], depth: usize) {
    let indent = "    ".repeat(depth);
    for stmt in body {
        match stmt {
            Stmt::Line { text: line, .. } => {
                let _ = writeln!(text, "{indent}{line}");
            }
            Stmt::Block { head, body, other } => {
                let _ = writeln!(text, "{indent}{head} {{");
                write_block(text, body, depth + 1);
                if let Some(other) = other {
                    let _ = writeln!(text, "{indent}}} else {{");
                    write_block(text, other, depth + 1);
                }
                let _ = writeln!(text, "{indent}}}");
            }
        }
    }
}
