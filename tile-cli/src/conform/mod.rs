//! The conformance suite: every op on every element type, every role and several shapes, launched on many tensors.
//!
//! | file | owns |
//! |---|---|
//! | `bodies` | the kernels: for each op of `tile_ir::ops::list`, the forms in which kernel source uses it |
//! | `vectors` | both for the families of ops on vectors |
//! | `operands` | the same of the types that do not compute: bytes and tf32 |
//! | `roles` | the same in roles that only some ops meet |
//! | `wrong` | for each op a use that must be refused, and the rule it breaks |
//! | `launches` | what each kernel is launched on: coordinates, ragged sizes, pitches, planes, odd values |
//!
//! *Assumes*: the judgement of the fuzzer (`fuzz::judge`), which surrounds every tensor with NaN bytes.
//! *Guarantees*: the same suite in every run; a form that no element type can have is reported. *Not here*: random kernels
//! (`fuzz`).

pub mod bodies;
pub mod launches;
pub mod operands;
pub mod roles;
mod vectors;
pub mod wrong;

use rayon::prelude::*;
use tile_ir::ops::list::{Entry, all};
use tile_ir::types::DType;

use crate::fuzz::eval::Stop;
use crate::fuzz::judge::{Finding, Kind, Ready, Verdict, compile};
use crate::fuzz::program::Case;

/// A kernel about one op in one form.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The op.
    pub op: Entry,
    /// What the form is about, such as `Row tile`.
    pub form: String,
    /// The kernel with its first launch.
    pub case: Case,
}

impl Kernel {
    /// The kernel in a few words.
    pub fn label(&self) -> String {
        format!("{} ({}) {}", self.op.name, self.form, self.case.listed())
    }
}

/// Sizes `M`, `N`, `K`, one after the other for kernels that follow each other.
const SIZES: &[[u32; 3]] = &[[8, 16, 16], [16, 32, 32], [24, 48, 16], [32, 16, 32]];

/// Grids of sub-groups, likewise.
const GRIDS: &[(u32, u32)] = &[(1, 1), (2, 1), (1, 2), (2, 2), (4, 1)];

/// Every kernel of the suite, those included that the compiler refuses because their element types are not legal.
pub fn kernels() -> Vec<Kernel> {
    let mut kernels = vec![];
    for op in all() {
        for body in bodies::bodies(&op) {
            for types in &body.types {
                // Each form meets every size and every grid sooner or later: their numbers have no common factor.
                let n = kernels.len();
                let (sizes, subgroups) =
                    (SIZES[n % SIZES.len()], body.grid.unwrap_or(GRIDS[n % GRIDS.len()]));
                let sizes = operands::sizes(&op, *types, sizes);
                let case = launches::kernel(n as u64, &body, *types, sizes, subgroups);
                kernels.push(Kernel { op: op.clone(), form: body.form.clone(), case });
            }
        }
    }
    kernels
}

/// A kernel that the compiler takes, and one that it refuses with its messages.
pub type Compiled = Result<Ready, String>;

/// Compiles kernels. A refusal is kept as text; anything else that goes wrong is a finding.
pub fn compile_all(kernels: &[Kernel]) -> Vec<Result<Compiled, Finding>> {
    kernels
        .par_iter()
        .map(|kernel| match compile(&kernel.case) {
            Ok(ready) => Ok(Ok(ready)),
            Err(Verdict::Budget) => Ok(Err("the tiles do not fit the registers".into())),
            Err(Verdict::Fails(f)) if f.kind == Kind::Rejected && !f.detail.contains("[T090]") => {
                Ok(Err(f.detail))
            }
            Err(Verdict::Fails(finding)) => Err(finding),
            Err(Verdict::Agrees { .. } | Verdict::Skipped(_)) => Ok(Err("nothing was compiled".into())),
        })
        .collect()
}

/// What a run of the suite counted.
#[derive(Clone, Debug, Default)]
pub struct Count {
    /// Launches whose elements all agree.
    pub agree: u64,
    /// Launches in which a branch depends on rounding.
    pub ambiguous: u64,
    /// Elements that had to have certain bits, to lie within an error, and those of which nothing was known.
    pub elements: [u64; 3],
    /// What disagreed: the kernel with the launch, and what was seen.
    pub findings: Vec<(String, Case, Finding)>,
}

impl Count {
    /// Adds a verdict.
    pub fn add(&mut self, kernel: &Kernel, case: &Case, verdict: Verdict) {
        match verdict {
            Verdict::Agrees { exact, close, unknown } => {
                self.agree += 1;
                for (sum, n) in self.elements.iter_mut().zip([exact, close, unknown]) {
                    *sum += n;
                }
            }
            Verdict::Skipped(Stop::Ambiguous) => self.ambiguous += 1,
            Verdict::Budget | Verdict::Skipped(_) => {
                let finding = Finding { kind: Kind::Malformed, detail: "the launch was not judged".into() };
                self.findings.push((kernel.label(), case.clone(), finding));
            }
            Verdict::Fails(finding) => self.findings.push((kernel.label(), case.clone(), finding)),
        }
    }
}

/// Launches a kernel on all its tensors in the simulator and judges what comes out; the host bodies of its ops are
/// judged on the same values.
pub fn simulate(kernel: &Kernel, ready: &Ready) -> Count {
    let mut count = Count::default();
    for case in launches::launches(&kernel.case) {
        count.add(kernel, &case, ready.judge(&case, None));
    }
    count
}

/// Element types that compute and are an operand of some matrix instruction.
pub fn mma_inputs() -> Vec<DType> {
    let operand = |d: &DType| tile_ir::legal::MMAS.iter().any(|row| row.a == *d);
    DType::COMPUTING.iter().copied().filter(operand).collect()
}
