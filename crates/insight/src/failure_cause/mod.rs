//! Why a run failed, looped or was interrupted, in one sentence with the steps that show it; nothing for a healthy run.

mod classify;
#[cfg(test)]
mod tests;

use tracer_sdk::format::{ErrorPayload, EventType, RunMeta, error_type};

use crate::cause_kind::CauseKind;
use crate::last_answer::{self, AnswerProblem};
use crate::loops;
use crate::marked_text::MarkedText;
use crate::run_head::RunHead;
use crate::status::RunStatus;
use crate::step_remarks::NOT_RUN;
use crate::steps::Step;
use crate::{step_summary, summary, text};

use classify::{FailedPart, error_kind};

/// Bytes of a name, of a message, and of a type in a sentence.
const MAX_NAME_BYTES: usize = 80;
const MAX_MESSAGE_BYTES: usize = 300;
/// Steps that are named as evidence of a loop.
const MAX_EVIDENCE: usize = 24;

/// A cause of what went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureCause {
    /// Its kind.
    pub kind: CauseKind,
    /// It in one sentence.
    pub sentence: MarkedText,
    /// The numbers of the steps that show it, in ascending order.
    pub steps: Vec<usize>,
}

impl FailureCause {
    fn new(kind: CauseKind, sentence: MarkedText, mut steps: Vec<usize>) -> Self {
        steps.sort_unstable();
        steps.dedup();
        Self {
            kind,
            sentence,
            steps,
        }
    }
}

/// Causes of a run's failure, the main one first, then missing or damaged data; empty for a healthy run. `steps` are
/// all steps, or the key steps of a long run; `meta` is its metadata, where that can be read.
pub(crate) fn explain(head: &RunHead, meta: Option<&RunMeta>, steps: &[Step<'_>]) -> Vec<FailureCause> {
    let mut causes = Vec::new();
    match head.status {
        RunStatus::Failed => causes.push(of_failed_run(steps)),
        RunStatus::Looped => causes.push(of_loop(steps)),
        RunStatus::Interrupted => causes.push(of_interrupted_run(steps)),
        RunStatus::Ok => causes.extend(last_answer::problem(steps).map(|found| of_answer(&found, None))),
        RunStatus::Running | RunStatus::Damaged => {}
    }
    causes.extend(of_recording(head, meta));
    causes
}

/// Remarks on a run that ended without a cause of failure: that it waits for a person, which of its calls failed, that
/// ends of calls were not seen. `None` where all is well.
pub(crate) fn despite_a_good_end(head: &RunHead, steps: &[Step<'_>]) -> Option<MarkedText> {
    let totals = &head.totals;
    let waiting = summary::waiting_step(steps);
    if waiting.is_none() && totals.failed_calls + totals.unknown_calls + totals.not_run_calls == 0 {
        return None;
    }
    let mut found = match waiting {
        Some(step) => MarkedText::own("it waits for a person at ").and(reference(step)),
        None => MarkedText::own("it ended ok"),
    };
    if totals.failed_calls > 0 {
        let calls = text::counted(totals.failed_calls, "failed call");
        found = found.with(format!("; {calls}"));
        let last = summary::last(steps, |step| step.is_call() && step.failed());
        if let Some(call) = last {
            let which = if totals.failed_calls == 1 {
                ": "
            } else {
                ", the last "
            };
            found = found.with(which).and(reference(call));
            if let Some(error) = step_summary::failure(&call.record.payload) {
                found = found.with(": ").and(failure(error));
            }
        }
    }
    if totals.unknown_calls > 0 {
        let calls = text::counted(totals.unknown_calls, "call");
        found = found.with(format!("; {calls} of unknown outcome"));
    }
    if totals.not_run_calls > 0 {
        let calls = text::counted(totals.not_run_calls, "call");
        found = found.with(format!("; {calls} asked for, not run"));
        let asking = summary::last(steps, |step| step.record.meta.contains_key(NOT_RUN));
        if let Some(step) = asking {
            found = found.with(", the last by ").and(reference(step));
        }
    }
    Some(found)
}

/// Damaged or missing parts of the recording.
fn of_recording(head: &RunHead, meta: Option<&RunMeta>) -> Vec<FailureCause> {
    let mut causes = Vec::new();
    let mut push = |kind: CauseKind, sentence: MarkedText| {
        causes.push(FailureCause::new(kind, sentence, Vec::new()));
    };
    let problems = head.problem_count();
    if problems > 0 || head.status == RunStatus::Damaged {
        let kind = CauseKind::DamagedLog;
        let sentence = MarkedText::own(kind.words());
        push(
            kind,
            match head.problems.first() {
                Some(first) => sentence
                    .with(format!(" ({}): ", text::counted(problems, "problem")))
                    .with_content(&first.to_string(), MAX_MESSAGE_BYTES)
                    .with("."),
                None => sentence.with("."),
            },
        );
    }
    // While a run is still running, its last line may be about to be written.
    if let Some(bytes) = head.cut_tail.filter(|_| head.status != RunStatus::Running) {
        let kind = CauseKind::TornTail;
        let left_out = text::counted(bytes, "byte");
        push(
            kind,
            MarkedText::own(format!("{} and left out ({left_out}).", kind.words())),
        );
    }
    let Some(meta) = meta else { return causes };
    if let Some(dropped) = meta.dropped() {
        let kind = CauseKind::LostSpans;
        let sentence = MarkedText::own(format!("{} ({}): ", kind.words(), dropped.spans));
        push(
            kind,
            sentence
                .with_content(&dropped.reason, MAX_MESSAGE_BYTES)
                .with("."),
        );
    }
    let counts = [
        (CauseKind::UnattachedRecords, meta.unattached_records()),
        (CauseKind::UnfinishedSpans, meta.unfinished_spans()),
    ];
    for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        push(kind, MarkedText::own(format!("{} ({count}).", kind.words())));
    }
    causes
}

fn of_failed_run(steps: &[Step<'_>]) -> FailureCause {
    let ended_with = summary::error_step(steps);
    let error = summary::error_of_the_run(steps);
    let last_call = summary::last(steps, |step| step.is_call() && step.attempt_of.is_none());
    if let Some(error) = error {
        let kind = match error_type::class(&error.error_type) {
            error_type::LOOP_ABORT => Some(CauseKind::GuardrailLoop),
            error_type::GUARDRAIL_EXCEEDED => Some(CauseKind::of_guardrail(&error.message)),
            "panic" => Some(CauseKind::Panic),
            class if error_type::is_cancellation(class) => Some(CauseKind::Cancelled),
            _ => None,
        };
        if let Some(kind) = kind {
            return of_ended_run(kind, error, ended_with, last_call, steps);
        }
    }
    // The call whose failure is passed on, else a failure that nothing came after.
    let passed_on =
        error.and_then(|error| summary::last(steps, |step| step.is_call() && summary::caused(step, error)));
    let is_own = error.is_some_and(|error| summary::broken_off(steps, error).is_some());
    if let Some(call) = passed_on.or(last_call.filter(|step| step.failed() && !is_own)) {
        let then = error.filter(|error| !summary::caused(call, error));
        return of_call(call, then, ended_with);
    }
    let evidence = |step: Option<&Step<'_>>| step.map(|step| step.number);
    let Some(error) = error else {
        let kind = CauseKind::Unknown;
        let sentence = MarkedText::own(kind.words()).and(after(last_call)).with(".");
        return FailureCause::new(kind, sentence, evidence(last_call).into_iter().collect());
    };
    let kind = error_kind(error, FailedPart::Program);
    let problem = last_answer::problem(steps)
        .filter(|found| last_call.is_some_and(|call| call.number == found.step.number));
    if let (None, Some(found)) = (kind, problem.filter(|found| found.kind != CauseKind::NoAnswer)) {
        return of_answer(&found, Some(error));
    }
    let kind = kind.unwrap_or(CauseKind::ProgramError);
    of_ended_run(kind, error, ended_with, last_call, steps)
}

/// A run that ended with an error of its own, not of a call.
fn of_ended_run(
    kind: CauseKind,
    error: &ErrorPayload,
    ended_with: Option<&Step<'_>>,
    last_call: Option<&Step<'_>>,
    steps: &[Step<'_>],
) -> FailureCause {
    let mut evidence: Vec<usize> = [ended_with, last_call]
        .into_iter()
        .flatten()
        .map(|step| step.number)
        .collect();
    let broken_off = summary::broken_off(steps, error);
    let place = match broken_off {
        Some(step) => MarkedText::own(" in ").and(reference(step)),
        None => after(last_call),
    };
    evidence.extend(broken_off.map(|step| step.number));
    let mut sentence = MarkedText::own(kind.words())
        .and(place)
        .with(": ")
        .and(failure(error));
    let loops = loops::find(steps);
    if let Some(found) = loops.iter().find(|found| found.likeness.is_loop()) {
        let (repeated, numbers) = repetitions(found);
        sentence = sentence.with(", while it repeated ").and(repeated);
        evidence.extend(numbers);
    }
    FailureCause::new(kind, sentence.with("."), evidence)
}

/// A call that failed; `then` is the error that ended the run, where that is another one.
fn of_call(call: &Step<'_>, then: Option<&ErrorPayload>, ended_with: Option<&Step<'_>>) -> FailureCause {
    let is_model = call.record.event_type() == EventType::LlmCall;
    let (part, other) = if is_model {
        (FailedPart::Model, CauseKind::ModelError)
    } else {
        (FailedPart::Tool, CauseKind::ToolError)
    };
    let failed_with = step_summary::failure(&call.record.payload);
    let kind = failed_with
        .and_then(|error| error_kind(error, part))
        .unwrap_or(other);
    let mut sentence = MarkedText::own(kind.words()).with(" at ").and(reference(call));
    if call.attempts > 1 {
        sentence = sentence.with(format!(", after {} attempts", call.attempts));
    }
    if let Some(error) = failed_with {
        sentence = sentence.with(": ").and(failure(error));
    }
    if let Some(error) = then {
        sentence = sentence.with("; then the run ended with ").and(failure(error));
    }
    let evidence = [Some(call.number), ended_with.map(|step| step.number)];
    FailureCause::new(kind, sentence.with("."), evidence.into_iter().flatten().collect())
}

/// An answer that is no answer; `then` is the error that ended the run.
fn of_answer(found: &AnswerProblem<'_>, then: Option<&ErrorPayload>) -> FailureCause {
    let mut sentence = MarkedText::own(found.kind.words())
        .with(" at ")
        .and(reference(found.step));
    if let Some(detail) = &found.detail {
        let before = match found.kind {
            CauseKind::NoAnswer => ": the model asked for the tool ",
            _ => ": ",
        };
        sentence = sentence.with(before).with_content(detail, MAX_MESSAGE_BYTES);
        if found.kind == CauseKind::NoAnswer {
            sentence = sentence.with(", and nothing followed");
        }
    }
    if let Some(error) = then {
        sentence = sentence.with("; then the run ended with ").and(failure(error));
    }
    FailureCause::new(found.kind, sentence.with("."), vec![found.step.number])
}

fn of_loop(steps: &[Step<'_>]) -> FailureCause {
    let loops = loops::find(steps);
    let Some(found) = loops
        .iter()
        .find(|found| found.likeness.is_loop())
        .or(loops.first())
    else {
        let kind = CauseKind::LoopIdentical;
        let sentence = MarkedText::own(kind.words()).with("; the warning itself is not in the log.");
        return FailureCause::new(kind, sentence, Vec::new());
    };
    let kind = match found.repetitions.first() {
        Some(block) if block.len() > 1 => CauseKind::LoopAlternating,
        _ => CauseKind::LoopIdentical,
    };
    let (repeated, mut numbers) = repetitions(found);
    numbers.push(found.warning.number);
    let sentence = MarkedText::own(kind.words()).with(": ").and(repeated).with(".");
    FailureCause::new(kind, sentence, numbers)
}

/// `⟦search → read⟧ 5 times (#2–#11)`.
fn repetitions(found: &loops::Loop<'_>) -> (MarkedText, Vec<usize>) {
    let times = found.repetitions.len();
    let numbers = found.repetitions.iter().flatten().map(|step| step.number);
    let numbers: Vec<usize> = numbers.take(MAX_EVIDENCE).collect();
    let words = MarkedText::default().with_content(&found.block(), MAX_NAME_BYTES);
    let words = if numbers.is_empty() {
        words
    } else {
        words.with(format!(" {times} times (from {})", text::step_ranges(&numbers)))
    };
    (words, numbers)
}

fn of_interrupted_run(steps: &[Step<'_>]) -> FailureCause {
    let kind = CauseKind::Killed;
    let sentence = MarkedText::own(kind.words());
    let in_flight = summary::last(steps, |step| step.in_flight);
    let step = in_flight.or_else(|| summary::last(steps, |_| true));
    let sentence = match (in_flight, step) {
        (Some(step), _) => sentence
            .with(" in ")
            .and(reference(step))
            .with(", which had not ended."),
        (None, Some(step)) => sentence.with(" after ").and(reference(step)).with("."),
        (None, None) => sentence.with(" before any step ended."),
    };
    FailureCause::new(kind, sentence, step.map(|step| step.number).into_iter().collect())
}

/// ` after #4 ⟦search⟧`; nothing without a step.
fn after(step: Option<&Step<'_>>) -> MarkedText {
    step.map_or_else(MarkedText::default, |step| {
        MarkedText::own(" after ").and(reference(step))
    })
}

/// `#4 ⟦search⟧`.
fn reference(step: &Step<'_>) -> MarkedText {
    MarkedText::own(format!("#{} ", step.number)).with_content(&step.name(), MAX_NAME_BYTES)
}

/// `⟦Timeout: no answer in 10 s⟧`.
fn failure(error: &ErrorPayload) -> MarkedText {
    let words = match (
        error.error_type.trim(),
        text::beginning(error.message.trim(), 4 * MAX_MESSAGE_BYTES),
    ) {
        (error_type, "") => error_type.to_owned(),
        ("", message) => message.to_owned(),
        (error_type, message) => format!("{}: {message}", text::one_line(error_type, MAX_NAME_BYTES)),
    };
    MarkedText::default().with_content(&words, MAX_MESSAGE_BYTES)
}
