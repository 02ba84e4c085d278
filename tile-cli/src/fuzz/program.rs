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

/// A device function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// From `fn` to the brace that opens its body.
    pub head: String,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Its last expression.
    pub result: String,
}

impl Function {
    fn write(&self, text: &mut String) {
        let _ = writeln!(text, "{} {{", self.head);
        write_block(text, &self.body, 1);
        let _ = writeln!(text, "    {}\n}}", self.result);
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
    /// The switch `F`.
    pub flag: bool,
    /// Whether the kernel is an `unsafe fn`, which may store anywhere.
    pub is_unsafe: bool,
    /// Device functions that the kernel lists.
    pub functions: Vec<Function>,
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
    /// The generic arguments as the attribute lists them, such as `<bf16, f32, f32, 8, 16, 16, true>`.
    pub fn instance(&self) -> String {
        let [a, b, c] = self.types;
        let [m, n, k] = self.sizes;
        let types = if self.is_generic() { format!("{a}, {b}, {c}, ") } else { String::new() };
        format!("<{types}{m}, {n}, {k}, {}>", self.flag)
    }

    /// True when `A`, `B` and `C` are type parameters. They stand for their types in kernels that compute in integers or
    /// add atomically: no bound says that an op takes the type.
    pub fn is_generic(&self) -> bool {
        let adds = |s: &Stmt| matches!(s, Stmt::Line { text, .. } if text.starts_with("atomic_add"));
        self.types.iter().all(|t| DType::FLOATS.contains(t)) && !self.body.iter().any(adds)
    }

    /// What the attribute says beside the instances: derived sizes and device functions.
    pub fn options(&self) -> String {
        let names: Vec<&str> = self.functions.iter().map(|f| f.name.as_str()).collect();
        let listed = if names.is_empty() { String::new() } else { format!("fns({}), ", names.join(", ")) };
        format!("{listed}derive(D = M * 2, E = N + 16)")
    }

    /// The instance with its work-group, as the attribute lists it.
    pub fn listed(&self) -> String {
        let (rows, cols) = self.subgroups;
        format!("{}; subgroups = ({rows}, {cols})>", self.instance().trim_end_matches('>'))
    }

    /// The arguments of the attribute.
    pub fn attr(&self) -> String {
        format!("{}, instances({})", self.options(), self.listed())
    }

    /// The element types of the tensors.
    pub fn dtypes(&self) -> [DType; 4] {
        let [a, b, c] = self.types;
        [c, a, b, DType::F32]
    }

    /// The kernel's text, without its attribute.
    pub fn kernel(&self) -> String {
        let safety = if self.is_unsafe { "unsafe " } else { "" };
        let types = if self.is_generic() { "A: MmaInput, B: Element, C: Element, " } else { "" };
        let mut text = format!(
            "{safety}fn fuzzed<{types}const M: usize, const N: usize, const K: usize, \
             const F: bool, const D: usize, const E: usize>(\n    \
             c: &mut gl<C>, a: &gl<A>, b: &gl<B>, f: &gl<f32>, n: u32, i: i32, w: u64, x: f32, p: bool,\n) {{\n",
        );
        let _ = writeln!(text, "    let own = own_tile::<M, N>(c, {});", self.order);
        write_block(&mut text, &self.body, 1);
        text.push_str("}\n");
        if self.is_generic() {
            return text;
        }
        let [a, b, c] = self.types;
        replaced(&text, &[("A", a.name()), ("B", b.name()), ("C", c.name())])
    }

    /// The text of the device functions, each under `attribute`.
    pub fn device_functions(&self, attribute: &str) -> String {
        let mut text = String::new();
        for function in &self.functions {
            text.push_str(attribute);
            function.write(&mut text);
        }
        text
    }

    /// The kernel and its device functions, as `tile_front::compile_source` takes them.
    pub fn source(&self) -> String {
        self.kernel() + &self.device_functions("")
    }

    /// The case as a text that a reader can rebuild: attribute, kernel, tensors and scalars.
    pub fn text(&self) -> String {
        let mut text = format!(
            "// seed {}\n#[tile_kernel({})]\n{}{}",
            self.seed,
            self.attr(),
            self.kernel(),
            self.device_functions("#[tile_fn]\n")
        );
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

/// The text with some names in place of others.
pub fn replaced(text: &str, names: &[(&str, &str)]) -> String {
    let mut all = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(word);
        all.push_str(names.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to));
        let other = after.find(is_word).unwrap_or(after.len());
        all.push_str(&after[..other]);
        rest = &after[other..];
    }
    all
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
