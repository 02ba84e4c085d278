//! The program of a scratch crate: launches kernels on the tensors of one file and writes another with what comes out.
//!
//! *Assumes*: the files of `real`, which writes this program beside `kernels`, a list of kernels compiled by the real macro
//! and rustc. *Guarantees*: a launch that fails is a record of its own. *Not here*: what is right.

mod kernels;

use std::io::{Read, Result, Write};

use tile_runtime::{Device, InstanceInfo, LaunchArg, LaunchOptions, TensorLayout, View, ViewMut, launch};
use tile_std::prelude::{AnyElement, bf16, f16};

/// Elements of a tensor, with what surrounds them.
enum Buffer {
    Bf16(Vec<bf16>),
    F16(Vec<f16>),
    F32(Vec<f32>),
    I32(Vec<i32>),
    I8(Vec<i8>),
    U8(Vec<u8>),
}

struct Tensor {
    buffer: Buffer,
    /// Elements before the tensor's memory, which begins at a line: so nothing has to be copied for the hardware.
    before: usize,
    layout: TensorLayout,
    /// Elements from there to the first one.
    first: usize,
}

/// Elements in memory that begins at a line, and how many lie before.
fn at_a_line<T: AnyElement, const SIZE: usize>(bytes: &[u8], f: impl Fn([u8; SIZE]) -> T) -> (Vec<T>, usize) {
    let elements = bytes.as_chunks::<SIZE>().0;
    let mut all: Vec<T> = Vec::with_capacity(elements.len() + 64);
    let before = (64 - all.as_ptr().addr() % 64) % 64 / SIZE;
    all.resize(before, f([0; SIZE]));
    all.extend(elements.iter().map(|chunk| f(*chunk)));
    (all, before)
}

struct Reader<R>(R);

impl<R: Read> Reader<R> {
    fn u64(&mut self) -> Result<u64> {
        let mut word = [0; 8];
        self.0.read_exact(&mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    fn bytes(&mut self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.u64()? as usize];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }

    fn tensor(&mut self) -> Result<Tensor> {
        let dtype = self.text()?;
        let mut number = || self.u64().map(|v| v as usize);
        let mut shape = [number()?, number()?, number()?, number()?];
        let (pitch, first, stride) = (number()?, number()?, number()?);
        shape[3] += first;
        let bytes = self.bytes()?;
        let (buffer, before, size) = match dtype.as_str() {
            "bf16" => {
                let (all, before) = at_a_line(&bytes, bf16::from_le_bytes);
                (Buffer::Bf16(all), before, 2)
            }
            "f16" => {
                let (all, before) = at_a_line(&bytes, f16::from_le_bytes);
                (Buffer::F16(all), before, 2)
            }
            "f32" => {
                let (all, before) = at_a_line(&bytes, f32::from_le_bytes);
                (Buffer::F32(all), before, 4)
            }
            "i32" => {
                let (all, before) = at_a_line(&bytes, i32::from_le_bytes);
                (Buffer::I32(all), before, 4)
            }
            "i8" => {
                let (all, before) = at_a_line(&bytes, i8::from_le_bytes);
                (Buffer::I8(all), before, 1)
            }
            "u8" => {
                let (all, before) = at_a_line(&bytes, u8::from_le_bytes);
                (Buffer::U8(all), before, 1)
            }
            other => panic!("no tensor of {other}"),
        };
        let stride = stride / size;
        let layout = TensorLayout::strided(shape, pitch, stride, stride * shape[1], size).expect("an addressable layout");
        Ok(Tensor { buffer, before, layout, first })
    }

    fn scalar(&mut self) -> Result<LaunchArg<'static>> {
        let ty = self.text()?;
        let bits = self.u64()?;
        Ok(match ty.as_str() {
            "u32" => LaunchArg::U32(bits as u32),
            "i32" => LaunchArg::I32(bits as i32),
            "u64" => LaunchArg::U64(bits),
            "f32" => LaunchArg::F32(f32::from_bits(bits as u32)),
            _ => LaunchArg::Bool(bits != 0),
        })
    }
}

impl Tensor {
    /// The tensor is a part of a wider one, whose first columns lie before it.
    fn input(&self) -> LaunchArg<'_> {
        fn part<'a, T: AnyElement>(elements: &'a [T], of: &Tensor) -> LaunchArg<'a> {
            let whole = View::with_layout(&elements[of.before..], of.layout).expect("a layout that fits");
            whole.slice_cols(of.first..).expect("columns that exist").into()
        }
        match &self.buffer {
            Buffer::Bf16(v) => part(v, self),
            Buffer::F16(v) => part(v, self),
            Buffer::F32(v) => part(v, self),
            Buffer::I32(v) => part(v, self),
            Buffer::I8(v) => part(v, self),
            Buffer::U8(v) => part(v, self),
        }
    }

    fn output(&mut self) -> LaunchArg<'_> {
        let (before, layout, first) = (self.before, self.layout, self.first);
        fn part<T: AnyElement>(elements: &mut [T], layout: TensorLayout, first: usize) -> LaunchArg<'_> {
            let whole = ViewMut::with_layout(elements, layout).expect("a layout that fits");
            whole.slice_cols(first..).expect("columns that exist").into()
        }
        match &mut self.buffer {
            Buffer::Bf16(v) => part(&mut v[before..], layout, first),
            Buffer::F16(v) => part(&mut v[before..], layout, first),
            Buffer::F32(v) => part(&mut v[before..], layout, first),
            Buffer::I32(v) => part(&mut v[before..], layout, first),
            Buffer::I8(v) => part(&mut v[before..], layout, first),
            Buffer::U8(v) => part(&mut v[before..], layout, first),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match &self.buffer {
            Buffer::Bf16(v) => v[self.before..].iter().flat_map(|x| x.to_le_bytes()).collect(),
            Buffer::F16(v) => v[self.before..].iter().flat_map(|x| x.to_le_bytes()).collect(),
            Buffer::F32(v) => v[self.before..].iter().flat_map(|x| x.to_le_bytes()).collect(),
            Buffer::I32(v) => v[self.before..].iter().flat_map(|x| x.to_le_bytes()).collect(),
            Buffer::I8(v) => v[self.before..].iter().flat_map(|x| x.to_le_bytes()).collect(),
            Buffer::U8(v) => v[self.before..].to_vec(),
        }
    }
}

fn main() -> Result<()> {
    let mut names = std::env::args().skip(1);
    let (from, to) = (names.next().expect("a file to read"), names.next().expect("a file to write"));
    let mut reader = Reader(std::io::BufReader::new(std::fs::File::open(from)?));
    let mut writer = std::io::BufWriter::new(std::fs::File::create(to)?);
    let mut devices: Vec<(String, Device)> = vec![];
    for _ in 0..reader.u64()? {
        let kernel = kernels::KERNELS[reader.u64()? as usize];
        let name = reader.text()?;
        if !devices.iter().any(|(known, _)| *known == name) {
            let (device, _) = Device::select(Some(&name)).expect("a device that is there");
            devices.push((name.clone(), device));
        }
        let device = &devices.iter().find(|(known, _)| *known == name).expect("made above").1;
        let name = reader.text()?;
        let instance: &'static InstanceInfo = kernel.find_named(&name).expect("the instance is compiled");
        let count = reader.u64()?;
        let mut tensors = (0..count).map(|_| reader.tensor()).collect::<Result<Vec<_>>>()?;
        let scalars = (0..reader.u64()?).map(|_| reader.scalar()).collect::<Result<Vec<_>>>()?;
        let (output, inputs) = tensors.split_first_mut().expect("a kernel has an output");
        let launched = {
            let mut args = vec![output.output()];
            args.extend(inputs.iter().map(|t| t.input()));
            args.extend(scalars);
            // A tensor that the hardware could not take would be copied, and have another pitch: that is an error. To a device
            // with memory of its own every tensor is copied.
            let strict = matches!(device.name(), "host" | "sim");
            launch(device, instance, &mut args, &LaunchOptions { strict, ..LaunchOptions::default() })
        };
        let (status, bytes) = match launched {
            Ok(_) => (0u64, output.bytes()),
            Err(error) => (1, error.to_string().into_bytes()),
        };
        writer.write_all(&status.to_le_bytes())?;
        writer.write_all(&(bytes.len() as u64).to_le_bytes())?;
        writer.write_all(&bytes)?;
    }
    writer.flush()
}
