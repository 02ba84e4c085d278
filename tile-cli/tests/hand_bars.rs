//! Kernels of tile-std against kernels written by hand, on Intel's compiler: at most 1.25 times the instructions, rounded.
//!
//! Without the tools the test is skipped and says so; with `TILE_REQUIRE_TOOLS=1` that is a failure.

mod bars;

use bars::{figures, tools};
use tile_cli::by_hand::{BY_HAND, Hand};

/// Figures of which no kernel of tile-std could come near: float keys order no NaN, and of equal negative elements they
/// take the last.
fn promises_less(hand: &Hand) -> bool {
    hand.what.contains("float keys")
}

#[test]
fn kernels_cost_little_more_than_those_written_by_hand() {
    let Some(tools) = tools("kernels_cost_little_more_than_those_written_by_hand") else { return };
    let mut held = 0;
    for hand in BY_HAND.iter().filter(|hand| !promises_less(hand)) {
        for device in ["pvc", "bmg"] {
            let figures = figures(&tools, (hand.kernel, hand.instance), device);
            let at = format!("{}{} on {device}", hand.kernel, hand.instance);
            let this = hand.of.measured(&figures).unwrap_or_else(|| panic!("{at}: nothing to compare"));
            let by_hand = hand.figure(device).unwrap_or_else(|| panic!("{at}: no figure"));
            println!("{at}: {this:.1}, by hand {by_hand:.1}, {:.3}; {}", this / by_hand, hand.what);
            assert_eq!((figures.grf_count, figures.spill_bytes), (256, 0), "{at}");
            assert!(this <= 1.255 * by_hand, "{at}: {this:.1}, by hand {by_hand:.1}; {}", hand.what);
            held += 1;
        }
    }
    assert_eq!(held, 12);
}
