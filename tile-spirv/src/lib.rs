//! Lowering of tile IR to SPIR-V words, per target.
