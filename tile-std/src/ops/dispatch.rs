//! Owns what the operations on rows share: options, errors, and the choice of an instance by device and width.
//!
//! *Assumes*: a kernel's generics are what the caller asks for (element types, switches), and then what a policy chooses
//! (sizes). *Guarantees*: the first fitting row of a policy is taken, and the choice says which and why; an instance named by
//! hand must do what is asked. *Not here*: the policies, which stand beside their kernels ([`crate::kernels`]).

use std::fmt;

use thiserror::Error;

use crate::prelude::*;
use crate::{Generic, InstanceInfo, KernelInfo};

/// Choices of one operation. The default leaves the instance to the operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowOptions<'a> {
    /// The instance to run, one of the kernel's `INSTANCES`; `None` chooses one by device and shape.
    pub instance: Option<&'static InstanceInfo>,
    /// Options of the launch.
    pub launch: LaunchOptions<'a>,
}

/// Two tensors that do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{op}: {rule}; {first} is {first_shape:?} and {second} is {second_shape:?} (batch, depth, rows, cols)"
)]
#[non_exhaustive]
pub struct Misfit {
    /// The operation.
    pub op: &'static str,
    /// What must hold.
    pub rule: &'static str,
    /// Name of one tensor.
    pub first: &'static str,
    /// Its shape.
    pub first_shape: Shape,
    /// Name of the other.
    pub second: &'static str,
    /// Its shape.
    pub second_shape: Shape,
}

/// An operation that was refused or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RowError {
    /// Pass tensors that fit.
    #[error(transparent)]
    Shapes(#[from] Box<Misfit>),
    /// Choose an instance of the kernel that begins with these arguments.
    #[error(
        "{op}: the instance {instance} does not fit; it must be one of `{kernel}` that begins with {needed}"
    )]
    Instance {
        /// The operation.
        op: &'static str,
        /// The instance asked for, with its kernel.
        instance: String,
        /// The operation's kernel.
        kernel: &'static str,
        /// The generic arguments the operation needs.
        needed: String,
    },
    /// Choose other element types.
    #[error("{op}: {rule}; here both are {found}")]
    Types {
        /// The operation.
        op: &'static str,
        /// What must hold.
        rule: &'static str,
        /// The element type.
        found: &'static str,
    },
    /// Make room in the caches, or write fewer rows.
    #[error("{op}: rows {at} .. {} must lie within the {capacity} rows of the caches", .at.saturating_add(*.rows))]
    Capacity {
        /// The operation.
        op: &'static str,
        /// The first row.
        at: usize,
        /// Rows to write.
        rows: usize,
        /// Rows there are.
        capacity: usize,
    },
    /// Keep fewer elements of every row, or at least one.
    #[error(
        "{op}: 1 to {most} elements are kept of every row, and no more than it has; here k is {k} and x has {columns} columns"
    )]
    Kept {
        /// The operation.
        op: &'static str,
        /// How many were asked for.
        k: usize,
        /// The most there may be.
        most: usize,
        /// Columns of the input.
        columns: usize,
    },
    /// See [`TensorError`].
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

impl RowError {
    pub(crate) fn new(op: &'static str, rule: &'static str, first: Named, second: Named) -> RowError {
        let ((first, first_shape), (second, second_shape)) = (first, second);
        Box::new(Misfit { op, rule, first, first_shape, second, second_shape }).into()
    }
}

/// The instance an operation runs, and why. Its text says both.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The instance.
    pub instance: &'static InstanceInfo,
    /// The row of the policy that was taken, in words.
    pub why: String,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.instance, self.why)
    }
}

/// Where a row of a policy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The host device, where tiles are memory.
    Host,
    /// GPUs and the simulator, where tiles are registers.
    Gpu,
}

impl Place {
    fn of(device: &Device) -> Place {
        if matches!(device, Device::Host(_)) { Place::Host } else { Place::Gpu }
    }
}

/// A row of a policy: up to this many columns, at this place, take these sizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    most_cols: usize,
    place: Place,
    sizes: &'static [Generic],
}

impl Rule {
    pub(crate) const fn up_to(most_cols: usize, place: Place, sizes: &'static [Generic]) -> Rule {
        Rule { most_cols, place, sizes }
    }

    fn key(&self, front: &[Generic]) -> Vec<Generic> {
        [front, self.sizes].concat()
    }
}

/// The instance for rows of `cols` elements, by a kernel's policy.
///
/// # Panics
/// When the policy has no row, or names an instance that is not compiled; `tests::policy_instances_exist` looks.
pub(crate) fn choose(
    kernel: &'static KernelInfo,
    policy: &[Rule],
    device: &Device,
    cols: usize,
    front: &[Generic],
) -> Choice {
    let place = Place::of(device);
    let rule = policy.iter().find(|rule| rule.place == place && cols <= rule.most_cols);
    let rule = rule.expect("a policy ends with a row for any width at each place");
    let instance =
        kernel.find(&rule.key(front)).expect("every row of a policy is compiled for all element types");
    let bound = match rule.most_cols {
        usize::MAX => "any width".to_string(),
        most => format!("up to {most} columns"),
    };
    let on = if place == Place::Host { "the host" } else { "GPUs" };
    Choice { instance, why: format!("rows of {cols} columns take the instance for {bound} on {on}") }
}

/// The instance that the options name, if it does what is asked, or else the policy's.
pub(crate) fn resolve(
    op: &'static str,
    kernel: &'static KernelInfo,
    policy: &[Rule],
    device: &Device,
    cols: usize,
    front: &[Generic],
    options: &RowOptions<'_>,
) -> Result<&'static InstanceInfo, RowError> {
    let Some(instance) = options.instance else {
        return Ok(choose(kernel, policy, device, cols, front).instance);
    };
    if kernel.instances.iter().any(|i| std::ptr::eq(i, instance)) && instance.generics.starts_with(front) {
        return Ok(instance);
    }
    let needed = front.iter().map(Generic::to_string).collect::<Vec<_>>().join(", ");
    Err(RowError::Instance {
        op,
        instance: instance.to_string(),
        kernel: kernel.name,
        needed: format!("<{needed}, ..>"),
    })
}

/// What the name of an output, an input or a parameter is, with its shape.
pub(crate) type Named = (&'static str, Shape);

/// Refuses a vector that does not have one row with an element per column.
pub(crate) fn one_per_column(op: &'static str, vector: Named, x: Named) -> Result<(), RowError> {
    if vector.1 == [1, 1, 1, x.1[3]] {
        return Ok(());
    }
    let rule = "there must be one row with an element per column";
    Err(RowError::new(op, rule, vector, x))
}

/// Refuses an output whose shape is not the input's.
pub(crate) fn same_shape(op: &'static str, first: Named, second: Named) -> Result<(), RowError> {
    if first.1 == second.1 {
        Ok(())
    } else {
        Err(RowError::new(op, "both must have the same shape", first, second))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every row of a policy finds its instance, whatever the width.
    pub(crate) fn policy_instances_exist(kernel: &'static KernelInfo, policy: &[Rule], front: &[Generic]) {
        for device in [Device::host(), Device::sim()] {
            for cols in policy.iter().map(|rule| rule.most_cols).chain([0, 1, 100_000]) {
                let choice = choose(kernel, policy, &device, cols, front);
                assert!(choice.to_string().starts_with(kernel.name), "{choice}");
            }
        }
    }
}
