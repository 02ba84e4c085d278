//! Owns making cases up: well-typed kernels as text, and what they are launched on.
//!
//! *Guarantees*: a seed gives one case; a kernel obeys every rule of the language, the register budget aside; loops
//! end. *Not here*: what a kernel means.

mod best;
mod expr;
mod group;

use tile_ir::ir::Reduction;
use tile_ir::legal;
use tile_ir::map::{MapBinary, MapUnary};
use tile_ir::scalar::Const;
use tile_ir::types::{DType, Role, ScalarType};

use super::dice::Dice;
use super::program::{Case, Function, SCALARS, Stmt};
use super::tensor::Spec;

/// An element type as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum D {
    A,
    B,
    C,
    F32,
}

impl D {
    fn name(self) -> &'static str {
        match self {
            D::A => "A",
            D::B => "B",
            D::C => "C",
            D::F32 => "f32",
        }
    }
}

/// A size as it is written.
type Size = &'static str;

/// The type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Tile(D, Size, Size, Role),
    /// A vector; true is one element per row.
    Vector(D, Size, bool),
    Scalar(ScalarType),
}

impl Ty {
    fn text(self) -> String {
        match self {
            Ty::Tile(d, r, c, Role::Row) => format!("rt<{}, {r}, {c}>", d.name()),
            Ty::Tile(d, r, c, role) => format!("rt<{}, {r}, {c}, {role}>", d.name()),
            Ty::Vector(d, n, along) => {
                format!("rv<{}, {n}, {}>", d.name(), if along { "PerRow" } else { "PerCol" })
            }
            Ty::Scalar(s) => s.name().into(),
        }
    }
}

/// How a block may end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// It goes on after the block.
    Goes,
    /// It may leave the loop or the kernel.
    May,
}

#[derive(Clone, Debug)]
struct Var {
    name: String,
    ty: Ty,
    mutable: bool,
}

const U32: Ty = Ty::Scalar(ScalarType::U32);

/// Makes a case up.
pub fn case(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let a = dice.pick(&[DType::Bf16, DType::F16]);
    let (b, c) = (dice.pick(DType::FLOATS), dice.pick(DType::FLOATS));
    let sizes = [dice.pick(&[8, 8, 16, 16, 24, 32]), dice.pick(&[16, 16, 32, 48]), dice.pick(&[16, 16, 32])];
    let [m, n, k] = sizes;
    let subgroups = dice.pick(&[(1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1)]);
    let planes = dice.pick(&[(1, 1), (1, 1), (2, 1), (1, 2), (2, 2)]);
    let tensors = [
        Spec::random(&mut dice, (m, n), planes, true),
        Spec::random(&mut dice, (m.max(k), k.max(n)), planes, false),
        Spec::random(&mut dice, (m, n), planes, false),
        Spec::random(&mut dice, (m, n), planes, false),
    ];
    let int = |dice: &mut Dice| match dice.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << 31,
        3 => dice.bits(),
        _ => dice.below(40) as u64,
    };
    let scalars = [
        Const::U32(int(&mut dice) as u32),
        Const::I32(int(&mut dice) as i32),
        Const::U64(int(&mut dice)),
        Const::F32(
            dice.pick(&[0.5f32, -1.25, 3.0, 0.0, -0.0, 1e-3, 100.0, f32::INFINITY, f32::NAN]).to_bits(),
        ),
        Const::Bool(dice.one_in(2)),
    ];
    let order = dice.pick(&["Linear", "Upward", "Snake(1)", "Snake(2)", "Snake(8)"]);
    let types = [a, b, c];
    let vars = SCALARS.iter().zip(ScalarType::ALL_PARAMS).map(|(name, ty)| Var {
        name: (*name).into(),
        ty: Ty::Scalar(*ty),
        mutable: false,
    });
    let (flag, is_unsafe) = (dice.one_in(2), dice.one_in(5));
    // Numbers of their own, so that the other statements of a seed stay what they were.
    let mut extra = Dice::new(!seed);
    let cooperates = extra.one_in(4);
    let subgroups = match subgroups {
        (1, 1) if cooperates => extra.pick(&[(2, 1), (1, 2), (2, 2), (4, 1)]),
        other => other,
    };
    let mut writer = Writer {
        vars: vars.collect(),
        dice,
        next: 0,
        out: vec![],
        types,
        sizes,
        subgroups,
        place: Place::Kernel,
        stored_at: None,
        functions: vec![],
        extra,
        cooperates,
    };
    if is_unsafe {
        // The same shift for all sub-groups, so that no two of them store to one element.
        let at = ["own.row() + 1u32, own.col()", "own.row(), own.col() + 1u32", "own.row(), own.col()"];
        writer.stored_at = Some(writer.dice.pick(&at));
    }
    for _ in 0..writer.dice.below(6).saturating_sub(3) {
        writer.function();
    }
    let body = writer.body();
    let functions = std::mem::take(&mut writer.functions);
    Case { seed, types, sizes, flag, is_unsafe, functions, subgroups, body, tensors, scalars, order }
}

trait Params {
    const ALL_PARAMS: &'static [ScalarType];
}

impl Params for ScalarType {
    const ALL_PARAMS: &'static [ScalarType] =
        &[ScalarType::U32, ScalarType::I32, ScalarType::U64, ScalarType::F32, ScalarType::Bool];
}

/// Where statements are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the kernel.
    Kernel,
    /// In a device function, which has no owned tile, output or derived sizes, and does not return early.
    Function,
}

struct Writer {
    dice: Dice,
    vars: Vec<Var>,
    next: u32,
    /// The statements of the open block.
    out: Vec<Stmt>,
    types: [DType; 3],
    sizes: [u32; 3],
    subgroups: (u32, u32),
    place: Place,
    /// Row and column where an `unsafe` kernel stores; `None` in others, which store to the owned tile.
    stored_at: Option<&'static str>,
    functions: Vec<Function>,
    /// Numbers for the statements of `group`.
    extra: Dice,
    /// Whether the sub-groups of a work-group share memory, and so none of them ends early.
    cooperates: bool,
}

impl Writer {
    /// A device function, whose parameters are named like what the kernel has.
    fn function(&mut self) {
        let name = self.fresh("g");
        let head = format!(
            "fn {name}<A: MmaInput, B: Element, const M: usize, const N: usize, const K: usize>(\n    x1: rt<B, M, N>, x2: \
             rt<f32, M, N>, x3: rv<f32, M, PerRow>, a: &gl<A>, b: &gl<B>, f: &gl<f32>, s: f32, q: u32,\n) -> rt<B, M, N>"
        );
        let var = |name: &str, ty| Var { name: name.into(), ty, mutable: false };
        let params = vec![
            var("x1", Ty::Tile(D::B, "M", "N", Role::Row)),
            var("x2", Ty::Tile(D::F32, "M", "N", Role::Row)),
            var("x3", Ty::Vector(D::F32, "M", true)),
            var("s", Ty::Scalar(ScalarType::F32)),
            var("q", U32),
        ];
        let outer = std::mem::replace(&mut self.vars, params);
        self.place = Place::Function;
        for _ in 0..1 + self.dice.below(4) {
            self.statement(1, false);
        }
        let (result, _) = self.expression(Ty::Tile(D::B, "M", "N", Role::Row), 2);
        let body = std::mem::take(&mut self.out);
        self.place = Place::Kernel;
        self.vars = outer;
        self.functions.push(Function { name, head, body, result });
    }

    /// A call of a device function, with a result of its own.
    fn call(&mut self) {
        if self.functions.is_empty() || self.place == Place::Function {
            self.assign();
            return;
        }
        let name = self.functions[self.dice.below(self.functions.len())].name.clone();
        // A size that stands for columns in the function must be a multiple of 16.
        let turns = if self.size("M").is_multiple_of(16) { 3 } else { 2 };
        let [rows, cols, rest] = [["M", "N", "K"], ["M", "K", "N"], ["K", "N", "M"]][self.dice.below(turns)];
        // Tiles move into the function: each gets one of its own.
        let mut arguments = vec![];
        for ty in [
            Ty::Tile(D::B, rows, cols, Role::Row),
            Ty::Tile(D::F32, rows, cols, Role::Row),
            Ty::Vector(D::F32, rows, true),
        ] {
            let var = self.declare(ty);
            self.vars.retain(|v| v.name != var.name);
            arguments.push(var.name);
        }
        arguments.extend(["a", "b", "f"].map(String::from));
        arguments.push(self.scalar(ScalarType::F32, 1));
        arguments.push(self.scalar(ScalarType::U32, 1));
        let result = self.fresh("t");
        self.out.push(Stmt::Line {
            text: format!("let {result} = {name}::<A, B, {rows}, {cols}, {rest}>({});", arguments.join(", ")),
            simpler: vec![format!("let {result}: rt<B, {rows}, {cols}> = fill(1.5);")],
        });
        self.vars.push(Var { name: result, ty: Ty::Tile(D::B, rows, cols, Role::Row), mutable: false });
    }

    /// The store of a tile, and of nothing else.
    fn store(&self, name: &str) -> String {
        match self.stored_at {
            None => format!("store(c, &{name}, own);"),
            Some(at) => format!("store_at(c, &{name}, [own.batch(), own.depth(), {at}]);"),
        }
    }

    fn body(&mut self) -> Vec<Stmt> {
        self.declare_shared();
        if self.dice.one_in(2) && !self.cooperates {
            self.out.push(Stmt::Block {
                head: "if own.outside()".into(),
                body: vec![Stmt::line("return;")],
                other: None,
            });
        }
        let count = 3 + self.dice.below(9);
        for _ in 0..count {
            self.statement(2, false);
            self.extra_statement();
        }
        // The result, from as many of the variables as happens: what nothing reads cannot be found wrong.
        let (text, simpler) = self.expression(Ty::Tile(D::C, "M", "N", Role::Row), 3);
        let name = self.fresh("r");
        let lines = simpler.iter().map(|s| format!("let mut {name} = {s};")).collect();
        self.out.push(Stmt::Line { text: format!("let mut {name} = {text};"), simpler: lines });
        for _ in 0..2 + self.dice.below(5) {
            if let Some(read) = self.reader() {
                self.out.push(Stmt::line(format!("{name} = {name}.{read};")));
            }
        }
        // A tile can be turned where its sides are multiples of 16.
        let turned = self.stored_at.is_none() && self.size("M").is_multiple_of(16) && self.dice.one_in(3);
        let store = match (turned, self.store_together(&name)) {
            (_, Some(together)) => together,
            (true, None) => format!("store_transpose(c, &{name}.transpose(), own);"),
            (false, None) => self.store(&name),
        };
        self.out.push(Stmt::line(store));
        std::mem::take(&mut self.out)
    }

    /// A method on a tile of `C`, M x N, that reads some variable.
    fn reader(&mut self) -> Option<String> {
        if self.dice.one_in(2) {
            let var = self.any(|v| matches!(v.ty, Ty::Scalar(_)) && v.name.len() > 1)?;
            let Ty::Scalar(ty) = var.ty else { return None };
            // Small numbers, which every element type holds.
            let name = var.name;
            return Some(match ty {
                ScalarType::U32 | ScalarType::I32 | ScalarType::U64 => {
                    format!("add((({name} ^ ({name} >> 16{ty})) & 63{ty}) as f32)")
                }
                ScalarType::Bool => format!("add(({name} as u32) as f32)"),
                ScalarType::F32 => format!("max({name})"),
            });
        }
        let var = self.any(|v| match v.ty {
            Ty::Vector(_, len, along) => len == if along { "M" } else { "N" },
            Ty::Tile(_, rows, cols, role) => !role.is_right_operand() && (rows == "M" || cols == "N"),
            Ty::Scalar(_) => false,
        })?;
        let name = var.name;
        Some(match var.ty {
            Ty::Vector(_, _, true) => format!("add_row(&{name}.to::<f32>())"),
            Ty::Vector(_, _, false) => format!("add_col(&{name}.to::<f32>())"),
            Ty::Tile(_, "M", "N", _) => format!("add(&{name}.to::<C>())"),
            Ty::Tile(_, "M", ..) => format!("add_row(&{name}.row_sum())"),
            Ty::Tile(..) => format!("add_col(&{name}.col_max())"),
            Ty::Scalar(_) => return None,
        })
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn size(&self, size: Size) -> u32 {
        let [m, n, k] = self.sizes;
        match size {
            "M" => m,
            "N" => n,
            "D" => m * 2,
            "E" => n + 16,
            _ => k,
        }
    }

    fn any(&mut self, fits: impl Fn(&Var) -> bool) -> Option<Var> {
        let fitting: Vec<&Var> = self.vars.iter().filter(|v| fits(v)).collect();
        if fitting.is_empty() { None } else { Some(fitting[self.dice.below(fitting.len())].clone()) }
    }

    fn tile_type(&mut self) -> Ty {
        let rows = self.dice.pick(&["M", "M", "M", "M", "M", "M", "M", "K", "K", "D"]);
        let cols = self.dice.pick(&["N", "N", "N", "N", "N", "N", "N", "K", "K", "E"]);
        let (rows, cols) = (self.known(rows), self.known(cols));
        match self.dice.below(6) {
            0 => Ty::Tile(D::A, rows, cols, Role::Row),
            1 => Ty::Tile(D::B, rows, cols, Role::Row),
            2 if self.place == Place::Function => Ty::Tile(D::B, rows, cols, Role::Row),
            2 => Ty::Tile(D::C, rows, cols, Role::Row),
            3 => Ty::Tile(D::F32, rows, cols, Role::Acc),
            _ => Ty::Tile(D::F32, rows, cols, Role::Row),
        }
    }

    /// A size that exists where statements are written.
    fn known(&self, size: Size) -> Size {
        match size {
            "D" if self.place == Place::Function => "M",
            "E" if self.place == Place::Function => "N",
            _ => size,
        }
    }

    fn vector_type(&mut self) -> Ty {
        let d = self.dice.pick(&[D::A, D::B, D::F32, D::F32, D::F32]);
        if self.dice.one_in(2) {
            Ty::Vector(d, self.dice.pick(&["M", "M", "K"]), true)
        } else {
            Ty::Vector(d, self.dice.pick(&["N", "N", "K"]), false)
        }
    }

    fn scalar_type(&mut self) -> Ty {
        Ty::Scalar(self.dice.pick(ScalarType::ALL))
    }

    /// A statement into the open block. `depth` blocks may still be opened.
    fn statement(&mut self, depth: u32, in_loop: bool) {
        match self.dice.below(if depth == 0 { 15 } else { 21 }) {
            0..=2 => {
                let ty = self.tile_type();
                self.declare(ty);
            }
            3 | 4 => {
                let ty = self.vector_type();
                self.declare(ty);
            }
            5..=7 => {
                let ty = self.scalar_type();
                self.declare(ty);
            }
            8 | 9 => self.assign(),
            10 => self.best(),
            11 | 12 => self.multiply(),
            13 if self.place == Place::Kernel => self.prefetch(),
            13 | 14 => self.call(),
            15..=17 => self.branch(depth, in_loop),
            18 | 19 => self.counted(depth),
            _ => self.open_ended(depth),
        }
    }

    fn declare(&mut self, ty: Ty) -> Var {
        let mutable = self.dice.one_in(2);
        let (text, simpler) = self.expression(ty, 3);
        let prefix = match ty {
            Ty::Tile(..) => "t",
            Ty::Vector(..) => "v",
            Ty::Scalar(_) => "s",
        };
        let name = self.fresh(prefix);
        let keyword = if mutable { "let mut" } else { "let" };
        // Numbers without a type of their own need it written.
        let head = match ty {
            Ty::Scalar(_) => format!("{keyword} {name}: {}", ty.text()),
            Ty::Tile(..) | Ty::Vector(..) => format!("{keyword} {name}"),
        };
        let mut lines: Vec<String> = simpler.iter().map(|s| format!("{head} = {s};")).collect();
        if !matches!(ty, Ty::Scalar(_)) {
            lines.push(format!("{keyword} {name}: {} = fill(1.5);", ty.text()));
        }
        self.out.push(Stmt::Line { text: format!("{head} = {text};"), simpler: lines });
        let var = Var { name, ty, mutable };
        self.vars.push(var.clone());
        var
    }

    fn assign(&mut self) {
        let Some(var) = self.any(|v| v.mutable) else {
            let ty = self.tile_type();
            self.declare(ty);
            return;
        };
        if let Ty::Tile(d, rows, cols, role) = var.ty
            && self.dice.one_in(4)
            && let Some(other) = self
                .any(|v| matches!(v.ty, Ty::Tile(e, _, _, r) if (e, r) == (d, role)) && v.name != var.name)
            && let Ty::Tile(_, other_rows, other_cols, _) = other.ty
        {
            let mut part = |rows, cols| {
                // Which sizes a function's names stand for is up to its callers.
                let least = |size| match self.place {
                    Place::Kernel => self.size(size),
                    Place::Function => self.sizes.into_iter().min().unwrap_or(0),
                };
                let (down, across) = ((least(rows) as usize / 8).max(1), (least(cols) as usize / 16).max(1));
                format!("{}, {}", self.dice.below(down), self.dice.below(across))
            };
            let (from, to) = (part(other_rows, other_cols), part(rows, cols));
            let text = format!("{}.set_sub_tile(&{}.sub_tile::<8, 16>({from}), {to});", var.name, other.name);
            self.out.push(Stmt::line(text));
            return;
        }
        let (text, simpler) = self.expression(var.ty, 2);
        let name = &var.name;
        let lines = simpler.iter().map(|s| format!("{name} = {s};")).collect();
        self.out.push(Stmt::Line { text: format!("{name} = {text};"), simpler: lines });
    }

    /// A multiplication into an accumulator.
    fn multiply(&mut self) {
        let acc_type = Ty::Tile(D::F32, "M", "N", Role::Acc);
        let acc = match self.any(|v| v.mutable && v.ty == acc_type) {
            Some(acc) => acc,
            None => {
                let name = self.fresh("t");
                let source = if self.dice.one_in(3) { "fill(0.25)" } else { "zeros()" };
                self.out.push(Stmt::Line {
                    text: format!("let mut {name}: {} = {source};", acc_type.text()),
                    simpler: vec![format!("let mut {name}: {} = zeros();", acc_type.text())],
                });
                let var = Var { name, ty: acc_type, mutable: true };
                self.vars.push(var.clone());
                var
            }
        };
        let left = Ty::Tile(D::A, "M", "K", Role::Row);
        let left = if self.dice.one_in(2) { self.any(|v| v.ty == left) } else { None };
        let left = match left {
            Some(var) => var,
            None => self.source_variable(Ty::Tile(D::A, "M", "K", Role::Row)),
        };
        let transposed = self.dice.one_in(2);
        let role = if transposed { Role::VnniT } else { Role::Vnni };
        let right = Ty::Tile(D::A, "K", "N", role);
        let right = match self.any(|v| v.ty == right) {
            Some(var) if self.dice.one_in(3) => var,
            Some(_) | None => {
                let name = self.fresh("y");
                let at = self.coordinate();
                let load = match (role, self.dice.below(8)) {
                    (Role::Vnni, 0 | 1) => "fill(0.5)".into(),
                    (Role::Vnni, _) => format!("load_transform(a, {at})"),
                    _ => format!("load_transpose(a, {at})"),
                };
                self.out.push(Stmt::Line {
                    text: format!("let {name}: {} = {load};", right.text()),
                    simpler: vec![],
                });
                let var = Var { name, ty: right, mutable: false };
                self.vars.push(var.clone());
                var
            }
        };
        let op = if transposed { "mma_ABt" } else { "mma_AB" };
        self.out.push(Stmt::line(format!("{op}(&mut {}, &{}, &{});", acc.name, left.name, right.name)));
    }

    fn prefetch(&mut self) {
        let (tensor, d, dtype) =
            self.dice.pick(&[("a", "A", self.types[0]), ("b", "B", self.types[1]), ("f", "f32", DType::F32)]);
        let (rows, cols) = (self.dice.pick(&["M", "K"]), self.dice.pick(&["N", "K"]));
        let at = self.coordinate();
        let tile = (self.size(rows), self.size(cols));
        let (peers, count) = self.dice.pick(&[("Row", self.subgroups.1), ("Col", self.subgroups.0)]);
        let ty = format!("rt<{d}, {rows}, {cols}>");
        let fits = legal::prefetch_cut(tile, dtype.size_bytes(), count).is_ok();
        self.out.push(Stmt::line(if fits && self.dice.one_in(2) {
            format!("prefetch_load_coop::<{ty}>({tensor}, {at}, Peers::{peers});")
        } else {
            format!("prefetch_load::<{ty}>({tensor}, {at});")
        }));
    }

    /// Writes statements as a block of their own.
    fn block(&mut self, count: usize, depth: u32, in_loop: bool, ends: Ends) -> Vec<Stmt> {
        let (vars, outside) = (self.vars.clone(), std::mem::take(&mut self.out));
        for _ in 0..count {
            self.statement(depth, in_loop);
        }
        let returns = self.place == Place::Kernel && !self.cooperates;
        let may = ends != Ends::Goes && (in_loop || returns);
        if may && self.dice.one_in(4) {
            let first = usize::from(!returns);
            let how = match first + self.dice.below(if in_loop { 7 - first } else { 1 }) {
                0 => "return;",
                1..=3 => "break;",
                _ => "continue;",
            };
            // What is returned early should sometimes be stored.
            if how == "return;" && self.dice.one_in(2) {
                let (text, _) = self.expression(Ty::Tile(D::C, "M", "N", Role::Row), 1);
                let name = self.fresh("r");
                self.out.push(Stmt::line(format!("let {name} = {text};")));
                let store = self.store(&name);
                self.out.push(Stmt::line(store));
            }
            self.out.push(Stmt::line(how));
        }
        self.vars = vars;
        std::mem::replace(&mut self.out, outside)
    }

    fn branch(&mut self, depth: u32, in_loop: bool) {
        // A switch of the instance selects one way when the kernel is compiled.
        if self.place == Place::Kernel && !in_loop && self.dice.one_in(6) {
            let head = self.dice.pick(&["if F", "if !F"]).to_string();
            let body = self.block(1, depth - 1, in_loop, Ends::Goes);
            let other = Some(self.block(1, depth - 1, in_loop, Ends::Goes));
            self.out.push(Stmt::Block { head, body, other });
            return;
        }
        let head = format!("if {}", self.condition());
        let (then, otherwise) = (1 + self.dice.below(2), 1 + self.dice.below(2));
        let body = self.block(then, depth - 1, in_loop, Ends::May);
        // Where both branches leave, the compiler refuses what follows, or says that the loop always ends.
        let leaves = matches!(body.last(), Some(Stmt::Line { text, .. })
            if ["return;", "break;", "continue;"].contains(&text.as_str()));
        let ends = if leaves { Ends::Goes } else { Ends::May };
        let other =
            if self.dice.one_in(2) { Some(self.block(otherwise, depth - 1, in_loop, ends)) } else { None };
        self.out.push(Stmt::Block { head, body, other });
    }

    fn counted(&mut self, depth: u32) {
        let name = self.fresh("k");
        let (ty, range) = match self.dice.below(6) {
            0 => (ScalarType::U32, "0..a.col_tiles(K)".to_string()),
            1 => {
                (ScalarType::U32, format!("0..{}", ["b.row_tiles(M)", "f.col_tiles(N)"][self.dice.below(2)]))
            }
            2 => {
                let bound = self.scalar(ScalarType::U32, 1);
                (ScalarType::U32, format!("{}u32..({bound} % 5u32)", self.dice.below(3)))
            }
            3 => (ScalarType::I32, format!("-{}i32..{}i32", self.dice.below(4), self.dice.below(3))),
            4 => (ScalarType::U64, format!("0u64..{}u64", self.dice.below(4))),
            _ => (ScalarType::U32, format!("0..{}u32", self.dice.below(5))),
        };
        let head = if self.dice.one_in(3) {
            format!("for {name} in ({range}).step_by({})", 1 + self.dice.below(3))
        } else {
            format!("for {name} in {range}")
        };
        let outer = self.vars.clone();
        self.vars.push(Var { name, ty: Ty::Scalar(ty), mutable: false });
        let count = 1 + self.dice.below(3);
        let mut body = self.block(count, depth - 1, true, Ends::Goes);
        body.extend(self.two_ways(depth));
        self.vars = outer;
        self.out.push(Stmt::Block { head, body, other: None });
    }

    /// Sometimes, an end of a loop's body that leaves the loop one way and goes on the other.
    fn two_ways(&mut self, depth: u32) -> Option<Stmt> {
        if !self.dice.one_in(5) {
            return None;
        }
        let head = format!("if {}", self.condition());
        let mut body = self.block(1, depth - 1, true, Ends::Goes);
        body.push(Stmt::line("break;"));
        let mut other = self.block(1, depth - 1, true, Ends::Goes);
        other.push(Stmt::line("continue;"));
        Some(Stmt::Block { head, body, other: Some(other) })
    }

    fn open_ended(&mut self, depth: u32) {
        let name = self.fresh("z");
        self.out.push(Stmt::line(format!("let mut {name} = 0u32;")));
        self.vars.push(Var { name: name.clone(), ty: U32, mutable: false });
        let most = 1 + self.dice.below(5);
        let head = if self.dice.one_in(2) {
            format!("while {name} < {most}u32 && {}", self.condition())
        } else {
            format!("while {name} < {most}u32")
        };
        let count = 1 + self.dice.below(3);
        let mut body = vec![Stmt::line(format!("{name} += 1u32;"))];
        body.extend(self.block(count, depth - 1, true, Ends::Goes));
        body.extend(self.two_ways(depth));
        self.out.push(Stmt::Block { head, body, other: None });
    }

    /// A condition that is open until the kernel runs: a branch on a constant is decided by the compiler, which then
    /// refuses a loop that always ends.
    fn condition(&mut self) -> String {
        let text = self.scalar(ScalarType::Bool, 2);
        let open = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric()).any(|word| self.vars.iter().any(|v| v.name == word))
        };
        match self.place {
            _ if open(&text) => text,
            Place::Kernel => "p".into(),
            Place::Function => "(q > 2u32)".into(),
        }
    }
}

/// The simplest value of a type.
fn simplest(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::U32 => "1u32",
        ScalarType::I32 => "1i32",
        ScalarType::U64 => "1u64",
        ScalarType::F32 => "1.0f32",
        ScalarType::Bool => "true",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_case() {
        assert_eq!(case(7), case(7));
        assert_ne!(case(7).source(), case(8).source());
    }
}
