//! Operand layouts and arithmetic of matrix multiply-accumulate, against plain loops over matrices.

mod support;

use half::{bf16, f16};
use support::{LANE, Random, kernel, run_kernel};
use tile_sim::Rule;

/// One row of the extension's operand tables, as text: types of A, B and result per lane, K, flags.
struct Case {
    a: &'static str,
    b: &'static str,
    d: &'static str,
    k: u32,
    flags: u32,
}

const BF16: Case = Case { a: "%v8ushort", b: "%v8uint", d: "%v8float", k: 16, flags: 0x3000 };
const BF16_BF16: Case = Case { d: "%v8ushort", flags: 0x300c, ..BF16 };
const F16: Case = Case { flags: 0xc00, ..BF16 };
const F16_F16: Case = Case { d: "%v8half", ..F16 };
const TF32: Case = Case { a: "%v4float", b: "%v8float", d: "%v8float", k: 8, flags: 0x300 };
const S8: Case = Case { d: "%v8uint", k: 32, flags: 0x33, ..BF16 };
const U8S8: Case = Case { flags: 0x32, ..S8 };
const S4: Case = Case { k: 64, flags: 0xc3, ..S8 };

/// The kernel reads per-lane words of A (8), B (8) and C (8) from `in`, runs one instruction and writes the
/// result's 8 components per lane. Every component of 16 bits travels in a 32-bit word.
fn text(case: &Case) -> String {
    let element = |t: &str| match &t[3..] {
        "ushort" => "%ushort",
        "uint" => "%uint",
        "half" => "%half",
        _ => "%float",
    };
    let mut types = format!("%kk = OpConstant %uint {}\n", case.k);
    let mut body = format!("{LANE}\n%l24 = OpIMul %uint %l %w24\n");
    types.push_str("%w24 = OpConstant %uint 24\n");
    for i in 0..24 {
        types.push_str(&format!("%c{i} = OpConstant %uint {i}\n"));
    }
    let mut vector = |name: &str, ty: &str, from: usize| {
        let n: usize = ty[2..3].parse().unwrap();
        let e = element(ty);
        let mut parts = String::new();
        for i in 0..n {
            let convert = match e {
                "%ushort" => format!("%{name}{i} = OpUConvert %ushort %{name}w{i}"),
                "%half" => {
                    format!(
                        "%{name}h{i} = OpUConvert %ushort %{name}w{i}\n%{name}{i} = OpBitcast %half %{name}h{i}"
                    )
                }
                "%float" => format!("%{name}{i} = OpBitcast %float %{name}w{i}"),
                _ => format!("%{name}{i} = OpCopyObject %uint %{name}w{i}"),
            };
            body.push_str(&format!(
                "%{name}x{i} = OpIAdd %uint %l24 %c{}\n%{name}p{i} = OpInBoundsPtrAccessChain %pg %in %{name}x{i}
%{name}w{i} = OpLoad %uint %{name}p{i}\n{convert}\n",
                from + i
            ));
            parts.push_str(&format!(" %{name}{i}"));
        }
        body.push_str(&format!("%{name} = OpCompositeConstruct {ty}{parts}\n"));
    };
    vector("A", case.a, 0);
    vector("B", case.b, 8);
    vector("C", case.d, 16);
    body.push_str(&format!(
        "%D = OpSubgroupMatrixMultiplyAccumulateINTEL {} %kk %A %B %C {}\n%l8 = OpIMul %uint %l %u8\n",
        case.d, case.flags
    ));
    let e = element(case.d);
    for i in 0..8 {
        let convert = match e {
            "%ushort" => format!("%r{i} = OpUConvert %uint %d{i}"),
            "%half" => format!("%rh{i} = OpBitcast %ushort %d{i}\n%r{i} = OpUConvert %uint %rh{i}"),
            "%float" => format!("%r{i} = OpBitcast %uint %d{i}"),
            _ => format!("%r{i} = OpCopyObject %uint %d{i}"),
        };
        body.push_str(&format!(
            "%d{i} = OpCompositeExtract {e} %D {i}\n{convert}\n%y{i} = OpIAdd %uint %l8 %c{i}
%q{i} = OpInBoundsPtrAccessChain %pg %out %y{i}\nOpStore %q{i} %r{i}\n"
        ));
    }
    kernel(&types, &(body + "OpReturn"))
}

/// Runs one instruction on per-lane words `[lane][24]`; result `[m][n]`.
fn run(case: &Case, words: &[[u32; 24]; 16]) -> Vec<Vec<u32>> {
    let input = words.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
    let (out, counters) = support::run_kernel_sized(&text(case), input, (0, 0), 16, 128).unwrap();
    assert_eq!(counters.dpas, 1);
    (0..8).map(|m| (0..16).map(|n| out[n * 8 + m]).collect()).collect()
}

/// Words that put `a(m, k)`, `b(k, n)` of `bits` each and `c(m, n)` where the extension wants them.
fn words(
    bits: u32,
    a: impl Fn(u32, u32) -> u32,
    b: impl Fn(u32, u32) -> u32,
    c: impl Fn(u32, u32) -> u32,
) -> [[u32; 24]; 16] {
    let mut w = [[0; 24]; 16];
    let (per_word, per_dword) = (16 / bits.min(16), 32 / bits);
    for (l, lane) in w.iter_mut().enumerate() {
        let l = l as u32;
        for i in 0..8 {
            lane[i as usize] = if bits == 32 {
                // tf32: component i holds rows 2i (lanes 0-7) and 2i + 1 (lanes 8-15).
                if i < 4 { a(2 * i + l / 8, l % 8) } else { 0 }
            } else {
                (0..per_word).fold(0, |v, j| v | a(i, l * per_word + j) << (j * bits))
            };
            lane[8 + i as usize] = (0..per_dword).fold(0, |v, j| v | b(i * per_dword + j, l) << (j * bits));
            lane[16 + i as usize] = c(i, l);
        }
    }
    w
}

/// Small distinct numbers, so that no two elements can be confused unnoticed.
fn number(i: u32, j: u32) -> i32 {
    (i as i32 * 7 + j as i32 * 13) % 31 - 15
}

fn float_case(case: &Case, bits: u32, encode: impl Fn(f32) -> u32, c: impl Fn(f32) -> u32) {
    let w = words(
        bits,
        |m, k| encode(number(m, k) as f32),
        |k, n| encode(number(n + 3, k) as f32),
        |m, n| c(number(m, n) as f32),
    );
    let got = run(case, &w);
    for (m, row) in got.iter().enumerate() {
        for (n, value) in row.iter().enumerate() {
            let (m, n) = (m as u32, n as u32);
            let sum = (0..case.k).map(|k| number(m, k) * number(n + 3, k)).sum::<i32>() + number(m, n);
            assert_eq!(*value, c(sum as f32), "({m}, {n})");
        }
    }
}

#[test]
fn bf16_products_sum_in_f32() {
    float_case(&BF16, 16, |v| u32::from(bf16::from_f32(v).to_bits()), f32::to_bits);
}

#[test]
fn bf16_accumulator_rounds_once() {
    let encode = |v| u32::from(bf16::from_f32(v).to_bits());
    float_case(&BF16_BF16, 16, encode, encode);
}

#[test]
fn f16_products_sum_in_f32_and_in_f16() {
    let encode = |v| u32::from(f16::from_f32(v).to_bits());
    float_case(&F16, 16, encode, f32::to_bits);
    float_case(&F16_F16, 16, encode, encode);
}

#[test]
fn tf32_reads_nineteen_bits() {
    float_case(&TF32, 32, f32::to_bits, f32::to_bits);
    float_case(&TF32, 32, |v| v.to_bits() | 0x1fff, f32::to_bits);
}

#[test]
fn integers_of_8_and_4_bits_sum_in_32() {
    for (case, bits, a_signed) in [(&S8, 8, true), (&U8S8, 8, false), (&S4, 4, true)] {
        let mut random = Random(99);
        let mut table =
            |n: usize| (0..n).map(|_| random.next() as u32 & ((1 << bits) - 1)).collect::<Vec<_>>();
        let (a, b) = (table(8 * 64), table(64 * 16));
        let (a, b) = (|m: u32, k: u32| a[(m * 64 + k) as usize], |k: u32, n: u32| b[(k * 16 + n) as usize]);
        let widen = |v: u32, signed: bool| {
            if signed { (v << (32 - bits)) as i32 >> (32 - bits) } else { v as i32 }
        };
        let got = run(case, &words(bits, a, b, |m, n| m * 1000 + n));
        for (m, row) in got.iter().enumerate() {
            for (n, value) in row.iter().enumerate() {
                let (m, n) = (m as u32, n as u32);
                let sum: i32 = (0..case.k).map(|k| widen(a(m, k), a_signed) * widen(b(k, n), true)).sum();
                assert_eq!(*value as i32, sum + (m * 1000 + n) as i32, "({m}, {n})");
            }
        }
    }
}

#[test]
fn sums_are_fused_and_in_ascending_k() {
    // 1 + 2^-24 + 2^-24: each addition alone rounds to 1; summed in pairs, the small terms would show.
    let one = u32::from(bf16::from_f32(1.0).to_bits());
    let small = u32::from(bf16::from_f32(2f32.powi(-24)).to_bits());
    let w = words(16, |_, k| if k < 2 { small } else { 0 }, |_, _| one, |_, _| 1f32.to_bits());
    assert_eq!(run(&BF16, &w)[0][0], 1f32.to_bits());
    // 2^24 + 1 - 2^24 is 0 in this order and 1 in the other.
    let big = 2f32.powi(24);
    let w = words(
        16,
        |_, k| u32::from(bf16::from_f32([big, 1.0, -big].get(k as usize).copied().unwrap_or(0.0)).to_bits()),
        |_, _| one,
        |_, _| 0,
    );
    assert_eq!(run(&BF16, &w)[0][0], 0f32.to_bits());
    // A product outside f32's normal range must not round on its own: 2^-80 * 2^-80 is below every f32.
    let tiny = u32::from(bf16::from_f32(2f32.powi(-80)).to_bits());
    let huge = u32::from(bf16::from_f32(2f32.powi(100)).to_bits());
    let w = words(
        16,
        |_, k| if k == 0 { huge } else { tiny },
        |k, _| if k == 0 { huge } else { tiny },
        |_, _| f32::NEG_INFINITY.to_bits(),
    );
    assert_eq!(run(&BF16, &w)[0][0], f32::NEG_INFINITY.to_bits());
    // 2^100 * 2^100 - 2^127 * 2: fused multiply-add sees the exact product.
    let a = u32::from(bf16::from_f32(2f32.powi(127)).to_bits());
    let two = u32::from(bf16::from_f32(2.0).to_bits());
    let w = words(
        16,
        |_, k| if k == 0 { a } else { 0 },
        |k, _| if k == 0 { two } else { 0 },
        |_, _| (-(2f32.powi(127))).to_bits(),
    );
    assert_eq!(run(&BF16, &w)[0][0], 2f32.powi(127).to_bits());
}

#[test]
fn fewer_rows_than_eight() {
    // A is 1 (and 2), B is 1 in even and 2 in odd k, C is 0.5: rows sum to 24.5 and 48.5.
    let types = "%b1 = OpConstant %uint 1073758080\n%a1 = OpConstant %ushort 16256\n%a2 = OpConstant %ushort 16384
%c1 = OpConstant %float 0.5\n%B = OpConstantComposite %v8uint %b1 %b1 %b1 %b1 %b1 %b1 %b1 %b1
%v2ushort = OpTypeVector %ushort 2\n%v2float = OpTypeVector %float 2\n%v3ushort = OpTypeVector %ushort 3
%v3float = OpTypeVector %float 3\n%A2 = OpConstantComposite %v2ushort %a1 %a2\n%C2 = OpConstantComposite %v2float %c1 %c1
%A3 = OpConstantNull %v3ushort\n%C3 = OpConstantNull %v3float\n";
    let run = |code: &str| {
        let body = format!("{LANE}\n{code}\n%r = OpBitcast %uint %f\nOpStore %mine %r\nOpReturn");
        run_kernel(&kernel(types, &body), vec![0; 64], 0, 0).map(|(out, _)| f32::from_bits(out[5]))
    };
    let mma = "OpSubgroupMatrixMultiplyAccumulateINTEL";
    assert_eq!(run(&format!("%f = {mma} %float %u16 %a1 %B %c1 12288")).unwrap(), 24.5);
    let two = format!("%D = {mma} %v2float %u16 %A2 %B %C2 12288\n%f = OpCompositeExtract %float %D");
    assert_eq!(run(&format!("{two} 0")).unwrap(), 24.5);
    assert_eq!(run(&format!("{two} 1")).unwrap(), 48.5);
    let three = format!("%D = {mma} %v3float %u16 %A3 %B %C3 12288\n%f = OpCompositeExtract %float %D 0");
    let error = run(&three).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::MatrixShape), "{error}");
    assert!(error.to_string().contains("M is 3"), "{error}");
}

#[test]
fn illegal_combinations_are_errors() {
    let wrong = |case: Case, says: &str| {
        let error = run_kernel(&text(&case), vec![0; 2048], 0, 0).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::MatrixShape), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.to_string().contains("OpSubgroupMatrixMultiplyAccumulateINTEL"), "{error}");
    };
    wrong(Case { k: 8, ..BF16 }, "K is 8");
    wrong(Case { flags: 0, ..BF16 }, "flags 0x0");
    wrong(Case { flags: 0x1000, ..BF16 }, "flags 0x1000");
    wrong(Case { a: "%v4uint", ..BF16 }, "A is 4 x int32");
    wrong(Case { b: "%v8ushort", ..BF16 }, "B is 8 x int16");
    wrong(Case { d: "%v8uint", ..BF16 }, "the result is 8 x int32");
    wrong(Case { a: "%v8half", ..F16 }, "A is 8 x float16");
}
