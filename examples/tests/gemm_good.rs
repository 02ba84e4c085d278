//! The program `gemm` end to end: products of files of every type, form and shape.

mod scene;

use examples::matrix::{ElementType, Elements, Matrix};
use scene::{Scene, product, whole};
use tile_std::{bf16, f16};

fn of(element_type: ElementType, count: usize, seed: usize) -> Elements {
    let values = (0..count).map(|i| whole(i + seed));
    match element_type {
        ElementType::F32 => Elements::F32(values.collect()),
        ElementType::Bf16 => Elements::Bf16(values.map(bf16::from_f32).collect()),
        ElementType::F16 => Elements::F16(values.map(f16::from_f32).collect()),
    }
}

fn f32s(matrix: &Matrix) -> Vec<f32> {
    (0..matrix.elements().len()).map(|i| matrix.elements().get(i).expect("inside")).collect()
}

#[test]
fn the_shipped_matrices_tell_digits_apart() {
    let ran = Scene::new().good(&[]);
    for words in
        ["[797, 64] f32, rounded to bf16", "[64, 1000] bf16", "check     passed: all elements", "GFLOP/s"]
    {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    // Agrees with numpy over the same rounded matrices.
    assert!(ran.out.contains("771 of 797 right (96.7 %)"), "{}", ran.out);
}

#[test]
fn every_type_is_read_and_written() {
    let scene = Scene::new();
    let mut runs = 0;
    for (a, a_type) in [("a.npy", ElementType::F32), ("a.npy", ElementType::F16)]
        .into_iter()
        .chain([ElementType::F32, ElementType::Bf16, ElementType::F16].map(|t| ("a.safetensors", t)))
    {
        scene.write(a, &[9, 20], of(a_type, 9 * 20, 0));
        for b_type in [ElementType::F32, ElementType::Bf16, ElementType::F16] {
            scene.write("b.safetensors", &[20, 33], of(b_type, 20 * 33, 5));
            let exact = product(&scene.read(a), &scene.read("b.safetensors"));
            for (out, out_type) in [
                ("c.npy", "f32"),
                ("c.npy", "f16"),
                ("c.safetensors", "f32"),
                ("c.safetensors", "bf16"),
                ("c.safetensors", "f16"),
            ] {
                let (a_arg, out_arg) = (format!("@{a}"), format!("@{out}"));
                let ran = scene.good(&[
                    "--a",
                    &a_arg,
                    "--b",
                    "@b.safetensors",
                    "--out",
                    &out_arg,
                    "--out-dtype",
                    out_type,
                ]);
                // Both f16: multiplied as f16; else as bf16.
                let both = a_type == ElementType::F16 && b_type == ElementType::F16;
                assert!(ran.out.contains(if both { "gemm<f16, " } else { "gemm<bf16, " }), "{}", ran.out);
                let c = scene.read(out);
                assert_eq!((c.shape(), c.elements().element_type().name()), (&[9, 33][..], out_type));
                let rounded = exact.iter().map(|x| match out_type {
                    "f32" => *x,
                    "bf16" => bf16::from_f32(*x).to_f32(),
                    _ => f16::from_f32(*x).to_f32(),
                });
                assert_eq!(f32s(&c), rounded.collect::<Vec<f32>>(), "{a_type} {b_type} {out_type}");
                runs += 1;
            }
        }
    }
    assert_eq!(runs, 75);
}

#[test]
fn b_may_be_given_transposed() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[5, 40], whole);
    scene.write_f32("b.npy", &[40, 18], |i| whole(i + 3));
    scene.write_f32("t.npy", &[18, 40], |i| whole(i % 40 * 18 + i / 40 + 3));
    scene.good(&["--a", "@a.npy", "--b", "@b.npy", "--out", "@c.npy"]);
    let ran = scene.good(&["--a", "@a.npy", "--b", "@t.npy", "--out", "@d.npy", "--transpose-b"]);
    assert!(ran.out.contains("true, true>"), "the instance for [N, K]: {}", ran.out);
    assert_eq!(scene.read("c.npy"), scene.read("d.npy"));
    assert_eq!(f32s(&scene.read("c.npy")), product(&scene.read("a.npy"), &scene.read("b.npy")));
}

#[test]
fn batches_are_multiplied_one_by_one_and_a_single_matrix_serves_all() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[3, 4, 17], whole);
    scene.write_f32("b.npy", &[17, 6], |i| whole(i + 9));
    scene.good(&["--a", "@a.npy", "--b", "@b.npy", "--out", "@c.npy"]);
    assert_eq!(scene.read("c.npy").shape(), [3, 4, 6]);
    let c = f32s(&scene.read("c.npy"));
    for batch in 0..3 {
        scene.write_f32("a1.npy", &[4, 17], |i| whole(i + batch * 4 * 17));
        assert_eq!(c[batch * 24..(batch + 1) * 24], product(&scene.read("a1.npy"), &scene.read("b.npy")));
    }
}

#[test]
fn empty_matrices_have_empty_or_zero_products() {
    let scene = Scene::new();
    for (m, k, n) in [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)] {
        scene.write_f32("a.npy", &[m, k], whole);
        scene.write_f32("b.safetensors", &[k, n], whole);
        scene.good(&["--a", "@a.npy", "--b", "@b.safetensors", "--out", "@c.npy"]);
        let c = scene.read("c.npy");
        assert_eq!((c.shape(), f32s(&c)), (&[m, n][..], vec![0.0; m * n]));
    }
    scene.write_f32("a.npy", &[0, 2, 3], whole);
    scene.write_f32("b.npy", &[3, 2], whole);
    scene.good(&["--a", "@a.npy", "--b", "@b.npy", "--out", "@c.npy"]);
    assert_eq!(scene.read("c.npy").shape(), [0, 2, 2]);
}

#[test]
fn a_tensor_is_chosen_by_name() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[2, 2], |i| [1.0, 0.0, 0.0, 1.0][i]);
    scene.write_f32("b.safetensors:deep.w:0", &[2, 3], whole);
    scene.good(&["--a", "@a.npy", "--b", "@b.safetensors:deep.w:0", "--out", "@c.safetensors:out"]);
    assert_eq!(f32s(&scene.read("c.safetensors:out")), (0..6).map(whole).collect::<Vec<f32>>());
    scene.bad(&["--a", "@a.npy", "--b", "@b.safetensors:w"], &["b.safetensors", "\"w\"", "deep.w:0"]);
}

#[test]
fn the_product_may_replace_an_operand() {
    let scene = Scene::new();
    scene.write_f32("x.npy", &[8, 8], whole);
    let x = scene.read("x.npy");
    scene.good(&["--a", "@x.npy", "--b", "@x.npy", "--out", "@x.npy"]);
    assert_eq!(f32s(&scene.read("x.npy")), product(&x, &x));
    assert_eq!(scene.files().len(), 1, "nothing is left beside it");
}

#[test]
fn nan_and_infinities_go_through_and_are_counted() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[3, 2], |i| [f32::NAN, 1.0, f32::INFINITY, 1.0, 1.0, 1.0][i]);
    scene.write_f32("b.npy", &[2, 1], |_| 2.0);
    let ran = scene.good(&["--a", "@a.npy", "--b", "@b.npy", "--out", "@c.npy"]);
    assert!(ran.out.contains("2 elements are NaN or infinite\n"), "{}", ran.out);
    assert!(ran.out.contains("2 elements are NaN or infinite, as in f64"), "{}", ran.out);
    let c = f32s(&scene.read("c.npy"));
    assert!(c[0].is_nan() && c[1] == f32::INFINITY && c[2] == 4.0);
}

#[test]
fn what_types_cannot_hold_is_said() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[1, 1], |_| 1e5);
    scene.write_f32("b.npy", &[1, 1], |_| 1.0);
    let ran = scene.good(&["--a", "@a.npy", "--b", "@b.npy", "--compute", "f16"]);
    assert!(ran.out.contains("1 elements are too large for f16 and became infinite"), "{}", ran.out);
    let ran = scene.good(&["--a", "@a.npy", "--b", "@b.npy", "--out-dtype", "f16"]);
    assert!(ran.out.contains("1 elements are too large for the type of C"), "{}", ran.out);
    scene.write_f32("a.npy", &[1, 2], |_| 3e38);
    scene.write_f32("b.npy", &[2, 1], |i| [2.0, -2.0][i]);
    let ran = scene.good(&["--a", "@a.npy", "--b", "@b.npy"]);
    assert!(ran.out.contains("may leave the range of f32"), "{}", ran.out);
}

#[test]
fn an_instance_is_chosen_by_a_part_of_its_name() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[40, 20], whole);
    scene.write_f32("b.npy", &[20, 70], whole);
    let with = |name| scene.good(&["--a", "@a.npy", "--b", "@b.npy", "--instance", name]).out;
    for name in ["16x64x32", "16, 64", "<bf16,f32,16,64,32,false,true>"] {
        assert!(
            with(name).contains("gemm<bf16, f32, 16, 64, 32, false, true>, as --instance asks"),
            "{name}"
        );
    }
    let bad =
        |name, words: &[&str]| scene.bad(&["--a", "@a.npy", "--b", "@b.npy", "--instance", name], words);
    bad("nonsense", &["fits none of", "<bf16, f32, 8, 32, 32, false, true>"]);
    bad("f32", &["must fit one", "<bf16, f32, 32, 64, 32, false, true>; "]);
    bad("", &["must fit one"]);
}

#[test]
fn the_simulator_agrees_with_the_host() {
    let scene = Scene::new();
    // Not whole numbers: the order of sums shows.
    scene.write_f32("a.npy", &[10, 40], |i| whole(i) / 7.0);
    scene.write_f32("b.npy", &[40, 36], |i| whole(i + 1) / 3.0);
    let run = |device, out| {
        let arguments =
            ["--a", "@a.npy", "--b", "@b.npy", "--instance", "8x32x32", "--device", device, "--out", out];
        scene.good(&arguments).out
    };
    let (sim, host) = (run("sim", "@s.npy"), run("host", "@h.npy"));
    assert!(sim.contains("device    sim") && sim.contains("code      xe module"), "{sim}");
    assert!(host.contains("device    host") && host.contains("--device host asks for it"), "{host}");
    let (s, h) = (f32s(&scene.read("s.npy")), f32s(&scene.read("h.npy")));
    // Twice the bound: each is within one of the exact value (the program checked that). Sizes are below 4 * 4 * 40.
    for (s, h) in s.iter().zip(&h) {
        assert!((s - h).abs() <= 2.0 * 40.0 * 2f32.powi(-24) * 640.0 + s.abs() * f32::EPSILON, "{s} {h}");
    }
}

#[test]
fn the_check_can_be_left_out() {
    let scene = Scene::new();
    let ran = scene.good(&["--no-check"]);
    assert!(ran.out.contains("left out") && !ran.out.contains("passed"), "{}", ran.out);
}

#[test]
fn help_explains() {
    let ran = Scene::new().good(&["--help"]);
    for word in ["--a <FILE>", "--out-dtype", "--transpose-b", ".safetensors", "TILE_DEVICE", "--instance"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
}
