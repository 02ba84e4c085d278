//! Owns decoding over tensors: shape checks, the number of splits, the two launches.

use crate::kernels::attention::DIMS;
use crate::kernels::decode::{LEAST_TILES, SIZES, SUBGROUPS, decode as first, merge as second};
use crate::ops::attention::AttentionError;
use crate::ops::dispatch::Choice;
use crate::prelude::*;
use crate::{Generic, InstanceInfo};

/// How a token is decoded. The default scales by `1 / sqrt(dim)` and makes as many splits as fill the device.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeOptions<'a> {
    /// Factor of the scores; `None` is `1 / sqrt(dim)`, dim being the columns of Q.
    pub scale: Option<f32>,
    /// Parts that the keys of a head are cut into, in whole tiles of 32 keys; `None` chooses by device and shape.
    pub splits: Option<usize>,
    /// Options of both launches.
    pub launch: LaunchOptions<'a>,
}

/// Attention of few queries to many keys into a new tensor `[batch, kv heads, group, dim of V]`: each query sees every key.
///
/// Q is `[batch, kv heads, group, dim]`, K is `[batch, kv heads, keys, dim]`, V is `[batch, kv heads, keys, dim of V]`.
/// `group` are the heads of Q that share a head of K and V, for one token each (or several tokens: rows do not know of each
/// other): a packed `[batch, heads, 1, dim]` tensor is a [`View::from_slice_with_shape`](crate::View::from_slice_with_shape)
/// of this shape. A head has up to 256 columns.
///
/// The result is that of [`attention`](crate::ops::attention()) without `causal`, with the same error bound but for the
/// sums, which have one more term per split; the keys are read by many sub-groups at the same time.
///
/// # Errors
/// [`AttentionError`]: shapes that do not fit, a head that is too large, out of memory, or a failed launch.
///
/// ```
/// use tile_std::ops::{DecodeOptions, decode};
/// use tile_std::prelude::*;
///
/// // Four heads of Q to each of two of K and V, 1000 keys.
/// let q = Tensor::from_fn([1, 2, 4, 64], |_, _, _, _| bf16::ONE)?;
/// let k = Tensor::from_fn([1, 2, 1000, 64], |_, _, _, _| bf16::ONE)?;
/// let v = Tensor::from_fn([1, 2, 1000, 64], |_, h, _, _| bf16::from_f32(h as f32 + 2.0))?;
/// let o = decode(&Device::host(), &q, &k, &v, &DecodeOptions::default())?;
/// assert_eq!(o.get(0, 1, 3, 63), Some(bf16::from_f32(3.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode<'a, T: MmaInput>(
    device: &Device,
    q: impl Into<View<'a, T>>,
    k: impl Into<View<'a, T>>,
    v: impl Into<View<'a, T>>,
    options: &DecodeOptions<'_>,
) -> Result<Tensor<T>, AttentionError> {
    let (q, k, v) = (q.into(), k.into(), v.into());
    let mut o = Tensor::with_shape(output(q.shape(), k.shape(), v.shape())?)?;
    decode_into(device, &mut o, q, k, v, options)?;
    Ok(o)
}

/// Decodes into `o`; see [`decode`]. Gives the reports of both launches.
///
/// # Errors
/// [`AttentionError`]: shapes that do not fit, a head that is too large, out of memory, or a failed launch.
pub fn decode_into<'a, T: MmaInput>(
    device: &Device,
    o: impl Into<ViewMut<'a, T>>,
    q: impl Into<View<'a, T>>,
    k: impl Into<View<'a, T>>,
    v: impl Into<View<'a, T>>,
    options: &DecodeOptions<'_>,
) -> Result<[Report; 2], AttentionError> {
    let (o, q, k, v) = (o.into(), q.into(), k.into(), v.into());
    let needed = output(q.shape(), k.shape(), v.shape())?;
    if o.shape() != needed {
        return Err(AttentionError::Output { needed, found: o.shape() });
    }
    let plan = plan::<T>(device, q.shape(), k.shape(), v.shape(), options)?;
    let [batch, heads, group, _] = q.shape();
    let rows = group.next_multiple_of(SIZES[0] as usize) * plan.splits;
    let mut parts = Tensor::<f32>::with_shape_on(device, [batch, heads, rows, plan.dim as usize + 32])?;
    let scale = options.scale.unwrap_or_else(|| 1.0 / (q.cols().max(1) as f32).sqrt());
    let scale = scale * std::f32::consts::LOG2_E;
    let tiles =
        u32::try_from(plan.tiles).map_err(|_| AttentionError::Length { q: q.shape(), k: k.shape() })?;
    let launch = &options.launch;
    let split = first::launch_with(device, plan.instance, launch, &mut parts, q, k, v, scale, tiles)?;
    let key = [Generic::Type(T::DTYPE), Generic::Size(SIZES[0])];
    let joins = second::KERNEL.find(&key).expect("the second pass is compiled for both element types");
    let joined = second::launch_with(device, joins, launch, o, &parts, (plan.dim / 16) as u32)?;
    Ok([split, joined])
}

/// The instance that [`decode_into`] takes for its first pass for the shapes of Q, K and V, and into how many splits it
/// cuts the keys.
///
/// # Errors
/// [`AttentionError`]: shapes that do not fit, or a head that is too large.
pub fn explain_decode<T: MmaInput>(
    device: &Device,
    q: Shape,
    k: Shape,
    v: Shape,
    options: &DecodeOptions<'_>,
) -> Result<Choice, AttentionError> {
    let Plan { instance, splits, tiles, .. } = plan::<T>(device, q, k, v, options)?;
    let keys = tiles * SIZES[1] as usize;
    Ok(Choice { instance, why: format!("{splits} splits of {keys} keys for each of {} heads", k[0] * k[1]) })
}

/// What the two passes run.
struct Plan {
    instance: &'static InstanceInfo,
    /// Columns of the instance's heads.
    dim: u64,
    splits: usize,
    /// Tiles of keys of a split.
    tiles: usize,
}

fn plan<T: MmaInput>(
    device: &Device,
    q: Shape,
    k: Shape,
    v: Shape,
    options: &DecodeOptions<'_>,
) -> Result<Plan, AttentionError> {
    output(q, k, v)?;
    let columns = q[3].max(v[3]) as u64;
    let least = DIMS.iter().find(|dim| columns <= **dim);
    let dim = *least.ok_or(AttentionError::HeadDim { most: DIMS[DIMS.len() - 1], q, v })?;
    let key = [T::DTYPE].map(Generic::Type).into_iter().chain([dim, SIZES[0], SIZES[1]].map(Generic::Size));
    let instance = first::KERNEL
        .find(&key.collect::<Vec<_>>())
        .expect("every head of DIMS is compiled for both element types");
    let all = k[2].div_ceil(SIZES[1] as usize).max(1);
    let wanted = options.splits.unwrap_or_else(|| {
        let fill = if let Device::Host(host) = device { 2 * host.threads() } else { SUBGROUPS };
        let blocks = q[0] * q[1] * q[2].div_ceil(SIZES[0] as usize);
        fill.div_ceil(blocks.max(1)).min(all.div_ceil(LEAST_TILES))
    });
    // Equal splits, none of them empty.
    let tiles = all.div_ceil(wanted.clamp(1, all));
    Ok(Plan { instance, dim, splits: all.div_ceil(tiles), tiles })
}

/// The shape of the output, if the inputs fit.
fn output(q: Shape, k: Shape, v: Shape) -> Result<Shape, AttentionError> {
    if q[..2] != k[..2] {
        return Err(AttentionError::Shapes {
            rule: "in decoding, Q and K have equal batches and heads, and the heads of Q that share one are its rows",
            first: "Q",
            first_shape: q,
            second: "K",
            second_shape: k,
        });
    }
    crate::ops::attention::output(q, k, v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_fill_the_device_and_are_never_empty() {
        let of = |q: Shape, keys: usize, splits| {
            let k = [q[0], q[1], keys, q[3]];
            let options = DecodeOptions { splits, ..DecodeOptions::default() };
            let plan = plan::<bf16>(&Device::sim(), q, k, k, &options).expect("it fits");
            assert!(plan.tiles * (plan.splits - 1) < keys.div_ceil(32).max(1), "the last split has keys");
            assert!(plan.tiles * plan.splits >= keys.div_ceil(32), "every key is in a split");
            (plan.splits, plan.tiles)
        };
        assert_eq!(of([1, 8, 4, 128], 32_768, None), (256, 4), "4 tiles at least");
        assert_eq!(of([64, 8, 4, 128], 32_768, None), (8, 128), "512 heads need 8 splits each");
        assert_eq!(of([1, 8, 4, 128], 0, None), (1, 1));
        assert_eq!(of([1, 8, 4, 128], 1, Some(7)), (1, 1));
        assert_eq!(of([1, 8, 4, 128], 32 * 10, Some(4)), (4, 3));
        assert_eq!(of([1, 8, 4, 128], 32 * 10, Some(6)), (5, 2), "six splits would leave one empty");
        assert_eq!(of([0, 8, 4, 128], 320, Some(0)), (1, 10));
    }
}
