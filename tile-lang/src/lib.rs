//! The vocabulary of a kernel author: tiles, global layouts, ops with executable host bodies.
