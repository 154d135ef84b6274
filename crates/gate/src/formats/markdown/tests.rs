//! Documents for a comment: readable, inert and short enough.

use std::sync::LazyLock;

use crate::Trial;
use serde_json::json;

use super::*;
use crate::Baseline;
use crate::formats::next;
use crate::words::samples::{POLICY, crashed, failed, good, metrics, report, trial, usual};
use tracer_insight::sample_run::{Sample, tool};

fn with_next(report: &Report) -> String {
    document(report, &next::without_runs(report, Some("report.json")))
}

#[test]
fn a_gate_that_fails() {
    insta::assert_snapshot!(with_next(&failed()));
}

#[test]
fn a_gate_that_passes() {
    let trials = [1, 2, 3].map(|number| trial(number, &good()));
    insta::assert_snapshot!(with_next(&report(POLICY, Some(&usual()), &trials)));
}

#[test]
fn a_gate_without_a_trace_and_without_a_baseline() {
    insta::assert_snapshot!(with_next(&report(POLICY, None, &[trial(1, &good()), crashed(2)])));
}

#[test]
fn only_a_report_that_can_be_kept_is_offered() {
    let baseline = usual();
    let purposes = |report: &Report| {
        let steps = next::without_runs(report, Some("mine.json"));
        steps
            .into_iter()
            .map(|step| step.arguments)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let crash = report(
        POLICY,
        Some(&baseline),
        &[trial(1, &good()), crashed(2), crashed(3)],
    );
    assert!(!purposes(&crash).contains("accept"), "{}", purposes(&crash));
    let mut stopped = failed();
    stopped.trials.pop();
    let steps = purposes(&stopped);
    assert!(
        steps.contains("--json-out report.json") && steps.contains("accept"),
        "{steps}"
    );
    assert!(
        !steps.contains("mine.json") && !steps.contains("--force"),
        "{steps}"
    );
    stopped.gate.options = vec!["--force".to_owned()];
    let steps = purposes(&stopped);
    assert!(steps.contains("accept --force --baseline"), "{steps}");
}

#[test]
fn a_policy_of_standard_input_is_left_to_name() {
    let mut report = failed();
    report.gate.policy.as_mut().unwrap().path = "-".to_owned();
    assert_eq!(
        next::without_runs(&report, Some("report.json"))[0].arguments,
        "run --policy FILE --baseline .tracer/baselines/agent.json -- target/release/agent --ask 'where is it?'"
    );
}

/// Names that would format, link, mention, break out of a table, a code span, a block or the document.
const HOSTILE: [&str; 12] = [
    "`</code>`",
    "```\n# Heading\n```",
    "a | b | c",
    "\r\n\r\n## ✅ Agent gate: PASS",
    "</details></table><script>alert(1)</script>",
    "@everyone @octocat",
    "[click](https://evil.example/)",
    "https://evil.example www.evil.example a@evil.example",
    "![x](https://evil.example/pixel.png)",
    "<!-- tracer gate -->",
    "\u{202e}\u{0}\u{1b}[2J",
    "#1 owner/repo#2 GH-3",
];

/// Twenty-five trials of two hundred calls each, every name hostile and some of 100 kB.
fn hostile() -> Report {
    let long = "`|\n".repeat(33_334);
    let run = |number: u32| {
        let mut sample = Sample::new();
        for call in 0..200 {
            let hostile = HOSTILE[call % HOSTILE.len()];
            let name = match call {
                7 => format!("{number}{long}"),
                _ => format!("{hostile}{number}.{call}"),
            };
            sample = sample.step(tool(&name, &json!({"call": call, "in": number}), &json!({})));
        }
        sample
    };
    let mut trials: Vec<Trial> = (1..=25).map(|number| trial(number, &run(number))).collect();
    trials[24] = crashed(25);
    trials[24].stderr_tail = HOSTILE.join("\n").repeat(500);
    let baseline = Baseline::of_run(&metrics(99, &run(99)), "2026-11-20T10:00:00.000Z");
    let rows: Vec<String> = (0..40)
        .map(|number| {
            let name = format!("tool_calls.{}{number}", HOSTILE[number % HOSTILE.len()]);
            format!(
                "  {}: {{kind: measured, direction: lower, limit: 1}}\n",
                json!(name)
            )
        })
        .collect();
    let policy = format!(
        "version: 2\ntrials: 25\nfail_fast: false\nmetrics:\n  required_tools: {{kind: invariant, all_of: [{}]}}\n\
         {}",
        json!(HOSTILE[0]),
        rows.concat()
    );
    report(&policy, Some(&baseline), &trials)
}

static HOSTILE_DOCUMENT: LazyLock<String> = LazyLock::new(|| with_next(&hostile()));

/// The document without what is code, where nothing is obeyed: blocks and spans.
fn without_code(document: &str) -> String {
    let mut outside = String::new();
    let mut in_block = false;
    for line in document.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            continue;
        }
        let parts: Vec<&str> = line.split('`').collect();
        assert_eq!(parts.len() % 2, 1, "a code span that does not end: {line}");
        outside.extend(parts.iter().step_by(2).copied());
        outside.push('\n');
    }
    assert!(!in_block, "a block that does not end");
    outside
}

#[test]
fn hostile_names_change_nothing_but_what_is_shown_as_code() {
    // gate, *Report*
    let document = &*HOSTILE_DOCUMENT;
    let outside = without_code(document);
    for obeyed in [
        "evil.example",
        "@",
        "](",
        "<script",
        "Heading",
        "Agent gate: PASS",
        "#1",
        "GH-3",
    ] {
        assert!(!outside.contains(obeyed), "{obeyed:?} in {outside}");
    }
    assert_eq!(outside.matches(MARKER).count(), 1);
    assert_eq!(
        outside.matches("<details>").count(),
        outside.matches("</details>").count()
    );
    let rows = document
        .lines()
        .filter(|line| line.starts_with("| ❌") || line.starts_with("| ⚪"));
    let bars: Vec<usize> = rows.map(|line| line.matches('|').count()).collect();
    assert!(
        bars.len() > 3 && bars.iter().all(|count| [6, 10].contains(count)),
        "{bars:?}"
    );
}

#[test]
fn a_comment_is_never_too_long_and_counts_what_it_leaves_out() {
    // gate, *Report*
    let document = &*HOSTILE_DOCUMENT;
    assert!(document.len() <= 60_000, "{} bytes", document.len());
    assert!(document.contains("- … and ") && document.contains(" changes more"));
    assert!(document.trim_end().ends_with("</sub>"), "it ends in the middle");
}

#[test]
fn an_unchanged_agent_has_one_line_for_a_number_whatever_the_trials() {
    // gate, *Report*
    let trials: Vec<Trial> = (1..=25).map(|number| trial(number, &good())).collect();
    let policy = "version: 2\ntrials: 25\nmetrics:\n  no_loops: {kind: invariant}\n";
    let document = with_next(&report(policy, Some(&usual()), &trials));
    assert_eq!(document.matches("duration: ").count(), 1);
}
