//! Owns the kernels of the suite about loops and branches.

use tile_ir::ops::list::Family;

use super::{Body, STORE, body, shown_as_f32};

/// Control flow around a tile that it carries.
pub(super) fn bodies(family: Family) -> Vec<Body> {
    let start = ["let t: rt<B, M, N> = load(b, AT);", "let mut y = t.to::<f32>();"];
    let with = |form: &str, lines: &[&str]| {
        let all: Vec<&str> = start.iter().chain(lines).copied().chain([STORE]).collect();
        body(form, shown_as_f32(), &all)
    };
    match family {
        Family::For => vec![
            with("carries a tile", &["for k in 0..(n % 5u32) {", "y = y.add(k as f32);", "}"]),
            with(
                "steps, breaks and goes on",
                &[
                    "for k in (0u32..20u32).step_by(3) {",
                    "if k == (n & 15u32) { break; }",
                    "if p { continue; }",
                    "y = y.mul(0.5).add(1.0);",
                    "}",
                ],
            ),
            with(
                "signed, nested",
                &[
                    "for k in -2i32..(i & 3i32) {",
                    "for l in 0u64..(w & 3u64) {",
                    "y = y.add((k * l as i32) as f32);",
                    "}",
                    "}",
                ],
            ),
        ],
        Family::While => vec![
            with(
                "carries a tile",
                &["let mut q = 0u32;", "while q < (n & 7u32) {", "y = y.neg();", "q += 2u32;", "}"],
            ),
            with(
                "breaks",
                &[
                    "let mut q = 0u32;",
                    "while true && q < 9u32 {",
                    "q += 1u32;",
                    "if p && q > 4u32 { break; }",
                    "y = y.add(q as f32);",
                    "}",
                ],
            ),
        ],
        _ => vec![
            with("two ways", &["if p { y = y.neg(); } else { y = y.abs(); }"]),
            with("a value", &["let s = if n > 1u32 { x } else { 2.0 };", "y = y.mul(s);"]),
            with("an early end", &["if own.outside() { return; }", "if !p && n > 0u32 { return; }"]),
        ],
    }
}
