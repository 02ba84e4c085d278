//! Owns the judgement of one case: compiled, evaluated, simulated, compared.
//!
//! *Guarantees*: a panic of the compiler is a finding, not the end of the run. *Not here*: what is right (`eval`,
//! `number`), making findings smaller (`shrink`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use tile_ir::scalar::Const;
use tile_ir::verify::Verified;
use tile_sim::{Arg, Launch, Memory, Options};

use super::eval::{self, Plant, Stop};
use super::program::Case;
use super::tensor::Tensor;
use crate::module::ModuleInput;

/// What kind of defect a finding shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The compiler refuses a kernel that obeys the rules.
    Rejected,
    /// The compiler panics.
    Panic,
    /// The simulator does not read the words.
    Unreadable,
    /// The simulator stops with an error.
    Simulator,
    /// An element differs.
    Mismatch,
    /// A byte that is no element was written.
    Stray,
    /// A host body differs.
    Host,
    /// The IR breaks a promise of the verifier.
    Malformed,
}

/// A defect.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// What was seen, with values.
    pub detail: String,
}

/// The judgement of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All elements are as they should be.
    Agrees {
        /// Elements that had to have these very bits.
        exact: u64,
        /// Elements that had to lie within an error.
        close: u64,
        /// Elements of which nothing was known.
        unknown: u64,
    },
    /// The tiles do not fit the registers.
    Budget,
    /// The evaluation has no result.
    Skipped(Stop),
    /// A defect.
    Fails(Finding),
}

/// Instructions after which a simulated run counts as endless.
const STEP_LIMIT: u64 = 100_000_000;

fn fails(kind: Kind, detail: String) -> Verdict {
    Verdict::Fails(Finding { kind, detail })
}

/// A kernel ready to be judged on tensors and scalars, as often as one likes.
pub struct Ready {
    kernel: Verified,
    /// Its modules, that of `xe` first.
    pub modules: Vec<Part>,
    /// The targets that lack an op of it.
    pub absent: Vec<tile_front::Absent>,
}

/// A module of a kernel.
pub struct Part {
    /// Its target.
    pub target: &'static str,
    parsed: tile_sim::Module,
    /// The device module, for outside tools.
    pub module: ModuleInput,
    /// Capabilities the module declares.
    pub capabilities: Vec<rspirv::spirv::Capability>,
    /// Extensions the module declares.
    pub extensions: Vec<&'static str>,
}

/// Compiles the kernel of a case.
///
/// # Errors
/// The verdict, if there is nothing to run.
pub fn compile(case: &Case) -> Result<Ready, Verdict> {
    let (attr, source) = (case.attr(), case.source());
    let compiled = catch_unwind(AssertUnwindSafe(|| tile_front::compile_source(&attr, &source)));
    let compiled = match compiled {
        Err(_) => return Err(fails(Kind::Panic, "the compiler panics".into())),
        Ok(Err(messages)) if messages.iter().all(|m| m.contains("[T021]")) => return Err(Verdict::Budget),
        Ok(Err(messages)) => return Err(fails(Kind::Rejected, messages.join("\n"))),
        Ok(Ok(compiled)) => compiled,
    };
    let Some(compiled) = compiled.into_iter().next_back().filter(|c| !c.modules.is_empty()) else {
        return Err(fails(Kind::Rejected, "the compiler gives no module".into()));
    };
    let (kernel, absent) = (compiled.kernel, compiled.absent);
    let modules =
        compiled.modules.into_iter().map(|module| part(&kernel, module)).collect::<Result<_, _>>()?;
    Ok(Ready { kernel, modules, absent })
}

fn part(kernel: &Verified, module: tile_front::Module) -> Result<Part, Verdict> {
    let parsed = match tile_sim::Module::parse(&module.words) {
        Ok(parsed) => parsed,
        Err(error) => return Err(fails(Kind::Unreadable, format!("{}: {error}", module.target))),
    };
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_string()).collect();
    let input = ModuleInput {
        kernel: kernel.kernel().name.clone(),
        instance: kernel.kernel().instance.clone(),
        words: module.words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        entry: module.entry,
        options: texts(&module.options),
        igc_options: texts(&module.igc_options),
        devices: texts(&module.devices),
    };
    Ok(Part {
        target: module.target,
        parsed,
        module: input,
        capabilities: module.capabilities,
        extensions: module.extensions,
    })
}

/// The tensors of a case before its launch.
pub fn tensors(case: &Case) -> Vec<Tensor> {
    case.dtypes().into_iter().zip(&case.tensors).map(|(dtype, spec)| Tensor::new(dtype, spec)).collect()
}

impl Ready {
    /// The kernel's IR.
    pub fn kernel(&self) -> &Verified {
        &self.kernel
    }

    /// What the output holds after a launch on `tensors`, by the meaning of the IR; with `plant`, the evaluator makes a
    /// mistake.
    ///
    /// # Errors
    /// The verdict, if the evaluation has no result.
    pub fn expected(&self, case: &Case, tensors: &[Tensor], plant: Option<Plant>) -> Result<Tensor, Verdict> {
        let mut slots: Vec<Option<Tensor>> = tensors.iter().cloned().map(Some).collect();
        slots.extend(case.scalars.iter().map(|_| None));
        let mut scalars = vec![None; tensors.len()];
        scalars.extend(case.scalars.iter().copied().map(Some));
        match eval::evaluate(self.kernel(), &mut slots, &scalars, plant) {
            Ok(()) => {}
            Err(Stop::Host(what)) => return Err(fails(Kind::Host, what)),
            Err(Stop::Malformed(what)) => return Err(fails(Kind::Malformed, what.into())),
            Err(stop @ (Stop::Ambiguous | Stop::Steps)) => return Err(Verdict::Skipped(stop)),
        }
        slots.swap_remove(0).ok_or_else(|| fails(Kind::Malformed, "the output is gone".into()))
    }

    /// The module for Xe GPUs.
    ///
    /// # Panics
    /// Never: a kernel without it is not ready.
    pub fn xe(&self) -> &Part {
        &self.modules[0]
    }

    /// Judges a launch of every module; the counts are of all.
    pub fn judge(&self, case: &Case, plant: Option<Plant>) -> Verdict {
        let tensors = tensors(case);
        let expected = match self.expected(case, &tensors, plant) {
            Ok(expected) => expected,
            Err(verdict) => return verdict,
        };
        let mut sum = [0; 3];
        for part in &self.modules {
            match self.run(part, case, &tensors, &expected) {
                Verdict::Agrees { exact, close, unknown } => {
                    sum.iter_mut().zip([exact, close, unknown]).for_each(|(sum, n)| *sum += n);
                }
                other => return other,
            }
        }
        let [exact, close, unknown] = sum;
        Verdict::Agrees { exact, close, unknown }
    }

    fn run(&self, part: &Part, case: &Case, tensors: &[Tensor], expected: &Tensor) -> Verdict {
        let mut memory = Memory::new();
        let addresses: Vec<u64> = tensors.iter().map(|t| t.map(&mut memory)).collect();
        for address in &addresses[1..] {
            memory.protect(*address);
        }
        let mut args: Vec<Arg> = tensors.iter().zip(&addresses).flat_map(|(t, a)| t.args(*a)).collect();
        args.extend(case.scalars.map(|c| match c {
            Const::U32(v) => Arg::U32(v),
            Const::I32(v) => Arg::I32(v),
            Const::U64(v) => Arg::U64(v),
            Const::F32(v) => Arg::F32(f32::from_bits(v)),
            Const::Bool(v) => Arg::U32(v.into()),
        }));
        let before = memory.bytes(addresses[0]).to_vec();
        let groups = [eval::groups(self.kernel(), &tensors[0]), 1, 1];
        let (rows, cols) = case.subgroups;
        // In a lane module one work-item is a whole sub-group.
        let lanes = if part.target == "lane" { 1 } else { 16 };
        let launch =
            Launch { entry: &part.module.entry, groups, local: [lanes * rows * cols, 1, 1], args: &args };
        let options = Options { step_limit: STEP_LIMIT, ..Options::default() };
        if let Err(error) = tile_sim::run_with(&part.parsed, &mut memory, &launch, &options) {
            return fails(Kind::Simulator, format!("{} module: {error}", part.target));
        }
        compare(
            &format!("the {} module on the simulator", part.target),
            expected,
            &before,
            memory.bytes(addresses[0]),
        )
    }
}

/// Judges a case; with `plant`, the evaluator makes a mistake.
pub fn judge(case: &Case, plant: Option<Plant>) -> Verdict {
    match compile(case) {
        Ok(ready) => ready.judge(case, plant),
        Err(verdict) => verdict,
    }
}

/// Compares the bytes of the output after a run with what they should be.
pub fn compare(who: &str, expected: &Tensor, before: &[u8], after: &[u8]) -> Verdict {
    let (mut exact, mut close, mut unknown) = (0, 0, 0);
    let mut differences = vec![];
    let mut rest = after.to_vec();
    let esz = expected.dtype.size_bytes() as usize;
    for ((plane, row, col), want, at) in expected.places() {
        rest[at..at + esz].copy_from_slice(&before[at..at + esz]);
        match want {
            w if w.is_unknown() => unknown += 1,
            w if w.e == 0.0 => exact += 1,
            _ => close += 1,
        }
        let found = expected.read(after, at);
        if !want.admits_element(found) {
            differences.push(format!(
                "plane {plane} row {row} column {col}: {who} has {found}, the evaluator {want}"
            ));
        }
    }
    if let Some(at) = rest.iter().zip(before).position(|(r, b)| r != b) {
        return fails(Kind::Stray, format!("byte {at} of the output is no element and was written"));
    }
    if differences.is_empty() {
        return Verdict::Agrees { exact, close, unknown };
    }
    let count = differences.len();
    differences.truncate(4);
    fails(Kind::Mismatch, format!("{count} elements differ:\n{}", differences.join("\n")))
}

/// Compares the elements of the output with those on the host, bit by bit; any NaN is as good as another.
pub fn same_bits(who: &str, output: &Tensor, host: &[u8], found: &[u8]) -> Verdict {
    let esz = output.dtype.size_bytes() as usize;
    let mut exact = 0;
    for ((plane, row, col), _, at) in output.places() {
        let (h, f) = (output.read(host, at), output.read(found, at));
        if host[at..at + esz] != found[at..at + esz] && !(h.v.is_nan() && f.v.is_nan()) {
            let place = format!("plane {plane} row {row} column {col}");
            return fails(Kind::Mismatch, format!("{place}: {who} has {f}, the host {h}: other bits"));
        }
        exact += 1;
    }
    Verdict::Agrees { exact, close: 0, unknown: 0 }
}

impl Finding {
    /// True when `other` is likely the same defect: the same kind, and the same sentence up to the first name or number
    /// for anything but different elements.
    pub fn is_like(&self, other: &Finding) -> bool {
        fn start(f: &Finding) -> &str {
            let end = f.detail.find(|c: char| c.is_ascii_digit() || c == '`' || c == '<');
            &f.detail[..end.unwrap_or(f.detail.len())]
        }
        let by_kind = matches!(self.kind, Kind::Mismatch | Kind::Stray);
        self.kind == other.kind && (by_kind || start(self) == start(other))
    }
}
