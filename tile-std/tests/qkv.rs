//! The fused projection: each part has the bits of its own product, in both forms of the weights, and goes on into attention
//! and rotary embedding without a copy.

mod reference;

use reference::Rng;
use tile_std::ops::{AttentionOptions, Qkv, QkvWeight, attention, qkv, qkv_into};
use tile_std::prelude::*;
use tile_std::{Epilogue, GemmError, GemmOptions, gemm_into};

fn devices() -> [Device; 2] {
    [Device::host(), Device::sim()]
}

fn random<A: Element>(rng: &mut Rng, rows: usize, cols: usize) -> Tensor<A> {
    Tensor::from_fn([1, 1, rows, cols], |_, _, _, _| A::from_f32(rng.value())).expect("small")
}

fn check<A: MmaInput, C: Element>(device: &Device, widths: [usize; 3], transposed: bool) {
    let mut rng = Rng(0x9C7);
    let k = 70;
    let x = Tensor::from_fn([2, 1, 40, k], |_, _, _, _| A::from_f32(rng.value())).expect("small");
    let weights = widths.map(|n| if transposed { random(&mut rng, n, k) } else { random(&mut rng, k, n) });
    let weight = QkvWeight::pack(&weights[0], &weights[1], &weights[2], transposed).expect("one K");
    assert_eq!(weight.widths(), widths);
    let out: Qkv<C> = qkv(device, &x, &weight).expect("it fits");
    for (weight, part) in weights.iter().zip([out.q(), out.k(), out.v()]) {
        let n = if transposed { weight.rows() } else { weight.cols() };
        let mut alone = Tensor::<C>::with_shape([2, 1, 40, n]).expect("small");
        let options = GemmOptions { transpose_b: transposed, ..GemmOptions::default() };
        gemm_into(device, &mut alone, &x, weight, &options).expect("it fits");
        let (alone, part) = (alone.to_vec(), part.to_vec());
        assert_eq!(alone.len(), 2 * 40 * n);
        let same = alone.iter().zip(&part).all(|(a, b)| a.to_f32().to_bits() == b.to_f32().to_bits());
        assert!(same, "{} {widths:?} {transposed}", device.name());
    }
}

#[test]
fn every_part_has_the_bits_of_its_own_product() {
    for device in devices() {
        for transposed in [false, true] {
            check::<bf16, bf16>(&device, [96, 32, 32], transposed);
            check::<bf16, f32>(&device, [33, 7, 16], transposed);
            check::<f16, f16>(&device, [64, 0, 31], transposed);
            check::<f16, bf16>(&device, [1, 1, 1], transposed);
        }
    }
}

#[test]
fn heads_go_on_into_attention_where_they_lie() {
    let mut rng = Rng(0x4EAD);
    let x = random::<bf16>(&mut rng, 50, 96);
    let weights = [128, 64, 64].map(|n| random::<bf16>(&mut rng, 96, n));
    let weight = QkvWeight::pack(&weights[0], &weights[1], &weights[2], false).expect("one K");
    for device in devices() {
        let weight = weight.to_device(&device).expect("small");
        let out: Qkv<bf16> = qkv(&device, &x, &weight).expect("it fits");
        let [q, k, v] = [(out.q(), 2), (out.k(), 1), (out.v(), 1)]
            .map(|(part, heads)| part.split_cols(heads).expect("64 columns"));
        assert_eq!((q.shape(), k.shape()), ([1, 2, 50, 64], [1, 1, 50, 64]));
        let options = AttentionOptions::default();
        let here = attention(&device, q, k, v, &options).expect("it fits");
        let [q, k, v] = [q, k, v].map(|view| Tensor::from_view(view).expect("small"));
        let copied = attention(&device, &q, &k, &v, &options).expect("it fits");
        assert_eq!(here.to_vec(), copied.to_vec(), "{}", device.name());
    }
}

#[test]
fn a_bias_covers_the_packed_columns() {
    let x = Tensor::from_fn([1, 1, 3, 16], |_, _, _, _| bf16::ZERO).expect("small");
    let zero = Tensor::<bf16>::zeros(16, 32).expect("small");
    let weight = QkvWeight::pack(&zero, &zero, &zero, false).expect("one K");
    let bias = Tensor::from_fn([1, 1, 1, 96], |_, _, _, c| c as f32).expect("small");
    let end = Epilogue { bias: Some(bias.view()), ..Epilogue::default() };
    for device in devices() {
        let mut out = Qkv::with_room_on(&device, x.shape(), weight.widths()).expect("small");
        qkv_into(&device, &mut out, &x, &weight, &end, &GemmOptions::default()).expect("it fits");
        assert_eq!((out.q().get(0, 0, 2, 5), out.v().get(0, 0, 0, 31)), (Some(5.0), Some(95.0)));
    }
}

#[test]
fn what_does_not_fit_is_an_error_with_all_shapes() {
    let of = |rows, cols| Tensor::<f16>::zeros(rows, cols).expect("small");
    let refused = |transposed| QkvWeight::pack(&of(16, 8), &of(16, 9), &of(17, 8), transposed).err();
    let text = refused(false).expect("16 and 17 rows").to_string();
    for shape in ["[1, 1, 16, 8]", "[1, 1, 16, 9]", "[1, 1, 17, 8]", "equally many rows"] {
        assert!(text.contains(shape), "{text}");
    }
    assert!(refused(true).expect("8 and 9 columns").to_string().contains("equally many columns"));
    let weight = QkvWeight::pack(&of(16, 8), &of(16, 8), &of(16, 8), false).expect("one K");
    let error = qkv::<f16, f32>(&Device::host(), &of(3, 17), &weight).err().expect("17 and 16");
    assert!(matches!(error, GemmError::Inner { .. }), "{error}");
    let mut out = Qkv::<f32>::with_room_on(&Device::host(), [1, 1, 4, 16], [8, 8, 8]).expect("small");
    let (end, options) = (Epilogue::default(), GemmOptions::default());
    let error = qkv_into(&Device::host(), &mut out, &of(3, 16), &weight, &end, &options).expect_err("3 rows");
    assert!(error.to_string().contains("[1, 1, 3, 24]"), "{error}");
}
