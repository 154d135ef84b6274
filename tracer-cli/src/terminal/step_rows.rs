//! The steps of a run as a table: number, time, duration, what it was, and the gist of it.

use std::collections::{HashMap, HashSet};

use tracer_sdk::format::{ErrorPayload, Payload};

use crate::terminal::layout::{Align, Column, Table};
use crate::terminal::row_cells::RowCells;
use tracer_insight::fold;
use tracer_insight::fold::{Repeats, Row};
use tracer_insight::line::{Line, Tone};
use tracer_insight::steps::Step;
use tracer_insight::{step_summary, text, units};

const COLUMNS: [Column; 4] = [
    Column {
        heading: "#",
        align: Align::Right,
        dropped: None,
    },
    Column {
        heading: "+TIME",
        align: Align::Right,
        dropped: Some(1),
    },
    Column {
        heading: "DUR",
        align: Align::Right,
        dropped: None,
    },
    Column {
        heading: "STEP",
        align: Align::Left,
        dropped: None,
    },
];
/// Where the names stand among the columns.
const STEP: usize = 3;
/// The gist is what tells two steps apart, so a column goes rather than that it gets less.
const MIN_GIST: usize = 26;
/// So much of a name is kept, however deep it stands.
const MIN_NAME: usize = 12;
/// What is longer is cut with a word about how much is missing.
const MAX_MESSAGE_LINES: usize = 6;
const MAX_STACK_LINES: usize = 16;

/// The numbers of steps by the IDs of their records.
pub type Numbers = HashMap<String, usize>;

/// The numbers of the steps that loop warnings rest on, as far as these are among `steps`.
pub fn evidence_numbers(steps: &[Step<'_>]) -> Numbers {
    let wanted: HashSet<&str> = steps
        .iter()
        .filter_map(|step| match &step.record.payload {
            Payload::LoopWarning {
                evidence_event_ids, ..
            } => Some(evidence_event_ids),
            _ => None,
        })
        .flatten()
        .map(String::as_str)
        .collect();
    steps
        .iter()
        .filter(|step| wanted.contains(step.record.event_id.as_str()))
        .map(|step| (step.record.event_id.clone(), step.number))
        .collect()
}

/// The table of the steps, at most `width` columns wide. `numbers` are those of the steps that loop warnings rest on,
/// which need not be among these.
pub fn lines(steps: &[Step<'_>], numbers: &Numbers, width: usize) -> Vec<Line> {
    let rows = fold::rows(steps);
    let mut table = Table::new(&COLUMNS);
    for row in &rows {
        table.push(cells(row, width * 2 / 5));
    }
    let arranged = table.arrange(width, MIN_GIST);
    let room = arranged.room();
    let indent = arranged.indent(STEP) + 2;
    let mut lines = vec![arranged.heading("")];
    for (row, cells) in rows.iter().zip(table.rows()) {
        match row {
            Row::Step(step) => {
                lines.push(arranged.line(cells, told(step, room, Some(numbers))));
                if let Some(failure) = step_summary::failure(&step.record.payload) {
                    lines.extend(details(failure, indent, width));
                }
            }
            Row::Repeats(repeats) => lines.push(arranged.line(cells, folded(repeats))),
        }
    }
    lines
}

fn cells(row: &Row<'_>, widest_name: usize) -> Vec<Line> {
    let Some(cells) = RowCells::of(row, widest_name, MIN_NAME) else {
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

/// The gist of a step and, for a model call, the tokens, which are never cut. `numbers` are those of the steps around
/// it, where they are known.
pub(super) fn told(step: &Step<'_>, room: usize, numbers: Option<&Numbers>) -> Line {
    let mut gist = step.gist();
    if let Payload::LoopWarning {
        evidence_event_ids, ..
    } = &step.record.payload
        && let Some(numbers) = numbers
    {
        gist.before.push_str(": ");
        gist.before.push_str(&evidence(evidence_event_ids, numbers));
    }
    let tokens = match &step.record.payload {
        Payload::LlmCall { usage, .. } => step_summary::tokens(usage),
        _ => None,
    };
    let tone = match &step.record.payload {
        Payload::Error(_) => Tone::Bad,
        _ => Tone::Plain,
    };
    let Some(tokens) = tokens else {
        return Line::of(gist.fitted(room), tone);
    };
    let tokens = format!("{tokens} tok");
    let gist = gist.fitted(room.saturating_sub(text::width(&tokens) + 2));
    let gap = if gist.is_empty() { 0 } else { 2 };
    Line::of(gist, tone).space(gap).with(tokens, Tone::Muted)
}

/// The steps that a loop warning rests on; what is not in the run is said, not left out.
fn evidence(ids: &[String], numbers: &Numbers) -> String {
    let mut known: Vec<usize> = ids
        .iter()
        .filter_map(|id| numbers.get(id.as_str()).copied())
        .collect();
    known.sort_unstable();
    let missing = (ids.len() - known.len()) as u64;
    match (known.is_empty(), missing) {
        (true, _) => "its evidence is not in this run".to_owned(),
        (false, 0) => text::step_ranges(&known),
        (false, missing) => format!("{}, and {missing} not in this run", text::step_ranges(&known)),
    }
}

fn folded(repeats: &Repeats<'_>) -> Line {
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
