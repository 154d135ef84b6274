//! Runs as rows: a table for a terminal, tab-separated fields for everything else.

use std::collections::BTreeMap;

use tracer_catalog::{ListedRun, RunColumn};
use tracer_sdk::format::{Timestamp, TraceId};

use crate::terminal::layout::Table;
use tracer_insight::line::{Line, Tone};
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::table::Column;
use tracer_insight::text;

/// A run in a table.
#[derive(Debug)]
pub struct TableRun<'a> {
    /// The run.
    pub run: &'a ListedRun,
    /// Its place among the runs of its session or conversation, where there are several.
    pub thread: Option<String>,
    /// Number of its calls that were asked for and never ran, as far as it was counted.
    pub not_run_calls: u64,
}

/// Columns of the place in a thread.
const MAX_THREAD_COLUMNS: usize = 24;
/// Part of the width below which a name and a subtitle no longer distinguish runs.
const MIN_NAME_WIDTH: (usize, usize) = (3, 8);

/// The columns of a table: those that every table has, what runs are sorted by, and where they come from.
pub fn columns(sorted_by: RunColumn, has_origins: bool) -> Vec<RunColumn> {
    let mut columns = RunColumn::OF_TABLE.to_vec();
    if has_origins {
        columns.push(RunColumn::Origin);
    }
    if sorted_by != RunColumn::Name && !columns.contains(&sorted_by) {
        columns.insert(RunColumn::OF_TABLE.len(), sorted_by);
    }
    columns
}

/// The side on which the cells of a column are, and its turn to be left out where the width is not enough.
fn layout(column: RunColumn) -> Column {
    let heading = column.heading();
    match column {
        RunColumn::Status | RunColumn::Id => Column::text(heading, None),
        RunColumn::Started => Column::text(heading, Some(8)),
        RunColumn::Duration => Column::number(heading, Some(7)),
        RunColumn::Steps => Column::number(heading, Some(6)),
        RunColumn::Tokens => Column::number(heading, Some(5)),
        RunColumn::Cost => Column::number(heading, Some(4)),
        RunColumn::LlmCalls => Column::number(heading, Some(1)),
        RunColumn::ToolCalls => Column::number(heading, Some(2)),
        RunColumn::Errors => Column::number(heading, Some(3)),
        RunColumn::Origin => Column::text(heading, Some(9)),
        _ => Column::number(heading, None),
    }
}

/// The runs as a table of at most `width` columns, with IDs shortened to `id_length` characters.
pub fn table(
    rows: &[TableRun<'_>],
    columns: &[RunColumn],
    id_length: usize,
    now: Timestamp,
    width: usize,
) -> Vec<Line> {
    let sign = Column::text("", None);
    let layouts: Vec<Column> = [sign]
        .into_iter()
        .chain(columns.iter().map(|column| layout(*column)))
        .collect();
    let mut table = Table::new(&layouts);
    for TableRun { run, .. } in rows {
        let sign = Line::of(run.status.glyph(), run.status.tone());
        let cells = columns.iter().map(|column| {
            let (mut text, tone) = column.cell(run, now);
            if *column == RunColumn::Id {
                text.truncate(id_length);
            }
            Line::of(text, tone)
        });
        table.push([sign].into_iter().chain(cells).collect());
    }
    let names = rows.iter().map(|row| match row.run.problem() {
        None => described(row, now),
        Some(problem) => Line::of(problem, Tone::Warning),
    });
    let least = width * MIN_NAME_WIDTH.0 / MIN_NAME_WIDTH.1;
    table.lines(width, least, &RunColumn::Name.heading().to_uppercase(), names)
}

/// The name, the place in a thread, the marks, and the subtitle.
fn described(
    TableRun {
        run,
        thread,
        not_run_calls,
    }: &TableRun<'_>,
    now: Timestamp,
) -> Line {
    let (name, tone) = RunColumn::Name.cell(run, now);
    let thread = thread
        .as_ref()
        .map(|thread| (text::one_line(thread, MAX_THREAD_COLUMNS), Tone::Plain));
    let marks = run.row.marks(run.status, *not_run_calls);
    let marks = marks.map(|marks| (marks, Tone::Warning));
    let subtitle = run.row.subtitle.clone().map(|subtitle| (subtitle, Tone::Muted));
    let further = [thread, marks, subtitle].into_iter().flatten();
    further.fold(Line::of(name, tone), |line, (text, tone)| {
        line.space(2).with(text, tone)
    })
}

/// `~/.tracer/runs   4 of 128   ● 1 running  ✗ 1 failed`, on two lines when one is too short; `statuses` are those of
/// all runs, shown or not, each with their number.
pub fn heading(place: &str, shown: usize, statuses: &BTreeMap<RunStatus, usize>, width: usize) -> Vec<Line> {
    let all: usize = statuses.values().sum();
    let count = if shown == all {
        text::counted(all as u64, "run")
    } else {
        format!("{shown} of {}", text::counted(all as u64, "run"))
    };
    let first = Line::of(place, Tone::Strong).space(3).with(count, Tone::Plain);
    let mut tallies = Line::new();
    for (position, (status, number)) in statuses.iter().enumerate() {
        tallies = tallies.space(if position == 0 { 3 } else { 2 }).with(
            format!("{} {number} {}", status.glyph(), status.as_str()),
            status.tone(),
        );
    }
    if first.width() + tallies.width() <= width {
        let mut line = first;
        line.append(tallies);
        return vec![line.fitted(width)];
    }
    vec![first.fitted(width), tallies.fitted(width)]
}

/// Fields of a line with tabs between them.
pub fn fields<Field: AsRef<str>>(columns: &[RunColumn], field: impl Fn(RunColumn) -> Field) -> String {
    let fields: Vec<Field> = columns.iter().map(|column| field(*column)).collect();
    let fields: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
    fields.join("\t")
}

/// Characters of a short ID at least.
const MIN_ID_CHARS: usize = 8;

/// Number of characters that distinguish all IDs: at least eight.
pub fn id_length(ids: impl IntoIterator<Item = TraceId>) -> usize {
    let mut ids: Vec<TraceId> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.windows(2)
        .filter_map(|pair| match pair {
            [first, second] if first != second => Some(in_common(*first, *second) + 1),
            _ => None,
        })
        .fold(MIN_ID_CHARS, usize::max)
}

/// As many characters of an ID as distinguish it from the others: at least eight.
pub fn short_id(id: TraceId, others: impl IntoIterator<Item = TraceId>) -> String {
    let length = others
        .into_iter()
        .filter(|other| *other != id)
        .map(|other| in_common(id, other) + 1)
        .fold(MIN_ID_CHARS, usize::max);
    id.to_string().chars().take(length).collect()
}

/// Number of characters that two IDs begin with alike.
fn in_common(first: TraceId, second: TraceId) -> usize {
    let (first, second) = (first.to_hex(), second.to_hex());
    first
        .iter()
        .zip(second)
        .take_while(|(one, other)| **one == *other)
        .count()
}

#[cfg(test)]
mod tests;
