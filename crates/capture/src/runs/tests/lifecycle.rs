//! From the first span to the end of its run, and what comes after it.

use opentelemetry_proto::tonic::trace::v1::span::Link;
use tracer_sdk::format::{Counts, RecordedStatus, names};

use super::*;

fn counts(llm_calls: u64, tool_calls: u64) -> Counts {
    Counts {
        llm_calls,
        tool_calls,
        ..Counts::default()
    }
}

#[test]
fn a_trace_becomes_a_run() {
    let bench = Bench::new();
    bench.send(vec![chat(1, 2, 1), tool(1, 3, 1)]);
    assert_eq!(bench.statuses(), [RunStatus::Running]);
    bench.send(vec![agent(1, 1, 0)]);
    bench.pass(2);
    assert_eq!(
        bench.statuses(),
        [RunStatus::Running],
        "its root has ended, others may come"
    );
    bench.pass(1);
    let run = bench.run(1);
    assert_eq!(run.meta.status, RecordedStatus::Ok);
    assert_eq!(run.meta.run_name.as_deref(), Some("weather"));
    assert_eq!((run.meta.counts, run.meta.duration_ms), (counts(1, 1), Some(100)));
    assert_eq!(run.meta.counts, run.counts());
    let call = named(&run, "chat gpt-5");
    assert_eq!(call.attributes["service.name"], "weather-app");
    assert!(!call.attributes.contains_key("user.email"));
    assert!(!call.attributes.contains_key("process.command_args"));
    assert_eq!(bench.staged(), 0);
}

#[test]
fn what_is_no_agent_is_dropped_and_counted() {
    let bench = Bench::new();
    bench.send(vec![span(1, 1, 0, "GET /", 0, 5), span(1, 2, 1, "SELECT", 1, 2)]);
    assert!(bench.statuses().is_empty());
    assert_eq!(bench.staged(), 1);
    bench.pass(3);
    assert_eq!(bench.staged(), 0);
    assert_eq!(bench.collector.close().ignored_traces, 1);
    assert!(bench.statuses().is_empty());
}

#[test]
fn everything_is_kept_on_request() {
    let bench = Bench::with(|options| options.keep_all = true);
    bench.send(vec![span(1, 1, 0, "GET /", 0, 5)]);
    bench.pass(3);
    assert_eq!(bench.run(1).meta.run_name.as_deref(), Some("GET /"));
}

#[test]
fn staged_spans_come_along_when_a_call_follows() {
    let bench = Bench::new();
    bench.send(vec![span(1, 2, 1, "SELECT", 1, 2)]);
    bench.send(vec![chat(1, 3, 1)]);
    assert_eq!(bench.statuses(), [RunStatus::Running]);
    bench.send(vec![span(1, 1, 0, "POST /chat", 0, 60)]);
    bench.pass(3);
    assert_eq!(bench.run(1).spans.len(), 3);
    assert_eq!(bench.staged(), 0);
}

#[test]
fn a_repetition_changes_nothing() {
    let bench = Bench::new();
    let all = || vec![chat(1, 2, 1), agent(1, 1, 0)];
    bench.send(all());
    bench.send(all());
    bench.pass(3);
    let before = std::fs::read(bench.run(1).directory.join("spans.jsonl")).unwrap();
    let meta = bench.run(1).meta;
    bench.send(all());
    bench.pass(3);
    assert_eq!(
        std::fs::read(bench.run(1).directory.join("spans.jsonl")).unwrap(),
        before
    );
    assert_eq!(bench.run(1).meta, meta);
    assert_eq!(bench.collector.close().duplicates, 4);
}

#[test]
fn of_two_spans_with_one_id_the_first_stays() {
    let bench = Bench::new();
    bench.send(vec![chat(1, 2, 1)]);
    bench.send(vec![tool(1, 2, 1), agent(1, 1, 0)]);
    bench.pass(3);
    assert_eq!(bench.run(1).meta.counts, counts(1, 0));
    assert_eq!(bench.collector.close().differing, 1);
}

#[test]
fn a_call_alone_gets_a_synthetic_root() {
    let bench = Bench::new();
    bench.send(vec![failed(chat(1, 2, 0))]);
    assert_eq!(bench.statuses(), [RunStatus::Running]);
    bench.pass(30);
    assert_eq!(bench.statuses(), [RunStatus::Interrupted]);
    bench.collector.close();
    let run = bench.run(1);
    assert_eq!(run.meta.counts, counts(1, 0));
    assert_eq!(run.meta.status, RecordedStatus::Error, "its only call failed");
    let root = run.spans.iter().find(|span| span.is_root()).unwrap();
    assert_eq!(root.name, "weather-app");
    assert_eq!(root.attributes[names::SYNTHETIC.written()], true);
    assert_eq!(
        named(&run, "chat gpt-5").attributes[names::ORPHAN.written()],
        true
    );
}

#[test]
fn several_roots_get_a_synthetic_one() {
    let bench = Bench::new();
    bench.send(vec![chat(1, 3, 1), agent(1, 1, 0), agent(1, 2, 0)]);
    bench.pass(3);
    let run = bench.run(1);
    let root = run.spans.iter().find(|span| span.is_root()).unwrap();
    assert_eq!(root.attributes[names::SYNTHETIC.written()], true);
    assert_eq!(root.name, "weather");
    let orphans = run
        .spans
        .iter()
        .filter(|span| span.attributes.contains_key("tracer.orphan"));
    assert!(
        orphans
            .clone()
            .all(|span| span.parent_span_id == Some(root.span_id))
    );
    assert_eq!(orphans.count(), 2);
}

#[test]
fn a_parent_that_never_comes_makes_its_child_the_root() {
    let bench = Bench::new();
    bench.send(vec![agent(1, 1, 99), chat(1, 2, 1)]);
    bench.pass(29);
    assert_eq!(bench.statuses(), [RunStatus::Running]);
    bench.pass(1);
    assert_eq!(bench.statuses(), [RunStatus::Interrupted]);
    bench.collector.close();
    let run = bench.run(1);
    let root = run.spans.iter().find(|span| span.is_root()).unwrap();
    assert_eq!(root.name, "invoke_agent weather");
    assert_eq!(root.attributes[names::ADOPTED.written()], true);
    assert_eq!(
        root.attributes[names::SOURCE_PARENT.written()],
        "0000000000000063"
    );
}

/// Bits 8 and 9 of the flags.
const NOT_REMOTE: u32 = 0x100;
const REMOTE: u32 = 0x300;

#[test]
fn of_several_lost_parents_the_remote_one_makes_a_root() {
    let bench = Bench::new();
    let flagged = |span: Span, flags: u32| Span { flags, ..span };
    // The lower bits are the trace's own; bit 9 says nothing without bit 8.
    bench.send(vec![
        flagged(agent(1, 1, 99), REMOTE | 1),
        flagged(chat(1, 2, 98), NOT_REMOTE | 1),
        flagged(tool(1, 3, 97), 0x201),
    ]);
    bench.collector.close();
    let run = bench.run(1);
    let root = run.spans.iter().find(|span| span.is_root()).unwrap();
    assert_eq!(root.name, "invoke_agent weather");
    assert_eq!(root.attributes[names::ADOPTED.written()], true);
    assert_eq!(root.attributes["otel.parent_is_remote"], true);
    for name in ["chat gpt-5", "execute_tool lookup"] {
        let call = named(&run, name);
        assert_eq!(call.parent_span_id, Some(root.span_id));
        assert!(!call.attributes.contains_key("otel.parent_is_remote"));
    }
}

#[test]
fn of_several_remote_parents_none_makes_a_root() {
    let bench = Bench::new();
    let remote = |span: Span| Span {
        flags: REMOTE,
        ..span
    };
    bench.send(vec![remote(agent(1, 1, 99)), remote(agent(1, 2, 98))]);
    bench.collector.close();
    let run = bench.run(1);
    let root = run.spans.iter().find(|span| span.is_root()).unwrap();
    assert_eq!(root.attributes[names::SYNTHETIC.written()], true);
}

#[test]
fn a_link_says_whether_it_is_remote_where_that_is_known() {
    let bench = Bench::new();
    let link = |flags: u32| Link {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        flags,
        ..Link::default()
    };
    let mut root = agent(1, 1, 0);
    root.links = vec![link(REMOTE), link(NOT_REMOTE), link(0x201)];
    bench.send(vec![root]);
    bench.pass(3);
    let run = bench.run(1);
    let links = &named(&run, "invoke_agent weather").attributes["otel.links"];
    let links: serde_json::Value = serde_json::from_str(links.as_str().unwrap()).unwrap();
    let is_remote: Vec<Option<bool>> = links
        .as_array()
        .unwrap()
        .iter()
        .map(|link| Some(link.get("is_remote")?.as_bool().unwrap()))
        .collect();
    assert_eq!(is_remote, [Some(true), Some(false), None]);
}

#[test]
fn spans_that_lack_a_parent_are_stored_with_a_warning() {
    let bench = Bench::new();
    let warning = |spans: Vec<Span>| {
        let accepted = bench.send(spans);
        assert_eq!(accepted.rejected, 0);
        accepted.message
    };
    let of = |spans: &str| Some(format!("stored, but {spans} came without a parent"));
    assert_eq!(warning(vec![chat(1, 2, 1)]), None, "its parent may come");
    assert_eq!(warning(vec![chat(1, 3, 0), agent(1, 1, 0)]), of("1 span"));
    assert_eq!(warning(vec![chat(1, 3, 0)]), None, "it was there already");
    bench.pass(3);
    // Nothing waits in a run that has ended.
    let late = vec![tool(1, 4, 77), span(1, 5, 78, "cleanup", 200, 300), tool(1, 6, 5)];
    assert_eq!(warning(late), of("2 spans"));
}

#[test]
fn a_rejection_is_said_before_a_warning() {
    let bench = Bench::new();
    let mut without_id = chat(1, 2, 1);
    without_id.span_id = Vec::new();
    let accepted = bench.send(vec![without_id, chat(1, 3, 0)]);
    assert_eq!(accepted.rejected, 1);
    assert!(accepted.message.unwrap().contains("rejected"));
}

#[test]
fn a_root_that_comes_late_completes_its_run() {
    let bench = Bench::new();
    bench.send(vec![chat(1, 2, 1)]);
    bench.pass(45);
    assert_eq!(bench.statuses(), [RunStatus::Interrupted]);
    bench.send(vec![agent(1, 1, 0)]);
    assert_eq!(bench.statuses(), [RunStatus::Running]);
    bench.pass(3);
    assert_eq!(bench.run(1).meta.status, RecordedStatus::Ok);
}

#[test]
fn orphans_are_put_under_the_root() {
    let bench = Bench::new();
    bench.send(vec![chat(1, 2, 77), agent(1, 1, 0)]);
    bench.pass(3);
    let run = bench.run(1);
    let call = named(&run, "chat gpt-5");
    assert_eq!(
        call.parent_span_id,
        Some(named(&run, "invoke_agent weather").span_id)
    );
    assert_eq!(call.attributes[names::ORPHAN.written()], true);
    assert_eq!(
        call.attributes[names::SOURCE_PARENT.written()],
        "000000000000004d"
    );
}

#[test]
fn circles_of_parents_are_opened() {
    let bench = Bench::new();
    bench.send(vec![
        agent(1, 1, 0),
        chat(1, 2, 3),
        tool(1, 3, 2),
        span(1, 4, 4, "self", 1, 2),
    ]);
    bench.pass(3);
    assert_eq!(bench.run(1).meta.counts, counts(1, 1));
}

#[test]
fn late_spans_reopen_their_run() {
    let bench = Bench::new();
    bench.send(vec![chat(1, 2, 1), agent(1, 1, 0)]);
    bench.pass(3);
    let before = bench.run(1).meta;
    // In their own tree, in a circle, and without a place.
    bench.send(vec![tool(1, 5, 6), span(1, 6, 2, "cleanup", 200, 300)]);
    bench.send(vec![
        span(1, 7, 8, "a", 1, 2),
        span(1, 8, 7, "b", 1, 2),
        span(1, 9, 55, "c", 1, 2),
        agent(1, 10, 0),
    ]);
    let run = bench.run(1);
    assert_eq!(
        (run.meta.status, &run.meta.ended_at),
        (before.status, &before.ended_at)
    );
    assert_eq!((run.meta.late_spans(), run.meta.counts), (6, counts(1, 1)));
    assert_eq!(run.counts(), run.meta.counts);
    assert!(
        named(&run, "cleanup")
            .attributes
            .contains_key(names::AFTER_END.written())
    );
    bench.pass(1_000_000);
    bench.send(vec![chat(1, 20, 0)]);
    assert_eq!(bench.run(1).meta.counts, counts(2, 1), "also after a week");
}

#[test]
fn two_runs_in_one_request_stay_apart() {
    let bench = Bench::new();
    bench.send(vec![chat(1, 2, 1), chat(2, 2, 1), agent(1, 1, 0), agent(2, 1, 0)]);
    bench.pass(3);
    assert_eq!((bench.run(1).spans.len(), bench.run(2).spans.len()), (2, 2));
}

#[test]
fn spans_without_ids_are_rejected_with_a_hint() {
    let bench = Bench::new();
    let mut zero = chat(1, 2, 1);
    zero.span_id = vec![0; 8];
    let mut short = chat(1, 3, 1);
    short.trace_id.pop();
    let accepted = bench.send(vec![zero, short, chat(1, 4, 1)]);
    assert_eq!(accepted.rejected, 2);
    assert!(accepted.message.unwrap().contains("path"));
    assert_eq!(bench.collector.close().spans, 1);
}

#[test]
fn odd_times_are_kept_valid() {
    let bench = Bench::new();
    let mut unfinished = chat(1, 2, 1);
    unfinished.end_time_unix_nano = 0;
    let mut timeless = tool(1, 3, 1);
    (timeless.start_time_unix_nano, timeless.end_time_unix_nano) = (0, 0);
    let mut backwards = span(1, 4, 1, "backwards", 50, 50);
    backwards.end_time_unix_nano = START;
    let mut fine = span(1, 5, 1, "fine", 0, 0);
    (fine.start_time_unix_nano, fine.end_time_unix_nano) = (START + 999, START + 1_000_998);
    bench.send(vec![unfinished, timeless, backwards, fine, agent(1, 1, 0)]);
    bench.pass(3);
    let run = bench.run(1);
    assert_eq!(
        named(&run, "chat gpt-5").attributes[names::UNFINISHED.written()],
        true
    );
    let backwards = named(&run, "backwards");
    assert_eq!(backwards.duration_ms, Some(0));
    assert_eq!(backwards.attributes["tracer.negative_duration_ns"], 50_000_000);
    let fine = named(&run, "fine");
    assert_eq!(fine.duration_ms, Some(0), "of the nanoseconds");
    assert_eq!(
        fine.end_time.as_ref().unwrap().text(),
        "2026-01-01T00:00:00.001000Z"
    );
}

#[test]
fn a_process_that_dies_loses_nothing() {
    let mut bench = Bench::new();
    bench.send(vec![chat(1, 2, 1), span(2, 2, 1, "SELECT", 1, 2)]);
    bench.restart();
    assert_eq!(bench.statuses(), [RunStatus::Interrupted]);
    bench.send(vec![chat(1, 2, 1), agent(1, 1, 0), chat(2, 3, 1)]);
    bench.restart();
    bench.pass(3);
    assert_eq!(bench.run(1).spans.len(), 2);
    bench.restart();
    bench.collector.close();
    assert_eq!(bench.run(2).spans.len(), 3, "with its synthetic root");
    assert_eq!(bench.staged(), 0);
}

#[test]
fn a_run_that_has_not_ended_has_a_note() {
    let bench = Bench::new();
    let files = |trace: u128| {
        let id = TraceId::from_u128(trace).unwrap().to_string();
        let note = bench.directory().join("staging").join(format!("{id}.run"));
        [note, bench.directory().join("runs").join(id).join(".live")]
    };
    bench.send(vec![chat(1, 2, 1), chat(2, 2, 1)]);
    assert!(files(2).iter().all(|file| file.exists()));
    bench.send(vec![agent(2, 1, 0)]);
    bench.pass(3);
    assert!(files(2).iter().all(|file| !file.exists()));
    assert!(files(1).iter().all(|file| file.exists()));
    bench.collector.close();
    assert_eq!(bench.staged(), 0);
}

#[test]
fn a_death_while_a_run_is_begun_stops_no_later_one() {
    let mut bench = Bench::new();
    bench.send(vec![span(1, 2, 1, "SELECT", 1, 2)]);
    bench.restart();
    // What is there at the moment before the staged folder gets its place among the runs.
    let id = TraceId::from_u128(1).unwrap().to_string();
    let staged = bench.directory().join("staging").join(id);
    let own = |name: &str| name.replace("PID", &std::process::id().to_string());
    for (file, text) in [
        (
            ".live",
            r#"{"run_name":"agent","started_at":"2026-01-01T00:00:00Z","pid":1}"#,
        ),
        (".live.PID.tmp", "{"),
        ("meta.json", "{"),
        (".meta.json.PID.tmp", "{"),
    ] {
        std::fs::write(staged.join(own(file)), text).unwrap();
    }
    bench.restart();
    assert_eq!(bench.send(vec![chat(1, 3, 1), agent(1, 1, 0)]).rejected, 0);
    bench.pass(3);
    assert_eq!(bench.run(1).spans.len(), 3);
    assert_eq!(bench.statuses(), [RunStatus::Ok]);
}

#[test]
fn an_agent_that_is_only_made_is_no_run() {
    let bench = Bench::new();
    let made = span(1, 1, 0, "create_agent weather", 0, 1);
    bench.send(vec![with(
        made,
        &[
            ("gen_ai.operation.name", "create_agent"),
            ("gen_ai.agent.name", "weather"),
        ],
    )]);
    bench.pass(3);
    assert!(bench.statuses().is_empty());
    assert_eq!(bench.collector.close().ignored_traces, 1);
}

#[test]
fn the_last_agent_fails_its_run() {
    let workflow = |calls: Vec<Span>| {
        let bench = Bench::new();
        bench.send([vec![span(1, 1, 0, "Agent workflow", 0, 200)], calls].concat());
        bench.pass(3);
        let run = bench.run(1);
        let root = named(&run, "Agent workflow");
        let inferred = root.attributes.get(names::INFERRED.written()).cloned();
        (run.meta.status, root.status_description.clone(), inferred)
    };
    let (status, description, inferred) = workflow(vec![failed(agent(1, 2, 1)), failed(chat(1, 3, 2))]);
    assert_eq!(status, RecordedStatus::Error);
    assert_eq!(
        (description.as_str(), inferred),
        ("it broke", Some("error".into()))
    );
    // Another agent ended well after it, or a model was asked: the program went on.
    let mut later = agent(1, 4, 1);
    later.end_time_unix_nano += 50 * MS;
    let handed_over = workflow(vec![failed(agent(1, 2, 1)), failed(chat(1, 3, 2)), later]);
    let mut asked = chat(1, 4, 1);
    asked.start_time_unix_nano += 120 * MS;
    asked.end_time_unix_nano += 120 * MS;
    let asked_again = workflow(vec![failed(agent(1, 2, 1)), failed(chat(1, 3, 2)), asked]);
    let went_on = (RecordedStatus::Ok, String::new(), None);
    assert_eq!((handed_over, asked_again), (went_on.clone(), went_on));
}
