//! What the interior of a kernel costs: the instructions that a tile well inside its tensors runs.
//!
//! A kernel masks tiles at the edge of a tensor on paths of their own, so its instructions all told say little. A way through
//! the kernel that stores something has to do everything but the edges: the shortest such way is taken to be the interior.
//!
//! *Assumes*: a listing that ends with the thread's end. *Guarantees*: every loop on the way counts once; of a branch by lanes the
//! side that some lane takes. *Not here*: loops with DPAS ([`crate::inspect`]), which say more about kernels that have one.

use std::collections::HashMap;

use serde::Serialize;

use crate::asm::{Instruction, Kind, Turn};
use crate::listing::Line;

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

/// Counts the interior of a kernel; `None` where no way through it stores anything.
pub fn interior(lines: &[Line<Instruction>]) -> Option<Counts> {
    let labels: HashMap<&str, usize> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| match line {
            Line::Label(label) => Some((label.as_str(), at)),
            Line::Instruction(..) => None,
        })
        .collect();
    // From each line on, before and after the first store: how many instructions are left, and the next line.
    let mut left: Vec<[Option<(u64, usize)>; 2]> = vec![[None; 2]; lines.len() + 1];
    left[lines.len()][1] = Some((0, 0));
    for (at, line) in lines.iter().enumerate().rev() {
        let (costs, stores, nexts) = match line {
            Line::Label(_) => (0, false, vec![at + 1]),
            Line::Instruction(instruction, targets) => {
                // Ways back are loops, which count once.
                let ahead = targets.iter().filter_map(|label| labels.get(label.as_str()).copied());
                let ahead = ahead.filter(|to| *to > at);
                let nexts = match instruction.turn {
                    Turn::On => vec![at + 1],
                    Turn::Away => ahead.collect(),
                    Turn::Either => ahead.chain([at + 1]).collect(),
                };
                (1, instruction.stores, nexts)
            }
        };
        for stored in [0, 1] {
            let then = if stores { 1 } else { stored };
            let ways =
                nexts.iter().filter_map(|next| left[*next][then].map(|(rest, _)| (costs + rest, *next)));
            left[at][stored] = ways.min();
        }
    }
    let (mut at, mut stored, mut way) = (0, 0, vec![]);
    left[0][0]?;
    while at < lines.len() {
        let (_, next) = left[at][stored]?;
        if let Line::Instruction(instruction, _) = &lines[at] {
            way.push(instruction);
            stored = if instruction.stores { 1 } else { stored };
        }
        at = next;
    }
    Some(Counts::of(way.into_iter()))
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
}
