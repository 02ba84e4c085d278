//! Owns the language reference, `docs/language.md`: generated from the tables of ops, types, instructions and rules.
//!
//! *Guarantees*: what a table says is written there and nowhere else; every example is run as a documentation test of
//! `tile-std`; a test fails when the file is not what [`text`] gives. *Not here*: the tables (`tile_ir`).

pub mod examples;
pub mod operands;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tile_ir::error::Code;
use tile_ir::legal::{BLOCKS, BlockOp, MMAS};
use tile_ir::ops::list::{Accuracy, Entry, Family};
use tile_ir::scalar::{Binary, Compare, Unary, casts};
use tile_ir::types::{DType, ScalarType, Type};

/// The path of the reference in the repository.
pub const PATH: &str = "docs/language.md";

/// The whole reference.
pub fn text() -> String {
    let mut text = String::from(examples::INTRODUCTION);
    types(&mut text);
    text.push_str(examples::CONSTRUCTS);
    text.push_str("\n## Ops\n");
    for family in Family::ALL {
        section(&mut text, *family);
    }
    scalars(&mut text);
    instructions(&mut text);
    rules(&mut text);
    text
}

fn list<T: core::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| format!("`{item}`")).collect::<Vec<_>>().join(", ")
}

/// Element types that tensors have.
const TENSORS: &[DType] = &[DType::Bf16, DType::F16, DType::F32, DType::I8, DType::U8, DType::I32];

fn types(text: &mut String) {
    text.push_str(
        "\n## Types\n\n| element type | bytes | operand of a matrix multiplication |\n|---|---|---|\n",
    );
    for dtype in DType::ALL {
        let rows: Vec<String> = MMAS
            .iter()
            .filter(|row| row.a == *dtype)
            .map(|row| format!("by `{}` into `{}`", row.b, row.acc))
            .collect();
        let mma = if rows.is_empty() { "no".to_string() } else { rows.join(", ") };
        let _ = writeln!(text, "| `{dtype}` | {} | {mma} |", dtype.size_bytes());
    }
    text.push_str(examples::TYPES);
}

/// How kernel source calls an entry.
fn form(entry: &Entry, call: &str) -> String {
    let named = [tile_front::OPS, tile_front::METHODS, tile_front::GROUP_OPS].concat();
    let known = named.iter().find(|(name, _)| *name == call);
    if let Some((_, form)) = known {
        return format!("`{form}`");
    }
    match entry.family {
        Family::MapUnary | Family::Reduce if !call.ends_with("_with") => format!("`x.{call}()`"),
        Family::Reduce => format!("`x.{call}(&running)`"),
        Family::MapBinary if call == entry.name => format!("`x.{call}(&y)`, `x.{call}(s)`"),
        Family::MapBinary => format!("`x.{call}(&v)`"),
        Family::Binary | Family::Compare if call.starts_with('m') => format!("`a.{call}(b)`"),
        Family::Binary | Family::Compare => format!("`a {} b`", call.replace('|', "\\|")),
        Family::Unary => format!("`{call}a`"),
        Family::Cast => "`a as T`".to_string(),
        _ => format!("`{call}`"),
    }
}

fn accuracy(accuracy: Accuracy) -> String {
    match accuracy {
        Accuracy::Exact => "exact".to_string(),
        Accuracy::Ulp(n) => format!("{n} ulp"),
        Accuracy::AnyOrder => "any order".to_string(),
    }
}

fn section(text: &mut String, family: Family) {
    let entries = family.entries();
    let _ = writeln!(text, "\n### {}\n\n{}\n", family.title(), family.doc());
    text.push_str("| op | what it does | accuracy |\n|---|---|---|\n");
    for entry in &entries {
        let forms: Vec<String> = entry.calls.iter().map(|call| form(entry, call)).collect();
        let doc = if entry.doc == family.doc() && entries.len() == 1 { "as above" } else { entry.doc };
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            forms.join(", "),
            doc.replace('|', "\\|"),
            accuracy(entry.accuracy)
        );
    }
    legality(text, &entries);
    let _ = writeln!(text, "\n```rust\n{}\n```", examples::of(family).trim());
}

/// The element types that each op takes in each role, ops with the same ones together.
fn legality(text: &mut String, entries: &[Entry]) {
    let mut groups: Vec<(Vec<&str>, Vec<Type>)> = vec![];
    for entry in entries {
        let Some(taken) = operands::taken(entry) else { continue };
        match groups.iter_mut().find(|(_, types)| *types == taken) {
            Some((names, _)) => names.push(&entry.name),
            None => groups.push((vec![&entry.name], taken)),
        }
    }
    if groups.is_empty() {
        return;
    }
    let columns = ["Row", "Acc", "Vnni", "VnniT", "PerRow", "PerCol", "Wide", "scalar"];
    let _ = writeln!(
        text,
        "\n| element types of | {} |\n|---{}|",
        columns.map(|c| format!("`{c}`")).join(" | "),
        "|---".repeat(columns.len())
    );
    for (names, taken) in groups {
        let mut cells: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ty in taken {
            let name = match ty {
                Type::Tile(t) => t.dtype.name(),
                Type::Vector(v) => v.dtype.name(),
                Type::Scalar(s) => s.name(),
            };
            cells.entry(operands::column(ty)).or_default().push(name.to_string());
        }
        let names =
            if names.len() == entries.len() && entries.len() > 3 { "all".into() } else { list(names) };
        let row: Vec<String> =
            columns.iter().map(|c| cells.get(c).map_or_else(|| "–".to_string(), |d| d.join(" "))).collect();
        let _ = writeln!(text, "| {names} | {} |", row.join(" | "));
    }
    if entries.iter().any(|e| e.family == Family::Convert) {
        text.push_str("\n| from \\ to |");
        for to in TENSORS {
            let _ = write!(text, " `{to}` |");
        }
        let _ = writeln!(text, "\n|---|{}", "---|".repeat(TENSORS.len()));
        for from in TENSORS {
            let _ = write!(text, "| `{from}` |");
            for to in TENSORS {
                let _ = write!(text, " {} |", if operands::converts(*from, *to) { "yes" } else { "–" });
            }
            text.push('\n');
        }
    }
}

fn scalars(text: &mut String) {
    text.push_str(examples::SCALARS);
    text.push_str("\n| op | types |\n|---|---|\n");
    let types = |takes: &dyn Fn(ScalarType) -> bool| list(ScalarType::ALL.iter().filter(|ty| takes(**ty)));
    let symbol = |symbol: &str| symbol.replace('|', "\\|");
    for op in Binary::ALL {
        let _ = writeln!(text, "| `{}` | {} |", symbol(op.symbol()), types(&|ty| op.takes(ty)));
    }
    for op in Unary::ALL {
        let _ = writeln!(text, "| `{}a` | {} |", op.symbol(), types(&|ty| op.takes(ty)));
    }
    for op in Compare::ALL {
        let _ = writeln!(text, "| `{}` | {} |", op.symbol(), types(&|ty| op.takes(ty)));
    }
    for from in ScalarType::ALL {
        let _ = writeln!(text, "| `{from} as` | {} |", types(&|to| casts(*from, to)));
    }
}

fn instructions(text: &mut String) {
    text.push_str(
        "\n## Instructions\n\nThe matrix instructions an Intel GPU has, and so the element types of `mma_AB` and `mma_ABt`:\n\n\
         | operands | accumulator | elements along K at a time | devices | source |\n|---|---|---|---|---|\n",
    );
    let devices =
        |devices: &[tile_ir::legal::Device]| devices.iter().map(|d| d.name()).collect::<Vec<_>>().join(" ");
    for row in MMAS {
        let _ = writeln!(
            text,
            "| `{}` by `{}` | `{}` | {} | {} | {} |",
            row.a,
            row.b,
            row.acc,
            row.k,
            devices(row.devices),
            row.source
        );
    }
    text.push_str(
        "\nThe block messages tiles are moved by; the compiler takes the largest that fits:\n\n\
         | message | bytes of an element | columns | rows | side by side | devices | source |\n|---|---|---|---|---|---|---|\n",
    );
    for row in BLOCKS {
        let op = match row.op {
            BlockOp::Load => "load",
            BlockOp::Transform => "load, packing pairs of rows",
            BlockOp::Transpose => "load, transposing",
            BlockOp::Prefetch => "prefetch",
            BlockOp::Store => "store",
        };
        let numbers = |n: &[u32]| n.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            text,
            "| {op} | {} | {} | {} | {} | {} | {} |",
            row.elem_bytes,
            row.width,
            numbers(row.heights),
            numbers(row.counts),
            devices(row.devices),
            row.source
        );
    }
}

fn rules(text: &mut String) {
    text.push_str("\n## Rules\n\nEvery error of the compiler has the code of a rule; `cargo tile explain T020` prints its text.\n");
    for code in Code::ALL {
        // Indented code of the terminal becomes a block here.
        let explanation: Vec<String> = code
            .explain()
            .split("\n\n")
            .map(|part| {
                if part.starts_with("    ") {
                    format!("```text\n{}\n```", unindented(part))
                } else {
                    part.to_string()
                }
            })
            .collect();
        let _ = writeln!(text, "\n### {}: {}\n\n{}", code.as_str(), code.title(), explanation.join("\n\n"));
    }
}

fn unindented(text: &str) -> String {
    text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}
