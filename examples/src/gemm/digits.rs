//! Owns the shipped job: which written digit is it?
//!
//! A holds 797 images of digits, a row each, and B 1000 images whose digits are known, a column each, all as vectors
//! of length 1. So an element of C is the cosine of the angle between two images, and the largest one of a row
//! is at the known image that is most alike: its digit is the answer (a nearest-neighbour classifier).
//!
//! *Not here*: where the images come from (`data/README.md`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::files::{FileError, Place};
use crate::matrix::{Elements, Matrix};

/// Pixels of an image from edge to edge.
const EDGE: usize = 8;

/// The name of a shipped file, relative to the current folder if it is in it.
pub fn file(name: &str) -> OsString {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::new());
    path.strip_prefix(&here).unwrap_or(&path).as_os_str().to_owned()
}

/// What the product says about the images.
pub struct Answers {
    /// Rows whose answer is the digit that was written.
    pub right: usize,
    /// Rows.
    pub asked: usize,
    /// Two images beside the known images most alike, as lines of text: one answered right, one wrong.
    pub pictures: Vec<String>,
}

/// Reads the answers off the product. `None` if the labels do not belong to these matrices.
///
/// # Errors
/// [`FileError`] if the labels cannot be read.
pub fn answers(a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Option<Answers>, FileError> {
    let labels = |tensor| Place::parse(&file(&format!("digits_known.safetensors:{tensor}")))?.read_u8();
    let (asked, known) = (labels("asked_labels")?, labels("known_labels")?);
    if c.shape() != [asked.len(), known.len()] || known.is_empty() {
        return Ok(None);
    }
    let nearest = |row: usize| {
        let cosine = |column: usize| at(c, row, column);
        (0..known.len()).max_by(|x, y| cosine(*x).total_cmp(&cosine(*y))).expect("checked not to be empty")
    };
    let nearest = (0..asked.len()).map(nearest).collect::<Vec<usize>>();
    let is_right = |row: &usize| known[nearest[*row]] == asked[*row];
    let shown = [(0..asked.len()).find(is_right), (0..asked.len()).find(|row| !is_right(row))];
    let mut pictures = vec![String::new(); EDGE + 1];
    for row in shown.into_iter().flatten() {
        let column = nearest[row];
        pictures[0] += &format!("asked: a {}         most alike: a {}         ", asked[row], known[column]);
        let image = |i| at(a, row, i);
        let other = |i| at(b, i, column);
        for (line, text) in pictures[1..].iter_mut().enumerate() {
            *text += &format!("{}   {}         ", draw(image, line), draw(other, line));
        }
    }
    let pictures = pictures.iter().map(|line| line.trim_end().to_owned()).collect();
    Ok(Some(Answers { right: (0..asked.len()).filter(is_right).count(), asked: asked.len(), pictures }))
}

fn at(matrix: &Matrix, row: usize, column: usize) -> f32 {
    let elements: &Elements = matrix.elements();
    elements.get(row * matrix.shape()[1] + column).expect("inside the shape")
}

/// One line of an image, two characters a pixel.
fn draw(pixel: impl Fn(usize) -> f32, line: usize) -> String {
    const SHADES: [&str; 5] = ["  ", "..", "++", "%%", "@@"];
    let brightest = (0..EDGE * EDGE).map(&pixel).fold(f32::MIN_POSITIVE, f32::max);
    let shade = |i| SHADES[((pixel(i) / brightest * 4.99).max(0.0) as usize).min(4)];
    (line * EDGE..(line + 1) * EDGE).map(shade).collect()
}
