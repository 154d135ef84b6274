//! What a stranger reads first works as it is written: the README's own words make a traced program, and no page shows
//! what a reader cannot type.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tracer_runs::{LoadedRun, RunStore};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

/// The pages that a reader meets, with their paths.
fn pages() -> Vec<(PathBuf, String)> {
    let root = repository();
    let in_docs = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = in_docs
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    paths.extend(["README.md", "examples/README.md"].map(|name| root.join(name)));
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

/// The code blocks of a page whose language begins like this.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<(bool, String)> = None;
    for line in page.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(info)) => block = Some((info.starts_with(language), String::new())),
            (Some(_), Some("")) => found.extend(
                block
                    .take()
                    .filter(|(is_wanted, _)| *is_wanted)
                    .map(|(_, text)| text),
            ),
            (Some((_, text)), _) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

#[test]
fn the_readmes_own_words_make_a_traced_program() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let setup = blocks(&readme, "sh")
        .into_iter()
        .find(|block| block.contains("cargo add"))
        .unwrap();
    let program = blocks(&readme, "rust")
        .into_iter()
        .find(|block| block.contains("fn main"))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cargo = |script: &str, directory: &Path| {
        let output = Command::new("sh")
            .args(["-e", "-c", script])
            .current_dir(directory)
            // What the tests were built with is here already, and may be all that can be had.
            .env("CARGO_NET_OFFLINE", "true")
            .env(
                "CARGO_TARGET_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-contact"),
            )
            .env("TRACER_DATA_DIR", folder.path().join("data"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{script}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    };

    let clone = repository();
    cargo(
        &setup.replace("path/to/this/clone", clone.to_str().unwrap()),
        folder.path(),
    );
    let project = folder.path().join("my-agent");
    fs::copy(clone.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    fs::write(project.join("src/main.rs"), program).unwrap();
    let output = cargo("cargo run --quiet", &project);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "According to 19.md: …\n");

    let store = RunStore::new(folder.path().join("data"));
    let run = LoadedRun::read(&store.newest().unwrap().path).unwrap();
    let meta = serde_json::to_value(&run.meta).unwrap();
    assert_eq!(meta["run_name"], "support-agent");
    assert_eq!(meta["status"], "ok");
    assert_eq!(
        (&meta["counts"]["tool_calls"], &meta["counts"]["llm_calls"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn no_block_that_a_reader_copies_holds_lines_for_the_tests() {
    let mut read = 0;
    for (path, page) in pages() {
        for block in blocks(&page, "rust") {
            read += 1;
            for line in block.lines() {
                let is_hidden = line == "#" || line.starts_with("# ") || line.contains("tracer_tests");
                assert!(!is_hidden, "{}: {line}", path.display());
            }
        }
    }
    assert!(read > 8, "the pages have {read} blocks of Rust");
}

#[test]
fn no_page_assumes_a_publication_that_has_not_happened() {
    let workflow = repository().join("tracer-cli/src/commands/init/workflow.yml");
    let generated = (workflow.clone(), fs::read_to_string(workflow).unwrap());
    for (path, page) in pages().into_iter().chain([generated]) {
        for line in page.lines() {
            let installs = ["cargo add", "cargo install"]
                .iter()
                .any(|command| line.contains(command));
            let ours = ["tracer-sdk", "tracer-cli", "tracer-macros"]
                .iter()
                .any(|name| line.contains(name));
            let from_source = line.contains("--path") || line.contains("--git");
            assert!(!(installs && ours) || from_source, "{}: {line}", path.display());
        }
    }
}
