//! The kernel library and the one dependency of a user: prelude, GEMM, host API.
