//! Owns what operations share about the choice of an instance.
//!
//! *Not here*: the policies, which stand beside their kernels ([`crate::kernels`]).

use std::fmt;

use crate::InstanceInfo;

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
