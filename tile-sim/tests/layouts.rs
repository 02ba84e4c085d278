//! Register layouts of 2-D block messages, written down by hand from SPV_INTEL_2d_block_io "Mapping Block
//! Data to Invocations" and the hardware's pseudo-code (not from the simulator's formula).

mod support;

use support::{LANE, kernel};
use tile_sim::{Arg, Hardware, Launch, Memory, Module, Options, SimError, run_with};

/// A surface whose element (y, x) holds a value that names it.
struct Surface {
    esz: usize,
    width: u32,
    height: u32,
    pitch: u32,
}

impl Surface {
    fn element(&self, y: i64, x: i64) -> u64 {
        let inside = y >= 0 && x >= 0 && (y as u64) < u64::from(self.height);
        if !inside || (x as u64 + 1) * self.esz as u64 > u64::from(self.width) {
            return 0;
        }
        let name = (y as u64 * 37 + x as u64 * 3 + 1) | (y as u64 + 1) << 32 | (x as u64 + 1) << 40;
        name & (u64::MAX >> (64 - 8 * self.esz))
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0xee; (self.pitch * self.height) as usize];
        for y in 0..self.height as usize {
            for x in 0..self.width as usize / self.esz {
                let value = self.element(y as i64, x as i64).to_le_bytes();
                let at = y * self.pitch as usize + x * self.esz;
                bytes[at..at + self.esz].copy_from_slice(&value[..self.esz]);
            }
        }
        bytes
    }
}

fn component(bits: u32) -> &'static str {
    match bits {
        8 => "%uchar",
        16 => "%ushort",
        32 => "%uint",
        _ => "%ulong",
    }
}

/// Runs `op` with (esz, w, h, c) at (x, y) and returns component `i` of lane `l` at `[i][l]`.
fn load(
    op: &str,
    s: &Surface,
    (w, h, c): (u32, u32, u32),
    (x, y): (i32, i32),
    (bits, count): (u32, usize),
) -> Result<Vec<Vec<u64>>, SimError> {
    let t = component(bits);
    let mut types = format!(
        "%esz = OpConstant %uint {}\n%bw = OpConstant %uint {w}\n%bh = OpConstant %uint {h}
%bc = OpConstant %uint {c}\n%sw = OpConstant %uint {}\n%sh = OpConstant %uint {}
%sp = OpConstant %uint {}\n%n = OpConstant %uint {count}\n%arr = OpTypeArray {t} %n
%parr = OpTypePointer Function %arr\n%pel = OpTypePointer Function {t}\n",
        s.esz, s.width, s.height, s.pitch
    );
    let mut body = format!(
        "%d = OpVariable %parr Function\n{LANE}\n%xy = OpCompositeConstruct %v2uint %p %q
{op} %esz %bw %bh %bc %in %sw %sh %sp %xy %d\n%o64 = OpBitcast %pg64 %out\n"
    );
    for i in 0..count {
        types.push_str(&format!("%i{i} = OpConstant %uint {i}\n%at{i} = OpConstant %uint {}\n", i * 16));
        let widen = if bits == 64 {
            format!("%w{i} = OpCopyObject %ulong %v{i}")
        } else {
            format!("%w{i} = OpUConvert %ulong %v{i}")
        };
        body.push_str(&format!(
            "%e{i} = OpInBoundsAccessChain %pel %d %i{i}\n%v{i} = OpLoad {t} %e{i}\n{widen}
%k{i} = OpIAdd %uint %l %at{i}\n%o{i} = OpInBoundsPtrAccessChain %pg64 %o64 %k{i}\nOpStore %o{i} %w{i}\n"
        ));
    }
    let text = kernel(&types, &(body + "OpReturn"));
    let module = support::module(&text)?;
    let mut memory = Memory::new();
    let out = memory.map(vec![0; count * 16 * 8], 0);
    let input = memory.map(s.bytes(), 0);
    let args = [Arg::Pointer(out), Arg::Pointer(input), Arg::U32(x as u32), Arg::U32(y as u32)];
    let launch = Launch { entry: "main", groups: [1, 1, 1], local: [16, 1, 1], args: &args };
    let options = Options { hardware: Hardware::Xe2, ..Options::default() };
    run_with(&module, &mut memory, &launch, &options)?;
    let words: Vec<u64> =
        memory.bytes(out).chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
    Ok(words.chunks_exact(16).map(<[u64]>::to_vec).collect())
}

fn check(got: Vec<Vec<u64>>, want: impl Fn(i64, i64) -> u64) {
    for (i, lanes) in got.iter().enumerate() {
        for (l, value) in lanes.iter().enumerate() {
            assert_eq!(*value, want(i as i64, l as i64), "component {i}, lane {l}");
        }
    }
}

const LOAD: &str = "OpSubgroup2DBlockLoadINTEL";
const TRANSFORM: &str = "OpSubgroup2DBlockLoadTransformINTEL";
const TRANSPOSE: &str = "OpSubgroup2DBlockLoadTransposeINTEL";

fn surface(esz: usize) -> Surface {
    Surface { esz, width: 256, height: 48, pitch: 320 }
}

#[test]
fn width_16_gives_a_row_per_component_blocks_one_after_another() {
    let s = surface(2);
    let got = load(LOAD, &s, (16, 8, 2), (4, 3), (16, 16)).unwrap();
    check(got, |i, l| s.element(3 + i % 8, 4 + 16 * (i / 8) + l));
    let s = surface(4);
    let got = load(LOAD, &s, (16, 4, 1), (1, 2), (32, 4)).unwrap();
    check(got, |i, l| s.element(2 + i, 1 + l));
    let s = surface(1);
    let got = load(LOAD, &s, (16, 4, 4), (8, 0), (8, 16)).unwrap();
    check(got, |i, l| s.element(i % 4, 8 + 16 * (i / 4) + l));
}

#[test]
fn one_row_of_several_blocks_keeps_the_layout() {
    let s = surface(2);
    let got = load(LOAD, &s, (16, 1, 2), (2, 5), (16, 2)).unwrap();
    check(got, |i, l| s.element(5, 2 + 16 * i + l));
}

#[test]
fn narrow_blocks_put_several_rows_in_a_component() {
    let s = surface(4);
    let got = load(LOAD, &s, (8, 8, 2), (3, 1), (32, 8)).unwrap();
    check(got, |i, l| {
        let (block, i) = (i / 4, i % 4);
        let row = if l < 8 { 2 * i } else { 2 * i + 1 };
        s.element(1 + row, 3 + 8 * block + l % 8)
    });
    let s = surface(2);
    let got = load(LOAD, &s, (4, 8, 1), (2, 0), (16, 2)).unwrap();
    check(got, |i, l| s.element(4 * i + l / 4, 2 + l % 4));
}

#[test]
fn wide_rows_pack_neighbouring_elements() {
    let s = surface(1);
    let got = load(LOAD, &s, (32, 2, 2), (4, 1), (16, 4)).unwrap();
    check(got, |i, l| {
        let (x, y) = (4 + 32 * (i / 2) + 2 * l, 1 + i % 2);
        s.element(y, x) | s.element(y, x + 1) << 8
    });
    let got = load(LOAD, &s, (64, 2, 1), (0, 0), (32, 2)).unwrap();
    check(got, |i, l| (0..4).fold(0, |v, j| v | s.element(i, 4 * l + j) << (8 * j)));
    let s = surface(2);
    let got = load(LOAD, &s, (32, 2, 1), (6, 2), (32, 2)).unwrap();
    check(got, |i, l| s.element(2 + i, 6 + 2 * l) | s.element(2 + i, 7 + 2 * l) << 16);
}

#[test]
fn eight_byte_elements_fill_lanes_in_row_order() {
    let s = surface(8);
    let got = load(LOAD, &s, (8, 4, 1), (2, 3), (64, 2)).unwrap();
    check(got, |i, l| s.element(3 + 2 * i + l / 8, 2 + l % 8));
}

#[test]
fn transform_packs_rows_lowest_first() {
    let s = surface(2);
    let got = load(TRANSFORM, &s, (16, 4, 2), (2, 4), (32, 4)).unwrap();
    check(got, |i, l| {
        let (x, y) = (2 + 16 * (i / 2) + l, 4 + 2 * (i % 2));
        s.element(y, x) | s.element(y + 1, x) << 16
    });
    let s = surface(1);
    let got = load(TRANSFORM, &s, (16, 8, 2), (4, 2), (32, 4)).unwrap();
    check(got, |i, l| {
        let (x, y) = (4 + 16 * (i / 2) + l, 2 + 4 * (i % 2));
        (0..4).fold(0, |v, j| v | s.element(y + j, x) << (8 * j))
    });
}

#[test]
fn wide_transform_is_the_raw_hardware_layout() {
    let s = surface(2);
    let got = load(TRANSFORM, &s, (32, 4, 1), (0, 0), (32, 4)).unwrap();
    // Component 2p + j: row pair p, columns 16j to 16j + 15.
    check(got, |i, l| {
        let (x, y) = (16 * (i % 2) + l, 2 * (i / 2));
        s.element(y, x) | s.element(y + 1, x) << 16
    });
}

#[test]
fn transpose_turns_columns_into_components() {
    let s = surface(4);
    let got = load(TRANSPOSE, &s, (8, 16, 1), (3, 2), (32, 8)).unwrap();
    check(got, |i, l| s.element(2 + l, 3 + i));
    let got = load(TRANSPOSE, &s, (4, 32, 1), (3, 2), (32, 8)).unwrap();
    check(got, |i, l| s.element(2 + 16 * (i % 2) + l, 3 + i / 2));
    let got = load(TRANSPOSE, &s, (8, 8, 1), (3, 2), (32, 4)).unwrap();
    check(got, |i, l| s.element(2 + l % 8, 3 + 2 * i + l / 8));
    let s = surface(8);
    let got = load(TRANSPOSE, &s, (4, 8, 1), (1, 1), (64, 2)).unwrap();
    check(got, |i, l| s.element(1 + l % 8, 1 + 2 * i + l / 8));
}

#[test]
fn elements_outside_the_surface_are_zero_on_every_side() {
    let s = Surface { esz: 2, width: 68, height: 6, pitch: 80 };
    for (x, y) in [(-4, -3), (30, 4), (34, 0), (0, 6), (-40, 0), (0, -8), (i32::MIN, 0), (0, i32::MAX)] {
        let got = load(LOAD, &s, (16, 8, 1), (x, y), (16, 8)).unwrap();
        check(got, |i, l| s.element(i64::from(y) + i, i64::from(x) + l));
        let got = load(TRANSFORM, &s, (16, 8, 1), (x, y), (32, 4)).unwrap();
        check(got, |i, l| {
            let (x, y) = (i64::from(x) + l, i64::from(y) + 2 * i);
            s.element(y, x) | s.element(y + 1, x) << 16
        });
    }
    let s = Surface { esz: 4, width: 68, height: 6, pitch: 80 };
    for (x, y) in [(-4, -3), (14, 4), (17, 0)] {
        let got = load(TRANSPOSE, &s, (8, 16, 1), (x, y), (32, 8)).unwrap();
        check(got, |i, l| s.element(i64::from(y) + l, i64::from(x) + i));
    }
}

/// Stores component `i` of lane `l` = 1 + 16 i + l and returns the surface's bytes.
fn store(s: &Surface, (w, h): (u32, u32), (x, y): (i32, i32), (bits, count): (u32, usize)) -> Vec<u8> {
    let t = component(bits);
    let mut types = format!(
        "%esz = OpConstant %uint {}\n%bw = OpConstant %uint {w}\n%bh = OpConstant %uint {h}
%sw = OpConstant %uint {}\n%sh = OpConstant %uint {}\n%sp = OpConstant %uint {}
%n = OpConstant %uint {count}\n%arr = OpTypeArray {t} %n
%parr = OpTypePointer Function %arr\n%pel = OpTypePointer Function {t}\n",
        s.esz, s.width, s.height, s.pitch
    );
    let mut body = format!("%d = OpVariable %parr Function\n{LANE}\n");
    for i in 0..count {
        types.push_str(&format!("%i{i} = OpConstant %uint {i}\n%at{i} = OpConstant %uint {}\n", i * 16 + 1));
        let narrow = if bits == 32 { "OpCopyObject" } else { "OpUConvert" };
        body.push_str(&format!(
            "%k{i} = OpIAdd %uint %l %at{i}\n%v{i} = {narrow} {t} %k{i}
%e{i} = OpInBoundsAccessChain %pel %d %i{i}\nOpStore %e{i} %v{i}\n"
        ));
    }
    body.push_str(
        "%xy = OpCompositeConstruct %v2uint %p %q
OpSubgroup2DBlockStoreINTEL %esz %bw %bh %u1 %d %in %sw %sh %sp %xy
OpReturn",
    );
    let module: Module = support::module(&kernel(&types, &body)).unwrap();
    let mut memory = Memory::new();
    let input = memory.map(vec![0xee; (s.pitch * s.height) as usize], 0);
    let args = [Arg::Pointer(0), Arg::Pointer(input), Arg::U32(x as u32), Arg::U32(y as u32)];
    let launch = Launch { entry: "main", groups: [1, 1, 1], local: [16, 1, 1], args: &args };
    run_with(&module, &mut memory, &launch, &Options::default()).unwrap();
    memory.unmap(input)
}

#[test]
fn stores_use_the_load_layout_and_drop_what_is_outside() {
    // (esz, w, h, component bits, count): W16 one row per component, W8 two, 2B W32 packed pairs.
    for (esz, w, h, bits, count) in
        [(4, 16, 8, 32, 8), (2, 16, 8, 16, 8), (4, 8, 4, 32, 2), (2, 32, 2, 32, 2)]
    {
        let s = Surface { esz, width: 132, height: 5, pitch: 144 };
        for (x, y) in [(0, 0), (2, 1), (32, 3), (-2, -1), (200, 0)] {
            let got = store(&s, (w, h), (x, y), (bits, count));
            let pack = (bits / 8) as usize / esz;
            let mut want = vec![0xee; got.len()];
            for i in 0..count {
                for l in 0..16 {
                    let value = (1 + 16 * i + l).to_le_bytes();
                    for j in 0..pack {
                        let index = (i * 16 + l) * pack + j;
                        let (row, column) = (index / w as usize, index % w as usize);
                        let (yy, xx) = (y as i64 + row as i64, x as i64 + column as i64);
                        if (0..5).contains(&yy) && xx >= 0 && (xx + 1) * esz as i64 <= 132 {
                            let at = yy as usize * 144 + xx as usize * esz;
                            want[at..at + esz].copy_from_slice(&value[j * esz..(j + 1) * esz]);
                        }
                    }
                }
            }
            assert_eq!(got, want, "esz {esz}, {h} x {w} at ({x}, {y})");
        }
    }
}
