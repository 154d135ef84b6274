//! `tracer show --for-llm`: a run, or one of its steps, as a text for a model, within a budget of tokens.

use tracer_insight::outline::{self, FurtherDetail, StepCursor, TokenBudget};

use super::OpenedRun;
use crate::error::CliError;
use crate::session::Session;

/// Prints the outline of the run, or the step.
pub(super) fn write(
    shown: &mut OpenedRun,
    step: Option<usize>,
    budget: TokenBudget,
    session: &mut Session,
) -> Result<(), CliError> {
    let command = session.command(&format!("show {}", shown.short_id));
    let further = FurtherDetail::by_command(&command, &shown.short_id);
    let text = match step {
        None => outline::of_run(&shown.contents, budget, &further)?,
        Some(number) => {
            let place = (number, StepCursor::default());
            let found = outline::of_step(&shown.contents, place, budget, &further)?;
            match found {
                Some(Ok(text)) => text,
                // The beginning of a step is a place in every step.
                Some(Err(_)) | None => return Err(super::views::no_such_step(shown, number, session)),
            }
        }
    };
    session.ui.plain(text.trim_end_matches('\n'))
}
