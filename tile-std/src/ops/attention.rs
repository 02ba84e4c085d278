//! Owns attention over tensors: shape checks, the choice of the instance, the launch.

use thiserror::Error;

use crate::kernels::attention::{DIMS, HOST_SIZES, POLICY, POLICY_CAUSAL, Rule, SIZES, attention as kernel};
use crate::ops::dispatch::Choice;
use crate::prelude::*;
use crate::{Generic, InstanceInfo};

/// How attention is computed. The default lets every query see every key and scales by `1 / sqrt(dim)`.
///
/// ```
/// use tile_std::ops::{AttentionOptions, attention_into, explain_attention};
/// use tile_std::prelude::*;
///
/// let q = Tensor::from_fn([1, 4, 3, 64], |_, h, r, c| f16::from_f32((h + r + c) as f32 / 64.0))?;
/// let k = Tensor::from_fn([1, 2, 5, 64], |_, h, r, c| f16::from_f32((h * r) as f32 - c as f32 / 64.0))?;
/// let v = Tensor::from_fn([1, 2, 5, 64], |_, _, r, _| f16::from_f32(r as f32))?;
/// let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
/// let mut o = Tensor::<f16>::with_shape([1, 4, 3, 64])?;
/// let device = Device::host();
/// let report = attention_into(&device, &mut o, &q, &k, &v, &options)?;
/// assert_eq!(report.instance, explain_attention::<f16>(&device, q.shape(), k.shape(), v.shape(), &options)?.instance.name);
/// // Query 0 sees the keys 0 to 2, of which none has a row of V above 2.
/// assert!(o.get(0, 0, 0, 0).is_some_and(|x| x.to_f32() <= 2.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionOptions<'a> {
    /// Query `i` sees the keys `j <= i + keys - queries` only: the last query sees all.
    pub causal: bool,
    /// Factor of the scores; `None` is `1 / sqrt(dim)`, dim being the columns of Q.
    pub scale: Option<f32>,
    /// The instance to run, one of `kernels::attention::attention::INSTANCES`; `None` chooses one by shape.
    pub instance: Option<&'static InstanceInfo>,
    /// Options of the launch.
    pub launch: LaunchOptions<'a>,
}

/// Attention that was refused or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttentionError {
    /// Pass tensors that fit.
    #[error(
        "attention: {rule}; {first} is {first_shape:?} and {second} is {second_shape:?} (batch, heads, rows, dim)"
    )]
    Shapes {
        /// What must hold.
        rule: &'static str,
        /// Name of one tensor.
        first: &'static str,
        /// Its shape.
        first_shape: Shape,
        /// Name of the other.
        second: &'static str,
        /// Its shape.
        second_shape: Shape,
    },
    /// Pass an output with the batch, heads and rows of Q and the columns of V.
    #[error("attention: the output must be {needed:?}; here it is {found:?} (batch, heads, rows, dim)")]
    Output {
        /// Shape the output must have.
        needed: Shape,
        /// Shape it has.
        found: Shape,
    },
    /// Pass an output of the log-sum-exp with a row per head and a column per query, and a V that has columns.
    #[error(
        "attention: the output of the log-sum-exp must be {needed:?}, beside an output that is not empty; here it is {found:?} and the output {output:?} (batch, heads, rows, columns)"
    )]
    LogSumExp {
        /// Shape it must have.
        needed: Shape,
        /// Shape it has.
        found: Shape,
        /// Shape of the output of attention.
        output: Shape,
    },
    /// Split the heads, or pad nothing: any size up to the largest is fine.
    #[error(
        "attention: a head has at most {most} columns; Q is {q:?} and V is {v:?} (batch, heads, rows, dim)"
    )]
    HeadDim {
        /// Most columns.
        most: u64,
        /// Shape of Q.
        q: Shape,
        /// Shape of V.
        v: Shape,
    },
    /// Split the sequence.
    #[error(
        "attention: queries and keys are fewer than 2^31 together; Q is {q:?} and K is {k:?} (batch, heads, rows, dim)"
    )]
    Length {
        /// Shape of Q.
        q: Shape,
        /// Shape of K.
        k: Shape,
    },
    /// Choose an instance of this element type with a head that is large enough.
    #[error("attention: the instance {instance} does not take heads of {dim} columns of {dtype}")]
    Instance {
        /// The instance asked for.
        instance: &'static str,
        /// Columns of Q or V, whichever has more.
        dim: usize,
        /// Element type of the tensors.
        dtype: &'static str,
    },
    /// See [`TensorError`].
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// See [`LaunchError`].
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// Computes attention into a new tensor `[batch, heads, queries, dim of V]`.
///
/// Q is `[batch, heads, queries, dim]`, K is `[batch, kv heads, keys, dim]`, V is `[batch, kv heads, keys, dim of V]`,
/// in any layout whose rows are contiguous (a `[batch, queries, heads, dim]` tensor is a
/// [`View::with_layout`](crate::View::with_layout) of this shape). `heads` is a multiple of `kv heads`: neighbouring heads
/// of Q share one of K and V. A head has up to 256 columns.
///
/// Scores and sums are f32 numbers; the weights of V are rounded to the element type before they are multiplied, and
/// the result is rounded once. So an element is off by at most half a unit in its last place, and `e` times the
/// weighted mean of the magnitudes of V. `e` is 2^-8 for bf16 and 2^-11 for f16 (the rounding of a weight), plus
/// `(keys + 32) * 2^-24` (the sums), plus `2 d` for an error `d` of the scores, which is at most `(dim + 4) * 2^-24` times
/// the sum of the magnitudes of a score's terms. Weights in f16 are also off by 2^-25 of the largest.
///
/// A query that sees no key, or whose scores are all minus infinity, gives 0. A score of plus infinity or NaN makes its row
/// NaN. Rows of V that a query does not see have the weight 0, which an infinity or NaN in them does not survive: keep V
/// finite.
///
/// # Errors
/// [`AttentionError`]: shapes that do not fit, a head that is too large, out of memory, or a failed launch.
///
/// ```
/// use tile_std::ops::{AttentionOptions, attention};
/// use tile_std::prelude::*;
///
/// let q = Tensor::from_fn([1, 1, 2, 64], |_, _, _, _| bf16::ONE)?;
/// let k = Tensor::from_fn([1, 1, 3, 64], |_, _, _, _| bf16::ONE)?;
/// let v = Tensor::from_fn([1, 1, 3, 64], |_, _, row, _| bf16::from_f32(row as f32))?;
/// // Equal scores: the mean of the rows of V.
/// let o = attention(&Device::host(), &q, &k, &v, &AttentionOptions::default())?;
/// assert_eq!(o.get(0, 0, 1, 63), Some(bf16::ONE));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn attention<'a, T: MmaInput>(
    device: &Device,
    q: impl Into<View<'a, T>>,
    k: impl Into<View<'a, T>>,
    v: impl Into<View<'a, T>>,
    options: &AttentionOptions<'_>,
) -> Result<Tensor<T>, AttentionError> {
    let (q, k, v) = (q.into(), k.into(), v.into());
    let mut o = Tensor::with_shape(output(q.shape(), k.shape(), v.shape())?)?;
    attention_into(device, &mut o, q, k, v, options)?;
    Ok(o)
}

/// Computes attention into `o`; see [`attention`], and [`AttentionOptions`] for an example.
///
/// # Errors
/// [`AttentionError`]: shapes that do not fit, an instance that does not, or a failed launch.
pub fn attention_into<'a, T: MmaInput>(
    device: &Device,
    o: impl Into<ViewMut<'a, T>>,
    q: impl Into<View<'a, T>>,
    k: impl Into<View<'a, T>>,
    v: impl Into<View<'a, T>>,
    options: &AttentionOptions<'_>,
) -> Result<Report, AttentionError> {
    run(device, o.into(), None, (q.into(), k.into(), v.into()), options)
}

/// [`attention`] with the log-sum-exp of every row, `[batch, heads, 1, queries]` in f32: the logarithm of the sum over the keys it
/// sees of `e^score`, scores scaled. Where a query sees no key, or only scores of minus infinity, it is minus infinity.
///
/// It is what joins the attention to parts of a sequence, and what a backward pass reads. It is off by at most `2 d` for an error
/// `d` of the scores (see [`attention`]), `(keys + 64) * 2^-24`, and 2^-22 of its own size and of the largest score's.
///
/// ```
/// use tile_std::ops::{AttentionOptions, attention_lse};
/// use tile_std::prelude::*;
///
/// let zeros = |rows| Tensor::<bf16>::with_shape([1, 2, rows, 64]);
/// let (q, k, v) = (zeros(3)?, zeros(5)?, zeros(5)?);
/// let (_, lse) = attention_lse(&Device::host(), &q, &k, &v, &AttentionOptions::default())?;
/// // Five scores of 0.
/// assert!((lse.get(0, 1, 0, 2).unwrap_or(0.0) - 5f32.ln()).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`AttentionError`]: as for [`attention`], and a V without columns.
pub fn attention_lse<'a, T: MmaInput>(
    device: &Device,
    q: impl Into<View<'a, T>>,
    k: impl Into<View<'a, T>>,
    v: impl Into<View<'a, T>>,
    options: &AttentionOptions<'_>,
) -> Result<(Tensor<T>, Tensor<f32>), AttentionError> {
    let (q, k, v) = (q.into(), k.into(), v.into());
    let mut o = Tensor::with_shape(output(q.shape(), k.shape(), v.shape())?)?;
    let mut lse = Tensor::with_shape(lse_of(q.shape()))?;
    run(device, o.view_mut(), Some(lse.view_mut()), (q, k, v), options)?;
    Ok((o, lse))
}

/// [`attention_lse`] into `o` and `lse`.
///
/// # Errors
/// [`AttentionError`]: shapes that do not fit, an instance that does not, or a failed launch.
pub fn attention_lse_into<'a, T: MmaInput>(
    device: &Device,
    (o, lse): (impl Into<ViewMut<'a, T>>, impl Into<ViewMut<'a, f32>>),
    q: impl Into<View<'a, T>>,
    k: impl Into<View<'a, T>>,
    v: impl Into<View<'a, T>>,
    options: &AttentionOptions<'_>,
) -> Result<Report, AttentionError> {
    run(device, o.into(), Some(lse.into()), (q.into(), k.into(), v.into()), options)
}

fn lse_of(q: Shape) -> Shape {
    [q[0], q[1], 1, q[2]]
}

fn run<T: MmaInput>(
    device: &Device,
    o: ViewMut<'_, T>,
    lse: Option<ViewMut<'_, f32>>,
    (q, k, v): (View<'_, T>, View<'_, T>, View<'_, T>),
    options: &AttentionOptions<'_>,
) -> Result<Report, AttentionError> {
    let needed = output(q.shape(), k.shape(), v.shape())?;
    if o.shape() != needed {
        return Err(AttentionError::Output { needed, found: o.shape() });
    }
    // Nothing is kept of what is stored to a tensor without columns.
    let mut none;
    let lse = match lse {
        Some(lse) => {
            let (needed, found) = (lse_of(q.shape()), lse.shape());
            // The kernel takes its grid from the output of attention.
            if found != needed || (o.cols() == 0 && needed.iter().all(|extent| *extent > 0)) {
                return Err(AttentionError::LogSumExp { needed, found, output: o.shape() });
            }
            lse
        }
        None => {
            none = Tensor::with_shape([1, 1, 1, 0])?;
            none.view_mut()
        }
    };
    let instance = explain_attention::<T>(device, q.shape(), k.shape(), v.shape(), options)?.instance;
    let scale = options.scale.unwrap_or_else(|| 1.0 / (q.cols().max(1) as f32).sqrt());
    let scale = scale * std::f32::consts::LOG2_E;
    Ok(kernel::launch_with(device, instance, &options.launch, o, lse, q, k, v, scale, options.causal)?)
}

/// The instance that [`attention_into`] takes for the shapes of Q, K and V, and why.
///
/// # Errors
/// [`AttentionError`]: shapes that do not fit, or an instance that does not.
pub fn explain_attention<T: MmaInput>(
    device: &Device,
    q: Shape,
    k: Shape,
    v: Shape,
    options: &AttentionOptions<'_>,
) -> Result<Choice, AttentionError> {
    output(q, k, v)?;
    let columns = q[3].max(v[3]);
    let least = DIMS.iter().find(|dim| columns as u64 <= **dim);
    let dim = *least.ok_or(AttentionError::HeadDim { most: DIMS[DIMS.len() - 1], q, v })?;
    if let Some(instance) = options.instance {
        let ours = kernel::INSTANCES.iter().any(|i| std::ptr::eq(i, instance));
        let takes = match instance.generics {
            [Generic::Type(dtype), Generic::Size(dim), ..] => *dtype == T::DTYPE && columns as u64 <= *dim,
            _ => false,
        };
        if ours && takes {
            return Ok(Choice { instance, why: "it was asked for".to_string() });
        }
        let (instance, dtype) = (instance.name, T::DTYPE.name());
        return Err(AttentionError::Instance { instance, dim: columns, dtype });
    }
    let (sizes, why) = sizes(device, dim, q, options.causal);
    let key = [Generic::Type(T::DTYPE), Generic::Size(dim), Generic::Size(sizes[0]), Generic::Size(sizes[1])];
    let instance = kernel::KERNEL.find(&key).expect(
        "every row of the policies is compiled for all heads and element types; `policy_instances_exist` checks it",
    );
    Ok(Choice { instance, why })
}

/// Rows of queries and of keys of the tiles, and the row of the policy they come from.
fn sizes(device: &Device, dim: u64, q: Shape, causal: bool) -> ([u64; 2], String) {
    let (planes, queries) = (q[0] * q[1], q[2]);
    if matches!(device, Device::Host(_)) && queries >= HOST_SIZES.0 {
        let why = format!("{queries} queries on the host, from {} on its tiles are large", HOST_SIZES.0);
        return (HOST_SIZES.1, why);
    }
    let policy = if causal { POLICY_CAUSAL } else { POLICY };
    let fits = |rule: &&Rule| queries <= rule.queries && planes <= rule.planes;
    let rule = policy.iter().find(fits).expect("a policy ends with a row for any shape");
    let tall = rule.tall && dim <= SIZES.0;
    let why = format!("{planes} heads of {queries} queries each, heads of up to {dim} columns");
    (if tall { SIZES.1 } else { SIZES.2 }, why)
}

/// The shape of the output, if the inputs fit.
pub(super) fn output(q: Shape, k: Shape, v: Shape) -> Result<Shape, AttentionError> {
    let refused = |rule, (first, first_shape), (second, second_shape)| {
        Err(AttentionError::Shapes { rule, first, first_shape, second, second_shape })
    };
    if q[0] != k[0] {
        return refused("Q and K have equal batches", ("Q", q), ("K", k));
    }
    if k[..3] != v[..3] {
        return refused("K and V have equal batches, heads and rows", ("K", k), ("V", v));
    }
    if q[3] != k[3] {
        return refused("Q and K have equal columns", ("Q", q), ("K", k));
    }
    if !q[1].is_multiple_of(k[1]) {
        return refused("the heads of Q are a multiple of those of K", ("Q", q), ("K", k));
    }
    if q[2].saturating_add(k[2]) >= 1 << 31 {
        return Err(AttentionError::Length { q, k });
    }
    Ok([q[0], q[1], q[2], v[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_instances_exist() {
        fn all<T: MmaInput>() {
            for (causal, policy) in [(false, POLICY), (true, POLICY_CAUSAL)] {
                let options = AttentionOptions { causal, ..AttentionOptions::default() };
                let bounds = policy.iter().flat_map(|r| [r.queries, r.queries.saturating_add(1)]);
                for queries in bounds.map(|n| n.min(100_000)) {
                    for planes in policy.iter().map(|r| r.planes.min(1000)) {
                        for dim in DIMS.map(|dim| dim as usize).into_iter().chain([0, 1, 80, 192]) {
                            let shape = [1, planes, queries, dim];
                            for device in [Device::host(), Device::sim()] {
                                let choice = explain_attention::<T>(&device, shape, shape, shape, &options);
                                choice.unwrap_or_else(|e| panic!("{e}"));
                            }
                        }
                    }
                }
            }
        }
        all::<bf16>();
        all::<f16>();
    }

    #[test]
    fn the_choice_says_what_it_is_made_from() {
        let shape = [2, 4, 2048, 80];
        let options = AttentionOptions::default();
        let choice =
            explain_attention::<bf16>(&Device::sim(), shape, shape, shape, &options).expect("it fits");
        assert_eq!(choice.instance.generics[1], Generic::Size(96));
        assert!(choice.to_string().contains("8 heads of 2048 queries"), "{choice}");
    }

    #[test]
    fn shapes_that_do_not_fit_print_both() {
        let refused = |q, k, v, part: &str| {
            let text = output(q, k, v).expect_err("they do not fit").to_string();
            assert!(text.contains(part), "{text}");
            text
        };
        let text = refused([1, 4, 9, 64], [2, 4, 7, 64], [2, 4, 7, 64], "equal batches");
        assert!(text.contains("[1, 4, 9, 64]") && text.contains("[2, 4, 7, 64]"), "{text}");
        refused([1, 4, 9, 64], [1, 4, 7, 64], [1, 4, 8, 64], "K and V");
        refused([1, 4, 9, 64], [1, 4, 7, 32], [1, 4, 7, 64], "equal columns");
        refused([1, 4, 9, 64], [1, 3, 7, 64], [1, 3, 7, 64], "a multiple");
        refused([1, 4, 9, 64], [1, 0, 7, 64], [1, 0, 7, 64], "a multiple");
        refused([1, 1, 1 << 30, 0], [1, 1, 1 << 30, 0], [1, 1, 1 << 30, 0], "2^31");
        assert_eq!(output([2, 6, 9, 64], [2, 3, 7, 64], [2, 3, 7, 32]).expect("they fit"), [2, 6, 9, 32]);
        let wide = [1, 1, 1, 257];
        let error = explain_attention::<f16>(&Device::sim(), wide, wide, wide, &AttentionOptions::default());
        assert!(error.expect_err("too large").to_string().contains("at most 256"));
    }
}
