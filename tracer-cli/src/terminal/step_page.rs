//! One step in full: everything that is recorded of it, nothing cut.

use serde_json::{Map, Value};
use tracer_insight::conversation::{Conversation, unwrapped};
use tracer_sdk::format::{Payload, SpanRecord, Usage, names};

use crate::terminal::transcript;
use tracer_insight::line::{Line, Tone};
use tracer_insight::steps::Step;
use tracer_insight::{step_summary, text, units, value_lines};

/// How far what is told stands in.
const INDENT: usize = 4;

/// A step and what is around it.
#[derive(Debug)]
pub struct StepPage<'a> {
    /// The step.
    pub step: &'a Step<'a>,
    /// Its span; `None` for what is surfaced from the root, and for what has not ended.
    pub span: Option<&'a SpanRecord>,
    /// How many steps the run has.
    pub of: usize,
    /// The numbers of the steps that a loop warning rests on, as far as they are in the run.
    pub evidence: &'a [usize],
}

impl StepPage<'_> {
    /// The page in lines; long ones go on after `width` columns.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = self.head(width);
        if let Some(conversation) = Conversation::from_payload(&self.step.record.payload) {
            for (title, messages) in [("prompt", &conversation.prompt), ("answer", &conversation.answer)] {
                section(
                    &mut lines,
                    title,
                    transcript::messages(messages, None, INDENT, width),
                );
            }
        }
        match &self.step.record.payload {
            Payload::ToolCall { args, result, .. } => {
                section(&mut lines, "arguments", value(args, width));
                section(&mut lines, "result", value(result, width));
            }
            Payload::StateUpdate { state, diff } => {
                section(&mut lines, "state", value(state, width));
                section(
                    &mut lines,
                    "changes",
                    diff.as_ref().map_or_else(Vec::new, |diff| value(diff, width)),
                );
            }
            Payload::LoopWarning { pattern, .. } => {
                let gist = step_summary::of(&self.step.record.payload).before;
                let told = format!(
                    "{gist}\npattern: {pattern}\nevidence: {}",
                    text::step_ranges(self.evidence)
                );
                section(
                    &mut lines,
                    "warning",
                    value_lines::text_lines(&told, INDENT, width, Tone::Plain),
                );
            }
            Payload::LlmCall { .. }
            | Payload::Error(_)
            | Payload::RunStart { .. }
            | Payload::RunEnd { .. }
            | Payload::Unknown { .. } => {}
        }
        if let Some(failure) = step_summary::failure(&self.step.record.payload) {
            section(
                &mut lines,
                "error",
                transcript::error_lines(failure, INDENT, width),
            );
        }
        section(&mut lines, "metadata", fields(&self.step.record.meta, width));
        if let Some(span) = self.span {
            section(&mut lines, "attributes", fields(&told_attributes(span), width));
        }
        lines
    }

    /// What it is, how it went, when, and where it stands.
    fn head(&self, width: usize) -> Vec<Line> {
        let step = self.step;
        let (word, tone) = match (step.in_flight, step.failed()) {
            (true, _) => ("in flight", Tone::Active),
            (false, true) => ("failed", Tone::Bad),
            (false, false) => ("ok", Tone::Good),
        };
        let mut first = Line::of(step.kind().glyph(), step.kind().tone())
            .space(1)
            .with(step.name(), Tone::Strong)
            .with(format!("  step {} of {}", step.number, self.of), Tone::Muted);
        if step.is_call() || step.failed() || step.in_flight {
            first = first.space(2).with(word, tone);
        }
        let mut facts = Vec::new();
        facts.extend(step.offset.map(|offset| format!("+{}", units::duration(offset))));
        facts.extend(
            step.duration
                .filter(|duration| *duration > 0)
                .map(|duration| format!("took {}", units::duration(duration))),
        );
        facts.push(step.record.ts.clone());
        let mut told = vec![facts.join(" · ")];
        if let Payload::LlmCall {
            model,
            provider,
            temperature,
            stop_reason,
            usage,
            ..
        } = &step.record.payload
        {
            let mut facts = vec![format!("model {model}")];
            facts.extend((!provider.is_empty()).then(|| format!("provider {provider}")));
            facts.extend(
                temperature
                    .as_ref()
                    .map(|temperature| format!("temperature {temperature}")),
            );
            facts.extend(stop_reason.as_ref().map(|reason| format!("stopped for {reason}")));
            facts.extend(tokens(usage));
            told.push(facts.join(" · "));
        }
        let parent = step.record.parent_id.as_deref().unwrap_or("none");
        told.push(format!("span {} · parent {parent}", step.record.event_id));
        let mut lines = vec![first.fitted(width)];
        lines.extend(told.iter().flat_map(|fact| {
            let parts = text::wrap(fact, width.saturating_sub(2));
            parts
                .into_iter()
                .map(|part| Line::new().space(2).with(part, Tone::Plain).fitted(width))
        }));
        lines
    }
}

fn tokens(usage: &Usage) -> Option<String> {
    match (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) {
        (Some(prompt), Some(completion), _) => Some(format!("{prompt} tokens in, {completion} out")),
        (_, _, total) => total.map(|total| text::counted(total, "token")),
    }
}

fn value(value: &Value, width: usize) -> Vec<Line> {
    match value {
        Value::Null => Vec::new(),
        value => value_lines::lines(unwrapped(value), INDENT, width),
    }
}

fn fields(map: &Map<String, Value>, width: usize) -> Vec<Line> {
    if map.is_empty() {
        return Vec::new();
    }
    value_lines::lines(&Value::Object(map.clone()), INDENT, width)
}

/// All attributes but the texts that the page tells as the error.
fn told_attributes(span: &SpanRecord) -> Map<String, Value> {
    let is_told = |name: &str| names::ERROR_MESSAGE.is(name) || names::ERROR_STACK.is(name);
    let attributes = span.attributes.iter().filter(|(name, _)| !is_told(name));
    attributes
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn section(lines: &mut Vec<Line>, title: &str, content: Vec<Line>) {
    if !content.is_empty() {
        lines.push(Line::new());
        lines.push(Line::new().space(2).with(title, Tone::Strong));
        lines.extend(content);
    }
}

#[cfg(test)]
mod tests;
