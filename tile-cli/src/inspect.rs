//! Figures of a built instance: registers, spills, and what one trip through the innermost K loop costs.
//!
//! *Guarantees*: the JSON field names are stable; "other" is every instruction of the loop that is not DPAS (xe_facts
//! §10 counts the same way); bytes come from the compiler's own vISA text and are reported only when its loop has the
//! same number of DPAS, loads, prefetches and stores as the machine code's. *Not here*: pass or fail ([`crate::verify`]).

use serde::{Serialize, Serializer};

use crate::asm::{Instruction, Kind};
use crate::interior::{Counts, interior, trip};
use crate::listing::{Line, innermost_with, instructions};
use crate::module::ModuleInput;
use crate::ocloc::{self, OclocError};
use crate::tools::Tools;
use crate::visa::{self, LoopTraffic};
use crate::zeinfo::{self, ZeInfoError};

/// Figures of one instance on one device.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Name of the kernel.
    pub kernel: String,
    /// Instance, as written in the kernel's attribute.
    pub instance: String,
    /// Device the machine code is for.
    pub device: String,
    /// Build options used.
    pub options: String,
    /// Registers per thread.
    pub grf_count: u64,
    /// Threads per vector engine.
    pub eu_threads: u64,
    /// Spilled bytes per thread.
    pub spill_bytes: u64,
    /// Scratch bytes per thread, spills included.
    pub scratch_bytes: u64,
    /// Shared local memory per work-group, in bytes.
    pub slm_bytes: u64,
    /// Instructions of the whole kernel.
    pub instructions: u64,
    /// The instructions that a tile well inside its tensors runs, every loop once; `null` for a kernel that stores nothing.
    pub interior: Option<Counts>,
    /// The instructions of a trip through the loop with DPAS, or with wide loads where there is no DPAS, well inside the tensors;
    /// `null` for a kernel without such a loop.
    pub trip: Option<Counts>,
    /// Number of innermost loops with DPAS. With more than one, the figures are those of the loop that runs the fewest
    /// instructions per DPAS: the interior loop, beside one that masks edges.
    pub loops: u64,
    /// The innermost K loop; every field is `null` in JSON when no loop holds DPAS.
    #[serde(flatten, serialize_with = "loop_or_nulls")]
    pub k_loop: Option<LoopFigures>,
}

/// Figures of one iteration of a loop, per sub-group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopFigures {
    /// DPAS instructions.
    pub dpas: u64,
    /// 2-D block loads.
    pub block_loads: u64,
    /// 2-D block prefetches.
    pub prefetches: u64,
    /// 2-D block stores.
    pub stores: u64,
    /// Instructions that are not DPAS, messages included.
    pub other: u64,
    /// Of these, arithmetic of several lanes.
    pub alu: u64,
    /// Of these, arithmetic of one lane.
    pub scalar: u64,
    /// Of these, `math`, which takes four times as long.
    pub math: u64,
    /// Of these, waits.
    pub sync: u64,
    /// Messages to scratch memory.
    pub scratch_messages: u64,
    /// Comparisons; the loop's own end test is one.
    pub compares: u64,
    /// Selects.
    pub selects: u64,
    /// Predicated instructions, branches not included.
    pub predicated: u64,
    /// Whether values are masked inside the loop (selects or predicated instructions).
    pub masked: bool,
    /// Bytes the loads bring; `None` when vISA could not be matched with the machine code.
    pub bytes_loaded: Option<u64>,
    /// Bytes the prefetches bring; `None` as above.
    pub bytes_prefetched: Option<u64>,
    /// Bytes the stores write; `None` as above.
    pub bytes_stored: Option<u64>,
    /// Why bytes are missing; `None` when they are there.
    pub bytes_note: Option<String>,
}

/// Why an instance cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// It did not build.
    #[error(transparent)]
    Ocloc(#[from] OclocError),
    /// The compiler's description cannot be read.
    #[error(transparent)]
    ZeInfo(#[from] ZeInfoError),
}

/// Names of the loop fields, for the `null`s of a kernel without a DPAS loop.
const LOOP_FIELDS: [&str; 18] = [
    "dpas",
    "block_loads",
    "prefetches",
    "stores",
    "other",
    "alu",
    "scalar",
    "math",
    "sync",
    "scratch_messages",
    "compares",
    "selects",
    "predicated",
    "masked",
    "bytes_loaded",
    "bytes_prefetched",
    "bytes_stored",
    "bytes_note",
];

fn loop_or_nulls<S: Serializer>(figures: &Option<LoopFigures>, serializer: S) -> Result<S::Ok, S::Error> {
    match figures {
        Some(figures) => figures.serialize(serializer),
        None => serializer.collect_map(LOOP_FIELDS.iter().map(|name| (name, None::<u64>))),
    }
}

/// Builds `module` for `device` and returns its figures.
///
/// # Errors
/// When the module does not build.
pub fn inspect(tools: &Tools, module: &ModuleInput, device: &str) -> Result<Figures, InspectError> {
    let compiled = ocloc::compile(tools, module, device)?;
    let environment = zeinfo::parse(&compiled.ze_info, &module.entry)?;
    let lines = crate::asm::parse(&compiled.asm);
    let loops = dpas_loops(&lines);
    let mut k_loop = cheapest(&loops).cloned();
    if let Some(figures) = &mut k_loop {
        match visa_traffic(tools, module, device, figures) {
            Ok(traffic) => {
                figures.bytes_loaded = Some(traffic.bytes_loaded);
                figures.bytes_prefetched = Some(traffic.bytes_prefetched);
                figures.bytes_stored = Some(traffic.bytes_stored);
            }
            Err(note) => figures.bytes_note = Some(note),
        }
    }
    Ok(Figures {
        kernel: module.kernel.clone(),
        instance: module.instance.clone(),
        device: device.to_owned(),
        options: module.build_options(&[]),
        grf_count: environment.grf_count,
        eu_threads: environment.eu_threads,
        spill_bytes: environment.spill_bytes,
        scratch_bytes: environment.scratch_bytes,
        slm_bytes: environment.slm_bytes,
        instructions: instructions(&lines).count() as u64,
        interior: interior(&lines),
        trip: trip(&lines),
        loops: loops.len() as u64,
        k_loop,
    })
}

/// Returns the loop with the fewest instructions per DPAS.
fn cheapest(loops: &[LoopFigures]) -> Option<&LoopFigures> {
    // Every loop here holds DPAS, so comparing a.other / a.dpas with b.other / b.dpas needs no division.
    loops.iter().min_by(|a, b| (a.other * b.dpas).cmp(&(b.other * a.dpas)))
}

/// Returns the figures of every innermost loop with DPAS, bytes not yet filled in.
pub fn dpas_loops(lines: &[Line<Instruction>]) -> Vec<LoopFigures> {
    innermost_with(lines, |instruction| instruction.kind == Kind::Dpas)
        .into_iter()
        .map(|range| {
            let body = &lines[range];
            let count = |kind: Kind| instructions(body).filter(|i| i.kind == kind).count() as u64;
            let counts = Counts::of(instructions(body));
            let dpas = counts.dpas;
            let selects = count(Kind::Select);
            let predicated = instructions(body).filter(|i| i.predicated).count() as u64;
            LoopFigures {
                dpas,
                block_loads: count(Kind::BlockLoad),
                prefetches: count(Kind::BlockPrefetch),
                stores: count(Kind::BlockStore),
                other: counts.total() - dpas,
                alu: counts.alu,
                scalar: counts.scalar,
                math: counts.math,
                sync: counts.sync,
                scratch_messages: count(Kind::Scratch),
                compares: count(Kind::Compare),
                selects,
                predicated,
                masked: selects + predicated > 0,
                bytes_loaded: None,
                bytes_prefetched: None,
                bytes_stored: None,
                bytes_note: None,
            }
        })
        .collect()
}

/// Returns the traffic of the vISA loop with the same messages as `figures`, or why there is none.
fn visa_traffic(
    tools: &Tools,
    module: &ModuleInput,
    device: &str,
    figures: &LoopFigures,
) -> Result<LoopTraffic, String> {
    let text = ocloc::visa(tools, module, device).map_err(|error| error.to_string())?;
    let loops = visa::loop_traffic(&text, &module.entry).map_err(|error| error.to_string())?;
    matching_traffic(&loops, figures)
}

fn matching_traffic(loops: &[LoopTraffic], figures: &LoopFigures) -> Result<LoopTraffic, String> {
    let mut matching = loops.iter().filter(|traffic| {
        (traffic.dpas, traffic.loads, traffic.prefetches, traffic.stores)
            == (figures.dpas, figures.block_loads, figures.prefetches, figures.stores)
    });
    let first = matching.next().ok_or("no vISA loop has the same messages as the machine code")?;
    if matching.any(|other| other != first) {
        return Err("two vISA loops have the same messages but move different numbers of bytes".to_owned());
    }
    Ok(*first)
}

/// Lays figures out as a table for people.
pub fn table(figures: &[Figures]) -> String {
    let mut rows = vec![
        [
            "kernel",
            "instance",
            "device",
            "GRF",
            "threads",
            "spill",
            "loops",
            "dpas",
            "other",
            "loads",
            "prefetches",
            "stores",
            "B loaded",
            "B prefetched",
            "instructions",
            "interior",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for f in figures {
        let of_loop = |get: &dyn Fn(&LoopFigures) -> Option<u64>| {
            f.k_loop.as_ref().and_then(get).map_or("-".to_owned(), |value| value.to_string())
        };
        rows.push(vec![
            f.kernel.clone(),
            if f.instance.is_empty() { "-".to_owned() } else { f.instance.clone() },
            f.device.clone(),
            f.grf_count.to_string(),
            f.eu_threads.to_string(),
            f.spill_bytes.to_string(),
            f.loops.to_string(),
            of_loop(&|l| Some(l.dpas)),
            of_loop(&|l| Some(l.other)),
            of_loop(&|l| Some(l.block_loads)),
            of_loop(&|l| Some(l.prefetches)),
            of_loop(&|l| Some(l.stores)),
            of_loop(&|l| l.bytes_loaded),
            of_loop(&|l| l.bytes_prefetched),
            f.instructions.to_string(),
            f.interior.map_or("-".to_owned(), |counts| counts.total().to_string()),
        ]);
    }
    let mut text = crate::table::align(&rows);
    for f in figures {
        if let Some(note) = f.k_loop.as_ref().and_then(|l| l.bytes_note.as_ref()) {
            text.push_str(&format!(
                "note: {} {} on {}: bytes unknown: {note}\n",
                f.kernel, f.instance, f.device
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(dpas: u64, other: u64) -> LoopFigures {
        LoopFigures {
            dpas,
            block_loads: 3,
            prefetches: 0,
            stores: 0,
            other,
            alu: 0,
            scalar: 0,
            math: 0,
            sync: 0,
            scratch_messages: 0,
            compares: 1,
            selects: 0,
            predicated: 0,
            masked: false,
            bytes_loaded: None,
            bytes_prefetched: None,
            bytes_stored: None,
            bytes_note: None,
        }
    }

    fn traffic(bytes_loaded: u64) -> LoopTraffic {
        LoopTraffic { dpas: 32, loads: 3, bytes_loaded, ..LoopTraffic::default() }
    }

    #[test]
    fn the_interior_loop_is_the_one_with_the_fewest_instructions_per_dpas() {
        let loops = [figures(32, 60), figures(32, 12), figures(16, 11)];
        assert_eq!(cheapest(&loops), Some(&loops[1]));
    }

    #[test]
    fn an_edge_loop_beside_the_interior_one_is_counted_and_not_chosen() {
        let message = "send.ugm (1|M0) r36 r253 null:0 0x0 0x03F00283 // load_block2d.ugm.d16v.a64\n";
        let dpas = "dpas.8x8 (16|M0) r245:f r245:f r36:bf r2.0:bf\n";
        let text = format!(
            "L8:\n{message}{dpas}(~f1.0) mov (16|M0) r2.0<1>:uw 0x0:uw\n(f0.0) sel (16|M0) r3:f r3:f 0x0:f\n\
             (W&f0.0) jmpi L8\nL80:\n{message}{dpas}(W&f0.0) jmpi L80\n\
             send.gtwy (1|M0) null r255 null:0 0x0 0x02000010 {{EOT}} // end of thread\n"
        );
        let loops = dpas_loops(&crate::asm::parse(&text));
        let seen: Vec<_> = loops.iter().map(|l| (l.dpas, l.other, l.block_loads, l.masked)).collect();
        assert_eq!(seen, [(1, 4, 1, true), (1, 2, 1, false)]);
        assert_eq!(cheapest(&loops), Some(&loops[1]));
    }

    #[test]
    fn bytes_are_taken_only_from_a_loop_with_the_same_messages() {
        assert_eq!(matching_traffic(&[traffic(6144)], &figures(32, 12)).map(|t| t.bytes_loaded), Ok(6144));
        assert!(matching_traffic(&[traffic(6144)], &figures(16, 12)).is_err());
        // The same loop twice (interior and edge) is no contradiction; different shapes are.
        assert!(matching_traffic(&[traffic(6144), traffic(6144)], &figures(32, 12)).is_ok());
        assert!(matching_traffic(&[traffic(6144), traffic(4096)], &figures(32, 12)).is_err());
    }

    #[test]
    fn a_kernel_without_a_loop_has_the_same_json_fields() {
        let mut row = Figures {
            kernel: "k".into(),
            instance: String::new(),
            device: "pvc".into(),
            options: String::new(),
            grf_count: 128,
            eu_threads: 8,
            spill_bytes: 0,
            scratch_bytes: 0,
            slm_bytes: 0,
            instructions: 9,
            interior: None,
            trip: None,
            loops: 0,
            k_loop: None,
        };
        let keys = |row: &Figures| -> Vec<String> {
            let value = serde_json::to_value(row).expect("serialises");
            value.as_object().expect("an object").keys().cloned().collect()
        };
        let without = keys(&row);
        row.k_loop = Some(figures(32, 12));
        assert_eq!(without, keys(&row));
        for field in ["grf_count", "eu_threads", "spill_bytes", "dpas", "other", "bytes_prefetched"] {
            assert!(without.iter().any(|key| key == field), "{field}");
        }
    }
}
