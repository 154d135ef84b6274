//! The head of a run's page: its status, what happened in a sentence, what it counted, what is damaged.

use crate::terminal::layout::indented;
use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::RunHead;
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::steps::Step;
use tracer_insight::{text, units};

/// Problems that are listed; more are counted.
const MAX_PROBLEMS: usize = 20;

/// The page of a run.
#[derive(Debug)]
pub struct RunPage<'a> {
    /// The run as a whole.
    pub head: &'a RunHead,
    /// Its ID, as short as distinguishes it from the others.
    pub short_id: &'a str,
    /// Its steps; of a run with very many, the key steps.
    pub steps: &'a [Step<'a>],
}

impl RunPage<'_> {
    /// The lines above the steps, at most `width` columns wide.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = self.header(width);
        lines.extend(indented(&self.head.sentence(self.steps), 2, width, Tone::Strong));
        lines.extend(joined(&self.head.facts(), width));
        lines.extend(joined(&self.head.tag_words(), width));
        let origins = self.head.origin.iter().len();
        let remarks = origins..origins + self.head.remarks.len();
        for (index, notice) in self.head.notices().enumerate() {
            let tone = if remarks.contains(&index) {
                Tone::Warning
            } else {
                Tone::Muted
            };
            lines.extend(indented(&notice, 2, width, tone));
        }
        lines.extend(self.damage(width));
        lines
    }

    /// `⟳ support-agent  bc519fdd  loop, ended ok  120 ms  2026-11-21 01:14:27 UTC`, on two lines when one is too short.
    fn header(&self, width: usize) -> Vec<Line> {
        let status = self.head.status;
        let words = match status {
            RunStatus::Looped => "loop, ended ok",
            status => status.as_str(),
        };
        let name = self.head.display_name();
        let mut time = Line::new();
        if let Some(duration) = self.head.duration {
            let so_far = if status == RunStatus::Running {
                " so far"
            } else {
                ""
            };
            time = time
                .with(units::duration(duration) + so_far, Tone::Plain)
                .space(2);
        }
        if let Some(started) = self.head.started {
            time = time.with(units::moment(started), Tone::Muted);
        }
        let head = |name: &str| {
            Line::of(status.glyph(), status.tone())
                .space(1)
                .with(name, Tone::Strong)
                .space(2)
                .with(self.short_id, Tone::Muted)
                .space(2)
                .with(words, status.tone())
        };
        let one = head(&name);
        if one.width() + 2 + time.width() <= width {
            let mut line = one.space(2);
            line.append(time);
            return vec![line.fitted(width)];
        }
        // The name gives way, not the ID and the status.
        let rest = head("").width();
        let first = head(&text::fit(&name, width.saturating_sub(rest).max(8)));
        let mut second = Line::new().space(2);
        second.append(time);
        vec![first.fitted(width), second.fitted(width)]
    }

    fn damage(&self, width: usize) -> Vec<Line> {
        let Some(list) = self.head.problem_list(MAX_PROBLEMS) else {
            return Vec::new();
        };
        let mut lines = indented(&list.heading, 2, width, Tone::Warning);
        for problem in &list.problems {
            let parts = text::wrap(problem, width.saturating_sub(6));
            lines.extend(parts.iter().enumerate().map(|(index, part)| {
                let indent = if index == 0 { 4 } else { 6 };
                Line::new().space(indent).with(part, Tone::Warning).fitted(width)
            }));
        }
        lines.extend(
            list.more
                .iter()
                .flat_map(|more| indented(more, 2, width, Tone::Warning)),
        );
        lines
    }
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
