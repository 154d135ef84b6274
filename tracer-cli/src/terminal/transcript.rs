//! A run as a conversation: who said what, which tools were called with what, and what came of it.

use serde_json::Value;
use tracer_sdk::format::{ErrorPayload, Payload};

use tracer_insight::legacy_conversation::{Message, Part};
use tracer_insight::line::{Line, Tone};
use tracer_insight::steps::Step;
use tracer_insight::turns::{Heard, Turn, plain};
use tracer_insight::value_lines;
use tracer_insight::value_lines::text_lines;
use tracer_insight::{step_summary, text};

/// How far what was said stands in.
const INDENT: usize = 4;

/// The conversation of the steps, in the order of time, at most `width` columns wide.
pub fn lines(steps: &[Step<'_>], width: usize) -> Vec<Line> {
    let mut in_time: Vec<&Step<'_>> = steps.iter().collect();
    in_time.sort_by_key(|step| step.number);
    let mut heard = Heard::default();
    let mut lines = Vec::new();
    for step in in_time {
        let turn = heard.hear(&step.record.payload);
        let block = match (turn, &step.record.payload) {
            (Turn::Model { known, new, answered }, _) => model_call(step, known, &new, &answered, width),
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
                .with(step_summary::word(&message.role), role_tone(&message.role))
                .fitted(width),
        );
        for part in &message.parts {
            lines.extend(part_lines(part, folded, indent + 2, width));
        }
    }
    lines
}

fn role_tone(role: &str) -> Tone {
    match role {
        "assistant" | "model" => Tone::Llm,
        "tool" | "function" => Tone::Tool,
        "system" | "developer" => Tone::Muted,
        _ => Tone::Strong,
    }
}

fn part_lines(part: &Part, folded: Option<usize>, indent: usize, width: usize) -> Vec<Line> {
    match part {
        Part::Text(said) => match value_lines::unpacked(said) {
            Some(value) => value_lines::lines(&value, indent, width),
            None => text_lines(said, indent, width, Tone::Plain),
        },
        Part::Thinking(thought) => match folded {
            None => {
                let mut lines = vec![Line::new().space(indent).with("thinking", Tone::Muted)];
                lines.extend(text_lines(thought, indent + 2, width, Tone::Muted));
                lines
            }
            Some(number) => {
                let size = text::counted(thought.chars().count() as u64, "character");
                let told = format!("thinking, {size}: --step {number}");
                vec![Line::new().space(indent).with(told, Tone::Muted).fitted(width)]
            }
        },
        Part::Call { name, arguments } => {
            let mut lines = vec![
                Line::new()
                    .space(indent)
                    .with("calls ", Tone::Muted)
                    .with(step_summary::word(name), Tone::Tool)
                    .fitted(width),
            ];
            if !matches!(arguments, Value::Null) {
                lines.extend(value_lines::lines(arguments, indent + 2, width));
            }
            lines
        }
        Part::Result(value) | Part::Other(value) => value_lines::lines(value, indent, width),
    }
}

fn model_call(
    step: &Step<'_>,
    known: usize,
    new: &[Message],
    answered: &[Message],
    width: usize,
) -> Vec<Line> {
    let mut lines = vec![heading(step, width)];
    if known > 0 {
        let told = format!("({} as before)", text::counted(known as u64, "message"));
        lines.push(Line::new().space(2).with(told, Tone::Muted).fitted(width));
    }
    lines.extend(messages(new, Some(step.number), 2, width));
    lines.extend(messages(answered, Some(step.number), 2, width));
    lines.extend(failure(step, width));
    lines
}

fn tool_call(step: &Step<'_>, args: &Value, result: &Value, width: usize) -> Vec<Line> {
    let mut lines = vec![heading(step, width)];
    if !args.is_null() {
        lines.extend(value_lines::lines(args, INDENT, width));
    }
    if !result.is_null() {
        lines.push(Line::new().space(2).with("→", Tone::Tool));
        lines.extend(value_lines::lines(plain(result), INDENT, width));
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
    let gist = step_summary::of(&step.record.payload);
    let heading = heading(step, width);
    let room = width.saturating_sub(heading.width() + 2);
    let mut lines = vec![
        heading
            .space(2)
            .with(gist.fitted(room), Tone::Muted)
            .fitted(width),
    ];
    lines.extend(failure(step, width));
    lines
}

/// `✦ demo-model  #7`.
fn heading(step: &Step<'_>, width: usize) -> Line {
    let tone = if step.failed() { Tone::Bad } else { step.tone() };
    Line::of(step.glyph(), tone)
        .space(1)
        .with(step.name(), tone)
        .with(format!("  #{}", step.number), Tone::Muted)
        .with(
            step.attempts_told()
                .map_or_else(String::new, |told| format!("  {told}")),
            Tone::Muted,
        )
        .with(if step.in_flight { "  in flight" } else { "" }, Tone::Active)
        .fitted(width)
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
            .with(step_summary::word(&error.error_type), Tone::Bad)
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
