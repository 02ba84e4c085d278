//! Front-end tests of control flow: unrolled loops, `match`, values of branches, ways that end, tuples.

/// Compiles `fn k<const M: usize, const F: bool>(c: &mut gl<f32>, a: &gl<bf16>, n: u32, x: f32, b: bool)` with the
/// body, for M = 16 and F = true; the body has `at` and `acc`, and `c` is stored behind it.
fn body(text: &str) -> Result<String, Vec<String>> {
    let source = format!(
        "fn k<const M: usize, const F: bool>(c: &mut gl<f32>, a: &gl<bf16>, n: u32, x: f32, b: bool) {{ \
         let at = own_tile::<M, 16>(c, Linear); let mut acc: rt<f32, M, 16> = zeros(); {text} store(c, &acc, at); }}"
    );
    let compiled = tile_front::compile_source("instances(<16, true; subgroups = (1, 1)>)", &source)?;
    Ok(compiled[0].kernel.kernel().to_string())
}

fn accepted(text: &str) -> String {
    body(text).unwrap_or_else(|e| panic!("{text}\n{}", e.join("\n")))
}

/// The message that refuses the body, of which there is one.
fn refused(text: &str, code: &str) -> String {
    match body(text) {
        Ok(ir) => panic!("accepted, but {code} should refuse: {text}\n{ir}"),
        Err(messages) => {
            assert_eq!(messages.len(), 1, "{text}\n{}", messages.join("\n"));
            assert!(messages[0].contains(&format!("[{code}]")), "{text}\nexpected {code}: {}", messages[0]);
            messages[0].clone()
        }
    }
}

#[test]
fn an_unrolled_loop_is_written_out_with_its_counter_as_a_constant() {
    let ir = accepted("#[unroll] for i in 0..3u32 { acc = acc.add(i as f32); }");
    assert_eq!(ir.matches(" add ").count(), 3, "{ir}");
    assert!(!ir.contains(" for ") && ir.contains("2.0"), "{ir}");
    // Bounds from sizes, outer counters and arithmetic on them; nested; with a step.
    let ir = accepted(
        "#[unroll] for i in (0..M as u32).step_by(8) { #[unroll] for j in i..i + 2 { acc = acc.scale(j as f32); } }",
    );
    assert_eq!(ir.matches(" scale ").count(), 4, "{ir}");
    // What the counter decides is decided here; what it does not is an ordinary branch.
    let ir = accepted(
        "#[unroll] for i in 0..4u32 { if i % 2 == 0 && i != 2 { acc = acc.exp2(); } else if n > i { acc = acc.neg(); } }",
    );
    assert_eq!((ir.matches(" exp2 ").count(), ir.matches(" if ").count()), (1, 3), "{ir}");
    let ir = accepted(
        "#[unroll] for i in 0..9u32 { if i == 1 { continue; } if i == 3 { break; } acc = acc.scale(2.0); }",
    );
    assert_eq!(ir.matches(" scale ").count(), 2, "{ir}");
    let ir = accepted(
        "for k in 0..n { #[unroll] for i in 0..2i32 { if k == 5 { return; } acc = acc.add(i as f32); } }",
    );
    assert!(ir.contains(" for ") && ir.matches(" add ").count() == 2, "{ir}");
    let ir = accepted(
        "#[unroll] for _ in 5..5u32 { acc = acc.scale(2.0); } #[unroll] for _ in 5..2u32 { acc = acc.scale(2.0); }",
    );
    assert!(!ir.contains(" scale "), "{ir}");
    // A plain loop inside keeps its own exits.
    accepted("#[unroll] for i in 0..2u32 { for k in 0..n { if k == i { break; } acc = acc.scale(2.0); } }");
}

#[test]
fn an_unrolled_loop_is_bounded_and_known() {
    refused("#[unroll] for i in 0..n { acc = acc.scale(2.0); }", "T061");
    refused("#[unroll] for i in n..4 { acc = acc.scale(2.0); }", "T061");
    let text = refused("#[unroll] for i in 0..4000000000u32 { acc = acc.scale(2.0); }", "T061");
    assert!(text.contains("16384") && text.contains("of 4000000000"), "{text}");
    refused("#[unroll] for i in 0..u32_max { }", "T013");
    refused(
        "#[unroll] for i in 0..200u32 { #[unroll] for j in 0..200u32 { acc = acc.scale(2.0); } }",
        "T061",
    );
    refused("#[unroll] for i in 0..4u32 { if n == i { break; } acc = acc.scale(2.0); }", "T061");
    refused("#[unroll] for i in 0..4u32 { if n == i { continue; } acc = acc.scale(2.0); }", "T061");
    refused("#[unroll] while n > 3 { }", "T061");
    refused("#[unroll] let y = n;", "T061");
    refused("#[unroll] for i in 0..4 { }", "T017");
    refused("#[unroll] for i in 0..4.0 { }", "T016");
    // One mistake in the body is one message.
    refused("#[unroll] for i in 0..4u32 { acc = acc.scale(n); }", "T016");
}

#[test]
fn attributes_that_change_a_body_are_refused() {
    refused("#[cfg(test)] acc = acc.scale(2.0);", "T010");
    refused("if n > 1 { #[inline] { acc = acc.scale(2.0); } }", "T010");
    accepted("#[allow(unused)] let y = n;");
}

#[test]
fn match_is_a_chain_of_ifs() {
    let ir = accepted(
        "let s = match n { 0 => 1.0, 1 | 5 => 2.0, 7..=9 => x, 10..12 if b => -x, _ if n > 100 => 0.5, _ => 3.0 }; acc = acc.scale(s);",
    );
    assert_eq!(ir.matches(" if ").count(), 5, "{ir}");
    accepted("match b { true => acc = acc.scale(2.0), false => return, }");
    accepted("let y = match n * 3 { 0 => 1u32, _ => 2 }; for _ in 0..y { }");
    accepted("match n as i32 { -1 => { acc = acc.neg(); } 0..=3 => {} _ => { acc = acc.abs(); } }");
    accepted("for k in 0..n { match k { 3 => break, 4 => continue, _ => acc = acc.scale(2.0) } }");
    // What is known leaves no branch.
    let ir = accepted(
        "match M { 8 => acc = acc.neg(), 16 => acc = acc.exp2(), _ => {} } match F { true => {}, false => acc = acc.abs() }",
    );
    assert!(
        ir.contains("exp2") && !ir.contains(" neg ") && !ir.contains(" abs ") && !ir.contains(" if "),
        "{ir}"
    );
    let ir = accepted(
        "#[unroll] for i in 0..3u32 { match i { 0 => {}, 1 => acc = acc.exp2(), _ => acc = acc.neg() } }",
    );
    assert!(!ir.contains(" if ") && ir.contains("exp2") && ir.contains(" neg "), "{ir}");
    refused("match n { k => {} , }", "T010");
    refused("match n { 0 => {}, Some(k) => {}, _ => {} }", "T010");
    refused("match n { LIMIT => {}, _ => {} }", "T010");
    refused("match x { 0.5 => {}, _ => {} }", "T010");
    refused("match n { 3.. => {}, _ => {} }", "T010");
    refused("match acc { 0 => {}, _ => {} }", "T016");
    refused("match n { }", "T010");
    refused("let y = match n { 0 => 1u32, _ => 2.0 }; acc = acc.scale(y as f32);", "T016");
}

#[test]
fn a_branch_of_literals_is_not_one_of_them() {
    // The literals take the type of what stands beside them.
    let ir = accepted("if n < if b { 1 } else { 2 } { acc = acc.neg(); }");
    assert!(ir.contains("= 2u32 : u32"), "{ir}");
    assert_eq!(ir.matches(" if ").count(), 2, "{ir}");
    refused("if (if b { 1 } else { 2 }) < n { acc = acc.neg(); }", "T017");
}

#[test]
fn what_always_leaves_ends_the_block_or_is_refused() {
    // Nothing behind it is reached, so nothing behind it is there.
    for text in [
        "{ return; }",
        "{ { return; } }",
        "if b { return; } else { return; }",
        "match n { 0 => return, _ => return }",
    ] {
        let ir = accepted(&format!("if b {{ {text} acc = acc.exp2(); }}"));
        assert!(!ir.contains("exp2"), "{text}\n{ir}");
    }
    refused("let y = { return; };", "T010");
    refused("let y: u32 = { if b { return; } else { return; } };", "T010");
    refused("while { if b { return; } else { return; } n > 3 } { acc = acc.neg(); }", "T010");
    refused("acc = acc.scale({ return; 2.0 });", "T010");
    accepted("while { if b { return; } n > 3 } { acc = acc.neg(); }");
    accepted("let y = if b { return; } else { 2.0 }; acc = acc.scale(y);");
}

#[test]
fn tuples_are_bound_where_they_are_made() {
    accepted("let (p, q) = (n, x); acc = acc.scale(q); for _ in 0..p { }");
    accepted("let (p, _): (u32, f32) = (3, x); for _ in 0..p { }");
    let ir = accepted("let (p, q) = if b { (acc.exp2(), x) } else { (acc.neg(), 2.0) }; acc = p.scale(q);");
    assert_eq!(ir.matches(" if ").count(), 1, "{ir}");
    let ir = accepted("let (p, q): (u32, u32) = match n { 0 => (1, n), _ => (n, 2) }; for _ in p..q { }");
    assert_eq!(ir.matches(" if ").count(), 1, "{ir}");
    refused("let t = (n, x);", "T010");
    refused("let (p, q) = (n, x, b);", "T016");
    refused("let (p, q) = n;", "T016");
    refused("let (p, q) = (1, n);", "T017");
    refused("let (p, (q, r)) = (n, (x, b));", "T010");
    refused("let (p, q): (u32, u32) = (n, x);", "T016");
    refused("let (p, q) = if b { (n, x) } else { (x, n) };", "T016");
}
