//! Runs as rows: a table for a terminal, tab-separated fields for everything else.

use std::collections::BTreeMap;

use tracer_sdk::format::{Counts, Timestamp, TraceId};

use crate::terminal::layout::{Align, Column, Table};
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_preview::RunPreview;
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::{text, units};

/// A run in a list.
#[derive(Debug)]
pub struct RunRow {
    /// Its ID, as its directory has it.
    pub id: TraceId,
    /// How it stands.
    pub standing: RunStatus,
    /// What its metadata says, or why that cannot be read.
    pub facts: Result<Facts, String>,
}

/// What a list tells about a run whose metadata can be read.
#[derive(Debug)]
pub struct Facts {
    /// Its label.
    pub name: Option<String>,
    /// When it started.
    pub started: Timestamp,
    /// How long it took, in microseconds; `None` when it has no end.
    pub duration: Option<u64>,
    /// What it counted.
    pub counts: Counts,
    /// What its spans say, as far as they were read.
    pub preview: Option<RunPreview>,
}

const COLUMNS: [Column; 10] = [
    column("", Align::Left, None),
    column("STATUS", Align::Left, None),
    column("ID", Align::Left, None),
    column("STARTED", Align::Left, Some(7)),
    column("DURATION", Align::Right, Some(6)),
    column("STEPS", Align::Right, Some(5)),
    column("TOKENS", Align::Right, Some(4)),
    column("MODEL", Align::Right, Some(1)),
    column("TOOL", Align::Right, Some(2)),
    column("ERRORS", Align::Right, Some(3)),
];
/// A name and what was asked, cut to less than this part of the width, do not tell runs apart.
const MIN_NAME: (usize, usize) = (3, 8);

const fn column(heading: &'static str, align: Align, dropped: Option<u8>) -> Column {
    Column {
        heading,
        align,
        dropped,
    }
}

/// The runs as a table of at most `width` columns, with IDs shortened to `id_length` characters.
pub fn table(rows: &[RunRow], id_length: usize, now: Timestamp, width: usize) -> Vec<Line> {
    let mut table = Table::new(&COLUMNS);
    for row in rows {
        table.push(cells(row, id_length, now));
    }
    let arranged = table.arrange(width, width * MIN_NAME.0 / MIN_NAME.1);
    let mut lines = vec![arranged.heading("RUN")];
    for (row, cells) in rows.iter().zip(table.rows()) {
        let last = match &row.facts {
            Ok(facts) => run(facts),
            Err(problem) => Line::of(problem, Tone::Warning),
        };
        lines.push(arranged.line(cells, last));
    }
    lines
}

/// The name, and what tells the run from others of that name.
fn run(facts: &Facts) -> Line {
    let name = match &facts.name {
        Some(name) => Line::of(text::one_line(name, 200), Tone::Strong),
        None => Line::of("(unnamed)", Tone::Muted),
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
        Line::of(row.standing.glyph(), row.standing.tone()),
        Line::of(row.standing.as_str(), row.standing.tone()),
        Line::of(id, Tone::Plain),
    ];
    let told = match &row.facts {
        Ok(facts) => [
            (units::ago(facts.started, now), Tone::Muted),
            (duration(row.standing, facts, now), Tone::Plain),
            (previewed(facts, |preview| Some(preview.steps)), Tone::Plain),
            (previewed(facts, |preview| preview.tokens), Tone::Plain),
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
        Err(_) => [const { (String::new(), Tone::Plain) }; 7],
    };
    cells.extend(told.map(|(text, tone)| Line::of(text, tone)));
    cells
}

/// A quantity of the preview; a plus says that there are more.
fn previewed(facts: &Facts, quantity: impl Fn(&RunPreview) -> Option<u64>) -> String {
    let Some(preview) = &facts.preview else {
        return String::new();
    };
    let more = if preview.is_whole { "" } else { "+" };
    quantity(preview).map_or_else(String::new, |quantity| units::quantity(quantity) + more)
}

/// A running run has been going on for a while, and a plus says that it still is.
fn duration(standing: RunStatus, facts: &Facts, now: Timestamp) -> String {
    if standing == RunStatus::Running {
        let elapsed = u64::try_from(now.microseconds_since(facts.started)).unwrap_or(0);
        return units::duration(elapsed) + "+";
    }
    facts.duration.map(units::duration).unwrap_or_default()
}

/// `~/.tracer/runs   4 of 128   ● 1 running  ✗ 1 failed`, on two lines when one is too short; `standings` are those of
/// all runs, shown or not.
pub fn heading(place: &str, shown: usize, standings: &[RunStatus], width: usize) -> Vec<Line> {
    let all = standings.len();
    let count = if shown == all {
        text::counted(all as u64, "run")
    } else {
        format!("{shown} of {}", text::counted(all as u64, "run"))
    };
    let first = Line::of(place, Tone::Strong).space(3).with(count, Tone::Plain);
    let mut tally: BTreeMap<RunStatus, usize> = BTreeMap::new();
    for standing in standings {
        *tally.entry(*standing).or_default() += 1;
    }
    let mut told = Line::new();
    for (position, (standing, number)) in tally.into_iter().enumerate() {
        told = told.space(if position == 0 { 3 } else { 2 }).with(
            format!("{} {number} {}", standing.glyph(), standing.as_str()),
            standing.tone(),
        );
    }
    if first.width() + told.width() <= width {
        let mut line = first;
        line.append(told);
        return vec![line.fitted(width)];
    }
    vec![first.fitted(width), told.fitted(width)]
}

/// The names of the tab-separated fields.
pub const FIELDS: &str =
    "status\trun_id\tstarted_at\tduration_ms\tllm_calls\ttool_calls\terrors\tloop_warnings\trun_name";

/// A run as tab-separated fields: nothing shortened, nothing relative, empty where it is unknown.
pub fn fields(row: &RunRow) -> String {
    let (status, id) = (row.standing.as_str(), row.id);
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
                "{status}\t{id}\t{}\t{duration}\t{llm_calls}\t{tool_calls}\t{errors}\t{loop_warnings}\t{name}",
                facts.started
            )
        }
        Err(_) => format!("{status}\t{id}\t\t\t\t\t\t\t"),
    }
}

/// How many characters of its ID nobody needs fewer of.
const SHORTEST_ID: usize = 8;

/// How many characters of the IDs tell them all apart: at least eight.
pub fn id_length(ids: impl IntoIterator<Item = TraceId>) -> usize {
    let mut ids: Vec<TraceId> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.windows(2)
        .filter_map(|pair| match pair {
            [first, second] if first != second => Some(in_common(*first, *second) + 1),
            _ => None,
        })
        .fold(SHORTEST_ID, usize::max)
}

/// As much of an ID as tells it from the others: at least eight characters.
pub fn short_id(id: TraceId, others: impl IntoIterator<Item = TraceId>) -> String {
    let length = others
        .into_iter()
        .filter(|other| *other != id)
        .map(|other| in_common(id, other) + 1)
        .fold(SHORTEST_ID, usize::max);
    id.to_string().chars().take(length).collect()
}

/// How many characters two IDs begin with alike.
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
