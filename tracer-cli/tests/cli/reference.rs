//! The documentation of the command line, completions and manual pages: made from the code, and kept current.

use std::fs;
use std::path::Path;

use tracer_cli::reference;

use crate::sandbox::Sandbox;

#[test]
fn the_documentation_has_the_reference_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/command-line.md");
    let page = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let (reported, _) = page
        .split_once(reference::HEADING)
        .expect("the page has a reference");
    let current = format!("{reported}{}", reference::markdown());
    if std::env::var_os("TRACER_WRITE_REFERENCE").is_some() {
        fs::write(&path, &current).unwrap();
    }
    assert!(
        page == current || std::env::var_os("TRACER_WRITE_REFERENCE").is_some(),
        "docs/command-line.md is not current; write it with TRACER_WRITE_REFERENCE=1 cargo test -p tracer-cli reference"
    );
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let sandbox = Sandbox::without_data_directory();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let outcome = sandbox.tracer(&["completions", shell]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["export", "validate-trace", "dry-run", "older-than"] {
            assert!(outcome.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    sandbox
        .tracer(&["completions", "cmd"])
        .fails(2, &["invalid value"]);
}

#[test]
fn each_command_has_a_manual_page() {
    let sandbox = Sandbox::without_data_directory();
    let outcome = sandbox.tracer(&["man", "man/man1"]);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (Some(0), ""),
        "{outcome:?}"
    );
    for page in ["tracer.1", "tracer-export.1", "tracer-prune.1"] {
        let text = fs::read_to_string(sandbox.path("man/man1").join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    fs::write(sandbox.path("file"), "").unwrap();
    sandbox
        .tracer(&["man", "file"])
        .fails(2, &["error: failed to write to `file`"]);
}
