//! Runs every scalar op on the simulator and compares with the table in `tile_ir::scalar`.

#[path = "support/scalars.rs"]
mod scalars;
mod support;
#[path = "support/tensor.rs"]
mod tensor;

use scalars::{Show, arg, run, whole};
use tile_ir::ir::OpKind;
use tile_ir::scalar::{self, Binary, Compare, Const, Unary, casts};
use tile_ir::types::{ScalarType, Type};

fn samples(ty: ScalarType) -> Vec<Const> {
    let words = [0, 1, 7, 31, 33, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF];
    match ty {
        ScalarType::U32 => words.iter().map(|&v| Const::U32(v)).collect(),
        ScalarType::I32 => words.iter().map(|&v| Const::I32(v as i32)).collect(),
        ScalarType::U64 => words
            .iter()
            .map(|&v| Const::U64(v.into()))
            .chain([65, 1 << 32, u64::MAX].map(Const::U64))
            .collect(),
        ScalarType::F32 => [
            0.0,
            -0.0,
            -1.5,
            0.1,
            1e-3,
            2147483648.0,
            -2147483648.0,
            4294967296.0,
            1e20,
            -1e20,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ]
        .iter()
        .map(|v: &f32| Const::F32(v.to_bits()))
        .collect(),
        ScalarType::Bool => vec![Const::Bool(false), Const::Bool(true)],
    }
}

fn check(expected: Const, got: &[f32], what: &str) {
    match expected {
        Const::F32(bits) => {
            let (want, got) = (f32::from_bits(bits), got[0]);
            // Showing multiplies by 1, which keeps every value and turns any NaN into some NaN.
            let same = want.to_bits() == got.to_bits() || (want.is_nan() && got.is_nan());
            // The order of +0 and -0 is left open for min and max.
            assert!(same || (want == 0.0 && got == 0.0), "{what}: {got} instead of {want}");
        }
        Const::Bool(v) => assert_eq!(whole(got), u64::from(v), "{what}"),
        Const::U32(v) => assert_eq!(whole(got), u64::from(v), "{what}"),
        Const::I32(v) => assert_eq!(whole(got), v as i64 as u64, "{what}"),
        Const::U64(v) => assert_eq!(whole(got), v, "{what}"),
    }
}

#[test]
fn binary_ops_follow_the_table() {
    let mut ran = 0;
    for &op in Binary::ALL {
        for &ty in ScalarType::ALL.iter().filter(|&&ty| op.takes(ty)) {
            let mut s = Show::new(op.name());
            let (x, y) = (s.b.scalar("x", ty), s.b.scalar("y", ty));
            let r = s.b.binary(op, x, y);
            s.show(r);
            let (module, shown) = s.lower();
            for a in samples(ty) {
                for b in samples(ty) {
                    let got = run(&module, shown, &[arg(a), arg(b)]);
                    let want = scalar::binary(op, a, b).expect("the op takes the type");
                    check(want, &got, &format!("{} {a} {b}", op.name()));
                    ran += 1;
                }
            }
        }
    }
    assert!(ran > 2000, "{ran} cases");
}

#[test]
fn binary_ops_on_constants_follow_the_table() {
    for &op in Binary::ALL {
        for &ty in ScalarType::ALL.iter().filter(|&&ty| op.takes(ty)) {
            for b in samples(ty) {
                let mut s = Show::new(op.name());
                let x = s.b.scalar("x", ty);
                let a = samples(ty)[0];
                let (ka, kb) = (s.b.constant(a), s.b.constant(b));
                for (l, r) in [(x, kb), (kb, x), (ka, kb), (kb, ka)] {
                    let v = s.b.binary(op, l, r);
                    s.show(v);
                }
                let (module, shown) = s.lower();
                let each = (shown / 4) as usize;
                for x in samples(ty) {
                    let got = run(&module, shown, &[arg(x)]);
                    for (i, (l, r)) in [(x, b), (b, x), (a, b), (b, a)].into_iter().enumerate() {
                        let want = scalar::binary(op, l, r).expect("the op takes the type");
                        check(want, &got[each * i..each * (i + 1)], &format!("{} {l} {r}", op.name()));
                    }
                }
            }
        }
    }
}

#[test]
fn unary_ops_comparisons_and_casts_follow_the_table() {
    let mut ran = 0;
    for &ty in ScalarType::ALL {
        for &op in Unary::ALL.iter().filter(|op| op.takes(ty)) {
            let mut s = Show::new(op.name());
            let x = s.b.scalar("x", ty);
            let r = s.b.one(OpKind::Unary { op, value: x }, Type::Scalar(ty));
            s.show(r);
            let (module, shown) = s.lower();
            for a in samples(ty) {
                let want = scalar::unary(op, a).expect("the op takes the type");
                check(want, &run(&module, shown, &[arg(a)]), &format!("{} {a}", op.name()));
                ran += 1;
            }
        }
        for &op in Compare::ALL.iter().filter(|op| op.takes(ty)) {
            let mut s = Show::new(op.name());
            let (x, y) = (s.b.scalar("x", ty), s.b.scalar("y", ty));
            let r = s.b.compare(op, x, y);
            s.show(r);
            let (module, shown) = s.lower();
            for a in samples(ty) {
                for b in samples(ty) {
                    let want = scalar::compare(op, a, b).expect("the op takes the type");
                    let got = run(&module, shown, &[arg(a), arg(b)]);
                    check(Const::Bool(want), &got, &format!("{a} {} {b}", op.name()));
                    ran += 1;
                }
            }
        }
        for &to in ScalarType::ALL.iter().filter(|&&to| casts(ty, to)) {
            let mut s = Show::new("cast");
            let x = s.b.scalar("x", ty);
            let r = s.b.one(OpKind::Cast { value: x }, Type::Scalar(to));
            s.show(r);
            let (module, shown) = s.lower();
            for a in samples(ty) {
                let want = scalar::cast(a, to).expect("the cast exists");
                check(want, &run(&module, shown, &[arg(a)]), &format!("{a} as {to}"));
                ran += 1;
            }
        }
    }
    assert!(ran > 1000, "{ran} cases");
}
