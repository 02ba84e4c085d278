//! Owns the expressions of made-up kernels: coordinates, sources, chains of ops, scalars.
//!
//! *Not here*: statements and cases (`write`).

use super::*;

impl Writer {
    pub(super) fn coordinate(&mut self) -> String {
        let list = self.place();
        if self.dice.one_in(8) { format!("elements({list})") } else { list }
    }

    /// A list of coordinates.
    pub(super) fn place(&mut self) -> String {
        if self.place == Place::Function {
            let (row, col) = (self.scalar(ScalarType::U32, 1), self.dice.pick(&["0u32", "1u32", "q"]));
            return format!("[{row}, {col}]");
        }
        let mut part = |own: &str| match self.dice.below(9) {
            0..=2 => own.to_string(),
            3 => "0u32".into(),
            4 => "1u32".into(),
            5 => format!("{own} + 1u32"),
            6 => ["3u32", "4294967295u32", "268435456u32"][self.dice.below(3)].into(),
            7 => format!("{}u32", self.dice.below(3)),
            _ => self.scalar(ScalarType::U32, 1),
        };
        let (row, col) = (part("own.row()"), part("own.col()"));
        match self.dice.below(3) {
            0 => {
                let batch = ["own.batch()", "own.batch()", "0u32", "1u32", "7u32"][self.dice.below(5)];
                let depth =
                    ["own.depth()", "own.depth()", "0u32", "1u32", "4294967295u32"][self.dice.below(5)];
                format!("[{batch}, {depth}, {row}, {col}]")
            }
            _ => format!("[{row}, {col}]"),
        }
    }

    /// A variable made by a source.
    pub(super) fn source_variable(&mut self, ty: Ty) -> Var {
        let text = self.source(ty);
        let name = self.fresh("l");
        let head = format!("let {name}: {}", ty.text());
        let simpler = vec![format!("{head} = fill(0.5);"), format!("{head} = zeros();")];
        self.out.push(Stmt::Line { text: format!("{head} = {text};"), simpler });
        let var = Var { name, ty, mutable: false };
        self.vars.push(var.clone());
        var
    }

    /// A call that makes a tile or vector from nothing or from memory.
    pub(super) fn source(&mut self, ty: Ty) -> String {
        if self.dice.one_in(6) {
            return if self.dice.one_in(3) {
                "zeros()".into()
            } else {
                format!("fill({})", self.scalar(ScalarType::F32, 1))
            };
        }
        let at = self.coordinate();
        let load = match ty {
            Ty::Tile(_, _, _, Role::Row) if self.dice.one_in(4) => "load_transpose",
            Ty::Tile(..) | Ty::Vector(..) | Ty::Scalar(_) => "load",
        };
        match ty {
            // Where others may store, the owned tile is not read.
            Ty::Tile(D::C, "M", "N", Role::Row) if self.stored_at.is_none() => "load(c, own)".into(),
            Ty::Tile(D::C, ..) | Ty::Vector(D::C, ..) | Ty::Scalar(_) => "zeros()".into(),
            Ty::Tile(D::A, ..) => format!("{load}(a, {at})"),
            Ty::Tile(D::B, ..) => format!("{load}(b, {at})"),
            Ty::Tile(D::F32, ..) => format!("{load}(f, {at})"),
            Ty::Vector(D::A, ..) => format!("load_vec(a, {at})"),
            Ty::Vector(D::B, ..) => format!("load_vec(b, {at})"),
            Ty::Vector(D::F32, ..) => format!("load_vec(f, {at})"),
        }
    }

    /// An expression of a type, and simpler ones.
    pub(super) fn expression(&mut self, ty: Ty, most: usize) -> (String, Vec<String>) {
        if let Ty::Scalar(s) = ty {
            return (self.scalar(s, 3), vec![simplest(s).into()]);
        }
        let base = self.base(ty);
        let links: Vec<String> = (0..self.dice.below(most + 1)).map(|_| self.link(ty)).collect();
        let chain = |skip: Option<usize>| {
            let kept = links.iter().enumerate().filter(|(i, _)| Some(*i) != skip).map(|(_, l)| l.as_str());
            std::iter::once(base.as_str()).chain(kept).collect::<String>()
        };
        // A variable by itself is copied by a step that changes nothing; tiles do not move out of loops.
        let text = |chain: String| if chain.contains('.') { chain } else { format!("{chain}.neg().neg()") };
        let simpler = (0..links.len()).map(|i| text(chain(Some(i)))).collect();
        (text(chain(None)), simpler)
    }

    /// The start of a chain: a variable, a converted one, or a reduction.
    pub(super) fn base(&mut self, ty: Ty) -> String {
        match ty {
            Ty::Tile(d, r, c, role) => {
                let same = |v: &Var| v.ty == ty;
                let converts = |v: &Var| match v.ty {
                    Ty::Tile(_, rows, cols, from) => (rows, cols) == (r, c) && !from.is_right_operand(),
                    Ty::Vector(..) | Ty::Scalar(_) => false,
                };
                if role == Role::Row
                    && self.dice.one_in(2)
                    && let Some(var) = self.any(converts)
                {
                    return format!("{}.to::<{}>()", var.name, d.name());
                }
                match self.any(same) {
                    Some(var) if !self.dice.one_in(4) => var.name,
                    Some(_) | None => self.source_variable(ty).name,
                }
            }
            Ty::Vector(d, len, along) => {
                if d == D::F32 && self.dice.one_in(2) {
                    let fits = |v: &Var| match v.ty {
                        Ty::Tile(_, rows, cols, role) => {
                            !role.is_right_operand() && (if along { rows } else { cols }) == len
                        }
                        Ty::Vector(..) | Ty::Scalar(_) => false,
                    };
                    if let Some(tile) = self.any(fits) {
                        let how = self.dice.pick(&[
                            Reduction::Max,
                            Reduction::Min,
                            Reduction::Sum,
                            Reduction::Sum,
                            Reduction::Prod,
                        ]);
                        let line = if along { "row" } else { "col" };
                        let running = if self.dice.one_in(3) { self.any(|v| v.ty == ty) } else { None };
                        return match running {
                            Some(r) => format!("{}.{line}_{}_with(&{})", tile.name, how.name(), r.name),
                            None => format!("{}.{line}_{}()", tile.name, how.name()),
                        };
                    }
                }
                let converts = |v: &Var| matches!(v.ty, Ty::Vector(_, l, a) if (l, a) == (len, along));
                if self.dice.one_in(3)
                    && let Some(var) = self.any(converts)
                {
                    return format!("{}.to::<{}>()", var.name, d.name());
                }
                match self.any(|v| v.ty == ty) {
                    Some(var) if !self.dice.one_in(4) => var.name,
                    Some(_) | None => self.source_variable(ty).name,
                }
            }
            Ty::Scalar(s) => simplest(s).into(),
        }
    }

    /// A method that keeps the type.
    pub(super) fn link(&mut self, ty: Ty) -> String {
        let (d, tile) = match ty {
            Ty::Tile(d, r, c, _) => (d, Some((r, c))),
            Ty::Vector(d, ..) => (d, None),
            Ty::Scalar(_) => return String::new(),
        };
        let binary = self.dice.pick(MapBinary::ALL).name();
        match self.dice.below(9) {
            0 | 1 => {
                // Ops that keep numbers in sight more often than those that lose them.
                let tame = [
                    MapUnary::Abs,
                    MapUnary::Neg,
                    MapUnary::Relu,
                    MapUnary::Tanh,
                    MapUnary::Sigmoid,
                    MapUnary::Silu,
                ];
                let op =
                    if self.dice.one_in(2) { self.dice.pick(&tame) } else { self.dice.pick(MapUnary::ALL) };
                format!(".{}()", op.name())
            }
            2 | 3 => match self.any(|v| v.ty == ty) {
                Some(var) => format!(".{binary}(&{})", var.name),
                None => ".neg()".into(),
            },
            4 => format!(".{binary}({})", self.scalar(ScalarType::F32, 1)),
            5 if d == D::F32 => format!(".scale({})", self.scalar(ScalarType::F32, 1)),
            6 | 7 => {
                let Some((rows, cols)) = tile else { return ".abs()".into() };
                let along = self.dice.one_in(2);
                let vector = Ty::Vector(D::F32, if along { rows } else { cols }, along);
                let vector = match self.any(|v| v.ty == vector) {
                    Some(var) => var,
                    None => self.source_variable(vector),
                };
                format!(".{binary}_{}(&{})", if along { "row" } else { "col" }, vector.name)
            }
            _ => {
                if tile.is_none() {
                    return ".relu()".into();
                }
                let fill = self.scalar(ScalarType::F32, 0);
                let mut index = |most: usize| match self.dice.below(6) {
                    0 => self.scalar(ScalarType::U32, 1),
                    1 => ["4294967295u32", "0u32", "2147483648u32"][self.dice.below(3)].into(),
                    _ => format!("{}u32", self.dice.below(most)),
                };
                let (first, second) = (index(40), index(40));
                match self.dice.below(4) {
                    0 => format!(".keep_cols({first}, {fill})"),
                    1 => format!(".keep_rows({first}, {fill})"),
                    2 => format!(".tril({first}, {second}, {fill})"),
                    _ => format!(".triu({first}, {second}, {fill})"),
                }
            }
        }
    }

    pub(super) fn literal(&mut self, ty: ScalarType) -> String {
        match ty {
            ScalarType::U32 => {
                format!("{}u32", self.dice.pick(&["0", "1", "2", "3", "7", "31", "32", "33", "4294967295"]))
            }
            ScalarType::I32 => self
                .dice
                .pick(&["0i32", "1i32", "5i32", "(-1i32)", "(-7i32)", "2147483647i32", "33i32"])
                .into(),
            ScalarType::U64 => {
                format!(
                    "{}u64",
                    self.dice.pick(&["0", "1", "3", "63", "64", "65", "4294967296", "18446744073709551615"])
                )
            }
            ScalarType::F32 => self
                .dice
                .pick(&[
                    "0.0f32",
                    "1.0f32",
                    "0.5f32",
                    "(-0.75f32)",
                    "2.0f32",
                    "(-0.0f32)",
                    "3.5f32",
                    "100.0f32",
                    "1.0e-3f32",
                ])
                .into(),
            ScalarType::Bool => self.dice.pick(&["true", "false"]).into(),
        }
    }

    /// A scalar expression, bracketed as needed.
    pub(super) fn scalar(&mut self, ty: ScalarType, depth: u32) -> String {
        if depth == 0 || self.dice.one_in(4) {
            return match self.any(|v| v.ty == Ty::Scalar(ty)) {
                Some(var) if !self.dice.one_in(3) => var.name,
                Some(_) | None => self.literal(ty),
            };
        }
        let depth = depth - 1;
        if ty == ScalarType::Bool {
            return match self.dice.below(7) {
                0 => format!("!{}", self.scalar(ty, 0)),
                1 => {
                    let op = self.dice.pick(&["&", "|", "^", "&&", "||", "==", "!="]);
                    format!("({} {op} {})", self.scalar(ty, depth), self.scalar(ty, depth))
                }
                2 => {
                    let found = self
                        .any(|v| matches!(v.ty, Ty::Tile(_, _, _, Role::Row | Role::Acc) | Ty::Vector(..)));
                    match found {
                        Some(var) => format!("{}.ne(&{}).not().any()", var.name, var.name),
                        None => self.literal(ty),
                    }
                }
                _ => {
                    let of =
                        self.dice.pick(&[ScalarType::U32, ScalarType::I32, ScalarType::U64, ScalarType::F32]);
                    let op = self.dice.pick(&["<", "<=", ">", ">=", "==", "!="]);
                    let left = self.scalar(of, depth);
                    // A cast before `<` would read as a generic argument.
                    format!("(({left}) {op} ({}))", self.scalar(of, depth))
                }
            };
        }
        match self.dice.below(10) {
            0 | 1 => {
                let from = match ty {
                    ScalarType::F32 => self.dice.pick(&[ScalarType::U32, ScalarType::I32, ScalarType::U64]),
                    _ => self.dice.pick(ScalarType::ALL),
                };
                format!("({} as {ty})", self.scalar(from, depth))
            }
            2 => {
                let cond = self.scalar(ScalarType::Bool, depth);
                format!("(if {cond} {{ {} }} else {{ {} }})", self.scalar(ty, depth), self.scalar(ty, depth))
            }
            3 if ty == ScalarType::U32 && self.place == Place::Function => self
                .dice
                .pick(&["a.rows()", "b.cols()", "f.batch()", "subgroup_id()", "a.row_tiles(M)"])
                .into(),
            3 if ty == ScalarType::U32 => self
                .dice
                .pick(&[
                    "a.rows()",
                    "b.cols()",
                    "f.batch()",
                    "a.depth()",
                    "b.pitch()",
                    "own.row()",
                    "own.col()",
                    "subgroup_id()",
                    "subgroup_row()",
                    "subgroup_col()",
                    "a.row_tiles(M)",
                    "f.col_tiles(N)",
                    "c.rows()",
                ])
                .into(),
            3 if ty == ScalarType::F32 => {
                let (tensor, at) = (self.dice.pick(&["a", "b", "f"]), self.place());
                format!("load_scalar({tensor}, {at})")
            }
            4 if ty == ScalarType::F32 => {
                let method = self.dice.pick(&["abs", "exp2", "exp", "log2", "sqrt", "recip", "tanh"]);
                format!("({}).{method}()", self.scalar(ty, depth))
            }
            4 if ty == ScalarType::I32 => format!("(-{})", self.scalar(ty, 0)),
            4 => format!("(!{})", self.scalar(ty, 0)),
            5 => {
                let method = self.dice.pick(&["min", "max"]);
                format!("({}).{method}({})", self.scalar(ty, depth), self.scalar(ty, depth))
            }
            _ => {
                let op = if ty == ScalarType::F32 {
                    self.dice.pick(&["+", "-", "*", "/"])
                } else {
                    self.dice.pick(&["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"])
                };
                format!("({} {op} {})", self.scalar(ty, depth), self.scalar(ty, depth))
            }
        }
    }
}
