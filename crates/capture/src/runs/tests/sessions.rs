//! A coding agent's trace of which only some spans and log records name the session.

use std::path::Path;

use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use tracer_insight::digest::hex;

use super::routes::{Payload, assert_same, runs_of, runs_with_deaths, sorted};
use super::*;
use crate::runs::conversation::CodingAgent;
use crate::runs::logs::conversation_run;

fn interaction() -> Span {
    let span = span(1, 1, 0, "claude_code.interaction", 0, 100);
    with(span, &[("session.id", "s-1")])
}

/// Spans of the same trace that name no session.
fn unnamed() -> [Span; 2] {
    let request = span(1, 2, 1, "claude_code.llm_request", 10, 40);
    let tool = span(1, 3, 1, "claude_code.tool", 50, 90);
    [
        with(
            request,
            &[
                ("gen_ai.request.model", "claude-x"),
                ("user.email", "ada@example.org"),
            ],
        ),
        with(tool, &[("tool_name", "Bash")]),
    ]
}

/// A record of an answer: of a trace or of none, with a session or without.
fn answer(trace: u128, at_ms: u64, session: Option<&str>) -> Payload {
    let mut attributes = vec![
        attribute("event.name", text("api_request")),
        attribute("model", text("claude-y")),
        attribute("input_tokens", text("10")),
        attribute("output_tokens", text("5")),
    ];
    attributes.extend(session.map(|session| attribute("session.id", text(session))));
    let record = LogRecord {
        time_unix_nano: START + at_ms * MS,
        trace_id: if trace == 0 {
            Vec::new()
        } else {
            trace.to_be_bytes().to_vec()
        },
        body: Some(text("claude_code.api_request")),
        attributes,
        ..LogRecord::default()
    };
    Payload::Logs(vec![ResourceLogs {
        resource: Some(Resource {
            attributes: vec![attribute("service.name", text("claude-code"))],
            ..Resource::default()
        }),
        scope_logs: vec![ScopeLogs {
            log_records: vec![record],
            ..ScopeLogs::default()
        }],
        ..ResourceLogs::default()
    }])
}

fn sent(span: Span) -> Payload {
    Payload::Spans(request(vec![span]))
}

fn session() -> TraceId {
    conversation_run(CodingAgent::ClaudeCode, "s-1")
}

/// Every order of these.
fn orders(of: &[Payload]) -> Vec<Vec<Payload>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in of.iter().enumerate() {
        let rest: Vec<Payload> = [&of[..at], &of[at + 1..]].concat();
        all.extend(orders(&rest).into_iter().map(|mut order| {
            order.insert(0, first.clone());
            order
        }));
    }
    all
}

#[track_caller]
fn assert_one_run_in_any_order(payloads: &[Payload], records: usize) {
    let expected = sorted(runs_of(payloads.to_vec()));
    assert_eq!(expected.len(), 1, "{expected:#?}");
    assert_eq!(expected[0].len() - 1, records, "{expected:#?}");
    assert!(expected[0].iter().all(|line| !line.contains("ada@example.org")));
    for order in orders(payloads) {
        assert_eq!(sorted(runs_of(order.clone())), expected);
        assert_eq!(sorted(runs_with_deaths(order, true)), expected);
    }
    assert_same(payloads, "a session");
}

#[test]
fn spans_without_a_session_join_the_one_of_their_trace_in_any_order() {
    let [request, tool] = unnamed();
    // The run's start and end, the interaction, the request, the tool.
    assert_one_run_in_any_order(&[sent(interaction()), sent(request), sent(tool)], 5);
}

#[test]
fn log_records_without_a_session_join_the_one_of_their_trace_in_any_order() {
    let [request, _] = unnamed();
    let payloads = [sent(request), answer(1, 200, None), sent(interaction())];
    assert_one_run_in_any_order(&payloads, 5);
    let payloads = [
        answer(1, 200, None),
        answer(1, 300, Some("s-1")),
        answer(1, 400, None),
    ];
    assert_one_run_in_any_order(&payloads, 5);
}

#[test]
fn other_spans_of_the_trace_keep_their_run() {
    let [request, _] = unnamed();
    let payloads = [sent(agent(1, 8, 0)), sent(request), sent(interaction())];
    let expected = sorted(runs_of(payloads.to_vec()));
    assert_eq!(expected.len(), 2);
    for order in orders(&payloads) {
        assert_eq!(sorted(runs_of(order)), expected);
    }
}

#[test]
fn a_record_that_names_neither_session_nor_trace_is_counted_as_such() {
    let bench = Bench::new();
    let Payload::Logs(logs) = answer(0, 10, None) else {
        unreachable!()
    };
    bench.collector.accept_logs(logs).unwrap();
    let summary = bench.collector.close();
    assert_eq!((summary.logs_without_session, summary.ignored_logs), (1, 0));
    assert_eq!(
        summary.notes(),
        ["1 log record of coding agents left out: without a session and a trace"]
    );
}

#[test]
fn a_session_that_is_never_named_is_a_run_of_its_trace() {
    for is_restarted in [false, true] {
        let mut bench = Bench::new();
        bench.send(unnamed().to_vec());
        assert!(bench.statuses().is_empty(), "it waits for the name");
        if is_restarted {
            bench.restart();
        }
        bench.pass(30);
        assert_eq!(
            bench.statuses(),
            [RunStatus::Running],
            "nothing is hidden for longer"
        );
        let mut rest = span(1, 4, 1, "claude_code.tool", 95, 99);
        bench.send(vec![rest.clone()]);
        assert_eq!(bench.run(1).spans.len(), 3, "it waits no more");
        bench.restart();
        rest.span_id = 5_u64.to_be_bytes().to_vec();
        bench.send(vec![rest]);
        let summary = bench.collector.close();
        assert_eq!(bench.run(1).spans.len(), 5, "with a root");
        assert_eq!((summary.differing, bench.staged()), (0, 0));
    }
}

#[test]
fn a_root_that_ended_without_a_session_completes_the_run_of_its_trace() {
    let bench = Bench::new();
    bench.send(vec![span(1, 1, 0, "claude_code.interaction", 0, 100)]);
    bench.send(unnamed().to_vec());
    bench.pass(3);
    bench.pass(3);
    assert_eq!(bench.statuses(), [RunStatus::Ok]);
    assert_eq!(bench.collector.close().spans, 3, "each is counted once");
}

#[test]
fn waiting_spans_outlive_the_room_in_memory() {
    let bench = Bench::with(|options| options.max_open_traces = 2);
    for trace in 1..=8 {
        let id = u64::try_from(trace).unwrap() * 10;
        bench.send(vec![span(trace, id + 1, id, "claude_code.tool", 10, 20)]);
    }
    for trace in 1..=4 {
        let id = u64::try_from(trace).unwrap() * 10;
        let root = span(trace, id, 0, "claude_code.interaction", 0, 30);
        bench.send(vec![with(root, &[("session.id", "s-1")])]);
    }
    bench.collector.close();
    let run = LoadedRun::read(&bench.directory().join("runs").join(session().to_string())).unwrap();
    assert_eq!(run.spans.len(), 9);
    for trace in 5..=8 {
        named(&bench.run(trace), "claude_code.tool");
    }
    assert_eq!(bench.staged(), 0);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A death after each of the writes that move what waited: the name is on disk, the spans are in their run, or both.
#[test]
fn a_death_while_spans_are_moved_changes_nothing() {
    let expected = runs_of([Payload::Spans(request(
        [&[interaction()][..], &unnamed()].concat(),
    ))]);
    for is_moved in [false, true] {
        let mut bench = Bench::new();
        bench.send(unnamed().to_vec());
        let staging = bench.directory().join("staging");
        let before = bench.directory().join("before");
        copy(&staging, &before);
        bench.send(vec![interaction()]);
        let known = std::fs::read(staging.join("sessions")).unwrap();
        assert!(known.ends_with(format!("{} {}", hex(&1_u128.to_be_bytes()), session()).as_bytes()));
        if is_moved {
            copy(&before, &staging);
        } else {
            std::fs::remove_dir_all(bench.directory().join("runs")).unwrap();
            std::fs::remove_dir_all(&staging).unwrap();
            copy(&before, &staging);
            // Part of a line of another process comes first.
            std::fs::write(staging.join("sessions"), [&b"\n0000"[..], &known].concat()).unwrap();
        }
        std::fs::remove_dir_all(&before).unwrap();
        bench.restart();
        bench.pass(1);
        bench.send([&[interaction()][..], &unnamed()].concat());
        let summary = bench.collector.close();
        assert_eq!(summary.differing, 0);
        let run = LoadedRun::read(&bench.directory().join("runs").join(session().to_string())).unwrap();
        assert_eq!(run.spans.len(), 4, "{is_moved}");
        assert_eq!(run.records().len(), expected[0].len() - 1, "{is_moved}");
        assert_eq!(bench.staged(), 0);
    }
}

#[test]
fn a_repetition_of_what_waited_is_no_other_span() {
    let bench = Bench::new();
    bench.send(unnamed().to_vec());
    bench.send(unnamed().to_vec());
    bench.send(vec![interaction()]);
    bench.send(unnamed().to_vec());
    let summary = bench.collector.close();
    assert_eq!((summary.duplicates, summary.differing, summary.spans), (4, 0, 3));
}
