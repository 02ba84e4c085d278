//! The program `gemm` as a process: streams, statuses, and a disk that is full.

mod scene;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use scene::{Scene, complaints, whole};

/// The program, which `cargo test` builds beside the folder of the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.parent().and_then(|deps| deps.parent()).expect("tests are in TARGET/PROFILE/deps");
    let program = target.join("examples").join(format!("gemm{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is not there; `cargo test -p examples` builds it", program.display());
    program
}

#[test]
fn the_process_answers_on_stdout_and_complains_on_stderr() {
    let scene = Scene::new();
    let run = |arguments: &[&str]| {
        let line = scene.line(arguments);
        Command::new(program()).args(&line[1..]).env("TILE_DEVICE", "host").output().expect("runs")
    };
    let good = run(&["--no-check"]);
    let err = String::from_utf8(good.stderr).expect("text");
    assert!(good.status.success() && complaints(&err).is_empty(), "{err}");
    let out = String::from_utf8(good.stdout).expect("text");
    assert!(out.contains("TILE_DEVICE=host asks for it") && out.contains("771 of 797"), "{out}");
    let bad = run(&["--a", "@none.npy", "--b", "@none.npy"]);
    assert_eq!((bad.status.code(), bad.stdout.len()), (Some(1), 0));
    assert_eq!(complaints(&String::from_utf8(bad.stderr).expect("text")).len(), 1);
    assert_eq!(run(&["--nonsense"]).status.code(), Some(2));
    assert_eq!(run(&["--help"]).status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_does_not_stop_the_work() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[4, 4], whole);
    let line = scene.line(&["--a", "@a.npy", "--b", "@a.npy", "--out", "@c.npy"]);
    let mut child = Command::new(program())
        .args(&line[1..])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take()); // before or while it writes: both must end well
    let output = child.wait_with_output().expect("ends");
    let err = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && complaints(&err).is_empty(), "{err}");
    assert_eq!(scene.read("c.npy").shape(), [4, 4]);
}

/// A limit on the size of files fails a write in the middle, as a full disk does.
#[cfg(unix)]
#[test]
fn a_write_that_fails_halfway_leaves_nothing() {
    let scene = Scene::new();
    scene.write_f32("a.npy", &[100, 1], whole);
    scene.write_f32("b.npy", &[1, 100], whole);
    scene.write_bytes("c.npy", b"old");
    let before = scene.files();
    for name in ["@c.npy", "@new.safetensors"] {
        let line = scene.line(&["--a", "@a.npy", "--b", "@b.npy", "--out", name]);
        // 8 blocks are 4 KiB or 8 KiB, by shell; the product has 40,000 bytes.
        let output = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
            .arg(program())
            .args(&line[1..])
            .output()
            .expect("runs");
        let err = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(
            complaints(&err).len() == 1 && err.contains(&name[1..]) && err.contains("cannot write"),
            "{err}"
        );
        assert_eq!(scene.files(), before);
    }
}
