//! Owns the shared tile `st` and the shared vector `sv`: handles to memory that the sub-groups of a work-group have in common.
//!
//! On the host an element is an f32 whatever its type, as in registers. *Guarantees*: elements of a bf16 or f16 tile are
//! values of that type. *Not here*: ops (`ops::shared`), whose memory it is (`group`).

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use std::rc::Rc;

use crate::element::AnyElement;
use crate::group::Memory;
use crate::launch::Cx;
use crate::race::{Access, Watch};

pub(crate) mod sealed {
    use super::{Cx, Memory, Rc, Watched};

    /// Makes a handle.
    pub trait Sealed {
        /// Elements.
        const LEN: usize;
        /// A handle of the sub-group at `place`.
        fn of(memory: Rc<Memory>, place: Cx, watch: Option<Watched>) -> Self;
    }
}

/// A shared tile: `M` rows and `N` columns of `T` in the memory of a work-group (SLM on Intel GPUs).
///
/// Every sub-group of a work-group has the same elements in it. They are undefined until stored, and nothing orders what two
/// sub-groups do to one element but [`barrier`](crate::prelude::barrier).
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: st<f32, 16, 32> = shared();
/// let tile: rt<f32, 8, 16> = fill(2.0);
/// store_shared(&mut s, &tile, [1, 0]);
/// barrier();
/// let back: rt<f32, 8, 16> = load_shared(&s, [1, 0]);
/// assert_eq!(back.get(7, 15), 2.0);
/// ```
#[allow(non_camel_case_types, reason = "the field's name for a shared tile")]
pub struct st<T, const M: usize, const N: usize> {
    pub(crate) memory: Rc<Memory>,
    pub(crate) place: Cx,
    watch: Option<Watched>,
    ty: PhantomData<fn() -> T>,
}

/// A shared vector: `N` elements of `T` in the memory of a work-group.
///
/// ```
/// use tile_lang::prelude::*;
///
/// let mut s: sv<f32, 64> = shared();
/// let v: rv<f32, 16, PerCol> = fill(3.0);
/// store_vec_shared(&mut s, &v, 3);
/// let back: rv<f32, 8, PerRow> = load_vec_shared(&s, 7);
/// assert_eq!(back.get(7), 3.0);
/// ```
#[allow(non_camel_case_types, reason = "the field's name for a shared vector")]
pub struct sv<T, const N: usize> {
    pub(crate) memory: Rc<Memory>,
    watch: Option<Watched>,
    ty: PhantomData<fn() -> T>,
}

impl<T, const M: usize, const N: usize> sealed::Sealed for st<T, M, N> {
    const LEN: usize = M * N;

    fn of(memory: Rc<Memory>, place: Cx, watch: Option<Watched>) -> Self {
        st { memory, place, watch, ty: PhantomData }
    }
}

impl<T, const N: usize> sealed::Sealed for sv<T, N> {
    const LEN: usize = N;

    fn of(memory: Rc<Memory>, _place: Cx, watch: Option<Watched>) -> Self {
        sv { memory, watch, ty: PhantomData }
    }
}

/// Who looks for races, and the name of the variable.
pub type Watched = (Rc<Watch>, &'static str);

/// What `shared` makes: a shared tile or a shared vector.
#[diagnostic::on_unimplemented(
    message = "`shared` makes shared tiles and vectors, but here `{Self}` is asked for",
    label = "neither a shared tile nor a shared vector",
    note = "write its type: `let mut s: st<T, ROWS, COLS> = shared();` or `let mut v: sv<T, LEN> = shared();`"
)]
pub trait Shared: sealed::Sealed {}
impl<T: AnyElement, const M: usize, const N: usize> Shared for st<T, M, N> {}
impl<T: AnyElement, const N: usize> Shared for sv<T, N> {}

impl<T, const M: usize, const N: usize> st<T, M, N> {
    /// Tells whoever looks for races of an access to a part.
    #[inline]
    pub(crate) fn touch(&self, access: Access, at: (usize, usize), (rows, cols): (usize, usize)) {
        if let Some((watch, name)) = &self.watch {
            self.memory.touch((watch, name), access, at, (rows, cols, N));
        }
    }

    /// The cells of columns `col..col + cols` of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize, col: usize, cols: usize) -> &[Cell<f32>] {
        &self.memory.cells[row * N + col..row * N + col + cols]
    }
}

impl<T: AnyElement, const M: usize, const N: usize> st<T, M, N> {
    /// Reads one element, for tests and debugging on the host.
    ///
    /// # Panics
    /// When `row >= M` or `col >= N`.
    pub fn get(&self, row: usize, col: usize) -> T::Scalar {
        assert!(
            row < M && col < N,
            "an element of a shared tile of {M} x {N} was asked for at ({row}, {col})"
        );
        T::scalar_of(self.memory.cells[row * N + col].get())
    }
}

impl<T, const N: usize> sv<T, N> {
    /// The cells of `len` elements, which are about to be read or written.
    pub(crate) fn part(&self, access: Access, first: usize, len: usize) -> &[Cell<f32>] {
        if let Some((watch, name)) = &self.watch {
            self.memory.touch((watch, name), access, (0, first), (1, len, N));
        }
        &self.memory.cells[first..first + len]
    }
}

impl<T: AnyElement, const N: usize> sv<T, N> {
    /// Reads one element, for tests and debugging on the host.
    ///
    /// # Panics
    /// When `index >= N`.
    pub fn get(&self, index: usize) -> T::Scalar {
        T::scalar_of(self.memory.cells[index].get())
    }
}

impl<T: AnyElement, const M: usize, const N: usize> fmt::Debug for st<T, M, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "st<{}, {M}, {N}>", T::NAME)?;
        f.debug_list().entries(self.memory.cells.chunks(N.max(1))).finish()
    }
}

impl<T: AnyElement, const N: usize> fmt::Debug for sv<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sv<{}, {N}> ", T::NAME)?;
        f.debug_list().entries(self.memory.cells.iter()).finish()
    }
}
