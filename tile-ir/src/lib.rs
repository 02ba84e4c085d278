//! Tile IR: what an op means. Types, legality tables, scalar semantics, typed IR, verifier, text form.
