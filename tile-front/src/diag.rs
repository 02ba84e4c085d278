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
    /// kernel breaks it too; the first one is the one shown), or is about the same tile type, whose every use
    /// breaks it.
    pub fn add(&mut self, diag: Diag) {
        let place = |d: &Diag| format!("{:?}", d.span);
        let same = |d: &Diag| {
            let type_again = d.code == Code::TileShape && d.message == diag.message;
            d.code == diag.code && (type_again || place(d) == place(&diag))
        };
        if !self.list.iter().any(same) {
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

    /// Adds the errors of one more instance: those of rules that no instance before it breaks, since most likely it
    /// breaks the others for the same reason.
    pub fn append_instance(&mut self, list: Vec<Diag>) {
        let known: Vec<Code> = self.list.iter().map(|d| d.code).collect();
        list.into_iter().filter(|d| !known.contains(&d.code)).for_each(|d| self.add(d));
    }

    /// The `compile_error!` items to emit, one per error.
    pub fn compile_errors(&self) -> TokenStream {
        let mut out = TokenStream::new();
        for diag in &self.list {
            let text = diag.text();
            out.extend(quote_spanned! { diag.span => ::core::compile_error! { #text } });
        }
        out
    }
}
