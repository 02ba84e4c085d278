//! The program `gemm` and what can be wrong: each case is one line, a status other than 0, and no file changed.

mod scene;

use std::fs;

use scene::{Scene, whole};

/// A folder with good operands `a.npy` and `b.safetensors`.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[4, 3], whole);
    scene.write_f32("b.safetensors", &[3, 2], whole);
    scene
}

const GOOD: [&str; 4] = ["--a", "@a.npy", "--b", "@b.safetensors"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    GOOD.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn files_that_are_not_there_or_not_files() {
    let scene = scene();
    fs::create_dir(scene.path("d.npy")).expect("made");
    scene.bad(&["--a", "@none.npy", "--b", "@b.safetensors"], &["none.npy", "No such file"]);
    scene.bad(&["--a", "@d.npy", "--b", "@b.safetensors"], &["d.npy", "folder"]);
    scene.bad(&["--a", "@a.npy/x.npy", "--b", "@b.safetensors"], &["x.npy", "Not a directory"]);
    scene.bad(&["--a", "@a.txt", "--b", "@b.safetensors"], &["a.txt", ".npy, .safetensors"]);
    scene.bad(&["--a", "", "--b", "@b.safetensors"], &["must end in"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_blocks_nobody_and_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let scene = scene();
    let made = std::process::Command::new("mkfifo").arg(scene.path("p.npy")).status().expect("mkfifo runs");
    assert!(made.success());
    std::os::unix::fs::symlink(scene.path("p.npy"), scene.path("l.npy")).expect("linked");
    scene.bad(&["--a", "@p.npy", "--b", "@b.safetensors"], &["p.npy", "pipe"]);
    scene.bad(&with(&["--out", "@p.npy"]), &["p.npy", "pipe"]);
    scene.bad(&with(&["--out", "@l.npy"]), &["l.npy", "pipe"]);
    assert!(fs::metadata(scene.path("p.npy")).expect("still there").file_type().is_fifo());
}

#[test]
fn damaged_files() {
    let scene = scene();
    let npy = scene.bytes("a.npy");
    let safetensors = scene.bytes("b.safetensors");
    let a = |bytes: &[u8], words: &[&str]| {
        scene.write_bytes("x.npy", bytes);
        scene.bad(&["--a", "@x.npy", "--b", "@b.safetensors"], &[&["x.npy"], words].concat());
    };
    a(b"", &["must start with"]);
    a(b"PK\x03\x04", &["must start with"]);
    a(&npy[..9], &["must end inside the file"]);
    a(&npy[..npy.len() - 1], &["needs 48 bytes of data; 47 follow"]);
    a(&[&npy[..], b"x"].concat(), &["needs 48 bytes of data; 49 follow"]);
    a(b"\x93NUMPY\x02\0\xff\xff\xff\xff{", &["4294967295"]);
    let text = String::from_utf8_lossy(&npy[10..]).into_owned();
    let changed = |from: &str, to: &str| {
        let header = text.split_once('\n').expect("a line feed ends it").0.replace(from, to);
        let length = u16::try_from(header.len()).expect("short").to_le_bytes();
        [&npy[..8], &length, header.as_bytes(), &npy[npy.len() - 48..]].concat()
    };
    a(&changed("(4, 3)", "(18446744073709551615, 18446744073709551615)"), &["more elements than"]);
    a(&changed("(4, 3)", "(4611686018427387904, 4)"), &["more elements than"]);
    a(&changed("(4, 3)", "(4, 30000000000)"), &["needs 480000000000 bytes"]);
    a(&changed("(4, 3)", "(12,)"), &["2 dimensions", "[12]"]);
    a(&changed("(4, 3)", "(1, 2, 2, 3)"), &["2 dimensions", "[1, 2, 2, 3]"]);
    a(&changed("<f4", "<f8"), &["f32 or f16", "<f8"]);
    a(&changed("<f4", "|O"), &["f32 or f16", "|O"]);
    let b = |bytes: &[u8], words: &[&str]| {
        scene.write_bytes("x.safetensors", bytes);
        scene.bad(&["--a", "@a.npy", "--b", "@x.safetensors"], &[&["x.safetensors"], words].concat());
    };
    b(b"", &["not a usable"]);
    b(&safetensors[..safetensors.len() - 1], &["not a usable"]);
    b(&[&safetensors[..], b"x"].concat(), &["not a usable"]);
    b(&[&[0xff; 8], &safetensors[8..]].concat(), &["header too large"]);
    b(&[&[0xff, 0xff, 0xff, 0, 0, 0, 0, 0], &safetensors[8..]].concat(), &["header length"]);
    let replaced = |from: &str, to: &str| {
        let length = u64::from_le_bytes(safetensors[..8].try_into().expect("8 bytes")) as usize;
        let header = String::from_utf8(safetensors[8..8 + length].to_vec()).expect("JSON").replace(from, to);
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &safetensors[8 + length..]].concat()
    };
    b(&replaced("F32", "I32"), &["f32, bf16 or f16", "I32"]);
    b(&replaced("F32", "F99"), &["not a usable"]);
    b(&replaced("[3,2]", "[6]"), &["2 dimensions", "[6]"]);
    b(&replaced("[3,2]", "[18446744073709551615,18446744073709551615]"), &["overflow"]);
    b(&replaced("[3,2]", "[3,3]"), &["not a usable"]);
    let nested = "[".repeat(100_000);
    b(&[&(nested.len() as u64).to_le_bytes(), nested.as_bytes()].concat(), &["not a usable"]);
    let two = r#"{"v\n":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]}}"#;
    let two = [&(two.len() as u64).to_le_bytes(), two.as_bytes(), &[0; 8]].concat();
    b(&two, &["one tensor", r#""v\n", "w""#]);
    let none = [&2u64.to_le_bytes()[..], b"{}"].concat();
    b(&none, &["it holds none"]);
}

#[test]
fn shapes_that_do_not_fit_name_both_files() {
    let scene = scene();
    scene.bad(&["--a", "@a.npy", "--b", "@a.npy"], &["B's rows", "a.npy is [4, 3]"]);
    scene.bad(&with(&["--transpose-b"]), &["a.npy is [4, 3]", "b.safetensors is [3, 2]", "[N, K]"]);
    scene.write_f32("p.npy", &[2, 4, 3], whole);
    scene.write_f32("q.npy", &[3, 3, 2], whole);
    scene.bad(&["--a", "@p.npy", "--b", "@q.npy"], &["batches", "[2, 4, 3]", "[3, 3, 2]"]);
    // 2^33 rows without columns: no element, and more rows than a kernel counts.
    let huge = |rows: &str, cols: &str| {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}\n");
        [b"\x93NUMPY\x01\0", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
    };
    scene.write_bytes("tall.npy", &huge("8589934592", "0"));
    scene.write_bytes("wide.npy", &huge("0", "8589934592"));
    scene.bad(&["--a", "@tall.npy", "--b", "@wide.npy"], &["8589934592"]);
    scene.write_bytes("taller.npy", &huge("18446744073709551615", "0"));
    scene.write_bytes("wider.npy", &huge("0", "18446744073709551615"));
    scene.bad(&["--a", "@taller.npy", "--b", "@wider.npy"], &["18446744073709551615"]);
    scene.bad(&["--a", "@wide.npy", "--b", "@tall.npy"], &["8589934592"]);
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_work() {
    let scene = scene();
    fs::create_dir(scene.path("d.npy")).expect("made");
    scene.bad(&with(&["--out", "@no/c.npy"]), &["c.npy", "No such file"]);
    scene.bad(&with(&["--out", "@d.npy"]), &["d.npy", "folder"]);
    scene.bad(&with(&["--out", "@a.npy/c.npy"]), &["c.npy", "Not a directory"]);
    scene.bad(&with(&["--out", "@c.bin"]), &["c.bin", "must end in"]);
    scene.bad(&with(&["--out", "@c.npy", "--out-dtype", "bf16"]), &["c.npy", "no bf16"]);
    scene.bad(&with(&["--out", "@c.safetensors:"]), &["c.safetensors:", "name"]);
    scene.bad(&with(&["--out", &format!("@{}.npy", "x".repeat(300))]), &["cannot write"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(scene.path("gone.npy"), scene.path("dangling.npy")).expect("linked");
        scene.bad(&with(&["--out", "@dangling.npy"]), &["dangling.npy", "cannot write"]);
    }
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let scene = scene();
    scene.write_bytes("old.npy", b"old");
    let mode = |name: &str| fs::metadata(scene.path(name)).expect("there").permissions().mode() & 0o777;
    fs::set_permissions(scene.path("old.npy"), fs::Permissions::from_mode(0o640)).expect("set");
    std::os::unix::fs::symlink(scene.path("old.npy"), scene.path("link.npy")).expect("linked");
    scene.good(&with(&["--out", "@link.npy"]));
    assert!(fs::symlink_metadata(scene.path("link.npy")).expect("there").is_symlink());
    assert_eq!(scene.read("old.npy").shape(), [4, 2]);
    assert_eq!(mode("old.npy"), 0o640);
    // A new file gets what any new file gets.
    scene.write_bytes("plain", b"");
    scene.good(&with(&["--out", "@new.npy"]));
    assert_eq!(mode("new.npy"), mode("plain"));
}

#[test]
fn command_lines_that_cannot_be_understood() {
    let scene = scene();
    scene.bad(&["--a", "@a.npy"], &["--b <FILE>"]);
    scene.bad(&["--b", "@b.safetensors"], &["--a <FILE>"]);
    scene.bad(&with(&["--out-dtype", "f8"]), &["f8", "f32, bf16, f16"]);
    scene.bad(&with(&["--compute", "f32"]), &["f32", "bf16, f16"]);
    scene.bad(&with(&["--frobnicate"]), &["--frobnicate"]);
    scene.bad(&with(&["stray"]), &["stray"]);
    scene.bad(&["--transpose-b"], &["--b <FILE>"]);
    scene.bad(&with(&["--device", "gpu"]), &["gpu", "host", "sim"]);
    scene.bad(&with(&["--device", "opencl"]), &["opencl"]);
}

/// Bytes of valid files changed at random: whatever comes of it, it is an answer or one line.
#[test]
fn no_bytes_make_the_readers_panic() {
    let scene = scene();
    scene.write_f32("c.npy", &[2, 2, 3], whole);
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let (mut accepted, mut refused) = (0, 0);
    for name in ["a.npy", "b.safetensors", "c.npy"] {
        let good = scene.bytes(name);
        for _ in 0..2000 {
            let mut bytes = good.clone();
            for _ in 0..=random(4) {
                match random(6) {
                    0 => bytes.truncate(random(bytes.len() + 1)),
                    1 => bytes.insert(random(bytes.len() + 1), random(256) as u8),
                    2 if !bytes.is_empty() => drop(bytes.remove(random(bytes.len()))),
                    3 if !bytes.is_empty() => {
                        // A digit, bracket or quote more makes a header that is still almost one.
                        let place = random(bytes.len());
                        bytes[place] = b"0199(){}[]',:\"L"[random(15)];
                    }
                    _ if !bytes.is_empty() => {
                        let place = random(bytes.len());
                        bytes[place] = random(256) as u8;
                    }
                    _ => {}
                }
            }
            let read = if name.ends_with(".npy") {
                examples::files::npy::read(&bytes)
            } else {
                examples::files::safetensors::read(&bytes, None)
            };
            match read {
                Ok(_) => accepted += 1,
                Err(problem) => {
                    assert!(!problem.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(accepted > 100 && refused > 1000, "{accepted} accepted, {refused} refused");
}
