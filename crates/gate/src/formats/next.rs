//! Commands to type next: show a run, run the gate again, accept the change.

use crate::{Report, ReportedTrial, Verdict};

use tracer_insight::text::shell_quoted;

/// Default file of a report.
const REPORT_FILE: &str = "report.json";

/// A command and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextStep {
    /// Its purpose.
    pub what: &'static str,
    /// The arguments of `tracer`.
    pub arguments: String,
}

/// Commands that the reader of a report may want; `report_file` is where it was written to.
pub fn steps(report: &Report, report_file: Option<&str>) -> Vec<NextStep> {
    let mut steps = Vec::new();
    if let Some(run) = telling_trial(report) {
        steps.push(NextStep {
            what: "what it did",
            arguments: format!("show {run}"),
        });
        if let Some(baseline) = &report.gate.baseline {
            steps.push(NextStep {
                what: "beside the baseline",
                arguments: format!("diff --baseline {} {run}", shell_quoted(&baseline.path)),
            });
        }
    }
    steps.extend(to_go_on(report, report_file, |path| path));
    steps
}

/// The steps that need no run of this machine: for a comment, which is read elsewhere.
pub fn without_runs(report: &Report, report_file: Option<&str>) -> Vec<NextStep> {
    to_go_on(report, report_file, in_repository)
}

/// The commands that judge again and accept; `place` maps a path to where the reader has the file.
fn to_go_on(report: &Report, report_file: Option<&str>, place: fn(&str) -> &str) -> Vec<NextStep> {
    let is_gate = !report.gate.command.is_empty();
    let passed = report.verdict == Verdict::Pass;
    // A baseline is made from the report of a whole sample; without one, the first step writes it.
    let is_whole = report.trials.len() as u64 == u64::from(report.trials_planned);
    let whole_report = report_file.filter(|_| is_whole);
    let mut steps = Vec::new();
    if is_gate && (!passed || (report.gate.baseline.is_none() && whole_report.is_none())) {
        steps.push(NextStep {
            what: "judge it again",
            arguments: rerun(report, whole_report.is_none(), place),
        });
    }
    let source = if is_gate {
        let file = whole_report.unwrap_or(REPORT_FILE);
        format!("--from-report {}", shell_quoted(file))
    } else {
        telling_trial(report).unwrap_or_default()
    };
    // A report is no baseline while one of its trials left no run that counts.
    let can_be_kept = whole_report.is_none() || report.trials.iter().all(ReportedTrial::has_left_a_run);
    match &report.gate.baseline {
        Some(baseline) if !passed && can_be_kept => {
            let is_forced = report.gate.options.iter().any(|option| option == "--force");
            let force = if is_forced { "--force " } else { "" };
            steps.push(NextStep {
                what: "accept what changed",
                arguments: format!(
                    "accept {force}--baseline {} {source} --reason 'why this is right'",
                    shell_quoted(place(&baseline.path))
                ),
            });
        }
        // One of several recorded runs is not what was judged.
        None if passed && (is_gate || report.trials.len() == 1) => steps.push(NextStep {
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
    Some(shell_quoted(&id.chars().take(12).collect::<String>()))
}

fn rerun(report: &Report, writes_report: bool, place: fn(&str) -> &str) -> String {
    let gate = &report.gate;
    let mut words = vec!["run".to_owned()];
    if writes_report {
        words.push(format!("--no-fail-fast --json-out {REPORT_FILE}"));
    }
    for (option, file) in [("--policy", &gate.policy), ("--baseline", &gate.baseline)] {
        if let Some(file) = file {
            words.push(option.to_owned());
            // Standard input was read and is gone: the reader names a file.
            words.push(match &*file.path {
                "-" => "FILE".to_owned(),
                path => shell_quoted(place(path)),
            });
        }
    }
    words.extend(gate.options.iter().map(|word| shell_quoted(word)));
    words.push("--".to_owned());
    words.extend(gate.command.iter().map(|word| shell_quoted(word)));
    words.join(" ")
}

/// A workflow takes policy and baseline from a copy of the base commit; the reader has them in the repository.
pub fn in_repository(path: &str) -> &str {
    match path.rfind("/.tracer/") {
        Some(position) => path.get(position + 1..).unwrap_or(path),
        None => path,
    }
}
