//! Owns why a product is refused, and which shapes fit each other.
//!
//! *Guarantees*: an error of shapes prints both. *Not here*: the choice of an instance (`plan`), the launches (`gemm`).

use thiserror::Error;

use crate::prelude::*;

/// A product that was refused or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GemmError {
    /// Pass matrices that fit.
    #[error(
        "gemm: A's {} must equal B's {}; A is {a:?} and B is {b:?} (batch, depth, rows, cols)",
        if *.transpose_a { "rows (A is given as [K, M])" } else { "columns" },
        if *.transpose_b { "columns (B is given as [N, K])" } else { "rows" }
    )]
    Inner {
        /// Shape of A.
        a: Shape,
        /// Shape of B.
        b: Shape,
        /// A is given as `[K, M]`.
        transpose_a: bool,
        /// B is given as `[N, K]`.
        transpose_b: bool,
    },
    /// Pass an output of the product's shape.
    #[error("gemm: the output must be {needed:?}; here it is {found:?} (batch, depth, rows, cols)")]
    Output {
        /// Shape the output must have: that of A times B.
        needed: Shape,
        /// Shape it has.
        found: Shape,
    },
    /// Pass operands with equal batch and depth, or 1 where one plane serves all.
    #[error(
        "gemm: batch and depth of A and B must be equal or 1; A is {a:?} and B is {b:?} (batch, depth, rows, cols)"
    )]
    Planes {
        /// Shape of A.
        a: Shape,
        /// Shape of B.
        b: Shape,
    },
    /// Pass a bias with one value for each column of the output.
    #[error(
        "gemm: the bias must have one row with an element per column of the output; the bias is {bias:?} and the \
         output is {c:?} (batch, depth, rows, cols)"
    )]
    Bias {
        /// Shape of the bias.
        bias: Shape,
        /// Shape of the output.
        c: Shape,
    },
    /// Add a tensor of the output's shape.
    #[error(
        "gemm: the tensor to add must have the output's shape, or 1 for batch or depth where one plane serves all; it \
         is {addend:?} and the output is {c:?} (batch, depth, rows, cols)"
    )]
    Addend {
        /// Shape of the tensor to add.
        addend: Shape,
        /// Shape of the output.
        c: Shape,
    },
    /// Pass weights of Q, K and V that multiply the same input.
    #[error(
        "qkv: the weights of Q, K and V must have one plane and equally many {}; they are {q:?}, {k:?} and {v:?} (batch, \
         depth, rows, cols)",
        if *.transposed { "columns" } else { "rows" }
    )]
    Weights {
        /// Shape of Q's weight.
        q: Shape,
        /// Shape of K's weight.
        k: Shape,
        /// Shape of V's weight.
        v: Shape,
        /// They are given as `[N, K]`.
        transposed: bool,
    },
    /// Choose an instance with these element types and these forms of A and B.
    #[error("gemm: the instance {instance} does not multiply {a} into {c} with {forms}")]
    Instance {
        /// The instance asked for, with its kernel.
        instance: String,
        /// Element type of A and B.
        a: &'static str,
        /// Element type of C.
        c: &'static str,
        /// How A and B are given, and what else the instance must do.
        forms: String,
    },
    /// Leave this option at its default.
    #[error("{op}: the option `{option}` is not for this operation")]
    Option {
        /// The operation.
        op: &'static str,
        /// Name of the option.
        option: &'static str,
    },
    /// See [`TensorError`].
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// The shape of the product of A and B, each transposed or not, if they fit.
pub(crate) fn product(a: Shape, b: Shape, [transpose_a, transpose_b]: [bool; 2]) -> Result<Shape, GemmError> {
    let [m, k] = if transpose_a { [a[3], a[2]] } else { [a[2], a[3]] };
    let [k_of_b, n] = if transpose_b { [b[3], b[2]] } else { [b[2], b[3]] };
    if k != k_of_b {
        return Err(GemmError::Inner { a, b, transpose_a, transpose_b });
    }
    let plane = |x: usize, y: usize| match (x, y) {
        (x, y) if x == y => Ok(x),
        (1, y) => Ok(y),
        (x, 1) => Ok(x),
        _ => Err(GemmError::Planes { a, b }),
    };
    Ok([plane(a[0], b[0])?, plane(a[1], b[1])?, m, n])
}

/// An operand with its single plane repeated for every plane of the product.
pub(crate) fn over_planes<T: AnyElement>(v: View<'_, T>, product: Shape) -> Result<View<'_, T>, TensorError> {
    let [batch, depth, ..] = product;
    let v = if v.shape()[0] == batch { v } else { v.broadcast(tile_runtime::Axis::Batch, batch)? };
    if v.shape()[1] == depth { Ok(v) } else { v.broadcast(tile_runtime::Axis::Depth, depth) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_do_not_fit_print_both() {
        let plain = [false, false];
        let error = product([1, 1, 3, 4], [1, 1, 5, 2], plain).expect_err("4 columns and 5 rows do not fit");
        let text = error.to_string();
        assert!(text.contains("[1, 1, 3, 4]") && text.contains("[1, 1, 5, 2]"), "{text}");
        let error = product([1, 1, 3, 4], [1, 1, 5, 2], [true, true]).expect_err("3 rows and 2 columns");
        let text = error.to_string();
        assert!(text.contains("A's rows (A is given as [K, M]) must equal B's columns (B is"), "{text}");
        assert!(product([2, 1, 3, 4], [3, 1, 4, 2], plain).is_err());
        assert_eq!(product([2, 1, 3, 4], [1, 5, 4, 2], plain).expect("planes of 1 repeat"), [2, 5, 3, 2]);
        assert_eq!(product([1, 1, 3, 4], [1, 1, 7, 4], [false, true]).expect("B is [N, K]"), [1, 1, 3, 7]);
        assert_eq!(product([1, 1, 4, 3], [1, 1, 4, 7], [true, false]).expect("A is [K, M]"), [1, 1, 3, 7]);
    }
}
