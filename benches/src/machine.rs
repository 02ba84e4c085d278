//! Owns what a report says about the machine: cores, SIMD level, and whether others were using it.

use tile_std::Device;

/// A line that names the machine and the host device as it runs here.
pub fn describe(device: &Device) -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let model = cpu_model().unwrap_or_else(|| format!("an unknown {} CPU", std::env::consts::ARCH));
    format!("{model}, {cores} cores; tile device: {device}; {}", load())
}

/// What others do on the machine, as far as the system tells.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    match text.split_whitespace().next() {
        Some(minute) => format!("load average {minute}"),
        None => "load unknown".to_string(),
    }
}

fn cpu_model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| -> Option<String> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let name = field("model name")?;
    Some(match (field("cpu family"), field("model\t")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    })
}
