//! Owns the verifier: from [`Kernel`] to [`Verified`], the only form that lowering accepts.
//!
//! Checked here: every value is defined once and before its uses; regions yield what their op needs; every op
//! obeys its typing rule (`ops`); stores go to owned tiles; the grid comes from exactly one `own_tile`; the
//! live tiles fit the register file; at least one device has everything the kernel uses.
//!
//! Uniformity is by type: a scalar has one value for the whole sub-group, because every op that gives one computes it
//! from scalars, parameters, the sub-group's place, or one element of memory. What steers a sub-group (conditions, bounds,
//! coordinates, widths) must be a scalar, so control flow and the ops of a sub-group never diverge.
//!
//! *Guarantees*: on `Ok`, none of that needs checking again, and [`Facts`] are right. All broken rules are
//! reported, not only the first. *Not checked*: whether Intel's compiler spills (`cargo tile verify` asks it).

mod vectors;

use crate::error::{Code, Diagnostic, Span};
use crate::ir::{
    Access, Coord, Exit, GroupOp, Kernel, Op, OpKind, ParamId, ParamKind, Region, SharedId, ValueId, VectorOp,
};
use crate::legal::{Device, MAX_SUBGROUPS, REGISTER_BYTES};
use crate::ops;
use crate::registers::live_peak;
use crate::types::{ScalarType, Type};
use crate::{uniform, workgroup};

/// The tile bytes for which the host device makes a stack: 1 GiB, less 2 MiB, holds eight copies of every tile.
const HOST_BYTES: u64 = ((1 << 30) - (2 << 20)) / 8;

/// What the verifier learnt about a kernel on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The output that fixes the grid.
    pub grid: ParamId,
    /// The tile of the grid as (rows, cols).
    pub tile: (u32, u32),
    /// Devices that have everything the kernel uses.
    pub devices: Vec<Device>,
    /// Largest sum of the register bytes of tiles alive at one time.
    pub live_tile_bytes: u64,
    /// Sum of the host bytes of every tile value, which bounds the stack a host body needs.
    pub host_tile_bytes: u64,
}

/// A kernel that obeys every rule. Only [`verify`] makes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    kernel: Kernel,
    facts: Facts,
}

impl Verified {
    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What the verifier learnt.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

/// Checks a kernel.
///
/// # Errors
/// Every broken rule, in program order.
pub fn verify(kernel: Kernel) -> Result<Verified, Vec<Diagnostic>> {
    let mut v = Verifier {
        kernel: &kernel,
        defined: vec![false; kernel.values.len()],
        scope: vec![false; kernel.values.len()],
        owned: vec![],
        loops: vec![],
        devices: Device::ALL.to_vec(),
        out: vec![],
    };
    v.check_header();
    v.check_region(&kernel.body, 0, &[]);
    v.check_mixing();
    v.check_ways();
    let grid = v.owned.first().map(|o| (o.global, o.tile));
    if v.owned.len() != 1 {
        let span = v.owned.get(1).map_or(Span::NONE, |o| o.span);
        v.report(
            Code::Grid,
            span,
            format!("a kernel takes its grid from exactly one `own_tile`; this one has {}", v.owned.len()),
            "call it once: `let at = own_tile::<BM, BN>(c, Snake(8));`",
        );
    }
    let devices = if kernel.host_only { vec![] } else { v.devices.clone() };
    let mut out = v.out;
    if !out.is_empty() {
        return Err(out);
    }
    out.extend(workgroup::check(&kernel));
    out.extend(uniform::check(&kernel));
    if !out.is_empty() {
        return Err(out);
    }
    let peak = live_peak(&kernel);
    if peak.bytes > REGISTER_BYTES && !kernel.host_only {
        out.push(Diagnostic::new(
            Code::RegisterBudget,
            peak.span,
            format!(
                "the tiles alive at one time must fit {REGISTER_BYTES} bytes of registers; here {} bytes are alive: {}",
                peak.bytes,
                peak.tiles.join(", ")
            ),
            "use smaller tile sizes in this instance, or let a tile die earlier; `; host` compiles it for the host device alone",
        ));
        return Err(out);
    }
    let mut host_tile_bytes = kernel.values.iter().fold(0u64, |sum, t| sum.saturating_add(t.host_bytes()));
    // The host turns a tile before it stores it.
    kernel.body.walk(&mut |op| {
        if let OpKind::StoreTranspose { tile, .. } = &op.kind {
            host_tile_bytes = host_tile_bytes.saturating_add(kernel.ty(*tile).host_bytes());
        }
    });
    if host_tile_bytes > HOST_BYTES {
        out.push(Diagnostic::new(
            Code::RegisterBudget,
            peak.span,
            format!(
                "all tiles of a kernel must fit {HOST_BYTES} bytes of stack on the host; here they take {host_tile_bytes}"
            ),
            "use smaller tile sizes in this instance",
        ));
        return Err(out);
    }
    let (grid, tile) = grid.expect("exactly one own_tile was checked above");
    let facts = Facts { grid, tile, devices, live_tile_bytes: peak.bytes, host_tile_bytes };
    Ok(Verified { kernel, facts })
}

struct Owned {
    global: ParamId,
    tile: (u32, u32),
    results: Vec<ValueId>,
    span: Span,
}

struct Verifier<'a> {
    kernel: &'a Kernel,
    /// Values some op or region has defined so far.
    defined: Vec<bool>,
    /// Values visible at the current point.
    scope: Vec<bool>,
    owned: Vec<Owned>,
    /// Types carried by the loops around the current point, innermost last.
    loops: Vec<Vec<Type>>,
    devices: Vec<Device>,
    out: Vec<Diagnostic>,
}

impl<'a> Verifier<'a> {
    fn report(&mut self, code: Code, span: Span, message: impl Into<String>, help: &str) {
        self.out.push(Diagnostic::new(code, span, message, help));
    }

    fn check_header(&mut self) {
        let (rows, cols) = self.kernel.subgroups;
        if rows == 0 || cols == 0 || u64::from(rows) * u64::from(cols) > u64::from(MAX_SUBGROUPS) {
            self.report(
                Code::Attribute,
                Span::NONE,
                format!(
                    "a work-group has 1 to {MAX_SUBGROUPS} sub-groups; `subgroups = ({rows}, {cols})` asks for {}",
                    u64::from(rows) * u64::from(cols)
                ),
                "choose a smaller grid of sub-groups, such as `subgroups = (8, 4)`",
            );
        }
        for param in &self.kernel.params {
            if let ParamKind::Scalar { value, ty } = param.kind {
                self.define(value, Span::NONE);
                if self.kernel.values.get(value.0 as usize) != Some(&Type::Scalar(ty)) {
                    self.structure(
                        Span::NONE,
                        format!("parameter `{}` and its value differ in type", param.name),
                    );
                }
            }
        }
    }

    fn structure(&mut self, span: Span, message: String) {
        self.report(Code::Structure, span, message, "this is a defect of the compiler; please report it");
    }

    fn define(&mut self, value: ValueId, span: Span) -> bool {
        let index = value.0 as usize;
        if index >= self.kernel.values.len() {
            self.structure(span, format!("{value} has no type"));
            return false;
        }
        if self.defined[index] {
            self.structure(span, format!("{value} is defined twice"));
            return false;
        }
        self.defined[index] = true;
        self.scope[index] = true;
        true
    }

    /// True when every value may be used here; complains about each that may not.
    fn all_usable(&mut self, values: &[ValueId], span: Span) -> bool {
        values.iter().filter(|&&v| !self.usable(v, span)).count() == 0
    }

    fn usable(&mut self, value: ValueId, span: Span) -> bool {
        let ok = self.scope.get(value.0 as usize).copied().unwrap_or(false);
        if !ok {
            self.structure(span, format!("{value} is used where it is not defined"));
        }
        ok
    }

    /// Checks a region whose yielded types must be `yields`; its values go out of scope at its end.
    fn check_region(&mut self, region: &'a Region, depth: usize, yields: &[Type]) {
        let mut mine = region.args.clone();
        for &arg in &region.args {
            self.define(arg, Span::NONE);
        }
        for op in &region.ops {
            let usable = self.all_usable(&op.kind.operands(), op.span);
            if usable {
                self.check_op(op, depth);
            }
            for &result in &op.results {
                self.define(result, op.span);
                mine.push(result);
            }
        }
        let span = region.ops.last().map_or(Span::NONE, |o| o.span);
        let yields = match &region.exit {
            Exit::Break(_) | Exit::Continue(_) => match self.loops.last() {
                Some(carried) => carried.clone(),
                None => {
                    self.report(
                        Code::LoopExit,
                        span,
                        "`break` and `continue` stand in a loop; here there is none",
                        "",
                    );
                    vec![]
                }
            },
            Exit::Yield(_) | Exit::Return => yields.to_vec(),
        };
        match &region.exit {
            Exit::Return => {}
            Exit::Yield(values) | Exit::Break(values) | Exit::Continue(values) => {
                let usable = self.all_usable(values, span);
                let types: Vec<Type> = if usable {
                    values.iter().map(|&v| self.kernel.ty(v)).collect()
                } else {
                    yields.to_vec()
                };
                if types != yields {
                    self.structure(span, format!("a region yields {types:?} where {yields:?} is needed"));
                }
            }
        }
        for value in &mine {
            if let Some(seen) = self.scope.get_mut(value.0 as usize) {
                *seen = false;
            }
        }
    }

    fn check_op(&mut self, op: &'a Op, depth: usize) {
        match &op.kind {
            OpKind::For { lo, hi, step, inits, body } => {
                let counter = self.kernel.ty(*lo);
                let carried: Vec<Type> = inits.iter().map(|&v| self.kernel.ty(v)).collect();
                let mut args = vec![counter];
                args.extend(&carried);
                let given: Vec<Type> =
                    body.args.iter().filter_map(|v| self.kernel.values.get(v.0 as usize).copied()).collect();
                let results: Vec<Type> =
                    op.results.iter().filter_map(|v| self.kernel.values.get(v.0 as usize).copied()).collect();
                let integer = counter.scalar().is_some_and(ScalarType::is_integer);
                if *step == 0
                    || !integer
                    || self.kernel.ty(*hi) != counter
                    || given != args
                    || results != carried
                {
                    self.structure(op.span, "a `for` op is malformed".into());
                }
                self.check_loop_body(op, body, depth, &carried);
            }
            OpKind::While { inits, cond, body } => {
                let carried: Vec<Type> = inits.iter().map(|&v| self.kernel.ty(v)).collect();
                let types = |values: &[ValueId]| -> Vec<Type> {
                    values.iter().filter_map(|v| self.kernel.values.get(v.0 as usize).copied()).collect()
                };
                if types(&cond.args) != carried
                    || types(&body.args) != carried
                    || types(&op.results) != carried
                {
                    self.structure(op.span, "a `while` op is malformed".into());
                }
                if !matches!(cond.exit, Exit::Yield(_)) {
                    self.structure(op.span, "a condition must yield".into());
                }
                let outer = core::mem::take(&mut self.loops);
                self.check_region(cond, depth + 1, &[Type::Scalar(ScalarType::Bool)]);
                self.loops = outer;
                self.check_loop_body(op, body, depth, &carried);
            }
            OpKind::If { cond, then, otherwise } => {
                if self.kernel.ty(*cond) != Type::Scalar(ScalarType::Bool) {
                    self.structure(op.span, "a condition must be `bool`".into());
                }
                let results: Vec<Type> =
                    op.results.iter().filter_map(|v| self.kernel.values.get(v.0 as usize).copied()).collect();
                self.check_region(then, depth + 1, &results);
                self.check_region(otherwise, depth + 1, &results);
            }
            OpKind::OwnTile { global, tile, .. } => {
                if depth > 0 {
                    self.report(
                        Code::Grid,
                        op.span,
                        "`own_tile` stands at the top level of the body; here it is inside a branch or loop",
                        "move it before the branch or loop",
                    );
                }
                self.check_rule(op);
                self.owned.push(Owned {
                    global: *global,
                    tile: *tile,
                    results: op.results.clone(),
                    span: op.span,
                });
            }
            OpKind::Store { global, tile, at } => {
                self.check_rule(op);
                self.check_store(op, *global, *tile, at);
            }
            OpKind::StoreTranspose { global, tile, at } => {
                self.check_rule(op);
                self.check_store(op, *global, *tile, at);
            }
            OpKind::Load { global, at, form } => {
                self.check_rule(op);
                if matches!(self.kernel.global(*global), Some((_, Access::Out))) {
                    let tile = op.results.first().and_then(|&v| self.kernel.ty(v).tile());
                    let owned = tile.is_some_and(|t| self.is_owned(at, form.window((t.rows, t.cols))));
                    if !owned && !self.kernel.unowned_stores {
                        self.report(
                            Code::LoadFromOutput,
                            op.span,
                            "an output is read only at the tile this sub-group owns; another sub-group may be \
                             writing the element this load reads",
                            "load with the value of `own_tile` and a tile of its size, or pass the tensor as an \
                             input as well",
                        );
                    }
                }
            }
            OpKind::Vector(what) => {
                self.check_rule(op);
                self.check_vector(op, what);
            }
            OpKind::Group(what) => {
                self.check_rule(op);
                self.check_group(op, what);
            }
            OpKind::Const(_)
            | OpKind::Binary { .. }
            | OpKind::Unary { .. }
            | OpKind::Compare { .. }
            | OpKind::Cast { .. }
            | OpKind::Dim { .. }
            | OpKind::Place(_)
            | OpKind::Zeros
            | OpKind::Prefetch { .. }
            | OpKind::Mma { .. }
            | OpKind::Convert { .. }
            | OpKind::Fill { .. }
            | OpKind::MapUnary { .. }
            | OpKind::MapBinary { .. }
            | OpKind::MapTernary { .. }
            | OpKind::Selection(_)
            | OpKind::Reduce { .. }
            | OpKind::LoadScalar { .. }
            | OpKind::KeepFirst { .. }
            | OpKind::Triangle { .. }
            | OpKind::LoadVector { .. }
            | OpKind::Transpose { .. }
            | OpKind::TopK(_)
            | OpKind::SubTile { .. }
            | OpKind::SetSubTile { .. }
            | OpKind::AtomicAdd { .. }
            | OpKind::Scale { .. } => {
                self.check_rule(op);
                self.check_read(op);
            }
        }
    }

    fn check_loop_body(&mut self, op: &'a Op, body: &'a Region, depth: usize, carried: &[Type]) {
        if body.exit == Exit::Return {
            self.structure(op.span, "a loop body must yield".into());
        }
        self.loops.push(carried.to_vec());
        self.check_region(body, depth + 1, carried);
        self.loops.pop();
    }

    /// Cooperative copies read inputs and store to what the work-group owns.
    fn check_group(&mut self, op: &Op, what: &GroupOp) {
        match what {
            GroupOp::LoadCoop { global, .. } => {
                let output = matches!(self.kernel.global(*global), Some((_, Access::Out)));
                if output && !self.kernel.unowned_stores {
                    self.report(
                        Code::LoadFromOutput,
                        op.span,
                        "an output is read only as the tile this sub-group owns; another sub-group may be writing these \
                         elements",
                        "pass the tensor as an input as well",
                    );
                }
            }
            GroupOp::StoreCoop { global, shared, at } => self.check_store_coop(op, *global, *shared, at),
            GroupOp::Load { .. } | GroupOp::Store { .. } | GroupOp::Barrier(_) => {}
        }
    }

    fn check_store_coop(&mut self, op: &Op, global: ParamId, shared: SharedId, at: &Coord) {
        let Some(shared) = self.kernel.shared(shared) else { return };
        if !matches!(self.kernel.global(global), Some((_, Access::Out))) {
            self.report(
                Code::Arguments,
                op.span,
                "`store_coop` writes to an output; this parameter is an input",
                "make the parameter `&mut gl<T>`",
            );
            return;
        }
        let ((rows, cols), (down, across)) = (shared.ty.shape(), self.kernel.subgroups);
        let whole = rows.is_multiple_of(down) && cols.is_multiple_of(across);
        if !whole || !self.is_owned(at, (rows / down, cols / across)) {
            let message = format!(
                "`store_coop` stores a shared tile of {down} x {across} owned tiles, one per sub-group of the work-group; here \
                 `{}` is `{}`",
                shared.name, shared.ty
            );
            let help = "make it an `st` with the rows and columns of `own_tile` times the grid of sub-groups";
            self.report(Code::UnownedStore, op.span, message, help);
        }
    }

    /// Reads of single elements and vectors have no owned form, so they do not read outputs.
    fn check_read(&mut self, op: &Op) {
        let (OpKind::LoadVector { global, .. } | OpKind::LoadScalar { global, .. }) = &op.kind else {
            return;
        };
        if matches!(self.kernel.global(*global), Some((_, Access::Out))) && !self.kernel.unowned_stores {
            self.report(
                Code::LoadFromOutput,
                op.span,
                "an output is read only as the tile this sub-group owns; another sub-group may be writing these elements",
                "pass the tensor as an input as well",
            );
        }
    }

    /// Refuses outputs that take atomic adds and are also stored or loaded plainly, at the op that makes it two ways.
    fn check_mixing(&mut self) {
        let kernel = self.kernel;
        let mut ways: Vec<Option<bool>> = vec![None; kernel.params.len()];
        let mut mixed = vec![];
        kernel.body.walk(&mut |op| {
            let (global, atomic) = if let OpKind::AtomicAdd { global, .. } = &op.kind {
                (global, true)
            } else if let OpKind::Store { global, .. }
            | OpKind::StoreTranspose { global, .. }
            | OpKind::Load { global, .. }
            | OpKind::LoadVector { global, .. }
            | OpKind::LoadScalar { global, .. }
            | OpKind::Vector(VectorOp::Store { global, .. })
            | OpKind::Group(
                GroupOp::LoadCoop { global, .. } | GroupOp::StoreCoop { global, .. },
            ) = &op.kind
            {
                (global, false)
            } else {
                return;
            };
            if let Some(way) = ways.get_mut(global.0 as usize)
                && *way.get_or_insert(atomic) != atomic
                && matches!(kernel.global(*global), Some((_, Access::Out)))
            {
                mixed.push((*global, op.span, op.kind.name(), atomic));
            }
        });
        for (global, span, name, atomic) in mixed {
            let param = kernel.params.get(global.0 as usize).map_or("", |p| p.name.as_str());
            let before = if atomic { "stored or loaded plainly" } else { "added to atomically" };
            self.report(
                Code::AtomicMix,
                span,
                format!(
                    "an output takes either atomic adds or plain stores and loads; here `{name}` uses `{param}`, which is {before} before"
                ),
                "use a second output, or a second kernel",
            );
        }
    }

    fn check_rule(&mut self, op: &Op) {
        match ops::check(self.kernel, op) {
            Ok(devices) => self.devices.retain(|d| devices.contains(d)),
            Err(broken) => self.out.extend(broken),
        }
    }

    /// True when `at` is the whole value of an `own_tile` of this tile size.
    fn is_owned(&self, at: &Coord, tile: (u32, u32)) -> bool {
        self.owned.iter().any(|o| {
            o.tile == tile
                && o.results.len() == 4
                && at.batch == Some(o.results[0])
                && at.depth == Some(o.results[1])
                && at.row == o.results[2]
                && at.col == o.results[3]
                && at.unit == crate::ir::Unit::Tiles
        })
    }

    fn check_store(&mut self, op: &Op, global: ParamId, tile: ValueId, at: &Coord) {
        let Some(t) = self.kernel.ty(tile).tile() else { return };
        let (rows, cols) = if matches!(op.kind, OpKind::StoreTranspose { .. }) {
            (t.cols, t.rows)
        } else {
            (t.rows, t.cols)
        };
        if self.kernel.unowned_stores || self.is_owned(at, (rows, cols)) {
            return;
        }
        let name = self.kernel.params.get(global.0 as usize).map_or("", |p| p.name.as_str());
        self.report(
            Code::UnownedStore,
            op.span,
            format!(
                "a safe kernel stores only to the tile its sub-group owns; this store of a {rows}x{cols} tile to `{name}` does not go to an owned tile of that size"
            ),
            "store at the value of `own_tile::<ROWS, COLS>(..)`, or mark the kernel `unsafe fn` and use `store_at`",
        );
    }
}
