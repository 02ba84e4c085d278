//! Owns the entries of the families of ops on vectors.

use super::{Accuracy, Entry, Family};
use crate::ir::Reduction;

/// Reductions of a vector: how, text, accuracy.
const REDUCTIONS: &[(Reduction, &str)] = &[
    (Reduction::Max, "The largest element; NaN only if all are."),
    (Reduction::Min, "The smallest element; NaN only if all are."),
    (Reduction::Sum, "The sum."),
    (Reduction::Prod, "The product."),
];

/// Positions of extremes: name and text.
const POSITIONS: &[(&str, &str)] = &[
    ("row_argmax", "The column of the largest element of every row."),
    ("row_argmin", "The column of the smallest element of every row."),
    ("col_argmax", "The row of the largest element of every column."),
    ("col_argmin", "The row of the smallest element of every column."),
    ("argmax", "The index of the largest element of a vector."),
    ("argmin", "The index of the smallest element of a vector."),
];

/// Changes of encoding: name and text.
const ENCODINGS: &[(&str, &str)] = &[
    ("to_per_row", "The elements of a `PerCol` vector as a `PerRow` vector."),
    ("to_per_col", "The elements of a `PerRow` vector as a `PerCol` vector."),
];

pub(super) fn stores() -> Vec<Entry> {
    let doc = Family::StoreVector.doc();
    vec![Family::StoreVector.entry("store_vec", &["store_vec", "store_vec_at"], Accuracy::Exact, doc)]
}

pub(super) fn reductions() -> Vec<Entry> {
    let entry = |(how, doc): &(Reduction, &'static str)| {
        let name = format!("reduce_{}", how.name());
        Family::ReduceVector.entry(&name, &[&name], super::accuracy_of(*how), doc)
    };
    REDUCTIONS.iter().map(entry).collect()
}

pub(super) fn positions() -> Vec<Entry> {
    named(Family::Arg, POSITIONS)
}

pub(super) fn encodings() -> Vec<Entry> {
    named(Family::Encode, ENCODINGS)
}

fn named(family: Family, all: &[(&str, &'static str)]) -> Vec<Entry> {
    all.iter().map(|(name, doc)| family.entry(name, &[name], Accuracy::Exact, doc)).collect()
}
