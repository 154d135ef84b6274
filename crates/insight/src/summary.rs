//! One factual sentence about a run, composed by rules: did it work, and if not, where and why.

use serde_json::Value;

use crate::failure::{failure, last, path, reference, with_failure};
use crate::marked_text::MarkedText;
use crate::status::RunStatus;
use crate::step_kind::StepKind;
use crate::steps::Step;
use crate::totals::Totals;
use crate::{text, units};

/// Bytes of what a person is asked.
const MAX_QUESTION_BYTES: usize = 160;

/// The sentence. `totals` are those of a run when `steps` are only a part of it; `elapsed` is the time since the start
/// of a run that is still running, in microseconds; `damaged` whether a part of it cannot be read.
pub(crate) fn sentence(
    status: RunStatus,
    steps: &[Step<'_>],
    totals: Option<&Totals>,
    elapsed: Option<u64>,
    damaged: bool,
) -> MarkedText {
    let sentence = match (status, failure(status, steps)) {
        (RunStatus::Ok, _) if steps.is_empty() && damaged => {
            return MarkedText::own("Ended ok, its metadata says; no step can be read.");
        }
        (RunStatus::Ok, Some(found)) if found.kind.is_withheld() && waiting_step(steps).is_none() => {
            ended_ok(steps, totals).with(" ").and(found.sentence)
        }
        (RunStatus::Ok, _) => ended_ok(steps, totals),
        (_, Some(found)) => found.sentence,
        (RunStatus::Damaged, None) => return MarkedText::own("Damaged: this is what can be read of it."),
        (_, None) => running(steps, elapsed),
    };
    if damaged {
        sentence.with(" A part of it cannot be read.")
    } else {
        sentence
    }
}

fn running(steps: &[Step<'_>], elapsed: Option<u64>) -> MarkedText {
    let since = elapsed.map(|elapsed| format!(" for {}", units::duration(elapsed)));
    let running = MarkedText::own("Running").with(since.unwrap_or_default());
    let in_flight = last(steps, |step| step.in_flight).map(|step| ("; now in ", step));
    let last_step = || last(steps, |_| true).map(|step| ("; the last finished step is ", step));
    match in_flight.or_else(last_step) {
        Some((words, step)) => running.with(words).and(reference(step)).with("."),
        None => running.with("; no step has finished yet."),
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

/// Result of a run that ended without an error: that it waits for a person or its path, and which of its calls failed.
pub(crate) fn ended_ok(steps: &[Step<'_>], totals: Option<&Totals>) -> MarkedText {
    let (attempts, mut calls): (Vec<&Step<'_>>, Vec<&Step<'_>>) = steps
        .iter()
        .filter(|step| step.is_call())
        .partition(|step| step.attempt_of.is_some());
    calls.sort_by_key(|step| step.number);
    let sentence = match (waiting_step(steps), totals) {
        (Some(step), _) => {
            let asked = step.record.meta.get("waiting").and_then(Value::as_str);
            let asked = MarkedText::default().with_content(asked.unwrap_or_default(), MAX_QUESTION_BYTES);
            let waiting = MarkedText::own("Waiting for a person at ").and(reference(step));
            waiting.and_said(asked).stopped()
        }
        // Of a run with very many steps, the path says nothing.
        (None, Some(totals)) => {
            MarkedText::own(format!("Ended ok after {}.", text::counted(totals.steps, "step")))
        }
        (None, None) if steps.is_empty() => return MarkedText::own("Ended ok; no step was recorded."),
        (None, None) if calls.is_empty() => return MarkedText::own("Ended ok without a model or tool call."),
        (None, None) => MarkedText::own("Ended ok: ").and(path(names(&calls))).with("."),
    };
    let failures = totals.map_or_else(
        || calls.iter().filter(|step| step.failed()).count() as u64,
        |totals| totals.failed_calls,
    );
    let sentence = match (calls.iter().rev().find(|step| step.failed()), failures) {
        (_, 0) => sentence,
        (Some(call), 1) => sentence
            .with(" One call failed: ")
            .and(with_failure(call).stopped()),
        (Some(call), _) => {
            let which = format!(" {} failed, the last ", text::counted(failures, "call"));
            sentence.with(which).and(with_failure(call).stopped())
        }
        (None, _) => sentence.with(format!(" {} failed.", text::counted(failures, "call"))),
    };
    if totals.is_some() {
        return sentence;
    }
    match attempts.len() as u64 {
        0 => sentence,
        attempts => {
            let were = if attempts == 1 { "was" } else { "were" };
            let attempts = text::counted(attempts, "failed attempt");
            sentence.with(format!(" {attempts} {were} tried again."))
        }
    }
}

/// The names of the calls in the order of time, neighbours of one name as `search ×2`.
fn names(calls: &[&Step<'_>]) -> Vec<String> {
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
    names.collect()
}

#[cfg(test)]
mod tests;
