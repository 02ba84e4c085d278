//! Runs `while`, `break`, `continue` and `return` in every nesting on the simulator and compares with an interpreter of
//! the IR.

#[path = "support/scalars.rs"]
mod scalars;
mod support;
#[path = "support/tensor.rs"]
mod tensor;
#[path = "support/tiles.rs"]
mod tiles;
#[path = "support/tools.rs"]
mod tools;

use scalars::{Show, run, whole};
use support::{Build, U32, tile, vector};
use tensor::{Ready, Shape, noise, rounded};
use tile_ir::ir::{Coord, Exit, LoadForm, OpKind, Reduction, Region, Unit, ValueId};
use tile_ir::map::MapBinary;
use tile_ir::scalar::{self, Binary, Compare, Const};
use tile_ir::types::{Along, DType, Role, ScalarType, Type};
use tile_sim::Arg;
use tiles::OneTile;
use tools::Tools;

/// A fixed sequence of pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// Values that every region hands on; the last one only grows, and ends every `while`.
const VARS: usize = 4;
const FUEL: usize = VARS - 1;

/// Writes a random program.
struct Writer<'a> {
    b: &'a mut Build,
    dice: Dice,
}

impl Writer<'_> {
    fn small(&mut self, n: u32) -> ValueId {
        let v = self.dice.below(n);
        self.b.u32(v)
    }

    fn condition(&mut self, vars: &[ValueId]) -> ValueId {
        if self.dice.below(12) == 0 {
            let value = self.dice.below(2) == 0;
            return self.b.constant(Const::Bool(value));
        }
        let (of, by) = (vars[self.dice.below(VARS as u32) as usize], self.dice.below(3) + 2);
        let by = self.b.u32(by);
        let rest = self.b.binary(Binary::Rem, of, by);
        let with = self.small(3);
        let op = [Compare::Eq, Compare::Ne, Compare::Lt][self.dice.below(3) as usize];
        self.b.compare(op, rest, with)
    }

    /// Statements into the open region; gives the values afterwards.
    fn statements(&mut self, mut vars: Vec<ValueId>, depth: u32, in_loop: bool) -> Vec<ValueId> {
        for _ in 0..1 + self.dice.below(3) {
            let at = self.dice.below(FUEL as u32) as usize;
            match self.dice.below(if depth == 0 { 2 } else { 7 }) {
                0 | 1 => {
                    let from = vars[self.dice.below(VARS as u32) as usize];
                    let op = [Binary::Add, Binary::Mul, Binary::Xor][self.dice.below(3) as usize];
                    let mixed = self.b.binary(op, vars[at], from);
                    let more = self.small(9);
                    vars[at] = self.b.binary(Binary::Add, mixed, more);
                }
                2..=4 => {
                    let cond = self.condition(&vars);
                    let then = self.arm(vars.clone(), depth - 1, in_loop);
                    let otherwise = self.arm(vars.clone(), depth - 1, in_loop);
                    vars = self.b.push(OpKind::If { cond, then, otherwise }, &[U32; VARS]);
                }
                5 => {
                    let (lo, seven) = (self.small(3), self.b.u32(7));
                    let hi = self.b.binary(Binary::Rem, vars[at], seven);
                    let args: Vec<ValueId> = (0..=VARS).map(|_| self.b.kernel.new_value(U32)).collect();
                    self.b.open();
                    let mut inside = args[1..].to_vec();
                    inside[at] = self.b.binary(Binary::Add, inside[at], args[0]);
                    let body = self.body(args, inside, depth);
                    let step = 1 + self.dice.below(3);
                    vars = self.b.push(OpKind::For { lo, hi, step, inits: vars, body }, &[U32; VARS]);
                }
                _ => {
                    let args: Vec<ValueId> = (0..VARS).map(|_| self.b.kernel.new_value(U32)).collect();
                    self.b.open();
                    let most = self.small(40);
                    let low = self.b.compare(Compare::Lt, args[FUEL], most);
                    let other = self.condition(&args);
                    let both = self.b.binary(Binary::And, low, other);
                    let cond = self.b.close(args, Exit::Yield(vec![both]));
                    let args: Vec<ValueId> = (0..VARS).map(|_| self.b.kernel.new_value(U32)).collect();
                    self.b.open();
                    let mut inside = args.clone();
                    let one = self.b.u32(1);
                    inside[FUEL] = self.b.binary(Binary::Add, inside[FUEL], one);
                    let body = self.body(args, inside, depth);
                    vars = self.b.push(OpKind::While { inits: vars, cond, body }, &[U32; VARS]);
                }
            }
        }
        vars
    }

    fn arm(&mut self, vars: Vec<ValueId>, depth: u32, in_loop: bool) -> Region {
        self.b.open();
        let vars = self.statements(vars, depth, in_loop);
        let exit = match self.dice.below(12) {
            0..=2 if in_loop => Exit::Break(vars),
            3..=5 if in_loop => Exit::Continue(vars),
            6 => Exit::Return,
            _ => Exit::Yield(vars),
        };
        self.b.close(vec![], exit)
    }

    fn body(&mut self, args: Vec<ValueId>, vars: Vec<ValueId>, depth: u32) -> Region {
        let vars = self.statements(vars, depth - 1, true);
        let exit = match self.dice.below(8) {
            0 => Exit::Break(vars),
            1 => Exit::Continue(vars),
            _ => Exit::Yield(vars),
        };
        self.b.close(args, exit)
    }
}

/// Runs regions of scalars.
struct Interpreter {
    values: Vec<Option<Const>>,
    /// How often each kind of exit was taken: break, continue, return.
    taken: [u32; 3],
}

impl Interpreter {
    fn get(&self, v: ValueId) -> Const {
        self.values[v.0 as usize].expect("defined")
    }

    fn all(&self, values: &[ValueId]) -> Vec<Const> {
        values.iter().map(|&v| self.get(v)).collect()
    }

    fn bind(&mut self, to: &[ValueId], values: &[Const]) {
        to.iter().zip(values).for_each(|(v, &c)| self.values[v.0 as usize] = Some(c));
    }

    /// Runs a region; the exit and its values.
    fn region<'r>(&mut self, region: &'r Region) -> (&'r Exit, Vec<Const>) {
        for op in &region.ops {
            let result = match &op.kind {
                OpKind::Const(c) => vec![*c],
                OpKind::Binary { op, lhs, rhs } => {
                    vec![scalar::binary(*op, self.get(*lhs), self.get(*rhs)).expect("defined")]
                }
                OpKind::Compare { op, lhs, rhs } => {
                    let yes = scalar::compare(*op, self.get(*lhs), self.get(*rhs)).expect("defined");
                    vec![Const::Bool(yes)]
                }
                OpKind::If { cond, then, otherwise } => {
                    let taken = if self.get(*cond) == Const::Bool(true) { then } else { otherwise };
                    match self.region(taken) {
                        (Exit::Yield(_), values) => values,
                        other => return other,
                    }
                }
                OpKind::For { lo, hi, step, inits, body } => {
                    let mut carried = self.all(inits);
                    let (Const::U32(lo), Const::U32(hi)) = (self.get(*lo), self.get(*hi)) else {
                        panic!("counters are u32")
                    };
                    for i in (lo..hi).step_by(*step as usize) {
                        self.bind(&body.args[..1], &[Const::U32(i)]);
                        self.bind(&body.args[1..], &carried);
                        match self.iteration(body) {
                            Ok((values, on)) => {
                                carried = values;
                                if !on {
                                    break;
                                }
                            }
                            Err(exit) => return (exit, vec![]),
                        }
                    }
                    carried
                }
                OpKind::While { inits, cond, body } => {
                    let mut carried = self.all(inits);
                    loop {
                        self.bind(&cond.args, &carried);
                        if self.region(cond).1 != [Const::Bool(true)] {
                            break;
                        }
                        self.bind(&body.args, &carried);
                        match self.iteration(body) {
                            Ok((values, on)) => {
                                carried = values;
                                if !on {
                                    break;
                                }
                            }
                            Err(exit) => return (exit, vec![]),
                        }
                    }
                    carried
                }
                other => panic!("`{}` is not part of these programs", other.name()),
            };
            self.bind(&op.results, &result);
        }
        let kind = match &region.exit {
            Exit::Break(_) => Some(0),
            Exit::Continue(_) => Some(1),
            Exit::Return => Some(2),
            Exit::Yield(_) => None,
        };
        kind.into_iter().for_each(|k: usize| self.taken[k] += 1);
        (&region.exit, self.all(region.exit.values()))
    }

    /// Runs a loop body once: the carried values and whether the loop goes on, or the exit that ends the kernel.
    fn iteration<'r>(&mut self, body: &'r Region) -> Result<(Vec<Const>, bool), &'r Exit> {
        match self.region(body) {
            (Exit::Break(_), values) => Ok((values, false)),
            (Exit::Yield(_) | Exit::Continue(_), values) => Ok((values, true)),
            (exit @ Exit::Return, _) => Err(exit),
        }
    }
}

#[test]
fn random_programs_leave_their_loops_as_interpreted() {
    let mut taken = [0; 3];
    let mut returned = 0;
    let tools = Tools::find("random programs in spirv-val and Intel's compiler");
    for seed in 0..160 {
        let mut s = Show::new("random");
        let (x, y) = (s.b.scalar("x", ScalarType::U32), s.b.scalar("y", ScalarType::U32));
        s.b.open();
        let zero = s.b.u32(0);
        let mut writer = Writer { b: &mut s.b, dice: Dice(seed * 7919 + 1) };
        let vars = writer.statements(vec![x, y, zero, zero], 4, false);
        // The program as a region of its own for the interpreter, and as part of the kernel.
        let program = s.b.close(vec![], Exit::Yield(vars.clone()));
        for op in program.ops.clone() {
            s.b.again(op);
        }
        vars.iter().for_each(|&v| s.show(v));
        let count = s.b.kernel.values.len();
        let (module, shown) = s.module();
        let ready = Ready::new(&module);
        if let Some(tools) = tools.as_ref().filter(|_| seed % 4 == 0) {
            tools.validate(&module).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            if seed % 16 == 0 {
                assert_eq!(tools.compile(&module, "pvc").spill, 0, "seed {seed}");
            }
        }
        for (a, b) in [(0, 0), (1, 2), (5, 3), (6, u32::MAX), (41, 17)] {
            let mut i = Interpreter { values: vec![None; count], taken: [0; 3] };
            i.bind(&[x, y], &[Const::U32(a), Const::U32(b)]);
            let (exit, values) = i.region(&program);
            let got = run(&ready, shown, &[Arg::U32(a), Arg::U32(b)]);
            taken.iter_mut().zip(i.taken).for_each(|(t, n)| *t += n);
            if *exit == Exit::Return {
                returned += 1;
                assert!(got.iter().all(|v| v.is_nan()), "seed {seed} ({a}, {b}): the kernel did not end");
                continue;
            }
            for (n, value) in values.into_iter().enumerate() {
                let found = whole(&got[4 * n..4 * n + 4]);
                assert_eq!(Const::U32(found as u32), value, "seed {seed} ({a}, {b}): variable {n}");
            }
        }
    }
    println!("breaks, continues, returns taken: {taken:?}; {returned} runs returned");
    assert!(taken[0] > 200 && taken[1] > 500 && returned > 100, "{taken:?}, {returned}");
}

/// `while` that carries a tile, two vectors and a scalar, with a break and a continue, over columns of a ragged tensor:
/// loads cross the edge in any run.
#[test]
fn loops_with_exits_carry_tiles_and_vectors_over_an_untrusted_edge() {
    for dtype in [DType::F32, DType::Bf16] {
        for counted in [false, true] {
            let mut t = OneTile::new(DType::F32, (8, 16));
            let global = t.input(dtype);
            let [n, skip, last] = [(); 3].map(|()| t.u32_scalar());
            let b = &mut t.b;
            let (ty, rows, cols) = (
                tile(DType::F32, 8, 16, Role::Acc),
                vector(DType::F32, 8, Along::Rows),
                vector(DType::F32, 16, Along::Cols),
            );
            let zeros = b.one(OpKind::Zeros, ty);
            let least = b.f32(f32::NEG_INFINITY);
            let most = b.one(OpKind::Fill { value: least }, rows);
            let sums = b.one(OpKind::Zeros, cols);
            let (zero, one) = (b.u32(0), b.u32(1));
            let types = [U32, ty, rows, cols];
            let inits = vec![zero, zeros, most, sums];
            let new = |b: &mut Build| types.map(|t| b.kernel.new_value(t)).to_vec();
            let cond = (!counted).then(|| {
                let args = new(b);
                b.open();
                let goes = b.compare(Compare::Lt, args[0], n);
                b.close(args, Exit::Yield(vec![goes]))
            });
            let args = new(b);
            let counter = counted.then(|| b.kernel.new_value(U32));
            let (k, acc, most, sums) = (args[0], args[1], args[2], args[3]);
            b.open();
            let next_k = b.binary(Binary::Add, k, one);
            let at =
                Coord { batch: None, depth: None, row: zero, col: counter.unwrap_or(k), unit: Unit::Tiles };
            let x = b.load(global, at, LoadForm::Plain, tile(dtype, 8, 16, Role::Row));
            let skips = b.compare(Compare::Eq, k, skip);
            b.open();
            let then = b.close(vec![], Exit::Continue(vec![next_k, acc, most, sums]));
            b.open();
            let otherwise = b.close(vec![], Exit::Yield(vec![]));
            b.push(OpKind::If { cond: skips, then, otherwise }, &[]);
            let x = b.convert(x, tile(DType::F32, 8, 16, Role::Row));
            // An accumulator takes a Row tile through a sum of equal roles.
            let summed = b.reduce(Reduction::Sum, Along::Cols, x, Some(sums));
            let most = b.reduce(Reduction::Max, Along::Rows, x, Some(most));
            let acc = b.map(MapBinary::Add, acc, most);
            let ends = b.compare(Compare::Eq, k, last);
            b.open();
            let then = b.close(vec![], Exit::Break(vec![next_k, acc, most, summed]));
            b.open();
            let otherwise = b.close(vec![], Exit::Yield(vec![]));
            b.push(OpKind::If { cond: ends, then, otherwise }, &[]);
            let exit = Exit::Yield(vec![next_k, acc, most, summed]);
            let results = match (counter, cond) {
                (Some(counter), _) => {
                    let args = [vec![counter], args].concat();
                    let body = b.close(args, exit);
                    b.push(OpKind::For { lo: zero, hi: n, step: 1, inits, body }, &types)
                }
                (None, Some(cond)) => {
                    let body = b.close(args, exit);
                    b.push(OpKind::While { inits, cond, body }, &types)
                }
                (None, None) => unreachable!("one of the two"),
            };
            let out = b.map(MapBinary::Add, results[1], results[3]);
            let runs = b.one(OpKind::Cast { value: results[0] }, Type::Scalar(ScalarType::F32));
            let out = b.map(MapBinary::Add, out, runs);
            let out = b.convert(out, tile(DType::F32, 8, 16, Role::Row));
            let ran = t.finish(out);
            for cols in [1, 15, 33, 48, 50] {
                for (n, skip, last) in
                    [(0, 9, 9), (1, 9, 9), (3, 9, 9), (5, 1, 9), (5, 0, 2), (5, 2, 2), (4, 9, 0), (4, 0, 9)]
                {
                    let at = |r: u32, c: u32| if c < cols { rounded(dtype, noise(8, 0, r, c)) } else { 0.0 };
                    let f = |_: u32, r: u32, c: u32| at(r, c);
                    let got = ran.run(&[(Shape::plain(8, cols), &f)], &[n, skip, last].map(Arg::U32));
                    let mut acc = [0f32; 8];
                    let (mut most, mut sums, mut runs) = ([f32::NEG_INFINITY; 8], [0f32; 16], 0u32);
                    for k in 0..n {
                        runs += 1;
                        if k == skip {
                            continue;
                        }
                        for r in 0..8 {
                            for c in 0..16 {
                                most[r as usize] = most[r as usize].max(at(r, 16 * k + c));
                            }
                            acc[r as usize] += most[r as usize];
                        }
                        for (c, sum) in sums.iter_mut().enumerate() {
                            let column: f32 =
                                (1..8).fold(at(0, 16 * k + c as u32), |s, r| s + at(r, 16 * k + c as u32));
                            *sum += column;
                        }
                        if k == last {
                            break;
                        }
                    }
                    for r in 0..8 {
                        for c in 0..16 {
                            let want = acc[r] + sums[c] + runs as f32;
                            let got = got[r * 16 + c];
                            assert!(
                                (got - want).abs() < 1e-5,
                                "{dtype} counted {counted} {cols} columns {n} {skip} {last} ({r}, {c}): {got}, not {want}"
                            );
                        }
                    }
                }
            }
        }
    }
}
