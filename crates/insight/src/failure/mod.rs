//! [`failure`]: why a run failed, looped, was interrupted or has no answer, in one sentence with the steps that show it.

mod classify;
mod origin;
#[cfg(test)]
mod tests;

use tracer_sdk::format::{ErrorPayload, EventType, Outcome, Payload, error_type};

use crate::cause_kind::CauseKind;
use crate::last_answer::{self, AnswerProblem};
use crate::loops;
use crate::marked_text::MarkedText;
use crate::status::RunStatus;
use crate::step_summary;
use crate::steps::Step;
use crate::text;

use classify::{FailedPart, error_kind};
use origin::{broken_off, caused, error_step};

/// Bytes of a name, of a message, and of a type in a sentence.
const MAX_NAME_BYTES: usize = 80;
const MAX_MESSAGE_BYTES: usize = 300;
/// Bytes of the names of calls in a row.
const MAX_PATH_BYTES: usize = 400;
/// Steps that are named as evidence of a loop.
const MAX_EVIDENCE: usize = 24;

/// Something that went wrong with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureCause {
    /// Its kind.
    pub(crate) kind: CauseKind,
    /// It in one sentence.
    pub sentence: MarkedText,
    /// The numbers of the steps that show it, in ascending order.
    pub(crate) steps: Vec<usize>,
    /// The number of the step that it arose in, where that is known.
    at: Option<usize>,
}

impl FailureCause {
    /// `at` is the step that it arose in, the first of `steps` that is there.
    pub(crate) fn new(
        kind: CauseKind,
        sentence: MarkedText,
        steps: impl IntoIterator<Item = Option<usize>>,
    ) -> Self {
        let mut steps: Vec<usize> = steps.into_iter().flatten().collect();
        let at = steps.first().copied();
        steps.sort_unstable();
        steps.dedup();
        Self {
            kind,
            sentence: sentence.stopped(),
            steps,
            at,
        }
    }
}

/// Why a run with this status failed, looped or was interrupted, or ended ok with an answer that is none; `None` of every other
/// run. `steps` are all its steps, or the key steps of a long run.
///
/// ```
/// use tracer_insight::failure::failure;
/// use tracer_insight::run_steps::RunSteps;
/// use tracer_insight::steps::steps;
/// use tracer_runs::RunStore;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let refusal = serde_json::json!({"role": "assistant", "refusal": "I can't."});
/// capture(|| tracer_sdk::llm_call("gpt-5").response(&refusal).record()).save(folder.path())?;
/// let run = RunSteps::open(RunStore::new(folder.path()).newest()?, tracer_sdk::prices::Prices::default());
/// let sources = run.read_key_steps()?;
/// let found = failure(run.status, &steps(&sources, None)).unwrap();
/// assert_eq!(found.sentence.plain(), "The model refused at #1 gpt-5: I can't.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn failure(status: RunStatus, steps: &[Step<'_>]) -> Option<FailureCause> {
    match status {
        RunStatus::Failed => Some(of_failed_run(steps)),
        RunStatus::Looped => Some(of_looped_run(steps)),
        RunStatus::Interrupted => Some(of_interrupted_run(steps)),
        RunStatus::Ok => last_answer::problem(steps).map(|found| of_answer(&found, None)),
        RunStatus::Running | RunStatus::Damaged => None,
    }
}

/// The step that shows what went wrong first; `None` when nothing did.
pub fn first_cause<'a>(status: RunStatus, steps: &'a [Step<'a>]) -> Option<&'a Step<'a>> {
    let failed_call = || last(steps, |step| step.is_call() && step.failed());
    match status {
        RunStatus::Ok => {
            let is_no_attempt =
                |step: &Step<'_>| step.is_call() && step.failed() && step.attempt_of.is_none();
            last(steps, is_no_attempt).or_else(failed_call)
        }
        RunStatus::Running | RunStatus::Damaged => last(steps, Step::failed),
        RunStatus::Failed | RunStatus::Looped | RunStatus::Interrupted => {
            let at = failure(status, steps)?.at?;
            steps.iter().find(|step| step.number == at)
        }
    }
}

fn of_failed_run(steps: &[Step<'_>]) -> FailureCause {
    let ended_with = error_step(steps);
    let last_call = last(steps, |step| step.is_call() && step.attempt_of.is_none());
    let Some(error) = ended_with.and_then(|step| step_summary::failure(&step.record.payload)) else {
        return of_silent_run(last_call, steps);
    };
    let class = error_type::class(&error.error_type);
    let message = || said(error.message.trim());
    let ended = |kind, words, said| of_ended_run((kind, words), said, (error, ended_with), steps);
    let kind = match class {
        error_type::LOOP_ABORT => CauseKind::GuardrailLoop,
        error_type::GUARDRAIL_EXCEEDED => CauseKind::of_guardrail(&error.message),
        "panic" => CauseKind::Panic,
        error_type::INTERRUPTED => return ended(CauseKind::Cancelled, "Interrupted", message()),
        class if error_type::is_cancellation(class) => {
            return ended(
                CauseKind::Cancelled,
                CauseKind::Cancelled.words(),
                MarkedText::default(),
            );
        }
        _ => return of_error((error, ended_with), last_call, steps),
    };
    ended(kind, kind.words(), message())
}

/// A run that failed with an error of its own or of a call, which is none of the SDK's.
fn of_error(
    (error, ended_with): (&ErrorPayload, Option<&Step<'_>>),
    last_call: Option<&Step<'_>>,
    steps: &[Step<'_>],
) -> FailureCause {
    // The call whose failure is passed on, else a failure that nothing came after.
    let passed_on = last(steps, |step| step.is_call() && caused(step, error));
    let is_own = broken_off(steps, error).is_some();
    if let Some(call) = passed_on.or(last_call.filter(|step| step.failed() && !is_own)) {
        let then = Some(error).filter(|error| !caused(call, error));
        return of_call(call, then, ended_with);
    }
    let kind = error_kind(error, FailedPart::Program);
    let problem = last_answer::problem(steps)
        .filter(|found| last_call.is_some_and(|call| call.number == found.step.number));
    if let (None, Some(found)) = (kind, problem.filter(|found| found.kind != CauseKind::NoAnswer)) {
        return of_answer(&found, Some(error));
    }
    let kind = kind.unwrap_or(CauseKind::ProgramError);
    of_ended_run(
        (kind, kind.words()),
        failed_with(error),
        (error, ended_with),
        steps,
    )
}

/// A run that failed and recorded no error.
fn of_silent_run(last_call: Option<&Step<'_>>, steps: &[Step<'_>]) -> FailureCause {
    if let Some(found) = last_answer::problem(steps).filter(|found| found.kind.is_withheld()) {
        return of_answer(&found, None);
    }
    if let Some(call) = last_call.filter(|call| call.failed()) {
        return of_call(call, None, None);
    }
    let kind = CauseKind::Unknown;
    let words = MarkedText::own(kind.words());
    let (words, step) = match (last(steps, |step| step.is_call() && step.failed()), last_call) {
        (Some(call), _) => {
            let failed = with_failure(call);
            (words.with("; the last failed call is ").and(failed), Some(call))
        }
        (None, Some(call)) => (words.with(", after ").and(reference(call)), Some(call)),
        (None, None) => (words, None),
    };
    FailureCause::new(kind, words, [step.map(|step| step.number)])
}

/// A run that ended with an error of its own, not of a call: its kind in words, where it was, and what is `said` of it.
fn of_ended_run(
    (kind, words): (CauseKind, &str),
    said: MarkedText,
    (error, ended_with): (&ErrorPayload, Option<&Step<'_>>),
    steps: &[Step<'_>],
) -> FailureCause {
    let number = |step: Option<&Step<'_>>| step.map(|step| step.number);
    let broken_off = broken_off(steps, error);
    let finished = last(steps, |step| step.is_call() && !step.in_flight);
    let place = match (broken_off, finished) {
        (Some(step), _) => MarkedText::own(" in ").and(reference(step)),
        (None, Some(step)) => MarkedText::own(" after ").and(reference(step)),
        (None, None) => MarkedText::default(),
    };
    let sentence = MarkedText::own(words).and(place).and_said(said);
    let evidence = [number(broken_off), number(ended_with), number(finished)];
    FailureCause::new(kind, sentence, evidence)
}

/// A call that failed; `then` is the error that ended the run, where that is another one.
fn of_call(call: &Step<'_>, then: Option<&ErrorPayload>, ended_with: Option<&Step<'_>>) -> FailureCause {
    let is_model = call.record.event_type() == EventType::LlmCall;
    let (part, other) = if is_model {
        (FailedPart::Model, CauseKind::ModelError)
    } else {
        (FailedPart::Tool, CauseKind::ToolError)
    };
    let error = step_summary::failure(&call.record.payload);
    let kind = error.and_then(|error| error_kind(error, part)).unwrap_or(other);
    let mut sentence = MarkedText::own(kind.words()).with(" at ").and(reference(call));
    if call.attempts > 1 {
        sentence = sentence.with(format!(", after {} attempts", call.attempts));
    }
    let said = error.map(failed_with).unwrap_or_default();
    let sentence = and_then(sentence.and_said(said), then);
    let evidence = [Some(call.number), ended_with.map(|step| step.number)];
    FailureCause::new(kind, sentence, evidence)
}

/// An answer that is no answer; `then` is the error that ended the run.
fn of_answer(found: &AnswerProblem<'_>, then: Option<&ErrorPayload>) -> FailureCause {
    let mut sentence = MarkedText::own(found.kind.words())
        .with(" at ")
        .and(reference(found.step));
    if let Some(detail) = &found.detail {
        let detail = said(detail);
        sentence = sentence.and_said(if found.kind == CauseKind::NoAnswer {
            let asked = MarkedText::own("the model asked for the tool ");
            asked.and(detail).with(", and nothing followed")
        } else {
            detail
        });
    }
    FailureCause::new(found.kind, and_then(sentence, then), [Some(found.step.number)])
}

fn of_looped_run(steps: &[Step<'_>]) -> FailureCause {
    let ended_ok = ", then ended ok";
    of_loop(steps, ended_ok).unwrap_or_else(|| {
        let kind = CauseKind::LoopIdentical;
        // A loop in shapes that were warned of before is not warned of again.
        let warning = last(steps, |step| step.record.event_type() == EventType::LoopWarning);
        let sentence = MarkedText::own(kind.words()).with(" itself").with(ended_ok);
        let sentence = match warning {
            Some(_) => sentence,
            None => sentence.with("; the warning itself is not in the log"),
        };
        FailureCause::new(kind, sentence, [warning.map(|step| step.number)])
    })
}

/// The first loop among those that the run was warned of; `end` are the last words of its sentence.
pub(crate) fn of_loop(steps: &[Step<'_>], end: &str) -> Option<FailureCause> {
    let loops = loops::find(steps);
    let found = loops.iter().find(|found| found.likeness.is_loop())?;
    let claimed = match &found.warning.record.payload {
        Payload::LoopWarning { repetitions, .. } => *repetitions,
        _ => 0,
    };
    let evidence = || found.repetitions.iter().take(found.in_evidence);
    let names: Vec<String> = evidence()
        .next()
        .into_iter()
        .flatten()
        .map(|step| step.name())
        .collect();
    let numbers: Vec<usize> = evidence().flatten().map(|step| step.number).collect();
    let (kind, repeated) = match names.len() {
        0 => (CauseKind::LoopIdentical, MarkedText::own("itself")),
        count => {
            let kind = if count > 1 {
                CauseKind::LoopAlternating
            } else {
                CauseKind::LoopIdentical
            };
            (kind, path(names))
        }
    };
    let sentence = MarkedText::own(kind.words())
        .with(" ")
        .and(repeated)
        .with(format!(" at least {claimed} times"));
    let sentence = if numbers.is_empty() {
        sentence
    } else {
        sentence.with(format!(" ({})", text::step_ranges(&numbers)))
    };
    let sentence = sentence.with(end);
    let shown = found.repetitions.iter().flatten().map(|step| step.number);
    let steps = std::iter::once(found.warning.number).chain(shown.take(MAX_EVIDENCE));
    Some(FailureCause::new(kind, sentence, steps.map(Some)))
}

fn of_interrupted_run(steps: &[Step<'_>]) -> FailureCause {
    let kind = CauseKind::Killed;
    let in_flight = last(steps, |step| step.in_flight);
    let step = in_flight.or_else(|| last(steps, |_| true));
    let place = match step {
        None => MarkedText::own("no step had finished"),
        Some(step) if in_flight.is_some() => MarkedText::own("it was in ").and(reference(step)),
        Some(step) if step.outcome() == Outcome::Cancelled => reference(step).with(" was cancelled before"),
        Some(step) => MarkedText::own("the last finished step is ").and(reference(step)),
    };
    let sentence = MarkedText::own(kind.words()).with("; ").and(place);
    FailureCause::new(kind, sentence, [step.map(|step| step.number)])
}

/// The last step that fits.
pub(crate) fn last<'a>(steps: &'a [Step<'a>], fits: impl Fn(&'a Step<'a>) -> bool) -> Option<&'a Step<'a>> {
    let fitting = steps.iter().filter(|step| fits(step));
    fitting.max_by_key(|step| step.number)
}

/// `#4 search`.
pub(crate) fn reference(step: &Step<'_>) -> MarkedText {
    MarkedText::own(format!("#{} ", step.number)).with_content(&step.name(), MAX_NAME_BYTES)
}

/// `#4 search: Timeout: no answer in 10 s`.
pub(crate) fn with_failure(call: &Step<'_>) -> MarkedText {
    let error = step_summary::failure(&call.record.payload);
    reference(call).and_said(error.map(failed_with).unwrap_or_default())
}

/// `Timeout: no answer in 10 s`.
fn failed_with(error: &ErrorPayload) -> MarkedText {
    match (error.error_type.trim(), error.message.trim()) {
        (error_type, "") => said(error_type),
        ("", message) => said(message),
        // As genai says the status.
        (error_type, message) if error_type == message => said(message),
        (error_type, message) => {
            let message = text::beginning(message, 4 * MAX_MESSAGE_BYTES);
            said(&format!(
                "{}: {message}",
                text::one_line(error_type, MAX_NAME_BYTES)
            ))
        }
    }
}

fn said(content: &str) -> MarkedText {
    let content = text::beginning(content, 4 * MAX_MESSAGE_BYTES);
    MarkedText::default().with_content(content, MAX_MESSAGE_BYTES)
}

fn and_then(sentence: MarkedText, then: Option<&ErrorPayload>) -> MarkedText {
    match then {
        Some(error) => sentence
            .with("; then the run ended with ")
            .and(failed_with(error)),
        None => sentence,
    }
}

/// The names of calls in a row, `search → read`; of many, the beginning and the end.
pub(crate) fn path(mut names: Vec<String>) -> MarkedText {
    const KEPT: usize = 5;
    if names.len() > KEPT + 1 {
        let between = names.len() - KEPT;
        names.splice(3..3 + between, [format!("… {between} more …")]);
    }
    MarkedText::default().with_content(&names.join(" → "), MAX_PATH_BYTES)
}
