//! Owns how a product is computed: which kernel and instance, how far ahead, how wide a stack, how many splits.
//!
//! *Guarantees*: what the options name is taken or refused; the rest follows from the tables beside the kernel
//! ([`crate::kernels::gemm`]), and the plan says which row it was; without options, a product's bits do not depend on
//! how many threads the host device has. *Not here*: the launches (`gemm`).

use std::fmt;

use tile_runtime::DType;

use super::{GemmError, GemmOptions, SplitForm};
use crate::kernels::gemm::{
    AHEAD, HOST_AHEAD, HOST_LEAST, HOST_SIZES, Row, SHAPES, SIZES, SNAKE, SPLIT, SPLIT_LEAST, gemm as plain,
};
use crate::kernels::gemm_fused::gemm_fused as fused;
use crate::kernels::gemm_split::{gemm_split as split, gemm_split_atomic as atomic};
use crate::prelude::*;
use crate::{Generic, InstanceInfo};

/// The kernels that multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A product and nothing else.
    Plain,
    /// With an end of its own, or with a transposed A.
    Fused,
    /// In splits, each with a plane of its own.
    Split,
    /// In splits that add to one plane.
    Atomic,
}

impl Way {
    fn of(instance: &'static InstanceInfo) -> Option<Way> {
        let has = |list: &'static [InstanceInfo]| list.iter().any(|i| std::ptr::eq(i, instance));
        [
            (Way::Plain, plain::INSTANCES),
            (Way::Fused, fused::INSTANCES),
            (Way::Split, split::INSTANCES),
            (Way::Atomic, atomic::INSTANCES),
        ]
        .into_iter()
        .find_map(|(way, list)| has(list).then_some(way))
    }
}

/// How a product is computed. Its text says all of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GemmPlan {
    /// The instance of the kernel that multiplies.
    pub instance: &'static InstanceInfo,
    /// K steps between a prefetch and its use.
    pub ahead: u32,
    /// Work-group columns of a stack in the snake order.
    pub snake: u32,
    /// Parts that K is cut into; with more than 1, a second launch adds them.
    pub splits: usize,
    /// The row of the policy that was taken, in words.
    pub why: String,
    /// K steps of a split.
    pub(super) each: usize,
    pub(super) way: Way,
}

impl fmt::Display for GemmPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GemmPlan { instance, ahead, snake, splits, why, .. } = self;
        write!(f, "{instance}, prefetch {ahead} steps ahead, stacks of {snake}, {splits} splits of K: {why}")
    }
}

/// What there is to do beside a product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// Nothing.
    #[default]
    None,
    /// An epilogue.
    Some,
    /// An epilogue that reads what the output held before.
    ReadsOutput,
}

/// What a product needs of an instance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Element type of A and B.
    pub a: DType,
    /// Element type of C.
    pub c: DType,
    /// Shape of C.
    pub shape: Shape,
    /// The length of the sums.
    pub k: usize,
    pub end: Ending,
}

impl Wanted {
    /// The instance with this tile, if it is compiled.
    fn instance(&self, way: Way, tile: [u64; 3], options: &GemmOptions<'_>) -> Option<&'static InstanceInfo> {
        let GemmOptions { transpose_a, transpose_b, .. } = *options;
        let [a, c] = [self.a, self.c].map(Generic::Type);
        let sizes = tile.map(Generic::Size);
        let [ta, tb] = [transpose_a, transpose_b].map(Generic::Flag);
        let of = |front: &[Generic], back: [Generic; 2]| [front, &sizes, &back].concat();
        match way {
            Way::Plain => plain::KERNEL.find(&of(&[a, c], [tb, Generic::Flag(true)])),
            Way::Fused => fused::KERNEL.find(&of(&[a, c], [ta, tb])),
            Way::Split => split::KERNEL.find(&of(&[a], [ta, tb])),
            Way::Atomic => atomic::KERNEL.find(&of(&[a], [ta, tb])),
        }
    }

    /// The way that an instance named by hand goes, if it computes this product.
    fn way_of(&self, instance: &'static InstanceInfo, options: &GemmOptions<'_>) -> Option<Way> {
        let GemmOptions { transpose_a, transpose_b, split, split_form, .. } = *options;
        let way = Way::of(instance)?;
        let g = instance.generics;
        let types = match way {
            Way::Plain | Way::Fused => g.starts_with(&[self.a, self.c].map(Generic::Type)),
            Way::Split | Way::Atomic => g.starts_with(&[Generic::Type(self.a)]),
        };
        let forms = match way {
            Way::Plain => {
                !transpose_a && self.end == Ending::None && g.get(5) == Some(&Generic::Flag(transpose_b))
            }
            Way::Fused | Way::Split | Way::Atomic => {
                g.ends_with(&[transpose_a, transpose_b].map(Generic::Flag))
            }
        };
        let fits =
            way != Way::Fused || self.end != Ending::ReadsOutput || g.get(2) != Some(&Generic::Size(32));
        let splits = match way {
            Way::Plain | Way::Fused => split.is_none_or(|splits| splits <= 1),
            Way::Split => split_form == SplitForm::TwoPass,
            Way::Atomic => split_form == SplitForm::Atomic,
        };
        (types && forms && splits && fits).then_some(way)
    }

    /// What an instance named by hand would have to do.
    fn refused(&self, instance: &'static InstanceInfo, options: &GemmOptions<'_>) -> GemmError {
        let GemmOptions { transpose_a, transpose_b, split, split_form, .. } = options;
        let a_form = if *transpose_a { "[K, M]" } else { "[M, K]" };
        let b_form = if *transpose_b { "[N, K]" } else { "[K, N]" };
        let mut forms = format!("A given as {a_form}, B given as {b_form}");
        if self.end != Ending::None {
            forms += ", and an epilogue";
        }
        if let Some(splits) = split {
            forms += &format!(", in {splits} splits ({split_form:?})");
        }
        GemmError::Instance { instance: instance.to_string(), a: self.a.name(), c: self.c.name(), forms }
    }

    /// The row of the policy, and which it is.
    fn row(&self, device: &Device, options: &GemmOptions<'_>) -> (Row, String) {
        let [batch, depth, m, n] = self.shape;
        let k = self.k;
        if let Device::Host(host) = device {
            let compiled =
                if self.end != Ending::None || options.transpose_a { &HOST_SIZES[1..] } else { HOST_SIZES };
            let tile = host_sizes(compiled, host.threads(), self.shape, k);
            let (tile, which) = match tile {
                Some(tile) => (tile, "a tile that gives every thread two".to_string()),
                None => by_rows(m),
            };
            return (
                Row { tile, ahead: HOST_AHEAD, snake: SNAKE, splits: 1 },
                format!("on the host, {which}"),
            );
        }
        if batch * depth == 1
            && let Some((_, row)) = SHAPES.iter().find(|(shape, _)| *shape == [m, k, n])
        {
            return (*row, format!("the row of the paper's tables for {m} x {k} x {n} (M x K x N)"));
        }
        let (tile, mut why) = by_rows(m);
        let cube = m == k && k == n;
        let tiles = (batch as u64)
            .saturating_mul(depth as u64)
            .saturating_mul((m as u64).div_ceil(tile[0]))
            .saturating_mul((n as u64).div_ceil(tile[1]));
        let (least_k, least_steps) = SPLIT_LEAST;
        let [few, enough] = SPLIT;
        let mut splits = 1;
        if (1..few).contains(&tiles) && k >= least_k {
            splits = enough.div_ceil(tiles).min((k as u64).div_ceil(tile[2]) / least_steps) as u32;
            why += &format!(", and splits since {tiles} tiles of C are fewer than {few}");
        }
        (Row { tile, ahead: AHEAD[usize::from(!cube)], snake: SNAKE, splits }, why)
    }
}

/// The tile that every form is compiled for. It stands in for those that are not: tiles of 8 rows with a transposed A, and of
/// 32 rows where the registers do not hold them beside what the end reads ([`crate::kernels::gemm_fused`]).
const MIDDLE: [u64; 3] = [16, 64, 32];

/// The tile for this many rows of C.
fn by_rows(rows: usize) -> ([u64; 3], String) {
    let &(bound, tile) =
        SIZES.iter().find(|(bound, _)| rows <= *bound).expect("the last bound is usize::MAX");
    let of =
        if bound == usize::MAX { "any number of rows".to_string() } else { format!("up to {bound} rows") };
    (tile, format!("the tile for {of} of C"))
}

/// The tile sizes for the host device with this many threads: of those that give every thread two tiles, the ones
/// that compute least beyond the edges of C and K, and of equals the largest.
fn host_sizes(sizes: &[[u64; 3]], threads: usize, c: Shape, k: usize) -> Option<[u64; 3]> {
    let [batch, depth, rows, cols] = c.map(|extent| extent as u64);
    if c[2] < HOST_LEAST || c[3] < HOST_LEAST {
        return None;
    }
    let tiles = |[m, n, _]: [u64; 3]| batch * depth * rows.div_ceil(m) * cols.div_ceil(n);
    sizes.iter().copied().filter(|&sizes| tiles(sizes) >= 2 * threads as u64).min_by_key(|&sizes| {
        let [m, n, depth] = sizes;
        u128::from(tiles(sizes) * m * n) * u128::from((k as u64).next_multiple_of(depth))
    })
}

/// How a product is computed.
pub(super) fn plan(
    device: &Device,
    wanted: &Wanted,
    options: &GemmOptions<'_>,
) -> Result<GemmPlan, GemmError> {
    let (row, mut why) = wanted.row(device, options);
    let splits = options.split.unwrap_or(row.splits as usize);
    let (instance, way) = match options.instance {
        Some(instance) => {
            let way = wanted.way_of(instance, options).ok_or_else(|| wanted.refused(instance, options))?;
            why = "the instance is the caller's".into();
            (instance, way)
        }
        None => {
            let more = wanted.end != Ending::None || options.transpose_a;
            let way = if splits <= 1 && !more {
                Way::Plain
            } else if splits <= 1 && (wanted.c == wanted.a || wanted.c == f32::DTYPE) {
                Way::Fused
            } else {
                if splits <= 1 {
                    why += ", through a workspace, since C is of the other 16-bit type";
                }
                match options.split_form {
                    SplitForm::TwoPass => Way::Split,
                    SplitForm::Atomic => Way::Atomic,
                }
            };
            let mut tile = row.tile;
            if way == Way::Fused && wanted.end == Ending::ReadsOutput && tile[0] == 32 {
                tile = MIDDLE;
            }
            // Splits are not compiled for the tiles of the host.
            if matches!(way, Way::Split | Way::Atomic) && HOST_SIZES.contains(&tile) {
                tile = by_rows(wanted.shape[2]).0;
            }
            let instance =
                wanted.instance(way, tile, options).or_else(|| wanted.instance(way, MIDDLE, options));
            let instance = instance.expect(
                "the tile of 16 rows is compiled for every way and form; the test `every_row_is_compiled` checks it",
            );
            (instance, way)
        }
    };
    let mut backwards = instance.generics.iter().rev();
    let step = backwards.find_map(|g| if let Generic::Size(s) = g { Some(*s) } else { None });
    let step = step.expect("the sizes of a product's instance end with its step along K") as usize;
    let steps = wanted.k.div_ceil(step);
    let each = match way {
        Way::Plain | Way::Fused => steps,
        Way::Split | Way::Atomic => steps.div_ceil(splits.clamp(1, steps.max(1))),
    };
    Ok(GemmPlan {
        instance,
        ahead: options.ahead.unwrap_or(row.ahead),
        snake: options.snake.unwrap_or(row.snake),
        // Equal splits, none of them empty.
        splits: steps.div_ceil(each.max(1)).max(1),
        why,
        each,
        way,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(device: &Device, [m, k, n]: [usize; 3], options: &GemmOptions<'_>) -> GemmPlan {
        let wanted = Wanted { a: bf16::DTYPE, c: bf16::DTYPE, shape: [1, 1, m, n], k, end: Ending::None };
        plan(device, &wanted, options).expect("no instance is named")
    }

    #[test]
    fn every_row_is_compiled() {
        let rows = SIZES.iter().flat_map(|(bound, _)| [*bound, bound.saturating_add(1)]).chain([0, 4096]);
        let shapes =
            rows.flat_map(|m| [[m, 64, 64], [m.min(1 << 20), 4096, 4096], [m.min(1 << 10), 1 << 15, 64]]);
        let shapes: Vec<[usize; 3]> = shapes.chain(SHAPES.iter().map(|(shape, _)| *shape)).collect();
        for (a, c) in [bf16::DTYPE, f16::DTYPE]
            .into_iter()
            .flat_map(|a| [bf16::DTYPE, f16::DTYPE, f32::DTYPE].map(|c| (a, c)))
        {
            for flags in 0..96u32 {
                let end = [Ending::None, Ending::Some, Ending::ReadsOutput][flags as usize / 32];
                let bit = |i: u32| flags >> i & 1 == 1;
                let split_form = if bit(0) { SplitForm::Atomic } else { SplitForm::TwoPass };
                let (transpose_a, transpose_b) = (bit(1), bit(2));
                let split = [None, Some(1), Some(3)][usize::from(bit(3)) + usize::from(bit(4))];
                let options =
                    GemmOptions { transpose_a, transpose_b, split, split_form, ..GemmOptions::default() };
                for &[m, k, n] in &shapes {
                    for device in [Device::host(), Device::sim()] {
                        let wanted = Wanted { a, c, shape: [1, 1, m, n], k, end };
                        let plan = plan(&device, &wanted, &options).expect("no instance is named");
                        assert!(plan.each * plan.splits >= k.div_ceil(128), "{plan}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_shapes_of_the_paper_have_their_rows() {
        let options = GemmOptions::default();
        for (shape, row) in SHAPES {
            let plan = of(&Device::sim(), *shape, &options);
            assert_eq!((plan.ahead, plan.snake, plan.splits), (row.ahead, row.snake, 1), "{plan}");
            assert!(plan.instance.name.contains("32, 64, 32") && plan.why.contains("paper"), "{plan}");
        }
        let plan = of(&Device::sim(), [2048, 4096, 11008], &options);
        assert_eq!(
            plan.to_string(),
            "gemm<bf16, bf16, 32, 64, 32, false, true>, prefetch 1 steps ahead, stacks of 8, 1 splits of K: the row \
             of the paper's tables for 2048 x 4096 x 11008 (M x K x N)"
        );
        // One more column is none of them.
        let plan = of(&Device::sim(), [2048, 4096, 11009], &options);
        assert_eq!((plan.ahead, plan.splits), (3, 1), "{plan}");
        assert!(plan.why.contains("any number of rows"), "{plan}");
        let over = GemmOptions { ahead: Some(5), snake: Some(6), split: Some(2), ..options };
        let plan = of(&Device::sim(), [4096, 4096, 4096], &over);
        assert_eq!((plan.ahead, plan.snake, plan.splits), (5, 6, 2), "{plan}");
    }

    #[test]
    fn few_tiles_with_a_long_k_are_split() {
        let options = GemmOptions::default();
        let splits = |shape| of(&Device::sim(), shape, &options).splits;
        assert_eq!(splits([512, 2048, 512]), 8, "128 tiles, as in table 25");
        assert_eq!(splits([512, 2047, 512]), 1, "K is short");
        assert_eq!(splits([512, 32768, 512]), 8);
        assert_eq!(splits([512, 4096, 1024]), 1, "256 tiles");
        assert_eq!(splits([1, 2048, 32]), 16, "four steps at least in a split");
        assert_eq!(splits([0, 4096, 512]), 1);
        assert_eq!(of(&Device::host(), [512, 4096, 512], &options).splits, 1);
        let some = GemmOptions { split: Some(6), ..options };
        let plan = of(&Device::host(), [8, 32 * 10, 64], &some);
        assert_eq!((plan.splits, plan.each), (5, 2), "six splits would leave one empty");
        let none = GemmOptions { split: Some(0), ..options };
        assert_eq!(of(&Device::sim(), [512, 2048, 512], &none).splits, 1);
        assert_eq!(of(&Device::sim(), [8, 0, 8], &some).splits, 1);
    }

    #[test]
    fn the_host_takes_large_tiles_where_they_waste_nothing() {
        let (large, small) = (Some([256, 128, 128]), Some([128, 128, 64]));
        let of = |threads, m, n, k| host_sizes(HOST_SIZES, threads, [1, 1, m, n], k);
        assert_eq!(of(2, 512, 512, 512), large);
        assert_eq!(of(2, 300, 1024, 512), small, "300 rows fill three tiles of 128 better than two of 256");
        assert_eq!(of(2, 512, 512, 192), small, "192 is three times 64");
        assert_eq!(of(2, 256, 256, 256), small, "two large tiles are too few for two threads");
        assert_eq!(of(2, 128, 256, 256), None);
        assert_eq!(of(1, 4096, 95, 4096), None);
        assert_eq!(host_sizes(HOST_SIZES, 1, [2, 3, 256, 128], 128), large);
    }
}
