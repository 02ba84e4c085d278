//! Which 2-D block messages exist, per GPU generation.
//!
//! Source: SPV_INTEL_2d_block_io and the accept tables measured with Intel's offline compiler 2.40 for
//! sub-group size 16 (every accepted shape became one message).
//! *Not here*: rules on addresses and sizes known only at run time (`block`).

use crate::block::BlockKind;

/// GPU generations that differ in the 2-D block messages they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hardware {
    /// Ponte Vecchio; its messages exist on every later generation as well.
    #[default]
    Pvc,
    /// Battlemage, Lunar Lake, Panther Lake: wider transforms.
    Xe2,
    /// Crescent Island: as Xe2, wider transposes and 256-byte prefetches.
    Cri,
}

/// One row of the load table: element size, width, least height for 1, 2 and 4 blocks (0: no such message).
type LoadRow = (u32, u32, [u32; 3]);

const LOADS: &[LoadRow] = &[
    (1, 4, [1, 16, 16]),
    (1, 8, [1, 8, 8]),
    (1, 16, [1, 4, 4]),
    (1, 32, [1, 1, 0]),
    (1, 64, [1, 0, 0]),
    (2, 2, [1, 16, 16]),
    (2, 4, [1, 8, 8]),
    (2, 8, [1, 4, 4]),
    (2, 16, [1, 1, 0]),
    (2, 32, [1, 0, 0]),
    (4, 1, [1, 1, 0]),
    (4, 2, [1, 1, 0]),
    (4, 4, [1, 1, 0]),
    (4, 8, [1, 1, 0]),
    (4, 16, [1, 0, 0]),
    (8, 1, [16, 0, 0]),
    (8, 2, [8, 0, 0]),
    (8, 4, [4, 0, 0]),
    (8, 8, [2, 0, 0]),
];

fn load(esz: u32, w: u32, h: u32, c: u32) -> bool {
    let Some((_, _, least)) = LOADS.iter().find(|row| row.0 == esz && row.1 == w) else { return false };
    let least = match c {
        1 => least[0],
        2 => least[1],
        4 => least[2],
        _ => 0,
    };
    // One row of several 16-byte blocks merges into one wide row.
    least != 0 && (h >= least || (esz == 1 && w == 16 && h == 1))
}

/// Bytes per row and block counts that prefetches (and, before the register rules, loads) obey.
fn prefetch(esz: u32, w: u32, c: u32) -> bool {
    let (widths, most_blocks) = match esz {
        1 => (4..=64, 4),
        2 => (2..=32, 4),
        4 => (1..=16, 2),
        _ => (1..=8, 1),
    };
    widths.contains(&w) && c <= most_blocks && esz * w * c <= 64
}

fn transform(hw: Hardware, esz: u32, w: u32, h: u32, c: u32) -> bool {
    let (widths, least_h) = match (esz, hw) {
        (1, Hardware::Pvc) => (4..=16, 4),
        (1, Hardware::Xe2 | Hardware::Cri) => (4..=64, 4),
        (2, Hardware::Pvc) => (2..=16, 2),
        (2, Hardware::Xe2 | Hardware::Cri) => (2..=32, 2),
        _ => return false,
    };
    widths.contains(&w) && h >= least_h && c <= 4 && esz * w * c <= 64
}

fn transpose(hw: Hardware, esz: u32, w: u32, h: u32, c: u32) -> bool {
    let cri = hw == Hardware::Cri;
    c == 1
        && match esz {
            4 => w <= 8 || (cri && w == 16),
            8 => ((w == 2 || w == 4) && h == 8) || (cri && w <= 8 && (h == 16 || (w == 8 && h == 8))),
            _ => false,
        }
}

/// Whether `hw` has a message of `kind` for elements of `esz` bytes in `c` blocks of (h, w).
pub(crate) fn exists(hw: Hardware, kind: BlockKind, esz: u32, w: u32, h: u32, c: u32) -> bool {
    let sane =
        [esz, w, h, c].iter().all(|v| v.is_power_of_two()) && esz <= 8 && w <= 256 && h <= 32 && c <= 4;
    sane && match kind {
        BlockKind::Load => load(esz, w, h, c),
        BlockKind::Transform => transform(hw, esz, w, h, c),
        BlockKind::Transpose => transpose(hw, esz, w, h, c),
        BlockKind::Prefetch => prefetch(esz, w, c) || (hw == Hardware::Cri && esz * w * c == 256),
        BlockKind::Store => h <= 8 && c == 1 && prefetch(esz, w, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(hw: Hardware, kind: BlockKind) -> usize {
        let powers = || (0..9).map(|i| 1u32 << i);
        let mut n = 0;
        for esz in powers() {
            for w in powers() {
                for h in powers() {
                    n += powers().filter(|c| exists(hw, kind, esz, w, h, *c)).count();
                }
            }
        }
        n
    }

    /// The totals of the measured accept tables.
    #[test]
    fn table_sizes_match_the_measured_tables() {
        assert_eq!(count(Hardware::Pvc, BlockKind::Load), 178);
        assert_eq!(count(Hardware::Pvc, BlockKind::Transform), 91);
        assert_eq!(count(Hardware::Xe2, BlockKind::Transform), 91 + 17);
        assert_eq!(count(Hardware::Pvc, BlockKind::Transpose), 26);
        assert_eq!(count(Hardware::Pvc, BlockKind::Prefetch), 222);
        assert_eq!(count(Hardware::Pvc, BlockKind::Store), 76);
    }
}
