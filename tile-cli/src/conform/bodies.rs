//! Owns the kernels of the suite: for each op the forms in which kernel source uses it.
//!
//! *Guarantees*: a family of ops without bodies does not compile; the op contract test fails by name for an op whose bodies
//! lack it. *Not here*: what the kernels are launched on (`launches`).

mod control;
mod shared;
mod topk;

use tile_ir::ir::Dim;
use tile_ir::ops::list::{Entry, Family};
use tile_ir::scalar::{Binary, Compare, Unary, casts};
use tile_ir::types::{DType, ScalarType};

use super::mma_inputs;
use crate::fuzz::program::replaced;

/// The body of a kernel after `own_tile`, and the element types `A`, `B`, `C` it is compiled for.
#[derive(Clone, Debug)]
pub struct Body {
    /// What the form is about.
    pub form: String,
    /// The lines.
    pub lines: Vec<String>,
    /// The element types.
    pub types: Vec<[DType; 3]>,
    /// Whether it needs an `unsafe` kernel.
    pub is_unsafe: bool,
    /// The grid of sub-groups, where it matters.
    pub grid: Option<(u32, u32)>,
}

/// A tile of the tensor `n` tiles below and `w` beside the owned one.
const AT: &str = "[own.row() + n, own.col() + w as u32]";
/// A place for vectors and scalars.
const THERE: &str = "[n, w as u32]";

/// The element type of `b`, each once; the result has it too.
pub(super) fn own_type() -> Vec<[DType; 3]> {
    DType::COMPUTING.iter().map(|d| [DType::Bf16, *d, *d]).collect()
}

/// The element type of `b`, each once; the result is f32.
pub(super) fn shown_as_f32() -> Vec<[DType; 3]> {
    DType::COMPUTING.iter().map(|d| [DType::F16, *d, DType::F32]).collect()
}

pub(super) fn f32_only() -> Vec<[DType; 3]> {
    vec![[DType::Bf16, DType::F32, DType::F32]]
}

fn of_mma() -> Vec<[DType; 3]> {
    mma_inputs().iter().map(|a| [*a, DType::F32, DType::F32]).collect()
}

pub(super) fn body(form: impl Into<String>, types: Vec<[DType; 3]>, lines: &[&str]) -> Body {
    let lines = lines.iter().map(|line| line.replace("AT", AT).replace("THERE", THERE)).collect();
    Body { form: form.into(), lines, types, is_unsafe: false, grid: None }
}

pub(super) const STORE: &str = "store(c, &y.to::<C>(), own);";

/// `y` is a tile made by `from` out of a tile `t`: as `Row` of every type, and as an accumulator.
fn of_tiles(from: &str) -> Vec<Body> {
    let line = format!("let y = {from};");
    vec![
        body("Row tile", own_type(), &["let t: rt<B, M, N> = load(b, AT);", &line, STORE]),
        body("Acc tile", f32_only(), &["let t: rt<f32, M, N, Acc> = load(f, AT);", &line, STORE]),
    ]
}

/// Stores `y`, for every element type.
fn of_turned(lines: &[&str]) -> Vec<Body> {
    let all: Vec<&str> = lines.iter().copied().chain([STORE]).collect();
    vec![body("Row tile", own_type(), &all)]
}

/// `y` shows the vector made by `from` out of a vector `v`.
fn of_vectors(from: &str) -> Vec<Body> {
    let vector = |form: &str, load: &str, spread: &str| {
        let line = format!("let y = z.{spread}(&{from}.to::<f32>());");
        body(form, shown_as_f32(), &[load, "let z: rt<f32, M, N> = fill(-0.0);", &line, STORE])
    };
    vec![
        vector("PerRow vector", "let v: rv<B, M, PerRow> = load_vec(b, THERE);", "add_row"),
        vector("PerCol vector", "let v: rv<B, N, PerCol> = load_vec(b, THERE);", "add_col"),
    ]
}

/// Lines that show all bits of the scalar `r`.
fn shown(ty: ScalarType) -> Vec<String> {
    let word = match ty {
        ScalarType::U32 => "r",
        ScalarType::I32 => "r as u32",
        ScalarType::U64 => "(r ^ (r >> 32u64)) as u32",
        ScalarType::Bool => "r as u32",
        ScalarType::F32 => {
            return vec!["let y: rt<f32, M, N> = fill(r);".into(), STORE.into()];
        }
    };
    vec![
        format!("let q = {word};"),
        "let z: rt<f32, M, N> = fill((q >> 16u32) as f32);".into(),
        "let y = z.keep_cols(1u32, (q & 65535u32) as f32);".into(),
        STORE.into(),
    ]
}

fn scalar(form: impl Into<String>, ty: ScalarType, expression: &str) -> Body {
    let mut lines = vec![format!("let r: {ty} = {expression};")];
    lines.extend(shown(ty));
    Body { form: form.into(), lines, types: f32_only(), is_unsafe: false, grid: None }
}

/// Two operands of a scalar type.
fn operands(ty: ScalarType) -> (&'static str, &'static str) {
    match ty {
        ScalarType::U32 => ("n", "(w as u32)"),
        ScalarType::I32 => ("i", "(n as i32)"),
        ScalarType::U64 => ("w", "(i as u64)"),
        ScalarType::F32 => ("x", "load_scalar(f, [1u32, 0u32])"),
        ScalarType::Bool => ("p", "(n < 3u32)"),
    }
}

/// The kernels about an op.
pub fn bodies(op: &Entry) -> Vec<Body> {
    let mut all = of_numbers(op);
    all.extend(super::vectors::wide(op));
    // Where f32 numbers stand beside floats, i32 numbers stand beside integers.
    for n in 0..all.len() {
        let integers: Vec<[DType; 3]> = all[n].types.iter().copied().filter(|t| t[1].is_integer()).collect();
        if integers.is_empty() {
            continue;
        }
        let swap = |line: &String| {
            let line =
                line.replace("fill(-0.0)", "fill(0)").replace("fill(0.7)", "fill(7)").replace("7.0)", "7)");
            let names = [("x", "i"), ("f", "b"), ("f32", "i32")];
            replaced(&line.replace("-1.0)", "-1)"), &names)
        };
        let lines: Vec<String> = all[n].lines.iter().map(swap).collect();
        if lines == all[n].lines {
            continue;
        }
        all[n].types.retain(|t| !t[1].is_integer());
        let types = integers.iter().map(|t| [t[0], t[1], t[1]]).collect();
        let form = format!("{} of integers", all[n].form);
        all.push(Body { form, lines, types, is_unsafe: all[n].is_unsafe, grid: all[n].grid });
    }
    all.extend(super::operands::bodies(op));
    all.extend(super::roles::bodies(op));
    all
}

fn of_numbers(op: &Entry) -> Vec<Body> {
    let name = op.name.as_str();
    match op.family {
        Family::OwnTile => vec![body(
            "coordinates",
            f32_only(),
            &[
                "let plane = own.batch() * 7u32 + own.depth();",
                "let r = (plane * 64u32 + own.row()) * 64u32 + own.col() + own.outside() as u32;",
                "let y: rt<f32, M, N> = fill(r as f32);",
                STORE,
            ],
        )],
        Family::Place => vec![scalar("place", ScalarType::U32, &format!("{name}()"))],
        Family::Dim => {
            let dims = Dim::ALL.iter().map(|d| (d.name().to_string(), format!("b.{}()", d.name())));
            let tiles = [("row_tiles", "b.row_tiles(M)"), ("col_tiles", "b.col_tiles(N)")];
            let tiles = tiles.map(|(form, call)| (form.to_string(), call.to_string()));
            dims.chain(tiles).map(|(form, call)| scalar(form, ScalarType::U32, &call)).collect()
        }
        Family::Zeros => vec![
            body("Row tile", own_type(), &["let t: rt<B, M, N> = zeros();", "let y = t.add(x);", STORE]),
            body(
                "Acc tile",
                f32_only(),
                &["let t: rt<f32, M, N, Acc> = zeros();", "let y = t.add(x);", STORE],
            ),
            body(
                "vectors",
                shown_as_f32(),
                &[
                    "let v: rv<B, M, PerRow> = zeros();",
                    "let u: rv<B, N, PerCol> = zeros();",
                    "let t: rt<f32, M, N> = fill(x);",
                    "let y = t.add_row(&v.to::<f32>()).add_col(&u.to::<f32>());",
                    STORE,
                ],
            ),
        ],
        Family::Fill => vec![
            body("Row tile", own_type(), &["let y: rt<B, M, N> = fill(x);", STORE]),
            body("Acc tile", f32_only(), &["let y: rt<f32, M, N, Acc> = fill(x);", STORE]),
            body(
                "vectors",
                shown_as_f32(),
                &[
                    "let v: rv<B, M, PerRow> = fill(x);",
                    "let u: rv<B, N, PerCol> = fill(0.7);",
                    "let t: rt<f32, M, N> = fill(-0.0);",
                    "let y = t.add_row(&v.to::<f32>()).add_col(&u.to::<f32>());",
                    STORE,
                ],
            ),
            body(
                "Vnni tile",
                of_mma(),
                &[
                    "let l: rt<A, M, K> = load(a, AT);",
                    "let r: rt<A, K, N, Vnni> = fill(0.3);",
                    "let mut y: rt<f32, M, N, Acc> = zeros();",
                    "mma_AB(&mut y, &l, &r);",
                    STORE,
                ],
            ),
        ],
        Family::Load => loads(name),
        Family::LoadVector => of_vectors("v"),
        Family::LoadScalar => vec![body(
            "one element",
            shown_as_f32(),
            &["let y: rt<f32, M, N> = fill(load_scalar(b, THERE));", STORE],
        )],
        Family::Prefetch => {
            // Work shared with nobody is not shared, so these grids have peers.
            let peers: &[(&str, Option<(u32, u32)>)] = if name == "prefetch_load" {
                &[("", None)]
            } else {
                &[(", Peers::Row", Some((1, 2))), (", Peers::Col", Some((2, 1)))]
            };
            let one = |&(peers, grid): &(&str, Option<(u32, u32)>)| {
                let line = format!("{name}::<rt<B, M, N>>(b, AT{peers});");
                let lines = [line.as_str(), "let y: rt<B, M, N> = load(b, AT);", STORE];
                Body { grid, ..body(format!("whole{peers}"), own_type(), &lines) }
            };
            peers.iter().map(one).collect()
        }
        Family::Store => {
            let mut anywhere = body(
                "any coordinate",
                own_type(),
                &[
                    "let y: rt<B, M, N> = load(b, AT);",
                    "store_at(c, &y.to::<C>(), [own.batch(), own.depth(), own.row() + n, own.col() + w as u32]);",
                ],
            );
            anywhere.is_unsafe = true;
            let mut elements = body(
                "any element",
                own_type(),
                &[
                    "let y: rt<B, M, N> = load(b, AT);",
                    "if own.row() + own.col() + own.batch() + own.depth() == 0u32 {",
                    "store_at(c, &y.to::<C>(), elements([n, w as u32]));",
                    "}",
                ],
            );
            elements.is_unsafe = true;
            if name == "store_transpose" {
                let store = "store_transpose(c, &y.to::<C>(), own);";
                return vec![body("owned tile", own_type(), &["let y: rt<B, N, M> = load(b, AT);", store])];
            }
            vec![
                body("owned tile", own_type(), &["let y: rt<B, M, N> = load(b, AT);", STORE]),
                anywhere,
                elements,
            ]
        }
        Family::SharedMove | Family::SharedCopy | Family::Barrier => shared::bodies(name),
        Family::Transpose => of_turned(&["let t: rt<B, N, M> = load(b, AT);", "let y = t.transpose();"]),
        Family::SubTile => {
            let whole = "let mut t: rt<B, D, N> = load(b, AT);";
            let part = "let p: rt<B, M, N> = load(b, [own.row(), own.col()]);";
            let set = "t.set_sub_tile(&p, 0, 0);";
            let other = "let y = t.sub_tile::<M, N>(1, 0).add(&t.sub_tile::<M, N>(0, 0));";
            let small = "let y = t.sub_tile::<M, N>(1, 0);";
            if name == "sub_tile" {
                vec![body("Row tile", own_type(), &["let t: rt<B, D, N> = load(b, AT);", small, STORE])]
            } else {
                vec![body("Row tile", own_type(), &[whole, part, set, other, STORE])]
            }
        }
        Family::AtomicAdd => {
            let lines: &[&str] = if name == "atomic_add" {
                &[
                    "let y: rt<B, M, N> = load(b, AT);",
                    "atomic_add(c, &y, [own.batch(), own.depth(), own.row(), own.col()]);",
                ]
            } else {
                &[
                    "let v: rv<B, N, PerCol> = load_vec(b, THERE);",
                    "atomic_add_vec(c, &v, [own.batch(), own.depth(), own.row() * 8u32, own.col()]);",
                ]
            };
            vec![body("each element once", own_type(), lines)]
        }
        Family::Mma => vec![
            body(
                "mma_AB over K",
                of_mma(),
                &[
                    "let mut y: rt<f32, M, N, Acc> = fill(x);",
                    "for k in 0..a.col_tiles(K) {",
                    "let l: rt<A, M, K> = load(a, [own.row() + n, k]);",
                    "let r: rt<A, K, N, Vnni> = load_transform(a, [k, own.col() + w as u32]);",
                    "mma_AB(&mut y, &l, &r);",
                    "}",
                    STORE,
                ],
            ),
            body(
                "mma_ABt over K",
                of_mma(),
                &[
                    "let mut y: rt<f32, M, N, Acc> = zeros();",
                    "for k in 0..a.col_tiles(K) {",
                    "let l: rt<A, M, K> = load(a, [own.row() + n, k]);",
                    "let r: rt<A, K, N, VnniT> = load_transpose(a, [own.col() + w as u32, k]);",
                    "mma_ABt(&mut y, &l, &r);",
                    "}",
                    STORE,
                ],
            ),
        ],
        Family::Convert => {
            let pairs = DType::COMPUTING
                .iter()
                .flat_map(|b| DType::COMPUTING.iter().map(|c| [DType::F16, *b, *c]))
                .collect();
            let mut all = vec![body("Row tile", pairs, &["let y: rt<B, M, N> = load(b, AT);", STORE])];
            let from_f32 = DType::COMPUTING.iter().map(|c| [DType::Bf16, DType::F32, *c]).collect();
            all.push(body("Acc tile", from_f32, &["let y: rt<f32, M, N, Acc> = load(f, AT);", STORE]));
            all.extend(of_vectors("v.to::<f32>().to::<B>()"));
            all
        }
        Family::Scale => vec![
            body(
                "Row tile",
                f32_only(),
                &["let t: rt<f32, M, N> = load(f, AT);", "let y = t.scale(x);", STORE],
            ),
            body(
                "Acc tile",
                f32_only(),
                &["let t: rt<f32, M, N, Acc> = load(f, AT);", "let y = t.scale(x);", STORE],
            ),
            body(
                "vector",
                f32_only(),
                &[
                    "let v: rv<f32, M, PerRow> = load_vec(f, THERE);",
                    "let z: rt<f32, M, N> = fill(-0.0);",
                    "let y = z.add_row(&v.scale(x));",
                    STORE,
                ],
            ),
        ],
        Family::MapUnary => {
            let mut all = of_tiles(&format!("t.{name}()"));
            all.extend(of_vectors(&format!("v.{name}()")));
            // Those that f32 has in Rust.
            if ["abs", "exp", "exp2", "log2", "sqrt", "recip", "tanh"].contains(&name) {
                let text = format!("load_scalar(f, THERE).{name}()").replace("THERE", THERE);
                all.push(scalar("scalar", ScalarType::F32, &text));
            }
            all
        }
        Family::MapBinary => {
            let mut all = of_tiles(&format!("t.{name}(x)"));
            for (load, call) in [
                ("let u: rt<B, M, N> = load(b, [n, own.col()]);".to_string(), name.to_string()),
                ("let u: rv<f32, M, PerRow> = load_vec(f, THERE);".to_string(), format!("{name}_row")),
                ("let u: rv<f32, N, PerCol> = load_vec(f, THERE);".to_string(), format!("{name}_col")),
            ] {
                let line = format!("let y = t.{call}(&u);");
                let form = format!("{call} with {}", if call == name { "a tile" } else { "a vector" });
                all.push(body(form, own_type(), &["let t: rt<B, M, N> = load(b, AT);", &load, &line, STORE]));
            }
            all.extend(of_vectors(&format!("v.{name}(&v.abs())")));
            all.extend(of_vectors(&format!("v.{name}(x)")));
            all
        }
        Family::MapTernary => {
            let mut all = of_tiles(&format!("t.{name}(&t.abs(), x)"));
            all.extend(of_tiles(&format!("t.{name}(x, &t)")));
            all.extend(of_vectors(&format!("v.{name}(&v, x)")));
            all
        }
        Family::MapCompare => {
            let mut all = of_tiles(&format!("t.{name}(x).select(&t, x)"));
            all.extend(of_tiles(&format!("t.{name}(&t.abs()).select(&t, &t.neg())")));
            for (line, form) in [("row", "M, PerRow"), ("col", "N, PerCol")] {
                let load = format!("let u: rv<f32, {form}> = load_vec(f, THERE);");
                let y = format!("let y = t.{name}_{line}(&u).select(&t, x);");
                let lines = ["let t: rt<B, M, N> = load(b, AT);", &load, &y, STORE];
                all.push(body(format!("{name}_{line} with a vector"), own_type(), &lines));
            }
            all.extend(of_vectors(&format!("v.{name}(x).select(&v, &v.abs())")));
            all
        }
        Family::Logic => {
            let mask = |of: &str| match name {
                "not" => format!("{of}.lt(x).not()"),
                both => format!("{of}.lt(x).{both}(&{of}.abs().ge(&{of}))"),
            };
            if name == "any" {
                let mut all = of_tiles("if t.lt(x).any() { t.neg() } else { t.abs() }");
                all.extend(of_vectors("if v.gt(x).any() { v.neg() } else { v.abs() }"));
                return all;
            }
            let mut all = of_tiles(&format!("{}.select(&t, x)", mask("t")));
            all.extend(of_vectors(&format!("{}.select(&v, x)", mask("v"))));
            all
        }
        Family::Select => {
            let mut all = of_tiles("t.gt(x).select(&t, x)");
            all.extend(of_tiles("t.ne(&t).select(&t.neg(), &t)"));
            all.extend(of_vectors("v.le(x).select(&v, x)"));
            all
        }
        Family::Iota => {
            let (side, along, spread) =
                if name == "iota_rows" { ("M", "PerRow", "add_row") } else { ("N", "PerCol", "add_col") };
            // By name: no bound on a type parameter says that it counts.
            let types: Vec<_> = own_type().into_iter().filter(|t| t[1] == t[1].wide()).collect();
            let tile = format!("let y: rt<f32, M, N> = {name}(x);");
            let vector = format!("let v: rv<f32, {side}, {along}> = iota(x);");
            let shown = format!("let y = z.{spread}(&v);");
            vec![
                body("Row tile", types.clone(), &[&tile, STORE]),
                body("vector", types, &[&vector, "let z: rt<f32, M, N> = fill(-0.0);", &shown, STORE]),
            ]
        }
        Family::Reduce => {
            let rows = name.starts_with("row_");
            let (load, spread) = if rows {
                ("let v: rv<f32, M, PerRow> = load_vec(f, THERE);", "add_row")
            } else {
                ("let v: rv<f32, N, PerCol> = load_vec(f, THERE);", "add_col")
            };
            let zero = "let z: rt<f32, M, N> = fill(-0.0);";
            let tile = "let t: rt<B, M, N> = load(b, AT);";
            let plain = format!("let y = z.{spread}(&t.{name}());");
            let running = format!("let y = z.{spread}(&t.{name}_with(&v));");
            vec![
                body("Row tile", shown_as_f32(), &[tile, zero, &plain, STORE]),
                body("Row tile, running", shown_as_f32(), &[tile, load, zero, &running, STORE]),
                body(
                    "Acc tile",
                    f32_only(),
                    &["let t: rt<f32, M, N, Acc> = load(f, AT);", zero, &plain, STORE],
                ),
            ]
        }
        Family::TopK => topk::bodies(name),
        Family::StoreVector | Family::ReduceVector | Family::Arg | Family::Encode => {
            super::vectors::bodies(op)
        }
        Family::KeepFirst => of_tiles(&format!("t.{name}(n ^ (i as u32), x)"))
            .into_iter()
            .chain(of_tiles(&format!("t.{name}(n + 5u32, 7.0)")))
            .collect(),
        Family::Triangle => of_tiles(&format!("t.{name}(n, w as u32, x)"))
            .into_iter()
            .chain(of_tiles(&format!("t.{name}(own.row() * 8u32, 3u32, -1.0)")))
            .collect(),
        Family::Const => [
            (ScalarType::U32, "4294967295u32"),
            (ScalarType::I32, "-2147483647i32"),
            (ScalarType::U64, "18446744073709551615u64"),
            (ScalarType::F32, "1.17549435e-38"),
            (ScalarType::F32, "f32::INFINITY"),
            (ScalarType::F32, "f32::NEG_INFINITY"),
            (ScalarType::F32, "f32::NAN"),
            (ScalarType::Bool, "true"),
        ]
        .iter()
        .map(|(ty, text)| scalar(ty.name(), *ty, text))
        .collect(),
        Family::Binary => {
            let found = Binary::ALL.iter().find(|b| b.name() == name).copied();
            let types = ScalarType::ALL.iter().filter(|ty| found.is_some_and(|b| b.takes(**ty)));
            types
                .map(|ty| {
                    let (left, right) = operands(*ty);
                    let call = op.calls[0].as_str();
                    let method = matches!(found, Some(Binary::Min | Binary::Max));
                    let text = if method {
                        format!("{left}.{call}({right})")
                    } else {
                        format!("{left} {call} {right}")
                    };
                    scalar(ty.name(), *ty, &text)
                })
                .collect()
        }
        Family::Unary => {
            let found = Unary::ALL.iter().find(|u| u.name() == name).copied();
            let types = ScalarType::ALL.iter().filter(|ty| found.is_some_and(|u| u.takes(**ty)));
            types.map(|ty| scalar(ty.name(), *ty, &format!("{}{}", op.calls[0], operands(*ty).0))).collect()
        }
        Family::Compare => {
            let found = Compare::ALL.iter().find(|c| c.name() == name).copied();
            let types = ScalarType::ALL.iter().filter(|ty| found.is_some_and(|c| c.takes(**ty)));
            types
                .map(|ty| {
                    let (left, right) = operands(*ty);
                    scalar(ty.name(), ScalarType::Bool, &format!("{left} {} {right}", op.calls[0]))
                })
                .collect()
        }
        Family::Cast => {
            let pairs =
                ScalarType::ALL.iter().flat_map(|from| ScalarType::ALL.iter().map(move |to| (*from, *to)));
            pairs
                .filter(|(from, to)| casts(*from, *to))
                .map(|(from, to)| {
                    scalar(format!("{from} as {to}"), to, &format!("{} as {to}", operands(from).0))
                })
                .collect()
        }
        Family::For | Family::While | Family::If => control::bodies(op.family),
    }
}

fn loads(name: &str) -> Vec<Body> {
    let (role, load, multiply) = match name {
        "load" => {
            let mut all = vec![
                body("Row tile", own_type(), &["let y: rt<B, M, N> = load(b, AT);", STORE]),
                body("Acc tile", f32_only(), &["let y: rt<f32, M, N, Acc> = load(f, AT);", STORE]),
                body(
                    "any element",
                    own_type(),
                    &["let y: rt<B, M, N> = load(b, elements([own.row() * 8u32 + n, w as u32]));", STORE],
                ),
                body(
                    "any plane",
                    own_type(),
                    &["let y: rt<B, M, N> = load(b, [w as u32, n, own.row(), own.col()]);", STORE],
                ),
                body("owned output", own_type(), &["let y: rt<C, M, N> = load(c, own);", STORE]),
            ];
            // The output is read as it was, which is NaN outside and what the tensor holds inside.
            all[4].types = own_type();
            return all;
        }
        "load_transform" => ("Vnni", "load_transform(a, AT)", "mma_AB"),
        _ => ("VnniT", "load_transpose(a, AT)", "mma_ABt"),
    };
    let right = format!("let r: rt<A, K, N, {role}> = {load};");
    let shifted = right.replace("AT", "elements([n + 3u32, w as u32])");
    let multiply = format!("{multiply}(&mut y, &l, &r);");
    let start =
        ["let mut y: rt<f32, M, N, Acc> = zeros();", "let l: rt<A, M, K> = load(a, [own.row(), 0u32]);"];
    vec![
        body(format!("{role} tile"), of_mma(), &[start[0], start[1], &right, &multiply, STORE]),
        body(
            format!("{role} tile at any element"),
            of_mma(),
            &[start[0], start[1], &shifted, &multiply, STORE],
        ),
    ]
}
