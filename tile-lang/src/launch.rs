//! Owns what a launch hands to a kernel body: the sub-group's place and the arguments.
//!
//! *Assumes*: the host device builds [`RawGlobal`] and [`Args`] by their safety contracts. *Guarantees*: code
//! that only has an `&Args` cannot reach memory outside the launch's tensors, nor race with another sub-group.
//! *Not here*: choosing devices, checking shapes against a kernel, threads (`tile-runtime`).

#![allow(unsafe_code, reason = "half of the view module: it vouches for the pointers that globals carry")]

use core::cell::Cell;
use std::rc::Rc;

use tile_ir::types::{DType, ScalarType};

use crate::element::AnyElement;
use crate::global::{View, ViewMut};
use crate::group::Context;
use crate::race::Watch;

/// The place of one sub-group in a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cx {
    /// Linear work-group id over all planes.
    pub group: u64,
    /// Work-groups per plane: rows, columns.
    pub grid: (u32, u32),
    /// Planes: batch, depth.
    pub planes: (u32, u32),
    /// Sub-group id in its work-group, row after row.
    pub subgroup: u32,
    /// Sub-groups per work-group: rows, columns.
    pub subgroups: (u32, u32),
}

impl Cx {
    /// The only sub-group of the only work-group: the place of a kernel that is called as a plain function.
    pub const SOLO: Cx = Cx { group: 0, grid: (1, 1), planes: (1, 1), subgroup: 0, subgroups: (1, 1) };
}

/// A tensor as a launch passes it: base pointer, element type, shape and strides.
#[derive(Clone, Copy, Debug)]
pub struct RawGlobal {
    dtype: DType,
    base: *mut u8,
    shape: [u32; 4],
    pitch: u32,
    batch_stride: u64,
    depth_stride: u64,
    writable: bool,
}

// SAFETY: the value is an address with its description; `RawGlobal::new` makes its caller promise that the
// memory may be used from every thread of the launch.
unsafe impl Send for RawGlobal {}
// SAFETY: as for `Send`; no method changes the value.
unsafe impl Sync for RawGlobal {}

impl RawGlobal {
    /// Describes a tensor whose element (b, d, r, c) is at element offset
    /// `b * batch_stride + d * depth_stride + r * pitch + c` from `base`, for indices below `shape`
    /// (batch, depth, rows, cols).
    ///
    /// # Safety
    /// As long as the value or a copy of it is in use:
    /// - `base` is aligned for `dtype`, every element with indices below `shape` is initialised and lies in one
    ///   live allocation, and its offset in bytes fits `isize`;
    /// - if `writable`: no two index tuples name the same memory, nothing else reads or writes the elements
    ///   except through globals of this launch, and no other argument of the launch overlaps them;
    /// - if not `writable`: nothing writes the elements;
    /// - all this holds from every thread.
    pub unsafe fn new(
        dtype: DType,
        base: *mut u8,
        shape: [u32; 4],
        pitch: u32,
        (batch_stride, depth_stride): (u64, u64),
        writable: bool,
    ) -> RawGlobal {
        RawGlobal { dtype, base, shape, pitch, batch_stride, depth_stride, writable }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape: batch, depth, rows, cols.
    pub fn shape(&self) -> [u32; 4] {
        self.shape
    }

    /// The address of element (0, 0, 0, 0).
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Elements from a row to the next.
    pub(crate) fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Elements from a batch to the next, and from a depth to the next.
    pub(crate) fn strides(&self) -> (u64, u64) {
        (self.batch_stride, self.depth_stride)
    }
}

/// One argument of a launch.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    /// A tensor.
    Global(RawGlobal),
    /// A `u32`.
    U32(u32),
    /// An `i32`.
    I32(i32),
    /// A `u64`.
    U64(u64),
    /// An `f32`.
    F32(f32),
    /// A `bool`.
    Bool(bool),
}

impl Arg {
    /// What the argument is, for messages.
    fn kind(&self) -> &'static str {
        match self {
            Arg::Global(_) => "a tensor",
            Arg::U32(_) => ScalarType::U32.name(),
            Arg::I32(_) => ScalarType::I32.name(),
            Arg::U64(_) => ScalarType::U64.name(),
            Arg::F32(_) => ScalarType::F32.name(),
            Arg::Bool(_) => ScalarType::Bool.name(),
        }
    }
}

/// The entry of a kernel instance on the host: one call runs one sub-group.
pub type HostFn = fn(&Context<'_>, &Args<'_>);

/// The arguments of a launch as one sub-group sees them.
///
/// Generated code reads every parameter once, by its position. A wrong position or type is an error of the
/// code generator, so these methods panic; the launch contract checks what a user passes.
#[derive(Debug)]
pub struct Args<'a> {
    cx: Cx,
    args: &'a [Arg],
    /// Bit i is set once argument i was handed out for writing.
    taken: Cell<u128>,
    watch: Option<Rc<Watch>>,
}

/// The most parameters a kernel that runs on the host may have.
pub const MAX_ARGS: usize = u128::BITS as usize;

macro_rules! scalar_getters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $variant:ident;)+) => {
        $(
            $(#[$doc])*
            ///
            /// # Panics
            /// When argument `index` is not of that type.
            pub fn $name(&self, index: usize) -> $ty {
                match self.args.get(index) {
                    Some(Arg::$variant(value)) => *value,
                    other => wrong(index, stringify!($ty), other),
                }
            }
        )+
    };
}

impl<'a> Args<'a> {
    /// Binds the arguments of a launch to the sub-group at `cx`.
    ///
    /// # Safety
    /// In one launch each place `cx` is bound at most once, with the `grid`, `planes` and `subgroups` of that
    /// launch and ids below their products: the coordinate that `own_tile` gives is unique only then.
    pub unsafe fn new(cx: &Cx, args: &'a [Arg]) -> Args<'a> {
        Args { cx: *cx, args, taken: Cell::new(0), watch: None }
    }

    /// The same, with somebody who looks for races.
    pub fn watched(self, watch: Option<Rc<Watch>>) -> Args<'a> {
        Args { watch, ..self }
    }

    /// Reads input tensor argument `index`.
    ///
    /// # Panics
    /// When argument `index` is not a tensor of `T`, or is an output: other sub-groups write outputs.
    pub fn global<T: AnyElement>(&self, index: usize) -> View<'a, T> {
        let raw = self.raw::<T>(index);
        assert!(!raw.writable, "argument {index} is an output and was asked for as an input");
        // SAFETY: `RawGlobal::new` promised the memory for the launch, `'a` ends with it, and `raw` checked
        // the element type; nothing writes a tensor that is not writable.
        unsafe { View::from_raw(raw, self.cx) }
    }

    /// Takes output tensor argument `index`, once.
    ///
    /// # Panics
    /// When argument `index` is not a writable tensor of `T`, or was taken before, or `index >= MAX_ARGS`.
    pub fn global_mut<T: AnyElement>(&self, index: usize) -> ViewMut<'a, T> {
        let raw = self.raw::<T>(index);
        assert!(raw.writable, "argument {index} is an input and was asked for as an output");
        assert!(index < MAX_ARGS, "argument {index} is beyond the {MAX_ARGS} a kernel may have");
        let bit = 1u128 << index;
        assert!(self.taken.get() & bit == 0, "output argument {index} was taken twice");
        self.taken.set(self.taken.get() | bit);
        // SAFETY: as in `global`; being taken once, the view keeps one record of what its sub-group owns.
        let view = unsafe { ViewMut::from_raw(raw, self.cx) };
        view.watched(self.watch.clone(), index)
    }

    fn raw<T: AnyElement>(&self, index: usize) -> &'a RawGlobal {
        match self.args.get(index) {
            Some(Arg::Global(raw)) if raw.dtype == T::DTYPE => raw,
            other => wrong(index, T::NAME, other),
        }
    }

    scalar_getters! {
        /// Reads `u32` argument `index`.
        u32: u32 = U32;
        /// Reads `i32` argument `index`.
        i32: i32 = I32;
        /// Reads `u64` argument `index`.
        u64: u64 = U64;
        /// Reads `f32` argument `index`.
        f32: f32 = F32;
        /// Reads `bool` argument `index`.
        bool: bool = Bool;
    }
}

#[cold]
fn wrong(index: usize, asked: &str, found: Option<&Arg>) -> ! {
    panic!("argument {index} was asked for as {asked}, but is {}", found.map_or("missing", Arg::kind))
}
