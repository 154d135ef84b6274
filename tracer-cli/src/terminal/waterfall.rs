//! The steps of a run as bars over the time that it took.

use crate::terminal::layout::Table;
use crate::terminal::row_cells::RowCells;
use tracer_insight::fold;
use tracer_insight::fold::StepRow;
use tracer_insight::line::{Line, Tone};
use tracer_insight::steps::Step;
use tracer_insight::table::Column;
use tracer_insight::{text, units};

const COLUMNS: [Column; 3] = [
    Column::number("#", None),
    Column::text("STEP", None),
    Column::number("DUR", Some(1)),
];
/// With fewer columns no times can be distinguished, so the durations go first.
const MIN_BAR_COLUMNS: usize = 24;
/// Parts of a column, from an eighth to seven.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
/// Columns of a name that are kept, however deep it is.
const MIN_NAME_COLUMNS: usize = 8;

/// The bars, at most `width` columns wide. `total` is the duration of the run, or the time that it has been running, in microseconds.
pub fn lines(steps: &[Step<'_>], total: Option<u64>, width: usize) -> Vec<Line> {
    let end = steps
        .iter()
        .filter_map(|step| Some(step.offset? + step.duration.unwrap_or(0)))
        .max();
    let total = total.max(end).unwrap_or(0).max(1);
    let rows = fold::fold_repeats(steps);
    let mut table = Table::new(&COLUMNS);
    for row in &rows {
        table.push(cells(row, width / 3));
    }
    let arranged = table.arrange(width, MIN_BAR_COLUMNS);
    let room = arranged.room();
    let mut lines = vec![arranged.heading(&axis(total, room))];
    for (row, cells) in rows.iter().zip(table.rows()) {
        let steps: &[Step<'_>] = match row {
            StepRow::Step(step) => std::slice::from_ref(*step),
            StepRow::Repeats(repeats) => repeats.steps,
        };
        let Some(first) = steps.first() else { continue };
        let tone = match (first.failed(), first.in_flight) {
            (true, _) => Tone::Bad,
            (false, true) => Tone::Active,
            (false, false) => first.kind().tone(),
        };
        lines.push(arranged.line(cells, Line::of(bars(steps, total, room), tone)));
    }
    lines
}

fn cells(row: &StepRow<'_>, max_name_columns: usize) -> Vec<Line> {
    RowCells::new(row, max_name_columns, MIN_NAME_COLUMNS)
        .map(|cells| vec![cells.number, cells.name, cells.duration])
        .unwrap_or_default()
}

/// The bars of the steps in one row of `room` columns.
fn bars(steps: &[Step<'_>], total: u64, room: usize) -> String {
    let mut row = vec![' '; room];
    for step in steps {
        let Some(offset) = step.offset else { continue };
        let eighths = |time: u64| {
            let scaled = u128::from(time) * room as u128 * 8 / u128::from(total);
            usize::try_from(scaled).unwrap_or(usize::MAX)
        };
        let duration = if step.in_flight {
            total.saturating_sub(offset)
        } else {
            step.duration.unwrap_or(0)
        };
        let first = (eighths(offset) / 8).min(room.saturating_sub(1));
        let least = if step.in_flight { 8 } else { 1 };
        let length = eighths(duration).max(least).min((room - first) * 8);
        let (whole, rest) = (length / 8, length % 8);
        let (full, rest) = if step.in_flight { ('░', 0) } else { ('█', rest) };
        for (index, column) in row.iter_mut().enumerate().skip(first).take(whole + 1) {
            let partial = rest.checked_sub(1).and_then(|rest| EIGHTHS.get(rest));
            match partial {
                _ if index < first + whole => *column = full,
                // A sliver does not hide what is there.
                Some(partial) if *column == ' ' => *column = *partial,
                _ => {}
            }
        }
    }
    row.into_iter().collect::<String>().trim_end().to_owned()
}

/// `0        30 ms        60 ms        90 ms     120 ms`: as many marks as have room.
fn axis(total: u64, room: usize) -> String {
    let marks = match room {
        0..24 => 1,
        24..48 => 2,
        _ => 4,
    };
    let end = units::duration(total);
    let mut axis = String::from("0");
    // The last mark ends with the bars, the others begin at their place, if there is room between their neighbours.
    let last = room.saturating_sub(text::width(&end));
    for mark in 1..marks {
        let label = units::duration(total / marks * mark);
        let at = usize::try_from(mark).unwrap_or(0) * room / usize::try_from(marks).unwrap_or(1);
        let used = text::width(&axis);
        if at > used && at + text::width(&label) < last {
            axis.push_str(&" ".repeat(at - used));
            axis.push_str(&label);
        }
    }
    let used = text::width(&axis);
    if last > used {
        axis.push_str(&" ".repeat(last - used));
        axis.push_str(&end);
    }
    axis
}

#[cfg(test)]
mod tests;
