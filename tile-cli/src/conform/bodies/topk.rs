//! Owns the kernels of the suite about `row_topk` and `col_topk`.

use super::{Body, STORE, body, f32_only, shown_as_f32};

/// Values or indices in the corner of a tile, from a tile, from several, and from running elements in no order.
pub(super) fn bodies(name: &str) -> Vec<Body> {
    let rows = name == "row_topk";
    let (room, part) = if rows { (16, "M, 16") } else { (8, "8, N") };
    let tile = "let t: rt<B, M, N> = load(b, AT);";
    let corner = "let mut y: rt<f32, M, N> = fill(-0.0);";
    let values = "y.set_sub_tile(&values, 0, 0);";
    let indices = "y.set_sub_tile(&indices.to::<f32>(), 0, 0);";
    let top = |k: usize| format!("let (values, indices) = t.{name}::<{room}>({k});");
    let (few, full, one) = (top(5), top(room), top(1));
    let first = format!("let (u, j) = q.{name}::<{room}>(5);");
    let running_values = format!("let u: rt<f32, {part}> = load(f, THERE);");
    // An index of -1 may be among these.
    let running_indices = format!("let j: rt<i32, {part}> = iota_{}(i);", if rows { "cols" } else { "rows" });
    let on = format!("let (values, indices) = t.{name}_with(5, &u, &j, n);");
    let two = format!("let (values, indices) = t.{name}_with(2, &u, &j, 16u32);");
    let other = if rows {
        "let q: rt<B, M, 16> = load(b, [n, own.col()]);"
    } else {
        "let q: rt<B, 8, N> = load(b, [n, own.col()]);"
    };
    let all = |form: &str, lines: &[&str]| body(form, shown_as_f32(), lines);
    vec![
        all("values", &[tile, &few, corner, values, STORE]),
        all("indices", &[tile, &few, corner, indices, STORE]),
        all("all values", &[tile, &full, corner, values, STORE]),
        all("all indices", &[tile, &full, corner, indices, STORE]),
        all("the largest", &[tile, &one, corner, values, STORE]),
        all("values of two tiles", &[tile, other, &first, &two, corner, values, STORE]),
        all("indices of two tiles", &[tile, other, &first, &two, corner, indices, STORE]),
        all("running values", &[tile, &running_values, &running_indices, &on, corner, values, STORE]),
        all("running indices", &[tile, &running_values, &running_indices, &on, corner, indices, STORE]),
        body(
            "Acc tile",
            f32_only(),
            &["let t: rt<f32, M, N, Acc> = load(f, AT);", &few, corner, values, STORE],
        ),
    ]
}
