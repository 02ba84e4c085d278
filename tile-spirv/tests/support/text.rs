//! Owns the text of a lowered kernel in golden files: types and constants by name, other ids numbered as they come.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::{BTreeMap, BTreeSet};

use rspirv::dr::{Instruction, Module, Operand, load_words};
use rspirv::spirv::{Op, StorageClass, Word};

/// A readable module.
pub struct Text {
    module: Module,
    names: BTreeMap<Word, String>,
}

impl Text {
    pub fn of(words: &[u32]) -> Text {
        let module = load_words(words).expect("the words are SPIR-V");
        let mut names: BTreeMap<Word, String> = BTreeMap::new();
        for i in &module.types_global_values {
            let Some(id) = i.result_id else { continue };
            let of = |o: &Operand, names: &BTreeMap<Word, String>| match o {
                Operand::IdRef(id) => names.get(id).cloned().unwrap_or_default(),
                Operand::StorageClass(StorageClass::Function) => "private".into(),
                Operand::StorageClass(StorageClass::CrossWorkgroup) => "global".into(),
                other => other.to_string(),
            };
            let operand = |n: usize| i.operands.get(n).map(|o| of(o, &names)).unwrap_or_default();
            let ty = i.result_type.and_then(|t| names.get(&t).cloned()).unwrap_or_default();
            let name = match i.class.opcode {
                Op::TypeVoid => "void".into(),
                Op::TypeBool => "bool".into(),
                Op::TypeInt => format!("u{}", operand(0)),
                Op::TypeFloat => format!("f{}", operand(0)),
                Op::TypeVector => format!("v{}{}", operand(1), operand(0)),
                Op::TypeArray => format!("{}x{}", operand(0), operand(1)),
                Op::TypePointer => format!("{}*{}", operand(0), operand(1)),
                Op::Constant => format!("{ty}_{}", operand(0)),
                Op::ConstantTrue => "true".into(),
                Op::ConstantFalse => "false".into(),
                Op::ConstantNull => format!("{ty}_null"),
                _ => continue,
            };
            names.insert(id, name);
        }
        for i in &module.annotations {
            if let [Operand::IdRef(id), _, Operand::BuiltIn(which)] = i.operands[..] {
                names.insert(id, format!("{which:?}"));
            }
        }
        Text { module, names }
    }

    fn instructions(&self) -> Vec<&Instruction> {
        let f = &self.module.functions[0];
        f.blocks.iter().flat_map(|b| b.label.iter().chain(&b.instructions)).collect()
    }

    fn print(&self, list: &[&Instruction]) -> String {
        let mut names = self.names.clone();
        for (n, p) in self.module.functions[0].parameters.iter().enumerate() {
            names.insert(p.result_id.unwrap_or(0), format!("arg{n}"));
        }
        let mut next = 0;
        let mut out = String::new();
        for i in list {
            let mut name = |id: Word| {
                let name = names.entry(id).or_insert_with(|| {
                    next += 1;
                    next.to_string()
                });
                format!("%{name}")
            };
            let result = i.result_id.map(|id| format!("{} = ", name(id))).unwrap_or_default();
            let ty = i.result_type.map(|id| format!(" {}", name(id))).unwrap_or_default();
            let mut operands = String::new();
            for o in &i.operands {
                operands.push(' ');
                match o {
                    Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id) => {
                        operands.push_str(&name(*id))
                    }
                    other => operands.push_str(&other.to_string()),
                }
            }
            out.push_str(&format!("{result}Op{}{ty}{operands}\n", i.class.opname));
        }
        out
    }

    /// The whole body.
    pub fn body(&self) -> String {
        self.print(&self.instructions())
    }

    /// What the factor of the only `scale` is computed from.
    pub fn factor(&self) -> String {
        let all = self.instructions();
        let product = all.iter().find(|i| i.class.opcode == Op::FMul && self.is_chunk(i.result_type));
        match product.expect("the kernel scales a tile").operands[1] {
            Operand::IdRef(factor) => self.slice(factor),
            ref other => panic!("a factor is an id, not {other}"),
        }
    }

    /// What the first tile stored is computed from.
    pub fn stored(&self) -> String {
        let all = self.instructions();
        let block = all.iter().find(|i| i.class.opcode == Op::Subgroup2DBlockStoreINTEL);
        let variable = &block.expect("the kernel stores a tile").operands[4];
        let store = all.iter().find(|i| i.class.opcode == Op::Store && i.operands[0] == *variable);
        match store.expect("a block store is fed by a store").operands[1] {
            Operand::IdRef(value) => self.slice(value),
            ref other => panic!("a value is an id, not {other}"),
        }
    }

    fn is_chunk(&self, ty: Option<Word>) -> bool {
        ty.and_then(|t| self.names.get(&t)).is_some_and(|name| name.starts_with("v8"))
    }

    /// The instructions a value depends on, those that fill its private variables included.
    fn slice(&self, root: Word) -> String {
        let all = self.instructions();
        let mut wanted = BTreeSet::from([root]);
        let fills = |i: &Instruction, wanted: &BTreeSet<Word>| {
            i.result_id.is_none()
                && matches!(i.operands.last(), Some(Operand::IdRef(id)) if wanted.contains(id))
                && i.class.opname.starts_with("Subgroup2DBlockLoad")
        };
        for i in all.iter().rev() {
            if i.result_id.is_some_and(|id| wanted.contains(&id)) || fills(i, &wanted) {
                wanted.extend(i.operands.iter().filter_map(|o| match o {
                    Operand::IdRef(id) => Some(*id),
                    _ => None,
                }));
            }
        }
        let slice: Vec<&Instruction> = all
            .into_iter()
            .filter(|i| i.class.opcode != Op::Label)
            .filter(|i| i.result_id.is_some_and(|id| wanted.contains(&id)) || fills(i, &wanted))
            .collect();
        let decorations: String = self
            .module
            .annotations
            .iter()
            .filter_map(|i| match &i.operands[..] {
                [Operand::IdRef(id), Operand::Decoration(d)]
                    if wanted.contains(id) && !self.names.contains_key(id) =>
                {
                    Some(format!("decorated {d:?}\n"))
                }
                _ => None,
            })
            .collect();
        self.print(&slice) + &decorations
    }
}
