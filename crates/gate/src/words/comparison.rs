//! Tables of a comparison: its numbers, and its calls side by side.

use tracer_insight::comparison::words::{self, CallRow};
use tracer_insight::comparison::{Call, CallChange, CallPair, Comparison};
use tracer_insight::line::Tone;
use tracer_insight::metric_words;
use tracer_insight::text::counted;
use tracer_sdk::format::EventType;

use super::table::{ReportRow, ReportTable};
use tracer_insight::marked_text::MarkedText;
use tracer_insight::table::Column;

/// More rows of calls are counted.
const MAX_ROWS: usize = 400;

/// The numbers before and after.
pub fn metrics(comparison: &Comparison) -> ReportTable {
    let mut table = ReportTable::new([
        Column::text("metric", None),
        Column::number("before", None),
        Column::number("after", None),
        Column::text("change", None),
    ]);
    for change in words::relevant_metrics(comparison) {
        let metric = change.metric.as_str();
        let label = match metric_words::label(metric) {
            // It names a tool of the trace.
            label if label == metric => MarkedText::value(label),
            label => MarkedText::own(label),
        };
        let tone = if change.is_changed() {
            Tone::Warning
        } else {
            Tone::Muted
        };
        let value = |value| MarkedText::own(metric_words::value(metric, value));
        let difference = metric_words::change(metric, change.before, change.after);
        let cells = [
            label,
            value(change.before),
            value(change.after),
            MarkedText::own(difference).toned(tone),
        ];
        table.push(cells.map(Into::into));
    }
    table
}

/// The calls; what is the same is folded.
pub fn calls(comparison: &Comparison) -> ReportTable {
    let mut table =
        ReportTable::new(["", "before", "after", "call"].map(|heading| Column::text(heading, None)));
    let rows = words::call_rows(comparison.calls.pairs());
    table.rows.extend(rows.iter().take(MAX_ROWS).map(call_row));
    table.left_out = rows.len().saturating_sub(MAX_ROWS) as u64;
    table
}

fn call_row(row: &CallRow<'_>) -> ReportRow {
    let (first, last, count) = match row {
        CallRow::Unchanged(count) => return folded_row(format!("{} the same", counted(*count, "call"))),
        CallRow::Calls { first, last, count } => (first, last, *count),
    };
    let sign = match words::sign(first.change) {
        _ if first.change == CallChange::Same => MarkedText::default(),
        (sign, tone) => MarkedText::value(sign).toned(tone),
    };
    let cells = [
        sign,
        muted(words::step_range(first.before, last.before)),
        muted(words::step_range(first.after, last.after)),
        call(first, count),
    ];
    ReportRow {
        cells: cells.map(Into::into).into(),
        details: differences(first),
    }
}

/// The row of several others.
fn folded_row(words: String) -> ReportRow {
    let cells = [
        MarkedText::default(),
        muted("…".to_owned()),
        muted("…".to_owned()),
        muted(words),
    ];
    ReportRow {
        cells: cells.map(Into::into).into(),
        details: Vec::new(),
    }
}

fn muted(words: String) -> MarkedText {
    MarkedText::own(words).toned(Tone::Muted)
}

/// `⚒ search_kb ×4, same as an earlier call`
fn call(pair: &CallPair<'_>, count: u64) -> MarkedText {
    let (before, after) = words::named_calls(pair);
    let mut phrase = name(before);
    if let Some(after) = after {
        phrase = phrase.with(" → ").toned(Tone::Muted).and(name(after));
    }
    if count > 1 {
        phrase = phrase.with(format!(" ×{count}")).toned(Tone::Strong);
    }
    for remark in words::remarks(pair) {
        phrase = phrase.with(format!(", {remark}")).toned(Tone::Warning);
    }
    phrase
}

fn name(call: Call<'_>) -> MarkedText {
    let (glyph, tone) = if call.event_type == EventType::LlmCall {
        ("✦ ", Tone::Llm)
    } else {
        ("⚒ ", Tone::Tool)
    };
    MarkedText::own(glyph)
        .toned(tone)
        .with_value(call.name)
        .toned(tone)
}

/// The first differences of the arguments: place, value before, value after.
fn differences(pair: &CallPair<'_>) -> Vec<MarkedText> {
    let (differences, more) = words::short_differences(pair.differences);
    let phrase = |[path, before, after]: [String; 3]| {
        let place = match path.as_str() {
            "" => MarkedText::default(),
            path => MarkedText::value(path).with(": "),
        };
        place.with_value(before).with(" → ").with_value(after)
    };
    let more = (more > 0).then(|| MarkedText::own(format!("… and {} more", counted(more, "difference"))));
    differences.into_iter().map(phrase).chain(more).collect()
}
