//! What a row says that no other row may lack.

use serde_json::json;
use tracer_sdk::format::Usage;

use super::*;
use tracer_insight::sample_run::{Sample, error, failed_tool, llm, loop_warning, structural, tool};
use tracer_insight::step_detail::evidence_numbers;
use tracer_insight::steps;

fn table(sample: &Sample, width: usize) -> Vec<String> {
    let sources = sample.sources();
    let steps = steps::steps(&sources, Some(Sample::started()));
    lines(&steps, &evidence_numbers(&steps), width)
        .iter()
        .map(Line::text)
        .collect()
}

#[test]
fn evidence_that_is_not_in_the_run_is_said() {
    let search = || tool("search", &json!({}), &json!({}));
    let some = Sample::new().step(search()).step(loop_warning(&[1, 8, 9]));
    assert!(table(&some, 120)[2].ends_with("in a window of 5: #1, and 2 not in this run"));
    let none = Sample::new().step(loop_warning(&[8, 9]));
    assert!(table(&none, 120)[1].ends_with("in a window of 5: its evidence is not in this run"));
}

#[test]
fn evidence_that_is_left_out_of_the_table_is_still_named() {
    let search = || tool("search", &json!({}), &json!({}));
    let sample = Sample::new()
        .step(search())
        .step(search())
        .step(loop_warning(&[1, 2]));
    let sources = sample.sources();
    let steps = steps::steps(&sources, None);
    let shown = lines(&steps[2..], &evidence_numbers(&steps), 120);
    assert!(
        shown[1].text().ends_with("in a window of 5: #1–#2"),
        "{}",
        shown[1].text()
    );
}

#[test]
fn tokens_are_never_cut() {
    let sample = Sample::new().step(llm(&"long ".repeat(40), &"long ".repeat(40), Usage::new(412, 35)));
    for width in [50, 60, 80, 140] {
        assert!(
            table(&sample, width)[1].ends_with("…\"  412→35 tok")
                || table(&sample, width)[1].ends_with("…  412→35 tok")
        );
    }
}

#[test]
fn cached_and_reasoning_tokens_are_shown_where_the_summary_keeps_its_room() {
    let mut usage = Usage::new(412, 35);
    usage.cache_read_tokens = Some(300);
    usage.reasoning_tokens = Some(12);
    let sample = Sample::new().step(llm("where?", &"long ".repeat(40), usage));
    let wide = &table(&sample, 120)[1];
    assert!(
        wide.ends_with("…  412→35 tok (300 cached, 12 for reasoning)"),
        "{wide}"
    );
    let narrow = &table(&sample, 60)[1];
    assert!(narrow.ends_with("…  412→35 tok"), "{narrow}");
}

#[test]
fn a_nested_step_is_indented_and_a_very_deep_one_still_has_room() {
    let mut sample = Sample::new().step(structural());
    for parent in 1..40 {
        sample = sample.within(parent, structural());
    }
    let lines = table(
        &sample.within(40, tool("search", &json!({"q": 1}), &json!(2))),
        80,
    );
    let column = |line: &str| line.find('▸').map(|bytes| line[..bytes].chars().count());
    assert_eq!(column(&lines[2]), column(&lines[1]).map(|column| column + 2));
    assert!(lines[41].ends_with("⚒ search  q=1 → 2"), "{}", lines[41]);
}

#[test]
fn a_long_stack_is_cut_with_a_word_about_it() {
    let mut failure = error("E", "m");
    failure.stack = Some("frame\n".repeat(20));
    let lines = table(&Sample::new().step(failed_tool("t", &json!({}), failure)), 80);
    assert_eq!(lines.iter().filter(|line| line.trim() == "frame").count(), 16);
    assert_eq!(
        lines.last().map(|line| line.trim()),
        Some("… 4 more lines: --json")
    );
}
