//! GEMM on ragged sizes, both forms of B, padded, offset and odd views, batches, with NaN around every tensor:
//! host, and both modules on the simulator, against f64.

mod reference;

use reference::{FORMS, Form, Guarded, Reference, Rng};
use tile_std::prelude::*;
use tile_std::{GemmOptions, gemm_into};

const SIZES: [usize; 12] = [0, 1, 7, 16, 17, 31, 33, 64, 100, 255, 256, 257];

struct Case {
    sizes: (usize, usize, usize),
    transpose_b: bool,
    batch: usize,
    forms: [Form; 3],
    seed: u64,
}

/// Runs one case on a device; gives the product.
fn run<A: MmaInput, C: Element>(device: &Device, case: &Case) -> Result<(Vec<f64>, Vec<Reference>), String> {
    let (m, n, k) = case.sizes;
    let mut rng = Rng(case.seed);
    let [fa, fb, fc] = case.forms;
    let b_shape = if case.transpose_b { [n, k] } else { [k, n] };
    let a = Guarded::<A>::new([case.batch, 1, m, k], fa, |_, _, _, _| rng.value());
    let b = Guarded::<A>::new([case.batch, 1, b_shape[0], b_shape[1]], fb, |_, _, _, _| rng.value());
    let mut c = Guarded::<C>::new([case.batch, 1, m, n], fc, |_, _, _, _| f32::NAN);
    let options = GemmOptions { transpose_b: case.transpose_b, ..GemmOptions::default() };
    gemm_into(device, c.view_mut(), a.view(), b.view(), &options).map_err(|e| e.to_string())?;
    if !(a.is_intact() && b.is_intact() && c.is_intact()) {
        return Err("something outside a tensor changed".into());
    }
    let mut out = vec![];
    let mut references = vec![];
    for plane in 0..case.batch {
        let at_b =
            |s: usize, j: usize| if case.transpose_b { b.get(plane, 0, j, s) } else { b.get(plane, 0, s, j) };
        let reference = Reference::new((m, n, k), |i, s| a.get(plane, 0, i, s), at_b);
        for i in 0..m * n {
            let found = c.get(plane, 0, i / n, i % n);
            reference.check::<C>(i, found).map_err(|e| format!("plane {plane}: {e}"))?;
            out.push(found);
        }
        references.push(reference);
    }
    Ok((out, references))
}

/// Runs one case on the host and other devices and compares them.
fn all<A: MmaInput, C: Element>(case: &Case, others: &[(&str, Device, Same)]) {
    let told = |device: &str, e: String| {
        format!(
            "{device}: {:?} B{} batch {} forms {:?} {} -> {} seed {:#x}: {e}",
            case.sizes,
            if case.transpose_b { " [N, K]" } else { " [K, N]" },
            case.batch,
            case.forms,
            A::DTYPE,
            C::DTYPE,
            case.seed
        )
    };
    let (host, references) =
        run::<A, C>(&Device::host(), case).unwrap_or_else(|e| panic!("{}", told("host", e)));
    let plane = references.first().map_or(1, |r| r.value.len().max(1));
    for (name, device, same) in others {
        let (other, _) = run::<A, C>(device, case).unwrap_or_else(|e| panic!("{}", told(name, e)));
        for (i, (h, o)) in host.iter().zip(&other).enumerate() {
            let agree = match same {
                Same::Bound => (h - o).abs() <= 2.0 * references[i / plane].bound::<C>(i % plane),
                Same::Bits => h.to_bits() == o.to_bits(),
            };
            assert!(agree, "{}", told(name, format!("element {i}: {o}, on the host {h}")));
        }
    }
}

/// How a device's products are the host's.
#[derive(Clone, Copy)]
enum Same {
    /// Within twice the bound of each.
    Bound,
    /// To the bit: lane modules add in the host's order, one fused multiply-add after the other.
    Bits,
}

/// Runs products of all pairs of sizes; gives how many ran.
fn sweep(others: &[(&str, Device, Same)]) -> usize {
    let mut rng = Rng(0x7115_0001);
    let mut executed = 0;
    // K is chosen so that (M, N), (M, K) and (N, K) each take all 144 pairs.
    for (i, &m) in SIZES.iter().enumerate() {
        for (j, &n) in SIZES.iter().enumerate() {
            let k = SIZES[(i + j) % SIZES.len()];
            for transpose_b in [false, true] {
                let mut form = || FORMS[rng.below(3) as usize];
                let forms = [form(), form(), form()];
                let batch = if m * n * k < 64 * 64 * 64 && rng.below(3) == 0 { 3 } else { 1 };
                let case = Case { sizes: (m, n, k), transpose_b, batch, forms, seed: rng.next() | 1 };
                match rng.below(6) {
                    0 => all::<bf16, bf16>(&case, others),
                    1 => all::<bf16, f32>(&case, others),
                    2 => all::<bf16, f16>(&case, others),
                    3 => all::<f16, bf16>(&case, others),
                    4 => all::<f16, f32>(&case, others),
                    _ => all::<f16, f16>(&case, others),
                }
                executed += 1 + others.len();
            }
        }
    }
    executed
}

#[test]
fn all_pairs_of_sizes_on_host_and_simulator() {
    let xe = ("simulator", Device::sim(), Same::Bound);
    let lane = ("simulator of lane modules", Device::sim_lane(), Same::Bits);
    let executed = sweep(&[xe, lane]);
    println!(
        "{executed} products executed (host, and xe and lane modules on the simulator), seed 0x71150001"
    );
    assert!(executed >= 600);
}

/// Lane modules on Intel's OpenCL runtime for CPUs, which `scripts/get-opencl` fetches. Without it the test is skipped, by
/// name; with `TILE_REQUIRE_OPENCL` set it fails.
#[cfg(feature = "opencl")]
#[test]
fn all_pairs_of_sizes_on_a_cpu_through_opencl() {
    let Some(cpu) = reference::opencl::cpu("all_pairs_of_sizes_on_a_cpu_through_opencl") else { return };
    let executed = sweep(&[("opencl", cpu, Same::Bits)]);
    println!("{executed} products executed (host, and lane modules on a CPU), seed 0x71150001");
    assert!(executed >= 400);
}

#[test]
fn every_instance_multiplies_a_ragged_batch() {
    let mut executed = 0;
    for instance in tile_std::kernels::gemm::gemm::INSTANCES {
        let transpose_b = instance.generics[5] == tile_std::Generic::Flag(true);
        let f = |chosen: Option<&'static tile_std::InstanceInfo>, device: &Device| -> Vec<f32> {
            let mut rng = Rng(0x1257);
            let options = GemmOptions { transpose_b, instance: chosen, ..GemmOptions::default() };
            let shape = if transpose_b { [3, 1, 70, 50] } else { [3, 1, 50, 70] };
            let mut c = vec![];
            macro_rules! go {
                ($a:ty, $c:ty) => {
                    if instance.generics[0] == tile_std::Generic::Type(<$a>::DTYPE)
                        && instance.generics[1] == tile_std::Generic::Type(<$c>::DTYPE)
                    {
                        let a = Tensor::from_fn([3, 1, 40, 50], |_, _, _, _| <$a>::from_f32(rng.value()))
                            .expect("small");
                        let b =
                            Tensor::from_fn(shape, |_, _, _, _| <$a>::from_f32(rng.value())).expect("small");
                        let mut out = Tensor::<$c>::with_shape([3, 1, 40, 70]).expect("small");
                        gemm_into(device, &mut out, &a, &b, &options)
                            .unwrap_or_else(|e| panic!("{}: {e}", instance.name));
                        c.extend(out.iter().map(|x| f32::from(x)));
                    }
                };
            }
            go!(bf16, bf16);
            go!(bf16, f32);
            go!(bf16, f16);
            go!(f16, bf16);
            go!(f16, f32);
            go!(f16, f16);
            c
        };
        let host = f(Some(instance), &Device::host());
        // An instance for the host alone has nothing the simulator could run; another of the same types has.
        let sim = f(if instance.modules.is_empty() { None } else { Some(instance) }, &Device::sim());
        assert_eq!(host.len(), 3 * 40 * 70, "{}", instance.name);
        for (h, s) in host.iter().zip(&sim) {
            assert!((h - s).abs() <= 0.02 * h.abs().max(1.0), "{}: {h} and {s}", instance.name);
        }
        executed += 1;
    }
    println!("{executed} instances executed");
    assert_eq!(executed, tile_std::kernels::gemm::gemm::INSTANCES.len());
}
