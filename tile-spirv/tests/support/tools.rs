//! Owns the calls of the outside tools: spirv-val and Intel's offline compiler.
//!
//! *Assumes* `scripts/get-tools` put them into `target/tools` (or `TILE_TOOLS_DIR`). Without them a test is skipped and
//! says so; with `TILE_REQUIRE_TOOLS=1` their absence is a failure.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tile_spirv::Module;

/// Where the programs are.
pub struct Tools {
    bin: PathBuf,
}

/// Machine code as far as the tests look at it.
pub struct Compiled {
    /// All instructions up to the end of the thread.
    pub instructions: usize,
    /// Exponentials and reciprocals of 16 lanes.
    pub wide_exp: usize,
    pub wide_inv: usize,
    /// 16-byte parts that each lane loads from addresses of its own.
    pub wide_loads: usize,
    /// 16-byte parts that each lane stores likewise.
    pub wide_stores: usize,
    pub spill: u32,
    pub registers: u32,
    /// Dpas instructions that read a null accumulator.
    pub null_dpas: usize,
    /// Loops that hold dpas, in program order: dpas and other instructions.
    pub loops: Vec<(usize, usize)>,
}

impl Tools {
    /// The tools, or `None` (after saying that `what` is skipped) where they are not installed.
    pub fn find(what: &str) -> Option<Tools> {
        let root = std::env::var_os("TILE_TOOLS_DIR")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools"), PathBuf::from);
        let bin = root.join("bin");
        if ["spirv-val", "ocloc"].iter().all(|t| bin.join(t).is_file()) {
            return Some(Tools { bin });
        }
        let required = std::env::var_os("TILE_REQUIRE_TOOLS").is_some_and(|v| !v.is_empty() && v != "0");
        assert!(!required, "no tools in {}; run scripts/get-tools", bin.display());
        eprintln!("skipped: {what} (no tools in {}; run scripts/get-tools)", bin.display());
        None
    }

    fn folder() -> PathBuf {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tile-spirv-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    }

    fn write(folder: &Path, module: &Module) {
        let bytes: Vec<u8> = module.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(folder.join("m.spv"), bytes).expect("writable");
    }

    /// What spirv-val says, if it is not content.
    pub fn validate(&self, module: &Module) -> Result<(), String> {
        let folder = Tools::folder();
        Tools::write(&folder, module);
        let done = Command::new(self.bin.join("spirv-val"))
            .args(["--target-env", "opencl2.2", "m.spv"])
            .current_dir(&folder)
            .output()
            .expect("spirv-val runs");
        std::fs::remove_dir_all(&folder).expect("removable");
        let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        if done.status.success() && text.is_empty() { Ok(()) } else { Err(text) }
    }

    /// Compiles a module for a device with the options it names.
    pub fn compile(&self, module: &Module, device: &str) -> Compiled {
        let folder = Tools::folder();
        Tools::write(&folder, module);
        let options = format!("{} -igc_opts '{}'", module.options.join(" "), module.igc_options.join(","));
        let ocloc = |args: &[&str]| {
            let done = Command::new(self.bin.join("ocloc")).args(args).current_dir(&folder).output();
            let done = done.expect("ocloc runs");
            let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
            assert!(done.status.success(), "{} for {device}: {said}", module.entry);
        };
        let input = ["compile", "-spirv_input", "-file", "m.spv", "-device", device];
        ocloc(&[&input[..], &["-output", "m", "-output_no_suffix", "-options", &options]].concat());
        ocloc(&["disasm", "-file", "m.bin", "-device", device, "-dump", "parts"]);
        let read = |name: String| {
            std::fs::read_to_string(folder.join("parts").join(&name))
                .unwrap_or_else(|e| panic!("{name} of {device}: {e}"))
        };
        let asm = read(format!(".text.{}.asm", module.entry));
        let info = read(".ze_info".into());
        std::fs::remove_dir_all(&folder).expect("removable");
        let number = |key: &str| {
            info.lines().find_map(|l| l.trim().strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok())
        };
        let list: Vec<&str> = instructions(&asm).into_iter().filter(|l| !l.ends_with(':')).collect();
        let count = |what: &str| list.iter().filter(|l| l.contains(what)).count();
        let per_lane =
            |what: &str| count(&format!("{what}.ugm.d32x4.")) + 2 * count(&format!("{what}.ugm.d32x8."));
        Compiled {
            instructions: list.len(),
            wide_exp: count("math.exp (16|"),
            wide_inv: count("math.inv (16|"),
            wide_loads: per_lane("load"),
            wide_stores: per_lane("store"),
            spill: number("spill_size").unwrap_or(0),
            registers: number("grf_count").expect("the register count"),
            null_dpas: asm.lines().filter(|l| l.contains("dpas") && l.contains("null")).count(),
            loops: loops(&asm),
        }
    }
}

/// Instructions up to the end of thread; labels end in a colon.
fn instructions(asm: &str) -> Vec<&str> {
    let mut out = vec![];
    for line in asm.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")) {
        out.push(line);
        if line.contains("EOT") {
            break;
        }
    }
    out
}

/// Finds jumps back to a label and counts what lies between, if dpas is among it.
fn loops(asm: &str) -> Vec<(usize, usize)> {
    let list = instructions(asm);
    let mut out = vec![];
    for (end, line) in list.iter().enumerate() {
        if !["jmpi", "while", "goto"].iter().any(|jump| line.contains(jump)) {
            continue;
        }
        let targets = line.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
        let Some(begin) = targets
            .filter(|w| w.starts_with('L'))
            .find_map(|w| list[..end].iter().position(|l| l.strip_suffix(':') == Some(w)))
        else {
            continue;
        };
        let body: Vec<&&str> = list[begin..=end].iter().filter(|l| !l.ends_with(':')).collect();
        let dpas = body.iter().filter(|l| l.contains("dpas")).count();
        if dpas > 0 {
            out.push((dpas, body.len() - dpas));
        }
    }
    out
}
