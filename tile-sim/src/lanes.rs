//! The register file of one sub-group: rows of 32 bits in 16 lanes, with a uniformity flag per row.
//!
//! *Assumes*: row numbers come from the decoder, which allocated them inside the file.
//! *Guarantees*: all 16 lanes of a row flagged uniform hold the same bits; a write changes active lanes only;
//! reading a row that was never written is an error, so use before definition cannot go unseen.
//! *Not here*: what instructions compute.

use crate::error::{Fault, Rule, broken, malformed};

/// Lanes of a sub-group.
pub(crate) const LANES: usize = 16;
/// Mask of a full sub-group.
pub(crate) const FULL: u16 = 0xffff;
/// 32 bits in each lane; a 64-bit scalar takes two rows, low half first.
pub(crate) type Row = [u32; LANES];
/// What undefined values and fresh private memory hold: a NaN as f32, large as an integer, odd as an address.
pub(crate) const POISON: u32 = 0xffc0_dead;

const UNDEFINED: u8 = 0;
const VARYING: u8 = 1;
const UNIFORM: u8 = 2;

#[derive(Debug)]
pub(crate) struct Lanes {
    rows: Vec<Row>,
    flags: Vec<u8>,
    /// Lanes that execute.
    pub(crate) mask: u16,
    /// Lanes that exist (fewer than 16 in the last sub-group of an odd-sized work-group).
    pub(crate) live: u16,
}

/// Lanes in a mask, lowest first.
pub(crate) fn lanes_of(mask: u16) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |l| mask >> l & 1 == 1)
}

impl Lanes {
    /// A file of `rows` rows that starts with the module's constants.
    pub(crate) fn new(constants: &[u32], rows: usize) -> Lanes {
        let mut lanes =
            Lanes { rows: vec![[POISON; LANES]; rows], flags: vec![UNDEFINED; rows], mask: FULL, live: FULL };
        for (row, value) in constants.iter().enumerate() {
            lanes.rows[row] = [*value; LANES];
            lanes.flags[row] = UNIFORM;
        }
        lanes
    }

    /// Forgets every value but the first `keep` rows.
    pub(crate) fn reset(&mut self, keep: usize, live: u16) {
        self.flags[keep..].fill(UNDEFINED);
        self.mask = live;
        self.live = live;
    }

    pub(crate) fn full(&self) -> bool {
        self.mask == FULL
    }

    pub(crate) fn row(&self, row: u32) -> Result<&Row, Fault> {
        self.defined(row)?;
        Ok(&self.rows[row as usize])
    }

    pub(crate) fn defined(&self, row: u32) -> Result<(), Fault> {
        if self.flags[row as usize] == UNDEFINED {
            return Err(malformed(format!("a value is used before its definition was executed (row {row})")));
        }
        Ok(())
    }

    pub(crate) fn is_uniform(&self, row: u32) -> bool {
        self.flags[row as usize] == UNIFORM
    }

    /// Whether a scalar of `bits` at `row` is flagged uniform.
    pub(crate) fn scalar_uniform(&self, row: u32, bits: u8) -> bool {
        self.is_uniform(row) && (bits != 64 || self.is_uniform(row + 1))
    }

    /// Writes active lanes of a row.
    pub(crate) fn put(&mut self, row: u32, value: Row, uniform: bool) {
        let row = row as usize;
        if self.mask == FULL {
            self.rows[row] = value;
            self.flags[row] = if uniform { UNIFORM } else { VARYING };
        } else {
            if self.flags[row] == UNDEFINED {
                self.rows[row] = [POISON; LANES];
            }
            for l in lanes_of(self.mask) {
                self.rows[row][l] = value[l];
            }
            self.flags[row] = VARYING;
        }
    }

    /// Writes active lanes of a scalar of `bits` from one value per lane.
    pub(crate) fn put_scalar(&mut self, row: u32, bits: u8, values: &[u64; LANES], uniform: bool) {
        self.put(row, values.map(|v| v as u32), uniform);
        if bits == 64 {
            self.put(row + 1, values.map(|v| (v >> 32) as u32), uniform);
        }
    }

    /// Writes the same value into active lanes of a scalar of `bits`.
    pub(crate) fn put_uniform(&mut self, row: u32, bits: u8, value: u64) {
        self.put(row, [value as u32; LANES], true);
        if bits == 64 {
            self.put(row + 1, [(value >> 32) as u32; LANES], true);
        }
    }

    /// One lane of a scalar of `bits`, zero-extended. The caller checked that it is defined.
    pub(crate) fn lane(&self, row: u32, bits: u8, lane: usize) -> u64 {
        let low = u64::from(self.rows[row as usize][lane]);
        if bits == 64 { low | u64::from(self.rows[row as usize + 1][lane]) << 32 } else { low }
    }

    /// All lanes of a scalar of `bits`, zero-extended.
    pub(crate) fn scalar(&self, row: u32, bits: u8) -> Result<[u64; LANES], Fault> {
        self.defined(row)?;
        if bits == 64 {
            self.defined(row + 1)?;
        }
        Ok(std::array::from_fn(|l| self.lane(row, bits, l)))
    }

    /// The one value that a scalar of `bits` has in every active lane.
    pub(crate) fn uniform(&self, row: u32, bits: u8, what: &str) -> Result<u64, Fault> {
        self.defined(row)?;
        let first = self.mask.trailing_zeros() as usize % LANES;
        let value = self.lane(row, bits, first);
        if self.scalar_uniform(row, bits) {
            return Ok(value);
        }
        for l in lanes_of(self.mask) {
            let other = self.lane(row, bits, l);
            if other != value {
                return Err(broken(
                    Rule::Uniform,
                    format!("{what} is {value:#x} in lane {first} and {other:#x} in lane {l}"),
                ));
            }
        }
        Ok(value)
    }

    /// Copies active lanes of `n` consecutive rows.
    pub(crate) fn copy(&mut self, dst: u32, src: u32, n: u32) -> Result<(), Fault> {
        if self.mask == FULL {
            let (src, dst, n) = (src as usize, dst as usize, n as usize);
            for (i, flag) in self.flags[src..src + n].iter().enumerate() {
                if *flag == UNDEFINED {
                    self.defined((src + i) as u32)?;
                }
            }
            self.rows.copy_within(src..src + n, dst);
            self.flags.copy_within(src..src + n, dst);
            return Ok(());
        }
        for i in 0..n {
            let value = *self.row(src + i)?;
            self.put(dst + i, value, false);
        }
        Ok(())
    }
}
