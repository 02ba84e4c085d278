//! Owns the proof that targets are pluggable: a target with 32 lanes per sub-group and opaque tiles, as Vulkan's
//! cooperative matrices are, takes kernels as the front end makes them for Intel GPUs and gives the host's results.
//!
//! It sees a kernel only as verified IR (`compile_source`), so no op may say how many lanes there are or which of them
//! holds an element; the opaque tiles scatter their elements over the lanes in an order of their own, which a lowering
//! that assumed one would show. *Not here*: a target for users.

mod lower;
mod machine;

use tile_std::prelude::*;

/// A product and, from each of its rows, the row's largest element.
#[tile_kernel(instances(<bf16, 16, 32, 16; subgroups = (2, 1)>, <f16, 8, 16, 32; subgroups = (1, 2)>))]
fn product_below_its_row_max<A: MmaInput, const BM: usize, const BN: usize, const BK: usize>(
    c: &mut gl<f32>,
    a: &gl<A>,
    b: &gl<A>,
    scale: f32,
) {
    let at = own_tile::<BM, BN>(c, Linear);
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let x: rt<A, BM, BK> = load(a, [at.row(), k]);
        let y: rt<A, BK, BN, Vnni> = load_transform(b, [k, at.col()]);
        mma_AB(&mut acc, &x, &y);
    }
    let top = acc.row_max();
    store(c, &acc.sub_row(&top).scale(scale), at);
}

#[test]
fn thirty_two_lanes_with_opaque_tiles_give_the_hosts_results() {
    fn check<A: MmaInput, const BM: usize, const BN: usize, const BK: usize>(index: usize)
    where
        product_below_its_row_max::Kernel: product_below_its_row_max::Compiled<A, BM, BN, BK>,
    {
        let kernel = &product_below_its_row_max::KERNEL;
        let compiled = tile_front::compile_source(kernel.attr, kernel.source)
            .unwrap_or_else(|e| panic!("{}", e.join("\n")));
        let program = lower::lower(&compiled[index].kernel).unwrap_or_else(|e| panic!("{e}"));
        for (m, n, k) in [(16, 32, 16), (1, 1, 1), (37, 70, 19), (64, 33, 50)] {
            // Small integers: every order of summation gives the same bits.
            let element = |seed: usize| {
                move |_: usize, _: usize, r: usize, c: usize| {
                    A::from_f32(((r * 5 + c * 3 + seed) % 9) as f32 - 4.0)
                }
            };
            let a = Tensor::from_fn([1, 1, m, k], element(0)).expect("small");
            let b = Tensor::from_fn([1, 1, k, n], element(4)).expect("small");
            let mut c = Tensor::<f32>::zeros(m, n).expect("small");
            product_below_its_row_max::launch::<A, BM, BN, BK>(&Device::host(), &mut c, &a, &b, 0.5)
                .unwrap_or_else(|e| panic!("{e}"));
            let plane = |values: Vec<f32>, rows: usize, cols: usize| machine::Plane { values, rows, cols };
            let floats = |t: &Tensor<A>| t.to_vec().iter().map(|v| v.to_f32()).collect::<Vec<f32>>();
            let args = vec![
                machine::Arg::Plane(plane(vec![f32::NAN; m * n], m, n)),
                machine::Arg::Plane(plane(floats(&a), m, k)),
                machine::Arg::Plane(plane(floats(&b), k, n)),
                machine::Arg::F32(0.5),
            ];
            let out = machine::run(&program, args);
            let machine::Arg::Plane(got) = &out[0] else { panic!("the output is a plane") };
            for (i, (got, want)) in got.values.iter().zip(c.to_vec()).enumerate() {
                assert_eq!(got.to_bits(), want.to_bits(), "{m}x{n}x{k}: ({}, {}) {got} {want}", i / n, i % n);
            }
        }
    }
    check::<bf16, 16, 32, 16>(0);
    check::<f16, 8, 16, 32>(1);
}

/// The lanes hold what they hold in an order that no other part knows.
#[test]
fn a_tile_is_scattered_over_all_lanes() {
    let places: std::collections::BTreeSet<_> =
        (0..8).flat_map(|r| (0..16).map(move |c| machine::place(r, c, 16))).collect();
    assert_eq!(places.len(), 128, "each element has a place of its own");
    assert_eq!(
        places.iter().map(|(lane, _)| lane).collect::<std::collections::BTreeSet<_>>().len(),
        machine::LANES
    );
    let neighbours =
        (0..15).filter(|&c| machine::place(0, c + 1, 16).0 == machine::place(0, c, 16).0 + 1).count();
    assert_eq!(neighbours, 0, "no row lies along the lanes");
}

#[test]
fn what_the_target_lacks_is_refused_by_name() {
    let attr = "instances(<16; subgroups = (1, 1)>)";
    for (order, value, lacks) in [("Snake(4)", "t", "own_tile"), ("Linear", "t.gelu()", "gelu")] {
        let source = format!(
            "fn k<const M: usize>(c: &mut gl<f32>) {{ let at = own_tile::<M, 16>(c, {order}); let t: rt<f32, M, 16> = zeros(); store(c, &{value}, at); }}"
        );
        let compiled =
            tile_front::compile_source(attr, &source).unwrap_or_else(|e| panic!("{}", e.join("\n")));
        let refused = lower::lower(&compiled[0].kernel).expect_err(lacks);
        assert!(refused.contains(lacks), "{refused}");
    }
}
