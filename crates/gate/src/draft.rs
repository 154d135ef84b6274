//! Policies drafted from recorded runs: what went wrong in one, or what is usual in several.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tracer_insight::profile::{Metric, MetricUnit, RunProfile};
use tracer_insight::text::{counted, one_line};
use tracer_sdk::format::RecordedStatus;

/// A check of a drafted policy.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftedCheck {
    /// Its metric.
    pub metric: String,
    /// The keys of the metric.
    pub keys: Value,
    /// The reason, for the line above.
    pub reason: String,
}

impl DraftedCheck {
    /// A check with the reason for it.
    #[must_use]
    pub fn new(metric: &str, keys: Value, reason: impl Into<String>) -> Self {
        Self {
            metric: metric.to_owned(),
            keys,
            reason: reason.into(),
        }
    }

    /// The lines of a policy: the reason as a comment, and the check.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}  {}\n", self.reason_text(), self.line())
    }

    /// The line of the reason.
    #[must_use]
    pub fn reason_text(&self) -> String {
        format!("  # {}\n", one_line(&self.reason, 200))
    }

    /// The check in one line, without its indentation.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}: {}", flow(&self.metric.clone().into()), flow(&self.keys))
    }
}

/// The checks that a run broke, whatever its agent is for.
#[must_use]
pub fn what_went_wrong(run: &RunProfile) -> Vec<DraftedCheck> {
    let invariant = || json!({"kind": "invariant"});
    let mut checks = Vec::new();
    if run.status == RecordedStatus::Error {
        checks.push(DraftedCheck::new(
            "stop_condition_reached",
            invariant(),
            "The run ended with an error.",
        ));
    }
    if let Some(loops) = run.repeats.first() {
        let calls = loops.pattern.join(", ");
        let times = counted(loops.repetitions, "time");
        let reason = format!(
            "{calls} came {times} in a row, from step {} on.",
            loops.first_step
        );
        checks.push(DraftedCheck::new("no_loops", invariant(), reason));
    }
    if let Some(stop) = run.guardrail_stops.first() {
        let reason = format!("{} stopped the run.", stop.error_type);
        checks.push(DraftedCheck::new("no_guardrails", invariant(), reason));
    }
    let is_tool = |name: &&String| run.signature.tools.contains(name);
    let (tools, models): (Vec<&String>, Vec<&String>) = run.unrecovered_calls.iter().partition(is_tool);
    if let Some(tool) = tools.first() {
        // Recorded answers of a model fail again.
        let keys = json!({"kind": "invariant", "allow": models});
        let reason = format!("A call of {tool} failed and none succeeded after it.");
        checks.push(DraftedCheck::new("failed_calls_are_retried", keys, reason));
    }
    if let Some(not_run) = run.not_run_calls.filter(|calls| *calls > 0) {
        let keys = json!({"kind": "measured", "direction": "upper", "limit": 0});
        let reason = format!("{} asked for and not run.", counted(not_run, "call"));
        checks.push(DraftedCheck::new("not_run_call_count", keys, reason));
    }
    checks
}

/// Share of the largest value seen by which a limit lies above it.
const MARGIN: f64 = 0.5;

/// The checks that all these runs keep: limits above what was seen, and the tools that every run called.
#[must_use]
pub fn what_is_usual(runs: &[RunProfile]) -> Vec<DraftedCheck> {
    let all = |kept: fn(&RunProfile) -> bool| runs.iter().all(kept);
    let of_runs = counted(runs.len() as u64, "run");
    let mut checks = Vec::new();
    for (metric, is_kept, reason) in [
        (
            "stop_condition_reached",
            all(|run| run.status == RecordedStatus::Ok),
            "ended well",
        ),
        (
            "no_loops",
            all(|run| run.has_looped() == Some(false)),
            "repeated no calls",
        ),
        (
            "no_guardrails",
            all(|run| run.guardrail_stops.is_empty()),
            "met no guardrail",
        ),
        (
            "failed_calls_are_retried",
            all(|run| run.unrecovered_calls.is_empty() && run.perhaps_recovered_calls.is_empty()),
            "left no failed call without a successful one after it",
        ),
    ] {
        if is_kept {
            let reason = format!("Each of {of_runs} {reason}.");
            checks.push(DraftedCheck::new(metric, json!({"kind": "invariant"}), reason));
        }
    }
    let tools = runs.iter().map(|run| run.signature.tool_names());
    let common = tools.reduce(|common, tools| &common & &tools).unwrap_or_default();
    if !common.is_empty() {
        let reason = format!("Each of {of_runs} called these.");
        checks.push(DraftedCheck::new(
            "required_tools",
            json!({"kind": "invariant", "all_of": common}),
            reason,
        ));
    }
    for metric in Metric::recorded().filter(|metric| metric.unit() != MetricUnit::Milliseconds) {
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.value(&metric)).collect();
        // An unknown number gives no limit, nor does one that was always zero.
        let Some(most) = values
            .and_then(|values| values.into_iter().reduce(f64::max))
            .filter(|most| *most > 0.0)
        else {
            continue;
        };
        let limit = match metric.unit() {
            MetricUnit::Dollars => most * (1.0 + MARGIN),
            _ => (most * (1.0 + MARGIN)).ceil(),
        };
        let keys = json!({"kind": "measured", "direction": "upper", "limit": limit, "aggregate": "max"});
        let reason = format!("At most {most} in {of_runs}.");
        checks.push(DraftedCheck::new(&metric.to_string(), keys, reason));
    }
    checks
}

/// The text of a policy with these checks, one for each metric, each below its reason.
#[must_use]
pub fn policy_text(heading: &[&str], trials: u32, checks: &[DraftedCheck]) -> String {
    let mut text = String::new();
    for line in heading {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# {line}");
    }
    let _ = writeln!(text, "version: 2\ntrials: {trials}\ninconclusive: fail\nmetrics:");
    text.extend(checks.iter().map(DraftedCheck::text));
    text
}

/// A value as YAML in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("{}: {}", flow(&key.clone().into()), flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string().trim_end_matches(".0").to_owned(),
    }
}

/// Returns whether a text means itself in YAML without quotes.
fn is_plain(text: &str) -> bool {
    let is_word = text
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || "_-./".contains(char));
    let is_other =
        ["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&&*text.to_ascii_lowercase());
    text.starts_with(|char: char| char.is_ascii_alphabetic()) && is_word && !is_other
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tracer_insight::testing::recorded;
    use tracer_sdk::{llm_call, tool_call};

    use super::*;
    use crate::policy::{Overrides, Policy};

    #[test]
    fn each_thing_that_went_wrong_is_a_check() {
        let named = |run: &RunProfile| -> Vec<String> {
            what_went_wrong(run)
                .into_iter()
                .map(|check| check.metric)
                .collect()
        };
        assert!(named(&recorded(|| tool_call("search").record())).is_empty());
        let looped = recorded(|| (0..4).try_for_each(|_| tool_call("search").args("refund").record()));
        assert_eq!(named(&looped), ["no_loops"]);
        let failed = recorded(|| tool_call("search").fail("no index").record());
        assert_eq!(named(&failed), ["failed_calls_are_retried"]);
    }

    #[test]
    fn a_draft_of_runs_is_a_policy_that_they_keep() {
        let runs = [1, 2].map(|searches| {
            recorded(|| {
                (0..searches).try_for_each(|page| tool_call("search").args(&page).record())?;
                tool_call("reply").record()?;
                llm_call("gpt-5").record()
            })
        });
        let text = policy_text(&["Drafted."], 3, &what_is_usual(&runs));
        let policy = Policy::parse(&text, &Overrides::default()).unwrap();
        let has = |name: &str| policy.check(name).is_some();
        assert!(
            has("required_tools") && has("step_count") && has("no_loops"),
            "{text}"
        );
        assert!(!has("cost_tokens"), "tokens are not known: {text}");
        assert!(
            text.contains("  required_tools: {all_of: [reply, search], kind: invariant}\n"),
            "{text}"
        );
        assert!(text.contains("limit: 6}"), "four steps and half of it: {text}");
    }

    proptest! {
        #[test]
        fn a_value_in_one_line_is_read_as_it_was(text in "\\PC{0,12}", word in "[a-z]{1,4}") {
            let keys = json!({"all_of": [text.clone() + "x", word, "yes", "a: b", "#"], "kind": "invariant"});
            let check = DraftedCheck::new("required_tools", keys, text);
            let text = policy_text(&[], 1, std::slice::from_ref(&check));
            let policy = Policy::parse(&text, &Overrides::default()).unwrap();
            prop_assert_eq!(&policy.checks[0].keys, &check.keys, "{}", text);
        }
    }
}
