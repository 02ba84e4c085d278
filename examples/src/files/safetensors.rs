//! Owns the `.safetensors` format: choosing a tensor in a file and writing a file with one.
//!
//! The crate `safetensors` reads and checks the header. *Guarantees*: a file is used only if its header accounts
//! for every byte of it. *Not here*: which files to read ([`crate::files`]).

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::{Problem, list};
use crate::matrix::{ByteOrder, ElementType, Elements, Matrix};

/// Reads the tensor of this name, or the only one, from these bytes of a whole file.
///
/// # Errors
/// [`Problem`] with what is wrong.
pub fn read(bytes: &[u8], name: Option<&str>) -> Result<Matrix, Problem> {
    let file = SafeTensors::deserialize(bytes)?;
    let tensor = choose(&file, name)?;
    let element_type = match tensor.dtype() {
        Dtype::F32 => ElementType::F32,
        Dtype::BF16 => ElementType::Bf16,
        Dtype::F16 => ElementType::F16,
        other => {
            return Err(Problem::Type { supported: "f32, bf16 or f16", found: other.to_string() });
        }
    };
    let elements = Elements::from_bytes(element_type, tensor.data(), ByteOrder::Little);
    let shape = tensor.shape().to_vec();
    Matrix::new(shape.clone(), elements).ok_or(Problem::Rank(shape))
}

/// Reads the tensor of this name, or the only one, as unsigned bytes.
///
/// # Errors
/// [`Problem`] with what is wrong.
pub fn read_u8(bytes: &[u8], name: Option<&str>) -> Result<Vec<u8>, Problem> {
    let file = SafeTensors::deserialize(bytes)?;
    let tensor = choose(&file, name)?;
    match tensor.dtype() {
        Dtype::U8 => Ok(tensor.data().to_vec()),
        other => Err(Problem::Type { supported: "u8", found: other.to_string() }),
    }
}

fn choose<'a>(file: &SafeTensors<'a>, name: Option<&str>) -> Result<TensorView<'a>, Problem> {
    let mut names = file.names();
    names.sort_unstable();
    match (name, names.as_slice()) {
        (None, [only]) => Ok(file.tensor(only)?),
        (None, _) => Err(Problem::Several { present: list(&names) }),
        (Some(name), _) if names.contains(&name) => Ok(file.tensor(name)?),
        (Some(name), _) => Err(Problem::NoTensor { wanted: name.into(), present: list(&names) }),
    }
}

/// Everything before the data of a file that holds only this matrix.
///
/// # Errors
/// [`Problem::Safetensors`] if the format cannot express it: a name longer than a header may be.
pub fn header(matrix: &Matrix, name: &str) -> Result<Vec<u8>, Problem> {
    let dtype = match matrix.elements().element_type() {
        ElementType::F32 => Dtype::F32,
        ElementType::Bf16 => Dtype::BF16,
        ElementType::F16 => Dtype::F16,
    };
    let tensor = HeaderOnly { dtype, matrix };
    Ok(safetensors::serialize([(name, tensor)], None)?)
}

/// A tensor whose length the header counts but whose data is written by the caller, so that no second copy of it
/// is made.
struct HeaderOnly<'a> {
    dtype: Dtype,
    matrix: &'a Matrix,
}

impl safetensors::View for HeaderOnly<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.matrix.shape()
    }

    fn data(&self) -> std::borrow::Cow<'_, [u8]> {
        (&[]).into()
    }

    fn data_len(&self) -> usize {
        let elements = self.matrix.elements();
        elements.len() * elements.element_type().size_bytes()
    }
}
