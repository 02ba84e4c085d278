//! Every scalar function agrees with the table in `tile_ir::scalar`, on edge values and on all pairs of them.

use tile_ir::scalar::{self as table, Binary, Compare, Const, Unary};
use tile_ir::types::ScalarType;
use tile_lang::scalar;

/// A scalar type of the table.
trait Entry: Copy {
    fn entry(self) -> Const;
}

macro_rules! entries {
    ($($ty:ty: |$v:ident| $entry:expr;)+) => {$(
        impl Entry for $ty {
            fn entry(self) -> Const {
                let $v = self;
                $entry
            }
        }
    )+};
}
entries! {
    u32: |v| Const::U32(v);
    i32: |v| Const::I32(v);
    u64: |v| Const::U64(v);
    f32: |v| Const::F32(v.to_bits());
    bool: |v| Const::Bool(v);
}

const U32S: &[u32] =
    &[0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX];
const I32S: &[i32] = &[0, 1, 2, 5, 31, 32, 33, 64, -1, -2, -7, -31, -32, i32::MAX, i32::MIN, i32::MIN + 1];
const U64S: &[u64] =
    &[0, 1, 2, 63, 64, 65, 127, 128, u32::MAX as u64, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];
const F32S: &[f32] = &[
    0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    1e-45,
    -1e-45,
    3.0e9,
    -3.0e9,
    2.1474836e9,
    1e20,
    -1e20,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    16777216.0,
    0.99999994,
];

/// Equal bits, where every NaN counts as the same.
fn same(got: Const, expected: Option<Const>, what: &str) {
    let nan = |c: Const| matches!(c, Const::F32(bits) if f32::from_bits(bits).is_nan());
    let expected = expected.unwrap_or_else(|| panic!("the table has no {what}"));
    assert!(got == expected || (nan(got) && nan(expected)), "{what}: got {got}, the table says {expected}");
}

macro_rules! check_binary {
    ($values:expr; $($name:ident = $op:ident),+) => {
        for &a in $values {
            for &b in $values {
                $(
                    let expected = table::binary(Binary::$op, a.entry(), b.entry());
                    same(scalar::$name(a, b).entry(), expected, &format!("{} of {a:?} and {b:?}", stringify!($name)));
                )+
            }
        }
    };
}

macro_rules! check_compare {
    ($values:expr; $($name:ident = $op:ident),+) => {
        for &a in $values {
            for &b in $values {
                $(
                    let expected = table::compare(Compare::$op, a.entry(), b.entry());
                    assert_eq!(Some(scalar::$name(a, b)), expected, "{} of {a:?} and {b:?}", stringify!($name));
                )+
            }
        }
    };
}

macro_rules! check_unary {
    ($values:expr; $name:ident = $op:ident) => {
        for &a in $values {
            let expected = table::unary(Unary::$op, a.entry());
            same(scalar::$name(a).entry(), expected, &format!("{} of {a:?}", stringify!($name)));
        }
    };
}

macro_rules! check_cast {
    ($values:expr; $($to:ty = $kind:ident),+) => {
        for &a in $values {
            $(
                let expected = table::cast(a.entry(), ScalarType::$kind);
                same(scalar::cast::<$to>(a).entry(), expected, &format!("{a:?} as {}", stringify!($to)));
            )+
        }
    };
}

#[test]
fn arithmetic_agrees_with_the_table() {
    macro_rules! integers {
        ($($values:expr),+) => {$(
            check_binary!($values; add = Add, sub = Sub, mul = Mul, div = Div, rem = Rem, min = Min, max = Max);
            check_binary!($values; and = And, or = Or, xor = Xor, shl = Shl, shr = Shr);
            check_unary!($values; not = Not);
        )+};
    }
    integers!(U32S, I32S, U64S);
    check_binary!(F32S; add = Add, sub = Sub, mul = Mul, div = Div, min = Min, max = Max);
    check_binary!(&[false, true]; and = And, or = Or, xor = Xor);
    check_unary!(&[false, true]; not = Not);
    check_unary!(I32S; neg = Neg);
    check_unary!(F32S; neg = Neg);
}

#[test]
fn comparisons_agree_with_the_table() {
    macro_rules! numbers {
        ($($values:expr),+) => {
            $(check_compare!($values; lt = Lt, le = Le, gt = Gt, ge = Ge, eq = Eq, ne = Ne);)+
        };
    }
    numbers!(U32S, I32S, U64S, F32S);
    check_compare!(&[false, true]; eq = Eq, ne = Ne);
}

#[test]
fn casts_agree_with_the_table() {
    macro_rules! numbers {
        ($($values:expr),+) => {
            $(check_cast!($values; u32 = U32, i32 = I32, u64 = U64, f32 = F32);)+
        };
    }
    numbers!(U32S, I32S, U64S, F32S);
    check_cast!(&[false, true]; u32 = U32, i32 = I32, u64 = U64, bool = Bool);
}

#[test]
fn literals_and_sizes_need_no_types() {
    // What expanded code looks like for `k + 1`, `k << 40` and `BM as u32 * 2`.
    let k = 7u32;
    assert_eq!(scalar::add(k, 1), 8);
    assert_eq!(scalar::shl(k, 40), 7 << 8);
    assert_eq!(scalar::mul(scalar::cast::<u32>(32usize), 2), 64);
}
