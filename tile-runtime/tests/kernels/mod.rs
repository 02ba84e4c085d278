//! Kernels described by hand, as `#[tile_kernel]` describes them, for the tests of the runtime.
#![allow(dead_code, reason = "each test binary uses some of them")]

use tile_lang::group::Context;
use tile_lang::launch::Args;
use tile_lang::ops::place::own_tile_in;
use tile_lang::prelude::*;
use tile_runtime::{
    DType, Generic, GridInfo, GroupInfo, InstanceInfo, LaunchArg, LaunchError, LaunchOptions, ParamInfo,
    ParamKind, Report, ScalarType, launch,
};

pub const fn input(name: &'static str, dtype: DType) -> ParamInfo {
    ParamInfo { name, kind: ParamKind::In(dtype) }
}

pub const fn output(name: &'static str, dtype: DType) -> ParamInfo {
    ParamInfo { name, kind: ParamKind::Out(dtype) }
}

/// Launches with the default options.
pub fn launch_plain(
    device: &tile_runtime::Device,
    instance: &'static InstanceInfo,
    args: &mut [LaunchArg<'_>],
) -> Result<Report, LaunchError> {
    launch(device, instance, args, &LaunchOptions::default())
}

fn gemm<T: MmaInput, const BM: usize, const BN: usize, const BK: usize>(cx: &Context<'_>, args: &Args<'_>) {
    let mut c = args.global_mut::<f32>(0);
    let (a, b) = (args.global::<T>(1), args.global::<T>(2));
    let at = own_tile_in::<BM, BN>(cx, &c, Snake(8));
    if at.outside() {
        return;
    }
    let mut acc: rt<f32, BM, BN, Acc> = zeros();
    for k in 0..a.col_tiles(BK) {
        let x: rt<T, BM, BK> = load(&a, [at.batch(), at.depth(), at.row(), k]);
        let y: rt<T, BK, BN, Vnni> = load_transform(&b, [at.batch(), at.depth(), k, at.col()]);
        mma_AB(&mut acc, &x, &y);
    }
    store(&mut c, &acc, at);
}

const GEMM_PARAMS: &[ParamInfo] =
    &[output("c", DType::F32), input("a", DType::Bf16), input("b", DType::Bf16)];

/// C = A B with tiles of 32 x 64 x 32 and 8 x 4 sub-groups.
pub static GEMM: InstanceInfo = InstanceInfo {
    kernel: "gemm",
    name: "<bf16, 32, 64, 32>",
    generics: &[Generic::Type(DType::Bf16), Generic::Size(32), Generic::Size(64), Generic::Size(32)],
    params: GEMM_PARAMS,
    subgroups: (8, 4),
    grid: GridInfo { param: 0, tile: (32, 64) },
    modules: &[],
    absent: &[],
    live_tile_bytes: 32 * 64 * 4 + 32 * 32 * 2 + 32 * 64 * 2,
    host_tile_bytes: (32 * 64 + 32 * 32 + 32 * 64) * 4,
    group: GroupInfo::NONE,
    run: gemm::<bf16, 32, 64, 32>,
};

/// The same with one small sub-group, so that there are many work-groups.
pub static GEMM_SMALL: InstanceInfo = InstanceInfo {
    name: "<bf16, 8, 16, 16>",
    generics: &[Generic::Type(DType::Bf16), Generic::Size(8), Generic::Size(16), Generic::Size(16)],
    subgroups: (1, 1),
    grid: GridInfo { param: 0, tile: (8, 16) },
    host_tile_bytes: (8 * 16 + 8 * 16 + 16 * 16) * 4,
    group: GroupInfo::NONE,
    run: gemm::<bf16, 8, 16, 16>,
    ..GEMM
};

/// The same with tiles that need a large stack: 512 x 512 x 512, 3 MiB of tiles.
pub static GEMM_LARGE: InstanceInfo = InstanceInfo {
    name: "<bf16, 512, 512, 512>",
    generics: &[Generic::Type(DType::Bf16), Generic::Size(512), Generic::Size(512), Generic::Size(512)],
    subgroups: (1, 1),
    grid: GridInfo { param: 0, tile: (512, 512) },
    host_tile_bytes: 3 * 512 * 512 * 4,
    group: GroupInfo::NONE,
    run: gemm::<bf16, 512, 512, 512>,
    ..GEMM
};

fn axpy(cx: &Context<'_>, args: &Args<'_>) {
    let mut y = args.global_mut::<f32>(0);
    let x = args.global::<f32>(1);
    let at = own_tile_in::<8, 16>(cx, &y, Linear);
    let (wide, flag) = (args.u64(3), args.bool(5));
    assert_eq!((wide, args.i32(4), flag), (1 << 40, -7, true), "scalars arrive as they were passed");
    assert_ne!(args.u32(6), at.row() + 1, "asked to panic in this row");
    let tile: rt<f32, 8, 16> = load(&x, at);
    store(&mut y, &tile.scale(args.f32(2)), at);
}

/// y = alpha x, with scalars of every type; panics in the row of tiles before `fail`.
pub static AXPY: InstanceInfo = InstanceInfo {
    kernel: "axpy",
    name: "<>",
    generics: &[],
    params: &[
        output("y", DType::F32),
        input("x", DType::F32),
        ParamInfo { name: "alpha", kind: ParamKind::Scalar(ScalarType::F32) },
        ParamInfo { name: "wide", kind: ParamKind::Scalar(ScalarType::U64) },
        ParamInfo { name: "signed", kind: ParamKind::Scalar(ScalarType::I32) },
        ParamInfo { name: "flag", kind: ParamKind::Scalar(ScalarType::Bool) },
        ParamInfo { name: "fail", kind: ParamKind::Scalar(ScalarType::U32) },
    ],
    subgroups: (2, 1),
    grid: GridInfo { param: 0, tile: (8, 16) },
    modules: &[],
    absent: &[],
    live_tile_bytes: 0,
    host_tile_bytes: 2 * 8 * 16 * 4,
    group: GroupInfo::NONE,
    run: axpy,
};
