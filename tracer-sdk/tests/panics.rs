//! A panic ends everything that it unwinds through, each with what it said.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tracer_sdk::format::{EventType, Payload, RecordedStatus};
use tracer_sdk::read::LoadedRun;
use tracer_sdk::{Config, Run};

#[test]
fn a_panic_is_told_by_the_run_and_by_every_span_that_it_unwinds_through() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config::new().data_dir(folder.path());
    let mut directory = None;
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let run = Run::new("outer").config(&config).start();
        directory = run.dir();
        let _inner = Run::new("inner").start();
        panic!("the model went away");
    }));
    assert!(caught.is_err());

    let run = LoadedRun::read(&directory.unwrap()).unwrap();
    assert_eq!(run.meta.status, RecordedStatus::Error);
    let root = run.spans.iter().find(|span| span.is_root()).unwrap();
    let inner = run.spans.iter().find(|span| span.name == "inner").unwrap();
    assert_eq!(root.status_description, "the model went away");
    assert_eq!(inner.status_description, "the model went away");
    let errors: Vec<_> = run
        .records()
        .into_iter()
        .filter_map(|record| match record.payload {
            Payload::Error(error) => Some(error),
            _ => None,
        })
        .collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].error_type, "panic");
    let stack = errors[0].stack.as_deref().unwrap();
    assert!(stack.starts_with("at ") && stack.contains("panics.rs"), "{stack}");
    assert!(
        stack.lines().count() > 1,
        "the frames of the program follow the place: {stack}"
    );
    assert_eq!(run.records().last().unwrap().event_type(), EventType::RunEnd);
}

#[test]
fn a_panic_that_is_caught_inside_the_run_does_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new("resilient")
        .config(&Config::new().data_dir(folder.path()))
        .start();
    let directory = run.dir().unwrap();
    assert!(catch_unwind(|| panic!("caught")).is_err());
    tracer_sdk::tool_call("after").record().unwrap();
    run.finish();

    let run = LoadedRun::read(&directory).unwrap();
    assert_eq!(run.meta.status, RecordedStatus::Ok);
    assert_eq!(run.meta.counts.tool_calls, 1);
}
