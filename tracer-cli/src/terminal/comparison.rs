//! A comparison as lines for a terminal: both sides, their numbers, their calls side by side.

use tracer_insight::comparison::{Call, CallPair, Comparison, Side};
use tracer_insight::run_head::UNNAMED;
use tracer_sdk::format::EventType;

use crate::terminal::layout::{Align, Column, Table};
use tracer_insight::comparison::words;
use tracer_insight::comparison::words::CallRow;
use tracer_insight::line::{Line, Tone};
use tracer_insight::metric_words;
use tracer_insight::status::Signs;
use tracer_insight::text as plain_text;

const METRICS: [Column; 3] = [
    Column::new("METRIC", Align::Left, None),
    Column::new("BEFORE", Align::Right, None),
    Column::new("AFTER", Align::Right, None),
];
const CALLS: [Column; 3] = [
    Column::new(" ", Align::Left, None),
    Column::new("BEFORE", Align::Left, None),
    Column::new("AFTER", Align::Left, None),
];
/// Maximum rows of calls; more are counted.
const MAX_ROWS: usize = 400;
/// More models of a side are counted.
const MAX_MODELS: usize = 3;

/// The comparison in lines of at most `width` columns.
pub fn lines(comparison: &Comparison, width: usize) -> Vec<Line> {
    let mut lines = vec![
        side("before", &comparison.before).fitted(width),
        side("after", &comparison.after).fitted(width),
        Line::new(),
    ];
    lines.extend(metrics(comparison, width));
    if comparison.calls.pairs().len() > 0 {
        lines.push(Line::new());
        lines.extend(call_rows(comparison, width));
    }
    lines.push(Line::new());
    lines.push(Line::of(words::summary(comparison), Tone::Strong).fitted(width));
    lines
}

/// `before  0cc00a25  ✓ ok  support-agent  demo-gpt-4`
fn side(word: &str, side: &Side) -> Line {
    let mut line = Line::of(format!("{word:6}"), Tone::Muted)
        .space(2)
        .with(words::short_id(side), Tone::Plain)
        .space(2)
        .with(
            format!("{} {}", side.run_status.glyph(), side.run_status.as_str()),
            side.run_status.tone(),
        )
        .space(2)
        .with(
            plain_text::one_line(side.run_name.as_deref().unwrap_or(UNNAMED), 80),
            Tone::Strong,
        );
    if side.kind != tracer_insight::comparison::SideKind::Run {
        line = line.space(2).with(side.kind.as_str(), Tone::Muted);
    }
    for (number, model) in side.models.iter().take(MAX_MODELS).enumerate() {
        line = line.with(if number == 0 { "  " } else { ", " }, Tone::Plain);
        line = line.with(plain_text::one_line(model, 60), Tone::Llm);
    }
    match side.models.len().saturating_sub(MAX_MODELS) {
        0 => line,
        more => line.with(format!(" and {more} more"), Tone::Muted),
    }
}

fn metrics(comparison: &Comparison, width: usize) -> Vec<Line> {
    let mut table = Table::new(&METRICS);
    let mut changes = Vec::new();
    for change in words::relevant_metrics(comparison) {
        let metric = change.metric.as_str();
        table.push(vec![
            Line::of(plain_text::one_line(metric_words::label(metric), 40), Tone::Plain),
            Line::of(metric_words::value(metric, change.before), Tone::Plain),
            Line::of(metric_words::value(metric, change.after), Tone::Plain),
        ]);
        let tone = if change.is_changed() {
            Tone::Warning
        } else {
            Tone::Muted
        };
        changes.push(Line::of(
            metric_words::change(metric, change.before, change.after),
            tone,
        ));
    }
    let arranged = table.arrange(width, 0);
    let mut lines = vec![arranged.heading("CHANGE")];
    lines.extend(
        table
            .rows()
            .iter()
            .zip(changes)
            .map(|(cells, change)| arranged.line(cells, change)),
    );
    lines
}

fn call_rows(comparison: &Comparison, width: usize) -> Vec<Line> {
    let rows = words::call_rows(comparison.calls.pairs());
    let mut table = Table::new(&CALLS);
    let mut last_cells = Vec::new();
    for row in rows.iter().take(MAX_ROWS) {
        match row {
            CallRow::Unchanged(count) => {
                table.push(vec![
                    Line::new(),
                    Line::of("…", Tone::Muted),
                    Line::of("…", Tone::Muted),
                ]);
                let reported = format!("{} the same", plain_text::counted(*count, "call"));
                last_cells.push((Line::of(reported, Tone::Muted), (Vec::new(), 0)));
            }
            CallRow::Calls { first, last, count } => {
                let (sign, tone) = words::sign(first.change);
                table.push(vec![
                    Line::of(sign, tone),
                    Line::of(words::step_range(first.before, last.before), Tone::Muted),
                    Line::of(words::step_range(first.after, last.after), Tone::Muted),
                ]);
                last_cells.push((call(first, *count), words::short_differences(first.differences)));
            }
        }
    }
    let arranged = table.arrange(width, 0);
    let indent = arranged.indent(CALLS.len()) + 2;
    let mut lines = vec![arranged.heading("CALL")];
    for (cells, (reported, differences)) in table.rows().iter().zip(last_cells) {
        lines.push(arranged.line(cells, reported));
        for difference in difference_lines(differences, width.saturating_sub(indent)) {
            let mut line = Line::new().space(indent);
            line.append(difference);
            lines.push(line.fitted(width));
        }
    }
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        let reported = format!("… and {} more", plain_text::counted(left_out as u64, "row"));
        lines.push(Line::of(reported, Tone::Muted).fitted(width));
    }
    lines
}

/// `⚒ search_kb ×4  identical to a call before`
fn call(pair: &CallPair<'_>, count: u64) -> Line {
    let (before, after) = words::named_calls(pair);
    let mut line = name(before);
    if let Some(after) = after {
        line = line.with(" → ", Tone::Muted);
        line.append(name(after));
    }
    if count > 1 {
        line = line.with(format!(" ×{count}"), Tone::Strong);
    }
    for remark in words::remarks(pair) {
        line = line.space(2).with(remark, Tone::Warning);
    }
    line
}

fn name(call: Call<'_>) -> Line {
    let (glyph, tone) = if call.event_type == EventType::LlmCall {
        ("✦ ", Tone::Llm)
    } else {
        ("⚒ ", Tone::Tool)
    };
    Line::of(glyph, tone).with(plain_text::one_line(call.name, 80), tone)
}

/// The value before and the value after, each cut so that the other one is seen too.
fn difference_lines((reported, more): (Vec<[String; 3]>, u64), room: usize) -> Vec<Line> {
    const ARROW: &str = " → ";
    let mut lines: Vec<Line> = reported
        .into_iter()
        .map(|[path, before, after]| {
            let place = if path.is_empty() { path } else { path + ": " };
            let left = room.saturating_sub(plain_text::width(&place) + plain_text::width(ARROW));
            let [before, after] = fit_both(&before, &after, left);
            Line::of(place, Tone::Muted)
                .with(before, Tone::Plain)
                .with(ARROW, Tone::Muted)
                .with(after, Tone::Plain)
        })
        .collect();
    if more > 0 {
        let reported = format!("… and {} more", plain_text::counted(more, "difference"));
        lines.push(Line::of(reported, Tone::Muted));
    }
    lines
}

/// Two values fitted to `room` columns; what one does not need the other one has.
fn fit_both(before: &str, after: &str, room: usize) -> [String; 2] {
    let (before, after) = (plain_text::printable(before), plain_text::printable(after));
    let half = (room / 2).max(8);
    let needs = |text: &str| plain_text::width(text);
    let first = half.max(room.saturating_sub(needs(&after)));
    let second = half.max(room.saturating_sub(needs(&before).min(half)));
    [
        plain_text::fit(&before, first).into_owned(),
        plain_text::fit(&after, second).into_owned(),
    ]
}

#[cfg(test)]
mod tests;
