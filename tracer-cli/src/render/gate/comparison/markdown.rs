//! A comparison as Markdown, of bounded size and with everything from the runs inert.

use tracer_insight::comparison::{CallChange, CallPair, Comparison, Side};

use super::super::bounded::{self, Section};
use super::super::inert::code;
use super::super::{MARKDOWN_LIMIT, numbers};
use super::calls::{self, Row};

/// More rows of calls are counted, however short they are.
const MOST_ROWS: usize = 200;

/// The comparison as a document of its own.
pub fn document(comparison: &Comparison) -> String {
    let mut sections = vec![Section::new([
        "## What changed".to_owned(),
        String::new(),
        format!("- before: {}", side(&comparison.before)),
        format!("- after: {}", side(&comparison.after)),
        String::new(),
        format!("**{}**", super::calls_sentence(comparison)),
    ])];
    sections.extend(body(comparison));
    bounded::document(&sections, MARKDOWN_LIMIT)
}

/// Numbers and calls, to stand in a longer document.
pub(in super::super) fn body(comparison: &Comparison) -> Vec<Section> {
    let metrics = Section::new([
        "| metric | before | after | change |".to_owned(),
        "|---|--:|--:|---|".to_owned(),
    ])
    .rows(
        "metric",
        MOST_ROWS,
        super::told_metrics(comparison).map(|change| {
            let metric = change.metric.as_str();
            format!(
                "| {} | {} | {} | {} |",
                label(metric),
                numbers::value(metric, change.before),
                numbers::value(metric, change.after),
                numbers::change(metric, change.before, change.after)
            )
        }),
    )
    .more_begins_with("| ");
    let rows = calls::rows(comparison.calls.pairs());
    if rows.is_empty() {
        return vec![metrics];
    }
    let calls = Section::new([
        "| | before | after | call |".to_owned(),
        "|:-:|---|---|---|".to_owned(),
    ])
    .rows("row", MOST_ROWS, rows.iter().map(row))
    .more_begins_with("| | | | ");
    vec![metrics, calls]
}

/// What people call a metric; what names a tool of the trace is inert.
fn label(metric: &str) -> String {
    let label = numbers::label(metric);
    if label == metric {
        code(metric)
    } else {
        label.to_owned()
    }
}

fn side(side: &Side) -> String {
    let id = code(&super::short_id(side));
    let name = side
        .run_name
        .as_deref()
        .map(|name| format!(" {}", code(name)))
        .unwrap_or_default();
    format!("{} {id}{name}, ended {}", super::kind(side), code(&side.status))
}

fn row(row: &Row<'_>) -> String {
    match row {
        Row::Same(count) => format!("| | … | … | {count} calls the same |"),
        Row::Calls { first, last, count } => {
            let (sign, _) = calls::sign(first.change);
            let sign = if first.change == CallChange::Same {
                String::new()
            } else {
                format!("`{sign}`")
            };
            format!(
                "| {sign} | {} | {} | {} |",
                steps(&calls::steps(first.before, last.before)),
                steps(&calls::steps(first.after, last.after)),
                call(first, *count)
            )
        }
    }
}

/// A number behind `#` would become a link to the issue of that number.
fn steps(told: &str) -> String {
    told.replace('#', "")
}

fn call(pair: &CallPair<'_>, count: u64) -> String {
    let (before, after) = calls::names(pair);
    let mut told = code(before.name);
    if let Some(after) = after {
        told = format!("{told} → {}", code(after.name));
    }
    if count > 1 {
        told = format!("{told} ×{count}");
    }
    for remark in calls::remarks(pair) {
        told = format!("{told}, {remark}");
    }
    let (differences, more) = calls::differences(pair.differences);
    for [path, before, after] in differences {
        let place = if path.is_empty() {
            String::new()
        } else {
            code(&path) + ": "
        };
        told = format!("{told}<br>{place}{} → {}", code(&before), code(&after));
    }
    if more > 0 {
        told = format!("{told}<br>… and {more} more");
    }
    told
}
