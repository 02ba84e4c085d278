//! Owns the launch contract: what must hold of the arguments before any device sees them.
//!
//! *Guarantees* for an accepted [`Plan`]: one argument per parameter, of its kind and element type; every size
//! and pitch fits 32 bits; no output shares memory with another argument; the grid covers the output that
//! sizes it. *Not here*: limits of a device (`host`, `sim`, `xe_surface`).

use std::time::Duration;

use super::{LaunchArg, Ran, Report, Staged};
use crate::contract::{InstanceInfo, ParamKind};
use crate::error::LaunchError;
use crate::tensor::Placed;
#[cfg(feature = "sim")]
use crate::tensor::Region;

/// An accepted launch.
pub(crate) struct Plan {
    pub(crate) instance: &'static InstanceInfo,
    /// One entry per parameter.
    pub(crate) args: Vec<Checked>,
    /// Work-groups of a plane: rows, columns.
    pub(crate) grid: (u32, u32),
    /// Planes: batch, depth.
    pub(crate) planes: (u32, u32),
    /// Work-groups in all planes.
    pub(crate) groups: u64,
}

impl Plan {
    /// The report of this launch.
    pub(crate) fn report(
        &self,
        device: &'static str,
        ran: Ran,
        elapsed: Duration,
        staged: Vec<Staged>,
    ) -> Report {
        Report {
            kernel: self.instance.kernel,
            instance: self.instance.name,
            device,
            ran,
            work_groups: self.groups,
            elapsed,
            staged,
            moved: Vec::new(),
            times: None,
            built: None,
            #[cfg(feature = "sim")]
            counters: None,
            #[cfg(feature = "sim")]
            mapped: Vec::new(),
        }
    }
}

/// An accepted argument.
#[derive(Clone, Copy)]
pub(crate) enum Checked {
    /// A tensor.
    Tensor(CheckedTensor),
    /// A scalar.
    Scalar(Scalar),
}

#[cfg(feature = "sim")]
impl Checked {
    /// The memory a tensor's view may touch.
    pub(crate) fn region(&self) -> Option<Region> {
        match self {
            Checked::Tensor(tensor) => Some(tensor.placed.region),
            Checked::Scalar(_) => None,
        }
    }
}

/// An accepted tensor.
#[derive(Clone, Copy)]
pub(crate) struct CheckedTensor {
    pub(crate) placed: Placed,
    pub(crate) shape: [u32; 4],
    pub(crate) pitch: u32,
    pub(crate) writable: bool,
}

/// An accepted scalar.
#[derive(Clone, Copy)]
pub(crate) enum Scalar {
    U32(u32),
    I32(i32),
    U64(u64),
    F32(f32),
    Bool(bool),
}

/// Checks the arguments of a launch against the description of the instance.
pub(crate) fn check(
    instance: &'static InstanceInfo,
    args: &mut [LaunchArg<'_>],
) -> Result<Plan, LaunchError> {
    let (kernel, name) = (instance.kernel, instance.name);
    let (needed, given) = (instance.params.len(), args.len());
    if needed != given {
        return Err(LaunchError::ArgumentCount { kernel, instance: name, needed, given });
    }
    let mut checked = Vec::with_capacity(needed);
    for (param, arg) in instance.params.iter().zip(args.iter()) {
        if param.kind != arg.kind() {
            let given = arg.kind().to_string();
            let (parameter, needed) = (param.name, param.kind);
            return Err(LaunchError::ArgumentKind { kernel, instance: name, parameter, needed, given });
        }
        checked.push(match arg {
            LaunchArg::In(view) => Checked::Tensor(sized(instance, param.name, view.placed(), false)?),
            LaunchArg::Out(view) => Checked::Tensor(sized(instance, param.name, view.placed(), true)?),
            LaunchArg::U32(value) => Checked::Scalar(Scalar::U32(*value)),
            LaunchArg::I32(value) => Checked::Scalar(Scalar::I32(*value)),
            LaunchArg::U64(value) => Checked::Scalar(Scalar::U64(*value)),
            LaunchArg::F32(value) => Checked::Scalar(Scalar::F32(*value)),
            LaunchArg::Bool(value) => Checked::Scalar(Scalar::Bool(*value)),
        });
    }
    check_aliasing(instance, &checked)?;
    let (grid, planes, groups) = grid(instance, &checked)?;
    Ok(Plan { instance, args: checked, grid, planes, groups })
}

/// Narrows the sizes of a tensor to the 32 bits that kernels count in.
fn sized(
    instance: &'static InstanceInfo,
    parameter: &'static str,
    placed: &Placed,
    writable: bool,
) -> Result<CheckedTensor, LaunchError> {
    let shape = placed.layout.shape();
    let narrow = |what: &'static str, size: usize| {
        let (kernel, instance) = (instance.kernel, instance.name);
        u32::try_from(size).map_err(|_| LaunchError::Size { kernel, instance, parameter, what, size, shape })
    };
    let [batch, depth, rows, cols] = shape;
    // A single row has no next row; its pitch is whatever it was cut from.
    let pitch = if rows > 1 { placed.layout.pitch() } else { cols };
    Ok(CheckedTensor {
        placed: *placed,
        shape: [
            narrow("batch", batch)?,
            narrow("depth", depth)?,
            narrow("rows", rows)?,
            narrow("cols", cols)?,
        ],
        pitch: narrow("pitch", pitch)?,
        writable,
    })
}

/// Refuses outputs that share memory with another argument.
///
/// Borrowed views cannot: this catches views that `unsafe` code made.
fn check_aliasing(instance: &'static InstanceInfo, args: &[Checked]) -> Result<(), LaunchError> {
    let mut spans = Vec::with_capacity(args.len());
    for (param, arg) in instance.params.iter().zip(args) {
        if let Checked::Tensor(tensor) = arg
            && tensor.placed.span_bytes() > 0
        {
            let start = tensor.placed.first.addr();
            spans.push((start, tensor.placed.span_bytes(), param.name, tensor.writable));
        }
    }
    for (i, one) in spans.iter().enumerate() {
        for other in &spans[i + 1..] {
            let (low, high) = if one.0 <= other.0 { (one, other) } else { (other, one) };
            let distance_bytes = high.0 - low.0;
            if (low.3 || high.3) && distance_bytes < low.1 {
                return Err(LaunchError::Aliasing {
                    kernel: instance.kernel,
                    instance: instance.name,
                    first: low.2,
                    second: high.2,
                    first_bytes: low.1,
                    distance_bytes,
                });
            }
        }
    }
    Ok(())
}

/// The grid of work-groups, the planes, and the number of work-groups in all planes.
#[expect(clippy::type_complexity, reason = "two pairs and a count, named by the caller's pattern")]
fn grid(
    instance: &'static InstanceInfo,
    args: &[Checked],
) -> Result<((u32, u32), (u32, u32), u64), LaunchError> {
    let (kernel, name) = (instance.kernel, instance.name);
    let description = |rule: String| LaunchError::Description { kernel, instance: name, rule };
    let info = instance.grid;
    let output = match (instance.params.get(info.param).map(|p| p.kind), args.get(info.param)) {
        (Some(ParamKind::Out(_)), Some(Checked::Tensor(output))) => output,
        _ => {
            return Err(description(format!(
                "its grid comes from parameter {}, which is no output",
                info.param
            )));
        }
    };
    let (tile, subgroups) = (info.tile, instance.subgroups);
    let threads = u64::from(subgroups.0) * u64::from(subgroups.1);
    if tile.0 == 0 || tile.1 == 0 || threads == 0 || threads > u64::from(u32::MAX) {
        return Err(description(format!(
            "tiles and work-groups must not be empty or huge; the tile is {tile:?}, the sub-groups are {subgroups:?}"
        )));
    }
    work_groups(instance, output.shape)
}

/// The same for an output of a shape.
#[expect(clippy::type_complexity, reason = "as above")]
fn work_groups(
    instance: &'static InstanceInfo,
    [batch, depth, rows, cols]: [u32; 4],
) -> Result<((u32, u32), (u32, u32), u64), LaunchError> {
    let (kernel, name) = (instance.kernel, instance.name);
    let (tile, subgroups) = (instance.grid.tile, instance.subgroups);
    let grid = (rows.div_ceil(tile.0).div_ceil(subgroups.0), cols.div_ceil(tile.1).div_ceil(subgroups.1));
    let groups = [batch, depth, grid.0, grid.1].iter().map(|factor| u128::from(*factor)).product::<u128>();
    match u64::try_from(groups) {
        Ok(groups) => Ok((grid, (batch, depth), groups)),
        Err(_) => Err(LaunchError::WorkGroups { kernel, instance: name, groups, limit: u64::MAX }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::GridInfo;
    use crate::contract::tests::PLAIN;

    static INSTANCE: InstanceInfo = InstanceInfo {
        kernel: "fill",
        name: "<8, 16>",
        subgroups: (1, 1),
        grid: GridInfo { param: 0, tile: (8, 16) },
        ..PLAIN
    };

    /// No memory has an output with more work-groups than 64 bits count, so the shapes stand alone here.
    #[test]
    fn more_work_groups_than_64_bits_count_are_an_error_that_says_how_many() {
        // 2^32 - 1 planes of 2^32 - 1, each of 2 x 1 tiles: 2^65 - 2^34 + 2.
        let error = work_groups(&INSTANCE, [u32::MAX, u32::MAX, 9, 1]).expect_err("too many");
        assert_eq!(
            error.to_string(),
            "fill<8, 16>: a launch has at most 18446744073709551615 work-groups here; this one needs \
             36893488130239234050"
        );
        let LaunchError::WorkGroups { kernel: "fill", groups, limit: u64::MAX, .. } = error else {
            panic!("another error: {error}");
        };
        assert_eq!(groups, 2 * u128::from(u32::MAX) * u128::from(u32::MAX));
        // The most that there can be on the host: one tile in each plane.
        let counted = work_groups(&INSTANCE, [u32::MAX, u32::MAX, 8, 16]).expect("fits 64 bits");
        assert_eq!(counted, ((1, 1), (u32::MAX, u32::MAX), u64::from(u32::MAX) * u64::from(u32::MAX)));
        // Nothing in one direction is nothing at all.
        assert_eq!(work_groups(&INSTANCE, [u32::MAX, u32::MAX, u32::MAX, 0]).expect("empty").2, 0);
    }
}
