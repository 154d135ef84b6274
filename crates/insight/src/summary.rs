//! One factual sentence about a run, composed by rules: did it work, and if not, where and why.

use serde_json::Value;
use tracer_sdk::format::{ErrorPayload, Outcome, Payload, error_type};

use crate::last_answer::{self, AnswerProblem};
use crate::loops;
use crate::status::RunStatus;
use crate::step_kind::StepKind;
use crate::step_summary;
use crate::steps::Step;
use crate::totals::Totals;
use crate::value_summary;
use crate::{text, units};

/// Characters of a message; its step has all of it.
const MAX_MESSAGE_CHARS: usize = 160;
/// Calls of a path; of a longer one the beginning and the end are named.
const MAX_PATH_CALLS: usize = 6;
/// The type of the error of a recorded command that ended with another exit code than 0.
const EXIT_CODE: &str = "ExitCode";
/// The error of a recorded command that a signal ended.
const SIGNAL: &str = "Signal";

/// The sentence. `totals` are those of a run when `steps` are only a part of it; `elapsed` is the time since the start
/// of a run that is still running, in microseconds; `damaged` whether a part of it cannot be read.
pub fn sentence(
    status: RunStatus,
    steps: &[Step<'_>],
    totals: Option<&Totals>,
    elapsed: Option<u64>,
    damaged: bool,
) -> String {
    let sentence = match status {
        RunStatus::Running => {
            let since = elapsed.map_or_else(String::new, |elapsed| {
                format!(" for {}", units::duration(elapsed))
            });
            match (in_flight(steps), last_finished(steps)) {
                (Some(step), _) => format!("Running{since}; now in {}.", reference(step)),
                (None, Some(step)) => {
                    format!("Running{since}; the last finished step is {}.", reference(step))
                }
                (None, None) => format!("Running{since}; no step has finished yet."),
            }
        }
        RunStatus::Interrupted => match (in_flight(steps), last_finished(steps)) {
            (Some(step), _) => format!("Interrupted: its process is gone; it was in {}.", reference(step)),
            (None, Some(step)) if step.record.outcome() == Outcome::Cancelled => {
                format!(
                    "Interrupted: its process is gone; {} was cancelled before.",
                    reference(step)
                )
            }
            (None, Some(step)) => {
                format!(
                    "Interrupted: its process is gone; the last finished step is {}.",
                    reference(step)
                )
            }
            (None, None) => "Interrupted: its process is gone; no step had finished.".to_owned(),
        },
        RunStatus::Failed => failed(steps),
        RunStatus::Looped => looped(steps),
        RunStatus::Ok if steps.is_empty() && damaged => {
            return "Ended ok, its metadata says; no step can be read.".to_owned();
        }
        RunStatus::Ok => match waiting_step(steps) {
            Some(step) => waiting(step),
            None => ended_ok_or_refused(steps, totals),
        },
        RunStatus::Damaged => {
            return "Damaged: this is what can be read of it.".to_owned();
        }
    };
    if damaged {
        sentence + " A part of it cannot be read."
    } else {
        sentence
    }
}

/// The step that the sentence points at as what went wrong first; `None` when nothing did.
pub fn cause<'a>(status: RunStatus, steps: &'a [Step<'a>]) -> Option<&'a Step<'a>> {
    let failed_call = || last(steps, |step| step.is_call() && step.failed());
    match status {
        RunStatus::Failed => {
            let error = error_step(steps);
            let call = match error_of_the_run(steps) {
                Some(error) => broken_off(steps, error)
                    .or_else(|| last(steps, |step| step.is_call() && caused(step, error))),
                None => failed_call(),
            };
            call.or(error)
        }
        RunStatus::Looped => {
            let loops = loops::find(steps);
            let looped = |step: &Step<'_>| {
                let of_step = loops.iter().find(|found| found.warning.number == step.number);
                of_step.is_some_and(|found| found.likeness.is_loop())
            };
            let is_warning = |step: &Step<'_>| matches!(step.record.payload, Payload::LoopWarning { .. });
            last(steps, looped).or_else(|| last(steps, is_warning))
        }
        RunStatus::Interrupted => in_flight(steps).or_else(|| last_finished(steps)),
        RunStatus::Ok => last(steps, |step| {
            step.is_call() && step.failed() && step.attempt_of.is_none()
        })
        .or_else(failed_call),
        RunStatus::Running | RunStatus::Damaged => last(steps, Step::failed),
    }
}

/// The step that waits for a person, if no model was called after it.
pub(crate) fn waiting_step<'a>(steps: &'a [Step<'a>]) -> Option<&'a Step<'a>> {
    let waiting = last(steps, |step| step.record.is_waiting())?;
    let is_later = |step: &&Step<'_>| {
        step.number > waiting.number && step.kind() == StepKind::Llm && !step.record.is_waiting()
    };
    (!steps.iter().any(|step| is_later(&step))).then_some(waiting)
}

fn waiting(step: &Step<'_>) -> String {
    let asked = step.record.meta.get("waiting").and_then(Value::as_str);
    let asked = text::one_line(asked.unwrap_or_default(), MAX_MESSAGE_CHARS);
    ended(&format!("Waiting for a person at {}", reference(step)), &asked)
}

/// Result of a run that ended ok: an answer that was refused, blocked or malformed is the reason for what it lacks.
fn ended_ok_or_refused(steps: &[Step<'_>], totals: Option<&Totals>) -> String {
    let sentence = totals.map_or_else(|| ended_ok(steps), ended_ok_after_many);
    match last_answer::problem(steps).filter(AnswerProblem::is_withheld) {
        Some(found) => format!(
            "{sentence} {}",
            ended(&withheld(&found), found.detail.as_deref().unwrap_or_default())
        ),
        None => sentence,
    }
}

/// `The model refused at #3 gpt-5`.
fn withheld(found: &AnswerProblem<'_>) -> String {
    format!("{} at {}", found.kind.words(), reference(found.step))
}

fn in_flight<'a>(steps: &'a [Step<'a>]) -> Option<&'a Step<'a>> {
    last(steps, |step| step.in_flight)
}

fn last_finished<'a>(steps: &'a [Step<'a>]) -> Option<&'a Step<'a>> {
    last(steps, |step| !step.in_flight)
}

fn failed(steps: &[Step<'_>]) -> String {
    let finished_call = last(steps, |step| step.is_call() && !step.in_flight);
    let mut after = finished_call.map_or_else(String::new, |step| format!(" after {}", reference(step)));
    let Some(error) = error_of_the_run(steps) else {
        if let Some(found) = last_answer::problem(steps).filter(AnswerProblem::is_withheld) {
            return ended(
                &format!("Failed; {}", withheld(&found)),
                found.detail.as_deref().unwrap_or_default(),
            );
        }
        return match last(steps, |step| step.is_call() && step.failed()) {
            Some(call) => format!("Failed; the last failed call is {}", with_failure(call)),
            None if after.is_empty() => "Failed without saying why.".to_owned(),
            None => format!("Failed without saying why,{after}."),
        };
    };
    let message = text::one_line(&error.message, MAX_MESSAGE_CHARS);
    if let Some(step) = broken_off(steps, error) {
        after = format!(" in {}", reference(step));
    }
    match error_type::class(&error.error_type) {
        error_type::LOOP_ABORT => ended(&format!("Stopped by the loop guardrail{after}"), &message),
        error_type::GUARDRAIL_EXCEEDED => ended(&format!("Stopped by a guardrail{after}"), &message),
        error_type::INTERRUPTED => ended(&format!("Interrupted{after}"), &message),
        class if error_type::is_cancellation(class) => format!("Cancelled{after}."),
        "panic" => ended(&format!("Panicked{after}"), &message),
        _ => match last(steps, |step| step.is_call() && caused(step, error)) {
            Some(call) => ended(&format!("Failed at {}", reference(call)), &failure_words(error)),
            None => ended(&format!("Failed{after}"), &failure_words(error)),
        },
    }
}

fn looped(steps: &[Step<'_>]) -> String {
    let loops = loops::find(steps);
    if loops.is_empty() {
        return "Repeated itself, then ended ok; the warning itself is not in the log.".to_owned();
    }
    let Some(found) = loops.iter().find(|found| found.likeness.is_loop()) else {
        // A loop in shapes that were warned of before is not warned of again.
        return "Repeated itself, then ended ok.".to_owned();
    };
    let claimed = match &found.warning.record.payload {
        Payload::LoopWarning { repetitions, .. } => *repetitions,
        _ => 0,
    };
    let repeated = || found.repetitions.iter().take(found.in_evidence);
    let names: Vec<String> = repeated()
        .next()
        .into_iter()
        .flatten()
        .map(|step| step.name())
        .collect();
    let numbers: Vec<usize> = repeated().flatten().map(|step| step.number).collect();
    if names.is_empty() {
        return format!("Repeated itself at least {claimed} times, then ended ok.");
    }
    format!(
        "Repeated {} at least {claimed} times ({}), then ended ok.",
        shortened(names),
        text::step_ranges(&numbers)
    )
}

fn ended_ok(steps: &[Step<'_>]) -> String {
    if steps.is_empty() {
        return "Ended ok; no step was recorded.".to_owned();
    }
    let (attempts, mut calls): (Vec<&Step<'_>>, Vec<&Step<'_>>) = steps
        .iter()
        .filter(|step| step.is_call())
        .partition(|step| step.attempt_of.is_some());
    calls.sort_by_key(|step| step.number);
    if calls.is_empty() {
        return "Ended ok without a model or tool call.".to_owned();
    }
    let sentence = ended_ok_with(&calls);
    match attempts.len() as u64 {
        0 => sentence,
        attempts => {
            let were = if attempts == 1 { "was" } else { "were" };
            let attempts = text::counted(attempts, "failed attempt");
            format!("{sentence} {attempts} {were} tried again.")
        }
    }
}

fn ended_ok_with(calls: &[&Step<'_>]) -> String {
    let failures = calls.iter().filter(|step| step.failed()).count() as u64;
    let path = path(calls);
    match calls.iter().rev().find(|step| step.failed()) {
        None => format!("Ended ok: {path}."),
        Some(call) if failures == 1 => format!("Ended ok: {path}. One call failed: {}", with_failure(call)),
        Some(call) => {
            format!(
                "Ended ok: {path}. {} failed, the last {}",
                text::counted(failures, "call"),
                with_failure(call)
            )
        }
    }
}

/// Of a run with very many steps, the path says nothing.
fn ended_ok_after_many(totals: &Totals) -> String {
    let steps = text::counted(totals.steps, "step");
    match totals.failed_calls {
        0 => format!("Ended ok after {steps}."),
        failures => format!(
            "Ended ok after {steps}; {} failed.",
            text::counted(failures, "call")
        ),
    }
}

/// The names of the calls in the order of time, `search ×2 → gpt-5 → send_reply`.
fn path(calls: &[&Step<'_>]) -> String {
    let mut names: Vec<(String, usize)> = Vec::new();
    for call in calls {
        let name = call.name();
        match names.last_mut() {
            Some((last, times)) if *last == name => *times += 1,
            _ => names.push((name, 1)),
        }
    }
    let names = names.into_iter().map(|(name, times)| match times {
        1 => name,
        _ => format!("{name} ×{times}"),
    });
    shortened(names.collect())
}

/// The names in a row; of many, the beginning and the end.
fn shortened(mut names: Vec<String>) -> String {
    const KEPT: usize = 5;
    if names.len() > MAX_PATH_CALLS {
        let between = names.len() - KEPT;
        names.splice(3..3 + between, [format!("… {between} more …")]);
    }
    names.join(" → ")
}

/// The error that ended the run.
pub(crate) fn error_of_the_run<'a>(steps: &'a [Step<'a>]) -> Option<&'a ErrorPayload> {
    step_summary::failure(&error_step(steps)?.record.payload)
}

/// The step with the error that ended the run: the one on the root, which is surfaced with the root's ID and a number, else the
/// last. Of a recorded command whose exit code is all that the root has, the agent that failed last says why, else the call
/// that failed as the last one.
pub(crate) fn error_step<'a>(steps: &'a [Step<'a>]) -> Option<&'a Step<'a>> {
    let of_run = last(steps, Step::is_of_run)
        .or_else(|| last(steps, |step| matches!(step.record.payload, Payload::Error(_))))?;
    let is_exit_code = step_summary::failure(&of_run.record.payload).is_some_and(is_exit_code);
    let failed_agent = || {
        let agent = last(steps, |step| {
            step.depth == 0 && step.kind() == StepKind::Span && step.failed()
        })?;
        // The program went on after a failure that a call came after.
        let end = agent.offset?.checked_add(agent.duration?)?;
        let mut calls = steps.iter().filter(|step| step.is_call());
        calls.all(|step| step.offset <= Some(end)).then_some(agent)
    };
    let failed_call = || {
        let call = last(steps, Step::is_call)?;
        let is_last = call.failed() && !call.in_flight && !call.went_on;
        is_last.then_some(call)
    };
    if is_exit_code {
        failed_agent().or_else(failed_call)
    } else {
        None
    }
    .or(Some(of_run))
}

/// The error is the exit code of a recorded command, which says nothing of the reason.
pub(crate) fn is_exit_code(error: &ErrorPayload) -> bool {
    error.error_type == EXIT_CODE
}

/// The error of the run is the failure of this call, passed on.
pub(crate) fn caused(call: &Step<'_>, error: &ErrorPayload) -> bool {
    !call.went_on && call.caused(error)
}

/// The step that the run was in when it was cancelled, panicked, or failed with an error that nothing else recorded: a call that was
/// dropped then, as the one whose stream broke.
pub(crate) fn broken_off<'a>(steps: &'a [Step<'a>], error: &ErrorPayload) -> Option<&'a Step<'a>> {
    let class = error_type::class(&error.error_type);
    if class == "panic" {
        return last(steps, |step| step.is_call() && caused(step, error));
    }
    // Of an exit code or a signal only the place is known, too.
    let is_cancelled = error_type::is_cancellation(class) || matches!(class, EXIT_CODE | SIGNAL);
    if !is_cancelled && steps.iter().any(|step| step.is_call() && caused(step, error)) {
        return None;
    }
    in_flight(steps).filter(|_| is_cancelled).or_else(|| {
        let has_no_end =
            |step: &Step<'_>| step.outcome() == Outcome::Unknown && step.duration.unwrap_or(0) == 0;
        let is_cancelled = |step: &Step<'_>| {
            step.is_call() && (step.outcome() == Outcome::Cancelled || is_cancelled && has_no_end(step))
        };
        let cancelled = last(steps, is_cancelled)?;
        let has_no_end_of_its_own = has_no_end(cancelled);
        // A call that ended after it, or began after one without an end, shows that the run continued without it.
        let is_before = |step: &Step<'_>| {
            is_cancelled(step)
                || match (step.record.end, cancelled.record.end) {
                    (Some(end), Some(cancelled)) if !has_no_end_of_its_own => end <= cancelled,
                    _ => step.number < cancelled.number,
                }
        };
        let mut calls = steps.iter().filter(|step| step.is_call());
        calls.all(is_before).then_some(cancelled)
    })
}

pub(crate) fn last<'a>(steps: &'a [Step<'a>], fits: impl Fn(&'a Step<'a>) -> bool) -> Option<&'a Step<'a>> {
    steps
        .iter()
        .filter(|step| fits(step))
        .max_by_key(|step| step.number)
}

fn reference(step: &Step<'_>) -> String {
    format!("#{} {}", step.number, step.name())
}

fn with_failure(call: &Step<'_>) -> String {
    match step_summary::failure(&call.record.payload) {
        Some(error) => ended(&reference(call), &failure_words(error)),
        None => format!("{}.", reference(call)),
    }
}

/// `ValueError: the message`.
fn failure_words(error: &ErrorPayload) -> String {
    let message = text::one_line(&error.message, MAX_MESSAGE_CHARS);
    let kind = value_summary::label(&error.error_type);
    if message.is_empty() {
        kind
    } else {
        format!("{kind}: {message}")
    }
}

/// Both parts as a sentence with one full stop.
fn ended(beginning: &str, end: &str) -> String {
    let sentence = if end.is_empty() {
        beginning.to_owned()
    } else {
        format!("{beginning}: {end}")
    };
    let stop = if sentence.ends_with(['.', '!', '?', '…']) {
        ""
    } else {
        "."
    };
    sentence + stop
}

#[cfg(test)]
mod tests;
