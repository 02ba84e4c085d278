//! Launches: arguments, built-ins, order of work-groups and sub-groups, barriers.
//!
//! Work-groups run one after another (x fastest), sub-groups of a work-group one after another, switching
//! only at work-group barriers.
//! *Guarantees*: results, counters and errors are the same on every run.
//! *Not here*: executing instructions (`subgroup` and the files below it).

use crate::access::{Env, SPACE_SHARED, space_base};
use crate::counters::{Counters, SubgroupTally, Tally, Touches};
use crate::error::{Cause, Place, Rule, SimError};
use crate::lanes::LANES;
use crate::memory::Memory;
use crate::module::{Code, Entry, Module, ParamKind};
use crate::shapes::Hardware;
use crate::shared::SharedMemory;
use crate::subgroup::{Stop, Subgroup, resume};
use rspirv::spirv::BuiltIn;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// An address in [`Memory`] (any address is accepted; accesses are checked).
    Pointer(u64),
    /// A 32-bit unsigned integer.
    U32(u32),
    /// A 64-bit unsigned integer.
    U64(u64),
    /// A 32-bit float.
    F32(f32),
    /// A 32-bit signed integer.
    I32(i32),
    /// Work-group memory of this many bytes, for a pointer parameter in the Workgroup class.
    Local(u32),
}

/// What to launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Name of the entry point.
    pub entry: &'a str,
    /// Number of work-groups in x, y, z; 0 anywhere runs nothing.
    pub groups: [u32; 3],
    /// Work-items of a work-group in x, y, z; 16 consecutive ones are a sub-group.
    pub local: [u32; 3],
    /// One argument per kernel parameter.
    pub args: &'a [Arg],
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Executed instructions (summed over sub-groups) after which the run fails with
    /// [`SimError::StepLimit`].
    pub step_limit: u64,
    /// GPU whose set of 2-D block messages is checked.
    pub hardware: Hardware,
    /// Track distinct bytes and cache lines ([`Counters::traffic`]); costs time and 4 bytes per byte touched.
    pub traffic: bool,
    /// Keep one tally per sub-group ([`Counters::subgroups`]).
    pub per_subgroup: bool,
    /// Keep every 2-D block message ([`Counters::messages`]).
    pub messages: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            step_limit: 4_000_000_000,
            hardware: Hardware::default(),
            traffic: false,
            per_subgroup: false,
            messages: false,
        }
    }
}

/// Most work-items in a work-group (that no device exceeds), and so most sub-groups.
const MAX_LOCAL: u64 = 2048;
/// Most work-group memory in bytes (SLM of the largest device).
const MAX_SHARED: u64 = 384 * 1024;

/// Runs a kernel with default [`Options`].
///
/// # Errors
/// [`SimError::Launch`] if the launch does not fit the kernel; any other variant if execution stops.
pub fn run(module: &Module, memory: &mut Memory, launch: &Launch<'_>) -> Result<Counters, SimError> {
    run_with(module, memory, launch, &Options::default())
}

/// Runs a kernel.
///
/// # Errors
/// [`SimError::Launch`] if the launch does not fit the kernel; any other variant if execution stops. Memory
/// then holds what was stored up to that point.
pub fn run_with(
    module: &Module,
    memory: &mut Memory,
    launch: &Launch<'_>,
    options: &Options,
) -> Result<Counters, SimError> {
    run_telling(module, memory, launch, options, &mut |_| ())
}

/// Runs a kernel and tells how many work-groups are done, after each of them.
///
/// # Errors
/// As [`run_with`].
pub fn run_telling(
    module: &Module,
    memory: &mut Memory,
    launch: &Launch<'_>,
    options: &Options,
    done: &mut dyn FnMut(u64),
) -> Result<Counters, SimError> {
    let code = &module.code;
    let prepared = prepare(code, launch)
        .map_err(|detail| SimError::Launch { entry: launch.entry.to_string(), detail })?;
    let shared = SharedMemory::new(prepared.shared_vars.clone(), prepared.shared_bytes);
    let mut state = State {
        code,
        options,
        launch,
        prepared,
        block_runs: vec![0; code.block_count as usize],
        steps_left: options.step_limit,
        touches: options.traffic.then(Touches::default),
        counters: Counters::default(),
        shared,
    };
    let mut pool = Vec::new();
    let [gx, gy, gz] = launch.groups;
    let mut finished = 0;
    for z in 0..gz {
        for y in 0..gy {
            for x in 0..gx {
                state.work_group(memory, &mut pool, [x, y, z])?;
                finished += 1;
                done(finished);
            }
        }
    }
    Ok(state.finish(memory))
}

/// A launch checked against the kernel.
struct Prepared<'a> {
    entry: &'a Entry,
    /// Row, bits and value of every parameter.
    params: Vec<(u32, u8, u64)>,
    shared_bytes: usize,
    /// Offset and size of every piece of work-group memory.
    shared_vars: Vec<(u64, u64)>,
}

fn prepare<'a>(code: &'a Code, launch: &Launch<'_>) -> Result<Prepared<'a>, String> {
    let Some(entry) = code.entries.iter().find(|e| e.name == launch.entry) else {
        let names: Vec<_> = code.entries.iter().map(|e| e.name.as_str()).collect();
        return Err(format!("the module has no such entry point; it has: {}", names.join(", ")));
    };
    let items = launch.local.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul);
    if !(1..=MAX_LOCAL).contains(&items) {
        return Err(format!("a work-group of {:?} has {items} work-items; 1 to {MAX_LOCAL}", launch.local));
    }
    if let Some(size) = entry.local_size.filter(|size| *size != launch.local) {
        return Err(format!("the kernel requires work-groups of {size:?}, not {:?}", launch.local));
    }
    let function = &code.functions[entry.function as usize];
    if function.params.len() != launch.args.len() {
        return Err(format!(
            "the kernel takes {} arguments, {} are given",
            function.params.len(),
            launch.args.len()
        ));
    }
    let mut shared = u64::from(code.shared_bytes);
    let mut shared_vars = code.shared_vars.clone();
    let mut params = Vec::new();
    for (i, (arg, kind)) in launch.args.iter().zip(&entry.params).enumerate() {
        let (bits, value) = match (arg, kind) {
            (Arg::Pointer(address), ParamKind::Global) => (64, *address),
            (Arg::U32(v), ParamKind::Int(32)) => (32, u64::from(*v)),
            (Arg::I32(v), ParamKind::Int(32)) => (32, u64::from(*v as u32)),
            (Arg::U64(v), ParamKind::Int(64)) => (64, *v),
            (Arg::F32(v), ParamKind::Float(32)) => (32, u64::from(v.to_bits())),
            (Arg::Local(bytes), ParamKind::Shared) => {
                let at = shared.next_multiple_of(128);
                shared = at + u64::from(*bytes);
                shared_vars.push((at, u64::from(*bytes)));
                (64, space_base(SPACE_SHARED) + at)
            }
            (arg, kind) => return Err(format!("argument {i} is {arg:?}; the kernel takes {kind}")),
        };
        params.push((function.params[i].0, bits, value));
    }
    if shared > MAX_SHARED {
        return Err(format!("{shared} bytes of work-group memory; at most {MAX_SHARED}"));
    }
    Ok(Prepared { entry, params, shared_bytes: shared as usize, shared_vars })
}

struct State<'a> {
    code: &'a Code,
    options: &'a Options,
    launch: &'a Launch<'a>,
    prepared: Prepared<'a>,
    block_runs: Vec<u64>,
    steps_left: u64,
    touches: Option<Touches>,
    counters: Counters,
    shared: SharedMemory,
}

impl State<'_> {
    fn work_group(
        &mut self,
        memory: &mut Memory,
        pool: &mut Vec<Subgroup>,
        group: [u32; 3],
    ) -> Result<(), SimError> {
        let items: u32 = self.launch.local.iter().product();
        let count = items.div_ceil(LANES as u32);
        self.shared.begin(count as usize);
        let barrier = self.code.functions[self.prepared.entry.function as usize].barrier;
        let states = if barrier { count as usize } else { 1 };
        while pool.len() < states {
            pool.push(Subgroup::new(self.code));
        }
        if !barrier {
            for index in 0..count {
                self.start(&mut pool[0], group, index);
                self.advance(memory, &mut pool[0], group, index)?;
                self.done(&pool[0], group, index);
            }
            return Ok(());
        }
        for index in 0..count {
            self.start(&mut pool[index as usize], group, index);
        }
        loop {
            let mut stops = Vec::new();
            for index in 0..count {
                stops.push(self.advance(memory, &mut pool[index as usize], group, index)?);
            }
            let first = stops[0];
            if let Some(other) = stops.iter().position(|stop| *stop != first) {
                return Err(self.barrier_error(group, &stops, other));
            }
            if first == Stop::Done {
                break;
            }
        }
        for index in 0..count {
            self.done(&pool[index as usize], group, index);
        }
        Ok(())
    }

    fn barrier_error(&self, group: [u32; 3], stops: &[Stop], other: usize) -> SimError {
        let say = |stop: Stop| match stop {
            Stop::Done => "has ended".to_string(),
            Stop::Barrier(function, ip) => {
                let f = &self.code.functions[function as usize];
                format!("waits at instruction {ip} of function {}", f.name)
            }
        };
        let waiting = stops.iter().filter(|stop| **stop != Stop::Done).count();
        let detail = format!(
            "{waiting} of {} sub-groups wait at a barrier, the others have ended: sub-group 0 {}, but sub-group {other} {}",
            stops.len(),
            say(stops[0]),
            say(stops[other])
        );
        Cause::Rule(Rule::Barrier, detail).at(Place {
            instruction: "OpControlBarrier".into(),
            function: String::new(),
            group: Some(group),
            subgroup: Some(other as u32),
        })
    }

    fn start(&self, state: &mut Subgroup, group: [u32; 3], index: u32) {
        let items: u32 = self.launch.local.iter().product();
        let here = (items - index * LANES as u32).min(LANES as u32);
        let live = if here >= LANES as u32 { u16::MAX } else { (1 << here) - 1 };
        state.start(self.code, self.prepared.entry.function, live);
        for (row, bits, value) in &self.prepared.params {
            state.lanes.put_uniform(*row, *bits, *value);
        }
        self.built_ins(state, group, index);
    }

    fn built_ins(&self, state: &mut Subgroup, group: [u32; 3], index: u32) {
        let [lx, ly, lz] = self.launch.local.map(u64::from);
        let groups = self.launch.groups.map(u64::from);
        let group = group.map(u64::from);
        let count = (lx * ly * lz).div_ceil(LANES as u64);
        for input in &self.code.inputs {
            let mut components = [[0u64; LANES]; 3];
            for lane in 0..LANES {
                let linear = u64::from(index) * LANES as u64 + lane as u64;
                let local = [linear % lx, linear / lx % ly, linear / (lx * ly)];
                let size = [lx, ly, lz];
                let global: [u64; 3] = std::array::from_fn(|d| group[d] * size[d] + local[d]);
                let whole: [u64; 3] = std::array::from_fn(|d| groups[d] * size[d]);
                let values = match input.builtin {
                    BuiltIn::WorkgroupId => group,
                    BuiltIn::NumWorkgroups => groups,
                    BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => size,
                    BuiltIn::LocalInvocationId => local,
                    BuiltIn::GlobalInvocationId => global,
                    BuiltIn::GlobalSize => whole,
                    BuiltIn::GlobalLinearId => {
                        [(global[2] * whole[1] + global[1]) * whole[0] + global[0], 0, 0]
                    }
                    BuiltIn::LocalInvocationIndex => [linear, 0, 0],
                    BuiltIn::SubgroupId => [u64::from(index), 0, 0],
                    BuiltIn::NumSubgroups | BuiltIn::NumEnqueuedSubgroups => [count, 0, 0],
                    BuiltIn::SubgroupLocalInvocationId => [lane as u64, 0, 0],
                    BuiltIn::SubgroupSize | BuiltIn::SubgroupMaxSize => [LANES as u64, 0, 0],
                    BuiltIn::WorkDim => [3, 0, 0],
                    // GlobalOffset is always 0 here; the parser admits no other built-in.
                    _ => [0; 3],
                };
                for (component, value) in components.iter_mut().zip(values) {
                    component[lane] = value;
                }
            }
            let bytes = u32::from(input.bits / 8);
            for (i, values) in components.iter().take(usize::from(input.n)).enumerate() {
                state.inputs.write(input.offset + i as u32 * bytes, bytes, values);
            }
        }
    }

    fn advance(
        &mut self,
        memory: &mut Memory,
        state: &mut Subgroup,
        group: [u32; 3],
        subgroup: u32,
    ) -> Result<Stop, SimError> {
        let (lanes, mut frames, private, inputs, tally) = state.parts();
        let mut env = Env {
            code: self.code,
            options: self.options,
            memory,
            shared: &mut self.shared,
            private,
            inputs,
            tally,
            block_runs: &mut self.block_runs,
            steps_left: &mut self.steps_left,
            touches: &mut self.touches,
            messages: &mut self.counters.messages,
            group,
            subgroup,
        };
        resume(lanes, &mut frames, &mut env)
    }

    fn done(&mut self, state: &Subgroup, group: [u32; 3], subgroup: u32) {
        self.counters.total.add(&state.tally);
        if self.options.per_subgroup {
            let tally: Tally = state.tally.clone();
            self.counters.subgroups.push(SubgroupTally { group, subgroup, tally });
        }
    }

    fn finish(mut self, memory: &Memory) -> Counters {
        for block in self.code.functions.iter().flat_map(|f| &f.blocks) {
            let runs = self.block_runs[block.number as usize];
            for (name, count) in block.histogram.iter().filter(|_| runs > 0) {
                let name = self.code.names[usize::from(*name)].clone();
                *self.counters.instructions.entry(name).or_default() += runs * u64::from(*count);
            }
        }
        self.counters.traffic = self.touches.as_ref().map(|t| t.finish(memory));
        self.counters
    }
}
