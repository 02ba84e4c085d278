//! Tensors and views as a user builds, cuts and reads them.
//!
//! *Not here*: the arithmetic of layouts (unit tests in `tensor/layout.rs`).

use tile_lang::prelude::{bf16, f16};
use tile_runtime::{Axis, Tensor, TensorError, TensorLayout, View, ViewMut};

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32).collect()
}

#[test]
fn owned_memory_is_aligned_padded_and_has_slack() {
    for (rows, cols) in [(0, 0), (1, 1), (3, 17), (5, 0), (0, 5), (33, 512), (2, 1024)] {
        let mut tensor = Tensor::<bf16>::zeros(rows, cols).expect("small");
        assert_eq!(tensor.shape(), [1, 1, rows, cols]);
        assert_eq!(tensor.pitch() * 2 % 64, 0);
        assert!(tensor.pitch() >= 32);
        // Without elements there is one plane of at least one row all the same.
        let rows_padding = rows.max(1) * tensor.pitch() - rows * cols;
        assert_eq!(tensor.padding().count(), rows_padding + 32, "64 bytes of slack");
        assert_eq!(tensor.row(0, 0, 0).map(<[bf16]>::len), (rows > 0).then_some(cols));
        if let Some(row) = tensor.row(0, 0, 0) {
            assert_eq!(row.as_ptr().addr() % 64, 0);
        }
        assert!(tensor.view_mut().row_mut(0, 0, rows).is_none());
        assert!(tensor.to_vec().iter().all(|x| x.to_f32() == 0.0));
    }
}

#[test]
fn elements_come_back_in_order() {
    let tensor = Tensor::from_vec(3, 5, numbers(15)).expect("15 elements");
    assert_eq!(tensor.to_vec(), numbers(15));
    assert_eq!(tensor.iter().collect::<Vec<_>>(), numbers(15));
    assert_eq!(tensor.get(0, 0, 2, 4), Some(14.0));
    assert_eq!(tensor.get(0, 0, 2, 5), None);
    assert_eq!(tensor.get(0, 0, 3, 0), None);
    assert_eq!(tensor.get(1, 0, 0, 0), None);
    assert_eq!(tensor.row(0, 0, 1), Some(&[5.0, 6.0, 7.0, 8.0, 9.0][..]));

    let planes = Tensor::from_fn([2, 3, 4, 5], |b, d, r, c| (b * 1000 + d * 100 + r * 10 + c) as f32);
    let planes = planes.expect("small");
    assert_eq!(planes.get(1, 2, 3, 4), Some(1234.0));
    assert_eq!(planes.to_vec().len(), 120);
    assert_eq!(planes.to_vec()[60], 1000.0);
    let copy = planes.try_clone().expect("small");
    assert_eq!(copy.to_vec(), planes.to_vec());
}

#[test]
fn padding_is_separate_from_elements() {
    let mut tensor = Tensor::from_fn([2, 1, 3, 5], |b, _, r, c| (b * 15 + r * 5 + c) as f32).expect("small");
    tensor.fill_padding(f32::NAN);
    assert_eq!(tensor.to_vec(), numbers(30));
    assert_eq!(tensor.padding().count(), 6 * 11 + 16);
    assert!(tensor.padding().all(f32::is_nan));
    tensor.view_mut().row_mut(0, 0, 0).expect("a row").fill(1.0);
    assert!(tensor.padding().all(f32::is_nan));
    assert_eq!(tensor.try_clone().expect("small").padding().filter(|x| x.is_nan()).count(), 82);
}

#[test]
fn views_of_slices_are_checked() {
    let data = numbers(24);
    let view = View::from_slice(&data, 4, 6).expect("exact");
    assert_eq!(view.get(0, 0, 3, 5), Some(23.0));
    let short = View::from_slice(&data, 5, 5).expect_err("25 > 24");
    assert_eq!(short.to_string(), "shape [1, 1, 5, 5] has 25 elements; 24 were given");
    assert!(View::from_slice(&data, 4, 5).is_err(), "four elements would be dropped in silence");
    assert_eq!(View::from_slice_with_shape(&data, [2, 3, 2, 2]).expect("exact").get(1, 2, 1, 1), Some(23.0));

    let pitched = TensorLayout::pitched([1, 1, 3, 4], 10, 4).expect("legal");
    let view = View::with_layout(&data, pitched).expect("ends at the last element");
    assert_eq!(view.to_vec(), [0., 1., 2., 3., 10., 11., 12., 13., 20., 21., 22., 23.]);
    let short = View::with_layout(&data[1..], pitched).expect_err("one element short");
    let text = "shape [1, 1, 3, 4] with pitch 10 ends 24 elements after its start; the slice has 23";
    assert_eq!(short.to_string(), text);

    let overlap = TensorLayout::pitched([1, 1, 3, 4], 3, 4).expect_err("rows overlap");
    assert_eq!(
        overlap.to_string(),
        "rows must not overlap: the pitch must be at least the columns; shape [1, 1, 3, 4] has pitch 3"
    );
    let huge = View::from_slice(&data, usize::MAX, 2).expect_err("not addressable");
    assert_eq!(
        huge.to_string(),
        format!("a tensor must be addressable; shape [1, 1, {}, 2] of 4-byte elements is not", usize::MAX)
    );
    assert!(View::from_slice(&data[..0], 7, 0).expect("no element").to_vec().is_empty());
    assert!(View::from_slice(&data[..0], usize::MAX, 0).expect("no element").iter().next().is_none());
}

#[test]
fn an_output_view_cannot_overlap_itself() {
    let mut data = numbers(100);
    let repeated = TensorLayout::strided([2, 1, 3, 4], 10, 0, 0, 4).expect("fine for reading");
    assert_eq!(View::with_layout(&data, repeated).expect("legal").get(1, 0, 2, 3), Some(23.0));
    let refused = ViewMut::with_layout(&mut data, repeated).expect_err("two batches in one place");
    assert_eq!(
        refused.to_string(),
        "elements of an output must not overlap; shape [2, 1, 3, 4] has pitch 10, depth stride 0 and batch \
         stride 0"
    );
    // Heads interleaved within a row are fine.
    let heads = TensorLayout::strided([1, 2, 3, 4], 8, 4, 0, 4).expect("legal");
    let mut view = ViewMut::with_layout(&mut data, heads).expect("disjoint");
    view.row_mut(0, 1, 2).expect("inside").fill(-1.0);
    assert_eq!(&data[16..24], [16., 17., 18., 19., -1., -1., -1., -1.]);
}

#[test]
fn parts_of_views_share_memory() {
    let mut tensor = Tensor::from_vec(4, 6, numbers(24)).expect("exact");
    let view = tensor.view().slice_rows(1..3).and_then(|v| v.slice_cols(2..=3)).expect("inside");
    assert_eq!(view.shape(), [1, 1, 2, 2]);
    assert_eq!(view.to_vec(), [8., 9., 14., 15.]);
    let outside = view.slice_rows(..3).expect_err("two rows");
    assert_eq!(outside.to_string(), "rows 0..3 must lie in 0..2; the shape is [1, 1, 2, 2]");

    let mut part = tensor.view_mut().slice_cols(5..).expect("inside");
    part.reborrow().row_mut(0, 0, 3).expect("inside").fill(-5.0);
    assert_eq!(part.as_view().to_vec(), [5., 11., 17., -5.]);
    assert_eq!(tensor.get(0, 0, 3, 5), Some(-5.0));

    let empty = tensor.view().slice_rows(4..).expect("an empty part");
    assert_eq!((empty.shape(), empty.to_vec().len()), ([1, 1, 0, 6], 0));
    let batches = Tensor::from_fn([3, 1, 1, 2], |b, _, _, _| b as f32).expect("small");
    assert_eq!(batches.view().part(Axis::Batch, 1..2).expect("inside").to_vec(), [1., 1.]);
}

#[test]
fn heads_of_a_token_are_views() {
    let mut tokens = Tensor::from_vec(2, 12, numbers(24)).expect("exact");
    let heads = tokens.view().slice_cols(4..).and_then(|v| v.split_cols(4)).expect("four heads of two");
    assert_eq!((heads.shape(), heads.get(0, 3, 1, 1)), ([1, 4, 2, 2], Some(23.0)));
    let last = heads.slice_rows(1..).and_then(|v| v.split_depth(2)).expect("two groups of two heads");
    assert_eq!(last.shape(), [1, 2, 2, 2]);
    assert_eq!(last.to_vec(), [16., 17., 18., 19., 20., 21., 22., 23.]);
    let mut out = tokens.view_mut().split_cols(3).expect("three heads of four");
    out.row_mut(0, 2, 0).expect("inside").fill(-1.0);
    assert_eq!(tokens.row(0, 0, 0).map(|row| &row[7..]), Some(&[7., -1., -1., -1., -1.][..]));
    let refused = tokens.view().split_cols(5).expect_err("12 is not 5 times anything");
    assert_eq!(
        refused.to_string(),
        "cols of shape [1, 1, 2, 12] cannot become 5 parts: they must be equal, and depth must be 1"
    );
    let refused = tokens.view().split_depth(1).expect_err("two rows");
    assert!(refused.to_string().ends_with("and rows must be 1"), "{refused}");
}

#[test]
fn inputs_can_repeat_a_plane() {
    let data = numbers(4);
    let view = View::from_slice(&data, 2, 2).and_then(|v| v.broadcast(Axis::Batch, 3)).expect("one batch");
    assert_eq!(view.shape(), [3, 1, 2, 2]);
    assert_eq!(view.to_vec(), [0., 1., 2., 3., 0., 1., 2., 3., 0., 1., 2., 3.]);
    let refused = view.broadcast(Axis::Batch, 4).expect_err("three batches");
    assert_eq!(
        refused.to_string(),
        "only a batch or depth of 1 can be broadcast; batch of shape [3, 1, 2, 2] cannot become 4"
    );
    assert!(view.broadcast(Axis::Rows, 4).is_err());
    let written_out = Tensor::from_view(view).expect("small");
    assert_eq!(written_out.to_vec(), view.to_vec());
}

#[test]
fn copies_need_equal_shapes() {
    let mut target = Tensor::<f16>::zeros(2, 3).expect("small");
    let source = Tensor::<f16>::zeros(3, 2).expect("small");
    let refused = target.view_mut().copy_from(source.view()).expect_err("shapes differ");
    assert_eq!(refused, TensorError::ShapeMismatch { target: [1, 1, 2, 3], source_shape: [1, 1, 3, 2] });
    assert_eq!(
        refused.to_string(),
        "both shapes must be equal; the target has [1, 1, 2, 3] and the source has [1, 1, 3, 2]"
    );
}

#[test]
fn sizes_beyond_memory_are_errors() {
    assert!(matches!(Tensor::<f32>::zeros(usize::MAX, 4), Err(TensorError::TooLarge { .. })));
    // Addressable, but no machine has it: 2^61 bytes.
    assert!(matches!(Tensor::<f32>::zeros(1 << 30, 1 << 29), Err(TensorError::OutOfMemory { .. })));
    // Without elements the other sizes hardly matter.
    assert!(Tensor::<f32>::zeros(1 << 40, 0).expect("nothing in it").to_vec().is_empty());
    assert!(Tensor::<f32>::zeros(0, 1 << 40).expect("nothing in it").to_vec().is_empty());
    let mismatch = Tensor::from_vec(2, 2, vec![0.0f32; 3]).expect_err("three elements");
    assert_eq!(mismatch.to_string(), "shape [1, 1, 2, 2] has 4 elements; 3 were given");
}
