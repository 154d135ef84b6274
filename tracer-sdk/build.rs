//! Hands the compiler's version to the SDK, which writes it into every run (decisions, section 1).

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=RUSTC");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    // `rustc 1.95.0 (59807616e 2026-04-14)`: the first two words.
    let mut words = version.split_whitespace();
    let name = words.next().unwrap_or("rustc");
    let number = words.next().unwrap_or("unknown");
    println!("cargo::rustc-env=TRACER_RUSTC_VERSION={name} {number}");
}
