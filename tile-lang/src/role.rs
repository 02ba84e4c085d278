//! Owns the roles a tile's registers play, as types, and the rules which op makes or takes which role.
//!
//! A rule is a sealed trait whose only purpose is its error text: rustc prints the rule and the fix where a
//! kernel breaks it. *Not here*: the ops (`ops`), and how a target packs a role into registers.

use core::fmt;
use core::marker::PhantomData;

use crate::element::{AnyElement, Element, MmaInput, MmaOperand, TileElement, tf32};

mod sealed {
    pub trait Sealed {}
}

/// The default role: left operand of a matrix multiply, and the form for element-wise work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {}

/// The role of an accumulator, of f32 or i32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acc {}

/// The role of a packed right operand. `P` says which tensor it came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Vnni<P = Direct>(PhantomData<P>);

/// Provenance of a right operand that `load_transform` made from a [K, N] tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direct {}

/// Provenance of a right operand that `load_transpose` made from an [N, K] tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transposed {}

/// The role of a right operand that `load_transpose` made; its shape is still K x N, and `mma_ABt` takes it.
pub type VnniT = Vnni<Transposed>;

impl<P> fmt::Debug for Vnni<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vnni")
    }
}

impl sealed::Sealed for Row {}
impl sealed::Sealed for Acc {}
impl sealed::Sealed for Vnni<Direct> {}
impl sealed::Sealed for Vnni<Transposed> {}

/// A role: `Row`, `Vnni`, `VnniT` or `Acc`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the role of a tile",
    label = "not a role",
    note = "the roles are `Row` (the default), `Vnni`, `VnniT` and `Acc`"
)]
pub trait Role: sealed::Sealed + 'static {
    /// The name in kernel source.
    const NAME: &'static str;
}

impl Role for Row {
    const NAME: &'static str = "Row";
}
impl Role for Acc {
    const NAME: &'static str = "Acc";
}
impl Role for Vnni<Direct> {
    const NAME: &'static str = "Vnni";
}
impl Role for Vnni<Transposed> {
    const NAME: &'static str = "VnniT";
}

/// Roles that `zeros` makes of element type `T`.
#[diagnostic::on_unimplemented(
    message = "`zeros` makes `Row` tiles, and `Acc` tiles of f32 and i32, but here a `{Self}` tile of `{T}` is asked for",
    label = "`zeros` does not make this tile",
    note = "an accumulator is f32 or i32: `let mut acc: rt<f32, M, N, Acc> = zeros();`"
)]
pub trait Zeroed<T>: Role {}
impl<T: AnyElement> Zeroed<T> for Row {}
impl Zeroed<f32> for Acc {}
impl Zeroed<i32> for Acc {}

/// Roles that `load` makes of element type `T`.
#[diagnostic::on_unimplemented(
    message = "`load` makes `Row` tiles, and `Acc` tiles of f32 and i32, but here a `{Self}` tile of `{T}` is asked for",
    label = "`load` does not make this tile",
    note = "a `Vnni` tile comes from `load_transform`, a `VnniT` tile from `load_transpose`"
)]
pub trait Loaded<T>: Role {}
impl<T: TileElement> Loaded<T> for Row {}
impl Loaded<f32> for Acc {}
impl Loaded<i32> for Acc {}

/// The role that `load_transform` makes.
#[diagnostic::on_unimplemented(
    message = "`load_transform` makes `Vnni` tiles, but here a `{Self}` tile is asked for",
    label = "`load_transform` does not make this tile",
    note = "write `rt<T, K, N, Vnni>`; a `Row` or `Acc` tile comes from `load`, a `VnniT` tile from `load_transpose`"
)]
pub trait Transformed: Role {}
impl Transformed for Vnni {}

/// Roles that `load_transpose` makes of element type `T`.
#[diagnostic::on_unimplemented(
    message = "`load_transpose` makes `Row` tiles of floats and i32, and `VnniT` tiles of bf16, f16, i8, u8 and tf32, but here a `{Self}` tile of `{T}` is asked for",
    label = "`load_transpose` does not make this tile",
    note = "write `rt<T, K, N, VnniT>` for a right operand; an `Acc` tile comes from `load`, a `Vnni` tile from `load_transform`"
)]
pub trait TransposedLoad<T>: Role {}
impl<T: AnyElement> TransposedLoad<T> for Row {}
impl<T: MmaOperand> TransposedLoad<T> for VnniT {}

/// The role of a left operand.
#[diagnostic::on_unimplemented(
    message = "the left operand of a matrix multiply is a `Row` tile, but this one is a `{Self}` tile",
    label = "A must be a `Row` tile",
    note = "load A with `load`; an accumulator becomes a `Row` tile with `.to::<bf16>()`"
)]
pub trait LeftOperand: Role {}
impl LeftOperand for Row {}

/// The role of the right operand of `mma_AB`.
#[diagnostic::on_unimplemented(
    message = "the right operand of `mma_AB` is a `Vnni` tile, but this one is a `{Self}` tile",
    label = "B must be a `Vnni` tile",
    note = "the matrix unit reads B packed: load it with `load_transform`, from a [K, N] tensor",
    note = "a tile that `load_transpose` made from an [N, K] tensor is multiplied with `mma_ABt`"
)]
pub trait RightOperand: Role {}
impl RightOperand for Vnni {}

/// The role of the right operand of `mma_ABt`.
#[diagnostic::on_unimplemented(
    message = "the right operand of `mma_ABt` is a `VnniT` tile, but this one is a `{Self}` tile",
    label = "B must be a `VnniT` tile",
    note = "the matrix unit reads B packed: load it with `load_transpose`, from an [N, K] tensor",
    note = "a tile that `load_transform` made from a [K, N] tensor is multiplied with `mma_AB`"
)]
pub trait RightOperandT: Role {}
impl RightOperandT for VnniT {}

/// The role of an accumulator.
#[diagnostic::on_unimplemented(
    message = "a matrix multiply accumulates into an `Acc` tile, but this one is a `{Self}` tile",
    label = "the accumulator must be an `Acc` tile",
    note = "make it with `let mut acc: rt<f32, M, N, Acc> = zeros();`"
)]
pub trait Accumulator: Role {}
impl Accumulator for Acc {}

/// Element types of tensors that `atomic_add` and `atomic_add_vec` add to.
#[diagnostic::on_unimplemented(
    message = "an atomic add goes to an output of f32 or i32, but this output is a tensor of `{Self}`",
    label = "not an output of f32 or i32",
    note = "make the output `&mut gl<f32>` and convert what is added with `.to::<f32>()`"
)]
pub trait AtomicElement: AnyElement {
    #[doc(hidden)]
    const ADD: crate::global::AtomicAdd<Self>;
}
impl AtomicElement for f32 {
    const ADD: crate::global::AtomicAdd<f32> = crate::global::ADD_F32;
}
impl AtomicElement for i32 {
    const ADD: crate::global::AtomicAdd<i32> = crate::global::ADD_I32;
}

/// Element types in which a matrix multiply of left operands of `A` accumulates.
#[diagnostic::on_unimplemented(
    message = "a matrix multiply accumulates in f32, or in i32 for i8 and u8, but this accumulator is a tile of `{Self}`",
    label = "the accumulator must be f32 or i32",
    note = "accumulate into `rt<f32, M, N, Acc>` (`rt<i32, M, N, Acc>`) and convert afterwards with `.to::<T>()`"
)]
pub trait AccumulatorElement<A>: AnyElement {}
impl<A: MmaInput> AccumulatorElement<A> for f32 {}
impl AccumulatorElement<tf32> for f32 {}
impl AccumulatorElement<i8> for i32 {}
impl AccumulatorElement<u8> for i32 {}

/// Roles that `.to::<T>()` converts from and `.scale(f)` scales.
#[diagnostic::on_unimplemented(
    message = "`.to::<T>()` and `.scale(f)` work on `Row` and `Acc` tiles, but this one is a `{Self}` tile",
    label = "not a tile for element-wise work",
    note = "a packed operand cannot be changed: load the tensor with `load`, or in the type you need"
)]
pub trait Convertible: Role {}
impl Convertible for Row {}
impl Convertible for Acc {}

/// Element types whose tiles `.scale(f)` takes.
#[diagnostic::on_unimplemented(
    message = "`.scale(f)` works on f32 tiles, but this one is a tile of `{Self}`",
    label = "not an f32 tile",
    note = "scale the accumulator before converting it: `acc.scale(alpha).to::<T>()`"
)]
pub trait Scalable: Element {}
impl Scalable for f32 {}

/// Roles that `load_shared` makes of element type `T`.
#[diagnostic::on_unimplemented(
    message = "`load_shared` makes `Row` tiles, and `Acc` tiles of f32 and i32, but here a `{Self}` tile of `{T}` is asked for",
    label = "`load_shared` does not make this tile",
    note = "a `Vnni` tile comes from `load_transform_shared`, a `VnniT` tile from `load_transpose_shared`"
)]
pub trait SharedLoaded<T>: Role {}
impl<T: AnyElement> SharedLoaded<T> for Row {}
impl SharedLoaded<f32> for Acc {}
impl SharedLoaded<i32> for Acc {}

/// Roles that `load_transpose_shared` makes of element type `T`.
#[diagnostic::on_unimplemented(
    message = "`load_transpose_shared` makes `Row` tiles, and `VnniT` tiles of 16-bit types, but here a `{Self}` tile of `{T}` is asked for",
    label = "`load_transpose_shared` does not make this tile",
    note = "write `rt<T, M, N>` or `rt<T, K, N, VnniT>`"
)]
pub trait SharedTransposed<T>: Role {}
impl<T: AnyElement> SharedTransposed<T> for Row {}
impl<T: MmaInput> SharedTransposed<T> for VnniT {}

/// Roles that `store_shared` writes as element type `T`.
#[diagnostic::on_unimplemented(
    message = "`store_shared` writes `Row` tiles, and `Acc` tiles of f32 and i32, but this one is a `{Self}` tile of `{T}`",
    label = "this tile cannot be stored",
    note = "store the tile before it is packed, and load it with `load_transform_shared`"
)]
pub trait SharedStored<T>: Role {}
impl<T: AnyElement> SharedStored<T> for Row {}
impl SharedStored<f32> for Acc {}
impl SharedStored<i32> for Acc {}

/// Roles that `store` writes as element type `T`.
#[diagnostic::on_unimplemented(
    message = "`store` writes `Row` tiles, and `Acc` tiles of f32 and i32, but this one is a `{Self}` tile of `{T}`",
    label = "this tile cannot be stored",
    note = "a packed operand has no row-major form; convert an accumulator with `.to::<T>()`"
)]
pub trait Storable<T>: Role {}
impl<T: AnyElement> Storable<T> for Row {}
impl Storable<f32> for Acc {}
impl Storable<i32> for Acc {}
