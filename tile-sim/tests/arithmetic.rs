//! Scalar and vector arithmetic, conversions and extended instructions: one value per case, worked out by
//! hand or by Rust's own operators.

mod support;

use support::{LANE, kernel, run_kernel};
use tile_sim::Rule;

/// Evaluates `%r = <expr>` of type uint with `%p`, `%q` and their float bit casts `%fp`, `%fq`.
fn eval(extra: &str, code: &str, p: u32, q: u32) -> Result<u32, tile_sim::SimError> {
    let body = format!(
        "{LANE}\n%fp = OpBitcast %float %p\n%fq = OpBitcast %float %q\n{code}\nOpStore %mine %r\nOpReturn"
    );
    let (out, _) = run_kernel(&kernel(extra, &body), vec![0; 64], p, q)?;
    // All lanes of a uniform computation agree; a varying copy must agree too.
    assert!(out[..16].iter().all(|v| *v == out[0]), "{code}: {out:?}");
    let varying = code.replace("%p", "%vp").replace("%q", "%vq").replace("%fp", "%vfp");
    let body = format!(
        "{LANE}\n%zero = OpISub %uint %l %l\n%vp = OpBitwiseOr %uint %p %zero\n%same = OpGroupNonUniformShuffleXor %uint %u3 %q %l0x
%vq = OpBitwiseOr %uint %same %zero\n%vfp = OpBitcast %float %vp\n%fp = OpBitcast %float %vp
%fq = OpBitcast %float %vq\n{varying}\nOpStore %mine %r\nOpReturn"
    );
    let (again, _) =
        run_kernel(&kernel(&format!("{extra}%l0x = OpConstant %uint 5\n"), &body), vec![0; 64], p, q)?;
    assert_eq!(out[0], again[0], "{code} on varying operands");
    Ok(out[0])
}

fn int(op: &str, p: u32, q: u32) -> u32 {
    eval("", &format!("%r = {op} %uint %p %q"), p, q).unwrap()
}

fn test(op: &str, p: u32, q: u32) -> bool {
    eval("", &format!("%b = {op} %bool %p %q\n%r = OpSelect %uint %b %u1 %u0"), p, q).unwrap() == 1
}

fn float(op: &str, p: f32, q: f32) -> f32 {
    let code = format!("%f = {op} %float %fp %fq\n%r = OpBitcast %uint %f");
    f32::from_bits(eval("", &code, p.to_bits(), q.to_bits()).unwrap())
}

fn ftest(op: &str, p: f32, q: f32) -> bool {
    let code = format!("%b = {op} %bool %fp %fq\n%r = OpSelect %uint %b %u1 %u0");
    eval("", &code, p.to_bits(), q.to_bits()).unwrap() == 1
}

fn ext(name: &str, p: f32, q: f32) -> f32 {
    let code = format!("%f = OpExtInst %float %std {name} %fp %fq\n%r = OpBitcast %uint %f");
    f32::from_bits(eval("", &code, p.to_bits(), q.to_bits()).unwrap())
}

fn ext1(name: &str, p: f32) -> f32 {
    let code = format!("%f = OpExtInst %float %std {name} %fp\n%r = OpBitcast %uint %f");
    f32::from_bits(eval("", &code, p.to_bits(), 0).unwrap())
}

#[test]
fn integers_wrap_and_divide() {
    assert_eq!(int("OpIAdd", u32::MAX, 2), 1);
    assert_eq!(int("OpISub", 1, 2), u32::MAX);
    assert_eq!(int("OpIMul", 0x1_0001, 0x1_0001), 0x2_0001);
    assert_eq!(int("OpUDiv", u32::MAX, 10), 429_496_729);
    assert_eq!(int("OpSDiv", -7i32 as u32, 2), -3i32 as u32);
    assert_eq!(int("OpUMod", 17, 5), 2);
    assert_eq!(int("OpSRem", -7i32 as u32, 3), -1i32 as u32);
    assert_eq!(int("OpSMod", -7i32 as u32, 3), 2);
    assert_eq!(int("OpSMod", 7, -3i32 as u32), -2i32 as u32);
    assert_eq!(int("OpBitwiseXor", 0xff00, 0x0ff0), 0xf0f0);
    assert_eq!(int("OpShiftLeftLogical", 3, 31), 0x8000_0000);
    assert_eq!(int("OpShiftRightLogical", 0x8000_0000, 31), 1);
    assert_eq!(int("OpShiftRightArithmetic", 0x8000_0000, 31), u32::MAX);
    assert_eq!(eval("", "%r = OpSNegate %uint %p", 5, 0).unwrap(), -5i32 as u32);
    assert_eq!(eval("", "%r = OpNot %uint %p", 5, 0).unwrap(), !5);
    assert_eq!(eval("", "%r = OpBitCount %uint %p", 0xf0f0, 0).unwrap(), 8);
}

#[test]
fn comparisons_know_signs() {
    assert!(test("OpULessThan", 1, u32::MAX) && !test("OpSLessThan", 1, u32::MAX));
    assert!(test("OpSGreaterThanEqual", 0, u32::MAX) && !test("OpUGreaterThanEqual", 0, u32::MAX));
    assert!(test("OpIEqual", 7, 7) && !test("OpINotEqual", 7, 7));
    assert!(test("OpSLessThanEqual", u32::MAX, 0) && test("OpULessThanEqual", 3, 3));
    assert!(test("OpUGreaterThan", 4, 3) && test("OpSGreaterThan", 4, u32::MAX));
}

#[test]
fn sixty_four_and_sixteen_bits() {
    let wide = "%lp = OpUConvert %ulong %p\n%lq = OpSConvert %ulong %q\n";
    let high = "%s = OpConstant %ulong 32\n";
    let code = format!(
        "{wide}%m = OpIMul %ulong %lp %lq\n%h = OpShiftRightLogical %ulong %m %s\n%r = OpUConvert %uint %h"
    );
    assert_eq!(eval(high, &code, 0x8000_0001, 6).unwrap(), 3);
    assert_eq!(eval(high, &code, 1, u32::MAX).unwrap(), u32::MAX, "sign extension");
    let code = "%sp = OpUConvert %ushort %p\n%sq = OpUConvert %ushort %q\n%s = OpIAdd %ushort %sp %sq\n%r = OpSConvert %uint %s";
    assert_eq!(eval("", code, 0x7fff, 1).unwrap(), 0xffff_8000);
    let code = "%sp = OpUConvert %uchar %p\n%sq = OpUConvert %uchar %q\n%b = OpSLessThan %bool %sp %sq\n%r = OpSelect %uint %b %u1 %u0";
    assert_eq!(eval("", code, 0x80, 0x7f).unwrap(), 1);
    let code = "%pair = OpUMulExtended %two %p %q\n%r = OpCompositeExtract %uint %pair 1";
    assert_eq!(eval("%two = OpTypeStruct %uint %uint\n", code, u32::MAX, u32::MAX).unwrap(), u32::MAX - 1);
    let code = "%pair = OpIAddCarry %two %p %q\n%r = OpCompositeExtract %uint %pair 1";
    assert_eq!(eval("%two = OpTypeStruct %uint %uint\n", code, u32::MAX, 1).unwrap(), 1);
}

#[test]
fn floats_round_once_and_nan_is_kept() {
    assert_eq!(float("OpFAdd", 0.1, 0.2), 0.1f32 + 0.2);
    assert_eq!(float("OpFSub", 1.0, 1e-8), 1.0f32 - 1e-8);
    assert_eq!(float("OpFMul", 1e30, 1e30), f32::INFINITY);
    assert_eq!(float("OpFDiv", 1.0, 3.0), 1.0f32 / 3.0);
    assert!(float("OpFDiv", 0.0, 0.0).is_nan());
    assert_eq!(float("OpFRem", -5.5, 2.0), -1.5);
    assert_eq!(float("OpFMod", -5.5, 2.0), 0.5);
    assert_eq!(eval("", "%f = OpFNegate %float %fp\n%r = OpBitcast %uint %f", 0, 0).unwrap(), 0x8000_0000);
    assert_eq!(ext("fmax", f32::NAN, 2.0), 2.0);
    assert_eq!(ext("fmin", 2.0, f32::NAN), 2.0);
    assert!(ftest("OpFOrdLessThan", 1.0, 2.0) && !ftest("OpFOrdLessThan", f32::NAN, 2.0));
    assert!(ftest("OpFUnordLessThan", f32::NAN, 2.0) && !ftest("OpFUnordLessThan", 3.0, 2.0));
    assert!(!ftest("OpFOrdNotEqual", f32::NAN, 1.0) && ftest("OpFUnordNotEqual", f32::NAN, 1.0));
    assert!(ftest("OpFUnordEqual", f32::NAN, 1.0) && ftest("OpFOrdEqual", -0.0, 0.0));
    assert!(ftest("OpOrdered", 1.0, 1.0) && ftest("OpUnordered", 1.0, f32::NAN));
    let code = "%b = OpIsNan %bool %fp\n%r = OpSelect %uint %b %u1 %u0";
    assert_eq!(eval("", code, 0x7fc0_0000, 0).unwrap(), 1);
    assert_eq!(eval("", code, 0x7f80_0000, 0).unwrap(), 0);
}

#[test]
fn extended_instructions() {
    assert_eq!(ext1("native_exp2", 3.0), 8.0);
    assert_eq!(ext1("exp2", 0.5), std::f32::consts::SQRT_2);
    assert_eq!(ext1("native_log2", 8.0), 3.0);
    assert_eq!(ext1("sqrt", 2.0), std::f32::consts::SQRT_2);
    assert_eq!(ext1("native_rsqrt", 4.0), 0.5);
    assert_eq!(ext1("native_recip", 8.0), 0.125);
    assert_eq!(ext1("fabs", -1.5), 1.5);
    assert_eq!(ext1("floor", -1.5), -2.0);
    assert_eq!(ext1("ceil", -1.5), -1.0);
    assert_eq!(ext1("rint", 2.5), 2.0);
    assert_eq!(ext1("trunc", -1.5), -1.0);
    assert_eq!(ext1("tanh", 0.5), 0.5f64.tanh() as f32);
    assert_eq!(ext("pow", 3.0, 4.0), 81.0);
    assert_eq!(ext("copysign", 3.0, -0.0), -3.0);
    let fma = "%f = OpExtInst %float %std fma %fp %fq %fq\n%r = OpBitcast %uint %f";
    let (x, y) = (1.0f32 + f32::EPSILON, 1.0f32 - f32::EPSILON);
    assert_eq!(f32::from_bits(eval("", fma, x.to_bits(), y.to_bits()).unwrap()), x.mul_add(y, y));
    let two = |name: &str, p: u32, q: u32| {
        eval("", &format!("%r = OpExtInst %uint %std {name} %p %q"), p, q).unwrap()
    };
    assert_eq!(two("u_max", 1, u32::MAX), u32::MAX);
    assert_eq!(two("s_max", 1, u32::MAX), 1);
    assert_eq!(two("s_min", 1, u32::MAX), u32::MAX);
    assert_eq!(two("u_mul_hi", u32::MAX, u32::MAX), u32::MAX - 1);
    assert_eq!(two("s_mul_hi", u32::MAX, u32::MAX), 0);
    assert_eq!(two("u_add_sat", u32::MAX, 2), u32::MAX);
    assert_eq!(two("s_sub_sat", 0x8000_0000, 1), 0x8000_0000);
    assert_eq!(two("rotate", 0x8000_0001, 4), 0x18);
    let one = |name: &str, p| eval("", &format!("%r = OpExtInst %uint %std {name} %p"), p, 0).unwrap();
    assert_eq!((one("clz", 1), one("clz", 0), one("ctz", 8), one("popcount", 0xff)), (31, 32, 3, 8));
    assert_eq!(one("s_abs", -5i32 as u32), 5);
    let clamp = "%r = OpExtInst %uint %std s_clamp %p %q %u9";
    assert_eq!(eval("", clamp, -5i32 as u32, 2).unwrap(), 2);
}

#[test]
fn conversions() {
    let to = |code: &str, p: u32| eval("", code, p, 0);
    let ftou = "%r = OpConvertFToU %uint %fp";
    let ftos = "%r = OpConvertFToS %uint %fp";
    assert_eq!(to(ftou, 3.99f32.to_bits()).unwrap(), 3);
    assert_eq!(to(ftos, (-3.99f32).to_bits()).unwrap(), -3i32 as u32);
    assert_eq!(to(ftou, (-0.5f32).to_bits()).unwrap(), 0);
    for (code, value) in [(ftou, -1.0f32), (ftou, 4294967296.0), (ftos, 2147483648.0), (ftos, f32::NAN)] {
        assert_eq!(to(code, value.to_bits()).unwrap_err().rule(), Some(Rule::ConversionRange), "{value}");
    }
    assert_eq!(to(ftos, (-2147483648.0f32).to_bits()).unwrap(), 0x8000_0000);
    let utof = "%f = OpConvertUToF %float %p\n%r = OpBitcast %uint %f";
    assert_eq!(to(utof, 0xffff_ffff).unwrap(), 4294967296.0f32.to_bits());
    let stof = "%f = OpConvertSToF %float %p\n%r = OpBitcast %uint %f";
    assert_eq!(to(stof, 0xffff_ffff).unwrap(), (-1.0f32).to_bits());
    let bf = "%h = OpConvertFToBF16INTEL %ushort %fp\n%r = OpUConvert %uint %h";
    for (value, want) in [
        (0x3f80_8000, 0x3f80),
        (0x3f80_8001, 0x3f81),
        (0x3f81_8000, 0x3f82),
        (0x7f7f_ffff, 0x7f80),
        (0xff80_0000, 0xff80),
        (0x0000_8000, 0x0000),
    ] {
        assert_eq!(to(bf, value).unwrap(), want, "{value:#x}");
    }
    assert_eq!(to(bf, 0x7f80_0001).unwrap() & 0x7fc0, 0x7fc0, "NaN stays NaN");
    let back = "%h = OpUConvert %ushort %p\n%f = OpConvertBF16ToFINTEL %float %h\n%r = OpBitcast %uint %f";
    assert_eq!(to(back, 0xbf81).unwrap(), 0xbf81_0000);
    let tf = "%f = OpRoundFToTF32INTEL %float %fp\n%r = OpBitcast %uint %f";
    assert_eq!(to(tf, 0x3f80_1001).unwrap(), 0x3f80_2000);
    assert_eq!(to(tf, 0x3f80_1000).unwrap(), 0x3f80_0000);
    let half = "%h = OpFConvert %half %fp\n%s = OpBitcast %ushort %h\n%r = OpUConvert %uint %s";
    assert_eq!(to(half, 65520.0f32.to_bits()).unwrap(), 0x7c00);
    assert_eq!(to(half, 65519.0f32.to_bits()).unwrap(), 0x7bff);
    assert_eq!(to(half, 5.960_464_5e-8f32.to_bits()).unwrap(), 1);
    let unhalf = "%s = OpUConvert %ushort %p\n%h = OpBitcast %half %s\n%f = OpFConvert %float %h\n%r = OpBitcast %uint %f";
    assert_eq!(to(unhalf, 0x0001).unwrap(), 2f32.powi(-24).to_bits());
    let double = "%d = OpFConvert %double %fp\n%m = OpFMul %double %d %d\n%f = OpFConvert %float %m\n%r = OpBitcast %uint %f";
    assert_eq!(to(double, 1.1f32.to_bits()).unwrap(), ((1.1f32 as f64 * 1.1f32 as f64) as f32).to_bits());
}

#[test]
fn saturated_conversions_clamp() {
    let body = format!(
        "{LANE}\n%fp = OpBitcast %float %p\n%r = OpConvertFToS %uint %fp\nOpStore %mine %r\nOpReturn"
    );
    let text =
        kernel("", &body).replace("OpDecorate %lane", "OpDecorate %r SaturatedConversion\nOpDecorate %lane");
    for (value, want) in [(3e9f32, i32::MAX), (-3e9, i32::MIN), (f32::NAN, 0), (-1.5, -1)] {
        let (out, _) = run_kernel(&text, vec![0; 64], value.to_bits(), 0).unwrap();
        assert_eq!(out[0] as i32, want, "{value}");
    }
}

#[test]
fn vectors_and_composites() {
    let code = "%v = OpCompositeConstruct %v4uint %p %q %p %q
%w = OpVectorShuffle %v4uint %v %v 1 4 3 6
%x = OpIAdd %v4uint %w %v
%y = OpCompositeInsert %v4uint %u7 %x 2
%e = OpVectorExtractDynamic %uint %y %u1
%z = OpVectorInsertDynamic %v4uint %y %e %u3
%a = OpCompositeExtract %uint %z 3
%b = OpCompositeExtract %uint %z 2
%r = OpIMul %uint %a %b";
    // w = q p q p, x = p+q each, y = x with [2] = 7, z[3] = x[1].
    assert_eq!(eval("", code, 3, 10).unwrap(), 13 * 7);
    let code = "%v = OpCompositeConstruct %v8ushort %s %s %s %s %t %t %t %t\n%w = OpBitcast %v4uint %v\n%r = OpCompositeExtract %uint %w 2";
    let code = format!("%s = OpUConvert %ushort %p\n%t = OpUConvert %ushort %q\n{code}");
    assert_eq!(eval("", &code, 1, 0x12).unwrap(), 0x12_0012);
    let code = "%v = OpCompositeConstruct %v4float %fp %fq %fp %fq\n%w = OpVectorTimesScalar %v4float %v %fq\n%f = OpDot %float %w %v\n%r = OpBitcast %uint %f";
    assert_eq!(f32::from_bits(eval("", code, 2f32.to_bits(), 3f32.to_bits()).unwrap()), 2.0 * (12.0 + 27.0));
    let code = "%v = OpCompositeConstruct %two %p %q\n%w = OpCompositeInsert %two %u9 %v 0\n%a = OpCompositeExtract %uint %w 0\n%b = OpCompositeExtract %uint %w 1\n%r = OpIAdd %uint %a %b";
    assert_eq!(eval("%two = OpTypeStruct %uint %uint\n", code, 1, 5).unwrap(), 14);
    let bools = "%v2bool = OpTypeVector %bool 2\n";
    let code = "%b = OpULessThan %bool %p %q\n%c = OpUGreaterThan %bool %p %q\n%v = OpCompositeConstruct %v2bool %b %c
%any = OpAny %bool %v\n%all = OpAll %bool %v\n%not = OpLogicalNot %bool %all\n%both = OpLogicalAnd %bool %any %not\n%r = OpSelect %uint %both %u1 %u0";
    assert_eq!(eval(bools, code, 1, 2).unwrap(), 1);
}

#[test]
fn undefined_arithmetic_is_an_error_with_its_values() {
    let fails = |code: &str, p: u32, q: u32, rule: Rule, says: &str| {
        let error = eval("", code, p, q).unwrap_err();
        assert_eq!(error.rule(), Some(rule), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    };
    fails("%r = OpUDiv %uint %p %q", 5, 0, Rule::DivisionByZero, "5 is divided by 0");
    fails("%r = OpSDiv %uint %p %q", 5, 0, Rule::DivisionByZero, "OpSDiv");
    fails("%r = OpUMod %uint %p %q", 5, 0, Rule::DivisionByZero, "OpUMod");
    fails("%r = OpSRem %uint %p %q", 5, 0, Rule::DivisionByZero, "OpSRem");
    fails("%r = OpSDiv %uint %p %q", 1 << 31, u32::MAX, Rule::DivisionOverflow, "divided by -1");
    fails("%r = OpShiftLeftLogical %uint %p %q", 1, 32, Rule::ShiftRange, "32-bit value is shifted by 32");
    fails("%r = OpShiftRightLogical %uint %p %q", 1, u32::MAX, Rule::ShiftRange, "shifted by -1");
    let code = "%v = OpCompositeConstruct %v4uint %p %q %p %q\n%r = OpVectorExtractDynamic %uint %v %q";
    fails(code, 1, 4, Rule::IndexRange, "component 4 of a vector of 4");
}
