//! Owns the decision whether a tensor can be read and written in place by Xe 2-D block messages.
//!
//! A pure function of numbers: it looks at no memory. Sources of the rules: SPV_INTEL_2d_block_io revision 2
//! and cl_intel_subgroup_2d_block_io 1.1, "Restrictions"; the minimum pitch is what Triton's Intel backend
//! asserts.
//!
//! *Guarantees*: a [`Direct`] placement breaks none of the rules for any block message whose coordinates are
//! not negative. *Not here*: copying (`sim`), masking at the right edge (the module does that).

use core::fmt;

use crate::tensor::{Axis, LINE_BYTES};

/// Largest width, height and pitch of a surface: the fields have 24 bits and hold the value minus 1.
pub const LIMIT: u64 = 1 << 24;

/// Smallest width and pitch of a surface in bytes; a narrower tensor is loaded with this width.
pub const MIN_WIDTH_BYTES: u64 = 64;

/// What the base of a surface is a multiple of, in bytes.
pub const BASE_ALIGN: u64 = LINE_BYTES as u64;
const SHIFT_ALIGN: u64 = 4;
const PITCH_ALIGN: u64 = 16;

/// A tensor as the hardware would see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Address of element (0, 0, 0, 0).
    pub address: u64,
    /// Bytes of one element: 2 or 4.
    pub element_bytes: u32,
    /// `[batch, depth, rows, cols]`.
    pub shape: [u32; 4],
    /// Elements from row to row.
    pub pitch: u64,
    /// Elements from plane to plane.
    pub depth_stride: u64,
    /// Elements from batch entry to batch entry.
    pub batch_stride: u64,
    /// Readable bytes from the address on, through the last element and what is mapped behind it.
    pub readable_bytes: u64,
    /// What a base can be a multiple of, in bytes: 64, or more where a driver demands it.
    pub base_align: u64,
}

/// The arguments that describe a tensor in place, or an aligned copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direct {
    /// The address aligned down to 64 bytes or what the driver demands; aligned up if there are no elements.
    pub base: u64,
    /// Elements from the base to element (0, 0, 0, 0).
    pub x0: u32,
    /// Elements from row to row.
    pub pitch: u32,
    /// Bytes from plane to plane.
    pub depth_stride_bytes: u64,
    /// Bytes from batch entry to batch entry.
    pub batch_stride_bytes: u64,
}

/// A rule of the hardware that a tensor breaks where it lies, with the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken {
    /// More columns than a surface can have. A copy cannot help: use a smaller tensor.
    Width {
        /// Bytes of a row.
        width_bytes: u64,
    },
    /// More rows than a surface can have. A copy cannot help: use a smaller tensor.
    Height {
        /// Rows of a plane.
        rows: u64,
    },
    /// The first element lies 2 bytes off.
    Shift {
        /// Bytes from the 64-byte boundary before the first element to it.
        shift_bytes: u64,
    },
    /// The rows are not a multiple of 16 bytes apart.
    PitchMultiple {
        /// Bytes from row to row.
        pitch_bytes: u64,
    },
    /// The rows are less than 64 or more than 2^24 bytes apart.
    PitchRange {
        /// Bytes from row to row.
        pitch_bytes: u64,
    },
    /// A row, counted from the aligned base, is longer than the pitch.
    Wrap {
        /// Bytes from the 64-byte boundary before the first element to it.
        shift_bytes: u64,
        /// Bytes of a row.
        width_bytes: u64,
        /// Bytes from row to row.
        pitch_bytes: u64,
    },
    /// Planes are not a multiple of 64 bytes apart.
    PlaneStride {
        /// The axis: batch or depth.
        axis: Axis,
        /// Bytes from plane to plane.
        stride_bytes: u64,
    },
    /// The message that loads the end of the last row would leave the memory.
    PastEnd {
        /// Bytes that must be readable from the first element on.
        needed_bytes: u64,
        /// Bytes that are.
        readable_bytes: u64,
    },
}

impl Broken {
    /// True if an aligned copy of the tensor obeys the rule.
    pub fn is_cured_by_copy(self) -> bool {
        match self {
            Broken::Width { .. } | Broken::Height { .. } => false,
            Broken::Shift { .. }
            | Broken::PitchMultiple { .. }
            | Broken::PitchRange { .. }
            | Broken::Wrap { .. }
            | Broken::PlaneStride { .. }
            | Broken::PastEnd { .. } => true,
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Width { width_bytes } => {
                write!(f, "a row must have at most 2^24 bytes; it has {width_bytes}")
            }
            Broken::Height { rows } => write!(f, "a plane must have at most 2^24 rows; it has {rows}"),
            Broken::Shift { shift_bytes } => write!(
                f,
                "the first element must lie a multiple of 4 bytes after a 64-byte boundary; it lies \
                 {shift_bytes} bytes after one"
            ),
            Broken::PitchMultiple { pitch_bytes } => {
                write!(f, "the row pitch must be a multiple of 16 bytes; it is {pitch_bytes}")
            }
            Broken::PitchRange { pitch_bytes } => {
                write!(f, "the row pitch must be 64 to 2^24 bytes; it is {pitch_bytes}")
            }
            Broken::Wrap { shift_bytes, width_bytes, pitch_bytes } => write!(
                f,
                "a row must fit the row pitch from the 64-byte boundary before it; {shift_bytes} bytes of shift \
                 and {width_bytes} bytes of row exceed the pitch of {pitch_bytes}"
            ),
            Broken::PlaneStride { axis, stride_bytes } => {
                write!(f, "planes must be a multiple of 64 bytes apart; the {axis} stride is {stride_bytes}")
            }
            Broken::PastEnd { needed_bytes, readable_bytes } => write!(
                f,
                "the last row must be readable up to {needed_bytes} bytes from the first element (messages \
                 load at least 64 bytes of a row, in units of 4); {readable_bytes} are"
            ),
        }
    }
}

/// Places a tensor for 2-D block messages where it lies.
///
/// A surface of at most one row has no pitch of its own, so it gets a legal one; likewise the stride of an
/// axis of size 1.
///
/// # Errors
/// The first rule the tensor breaks; limits that no copy can cure come first.
pub fn place(tensor: &Candidate) -> Result<Direct, Broken> {
    let [batch, depth, rows, cols] = tensor.shape;
    let element_bytes = u64::from(tensor.element_bytes);
    let width_bytes = u64::from(cols) * element_bytes;
    let shift_bytes = tensor.address % tensor.base_align;
    if width_bytes > LIMIT {
        return Err(Broken::Width { width_bytes });
    }
    if u64::from(rows) > LIMIT {
        return Err(Broken::Height { rows: rows.into() });
    }
    if tensor.shape.contains(&0) {
        return place_empty(tensor);
    }
    if !shift_bytes.is_multiple_of(SHIFT_ALIGN) || !shift_bytes.is_multiple_of(element_bytes) {
        return Err(Broken::Shift { shift_bytes });
    }
    let message_bytes = message_width(shift_bytes + width_bytes);
    let pitch_bytes = if rows == 1 {
        message_bytes.next_multiple_of(BASE_ALIGN)
    } else {
        tensor.pitch.saturating_mul(element_bytes)
    };
    if !pitch_bytes.is_multiple_of(PITCH_ALIGN) {
        return Err(Broken::PitchMultiple { pitch_bytes });
    }
    if !(MIN_WIDTH_BYTES..=LIMIT).contains(&pitch_bytes) {
        return Err(Broken::PitchRange { pitch_bytes });
    }
    if message_bytes > pitch_bytes {
        return Err(Broken::Wrap { shift_bytes, width_bytes, pitch_bytes });
    }
    let stride = |axis: Axis, size: u32, elements: u64| match elements.saturating_mul(element_bytes) {
        _ if size == 1 => Ok(0),
        stride_bytes if stride_bytes.is_multiple_of(BASE_ALIGN) => Ok(stride_bytes),
        stride_bytes => Err(Broken::PlaneStride { axis, stride_bytes }),
    };
    let depth_stride_bytes = stride(Axis::Depth, depth, tensor.depth_stride)?;
    let batch_stride_bytes = stride(Axis::Batch, batch, tensor.batch_stride)?;
    let last_row = u64::from(batch - 1)
        .saturating_mul(batch_stride_bytes)
        .saturating_add(u64::from(depth - 1).saturating_mul(depth_stride_bytes))
        .saturating_add(u64::from(rows - 1).saturating_mul(pitch_bytes));
    let needed_bytes = last_row.saturating_add(message_bytes - shift_bytes);
    if needed_bytes > tensor.readable_bytes {
        return Err(Broken::PastEnd { needed_bytes, readable_bytes: tensor.readable_bytes });
    }
    Ok(Direct {
        base: tensor.address - shift_bytes,
        x0: (shift_bytes / element_bytes) as u32,
        pitch: (pitch_bytes / element_bytes) as u32,
        depth_stride_bytes,
        batch_stride_bytes,
    })
}

/// Places a tensor without elements.
///
/// Modules may send messages for it, and mask or drop all of it: a prefetch ahead of a loop that never runs, say.
/// A surface has at least one row of 64 bytes, so one plane of such rows must be readable. Without elements there
/// is no pitch and no stride to keep, so all planes become one.
fn place_empty(tensor: &Candidate) -> Result<Direct, Broken> {
    let [_, _, rows, cols] = tensor.shape.map(u64::from);
    let element_bytes = u64::from(tensor.element_bytes);
    let base = tensor.address.next_multiple_of(BASE_ALIGN);
    let pitch_bytes = message_width(cols * element_bytes).next_multiple_of(BASE_ALIGN);
    let needed_bytes = base - tensor.address + rows.max(1) * pitch_bytes;
    if needed_bytes > tensor.readable_bytes {
        return Err(Broken::PastEnd { needed_bytes, readable_bytes: tensor.readable_bytes });
    }
    let pitch = (pitch_bytes / element_bytes) as u32;
    Ok(Direct { base, x0: 0, pitch, depth_stride_bytes: 0, batch_stride_bytes: 0 })
}

/// Places a tensor for `lane` modules, which reach every element by itself: wherever it lies, if its extents are those that
/// modules count with. The base may lie before the memory; no module touches what is there.
///
/// # Errors
/// A limit that no copy can cure.
pub fn place_anywhere(tensor: &Candidate) -> Result<Direct, Broken> {
    let [_, _, rows, cols] = tensor.shape;
    let element_bytes = u64::from(tensor.element_bytes);
    let width_bytes = u64::from(cols) * element_bytes;
    if width_bytes > LIMIT {
        return Err(Broken::Width { width_bytes });
    }
    if u64::from(rows) > LIMIT {
        return Err(Broken::Height { rows: rows.into() });
    }
    let shift_bytes = tensor.address % tensor.base_align;
    // A single row has no next row, and without elements all planes are one.
    let pitch = if rows > 1 { u32::try_from(tensor.pitch).unwrap_or(u32::MAX) } else { cols };
    let empty = tensor.shape.contains(&0);
    let stride = |elements: u64| if empty { 0 } else { elements.saturating_mul(element_bytes) };
    Ok(Direct {
        base: tensor.address - shift_bytes,
        x0: (shift_bytes / element_bytes) as u32,
        pitch,
        depth_stride_bytes: stride(tensor.depth_stride),
        batch_stride_bytes: stride(tensor.batch_stride),
    })
}

/// Describes a tensor as if it broke no rule, so that whoever executes the module must notice.
pub fn place_unchecked(tensor: &Candidate) -> Direct {
    let element_bytes = u64::from(tensor.element_bytes);
    let shift_bytes = tensor.address % tensor.base_align;
    Direct {
        base: tensor.address - shift_bytes,
        x0: (shift_bytes / element_bytes) as u32,
        pitch: u32::try_from(tensor.pitch).unwrap_or(u32::MAX),
        depth_stride_bytes: tensor.depth_stride.saturating_mul(element_bytes),
        batch_stride_bytes: tensor.batch_stride.saturating_mul(element_bytes),
    }
}

/// The width a message is given for rows that end `end_bytes` after the base.
fn message_width(end_bytes: u64) -> u64 {
    end_bytes.max(MIN_WIDTH_BYTES).next_multiple_of(SHIFT_ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 16-bit matrix in the middle of much memory.
    const PLAIN: Candidate = Candidate {
        address: 0x1000,
        element_bytes: 2,
        shape: [1, 1, 10, 64],
        pitch: 64,
        depth_stride: 0,
        batch_stride: 0,
        readable_bytes: 1 << 30,
        base_align: BASE_ALIGN,
    };

    fn refused(tensor: Candidate) -> String {
        place(&tensor).expect_err("a rule is broken").to_string()
    }

    #[test]
    fn aligned_tensors_stay_in_place() {
        let direct = place(&PLAIN).expect("legal");
        let expected =
            Direct { base: 0x1000, x0: 0, pitch: 64, depth_stride_bytes: 0, batch_stride_bytes: 0 };
        assert_eq!(direct, expected);
        let planes = Candidate { shape: [3, 2, 10, 64], depth_stride: 640, batch_stride: 1280, ..PLAIN };
        let direct = place(&planes).expect("legal");
        assert_eq!((direct.depth_stride_bytes, direct.batch_stride_bytes), (1280, 2560));
    }

    #[test]
    fn even_shifts_move_x_and_odd_ones_do_not() {
        for shift in (0..64).step_by(2) {
            let view = Candidate { address: 0x1000 + shift, shape: [1, 1, 10, 16], ..PLAIN };
            match place(&view) {
                Ok(direct) => {
                    assert_eq!((direct.base, u64::from(direct.x0) * 2), (0x1000, shift));
                    assert_eq!(shift % 4, 0);
                }
                Err(rule) => {
                    assert_eq!(rule, Broken::Shift { shift_bytes: shift });
                    assert_eq!(shift % 4, 2);
                }
            }
        }
        assert_eq!(
            refused(Candidate { address: 0x1006, ..PLAIN }),
            "the first element must lie a multiple of 4 bytes after a 64-byte boundary; it lies 6 bytes after one"
        );
        let float = Candidate { address: 0x1006, element_bytes: 4, shape: [1, 1, 10, 8], ..PLAIN };
        assert!(place(&float).is_err());
    }

    #[test]
    fn a_driver_may_demand_bases_further_apart() {
        let view = Candidate { address: 0x1044, base_align: 128, ..PLAIN };
        assert_eq!(
            refused(view),
            "a row must fit the row pitch from the 64-byte boundary before it; 68 bytes of shift and 128 bytes of \
             row exceed the pitch of 128"
        );
        let direct = place(&Candidate { pitch: 128, ..view }).expect("legal");
        assert_eq!((direct.base, direct.x0), (0x1000, 34));
    }

    #[test]
    fn pitches_are_multiples_of_16_from_64_to_2_to_the_24() {
        assert_eq!(
            refused(Candidate { pitch: 65, ..PLAIN }),
            "the row pitch must be a multiple of 16 bytes; it is 130"
        );
        let narrow = Candidate { shape: [1, 1, 10, 16], pitch: 24, ..PLAIN };
        assert_eq!(refused(narrow), "the row pitch must be 64 to 2^24 bytes; it is 48");
        let long = Candidate { pitch: 1 << 23, ..PLAIN };
        assert!(place(&long).is_ok());
        assert_eq!(
            refused(Candidate { pitch: (1 << 23) + 8, ..PLAIN }),
            "the row pitch must be 64 to 2^24 bytes; it is 16777232"
        );
        // One row has no pitch.
        let row = Candidate { shape: [1, 1, 1, 33], pitch: 33, ..PLAIN };
        assert_eq!(place(&row).expect("legal").pitch, 64);
    }

    #[test]
    fn a_shifted_row_must_fit_the_pitch() {
        let packed = Candidate { address: 0x1010, ..PLAIN };
        assert_eq!(
            refused(packed),
            "a row must fit the row pitch from the 64-byte boundary before it; 16 bytes of shift and 128 bytes of \
             row exceed the pitch of 128"
        );
        assert!(place(&Candidate { pitch: 72, ..packed }).is_ok());
        // The end of the row counts as the message rounds it up, to whole dwords: 16 + 112 bytes are a pitch of 128.
        for (cols, fits) in [(54, true), (55, true), (56, true), (57, false), (58, false)] {
            let view = Candidate { shape: [1, 1, 10, cols], ..packed };
            assert_eq!(place(&view).is_ok(), fits, "{cols} columns behind a shift of 16 bytes");
        }
    }

    #[test]
    fn plane_strides_are_whole_lines() {
        let planes = Candidate { shape: [1, 2, 10, 64], depth_stride: 648, ..PLAIN };
        assert_eq!(refused(planes), "planes must be a multiple of 64 bytes apart; the depth stride is 1296");
        let one = Candidate { shape: [1, 1, 10, 64], batch_stride: 3, ..PLAIN };
        assert!(place(&one).is_ok(), "the stride of a single entry is never used");
        let repeated = Candidate { shape: [7, 1, 10, 64], batch_stride: 0, ..PLAIN };
        assert_eq!(place(&repeated).expect("legal").batch_stride_bytes, 0);
    }

    #[test]
    fn the_last_row_must_be_followed_by_what_a_message_loads() {
        // 17 columns: 34 bytes, loaded as 64.
        let narrow = Candidate { shape: [1, 1, 3, 17], pitch: 32, readable_bytes: 2 * 64 + 34, ..PLAIN };
        assert_eq!(
            refused(narrow),
            "the last row must be readable up to 192 bytes from the first element (messages load at least 64 \
             bytes of a row, in units of 4); 162 are"
        );
        assert!(place(&Candidate { readable_bytes: 192, ..narrow }).is_ok());
        // 65 columns: 130 bytes, loaded as 132.
        let odd = Candidate { shape: [1, 1, 1, 65], readable_bytes: 130, ..PLAIN };
        assert_eq!(place(&odd), Err(Broken::PastEnd { needed_bytes: 132, readable_bytes: 130 }));
        let shifted = Candidate { address: 0x1004, shape: [1, 1, 1, 62], readable_bytes: 124, ..PLAIN };
        assert!(place(&shifted).is_ok(), "ends on a multiple of 4, beyond 64 bytes");
    }

    #[test]
    fn limits_that_a_copy_cannot_cure_are_told_first() {
        let tall = Candidate { address: 0x1002, shape: [1, 1, (1 << 24) + 1, 64], ..PLAIN };
        assert_eq!(refused(tall), "a plane must have at most 2^24 rows; it has 16777217");
        let wide = Candidate { shape: [1, 1, 2, (1 << 23) + 1], pitch: 1 << 24, ..PLAIN };
        assert_eq!(refused(wide), "a row must have at most 2^24 bytes; it has 16777218");
        let cured = [tall, wide].map(|t| place(&t).expect_err("refused").is_cured_by_copy());
        assert_eq!(cured, [false, false]);
        assert!(Broken::Shift { shift_bytes: 2 }.is_cured_by_copy());
    }

    #[test]
    fn empty_tensors_need_one_plane_of_readable_rows() {
        let no_rows = Candidate { address: 0x1002, shape: [3, 1, 0, 70], pitch: 7, batch_stride: 9, ..PLAIN };
        let expected =
            Direct { base: 0x1040, x0: 0, pitch: 96, depth_stride_bytes: 0, batch_stride_bytes: 0 };
        assert_eq!(place(&no_rows), Ok(expected));
        assert!(place(&Candidate { readable_bytes: 62 + 192, ..no_rows }).is_ok());
        let short = Candidate { readable_bytes: 62 + 191, ..no_rows };
        assert_eq!(place(&short), Err(Broken::PastEnd { needed_bytes: 254, readable_bytes: 253 }));
        let no_cols = Candidate { shape: [1, 1, 5, 0], pitch: 0, readable_bytes: 5 * 64, ..PLAIN };
        assert_eq!(place(&no_cols).expect("legal").pitch, 32);
        assert!(place(&Candidate { readable_bytes: 5 * 64 - 1, ..no_cols }).is_err());
        let no_planes = Candidate { shape: [0, 2, 5, 64], readable_bytes: 5 * 128, ..PLAIN };
        assert_eq!(place(&no_planes).expect("legal").pitch, 64);
        assert!(place(&Candidate { shape: [0, 1, (1 << 24) + 1, 1], ..PLAIN }).is_err());
    }

    #[test]
    fn forced_placements_keep_the_illegal_numbers() {
        let odd = Candidate { address: 0x1006, pitch: 65, ..PLAIN };
        let forced = place_unchecked(&odd);
        assert_eq!((forced.base, forced.x0, forced.pitch), (0x1000, 3, 65));
    }
}
