//! The floors of this workspace: which package may know which, and which module of a package.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The packages that users get, from the lowest floor up; each knows only those before it. A new package gets a place.
const FLOORS: [&str; 14] = [
    "tracer-macros",
    "tracer-format",
    "tracer-providers",
    "tracer-sdk",
    "tracer-runs",
    "tracer-insight",
    "tracer-capture",
    "tracer-gate",
    "tracer-export",
    "tracer-catalog",
    "tracer-ship",
    "tracer-view",
    "tracer-mcp",
    "tracer-cli",
];

/// Arguments and terminals belong to the command.
const ONLY_THE_COMMAND: [&str; 5] = ["anstream", "anstyle", "clap", "indicatif", "terminal_size"];

/// What programs that record must not get with the SDK's default features: runtimes, HTTP, parsers of the gate.
const NEVER_IN_THE_SDK: [&str; 13] = [
    "axum",
    "hyper",
    "object_store",
    "rayon",
    "reqwest",
    "rustls",
    "schemars",
    "serde-saphyr",
    "sha2",
    "statrs",
    "tokio",
    "tower",
    "zstd",
];

/// What a module of a package must not name.
const NEVER_REACHES: [(&str, &str, &[&str]); 13] = [
    ("tracer-sdk", "guardrails", &["emit", "write"]),
    ("tracer-sdk", "input", &["emit", "settings", "write"]),
    ("tracer-sdk", "prices", &["emit", "settings", "write"]),
    ("tracer-sdk", "process", &["emit", "settings", "write"]),
    ("tracer-sdk", "redact", &["emit", "write"]),
    ("tracer-sdk", "settings", &["emit", "redact", "write"]),
    ("tracer-sdk", "write", &["emit"]),
    ("tracer-sdk", "emit", &["disk", "macro_support", "testing"]),
    ("tracer-sdk", "macro_support", &["testing"]),
    ("tracer-runs", "log", &["import", "maintenance"]),
    ("tracer-runs", "index", &["import", "maintenance"]),
    ("tracer-runs", "run", &["import", "maintenance"]),
    ("tracer-runs", "store", &["import", "maintenance"]),
];

/// Each command has a type of this name for its arguments, and nobody uses it without the command's.
const ONE_FOR_EACH_COMMAND: &str = "Args";

#[test]
fn packages_know_only_lower_packages() {
    let floor = |name: &str| FLOORS.iter().position(|package| *package == name);
    for (name, package) in published_packages() {
        assert!(floor(&name).is_some(), "{name} has no place in `FLOORS`");
        for dependency in &package.dependencies {
            let is_above = dependency.starts_with("tracer-") && floor(dependency) >= floor(&name);
            assert!(!is_above, "{name} depends on {dependency}, which is not below it");
            let is_terminal = name != "tracer-cli" && ONLY_THE_COMMAND.contains(&dependency.as_str());
            assert!(
                !is_terminal,
                "{name} is a library, and {dependency} is the command's"
            );
        }
    }
}

#[test]
fn the_sdk_brings_no_runtime() {
    let tree = cargo(&[
        "tree",
        "--package",
        "tracer-sdk",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]);
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let heavy: Vec<&str> = names.filter(|name| NEVER_IN_THE_SDK.contains(name)).collect();
    assert!(tree.contains("serde_json v"), "{tree}");
    assert_eq!(
        heavy,
        Vec::<&str>::new(),
        "the SDK's default features bring these"
    );
}

#[test]
fn modules_name_only_lower_floors() {
    for (package, module, forbidden) in NEVER_REACHES {
        let source = published_packages().remove(package).unwrap().source;
        let mut files = rust_files(&source.join(module));
        files.extend(rust_files(&source.join(format!("{module}.rs"))));
        assert!(!files.is_empty(), "{package} has no module {module}");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let mut code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let names = |line: &str| {
                forbidden
                    .iter()
                    .any(|name| line.contains(&format!("crate::{name}")))
            };
            assert_eq!(code.find(|line| names(line)), None, "{}", file.display());
        }
    }
}

#[test]
fn a_type_name_has_one_meaning() {
    let mut places: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for package in published_packages().into_values() {
        for file in rust_files(&package.source) {
            for name in fs::read_to_string(&file)
                .unwrap()
                .lines()
                .filter_map(defined_type)
            {
                // Forms of a module for different platforms have one name.
                let form = file.to_string_lossy().replace("_elsewhere.rs", ".rs");
                places.entry(name.to_owned()).or_default().insert(form.into());
            }
        }
    }
    assert!(places.len() > 500, "{places:?}");
    places.retain(|name, places| places.len() > 1 && name != ONE_FOR_EACH_COMMAND);
    assert!(places.is_empty(), "name each type for what it is: {places:#?}");
}

/// The name of the type that a line at the top of a file defines.
fn defined_type(line: &str) -> Option<&str> {
    let behind = line.strip_prefix("pub").map_or(line, |rest| {
        rest.trim_start_matches("(crate)").trim_start_matches("(super)")
    });
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let name = kinds
        .iter()
        .find_map(|kind| behind.trim_start().strip_prefix(kind))
        .filter(|_| !line.starts_with(' '))?;
    name.split(|char: char| !char.is_alphanumeric()).next()
}

/// The sources at a path, those of tests left out.
fn rust_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        let name = path.to_string_lossy();
        let is_test = ["tests.rs", "testing.rs", "vectors.rs"]
            .iter()
            .any(|end| name.ends_with(end));
        return if path.extension().is_some_and(|end| end == "rs") && !is_test {
            vec![path.to_owned()]
        } else {
            Vec::new()
        };
    }
    let entries = fs::read_dir(path)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    entries
        .filter(|path| !path.ends_with("tests"))
        .flat_map(|path| rust_files(&path))
        .collect()
}

struct Package {
    dependencies: BTreeSet<String>,
    source: PathBuf,
}

/// The packages that users get, by name.
fn published_packages() -> BTreeMap<String, Package> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .filter(|package| package["publish"].is_null())
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let known = dependencies.filter(|dependency| dependency["kind"] != "dev");
            let found = Package {
                dependencies: known.map(|dependency| text(&dependency["name"])).collect(),
                source: Path::new(&text(&package["manifest_path"])).with_file_name("src"),
            };
            (text(&package["name"]), found)
        })
        .collect()
}

fn cargo(arguments: &[&str]) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(arguments)
        .arg("--offline")
        .current_dir(root)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
