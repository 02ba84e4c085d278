//! Owns the kernels, and the wrong uses, of the families of ops on vectors.

use tile_ir::error::Code;
use tile_ir::ops::list::{Entry, Family};

use super::bodies::{Body, STORE, body, own_type, shown_as_f32};

/// Loads of a vector in both encodings.
const LOADS: [(&str, &str); 2] = [
    ("PerRow vector", "let v: rv<B, M, PerRow> = load_vec(b, THERE);"),
    ("PerCol vector", "let v: rv<B, N, PerCol> = load_vec(b, THERE);"),
];

/// Shows a vector of `N` elements in any encoding, element by element.
const SHOW: &str =
    "store_vec_at(c, &y.to::<C>(), [own.batch(), own.depth(), own.row() + n, own.col() + w as u32]);";

/// The kernels about an op.
pub(super) fn bodies(op: &Entry) -> Vec<Body> {
    let name = op.name.as_str();
    match op.family {
        Family::StoreVector => stores(),
        Family::ReduceVector => {
            let mut all = vec![];
            for (form, load) in LOADS {
                let shown = format!("let y: rt<f32, M, N> = fill(v.{name}());");
                all.push(body(form, shown_as_f32(), &[load, &shown, STORE]));
                // A branch wants a number that no order of additions changes.
                if name == "reduce_max" || name == "reduce_min" {
                    let branch = format!("if v.{name}() > x {{ y = y.neg(); }}");
                    let lines = [load, "let mut y: rt<f32, M, N> = load(f, AT);", &branch, STORE];
                    all.push(body(format!("{form}, in a condition"), shown_as_f32(), &lines));
                }
            }
            all
        }
        Family::Arg if name.starts_with("arg") => {
            let shown = format!("let y: rt<i32, M, N> = fill(v.{name}());");
            LOADS.iter().map(|(form, load)| body(*form, shown_as_f32(), &[load, &shown, STORE])).collect()
        }
        Family::Arg => {
            let spread = if name.starts_with("row") { "add_row" } else { "add_col" };
            let shown = format!("let y = z.{spread}(&t.{name}());");
            let zero = "let z: rt<i32, M, N> = fill(0);";
            // Few different elements, so that there are equal ones.
            let rough = format!("let y = z.{spread}(&t.to::<i32>().max(-2).min(2).{name}());");
            let tile = "let t: rt<B, M, N> = load(b, AT);";
            vec![
                body("Row tile", shown_as_f32(), &[tile, zero, &shown, STORE]),
                body("equal elements", shown_as_f32(), &[tile, zero, &rough, STORE]),
            ]
        }
        Family::Encode => {
            let (from, to) = if name == "to_per_row" { ("PerCol", name) } else { ("PerRow", name) };
            let load = format!("let v: rv<B, N, {from}> = load_vec(b, THERE);");
            let line = format!("let y = v.{to}();");
            let mut one = body(format!("{from} vector"), own_type(), &[&load, &line, SHOW]);
            one.is_unsafe = true;
            vec![one]
        }
        _ => vec![],
    }
}

/// The kernels about an op on wide vectors. Loads of the others cross the last column; `same_meaning/wide.rs` has longer rows.
pub(super) fn wide(op: &Entry) -> Vec<Body> {
    let name = op.name.as_str();
    let load = "let v: rv<B, 128, Wide> = load_vec(b, THERE);";
    let shown = |line: &str| {
        let lines: Vec<&str> = std::iter::once(load).chain(line.lines()).chain([SHOW]).collect();
        let mut one = body("Wide vector", own_type(), &lines);
        one.is_unsafe = true;
        vec![one]
    };
    match op.family {
        Family::LoadVector | Family::StoreVector => shown("let y = v.neg().neg();"),
        Family::MapUnary => shown(&format!("let y = v.{name}();")),
        Family::MapBinary => shown(&format!("let y = v.{name}(&v.abs());")),
        Family::MapTernary => shown(&format!("let y = v.{name}(&v, x);")),
        Family::MapCompare => shown(&format!("let y = v.{name}(x).select(&v, &v.abs());")),
        Family::Convert => shown("let y = v.to::<f32>().to::<B>();"),
        Family::Scale => shown("let y = v.scale(x);"),
        Family::Zeros => shown("let u: rv<B, 128, Wide> = zeros();\nlet y = v.max(&u);"),
        Family::Fill => shown("let u: rv<B, 128, Wide> = fill(x);\nlet y = v.max(&u);"),
        Family::ReduceVector => {
            let line = format!("let y: rt<f32, M, N> = fill(v.{name}());");
            vec![body("Wide vector", shown_as_f32(), &[load, &line, STORE])]
        }
        Family::Arg if name.starts_with("arg") => {
            let line = format!("let y: rt<i32, M, N> = fill(v.{name}());");
            vec![body("Wide vector", shown_as_f32(), &[load, &line, STORE])]
        }
        _ => vec![],
    }
}

fn stores() -> Vec<Body> {
    let mut all: Vec<Body> = LOADS
        .iter()
        .map(|(form, load)| {
            body(format!("{form}, owned"), own_type(), &[load, "store_vec(c, &v.to::<C>(), own);"])
        })
        .collect();
    let elements = "store_vec_at(c, &y.to::<C>(), elements([n, w as u32]));";
    let first = "if own.row() + own.col() + own.batch() + own.depth() == 0u32 {";
    for (form, load) in LOADS {
        let load = load.replace("let v", "let y");
        for (place, lines) in [("any place", vec![SHOW]), ("any element", vec![first, elements, "}"])] {
            let lines: Vec<&str> = std::iter::once(load.as_str()).chain(lines).collect();
            let mut one = body(format!("{form}, {place}"), own_type(), &lines);
            one.is_unsafe = true;
            all.push(one);
        }
    }
    all
}

/// A wrong use, and the rule it breaks.
pub(super) fn wrong(op: &Entry) -> (Code, Vec<String>) {
    let name = op.name.as_str();
    let tile = "let t: rt<f32, M, N> = load(f, [0u32, 0u32]);".to_string();
    let vector = "let v: rv<f32, N, PerCol> = load_vec(f, [0u32, 0u32]);".to_string();
    match op.family {
        Family::StoreVector => (
            Code::StoreVector,
            vec![
                "let v: rv<A, N, PerCol> = load_vec(a, [0u32, 0u32]);".into(),
                "store_vec(c, &v, own);".into(),
            ],
        ),
        Family::Arg if !name.starts_with("arg") => {
            (Code::ReduceOperand, vec![vector, format!("let u = v.{name}();")])
        }
        Family::Encode => {
            let along = if name == "to_per_row" { "PerRow" } else { "PerCol" };
            let load = format!("let v: rv<f32, N, {along}> = load_vec(f, [0u32, 0u32]);");
            (Code::Encoding, vec![load, format!("let u = v.{name}();")])
        }
        _ => (Code::ReduceOperand, vec![tile, format!("let u = t.{name}();")]),
    }
}
