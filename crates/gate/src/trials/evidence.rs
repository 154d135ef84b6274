//! Evidence of a trial in its data directory: one completed run, or the reason why it does not count.

use std::path::Path;

use super::command_judge::AttemptOutput;
use crate::policy::Policy;
use crate::{FailureReason, Trial, TrialFailure, files};
use tracer_insight::profile::RunProfile;
use tracer_runs::{InvalidRun, RunDirectory, RunReader, RunStore, StoreError, Strictness};
use tracer_sdk::settings::{Sources, read_prices};

/// More runs than this are counted instead of named.
const MAX_NAMED: usize = 3;

/// The runs that a trial left, whatever state they are in, and the trial that they show.
pub(super) fn collect(
    number: u32,
    data_dir: &Path,
    policy: &Policy,
    output: &AttemptOutput<'_>,
) -> (Vec<RunDirectory>, Trial) {
    let judged = |run: &RunDirectory| trial_from_run(number, run, policy, output);
    match RunStore::new(data_dir).list_directories() {
        Ok(runs) => {
            let trial = trial_from_runs(number, &runs, judged);
            (runs, trial)
        }
        Err(StoreError::Missing { .. }) => (Vec::new(), trial_from_runs(number, &[], judged)),
        Err(error) => {
            let failure = TrialFailure::new(FailureReason::NoTrace).with(error.to_string());
            (Vec::new(), Trial::failed(number, failure))
        }
    }
}

fn trial_from_runs(number: u32, runs: &[RunDirectory], judged: impl Fn(&RunDirectory) -> Trial) -> Trial {
    match runs {
        [] => Trial::failed(number, TrialFailure::new(FailureReason::NoTrace)),
        [run] => judged(run),
        several => {
            let mut named: Vec<String> = several.iter().map(|run| run.trace_id.to_string()).collect();
            let more = named.len().saturating_sub(MAX_NAMED);
            named.truncate(MAX_NAMED);
            let mut detail = format!("{}: {}", several.len(), named.join(", "));
            if more > 0 {
                detail.push_str(" …");
            }
            Trial::failed(
                number,
                TrialFailure::new(FailureReason::SeveralTraces).with(detail),
            )
        }
    }
}

fn trial_from_run(
    number: u32,
    directory: &RunDirectory,
    policy: &Policy,
    output: &AttemptOutput<'_>,
) -> Trial {
    let malformed = |detail: String| Trial {
        trace_id: Some(directory.trace_id.to_string()),
        ..Trial::failed(
            number,
            TrialFailure::new(FailureReason::MalformedTrace).with(detail),
        )
    };
    let run = RunReader::open(&directory.path, Strictness::Strict)
        .and_then(|run| run.require_meta().cloned().map(|meta| (meta, run)));
    let (meta, run) = match run {
        Ok(run) => run,
        Err(invalid) => return malformed(problems(&invalid)),
    };
    // A price with a problem counts as not given: then the cost is unknown, and no check of it passes.
    let prices = read_prices(&Sources::read()).0;
    RunProfile::read(&meta, run.records.clone())
        .and_then(|mut profile| {
            if let Some(reason) = output.cut_short {
                profile.lose_spans(reason);
            }
            files::recorded_trial(policy, number, &run, profile.priced(&prices), output)
        })
        .unwrap_or_else(|error| malformed(error.to_string()))
}

/// The first problem, and the number of others. Problems never quote the trace.
fn problems(invalid: &InvalidRun) -> String {
    let first = invalid.problems.first().map(ToString::to_string);
    let more = (invalid.problems.len() as u64)
        .saturating_add(invalid.more_problems)
        .saturating_sub(1);
    let first = first.unwrap_or_default();
    match more {
        0 => first,
        more => format!("{first}, and {more} more"),
    }
}
