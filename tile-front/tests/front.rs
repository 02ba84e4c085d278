//! Front-end tests on token streams: what is accepted, what the IR is, which rule refuses what.

use proc_macro2::TokenStream;

const GEMM_ATTR: &str = "instances(<bf16, bf16, 32, 64, 32, false, true; subgroups = (8, 4)>, <f16, f32, 16, 32, 16, true, false; subgroups = (4, 4)>)";
const GEMM: &str = "
pub fn gemm<A: MmaInput, C: Element, const BM: usize, const BN: usize, const BK: usize, const TRANS_B: bool, const PREFETCH: bool>(
    c: &mut gl<C>, a: &gl<A>, b: &gl<A>, ahead: u32,
) {
    let at = own_tile::<BM, BN>(c, Snake(8));
    if at.outside() { return; }
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let x: rt<A, BM, BK> = load(a, [at.batch(), at.depth(), at.row(), k]);
        if PREFETCH {
            prefetch_load_coop::<rt<A, BM, BK>>(a, [at.batch(), at.depth(), at.row(), k + ahead], Peers::Row);
        }
        if TRANS_B {
            let y: rt<A, BK, BN, VnniT> = load_transpose(b, [at.batch(), at.depth(), at.col(), k]);
            mma_ABt(&mut acc, &x, &y);
        } else {
            let y: rt<A, BK, BN, Vnni> = load_transform(b, [at.batch(), at.depth(), k, at.col()]);
            mma_AB(&mut acc, &x, &y);
        }
    }
    let out = acc.to::<C>();
    store(c, &out, at);
}";

fn compile(attr: &str, source: &str) -> Result<Vec<tile_front::Compiled>, Vec<String>> {
    tile_front::compile_source(attr, source)
}

/// Compiles `fn k<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>, n: u32, x: f32)` with the body, for M = 16.
fn body(text: &str) -> Result<Vec<tile_front::Compiled>, Vec<String>> {
    let source = format!("fn k<const M: usize>(c: &mut gl<f32>, a: &gl<bf16>, n: u32, x: f32) {{ {text} }}");
    compile("instances(<16; subgroups = (1, 1)>)", &source)
}

const OWN: &str = "let at = own_tile::<M, 16>(c, Linear); let mut acc: rt<f32, M, 16, Acc> = zeros();";

fn refused(text: &str, code: &str) -> String {
    match body(text) {
        Ok(_) => panic!("accepted, but {code} should refuse: {text}"),
        Err(messages) => {
            let all = messages.join("\n");
            assert!(all.contains(&format!("[{code}]")), "{text}\nexpected {code}, got:\n{all}");
            all
        }
    }
}

#[test]
fn the_gemm_compiles_for_both_instances_with_the_expected_ir() {
    let compiled = compile(GEMM_ATTR, GEMM).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    assert_eq!(compiled.len(), 2);
    let text = compiled[0].kernel.kernel().to_string();
    assert!(text.contains("prefetch_load_coop @1 32x32"), "{text}");
    assert!(text.contains("load_transform @2"), "{text}");
    assert!(!text.contains("load_transpose"), "the untaken static branch must leave no ops:\n{text}");
    assert!(text.contains(": rt<f32, 32, 64, Acc>"), "{text}");
    assert_eq!(compiled[0].kernel.facts().live_tile_bytes, 32 * 64 * 4 + 32 * 32 * 2 + 32 * 64 * 2);
    let second = compiled[1].kernel.kernel().to_string();
    assert!(second.contains("load_transpose @2") && !second.contains("prefetch"), "{second}");
    let third = compile(GEMM_ATTR, GEMM).expect("it compiled before");
    assert_eq!(text, third[0].kernel.kernel().to_string());
}

#[test]
fn the_expansion_parses_as_rust_and_names_everything_absolutely() {
    let attr: TokenStream = GEMM_ATTR.parse().expect("tokens");
    let tokens = tile_front::tile_kernel(attr, GEMM.parse().expect("tokens"));
    let file: syn::File = syn::parse2(tokens.clone()).expect("the expansion is Rust");
    assert_eq!(file.items.len(), 2, "the function and its module");
    let text = file.items.iter().map(|i| quote::quote!(#i).to_string()).nth(1).expect("module");
    assert!(text.contains(":: tile_std :: __private :: ops :: memory :: load ("), "{text}");
    assert!(text.contains("witness :: < :: tile_std :: __private :: rt < C , BM , BN , :: tile_std :: __private :: Row > > (& out)"));
    assert!(!text.contains("compile_error"));
}

#[test]
fn scalars_flow_through_loops_and_branches() {
    let text = format!(
        "{OWN} let mut i = 0u32; let mut s: f32 = 1.5; for j in (0..n).step_by(2) {{ if j > 3 && n != 7 {{ i += j; }} else {{ s = s * x; }} }} \
         let t = if i < n {{ s.max(0.0) }} else {{ -s }}; let u = (i as f32 + t) / 2.0; if i == M as u32 {{ return; }} \
         let v: rt<f32, M, 16, Acc> = zeros(); acc = v; store(c, &acc.scale(u), at);"
    );
    let compiled = body(&text).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let ir = compiled[0].kernel.kernel().to_string();
    assert!(ir.contains("step 2") && ir.contains("scale"), "{ir}");
}

#[test]
fn every_rule_of_a_body_has_a_refusal() {
    let own = |rest: &str| format!("{OWN} {rest}");
    refused(&own("let y = load(a, [0, 0]); store(c, &acc, at);"), "T011");
    refused(&own("let y: rt<bf16, {M / 2}, 16> = load(a, [0, 0]); store(c, &acc, at);"), "T012");
    refused(&own("store(c, &acc.scale(SCALE), at);"), "T013");
    refused(&own("store(c, &acc.scale(crate::SCALE), at);"), "T013");
    let near = refused(&own("prefetch_laod::<rt<bf16, M, 16>>(a, [0, 0]); store(c, &acc, at);"), "T014");
    assert!(near.contains("did you mean `prefetch_load`"), "{near}");
    refused(&own("let y: rt<bf16, M, 16> = load(a); store(c, &acc, at);"), "T015");
    refused(&own("let y: rt<bf16, M, 16> = load(n, [0, 0]); store(c, &acc, at);"), "T015");
    refused(&own("let y: u32 = x; store(c, &acc, at);"), "T016");
    refused(&own("let y = n + x; store(c, &acc, at);"), "T016");
    refused(&own("let y = M; store(c, &acc, at);"), "T016");
    refused(&own("let y = 5; store(c, &acc, at);"), "T017");
    refused(&own("let y: u32 = 5000000000; store(c, &acc, at);"), "T017");
    refused(&own("let y: rt<bf16, 12, 16> = load(a, [0, 0]); store(c, &acc, at);"), "T020");
    refused(&own("let y: rt<bf16, 8, 16, Vnni> = load_transform(a, [0, 0]); store(c, &acc, at);"), "T020");
    refused(
        &own(
            "let y: rt<f32, 64, 64, Acc> = zeros(); let z: rt<bf16, 32, 64> = load(a, [0, 0]); store(c, &acc, at); let w = y.to::<f32>(); let q = z.to::<f32>();",
        ),
        "T021",
    );
    refused(
        &own("let p: rt<bf16, M, 16> = load(a, [0, 0]); mma_AB(&mut acc, &p, &p); store(c, &acc, at);"),
        "T022",
    );
    refused(
        &own(
            "let p: rt<bf16, M, 16> = load(a, [0, 0]); let q: rt<bf16, 16, 16, VnniT> = load_transpose(a, [0, 0]); mma_AB(&mut acc, &p, &q); store(c, &acc, at);",
        ),
        "T022",
    );
    refused(
        &own(
            "let p: rt<bf16, M, 32> = load(a, [0, 0]); let q: rt<bf16, 16, 16, Vnni> = load_transform(a, [0, 0]); mma_AB(&mut acc, &p, &q); store(c, &acc, at);",
        ),
        "T023",
    );
    let by_name = refused(
        &own(
            "let p: rt<bf16, M, M> = load(a, [0, 0]); let q: rt<bf16, 16, 16, Vnni> = load_transform(a, [0, 0]); mma_AB(&mut acc, &p, &q); store(c, &acc, at);",
        ),
        "T023",
    );
    assert!(by_name.contains("in every instance"), "{by_name}");
    let by_name = refused(&own("let p: rt<f32, 16, 16> = zeros(); store(c, &p, at);"), "T027");
    assert!(by_name.contains("agree in instance <16>"), "{by_name}");
    refused(&own("let p: rt<bf16, M, 32> = load(a, at); store(c, &acc, at);"), "T015");
    refused(&own("prefetch_load::<rt<f32, M, 16>>(a, [0, 0]); store(c, &acc, at);"), "T031");
    refused(&own("store(c, &acc, [0, 0]);"), "T027");
    refused(&own("store_at(c, &acc, [0, 0]);"), "T027");
    refused(&own("let p: rt<f32, M, 16> = load(c, [0, 0]); store(c, &p, at);"), "T028");
    refused(
        &own(
            "let q: rt<bf16, 16, 16, Vnni> = load_transform(a, [0, 0]); let r = q.to::<f32>(); store(c, &acc, at);",
        ),
        "T029",
    );
    refused(&own("let p: rt<bf16, M, 16> = load(a, [0, 0]); store(c, &p, at);"), "T030");
    refused(&own("let q: rt<f32, M, 16, Vnni> = load_transform(c, at); store(c, &acc, at);"), "T031");
    refused(
        &own("let p: rt<bf16, M, 16> = load(a, [0, 0]); let r = p.scale(x); store(c, &acc, at);"),
        "T032",
    );
    refused("let p: rt<bf16, M, 16> = load(a, [0, 0]);", "T006");
    refused(&own("let again = own_tile::<M, 16>(c, Linear); store(c, &acc, at);"), "T006");
}

#[test]
fn a_mistake_is_reported_once_and_its_variable_is_not_reported_again() {
    let count = |text: String| match body(&text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(messages) => messages.len(),
    };
    assert_eq!(
        count(format!("{OWN} let k = y + 1; for i in 0..k {{ }} let z = k + n; store(c, &acc, at);")),
        1
    );
    assert_eq!(count(format!("{OWN} let p = zeros(); store(c, &p, at); store(c, &acc, at);")), 1);
    let shape = "let at = own_tile::<12, 16>(c, Linear); let p: rt<f32, 12, 16> = zeros(); store(c, &p, at);";
    assert_eq!(count(shape.to_string()), 1);
    let two = "instances(<12; subgroups = (1, 1)>, <20; subgroups = (1, 1)>)";
    let source = "fn k<const M: usize>(c: &mut gl<f32>) { let at = own_tile::<M, 16>(c, Linear); let z: rt<f32, M, 16> = zeros(); store(c, &z, at); }";
    assert_eq!(compile(two, source).map(|_| ()).map_err(|m| m.len()), Err(1));
}

#[test]
fn a_refused_kernel_keeps_its_signature_and_launchers_and_always_has_an_error() {
    let source: TokenStream =
        "pub fn k<const M: usize>(c: &mut gl<f32>) { let at = own_tile::<M, 16>(c, Linear); let z = zeros(); }"
            .parse()
            .expect("tokens");
    let attr: TokenStream = "instances(<16; subgroups = (1, 1)>)".parse().expect("tokens");
    let text = tile_front::tile_kernel(attr, source).to_string();
    assert_eq!(text.matches("compile_error").count(), 1, "{text}");
    assert!(text.contains("pub fn k < const M : usize > (c : & mut gl < f32 >)"), "{text}");
    for launcher in ["launch", "launch_with", "enqueue", "enqueue_with"] {
        assert!(text.contains(&format!("pub fn {launcher} <")), "{launcher}: {text}");
    }
    assert!(!text.contains("fn body"), "{text}");
}

#[test]
fn an_untyped_literal_takes_the_type_of_the_other_branch() {
    for value in ["if n > 1 { 2u32 } else { 3 }", "if n > 1 { 2 } else { n }"] {
        let text = format!("{OWN} let k = {value}; for i in 0..k {{ }} store(c, &acc, at);");
        assert!(body(&text).is_ok(), "{text}");
    }
}

#[test]
fn declarations_and_attributes_are_checked() {
    let fails = |attr: &str, source: &str, code: &str| match compile(attr, source) {
        Ok(_) => panic!("accepted: {attr} {source}"),
        Err(m) => assert!(m.join("\n").contains(code), "expected {code}: {}", m.join("\n")),
    };
    let one = "instances(<16; subgroups = (1, 1)>)";
    let good = "fn k<const M: usize>(c: &mut gl<f32>) { let at = own_tile::<M, 16>(c, Linear); let z: rt<f32, M, 16> = zeros(); store(c, &z, at); }";
    assert!(compile(one, good).is_ok());
    fails("", good, "T002");
    fails("instances()", good, "T002");
    fails("instances(<16>)", good, "T002");
    fails("instances(<N; subgroups = (1, 1)>)", good, "T003");
    fails("instances(<16, 32; subgroups = (1, 1)>)", good, "T003");
    fails("instances(<16; subgroups = (1, 1)>, <16; subgroups = (2, 1)>)", good, "T004");
    fails("instances(<16; subgroups = (8, 8)>)", good, "T002");
    fails("instances(<16; subgroups = (0, 4)>)", good, "T002");
    fails("instance(<16; subgroups = (1, 1)>)", good, "T002");
    fails(one, "fn k<const M: usize>(c: &mut gl<f32>) -> u32 { 1 }", "T001");
    fails(one, "async fn k<const M: usize>(c: &mut gl<f32>) { }", "T001");
    fails(one, "fn k<const M: usize>(c: &mut gl<f32>, v: Vec<f32>) { }", "T005");
    fails(one, "fn k<const M: usize>(c: gl<f32>) { }", "T005");
    fails(one, "fn k<const M: u32>(c: &mut gl<f32>) { }", "T003");
    fails("instances(<f32; subgroups = (1, 1)>)", "fn k<A: MmaInput>(c: &mut gl<A>) { }", "T003");
    fails("instances(<f32; subgroups = (1, 1)>)", "fn k<A: Copy>(c: &mut gl<A>) { }", "T003");
    let derived = "fn k<const M: usize, const H: usize>(c: &mut gl<f32>) { let at = own_tile::<H, 16>(c, Linear); let z: rt<f32, H, 16> = zeros(); store(c, &z, at); }";
    assert!(compile("derive(H = M / 2), instances(<16; subgroups = (1, 1)>)", derived).is_ok());
    fails("derive(H = M - 32), instances(<16; subgroups = (1, 1)>)", derived, "T003");
}

#[test]
fn nothing_panics_on_odd_input() {
    for text in [
        "",
        "struct X;",
        "fn",
        "fn k(",
        "fn k() {}",
        "1 2 3",
        "pub enum E { A }",
        "fn k<'a>(self) {}",
        "impl X {}",
    ] {
        if let Ok(tokens) = text.parse::<TokenStream>() {
            let out = tile_front::tile_kernel(TokenStream::new(), tokens).to_string();
            assert!(out.contains("compile_error"), "{text}: {out}");
        }
    }
    let deep = format!("{OWN} let y = {}n{}; store(c, &acc, at);", "(".repeat(300), ")".repeat(300));
    assert!(body(&deep).is_err_and(|m| m.join("").contains("nest too deep")));
    let minus = format!("{OWN} let y = {}n; store(c, &acc, at);", "-".repeat(5000));
    assert!(body(&minus).is_err());
    let sum = format!("{OWN} let y = n{}; store(c, &acc, at);", " + n".repeat(2000));
    assert!(body(&sum).is_err_and(|m| m.join("").contains("nest too deep")));
    let chain = format!("{OWN} {} {{ }} store(c, &acc, at);", "if n > 3 { } else ".repeat(500));
    assert!(body(&chain).is_err_and(|m| m.join("").contains("nest too deep")));
}

#[test]
fn vectors_maps_reductions_and_masks_type_forward() {
    let text = format!(
        "{OWN} let bias: rv<bf16, 16, PerCol> = load_vec(a, [0, 3]); let b = bias.to::<f32>(); \
         let x: rt<bf16, M, 16> = load(a, [0, 0]); let y = x.to::<f32>().add_col(&b); \
         let m = y.row_max(); let e = y.sub_row(&m).exp2(); let sum = e.row_sum(); let p = e.div_row(&sum).keep_cols(n, 0.0); \
         let total: rv<f32, M, PerRow> = zeros(); let more = p.row_sum_with(&total).mul(0.5).max(&m); \
         let c0 = p.col_prod(); let q = p.mul_row(&more).add(&y).min(c0.to::<f32>().len_free()); store(c, &q, at);"
    );
    // `.len_free()` is no method: the rest must still type.
    assert!(body(&text).is_err_and(|m| m.len() == 1 && m[0].contains("[T014]")), "{:?}", body(&text).err());
    let text = text.replace(".min(c0.to::<f32>().len_free())", ".add_col(&c0).tril(n, 0, -1.0).silu()");
    let compiled = body(&text).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let ir = compiled[0].kernel.kernel().to_string();
    for needle in [
        "load_vec @1",
        "row_max",
        ": rv<f32, 16, PerRow>",
        ": rv<f32, 16, PerCol>",
        "keep_cols",
        "tril",
        "silu",
    ] {
        assert!(ir.contains(needle), "no `{needle}` in\n{ir}");
    }
}

#[test]
fn scalars_have_maps_and_loads() {
    let text = format!(
        "{OWN} let s = load_scalar(a, [n, 5]); let t = (s * 2.0).exp2().max(0.5) + s.sqrt().abs(); \
         let f: rt<f32, M, 16> = fill(t); store(c, &f.scale(s.recip()), at);"
    );
    let compiled = body(&text).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let ir = compiled[0].kernel.kernel().to_string();
    assert!(ir.contains("load_scalar @1 elements[") && ir.contains("exp2") && ir.contains("fill"), "{ir}");
}

#[test]
fn loops_leave_and_go_on_with_the_values_of_the_moment() {
    let text = format!(
        "{OWN} let mut i = 0u32; let mut s = 1.0; while i < n {{ i += 1; if i % 3 == 0 {{ continue; }} s = s * 2.0; if s > x {{ break; }} }} \
         for k in 0..n {{ if k == i {{ break; }} else {{ acc = acc.scale(s); }} }} store(c, &acc, at);"
    );
    let compiled = body(&text).unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let ir = compiled[0].kernel.kernel().to_string();
    assert!(ir.contains("while ") && ir.contains("break ") && ir.contains("continue "), "{ir}");
    for (first, second) in
        [("break", "continue"), ("continue", "break"), ("return", "continue"), ("continue", "return")]
    {
        let text = format!(
            "{OWN} for k in 0..n {{ if k == 3 {{ {first}; }} else {{ {second}; }} }} store(c, &acc, at);"
        );
        assert!(body(&text).is_ok(), "{first}, {second}: {:?}", body(&text).err());
    }
    refused(
        &format!("{OWN} for k in 0..n {{ if k == 3 {{ break; }} else {{ return; }} }} store(c, &acc, at);"),
        "T010",
    );
    refused(&format!("{OWN} break; store(c, &acc, at);"), "T036");
    refused(&format!("{OWN} for k in 0..n {{ break; }} store(c, &acc, at);"), "T010");
    refused(&format!("{OWN} while n {{ }} store(c, &acc, at);"), "T016");
}

#[test]
fn rules_of_maps_and_vectors_refuse() {
    let own = |rest: &str| format!("{OWN} {rest} store(c, &acc, at);");
    refused(&own("let v: rv<f32, 12, PerRow> = zeros();"), "T035");
    refused(&own("let v: rv<f32, 32, PerRow> = zeros(); let w = acc.add_row(&v);"), "T033");
    refused(&own("let v: rv<f32, 16, PerCol> = zeros(); let w = acc.add_row(&v);"), "T033");
    refused(&own("let v: rv<bf16, 16, PerRow> = zeros(); let w = acc.add_row(&v);"), "T033");
    refused(&own("let y: rt<bf16, 16, 16, Vnni> = load_transform(a, [0, 0]); let w = y.exp2();"), "T033");
    refused(&own("let y: rt<bf16, 16, 16, Vnni> = load_transform(a, [0, 0]); let w = y.row_sum();"), "T034");
    refused(&own("let v: rv<f32, 16, PerCol> = zeros(); let w = acc.row_max_with(&v);"), "T034");
    refused(&own("let v: rv<f32, 16, PerCol> = load_vec(a, [0, 0]);"), "T031");
    refused(&own("let v = load_vec(a, [0, 0]);"), "T011");
    refused(&own("let w = acc.add(n);"), "T016");
    refused(&own("let w = x.gelu();"), "T014");
    refused(&own("let w = x.add(x);"), "T014");
    refused(&own("let w = load_scalar(c, [0, 0]);"), "T028");
}

const FUNCTION: &str = "fn ep<T: Element, const M: usize, const N: usize>(x: &rt<f32, M, N, Acc>, g: &gl<T>, s: f32, n: &mut rt<f32, M, N, Acc>) -> rt<f32, M, N, Acc> { \
    let w: rv<T, N, PerCol> = load_vec(g, [0, 0]); *n_; x.add_col(&w.to::<f32>()).scale(s.abs()) }";

#[test]
fn device_functions_are_inlined_with_the_callers_types() {
    let function = FUNCTION
        .replace("*n_;", "for k in 0..3u32 { if k == 2 { break; } mma_like_free(); }")
        .replace("mma_like_free();", "");
    let kernel = |call: &str| {
        format!(
            "fn k<A: MmaInput, const P: usize>(c: &mut gl<f32>, a: &gl<A>) {{ let at = own_tile::<P, 16>(c, Linear); \
             let mut acc: rt<f32, P, 16, Acc> = zeros(); let mut other: rt<f32, P, 16, Acc> = zeros(); {call} store(c, &acc, at); }} {function}"
        )
    };
    let attr = "fns(crate::deep::ep), instances(<bf16, 16; subgroups = (1, 1)>)";
    let compiled = compile(attr, &kernel("acc = ep(&acc, a, -2.0, &mut other);"))
        .unwrap_or_else(|e| panic!("{}", e.join("\n")));
    let ir = compiled[0].kernel.kernel().to_string();
    assert!(
        ir.contains("load_vec @1") && ir.contains("rv<bf16, 16, PerCol>") && ir.contains("break"),
        "{ir}"
    );
    let fails = |call: &str, code: &str| match compile(attr, &kernel(call)) {
        Ok(_) => panic!("accepted: {call}"),
        Err(m) => assert!(m.join("\n").contains(code), "expected {code}: {}", m.join("\n")),
    };
    fails("acc = ep(&acc, a, -2.0, &other);", "T015");
    fails("acc = ep(&acc, c, -2.0, &mut other);", "T028");
    fails("acc = ep(&acc, a, 2u32, &mut other);", "T016");
    fails("let y: rt<f32, 32, 16, Acc> = zeros(); acc = ep(&y, a, 1.0, &mut other);", "T016");
    fails("acc = ep(&acc, a);", "T015");
    fails("acc = ep::<16, 16>(&acc, a, 1.0, &mut other);", "T003");
    fails("acc = ep2(&acc, a, 1.0, &mut other);", "T014");
    assert!(
        tile_front::tile_fn(TokenStream::new(), "fn f(x: u32) -> u32 { return x; }".parse().expect("tokens"))
            .to_string()
            .contains("T010")
    );
    assert!(
        tile_front::tile_fn(TokenStream::new(), "fn f(x: Vec<u32>) {}".parse().expect("tokens"))
            .to_string()
            .contains("T005")
    );
}

#[test]
fn parts_of_a_tile_take_no_registers_of_their_own() {
    let live = |body: &str| {
        let source = format!(
            "fn k<const M: usize, const N: usize>(y: &mut gl<f32>, x: &gl<f32>) {{ let at = own_tile::<M, N>(y, Linear); \
             let mut t: rt<f32, M, N> = load(x, at); {body} store(y, &t, at); }}"
        );
        let compiled = compile("instances(<32, 64; subgroups = (1, 1)>)", &source);
        compiled.unwrap_or_else(|e| panic!("{body}: {}", e.join("\n")))[0].kernel.facts().live_tile_bytes
    };
    let (whole, half) = (32 * 64 * 4, 16 * 64 * 4);
    assert_eq!(live(""), whole);
    let halves = "let p = t.sub_tile::<16, 64>(0, 0); let q = t.sub_tile::<16, 64>(1, 0);";
    assert_eq!(live(&format!("{halves} t.set_sub_tile(&q, 0, 0); t.set_sub_tile(&p, 1, 0);")), whole);
    // What is computed from a part is a tile of its own, as is a part that outlives what stood around it.
    assert_eq!(
        live(&format!("{halves} t.set_sub_tile(&p.neg(), 1, 0); t.set_sub_tile(&q, 0, 0);")),
        whole + half
    );
    assert_eq!(live(&format!("{halves} t = t.neg(); t.set_sub_tile(&q, 0, 0);")), whole + half);
    // A part of a part is in the same registers.
    let nested =
        "let p = t.sub_tile::<16, 64>(1, 0); let q = p.sub_tile::<8, 16>(1, 3); t.set_sub_tile(&q, 0, 0);";
    assert_eq!(live(nested), whole);
}
