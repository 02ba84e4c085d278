//! Owns what tests of figures from Intel's compiler share: the tools, and the figures of an instance.

use tile_cli::inspect::{Figures, inspect};
use tile_cli::kernels;
use tile_cli::tools::{Tools, tools_required};

/// The tools, or the word that a test is skipped without them.
pub fn tools(test: &str) -> Option<Tools> {
    match Tools::find() {
        Ok(tools) => Some(tools),
        Err(error) if tools_required() => panic!("{error}"),
        Err(error) => {
            eprintln!("skipped: {test}: {error}");
            None
        }
    }
}

/// The figures of a kernel's instance on a device.
pub fn figures(tools: &Tools, (kernel, name): (&str, &str), device: &str) -> Figures {
    let kernel = kernels::find(kernels::registry(), kernel).expect("tile-std has it");
    let instance = kernel.find_named(name).unwrap_or_else(|| panic!("{name} is not compiled"));
    let modules = kernels::modules(instance);
    let module = modules.iter().find(|m| m.devices.iter().any(|d| d == device)).expect("an xe module");
    inspect(tools, module, device).unwrap_or_else(|e| panic!("{name} on {device}: {e}"))
}
