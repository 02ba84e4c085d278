//! Every construct of Rust in a kernel body: it works, or its own message names it and the supported alternative.
//!
//! *Guarantees*: each kind of expression, statement and pattern that `syn` knows has a case here, and none gets the
//! text for what nobody thought of.

use std::collections::BTreeSet;

/// The messages about a body; none if it is accepted.
fn messages(text: &str) -> Vec<String> {
    let source = format!(
        "unsafe_ fn k<const M: usize, const F: bool>(c: &mut gl<f32>, a: &gl<bf16>, n: u32, x: f32, b: bool) {{ \
         let at = own_tile::<M, 16>(c, Linear); let mut acc: rt<f32, M, 16> = zeros(); let mut m = n; {text} store(c, &acc, at); }}"
    );
    let is_unsafe = text.contains("unsafe { m");
    let source = source.replace("unsafe_ ", if is_unsafe { "unsafe " } else { "" });
    match tile_front::compile_source("instances(<16, true; subgroups = (1, 1)>)", &source) {
        Ok(_) => vec![],
        Err(messages) => messages,
    }
}

/// Kind of expression, body, and a word of its message; empty where the body is accepted.
const EXPRESSIONS: &[(&str, &str, &str)] = &[
    ("Array", "let y = [n, n];", "an array outside a coordinate"),
    ("Assign", "m = 3;", ""),
    ("Assign", "let y = m = 3;", "an assignment used as a value"),
    ("Assign", "at.row = 3;", "assign to a `let mut` variable"),
    ("Assign", "(m, m) = (n, n);", "bind the values first"),
    ("Async", "let y = async { n };", "an `async` block"),
    ("Await", "let y = n.await;", "`.await`"),
    ("Binary", "m += n * 2;", ""),
    ("Binary", "let y = (m += n);", "a compound assignment used as a value"),
    ("Block", "let y = { n };", ""),
    ("Block", "'out: { m = 3; }", "a block with a label"),
    ("Block", "let y = 'out: { n };", "a block with a label"),
    ("Break", "while m > 0 { break 'out; }", "innermost"),
    ("Break", "while m > 0 { if b { break 3; } }", "declared before the loop"),
    ("Break", "let y = break;", "`break` inside an expression"),
    ("Call", "let y = subgroup_id();", ""),
    ("Call", "(pick)(n);", "calling a computed function"),
    ("Call", "pick()(n);", "calling a computed function"),
    ("Cast", "let y = n as f32;", ""),
    ("Cast", "let y = n as u8;", "converting to this type"),
    ("Closure", "let y = |z| z;", "`#[tile_fn]`"),
    ("Const", "let y = const { 3u32 };", "a `const` block"),
    ("Continue", "while m > 0 { continue 'out; }", "innermost"),
    ("Continue", "let y = continue;", "`continue` inside an expression"),
    ("Field", "let y = at.row;", "`at.row()`"),
    ("ForLoop", "for i in 0..n { }", ""),
    ("ForLoop", "let y = for i in 0..n { };", "a loop used as a value"),
    ("ForLoop", "'out: for i in 0..n { }", "innermost"),
    ("ForLoop", "for (i, j) in 0..n { }", "for i in lo..hi"),
    ("ForLoop", "for i in [1, 2] { }", "lo..hi"),
    ("ForLoop", "for i in 0..=n { }", "lo..hi + 1"),
    ("ForLoop", "for i in 0.. { }", "both bounds"),
    ("ForLoop", "for i in (0..n).rev() { }", "hi - 1 - i"),
    ("ForLoop", "for i in (0..n).step_by(n) { }", "known at compile time"),
    ("If", "if b { m = 3; }", ""),
    ("If", "if let 3 = n { }", "`let` in a condition"),
    ("Index", "let y = a[0];", "load a tile"),
    ("Infer", "let y = _;", "`_` as a value"),
    ("Infer", "_ = n * 2;", ""),
    ("Let", "let y = b && let 3 = n;", "`let` in a condition"),
    ("Lit", "let y = 3u32;", ""),
    ("Lit", "let y = \"text\";", "numbers"),
    ("Lit", "let y = 'c';", "numbers"),
    ("Lit", "let y = b\"text\";", "numbers"),
    ("Lit", "let y = b'c';", "numbers"),
    ("Lit", "let y = c\"text\";", "numbers"),
    ("Lit", "let y = 1i64;", "u32, i32 or u64"),
    ("Lit", "let y = 1.0f64;", "floats in a kernel are f32"),
    ("Loop", "loop { }", "while condition"),
    ("Loop", "let y = loop { break 3; };", "`loop` used as a value"),
    ("Macro", "let y = max!(n, 3);", "write the code out"),
    ("Match", "match n { 0 => {}, _ => {} }", ""),
    ("MethodCall", "let y = x.abs();", ""),
    ("Paren", "let y = (n);", ""),
    ("Path", "let y = n;", ""),
    ("Path", "let y = u32::MAX;", "scalar parameter"),
    ("Range", "let y = 0..n;", "a range outside `for`"),
    ("RawAddr", "let y = &raw const n;", "a raw pointer"),
    ("Reference", "let y = &n;", "directly"),
    ("Repeat", "let y = [n; 4];", "an array"),
    ("Return", "if b { return; }", ""),
    ("Return", "return n;", "return;"),
    ("Return", "let y = return;", "as a statement"),
    ("Struct", "let y = Own { n };", "a struct value"),
    ("Try", "let y = n?;", "cannot fail"),
    ("TryBlock", "let y = try { n };", "cannot fail"),
    ("Tuple", "let (y, z) = (n, x);", ""),
    ("Tuple", "let y = ();", "separate variables"),
    ("Tuple", "let y = (n, x);", "let (x, y) = f(..)"),
    ("Unary", "let y = -x;", ""),
    ("Unary", "let y = *n;", "not references"),
    ("Unsafe", "unsafe { m = 3; }", ""),
    ("Unsafe", "unsafe { }", "unsafe fn"),
    ("Verbatim", "let y = builtin # offset_of(A, b);", "not stable Rust"),
    ("While", "while m > 3 { m = 0; }", ""),
    ("While", "while let 3 = n { }", "`let` in a condition"),
    ("While", "let y = while b { };", "a loop used as a value"),
    ("While", "'out: while b { }", "innermost"),
    ("Yield", "yield n;", "runs to its end"),
];

/// Kind of pattern, body, and a word of its message.
const PATTERNS: &[(&str, &str, &str)] = &[
    ("Const", "match n { const { 3 } => {}, _ => {} }", "several of them"),
    ("Guard", "match n { 3 if b => {}, _ => {} }", ""),
    ("Ident", "let y = n;", ""),
    ("Ident", "let ref y = n;", "`ref` in a pattern"),
    ("Ident", "let y @ _ = n;", "`@` in a pattern"),
    ("Ident", "match n { y => {} }", "several of them"),
    ("Lit", "match n { 3 => {}, _ => {} }", ""),
    ("Lit", "let 3 = n;", "may not match"),
    ("Macro", "let m!() = n;", "a macro as a pattern"),
    ("Or", "match n { 3 | 4 => {}, _ => {} }", ""),
    ("Or", "let (3 | 4) = n;", "may not match"),
    ("Paren", "let (y) = n;", ""),
    ("Path", "let Some::None = n;", "a type's parts"),
    ("Range", "match n { 3..=4 => {}, _ => {} }", ""),
    ("Range", "let 3..=4 = n;", "may not match"),
    ("Reference", "let &y = n;", "a pattern of a reference"),
    ("Rest", "let (y, ..) = (n, x);", "`..` in a pattern"),
    ("Slice", "let [y, z] = n;", "an array's elements"),
    ("Struct", "let Own { row } = at;", "a type's parts"),
    ("Tuple", "let (y, z) = (n, x);", ""),
    ("Tuple", "let (y, (z, w)) = (n, (x, b));", "a tuple inside a pattern"),
    ("TupleStruct", "let Some(y) = n;", "a type's parts"),
    ("Type", "let y: u32 = n;", ""),
    ("Wild", "let _ = n * 2;", ""),
    ("Wild", "let _: u32 = n;", "a typed `_`"),
];

/// Statements that are neither expressions nor patterns.
const STATEMENTS: &[(&str, &str)] = &[
    ("static X: u32 = 1;", "pass the value as a parameter"),
    ("const X: u32 = 1;", "write the number"),
    ("fn inner() {}", "under `#[tile_fn]`"),
    ("use core::mem;", "import the name outside"),
    ("struct S;", "use separate variables"),
    ("enum E {}", "use separate variables"),
    ("union U { a: u32 }", "use separate variables"),
    ("type T = u32;", "write the type out"),
    ("trait T {}", "what kernels share"),
    ("impl S {}", "what kernels share"),
    ("mod inner {}", "outside of the kernel"),
    ("extern crate core;", "outside of the kernel"),
    ("extern \"C\" {}", "outside of the kernel"),
    ("macro_rules! two { () => { 2 } }", "write the code out"),
    ("println!(\"x\");", "write the code out"),
    ("let z;", "give it a value"),
    ("let Some(z) = n else { return; };", "bind one variable"),
    ("#[cfg(debug_assertions)] m = 3;", "the attribute `cfg`"),
];

/// What the language says of constructs it does not have a word for.
const GENERAL: &[&str] = &["this expression is", "this pattern in `let`"];

fn judge(text: &str, word: &str) {
    let found = messages(text);
    let all = found.join("\n");
    if word.is_empty() {
        assert!(found.is_empty(), "{text}\n{all}");
    } else {
        assert_eq!(found.len(), 1, "{text}\n{all}");
        assert!(all.contains(word), "{text}: no `{word}` in\n{all}");
    }
    for text in GENERAL {
        assert!(!all.contains(text), "only the general text:\n{all}");
    }
}

#[test]
fn every_kind_of_expression_has_its_own_answer() {
    for (_, text, word) in EXPRESSIONS {
        judge(text, word);
    }
    let kinds: BTreeSet<&str> = EXPRESSIONS.iter().map(|(kind, ..)| *kind).collect();
    // `syn::Expr`, but for `Group`, the invisible parentheses of a macro's argument.
    let all = "Array Assign Async Await Binary Block Break Call Cast Closure Const Continue Field ForLoop If Index Infer \
               Let Lit Loop Macro Match MethodCall Paren Path Range RawAddr Reference Repeat Return Struct Try TryBlock \
               Tuple Unary Unsafe Verbatim While Yield";
    assert_eq!(kinds, all.split_whitespace().collect());
}

#[test]
fn every_kind_of_pattern_has_its_own_answer() {
    for (_, text, word) in PATTERNS {
        judge(text, word);
    }
    let kinds: BTreeSet<&str> = PATTERNS.iter().map(|(kind, ..)| *kind).collect();
    // `syn::Pat`, but for `Verbatim`, which `syn` makes of nothing that is stable.
    let all = "Const Guard Ident Lit Macro Or Paren Path Range Reference Rest Slice Struct Tuple TupleStruct Type Wild";
    assert_eq!(kinds, all.split_whitespace().collect());
}

#[test]
fn every_kind_of_statement_has_its_own_answer() {
    for (text, word) in STATEMENTS {
        judge(text, word);
    }
}

/// The kind that `syn` sees, so that a case is of the kind it says.
#[test]
fn cases_are_of_the_kind_they_say() {
    for (kind, text, _) in EXPRESSIONS {
        let block: syn::Block = match syn::parse_str(&format!("{{ {text} }}")) {
            Ok(block) => block,
            Err(e) => panic!("{text}: {e}"),
        };
        let seen = format!("{block:?}");
        assert!(seen.contains(&format!("Expr::{kind}")), "{text} has no Expr::{kind}:\n{seen}");
    }
    for (kind, text, _) in PATTERNS {
        let block: syn::Block = match syn::parse_str(&format!("{{ {text} }}")) {
            Ok(block) => block,
            Err(e) => panic!("{text}: {e}"),
        };
        let seen = format!("{block:?}");
        assert!(seen.contains(&format!("Pat::{kind}")), "{text} has no Pat::{kind}:\n{seen}");
    }
}
