//! A child process that works for its parent's run: `TRACER_TRACEPARENT` (issue: *Context*).

use std::io::Write;
use std::process::Child;

use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::{RunGuard, tool_call};
use tracer_tests::{DataDir, Program};

use super::TRACED;

fn child_of(run: &RunGuard, data: &DataDir, task: &str) -> Program {
    let parent = run.context().unwrap().share();
    Program::new(TRACED, data)
        .args([task, "20"])
        .env("TRACER_TRACEPARENT", &parent)
}

#[test]
fn a_child_without_a_name_is_called_as_its_function() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    child_of(&run, &data, "default-name").succeed();
    run.finish();
    let child = data.finished().only(EventType::Unknown).name.clone();
    assert_eq!(child, "default_name");
}

#[test]
fn children_and_parent_share_one_run() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let children: Vec<Child> = (0..4).map(|_| child_of(&run, &data, "join").start()).collect();
    for _ in 0..200 {
        tool_call("parent's step").record().unwrap();
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    run.finish();
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Ok);
    assert_eq!(finished.run.meta.counts.tool_calls, 200 + 4 * 20);
    let root = finished.span(finished.only(EventType::RunStart));
    assert!(!finished.run.meta.has_exact_counts(), "readers counted");
    let children = finished.all(EventType::Unknown);
    assert_eq!(children.len(), 4);
    for child in children {
        assert_eq!(
            (child.name.as_str(), child.parent_id.clone()),
            ("child", Some(root.span_id.to_string()))
        );
        let steps = finished.all(EventType::ToolCall);
        assert_eq!(
            steps
                .iter()
                .filter(|step| step.parent_id.as_ref() == Some(&child.event_id))
                .count(),
            20
        );
    }
}

#[test]
fn a_child_joins_under_the_span_that_was_handed_on() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let phase = tracer_sdk::span("phase").start();
    let parent = phase.context().unwrap().share();
    Program::new(TRACED, &data)
        .args(["join", "1"])
        .env("TRACER_TRACEPARENT", &parent)
        .succeed();
    phase.end();
    run.finish();
    let finished = data.finished();
    assert_eq!(
        finished.span_named("child").parent_span_id,
        Some(finished.span_named("phase").span_id)
    );
}

#[test]
fn a_child_that_is_killed_leaves_its_parents_run_valid() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let mut child = child_of(&run, &data, "join-and-wait").start_ready();
    child.kill().unwrap();
    child.wait().unwrap();
    run.finish();
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.tool_calls, 1);
    let step = finished.span_named("child's step");
    let parent = step.parent_span_id.unwrap();
    assert!(
        finished.run.spans.iter().all(|span| span.span_id != parent),
        "its span never came"
    );
    assert!(tracer_runs::validate(&finished.run.directory).is_valid());
}

#[test]
fn two_processes_write_at_once_and_every_line_is_whole() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let parent = run.context().unwrap().share();
    let write = || {
        Program::new(TRACED, &data)
            .args(["join", "10000"])
            .env("TRACER_TRACEPARENT", &parent)
            .start()
    };
    for child in [write(), write()] {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    run.finish();
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.tool_calls, 20_000);
    // The run, the span of each child, and its loop warning.
    assert_eq!(finished.run.spans.len(), 20_000 + 1 + 2 * 2);
}

#[test]
fn a_child_reports_its_losses_in_the_log() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let parent = run.context().unwrap().share();
    let directory = run.dir().unwrap();
    let in_the_way = directory.join("spans.jsonl");
    std::fs::create_dir(&in_the_way).unwrap();
    let child = Program::new(TRACED, &data)
        .args(["join-and-wait"])
        .env("TRACER_TRACEPARENT", &parent);
    let mut child = child.start_ready();
    std::fs::remove_dir(&in_the_way).unwrap();
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    run.finish();
    let finished = data.finished();
    let meta: serde_json::Value =
        serde_json::from_slice(&std::fs::read(directory.join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["counts_exact"], false);
    let reported = finished.span_named("dropped spans");
    assert_eq!(reported.attributes["tracer.dropped_spans"], 1);
    assert_eq!(finished.run.meta.counts.tool_calls, 1, "the later call is there");
}

#[test]
fn late_records_of_a_child_are_marked() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let mut child = child_of(&run, &data, "join-and-wait").start_ready();
    run.finish();
    assert_eq!(data.finished().run.meta.counts.tool_calls, 1);
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.tool_calls, 2);
    // The child's own span was open when the run ended: the late call, which names it, has a stand-in for it.
    assert_eq!(finished.run.meta.additional["late_spans"], 2);
    let own = finished
        .run
        .spans
        .iter()
        .find(|span| span.name == "child" && span.attributes.contains_key("tracer.after_end"));
    // It has the place of its stand-in, under whose ID the calls were recorded.
    let own = own.unwrap();
    assert!(
        finished
            .run
            .spans
            .iter()
            .any(|span| Some(span.span_id) == own.parent_span_id)
    );
    let own = Some(own.span_id.to_string());
    assert!(
        finished
            .all(EventType::ToolCall)
            .iter()
            .all(|call| call.parent_id == own)
    );
}

/// What becomes of a child that goes on when its parent's run has ended.
fn goes_on(mut child: Child) -> String {
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_child_sees_the_end_without_live_file() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let parent = run.context().unwrap().share();
    // As emitters of other kinds, which have none.
    std::fs::remove_file(run.dir().unwrap().join(".live")).unwrap();
    let child = Program::new(TRACED, &data)
        .args(["join-and-wait"])
        .env("TRACER_TRACEPARENT", &parent)
        .start_ready();
    run.finish();
    assert_eq!(goes_on(child), "");
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.tool_calls, 2);
    assert_eq!(finished.run.meta.late_spans(), 2);
}

#[test]
fn a_process_that_keeps_the_lock_of_the_log_stops_nobody() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let child = child_of(&run, &data, "join-and-wait");
    let stopped = locked_log(&run);
    tool_call("while it is locked").record().unwrap();
    let child = child.start_ready();
    drop(stopped);
    goes_on(child);
    let stats = run.finish();
    assert_eq!((stats.written, stats.dropped), (2, 0));
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.tool_calls, 3);
    assert_eq!(finished.run.meta.additional.get("dropped"), None);
}

#[test]
fn what_a_child_loses_is_counted_though_its_parents_run_has_ended() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let child = child_of(&run, &data, "join-and-lose").start_ready();
    let directory = run.dir().unwrap();
    run.finish();
    goes_on(child);
    let finished = data.finished();
    assert_eq!(finished.run.meta.additional["dropped"]["spans"], 2);
    let log = std::fs::read_to_string(directory.join("spans.jsonl")).unwrap();
    assert!(!log.contains("dropped_spans"), "{log}");
}

/// The lock of the run's log, as a process keeps it that was stopped.
fn locked_log(run: &RunGuard) -> std::fs::File {
    let path = run.dir().unwrap().join("spans.jsonl");
    let log = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    log.try_lock().unwrap();
    log
}

#[test]
fn a_child_without_parent_run_starts_its_own() {
    let data = DataDir::new();
    let run = data.run("parent").start();
    let parent = run.context().unwrap().share();
    run.finish();
    let elsewhere = DataDir::new();
    for data in [&data, &elsewhere] {
        let output = Program::new(TRACED, data)
            .args(["join", "1"])
            .env("TRACER_TRACEPARENT", &parent)
            .output();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("a run of its own"));
    }
    let names = |data: &DataDir| -> Vec<_> {
        let mut names: Vec<_> = data
            .finished_runs()
            .into_iter()
            .map(|run| run.run.meta.run_name.unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(&data), ["child", "parent"]);
    assert_eq!(names(&elsewhere), ["child"]);
}

#[test]
fn a_bad_traceparent_is_warned_of_once() {
    let data = DataDir::new();
    let output = Program::new(TRACED, &data)
        .args(["join", "1"])
        .env("TRACER_TRACEPARENT", "../../etc")
        .output();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("TRACER_TRACEPARENT is not a W3C traceparent"));
    assert_eq!(data.finished().run.meta.run_name.as_deref(), Some("child"));
}

#[test]
fn a_torn_line_is_closed_before_appending() {
    use std::io::Write as _;

    let data = DataDir::new();
    let run = data.run("shared").start();
    let directory = run.dir().unwrap();
    // Handing the context out makes the run a shared one.
    let _ = run.context().unwrap().share();
    tracer_sdk::tool_call("before").record().unwrap();
    std::fs::OpenOptions::new()
        .append(true)
        .open(directory.join("spans.jsonl"))
        .unwrap()
        .write_all(b"{\"trace_id\":\"torn by a kill")
        .unwrap();
    tracer_sdk::tool_call("after").record().unwrap();
    run.finish();

    let run = tracer_runs::LoadedRun::read(&directory).unwrap();
    let names: Vec<_> = run.spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["before", "after", "shared"]);
}
