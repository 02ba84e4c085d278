//! Front-end tests of device functions that call others.

use proc_macro2::TokenStream;

const ATTR: &str = "fns(outer, left), instances(<16; subgroups = (1, 1)>)";

/// A kernel that calls `outer` and `left`, with the functions of `text` behind it.
fn compile(text: &str) -> Result<String, Vec<String>> {
    let kernel = "fn k<const M: usize>(c: &mut gl<f32>, n: u32) { let at = own_tile::<M, 16>(c, Linear); \
                  let t: rt<f32, M, 16> = fill(outer(n as f32) + left(2.0)); store(c, &t, at); }";
    let compiled = tile_front::compile_source(ATTR, &format!("{kernel} {text}"))?;
    Ok(compiled[0].kernel.kernel().to_string())
}

fn refused(text: &str, code: &str, words: &str) {
    match compile(text) {
        Ok(ir) => panic!("accepted: {text}\n{ir}"),
        Err(messages) => {
            let all = messages.join("\n");
            assert_eq!(messages.len(), 1, "{text}\n{all}");
            assert!(all.contains(&format!("[{code}]")) && all.contains(words), "{text}\n{all}");
        }
    }
}

#[test]
fn functions_bring_the_functions_they_call() {
    let ir = compile(
        "#[tile_fn(fns(left, right))] fn outer(s: f32) -> f32 { left(s) + right(s) } \
         #[tile_fn(fns(deep::leaf))] fn left(s: f32) -> f32 { leaf(s).exp2() } \
         #[tile_fn(fns(leaf))] fn right(s: f32) -> f32 { leaf(leaf(s)) } \
         fn leaf(s: f32) -> f32 { s * 3.0 }",
    )
    .unwrap_or_else(|e| panic!("{}", e.join("\n")));
    assert_eq!((ir.matches(" mul ").count(), ir.matches(" exp2 ").count()), (4, 2), "{ir}");
    refused(
        "#[tile_fn(fns(left))] fn outer(s: f32) -> f32 { left(s) + right(s) } fn left(s: f32) -> f32 { s } fn right(s: f32) -> f32 { s }",
        "T014",
        "#[tile_fn(fns(right))]",
    );
    refused(
        "#[tile_fn(fns(absent))] fn outer(s: f32) -> f32 { s } fn left(s: f32) -> f32 { s }",
        "T002",
        "missing",
    );
    refused(
        "#[tile_fn(fns(left, b::left))] fn outer(s: f32) -> f32 { s } fn left(s: f32) -> f32 { s }",
        "T002",
        "a name of its own",
    );
    refused(
        "#[tile_fn(fns(left))] fn outer(s: f32) -> f32 { left(s, s) } fn left(s: f32) -> f32 { s }",
        "T015",
        "`left` takes 1 arguments",
    );
}

#[test]
fn functions_do_not_call_themselves() {
    refused(
        "fn outer(s: f32) -> f32 { outer(s) } fn left(s: f32) -> f32 { s }",
        "T062",
        "`outer` calls `outer`",
    );
    refused(
        "#[tile_fn(fns(left))] fn outer(s: f32) -> f32 { left(s) } #[tile_fn(fns(right))] fn left(s: f32) -> f32 { s } \
         #[tile_fn(fns(left))] fn right(s: f32) -> f32 { s }",
        "T062",
        "`left` calls `right` calls `left`",
    );
}

#[test]
fn inlining_is_bounded() {
    let mut text = String::from("fn left(s: f32) -> f32 { s } fn f0(s: f32) -> f32 { s }");
    for i in 1..20 {
        text += &format!(
            "#[tile_fn(fns(f{p}))] fn f{i}(s: f32) -> f32 {{ let a = f{p}(s); let b = f{p}(a); f{p}(b) }} ",
            p = i - 1
        );
    }
    text += "#[tile_fn(fns(f19))] fn outer(s: f32) -> f32 { f19(s) }";
    refused(&text, "T063", "65536 ops");
    let mut text = String::from("fn left(s: f32) -> f32 { s } fn f0(s: f32) -> f32 { s }");
    for i in 1..250 {
        text += &format!("#[tile_fn(fns(f{p}))] fn f{i}(s: f32) -> f32 {{ f{p}(s) }} ", p = i - 1);
    }
    text += "#[tile_fn(fns(f249))] fn outer(s: f32) -> f32 { f249(s) }";
    refused(&text, "T063", "128 deep");
}

#[test]
fn several_values_and_derived_sizes_are_typed_in_the_callers_terms() {
    let attr = "fns(f), derive(H = M / 2), instances(<32; subgroups = (1, 1)>, <64; subgroups = (1, 1)>)";
    let function = "#[tile_fn(derive(HALF = (M >> 1) | 0, MORE = HALF.max(3) * 4 - HALF % 3))] \
                    fn f<const M: usize, const HALF: usize, const MORE: usize>(x: &rt<f32, M, 16>) -> (rt<f32, HALF, 16>, f32) { \
                    let y: rt<f32, HALF, 16> = zeros(); (y.add_col(&x.col_sum()), MORE as f32) }";
    let kernel = |call: &str| {
        format!(
            "fn k<const M: usize, const H: usize>(c: &mut gl<f32>) {{ let at = own_tile::<H, 16>(c, Linear); \
             let x: rt<f32, M, 16> = zeros(); {call} store(c, &y.scale(s), at); }} {function}"
        )
    };
    let fails = |call: &str, code: &str, words: &str| match tile_front::compile_source(attr, &kernel(call)) {
        Ok(_) => panic!("accepted: {call}"),
        Err(m) => assert!(m.len() == 1 && m[0].contains(code) && m[0].contains(words), "{}", m.join("\n")),
    };
    // (16 or 32) * 4 - (1 or 2)
    for (instance, more) in [(0, 63), (1, 126)] {
        let attr = "fns(f), derive(H = M / 2, W = H * 4 - H % 3), instances(<32; subgroups = (1, 1)>, <64; subgroups = (1, 1)>)";
        let source = kernel("let (y, s) = f::<M, H, W>(&x);")
            .replace("const H: usize>", "const H: usize, const W: usize>");
        let compiled =
            tile_front::compile_source(attr, &source).unwrap_or_else(|e| panic!("{}", e.join("\n")));
        let ir = compiled[instance].kernel.kernel().to_string();
        assert!(ir.contains(&format!("{more}.0")) || ir.contains(&format!("{more}u")), "{ir}");
    }
    fails("let (y, s) = f(&x);", "T003", "do not fix the derived size `HALF`");
    fails("let (y, s) = f::<M, H, H>(&x);", "T003", "`MORE` of `f` is 63");
}

#[test]
fn derived_sizes_know_every_integer_operator() {
    let derived = |formula: &str| {
        let attr = format!("derive(A = {formula}), instances(<48; subgroups = (1, 1)>)");
        let source = "fn k<const M: usize, const A: usize>(c: &mut gl<f32>) { let at = own_tile::<16, 16>(c, Linear); \
                      let t: rt<f32, 16, 16> = fill(A as f32); store(c, &t, at); }";
        tile_front::compile_source(&attr, source)
            .map(|c| c[0].kernel.kernel().to_string())
            .map_err(|e| e.join("\n"))
    };
    for (formula, value) in [
        ("M / 5 + M % 5 * 2 - 1", 14),
        ("M << 2", 192),
        ("M >> 3", 6),
        ("M & 40 | 3 ^ 1", 34),
        ("M.min(20).max(7)", 20),
        ("(M - 47) * 9", 9),
    ] {
        let ir = derived(formula).unwrap_or_else(|e| panic!("{formula}: {e}"));
        assert!(ir.contains(&format!("{value}u64")) || ir.contains(&format!("{value}.0")), "{formula}\n{ir}");
    }
    for formula in
        ["M - 49", "M / (M - 48)", "M % (48 - M)", "M * 18446744073709551615", "M << 64", "M >> 99", "A + 1"]
    {
        let why = derived(formula).expect_err(formula);
        assert!(why.contains("[T003]"), "{formula}: {why}");
    }
    assert!(derived("-M").is_err_and(|e| e.contains("integer operators")));
}

/// Expands a function, and says what it expands to.
fn expanded(attr: &str, text: &str) -> String {
    let tokens = |t: &str| t.parse::<TokenStream>().expect("tokens");
    tile_front::tile_fn(tokens(attr), tokens(text)).to_string()
}

#[test]
fn a_function_with_callees_asks_for_their_tokens() {
    let text = expanded("fns(deep::g)", "pub fn f(s: f32) -> f32 { g(s) }");
    assert!(text.contains("__fn_0 :: __tokens !") && text.contains("tile_fn_collect"), "{text}");
    assert!(!text.contains("pub fn body"), "the copy is made when the tokens are there:\n{text}");
    let text = expanded("", "pub fn f(s: f32) -> f32 { s.exp2() }");
    assert!(text.contains("pub fn body") && text.contains("scalar :: exp2"), "{text}");
    let text = expanded("instances(<16>)", "pub fn f(s: f32) -> f32 { s }");
    assert!(text.contains("T002") && text.contains("instances are listed by the kernels"), "{text}");
}
