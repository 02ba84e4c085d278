//! Owns the front end's error collector and how a broken rule becomes a `compile_error!`.
//!
//! *Guarantees*: all errors of a kernel are kept, in source order of discovery, each once per (rule, place);
//! nothing here panics. *Not here*: the rules and their codes (`tile_ir::error`).

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use tile_ir::error::Code;

/// One broken rule at the user's tokens.
#[derive(Clone, Debug)]
pub struct Diag {
    /// The rule.
    pub code: Code,
    /// The user's token.
    pub span: Span,
    /// The rule with the two facts.
    pub message: String,
    /// The fix, as code where possible; may be empty.
    pub help: String,
}

impl Diag {
    /// The text shown to the user.
    pub fn text(&self) -> String {
        let help = if self.help.is_empty() { String::new() } else { format!("\n  help: {}", self.help) };
        format!("{} [{}]{help}\n  more: `cargo tile explain {}`", self.message, self.code, self.code)
    }

    /// True when rustc is certain to report the same mistake, in its own words, on the executable copy of
    /// the body: the ops' trait bounds and argument types state these rules.
    pub fn rustc_reports(&self) -> bool {
        matches!(
            self.code,
            Code::OperandRole
                | Code::InnerDim
                | Code::OperandType
                | Code::Conversion
                | Code::ScaleType
                | Code::StoreShape
                | Code::LoadForm
                | Code::Mismatch
        )
    }
}

/// Collects errors.
#[derive(Debug, Default)]
pub struct Diags {
    list: Vec<Diag>,
}

impl Diags {
    /// Adds an error.
    pub fn push(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let diag = Diag { code, span, message: message.into(), help: help.into() };
        self.add(diag);
    }

    /// Adds an error unless the same rule was already reported at the same place (another instance of the
    /// kernel breaks it too; the first one is the one shown).
    pub fn add(&mut self, diag: Diag) {
        let place = |d: &Diag| (d.code, format!("{:?}", d.span));
        if !self.list.iter().any(|d| place(d) == place(&diag)) {
            self.list.push(diag);
        }
    }

    /// True when nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The errors.
    pub fn list(&self) -> &[Diag] {
        &self.list
    }

    /// Moves all errors of another collector into this one.
    pub fn append(&mut self, other: Diags) {
        for diag in other.list {
            self.add(diag);
        }
    }

    /// The `compile_error!` items to emit: all errors, except those rustc is certain to report when
    /// `rustc_checks` says that the executable copy is emitted too.
    pub fn compile_errors(&self, rustc_checks: bool) -> TokenStream {
        let mut out = TokenStream::new();
        for diag in self.list.iter().filter(|d| !(rustc_checks && d.rustc_reports())) {
            let text = diag.text();
            out.extend(quote_spanned! { diag.span => ::core::compile_error! { #text } });
        }
        out
    }
}
