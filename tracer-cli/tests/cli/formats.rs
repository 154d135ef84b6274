//! `tracer export --format`: each format of a run as it is on disk.

use serde_json::Value;

use crate::sandbox::{FIRST, Outcome, Sandbox};

fn exported(format: &str, more: &[&str]) -> String {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let mut arguments = vec!["export", FIRST, "--out", "-", "--format", format];
    arguments.extend(more);
    let outcome = sandbox.tracer(&arguments);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{format}");
    outcome.stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn ndjson_has_the_events_of_the_envelope() {
    let lines: Vec<Value> = exported("ndjson", &[]).lines().map(json).collect();
    assert_eq!(json(&exported("envelope", &[]))["events"], Value::Array(lines));
}

#[test]
fn otlp_json_has_every_span_in_the_order_of_their_starts() {
    let request = json(&exported("otlp-json", &[]));
    let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap()
        .clone();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["first", "search_kb", "demo-model"]);
    assert!(spans.iter().all(|span| span["traceId"] == FIRST));
    assert_eq!(spans[1]["startTimeUnixNano"], "1767225660010000000");
}

#[test]
fn chrome_has_a_bar_for_each_span() {
    let document = json(&exported("chrome", &[]));
    let bars = document["traceEvents"].as_array().unwrap().iter();
    let bars: Vec<(&str, i64, i64)> = bars
        .filter(|event| event["ph"] == "X")
        .map(|event| {
            let number = |key: &str| event[key].as_i64().unwrap();
            (event["name"].as_str().unwrap(), number("ts"), number("dur"))
        })
        .collect();
    assert_eq!(
        bars,
        [
            ("first", 0, 400_000),
            ("search_kb", 10_000, 20_000),
            ("demo-model", 40_000, 200_000)
        ]
    );
}

#[test]
fn folded_weighs_time_or_tokens() {
    assert_eq!(
        exported("folded", &[]),
        "first 180000\nfirst;demo-model 200000\nfirst;search_kb 20000\n"
    );
    assert_eq!(exported("folded-tokens", &[]), "first;demo-model 447\n");
}

#[test]
fn html_has_every_step_and_nothing_else() {
    let page = exported("html", &[]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    for reported in ["demo-model", "search_kb", "Ended ok", FIRST] {
        assert!(page.contains(reported), "{reported}");
    }
    assert_eq!(page.matches("<li class=\"step ").count(), 2);
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "it asks for nothing"
    );
}

#[test]
fn html_is_redacted_once_more() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "grey-elephant-42", 1, "ok");
    let arguments = ["export", FIRST, "--out", "-", "--format", "html"];
    let mut command = sandbox.command(&arguments);
    let output = command
        .env("SERVICE_PASSWORD", "grey-elephant-42")
        .output()
        .unwrap();
    let outcome = Outcome::from(output);
    assert_eq!(outcome.code, Some(0));
    assert!(!outcome.stdout.contains("grey-elephant"));
    assert!(
        outcome.stderr.contains("looked like a secret"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn an_unknown_format_is_refused_with_the_known_ones() {
    let sandbox = Sandbox::new();
    sandbox
        .tracer(&["export", "--out", "-", "--format", "xml"])
        .fails(2, &["otlp-json", "chrome"]);
}
