//! Owns [`Matrix`]: the elements of a matrix, or of a batch of matrices, as a file holds them.
//!
//! *Guarantees*: there are as many elements as the shape says, row by row. *Not here*: files ([`crate::files`]),
//! tensors with a pitch (`tile_std::Tensor`).

use core::fmt;

use tile_std::prelude::Element;
use tile_std::{Shape, bf16, f16};

/// Element types of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ElementType {
    /// 32-bit IEEE floating point.
    F32,
    /// The upper half of an `f32`.
    Bf16,
    /// 16-bit IEEE floating point.
    F16,
}

impl ElementType {
    /// The name users type and read.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::F32 => "f32",
            ElementType::Bf16 => "bf16",
            ElementType::F16 => "f16",
        }
    }

    /// Bytes of one element.
    pub fn size_bytes(self) -> usize {
        match self {
            ElementType::F32 => 4,
            ElementType::Bf16 | ElementType::F16 => 2,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Elements of one type, row by row.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Elements of type `f32`.
    F32(Vec<f32>),
    /// Elements of type `bf16`.
    Bf16(Vec<bf16>),
    /// Elements of type `f16`.
    F16(Vec<f16>),
}

impl Elements {
    /// Their type.
    pub fn element_type(&self) -> ElementType {
        match self {
            Elements::F32(_) => ElementType::F32,
            Elements::Bf16(_) => ElementType::Bf16,
            Elements::F16(_) => ElementType::F16,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Elements::F32(values) => values.len(),
            Elements::Bf16(values) => values.len(),
            Elements::F16(values) => values.len(),
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them, exactly: every type here is a part of `f32`. `None` past the last.
    pub fn get(&self, index: usize) -> Option<f32> {
        match self {
            Elements::F32(values) => values.get(index).copied(),
            Elements::Bf16(values) => values.get(index).map(|v| v.to_f32()),
            Elements::F16(values) => values.get(index).map(|v| v.to_f32()),
        }
    }

    /// Reads elements from their bytes. Bytes after the last whole element are not read.
    pub fn from_bytes(element_type: ElementType, bytes: &[u8], order: ByteOrder) -> Elements {
        let (pairs, quads) = (bytes.as_chunks::<2>().0, bytes.as_chunks::<4>().0);
        let half_bits = pairs.iter().map(|pair| match order {
            ByteOrder::Little => u16::from_le_bytes(*pair),
            ByteOrder::Big => u16::from_be_bytes(*pair),
        });
        match element_type {
            ElementType::Bf16 => Elements::Bf16(half_bits.map(bf16::from_bits).collect()),
            ElementType::F16 => Elements::F16(half_bits.map(f16::from_bits).collect()),
            ElementType::F32 => {
                let read = |quad: &[u8; 4]| match order {
                    ByteOrder::Little => f32::from_le_bytes(*quad),
                    ByteOrder::Big => f32::from_be_bytes(*quad),
                };
                Elements::F32(quads.iter().map(read).collect())
            }
        }
    }

    /// The bytes of all elements, little-endian.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            Elements::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Elements::Bf16(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Elements::F16(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    /// The elements in the order of `indices`, which all must be below [`Elements::len`].
    pub(crate) fn permuted(&self, indices: impl Iterator<Item = usize>) -> Elements {
        match self {
            Elements::F32(values) => Elements::F32(indices.map(|i| values[i]).collect()),
            Elements::Bf16(values) => Elements::Bf16(indices.map(|i| values[i]).collect()),
            Elements::F16(values) => Elements::F16(indices.map(|i| values[i]).collect()),
        }
    }
}

/// An element type that files can hold.
pub trait Stored: Element {
    /// The type as a value.
    const TYPE: ElementType;
    /// Elements of this type as a value.
    fn elements(values: Vec<Self>) -> Elements;
}

impl Stored for f32 {
    const TYPE: ElementType = ElementType::F32;
    fn elements(values: Vec<f32>) -> Elements {
        Elements::F32(values)
    }
}

impl Stored for bf16 {
    const TYPE: ElementType = ElementType::Bf16;
    fn elements(values: Vec<bf16>) -> Elements {
        Elements::Bf16(values)
    }
}

impl Stored for f16 {
    const TYPE: ElementType = ElementType::F16;
    fn elements(values: Vec<f16>) -> Elements {
        Elements::F16(values)
    }
}

/// Which byte of an element comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant one.
    Little,
    /// The most significant one.
    Big,
}

/// A matrix `[rows, cols]`, or a batch of them `[batch, rows, cols]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    shape: Vec<usize>,
    elements: Elements,
}

impl Matrix {
    /// A matrix of 2 or 3 dimensions; `None` for other ranks or if the elements are not as many as the shape says.
    pub fn new(shape: Vec<usize>, elements: Elements) -> Option<Matrix> {
        let fits = matches!(shape.len(), 2 | 3) && count(&shape) == Some(elements.len());
        fits.then_some(Matrix { shape, elements })
    }

    /// `[rows, cols]` or `[batch, rows, cols]`.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The shape as a tensor has it: `[batch, 1, rows, cols]`.
    pub fn tensor_shape(&self) -> Shape {
        match *self.shape {
            [batch, rows, cols] => [batch, 1, rows, cols],
            [rows, cols] => [1, 1, rows, cols],
            _ => unreachable!("`Matrix::new` takes 2 or 3 dimensions"),
        }
    }

    /// The elements, row by row.
    pub fn elements(&self) -> &Elements {
        &self.elements
    }
}

/// Elements of a shape, or `None` if there are more than can be counted. A dimension of 0 leaves none, however
/// large the others are.
pub fn count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_survive_their_bytes() {
        for elements in [
            Elements::F32(vec![1.5, -0.0, f32::INFINITY, f32::MIN_POSITIVE]),
            Elements::Bf16(vec![bf16::from_f32(3.375), bf16::NEG_INFINITY]),
            Elements::F16(vec![f16::from_f32(-2.5), f16::MAX]),
        ] {
            let bytes = elements.to_le_bytes();
            assert_eq!(bytes.len(), elements.len() * elements.element_type().size_bytes());
            assert_eq!(Elements::from_bytes(elements.element_type(), &bytes, ByteOrder::Little), elements);
        }
        let big = Elements::from_bytes(ElementType::F32, &1.25f32.to_be_bytes(), ByteOrder::Big);
        assert_eq!(big, Elements::F32(vec![1.25]));
    }

    #[test]
    fn counts_do_not_overflow() {
        assert_eq!(count(&[usize::MAX, 2]), None);
        assert_eq!(count(&[usize::MAX, 2, 0]), Some(0));
        assert!(Matrix::new(vec![2, 2], Elements::F32(vec![0.0; 3])).is_none());
        assert!(Matrix::new(vec![3], Elements::F32(vec![0.0; 3])).is_none());
    }
}
