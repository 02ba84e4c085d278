//! Owns the host device: work-groups over the calling thread and those of a pool, sub-groups of a work-group one after another, or in turns
//! if they wait for each other (`turns`).
//!
//! *Assumes*: a [`Plan`], so every argument was checked. *Guarantees*: each sub-group of the grid runs exactly
//! once, or the launch is an error; a panic in a body ends the launch, not the pool; nothing is allocated per
//! work-group. *Not here*: what a body does with memory (`tile_lang`), how a launch is checked (`launch`).
//!
//! # Stacks
//! Tiles are values on the stack, so threads get stacks by the size of a kernel's tiles, see [`stack_bytes`], and the
//! calling thread, whose stack may have any size, changes to one of those for the launch.
//! Pools are kept by stack size; sizes are powers of two, so there are few.
//!
//! # Order
//! Threads take runs of consecutive work-groups from one counter. Threads thus work on neighbouring tiles at
//! any time and find each other's operands in the shared cache, which a split of the grid into one half per
//! thread would not give; and none of them waits for a slower one. Runs are short where work-groups are few,
//! and longer where they are many and small, so that the counter costs nothing and neighbours that share a
//! cache line of the output mostly are on one thread.

use core::any::Any;
use core::cell::Cell;
use core::fmt;
use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use corosensei::on_stack;
use corosensei::stack::DefaultStack;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tile_lang::group::{Context, Turns, WorkGroup};
use tile_lang::launch::{Arg, Args, Cx, MAX_ARGS, RawGlobal};
use tile_lang::race::{Access, Found, RaceCheck, Touched, Watch};

use crate::contract::InstanceInfo;
use crate::error::{LaunchError, Race};
use crate::launch::check::{Checked, CheckedTensor, Plan, Scalar};
use crate::launch::{LaunchOptions, Ran, Report};
use crate::turns::{Broken, Stacks, run_group};

/// Stack for everything but tiles.
const BASE_STACK_BYTES: usize = 2 << 20;
/// Copies of a tile that may be alive at once: unoptimised code keeps a value, the slot it was returned
/// through, and what the ops inside return. Measured: an unoptimised GEMM with 3 MiB of tiles needs more than one
/// and less than two; the rest is for kernels with more temporaries. Stack that is never touched costs nothing.
const COPIES_OF_A_TILE: usize = 8;
/// Larger stacks are refused.
const LARGEST_STACK_BYTES: usize = 1 << 30;

/// The CPU of this process. Clones share threads.
#[derive(Clone)]
pub struct HostDevice {
    inner: Arc<Inner>,
}

struct Inner {
    threads: usize,
    /// Pools by the stack size of their threads.
    pools: Mutex<BTreeMap<usize, Arc<ThreadPool>>>,
    /// Stacks for the sub-groups of kernels that wait at barriers.
    stacks: Stacks,
}

impl HostDevice {
    /// One thread per available core; the same threads at every call.
    pub(crate) fn shared() -> HostDevice {
        static SHARED: OnceLock<HostDevice> = OnceLock::new();
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        SHARED.get_or_init(|| HostDevice::with_threads(cores())).clone()
    }

    pub(crate) fn with_threads(threads: NonZeroUsize) -> HostDevice {
        let inner = Inner { threads: threads.get(), pools: Mutex::default(), stacks: Stacks::default() };
        HostDevice { inner: Arc::new(inner) }
    }

    /// Threads that run the work-groups of a launch, the calling one among them.
    pub fn threads(&self) -> usize {
        self.inner.threads
    }

    /// Runs an accepted launch and waits for it.
    pub(crate) fn run(&self, plan: &Plan, options: &LaunchOptions<'_>) -> Result<Report, LaunchError> {
        let start = Instant::now();
        let instance = plan.instance;
        if plan.args.len() > MAX_ARGS {
            return Err(LaunchError::Description {
                kernel: instance.kernel,
                instance: instance.name,
                rule: format!("at most {MAX_ARGS} parameters; it has {}", plan.args.len()),
            });
        }
        let args = plan.args.iter().map(argument).collect::<Vec<Arg>>();
        if plan.groups > 0 {
            let threads = self.threads().min(usize::try_from(plan.groups).unwrap_or(usize::MAX));
            let work = Work {
                instance,
                grid: plan.grid,
                planes: plan.planes,
                groups: plan.groups,
                args: &args,
                options,
                run_length: run_length(plan.groups, threads),
                stacks: &self.inner.stacks,
                races: races(instance, options)?,
                next: AtomicU64::new(0),
                done: AtomicU64::new(0),
                told: AtomicU64::new(0),
                failure: Mutex::new(None),
            };
            self.share(plan, threads, &work)?;
            work.outcome()?;
        }
        Ok(plan.report("host", Ran::HostBody, start.elapsed(), Vec::new()))
    }

    /// Runs the work on `threads` threads. The calling one is among them, on a stack that fits the tiles: waking another
    /// thread for a small launch takes longer than the launch.
    fn share(&self, plan: &Plan, threads: usize, work: &Work<'_>) -> Result<(), LaunchError> {
        let (kernel, instance) = (plan.instance.kernel, plan.instance.name);
        let tile_bytes = plan.instance.host_tile_bytes;
        let Some(stack_bytes) = stack_bytes(tile_bytes) else {
            return Err(LaunchError::Stack {
                kernel,
                instance,
                tile_bytes,
                limit_bytes: LARGEST_STACK_BYTES,
            });
        };
        let mut stacks = work.take_stacks(1)?;
        let mut take_part = || {
            for stack in &mut stacks {
                on_stack(stack, || work.take_runs());
            }
        };
        if threads == 1 {
            take_part();
        } else {
            self.pool(kernel, instance, stack_bytes)?.in_place_scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(|_| work.take_runs());
                }
                take_part();
            });
        }
        self.inner.stacks.give_back(stack_bytes, stacks);
        Ok(())
    }

    /// The pool whose threads have stacks of this size: one thread fewer than the device has, for the calling one works too.
    fn pool(
        &self,
        kernel: &'static str,
        instance: &'static str,
        stack_bytes: usize,
    ) -> Result<Arc<ThreadPool>, LaunchError> {
        let mut pools = self.inner.pools.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&stack_bytes) {
            return Ok(pool.clone());
        }
        let threads = self.threads() - 1;
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(stack_bytes)
            .thread_name(|i| format!("tile-host-{i}"))
            .build()
            .map_err(|e| LaunchError::Threads { kernel, instance, threads, stack_bytes, source: e.into() })?;
        let pool = Arc::new(pool);
        pools.insert(stack_bytes, pool.clone());
        Ok(pool)
    }
}

impl fmt::Display for HostDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (threads, level) = (self.threads(), format!("{:?}", tile_lang::simd::level()).to_lowercase());
        write!(f, "host ({threads} {}, {level})", if threads == 1 { "thread" } else { "threads" })
    }
}

/// The stack of a thread that runs a kernel with `tile_bytes` bytes of tiles per sub-group: 2 MiB and eight
/// times the tiles, rounded up to a power of two; `None` above 1 GiB.
pub(crate) fn stack_bytes(tile_bytes: usize) -> Option<usize> {
    tile_bytes
        .checked_mul(COPIES_OF_A_TILE)?
        .checked_add(BASE_STACK_BYTES)?
        .checked_next_power_of_two()
        .filter(|bytes| *bytes <= LARGEST_STACK_BYTES)
}

/// The environment variable that asks for checks of every launch on the host device.
const CHECK_VARIABLE: &str = "TILE_CHECK";

/// Whether races are looked for: the options or the environment ask for it.
fn races(
    instance: &'static InstanceInfo,
    options: &LaunchOptions<'_>,
) -> Result<Option<Arc<RaceCheck>>, LaunchError> {
    let asked = match std::env::var_os(CHECK_VARIABLE) {
        None => false,
        Some(value) if value.is_empty() => false,
        Some(value) if value == "race" => true,
        Some(value) => {
            let (kernel, instance) = (instance.kernel, instance.name);
            return Err(LaunchError::Check { kernel, instance, value: value.to_string_lossy().into_owned() });
        }
    };
    Ok((asked || options.races).then(Arc::default))
}

/// Consecutive work-groups a thread takes at once.
fn run_length(groups: u64, threads: usize) -> u64 {
    const RUNS_PER_THREAD: u64 = 32;
    const LONGEST: u64 = 16;
    (groups / (threads as u64).saturating_mul(RUNS_PER_THREAD)).clamp(1, LONGEST)
}

/// The argument as bodies read it.
fn argument(checked: &Checked) -> Arg {
    match checked {
        Checked::Scalar(Scalar::U32(value)) => Arg::U32(*value),
        Checked::Scalar(Scalar::I32(value)) => Arg::I32(*value),
        Checked::Scalar(Scalar::U64(value)) => Arg::U64(*value),
        Checked::Scalar(Scalar::F32(value)) => Arg::F32(*value),
        Checked::Scalar(Scalar::Bool(value)) => Arg::Bool(*value),
        Checked::Tensor(CheckedTensor { placed, shape, pitch, writable }) => {
            let strides = (placed.layout.batch_stride() as u64, placed.layout.depth_stride() as u64);
            // SAFETY: the views of `tensor/view.rs` checked that all elements lie in memory they borrow for
            // as long as the arguments of the launch live, shared for inputs and exclusively for outputs, and
            // that elements of outputs do not overlap; `launch::check::sized` checked that the sizes are the
            // layout's, `check_aliasing` that no output shares memory with another argument. `HostDevice::run`
            // drops the value before it returns. Element types are `Send + Sync`.
            Arg::Global(unsafe {
                RawGlobal::new(placed.dtype, placed.first, *shape, *pitch, strides, *writable)
            })
        }
    }
}

/// One launch, shared by the threads that work on it.
struct Work<'a> {
    instance: &'static InstanceInfo,
    grid: (u32, u32),
    planes: (u32, u32),
    groups: u64,
    args: &'a [Arg],
    options: &'a LaunchOptions<'a>,
    run_length: u64,
    /// Stacks for sub-groups that wait.
    stacks: &'a Stacks,
    /// Finds races, if that was asked for.
    races: Option<Arc<RaceCheck>>,
    /// First work-group that nobody took.
    next: AtomicU64,
    /// Work-groups finished.
    done: AtomicU64,
    /// Hundredths of the work that progress was told of.
    told: AtomicU64,
    /// The first failure.
    failure: Mutex<Option<LaunchError>>,
}

impl Work<'_> {
    /// Takes runs of work-groups until none is left or one panicked.
    fn take_runs(&self) {
        let (groups, shared) = (self.groups, WorkGroup::default());
        let mut stacks = Vec::new();
        if self.instance.group.waits {
            match self.take_stacks(self.instance.subgroups.0 as usize * self.instance.subgroups.1 as usize) {
                Ok(taken) => stacks = taken,
                Err(error) => return self.fail(error),
            }
        }
        self.take_runs_with(groups, &shared, &mut stacks);
        self.stacks.give_back(self.stack_bytes(), stacks);
    }

    /// The stack of one sub-group of a kernel that waits.
    fn stack_bytes(&self) -> usize {
        // `HostDevice::share` refused tiles that fit no stack.
        stack_bytes(self.instance.host_tile_bytes).unwrap_or(LARGEST_STACK_BYTES)
    }

    fn take_stacks(&self, stacks: usize) -> Result<Vec<DefaultStack>, LaunchError> {
        let InstanceInfo { kernel, name: instance, .. } = *self.instance;
        let stack_bytes = self.stack_bytes();
        self.stacks.take(stacks, stack_bytes).map_err(|source| LaunchError::Stacks {
            kernel,
            instance,
            stacks,
            stack_bytes,
            source,
        })
    }

    /// Ends the launch with an error; the first one counts.
    fn fail(&self, error: LaunchError) {
        self.next.store(self.groups, Ordering::Relaxed);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
    }

    fn take_runs_with(&self, groups: u64, shared: &WorkGroup, stacks: &mut Vec<DefaultStack>) {
        loop {
            // Cannot wrap: an output has at least as many elements as there are work-groups, so there are
            // fewer than 2^63, and each thread adds one more run at most.
            let first = self.next.fetch_add(self.run_length, Ordering::Relaxed);
            if first >= groups {
                return;
            }
            let last = groups.min(first + self.run_length);
            let at = Cell::new(first);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                for group in first..last {
                    at.set(group);
                    self.run_group(group, shared, stacks)?;
                }
                self.tell(last - first);
                Ok(())
            }));
            match outcome.unwrap_or_else(|payload| Err(Broken::Panic(payload))) {
                Ok(()) => {}
                Err(broken) => return self.fail(self.error(at.get(), broken)),
            }
        }
    }

    fn error(&self, group: u64, broken: Broken) -> LaunchError {
        let InstanceInfo { kernel, name: instance, subgroups, .. } = *self.instance;
        match broken {
            Broken::Panic(payload) if payload.is::<Found>() => {
                let found = *payload.downcast::<Found>().expect("the guard looked");
                self.found(found)
            }
            Broken::Panic(payload) => {
                LaunchError::Panicked { kernel, instance, group, message: message(payload.as_ref()) }
            }
            Broken::Apart { first, at, waiting, ended } => {
                let subgroups = subgroups.0 * subgroups.1;
                LaunchError::Barrier { kernel, instance, group, subgroups, first, at, waiting, ended }
            }
        }
    }

    /// What a race check found, in the words of the launch.
    fn found(&self, found: Found) -> LaunchError {
        let InstanceInfo { kernel, name: instance, params, .. } = *self.instance;
        let name = |memory| match memory {
            Touched::Argument(index) => params.get(index).map_or("", |param| param.name),
            Touched::Shared(name) => name,
        };
        match found {
            Found::Race { memory, element, now: (by, now), before: (other, before) } => {
                let now = match now {
                    Access::Read => "reads",
                    Access::Write => "writes",
                    Access::Add => "adds to",
                };
                let before = match before {
                    Access::Read => "read",
                    Access::Write => "wrote",
                    Access::Add => "added to",
                };
                let race = Race { memory: name(memory), element, by, now, other, before };
                LaunchError::Race { kernel, instance, race: Box::new(race) }
            }
            Found::Unwritten { memory, element, worker } => {
                LaunchError::Unwritten { kernel, instance, memory: name(memory), element, by: worker }
            }
        }
    }

    /// Runs every sub-group of a work-group.
    fn run_group(
        &self,
        group: u64,
        shared: &WorkGroup,
        stacks: &mut Vec<DefaultStack>,
    ) -> Result<(), Broken> {
        let Work { instance, grid, planes, .. } = *self;
        let subgroups = instance.subgroups;
        let run = |subgroup: u32, turns: Option<&dyn Turns>| {
            let cx = Cx { group, grid, planes, subgroup, subgroups };
            // SAFETY: `take_runs` hands out each work-group once, and both ways below visit each sub-group once; grid,
            // planes and sub-groups are the plan's everywhere.
            let args = unsafe { Args::new(&cx, self.args) };
            let watch = self.races.as_ref().map(|check| Watch::new(check.clone(), cx));
            let context = Context::new(cx, shared, turns).watched(watch.clone());
            (instance.run)(&context, &args.watched(watch));
        };
        if instance.group.shared_bytes > 0 {
            shared.begin();
        }
        if instance.group.waits {
            return run_group(stacks, &|subgroup, turns| run(subgroup, Some(turns)));
        }
        (0..subgroups.0 * subgroups.1).for_each(|subgroup| run(subgroup, None));
        Ok(())
    }

    /// Tells progress of finished work-groups, at most a hundred times per launch.
    fn tell(&self, finished: u64) {
        let Some(progress) = self.options.progress else { return };
        let groups = self.groups;
        let done = self.done.fetch_add(finished, Ordering::Relaxed) + finished;
        let hundredths = (u128::from(done) * 100 / u128::from(groups)) as u64;
        if hundredths > self.told.fetch_max(hundredths, Ordering::Relaxed) {
            progress(done, groups);
        }
    }

    fn outcome(self) -> Result<(), LaunchError> {
        let failure = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(()), Err)
    }
}

/// The text of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_string()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "(no message)".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_grow_with_the_tiles_up_to_a_limit() {
        assert_eq!(stack_bytes(0), Some(2 << 20));
        assert_eq!(stack_bytes(1), Some(4 << 20));
        assert_eq!(stack_bytes(256 << 10), Some(4 << 20));
        assert_eq!(stack_bytes(100 << 20), Some(1 << 30));
        assert_eq!(stack_bytes(128 << 20), None);
        assert_eq!(stack_bytes(usize::MAX), None);
    }

    #[test]
    fn runs_are_short_for_few_groups_and_bounded_for_many() {
        assert_eq!(run_length(1, 1), 1);
        assert_eq!(run_length(64, 2), 1);
        assert_eq!(run_length(256, 2), 4);
        assert_eq!(run_length(u64::MAX, 2), 16);
    }
}
