//! Reads the compiler's vISA text, which still spells out the shape of every block message.
//!
//! Machine code keeps a message's shape in a register that may be filled far from the message. vISA is the last form
//! that prints it (`lsc_load_block2d.ugm V0047:d16.2x16x32nn` is 16-bit, two blocks of 16 columns, 32 rows), and the
//! step from vISA to machine code neither unrolls loops nor splits messages.
//! *Guarantees*: [`LoopTraffic`] carries the message counts too, so that a caller can check it against the machine
//! code. *Not here*: anything but loops, DPAS and block messages.

use crate::listing::{Line, innermost_with, instructions};

/// What the text says a line does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// Matrix multiply-accumulate.
    Dpas,
    /// 2-D block load of this many bytes.
    BlockLoad(u64),
    /// 2-D block prefetch of this many bytes.
    BlockPrefetch(u64),
    /// 2-D block store of this many bytes.
    BlockStore(u64),
    /// Anything else.
    Other,
}

/// Messages of one innermost loop that holds DPAS, and the bytes they move per iteration and sub-group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoopTraffic {
    /// Number of DPAS.
    pub dpas: u64,
    /// Number of block loads.
    pub loads: u64,
    /// Number of block prefetches.
    pub prefetches: u64,
    /// Number of block stores.
    pub stores: u64,
    /// Bytes the loads bring.
    pub bytes_loaded: u64,
    /// Bytes the prefetches bring.
    pub bytes_prefetched: u64,
    /// Bytes the stores write.
    pub bytes_stored: u64,
}

/// Why vISA text cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VisaError {
    /// The compiler printed no text for the kernel.
    #[error("the compiler printed no vISA for `{0}`")]
    NoKernel(String),
    /// A block message has a shape this reader does not know; it has to learn it.
    #[error("unknown block shape in vISA: {0}")]
    Shape(String),
}

/// Returns the traffic of every innermost DPAS loop of `kernel` in the console text `text`.
///
/// # Errors
/// When the kernel is not in the text or a block shape is unknown.
pub fn loop_traffic(text: &str, kernel: &str) -> Result<Vec<LoopTraffic>, VisaError> {
    let lines = parse(text, kernel)?;
    Ok(innermost_with(&lines, |i| *i == Instruction::Dpas)
        .into_iter()
        .map(|range| {
            let mut traffic = LoopTraffic::default();
            for instruction in instructions(&lines[range]) {
                match instruction {
                    Instruction::Dpas => traffic.dpas += 1,
                    Instruction::BlockLoad(bytes) => {
                        traffic.loads += 1;
                        traffic.bytes_loaded += bytes;
                    }
                    Instruction::BlockPrefetch(bytes) => {
                        traffic.prefetches += 1;
                        traffic.bytes_prefetched += bytes;
                    }
                    Instruction::BlockStore(bytes) => {
                        traffic.stores += 1;
                        traffic.bytes_stored += bytes;
                    }
                    Instruction::Other => {}
                }
            }
            traffic
        })
        .collect())
}

fn parse(text: &str, kernel: &str) -> Result<Vec<Line<Instruction>>, VisaError> {
    let heading = format!(".kernel \"{kernel}\"");
    let mut body = text.lines().skip_while(|line| line.trim() != heading).skip(1).peekable();
    if body.peek().is_none() {
        return Err(VisaError::NoKernel(kernel.to_owned()));
    }
    let mut lines = Vec::new();
    for line in body.take_while(|line| !line.starts_with(".kernel ")) {
        let line = line.split("///").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('.') || line.starts_with("//") {
            continue;
        }
        match line.strip_suffix(':') {
            Some(label) => lines.push(Line::Label(label.to_owned())),
            None => lines.push(parse_instruction(line)?),
        }
    }
    Ok(lines)
}

fn parse_instruction(line: &str) -> Result<Line<Instruction>, VisaError> {
    let unpredicated = match line.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest.trim_start(),
        None => line,
    };
    let mut words = unpredicated.split_whitespace();
    let name = words.next().unwrap_or("");
    let family = name.split('.').next().unwrap_or(name);
    Ok(match family {
        "dpas" | "dpasw" | "bdpas" => Line::Instruction(Instruction::Dpas, vec![]),
        "lsc_load_block2d" | "lsc_store_block2d" => {
            let data = words
                .find(|word| word.contains(":d"))
                .ok_or_else(|| VisaError::Shape(unpredicated.to_owned()))?;
            let (register, shape) =
                data.split_once(':').ok_or_else(|| VisaError::Shape(unpredicated.to_owned()))?;
            let bytes = block_bytes(shape).ok_or_else(|| VisaError::Shape(unpredicated.to_owned()))?;
            let instruction = if family == "lsc_store_block2d" {
                Instruction::BlockStore(bytes)
            } else if register == "%null" {
                Instruction::BlockPrefetch(bytes)
            } else {
                Instruction::BlockLoad(bytes)
            };
            Line::Instruction(instruction, vec![])
        }
        "goto" | "jmp" => {
            let target = words.next_back().map(str::to_owned);
            Line::Instruction(Instruction::Other, target.into_iter().collect())
        }
        _ => Line::Instruction(Instruction::Other, vec![]),
    })
}

/// Returns the bytes of a shape such as `d16.2x16x32nt` (bits, blocks, columns, rows) or `d32.16x8nn`.
fn block_bytes(shape: &str) -> Option<u64> {
    let (bits, rest) = shape.strip_prefix('d')?.split_once('.')?;
    let sizes = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let mut bytes: u64 = bits.parse::<u64>().ok()?.checked_div(8)?;
    let mut count = 0;
    for size in sizes.split('x') {
        bytes = bytes.checked_mul(size.parse().ok()?)?;
        count += 1;
    }
    (matches!(count, 2 | 3) && bytes > 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_become_bytes() {
        assert_eq!(block_bytes("d16.2x16x32nn"), Some(2048));
        assert_eq!(block_bytes("d16.2x16x32nt"), Some(2048));
        assert_eq!(block_bytes("d32.8x16tn"), Some(512));
        assert_eq!(block_bytes("d8.64x32nn"), Some(2048));
        for bad in ["d16", "d16.", "d16.16nn", "d16.axb", "x16.16x8nn", "d16.99999999999999999999x8nn"] {
            assert_eq!(block_bytes(bad), None, "{bad}");
        }
    }

    const TEXT: &str = "\
.kernel \"other\"
    lsc_load_block2d.ugm (M1, 1)  V1:d16.2x16x32nn  flat[V2 + (0,0)]       /// $1
.kernel \"gemm\"
// .decl V0 v_type=G
_main_0:
    lsc_load_block2d.ugm (M1, 1)  V1:d16.2x16x32nn  flat[V2 + (0,0)]       /// $1
_0_010:
    lsc_load_block2d.ugm (M1, 1)  V1:d16.2x16x32nt  flat[V2 + (0,0)]       /// $2
    lsc_load_block2d.ugm.ca.ca (M1, 1)  %null:d16.32x8nn  flat[V3 + (0,0)]   /// $3
    lsc_store_block2d.ugm (M1, 1)  flat[V1,V2,V3,V4,V5,V6]  V7:d32.16x8nn /// $4
    dpas.bf.bf.8.8 (M1, 16) V8.0 V8.0 V9.0 V1(0,0)                   /// $5
    (P2) goto (M1, 1) _0_010                                                     /// $6
_0_011:
    ret (M1, 1)
";

    #[test]
    fn only_the_loop_of_the_kernel_asked_for_counts() {
        let traffic = loop_traffic(TEXT, "gemm").expect("well formed");
        assert_eq!(
            traffic,
            [LoopTraffic {
                dpas: 1,
                loads: 1,
                prefetches: 1,
                stores: 1,
                bytes_loaded: 2048,
                bytes_prefetched: 512,
                bytes_stored: 512
            }]
        );
        assert_eq!(loop_traffic(TEXT, "absent"), Err(VisaError::NoKernel("absent".into())));
    }

    #[test]
    fn an_unknown_shape_is_an_error_not_a_zero() {
        let text = ".kernel \"k\"\n    lsc_load_block2d.ugm (M1, 1)  V1:d16.funny  flat[V2]\n";
        assert!(matches!(loop_traffic(text, "k"), Err(VisaError::Shape(_))));
    }
}
