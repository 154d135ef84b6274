//! Bars at three widths, with and without colour.

use serde_json::json;
use tracer_sdk::format::Usage;

use super::*;
use crate::terminal::tests::at_widths;
use tracer_insight::sample_run::{Sample, error, failed_tool, llm, structural, tool};
use tracer_insight::steps;

#[test]
fn a_run_as_bars() {
    let search = || tool("search_kb", &json!({"q": 1}), &json!({"hits": 2}));
    let sample = Sample::new()
        .step(structural())
        .within(1, search())
        .within(1, search())
        .within(1, search())
        .step(llm("Draft", "Dear Ada", Usage::new(4, 2)))
        .step(failed_tool(
            "refund_api",
            &json!({}),
            error("TimeoutError", "no answer"),
        ));
    let mut sources = sample.sources();
    for (source, duration) in sources.iter_mut().zip([30_000, 7_000, 8_000, 8_100, 60_000, 0]) {
        source.duration = Some(duration);
    }
    sources[5].in_flight = true;
    let steps = steps::steps(&sources, Some(Sample::started()));
    insta::assert_snapshot!(at_widths(|width| lines(&steps, Some(120_400), width)));
}

#[test]
fn whatever_the_times_every_bar_fits() {
    let sample = Sample::new().step(structural()).step(structural());
    let mut sources = sample.sources();
    for (offset, duration, total) in [
        (0, 0, None),
        (0, u64::MAX / 2, None),
        (7, 1, Some(u64::MAX)),
        (0, 9, Some(3)),
    ] {
        sources[0].duration = Some(duration);
        let mut steps = steps::steps(&sources, None);
        steps[0].offset = Some(offset);
        for width in [1, 12, 40, 200] {
            for line in lines(&steps, total, width) {
                assert!(line.width() <= width, "{width}: {}", line.text());
            }
        }
    }
}
