//! Pages at three widths, with and without colour.

use proptest::prelude::*;
use serde_json::json;
use tracer_insight::totals::Totals;
use tracer_sdk::format::{Payload, Problem, ProblemCode, Tags, Usage};

use super::*;
use crate::terminal::step_rows;
use crate::terminal::tests::at_widths;
use tracer_insight::sample_run::{Sample, error, failed_tool, llm, loop_warning, state, structural, tool};
use tracer_insight::{loops, step_detail, steps};

fn page(sample: &Sample, status: RunStatus, problems: &[Problem], remarks: &[&str]) -> String {
    let sources = sample.sources();
    let steps = steps::steps(&sources, Some(Sample::started()));
    let head = RunHead {
        name: Some("support-agent".to_owned()),
        started: "2026-11-21T01:14:27Z".parse().ok(),
        duration: (status != RunStatus::Interrupted).then_some(120_400),
        tags: Tags::from_variable("commit=3f2a").0,
        totals: Totals::of(&steps),
        remarks: remarks.iter().map(|remark| (*remark).to_owned()).collect(),
        cut_tail: (status == RunStatus::Interrupted).then_some(23),
        problems: problems.to_vec(),
        ..RunHead::of_meta(None, status)
    };
    let page = RunPage {
        head: &head,
        short_id: "bc519fdd",
        steps: &steps,
    };
    at_widths(|width| whole(&page, width))
}

/// What is above the steps, the loops, and the steps.
fn whole(page: &RunPage<'_>, width: usize) -> Vec<Line> {
    let mut lines = page.lines(width);
    lines.extend(loops::card_lines(page.steps, width));
    if !page.steps.is_empty() {
        lines.push(Line::new());
        lines.extend(step_rows::lines(
            page.steps,
            &step_detail::evidence_numbers(page.steps),
            width,
        ));
    }
    lines
}

fn lookup() -> Payload {
    tool(
        "lookup_customer",
        &json!({"customer_id": "cust_1042", "api_key": "__REDACTED__"}),
        &json!({"name": "Ada Lovelace", "plan": "pro", "orders": [1, 2, 3]}),
    )
}

fn search() -> Payload {
    tool(
        "search_kb",
        &json!({"query": "refund policy pro plan"}),
        &json!({"hits": 2, "top": "refunds.md"}),
    )
}

fn draft() -> Payload {
    llm(
        "Draft a reply about the refund of order ORD-1042, kindly and in few words.",
        "Dear Ada,\n\nyour refund is on its way.",
        Usage::new(412, 35),
    )
}

#[test]
fn a_run_that_went_well() {
    let sample = Sample::new()
        .step(state(
            &json!({"phase": "triage", "ticket": "ORD-1042: where is my refund?"}),
        ))
        .step(structural())
        .within(2, lookup())
        .within(2, search())
        .step(draft())
        .step(tool(
            "send_reply",
            &json!({"ticket": "ORD-1042"}),
            &json!("queued"),
        ));
    insta::assert_snapshot!(page(&sample, RunStatus::Ok, &[], &[]));
}

#[test]
fn a_run_that_looped() {
    let sample = Sample::new()
        .step(lookup())
        .step(search())
        .step(search())
        .step(search())
        .step(search())
        .step(loop_warning(&[2, 3, 4]))
        .step(draft());
    insta::assert_snapshot!(page(&sample, RunStatus::Looped, &[], &[]));
}

#[test]
fn a_run_that_failed() {
    let mut refused = error(
        "TimeoutError",
        "the refund API did not answer within 5 s: connection reset by peer",
    );
    refused.stack = Some("refund::call\n  at src/refund.rs:41\nagent::run\n  at src/agent.rs:12".to_owned());
    let mut passed_on = error(
        "AgentError",
        "the refund API did not answer within 5 s: connection reset by peer",
    );
    passed_on.stack = Some("agent::frame\n".repeat(20));
    let sample = Sample::new()
        .step(lookup())
        .step(failed_tool("refund_api", &json!({"order": "ORD-1042"}), refused))
        .on_root(Payload::Error(passed_on));
    insta::assert_snapshot!(page(&sample, RunStatus::Failed, &[], &[]));
}

#[test]
fn a_run_that_was_interrupted_and_lost_spans() {
    let torn = Problem::new(
        ProblemCode::MalformedJson,
        "spans.jsonl:3",
        "the line is not whole JSON",
    );
    let sample = Sample::new().step(lookup()).step(search());
    insta::assert_snapshot!(page(
        &sample,
        RunStatus::Interrupted,
        &[torn],
        &["3 spans could not be written: no space left on device"]
    ));
}

#[test]
fn a_run_that_has_just_begun() {
    insta::assert_snapshot!(page(&Sample::new(), RunStatus::Running, &[], &[]));
}

#[test]
fn a_run_that_is_damaged_and_hostile() {
    let problems: Vec<Problem> = (1..=23)
        .map(|line| {
            Problem::new(
                ProblemCode::MissingField,
                format!("spans.jsonl:{line}.name"),
                "is required",
            )
        })
        .collect();
    let hostile = "\x1b]0;owned\x07\u{9b}2J\u{202e}txt";
    let sample = Sample::new()
        .step(tool(hostile, &json!({hostile: hostile}), &json!(hostile)))
        .step(failed_tool(
            "検索する",
            &json!("絵文字 👩‍🔬 と全角文字"),
            error(hostile, hostile),
        ));
    let text = page(
        &sample,
        RunStatus::Damaged,
        &problems,
        &[&format!("1 span could not be written: {hostile}")],
    );
    assert!(
        text.chars().all(|char| char == '\n' || !char.is_control()),
        "{text:?}"
    );
    insta::assert_snapshot!(text);
}

proptest! {
    #[test]
    fn whatever_a_trace_says_every_line_fits_and_none_holds_a_control_character(
        said in prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter),
        width in 1usize..160,
        status in prop::sample::select(vec![RunStatus::Running, RunStatus::Failed, RunStatus::Looped, RunStatus::Ok]),
    ) {
        let mut failure = error(&said, &said);
        failure.stack = Some(said.clone());
        let sample = Sample::new()
            .step(tool(&said, &json!({said.clone(): said}), &json!(said)))
            .step(llm(&said, &said, Usage::new(1, 2)))
            .within(1, failed_tool(&said, &json!(said), failure))
            .step(loop_warning(&[1, 9]));
        let sources = sample.sources();
        let steps = steps::steps(&sources, None);
        let head = RunHead {
            name: Some(said.clone()),
            duration: Some(7),
            totals: Totals::of(&steps),
            remarks: vec![said],
            ..RunHead::of_meta(None, status)
        };
        let page = RunPage { head: &head, short_id: "bc519fdd", steps: &steps };
        for line in whole(&page, width) {
            prop_assert!(line.width() <= width, "{} columns in {width}", line.width());
            prop_assert!(!line.text().chars().any(char::is_control));
        }
    }
}
