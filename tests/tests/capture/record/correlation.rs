//! Small programs that call a model as frameworks do, and report it as these do: `tests/interop/correlation`.

use std::path::Path;
use std::process::Command;

use rstest::rstest;

use super::TRACER;

/// Runs one of the programs of the folder with Python, which says whether what `tracer` shows is right.
fn is_right(arguments: &[&str]) {
    let interop = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("python3")
        .arg("-B")
        .args(arguments)
        .current_dir(interop.join("correlation"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.path())
        .env("TMPDIR", folder.path())
        .env("TRACER", TRACER)
        .env("TRACER_DATA_DIR", folder.path().join("data"))
        .env("STAND_IN", interop.join("stand_in_model.py"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[rstest]
#[case("provider_prefix")]
#[case("inferred_beats_recorded")]
#[case("three_at_once")]
#[case("schema_as_tool")]
#[case("retry_inside_span")]
#[case("args_of_the_span")]
fn calls_are_shown_as_they_were_made(#[case] program: &str) {
    is_right(&["check.py", program]);
}

#[test]
fn a_client_that_left_after_the_end_has_its_answer() {
    is_right(&["left_after_done.py"]);
}
