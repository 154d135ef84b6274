//! The floors of this workspace: which package may know which, and which module of a package.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use tracer_floors::{Arrow, CrateModules, circles, sibling_arrows};

/// What each package may depend on, the lowest first. A new package gets a line.
const PACKAGES: [(&str, &[&str]); 14] = [
    ("tracer-macros", &[]),
    ("tracer-format", &[]),
    ("tracer-providers", &["tracer-format"]),
    (
        "tracer-sdk",
        &["tracer-macros", "tracer-format", "tracer-providers"],
    ),
    ("tracer-runs", &["tracer-format", "tracer-sdk"]),
    ("tracer-insight", &["tracer-sdk", "tracer-runs"]),
    ("tracer-gate", &["tracer-sdk", "tracer-runs", "tracer-insight"]),
    (
        "tracer-capture",
        &["tracer-providers", "tracer-sdk", "tracer-runs", "tracer-insight"],
    ),
    (
        "tracer-export",
        &["tracer-sdk", "tracer-runs", "tracer-insight", "tracer-capture"],
    ),
    (
        "tracer-catalog",
        &[
            "tracer-sdk",
            "tracer-runs",
            "tracer-insight",
            "tracer-gate",
            "tracer-capture",
        ],
    ),
    (
        "tracer-ship",
        &[
            "tracer-sdk",
            "tracer-runs",
            "tracer-insight",
            "tracer-capture",
            "tracer-catalog",
        ],
    ),
    (
        "tracer-view",
        &[
            "tracer-sdk",
            "tracer-runs",
            "tracer-insight",
            "tracer-export",
            "tracer-gate",
            "tracer-capture",
            "tracer-catalog",
        ],
    ),
    (
        "tracer-mcp",
        &[
            "tracer-sdk",
            "tracer-runs",
            "tracer-insight",
            "tracer-gate",
            "tracer-capture",
            "tracer-catalog",
        ],
    ),
    (
        "tracer-cli",
        &[
            "tracer-providers",
            "tracer-sdk",
            "tracer-runs",
            "tracer-insight",
            "tracer-export",
            "tracer-gate",
            "tracer-capture",
            "tracer-catalog",
            "tracer-ship",
            "tracer-view",
            "tracer-mcp",
        ],
    ),
];

/// Arguments and terminals belong to the command.
const ONLY_THE_COMMAND: [&str; 7] = [
    "anstream",
    "anstyle",
    "clap",
    "clap_complete",
    "clap_mangen",
    "indicatif",
    "terminal_size",
];

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

/// What a module of a package must not reach, directly or through others. `*` is every other module.
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

#[test]
fn packages_know_only_lower_packages() {
    let allowed: BTreeMap<&str, &[&str]> = PACKAGES.into_iter().collect();
    let mut problems = Vec::new();
    for package in published_packages() {
        let Some(allowed) = allowed.get(package.name.as_str()) else {
            problems.push(format!("{} has no line in `PACKAGES`", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            if dependency.starts_with("tracer-") && !allowed.contains(&dependency.as_str()) {
                problems.push(format!(
                    "{} depends on {dependency}, which is not below it",
                    package.name
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn libraries_know_no_terminal() {
    for package in published_packages()
        .iter()
        .filter(|package| package.name != "tracer-cli")
    {
        let terminal = package
            .dependencies
            .iter()
            .find(|name| ONLY_THE_COMMAND.contains(&name.as_str()));
        assert_eq!(
            terminal, None,
            "{} is a library, and this is the command's",
            package.name
        );
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
fn no_modules_form_a_circle() {
    let mut problems = Vec::new();
    for (package, arrows) in &*ARROWS {
        for circle in circles(arrows) {
            problems.push(format!("{package}: these modules know each other:"));
            problems.extend(circle.iter().map(|arrow| format!("    {arrow}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn modules_reach_only_lower_floors() {
    let mut problems = Vec::new();
    for (package, from, forbidden) in NEVER_REACHES {
        for (to, way) in reachable(&ARROWS[package], from) {
            if to != from && forbidden.iter().any(|name| *name == "*" || *name == to) {
                problems.push(format!("{package}: {from} must not reach {to}:"));
                problems.extend(way.iter().map(|arrow| format!("    {arrow}")));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Each command has a type of this name for its arguments, and nobody uses it without the command's.
const ONE_FOR_EACH_COMMAND: &str = "Args";

#[test]
fn a_type_name_has_one_meaning() {
    // Forms of a module for different platforms have the same path.
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in published_packages() {
        for root in &package.roots {
            for module in CrateModules::read(root).unwrap().modules() {
                for name in module.types.iter().filter(|name| *name != ONE_FOR_EACH_COMMAND) {
                    let place = format!("{}::{}", package.name, module.path);
                    places.entry(name.clone()).or_default().insert(place);
                }
            }
        }
    }
    assert!(places.len() > 500, "{places:?}");
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "name each type for what it is: {places:#?}");
}

struct Package {
    name: String,
    dependencies: BTreeSet<String>,
    roots: Vec<PathBuf>,
}

/// The packages that users get, with the root file of each library and program.
fn published_packages() -> Vec<Package> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .filter(|package| package["publish"].is_null())
        .map(|package| Package {
            name: text(&package["name"]),
            dependencies: package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| text(&dependency["name"]))
                .collect(),
            roots: package["targets"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|target| {
                    ["lib", "proc-macro", "bin"]
                        .iter()
                        .any(|kind| target["kind"][0] == **kind)
                })
                .map(|target| PathBuf::from(text(&target["src_path"])))
                .collect(),
        })
        .collect()
}

/// The arrows between the modules of each package, read once.
static ARROWS: LazyLock<BTreeMap<String, Vec<Arrow>>> = LazyLock::new(|| {
    let mut arrows: BTreeMap<String, Vec<Arrow>> = BTreeMap::new();
    for package in published_packages() {
        for root in &package.roots {
            let modules = CrateModules::read(root).unwrap();
            arrows
                .entry(package.name.clone())
                .or_default()
                .extend(sibling_arrows(&modules));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    for arrow in arrows.values_mut().flatten() {
        arrow.place = arrow.place.replace(&format!("{}/", root.display()), "");
    }
    assert!(arrows.values().flatten().count() > 100, "{arrows:#?}");
    arrows
});

/// Every module that another one reaches, with the shortest way.
fn reachable<'a>(arrows: &'a [Arrow], from: &str) -> BTreeMap<&'a str, Vec<&'a Arrow>> {
    let mut ways: BTreeMap<&str, Vec<&Arrow>> = BTreeMap::new();
    let mut open = vec![(from, Vec::new())];
    while let Some((module, way)) = open.pop() {
        for arrow in arrows.iter().filter(|arrow| arrow.from == module) {
            let mut way = way.clone();
            way.push(arrow);
            if ways
                .get(arrow.to.as_str())
                .is_none_or(|known| known.len() > way.len())
            {
                ways.insert(&arrow.to, way.clone());
                open.push((&arrow.to, way));
            }
        }
    }
    ways
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
