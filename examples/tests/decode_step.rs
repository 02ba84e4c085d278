//! The program `decode_step` in a small size, on the host and the simulator: it checks every token itself.

use examples::decode_step::{DecodeError, Sizes, TilesError, run};
use tile_std::Device;
use tile_std::ops::RowError;

const SIZES: Sizes = Sizes {
    layers: 2,
    hidden: 96,
    heads: 4,
    kv_heads: 2,
    dim: 32,
    inner: 200,
    vocabulary: 131,
    capacity: 16,
};

fn decoded(device: &Device) -> Vec<String> {
    let mut out = vec![];
    run(device, SIZES, (11, 5), &mut out).unwrap_or_else(|e| panic!("{}: {e}", device.name()));
    let text = String::from_utf8(out).expect("plain text");
    let line = text.lines().find_map(|l| l.strip_prefix("decoded ")).expect("a line of tokens").to_string();
    line.split(' ').map(str::to_string).collect()
}

#[test]
fn host_and_simulator_write_the_same_tokens() {
    let host = decoded(&Device::host());
    assert_eq!(host.len(), 5);
    assert!(host.iter().any(|token| *token != host[0]), "{host:?}");
    assert_eq!(host, decoded(&Device::sim()));
}

#[test]
fn a_full_cache_is_an_error() {
    let error = run(&Device::host(), SIZES, (14, 4), &mut vec![]).expect_err("17 tokens are not 16");
    let full = |e: &TilesError| matches!(e, TilesError::Rows(RowError::Capacity { .. }));
    assert!(matches!(&error, DecodeError::Tiles(e) if full(e)), "{error}");
    assert!(error.to_string().contains("16 .. 17"), "{error}");
}
