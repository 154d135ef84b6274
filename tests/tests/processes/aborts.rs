//! A program that aborts when it panics: nothing unwinds, so the panic hook ends the run (issue: *Faults*).
//!
//! Cargo builds tests to unwind. The program is built apart, and named by `TRACER_TEST_ABORTING_PROGRAM`:
//! `cargo build --profile abort --package tracer-tests --bin traced`; the step `slow` of `.ci/run` does so.

use std::os::unix::process::ExitStatusExt;

use tracer_runs::StartedSpan;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_tests::{DataDir, Program};

#[test]
fn an_aborting_panic_ends_the_run() {
    let program = std::env::var("TRACER_TEST_ABORTING_PROGRAM").expect("names the program, see above");
    let data = DataDir::new();
    let output = Program::new(&program, &data).args(["panic-with-hook"]).output();
    assert_eq!(
        output.status.signal(),
        Some(nix::sys::signal::Signal::SIGABRT as i32)
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "the program's own hook\n"
    );

    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Error);
    let error = finished.payload(EventType::Error);
    assert_eq!(error["error_type"], "panic");
    assert_eq!(error["message"], "it went wrong");
    assert!(
        error["stack"]
            .as_str()
            .is_some_and(|stack| stack.contains("traced.rs"))
    );
    assert_eq!(finished.span_named("before").status_code.as_str(), "OK");
    let root = finished.spans.last().unwrap();
    let open = StartedSpan::unfinished(&root.attributes);
    assert_eq!(open.iter().map(|span| &*span.name).collect::<Vec<_>>(), ["gpt-5"]);
}
