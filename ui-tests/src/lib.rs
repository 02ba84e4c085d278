//! Compile-time rules as trybuild cases, golden files, the crate graph.
