//! Every kernel of the library on devices that run `lane` modules, against the host bit by bit: on tensors whose shapes fit no
//! tile, with values of every kind. What kernels are for does not matter here; what lies outside a tensor is 0 and dropped.

mod reference;

use std::collections::BTreeSet;

use reference::Rng;
use tile_runtime::{Generic, InstanceInfo, KernelInfo, LaunchArg, LaunchOptions, ParamKind, launch};
use tile_std::prelude::*;

/// A tensor of an element type that the description of a kernel names.
enum Any {
    Bf16(Tensor<bf16>),
    F16(Tensor<f16>),
    F32(Tensor<f32>),
    I32(Tensor<i32>),
    I8(Tensor<i8>),
    U8(Tensor<u8>),
}

/// What outputs hold before a launch.
const UNWRITTEN: f32 = 0.25;

impl Any {
    fn new(dtype: &str, shape: [usize; 4], mut number: impl FnMut() -> f32) -> Any {
        fn tensor<T: AnyElement>(shape: [usize; 4], mut value: impl FnMut() -> T) -> Tensor<T> {
            Tensor::from_fn(shape, |_, _, _, _| value()).expect("small")
        }
        match dtype {
            "bf16" => Any::Bf16(tensor(shape, || bf16::from_f32(number()))),
            "f16" => Any::F16(tensor(shape, || f16::from_f32(number()))),
            "f32" => Any::F32(tensor(shape, number)),
            "i32" => Any::I32(tensor(shape, || (number() * 1000.0) as i32)),
            "i8" => Any::I8(tensor(shape, || (number() * 64.0) as i8)),
            "u8" => Any::U8(tensor(shape, || (number() * 64.0 + 128.0) as u8)),
            other => panic!("no tensor of {other}"),
        }
    }

    fn input(&self) -> LaunchArg<'_> {
        match self {
            Any::Bf16(t) => t.into(),
            Any::F16(t) => t.into(),
            Any::F32(t) => t.into(),
            Any::I32(t) => t.into(),
            Any::I8(t) => t.into(),
            Any::U8(t) => t.into(),
        }
    }

    fn output(&mut self) -> LaunchArg<'_> {
        match self {
            Any::Bf16(t) => t.into(),
            Any::F16(t) => t.into(),
            Any::F32(t) => t.into(),
            Any::I32(t) => t.into(),
            Any::I8(t) => t.into(),
            Any::U8(t) => t.into(),
        }
    }

    /// The bits of every element; one pattern stands for all NaN.
    fn bits(&self) -> Vec<u32> {
        let float = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
        match self {
            Any::Bf16(t) => t.iter().map(|x| float(x.to_f32())).collect(),
            Any::F16(t) => t.iter().map(|x| float(x.to_f32())).collect(),
            Any::F32(t) => t.iter().map(float).collect(),
            Any::I32(t) => t.iter().map(i32::cast_unsigned).collect(),
            Any::I8(t) => t.iter().map(|x| x as u32).collect(),
            Any::U8(t) => t.iter().map(u32::from).collect(),
        }
    }
}

/// What a launch of an instance leaves in its outputs.
fn run(
    device: &Device,
    kernel: &KernelInfo,
    instance: &'static InstanceInfo,
    odd: bool,
) -> Result<Vec<Vec<u32>>, LaunchError> {
    let mut rng = Rng(if odd { 0x0DD5 } else { 0xB175 });
    let mut number = || {
        let value = rng.value();
        match rng.below(if odd { 40 } else { u64::MAX >> 40 }) {
            0 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, 3e38, 0.0, -3e38]
                [rng.below(8) as usize],
            _ => value,
        }
    };
    // Sub-groups add in any order. Splits are counted along the planes: with one, no element is added to twice.
    let planes = if kernel.source.contains("atomic_add") { 1 } else { 2 };
    let (mut outputs, mut inputs) = (vec![], vec![]);
    for param in instance.params {
        match param.kind {
            ParamKind::Out(dtype) => {
                outputs.push(Any::new(dtype.name(), [planes, 1, 37, 150], || UNWRITTEN));
            }
            ParamKind::In(dtype) => inputs.push(Any::new(dtype.name(), [planes, 1, 45, 170], &mut number)),
            ParamKind::Scalar(_) => {}
        }
    }
    {
        let (mut out, mut read) = (outputs.iter_mut(), inputs.iter());
        let mut args: Vec<LaunchArg<'_>> = vec![];
        for (n, param) in instance.params.iter().enumerate() {
            args.push(match param.kind {
                ParamKind::Out(_) => out.next().expect("one per parameter").output(),
                ParamKind::In(_) => read.next().expect("one per parameter").input(),
                ParamKind::Scalar(ty) => match ty.name() {
                    // Choices of a kernel are numbered from 0, lengths and parts are larger.
                    "u32" => (if odd { n as u32 % 4 + 1 } else { 40 }).into(),
                    "i32" => 2i32.into(),
                    "u64" => 2u64.into(),
                    "f32" => 0.37f32.into(),
                    "bool" => odd.into(),
                    other => panic!("no value of {other}"),
                },
            });
        }
        launch(device, instance, &mut args, &LaunchOptions::default())?;
    }
    Ok(outputs.iter().map(Any::bits).collect())
}

/// Instances with a module for CPUs, so that each type and switch that a generic takes occurs in one at least.
fn representatives(kernel: &KernelInfo) -> Vec<&'static InstanceInfo> {
    let arguments = |i: &InstanceInfo| {
        let all = i.generics.iter().copied().enumerate();
        all.filter(|(_, argument)| !matches!(argument, Generic::Size(_))).collect::<Vec<_>>()
    };
    let mut left: Vec<&'static InstanceInfo> =
        kernel.instances.iter().filter(|i| i.modules.iter().any(|m| m.target == "lane")).collect();
    let (mut seen, mut taken) = (vec![], vec![]);
    loop {
        let new = |i: &InstanceInfo| arguments(i).iter().filter(|a| !seen.contains(*a)).count();
        // The first of those with the most, so that the order of the attribute decides.
        let best = left.iter().copied().rev().max_by_key(|i| new(i));
        match best {
            Some(best) if taken.is_empty() || new(best) > 0 => {
                seen.extend(arguments(best));
                left.retain(|i| i.name != best.name);
                taken.push(best);
            }
            _ => return taken,
        }
    }
}

/// What was compared.
#[derive(Default)]
struct Counts {
    instances: usize,
    launches: usize,
    /// Elements that launches changed.
    written: usize,
    dtypes: BTreeSet<&'static str>,
    /// The instances that the device cannot run, and what it lacks.
    lacking: Vec<String>,
}

/// Compares the outputs of one instance on `device` with those on the host, launched with plain numbers or with odd ones among
/// them.
fn compare(
    device: &Device,
    kernel: &KernelInfo,
    instance: &'static InstanceInfo,
    turns: &[bool],
    counts: &mut Counts,
) {
    let mut written = 0;
    for &odd in turns {
        let host = run(&Device::host(), kernel, instance, odd).expect("the host runs everything");
        let found = match run(device, kernel, instance, odd) {
            Ok(found) => found,
            #[cfg(feature = "opencl")]
            Err(LaunchError::Lacking { lacks, .. }) => {
                let lacks = tile_runtime::opencl::facts::list(&lacks);
                return counts.lacking.push(format!("{instance}: {lacks}"));
            }
            Err(error) => panic!("{instance} on {device}: {error}"),
        };
        let outputs = instance.params.iter().filter_map(|param| match param.kind {
            ParamKind::Out(dtype) => Some((param.name, dtype)),
            ParamKind::In(_) | ParamKind::Scalar(_) => None,
        });
        for (((name, dtype), host), found) in outputs.zip(&host).zip(&found) {
            let differ = host.iter().zip(found).filter(|(h, f)| h != f).count();
            let first = host.iter().zip(found).position(|(h, f)| h != f);
            let of = host.len();
            assert_eq!(first, None, "{instance} on {device}: {name}: {differ} of {of} elements differ");
            let before = Any::new(dtype.name(), [1, 1, 1, 1], || UNWRITTEN).bits()[0];
            written += host.iter().filter(|bits| **bits != before).count();
        }
        counts.launches += 1;
    }
    assert!(written >= 1000, "{instance} wrote {written} elements");
    counts.written += written;
    counts.instances += 1;
    counts.dtypes.extend(instance.params.iter().filter_map(|param| match param.kind {
        ParamKind::In(dtype) | ParamKind::Out(dtype) => Some(dtype.name()),
        ParamKind::Scalar(_) => None,
    }));
}

/// Launches representatives of every kernel, of each at most `most`.
fn compared(device: &Device, most: usize, turns: &[bool]) -> Counts {
    let mut counts = Counts::default();
    for kernel in tile_std::KERNELS {
        let instances = representatives(kernel);
        assert!(!instances.is_empty(), "{} has no module for CPUs", kernel.name);
        for instance in instances.into_iter().take(most) {
            compare(device, kernel, instance, turns, &mut counts);
        }
    }
    println!(
        "{} kernels in {} instances, {} launches, {} elements written, of {:?}: the bits of the host on {device}",
        tile_std::KERNELS.len(),
        counts.instances,
        counts.launches,
        counts.written,
        counts.dtypes
    );
    counts
}

#[test]
fn kernels_have_the_bits_of_the_host_on_the_simulator_of_lane_modules() {
    let counts = compared(&Device::sim_lane(), 1, &[true]);
    assert_eq!(counts.lacking, Vec::<String>::new());
    assert!(counts.instances >= 23 && counts.dtypes.len() >= 5, "only {} instances", counts.instances);
}

/// On Intel's OpenCL runtime for CPUs, which `scripts/get-opencl` fetches. Without it the test is skipped, by name; with
/// `TILE_REQUIRE_OPENCL` set it fails.
#[cfg(feature = "opencl")]
#[test]
fn kernels_have_the_bits_of_the_host_on_a_cpu_through_opencl() {
    let test = "kernels_have_the_bits_of_the_host_on_a_cpu_through_opencl";
    let Some(cpu) = reference::opencl::cpu(test) else { return };
    let counts = compared(&cpu, usize::MAX, &[false, true]);
    assert_eq!(counts.lacking, Vec::<String>::new());
    assert!(counts.instances >= 55 && counts.dtypes.len() >= 6, "only {} instances", counts.instances);
}

/// On the OpenCL of `TILE_OPENCL_LIBRARY`, which `target/tools/pocl/bin/with-pocl` sets: run through it by the test below.
#[cfg(feature = "opencl")]
#[test]
#[ignore = "runs through with-pocl"]
fn inside_pocl() {
    let (device, _) = Device::select(Some("opencl")).expect("PoCL has a CPU device");
    let counts = compared(&device, 1, &[true]);
    println!("refused: {:?}", counts.lacking);
    assert!(counts.lacking.iter().all(|why| why.ends_with("cl_khr_fp16")), "{:?}", counts.lacking);
    assert!(
        counts.instances >= 20 && device.to_string().contains("Portable"),
        "{} instances",
        counts.instances
    );
}

/// On PoCL, which `scripts/get-tools --pocl` fetches. Its libraries are newer than those of this process, so the test runs
/// once more through their loader. Without PoCL it is skipped, by name; with `TILE_REQUIRE_POCL` set it fails.
#[cfg(feature = "opencl")]
#[test]
fn kernels_have_the_bits_of_the_host_on_pocl() {
    let Some(loader) = reference::opencl::pocl("kernels_have_the_bits_of_the_host_on_pocl") else { return };
    let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pocl");
    let status = std::process::Command::new(loader)
        .arg(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "inside_pocl", "--ignored", "--nocapture"])
        .env("TILE_CACHE_DIR", &cache)
        .env("POCL_CACHE_DIR", &cache)
        .status()
        .expect("the loader starts");
    assert!(status.success(), "{status}");
}
