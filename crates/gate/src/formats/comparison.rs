//! A comparison as Markdown, of bounded size and with everything from the runs inert.

use tracer_insight::comparison::{CallChange, CallPair, Comparison, Side};

use crate::formats::MARKDOWN_LIMIT;
use crate::formats::size_budget;
use crate::formats::size_budget::ReportSection;
use tracer_insight::comparison::words;
use tracer_insight::comparison::words::CallRow;
use tracer_insight::markdown::code;
use tracer_insight::metric_words;

/// More rows of calls are counted, however short they are.
const MAX_ROWS: usize = 200;

/// The comparison as a document of its own.
pub fn document(comparison: &Comparison) -> String {
    let mut sections = vec![ReportSection::new([
        "## What changed".to_owned(),
        String::new(),
        format!("- before: {}", side(&comparison.before)),
        format!("- after: {}", side(&comparison.after)),
        String::new(),
        format!("**{}**", words::summary(comparison)),
    ])];
    sections.extend(body(comparison));
    size_budget::document(&sections, MARKDOWN_LIMIT)
}

/// Numbers and calls, as sections of a longer document.
pub(crate) fn body(comparison: &Comparison) -> Vec<ReportSection> {
    let metrics = ReportSection::new([
        "| metric | before | after | change |".to_owned(),
        "|---|--:|--:|---|".to_owned(),
    ])
    .rows(
        "metric",
        MAX_ROWS,
        words::relevant_metrics(comparison).map(|change| {
            let metric = change.metric.as_str();
            format!(
                "| {} | {} | {} | {} |",
                label(metric),
                metric_words::value(metric, change.before),
                metric_words::value(metric, change.after),
                metric_words::change(metric, change.before, change.after)
            )
        }),
    )
    .more_begins_with("| ");
    let rows = words::call_rows(comparison.calls.pairs());
    if rows.is_empty() {
        return vec![metrics];
    }
    let calls = ReportSection::new([
        "| | before | after | call |".to_owned(),
        "|:-:|---|---|---|".to_owned(),
    ])
    .rows("row", MAX_ROWS, rows.iter().map(row))
    .more_begins_with("| | | | ");
    vec![metrics, calls]
}

/// The label of a metric; what names a tool of the trace is inert.
fn label(metric: &str) -> String {
    let label = metric_words::label(metric);
    if label == metric {
        code(metric)
    } else {
        label.to_owned()
    }
}

fn side(side: &Side) -> String {
    let id = code(&words::short_id(side));
    let name = side
        .run_name
        .as_deref()
        .map(|name| format!(" {}", code(name)))
        .unwrap_or_default();
    format!(
        "{} {id}{name}, ended {}",
        side.kind.as_str(),
        code(side.run_status.as_str())
    )
}

fn row(row: &CallRow<'_>) -> String {
    match row {
        CallRow::Unchanged(count) => format!("| | … | … | {count} calls the same |"),
        CallRow::Calls { first, last, count } => {
            let (sign, _) = words::sign(first.change);
            let sign = if first.change == CallChange::Same {
                String::new()
            } else {
                format!("`{sign}`")
            };
            format!(
                "| {sign} | {} | {} | {} |",
                steps(&words::step_range(first.before, last.before)),
                steps(&words::step_range(first.after, last.after)),
                call(first, *count)
            )
        }
    }
}

/// A number behind `#` would become a link to the issue of that number.
fn steps(reported: &str) -> String {
    reported.replace('#', "")
}

fn call(pair: &CallPair<'_>, count: u64) -> String {
    let (before, after) = words::named_calls(pair);
    let mut reported = code(before.name);
    if let Some(after) = after {
        reported = format!("{reported} → {}", code(after.name));
    }
    if count > 1 {
        reported = format!("{reported} ×{count}");
    }
    for remark in words::remarks(pair) {
        reported = format!("{reported}, {remark}");
    }
    let (differences, more) = words::short_differences(pair.differences);
    for [path, before, after] in differences {
        let place = if path.is_empty() {
            String::new()
        } else {
            code(&path) + ": "
        };
        reported = format!("{reported}<br>{place}{} → {}", code(&before), code(&after));
    }
    if more > 0 {
        reported = format!("{reported}<br>… and {more} more");
    }
    reported
}
