//! Which machine a result was measured on.

use fabproj::core::kernel::Kernel;

/// Its processor, cores and instructions, as far as they can be known.
pub(crate) fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let set = Kernel::detect().instruction_set();
    let build = if cfg!(debug_assertions) {
        "development"
    } else {
        "release"
    };
    format!("{}, {cores} cores, {set:?}, {build} build", processor())
}

fn processor() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = known.lines().find(|line| line.starts_with("model name"));
    let name = line
        .and_then(|line| line.split_once(':'))
        .map(|(_, name)| name.trim());
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}
