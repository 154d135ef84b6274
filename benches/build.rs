//! Tells the report which compiler built it.

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let output = std::process::Command::new(compiler).arg("--version").output();
    let version = output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    let short: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=BENCHES_RUSTC_VERSION={}", short.join(" "));
    println!("cargo::rerun-if-changed=build.rs");
}
