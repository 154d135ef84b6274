//! Messages of a failed test: broken demands, changes, and the next step.

use std::fmt::Write as _;

use super::files::BaselineFile;
use crate::policy::PolicyError;
use crate::words::changes::change_phrases_without_time;
use crate::words::checks::check_rows;
use crate::{Baseline, Report, Verdict};
use tracer_insight::profile::RunProfile;
use tracer_insight::text;

pub(super) fn unusable_policy(name: &str, error: &PolicyError) -> String {
    let mut message = format!("the policy of `{name}` cannot be used: {error}");
    for hint in error.mistakes.iter().filter_map(|mistake| mistake.hint.as_ref()) {
        let _infallible = write!(message, "\nhint: {hint}");
    }
    message
}

pub(super) fn unusable_baseline(name: &str, error: &str) -> String {
    format!("the baseline of `{name}` cannot be used: {error}")
}

pub(super) fn foreign_baseline(name: &str, agent: &str) -> String {
    format!(
        "the baseline of `{name}` is of another agent, `{}`; remove the file, or give the test the name of its agent",
        text::printable(agent)
    )
}

pub(super) fn no_baseline(name: &str, runs: &[RunProfile]) -> String {
    let mut message = format!(
        "`{name}` has no baseline yet; it ran {} to make one",
        times(runs.len())
    );
    if let Some(run) = runs.first() {
        let counted = |counts: u64, what| text::counted(counts, what);
        let tools: Vec<String> = run
            .signature
            .tool_names()
            .into_iter()
            .map(|tool| text::printable(tool).into_owned())
            .collect();
        let tokens = match run.cost_tokens {
            Some(tokens) => counted(tokens, "token"),
            None => "tokens not known".to_owned(),
        };
        let _infallible = write!(
            message,
            "\nseen: {}, {}, {}, {tokens}",
            counted(run.step_count, "step"),
            counted(run.counts.llm_calls, "model call"),
            counted(run.counts.tool_calls, "tool call"),
        );
        if !tools.is_empty() {
            let _infallible = write!(message, "\ntools: {}", tools.join(", "));
        }
    }
    message
}

/// Calls that were made, and that no run has.
pub(super) fn unattached(name: &str, records: u64) -> String {
    format!(
        "`{name}` has no tool call, and {} found no run: a spawned task or thread takes its run along with \
         `.in_current_run()`, or by entering its context",
        text::counted(records, "record")
    )
}

/// Every check that is not met, and what changed.
pub(super) fn mismatch(name: &str, report: &Report, baseline: &Baseline) -> String {
    let what = match report.verdict {
        Verdict::Fail => "behaves worse than its baseline",
        _ => "cannot be compared with its baseline",
    };
    let sample = text::counted(baseline.trials.len() as u64, "run");
    let mut message = format!("`{name}` {what}, a sample of {sample}:");
    for row in check_rows(report)
        .into_iter()
        .filter(|row| row.outcome.is_missed())
    {
        let (sign, name) = (row.outcome.sign(), row.printable_name());
        let _infallible = write!(message, "\n  {sign} {name}: {}", row.sentence());
    }
    let changes = change_phrases_without_time(report);
    if !changes.is_empty() {
        message.push_str("\nwhat changed:");
    }
    for change in changes {
        let _infallible = write!(message, "\n  {}", change.text());
    }
    message
}

/// Next step for new behaviour that is right.
pub(super) fn how_to_accept(file: &BaselineFile, is_there: bool) -> String {
    let (path, pending) = (file.path.display(), file.pending());
    let pending = pending.display();
    if is_there {
        format!(
            "what was seen is in {pending}; when it is right:\n  \
             tracer accept --baseline '{path}' --reason 'why it is right'"
        )
    } else {
        format!("what was seen is in {pending}; when it is right, check it in:\n  mv '{pending}' '{path}'")
    }
}

pub(super) fn how_to_write() -> String {
    "nothing was written, because the environment variable CI is set; run the test on your machine to accept what it \
     sees"
        .to_owned()
}

fn times(count: usize) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}
