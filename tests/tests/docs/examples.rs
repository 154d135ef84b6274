//! Examples: those of public items show where every name is from, and the programs are short and stand alone.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_example_hides_an_import() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for package in ["tracer-macros", "tracer-sdk", "tracer-cli"] {
        sources(&repository.join(package).join("src"), &mut files);
    }
    for package in fs::read_dir(repository.join("crates")).unwrap() {
        sources(&package.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 500, "{} files", files.len());
    let mut hiding = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let hidden = text.lines().filter(|line| {
            let documented = line
                .trim_start()
                .strip_prefix("///")
                .or_else(|| line.strip_prefix("//!"));
            documented.is_some_and(|line| line.trim_start().starts_with("# use "))
        });
        hiding.extend(hidden.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    assert!(hiding.is_empty(), "show the imports: {hiding:#?}");
}

#[test]
fn the_example_programs_are_short_and_stand_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut programs = 0;
    for file in ["agent/src/main.rs", "gate/src/lib.rs", "python/agent.py"] {
        let lines = fs::read_to_string(folder.join(file)).unwrap().lines().count();
        assert!(lines <= 80, "{file}: {lines} lines");
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        programs += usize::from(path.is_dir());
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
        assert!(!manifest.contains("workspace"), "{} inherits", path.display());
    }
    assert_eq!(programs, 3);
}
