//! Loops of a linear listing with labels: the part that machine code and vISA text share.
//!
//! *Assumes*: a loop is the lines from a label to the last branch back to it, which is how Intel's compiler lays
//! loops out. *Guarantees*: loops come in the order of their labels. *Not here*: what the lines mean.

use std::collections::HashMap;
use std::ops::Range;

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<I> {
    /// A place to branch to.
    Label(String),
    /// An instruction with the labels it may branch to.
    Instruction(I, Vec<String>),
}

/// Returns every loop as the range of its lines, its label first and its last backward branch last.
pub fn loops<I>(lines: &[Line<I>]) -> Vec<Range<usize>> {
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Line::Label(label) = line {
            labels.insert(label, at);
        }
    }
    let mut end_of: HashMap<usize, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Line::Instruction(_, targets) = line {
            for start in targets.iter().filter_map(|target| labels.get(target.as_str())) {
                if *start < at {
                    // A `continue` branches back as well: the loop ends at the last of them.
                    let end = end_of.entry(*start).or_insert(at);
                    *end = (*end).max(at);
                }
            }
        }
    }
    let mut loops: Vec<Range<usize>> = end_of.into_iter().map(|(start, end)| start..end + 1).collect();
    loops.sort_by_key(|range| (range.start, range.end));
    loops
}

/// Returns the loops that hold an instruction of interest and in which no smaller such loop lies.
pub fn innermost_with<I>(lines: &[Line<I>], mut interesting: impl FnMut(&I) -> bool) -> Vec<Range<usize>> {
    let holding: Vec<Range<usize>> = loops(lines)
        .into_iter()
        .filter(|range| instructions(&lines[range.clone()]).any(&mut interesting))
        .collect();
    let inside = |inner: &Range<usize>, outer: &Range<usize>| {
        inner != outer && outer.start <= inner.start && inner.end <= outer.end
    };
    holding.iter().filter(|outer| !holding.iter().any(|inner| inside(inner, outer))).cloned().collect()
}

/// Returns the instructions among `lines`.
pub fn instructions<I>(lines: &[Line<I>]) -> impl Iterator<Item = &I> {
    lines.iter().filter_map(|line| match line {
        Line::Instruction(instruction, _) => Some(instruction),
        Line::Label(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(text: &str) -> Vec<Line<char>> {
        text.split_whitespace()
            .map(|word| match word.strip_suffix(':') {
                Some(label) => Line::Label(label.to_owned()),
                None => {
                    let mut parts = word.split('>');
                    let name = parts.next().and_then(|name| name.chars().next()).expect("an instruction");
                    Line::Instruction(name, parts.map(str::to_owned).collect())
                }
            })
            .collect()
    }

    #[test]
    fn a_forward_branch_is_no_loop() {
        assert!(loops(&listing("j>L1 a L1: b")).is_empty());
    }

    #[test]
    fn a_continue_does_not_shorten_the_loop() {
        assert_eq!(loops(&listing("L1: a j>L1 b j>L1 c")), std::slice::from_ref(&(0..5)));
    }

    #[test]
    fn only_the_inner_loop_counts() {
        let lines = listing("L1: d L2: d j>L2 j>L1 L3: x j>L3");
        assert_eq!(loops(&lines).len(), 3);
        assert_eq!(innermost_with(&lines, |&c| c == 'd'), std::slice::from_ref(&(2..5)));
    }

    #[test]
    fn an_inner_loop_without_interest_does_not_hide_the_outer_one() {
        assert_eq!(
            innermost_with(&listing("L1: d L2: x j>L2 j>L1"), |&c| c == 'd'),
            std::slice::from_ref(&(0..6))
        );
    }
}
