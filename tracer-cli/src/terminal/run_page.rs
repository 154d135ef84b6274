//! The head of a run's page: how it stands, what happened in a sentence, what it counted, what is damaged.

use tracer_sdk::format::{Problem, Timestamp};

use tracer_insight::line::{Line, Tone};
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::steps::Step;
use tracer_insight::totals::Totals;
use tracer_insight::{summary, text, units};

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
    pub standing: RunStatus,
    /// When it started.
    pub started: Option<Timestamp>,
    /// How long it took, or has been going on, in microseconds.
    pub duration: Option<u64>,
    /// Its steps; of a run with very many, those that tell how it went.
    pub steps: &'a [Step<'a>],
    /// What all of them come to.
    pub totals: &'a Totals,
    /// What its metadata says of its recording.
    pub remarks: &'a [String],
    /// How many bytes of a last line are not whole yet, or never will be.
    pub cut_tail: Option<u64>,
    /// What cannot be read.
    pub problems: &'a [Problem],
    /// How many problems there are besides.
    pub more_problems: u64,
}

impl RunPage<'_> {
    /// What stands above the steps, in lines of at most `width` columns.
    pub fn head(&self, width: usize) -> Vec<Line> {
        let mut lines = self.header(width);
        let elapsed = self.duration.filter(|_| self.standing == RunStatus::Running);
        let is_part = (self.steps.len() as u64) < self.totals.steps;
        let sentence = summary::sentence(
            self.standing,
            self.steps,
            is_part.then_some(self.totals),
            elapsed,
            !self.problems.is_empty(),
        );
        lines.extend(indented(&sentence, Tone::Strong, width));
        lines.extend(joined(&self.totals.told(), width));
        for remark in self.remarks {
            lines.extend(indented(remark, Tone::Warning, width));
        }
        if let Some(bytes) = self.cut_tail {
            let cut = format!(
                "the last line of spans.jsonl is cut short and left out ({})",
                text::counted(bytes, "byte")
            );
            lines.extend(indented(&cut, Tone::Muted, width));
        }
        lines.extend(self.damage(width));
        lines
    }

    /// `⟳ support-agent  bc519fdd  loop, ended ok  120 ms  2026-11-21 01:14:27 UTC`, on two lines when one is too short.
    fn header(&self, width: usize) -> Vec<Line> {
        let status = match self.standing {
            RunStatus::Looped => "loop, ended ok",
            standing => standing.as_str(),
        };
        let name = self.name.unwrap_or("(unnamed)");
        let mut time = Line::new();
        if let Some(duration) = self.duration {
            let so_far = if self.standing == RunStatus::Running {
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
        let all = self.more_problems.saturating_add(self.problems.len() as u64);
        let count = text::counted(all, "problem");
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
        let hidden = all.saturating_sub(MOST_PROBLEMS as u64);
        if hidden > 0 {
            lines.extend(indented(&format!("… and {hidden} more"), Tone::Warning, width));
        }
        lines
    }
}

pub(super) fn indented(sentence: &str, tone: Tone, width: usize) -> Vec<Line> {
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

#[cfg(test)]
mod tests;
