//! A small assembler for the text form of SPIR-V, driven by rspirv's grammar tables.
//!
//! *Guarantees*: the same words as `spirv-as --target-env spv1.4` for the forms the tests use (checked by
//! `assembler.rs`). *Not here*: floats in hexadecimal, image operands, quotes inside strings.

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use rspirv::spirv;
use std::collections::HashMap;
use std::process::Command;
use std::str::FromStr;

#[derive(Default)]
struct Assembler {
    ids: HashMap<String, u32>,
    /// (is float, bits) of number types, and the type of each value, for literals.
    types: HashMap<u32, (bool, u32)>,
    values: HashMap<u32, u32>,
    words: Vec<u32>,
}

/// Assembles a module.
///
/// # Panics
/// On anything it does not understand: tests give it fixed text.
pub fn assemble(text: &str) -> Vec<u32> {
    let mut a = Assembler::default();
    for line in text.lines() {
        let tokens = tokens(line);
        if !tokens.is_empty() {
            a.instruction(&tokens);
        }
    }
    let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0400, 0x0007_0000, a.ids.len() as u32 + 1, 0];
    words.extend(a.words);
    words
}

fn tokens(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = line.split(';').next().unwrap_or("").trim();
    while !rest.is_empty() {
        if let Some(text) = rest.strip_prefix('"') {
            let end = text.find('"').expect("closing quote");
            out.push(format!("\"{}", &text[..end]));
            rest = text[end + 1..].trim_start();
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            out.push(rest[..end].to_string());
            rest = rest[end..].trim_start();
        }
    }
    out
}

fn string(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Bits of a mask operand from its names, ignoring how bitflags spell them.
fn mask<F: bitflags_names::Named>(token: &str) -> u32 {
    token.split('|').map(|name| F::find(name)).fold(0, |m, bit| m | bit)
}

mod bitflags_names {
    use rspirv::spirv;

    pub trait Named {
        fn find(name: &str) -> u32;
    }

    macro_rules! named {
        ($($name:ident),*) => { $(
            impl Named for spirv::$name {
                fn find(name: &str) -> u32 {
                    if name == "None" { return 0; }
                    let plain = |s: &str| s.replace('_', "").to_lowercase();
                    let all = spirv::$name::all();
                    let found = all.iter_names().find(|(n, _)| plain(n) == plain(name));
                    found.unwrap_or_else(|| panic!("no {} named {name}", stringify!($name))).1.bits()
                }
            }
        )* };
    }
    named!(MemoryAccess, FunctionControl, SelectionControl, LoopControl, MatrixMultiplyAccumulateOperands);
}

impl Assembler {
    fn id(&mut self, token: &str) -> u32 {
        assert!(token.starts_with('%'), "{token} is not an id");
        let next = self.ids.len() as u32 + 1;
        *self.ids.entry(token.to_string()).or_insert(next)
    }

    fn instruction(&mut self, tokens: &[String]) {
        let (result, rest) = match tokens {
            [id, equals, rest @ ..] if equals == "=" => (Some(id.clone()), rest),
            rest => (None, rest),
        };
        let name = rest[0].strip_prefix("Op").unwrap_or_else(|| panic!("{rest:?}"));
        let inst = INSTRUCTION_TABLE.iter().find(|i| i.opname == name);
        let inst = inst.unwrap_or_else(|| panic!("no instruction Op{name}"));
        let mut operands = rest[1..].iter().peekable();
        let mut words = Vec::new();
        let (mut ty, mut out) = (0, 0);
        // Ids are numbered in order of appearance, and the result appears first.
        if let Some(id) = &result {
            out = self.id(id);
        }
        for operand in inst.operands {
            match operand.kind {
                OperandKind::IdResultType => {
                    ty = self.id(operands.next().expect("a result type"));
                    words.push(ty);
                    continue;
                }
                OperandKind::IdResult => {
                    words.push(out);
                    continue;
                }
                _ => {}
            }
            loop {
                if operands.peek().is_none() {
                    assert!(
                        operand.quantifier != OperandQuantifier::One,
                        "{rest:?} lacks {:?}",
                        operand.kind
                    );
                    break;
                }
                self.operand(operand.kind, &mut operands, ty, &mut words);
                if operand.quantifier != OperandQuantifier::ZeroOrMore {
                    break;
                }
            }
        }
        for extra in operands {
            let word = self.parameter(extra);
            words.extend(word);
        }
        match name {
            "TypeInt" => drop(self.types.insert(out, (false, words[1]))),
            "TypeFloat" => drop(self.types.insert(out, (true, words[1]))),
            _ => drop(self.values.insert(out, ty)),
        }
        self.words.push((words.len() as u32 + 1) << 16 | inst.opcode as u32);
        self.words.extend(words);
    }

    /// A parameter of an enumerant: an id, a number, a string or another enumerant.
    fn parameter(&mut self, token: &str) -> Vec<u32> {
        if token.starts_with('%') {
            return vec![self.id(token)];
        }
        if let Some(text) = token.strip_prefix('"') {
            return string(text);
        }
        if let Ok(number) = token.parse::<i64>() {
            return vec![number as u32];
        }
        if let Ok(builtin) = spirv::BuiltIn::from_str(token) {
            return vec![builtin as u32];
        }
        if let Ok(mode) = spirv::FPRoundingMode::from_str(token) {
            return vec![mode as u32];
        }
        panic!("parameter {token}")
    }

    fn number(&self, token: &str, ty: u32) -> Vec<u32> {
        let (float, bits) = self.types.get(&ty).copied().unwrap_or((false, 32));
        let value = match (float, bits) {
            (true, 64) => token.parse::<f64>().unwrap().to_bits(),
            (true, 32) => u64::from(token.parse::<f32>().unwrap().to_bits()),
            (true, _) => u64::from(half::f16::from_f64(token.parse().unwrap()).to_bits()),
            (false, _) => token.parse::<i128>().unwrap_or_else(|_| panic!("{token}")) as u64,
        };
        if bits == 64 { vec![value as u32, (value >> 32) as u32] } else { vec![value as u32] }
    }

    fn operand<'t>(
        &mut self,
        kind: OperandKind,
        operands: &mut std::iter::Peekable<impl Iterator<Item = &'t String>>,
        ty: u32,
        words: &mut Vec<u32>,
    ) {
        let token = operands.next().unwrap().clone();
        macro_rules! enumerant {
            ($name:ident) => {
                words.push(spirv::$name::from_str(&token).unwrap_or_else(|_| panic!("{token}")) as u32)
            };
        }
        match kind {
            OperandKind::IdRef | OperandKind::IdScope | OperandKind::IdMemorySemantics => {
                let id = self.id(&token);
                words.push(id);
            }
            OperandKind::LiteralInteger => words.push(token.parse::<i64>().unwrap() as u32),
            OperandKind::LiteralString => words.extend(string(token.strip_prefix('"').unwrap())),
            OperandKind::LiteralContextDependentNumber => words.extend(self.number(&token, ty)),
            OperandKind::LiteralExtInstInteger => {
                let ops = (0..256).filter_map(spirv::OpenclStd100Op::from_u32);
                let op = { ops }.find(|op| format!("{op:?}") == token);
                words.push(op.unwrap_or_else(|| panic!("{token}")) as u32);
            }
            OperandKind::PairLiteralIntegerIdRef => {
                let selector = self.values.get(&words[0]).copied().unwrap_or(0);
                words.extend(self.number(&token, selector));
                let label = self.id(operands.next().unwrap());
                words.push(label);
            }
            OperandKind::PairIdRefIdRef => {
                let (a, b) = (self.id(&token), operands.next().unwrap().clone());
                words.push(a);
                let b = self.id(&b);
                words.push(b);
            }
            OperandKind::Capability => enumerant!(Capability),
            OperandKind::AddressingModel => enumerant!(AddressingModel),
            OperandKind::MemoryModel => enumerant!(MemoryModel),
            OperandKind::ExecutionModel => enumerant!(ExecutionModel),
            OperandKind::ExecutionMode => enumerant!(ExecutionMode),
            OperandKind::Decoration => enumerant!(Decoration),
            OperandKind::StorageClass => enumerant!(StorageClass),
            OperandKind::GroupOperation => enumerant!(GroupOperation),
            OperandKind::SourceLanguage => enumerant!(SourceLanguage),
            OperandKind::MemoryAccess => words.push(mask::<spirv::MemoryAccess>(&token)),
            OperandKind::FunctionControl => words.push(mask::<spirv::FunctionControl>(&token)),
            OperandKind::SelectionControl => words.push(mask::<spirv::SelectionControl>(&token)),
            OperandKind::LoopControl => words.push(mask::<spirv::LoopControl>(&token)),
            OperandKind::MatrixMultiplyAccumulateOperands => {
                words.push(match token.parse::<u32>() {
                    Ok(bits) => bits,
                    Err(_) => mask::<spirv::MatrixMultiplyAccumulateOperands>(&token),
                });
            }
            other => panic!("operand kind {other:?}"),
        }
        // An aligned access is followed by its alignment.
        if kind == OperandKind::MemoryAccess && token.contains("Aligned") {
            words.push(operands.next().unwrap().parse().unwrap());
        }
    }
}

/// Assembles with the real `spirv-as`, if it is installed in the workspace's `target/tools/bin` (or the folder
/// that `TILE_TOOLS` names).
///
/// # Panics
/// If it is missing and `TILE_REQUIRE_TOOLS=1`, or if it rejects the text.
pub fn assemble_with_tool(text: &str) -> Option<Vec<u32>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tools/bin");
    let tool =
        std::path::Path::new(&std::env::var_os("TILE_TOOLS").unwrap_or(folder.into())).join("spirv-as");
    if !tool.exists() {
        assert!(
            std::env::var_os("TILE_REQUIRE_TOOLS").is_none_or(|v| v != "1"),
            "spirv-as is required but {} does not exist",
            tool.display()
        );
        return None;
    }
    let tool = tool.canonicalize().unwrap();
    let stem = format!("tile-sim-{}-{:?}", std::process::id(), std::thread::current().id());
    let (source, target) = (std::env::temp_dir().join(&stem), std::env::temp_dir().join(stem + ".spv"));
    std::fs::write(&source, text).unwrap();
    let status =
        Command::new(&tool).args(["--target-env", "spv1.4", "-o"]).arg(&target).arg(&source).output();
    let output = status.unwrap();
    assert!(output.status.success(), "spirv-as: {}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&target).unwrap();
    std::fs::remove_file(source).unwrap();
    std::fs::remove_file(target).unwrap();
    Some(bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect())
}
