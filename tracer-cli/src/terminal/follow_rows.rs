//! A run that is watched: each step in a row of its own as it ends, and one status line.

use crate::terminal::step_rows;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::steps::Step;
use tracer_insight::totals::Totals;
use tracer_insight::value_summary;
use tracer_insight::{cost, step_summary, text, units};

/// Columns of a time: rows come one by one, so they cannot be measured together.
const TIME: usize = 12;
/// Indentation of a failure.
const DETAILS: usize = 2 * TIME + 6;

/// The line above all: what is watched.
pub fn title(name: Option<&str>, short_id: &str) -> Line {
    let status = RunStatus::Running;
    Line::of(status.glyph(), status.tone())
        .space(1)
        .with(display_name(name), Tone::Strong)
        .space(2)
        .with(short_id, Tone::Muted)
        .space(2)
        .with("running; each step is shown when it ends", status.tone())
}

/// A step that has ended.
pub fn lines(step: &Step<'_>, width: usize) -> Vec<Line> {
    let time = |time: Option<u64>| {
        let text = time.map(units::duration).unwrap_or_default();
        let padding = TIME.saturating_sub(text::width(&text));
        format!("{}{text}", " ".repeat(padding))
    };
    let tone = step.tone();
    let mut line = Line::of(time(step.offset), Tone::Muted)
        .with(time(step.duration.filter(|duration| *duration > 0)), Tone::Plain)
        .space(2)
        .with(step.kind().glyph(), tone)
        .space(1)
        .with(step.name(), tone)
        .space(2);
    let room = width.saturating_sub(line.width());
    line.append(step_rows::summary_line(step, room, None));
    let mut lines = vec![line.fitted(width)];
    if let Some(failure) = step_summary::failure(&step.record.payload) {
        lines.extend(step_rows::details(failure, DETAILS, width));
    }
    lines
}

/// `● 00:01:12  in search_kb 8.20 s · 14 steps · 1.9k tok · Ctrl-C stops watching, not the run`: the time that the run has
/// been going in microseconds, the call that it is in and for how long, and the totals of the steps that have ended.
pub fn status(elapsed: u64, current: Option<(&str, u64)>, totals: &Totals) -> Line {
    let seconds = elapsed / 1_000_000;
    let clock = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    );
    let mut line = Line::of("● ", Tone::Active).with(clock, Tone::Plain).space(2);
    if let Some((name, since)) = current {
        line = line
            .with("in ", Tone::Muted)
            .with(value_summary::label(name), Tone::Strong)
            .with(format!(" {} · ", units::duration(since)), Tone::Plain);
    }
    let mut counts = text::counted(totals.steps.saturating_sub(totals.in_flight), "step");
    if let Some(tokens) = totals.tokens.total_tokens {
        counts = format!("{counts} · {} tok", units::quantity(tokens));
    }
    if let Some(cost) = cost::known_words(&totals.cost) {
        counts = format!("{counts} · {cost}");
    }
    line.with(counts, Tone::Plain)
        .with(" · Ctrl-C stops watching, not the run", Tone::Muted)
}

#[cfg(test)]
mod tests;
