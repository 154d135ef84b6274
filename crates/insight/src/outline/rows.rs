//! The steps of an outline: a row for each step or fold, as much of each value as there is room for.

use std::collections::BTreeSet;

use tracer_sdk::format::Payload;

use crate::fold::{RepeatedSteps, StepRow, fold_repeats};
use crate::marked_text::{MarkedText, content};
use crate::step_kind::StepKind;
use crate::steps::Step;
use crate::{step_summary, text};

/// Bytes of each value of a row, the most first; with the last, rows are left out instead.
const VALUE_BYTES: [usize; 6] = [800, 400, 240, 120, 60, 24];
/// Bytes of each value where rows are left out.
const VALUE_BYTES_OF_SOME: usize = 80;
const MAX_NAME_BYTES: usize = 60;
/// Levels of nesting that are shown.
const MAX_DEPTH: usize = 6;
/// Most bytes of a line in the place of rows, with its line break.
const GAP_BYTES: usize = 48;
/// Rows of the beginning and of the end that are worth more than those between.
const FIRST_ROWS: usize = 3;
const LAST_ROWS: usize = 6;

/// The rows in at most `room` bytes, each with its line break; `wanted` are the numbers of the steps that must not be missing
/// before others are. The second is whether rows are left out.
pub(super) fn rows(steps: &[Step<'_>], wanted: &[usize], room: usize) -> (String, bool) {
    let rows = fold_repeats(steps);
    for value_bytes in VALUE_BYTES {
        let mut shown = String::new();
        for row in &rows {
            line(row, value_bytes, &mut shown);
            if shown.len() > room {
                break;
            }
        }
        if shown.len() <= room {
            return (shown, false);
        }
    }
    (some(&rows, wanted, room), true)
}

/// The rows that matter most, as many as there is room for.
fn some(rows: &[StepRow<'_>], wanted: &[usize], room: usize) -> String {
    let mut by_worth: Vec<(u8, usize)> = rows
        .iter()
        .enumerate()
        .map(|(place, row)| (rank(row, place, rows.len(), wanted), place))
        .collect();
    by_worth.sort_unstable();
    let mut kept = BTreeSet::new();
    // A gap may be before each kept row, and one behind the last.
    let mut used = GAP_BYTES;
    for (_, place) in by_worth {
        let mut shown = String::new();
        if let Some(row) = rows.get(place) {
            line(row, VALUE_BYTES_OF_SOME, &mut shown);
        }
        used += shown.len() + GAP_BYTES;
        if used > room {
            break;
        }
        kept.insert(place);
    }
    let mut shown = String::new();
    let mut omitted = 0;
    for (place, row) in rows.iter().enumerate() {
        if !kept.contains(&place) {
            omitted += match row {
                StepRow::Step(_) => 1,
                StepRow::Repeats(repeats) => repeats.steps.len(),
            };
            continue;
        }
        gap(&mut omitted, &mut shown);
        line(row, VALUE_BYTES_OF_SOME, &mut shown);
    }
    gap(&mut omitted, &mut shown);
    if shown.len() <= room { shown } else { String::new() }
}

/// Rank by which rows are left out: the lowest last.
fn rank(row: &StepRow<'_>, place: usize, rows: usize, wanted: &[usize]) -> u8 {
    let (numbers, is_bad) = match row {
        StepRow::Step(step) => (
            step.number..=step.number,
            step.failed() || step.in_flight || matches!(step.kind(), StepKind::Loop | StepKind::Error),
        ),
        StepRow::Repeats(repeats) => {
            let number = |step: Option<&Step<'_>>| step.map_or(0, |step| step.number);
            let numbers = number(repeats.steps.first())..=number(repeats.steps.last());
            (numbers, repeats.steps.iter().any(Step::failed))
        }
    };
    if wanted.iter().any(|number| numbers.contains(number)) {
        0
    } else if place < FIRST_ROWS || place + LAST_ROWS >= rows {
        1
    } else if is_bad {
        2
    } else {
        3
    }
}

fn gap(omitted: &mut usize, shown: &mut String) {
    if *omitted > 0 {
        shown.push_str("… ");
        shown.push_str(&text::counted(*omitted as u64, "step"));
        shown.push_str(" left out\n");
        *omitted = 0;
    }
}

fn line(row: &StepRow<'_>, value_bytes: usize, shown: &mut String) {
    match row {
        StepRow::Step(step) => {
            shown.push_str(&"  ".repeat(step.depth.min(MAX_DEPTH)));
            shown.push_str(&step_line(step, value_bytes));
        }
        StepRow::Repeats(repeats) => shown.push_str(&repeats_line(repeats)),
    }
    shown.push('\n');
}

/// `#4 tool ⟦search_kb⟧ failed, 1.2 s: ⟦query=refund⟧ → ⟦Timeout: no answer⟧`
fn step_line(step: &Step<'_>, value_bytes: usize) -> String {
    let mut line = title(step).marked();
    let summary = step.summary();
    let failure = step_summary::failure(&step.record.payload);
    // The input of an error is its type, which its message is shown with.
    let is_error = matches!(step.record.payload, Payload::Error(_));
    let input = Some(summary.input).filter(|input| !input.is_empty() && !is_error);
    let output = match failure {
        Some(error) => Some(format!(
            "{}: {}",
            text::beginning(&error.error_type, MAX_NAME_BYTES),
            text::beginning(&error.message, 4 * value_bytes)
        )),
        None => summary.output,
    };
    if let Some(input) = &input {
        line.push_str(": ");
        line.push_str(&content(input, value_bytes));
    }
    if let Some(output) = &output {
        line.push_str(if input.is_some() { " → " } else { ": " });
        line.push_str(&content(output, value_bytes));
    }
    line
}

/// `#4 tool ⟦search_kb⟧ failed, 1.2 s`: what a step is, whether it failed, how long it took, and its tokens.
pub(super) fn title(step: &Step<'_>) -> MarkedText {
    let kind = if step.is_agent() {
        "agent"
    } else {
        step.kind().as_str()
    };
    let mut title = MarkedText::own(format!("#{} {kind}", step.number));
    if step.kind().fixed_name().is_none() {
        title = title.with(" ").with_content(&step.name(), MAX_NAME_BYTES);
    }
    let mut facts = Vec::new();
    if step.in_flight {
        facts.push("not ended".to_owned());
    } else {
        facts.extend(step.notable_end_word().map(str::to_owned));
    }
    facts.extend(step.duration_words());
    if let Some(usage) = step.record.usage() {
        facts.extend(step_summary::tokens(usage).map(|tokens| format!("{tokens} tokens")));
    }
    if facts.is_empty() {
        title
    } else {
        title.with(" ").with(facts.join(", "))
    }
}

/// `#3–#5: identical arguments, identical results, 3 steps`
fn repeats_line(repeats: &RepeatedSteps<'_>) -> String {
    let number = |step: Option<&Step<'_>>| step.map_or(0, |step| step.number);
    let (first, last) = (number(repeats.steps.first()), number(repeats.steps.last()));
    let count = text::counted(repeats.steps.len() as u64, "step");
    let depth = repeats.steps.first().map_or(0, |step| step.depth.min(MAX_DEPTH));
    let line = format!("{}#{first}–#{last}: ", "  ".repeat(depth));
    // The type of a failure is content.
    let words = match repeats.attempts_at {
        Some(Some(call)) => format!("failed attempts at #{call}"),
        Some(None) => "failed attempts".to_owned(),
        None => repeats.description(),
    };
    format!("{line}{words}, {count}")
}
