//! Owns the kernels of the suite about the element types that do not compute: bytes (`i8`, `u8`), which are moved, converted and
//! multiplied into i32, and tf32, what a multiplication reads of an f32.
//!
//! *Guarantees*: tiles of bytes have columns, and packed ones rows, in multiples of 32 ([`sizes`]). *Not here*: the other element types
//! (`bodies`).

use tile_ir::ops::list::{Entry, Family};
use tile_ir::types::DType;

use super::bodies::{Body, body, f32_only};

const BYTES: [DType; 2] = [DType::I8, DType::U8];

/// Sizes `M`, `N`, `K` that tiles of these element types may have. Both sides of what is transposed are multiples of 16.
pub fn sizes(op: &Entry, types: [DType; 3], [m, n, k]: [u32; 3]) -> [u32; 3] {
    let turned = ["transpose", "load_transpose", "store_transpose"].contains(&op.name.as_str());
    let m = if turned { m.next_multiple_of(16) } else { m };
    if types.iter().any(|t| BYTES.contains(t)) {
        return [m, n.next_multiple_of(32), k.next_multiple_of(32)];
    }
    [m, n, k]
}

/// The element type of `b`, each once; the result has it too.
fn own() -> Vec<[DType; 3]> {
    BYTES.iter().map(|d| [DType::Bf16, *d, *d]).collect()
}

/// Both operands of a multiplication, mixed at will; the result is i32.
fn operands() -> Vec<[DType; 3]> {
    BYTES.iter().flat_map(|a| BYTES.iter().map(|b| [*a, *b, DType::I32])).collect()
}

/// From and to every element type of tensors, of which one at least is a byte.
fn conversions() -> Vec<[DType; 3]> {
    let tensors = || DType::COMPUTING.iter().chain(&BYTES);
    let pairs = tensors().flat_map(|b| tensors().map(|c| [DType::F16, *b, *c]));
    pairs.filter(|[_, b, c]| BYTES.contains(b) || BYTES.contains(c)).collect()
}

const STORE: &str = "store(c, &y.to::<C>(), own);";
const LOAD: &str = "let y: rt<B, M, N> = load(b, AT);";

/// Multiplications over K: of bytes from `a` and `b` into i32, and of what tf32 keeps of `f`.
fn multiplied(form: &str, role: &str, load: &str, at: &str, op: &str) -> Vec<Body> {
    let of = |left: (&str, &str), right: (&str, &str), acc: &str, start: &str, types| {
        let first = format!("let mut y: rt<{acc}, M, N, Acc> = {start};");
        let l = format!("let l: rt<{}, M, K> = load({}, [own.row() + n, k]);", left.0, left.1);
        let r = format!("let r: rt<{}, K, N, {role}> = {load}({}, {at});", right.0, right.1);
        let multiply = format!("{op}(&mut y, &l, &r);");
        let lines = [&first, "for k in 0..f.col_tiles(K) {", &l, &r, &multiply, "}", STORE];
        body(format!("{form} of {}", left.0), types, &lines)
    };
    let mut all = vec![
        of(("A", "a"), ("B", "b"), "i32", "fill(i)", operands()),
        of(("tf32", "f"), ("tf32", "f"), "f32", "fill(x)", f32_only()),
    ];
    all[0].form = format!("{form} of bytes");
    all
}

/// The kernels about an op; none for ops that take none of these types.
pub fn bodies(op: &Entry) -> Vec<Body> {
    let name = op.name.as_str();
    let packed = |role, load, op| {
        let mut all = multiplied(&format!("{role} tile"), role, load, "[k, own.col() + w as u32]", op);
        all.extend(multiplied(
            &format!("{role} tile at any element"),
            role,
            load,
            "elements([n + 3u32, w as u32])",
            op,
        ));
        all
    };
    match op.family {
        Family::Zeros => {
            vec![body("Row tile of bytes", own(), &["let y: rt<B, M, N> = zeros();", STORE])]
        }
        Family::Load if name == "load" => vec![
            body("Row tile of bytes", own(), &[LOAD, STORE]),
            body(
                "any element of bytes",
                own(),
                &["let y: rt<B, M, N> = load(b, elements([own.row() * 8u32 + n, w as u32]));", STORE],
            ),
            body(
                "any plane of bytes",
                own(),
                &["let y: rt<B, M, N> = load(b, [w as u32, n, own.row(), own.col()]);", STORE],
            ),
            body("owned output of bytes", own(), &["let y: rt<C, M, N> = load(c, own);", STORE]),
        ],
        Family::Load if name == "load_transform" => packed("Vnni", name, "mma_AB"),
        Family::Load => packed("VnniT", name, "mma_ABt")
            .into_iter()
            .map(|mut body| {
                // The tensor holds the transpose.
                for line in &mut body.lines {
                    *line = line.replace("[k, own.col() + w as u32]", "[own.col() + w as u32, k]");
                }
                body
            })
            .collect(),
        Family::Mma => {
            let mut all = multiplied("mma_AB", "Vnni", "load_transform", "[k, own.col()]", "mma_AB");
            all.extend(multiplied("mma_ABt", "VnniT", "load_transpose", "[own.col(), k]", "mma_ABt"));
            all
        }
        Family::Store if name == "store" => {
            let mut anywhere = body(
                "any coordinate of bytes",
                own(),
                &[LOAD, "store_at(c, &y, [own.batch(), own.depth(), own.row() + n, own.col() + w as u32]);"],
            );
            anywhere.is_unsafe = true;
            vec![body("owned tile of bytes", own(), &[LOAD, STORE]), anywhere]
        }
        Family::Convert => {
            let from_acc = BYTES.iter().map(|c| [DType::Bf16, DType::I32, *c]).collect();
            vec![
                body("Row tile of bytes", conversions(), &[LOAD, STORE]),
                body("Acc tile to bytes", from_acc, &["let y: rt<i32, M, N, Acc> = load(b, AT);", STORE]),
            ]
        }
        Family::Prefetch => {
            let prefetch = match name {
                "prefetch_load" => "prefetch_load::<rt<B, M, N>>(b, AT);",
                _ => "prefetch_load_coop::<rt<B, M, N>>(b, AT, Peers::Row);",
            };
            let mut whole = body("whole, of bytes", own(), &[prefetch, LOAD, STORE]);
            whole.grid = Some((1, 2));
            vec![whole]
        }
        _ => vec![],
    }
}
