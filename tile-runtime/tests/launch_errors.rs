//! Launches that are refused: each error names kernel and instance, states the rule and gives the values.

mod kernels;

use kernels::{AXPY, GEMM, GEMM_SMALL, input, launch_plain, output};
use tile_lang::prelude::bf16;
use tile_runtime::{
    Axis, DType, Device, GridInfo, InstanceInfo, LaunchArg, LaunchError, ParamInfo, Tensor, View, ViewMut,
};

fn matrix(rows: usize, cols: usize) -> Tensor<bf16> {
    Tensor::zeros(rows, cols).expect("small")
}

/// The text of a refused launch on the host.
fn refused(instance: &'static InstanceInfo, args: &mut [LaunchArg<'_>]) -> String {
    launch_plain(&Device::host(), instance, args).expect_err("must be refused").to_string()
}

#[test]
fn arguments_are_counted() {
    let a = matrix(8, 8);
    assert_eq!(
        refused(&GEMM, &mut [(&a).into()]),
        "gemm<bf16, 32, 64, 32>: one argument per parameter; the kernel has 3 and 1 were given"
    );
}

#[test]
fn kinds_and_element_types_must_fit() {
    let (a, b) = (matrix(8, 8), matrix(8, 8));
    let mut c = Tensor::<f32>::zeros(8, 8).expect("small");
    let wrong_type = Tensor::<f32>::zeros(8, 8).expect("small");
    assert_eq!(
        refused(&GEMM, &mut [(&mut c).into(), (&wrong_type).into(), (&b).into()]),
        "gemm<bf16, 32, 64, 32>: `a` takes an argument of kind input tensor of bf16; input tensor of f32 was given"
    );
    assert_eq!(
        refused(&GEMM, &mut [(&wrong_type).into(), (&a).into(), (&b).into()]),
        "gemm<bf16, 32, 64, 32>: `c` takes an argument of kind output tensor of f32; input tensor of f32 was given"
    );
    assert_eq!(
        refused(&GEMM, &mut [(&mut c).into(), 7u32.into(), (&b).into()]),
        "gemm<bf16, 32, 64, 32>: `a` takes an argument of kind input tensor of bf16; u32 was given"
    );
    let x = Tensor::<f32>::zeros(8, 8).expect("small");
    let args = &mut [
        (&mut c).into(),
        (&x).into(),
        1.0f32.into(),
        1u32.into(),
        1i32.into(),
        true.into(),
        0u32.into(),
    ];
    assert_eq!(refused(&AXPY, args), "axpy<>: `wide` takes an argument of kind u64; u32 was given");
}

#[test]
fn sizes_must_fit_32_bits() {
    let a = [bf16::ONE];
    let repeated =
        View::from_slice(&a, 1, 1).and_then(|v| v.broadcast(Axis::Batch, 1 << 32)).expect("one batch");
    let b = matrix(1, 1);
    let mut c = Tensor::<f32>::zeros(1, 1).expect("small");
    assert_eq!(
        refused(&GEMM, &mut [(&mut c).into(), repeated.into(), (&b).into()]),
        "gemm<bf16, 32, 64, 32>: sizes must be below 2^32; `a` has batch 4294967296 (shape [4294967296, 1, 1, 1])"
    );
}

/// Two views of one memory, which only `unsafe` code can make.
fn aliases(floats: &mut [f32], at: usize) -> (ViewMut<'_, f32>, View<'_, f32>) {
    let (base, len) = (floats.as_mut_ptr(), floats.len());
    assert!(at + 64 <= len && len >= 64);
    // SAFETY: both slices lie in `floats`, which is borrowed as long as they live. They may overlap, which
    // breaks Rust's rules; nothing reads or writes through them, because the launch must refuse them.
    let (out, inp) =
        unsafe { (core::slice::from_raw_parts_mut(base, 64), core::slice::from_raw_parts(base.add(at), 64)) };
    (
        ViewMut::from_slice(out, 4, 16).expect("64 elements"),
        View::from_slice(inp, 4, 16).expect("64 elements"),
    )
}

#[test]
fn outputs_share_no_memory_with_other_arguments() {
    let mut floats = vec![0.0f32; 200];
    let mut launch_at = |at: usize| {
        let (y, x) = aliases(&mut floats, at);
        let scalars = (1.0f32, 1u64 << 40, -7i32, true, 0u32);
        let args = &mut [
            y.into(),
            x.into(),
            scalars.0.into(),
            scalars.1.into(),
            scalars.2.into(),
            scalars.3.into(),
            scalars.4.into(),
        ];
        launch_plain(&Device::host(), &AXPY, args).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(
        launch_at(63),
        Err("axpy<>: an output must not share memory with another argument; `y` spans 256 bytes and `x` starts \
             252 bytes after its start"
            .into())
    );
    assert!(launch_at(0).is_err());
    assert_eq!(launch_at(64), Ok(()), "next to each other is fine");
}

#[test]
fn inputs_may_share_memory() {
    let a = matrix(16, 16);
    let mut c = Tensor::<f32>::zeros(16, 16).expect("small");
    launch_plain(&Device::host(), &GEMM, &mut [(&mut c).into(), (&a).into(), (&a).into()]).expect("legal");
}

#[test]
fn unusable_descriptions_are_errors() {
    static NO_OUTPUT: InstanceInfo =
        InstanceInfo { grid: GridInfo { param: 1, tile: (8, 16) }, ..GEMM_SMALL };
    static NO_PARAM: InstanceInfo = InstanceInfo { grid: GridInfo { param: 9, tile: (8, 16) }, ..GEMM_SMALL };
    static NO_TILE: InstanceInfo = InstanceInfo { grid: GridInfo { param: 0, tile: (0, 16) }, ..GEMM_SMALL };
    static NO_GROUP: InstanceInfo = InstanceInfo { subgroups: (4, 0), ..GEMM_SMALL };
    static HUGE_GROUP: InstanceInfo = InstanceInfo { subgroups: (1 << 20, 1 << 20), ..GEMM_SMALL };
    let (a, b) = (matrix(8, 8), matrix(8, 8));
    let mut c = Tensor::<f32>::zeros(8, 8).expect("small");
    let mut text = |instance| refused(instance, &mut [(&mut c).into(), (&a).into(), (&b).into()]);
    let head = "gemm<bf16, 8, 16, 16>: the kernel description is not usable: ";
    assert_eq!(text(&NO_OUTPUT), format!("{head}its grid comes from parameter 1, which is no output"));
    assert_eq!(text(&NO_PARAM), format!("{head}its grid comes from parameter 9, which is no output"));
    let tiles = "tiles and work-groups must not be empty or huge; the tile is ";
    assert_eq!(text(&NO_TILE), format!("{head}{tiles}(0, 16), the sub-groups are (1, 1)"));
    assert_eq!(text(&NO_GROUP), format!("{head}{tiles}(8, 16), the sub-groups are (4, 0)"));
    assert_eq!(text(&HUGE_GROUP), format!("{head}{tiles}(8, 16), the sub-groups are (1048576, 1048576)"));
}

#[test]
fn a_description_that_lies_about_its_parameters_ends_in_an_error() {
    static LIES: InstanceInfo =
        InstanceInfo { params: &[output("c", DType::F32), input("a", DType::F32)], ..GEMM_SMALL };
    let mut c = Tensor::<f32>::zeros(8, 8).expect("small");
    let a = Tensor::<f32>::zeros(8, 8).expect("small");
    let text = refused(&LIES, &mut [(&mut c).into(), (&a).into()]);
    assert!(text.contains("a kernel body must not panic; work-group 0 did: argument 1"), "{text}");
}

#[test]
fn too_many_parameters_are_refused() {
    const MANY: [ParamInfo; 129] = [input("x", DType::F32); 129];
    static CROWD: InstanceInfo = InstanceInfo {
        params: &{
            let mut params = MANY;
            params[0] = output("y", DType::F32);
            params
        },
        ..GEMM_SMALL
    };
    let mut c = Tensor::<f32>::zeros(8, 8).expect("small");
    let x = Tensor::<f32>::zeros(8, 8).expect("small");
    let mut args = vec![LaunchArg::from(&mut c)];
    args.extend((1..129).map(|_| LaunchArg::from(&x)));
    let text = refused(&CROWD, &mut args);
    assert!(text.ends_with("not usable: at most 128 parameters; it has 129"), "{text}");
}

#[test]
fn tiles_beyond_any_stack_are_refused() {
    static ENORMOUS: InstanceInfo = InstanceInfo { host_tile_bytes: 1 << 30, ..GEMM_SMALL };
    let (a, b) = (matrix(8, 8), matrix(8, 8));
    let mut c = Tensor::<f32>::zeros(8, 8).expect("small");
    assert_eq!(
        refused(&ENORMOUS, &mut [(&mut c).into(), (&a).into(), (&b).into()]),
        "gemm<bf16, 8, 16, 16>: the tiles of a sub-group must fit a stack of 1073741824 bytes on the host; they \
         have 1073741824 bytes"
    );
}

#[test]
fn errors_can_cross_threads_and_be_boxed() {
    fn needs<T: core::error::Error + Send + Sync + 'static>() {}
    needs::<LaunchError>();
    needs::<tile_runtime::TensorError>();
    needs::<tile_runtime::DeviceError>();
    fn sendable<T: Send>() {}
    sendable::<LaunchArg<'_>>();
    sendable::<Tensor<f32>>();
}
