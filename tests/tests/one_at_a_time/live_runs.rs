//! Records of threads and tasks without a context: with exactly one live run in the process they attach to it and are
//! marked, otherwise they are counted and kept nowhere.

use allocation_counter::measure;
use tracer_sdk::format::EventType;
use tracer_sdk::{
    Config, Context, Run, Usage, llm_call, record_error, span, state, tool_call, traced_run,
    unattached_records,
};
use tracer_tests::DataDir;

use crate::take_turns;

/// Runs on a thread that was given no context.
fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

#[test]
fn a_lone_run_adopts_records_without_context() {
    let _turn = take_turns();
    let data = DataDir::new();
    let run = data.run("only").start();
    let phase = span("phase").start();
    let guard = phase.enter();
    let before = unattached_records();
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| (0..10).for_each(|_| tool_call("work").record().unwrap()));
        }
    });
    elsewhere(|| {
        let mut call = llm_call("gpt-5").start().unwrap();
        call.in_scope(|| state(&1).record()).unwrap();
        call.response("done");
    });
    assert_eq!(unattached_records(), before);
    drop((guard, phase));
    run.finish();
    let finished = data.finished();
    let calls = finished.all(EventType::ToolCall);
    assert_eq!(calls.len(), 320);
    let root = finished
        .span(finished.only(EventType::RunStart))
        .span_id
        .to_string();
    for call in calls.into_iter().chain(finished.all(EventType::LlmCall)) {
        assert_eq!(finished.span(call).attributes["tracer.context"], "inferred");
        assert_eq!(
            call.parent_id.as_ref(),
            Some(&root),
            "which span it works for is not known"
        );
    }
    let inside = finished.only(EventType::StateUpdate);
    assert_eq!(
        inside.parent_id,
        Some(finished.span_named("gpt-5").span_id.to_string())
    );
    assert!(
        !finished.span(inside).attributes.contains_key("tracer.context"),
        "that call gave its own context"
    );
}

#[test]
fn two_live_runs_adopt_nothing() {
    let _turn = take_turns();
    let data = DataDir::new();
    let first = data.run("first").start();
    let second = elsewhere(|| data.run("second").instrument(std::future::pending::<()>()));
    let before = unattached_records();
    elsewhere(|| {
        assert!(Context::current().is_none());
        tool_call("lost").record().unwrap();
        llm_call("lost").start().unwrap().end().unwrap();
        state(&1).record().unwrap();
        span("lost").start().end();
    });
    assert_eq!(unattached_records(), before + 4);

    drop(second);
    elsewhere(|| tool_call("found").record().unwrap());
    first.finish();
    let names: Vec<Vec<String>> = data
        .finished_runs()
        .into_iter()
        .map(|run| run.run.spans.into_iter().map(|span| span.name).collect())
        .collect();
    assert!(
        names.contains(&vec!["found".to_owned(), "first".to_owned()]),
        "{names:?}"
    );
    assert!(names.contains(&vec!["second".to_owned()]), "{names:?}");
}

#[test]
fn without_a_live_run_recording_does_nothing_and_is_counted() {
    let _turn = take_turns();
    let before = unattached_records();
    let mut call = tool_call("nobody's").args(&1).start().unwrap();
    assert!(call.id().is_none() && call.context().is_none());
    call.result(&2);
    call.end().unwrap();
    assert!(Context::current().is_none());
    assert_eq!(unattached_records(), before + 1);
}

#[test]
fn a_run_on_a_fresh_thread_is_its_own() {
    let _turn = take_turns();
    let data = DataDir::new();
    let first = data.run("first").start();
    let first_id = first.trace_id();
    elsewhere(|| {
        let second = data.run("second").start();
        let nested = traced_run("nested");
        assert_eq!(second.trace_id(), nested.trace_id());
        assert_ne!(second.trace_id(), first_id);
    });
    first.finish();
    assert_eq!(data.finished_runs().len(), 2);
}

#[test]
fn possible_runs_count_unattached_records() {
    let _turn = take_turns();
    let data = DataDir::new();
    let unattached = |run: &tracer_tests::Finished| run.run.meta.additional.get("unattached").cloned();
    let alone = data.run("alone").start();
    elsewhere(|| tool_call("inferred").record().unwrap());
    alone.finish();
    assert_eq!(unattached(&data.finished()), None);

    let data = DataDir::new();
    let first = data.run("first").start();
    let second = elsewhere(|| data.run("second").instrument(std::future::pending::<()>()));
    elsewhere(|| {
        tool_call("lost").record().unwrap();
        llm_call("lost").start().unwrap().end().unwrap();
    });
    drop(second);
    let third = elsewhere(|| data.run("third").instrument(std::future::pending::<()>()));
    first.finish();
    drop(third);
    for run in data.finished_runs() {
        let was_live = run.run.meta.run_name.as_deref() != Some("third");
        assert_eq!(unattached(&run), was_live.then(|| 2.into()));
    }
}

#[test]
fn unattached_records_are_warned_of_once() {
    let data = DataDir::new();
    let output = tracer_tests::Program::new(env!("CARGO_BIN_EXE_traced"), &data)
        .args(["unattached"])
        .output();
    assert!(output.status.success());
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(reported.lines().count(), 1, "{reported}");
    assert!(
        reported.contains("2 runs are live") && reported.contains("`.in_current_run()`"),
        "{reported}"
    );
}

#[test]
fn without_a_run_a_recorder_allocates_and_serialises_nothing() {
    let _turn = take_turns();
    let error = "x".parse::<u8>().unwrap_err();
    let before = unattached_records();
    let taken = measure(|| {
        tool_call("search")
            .args(&NotToBeSerialised)
            .result(&NotToBeSerialised)
            .record()
            .unwrap();
        let mut call = llm_call("gpt-5").prompt(&NotToBeSerialised).start().unwrap();
        call.response(&NotToBeSerialised).usage(Usage::new(1, 2));
        call.end().unwrap();
        state(&NotToBeSerialised).record().unwrap();
        record_error(&error).unwrap();
        span("step")
            .start()
            .in_scope(|| tool_call("search").record().unwrap());
    });
    assert_eq!(taken.count_total, 0);
    assert_eq!(unattached_records() - before, 6);
}

struct NotToBeSerialised;

impl serde::Serialize for NotToBeSerialised {
    fn serialize<S: serde::Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        panic!("serialised without a run");
    }
}

#[test]
fn recording_that_is_off_leaves_nothing_behind() {
    let _turn = take_turns();
    let data = DataDir::new();
    let run = Run::new("off")
        .config(&Config::new().data_dir(data.path()).enabled(false))
        .start();
    assert_eq!((run.trace_id(), run.dir(), run.stats().written), (None, None, 0));
    tool_call("search").record().unwrap();
    drop(run);
    assert!(!data.path().exists());
}
