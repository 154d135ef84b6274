//! Views of one step and of the conversation.

use tracer_sdk::format::Payload;

use super::OpenedRun;
use crate::error::CliError;
use crate::session::Session;
use crate::terminal::step_page::StepPage;
use crate::terminal::transcript;
use tracer_insight::key_steps::MAX_STEPS;
use tracer_insight::line::Line;
use tracer_insight::step_detail::{StepNumbers, call_number};
use tracer_insight::step_filter::StepFilter;
use tracer_insight::{steps, text};

/// Steps of a conversation laid out at a time.
const STEPS_AT_ONCE: usize = 1_000;

/// Shows one step in full.
pub(super) fn step(shown: &mut OpenedRun, number: usize, session: &mut Session) -> Result<(), CliError> {
    let Some((source, span)) = shown.contents.read_step(number)? else {
        return Err(no_such_step(shown, number, session));
    };
    let evidence = evidence(shown, number, &source.record.payload)?;
    let is_model_call = matches!(source.record.payload, Payload::LlmCall { .. });
    let kept_call = call_number(&source.record.meta);
    let sources = [source];
    let steps = steps::steps(&sources, shown.contents.started());
    let Some(step) = steps.first() else { return Ok(()) };
    let page = StepPage {
        step,
        span: span.as_ref(),
        step_count: shown.contents.len(),
        evidence: &evidence,
    };
    let width = session.ui.wrapping_width();
    session.ui.lines(&page.lines(width))?;
    let next = session.next_step("  show the run", &format!("show {}", shown.short_id));
    session.ui.remark_line(&Line::new());
    let fork = match kept_call {
        Some(call) => Some(session.command(&format!("fork {} --at {call}", shown.short_id))),
        None if is_model_call && shown.keeps_calls => {
            Some("not possible, the call did not go through the proxy that keeps calls".to_owned())
        }
        None => None,
    };
    if let Some(fork) = fork {
        session.ui.remark(format!("  fork from here: {fork}"));
    }
    session.ui.remark(next);
    Ok(())
}

/// Error for a step number that the run does not have.
pub(in crate::commands) fn no_such_step(shown: &OpenedRun, number: usize, session: &Session) -> CliError {
    let all = text::counted(shown.contents.len() as u64, "step");
    CliError::input(format!(
        "run {} has no step {number}: it has {all}",
        shown.short_id
    ))
    .with_hint(session.next_step("show the step numbers", &format!("show {}", shown.short_id)))
}

/// Numbers of the steps that are evidence of a loop warning, which are shortly before it.
fn evidence(shown: &mut OpenedRun, warning: usize, payload: &Payload) -> Result<StepNumbers, CliError> {
    let mut found = StepNumbers::new();
    let Payload::LoopWarning {
        evidence_event_ids, ..
    } = payload
    else {
        return Ok(found);
    };
    for number in warning.saturating_sub(MAX_STEPS).max(1)..warning {
        if let Some((source, _)) = shown.contents.read_step(number)?
            && evidence_event_ids.contains(&source.record.event_id)
        {
            found.insert(source.record.event_id, number);
        }
    }
    Ok(found)
}

/// Shows the conversation.
pub(super) fn transcript(
    shown: &mut OpenedRun,
    filter: &StepFilter,
    all: bool,
    session: &mut Session,
) -> Result<(), CliError> {
    let width = session.ui.wrapping_width();
    let numbers = shown.passing(filter, session)?;
    let most = if all { usize::MAX } else { STEPS_AT_ONCE };
    let laid_out = numbers.get(..most.min(numbers.len())).unwrap_or_default();
    let started = shown.contents.started();
    for (index, part) in laid_out.chunks(STEPS_AT_ONCE).enumerate() {
        let sources = shown.contents.read_steps(part.iter().copied())?;
        if index > 0 {
            session.ui.lines(&[Line::new()])?;
        }
        session
            .ui
            .lines(&transcript::lines(&steps::steps(&sources, started), width))?;
    }
    if numbers.is_empty() {
        session.ui.say("no steps to show");
    } else if laid_out.len() < numbers.len() {
        let left_out = text::counted((numbers.len() - laid_out.len()) as u64, "more step");
        let all = session.command(&format!("show {} --transcript --all", shown.short_id));
        session.ui.warn(format!("{left_out}; show all: {all}"));
    }
    Ok(())
}
