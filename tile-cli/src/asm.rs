//! Reads the disassembly of one kernel (`.text.NAME.asm` of `ocloc disasm`).
//!
//! *Assumes*: IGA syntax as ocloc 26.27 prints it. *Guarantees*: an instruction is a line, and every line up to the
//! end-of-thread message is one: synchronisation, workaround moves and branches count like any other, so that
//! "instructions that are not DPAS" is the figure xe_facts §10 gives. *Not here*: the size of block messages, which
//! machine code keeps in registers (see [`crate::visa`]).

use crate::listing::Line;

/// What an instruction is, as far as the reports tell instructions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Matrix multiply-accumulate.
    Dpas,
    /// 2-D block load into registers.
    BlockLoad,
    /// 2-D block load into nothing: a prefetch.
    BlockPrefetch,
    /// 2-D block store.
    BlockStore,
    /// A message to scratch memory: a spill or a private array that stayed in memory.
    Scratch,
    /// Any other message.
    Message,
    /// A comparison that sets a flag.
    Compare,
    /// A choice between two values by a flag.
    Select,
    /// A power, logarithm, root or inverse.
    Math,
    /// A wait for what was sent or computed.
    Sync,
    /// A branch.
    Branch,
    /// Everything else.
    Other,
}

/// One machine instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// What it is.
    pub kind: Kind,
    /// Whether a flag decides per lane if it takes effect.
    pub predicated: bool,
    /// Lanes it works on.
    pub lanes: u32,
    /// Whether it is a message that writes to memory outside the kernel.
    pub stores: bool,
    /// Whether it is a message that brings several neighbouring words to each lane.
    pub wide_load: bool,
    /// Where it goes next.
    pub turn: Turn,
}

/// Where control goes after an instruction when some lane is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// To the next one.
    On,
    /// To its target.
    Away,
    /// To one of both.
    Either,
}

/// Parses a disassembly up to its last end-of-thread message; what follows is padding.
pub fn parse(text: &str) -> Vec<Line<Instruction>> {
    let mut lines = Vec::new();
    let mut end = 0;
    for line in text.lines() {
        let (body, comment) = line.split_once("//").unwrap_or((line, ""));
        let body = body.trim();
        if body.is_empty() {
            continue;
        }
        if let Some(label) = body.strip_suffix(':') {
            lines.push(Line::Label(label.to_owned()));
            continue;
        }
        lines.push(parse_instruction(body, comment));
        if body.contains("EOT") {
            end = lines.len();
        }
    }
    if end != 0 {
        lines.truncate(end);
    }
    lines
}

fn parse_instruction(body: &str, comment: &str) -> Line<Instruction> {
    let (predicate, body) = match body.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((predicate, rest)) => (predicate, rest.trim_start()),
        None => ("", body),
    };
    let mut words = body.split_whitespace();
    let mnemonic = words.next().unwrap_or("");
    let name = mnemonic.split('.').next().unwrap_or(mnemonic);
    // After the mnemonic: the execution size, then the destination.
    let into_nothing = words.nth(1).is_some_and(|destination| destination.starts_with("null"));
    let kind = match name {
        _ if name.starts_with("dpas") => Kind::Dpas,
        _ if name.starts_with("send") => {
            if comment.contains("load_block2d") {
                if into_nothing { Kind::BlockPrefetch } else { Kind::BlockLoad }
            } else if comment.contains("store_block2d") {
                Kind::BlockStore
            } else if comment.contains("scratch") || comment.contains(".ss[") {
                Kind::Scratch
            } else {
                Kind::Message
            }
        }
        "cmp" | "cmpn" => Kind::Compare,
        "sel" | "csel" => Kind::Select,
        "math" => Kind::Math,
        "sync" => Kind::Sync,
        "jmpi" | "while" | "goto" | "brc" | "brd" => Kind::Branch,
        _ => Kind::Other,
    };
    let targets = if kind == Kind::Branch {
        body.split_whitespace().filter(|word| is_label(word)).map(str::to_owned).collect()
    } else {
        Vec::new()
    };
    // "(W)" alone only ignores the lane mask; a flag register is what predicates. `sel` reads the flag as data.
    let predicated = predicate.contains('f') && !matches!(kind, Kind::Branch | Kind::Select);
    // `jmpi` takes all lanes along; `goto` only those of its predicate, and goes away when none is left.
    let turn = match (name, predicate.contains('f')) {
        ("jmpi" | "goto", false) => Turn::Away,
        ("jmpi" | "brc" | "brd", _) => Turn::Either,
        _ => Turn::On,
    };
    let lanes = body.split_once('(').and_then(|(_, rest)| rest.split(['|', ')']).next()?.parse().ok());
    let stores = kind == Kind::BlockStore
        || kind == Kind::Message && (comment.contains("store.ugm") || comment.contains("atomic"));
    let wide_load = kind == Kind::Message && comment.contains("load.ugm.d32x");
    let lanes = lanes.unwrap_or(1);
    Line::Instruction(Instruction { kind, predicated, lanes, stores, wide_load, turn }, targets)
}

fn is_label(word: &str) -> bool {
    word.strip_prefix('L')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::{innermost_with, instructions};

    const TEXT: &str = "\
L0:
(W&~f0.1) jmpi                               L96
L16:
        sync.nop                             null                             {Compacted,$1.src}
        send.ugm (1|M0)          r36      r253    null:0  0x0            0x03F00283           {$2} // wr:1+0, rd:31; load_block2d.ugm.d16v.a64
        send.ugm (1|M0)          null     r69     null:0  0x0            0x02080203           {$4} // wr:1+0, rd:0; load_block2d.ugm.d16.a64.ca.ca
        sendg.ugm (1|M0)         null     r2:1    r10:8   0x8A07 {$5} // store_block2d.ugm.d32.a64 [src0]
(W)     send.dc0 (16|M0)         r22      r0      null:0  0x0            0x024C3090           {$1} // wr:1h+0, rd:4; hword scratch block read x8
        dpas.8x8 (16|M0)         r245:f        r245:f            r36:bf            r2.0:bf          {Atomic}
(W)     cmp (16|M0)   (lt)f0.0   null<1>:d     r34.5<0;1,0>:ud   r1.8<0;1,0>:ud   {I@3}
(f0.0)  sel (16|M0)              r3.0<1>:f     r3.0<1;1,0>:f     0x0:f
(~f0.0) mov (16|M0)              r4.0<1>:uw    0x0:uw
(W)     mov (1|M0)               null<1>:ud    0x30433:ud                              {$7.src}
(W&f0.0) jmpi                                L16
L96:
(W)     send.gtwy (1|M0)         null     r255    null:0  0x0            0x02000010           {EOT,$23} // wr:1+0, rd:0; end of thread
L112:
        illegal
";

    #[test]
    fn every_kind_is_recognised() {
        let lines = parse(TEXT);
        let kinds: Vec<Kind> = instructions(&lines).map(|i| i.kind).collect();
        use Kind::*;
        assert_eq!(
            kinds,
            [
                Branch,
                Sync,
                BlockLoad,
                BlockPrefetch,
                BlockStore,
                Scratch,
                Dpas,
                Compare,
                Select,
                Other,
                Other,
                Branch,
                Message
            ]
        );
        assert_eq!(instructions(&lines).filter(|i| i.predicated).count(), 1);
    }

    #[test]
    fn what_follows_the_end_of_thread_is_not_code() {
        assert_eq!(parse(TEXT).len(), 16);
    }

    #[test]
    fn the_loop_is_found_by_its_branch() {
        let lines = parse(TEXT);
        let loops = innermost_with(&lines, |i| i.kind == Kind::Dpas);
        assert_eq!(loops, std::slice::from_ref(&(2..14)));
    }
}
