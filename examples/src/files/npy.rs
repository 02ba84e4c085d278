//! Owns the `.npy` format: the header of versions 1, 2 and 3, and the order of elements.
//!
//! The format is described in the numpy manual, "numpy.lib.format". Its header is a Python dictionary with three
//! entries of known types, so a scanner for these is all there is: nothing nests, and a message is one line
//! whatever the header holds.
//!
//! *Guarantees*: lengths are compared with the bytes there are before anything is allocated. *Not here*: arrays
//! of other types than f32 and f16 (refused), which files to read ([`crate::files`]).

use thiserror::Error;

use super::Problem;
use crate::matrix::{ByteOrder, ElementType, Elements, Matrix, count};

/// What is wrong with the bytes of a `.npy` file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file is of another format.
    #[error("it must start with \\x93NUMPY and does not")]
    Magic,
    /// The file is of a later version.
    #[error("versions 1.0, 2.0 and 3.0 are known; this is {0}.{1}")]
    Version(u8, u8),
    /// The file was cut or its header length is wrong.
    #[error("the header must end inside the file; it says {needed} bytes and {given} follow")]
    Cut {
        /// Bytes the header says it has.
        needed: u64,
        /// Bytes there are.
        given: usize,
    },
    /// The header is not what numpy writes.
    #[error(
        "the header must be {{'descr': ..., 'fortran_order': ..., 'shape': ...}}; {what} at byte {at} of it"
    )]
    Header {
        /// What is wrong.
        what: &'static str,
        /// Where.
        at: usize,
    },
    /// The shape is damaged.
    #[error("the shape {0:?} has more elements than can be addressed")]
    TooLarge(Vec<usize>),
    /// The file was cut, or holds more than one array.
    #[error("shape {shape:?} of {element_type} needs {needed} bytes of data; {given} follow the header")]
    Length {
        /// The shape in the header.
        shape: Vec<usize>,
        /// The type in the header.
        element_type: ElementType,
        /// Bytes of all elements.
        needed: usize,
        /// Bytes after the header.
        given: usize,
    },
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header of a file says.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

/// Reads the matrix in these bytes of a whole file.
///
/// # Errors
/// [`Problem`] with what is wrong.
pub fn read(bytes: &[u8]) -> Result<Matrix, Problem> {
    let (header, data) = split(bytes)?;
    let Header { descr, fortran, shape } = scan(header)?;
    let (element_type, order) = match descr.as_str() {
        "<f4" => (ElementType::F32, ByteOrder::Little),
        ">f4" => (ElementType::F32, ByteOrder::Big),
        "<f2" => (ElementType::F16, ByteOrder::Little),
        ">f2" => (ElementType::F16, ByteOrder::Big),
        _ => return Err(Problem::Type { supported: "f32 or f16 in .npy", found: format!("{descr:?}") }),
    };
    if !matches!(shape.len(), 2 | 3) {
        return Err(Problem::Rank(shape));
    }
    let needed = count(&shape).and_then(|n| n.checked_mul(element_type.size_bytes()));
    let Some(needed) = needed else { return Err(NpyError::TooLarge(shape).into()) };
    if needed != data.len() {
        return Err(NpyError::Length { shape, element_type, needed, given: data.len() }.into());
    }
    let stored = Elements::from_bytes(element_type, data, order);
    let elements = if fortran { row_by_row(&shape, &stored) } else { stored };
    Ok(Matrix::new(shape, elements).expect("the rank and the number of elements were checked above"))
}

/// The header text and the data.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), NpyError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
    let cut = NpyError::Cut { needed: 0, given: rest.len() };
    let (version, rest) = rest.split_first_chunk::<2>().ok_or(cut.clone())?;
    let (length, rest) = match version {
        [1, 0] => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or(cut)?;
            (u64::from(u16::from_le_bytes(*length)), rest)
        }
        [2 | 3, 0] => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or(cut)?;
            (u64::from(u32::from_le_bytes(*length)), rest)
        }
        [major, minor] => return Err(NpyError::Version(*major, *minor)),
    };
    let given = rest.len();
    let inside = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    inside.ok_or(NpyError::Cut { needed: length, given })
}

/// Elements stored column by column, row by row.
fn row_by_row(shape: &[usize], stored: &Elements) -> Elements {
    let (batch, rows, cols) = match *shape {
        [batch, rows, cols] => (batch, rows, cols),
        [rows, cols] => (1, rows, cols),
        _ => unreachable!("`read` takes 2 or 3 dimensions"),
    };
    if stored.is_empty() {
        return stored.clone(); // the other dimensions may be too large to walk
    }
    let place = |b: usize, r: usize, c: usize| b + batch * (r + rows * c);
    let indices =
        (0..batch).flat_map(|b| (0..rows).flat_map(move |r| (0..cols).map(move |c| place(b, r, c))));
    stored.permuted(indices)
}

/// Reads the dictionary of a header.
fn scan(text: &[u8]) -> Result<Header, NpyError> {
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    let mut scanner = Scanner { text, at: 0 };
    scanner.expect(b'{', "`{` is missing")?;
    while !scanner.eat(b'}') {
        let key = scanner.string()?;
        scanner.expect(b':', "`:` is missing")?;
        let again = match key.as_str() {
            "descr" => descr.replace(scanner.type_name()?).is_some(),
            "fortran_order" => fortran.replace(scanner.truth()?).is_some(),
            "shape" => shape.replace(scanner.tuple()?).is_some(),
            _ => return Err(scanner.error("an entry is unknown")),
        };
        if again {
            return Err(scanner.error("an entry comes twice"));
        }
        if !scanner.eat(b',') {
            scanner.expect(b'}', "`,` or `}` is missing")?;
            break;
        }
    }
    scanner.end()?;
    match (descr, fortran, shape) {
        (Some(descr), Some(fortran), Some(shape)) => Ok(Header { descr, fortran, shape }),
        _ => Err(scanner.error("an entry is missing")),
    }
}

/// A position in the text of a header.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn error(&self, what: &'static str) -> NpyError {
        NpyError::Header { what, at: self.at }
    }

    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NpyError> {
        if self.eat(byte) { Ok(()) } else { Err(self.error(what)) }
    }

    /// A string in either kind of quotes. No entry that can be read needs an escape.
    fn string(&mut self) -> Result<String, NpyError> {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        let quote = quote.ok_or(self.error("a string is missing"))?;
        let rest = &self.text[self.at + 1..];
        let length = rest.iter().position(|byte| *byte == quote || *byte == b'\\');
        let length =
            length.filter(|length| rest[*length] == quote).ok_or(self.error("a string does not end"))?;
        let string = str::from_utf8(&rest[..length]).map_err(|_| self.error("a string is not UTF-8"))?;
        self.at += length + 2;
        Ok(string.to_owned())
    }

    fn type_name(&mut self) -> Result<String, NpyError> {
        if self.peek() == Some(b'[') {
            return Err(self.error("a structured type, which is no matrix of numbers,"));
        }
        self.string()
    }

    fn truth(&mut self) -> Result<bool, NpyError> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("`True` or `False` is missing"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, NpyError> {
        let mut sizes = Vec::new();
        self.expect(b'(', "`(` is missing")?;
        while !self.eat(b')') {
            sizes.push(self.size()?);
            if !self.eat(b',') {
                self.expect(b')', "`,` or `)` is missing")?;
                break;
            }
        }
        Ok(sizes)
    }

    fn size(&mut self) -> Result<usize, NpyError> {
        self.peek();
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = str::from_utf8(&self.text[self.at..self.at + digits]).expect("digits are ASCII");
        let size = text.parse().map_err(|_| self.error("a size is missing or not addressable"))?;
        self.at += digits;
        // Python 2 marked long integers.
        self.at += usize::from(self.text.get(self.at) == Some(&b'L'));
        Ok(size)
    }

    fn end(&mut self) -> Result<(), NpyError> {
        if self.peek().is_none() { Ok(()) } else { Err(self.error("something follows the dictionary")) }
    }
}

/// Everything before the data of this matrix; `None` for bf16, which the format lacks.
pub fn header(matrix: &Matrix) -> Option<Vec<u8>> {
    let descr = match matrix.elements().element_type() {
        ElementType::F32 => "<f4",
        ElementType::F16 => "<f2",
        ElementType::Bf16 => return None,
    };
    let sizes = matrix.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Padded with spaces so that the data starts at a multiple of 64; a line feed ends the text.
    let before = MAGIC.len() + 4;
    let padded = (before + text.len() + 1).next_multiple_of(64) - before;
    text.extend(core::iter::repeat_n(' ', padded - 1 - text.len()));
    text.push('\n');
    let length = u16::try_from(text.len()).expect("three sizes have at most 60 digits");
    Some([MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version 1 file with this header text and data.
    fn file(text: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(text.len()).expect("short");
        [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes(), data].concat()
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).expect_err("not usable").to_string()
    }

    #[test]
    fn headers_of_all_versions_are_read() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }   \n";
        let data = [1.0f32.to_le_bytes(), 2.0f32.to_le_bytes()].concat();
        let expected = Matrix::new(vec![1, 2], Elements::F32(vec![1.0, 2.0])).expect("fits");
        assert_eq!(read(&file(text, &data)).expect("version 1"), expected);
        for version in [2, 3] {
            let length = u32::try_from(text.len()).expect("short").to_le_bytes();
            let bytes = [MAGIC, &[version, 0], &length, text.as_bytes(), &data].concat();
            assert_eq!(read(&bytes).expect("versions 2 and 3"), expected);
        }
        let other = "{\"shape\":(1L,2L),'fortran_order':False,'descr':'<f4'}";
        assert_eq!(read(&file(other, &data)).expect("free order, Python 2"), expected);
    }

    #[test]
    fn fortran_order_and_big_endian_are_turned() {
        let text = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }";
        let stored = [1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0];
        let data = stored.map(f32::to_be_bytes).concat();
        let matrix = read(&file(text, &data)).expect("legal");
        assert_eq!(matrix.elements(), &Elements::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let batch = "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 1, 2), }";
        // Places: b + 2 * (r + 1 * c). As bits, the elements are what matters here.
        let data = [0u16, 1, 2, 3].map(u16::to_le_bytes).concat();
        let matrix = read(&file(batch, &data)).expect("legal");
        assert_eq!(matrix.elements().to_le_bytes(), [0u16, 2, 1, 3].map(u16::to_le_bytes).concat());
        let empty = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({}, 0), }}", usize::MAX);
        assert_eq!(read(&file(&empty, &[])).expect("empty").shape(), [usize::MAX, 0]);
    }

    #[test]
    fn what_is_written_is_read() {
        let matrix =
            Matrix::new(vec![3, 1, 2], Elements::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).expect("fits");
        let start = header(&matrix).expect("f32");
        assert_eq!(start.len() % 64, 0);
        assert_eq!(read(&[start, matrix.elements().to_le_bytes()].concat()).expect("whole"), matrix);
        let bf16 = Matrix::new(vec![0, 0], Elements::Bf16(vec![])).expect("fits");
        assert!(header(&bf16).is_none());
    }

    #[test]
    fn damage_is_named() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }";
        assert!(message(b"").contains("must start with"));
        assert!(message(b"\x93NUMPY").contains("must end inside the file"));
        assert!(message(b"\x93NUMPY\x09\x01\0\0").contains("this is 9.1"));
        assert!(message(b"\x93NUMPY\x02\0\xff\xff\xff\xff{}").contains("4294967295 bytes and 2 follow"));
        assert!(message(&file(good, &[0; 3])).contains("needs 4 bytes of data; 3 follow"));
        assert!(message(&file(good, &[0; 5])).contains("needs 4 bytes of data; 5 follow"));
        for (from, to, text) in [
            ("(1, 1)", "(99999999999999999999, 1)", "not addressable at byte 51"),
            ("(1, 1)", "(9999999999999, 9999999999999)", "more elements than can be addressed"),
            ("(1, 1)", "(-1, 1)", "a size is missing"),
            ("(1, 1)", "(1)", "a matrix has 2 dimensions"),
            ("(1, 1)", "()", "a matrix has 2 dimensions"),
            ("(1, 1)", "1", "`(` is missing"),
            ("'<f4'", "'<f8'", "f32 or f16 in .npy; here they are \"<f8\""),
            ("'<f4'", "[('a', '<f4')]", "structured"),
            ("'<f4'", "'<f4", "`,` or `}` is missing"),
            ("False", "0", "`True` or `False`"),
            ("'shape'", "'descr'", "a string is missing"),
            ("'shape': (1, 1), ", "", "an entry is missing"),
            ("'shape'", "'size'", "an entry is unknown"),
            ("}", "} x", "something follows"),
            ("}", "", "a string is missing"),
        ] {
            let message = message(&file(&good.replacen(from, to, 1), &[0; 4]));
            assert!(message.contains(text), "{to}: {message}");
        }
    }
}
