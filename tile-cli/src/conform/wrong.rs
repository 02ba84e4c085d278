//! Owns a wrong use of each op, with the rule it breaks.

use tile_ir::error::Code;
use tile_ir::ops::list::{Entry, Family};

use super::bodies::{Body, f32_only};

/// A kernel that uses the op wrongly, and the rule it breaks.
pub fn wrong(op: &Entry) -> (Body, Code) {
    let name = op.name.as_str();
    let packed = "let t: rt<A, K, N, Vnni> = load_transform(a, [0u32, 0u32]);";
    let tile = "let t: rt<B, M, N> = load(b, [0u32, 0u32]);";
    let (code, lines): (Code, Vec<String>) = match op.family {
        Family::OwnTile => (Code::Grid, vec!["let other = own_tile::<M, N>(a, Linear);".into()]),
        Family::Place => (Code::Arguments, vec![format!("let r = {name}(1u32);")]),
        Family::Dim => (Code::UnknownOp, vec!["let r = n.rows();".into()]),
        Family::Zeros => (Code::UntypedSource, vec!["let t = zeros();".into()]),
        Family::Fill => (Code::UntypedSource, vec!["let t = fill(1.0);".into()]),
        Family::Load => {
            let line = match name {
                "load" => "let t: rt<A, K, N, Vnni> = load(a, [0u32, 0u32]);",
                "load_transform" => "let t: rt<A, M, N> = load_transform(a, [0u32, 0u32]);",
                _ => "let t: rt<f32, K, N, VnniT> = load_transpose(f, [0u32, 0u32]);",
            };
            (Code::LoadForm, vec![line.into()])
        }
        Family::LoadVector => {
            (Code::LoadForm, vec!["let v: rv<A, M, PerRow> = load_vec(f, [0u32, 0u32]);".into()])
        }
        Family::LoadScalar => (Code::LoadFromOutput, vec!["let s = load_scalar(c, [0u32, 0u32]);".into()]),
        Family::Prefetch => {
            let peers = if name == "prefetch_load" { "" } else { ", Peers::Row" };
            (Code::Mismatch, vec![format!("{name}::<rt<B, M, N>>(b, [i, 0u32]{peers});")])
        }
        Family::SharedMove => {
            let lines = match name {
                "load_vec_shared" => {
                    "let s: sv<f32, 32> = shared();\nlet v: rv<f32, 8, PerRow> = load_vec_shared(&s, i);"
                }
                "store_vec_shared" => {
                    "let mut s: sv<f32, 32> = shared();\nlet v: rv<f32, 8, PerRow> = zeros();\nstore_vec_shared(&mut s, &v, i);"
                }
                "store_shared" => {
                    "let mut s: st<f32, 8, 16> = shared();\nlet t: rt<f32, 8, 16> = zeros();\nstore_shared(&mut s, &t, [i, 0u32]);"
                }
                "load_shared" => {
                    "let s: st<f32, 8, 16> = shared();\nlet t: rt<f32, 8, 16> = load_shared(&s, [i, 0u32]);"
                }
                "load_transform_shared" => {
                    "let s: st<A, 16, 16> = shared();\nlet t: rt<A, 16, 16, Vnni> = load_transform_shared(&s, [i, 0u32]);"
                }
                _ => {
                    "let s: st<A, 16, 16> = shared();\nlet t: rt<A, 16, 16, VnniT> = load_transpose_shared(&s, [i, 0u32]);"
                }
            };
            (Code::Mismatch, lines.lines().map(String::from).collect())
        }
        Family::SharedCopy if name == "load_coop" => (
            Code::CoopCoordinate,
            vec![
                "let mut s: st<f32, 8, 16> = shared();".into(),
                "load_coop(&mut s, f, [subgroup_id(), 0u32]);".into(),
            ],
        ),
        Family::SharedCopy => (
            Code::SharedAccess,
            vec!["let s: st<A, 16, 16> = shared();".into(), "store_coop(c, &s, own);".into()],
        ),
        Family::Barrier if name == "barrier" => (
            Code::BarrierDivergence,
            vec!["if subgroup_id() == 0u32 {".into(), "barrier();".into(), "}".into()],
        ),
        Family::Barrier => (Code::BarrierPairing, vec![format!("{name}();")]),
        Family::Transpose => (Code::TransposeShape, vec![packed.into(), "let u = t.transpose();".into()]),
        Family::SubTile if name == "sub_tile" => {
            (Code::SubTile, vec![tile.into(), "let u = t.sub_tile::<8, 16>(64, 0);".into()])
        }
        Family::SubTile => (
            Code::SubTile,
            vec![
                "let mut t: rt<f32, M, N> = load(f, [0u32, 0u32]);".into(),
                "let p: rt<f32, 8, 16> = zeros();".into(),
                "t.set_sub_tile(&p, 64, 0);".into(),
            ],
        ),
        Family::AtomicAdd => (
            Code::AtomicType,
            vec![
                "let t: rt<A, M, N> = load(a, [0u32, 0u32]);".into(),
                "atomic_add(c, &t, [0u32, 0u32]);".into(),
            ],
        ),
        Family::Store => (
            Code::StoreShape,
            vec![
                format!(
                    "let t: rt<A, {}, Vnni> = load_transform(a, [0u32, 0u32]);",
                    if name == "store" { "M, N" } else { "N, M" }
                ),
                format!("{name}(c, &t, own);"),
            ],
        ),
        Family::Mma => (
            Code::OperandRole,
            vec![
                "let mut y: rt<f32, M, N, Acc> = zeros();".into(),
                "let l: rt<A, M, K> = load(a, [0u32, 0u32]);".into(),
                "mma_AB(&mut y, &l, &l);".into(),
            ],
        ),
        Family::Convert => (Code::Conversion, vec![packed.into(), "let u = t.to::<f32>();".into()]),
        Family::Scale => (
            Code::ScaleType,
            vec!["let t: rt<A, M, N> = load(a, own);".into(), "let u = t.scale(2.0);".into()],
        ),
        Family::MapUnary => (Code::MapOperand, vec![packed.into(), format!("let u = t.{name}();")]),
        Family::MapBinary => (
            Code::MapOperand,
            vec![
                tile.into(),
                "let s: rt<B, D, N> = load(b, [0u32, 0u32]);".into(),
                format!("let u = t.{name}(&s);"),
            ],
        ),
        Family::MapTernary => (Code::MapOperand, vec![packed.into(), format!("let u = t.{name}(1.0, 2.0);")]),
        Family::MapCompare => (Code::MapOperand, vec![packed.into(), format!("let u = t.{name}(&t);")]),
        Family::Logic => {
            let operand = if matches!(name, "not" | "any") { "" } else { "&t" };
            (Code::Mask, vec![tile.into(), format!("let u = t.{name}({operand});")])
        }
        Family::Select => {
            let lines = ["let s: rt<B, D, N> = load(b, [0u32, 0u32]);", "let u = t.gt(x).select(&s, &s);"];
            (Code::Select, vec![tile.into(), lines[0].into(), lines[1].into()])
        }
        Family::Iota => (Code::Iota, vec![format!("let t: rt<A, M, N> = {name}(1.0);")]),
        Family::Reduce => (Code::ReduceOperand, vec![packed.into(), format!("let u = t.{name}();")]),
        Family::TopK => (Code::TopKShape, vec![tile.into(), format!("let (u, v) = t.{name}::<32>(33);")]),
        Family::StoreVector | Family::ReduceVector | Family::Arg | Family::Encode => {
            super::vectors::wrong(op)
        }
        Family::KeepFirst => (Code::MapOperand, vec![packed.into(), format!("let u = t.{name}(1u32, 0.0);")]),
        Family::Triangle => {
            (Code::MapOperand, vec![packed.into(), format!("let u = t.{name}(1u32, 2u32, 0.0);")])
        }
        Family::Const => (Code::Literal, vec!["let r: u32 = 4294967296u32;".into()]),
        Family::Binary => {
            let call = op.calls[0].as_str();
            let method = matches!(call, "min" | "max");
            (
                Code::Mismatch,
                vec![if method { format!("let r = n.{call}(i);") } else { format!("let r = n {call} i;") }],
            )
        }
        Family::Unary => {
            (Code::Mismatch, vec![if name == "neg" { "let r = -p;".into() } else { "let r = !x;".into() }])
        }
        Family::Compare => (Code::Mismatch, vec![format!("let r = n {} w;", op.calls[0])]),
        Family::Cast => (Code::Mismatch, vec!["let r = x as bool;".into()]),
        Family::For => (Code::Mismatch, vec!["for k in 0u32..i {".into(), "}".into()]),
        Family::While => (Code::Mismatch, vec!["while n {".into(), "}".into()]),
        Family::If => (Code::Mismatch, vec!["if n {".into(), "}".into()]),
    };
    (Body { form: "wrong".into(), lines, types: f32_only(), is_unsafe: false, grid: None }, code)
}
