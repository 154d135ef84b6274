//! The step that the error of a run arose in.

use tracer_sdk::format::{ErrorPayload, Outcome, Payload, error_type};

use super::last;
use crate::step_kind::StepKind;
use crate::step_summary;
use crate::steps::Step;

/// The type of the error of a recorded command that ended with another exit code than 0.
const EXIT_CODE: &str = "ExitCode";
/// The error of a recorded command that a signal ended.
const SIGNAL: &str = "Signal";

/// The step with the error that ended the run: the one on the root, which is surfaced with the root's ID and a number, else the
/// last. Of a recorded command whose exit code is all that the root has, the agent that failed last says why, else the call
/// that failed as the last one.
pub(super) fn error_step<'a>(steps: &'a [Step<'a>]) -> Option<&'a Step<'a>> {
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
fn is_exit_code(error: &ErrorPayload) -> bool {
    error.error_type == EXIT_CODE
}

/// The error of the run is the failure of this call, passed on.
pub(super) fn caused(call: &Step<'_>, error: &ErrorPayload) -> bool {
    !call.went_on && call.caused(error)
}

/// The step that the run was in when it was cancelled, panicked, or failed with an error that nothing else recorded: a call that was
/// dropped then, as the one whose stream broke.
pub(super) fn broken_off<'a>(steps: &'a [Step<'a>], error: &ErrorPayload) -> Option<&'a Step<'a>> {
    let class = error_type::class(&error.error_type);
    if class == "panic" {
        return last(steps, |step| step.is_call() && caused(step, error));
    }
    // Of an exit code or a signal only the place is known, too.
    let is_cancelled = error_type::is_cancellation(class) || matches!(class, EXIT_CODE | SIGNAL);
    if !is_cancelled && steps.iter().any(|step| step.is_call() && caused(step, error)) {
        return None;
    }
    last(steps, |step| step.in_flight)
        .filter(|_| is_cancelled)
        .or_else(|| {
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
