//! A run as a conversation: who said what, which tools were called with what, and what came of it.

use serde_json::Value;
use tracer_insight::conversation::{
    Message, MessagePart, Speaker, Turn, TurnReader, earlier_messages, embedded_json, part_label, unwrapped,
};
use tracer_insight::step_summary::StepSummary;
use tracer_insight::value_summary;
use tracer_sdk::format::{ErrorPayload, Outcome, Payload};

use tracer_insight::line::{Line, Tone};
use tracer_insight::steps::Step;
use tracer_insight::value_lines::{self, text_lines};
use tracer_insight::{step_remarks, step_summary};

/// Columns that messages are indented.
const INDENT: usize = 4;

/// The conversation of the steps, in the order of time, at most `width` columns wide.
pub fn lines(steps: &[Step<'_>], width: usize) -> Vec<Line> {
    let mut in_time: Vec<&Step<'_>> = steps.iter().collect();
    in_time.sort_by_key(|step| step.number);
    let mut turns = TurnReader::default();
    let mut lines = Vec::new();
    for step in in_time {
        let turn = turns.read(&step.record.payload);
        let block = match (turn, &step.record.payload) {
            (Turn::Model { earlier, new, answer }, _) => model_call(step, earlier, &new, &answer, width),
            (Turn::Tool, Payload::ToolCall { args, result, .. }) => tool_call(step, args, result, width),
            _ => other(step, width),
        };
        if !lines.is_empty() && !block.is_empty() {
            lines.push(Line::new());
        }
        lines.extend(block);
    }
    lines
}

/// The messages, each under its role; of thinking only the size, and the step that has it in full, where it is `folded`.
pub fn messages(messages: &[Message], folded: Option<usize>, indent: usize, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for message in messages {
        lines.push(
            Line::new()
                .space(indent)
                .with(value_summary::label(&message.label()), tone(message.speaker()))
                .fitted(width),
        );
        for part in &message.parts {
            lines.extend(part_lines(part, folded, indent + 2, width));
        }
    }
    lines
}

fn tone(speaker: Speaker) -> Tone {
    match speaker {
        Speaker::Assistant => Tone::Llm,
        Speaker::Tool => Tone::Tool,
        Speaker::System => Tone::Muted,
        Speaker::User => Tone::Strong,
    }
}

fn part_lines(part: &MessagePart, folded: Option<usize>, indent: usize, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(label) = part_label(part) {
        let elsewhere = match (part, folded) {
            (MessagePart::Reasoning(text), Some(number)) if !text.is_empty() => format!(": --step {number}"),
            _ => String::new(),
        };
        let gap = if label.name.is_some() { " " } else { "" };
        lines.push(
            Line::new()
                .space(indent)
                .with(label.text + &elsewhere + gap, Tone::Muted)
                .with(
                    label.name.map(value_summary::label).unwrap_or_default(),
                    Tone::Tool,
                )
                .fitted(width),
        );
    }
    let inner = indent + 2;
    match part {
        MessagePart::Text(text) => match embedded_json(text) {
            Some(value) => lines.extend(value_lines::lines(&value, indent, width)),
            None => lines.extend(text_lines(text, indent, width, Tone::Plain)),
        },
        MessagePart::Reasoning(text) if folded.is_none() => {
            lines.extend(text_lines(text, inner, width, Tone::Muted));
        }
        MessagePart::Refusal(text) => lines.extend(text_lines(text, inner, width, Tone::Plain)),
        MessagePart::ToolCall { arguments, .. } if !arguments.is_null() => {
            lines.extend(value_lines::lines(arguments, inner, width));
        }
        MessagePart::ToolResult { value, .. } | MessagePart::Unknown(value) => {
            lines.extend(value_lines::lines(value, indent, width));
        }
        MessagePart::Reasoning(_) | MessagePart::ToolCall { .. } | MessagePart::Media(_) => {}
    }
    lines
}

fn model_call(
    step: &Step<'_>,
    earlier: usize,
    new: &[Message],
    answer: &[Message],
    width: usize,
) -> Vec<Line> {
    let mut lines = vec![heading(step, width)];
    lines.extend(earlier_messages(earlier).map(|note| {
        let note = format!("({note})");
        Line::new().space(2).with(note, Tone::Muted).fitted(width)
    }));
    lines.extend(messages(new, Some(step.number), 2, width));
    lines.extend(messages(answer, Some(step.number), 2, width));
    lines.extend(remark_lines(step, width));
    lines.extend(failure(step, width));
    lines
}

fn tool_call(step: &Step<'_>, args: &Value, result: &Value, width: usize) -> Vec<Line> {
    let mut lines = vec![heading(step, width)];
    lines.extend(remark_lines(step, width));
    if !args.is_null() {
        lines.extend(value_lines::lines(args, INDENT, width));
    }
    if !result.is_null() {
        lines.push(Line::new().space(2).with("→", Tone::Tool));
        lines.extend(value_lines::lines(unwrapped(result), INDENT, width));
    }
    lines.extend(failure(step, width));
    lines
}

fn other(step: &Step<'_>, width: usize) -> Vec<Line> {
    if let Payload::Error(error) = &step.record.payload {
        let mut lines = vec![heading(step, width)];
        lines.extend(error_lines(error, INDENT, width));
        return lines;
    }
    let summary = StepSummary::from_record(step.record, step.in_flight);
    let heading = heading(step, width);
    let room = width.saturating_sub(heading.width() + 2);
    let mut lines = vec![
        heading
            .space(2)
            .with(summary.fitted(room), Tone::Muted)
            .fitted(width),
    ];
    lines.extend(failure(step, width));
    lines
}

/// `✦ demo-model  #7`.
fn heading(step: &Step<'_>, width: usize) -> Line {
    let tone = step.tone();
    Line::of(step.kind().glyph(), tone)
        .space(1)
        .with(step.name(), tone)
        .with(format!("  #{}", step.number), Tone::Muted)
        .with(
            match step.outcome() {
                Outcome::Unknown if !step.in_flight => format!("  {}", step.end_word()),
                _ => String::new(),
            },
            Tone::Warning,
        )
        .with(
            step.attempt_words()
                .map_or_else(String::new, |attempts| format!("  {attempts}")),
            Tone::Muted,
        )
        .with(if step.in_flight { "  in flight" } else { "" }, Tone::Active)
        .fitted(width)
}

/// Remarks about a step.
fn remark_lines(step: &Step<'_>, width: usize) -> impl Iterator<Item = Line> {
    let remarks = step_remarks::remarks(&step.record.meta);
    let line = move |remark: String| Line::new().space(2).with(remark, Tone::Muted).fitted(width);
    remarks.into_iter().map(line)
}

fn failure(step: &Step<'_>, width: usize) -> Vec<Line> {
    step_summary::failure(&step.record.payload)
        .map_or_else(Vec::new, |failure| error_lines(failure, INDENT, width))
}

/// An error in full: its type, what it says, and where it came from.
pub fn error_lines(error: &ErrorPayload, indent: usize, width: usize) -> Vec<Line> {
    let mut lines = vec![
        Line::new()
            .space(indent)
            .with(value_summary::label(&error.error_type), Tone::Bad)
            .fitted(width),
    ];
    lines.extend(text_lines(&error.message, indent, width, Tone::Bad));
    if let Some(stack) = &error.stack {
        lines.extend(text_lines(stack, indent, width, Tone::Muted));
    }
    lines
}

#[cfg(test)]
mod tests;
