//! Owns tensors in simulated memory, surrounded by NaN, and launches over them.
//!
//! *Guarantees*: every byte that is not an element is 0xFF (a NaN in every element type), and
//! [`Tensor::read`] fails if a run changed one.
#![allow(dead_code, reason = "each test file uses its part")]

use half::{bf16, f16};
use tile_ir::types::DType;
use tile_sim::{Arg, Launch, Memory, SimError};
use tile_spirv::Module;

/// Where a tensor lies.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub batch: u32,
    pub depth: u32,
    pub rows: u32,
    pub cols: u32,
    /// Elements between the aligned base and column 0.
    pub x0: u32,
    /// Elements added to the least legal pitch.
    pub extra_pitch: u32,
    /// One plane for all batches (stride 0).
    pub broadcast: bool,
}

impl Shape {
    pub fn plain(rows: u32, cols: u32) -> Shape {
        Shape { batch: 1, depth: 1, rows, cols, x0: 0, extra_pitch: 0, broadcast: false }
    }
}

/// A tensor in simulated memory.
pub struct Tensor {
    pub dtype: DType,
    pub shape: Shape,
    pub address: u64,
    pitch: u32,
    stride: u64,
}

pub fn to_bits(dtype: DType, v: f32) -> u32 {
    match dtype {
        DType::Bf16 => bf16::from_f32(v).to_bits().into(),
        DType::F16 => f16::from_f32(v).to_bits().into(),
        DType::F32 | DType::Bool => v.to_bits(),
        DType::I8 => u32::from(v as i8 as u8),
        DType::U8 => u32::from(v as u8),
        DType::I32 => v as i32 as u32,
        DType::Tf32 => unreachable!("no tensor is of tf32"),
    }
}

pub fn from_bits(dtype: DType, v: u32) -> f32 {
    match dtype {
        DType::Bf16 => bf16::from_bits(v as u16).to_f32(),
        DType::F16 => f16::from_bits(v as u16).to_f32(),
        DType::F32 | DType::Bool => f32::from_bits(v),
        // Exact for the small integers that tests of several types use.
        DType::I32 => v as i32 as f32,
        DType::I8 => f32::from(v as u8 as i8),
        DType::U8 => f32::from(v as u8),
        DType::Tf32 => unreachable!("no tensor is of tf32"),
    }
}

/// A tensor's value rounded to its type.
pub fn rounded(dtype: DType, v: f32) -> f32 {
    from_bits(dtype, to_bits(dtype, v))
}

impl Tensor {
    /// Maps a tensor whose elements `f(plane, row, col)` gives; without `f` the elements are 0xFF too.
    pub fn map(
        memory: &mut Memory,
        dtype: DType,
        shape: Shape,
        f: Option<&dyn Fn(u32, u32, u32) -> f32>,
    ) -> Tensor {
        match f {
            None => Tensor::map_bits(memory, dtype, shape, None),
            Some(f) => Tensor::map_bits(memory, dtype, shape, Some(&|p, r, c| to_bits(dtype, f(p, r, c)))),
        }
    }

    /// Maps a tensor by the bits of its elements.
    pub fn map_bits(
        memory: &mut Memory,
        dtype: DType,
        shape: Shape,
        f: Option<&dyn Fn(u32, u32, u32) -> u32>,
    ) -> Tensor {
        let esz = dtype.size_bytes();
        let width = ((shape.x0 + shape.cols) * esz).next_multiple_of(16).max(64);
        let pitch = width / esz + shape.extra_pitch;
        let stride = u64::from(pitch * esz * shape.rows).next_multiple_of(64) + 64;
        let planes = if shape.broadcast { 1 } else { shape.batch * shape.depth };
        let mut bytes = vec![0xFF; (stride * u64::from(planes) + 64) as usize];
        let t = Tensor { dtype, shape, address: 0, pitch, stride };
        if let Some(f) = f {
            for plane in 0..planes {
                for row in 0..shape.rows {
                    for col in 0..shape.cols {
                        let at = t.offset(plane, row, col);
                        let v = f(plane, row, col).to_le_bytes();
                        bytes[at..at + esz as usize].copy_from_slice(&v[..esz as usize]);
                    }
                }
            }
        }
        let address = memory.map(bytes, 0);
        Tensor { address, ..t }
    }

    fn offset(&self, plane: u32, row: u32, col: u32) -> usize {
        let esz = self.dtype.size_bytes();
        (self.stride * u64::from(plane) + u64::from((row * self.pitch + self.shape.x0 + col) * esz)) as usize
    }

    /// Bytes from the base to a plane.
    pub fn plane_offset(&self, plane: u32) -> u64 {
        self.stride * u64::from(plane)
    }

    /// The kernel arguments that describe the tensor.
    pub fn args(&self) -> Vec<Arg> {
        let s = self.shape;
        let (batch_stride, depth_stride) =
            if s.broadcast { (0, 0) } else { (self.stride * u64::from(s.depth), self.stride) };
        vec![
            Arg::Pointer(self.address),
            Arg::U32(s.batch),
            Arg::U32(s.depth),
            Arg::U32(s.rows),
            Arg::U32(s.cols),
            Arg::U32(self.pitch),
            Arg::U32(s.x0),
            Arg::U64(batch_stride),
            Arg::U64(depth_stride),
        ]
    }

    /// Reads the elements, plane by plane, and checks that nothing around them changed.
    pub fn read(&self, memory: &Memory) -> Vec<f32> {
        self.read_bits(memory).into_iter().map(|bits| from_bits(self.dtype, bits)).collect()
    }

    /// Reads the bits of the elements, as [`Tensor::read`] does.
    pub fn read_bits(&self, memory: &Memory) -> Vec<u32> {
        let esz = self.dtype.size_bytes() as usize;
        let mut bytes = memory.bytes(self.address).to_vec();
        let mut out = vec![];
        for plane in 0..self.shape.batch * self.shape.depth {
            for row in 0..self.shape.rows {
                for col in 0..self.shape.cols {
                    let at = self.offset(plane, row, col);
                    let mut word = [0; 4];
                    word[..esz].copy_from_slice(&bytes[at..at + esz]);
                    out.push(u32::from_le_bytes(word));
                    bytes[at..at + esz].fill(0xFF);
                }
            }
        }
        if let Some(at) = bytes.iter().position(|&b| b != 0xFF) {
            panic!("byte {at} outside the elements of {:?} (pitch {}) was written", self.shape, self.pitch);
        }
        out
    }
}

/// A module the simulator has read, to be launched many times.
pub struct Ready {
    module: tile_sim::Module,
    entry: String,
}

impl Ready {
    pub fn new(module: &Module) -> Ready {
        let parsed = tile_sim::Module::parse(&module.words).expect("the simulator reads the words");
        Ready { module: parsed, entry: module.entry.clone() }
    }
}

/// Launches a module over the tiles of `output`.
pub fn launch(
    ready: &Ready,
    memory: &mut Memory,
    output: &Tensor,
    tile: (u32, u32),
    subgroups: (u32, u32),
    args: &[Arg],
) -> Result<tile_sim::Counters, SimError> {
    launch_with(ready, memory, output, tile, subgroups, args, &tile_sim::Options::default())
}

/// Launches with options of the simulator.
pub fn launch_with(
    ready: &Ready,
    memory: &mut Memory,
    output: &Tensor,
    tile: (u32, u32),
    subgroups: (u32, u32),
    args: &[Arg],
    options: &tile_sim::Options,
) -> Result<tile_sim::Counters, SimError> {
    let s = output.shape;
    let groups = s.rows.div_ceil(tile.0).div_ceil(subgroups.0)
        * s.cols.div_ceil(tile.1).div_ceil(subgroups.1)
        * s.batch
        * s.depth;
    let local = [16 * subgroups.0 * subgroups.1, 1, 1];
    let launch = Launch { entry: &ready.entry, groups: [groups, 1, 1], local, args };
    tile_sim::run_with(&ready.module, memory, &launch, options)
}

/// A fixed pseudo-random value in about -2..2 for a place, the same in every run.
pub fn noise(seed: u32, plane: u32, row: u32, col: u32) -> f32 {
    (hash(seed ^ plane.wrapping_mul(0x9E37_79B9), row, col) & 0xFFFF) as f32 / 16384.0 - 2.0
}

/// Fixed pseudo-random bits for a place, the same in every run.
pub fn hash(seed: u32, row: u32, col: u32) -> u32 {
    let mut x = seed ^ row.wrapping_mul(0x85EB_CA6B) ^ col.wrapping_mul(0xC2B2_AE35);
    for _ in 0..3 {
        x ^= x >> 15;
        x = x.wrapping_mul(0x2C1B_3C6D);
        x ^= x >> 12;
    }
    x
}

impl Tensor {
    /// The same memory with another shape, for a launch over another grid.
    pub fn seen_as(&self, shape: Shape) -> Tensor {
        Tensor { dtype: self.dtype, shape, address: self.address, pitch: self.pitch, stride: self.stride }
    }
}
