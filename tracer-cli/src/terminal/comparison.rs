//! A comparison as lines for a terminal: both sides, their numbers, their calls side by side.

use tracer_insight::comparison::{Comparison, Side, words};
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::UNNAMED;
use tracer_insight::status::Signs;
use tracer_insight::text as plain_text;

use crate::terminal::layout::report_table;
use tracer_gate::words::comparison as tables;

/// More models of a side are counted.
const MAX_MODELS: usize = 3;

/// The comparison in lines of at most `width` columns.
pub fn lines(comparison: &Comparison, width: usize) -> Vec<Line> {
    let mut lines = vec![
        side("before", &comparison.before).fitted(width),
        side("after", &comparison.after).fitted(width),
        Line::new(),
    ];
    let (heading, rows) = report_table(&tables::metrics(comparison), width, 0);
    lines.push(heading);
    lines.extend(rows.into_iter().flatten());
    let (heading, rows) = report_table(&tables::calls(comparison), width, 0);
    if !rows.is_empty() {
        lines.extend([Line::new(), heading]);
        lines.extend(rows.into_iter().flatten());
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

#[cfg(test)]
mod tests;
