//! Decisions: against the vectors of the contract, and what the gate promises beyond them.

mod against_baseline;
mod assertions;
mod content;
mod evidence;
mod findings;
mod incomplete;
mod preflight;
mod promises;
mod stopping;
mod vectors;

use super::rule::{Judge, JudgedTrials};
use crate::policy::{Overrides, Policy};
use crate::statistics::IntervalMethod;
use crate::{Baseline, FailureReason, ProcessExit, Trial, TrialFailure, Verdict};
use tracer_insight::profile::{Bounds, RunProfile};
use tracer_insight::testing::recorded;

/// A completed run of this many steps and tokens.
fn run(steps: u64, tokens: Option<u64>) -> RunProfile {
    let mut run = recorded(|| Ok(()));
    run.step_count = steps;
    run.cost_tokens = tokens;
    run
}

/// A run that called this tool.
fn calling(tool: &str) -> RunProfile {
    let mut run = run(1, Some(1));
    run.signature.tools.push(tool.to_owned());
    run
}

fn trial(number: u32, run: RunProfile) -> Trial {
    let mut trial = Trial::of_run(number, run);
    trial.exit = Some(ProcessExit::Code(0));
    trial
}

/// Trials of runs, numbered from 1.
fn trials(runs: impl IntoIterator<Item = RunProfile>) -> Vec<Trial> {
    (1..).zip(runs).map(|(number, run)| trial(number, run)).collect()
}

/// Trials of this many steps.
fn of_steps(steps: &[u64]) -> Vec<Trial> {
    trials(steps.iter().map(|steps| run(*steps, Some(1))))
}

fn crashed(number: u32) -> Trial {
    Trial::failed(number, TrialFailure::new(FailureReason::NoTrace))
}

fn baseline_of_steps(steps: impl IntoIterator<Item = u64>) -> Baseline {
    let runs: Vec<_> = steps.into_iter().map(|steps| run(steps, Some(1))).collect();
    Baseline::of_runs(&runs.iter().collect::<Vec<_>>(), "2026-01-01T00:00:00.000Z").unwrap()
}

/// Values that are known.
fn exactly(values: impl IntoIterator<Item = f64>) -> Vec<Option<Bounds>> {
    values
        .into_iter()
        .map(|value| Some(Bounds::exactly(value)))
        .collect()
}

/// The verdict of a rule on these values of the trials and of the baseline.
fn verdict(
    rule: &impl Judge,
    method: IntervalMethod,
    values: impl IntoIterator<Item = f64>,
    sample: &[f64],
) -> Verdict {
    let judged = JudgedTrials {
        method,
        values: exactly(values),
        sample: Some(sample),
        ..JudgedTrials::default()
    };
    rule.decide(&judged).unwrap().verdict
}

/// A policy with this many trials and these metrics.
fn policy(trials: u32, metrics: &str) -> Policy {
    with_keys(trials, metrics, "")
}

/// The same with more keys at the top level.
fn with_keys(trials: u32, metrics: &str, keys: &str) -> Policy {
    let text = format!("version: 2\ntrials: {trials}\n{keys}\nmetrics: {{{metrics}}}\n");
    Policy::parse(&text, &Overrides::default()).unwrap()
}
