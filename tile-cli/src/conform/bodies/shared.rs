//! Owns the kernels of the suite about shared memory, cooperative copies and barriers.

use super::{Body, STORE, body, of_mma, own_type, shown_as_f32};

/// Two sub-groups, one below the other, each with a part of its own in shared memory.
pub(super) fn bodies(name: &str) -> Vec<Body> {
    let by_part = |barrier: &[&str]| {
        let mut lines = vec![
            "let mut s: st<B, D, N> = shared();",
            "let t: rt<B, M, N> = load(b, AT);",
            "store_shared(&mut s, &t, [subgroup_id(), 0u32]);",
        ];
        lines.extend(barrier);
        lines.extend(["let y: rt<B, M, N> = load_shared(&s, [subgroup_id(), 0u32]);", STORE]);
        body("a part each", own_type(), &lines)
    };
    let multiplied = |load: &str, role: &str, size: &str, op: &str| {
        let shared = format!("let mut s: st<A, {size}> = shared();");
        let right = format!("let r: rt<A, K, N, {role}> = {load}(&s, [0u32, 0u32]);");
        let multiply = format!("{op}(&mut y, &l, &r);");
        let lines = [
            &shared,
            "load_coop(&mut s, a, THERE);",
            "barrier();",
            "let l: rt<A, M, K> = load(a, [own.row(), 0u32]);",
            &right,
            "let mut y: rt<f32, M, N, Acc> = zeros();",
            &multiply,
            STORE,
        ];
        body(format!("{role} tile"), of_mma(), &lines)
    };
    let mut all = match name {
        "load_transform_shared" => vec![multiplied(name, "Vnni", "K, N", "mma_AB")],
        "load_transpose_shared" => vec![multiplied(name, "VnniT", "N, K", "mma_ABt")],
        "load_vec_shared" | "store_vec_shared" => vec![body(
            "a part each",
            shown_as_f32(),
            &[
                "let mut s: sv<B, D> = shared();",
                "let v: rv<B, M, PerRow> = load_vec(b, THERE);",
                "store_vec_shared(&mut s, &v, subgroup_id());",
                "barrier();",
                "let u: rv<B, M, PerRow> = load_vec_shared(&s, subgroup_id());",
                "let z: rt<f32, M, N> = fill(-0.0);",
                "let y = z.add_row(&u.to::<f32>());",
                STORE,
            ],
        )],
        "load_coop" => vec![body(
            "one copy",
            own_type(),
            &[
                "let mut s: st<B, D, N> = shared();",
                "load_coop(&mut s, b, THERE);",
                "barrier();",
                "let y: rt<B, M, N> = load_shared(&s, [subgroup_row(), 0u32]);",
                STORE,
            ],
        )],
        "store_coop" => vec![body(
            "a part each",
            own_type(),
            &[
                "let mut s: st<C, D, N> = shared();",
                "let t: rt<B, M, N> = load(b, AT);",
                "store_shared(&mut s, &t.to::<C>(), [subgroup_id(), 0u32]);",
                "barrier();",
                "store_coop(c, &s, own);",
            ],
        )],
        "barrier_arrive" | "barrier_wait" => vec![by_part(&["barrier_arrive();", "barrier_wait();"])],
        _ => vec![by_part(&["barrier();"])],
    };
    for body in &mut all {
        body.grid = Some((2, 1));
    }
    all
}
