//! A run as a page of text: how it stands, what happened in a sentence, what it counted, its steps, what is damaged.

use tracer_sdk::format::{EventType, Payload, Problem, Timestamp, Usage};

use super::line::{Line, Tone};
use super::standing::Standing;
use super::steps::Step;
use super::{step_rows, summary, text, units};

/// More problems than this are counted instead of listed.
const MOST_PROBLEMS: usize = 20;

/// What a page tells.
#[derive(Debug)]
pub struct RunPage<'a> {
    /// The run's label; `None` when it has none.
    pub name: Option<&'a str>,
    /// As much of its ID as tells it from the others.
    pub short_id: &'a str,
    /// How it stands.
    pub standing: Standing,
    /// When it started.
    pub started: Option<Timestamp>,
    /// How long it took, or has been going on, in microseconds.
    pub duration: Option<u64>,
    /// Its steps.
    pub steps: &'a [Step<'a>],
    /// How many spans its emitter could not write, and why.
    pub dropped: Option<(u64, &'a str)>,
    /// How many bytes of a last line are not whole yet, or never will be.
    pub cut_tail: Option<u64>,
    /// What cannot be read.
    pub problems: &'a [Problem],
}

impl RunPage<'_> {
    /// The page in lines of at most `width` columns.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = self.header(width);
        let elapsed = self.duration.filter(|_| self.standing == Standing::Running);
        let sentence = summary::sentence(self.standing, self.steps, elapsed, !self.problems.is_empty());
        lines.extend(indented(&sentence, Tone::Strong, width));
        lines.extend(joined(&counts(self.steps), width));
        if let Some((spans, reason)) = self.dropped {
            let lost = format!("{} could not be written: {reason}", text::counted(spans, "span"));
            lines.extend(indented(&lost, Tone::Warning, width));
        }
        if let Some(bytes) = self.cut_tail {
            let cut = format!(
                "the last line of spans.jsonl is cut short and left out ({})",
                text::counted(bytes, "byte")
            );
            lines.extend(indented(&cut, Tone::Muted, width));
        }
        lines.extend(self.damage(width));
        if !self.steps.is_empty() {
            lines.push(Line::new());
            lines.extend(step_rows::lines(self.steps, width));
        }
        lines
    }

    /// `⟳ support-agent  bc519fdd  loop, ended ok  120 ms  2026-11-21 01:14:27 UTC`, on two lines when one is too short.
    fn header(&self, width: usize) -> Vec<Line> {
        let status = match self.standing {
            Standing::Looped => "loop, ended ok",
            standing => standing.word(),
        };
        let name = self.name.unwrap_or("(unnamed)");
        let mut time = Line::new();
        if let Some(duration) = self.duration {
            let so_far = if self.standing == Standing::Running {
                " so far"
            } else {
                ""
            };
            time = time
                .with(units::duration(duration) + so_far, Tone::Plain)
                .space(2);
        }
        if let Some(started) = self.started {
            time = time.with(units::moment(started), Tone::Muted);
        }
        let head = |name: &str| {
            Line::of(self.standing.glyph(), self.standing.tone())
                .space(1)
                .with(name, Tone::Strong)
                .space(2)
                .with(self.short_id, Tone::Muted)
                .space(2)
                .with(status, self.standing.tone())
        };
        let one = head(name);
        if one.width() + 2 + time.width() <= width {
            let mut line = one.space(2);
            line.append(time);
            return vec![line.fitted(width)];
        }
        // The name gives way, not the ID and the status.
        let rest = head("").width();
        let first = head(&text::fit(
            &text::printable(name),
            width.saturating_sub(rest).max(8),
        ));
        let mut second = Line::new().space(2);
        second.append(time);
        vec![first.fitted(width), second.fitted(width)]
    }

    fn damage(&self, width: usize) -> Vec<Line> {
        if self.problems.is_empty() {
            return Vec::new();
        }
        let count = text::counted(self.problems.len() as u64, "problem");
        let mut lines = indented(
            &format!("{count}; what can be read is shown:"),
            Tone::Warning,
            width,
        );
        for problem in self.problems.iter().take(MOST_PROBLEMS) {
            let parts = text::wrap(&problem.to_string(), width.saturating_sub(6));
            lines.extend(parts.iter().enumerate().map(|(index, part)| {
                let indent = if index == 0 { 4 } else { 6 };
                Line::new().space(indent).with(part, Tone::Warning).fitted(width)
            }));
        }
        let hidden = self.problems.len().saturating_sub(MOST_PROBLEMS);
        if hidden > 0 {
            lines.extend(indented(&format!("… and {hidden} more"), Tone::Warning, width));
        }
        lines
    }
}

fn indented(sentence: &str, tone: Tone, width: usize) -> Vec<Line> {
    text::wrap(sentence, width.saturating_sub(2))
        .into_iter()
        .map(|part| Line::new().space(2).with(part, tone).fitted(width))
        .collect()
}

/// The parts with a dot between them, on as few lines as they take; a line breaks between parts only.
fn joined(parts: &[String], width: usize) -> Vec<Line> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if text::width(line) + 5 + text::width(part) <= width => {
                line.push_str(" · ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
        .into_iter()
        .map(|line| Line::new().space(2).with(line, Tone::Plain).fitted(width))
        .collect()
}

/// `11 steps · 1 model call · 7 tool calls · 447 tokens (412 in, 35 out) · 0 errors · 1 loop warning`.
fn counts(steps: &[Step<'_>]) -> Vec<String> {
    let of = |kind: EventType| {
        steps
            .iter()
            .filter(|step| step.record.event_type() == kind)
            .count() as u64
    };
    let failed = steps
        .iter()
        .filter(|step| step.is_call() && step.failed())
        .count() as u64;
    let loops = of(EventType::LoopWarning);
    let mut told = vec![
        text::counted(steps.len() as u64, "step"),
        text::counted(of(EventType::LlmCall), "model call"),
        text::counted(of(EventType::ToolCall), "tool call"),
    ];
    if failed > 0 {
        told.push(text::counted(failed, "failed call"));
    }
    let in_flight = steps.iter().filter(|step| step.in_flight).count();
    if in_flight > 0 {
        told.push(format!("{in_flight} in flight"));
    }
    told.extend(tokens(steps));
    told.push(text::counted(of(EventType::Error), "error"));
    if loops > 0 {
        told.push(text::counted(loops, "loop warning"));
    }
    told
}

/// `447 tokens (412 in, 35 out)`, as far as the model calls say.
fn tokens(steps: &[Step<'_>]) -> Option<String> {
    let sum = |side: fn(&Usage) -> Option<u64>| {
        let known = steps.iter().filter_map(|step| match &step.record.payload {
            Payload::LlmCall { usage, .. } => side(usage),
            _ => None,
        });
        known.reduce(u64::saturating_add)
    };
    let total = text::counted(sum(|usage| usage.total_tokens)?, "token");
    match (
        sum(|usage| usage.prompt_tokens),
        sum(|usage| usage.completion_tokens),
    ) {
        (Some(prompt), Some(completion)) => Some(format!("{total} ({prompt} in, {completion} out)")),
        _ => Some(total),
    }
}

#[cfg(test)]
#[path = "run_page_tests.rs"]
mod tests;
