//! The steps of a run as a table: number, time, duration, what it was, and its summary.

use tracer_sdk::format::{ErrorPayload, Payload, Usage};

use crate::terminal::layout::Table;
use crate::terminal::row_cells::RowCells;
use tracer_insight::fold;
use tracer_insight::fold::{RepeatedSteps, StepRow};
use tracer_insight::line::{Line, Tone};
use tracer_insight::step_detail::{StepNumbers, evidence_words};
use tracer_insight::steps::Step;
use tracer_insight::table::Column;
use tracer_insight::{cost, step_summary, text, units};

const COLUMNS: [Column; 4] = [
    Column::number("#", None),
    Column::number("+TIME", Some(1)),
    Column::number("DUR", None),
    Column::text("STEP", None),
];
/// The column of the names.
const STEP: usize = 3;
/// The summary distinguishes two steps, so a column goes rather than that it gets less.
const MIN_SUMMARY_COLUMNS: usize = 26;
/// Columns of a name that are kept, however deep it is.
const MIN_NAME_COLUMNS: usize = 12;
/// Lines of a message; the rest is counted.
const MAX_MESSAGE_LINES: usize = 6;
const MAX_STACK_LINES: usize = 16;

/// The table of the steps, at most `width` columns wide. `numbers` are those of the steps that loop warnings rest on,
/// which need not be among these.
pub fn lines(steps: &[Step<'_>], numbers: &StepNumbers, width: usize) -> Vec<Line> {
    let rows = fold::fold_repeats(steps);
    let mut table = Table::new(&COLUMNS);
    for row in &rows {
        table.push(cells(row, width * 2 / 5));
    }
    let arranged = table.arrange(width, MIN_SUMMARY_COLUMNS);
    let room = arranged.room();
    let indent = arranged.indent(STEP) + 2;
    let mut lines = vec![arranged.heading("")];
    for (row, cells) in rows.iter().zip(table.rows()) {
        match row {
            StepRow::Step(step) => {
                lines.push(arranged.line(cells, summary_line(step, room, Some(numbers))));
                if let Some(failure) = step.own_failure() {
                    lines.extend(details(failure, indent, width));
                }
            }
            StepRow::Repeats(repeats) => lines.push(arranged.line(cells, folded(repeats))),
        }
    }
    lines
}

fn cells(row: &StepRow<'_>, max_name_columns: usize) -> Vec<Line> {
    let Some(cells) = RowCells::new(row, max_name_columns, MIN_NAME_COLUMNS) else {
        return Vec::new();
    };
    let offset = cells.step.offset.map(units::duration).unwrap_or_default();
    vec![
        cells.number,
        Line::of(offset, Tone::Muted),
        cells.duration,
        cells.name,
    ]
}

/// The summary of a step and, for a model call, its tokens and their cost, which are never cut. `numbers` are those of the steps around it,
/// where they are known.
pub(super) fn summary_line(step: &Step<'_>, room: usize, numbers: Option<&StepNumbers>) -> Line {
    let mut summary = step.summary();
    if let Payload::LoopWarning {
        evidence_event_ids, ..
    } = &step.record.payload
        && let Some(numbers) = numbers
    {
        summary.input.push_str(": ");
        summary
            .input
            .push_str(&evidence_words(evidence_event_ids, numbers));
    }
    let tokens = step.record.usage().and_then(|usage| tokens(usage, room));
    let tone = match &step.record.payload {
        Payload::Error(_) => Tone::Bad,
        _ => Tone::Plain,
    };
    let Some(tokens) = tokens else {
        return Line::of(summary.fitted(room), tone);
    };
    let tokens = match step.cost.and_then(cost::of_call) {
        Some(cost) => format!("{tokens}  {cost}"),
        None => tokens,
    };
    let summary = summary.fitted(room.saturating_sub(text::width(&tokens) + 2));
    let gap = if summary.is_empty() { 0 } else { 2 };
    Line::of(summary, tone).space(gap).with(tokens, Tone::Muted)
}

/// The tokens of a model call: with those from a cache and for reasoning where that leaves most of the row to its summary.
fn tokens(usage: &Usage, room: usize) -> Option<String> {
    let tokens = format!("{} tok", step_summary::tokens(usage)?);
    let shares = step_summary::token_shares(usage);
    let whole = shares.map(|shares| format!("{tokens} ({shares})"));
    whole
        .filter(|whole| text::width(whole) <= room / 2)
        .or(Some(tokens))
}

fn folded(repeats: &RepeatedSteps<'_>) -> Line {
    let numbers: Vec<usize> = repeats.steps.iter().map(|step| step.number).collect();
    Line::of(repeats.description(), Tone::Plain)
        .space(2)
        .with(text::step_ranges(&numbers), Tone::Muted)
}

/// The message and the stack of a failure, below its row.
pub(super) fn details(failure: &ErrorPayload, indent: usize, width: usize) -> Vec<Line> {
    let indent = indent.min(width / 2);
    let message = text::wrap(&failure.message, width.saturating_sub(indent));
    let stack = failure.stack.as_deref().unwrap_or_default();
    let stack: Vec<&str> = stack.lines().filter(|line| !line.trim().is_empty()).collect();
    capped(&message, MAX_MESSAGE_LINES)
        .into_iter()
        .map(|line| (line, Tone::Bad))
        .chain(
            capped(&stack, MAX_STACK_LINES)
                .into_iter()
                .map(|line| (line, Tone::Muted)),
        )
        .map(|(line, tone)| Line::new().space(indent).with(line, tone).fitted(width))
        .collect()
}

fn capped<Text: AsRef<str>>(lines: &[Text], most: usize) -> Vec<String> {
    let mut kept: Vec<String> = lines
        .iter()
        .take(most)
        .map(|line| line.as_ref().replace('\t', "    "))
        .collect();
    if lines.len() > most {
        let missing = (lines.len() - most) as u64;
        kept.push(format!(
            "{} {}: --json",
            text::ELLIPSIS,
            text::counted(missing, "more line")
        ));
    }
    kept
}

#[cfg(test)]
mod tests;
