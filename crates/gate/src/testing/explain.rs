//! What a failed test says: what is demanded and not met, what changed, and what to do.

use std::fmt::Write as _;

use super::files::BaselineFile;
use crate::policy::PolicyError;
use crate::{Baseline, CheckResult, Evidence, Judgement, Trial, Verdict};
use tracer_insight::comparison::{Comparison, MetricChange};

pub(super) fn unusable_policy(name: &str, error: &PolicyError) -> String {
    let mut message = format!("the policy of `{name}` cannot be used: {error}");
    if let Some(hint) = &error.hint {
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
        printable(agent)
    )
}

pub(super) fn no_baseline(name: &str, trials: usize) -> String {
    format!(
        "`{name}` has no baseline yet; it ran {} to make one",
        times(trials)
    )
}

/// Every check that is not met, and what changed in the first run that differs.
pub(super) fn mismatch(name: &str, judgement: &Judgement, baseline: &Baseline, trials: &[Trial]) -> String {
    let what = match judgement.verdict {
        Verdict::Fail => "behaves worse than its baseline",
        _ => "cannot be compared with its baseline",
    };
    let mut message = format!("`{name}` {what}, a sample of {}:", runs(baseline.trials()));
    let missed = |check: &&CheckResult| matches!(check.verdict, Some(Verdict::Fail | Verdict::Inconclusive));
    for check in judgement.checks.iter().filter(missed) {
        let _infallible = write!(message, "\n  ✗ {}: {}", check.check_name, seen(check));
    }
    let compared = trials.iter().filter_map(|trial| {
        let comparison = baseline.compare(trial.metrics.as_ref()?);
        Some((trial.number, changes(&comparison)))
    });
    if let Some((number, changes)) = compared.into_iter().find(|(_, changes)| !changes.is_empty()) {
        let _infallible = write!(message, "\nwhat changed in trial {number}:");
        for change in changes {
            let _infallible = write!(message, "\n  {change}");
        }
    }
    message
}

/// What a check demanded and what it saw.
fn seen(check: &CheckResult) -> String {
    let mut seen = match &check.evidence {
        Evidence::Invariant(evidence) => {
            let description = printable(&evidence.description);
            let violating: Vec<_> = check
                .violating_trials()
                .map(|number| {
                    let tools = evidence.tools.iter().find(|broken| broken.trial == number);
                    match tools {
                        Some(broken) => format!("{number} ({})", printable(&broken.tools.join(", "))),
                        None => number.to_string(),
                    }
                })
                .collect();
            if violating.is_empty() {
                description
            } else {
                format!("{description}; not so in trial {}", violating.join(", "))
            }
        }
        Evidence::Measured(evidence) => {
            let bounds = [
                evidence.allowed.lower.map(|lower| format!("at least {lower}")),
                evidence.allowed.upper.map(|upper| format!("at most {upper}")),
            ];
            let bounds: Vec<_> = bounds.into_iter().flatten().collect();
            let (aggregate, bounds) = (&evidence.aggregate, bounds.join(" and "));
            format!("{aggregate} {}, allowed {bounds}", number(evidence.observed))
        }
        Evidence::Statistical(evidence) => {
            format!("{} of {} trials succeeded", evidence.successes, check.trials_used)
        }
        Evidence::SingleTrial(evidence) => {
            format!(
                "{}, and the baseline's runs reach {}",
                number(evidence.observed),
                evidence.prediction_bound
            )
        }
        Evidence::Distributional(evidence) => format!(
            "{} of {} trials lie beyond {}, which the baseline's runs reach",
            evidence.harmful_exceedances, check.trials_used, evidence.prediction_bound
        ),
    };
    if !check.unknown_trials.is_empty() {
        let unknown: Vec<_> = check.unknown_trials.iter().map(ToString::to_string).collect();
        let _infallible = write!(seen, "; not known of trial {}", unknown.join(", "));
    }
    seen
}

/// What differs from the baseline, without how long it took.
fn changes(comparison: &Comparison) -> Vec<String> {
    let mut changes = Vec::new();
    let metric = |change: &MetricChange| {
        format!(
            "{}: {} → {}",
            change.metric,
            number(change.before),
            number(change.after)
        )
    };
    let reported = |change: &&MetricChange| change.is_changed() && change.metric != "latency_ms";
    changes.extend(comparison.metrics.iter().filter(reported).map(metric));
    let names = [
        ("new tools", &comparison.tools.added),
        ("tools no longer called", &comparison.tools.removed),
        ("new models", &comparison.models.added),
        ("models no longer asked", &comparison.models.removed),
    ];
    for (what, names) in names.into_iter().filter(|(_, names)| !names.is_empty()) {
        let names: Vec<_> = names.iter().map(|name| printable(name)).collect();
        changes.push(format!("{what}: {}", names.join(", ")));
    }
    for repeated in &comparison.tools.repeated {
        let tool = printable(&repeated.tool);
        changes.push(format!(
            "calls of {tool}: {} → {}",
            repeated.before, repeated.after
        ));
    }
    if comparison.tools.is_reordered {
        changes.push("tools are called in another order".to_owned());
    }
    if comparison.before.status != comparison.after.status {
        changes.push(format!(
            "status: {} → {}",
            comparison.before.status, comparison.after.status
        ));
    }
    changes
}

/// What to do when the new behaviour is right.
pub(super) fn how_to_accept(file: &BaselineFile, is_there: bool) -> String {
    let (path, pending) = (file.path.display(), file.pending());
    let pending = pending.display();
    if is_there {
        format!(
            "what was seen is in {pending}; when it is right:\n  \
             tracer accept --baseline '{path}' --pending --reason 'why it is right'"
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

/// A name of a trace without what could steer a terminal.
fn printable(name: &str) -> String {
    let shown = |letter: char| {
        if letter.is_control() {
            letter.escape_default().to_string()
        } else {
            letter.to_string()
        }
    };
    name.chars().map(shown).collect()
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

fn runs(count: u64) -> String {
    if count == 1 {
        "1 run".to_owned()
    } else {
        format!("{count} runs")
    }
}

fn times(count: usize) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}
