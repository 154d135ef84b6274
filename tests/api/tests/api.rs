//! The public API of the libraries that other people's programs contain, one item a line, as rustdoc sees it: all features on,
//! hidden items left out.
//!
//! `bash .ci/run api` compares, `INSTA_UPDATE=always bash .ci/run api` accepts what changed.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use public_api::Builder;
use serde_json::Value;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const RUSTDOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rustdoc");

/// The libraries of the command are for its own executable and tests.
const LIBRARIES: [&str; 2] = ["tracer-macros", "tracer-sdk"];

#[test]
fn public_apis_are_as_reviewed() {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"])).unwrap();
    let target = PathBuf::from(metadata["target_directory"].as_str().unwrap());
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut changed = Vec::new();
    for library in LIBRARIES {
        let list = public_api(library, &target);
        let assert = || settings.bind(|| insta::assert_snapshot!(library, list));
        // Every library is compared before the test fails.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(assert)).is_err() {
            changed.push(library);
        }
    }
    assert!(changed.is_empty(), "the public API changed: {changed:?}");
}

fn public_api(library: &str, target: &Path) -> String {
    let format = ["--", "-Z", "unstable-options", "--output-format", "json"];
    cargo(
        &[
            &["rustdoc", "--lib", "--all-features", "--package", library],
            format.as_slice(),
        ]
        .concat(),
    );
    let json = target
        .join("doc")
        .join(library.replace('-', "_"))
        .with_extension("json");
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .unwrap();
    api.to_string()
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(arguments)
        .env("RUSTDOC", RUSTDOC)
        .current_dir(REPOSITORY);
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
