//! The crate graph: which crate of the workspace may depend on which.
//!
//! *Guarantees*: an edge that is not in the tables is named. Above all the simulator depends on no crate that takes
//! part in compiling, or a wrong lowering would agree with itself. *Not here*: crates from outside, except that
//! tile-ir has none.

use std::collections::BTreeSet;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Edges of the library crates, as (crate, crates it may depend on).
const EDGES: &[(&str, &[&str])] = &[
    ("tile-ir", &[]),
    ("tile-spirv", &["tile-ir"]),
    ("tile-front", &["tile-ir", "tile-spirv"]),
    ("tile-macros", &["tile-front"]),
    ("tile-lang", &["tile-ir"]),
    ("tile-sim", &[]),
    // tile-sim is a device behind the feature `sim`, so the edge must be optional.
    ("tile-runtime", &["tile-lang", "tile-sim"]),
    ("tile-std", &["tile-lang", "tile-macros", "tile-runtime"]),
    // Its fuzzer compares the meaning of kernels with what the simulator makes of their words.
    ("tile-cli", &["tile-front", "tile-ir", "tile-lang", "tile-runtime", "tile-sim", "tile-std"]),
    ("examples", &["tile-std"]),
    // A benchmark of machine code counts as `cargo tile inspect` does.
    ("benches", &["tile-cli", "tile-front", "tile-runtime", "tile-std"]),
    (
        "ui-tests",
        &["tile-front", "tile-ir", "tile-lang", "tile-runtime", "tile-sim", "tile-spirv", "tile-std"],
    ),
    ("xtask", &[]),
];

/// Edges that exist for tests, examples and benchmarks of a crate only.
const DEV_EDGES: &[(&str, &[&str])] = &[
    // What the lowering emits is executed where it is made. The other direction stays forbidden.
    ("tile-spirv", &["tile-sim"]),
    ("tile-front", &["tile-sim"]),
    ("tile-macros", &["tile-std"]),
    ("tile-std", &["tile-sim"]),
    ("examples", &["tile-runtime"]),
    ("benches", &["tile-front", "tile-ir", "tile-runtime", "tile-sim", "tile-spirv", "tile-std"]),
    (
        "ui-tests",
        &["tile-front", "tile-ir", "tile-lang", "tile-runtime", "tile-sim", "tile-spirv", "tile-std"],
    ),
];

/// Edges that must be optional.
const OPTIONAL: &[(&str, &str)] = &[("tile-runtime", "tile-sim")];

/// Crates without any dependency, from outside or inside.
const ALONE: &[&str] = &["tile-ir"];

/// One dependency of a workspace crate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Edge {
    from: String,
    to: String,
    dev: bool,
    optional: bool,
    inside: bool,
}

/// Checks the workspace at `workspace` against the tables.
///
/// # Errors
/// With one line per wrong edge.
pub fn check(workspace: &Path) -> Result<(), String> {
    let metadata = MetadataCommand::new()
        .manifest_path(workspace.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| error.to_string())?;
    let crates: BTreeSet<String> = metadata.packages.iter().map(|p| p.name.to_string()).collect();
    let edges: Vec<Edge> = metadata
        .packages
        .iter()
        .flat_map(|package| {
            package.dependencies.iter().map(|dependency| Edge {
                from: package.name.to_string(),
                to: dependency.name.clone(),
                dev: dependency.kind == DependencyKind::Development,
                optional: dependency.optional,
                inside: crates.contains(&dependency.name),
            })
        })
        .collect();
    let problems = problems(&crates, &edges);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn problems(crates: &BTreeSet<String>, edges: &[Edge]) -> Vec<String> {
    let mut problems = Vec::new();
    for name in crates {
        if !EDGES.iter().any(|(known, _)| known == name) {
            problems
                .push(format!("crate {name} is not in the crate graph; add its row to xtask/src/graph.rs"));
        }
    }
    for edge in edges {
        let Edge { from, to, .. } = edge;
        let kind = if edge.dev { "dev-dependency" } else { "dependency" };
        if !edge.dev && ALONE.contains(&from.as_str()) {
            problems.push(format!("{from} -> {to}: {from} must have no {kind} at all"));
        } else if edge.inside {
            let allowed = |table: &[(&str, &[&str])]| {
                table.iter().any(|(known, targets)| known == from && targets.contains(&to.as_str()))
            };
            if !(allowed(EDGES) || edge.dev && allowed(DEV_EDGES)) {
                problems.push(format!("{from} -> {to}: this {kind} is not in the crate graph"));
            } else if !edge.dev && !edge.optional && OPTIONAL.contains(&(from.as_str(), to.as_str())) {
                problems.push(format!("{from} -> {to}: this {kind} must be optional"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_keeps_to_the_graph() {
        if let Err(problems) = check(&crate::workspace()) {
            panic!("{problems}");
        }
    }

    fn edge(from: &str, to: &str) -> Edge {
        Edge {
            from: from.into(),
            to: to.into(),
            dev: false,
            optional: false,
            inside: to.starts_with("tile-"),
        }
    }

    fn problems_of(edge: Edge) -> Vec<String> {
        problems(&EDGES.iter().map(|(name, _)| (*name).to_owned()).collect(), &[edge])
    }

    #[test]
    fn a_wrong_edge_is_named() {
        let wrong = problems_of(edge("tile-sim", "tile-ir"));
        assert_eq!(wrong, ["tile-sim -> tile-ir: this dependency is not in the crate graph"]);
        let dev = Edge { dev: true, ..edge("tile-sim", "tile-spirv") };
        assert_eq!(
            problems_of(dev),
            ["tile-sim -> tile-spirv: this dev-dependency is not in the crate graph"]
        );
        assert_eq!(problems_of(edge("tile-ir", "half")).len(), 1);
        assert_eq!(problems_of(edge("tile-runtime", "tile-sim")).len(), 1);
        assert_eq!(problems(&["stray".to_owned()].into(), &[]).len(), 1);
    }

    #[test]
    fn the_edges_of_the_design_are_allowed() {
        for (from, to) in [("tile-spirv", "tile-ir"), ("tile-std", "tile-macros"), ("tile-sim", "rspirv")] {
            assert_eq!(problems_of(edge(from, to)), Vec::<String>::new());
        }
        assert!(problems_of(Edge { optional: true, ..edge("tile-runtime", "tile-sim") }).is_empty());
        assert!(problems_of(Edge { dev: true, ..edge("tile-spirv", "tile-sim") }).is_empty());
    }

    /// The simulator must not reach the compiler through others either, whatever the tables are changed to.
    #[test]
    fn the_tables_keep_the_simulator_apart() {
        for table in [EDGES, DEV_EDGES] {
            assert!(table.iter().all(|(from, targets)| *from != "tile-sim" || targets.is_empty()));
        }
    }
}
