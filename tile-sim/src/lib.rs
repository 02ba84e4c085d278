//! Interpreter of SPIR-V words on lock-step sub-groups.
