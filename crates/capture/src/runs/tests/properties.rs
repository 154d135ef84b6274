//! What must hold whatever comes in whatever order, however often, and wherever the process dies.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use tracer_insight::digest::hex;
use tracer_sdk::format::names;

use super::*;

/// A trace with its own root, an orphan, late parents, calls and structure.
fn trace() -> Vec<Span> {
    vec![
        agent(1, 1, 0),
        chat(1, 2, 1),
        tool(1, 3, 2),
        span(1, 4, 1, "plan", 5, 60),
        failed(chat(1, 5, 4)),
        chat(1, 6, 77),
        span(1, 7, 8, "a", 1, 2),
        span(1, 8, 7, "b", 1, 2),
    ]
}

/// Several roots, and a call without a parent.
fn rootless() -> Vec<Span> {
    vec![chat(1, 2, 0), agent(1, 3, 0), agent(1, 4, 99), tool(1, 5, 4)]
}

/// The records of a run, without what the order of arrival may change.
fn records(run: &LoadedRun) -> Vec<Value> {
    let mut records: Vec<Value> = run
        .records()
        .iter()
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    // Those of one instant are in the order of the file.
    // A span that came when its run was completed says so.
    for record in &mut records {
        let attributes = record
            .pointer_mut("/payload/attributes")
            .and_then(Value::as_object_mut);
        attributes.map(|attributes| attributes.remove("tracer.after_end"));
    }
    records.sort_by_key(|record| record["event_id"].as_str().unwrap().to_owned());
    records
}

fn links(run: &LoadedRun) -> BTreeMap<String, Option<String>> {
    let link = |span: &SpanRecord| {
        (
            span.span_id.to_string(),
            span.parent_span_id.map(|id| id.to_string()),
        )
    };
    run.spans.iter().map(link).collect()
}

/// The parent that each span named, wherever it was put; of those that named none, what they were put under.
fn named_parents(run: &LoadedRun) -> BTreeMap<String, Option<String>> {
    let named = |span: &SpanRecord| {
        let moved = span.attributes.get(names::SOURCE_PARENT.written());
        let named = moved.and_then(Value::as_str).map(str::to_owned);
        let named = named.or_else(|| span.parent_span_id.map(|id| id.to_string()));
        (span.span_id.to_string(), named)
    };
    run.spans.iter().map(named).collect()
}

/// Whether a span came when the run was completed.
fn is_any_late(run: &LoadedRun) -> bool {
    run.spans
        .iter()
        .any(|span| span.attributes.contains_key(names::AFTER_END.written()))
}

/// What arrives: which spans, in which requests, and what happens in between.
#[derive(Debug, Clone)]
enum Step {
    Send(Vec<usize>),
    Die,
    Tick,
}

fn steps(spans: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(0..spans, 1..spans).prop_map(Step::Send),
        1 => Just(Step::Die),
        1 => Just(Step::Tick),
    ];
    prop::collection::vec(step, 0..8)
}

/// Each starts at a time of its own: records of one instant are in the order of the file.
fn apart(mut spans: Vec<Span>) -> Vec<Span> {
    for (at, span) in (0_u64..).zip(&mut spans) {
        span.start_time_unix_nano += at * 1_000;
    }
    spans
}

/// The run that comes of these steps, and of all spans in `order` at the end.
fn run_of(all: &[Span], steps: &[Step], order: &[usize]) -> LoadedRun {
    let mut bench = Bench::new();
    for step in steps {
        match step {
            Step::Send(picked) => {
                bench.send(picked.iter().map(|at| all[*at].clone()).collect());
            }
            Step::Die => bench.restart(),
            Step::Tick => bench.pass(1),
        }
    }
    for part in order.chunks(3) {
        bench.send(part.iter().map(|at| all[*at].clone()).collect());
    }
    bench.collector.close();
    let run = bench.run(1);
    assert_eq!(run.meta.counts, run.counts());
    assert_eq!(run.spans.iter().filter(|span| span.is_root()).count(), 1);
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_batching_repetition_and_death_give_the_same_run(
        is_rootless in any::<bool>(),
        (steps, order) in (steps(4), Just((0..8).collect::<Vec<usize>>()).prop_shuffle()),
    ) {
        let all = apart(if is_rootless { rootless() } else { trace() });
        let order: Vec<usize> = order.into_iter().filter(|at| *at < all.len()).collect();
        let plain: Vec<usize> = (0..all.len()).collect();
        let expected = run_of(&all, &[], &plain);
        let found = run_of(&all, &steps, &order);
        let named = named_parents(&found);
        for sent in all.iter().filter(|span| !span.parent_span_id.is_empty()) {
            let parent = named.get(&hex(&sent.span_id)).cloned().flatten();
            prop_assert_eq!(parent, Some(hex(&sent.parent_span_id)));
        }
        if is_any_late(&found) {
            // What came after the run's end was put under what was there, and its root is the one that was known then.
            return Ok(());
        }
        prop_assert_eq!(links(&found), links(&expected));
        prop_assert_eq!(records(&found), records(&expected));
        prop_assert_eq!(&found.meta.run_name, &expected.meta.run_name);
        prop_assert_eq!((found.meta.status, found.meta.counts), (expected.meta.status, expected.meta.counts));
    }
}

#[test]
fn a_torn_line_of_a_dead_process_is_cut_off() {
    use std::io::Write;
    let mut bench = Bench::new();
    bench.send(vec![chat(1, 2, 1)]);
    let log = bench
        .directory()
        .join("runs")
        .join(format!("{:032x}", 1))
        .join("spans.jsonl");
    std::fs::OpenOptions::new()
        .append(true)
        .open(&log)
        .unwrap()
        .write_all(br#"{"trace_id":"0000"#)
        .unwrap();
    bench.restart();
    bench.send(vec![agent(1, 1, 0)]);
    bench.pass(3);
    assert_eq!(bench.run(1).spans.len(), 2);
}

#[test]
fn many_traces_at_once_take_bounded_room() {
    let bench = Bench::with(|options| options.max_open_traces = 8);
    for trace in 1..=40 {
        bench.send(vec![chat(trace, 2, 1)]);
    }
    for trace in 1..=40 {
        bench.send(vec![agent(trace, 1, 0)]);
    }
    bench.pass(3);
    bench.collector.close();
    assert!((1..=40).all(|trace| bench.run(trace).spans.len() == 2));
    assert_eq!(bench.staged(), 0);
}

#[test]
fn a_trace_takes_a_limited_number_of_spans() {
    let bench = Bench::with(|options| options.max_spans_of_trace = 3);
    let accepted = bench.send((2..=6).map(|id| chat(1, id, 1)).collect());
    assert_eq!(accepted.rejected, 2);
    let accepted = bench.send(vec![chat(1, 2, 1), chat(1, 9, 1)]);
    assert_eq!(accepted.rejected, 1, "what is there is no more of it");
}

#[test]
fn a_disk_that_takes_nothing_is_reported_and_a_repetition_completes_the_run() {
    let mut bench = Bench::new();
    bench.send(vec![chat(1, 2, 1)]);
    bench.restart();
    let log = bench
        .directory()
        .join("runs")
        .join(format!("{:032x}", 1))
        .join("spans.jsonl");
    // What is no file cannot be written, whoever tries.
    let aside = bench.directory().join("aside");
    std::fs::rename(&log, &aside).unwrap();
    std::fs::create_dir(&log).unwrap();
    let rest = || vec![agent(1, 1, 0), tool(1, 3, 1)];
    let refused = bench.collector.accept_spans(request(rest()));
    assert!(matches!(refused, Err(Refused::Storage(_))), "{refused:?}");
    std::fs::remove_dir(&log).unwrap();
    std::fs::rename(&aside, &log).unwrap();
    bench.send(rest());
    bench.pass(3);
    assert_eq!(bench.run(1).spans.len(), 3);
}
