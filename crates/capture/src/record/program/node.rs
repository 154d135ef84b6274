//! What a JavaScript program depends on, as its `package.json` says.

use std::path::Path;

use serde::Deserialize;

use super::source;

/// How many folders above a script its `package.json` is looked for.
const MAX_FOLDERS: usize = 16;

#[derive(Debug, Default, Deserialize)]
struct Package {
    #[serde(default)]
    dependencies: serde_json::Map<String, serde_json::Value>,
    #[serde(default, rename = "devDependencies")]
    development: serde_json::Map<String, serde_json::Value>,
}

pub(super) fn is_script(name: &str) -> bool {
    [".js", ".mjs", ".cjs", ".ts", ".mts"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// The dependencies of the package that a script belongs to; of the directory's where there is no script.
pub(super) fn dependencies(script: &Path, directory: &Path) -> Vec<String> {
    let start = if script.is_file() {
        script.parent()
    } else {
        Some(directory)
    };
    let package = start
        .into_iter()
        .flat_map(Path::ancestors)
        .take(MAX_FOLDERS)
        .find_map(|folder| source(&folder.join("package.json")));
    let package: Package = package
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let names = package.dependencies.into_iter().chain(package.development);
    let mut names: Vec<String> = names.map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_package_names_the_dependencies() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("src/agent.mjs");
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(&script, "").unwrap();
        let package = folder.path().join("package.json");
        fs::write(
            &package,
            r#"{"dependencies":{"openai":"6"},"devDependencies":{"ai":"7"}}"#,
        )
        .unwrap();
        assert_eq!(dependencies(&script, Path::new("/nonexistent")), ["ai", "openai"]);
        for broken in ["", "[]", "{\"dependencies\":7}"] {
            fs::write(&package, broken).unwrap();
            assert_eq!(
                dependencies(&script, Path::new("/nonexistent")),
                [""; 0],
                "{broken}"
            );
        }
    }
}
