//! Owns the ops that compare elements and choose among them: comparisons, masks, positions.
//!
//! *Not here*: their typing rules (`ops::selection`).

use super::ValueId;
use crate::scalar::Compare;
use crate::types::Along;

/// How two masks combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// True where both are.
    And,
    /// True where one is.
    Or,
    /// True where just one is.
    Xor,
}

impl Logic {
    /// Every combination.
    pub const ALL: &'static [Logic] = &[Logic::And, Logic::Or, Logic::Xor];

    /// The name in kernel source and in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Logic::And => "and",
            Logic::Or => "or",
            Logic::Xor => "xor",
        }
    }
}

/// An op that compares elements or chooses among them.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// Compares every element, giving a mask. The right operand is what a binary map takes.
    Compare {
        /// The comparison.
        op: Compare,
        /// Left operand, a tile or vector.
        lhs: ValueId,
        /// Right operand.
        rhs: ValueId,
    },
    /// Combines two masks of one type.
    Logic {
        /// The combination.
        op: Logic,
        /// Left operand.
        lhs: ValueId,
        /// Right operand.
        rhs: ValueId,
    },
    /// The complement of a mask.
    Not {
        /// The mask.
        mask: ValueId,
    },
    /// Says whether a mask is true anywhere: a scalar, the same in all lanes.
    Any {
        /// The mask.
        mask: ValueId,
    },
    /// The elements of `yes` where the mask is true and of `no` elsewhere. `no` has the type of `yes`, or is a scalar that
    /// is rounded to its element type.
    Select {
        /// The mask.
        mask: ValueId,
        /// A tile or vector.
        yes: ValueId,
        /// The same, or a scalar.
        no: ValueId,
    },
    /// A tile or vector of positions: each element is `start` plus its row (`Rows`) or column (`Cols`) in the tile, or its
    /// index in the vector. f32 elements are rounded once.
    Iota {
        /// What is counted.
        along: Along,
        /// The first position, a scalar of the element type.
        start: ValueId,
    },
}

impl Selection {
    /// The op's name in kernel source and in the text form.
    pub const fn name(&self) -> &'static str {
        match self {
            Selection::Compare { op, .. } => op.name(),
            Selection::Logic { op, .. } => op.name(),
            Selection::Not { .. } => "not",
            Selection::Any { .. } => "any",
            Selection::Select { .. } => "select",
            Selection::Iota { along: Along::Rows, .. } => "iota_rows",
            Selection::Iota { along: Along::Cols, .. } => "iota_cols",
        }
    }

    /// The values the op reads.
    pub fn operands(&self) -> Vec<ValueId> {
        match self {
            Selection::Compare { lhs, rhs, .. } | Selection::Logic { lhs, rhs, .. } => vec![*lhs, *rhs],
            Selection::Not { mask } | Selection::Any { mask } => vec![*mask],
            Selection::Select { mask, yes, no } => vec![*mask, *yes, *no],
            Selection::Iota { start, .. } => vec![*start],
        }
    }
}
