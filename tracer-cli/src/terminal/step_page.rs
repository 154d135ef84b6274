//! One step in full: everything that is recorded of it, nothing cut.

use tracer_insight::line::{Line, Tone};
use tracer_insight::step_detail::{SectionContent, StepDetail, StepNumbers, StepSection};
use tracer_insight::steps::Step;
use tracer_insight::{units, value_lines};
use tracer_sdk::format::SpanRecord;

use crate::terminal::layout::indented;
use crate::terminal::transcript;

/// Columns that the content of a section is indented.
const INDENT: usize = 4;

/// A step and what is around it.
#[derive(Debug)]
pub struct StepPage<'a> {
    /// The step.
    pub step: &'a Step<'a>,
    /// Its span; `None` for what is promoted from the root, and for what has not ended.
    pub span: Option<&'a SpanRecord>,
    /// Number of steps of the run.
    pub step_count: usize,
    /// The numbers of the steps that a loop warning rests on, without those that are not in the run.
    pub evidence: &'a StepNumbers,
}

impl StepPage<'_> {
    /// The page in lines; long ones continue after `width` columns.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let detail = StepDetail::new(self.step, self.span, self.evidence);
        let mut lines = self.head(&detail.facts, width);
        for StepSection { title, content } in &detail.sections {
            lines.push(Line::new());
            lines.push(Line::new().space(2).with(title.to_lowercase(), Tone::Strong));
            lines.extend(match content {
                SectionContent::Messages(messages) => transcript::messages(messages, None, INDENT, width),
                SectionContent::Value(value) => value_lines::lines(value, INDENT, width),
                SectionContent::Text(text) => value_lines::text_lines(text, INDENT, width, Tone::Plain),
                SectionContent::Failure(failure) => transcript::error_lines(failure, INDENT, width),
            });
        }
        lines
    }

    /// Its kind, outcome, time and parent.
    fn head(&self, model_facts: &[String], width: usize) -> Vec<Line> {
        let step = self.step;
        let mut first = Line::of(step.kind().glyph(), step.kind().tone())
            .space(1)
            .with(step.name(), Tone::Strong)
            .with(
                format!("  step {} of {}", step.number, self.step_count),
                Tone::Muted,
            );
        if step.is_call() || step.failed() || step.notable_end_word().is_some() {
            first = first.space(2).with(step.end_word(), step.end_tone());
        }
        let mut facts = Vec::new();
        facts.extend(step.offset.map(|offset| format!("+{}", units::duration(offset))));
        facts.extend(step.duration_words().map(|duration| format!("took {duration}")));
        facts.push(step.record.ts.clone());
        let mut paragraphs = vec![facts.join(" · ")];
        if !model_facts.is_empty() {
            paragraphs.push(model_facts.join(" · "));
        }
        let parent = step.record.parent_id.as_deref().unwrap_or("none");
        paragraphs.push(format!("span {} · parent {parent}", step.record.event_id));
        let mut lines = vec![first.fitted(width)];
        lines.extend(
            paragraphs
                .iter()
                .flat_map(|paragraph| indented(paragraph, 2, width, Tone::Plain)),
        );
        lines
    }
}

#[cfg(test)]
mod tests;
