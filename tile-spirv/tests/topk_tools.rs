//! What a top-k costs, by Intel's offline compiler: bars on the instructions of whole kernels, and no spills.

mod support;
#[path = "support/tools.rs"]
mod tools;

use support::{Build, tile};
use tile_ir::ir::{Access, Coord, LoadForm, OpKind, Order, TopK, Unit};
use tile_ir::types::{Along, DType, Role};
use tile_spirv::Module;
use tools::Tools;

/// A kernel that keeps the `k` largest elements of every row of 128 and their columns, 16 rows to a sub-group: by `row_topk`, or by
/// `col_topk` of a tile that is loaded transposed, which gives a row a lane.
fn top_k(dtype: DType, k: u32, along: Along) -> Module {
    let mut b = Build::new("top", "", (1, 1));
    b.kernel.unowned_stores = true;
    let types = [dtype.wide(), DType::I32];
    let outputs = types.map(|d| b.global("out", d, Access::Out));
    let a = b.global("a", dtype, Access::In);
    let own = b.own_tile(outputs[0], (16, 16), Order::Linear);
    let zero = b.u32(0);
    let at = Coord { batch: None, depth: None, row: own[2], col: zero, unit: Unit::Tiles };
    let (form, of, made) = match along {
        Along::Rows => (LoadForm::Plain, (16, 128), (16, k.next_multiple_of(16))),
        Along::Cols => (LoadForm::Transpose, (128, 16), (k.next_multiple_of(8), 16)),
    };
    let x = b.load(a, at, form, tile(dtype, of.0, of.1, Role::Row));
    let types = types.map(|d| tile(d, made.0, made.1, Role::Row));
    let best = b.push(OpKind::TopK(TopK { along, k, tile: x, running: None }), &types);
    for (global, tile) in outputs.into_iter().zip(best) {
        let store = match along {
            Along::Rows => OpKind::Store { global, tile, at },
            Along::Cols => OpKind::StoreTranspose { global, tile, at },
        };
        b.push(store, &[]);
    }
    tile_spirv::lower(&b.finish()).expect("lowers").remove(0)
}

/// Instructions of 16 rows with all paths at the edges of tensors, of which a row well inside runs three quarters or more.
#[test]
fn a_top_k_costs_what_is_written_down() {
    let Some(tools) = Tools::find("instructions of a top-k") else { return };
    let bars = [
        (DType::F16, 8, Along::Cols, 2440, 2380),
        (DType::Bf16, 8, Along::Cols, 2420, 2360),
        (DType::F32, 8, Along::Cols, 5650, 5600),
        (DType::F16, 8, Along::Rows, 4250, 4130),
        (DType::F32, 8, Along::Rows, 7850, 7750),
        (DType::F16, 32, Along::Cols, 4200, 3880),
        (DType::F32, 32, Along::Cols, 10_800, 10_450),
        (DType::F32, 32, Along::Rows, 12_900, 12_750),
    ];
    for (dtype, k, along, pvc, bmg) in bars {
        let module = top_k(dtype, k, along);
        for (device, most) in [("pvc", pvc), ("bmg", bmg)] {
            let code = tools.compile(&module, device);
            println!(
                "top-{k} of 16 x 128 {dtype}, {along:?}, on {device}: {} instructions",
                code.instructions
            );
            assert_eq!(code.spill, 0, "top-{k} {dtype} {along:?} on {device}");
            assert!(
                code.instructions <= most,
                "top-{k} {dtype} {along:?} on {device}: {} instructions, at most {most}",
                code.instructions
            );
        }
    }
}

#[test]
fn every_device_compiles_a_top_k_without_spilling() {
    let Some(tools) = Tools::find("a top-k on every device") else { return };
    for along in [Along::Cols, Along::Rows] {
        let module = top_k(DType::Bf16, 8, along);
        for device in &module.devices {
            assert_eq!(tools.compile(&module, device).spill, 0, "{along:?} on {device}");
        }
    }
}
