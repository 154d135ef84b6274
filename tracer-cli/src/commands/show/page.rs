//! Page of a run: summary, loops, and steps as a table or as bars. Of a long run only the first and the last steps are
//! read, and the number of omitted steps is printed.

use super::{Args, OpenedRun};
use crate::error::CliError;
use crate::terminal::run_page::RunPage;
use tracer_insight::line::{Line, Tone};
use tracer_insight::step_detail::{StepNumbers, evidence_numbers};
use tracer_insight::step_filter::StepFilter;

use crate::session::Session;
use crate::terminal::{step_rows, waterfall};
use tracer_insight::key_steps::{FIRST_STEPS, LAST_STEPS, MAX_STEPS};
use tracer_insight::{loops, steps, text};

/// Shows the page.
pub(super) fn show(
    shown: &mut OpenedRun,
    filter: &StepFilter,
    args: &Args,
    session: &mut Session,
) -> Result<(), CliError> {
    let width = session.ui.width();
    // The search runs before anything is written: its progress bar would be drawn into the page.
    let numbers = shown.passing(filter, session)?;
    let evidence = head(shown, filter.is_empty(), session)?;
    if numbers.is_empty() && !filter.is_empty() {
        session.ui.say("no steps match");
    }
    let total = shown.contents.head().duration;
    let parts = parts(&numbers, args.all);
    let left_out = numbers.len() - parts.iter().map(|part| part.len()).sum::<usize>();
    let started = shown.contents.started();
    for (index, part) in parts.iter().enumerate() {
        let sources = shown.contents.read_steps(part.iter().copied())?;
        let steps = steps::steps(&sources, started);
        let lines = if args.waterfall {
            waterfall::lines(&steps, total, width)
        } else {
            step_rows::lines(&steps, &evidence, width)
        };
        if steps.is_empty() {
            continue;
        }
        if index == 0 {
            session.ui.lines(&[Line::new()])?;
        } else if left_out > 0 {
            let omitted = format!("  … {} omitted …", text::counted(left_out as u64, "step"));
            session
                .ui
                .lines(&[Line::of(omitted, Tone::Warning).fitted(width)])?;
        }
        // The parts of one table have one heading.
        session.ui.lines(lines.iter().skip(usize::from(index > 0)))?;
    }
    print_next(shown, &numbers, left_out, session);
    Ok(())
}

/// Prints the head of the page, with the loops when `with_loops`; returns the numbers of the steps that are evidence of
/// loops.
pub(super) fn head(
    shown: &mut OpenedRun,
    with_loops: bool,
    session: &mut Session,
) -> Result<StepNumbers, CliError> {
    let width = session.ui.width();
    let sources = shown.contents.read_key_steps()?;
    let steps = steps::steps(&sources, shown.contents.started());
    let page = RunPage {
        head: &shown.contents.head(),
        short_id: &shown.short_id,
        steps: &steps,
    };
    session.ui.lines(&page.lines(width))?;
    if with_loops {
        session.ui.lines(&loops::card_lines(&steps, width))?;
    }
    Ok(evidence_numbers(&steps))
}

/// Parts of the table, each small enough to lay out.
fn parts(numbers: &[usize], all: bool) -> Vec<&[usize]> {
    if !all && numbers.len() > MAX_STEPS {
        let (first, rest) = numbers.split_at(FIRST_STEPS);
        return vec![first, rest.get(rest.len() - LAST_STEPS..).unwrap_or_default()];
    }
    numbers.chunks(MAX_STEPS).collect()
}

/// Prints the next commands.
fn print_next(shown: &OpenedRun, numbers: &[usize], left_out: usize, session: &mut Session) {
    let id = &shown.short_id;
    session.ui.remark_line(&Line::new());
    if left_out > 0 {
        let omitted = text::counted(left_out as u64, "step");
        let all = session.command(&format!("show {id} --all"));
        let note = format!("  {omitted} omitted; show all: {all}");
        session.ui.warn(note);
    }
    if numbers.len() < shown.contents.len() {
        let all = text::counted(shown.contents.len() as u64, "step");
        let note = format!("  {} of {all} match", numbers.len());
        session.ui.remark(note);
    }
    if !shown.contents.problems().0.is_empty() {
        return;
    }
    if let Some(number) = numbers.last() {
        let step = session.command(&format!("show {id} --step {number}"));
        session.ui.remark(format!("  show a step:    {step}"));
    }
    let export = session.command(&format!("export {id} --out run.json"));
    session.ui.remark(format!("  export as JSON: {export}"));
}
