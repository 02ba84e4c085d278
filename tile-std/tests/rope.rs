//! Rotary position embeddings of both layouts, of one tensor, of queries and keys, and into a cache, on ragged shapes, views,
//! and extreme values: host and simulator against f64.

mod reference;
mod rows;

use reference::{FORMS, Form, Guarded, Rng};
use rows::{KINDS, Rows, compare, devices};
use tile_std::ops::{
    Rope, RopeLayout, RowError, RowOptions, explain_rope, rope, rope_into, rope_kv_write, rope_qk_into,
};
use tile_std::prelude::*;

const LAYOUTS: [RopeLayout; 2] = [RopeLayout::HalfSplit, RopeLayout::Interleaved];

/// A turned row with error bounds: one unit in the last place of f32 for each of three roundings.
fn turned(x: &[f64], cos: &[f64], sin: &[f64], layout: RopeLayout) -> Vec<(f64, f64)> {
    let half = x.len() / 2;
    let mut out = vec![(0.0, 0.0); x.len()];
    for p in 0..half {
        let (i, j) = if layout == RopeLayout::HalfSplit { (p, p + half) } else { (2 * p, 2 * p + 1) };
        let value = |a: f64, b: f64| (a + b, (a.abs() + b.abs()) / 8_388_608.0 + 4e-36);
        out[i] = value(x[i] * cos[p], -x[j] * sin[p]);
        out[j] = value(x[j] * cos[p], x[i] * sin[p]);
    }
    out
}

struct Scene {
    cos: Guarded<f32>,
    sin: Guarded<f32>,
    first: usize,
    layout: RopeLayout,
}

impl Scene {
    fn new(rng: &mut Rng, rows: usize, cols: usize, layout: RopeLayout) -> Scene {
        let first = rng.below(5) as usize;
        let mut form = || FORMS[rng.below(3) as usize];
        let forms = [form(), form()];
        let angle = |r: usize, c: usize| (r as f32 * 0.7 + 0.3) / (1.0 + c as f32);
        let shape = [1, 1, rows + first + 1, cols / 2];
        let cos = Guarded::new(shape, forms[0], |_, _, r, c| angle(r, c).cos());
        let sin = Guarded::new(shape, forms[1], |_, _, r, c| angle(r, c).sin());
        Scene { cos, sin, first, layout }
    }

    fn turn(&self) -> Rope<'_> {
        Rope { cos: self.cos.view(), sin: self.sin.view(), first: self.first, layout: self.layout }
    }

    fn expected<T: Element>(
        &self,
        x: &Guarded<T>,
        cols: usize,
        (b, d, r): (usize, usize, usize),
    ) -> Vec<(f64, f64)> {
        let row: Vec<f64> = (0..cols).map(|c| x.get(b, d, r, c)).collect();
        let line =
            |t: &Guarded<f32>| (0..cols / 2).map(|p| t.get(0, 0, self.first + r, p)).collect::<Vec<f64>>();
        turned(&row, &line(&self.cos), &line(&self.sin), self.layout)
    }
}

fn run<T: Element>(device: &Device, shape: Shape, kind: Rows, layout: RopeLayout, seed: u64) {
    let told = format!("{} {shape:?} {kind:?} {layout:?} {} seed {seed:#x}", device.name(), T::DTYPE);
    let mut rng = Rng(seed);
    let [batch, heads, rows, cols] = shape;
    let scene = Scene::new(&mut rng, rows, cols, layout);
    let mut form = || FORMS[rng.below(3) as usize];
    let forms = [form(), form(), form(), form()];
    let fewer = [batch, heads.div_ceil(2), rows, cols];
    let q = Guarded::<T>::new(shape, forms[0], |_, _, r, c| kind.value(&mut rng, r, c, cols));
    let k = Guarded::<T>::new(fewer, forms[1], |_, _, r, c| kind.value(&mut rng, r, c, cols));
    let new = |shape, form| Guarded::<T>::new(shape, form, |_, _, _, _| f32::NAN);
    let (mut y, mut yq, mut yk) = (new(shape, forms[2]), new(shape, forms[3]), new(fewer, forms[2]));
    let options = RowOptions::default();
    rope_into(device, y.view_mut(), q.view(), &scene.turn(), &options)
        .unwrap_or_else(|e| panic!("{told}: {e}"));
    compare(&y, shape, &told, |b, d, r| scene.expected(&q, cols, (b, d, r)));
    // Either may have more heads.
    let (out, from) = ((yq.view_mut(), yk.view_mut()), (q.view(), k.view()));
    if seed % 4 == 1 {
        rope_qk_into(device, (out.1, out.0), (from.1, from.0), &scene.turn(), &options).expect("shapes fit");
    } else {
        rope_qk_into(device, out, from, &scene.turn(), &options).expect("shapes fit");
    }
    compare(&yq, shape, &told, |b, d, r| scene.expected(&q, cols, (b, d, r)));
    compare(&yk, fewer, &told, |b, d, r| scene.expected(&k, cols, (b, d, r)));
    assert!(
        [&q, &k, &y, &yq, &yk].iter().all(|t| t.is_intact()),
        "{told}: something outside a tensor changed"
    );
    assert!(scene.cos.is_intact() && scene.sin.is_intact());

    // Into a cache at its second row: the rows around them stay.
    let wide = [batch, fewer[1], rows + 3, cols];
    let (mut keys, mut values) = (new(wide, forms[3]), new(wide, forms[1]));
    let v = Guarded::<T>::new(fewer, forms[0], |_, _, _, _| rng.value());
    let caches = (keys.view_mut(), values.view_mut());
    rope_kv_write(device, caches, (k.view(), v.view()), 2, &scene.turn(), &options).expect("it fits");
    assert!(keys.is_intact() && values.is_intact(), "{told}: something outside a cache changed");
    let unwritten = vec![(f64::NAN, 0.0); cols];
    let in_cache = |r: usize| (2..2 + rows).contains(&r);
    compare(&keys, wide, &told, |b, d, r| {
        if in_cache(r) { scene.expected(&k, cols, (b, d, r - 2)) } else { unwritten.clone() }
    });
    compare(&values, wide, &told, |b, d, r| {
        let moved = |c| (v.get(b, d, r - 2, c), 0.0);
        if in_cache(r) { (0..cols).map(moved).collect() } else { unwritten.clone() }
    });
}

#[test]
fn both_layouts_turn_ragged_shapes_views_and_extreme_values() {
    let mut rng = Rng(0x2093_0001);
    for (i, cols) in [0, 32, 64, 96, 128, 160, 256].into_iter().enumerate() {
        for (j, kind) in KINDS.into_iter().enumerate() {
            for layout in LAYOUTS {
                let rows = [0, 1, 7, 8, 17, 33][rng.below(6) as usize];
                let shape = [1 + rng.below(2) as usize, 1 + rng.below(4) as usize, rows, cols];
                let seed = rng.next() | 1;
                for device in devices() {
                    match (i + j) % 3 {
                        0 => run::<bf16>(&device, shape, kind, layout, seed),
                        1 => run::<f16>(&device, shape, kind, layout, seed),
                        _ => run::<f32>(&device, shape, kind, layout, seed),
                    }
                }
            }
        }
    }
}

#[test]
fn an_infinity_reaches_its_pair_and_nothing_else() {
    let x = Tensor::from_fn([1, 1, 1, 32], |_, _, _, c| match c {
        4 => f32::NEG_INFINITY,
        11 => f32::NAN,
        20 => f32::MAX,
        _ => 1.0,
    })
    .expect("small");
    let table = Tensor::from_fn([1, 1, 1, 16], |_, _, _, _| 0.5f32).expect("small");
    let turn = Rope { cos: table.view(), sin: table.view(), first: 0, layout: RopeLayout::Interleaved };
    for device in devices() {
        let y = rope(&device, &x, &turn).expect("shapes fit").to_vec();
        assert_eq!((y[4], y[5]), (f32::NEG_INFINITY, f32::NEG_INFINITY), "{}", device.name());
        assert!(y[10].is_nan() && y[11].is_nan());
        assert_eq!((y[20], y[21]), (f32::MAX * 0.5, f32::MAX * 0.5), "{}", device.name());
        assert!(
            (0..32).filter(|c| ![4, 5, 10, 11, 20, 21].contains(c)).all(|c| y[c] == (c % 2) as f32),
            "{y:?}"
        );
    }
}

#[test]
fn wrong_calls_are_errors() {
    let device = Device::host();
    let x = Guarded::<bf16>::new([1, 2, 5, 64], Form::Owned, |_, _, _, _| 1.0);
    let table = |rows, cols| Tensor::<f32>::zeros(rows, cols).expect("small");
    let said = |x: View<'_, bf16>, cos: &Tensor<f32>, sin: &Tensor<f32>, first| {
        let turn = Rope { cos: cos.view(), sin: sin.view(), first, layout: RopeLayout::HalfSplit };
        rope(&device, x, &turn).expect_err("wrong on purpose").to_string()
    };
    let text = said(x.view(), &table(8, 32), &table(7, 32), 0);
    assert!(text.contains("the sines is [1, 1, 7, 32]"), "{text}");
    let text = said(x.view(), &table(8, 32), &table(8, 32), 4);
    assert!(text.contains("a row for every position") && text.contains("[1, 1, 8, 32]"), "{text}");
    let text = said(x.view(), &table(8, 32), &table(8, 32), usize::MAX);
    assert!(text.contains("a row for every position"), "{text}");
    let text = said(x.view(), &table(8, 16), &table(8, 16), 0);
    assert!(text.contains("a column for every pair"), "{text}");
    let odd = x.view().slice_cols(0..40).expect("inside");
    assert!(said(odd, &table(8, 20), &table(8, 20), 0).contains("multiple of 32"));

    let tables = (table(9, 32), table(9, 32));
    let turn = Rope { cos: tables.0.view(), sin: tables.1.view(), first: 0, layout: RopeLayout::HalfSplit };
    let cache = || Guarded::<bf16>::new([1, 2, 8, 64], Form::Owned, |_, _, _, _| 0.0);
    let (mut keys, mut values) = (cache(), cache());
    for (at, shown) in [(4, "rows 4 .. 9"), (usize::MAX, "rows 18446744073709551615 .. 18446744073709551615")]
    {
        let caches = (keys.view_mut(), values.view_mut());
        let error = rope_kv_write(&device, caches, (x.view(), x.view()), at, &turn, &RowOptions::default())
            .expect_err("5 rows do not fit");
        assert!(matches!(error, RowError::Capacity { .. }) && error.to_string().contains(shown), "{error}");
    }
    let name = |cols| explain_rope::<f32>(&device, [1, 1, 8, cols], RopeLayout::HalfSplit).instance.name;
    assert_eq!((name(128), name(96)), ("<f32, true, 16, 32>", "<f32, true, 32, 16>"));
}
