//! A run, or one of its steps, as a text for a model: within a budget of tokens, and with all content of the trace marked.

mod budget;
mod causes;
mod further;
mod rows;
mod step;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use tracer_runs::RecordError;
use tracer_sdk::format::{Payload, RunMeta, TraceId};

use crate::conversation::{Conversation, Message, MessagePart, Speaker};
use crate::failure::{self, FailureCause, reference};
use crate::marked_text::{LEGEND, MarkedText};
use crate::run_head::{RunHead, UNNAMED};
use crate::run_steps::RunSteps;
use crate::status::RunStatus;
use crate::step_remarks::NOT_RUN;
use crate::steps::{self, Step};
use crate::{summary, text, units};

pub use budget::TokenBudget;
pub use further::FurtherDetail;
use rows::rows;
use step::StepOutline;
pub use step::{InvalidCursor, StepCursor};

/// Further causes that are shown of one run.
const MAX_FURTHER_CAUSES: usize = 4;
/// Precedes the steps that show a cause.
const EVIDENCE: &str = "evidence:";

/// A run as a text for a model: its status, why it ended so, its input and answer, and as many of its steps as fit.
///
/// ```
/// use tracer_insight::outline::{self, FurtherDetail, TokenBudget};
/// use tracer_insight::run_steps::RunSteps;
/// use tracer_runs::RunStore;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let newest = RunStore::new(folder.path()).newest()?;
/// let run = RunSteps::open(newest, tracer_sdk::prices::Prices::default());
/// let ask = FurtherDetail::by_command("tracer show", "latest");
/// let text = outline::of_run(&run, TokenBudget::new(500), &ask)?;
/// assert!(text.contains("⟦captured⟧: ok"), "{text}");
/// assert!(text.len() <= 2_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`RecordError`]: the log was changed meanwhile.
pub fn of_run(run: &RunSteps, budget: TokenBudget, further: &FurtherDetail) -> Result<String, RecordError> {
    outlined(run, budget, further, false)
}

/// Why a run failed, looped or was interrupted, as a text for a model: a sentence for each cause, and the steps that show it.
///
/// # Errors
///
/// [`RecordError`]: the log was changed meanwhile.
pub fn of_failure(
    run: &RunSteps,
    budget: TokenBudget,
    further: &FurtherDetail,
) -> Result<String, RecordError> {
    outlined(run, budget, further, true)
}

/// The text of a run, or of its failure alone, from its key steps.
fn outlined(
    run: &RunSteps,
    budget: TokenBudget,
    further: &FurtherDetail,
    is_failure: bool,
) -> Result<String, RecordError> {
    let sources = run.read_key_steps()?;
    let outline = RunOutline {
        run_id: run.directory.trace_id,
        head: &run.head(),
        meta: run.meta.as_ref().ok(),
        steps: &steps::steps(&sources, run.started()),
        further,
    };
    Ok(outline.text(budget, is_failure))
}

/// A step as a text for a model, from a cursor on; `None` when the run has no such step.
///
/// # Errors
///
/// [`RecordError`]: the log was changed meanwhile. [`InvalidCursor`]: the cursor is none of this step.
pub fn of_step(
    run: &RunSteps,
    (number, cursor): (usize, StepCursor),
    budget: TokenBudget,
    further: &FurtherDetail,
) -> Result<Option<Result<String, InvalidCursor>>, RecordError> {
    let step_count = run.len();
    let started = run.started();
    let Some((source, span)) = run.read_step(number)? else {
        return Ok(None);
    };
    let sources = [source];
    let steps = steps::steps(&sources, started);
    Ok(steps.first().map(|step| {
        let outline = StepOutline {
            run_id: run.directory.trace_id,
            step,
            span: span.as_ref(),
            step_count,
            further,
        };
        outline.text(cursor, budget)
    }))
}

/// Parts that an outline is made from.
struct RunOutline<'a> {
    run_id: TraceId,
    head: &'a RunHead,
    meta: Option<&'a RunMeta>,
    steps: &'a [Step<'a>],
    further: &'a FurtherDetail,
}

impl RunOutline<'_> {
    /// All facts of the run; of a failure only its causes and the steps that show them.
    fn text(&self, budget: TokenBudget, is_failure: bool) -> String {
        let bytes = budget.bytes();
        let causes = causes::causes(self.head, self.meta, self.steps);
        let mut lines = self.first_lines(&causes, bytes);
        let more = self.more();
        let mut room = bytes.saturating_sub(size(&lines) + more.len() + 1);
        let mut add = |line: String| {
            if line.len() < room {
                room -= line.len() + 1;
                lines.push(line);
            }
        };
        for cause in causes.iter().skip(1).take(MAX_FURTHER_CAUSES) {
            add(format!("also: {}", cause.sentence.marked_within(bytes / 10)));
        }
        if !is_failure {
            add(format!("counts: {}", self.head.facts().join(", ")));
            if let Some(task) = self.task() {
                let task = MarkedText::own("asked: ").with_content(&task, (bytes / 10).min(1_000));
                add(task.marked());
            }
            if let Some(answer) = self.answer() {
                let answer = MarkedText::own("last answer: ").with_content(&answer, (bytes / 8).min(2_000));
                add(answer.marked());
            }
        }
        let wanted: Vec<usize> = causes
            .iter()
            .flat_map(|cause| cause.steps.iter().copied())
            .collect();
        let (heading, steps) = if is_failure {
            (EVIDENCE.to_owned(), Cow::Owned(self.evidence(&wanted)))
        } else {
            (self.steps_heading(), Cow::Borrowed(self.steps))
        };
        let (shown, is_part) = rows(&steps, &wanted, room.saturating_sub(heading.len() + 2));
        if !shown.is_empty() {
            lines.push(heading);
            lines.push(shown.trim_end_matches('\n').to_owned());
        } else if is_part && !is_failure {
            lines.push("steps: left out".to_owned());
        }
        lines.push(more);
        lines.join("\n") + "\n"
    }

    fn steps_heading(&self) -> String {
        let (read, all) = (self.steps.len() as u64, self.head.totals.steps);
        if read < all {
            let read = text::counted(read, "step");
            format!("{read} of {all}, the first, the last, the failed and those around loops:")
        } else {
            "steps:".to_owned()
        }
    }

    /// The steps that show a cause, without those around them.
    fn evidence(&self, wanted: &[usize]) -> Vec<Step<'_>> {
        let shown = self.steps.iter().filter(|step| wanted.contains(&step.number));
        shown
            .map(|step| Step {
                depth: 0,
                ..step.clone()
            })
            .collect()
    }

    /// Lines that no budget leaves out: the legend, what the run is, and why it ended so. At most a third of the budget
    /// is the cause.
    fn first_lines(&self, causes: &[FailureCause], bytes: usize) -> Vec<String> {
        let head = self.head;
        let name = head.name.as_deref().unwrap_or(UNNAMED);
        let mut run = MarkedText::own(format!("run {} ", self.run_id))
            .with_content(name, bytes / 12)
            .with(format!(": {}", head.status.as_str()));
        if let Some(started) = head.started {
            run = run.with(format!(", started {}", units::moment(started)));
        }
        if let Some(duration) = head.duration {
            let took = if head.status == RunStatus::Running {
                "for"
            } else {
                "took"
            };
            run = run.with(format!(", {took} {}", units::duration(duration)));
        }
        let why = match (causes.first(), head.status) {
            (Some(cause), _) => {
                let sentence = cause.sentence.marked_within((bytes / 3).saturating_sub(40));
                format!("cause ({}): {sentence}", cause.kind.code())
            }
            (None, RunStatus::Running) => "cause: none, it has not ended".to_owned(),
            (None, _) => match self.despite_a_good_end() {
                Some(found) => format!("cause: none. {}", found.marked_within(bytes / 3)),
                None => "cause: none, nothing is wrong with this run".to_owned(),
            },
        };
        vec![LEGEND.to_owned(), run.marked(), why]
    }

    /// Remarks on a run that ended without a cause of failure: that it waits for a person, which of its calls failed, that
    /// ends of calls were not seen. `None` where all is well.
    fn despite_a_good_end(&self) -> Option<MarkedText> {
        let totals = &self.head.totals;
        // A call that waits, or waited, has no result yet; that is known of it.
        let waits = |step: &&Step<'_>| step.is_call() && step.record.is_waiting();
        let unknown_calls = totals
            .unknown_calls
            .saturating_sub(self.steps.iter().filter(waits).count() as u64);
        let is_waiting = summary::waiting_step(self.steps).is_some();
        if !is_waiting && totals.failed_calls + unknown_calls + totals.not_run_calls == 0 {
            return None;
        }
        let mut found = summary::ended_ok(self.steps, self.head.totals_beyond(self.steps));
        if unknown_calls > 0 {
            let calls = text::counted(unknown_calls, "call");
            found = found.with(format!(" {calls} of unknown outcome."));
        }
        if totals.not_run_calls > 0 {
            let calls = text::counted(totals.not_run_calls, "call");
            found = found.with(format!(" {calls} asked for, not run"));
            let asking = failure::last(self.steps, |step| step.record.meta.contains_key(NOT_RUN));
            if let Some(step) = asking {
                found = found.with(", the last by ").and(reference(step));
            }
            found = found.stopped();
        }
        Some(found)
    }

    fn more(&self) -> String {
        format!(
            "more: {}; {}",
            self.further.step("N"),
            self.further.larger_budget()
        )
    }

    /// The first text of a user in the first prompt.
    fn task(&self) -> Option<String> {
        let is_model = |step: &&Step<'_>| matches!(step.record.payload, Payload::LlmCall { .. });
        let first = self
            .steps
            .iter()
            .filter(is_model)
            .min_by_key(|step| step.number)?;
        let prompt = Conversation::from_payload(&first.record.payload)?.prompt;
        let by_user = prompt.iter().find(|message| message.speaker() == Speaker::User);
        first_text(by_user.into_iter())
    }

    /// The text of the last answer.
    fn answer(&self) -> Option<String> {
        let is_model = |step: &Step<'_>| matches!(step.record.payload, Payload::LlmCall { .. });
        let last = failure::last(self.steps, is_model)?;
        let answer = Conversation::from_payload(&last.record.payload)?.answer;
        first_text(answer.iter())
    }
}

/// The bytes of lines with their line breaks.
fn size(lines: &[String]) -> usize {
    lines.iter().map(|line| line.len() + 1).sum()
}

fn first_text<'a>(messages: impl Iterator<Item = &'a Message>) -> Option<String> {
    messages
        .flat_map(|message| &message.parts)
        .find_map(|part| match part {
            MessagePart::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        })
}
