//! Instructions on vectors as a whole or with results wider than their operands: dot products, carries,
//! bit casts between component widths, components chosen at run time.

use crate::alu::{mask_of, signed};
use crate::convert::{from_f64, to_f64};
use crate::error::{Fault, Rule, broken};
use crate::inst::Wide;
use crate::lanes::{LANES, Lanes, lanes_of};
use crate::types::scalar_rows;

/// `OpDot`: products and sums round to the operands' type, in component order.
pub(crate) fn dot(lanes: &mut Lanes, dst: u32, a: u32, b: u32, n: u8, bits: u8) -> Result<(), Fault> {
    let step = scalar_rows(bits);
    let mut sum = [0u64; LANES];
    for i in 0..u32::from(n) {
        let (x, y) = (lanes.scalar(a + i * step, bits)?, lanes.scalar(b + i * step, bits)?);
        for l in 0..LANES {
            let product = from_f64(to_f64(x[l], bits) * to_f64(y[l], bits), bits);
            sum[l] =
                if i == 0 { product } else { from_f64(to_f64(sum[l], bits) + to_f64(product, bits), bits) };
        }
    }
    lanes.put_scalar(dst, bits, &sum, false);
    Ok(())
}

/// Carry, borrow and full products: the result is a struct of two vectors, low part first.
pub(crate) fn run(
    lanes: &mut Lanes,
    kind: Wide,
    dst: u32,
    a: u32,
    b: u32,
    n: u8,
    bits: u8,
) -> Result<(), Fault> {
    let step = scalar_rows(bits);
    for i in 0..u32::from(n) {
        let (x, y) = (lanes.scalar(a + i * step, bits)?, lanes.scalar(b + i * step, bits)?);
        let (mut low, mut high) = ([0; LANES], [0; LANES]);
        for l in 0..LANES {
            let (p, q) = (u128::from(x[l]), u128::from(y[l]));
            let whole = match kind {
                Wide::AddCarry => p + q,
                Wide::UMul => p * q,
                Wide::SMul => (i128::from(signed(x[l], bits)) * i128::from(signed(y[l], bits))) as u128,
                Wide::SubBorrow => {
                    (u128::from(x[l].wrapping_sub(y[l]) & mask_of(bits))) | u128::from(p < q) << bits
                }
            };
            low[l] = whole as u64 & mask_of(bits);
            high[l] = (whole >> bits) as u64 & mask_of(bits);
        }
        lanes.put_scalar(dst + i * step, bits, &low, false);
        lanes.put_scalar(dst + (u32::from(n) + i) * step, bits, &high, false);
    }
    Ok(())
}

/// Re-reads the same bytes as components of another width.
pub(crate) fn repack(
    lanes: &mut Lanes,
    dst: u32,
    src: u32,
    from: u8,
    to: u8,
    bytes: u32,
) -> Result<(), Fault> {
    let (a, b) = (u32::from(from / 8), u32::from(to / 8));
    let mut memory = vec![[0u8; LANES]; bytes as usize];
    let mut uniform = true;
    for i in 0..bytes / a {
        let row = src + i * scalar_rows(from);
        uniform &= lanes.scalar_uniform(row, from);
        for (l, value) in lanes.scalar(row, from)?.iter().enumerate() {
            for j in 0..a {
                memory[(i * a + j) as usize][l] = (value >> (8 * j)) as u8;
            }
        }
    }
    for i in 0..bytes / b {
        let mut values = [0u64; LANES];
        for (l, value) in values.iter_mut().enumerate() {
            for j in 0..b {
                *value |= u64::from(memory[(i * b + j) as usize][l]) << (8 * j);
            }
        }
        lanes.put_scalar(dst + i * scalar_rows(to), to, &values, uniform);
    }
    Ok(())
}

/// Component numbers of all lanes; an active one out of range is an error.
fn indices(lanes: &Lanes, (row, bits): (u32, u8), n: u8) -> Result<[u64; LANES], Fault> {
    let values = lanes.scalar(row, bits)?;
    for l in lanes_of(lanes.mask) {
        if values[l] >= u64::from(n) {
            return Err(broken(Rule::IndexRange, format!("component {} of a vector of {n}", values[l])));
        }
    }
    Ok(values)
}

/// `OpVectorExtractDynamic`.
pub(crate) fn extract(
    lanes: &mut Lanes,
    dst: u32,
    vector: u32,
    index: (u32, u8),
    bits: u8,
    n: u8,
) -> Result<(), Fault> {
    let chosen = indices(lanes, index, n)?;
    let mut out = [0; LANES];
    for i in 0..n {
        let values = lanes.scalar(vector + u32::from(i) * scalar_rows(bits), bits)?;
        for l in 0..LANES {
            if chosen[l] == u64::from(i) {
                out[l] = values[l];
            }
        }
    }
    lanes.put_scalar(dst, bits, &out, false);
    Ok(())
}

/// `OpVectorInsertDynamic`.
pub(crate) fn insert(
    lanes: &mut Lanes,
    dst: u32,
    vector: u32,
    value: u32,
    index: (u32, u8),
    bits: u8,
    n: u8,
) -> Result<(), Fault> {
    let chosen = indices(lanes, index, n)?;
    let new = lanes.scalar(value, bits)?;
    for i in 0..n {
        let at = u32::from(i) * scalar_rows(bits);
        let old = lanes.scalar(vector + at, bits)?;
        let out = std::array::from_fn(|l| if chosen[l] == u64::from(i) { new[l] } else { old[l] });
        lanes.put_scalar(dst + at, bits, &out, false);
    }
    Ok(())
}
