//! Generated runs, of which every surface tells the same calls.

use std::collections::BTreeMap;

use rstest::rstest;
use serde_json::{Map, Value, json};
use tracer_insight::profile::RunProfile;
use tracer_runs::{LogIndex, RunReader, Strictness, count_records};
use tracer_sdk::format::{
    EventType, Payload, SpanEvent, SpanKind, SpanRecord, StatusCode, StoredTime, Timestamp,
};
use tracer_sdk::spans_to_events;

use crate::mcp::Client;
use crate::receive::process::Receiving;
use crate::sandbox::Sandbox;
use crate::view::client::Viewer;

#[path = "../../../crates/format/src/project/tests/programs.rs"]
mod programs;

fn time(text: &str) -> StoredTime {
    format!("2026-01-01T00:00:{text}").parse().unwrap()
}

fn attributes(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn event(name: &str, value: Value) -> SpanEvent {
    SpanEvent {
        name: name.to_owned(),
        timestamp: time("00.5Z"),
        attributes: attributes(value),
    }
}

fn root(value: Value) -> SpanRecord {
    SpanRecord {
        trace_id: "10000000000000000000000000000001".parse().unwrap(),
        span_id: "1111111111111111".parse().unwrap(),
        parent_span_id: None,
        name: "run".to_owned(),
        kind: SpanKind::Internal,
        start_time: time("00Z"),
        end_time: Some(time("01Z")),
        duration_ms: Some(1_000),
        attributes: attributes(value),
        events: Vec::new(),
        status_code: StatusCode::Ok,
        status_description: String::new(),
    }
}

/// What a surface tells of the calls of a run.
#[derive(Debug, Clone, Default, PartialEq)]
struct Sums {
    model_calls: u64,
    tool_calls: u64,
    failed_calls: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    /// In millionths, since sums of floating point numbers differ in their order.
    micro_dollars: i64,
    unpriced_calls: u64,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the dollars of a generated run are few"
)]
fn micro_dollars(usd: &Value) -> i64 {
    (usd.as_f64().unwrap() * 1e6).round() as i64
}

impl Sums {
    fn of_profile(profile: &RunProfile) -> Self {
        Self {
            model_calls: profile.counts.llm_calls,
            tool_calls: profile.counts.tool_calls,
            failed_calls: profile.failed_calls,
            input_tokens: profile.tokens.prompt_tokens,
            output_tokens: profile.tokens.completion_tokens,
            micro_dollars: micro_dollars(&json!(profile.cost.known.dollars())),
            unpriced_calls: profile.cost.unpriced,
        }
    }

    /// Of a run as lists give it, and of the totals of the page, which hold the counts themselves.
    fn of_list(run: &Value) -> Self {
        let counts = run.get("counts").unwrap_or(run);
        let number = |value: &Value| value.as_u64();
        let tokens = |name: &str, other: &str| number(&run["tokens"][name]).or(number(&run["tokens"][other]));
        Self {
            model_calls: number(&counts["llm_calls"]).unwrap(),
            tool_calls: number(&counts["tool_calls"]).unwrap(),
            failed_calls: number(&run["failed_calls"]).unwrap(),
            input_tokens: tokens("prompt_tokens", "input"),
            output_tokens: tokens("completion_tokens", "output"),
            micro_dollars: micro_dollars(&run["cost"]["known_usd"]),
            unpriced_calls: number(&run["cost"]["unpriced_calls"]).unwrap(),
        }
    }

    /// Of the records of a run, which have no dollars: those are of `with`.
    fn of_events(events: &[Value], with: &Self) -> Self {
        let mut sums = Self {
            micro_dollars: with.micro_dollars,
            unpriced_calls: with.unpriced_calls,
            ..Self::default()
        };
        for event in events {
            let (model, tool) = (
                event["event_type"] == "LLM_CALL",
                event["event_type"] == "TOOL_CALL",
            );
            sums.model_calls += u64::from(model);
            sums.tool_calls += u64::from(tool);
            sums.failed_calls += u64::from((model || tool) && event["payload"]["status"] == "error");
            let usage = &event["payload"]["usage"];
            for (sum, name) in [
                (&mut sums.input_tokens, "prompt_tokens"),
                (&mut sums.output_tokens, "completion_tokens"),
            ] {
                if let Some(tokens) = usage[name].as_u64() {
                    *sum = Some(sum.unwrap_or(0) + tokens);
                }
            }
        }
        sums
    }
}

/// A generated run in a sandbox: its program, and what the projection of its spans tells.
struct Written {
    id: String,
    seed: u64,
    reporters: Vec<&'static str>,
    sums: Sums,
}

impl Written {
    fn new(sandbox: &Sandbox, seed: u64) -> Self {
        let program = programs::Program::of(seed);
        let mut reporting = programs::reporters(seed);
        if seed % 5 == 4 {
            // The proxy alone.
            reporting.clear();
        }
        let id = format!("{:032x}", u128::from(seed) + 1);
        let mut spans = programs::reported(&[&program], &reporting);
        for span in &mut spans {
            span.trace_id = id.parse().unwrap();
        }
        let records = spans_to_events(&spans);
        let meta = json!({
            "spec_version": "0.2.0", "trace_id": id, "run_name": "run", "started_at": time("00.000Z"), "ended_at": time("09.000Z"),
            "duration_ms": 9_000, "status": "ok", "counts": count_records(&records),
        });
        let lines: String = spans
            .iter()
            .map(|span| serde_json::to_string(span).unwrap() + "\n")
            .collect();
        let directory = sandbox.files(&id, &meta.to_string(), &lines);
        let run = RunReader::open(&directory, Strictness::Strict).unwrap();
        let sums = Sums::of_profile(&RunProfile::new(run.require_meta().unwrap(), records));
        let read = RunProfile::read(run.require_meta().unwrap(), run.records.clone()).unwrap();
        let reporters = reporting.iter().map(|teller| teller.name).collect();
        let written = Self {
            id,
            seed,
            reporters,
            sums,
        };
        written.agrees("the gate", &Sums::of_profile(&read));
        let failed = program.ran.iter().filter(|ran| ran.is_failed).count() as u64;
        assert_eq!(
            written.sums.tool_calls,
            program.ran.len() as u64,
            "{}",
            written.words()
        );
        assert!(written.sums.failed_calls >= failed, "{}", written.words());
        written
    }

    fn words(&self) -> String {
        format!("seed {}, {:?}", self.seed, self.reporters)
    }

    #[track_caller]
    fn agrees(&self, surface: &str, sums: &Sums) {
        assert_eq!(*sums, self.sums, "{surface}, {}", self.words());
    }
}

/// The lines of JSON that a command prints.
fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}")))
        .collect()
}

/// The hits of a search in each run.
fn hits(sandbox: &Sandbox, query: &str) -> BTreeMap<String, Vec<Value>> {
    let found = sandbox.tracer(&["search", query, "--limit", "all", "--json"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    let mut hits: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for hit in lines(&found.stdout) {
        let run = hit["trace_id"].as_str().unwrap().to_owned();
        hits.entry(run).or_default().push(hit);
    }
    hits
}

fn listed(sandbox: &Sandbox) -> BTreeMap<String, Sums> {
    let list = sandbox.tracer(&["list", "--limit", "all", "--json"]).json();
    let runs = list["runs"].as_array().unwrap().iter();
    runs.map(|run| (run["trace_id"].as_str().unwrap().to_owned(), Sums::of_list(run)))
        .collect()
}

#[test]
fn every_surface_tells_the_same_calls() {
    let sandbox = Sandbox::new();
    let runs: Vec<Written> = programs::seeds(60)
        .map(|seed| Written::new(&sandbox, seed))
        .collect();
    let all = listed(&sandbox);
    for run in &runs {
        run.agrees("list", &all[&run.id]);
    }
    let sum = |of: fn(&Sums) -> u64| runs.iter().map(|run| of(&run.sums)).sum::<u64>();
    let stats = sandbox.tracer(&["stats", "--json"]).json()["all"].clone();
    assert_eq!(stats["calls"], sum(|sums| sums.model_calls + sums.tool_calls));
    assert_eq!(stats["failed_calls"], sum(|sums| sums.failed_calls));
    assert_eq!(stats["input_tokens"], sum(|sums| sums.input_tokens.unwrap_or(0)));
    assert_eq!(
        stats["output_tokens"],
        sum(|sums| sums.output_tokens.unwrap_or(0))
    );
    assert_eq!(stats["unpriced_calls"], sum(|sums| sums.unpriced_calls));
    let dollars: i64 = runs.iter().map(|run| run.sums.micro_dollars).sum();
    assert!(
        (micro_dollars(&stats["known_cost_usd"]) - dollars).abs() <= i64::try_from(runs.len()).unwrap(),
        "{stats}"
    );
    for (by, of) in [
        ("model", (|sums| sums.model_calls) as fn(&Sums) -> u64),
        ("tool", |sums| sums.tool_calls),
    ] {
        let stats = sandbox.tracer(&["stats", "--by", by, "--json"]).json();
        let groups = stats["groups"].as_array().unwrap().iter();
        let calls: u64 = groups.map(|group| group["calls"].as_u64().unwrap()).sum();
        assert_eq!(calls, sum(of), "{stats}");
    }
    let found = hits(&sandbox, "kind:llm,tool");
    for run in &runs {
        let of =
            |is_right: fn(&Value) -> bool| found[&run.id].iter().filter(|hit| is_right(hit)).count() as u64;
        let sums = Sums {
            model_calls: of(|hit| hit["kind"] == "llm"),
            tool_calls: of(|hit| hit["kind"] == "tool"),
            failed_calls: of(|hit| hit["failed"] == true),
            ..run.sums.clone()
        };
        run.agrees("search", &sums);
    }
    let viewer = Viewer::start(&sandbox);
    let (mut client, _) = Client::initialized(&sandbox);
    for run in &runs {
        let id = &run.id;
        let overview = viewer.json(&format!("/api/runs/{id}/overview"));
        run.agrees("the page", &Sums::of_list(&overview["totals"]));
        let events = sandbox.tracer(&["show", id, "--json"]).json()["events"].clone();
        let sums = Sums::of_events(events.as_array().unwrap(), &run.sums);
        run.agrees("show", &sums);
        let exported = sandbox.tracer(&["export", id, "--out", "-"]).json();
        assert_eq!(exported["events"], events, "{}", run.words());
        let rows = viewer.json(&format!("/api/runs/{id}/rows?from=0&limit=200"));
        let rows = rows["rows"].as_array().unwrap();
        let of_kind = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count() as u64;
        assert_eq!(
            (of_kind("llm"), of_kind("tool")),
            (run.sums.model_calls, run.sums.tool_calls),
            "{}",
            run.words()
        );
        let facts: Vec<&str> = overview["facts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fact| fact.as_str().unwrap())
            .collect();
        let (outline, is_error) = client.call("get_run", &json!({"run_id": id}));
        let counts = outline.lines().find_map(|line| line.strip_prefix("counts: "));
        // The page leaves out counts of nothing; a fact has commas of its own.
        let counts = counts
            .unwrap_or_default()
            .split(", ")
            .filter(|fact| !fact.starts_with("0 "));
        let facts = facts.iter().flat_map(|fact| fact.split(", "));
        assert!(!is_error && counts.eq(facts), "{outline}");
        let valid = sandbox.tracer(&["validate-trace", id, "--strict"]);
        assert_eq!(valid.code, Some(0), "{}: {valid:?}", run.words());
    }
    client.end();
    let other = Sandbox::new();
    let mut receiving = Receiving::start(&other, &[]);
    let url = format!("http://{}", receiving.address());
    let pushed = sandbox.tracer(&["push", "--all", "--to", &url]);
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    for _ in &runs {
        assert_eq!(receiving.line()["event"], "completed");
    }
    let received = listed(&other);
    for run in &runs {
        run.agrees("forwarded", &received[&run.id]);
    }
}

/// The model calls of spans, their tokens, and those that failed and were not tried again.
fn model_calls(spans: &[SpanRecord]) -> (u64, u64, u64) {
    let mut sums = (0, 0, 0);
    for record in spans_to_events(spans) {
        if let Payload::LlmCall { usage, .. } = &record.payload {
            sums.0 += 1;
            sums.1 += usage.total_tokens.unwrap_or(0);
            let is_over = record.meta.contains_key("attempt_of");
            sums.2 += u64::from(record.outcome().is_failure() && !is_over);
        }
    }
    sums
}

fn is_of_proxy(span: &SpanRecord) -> bool {
    span.attributes.contains_key("tracer.source") || span.parent_span_id.is_none()
}

fn later(time: &StoredTime, by: i64) -> StoredTime {
    let at = time.instant().unix_microseconds() + by * 1_000;
    Timestamp::from_unix_microseconds(at).to_string().parse().unwrap()
}

/// The programs whose libraries change their model calls, where `change` is what became of the spans of these.
fn wrong_after(change: impl Fn(&mut SpanRecord)) -> Vec<String> {
    let mut wrong = Vec::new();
    for seed in programs::seeds(200) {
        let program = programs::Program::of(seed);
        let reporting = programs::reporters(seed);
        let alone = model_calls(&programs::reported(&[&program], &[]));
        let mut spans = programs::reported(&[&program], &reporting);
        spans.iter_mut().for_each(&change);
        let found = model_calls(&spans);
        if found != alone {
            let names: Vec<&str> = reporting.iter().map(|teller| teller.name).collect();
            wrong.push(format!("seed {seed}, {names:?}: {found:?}, alone {alone:?}"));
        }
    }
    wrong
}

#[rstest]
#[case(-1_000)]
#[case(1_000)]
fn clocks_that_differ_by_a_second_change_no_model_call(#[case] by: i64) {
    let wrong = wrong_after(|span| {
        // The recorder is on the machine of the proxy.
        if span.attributes.contains_key("otel.scope.name") {
            span.start_time = later(&span.start_time, by);
            span.end_time = span.end_time.as_ref().map(|end| later(end, by));
        }
    });
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}

#[test]
fn model_calls_without_content_are_the_same() {
    let wrong = wrong_after(|span| {
        span.events.clear();
        span.attributes.remove("gen_ai.tool.call.arguments");
    });
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
}

/// The numbers of the run in a directory, as the page reads it while it grows.
fn indexed(index: &LogIndex) -> (u64, u64) {
    let spans = (0..index.len()).filter_map(|at| index.span(at));
    let calls = spans.filter(|span| span.event_type == EventType::LlmCall);
    calls.fold((0, 0), |(calls, tokens), span| {
        (calls + 1, tokens + u64::from(span.tokens_total.unwrap_or(0)))
    })
}

/// The log of a run as it grows, by the end of each span, or with all that libraries report behind the end of the run.
#[rstest]
#[case(false)]
#[case(true)]
fn a_run_that_goes_on_has_no_more_than_in_the_end(#[case] is_late: bool) {
    for seed in programs::seeds(40) {
        let program = programs::Program::of(seed);
        let mut spans = programs::reported(&[&program], &programs::reporters(seed));
        spans.sort_by_key(|span| {
            let end = span.end_time.as_ref().map(StoredTime::instant);
            (is_late && !is_of_proxy(span), end)
        });
        let whole = model_calls(&spans);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("spans.jsonl");
        let mut written = String::new();
        std::fs::write(&log, &written).unwrap();
        let mut index = LogIndex::open(folder.path(), None, true).unwrap();
        for count in 1..=spans.len() {
            let now = &spans[..count];
            let line = serde_json::to_string(&now[count - 1]).unwrap();
            // A kill leaves half a line: it is not there yet.
            std::fs::write(&log, format!("{written}{}", &line[..line.len() / 2])).unwrap();
            assert!(index.extend(true).unwrap());
            assert_eq!(index.len(), count - 1);
            written += &(line + "\n");
            std::fs::write(&log, &written).unwrap();
            assert!(index.extend(true).unwrap());
            let (calls, tokens, _) = model_calls(now);
            assert_eq!(indexed(&index), (calls, tokens), "seed {seed}, {count} spans");
            assert!(
                calls <= whole.0 && tokens <= whole.1,
                "seed {seed}, {count} spans: {calls} {tokens} {whole:?}"
            );
        }
    }
}
