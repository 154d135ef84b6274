//! `tracer show`: filters, one step in full, the conversation, bars, and runs with very many steps.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{FIRST, SECOND, Sandbox, meta, spans};

fn one() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox
}

/// The rows of the table, without what stands above it.
fn rows(stdout: &str) -> Vec<&str> {
    stdout
        .lines()
        .skip_while(|line| !line.contains("STEP"))
        .skip(1)
        .collect()
}

#[test]
fn filters_leave_steps_out_and_keep_their_numbers() {
    let sandbox = one();
    let shown = |arguments: &[&str]| {
        let outcome = sandbox.tracer(&[&["show"], arguments].concat());
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let numbers = rows(&outcome.stdout);
        let numbers = numbers
            .iter()
            .map(|row| row.split_whitespace().next().unwrap().to_owned());
        (numbers.collect::<Vec<_>>(), outcome.stderr)
    };
    assert_eq!(shown(&["--kind", "llm"]).0, ["2"]);
    assert_eq!(shown(&["--kind", "tool,llm"]).0, ["1", "2"]);
    assert_eq!(shown(&["--grep", "POLICY"]).0, ["1"]);
    let (none, said) = shown(&["--errors"]);
    assert!(none.is_empty() && said.contains("no steps match"), "{said}");
    assert!(shown(&["--kind", "llm"]).1.contains("1 of 2 steps"));
    sandbox
        .tracer(&["show", "--kind", "nonsense"])
        .fails(2, &["llm", "tool"]);
}

#[test]
fn json_and_filters_go_together() {
    let sandbox = one();
    let outcome = sandbox.tracer(&["show", "--json", "--kind", "tool"]);
    let events = outcome.json()["events"].clone();
    assert_eq!(events.as_array().map(Vec::len), Some(1));
    assert_eq!(events[0]["event_type"], "TOOL_CALL");
    let step = sandbox.tracer(&["show", "--json", "--step", "2"]);
    assert_eq!(step.json()["events"][0]["event_type"], "LLM_CALL");
}

#[test]
fn one_step_is_shown_in_full() {
    let sandbox = Sandbox::new();
    let long = "word ".repeat(3_000);
    let result = format!(r#"{{\"text\":\"one\\ntwo\",\"long\":\"{long}end\"}}"#);
    let text = spans(FIRST, "first", 1, "ok").replace(r#"{\"hits\":2}"#, &result);
    sandbox.files(FIRST, &meta(FIRST, "first", 1, "ok").to_string(), &text);
    let outcome = sandbox.tracer(&["show", "--step", "1"]);
    assert_eq!(outcome.code, Some(0));
    let expected = [
        "⚒ search_kb  step 1 of 2  ok",
        "  +10.0 ms · took 20.0 ms · 2026-01-01T00:01:00.010000Z",
        "  span 1111111111111111 · parent 00f067aa0ba902b7",
        "",
        "  arguments",
        "    query: refund policy",
        "",
        "  result",
        &format!("    long: {long}end"),
        "    text:",
        "      one",
        "      two",
        "",
        "  attributes",
        "    tracer.status: ok",
        "    tracer.tool_name: search_kb",
    ];
    assert_eq!(outcome.stdout.lines().collect::<Vec<_>>(), expected);
    sandbox
        .tracer(&["show", "--step", "3"])
        .fails(2, &["2 steps", "no step 3", "hint: "]);
    sandbox.tracer(&["show", "--step", "0"]).fails(2, &["no step 0"]);
}

#[test]
fn the_conversation_pairs_questions_with_answers() {
    let outcome = one().tracer(&["show", "--transcript"]);
    assert_eq!(outcome.code, Some(0));
    let expected = [
        "⚒ search_kb  #1",
        "    query: refund policy",
        "  →",
        "    hits: 2",
        "",
        "✦ demo-model  #2",
        "  user",
        "    Draft a reply",
        "  assistant",
        "    Dear Ada",
    ];
    assert_eq!(outcome.stdout.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn bars_stand_where_the_steps_were() {
    let outcome = one().tracer(&["show", "--waterfall"]);
    assert_eq!(outcome.code, Some(0));
    let bars: Vec<&str> = rows(&outcome.stdout);
    assert_eq!(bars.len(), 2);
    let start = |row: &str| row.chars().position(|char| char == '█' || char == '▏').unwrap();
    assert!(start(bars[0]) < start(bars[1]), "{bars:?}");
    assert!(
        bars[1].matches('█').count() > 5 * bars[0].matches('█').count(),
        "{bars:?}"
    );
}

#[test]
fn a_run_is_shown_in_one_way_at_a_time() {
    one()
        .tracer(&["show", "--waterfall", "--transcript"])
        .fails(2, &["cannot be used with"]);
}

/// A run of this many tool calls, a loop warning in the middle, and a model call.
fn very_many(sandbox: &Sandbox, id: &str, count: usize) {
    let span = |number: usize, parent: Option<&str>, attributes: Value| {
        let time = format!("2026-01-01T00:00:{:02}.{:03}000Z", number / 1_000, number % 1_000);
        json!({
            "trace_id": id, "span_id": format!("{:016x}", number + 1), "parent_span_id": parent,
            "name": format!("step_{number}"), "kind": "INTERNAL", "start_time": time, "end_time": time,
            "duration_ms": 0, "attributes": attributes, "events": [], "status_code": "OK", "status_description": "",
        })
        .to_string()
            + "\n"
    };
    let root = format!("{:016x}", 1);
    let mut log = String::new();
    for number in 1..=count {
        log += &span(
            number,
            Some(&root),
            json!({"tracer.tool_name": format!("tool_{number}")}),
        );
    }
    log += &span(0, None, json!({}));
    let mut meta = meta(id, "many", 0, "ok");
    meta["counts"] = json!({"llm_calls": 0, "tool_calls": count, "errors": 0, "loop_warnings": 0});
    sandbox.files(id, &meta.to_string(), &log);
}

#[test]
fn long_runs_show_first_and_last_steps() {
    let sandbox = Sandbox::new();
    very_many(&sandbox, FIRST, 1_500);
    let outcome = sandbox.tracer(&["show"]);
    assert_eq!(outcome.code, Some(0));
    assert!(
        outcome
            .stdout
            .contains("  Ended ok after 1,500 steps.\n  1,500 steps · 0 model calls · 1,500 tool calls"),
        "{}",
        outcome.stdout
    );
    let rows = rows(&outcome.stdout);
    assert_eq!(rows.len(), 301);
    assert!(
        rows[199].contains("tool_200") && rows[201].contains("tool_1401"),
        "{rows:?}"
    );
    assert_eq!(rows[200], "  … 1,200 steps omitted …");
    assert!(
        outcome.stderr.contains("tracer show aaaa1111 --all"),
        "{}",
        outcome.stderr
    );

    let all = sandbox.tracer(&["show", "--all"]);
    assert_eq!(
        all.stdout.lines().filter(|line| line.contains("⚒ tool_")).count(),
        1_500
    );
    let found = sandbox.tracer(&["show", "--grep", "tool_777"]);
    assert_eq!(self::rows(&found.stdout).len(), 1, "{}", found.stdout);
    let step = sandbox.tracer(&["show", "--step", "777"]);
    assert!(
        step.stdout.starts_with("⚒ tool_777  step 777 of 1500"),
        "{}",
        step.stdout
    );
    let events = sandbox.tracer(&["show", "--json"]).json()["events"].clone();
    assert_eq!(events.as_array().map(Vec::len), Some(1_502));
}

#[test]
fn runs_are_selected_by_name_and_age() {
    let sandbox = one();
    sandbox.run(SECOND, "second", 2, "ok");
    for (selector, name) in [
        ("second", "second"),
        ("latest", "second"),
        ("latest~1", "first"),
        ("first", "first"),
    ] {
        let outcome = sandbox.tracer(&["show", selector]);
        assert!(outcome.stdout.starts_with(&format!("✓ {name}  ")), "{outcome:?}");
    }
    sandbox
        .tracer(&["show", "latest~2"])
        .fails(2, &["only 2 runs", "hint: "]);
    sandbox
        .tracer(&["show", "secnd"])
        .fails(2, &["closest: ", "second"]);
}

#[test]
fn what_is_left_of_a_run_without_its_log_is_shown() {
    let sandbox = one();
    fs::remove_file(sandbox.run_dir(FIRST).join("spans.jsonl")).unwrap();
    for arguments in [
        &["show"][..],
        &["show", "--transcript"],
        &["show", "--waterfall"],
        &["show", "--json"],
    ] {
        let outcome = sandbox.tracer(arguments);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(
            outcome.stderr.contains("tracer validate-trace"),
            "{}",
            outcome.stderr
        );
    }
}
