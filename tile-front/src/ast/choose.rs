//! Owns which methods compare elements or choose among them, and those of three operands.

use tile_ir::ir::Logic;
use tile_ir::map::MapTernary;
use tile_ir::scalar::Compare;
use tile_ir::types::Along;

/// A method that compares elements or chooses among them, or an element-wise one of three operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choose {
    /// `x.fma(&a, &b)`
    Ternary(MapTernary),
    /// `x.lt(&y)`; with an encoding, `x.lt_row(&v)`.
    Compare(Compare, Option<Along>),
    /// `mask.and(&other)`
    Logic(Logic),
    /// `mask.not()`
    Not,
    /// `mask.any()`
    Any,
    /// `mask.select(&a, &b)`
    Select,
}

impl Choose {
    /// What the method of a name is.
    pub fn from_name(name: &str) -> Option<Choose> {
        let compare = |name: &str| Compare::ALL.iter().copied().find(|op| op.name() == name);
        if let Some(op) = MapTernary::from_name(name) {
            return Some(Choose::Ternary(op));
        }
        if let Some(op) = compare(name) {
            return Some(Choose::Compare(op, None));
        }
        for (along, suffix) in [(Along::Rows, "_row"), (Along::Cols, "_col")] {
            if let Some(op) = name.strip_suffix(suffix).and_then(compare) {
                return Some(Choose::Compare(op, Some(along)));
            }
        }
        if let Some(op) = Logic::ALL.iter().copied().find(|op| op.name() == name) {
            return Some(Choose::Logic(op));
        }
        match name {
            "not" => Some(Choose::Not),
            "any" => Some(Choose::Any),
            "select" => Some(Choose::Select),
            _ => None,
        }
    }

    /// How many operands it takes.
    pub const fn operands(self) -> usize {
        match self {
            Choose::Ternary(_) | Choose::Select => 2,
            Choose::Compare(..) | Choose::Logic(_) => 1,
            Choose::Not | Choose::Any => 0,
        }
    }

    /// The form of a call, for messages.
    pub fn form(self, name: &str) -> String {
        match self {
            Choose::Ternary(_) => format!("x.{name}(&a, &b)` or, with numbers, `x.{name}(a, b)"),
            Choose::Compare(_, None) => format!("x.{name}(&y)` or `x.{name}(s)"),
            Choose::Compare(_, Some(_)) => format!("x.{name}(&v)"),
            Choose::Logic(_) => format!("mask.{name}(&other)"),
            Choose::Not | Choose::Any => format!("mask.{name}()"),
            Choose::Select => "mask.select(&a, &b)` or `mask.select(&a, s)".to_string(),
        }
    }
}
