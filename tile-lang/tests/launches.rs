//! What a launch lets a sub-group do: typed arguments, outputs taken once, and no way to another's tile.

#![allow(unsafe_code, reason = "stands in for the host device, which vouches for pointers")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use tile_lang::DType;
use tile_lang::launch::{Arg, Args, Cx, RawGlobal};
use tile_lang::prelude::*;

/// Runs `body` as sub-group `subgroup` of a 2 x 2 work-group over a 16 x 32 output and an input like it.
fn launch<R>(subgroup: u32, body: impl FnOnce(&Cx, &Args<'_>) -> R) -> R {
    let (mut output, input) = (vec![1f32; 512], vec![2f32; 512]);
    let shape = [1, 1, 16, 32];
    // SAFETY: both vectors have the elements of the shape and outlive the arguments; nothing else uses them.
    let args = unsafe {
        let input = input.as_ptr().cast_mut().cast();
        [
            Arg::Global(RawGlobal::new(DType::F32, output.as_mut_ptr().cast(), shape, 32, (512, 512), true)),
            Arg::Global(RawGlobal::new(DType::F32, input, shape, 32, (512, 512), false)),
            Arg::U32(3),
            Arg::I32(-4),
            Arg::U64(5 << 40),
            Arg::F32(0.5),
            Arg::Bool(true),
        ]
    };
    let cx = Cx { subgroup, subgroups: (2, 2), ..Cx::SOLO };
    // SAFETY: this place is bound once.
    body(&cx, &unsafe { Args::new(&cx, &args) })
}

/// The message of the panic that `body` ends in.
fn refused(body: impl FnOnce(&Cx, &Args<'_>)) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| launch(0, body))).expect_err("the access must be refused");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => other.downcast::<&str>().expect("panics carry text").to_string(),
    }
}

#[test]
fn arguments_come_by_position_and_type() {
    launch(0, |_, args| {
        assert_eq!((args.u32(2), args.i32(3), args.u64(4)), (3, -4, 5 << 40));
        assert_eq!((args.f32(5), args.bool(6)), (0.5, true));
        assert_eq!(args.global::<f32>(1).rows(), 16);
        assert_eq!(args.global_mut::<f32>(0).cols(), 32);
    });
}

#[test]
fn wrong_arguments_are_named() {
    assert_eq!(refused(|_, args| _ = args.u32(5)), "argument 5 was asked for as u32, but is f32");
    assert_eq!(refused(|_, args| _ = args.bool(9)), "argument 9 was asked for as bool, but is missing");
    let text = refused(|_, args| _ = args.global::<bf16>(1));
    assert_eq!(text, "argument 1 was asked for as bf16, but is a tensor");
    assert!(refused(|_, args| _ = args.global_mut::<f32>(1)).contains("is an input"));
    assert!(refused(|_, args| _ = args.global::<f32>(0)).contains("is an output"));
}

#[test]
fn an_output_is_taken_once() {
    let text = refused(|_, args| {
        let _first = args.global_mut::<f32>(0);
        let _second = args.global_mut::<f32>(0);
    });
    assert_eq!(text, "output argument 0 was taken twice");
}

#[test]
fn a_sub_group_reads_and_writes_the_tile_it_owns() {
    for subgroup in 0..4 {
        launch(subgroup, |_, args| {
            let mut c = args.global_mut::<f32>(0);
            let at = own_tile::<8, 16>(&c, Linear);
            assert_eq!((at.row(), at.col()), (subgroup / 2, subgroup % 2));
            let old: rt<f32, 8, 16, Acc> = load(&c, at);
            assert_eq!(old.get(7, 15), 1.0);
            store(&mut c, &old.scale(3.0), at);
            let new: rt<f32, 8, 16> = load(&c, at);
            assert_eq!(new.get(7, 15), 3.0);
        });
    }
}

#[test]
fn an_output_is_not_read_where_others_write() {
    for at in [[0, 0], [1, 1]] {
        let text = refused(move |_, args| {
            let c = args.global_mut::<f32>(0);
            let _: rt<f32, 8, 16> = load(&c, at);
        });
        assert!(text.contains("only at the coordinate that `own_tile` gave"), "{text}");
    }
}

#[test]
fn one_output_is_dealt_out_in_one_way() {
    let text = refused(|_, args| {
        let mut c = args.global_mut::<f32>(0);
        let tile: rt<f32, 8, 16> = zeros();
        let (linear, snake) = (own_tile::<8, 16>(&c, Linear), own_tile::<8, 16>(&c, Snake(1)));
        store(&mut c, &tile, linear);
        store(&mut c, &tile, snake);
    });
    assert!(text.contains("dealt out in one way"), "{text}");
    let text = refused(|_, args| {
        let mut c = args.global_mut::<f32>(0);
        let (small, large) = (own_tile::<8, 16>(&c, Linear), own_tile::<16, 16>(&c, Linear));
        let _: rt<f32, 8, 16> = load(&c, small);
        let tile: rt<f32, 16, 16> = zeros();
        store(&mut c, &tile, large);
    });
    assert!(text.contains("dealt out in one way"), "{text}");
}

#[test]
fn a_coordinate_kept_from_elsewhere_is_refused() {
    let stolen = launch(3, |_, args| own_tile::<8, 16>(&args.global_mut::<f32>(0), Linear));
    let solo = {
        let mut data = [0f32; 128];
        let c = gl::of_mut(&mut data, 8, 16).expect("8 x 16 elements");
        own_tile::<8, 16>(&c, Linear)
    };
    for at in [stolen, solo] {
        let text = refused(move |_, args| {
            let tile: rt<f32, 8, 16> = zeros();
            store(&mut args.global_mut::<f32>(0), &tile, at);
        });
        assert!(text.contains("by the sub-group that owns it"), "{text}");
    }
}
