//! Facts about the machine, without which times mean nothing.

use std::fs;
use std::path::Path;

/// One line each: processor, system, compiler, file system.
pub fn facts(directory: &Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let processor = field(
        &fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
        "model name",
    )
    .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "{cores} cores, {processor}; {} {}; {}; {}; load {}.\n",
        std::env::consts::OS,
        kernel.trim(),
        env!("BENCHES_RUSTC_VERSION"),
        file_system(directory),
        load.split_whitespace().next().unwrap_or("unknown"),
    )
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The type of the file system that a directory is on: the longest mount point that leads to it.
fn file_system(directory: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let directory = directory.canonicalize().unwrap_or_default();
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(point, _)| directory.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map_or_else(|| "unknown file system".to_owned(), |(_, kind)| kind.to_owned())
}
