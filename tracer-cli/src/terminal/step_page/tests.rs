//! Single steps in full at three widths, with and without colour.

use serde_json::json;
use tracer_sdk::format::Payload;

use super::*;
use crate::terminal::tests::at_widths;
use tracer_insight::sample_run::{Sample, error, failed_tool, loop_warning, span_id, tool};
use tracer_insight::steps;

fn page(payload: Payload, evidence: &[usize]) -> String {
    let sample = Sample::new().step(payload);
    let (sources, mut span) = (sample.sources(), sample.span(1));
    let attributes = [
        ("tracer.tool_name", json!("search_kb")),
        ("tracer.error_message", json!("shown above")),
        ("retries", json!(2)),
    ];
    span.attributes = attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let steps = steps::steps(&sources, Some(Sample::started()));
    let page = StepPage {
        step: &steps[0],
        span: Some(&span),
        step_count: 11,
        evidence: &evidence
            .iter()
            .map(|number| (span_id(*number), *number))
            .collect(),
    };
    at_widths(|width| page.lines(width))
}

#[test]
fn a_tool_call_in_full() {
    let args =
        json!({"query": "refund policy for the pro plan ".repeat(8), "page": 1, "api_key": "__REDACTED__"});
    let result = json!({"hits": [{"id": 7, "text": "fn main() {\n    refund();\n}"}], "next": null});
    insta::assert_snapshot!(page(tool("search_kb", &args, &result), &[]));
}

#[test]
fn a_failed_call_in_full() {
    let mut failure = error("TimeoutError", "no answer in 5 s");
    failure.stack = Some("refund::call\n  at src/refund.rs:41\n".repeat(20));
    let shown = page(failed_tool("refund_api", &json!("ORD-1042"), failure), &[]);
    assert_eq!(shown.matches("refund::call").count(), 6 * 20, "a stack is whole");
    assert!(!shown.contains("shown above"));
}

#[test]
fn a_loop_warning_names_its_evidence() {
    let shown = page(loop_warning(&[4, 5, 6]), &[4, 5, 6]);
    assert_eq!(shown.matches("evidence: #4–#6").count(), 6);
}
