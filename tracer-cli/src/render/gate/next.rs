//! What to type next: to look closer, to run the gate again, to accept what changed.

use tracer_sdk::judge::{Report, Verdict};

use crate::session::quoted_text;

/// A command and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// What it is for.
    pub what: &'static str,
    /// What stands behind `tracer`.
    pub arguments: String,
}

/// What the reader of a report may want to do; `report_file` is where it was written to.
pub fn steps(report: &Report, report_file: Option<&str>) -> Vec<Next> {
    let mut steps = Vec::new();
    if let Some(run) = telling_trial(report) {
        steps.push(Next {
            what: "what it did",
            arguments: format!("show {run}"),
        });
        if let Some(baseline) = &report.gate.baseline {
            steps.push(Next {
                what: "beside the baseline",
                arguments: format!("diff --baseline {} {run}", quoted_text(&baseline.path)),
            });
        }
    }
    steps.extend(to_go_on(report, report_file, |path| path));
    steps
}

/// The steps that need no run of this machine: for a comment, which is read elsewhere.
pub fn without_runs(report: &Report, report_file: Option<&str>) -> Vec<Next> {
    to_go_on(report, report_file, in_repository)
}

/// To judge again, and to accept; `place` tells where the reader has a file.
fn to_go_on(report: &Report, report_file: Option<&str>, place: fn(&str) -> &str) -> Vec<Next> {
    let mut steps = Vec::new();
    if !report.gate.command.is_empty() && report.verdict != Verdict::Pass {
        steps.push(Next {
            what: "judge it again",
            arguments: rerun(report, place),
        });
    }
    let source = match report_file {
        Some(file) => format!("--from-report {}", quoted_text(file)),
        None if report.gate.command.is_empty() => telling_trial(report).unwrap_or_default(),
        None => "--from-report report.json".to_owned(),
    };
    match &report.gate.baseline {
        Some(baseline) if report.verdict != Verdict::Pass => steps.push(Next {
            what: "accept what changed",
            arguments: format!(
                "accept --baseline {} {source} --reason 'why this is right'",
                quoted_text(place(&baseline.path))
            ),
        }),
        None if report.verdict == Verdict::Pass => steps.push(Next {
            what: "make it the baseline",
            arguments: format!("baseline {source}"),
        }),
        _ => {}
    }
    steps
}

/// The first trial that failed and left a run, or else the first that left one: the beginning of its ID.
fn telling_trial(report: &Report) -> Option<String> {
    let mut trials: Vec<_> = report
        .trials
        .iter()
        .filter_map(|trial| Some((trial.passed, trial.trace_id.as_deref()?)))
        .collect();
    trials.sort_by_key(|(passed, _)| *passed);
    let (_, id) = trials.first()?;
    Some(quoted_text(&id.chars().take(12).collect::<String>()))
}

fn rerun(report: &Report, place: fn(&str) -> &str) -> String {
    let gate = &report.gate;
    let mut words = vec!["run".to_owned()];
    for (option, file) in [("--policy", &gate.policy), ("--baseline", &gate.baseline)] {
        if let Some(file) = file {
            words.push(option.to_owned());
            words.push(quoted_text(place(&file.path)));
        }
    }
    words.push("--".to_owned());
    words.extend(gate.command.iter().map(|word| quoted_text(word)));
    words.join(" ")
}

/// A workflow takes policy and baseline from a copy of the base commit; the reader has them in the repository.
pub fn in_repository(path: &str) -> &str {
    match path.rfind("/.tracer/") {
        Some(position) => path.get(position + 1..).unwrap_or(path),
        None => path,
    }
}
