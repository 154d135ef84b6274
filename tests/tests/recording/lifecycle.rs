//! From the start of a run to its end: what is on disk when, and how each way to leave a run is reported (specification,
//! *States and transitions*; decisions, section 5).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::{Value, json};
use tracer_runs::{Liveness, LoadedRun, probe_liveness};
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::{llm_call, span, tool_call, traced_run};
use tracer_tests::{DataDir, Finished};

fn meta(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("meta.json")).unwrap()).unwrap()
}

/// The error that ended a run.
fn error_of(finished: &Finished) -> (RecordedStatus, Value) {
    (finished.status(), finished.payload(EventType::Error))
}

#[derive(Debug, PartialEq)]
struct OutOfCredit;

impl fmt::Display for OutOfCredit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the account has no credit left")
    }
}

#[test]
fn metadata_is_running_then_final() {
    let data = DataDir::new();
    let run = data.run("agent").start();
    let directory = run.dir().unwrap();
    assert!(!directory.join("meta.json").exists(), "no child span yet");
    assert_eq!(
        probe_liveness(&directory, RecordedStatus::Running),
        Liveness::Running,
        "and seen all the same"
    );

    tool_call("search").record().unwrap();
    let first = meta(&directory);
    assert_eq!(
        (&first["status"], &first["run_name"]),
        (&json!("running"), &json!("agent"))
    );
    assert_eq!(
        (&first["ended_at"], &first["duration_ms"], &first["spec_version"]),
        (&Value::Null, &Value::Null, &json!("0.2.0"))
    );
    assert_eq!(first["trace_id"], run.trace_id().unwrap().to_string());
    let running = LoadedRun::read(&directory).unwrap();
    assert_eq!(
        (running.spans.len(), running.counts().tool_calls),
        (1, 1),
        "in the file when `record` returns"
    );

    run.finish();
    let last = data.finished();
    assert_eq!(meta(&directory)["started_at"], first["started_at"]);
    assert_eq!(
        (last.status(), last.run.meta.counts.tool_calls),
        (RecordedStatus::Ok, 1)
    );
    assert!(last.run.meta.ended_at.is_some() && last.run.meta.duration_ms.is_some());
    assert_eq!(probe_liveness(&directory, last.status()), Liveness::Ended);
}

#[test]
fn a_run_without_a_child_is_written_whole_when_it_ends() {
    let data = DataDir::new();
    data.run("short").in_scope(|| {});
    let finished = data.finished();
    assert_eq!(finished.types(), [EventType::RunStart, EventType::RunEnd]);
    assert_eq!(
        (finished.status(), finished.run.spans.len()),
        (RecordedStatus::Ok, 1)
    );
}

#[test]
fn an_err_ends_the_run_as_failed_and_is_handed_on() {
    let data = DataDir::new();
    let outcome: Result<(), OutOfCredit> = data.run("agent").try_in_scope(|| Err(OutOfCredit));
    assert_eq!(outcome, Err(OutOfCredit));
    let finished = data.finished();
    let (status, error) = error_of(&finished);
    assert_eq!(status, RecordedStatus::Error);
    assert_eq!(
        (&error["error_type"], &error["message"]),
        (&json!("OutOfCredit"), &json!("the account has no credit left"))
    );
    assert!(
        error["stack"].as_str().unwrap().contains("lifecycle.rs:"),
        "where the run was started: {error}"
    );
    assert_eq!(finished.payload(EventType::RunEnd), json!({"status": "error"}));
    assert_eq!(finished.run.meta.counts.errors, 1);
    let root = finished.span(finished.only(EventType::RunStart));
    assert_eq!(root.status_description, "the account has no credit left");
}

#[test]
fn a_guard_records_failures_and_results() {
    let data = DataDir::new();
    let run = data.run("agent").start();
    assert_eq!(run.observe(Ok::<u8, OutOfCredit>(7)), Ok(7));
    run.fail("first");
    assert_eq!(run.observe(Err::<u8, _>(OutOfCredit)), Err(OutOfCredit));
    run.fail(&OutOfCredit);
    drop(run);
    let finished = data.finished();
    let errors = finished
        .all(EventType::Error)
        .into_iter()
        .map(tracer_tests::finished::payload);
    let messages: Vec<Value> = errors.map(|error| error["message"].clone()).collect();
    assert_eq!(
        messages,
        ["first", "the account has no credit left"],
        "each is reported once"
    );
    assert_eq!(
        finished
            .span(finished.only(EventType::RunStart))
            .status_description,
        "first"
    );
}

#[test]
fn a_panic_ends_the_run_as_failed_and_goes_on() {
    let data = DataDir::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _run = data.run("agent").start();
        let _call = llm_call("gpt-5").start().unwrap();
        let _span = span("phase").start();
        let missing = "file".to_owned();
        panic!("no such {missing}");
    }));
    assert_eq!(
        panicked.unwrap_err().downcast_ref::<String>().unwrap(),
        "no such file"
    );
    let finished = data.finished();
    let (status, error) = error_of(&finished);
    assert_eq!(
        (status, &error["error_type"], &error["message"]),
        (RecordedStatus::Error, &json!("panic"), &json!("no such file"))
    );
    assert!(
        error["stack"].as_str().unwrap().contains("lifecycle.rs:"),
        "{error}"
    );
    assert_eq!(
        finished.payload(EventType::LlmCall)["status"],
        "error",
        "open calls are reported as given up"
    );
}

#[test]
fn an_unwinding_thread_fails_no_new_run() {
    struct Cleanup<'a>(&'a DataDir);
    impl Drop for Cleanup<'_> {
        fn drop(&mut self) {
            self.0
                .run("clean up")
                .in_scope(|| tool_call("remove").record())
                .unwrap();
        }
    }
    let data = DataDir::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _cleanup = Cleanup(&data);
        panic!("outside of the run");
    }));
    assert!(panicked.is_err());
    assert_eq!(data.finished().status(), RecordedStatus::Ok);
}

#[test]
fn a_run_within_a_run_is_a_structural_span_of_it() {
    let data = DataDir::new();
    data.run("outer").in_scope(|| {
        let inner: Result<(), OutOfCredit> = data.run("inner").try_in_scope(|| {
            tool_call("search").record().unwrap();
            let _guard = traced_run("innermost");
            Err(OutOfCredit)
        });
        assert_eq!(inner, Err(OutOfCredit));
    });
    let finished = data.finished();
    assert_eq!(
        (finished.status(), finished.run.meta.counts.errors),
        (RecordedStatus::Ok, 0),
        "the outer run went well"
    );
    let (outer, inner) = (finished.span_named("outer"), finished.span_named("inner"));
    assert_eq!(inner.parent_span_id, Some(outer.span_id));
    assert_eq!(inner.status_description, "the account has no credit left");
    assert_eq!(finished.span_named("search").parent_span_id, Some(inner.span_id));
    assert_eq!(
        finished.span_named("innermost").parent_span_id,
        Some(inner.span_id)
    );
    assert_eq!(finished.all(EventType::Unknown).len(), 2);
}

#[test]
fn batches_are_flushed_at_every_end() {
    use tracer_sdk::settings::Flush;
    let data = DataDir::new();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let run = data
            .run("batched")
            .config(&data.config().flush(Flush::Batched))
            .start();
        (0..3).for_each(|number| tool_call(format!("waits {number}")).record().unwrap());
        run.flush();
        assert_eq!(
            (
                run.stats().written,
                LoadedRun::read(&run.dir().unwrap()).unwrap().spans.len()
            ),
            (3, 3)
        );
        (0..500).for_each(|_| tool_call("waits").record().unwrap());
        panic!("now");
    }));
    assert!(unwound.is_err());
    let finished = data.finished();
    assert_eq!(
        (finished.run.meta.counts.tool_calls, finished.status()),
        (503, RecordedStatus::Error)
    );
}
