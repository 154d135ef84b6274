//! Failures: returned, of whatever type, or thrown.

use std::fmt;
use std::num::ParseIntError;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::Context as _;
use serde_json::Value;
use tracer_sdk::format::RecordedStatus;
use tracer_sdk::trace;
use tracer_tests::Finished;
use tracer_tests::recording::recorded;

/// The line of the function below, as the trace must tell it.
const LINE_OF_PARSE: u32 = line!() + 3;

#[trace(tool)]
fn parse(text: &str) -> Result<u8, ParseIntError> {
    text.parse()
}

#[trace(tool)]
fn read_port(text: &str) -> anyhow::Result<u8> {
    parse(text).context("cannot read the port")
}

#[trace(span)]
fn plan(text: &str) -> Result<u8, String> {
    Err(format!("no plan for {text}"))
}

struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("in the user's own Display")
    }
}

#[trace(tool)]
fn unspeakable() -> Result<(), Unspeakable> {
    Err(Unspeakable)
}

#[trace(tool, result)]
fn panicking(keep: &mut Vec<u8>) -> u8 {
    keep.push(1);
    let index = keep.len();
    keep[index]
}

fn error(recording: &Finished, name: &str) -> Value {
    let payload = recording.payload_named(name);
    assert_eq!(payload["status"], "error", "{name}");
    payload["error"].clone()
}

#[test]
fn an_error_records_type_message_and_place() {
    let recording = recorded(|| assert!(parse("x").is_err()));
    let error = error(&recording, "parse");
    assert_eq!(error["error_type"], "ParseIntError");
    assert_eq!(error["message"], "invalid digit found in string");
    let stack = error["stack"].as_str().unwrap();
    let place = format!("recording/macros/errors.rs:{LINE_OF_PARSE})");
    assert!(
        stack.starts_with("at parse (") && stack.ends_with(&place),
        "{stack}"
    );
    assert_eq!(recording.status(), RecordedStatus::Ok, "the program went on");
}

#[test]
fn an_anyhow_error_records_its_chain() {
    let recording = recorded(|| assert!(read_port("x").is_err()));
    let error = error(&recording, "read_port");
    assert_eq!(error["error_type"], "ParseIntError", "that of the innermost");
    assert_eq!(
        error["message"],
        "cannot read the port: invalid digit found in string"
    );
    let stack = error["stack"].as_str().unwrap();
    assert!(
        stack.starts_with("at read_port (") && stack.contains("recording/macros/errors.rs:"),
        "{stack}"
    );
    assert!(
        stack.contains("\ncaused by: invalid digit found in string"),
        "{stack}"
    );
}

#[test]
fn a_structural_span_records_its_error() {
    let recording = recorded(|| assert!(plan("today").is_err()));
    let error = error(&recording, "plan");
    assert_eq!(error["error_type"], "Error");
    assert_eq!(error["message"], "no plan for today");
}

#[test]
fn a_panic_in_the_users_display_neither_escapes_nor_changes_the_result() {
    let recording = recorded(|| assert!(unspeakable().is_err()));
    assert_eq!(error(&recording, "unspeakable")["error_type"], "Unspeakable");
}

#[test]
fn a_panic_is_recorded_and_resumed() {
    let mut kept = Vec::new();
    let recording = recorded(|| {
        let caught = catch_unwind(AssertUnwindSafe(|| panicking(&mut kept)));
        assert!(caught.is_err());
    });
    assert_eq!(kept, [1]);
    let error = error(&recording, "panicking");
    assert_eq!(error["error_type"], "panic");
    assert!(
        error["message"].as_str().unwrap().contains("index out of bounds"),
        "{error}"
    );
}
