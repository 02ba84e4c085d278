//! Owns what a launcher takes for a tensor parameter.
//!
//! *Guarantees*: what is something else is refused in the words of the launch. *Not here*: checks of values (`check`).

use tile_lang::prelude::AnyElement;

use crate::tensor::{Tensor, View, ViewMut};

mod sealed {
    /// Closes the traits: what they are implemented for is what the messages list.
    pub trait Sealed {}
    impl<T: super::AnyElement> Sealed for &super::Tensor<T> {}
    impl<T: super::AnyElement> Sealed for &mut super::Tensor<T> {}
    impl<T: super::AnyElement> Sealed for super::View<'_, T> {}
    impl<T: super::AnyElement> Sealed for super::ViewMut<'_, T> {}
}

/// What a launch takes for a parameter `&gl<T>`.
#[diagnostic::on_unimplemented(
    message = "this launch reads a tensor of `{T}` here, but it is given `{Self}`",
    label = "not a tensor of `{T}` to read",
    note = "a launch reads `&tensor` or a `View`, with the element type of its instance"
)]
pub trait LaunchInput<'a, T: AnyElement>: sealed::Sealed {
    /// The tensor as a view.
    fn into_view(self) -> View<'a, T>;
}

impl<'a, T: AnyElement> LaunchInput<'a, T> for &'a Tensor<T> {
    fn into_view(self) -> View<'a, T> {
        self.view()
    }
}

impl<'a, T: AnyElement> LaunchInput<'a, T> for View<'a, T> {
    fn into_view(self) -> View<'a, T> {
        self
    }
}

impl<'a, T: AnyElement> LaunchInput<'a, T> for ViewMut<'a, T> {
    fn into_view(self) -> View<'a, T> {
        self.into()
    }
}

/// What a launch takes for a parameter `&mut gl<T>`.
#[diagnostic::on_unimplemented(
    message = "this launch writes a tensor of `{T}` here, but it is given `{Self}`",
    label = "not a tensor of `{T}` to write",
    note = "a launch writes `&mut tensor` or a `ViewMut`, with the element type of its instance"
)]
pub trait LaunchOutput<'a, T: AnyElement>: sealed::Sealed {
    /// The tensor as a view.
    fn into_view_mut(self) -> ViewMut<'a, T>;
}

impl<'a, T: AnyElement> LaunchOutput<'a, T> for &'a mut Tensor<T> {
    fn into_view_mut(self) -> ViewMut<'a, T> {
        self.view_mut()
    }
}

impl<'a, T: AnyElement> LaunchOutput<'a, T> for ViewMut<'a, T> {
    fn into_view_mut(self) -> ViewMut<'a, T> {
        self
    }
}
