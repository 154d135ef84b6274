//! Comparisons at three widths, and as Markdown.

use serde_json::json;
use tracer_insight::comparison::Comparison;

use crate::terminal;
use crate::terminal::tests::at_widths;
use tracer_gate::formats::comparison::document;
use tracer_gate::words::samples::{good, metrics, usual, worse};
use tracer_insight::line::Line;
use tracer_insight::sample_run::{Sample, error, failed_tool, tool};

fn changed() -> Comparison {
    Comparison::of_runs(&metrics(1, &good()), &metrics(2, &worse()))
}

#[test]
fn the_old_value_is_before_the_new_one() {
    insta::assert_snapshot!(at_widths(|width| terminal::comparison::lines(&changed(), width)));
}

#[test]
fn a_comparison_in_markdown() {
    insta::assert_snapshot!(document(&changed()));
}

#[test]
fn a_run_beside_a_baseline_says_so() {
    let comparison = usual().compare(&metrics(2, &worse()));
    insta::assert_snapshot!(at_widths(|width| terminal::comparison::lines(&comparison, width)));
}

#[test]
fn runs_that_differ_only_in_time_are_the_same() {
    let comparison = Comparison::of_runs(&metrics(1, &good()), &metrics(9, &good()));
    let lines = terminal::comparison::lines(&comparison, 80);
    assert_eq!(
        lines.last().unwrap().text(),
        "The calls are the same; results and answers are not compared."
    );
}

/// A run of this many calls, each of a tool of its own.
fn calls(numbers: impl IntoIterator<Item = usize>) -> Sample {
    numbers.into_iter().fold(Sample::new(), |sample, number| {
        sample.step(tool(&format!("t{number:02}"), &json!({}), &json!({})))
    })
}

#[test]
fn a_change_in_the_middle_of_many_calls_is_seen() {
    // gate, *Comparison*
    let swapped = (0..20).map(|number| match number {
        9 => 10,
        10 => 9,
        other => other,
    });
    let comparison = Comparison::of_runs(&metrics(1, &calls(0..20)), &metrics(2, &calls(swapped)));
    let reported: Vec<String> = terminal::comparison::lines(&comparison, 60)
        .iter()
        .map(Line::text)
        .collect();
    assert!(
        reported
            .iter()
            .any(|line| line.starts_with('>') && line.contains("moved")),
        "{reported:#?}"
    );
    assert!(
        reported.iter().any(|line| line.contains("calls the same")),
        "{reported:#?}"
    );
    assert!(reported.len() < 25, "what is the same is folded: {reported:#?}");
}

#[test]
fn a_call_that_fails_now_says_so() {
    let failing = Sample::new().step(failed_tool(
        "search_kb",
        &json!({}),
        error("Timeout", "no answer"),
    ));
    let before = Sample::new().step(tool("search_kb", &json!({}), &json!({})));
    let comparison = Comparison::of_runs(&metrics(1, &before), &metrics(2, &failing));
    let reported: Vec<String> = terminal::comparison::lines(&comparison, 60)
        .iter()
        .map(Line::text)
        .collect();
    assert!(
        reported.iter().any(|line| line.contains("search_kb, fails")),
        "{reported:#?}"
    );
}

#[test]
fn rows_that_are_left_out_are_all_counted() {
    let called = |side: &str| {
        (0..1000).fold(Sample::new(), |sample, number| {
            let name = format!("call{number} {}", "電".repeat(80));
            let value = side.repeat(100);
            sample.step(tool(
                &name,
                &json!({"a": value, "b": value, "c": value}),
                &json!({}),
            ))
        })
    };
    let comparison = Comparison::of_runs(&metrics(1, &called("電")), &metrics(2, &called("話")));
    let lines = terminal::comparison::lines(&comparison, 60);
    let reported: Vec<String> = lines.iter().map(Line::text).collect();
    assert!(
        reported.contains(&"… and 600 rows more".to_owned()),
        "{reported:#?}"
    );
    let document = document(&comparison);
    let shown = document.lines().filter(|line| line.contains("⚒")).count();
    assert!((1..400).contains(&shown), "{shown}");
    let rest = format!("… and {} rows more", 1000 - shown);
    assert!(document.contains(&rest), "{rest}");
}

#[test]
fn hostile_names_stay_inert_and_the_document_short() {
    let hostile = |seed: usize| {
        (0..400).fold(Sample::new(), |sample, number| {
            let name = format!("`|\n# {seed}.{number} @all [x](https://evil.example)").repeat(20);
            sample.step(tool(&name, &json!({}), &json!({})))
        })
    };
    let comparison = Comparison::of_runs(&metrics(1, &hostile(1)), &metrics(2, &hostile(2)));
    let document = document(&comparison);
    assert!(document.len() <= 60_000);
    for line in document.lines() {
        let outside: String = line.split('`').step_by(2).collect();
        assert!(
            !outside.contains('@') && !outside.contains("evil.example"),
            "{line}"
        );
    }
    assert!(document.contains("rows more"));
}
