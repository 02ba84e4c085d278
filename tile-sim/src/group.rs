//! Instructions that let lanes of a sub-group see each other's values.
//!
//! *Guarantees*: `OpGroup*` instructions need every live lane; the non-uniform ones combine active lanes
//! only. Float reductions add in a fixed butterfly order (distance 8, 4, 2, 1).
//! *Not here*: barriers (`run`), block messages and matrix instructions.

use crate::alu::{self, Int2};
use crate::convert::{from_f64, to_f64};
use crate::error::{Fault, Rule, broken};
use crate::lanes::{LANES, Lanes, lanes_of};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Combine {
    Int(Int2),
    Float(fn(f64, f64) -> f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    Reduce,
    Inclusive,
    Exclusive,
    /// Reduction over groups of this many neighbouring lanes.
    Clustered(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum GroupKind {
    All,
    Any,
    AllEqual,
    Elect,
    Ballot,
    BroadcastFirst,
    /// One lane's value to all; the lane number must be uniform.
    Broadcast,
    Shuffle,
    ShuffleXor,
    ShuffleUp,
    ShuffleDown,
    /// Two registers side by side, (current, next): lane `l + delta` of them (SPV_INTEL_subgroups).
    ShuffleDown2,
    /// Two registers side by side, (previous, current): lane `16 + l - delta` of them.
    ShuffleUp2,
    Combine {
        op: Combine,
        scan: Scan,
        identity: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupOp {
    pub(crate) kind: GroupKind,
    /// Whether inactive lanes are allowed.
    pub(crate) nonuniform: bool,
    pub(crate) bits: u8,
    pub(crate) n: u8,
    pub(crate) dst: u32,
    pub(crate) src: u32,
    pub(crate) second: u32,
    /// Row and width of a lane number, mask or distance.
    pub(crate) index: Option<(u32, u8)>,
}

impl GroupOp {
    pub(crate) fn run(&self, lanes: &mut Lanes) -> Result<(), Fault> {
        if !self.nonuniform && lanes.mask != lanes.live {
            return Err(broken(
                Rule::Converged,
                format!("active lanes are {:#06x} of {:#06x}", lanes.mask, lanes.live),
            ));
        }
        let step = crate::types::scalar_rows(self.bits);
        match self.kind {
            GroupKind::Elect => {
                let first = lanes.mask.trailing_zeros() as usize;
                lanes.put(self.dst, std::array::from_fn(|l| u32::from(l == first)), false);
                return Ok(());
            }
            GroupKind::Ballot => {
                let votes = *lanes.row(self.src)?;
                let mask = lanes_of(lanes.mask).fold(0, |m, l| m | (votes[l] & 1) << l);
                for i in 0..4 {
                    lanes.put_uniform(self.dst + i, 32, if i == 0 { u64::from(mask) } else { 0 });
                }
                return Ok(());
            }
            GroupKind::All | GroupKind::Any => {
                let votes = *lanes.row(self.src)?;
                let mut active = lanes_of(lanes.mask).map(|l| votes[l] != 0);
                let all = matches!(self.kind, GroupKind::All);
                let vote = if all { active.all(|v| v) } else { active.any(|v| v) };
                lanes.put_uniform(self.dst, 1, u64::from(vote));
                return Ok(());
            }
            GroupKind::AllEqual => {
                let mut equal = true;
                for i in 0..u32::from(self.n) {
                    let values = lanes.scalar(self.src + i * step, self.bits)?;
                    let first = lanes.mask.trailing_zeros() as usize % LANES;
                    equal &= lanes_of(lanes.mask).all(|l| values[l] == values[first]);
                }
                lanes.put_uniform(self.dst, 1, u64::from(equal));
                return Ok(());
            }
            _ => {}
        }
        for i in 0..u32::from(self.n) {
            let values = lanes.scalar(self.src + i * step, self.bits)?;
            let second = match self.kind {
                GroupKind::ShuffleDown2 | GroupKind::ShuffleUp2 => {
                    lanes.scalar(self.second + i * step, self.bits)?
                }
                _ => values,
            };
            let (out, uniform) = self.component(lanes, &values, &second)?;
            lanes.put_scalar(self.dst + i * step, self.bits, &out, uniform);
        }
        Ok(())
    }

    fn component(
        &self,
        lanes: &Lanes,
        values: &[u64; LANES],
        second: &[u64; LANES],
    ) -> Result<([u64; LANES], bool), Fault> {
        let index = |l: usize| -> u64 { self.index.map_or(0, |(row, bits)| lanes.lane(row, bits, l)) };
        if let Some((row, _)) = self.index {
            lanes.defined(row)?;
        }
        let from = |lane: u64| -> Result<u64, Fault> {
            if lane < LANES as u64 && lanes.mask >> lane & 1 == 1 {
                return Ok(values[lane as usize]);
            }
            Err(broken(Rule::IndexRange, format!("value of lane {lane}, active lanes {:#06x}", lanes.mask)))
        };
        let mut out = [0; LANES];
        match self.kind {
            GroupKind::BroadcastFirst => {
                out = [values[lanes.mask.trailing_zeros() as usize % LANES]; LANES];
                return Ok((out, true));
            }
            GroupKind::Broadcast => {
                let (row, bits) = self.index.unwrap_or((self.src, self.bits));
                let lane = lanes.uniform(row, bits, "the lane number")?;
                return Ok(([from(lane)?; LANES], true));
            }
            GroupKind::Combine { op, scan, identity } => {
                return Ok(self.combine(lanes, values, op, scan, identity));
            }
            _ => {}
        }
        for l in lanes_of(lanes.mask) {
            let (i, here) = (index(l), l as u64);
            out[l] = match self.kind {
                GroupKind::Shuffle => from(i)?,
                GroupKind::ShuffleXor => from(here ^ i)?,
                GroupKind::ShuffleUp => from(here.wrapping_sub(i))?,
                GroupKind::ShuffleDown => from(here.wrapping_add(i))?,
                GroupKind::ShuffleDown2 => window(values, second, here.wrapping_add(i))?,
                GroupKind::ShuffleUp2 => window(values, second, (here + LANES as u64).wrapping_sub(i))?,
                _ => values[l],
            };
        }
        Ok((out, false))
    }

    fn combine(
        &self,
        lanes: &Lanes,
        values: &[u64; LANES],
        op: Combine,
        scan: Scan,
        identity: u64,
    ) -> ([u64; LANES], bool) {
        let bits = self.bits;
        let two = |a: u64, b: u64| match op {
            // The combining operations (add, mul, min, max, and, or, xor) have no undefined cases.
            Combine::Int(op) => alu::int2(op, bits, a, b, bits).unwrap_or(identity),
            Combine::Float(f) => from_f64(f(to_f64(a, bits), to_f64(b, bits)), bits),
        };
        let mut now: [Option<u64>; LANES] =
            std::array::from_fn(|l| (lanes.mask >> l & 1 == 1).then_some(values[l]));
        let size = match scan {
            Scan::Clustered(size) => size as usize,
            Scan::Reduce => LANES,
            Scan::Inclusive | Scan::Exclusive => {
                let mut sum = None;
                let mut out = [0; LANES];
                for l in lanes_of(lanes.mask) {
                    let next = sum.map_or(values[l], |s| two(s, values[l]));
                    out[l] = if scan == Scan::Inclusive { next } else { sum.unwrap_or(identity) };
                    sum = Some(next);
                }
                return (out, false);
            }
        };
        let mut distance = size / 2;
        while distance > 0 {
            let before = now;
            for (l, slot) in now.iter_mut().enumerate() {
                let (low, high) = (before[l & !distance], before[l | distance]);
                *slot = match (low, high) {
                    (Some(a), Some(b)) => Some(two(a, b)),
                    (a, b) => a.or(b),
                };
            }
            distance /= 2;
        }
        (now.map(|v| v.unwrap_or(identity)), size == LANES)
    }
}

/// Lane `i` of two registers side by side.
fn window(first: &[u64; LANES], second: &[u64; LANES], i: u64) -> Result<u64, Fault> {
    let i = usize::try_from(i).unwrap_or(usize::MAX);
    first
        .get(i)
        .or_else(|| second.get(i.wrapping_sub(LANES)))
        .copied()
        .ok_or_else(|| broken(Rule::IndexRange, format!("lane {i} of two registers of 16 lanes")))
}
