//! Runs as rows: a table for a terminal, tab-separated fields for everything else.

use std::collections::BTreeMap;

use tracer_sdk::format::{Counts, Timestamp, TraceId};
use tracer_sdk::prices::CostSum;

use crate::terminal::layout::{Align, Column, Table};
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::UNNAMED;
use tracer_insight::run_preview::RunPreview;
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::{cost, text, units};

/// A run in a list.
#[derive(Debug)]
pub struct RunRow {
    /// Its ID, as its directory has it.
    pub id: TraceId,
    /// Its status.
    pub status: RunStatus,
    /// Its metadata, or why that cannot be read.
    pub facts: Result<ReadableRun, String>,
    /// Its place among the runs of its session or conversation, where there are several.
    pub thread: Option<String>,
    /// What is said of it beside its status: failed calls of a run that ended ok, that it waits for a person.
    pub marks: Option<String>,
    /// What runs are sorted by, with the heading of its column, where no other column shows it.
    pub sorted_by: Option<(&'static str, String)>,
    /// Where it was read, where a bucket is read besides this machine.
    pub origin: Option<String>,
}

/// A run in a list whose metadata can be read.
#[derive(Debug)]
pub struct ReadableRun {
    /// Its label.
    pub name: Option<String>,
    /// When it started.
    pub started: Timestamp,
    /// Its duration in microseconds; `None` when it has no end.
    pub duration: Option<u64>,
    /// Its counts.
    pub counts: Counts,
    /// What its model calls cost, where that is looked up.
    pub cost: Option<CostSum>,
    /// Its preview, unless its spans were not read.
    pub preview: Option<RunPreview>,
}

const COLUMNS: [Column; 11] = [
    Column::new("", Align::Left, None),
    Column::new("STATUS", Align::Left, None),
    Column::new("ID", Align::Left, None),
    Column::new("STARTED", Align::Left, Some(8)),
    Column::new("DURATION", Align::Right, Some(7)),
    Column::new("STEPS", Align::Right, Some(6)),
    Column::new("TOKENS", Align::Right, Some(5)),
    Column::new("COST", Align::Right, Some(4)),
    Column::new("LLM CALLS", Align::Right, Some(1)),
    Column::new("TOOL CALLS", Align::Right, Some(2)),
    Column::new("ERRORS", Align::Right, Some(3)),
];
/// Columns of the place in a thread.
const MAX_THREAD_COLUMNS: usize = 24;
/// Part of the width below which a name and a subtitle no longer distinguish runs.
const MIN_NAME_WIDTH: (usize, usize) = (3, 8);

/// The runs as a table of at most `width` columns, with IDs shortened to `id_length` characters.
pub fn table(rows: &[RunRow], id_length: usize, now: Timestamp, width: usize) -> Vec<Line> {
    let sorted_by = rows.iter().find_map(|row| Some(row.sorted_by.as_ref()?.0));
    let mut columns = COLUMNS.to_vec();
    columns.extend(sorted_by.map(|heading| Column::new(heading, Align::Right, None)));
    let has_origins = rows.iter().any(|row| row.origin.is_some());
    if has_origins {
        columns.push(Column::new("FROM", Align::Left, Some(9)));
    }
    let mut table = Table::new(&columns);
    for row in rows {
        let mut cells = cells(row, id_length, now);
        if sorted_by.is_some() {
            let sorted_by = row.sorted_by.as_ref().map(|(_, sorted_by)| sorted_by.as_str());
            cells.push(Line::of(sorted_by.unwrap_or_default(), Tone::Plain));
        }
        if has_origins {
            let is_bucket = row.origin.as_ref().is_some_and(|origin| origin.contains("://"));
            let place = if is_bucket { "bucket" } else { "here" };
            cells.push(Line::of(place, Tone::Muted));
        }
        table.push(cells);
    }
    let arranged = table.arrange(width, width * MIN_NAME_WIDTH.0 / MIN_NAME_WIDTH.1);
    let mut lines = vec![arranged.heading("RUN")];
    for (row, cells) in rows.iter().zip(table.rows()) {
        let last = match &row.facts {
            Ok(facts) => run(facts, row),
            Err(problem) => Line::of(problem, Tone::Warning),
        };
        lines.push(arranged.line(cells, last));
    }
    lines
}

/// The name, the place in a thread, the marks, and the subtitle.
fn run(facts: &ReadableRun, row: &RunRow) -> Line {
    let name = match &facts.name {
        Some(name) => Line::of(text::one_line(name, 200), Tone::Strong),
        None => Line::of(UNNAMED, Tone::Muted),
    };
    let name = match &row.thread {
        Some(thread) => name
            .space(2)
            .with(text::one_line(thread, MAX_THREAD_COLUMNS), Tone::Plain),
        None => name,
    };
    let name = match &row.marks {
        Some(marks) => name.space(2).with(marks.as_str(), Tone::Warning),
        None => name,
    };
    match facts
        .preview
        .as_ref()
        .and_then(|preview| preview.subtitle.as_deref())
    {
        Some(subtitle) => name.space(2).with(subtitle, Tone::Muted),
        None => name,
    }
}

fn cells(row: &RunRow, id_length: usize, now: Timestamp) -> Vec<Line> {
    let id: String = row.id.to_string().chars().take(id_length).collect();
    let mut cells = vec![
        Line::of(row.status.glyph(), row.status.tone()),
        Line::of(row.status.as_str(), row.status.tone()),
        Line::of(id, Tone::Plain),
    ];
    let facts = match &row.facts {
        Ok(facts) => [
            (units::ago(facts.started, now), Tone::Muted),
            (duration(row.status, facts, now), Tone::Plain),
            (previewed(facts, |preview| Some(preview.steps)), Tone::Plain),
            (previewed(facts, |preview| preview.tokens), Tone::Plain),
            (cost_cell(facts), Tone::Plain),
            (units::quantity(facts.counts.llm_calls), Tone::Plain),
            (units::quantity(facts.counts.tool_calls), Tone::Plain),
            (
                units::quantity(facts.counts.errors),
                if facts.counts.errors > 0 {
                    Tone::Bad
                } else {
                    Tone::Plain
                },
            ),
        ],
        Err(_) => [const { (String::new(), Tone::Plain) }; 8],
    };
    cells.extend(facts.map(|(text, tone)| Line::of(text, tone)));
    cells
}

/// What the model calls cost; nothing of a run that reports no tokens either.
fn cost_cell(facts: &ReadableRun) -> String {
    let has_tokens = facts
        .preview
        .as_ref()
        .is_some_and(|preview| preview.tokens.is_some());
    let cost = facts.cost.as_ref();
    let shown = cost.filter(|cost| has_tokens || cost.has_known() || cost.replayed > 0);
    shown.map(cost::cell).unwrap_or_default()
}

/// A quantity of the preview; a plus says that there are more.
fn previewed(facts: &ReadableRun, quantity: impl Fn(&RunPreview) -> Option<u64>) -> String {
    let Some(preview) = &facts.preview else {
        return String::new();
    };
    let more = if preview.is_whole { "" } else { "+" };
    quantity(preview).map_or_else(String::new, |quantity| units::quantity(quantity) + more)
}

/// A running run has been going on for a while, and a plus says that it still is.
fn duration(status: RunStatus, facts: &ReadableRun, now: Timestamp) -> String {
    if status == RunStatus::Running {
        let elapsed = u64::try_from(now.microseconds_since(facts.started)).unwrap_or(0);
        return units::duration(elapsed) + "+";
    }
    facts.duration.map(units::duration).unwrap_or_default()
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

/// The names of the tab-separated fields.
pub const FIELDS: &str =
    "status\trun_id\tstarted_at\tduration_ms\tllm_calls\ttool_calls\terrors\tloop_warnings\trun_name";

/// A run as tab-separated fields: nothing shortened, nothing relative, empty where it is unknown.
pub fn fields(row: &RunRow) -> String {
    let origin = row
        .origin
        .as_ref()
        .map(|origin| format!("\t{origin}"))
        .unwrap_or_default();
    let (status, id) = (row.status.as_str(), row.id);
    match &row.facts {
        Ok(facts) => {
            let Counts {
                llm_calls,
                tool_calls,
                errors,
                loop_warnings,
            } = facts.counts;
            let duration = facts
                .duration
                .map(|duration| (duration / 1_000).to_string())
                .unwrap_or_default();
            let name = text::printable(facts.name.as_deref().unwrap_or_default());
            format!(
                "{status}\t{id}\t{}\t{duration}\t{llm_calls}\t{tool_calls}\t{errors}\t{loop_warnings}\t{name}{origin}",
                facts.started
            )
        }
        Err(_) => format!("{status}\t{id}\t\t\t\t\t\t\t{origin}"),
    }
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
