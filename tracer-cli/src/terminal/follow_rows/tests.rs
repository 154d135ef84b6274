//! What is shown while a run is watched, at three widths, with and without colour.

use serde_json::json;
use tracer_sdk::format::Usage;

use super::*;
use crate::terminal::tests::at_widths;
use tracer_insight::sample_run::{Sample, error, failed_tool, llm, loop_warning, tool};
use tracer_insight::steps;

#[test]
fn steps_as_they_end_and_what_goes_on() {
    let sample = Sample::new()
        .step(tool(
            "search_kb",
            &json!({"query": "refund policy"}),
            &json!({"hits": 2}),
        ))
        .step(llm(
            "Draft a reply",
            "Dear Ada, your refund is on its way.",
            Usage::new(412, 35),
        ))
        .step(loop_warning(&[1]))
        .step(failed_tool(
            "refund_api",
            &json!({}),
            error("TimeoutError", "no answer within 5 s"),
        ));
    let sources = sample.sources();
    let steps = steps::steps(&sources, Some(Sample::started()));
    let totals = Totals::of(&steps);
    insta::assert_snapshot!(at_widths(|width| {
        let mut shown = vec![title(Some("support-agent"), "bc519fdd").fitted(width)];
        shown.extend(steps.iter().flat_map(|step| lines(step, width)));
        let status = status(72_000_000, Some(("search_kb", 8_200_000)), &totals);
        shown.push(status.fitted(width));
        shown
    }));
}
