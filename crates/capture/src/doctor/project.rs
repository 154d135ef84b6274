//! Causes in the Cargo project of a folder: what it depends on, and with which features.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::cause::Cause;
use crate::small_file;

/// The command that adds the SDK with the feature of the layer; it is not on crates.io yet.
const HOW_TO_ADD: &str = "cargo add --path path/to/the/clone/tracer-sdk --features tracing";

/// Every cause in the project; none where there is no project.
pub(super) fn causes(folder: &Path) -> Vec<Cause> {
    let Some(manifest) = small_file::text(&folder.join("Cargo.toml")) else {
        return Vec::new();
    };
    let packages = folder
        .ancestors()
        .find_map(|folder| small_file::text(&folder.join("Cargo.lock")))
        .map(|lock| packages(&parse(&lock)))
        .unwrap_or_default();
    of_project(&parse(&manifest), &packages)
}

fn of_project(manifest: &Value, packages: &Packages) -> Vec<Cause> {
    let mut causes = Vec::new();
    let has = |name: &str| packages.contains_key(name);
    let agents: Vec<&str> = ["rig", "rig-core", "genai", "adk-agent", "swiftide-agents"]
        .into_iter()
        .filter(|name| has(name))
        .collect();
    causes.extend(old_agent_crates(packages));
    if has("genai") && !has_feature(manifest, "genai", "otel") {
        causes.push(Cause::new(
            "genai_without_otel",
            "genai reports nothing without its feature `otel`",
            "cargo add genai --features otel",
        ));
    }
    if has("async-openai") && agents.is_empty() {
        causes.push(Cause::new(
            "async_openai_silent",
            "async-openai reports no spans",
            "record its calls: tracer record -- COMMAND, or tracer_sdk::llm_call around each",
        ));
    }
    for (name, what) in [("tracing-core", "spans"), ("tracer-sdk", "runs")] {
        let versions = packages.get(name).map(Vec::as_slice).unwrap_or_default();
        if versions.len() > 1 {
            causes.push(Cause::new(
                if name == "tracer-sdk" {
                    "two_sdks"
                } else {
                    "two_tracing_cores"
                },
                format!(
                    "{name} is there in the versions {}: {what} of one do not reach the other",
                    versions.join(" and ")
                ),
                format!("find who needs the other one: cargo tree --duplicates --invert {name}"),
            ));
        }
    }
    causes.extend(level_features(manifest));
    if !agents.is_empty() {
        causes.extend(layer(manifest, packages, &agents));
    }
    causes
}

/// Presence of the layer's package and feature.
fn layer(manifest: &Value, packages: &Packages, agents: &[&str]) -> Option<Cause> {
    let agents = agents.join(", ");
    if !packages.contains_key("tracer-sdk") {
        return Some(Cause::new(
            "sdk_missing",
            format!("the project uses {agents}, and does not depend on tracer-sdk"),
            format!("{HOW_TO_ADD}, or record it as it is: tracer record -- COMMAND"),
        ));
    }
    if !has_feature(manifest, "tracer-sdk", "tracing") {
        return Some(Cause::new(
            "feature_tracing_off",
            format!("the project uses {agents}, and tracer-sdk is without its feature `tracing`"),
            HOW_TO_ADD,
        ));
    }
    None
}

/// Levels that the build leaves out.
fn level_features(manifest: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (prefix, when) in [("max_level_", ""), ("release_max_level_", " in release builds")] {
        for level in ["off", "error", "warn", "info", "debug"] {
            if !names(manifest, &format!("{prefix}{level}")) {
                continue;
            }
            let hides_spans = ["off", "error", "warn"].contains(&level);
            let what = if hides_spans {
                "all spans of agents"
            } else {
                "the requests and replies that rig logs at TRACE"
            };
            causes.push(Cause::new(
                if hides_spans {
                    "spans_compiled_out"
                } else {
                    "bodies_compiled_out"
                },
                format!("the feature `{prefix}{level}` of tracing removes {what}{when}"),
                format!("remove the feature `{prefix}{level}`"),
            ));
        }
    }
    causes
}

/// Agent crates before they reported spans.
fn old_agent_crates(packages: &Packages) -> Vec<Cause> {
    const FIRST: [(&str, (u64, u64)); 3] = [("rig-core", (0, 21)), ("rig", (0, 21)), ("genai", (0, 7))];
    let mut causes = Vec::new();
    for (name, first) in FIRST {
        for version in packages.get(name).into_iter().flatten() {
            let mut numbers = version.split('.').map_while(|number| number.parse::<u64>().ok());
            let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            if found < first {
                causes.push(Cause::new(
                    "agent_crate_old",
                    format!(
                        "{name} {version} reports no spans; {}.{} is the first that does",
                        first.0, first.1
                    ),
                    format!("cargo update {name}, or record it as it is: tracer record -- COMMAND"),
                ));
            }
        }
    }
    causes
}

/// True if a value is, or holds, the text.
fn names(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found == text,
        Value::Array(values) => values.iter().any(|value| names(value, text)),
        Value::Object(values) => values.values().any(|value| names(value, text)),
        _ => false,
    }
}

/// True if a dependency of the manifest has a feature; a dependency of the workspace is believed.
fn has_feature(manifest: &Value, package: &str, feature: &str) -> bool {
    let Value::Object(tables) = manifest else {
        return false;
    };
    tables.iter().any(|(name, table)| {
        if !name.ends_with("dependencies") {
            return has_feature(table, package, feature);
        }
        let dependency = &table[package];
        dependency["workspace"] == true || names(&dependency["features"], feature)
    })
}

/// The versions of each package.
type Packages = BTreeMap<String, Vec<String>>;

fn packages(lock: &Value) -> Packages {
    let mut packages = Packages::new();
    for package in lock["package"].as_array().into_iter().flatten() {
        if let (Some(name), Some(version)) = (package["name"].as_str(), package["version"].as_str()) {
            packages
                .entry(name.to_owned())
                .or_default()
                .push(version.to_owned());
        }
    }
    packages
}

fn parse(text: &str) -> Value {
    toml::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDK: &str = "[dependencies]\ntracer-sdk = { version = \"0.1\", features = [\"tracing\"] }\n";

    fn locked(packages: &[(&str, &str)]) -> Packages {
        let mut found = Packages::new();
        for (name, version) in packages {
            found
                .entry((*name).to_owned())
                .or_default()
                .push((*version).to_owned());
        }
        found
    }

    fn codes(manifest: &str, packages: &[(&str, &str)]) -> Vec<&'static str> {
        let causes = of_project(&parse(manifest), &locked(packages));
        causes.iter().map(|cause| cause.code).collect()
    }

    const RIG: [(&str, &str); 2] = [("rig", "0.44.0"), ("tracer-sdk", "0.1.0")];

    #[test]
    fn a_project_with_the_layer_is_healthy() {
        assert!(codes(SDK, &RIG).is_empty());
        // Nothing of an agent, nothing to say.
        assert!(codes("[dependencies]\n", &[("serde", "1.0.0")]).is_empty());
    }

    #[test]
    fn each_planted_cause_is_named() {
        for (manifest, packages, expected) in [
            (SDK, vec![("rig", "0.44.0")], "sdk_missing"),
            (
                "[dependencies]\ntracer-sdk = \"0.1\"\n",
                RIG.to_vec(),
                "feature_tracing_off",
            ),
            (
                SDK,
                vec![("rig-core", "0.20.0"), ("tracer-sdk", "0.1.0")],
                "agent_crate_old",
            ),
            (
                SDK,
                vec![("genai", "0.7.2"), ("tracer-sdk", "0.1.0")],
                "genai_without_otel",
            ),
            (SDK, vec![("async-openai", "0.43.0")], "async_openai_silent"),
            (
                SDK,
                vec![("tracing-core", "0.1.36"), ("tracing-core", "0.2.0")],
                "two_tracing_cores",
            ),
            (
                SDK,
                vec![("tracer-sdk", "0.1.0"), ("tracer-sdk", "0.2.0")],
                "two_sdks",
            ),
        ] {
            assert_eq!(codes(manifest, &packages), [expected]);
        }
        for (feature, expected) in [
            ("max_level_warn", "spans_compiled_out"),
            ("release_max_level_error", "spans_compiled_out"),
            ("release_max_level_info", "bodies_compiled_out"),
        ] {
            let manifest = format!("{SDK}tracing = {{ version = \"0.1\", features = [\"{feature}\"] }}\n");
            assert_eq!(codes(&manifest, &RIG), [expected], "{feature}");
        }
    }

    #[test]
    fn features_are_found_in_every_form() {
        for manifest in [
            "[dependencies]\ngenai = { version = \"0.7\", features = [\"otel\"] }",
            "[dependencies.genai]\nversion = \"0.7\"\nfeatures = [\"otel\"]",
            "[dependencies]\ngenai = { version = \"0.7\", features = [\n  \"otel\",\n] }",
            "[dependencies]\ngenai.workspace = true",
        ] {
            assert!(has_feature(&parse(manifest), "genai", "otel"), "{manifest}");
        }
        assert!(!has_feature(
            &parse("[dependencies]\ngenai = \"0.7\" # \"otel\""),
            "genai",
            "otel"
        ));
    }

    #[test]
    fn a_lock_file_gives_every_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        assert_eq!(packages(&parse(lock))["a"], ["1.0.0", "2.0.0"]);
    }
}
