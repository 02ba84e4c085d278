//! Owns the kernels that bring ops to the roles which `bodies` leaves out: accumulators of i32, parts of packed tiles, positions in
//! accumulators, scaled vectors, `Row` tiles that are loaded transposed.
//!
//! *Not here*: the forms that every op has (`bodies`).

use tile_ir::ops::list::{Entry, Family};
use tile_ir::types::DType;

use super::bodies::{Body, body, f32_only};

const STORE: &str = "store(c, &y.to::<C>(), own);";

fn i32_only() -> Vec<[DType; 3]> {
    vec![[DType::Bf16, DType::I32, DType::I32]]
}

/// `y` is made by `from` out of an accumulator `t` of i32.
fn of_accumulator(from: &str) -> Vec<Body> {
    let (load, line) = ("let t: rt<i32, M, N, Acc> = load(b, AT);", format!("let y = {from};"));
    vec![body("Acc tile of integers", i32_only(), &[load, &line, STORE])]
}

/// The same of accumulators of both types.
fn of_accumulators(size: &str, line: &str) -> Vec<Body> {
    let of = |form: &str, dtype: &str, from: &str, types| {
        let load = format!("let mut t: rt<{dtype}, {size}, Acc> = load({from}, AT);");
        let part = format!("let p: rt<{dtype}, M, N, Acc> = load({from}, [own.row(), own.col()]);");
        body(form, types, &[&load, &part, line, STORE])
    };
    vec![
        of("Acc tile, moved", "f32", "f", f32_only()),
        of("Acc tile, moved, of integers", "i32", "b", i32_only()),
    ]
}

/// A multiplication by a right operand that is put together from parts, or is one; the product stands in a wider tile.
fn of_packed(role: &str, load: &str, multiply: &str, set: bool) -> Body {
    let types = [DType::Bf16, DType::F16].iter().map(|a| [*a, DType::F32, DType::F32]).collect();
    let (whole, part) = (
        format!("let mut t: rt<A, K, E, {role}> = {load}(a, [n, w as u32]);"),
        format!("let p: rt<A, K, 16, {role}> = {load}(a, [1u32, 1u32]);"),
    );
    let change = if set { "t.set_sub_tile(&p, 0, 1);" } else { "let r = t.sub_tile::<K, 16>(0, 1);" };
    let right = if set { "let r = t.sub_tile::<K, 16>(0, 1);" } else { "let q = p;" };
    let product = format!("{multiply}(&mut z, &l, &r);");
    body(
        format!("part of a {role} tile"),
        types,
        &[
            "let l: rt<A, M, K> = load(a, [own.row(), 0u32]);",
            &whole,
            &part,
            change,
            right,
            "let mut z: rt<f32, M, 16, Acc> = zeros();",
            &product,
            "let mut y: rt<f32, M, N, Acc> = fill(x);",
            "y.set_sub_tile(&z, 0, 0);",
            STORE,
        ],
    )
}

/// The kernels about an op; none for ops whose forms are all in `bodies`.
pub fn bodies(op: &Entry) -> Vec<Body> {
    let name = op.name.as_str();
    let shown = |spread: &str| {
        let line = format!("let y = z.{spread}(&t.{name}());");
        let load = "let t: rt<i32, M, N, Acc> = load(b, AT);";
        let zero = "let z: rt<i32, M, N> = fill(0);";
        vec![body("Acc tile of integers", i32_only(), &[load, zero, &line, STORE])]
    };
    match op.family {
        Family::Zeros => vec![body(
            "Acc tile of integers",
            i32_only(),
            &["let t: rt<i32, M, N, Acc> = zeros();", "let y = t.add(i);", STORE],
        )],
        Family::Fill => {
            vec![body("Acc tile of integers", i32_only(), &["let y: rt<i32, M, N, Acc> = fill(i);", STORE])]
        }
        Family::Load if name == "load" => vec![body(
            "Acc tile of integers",
            i32_only(),
            &["let y: rt<i32, M, N, Acc> = load(b, AT);", STORE],
        )],
        Family::Store => {
            let of = |form: &str, dtype: &str, from: &str, types| {
                let turned = if name == "store" { "M, N" } else { "N, M" };
                let load = format!("let y: rt<{dtype}, {turned}, Acc> = load({from}, AT);");
                body(form, types, &[&load, &format!("{name}(c, &y, own);")])
            };
            // By name: `C` is f32 in every instance.
            let by_name = vec![[DType::I32, DType::F32, DType::F32]];
            vec![of("Acc tile", "f32", "f", by_name), of("Acc tile of integers", "i32", "b", i32_only())]
        }
        Family::Load if name == "load_transpose" => {
            let types = DType::COMPUTING.iter().map(|d| [DType::Bf16, *d, *d]).collect();
            vec![body("Row tile", types, &["let y: rt<B, M, N> = load_transpose(b, AT);", STORE])]
        }
        Family::Scale => {
            let of = |along: &str, size: &str, spread: &str| {
                let types = DType::FLOATS.iter().map(|d| [DType::F16, *d, DType::F32]).collect();
                let load = format!("let v: rv<B, {size}, {along}> = load_vec(b, [n, w as u32]);");
                let line = format!("let y = z.{spread}(&v.scale(x).to::<f32>());");
                let zero = "let z: rt<f32, M, N> = fill(-0.0);";
                body(format!("{along} vector"), types, &[&load, zero, &line, STORE])
            };
            vec![of("PerRow", "M", "add_row"), of("PerCol", "N", "add_col")]
        }
        Family::AtomicAdd if name == "atomic_add" => {
            let of = |form: &str, dtype: &str, from: &str, types| {
                let load = format!("let y: rt<{dtype}, M, N, Acc> = load({from}, AT);");
                let add = "atomic_add(c, &y, [own.batch(), own.depth(), own.row(), own.col()]);";
                body(form, types, &[&load, add])
            };
            vec![of("Acc tile", "f32", "f", f32_only()), of("Acc tile of integers", "i32", "b", i32_only())]
        }
        Family::AtomicAdd => {
            let of = |form: &str, dtype: &str, from: &str, types| {
                let load = format!("let v: rv<{dtype}, M, PerRow> = load_vec({from}, [n, w as u32]);");
                let add = "atomic_add_vec(c, &v, elements([own.batch(), own.depth(), own.row() * M as u32, 0u32]));";
                // One sub-group for each row of tiles.
                body(form, types, &[&load, "if own.col() == 0u32 {", add, "}"])
            };
            vec![
                of("PerRow vector", "f32", "f", f32_only()),
                of("PerRow vector of integers", "i32", "b", i32_only()),
            ]
        }
        Family::Convert => of_accumulator("t"),
        Family::MapUnary => of_accumulator(&format!("t.{name}()")),
        Family::MapBinary => of_accumulator(&format!("t.{name}(i)")),
        Family::MapCompare => of_accumulator(&format!("t.{name}(i).select(&t, i)")),
        Family::Select => of_accumulator("t.gt(i).select(&t, i)"),
        Family::KeepFirst => of_accumulator(&format!("t.{name}(n + 5u32, 7)")),
        Family::Triangle => of_accumulator(&format!("t.{name}(n, w as u32, i)")),
        Family::Reduce => shown(if name.starts_with("row_") { "add_row" } else { "add_col" }),
        Family::Arg if name != "argmax" && name != "argmin" => {
            let (along, side, spread) = match name.starts_with("row_") {
                true => ("PerRow", "M", "add_row"),
                false => ("PerCol", "N", "add_col"),
            };
            let of = |form: &str, dtype: &str, from: &str, types| {
                let load = format!("let t: rt<{dtype}, M, N, Acc> = load({from}, AT);");
                let index = format!("let v: rv<f32, {side}, {along}> = t.{name}().to::<f32>();");
                let line = format!("let y = z.{spread}(&v);");
                body(form, types, &[&load, &index, "let z: rt<f32, M, N> = fill(-0.0);", &line, STORE])
            };
            vec![of("Acc tile", "f32", "f", f32_only()), of("Acc tile of integers", "i32", "b", i32_only())]
        }
        Family::TopK => {
            let room = if name == "row_topk" { 16 } else { 8 };
            let top = format!("let (values, indices) = t.{name}::<{room}>(5);");
            let load = "let t: rt<i32, M, N, Acc> = load(b, AT);";
            let corner = "let mut y: rt<i32, M, N> = fill(0);";
            let set = ["y.set_sub_tile(&values, 0, 0);", "y = y.add(n as i32);"];
            vec![body("Acc tile of integers", i32_only(), &[load, &top, corner, set[0], set[1], STORE])]
        }
        Family::Iota => vec![
            body("Acc tile", f32_only(), &[&format!("let y: rt<f32, M, N, Acc> = {name}(x);"), STORE]),
            body(
                "Acc tile of integers",
                i32_only(),
                &[&format!("let y: rt<i32, M, N, Acc> = {name}(i);"), STORE],
            ),
        ],
        Family::Transpose => {
            let mut all = of_accumulators("N, M", "let y = t.transpose();");
            for body in &mut all {
                body.lines.remove(1);
            }
            all
        }
        Family::SubTile => {
            let set = name == "set_sub_tile";
            let line = if set {
                "t.set_sub_tile(&p, 1, 0); let y = t.sub_tile::<M, N>(1, 0).sub(&t.sub_tile::<M, N>(0, 0));"
            } else {
                "let y = t.sub_tile::<M, N>(1, 0).sub(&p);"
            };
            let mut all = of_accumulators("D, N", line);
            all.push(of_packed("Vnni", "load_transform", "mma_AB", set));
            all.push(of_packed("VnniT", "load_transpose", "mma_ABt", set));
            all
        }
        _ => vec![],
    }
}
