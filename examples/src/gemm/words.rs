//! Owns the report of the program `gemm`: what a run prints, line by line.
//!
//! *Guarantees*: a reader that goes away does not stop the work, and is the only failure that stays silent.

use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use tile_std::{Report, Shape};

use super::arguments::Compute;
use super::check::Check;
use super::digits::Answers;
use super::multiply::{Rounding, Times};
use crate::files::Place;
use crate::matrix::{ElementType, Matrix};

/// The stream of the report, and its first failure.
pub struct Out<'a> {
    stream: &'a mut dyn Write,
    failure: Option<io::Error>,
}

impl<'a> Out<'a> {
    /// Reports to this stream.
    pub fn new(stream: &'a mut dyn Write) -> Out<'a> {
        Out { stream, failure: None }
    }

    /// One line: what it is about, and what there is to say.
    pub fn line(&mut self, about: &str, text: &str) {
        self.text(&format!("{about:<9} {text}"));
    }

    fn text(&mut self, line: &str) {
        let line = line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>();
        if self.failure.is_none() {
            self.failure = writeln!(self.stream, "{line}").and_then(|()| self.stream.flush()).err();
        }
    }

    /// Ends the report.
    ///
    /// # Errors
    /// The first failure, unless the reader went away.
    pub fn end(&mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    /// An operand, and what became of it.
    pub fn operand(
        &mut self,
        about: &str,
        place: &Place,
        matrix: &Matrix,
        compute: Compute,
        rounding: Rounding,
    ) {
        let stored = matrix.elements().element_type();
        let (operand, name) = match compute {
            Compute::Bf16 => (ElementType::Bf16, "bf16"),
            Compute::F16 => (ElementType::F16, "f16"),
        };
        let mut text = format!("{:?} {stored}", matrix.shape());
        if stored != operand {
            text += &format!(", rounded to {name}");
        }
        text += &format!(", from {place}");
        let Rounding { not_finite, overflowed } = rounding;
        if not_finite > 0 {
            text += &format!("; {not_finite} elements are NaN or infinite");
        }
        if overflowed > 0 {
            text += &format!("; {overflowed} elements are too large for {name} and became infinite");
        }
        self.line(about, &text);
    }

    /// The code that ran, where it was not the obvious one, and what was copied for it.
    pub fn ran(&mut self, report: &Report) {
        self.line("code", &report.ran.to_string());
        for staged in &report.staged {
            self.line("", &staged.to_string());
        }
    }

    /// Times and speed.
    pub fn times(&mut self, times: Times, c: Shape, k: usize) {
        let [batch, depth, m, n] = c.map(|size| size as f64);
        let operations = 2.0 * batch * depth * m * n * k as f64;
        let Times { first, median, runs } = times;
        let speed = match median.as_secs_f64() {
            seconds if seconds > 0.0 && operations > 0.0 => {
                format!("{:.1} GFLOP/s", operations / seconds / 1e9)
            }
            _ => "nothing to compute".into(),
        };
        let how = match runs {
            1 => "one run".into(),
            _ => format!("median of {runs} runs; the first took {}", time(first)),
        };
        self.line("time", &format!("{}, {speed} ({how})", time(median)));
    }

    /// What the check found; nothing is broken.
    pub fn check(&mut self, check: &Check) {
        let rows = match check.rows {
            rows if rows == check.all_rows => "all elements".into(),
            rows => format!("{rows} of {} rows, drawn at random", check.all_rows),
        };
        let worst = check.worst;
        self.line("check", &format!("passed: {rows} against f64 in {}", time(check.elapsed)));
        self.line(
            "error",
            &format!(
                "largest {:.2e}, {:.1} % of its bound ulp/2 + K*2^-24*sum|a*b| = {:.2e}",
                worst.error,
                worst.ratio() * 100.0,
                worst.bound
            ),
        );
        let frobenius = check.relative_frobenius.map(|error| format!("{error:.2e}"));
        self.line(
            "",
            &format!("relative Frobenius {}", frobenius.as_deref().unwrap_or("not defined (C is 0)")),
        );
        for (count, what) in [
            (check.not_finite, "are NaN or infinite, as in f64"),
            (check.overflowed, "are too large for the type of C and became infinite"),
            (check.beyond_f32, "have sums that may leave the range of f32 and were not compared"),
        ] {
            if count > 0 {
                self.line("", &format!("{count} elements {what}"));
            }
        }
    }

    /// What the shipped matrices are good for.
    pub fn answers(&mut self, answers: &Answers) {
        let Answers { right, asked, pictures } = answers;
        let percent = *right as f64 / (*asked).max(1) as f64 * 100.0;
        self.line(
            "digits",
            &format!("each asked image takes the digit of the known image most alike: {right} of {asked} right ({percent:.1} %)"),
        );
        for line in pictures {
            self.text(format!("          {line}").trim_end());
        }
    }
}

fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}
