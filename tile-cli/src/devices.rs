//! Lists devices and the cache of their programs.
//!
//! *Guarantees*: every device is listed, usable or not, by the value of `TILE_DEVICE` that selects it; one that cannot
//! be used says what it lacks. *Not here*: choosing (`tile_runtime`).

use std::io;

use tile_runtime::Device;
use tile_runtime::cache::Cache;

use crate::table::align;

/// The devices of this machine.
pub fn text() -> String {
    let row = |cells: [&str; 4]| cells.map(str::to_string).to_vec();
    let mut rows = vec![row(["TILE_DEVICE", "takes", "driver", "device"])];
    rows.push(row(["host", "host bodies", "-", &Device::host().to_string()]));
    rows.push(row(["sim", "xe", "-", &Device::sim().to_string()]));
    rows.push(row(["sim:lane", "lane", "-", &Device::sim_lane().to_string()]));
    let (opencl, notes) = opencl();
    rows.extend(opencl);
    let best = match Device::best() {
        Ok((device, why)) => format!("chosen now: {device}, because {why}\n"),
        Err(error) => format!("chosen now: none: {error}\n"),
    };
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    format!("{}\n{notes}{best}", align(&rows))
}

/// A row for each OpenCL device, and what is to be said of them.
#[cfg(feature = "opencl")]
fn opencl() -> (Vec<Vec<String>>, Vec<String>) {
    use tile_runtime::opencl::Devices;

    match Devices::of_process() {
        Ok(devices) => described(devices.all()),
        Err(error) => (vec![], vec![format!("no OpenCL devices: {error}")]),
    }
}

#[cfg(not(feature = "opencl"))]
fn opencl() -> (Vec<Vec<String>>, Vec<String>) {
    let note = "this build did not look for OpenCL devices: it lacks the feature `opencl`";
    (vec![], vec![note.to_string()])
}

#[cfg(feature = "opencl")]
fn described(found: &[tile_runtime::opencl::Found]) -> (Vec<Vec<String>>, Vec<String>) {
    use tile_runtime::opencl::facts::{Kind, list};

    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    if found.is_empty() {
        notes.push("no OpenCL devices: the library is there, but no driver".to_string());
    }
    for (index, found) in found.iter().enumerate() {
        let (facts, name) = (&found.facts, format!("opencl:{index}"));
        let takes = match &found.device {
            Ok(device) => device.target().to_string(),
            Err(lacks) => {
                notes.push(format!("{name} cannot be used: {}", list(lacks)));
                "nothing".to_string()
            }
        };
        // What makes the driver of a GPU new enough is in its extensions, see `facts`.
        let driver = match (facts.kind, &found.device) {
            (Kind::Gpu, Ok(_)) => format!("{} (new enough)", facts.driver),
            (Kind::Gpu | Kind::Cpu | Kind::Other, _) => facts.driver.clone(),
        };
        let memory = facts.memory_bytes >> 30;
        let device = format!("{}, {}, {memory} GiB", facts.name, facts.platform);
        rows.push(vec![name, takes, driver, device]);
    }
    (rows, notes)
}

/// What a cache of compiled programs holds, after emptying it if `clear`; `None` is a user without a cache.
///
/// # Errors
/// Of the file system.
pub fn cache_text(cache: Option<&Cache>, clear: bool) -> io::Result<String> {
    let Some(cache) = cache else {
        return Ok("there is no cache: TILE_CACHE_DIR is `off`, or there is no home folder\n".to_string());
    };
    let (verb, contents) = if clear { ("removed", cache.clear()?) } else { ("holds", cache.contents()?) };
    let (entries, kib) = (contents.entries, contents.bytes.div_ceil(1024));
    let folder = cache.folder().display();
    Ok(if clear {
        format!("{verb} {entries} programs ({kib} KiB) from {folder}\n")
    } else {
        format!("{folder} {verb} {entries} programs ({kib} KiB)\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_build_lists_host_and_simulator() {
        let text = text();
        let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names[..3], ["TILE_DEVICE", "host", "sim"], "{text}");
        assert!(text.contains("chosen now: "), "{text}");
    }

    #[test]
    fn the_cache_is_shown_and_cleared() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::in_folder(folder.path());
        let text = |clear| cache_text(Some(&cache), clear).expect("readable");
        let at = folder.path().display();
        assert_eq!(text(false), format!("{at} holds 0 programs (0 KiB)\n"));
        for key in [b"1", b"2"] {
            cache.put(key, &[7; 900]).expect("writable");
        }
        assert_eq!(text(false), format!("{at} holds 2 programs (2 KiB)\n"));
        assert_eq!(text(true), format!("removed 2 programs (2 KiB) from {at}\n"));
        assert_eq!((cache.get(b"1"), text(true)), (None, format!("removed 0 programs (0 KiB) from {at}\n")));
        assert!(cache_text(None, true).expect("nothing to read").starts_with("there is no cache"));
    }

    #[cfg(feature = "opencl")]
    #[test]
    fn a_device_that_cannot_be_used_says_what_it_lacks() {
        use tile_runtime::opencl::Found;
        use tile_runtime::opencl::facts::{DeviceFacts, INTEL, Kind};

        let facts = DeviceFacts {
            platform: "A platform".into(),
            name: "An old GPU".into(),
            kind: Kind::Gpu,
            vendor: INTEL,
            version: "OpenCL 3.0".into(),
            driver: "1.2.3".into(),
            spir_v: vec![(1, 2)],
            extensions: vec![],
            subgroup_sizes: vec![8, 16],
            architecture: None,
            local_bytes: 1 << 16,
            memory_bytes: 8 << 30,
            largest_buffer_bytes: 1 << 30,
            max_work_group: 512,
            shares_memory: false,
            part_align: 128,
        };
        let device = Err(facts.target().expect_err("no block I/O"));
        let (rows, notes) = described(&[Found { facts, device }]);
        assert_eq!(rows, [["opencl:0", "nothing", "1.2.3", "An old GPU, A platform, 8 GiB"]]);
        assert!(notes[0].starts_with("opencl:0 cannot be used: a GPU must have 2-D block I/O"), "{notes:?}");
        assert_eq!(described(&[]).1, ["no OpenCL devices: the library is there, but no driver"]);
    }
}
