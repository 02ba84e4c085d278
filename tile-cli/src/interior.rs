//! What the interior of a kernel costs: the instructions that a tile well inside its tensors runs.
//!
//! A kernel masks tiles at the edge of a tensor on paths of their own, so its instructions all told say little. A way through
//! the kernel that stores something has to do everything but the edges: the shortest such way is taken to be the interior.
//! In the same way a trip through a loop does all of its work on the shortest way that has the most DPAS or wide loads.
//!
//! *Assumes*: a listing that ends with the thread's end. *Guarantees*: every loop on the way counts once; of a branch by lanes the
//! side that some lane takes. *Not here*: all instructions of loops with DPAS ([`crate::inspect`]).

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use crate::asm::{Instruction, Kind, Turn};
use crate::listing::{Line, innermost_with};

/// Instructions by what they occupy (xe_facts 8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Matrix multiply-accumulate.
    pub dpas: u64,
    /// Arithmetic of several lanes.
    pub alu: u64,
    /// Arithmetic of one lane: addresses, loop counters.
    pub scalar: u64,
    /// `math`: powers, logarithms, roots, inverses. Each takes four times as long as another instruction.
    pub math: u64,
    /// Messages.
    pub messages: u64,
    /// Waits.
    pub sync: u64,
}

impl Counts {
    /// Counts instructions.
    pub fn of<'a>(instructions: impl Iterator<Item = &'a Instruction>) -> Counts {
        let mut counts = Counts::default();
        for instruction in instructions {
            *match instruction.kind {
                Kind::Dpas => &mut counts.dpas,
                Kind::Math => &mut counts.math,
                Kind::Sync => &mut counts.sync,
                Kind::BlockLoad | Kind::BlockPrefetch | Kind::BlockStore | Kind::Scratch | Kind::Message => {
                    &mut counts.messages
                }
                Kind::Compare | Kind::Select | Kind::Branch | Kind::Other if instruction.lanes == 1 => {
                    &mut counts.scalar
                }
                Kind::Compare | Kind::Select | Kind::Branch | Kind::Other => &mut counts.alu,
            } += 1;
        }
        counts
    }

    /// All instructions.
    pub fn total(&self) -> u64 {
        self.dpas + self.alu + self.scalar + self.math + self.messages + self.sync
    }

    /// Clocks of the arithmetic beside DPAS: one for an instruction, four for `math`.
    pub fn clocks(&self) -> u64 {
        self.alu + self.scalar + 4 * self.math
    }
}

/// Where a listing goes from each of its lines.
struct Ways<'a> {
    lines: &'a [Line<Instruction>],
    labels: HashMap<&'a str, usize>,
}

impl<'a> Ways<'a> {
    fn of(lines: &'a [Line<Instruction>]) -> Ways<'a> {
        let labels = lines.iter().enumerate().filter_map(|(at, line)| match line {
            Line::Label(label) => Some((label.as_str(), at)),
            Line::Instruction(..) => None,
        });
        Ways { lines, labels: labels.collect() }
    }

    fn instruction(&self, at: usize) -> Option<&'a Instruction> {
        match &self.lines[at] {
            Line::Instruction(instruction, _) => Some(instruction),
            Line::Label(_) => None,
        }
    }

    /// The lines that may follow, all of them further down: ways back are loops, which count once.
    fn nexts(&self, at: usize) -> Vec<usize> {
        match &self.lines[at] {
            Line::Label(_) => vec![at + 1],
            Line::Instruction(instruction, targets) => {
                let ahead = targets.iter().filter_map(|label| self.labels.get(label.as_str()).copied());
                let ahead = ahead.filter(|to| *to > at);
                match instruction.turn {
                    Turn::On => vec![at + 1],
                    Turn::Away => ahead.collect(),
                    Turn::Either => ahead.chain([at + 1]).collect(),
                }
            }
        }
    }
}

/// Counts the interior of a kernel; `None` where no way through it stores anything.
pub fn interior(lines: &[Line<Instruction>]) -> Option<Counts> {
    let ways = Ways::of(lines);
    // From each line on, before and after the first store: how many instructions are left, and the next line.
    let mut left: Vec<[Option<(u64, usize)>; 2]> = vec![[None; 2]; lines.len() + 1];
    left[lines.len()][1] = Some((0, 0));
    let stores = |at| ways.instruction(at).is_some_and(|instruction| instruction.stores);
    for at in (0..lines.len()).rev() {
        let costs = u64::from(ways.instruction(at).is_some());
        for stored in [0, 1] {
            let then = if stores(at) { 1 } else { stored };
            let rest = |next: usize| left[next][then].map(|(rest, _)| (costs + rest, next));
            left[at][stored] = ways.nexts(at).into_iter().filter_map(rest).min();
        }
    }
    let (mut at, mut stored, mut way) = (0, 0, vec![]);
    while at < lines.len() {
        let (_, next) = left[at][stored]?;
        way.extend(ways.instruction(at));
        stored = if stores(at) { 1 } else { stored };
        at = next;
    }
    Some(Counts::of(way.into_iter()))
}

/// Counts a trip through the innermost loop with DPAS, or in a kernel without any that with wide loads; of several loops
/// the one that runs the fewest instructions for each of these. `None` where there is no such loop.
pub fn trip(lines: &[Line<Instruction>]) -> Option<Counts> {
    let dpas = |instruction: &Instruction| instruction.kind == Kind::Dpas;
    let wide = |instruction: &Instruction| instruction.wide_load;
    trip_with(lines, dpas).or_else(|| trip_with(lines, wide))
}

fn trip_with(lines: &[Line<Instruction>], works: impl Fn(&Instruction) -> bool) -> Option<Counts> {
    let ways = Ways::of(lines);
    let trips = innermost_with(lines, &works).into_iter().filter_map(|range| {
        // From each line to the branch back: how much work is left and, the less the better, how many instructions.
        let mut left: HashMap<usize, (u64, Reverse<u64>, usize)> = HashMap::new();
        let last = range.end - 1;
        left.insert(last, (0, Reverse(1), range.end));
        for at in (range.start..last).rev() {
            let instruction = ways.instruction(at);
            let (work, costs) =
                (u64::from(instruction.is_some_and(&works)), u64::from(instruction.is_some()));
            let rest =
                |next: usize| left.get(&next).map(|&(w, Reverse(c), _)| (work + w, Reverse(costs + c), next));
            if let Some(best) = ways.nexts(at).into_iter().filter_map(rest).max() {
                left.insert(at, best);
            }
        }
        let &(work, Reverse(costs), _) = left.get(&range.start)?;
        let (mut at, mut way) = (range.start, vec![]);
        while at < range.end {
            way.extend(ways.instruction(at));
            at = left.get(&at)?.2;
        }
        Some((work, costs, Counts::of(way.into_iter())))
    });
    // costs / work, compared without a division; a loop's best way has work, or the loop would not be among these.
    trips.min_by(|a, b| (a.1 * b.0).cmp(&(b.1 * a.0))).map(|(_, _, counts)| counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interior_skips_edges_and_takes_lanes_along() {
        let text = "\
(W) mov (1|M0) r1.0<1>:ud 0x0:ud
(W&f0.0) jmpi L90
(W&f0.1) jmpi L16
        and (16|M0) r2.0<1>:ud r2.0<1;1,0>:ud 0x1:ud
        and (16|M0) r3.0<1>:ud r3.0<1;1,0>:ud 0x1:ud
L16:
        math.inv (16|M0) r4.0<1>:f r3.0<1;1,0>:f null<0;1,0>:f
L20:
        add (16|M0) r4.0<1>:f r4.0<1;1,0>:f r4.0<1;1,0>:f
(W&f0.0) jmpi L20
(~f0.0) goto (16|M0) L60 L60
        sync.nop null
        send.ugm (16|M0) null r53 r55:8 0x0 0x04004584 // wr:2+8, rd:0; store.ugm.d32x8.a64
L60:
        join (16|M0) L90
L90:
(W) send.gtwy (1|M0) null r127 null:0 0x0 0x02000010 {EOT} // wr:1+0, rd:0; end of thread
";
        let lines = crate::asm::parse(text);
        let counts = interior(&lines).expect("it stores");
        // The early way out at L90 stores nothing, and the masks before L16 are for edges.
        assert_eq!(counts, Counts { dpas: 0, alu: 3, scalar: 4, math: 1, messages: 2, sync: 1 });
        assert_eq!((counts.total(), counts.clocks()), (11, 11));
        let without: String =
            text.lines().filter(|line| !line.contains("store")).collect::<Vec<_>>().join("\n");
        assert_eq!(interior(&crate::asm::parse(&without)), None);
    }

    #[test]
    fn a_trip_does_its_work_and_no_more() {
        let load = "send.ugm (16|M0) r4 r53 null:0 0x0 0x04803580 // wr:2+0, rd:8; load.ugm.d32x8.a64";
        let text = format!(
            "\
L1:
(W&f0.0) jmpi L2
        mov (16|M0) r4.0<1>:ud 0x0:ud
(W)     jmpi L4
L2:
(W&f0.1) jmpi L3
        {load}
(W)     jmpi L4
L3:
        send.ugm (16|M0) r4 r53 null:0 0x0 0x04803580 // wr:2+0, rd:1; load.ugm.d16u32.a64
        send.ugm (16|M0) r5 r53 null:0 0x0 0x04803580 // wr:2+0, rd:1; load.ugm.d16u32.a64
L4:
        mad (16|M0) r9.0<1>:f r9.0<1;0>:f r4.0<1;0>:f r5.0<1>:f
(W&f0.1) jmpi L1
"
        );
        let lines = crate::asm::parse(&text);
        // The zeros are shorter, and the loads of single elements do not count.
        assert_eq!(trip(&lines), Some(Counts { alu: 1, scalar: 4, messages: 1, ..Counts::default() }));
        let without: Vec<&str> = text.lines().filter(|line| !line.contains("d32x8")).collect();
        assert_eq!(trip(&crate::asm::parse(&without.join("\n"))), None);
    }
}
