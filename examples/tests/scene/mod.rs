//! Owns what the tests of programs share: a folder of their own, runs, files with known content.

#![allow(dead_code, reason = "each test file is a crate of its own and uses a part")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use examples::files::Place;
use examples::gemm::{Streams, run};
use examples::matrix::{Elements, Matrix};
use tempfile::TempDir;

/// A folder that goes away with the test.
pub struct Scene {
    folder: TempDir,
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub status: u8,
    pub out: String,
    pub err: String,
}

impl Scene {
    pub fn new() -> Scene {
        Scene { folder: tempfile::tempdir().expect("a folder for temporary files") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `gemm`; an argument that starts with `@` is a file of this folder.
    pub fn gemm(&self, arguments: &[&str]) -> Ran {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let streams = Streams { out: &mut out, err: &mut err, err_is_terminal: false };
        let status = run(self.line(arguments), streams);
        let text = |bytes| String::from_utf8(bytes).expect("messages are text");
        Ran { status, out: text(out), err: text(err) }
    }

    /// The command line of [`Scene::gemm`], the name of the program included.
    pub fn line(&self, arguments: &[&str]) -> Vec<OsString> {
        let argument = |text: &&str| match text.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => OsString::from(*text),
        };
        std::iter::once("gemm".into()).chain(arguments.iter().map(argument)).collect()
    }

    /// A run that must succeed.
    pub fn good(&self, arguments: &[&str]) -> Ran {
        let ran = self.gemm(arguments);
        assert!(ran.status == 0 && complaints(&ran.err).is_empty(), "{arguments:?}: {ran:?}");
        ran
    }

    /// A run that must fail with one line that has all of these words, and change no file.
    pub fn bad(&self, arguments: &[&str], words: &[&str]) {
        let before = self.files();
        let ran = self.gemm(arguments);
        assert!(matches!(ran.status, 1 | 2), "{arguments:?}: {ran:?}");
        assert_eq!(complaints(&ran.err).len(), 1, "{arguments:?}: {ran:?}");
        let complaint = complaints(&ran.err)[0];
        assert!(complaint.starts_with("gemm: ") && ran.err.ends_with('\n'), "{ran:?}");
        for word in words {
            assert!(complaint.contains(word), "{word:?} is missing for {arguments:?}: {complaint}");
        }
        assert_eq!(self.files(), before, "{arguments:?} changed files");
    }

    pub fn write(&self, name: &str, shape: &[usize], elements: Elements) {
        let matrix = Matrix::new(shape.to_vec(), elements).expect("as many elements as the shape says");
        self.place(name).write(&matrix).expect("written");
    }

    pub fn write_f32(&self, name: &str, shape: &[usize], element: impl FnMut(usize) -> f32) {
        let count = shape.iter().product();
        self.write(name, shape, Elements::F32((0..count).map(element).collect()));
    }

    pub fn write_bytes(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("written");
    }

    pub fn read(&self, name: &str) -> Matrix {
        self.place(name).read().expect("readable")
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("readable")
    }

    /// Every entry of the folder, and the content of those that are files.
    pub fn files(&self) -> Vec<(OsString, Vec<u8>)> {
        let entries = fs::read_dir(self.folder.path()).expect("a folder");
        let mut files = entries
            .map(|entry| {
                let entry = entry.expect("an entry");
                let content =
                    |path: &Path| if path.is_file() { fs::read(path).unwrap_or_default() } else { vec![] };
                (entry.file_name(), content(&entry.path()))
            })
            .collect::<Vec<_>>();
        files.sort();
        files
    }

    fn place(&self, name: &str) -> Place {
        Place::parse(self.path(name).as_os_str()).expect("a known ending")
    }
}

/// What a program says on stderr, except news of how far it is, which come or do not by the speed of the machine.
pub fn complaints(err: &str) -> Vec<&str> {
    let news = |line: &&str| line.starts_with("multiplying: ") || line.starts_with("checking against f64: ");
    err.lines().filter(|line| !news(line)).collect()
}

/// Whole numbers around 0 that bf16 and f16 hold exactly, so that products are exact in f32.
pub fn whole(i: usize) -> f32 {
    ((i * 7 + i / 5) % 23) as f32 - 11.0
}

/// The exact product of matrices of whole numbers.
pub fn product(a: &Matrix, b: &Matrix) -> Vec<f32> {
    let ([_, _, m, k], [_, _, _, n]) = (a.tensor_shape(), b.tensor_shape());
    let at = |matrix: &Matrix, i| matrix.elements().get(i).expect("inside");
    let element = |i: usize| (0..k).map(|x| at(a, i / n * k + x) * at(b, x * n + i % n)).sum();
    (0..m * n).map(element).collect()
}
