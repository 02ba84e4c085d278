//! Owns the tensors of a case: their shapes, their values, and how they lie in simulated memory.
//!
//! *Guarantees*: an element's value depends on the seed and its place only, so that a smaller tensor keeps its values;
//! every byte that is not an element is 0xFF, a NaN in every element type; the layout obeys the launch contract.
//! *Not here*: what a kernel does with them.

use half::{bf16, f16};
use tile_ir::types::DType;
use tile_sim::{Arg, Memory};

use super::dice::{Dice, mix};
use super::number::Num;

/// What a tensor is and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Outer batch count.
    pub batch: u32,
    /// Inner batch count.
    pub depth: u32,
    /// Rows of a plane.
    pub rows: u32,
    /// Columns of a plane.
    pub cols: u32,
    /// Elements between the aligned base and column 0, in units of 4 bytes.
    pub x0: u32,
    /// Units of 16 bytes added to the least legal pitch.
    pub extra_pitch: u32,
    /// One plane for all batches.
    pub repeated: bool,
    /// Seed of the values.
    pub seed: u64,
    /// Whether NaN, infinities, zeros of both signs, subnormals and large values occur.
    pub odd: bool,
}

impl Spec {
    /// Makes a tensor up.
    pub fn random(dice: &mut Dice, (tall, wide): (u32, u32), planes: (u32, u32), out: bool) -> Spec {
        let mut extent = |tile: u32| match dice.below(5) {
            0 => tile,
            1 => 1 + dice.below(tile as usize) as u32,
            2 => tile * 2 + 1 + dice.below(tile as usize) as u32,
            _ => tile + 1 + dice.below(tile as usize) as u32,
        };
        let (rows, cols) = (extent(tall), extent(wide));
        let mut count = |n: u32| if out || dice.one_in(8) { n } else { 1 + dice.below(n as usize) as u32 };
        let (batch, depth) = (count(planes.0), count(planes.1));
        Spec {
            batch,
            depth,
            rows,
            cols,
            x0: if dice.one_in(2) { 0 } else { dice.below(16) as u32 },
            extra_pitch: if dice.one_in(2) { 0 } else { dice.below(5) as u32 },
            repeated: !out && dice.one_in(8),
            seed: dice.bits(),
            odd: dice.one_in(3),
        }
    }

    fn planes(&self) -> u32 {
        if self.repeated { 1 } else { self.batch * self.depth }
    }

    fn value(&self, dtype: DType, plane: u32, row: u32, col: u32) -> Num {
        let place = u64::from(plane) << 48 ^ u64::from(row) << 24 ^ u64::from(col);
        let bits = mix(self.seed ^ mix(place));
        let plain = ((bits >> 40) & 0xFFF) as f32 / 1024.0 - 2.0;
        let odd = self.odd && (bits >> 8).is_multiple_of(12);
        if dtype.is_integer() {
            // Some have the bits of a NaN.
            const EDGES: [i32; 8] = [i32::MIN, i32::MAX, -1, 0, 46_341, 0x7fc0_0001, 1 << 24, -(1 << 24) - 1];
            let plain = (bits >> 32) as i32 % 1000;
            let value = if odd { EDGES[(bits % 8) as usize] } else { plain };
            return match dtype {
                // The edges of bytes are among their values, of which each is as likely.
                DType::I8 => Num::whole((value as i8).into()),
                DType::U8 => Num::whole((value as u8).into()),
                _ => Num::whole(value),
            };
        }
        if !odd {
            return Num::exact(plain);
        }
        let (tiny, large) = if dtype == DType::F16 { (3.0e-7, -65504.0) } else { (1.0e-39, -3.0e38) };
        Num::exact(match bits % 16 {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 | 4 => 0.0,
            5 | 6 => -0.0,
            7 => tiny,
            8 => large,
            9 => 80.0,
            10 => -100.0,
            11 => 1.0,
            _ => plain * 1000.0,
        })
    }
}

/// A tensor with its elements.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Element type.
    pub dtype: DType,
    /// Shape and place.
    pub spec: Spec,
    elements: Vec<Num>,
    x0: u32,
    pitch: u32,
    stride: u64,
}

fn bits_of(dtype: DType, x: Num) -> u32 {
    match dtype {
        DType::Bf16 => bf16::from_f32(x.v).to_bits().into(),
        DType::F16 => f16::from_f32(x.v).to_bits().into(),
        DType::F32 => x.v.to_bits(),
        DType::I32 | DType::I8 | DType::U8 => x.int.unwrap_or_default() as u32,
        // No tensor has these.
        DType::Tf32 | DType::Bool => 0,
    }
}

fn of_bits(dtype: DType, bits: u32) -> Num {
    match dtype {
        DType::Bf16 => Num::exact(bf16::from_bits(bits as u16).to_f32()),
        DType::F16 => Num::exact(f16::from_bits(bits as u16).to_f32()),
        DType::F32 => Num::exact(f32::from_bits(bits)),
        DType::I32 => Num::whole(bits as i32),
        DType::I8 => Num::whole((bits as i8).into()),
        DType::U8 => Num::whole((bits as u8).into()),
        DType::Tf32 | DType::Bool => Num::UNKNOWN,
    }
}

impl Tensor {
    /// Makes the tensor of a description.
    pub fn new(dtype: DType, spec: &Spec) -> Tensor {
        let esz = dtype.size_bytes();
        let x0 = spec.x0 * 4 / esz;
        let width = ((x0 + spec.cols) * esz).next_multiple_of(16).max(64);
        let pitch = (width + 16 * spec.extra_pitch) / esz;
        let stride = u64::from(pitch * esz * spec.rows).next_multiple_of(64) + 64;
        let mut elements = vec![];
        for plane in 0..spec.planes() {
            for row in 0..spec.rows {
                for col in 0..spec.cols {
                    elements.push(of_bits(dtype, bits_of(dtype, spec.value(dtype, plane, row, col))));
                }
            }
        }
        Tensor { dtype, spec: spec.clone(), elements, x0, pitch, stride }
    }

    /// Elements from row to row.
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    fn index(&self, [batch, depth, row, col]: [u64; 4]) -> Option<usize> {
        let s = &self.spec;
        let inside =
            batch < s.batch.into() && depth < s.depth.into() && row < s.rows.into() && col < s.cols.into();
        let plane = if s.repeated { 0 } else { batch * u64::from(s.depth) + depth };
        inside.then(|| ((plane * u64::from(s.rows) + row) * u64::from(s.cols) + col) as usize)
    }

    /// The element at a place; `None` outside.
    pub fn get(&self, at: [u64; 4]) -> Option<Num> {
        Some(self.elements[self.index(at)?])
    }

    /// Replaces the element at a place; dropped outside.
    pub fn set(&mut self, at: [u64; 4], value: Num) {
        if let Some(index) = self.index(at) {
            self.elements[index] = value;
        }
    }

    fn offset(&self, plane: u32, row: u32, col: u32) -> usize {
        let within = (row * self.pitch + self.x0 + col) * self.dtype.size_bytes();
        (self.stride * u64::from(plane) + u64::from(within)) as usize
    }

    /// Every element: plane, row, column, value, and where its bytes are.
    pub fn places(&self) -> impl Iterator<Item = ((u32, u32, u32), Num, usize)> + '_ {
        let s = &self.spec;
        let places = (0..s.planes())
            .flat_map(move |p| (0..s.rows).flat_map(move |r| (0..s.cols).map(move |c| (p, r, c))));
        places.zip(&self.elements).map(|((p, r, c), v)| ((p, r, c), *v, self.offset(p, r, c)))
    }

    /// The bytes of the tensor with those around it.
    pub fn bytes(&self) -> Vec<u8> {
        let esz = self.dtype.size_bytes() as usize;
        let mut bytes = vec![0xFF; (self.stride * u64::from(self.spec.planes()) + 64) as usize];
        for (_, v, at) in self.places() {
            bytes[at..at + esz].copy_from_slice(&bits_of(self.dtype, v).to_le_bytes()[..esz]);
        }
        bytes
    }

    /// Puts the tensor into memory; gives its address.
    pub fn map(&self, memory: &mut Memory) -> u64 {
        memory.map(self.bytes(), 0)
    }

    /// Elements between the base and the first element; bytes from plane to plane, 0 if one plane stands for all.
    pub fn origin_and_stride(&self) -> (u32, u64) {
        (self.x0, if self.spec.repeated { 0 } else { self.stride })
    }

    /// The kernel arguments that describe the tensor.
    pub fn args(&self, address: u64) -> Vec<Arg> {
        let s = &self.spec;
        let strides = if s.repeated { (0, 0) } else { (self.stride * u64::from(s.depth), self.stride) };
        let mut args = vec![Arg::Pointer(address)];
        args.extend([s.batch, s.depth, s.rows, s.cols, self.pitch, self.x0].map(Arg::U32));
        args.extend([Arg::U64(strides.0), Arg::U64(strides.1)]);
        args
    }

    /// Reads one element of the bytes of this tensor.
    pub fn read(&self, bytes: &[u8], at: usize) -> Num {
        let esz = self.dtype.size_bytes() as usize;
        let mut word = [0; 4];
        word[..esz].copy_from_slice(&bytes[at..at + esz]);
        of_bits(self.dtype, u32::from_le_bytes(word))
    }
}
