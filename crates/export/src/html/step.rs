//! One step as markup: a line that says what it was, which unfolds into everything that is recorded of it.

use maud::{Markup, html};
use serde_json::Value;
use tracer_insight::conversation::{Message, MessagePart, Speaker, part_label};
use tracer_insight::line::Tone;
use tracer_sdk::format::ErrorPayload;

use super::value;
use tracer_insight::step_detail::{SectionContent, StepDetail, StepNumbers, StepSection};
use tracer_insight::step_kind::StepKind;
use tracer_insight::steps::Step;
use tracer_insight::{cost, step_summary, text, units, value_summary};

/// Levels that are indented; deeper ones keep that indentation.
const MAX_INDENT_LEVELS: usize = 4;
/// Columns of a name and a summary that can be seen in a line of the page.
const LINE_COLUMNS: usize = 96;
/// Columns of a summary at least; when input and output do not fit, each has half.
const MIN_SUMMARY_COLUMNS: usize = 40;
/// Width of a bar, in units of its own.
const BAR: u64 = 1_000;

/// The step; `total` is how long the run took, in microseconds.
pub(super) fn markup(step: &Step<'_>, total: Option<u64>, evidence: &StepNumbers) -> Markup {
    let tone = match (step.failed(), step.kind()) {
        (true, _) => "failed",
        (false, StepKind::Loop) => "warning",
        _ => "",
    };
    html! {
        li.step.(kind(step)).(tone) id=(format!("step-{}", step.number)) data-depth=(step.depth.min(MAX_INDENT_LEVELS)) {
            details {
                summary { (line(step, total)) }
                div.inside { (inside(step, evidence)) }
            }
        }
    }
}

/// The class of the word for how it ended.
fn end_class(step: &Step<'_>) -> &'static str {
    match step.end_tone() {
        Tone::Bad => "failed",
        Tone::Active => "running",
        _ => "muted",
    }
}

fn kind(step: &Step<'_>) -> &'static str {
    match step.kind() {
        StepKind::Llm => "kind-llm",
        StepKind::Tool => "kind-tool",
        StepKind::State => "kind-state",
        StepKind::Error => "kind-error",
        StepKind::Loop => "kind-loop",
        StepKind::Run | StepKind::Span => "kind-span",
    }
}

fn line(step: &Step<'_>, total: Option<u64>) -> Markup {
    let name = step.name();
    let room = LINE_COLUMNS.saturating_sub(text::width(&name));
    let summary = step.summary().fitted(room.max(MIN_SUMMARY_COLUMNS));
    let tokens = step
        .record
        .usage()
        .and_then(|usage| step_summary::tokens(usage).zip(step_summary::tokens_and_shares(usage)));
    let took = step
        .duration
        .filter(|duration| *duration > 0)
        .map(units::duration);
    html! {
        span.number { (step.number) }
        span.time.offset { @if let Some(offset) = step.offset { "+" (units::duration(offset)) } }
        span.what {
            span.glyph aria-hidden="true" { (step.kind().glyph()) } " "
            span.name { (name) } " "
            @if step.failed() && step.kind() == StepKind::Error { span.failed { "failed " } }
            @if let Some(word) = step.notable_end_word() { span.(end_class(step)) { (word) " " } }
            span.muted { (summary) }
        }
        @if let Some((tokens, shown)) = tokens {
            span.number.tokens title=(format!("{shown} tokens")) {
                (tokens) " tokens"
                @if let Some(cost) = step.cost.and_then(cost::of_call) { " " span.cost { (cost) } }
            }
        } @else {
            span.number.tokens {}
        }
        span.time { @if let Some(took) = took { (took) } }
        (bar(step, total))
    }
}

/// When in the run the step took place, drawn with attributes: inline styles are forbidden in the page.
fn bar(step: &Step<'_>, total: Option<u64>) -> Markup {
    let place = step.offset.zip(total.filter(|total| *total > 0));
    let place = place.map(|(offset, total)| {
        let scaled =
            |time: u64| u64::try_from(u128::from(time) * u128::from(BAR) / u128::from(total)).unwrap_or(BAR);
        let start = scaled(offset).min(BAR - 10);
        let width = scaled(step.duration.unwrap_or(0)).clamp(10, BAR - start);
        (start, width)
    });
    html! {
        svg.bar viewBox=(format!("0 0 {BAR} 8")) preserveAspectRatio="none" aria-hidden="true" {
            rect.axis x="0" y="3" width=(BAR) height="2" {}
            @if let Some((start, width)) = place {
                rect x=(start) y="0" width=(width) height="8" {}
            }
        }
    }
}

fn inside(step: &Step<'_>, evidence: &StepNumbers) -> Markup {
    let detail = StepDetail::new(step, None, evidence);
    html! {
        p.muted { (step.record.ts) " · span " code { (step.record.event_id) } }
        @if !detail.facts.is_empty() { p.muted { (detail.facts.join(" · ")) } }
        @for StepSection { title, content } in &detail.sections {
            h3 { (title) }
            @match content {
                SectionContent::Messages(messages) => (self::messages(messages)),
                SectionContent::Value(value) => (value::markup(value)),
                SectionContent::Text(text) => (value::words(text)),
                SectionContent::Failure(failure) => (error(failure)),
            }
        }
    }
}

/// A failure in full.
fn error(error: &ErrorPayload) -> Markup {
    html! {
        p { strong.failed { (value_summary::label(&error.error_type)) } ": " (value::words(&error.message)) }
        @if let Some(stack) = &error.stack {
            pre { @for (index, line) in stack.lines().enumerate() { @if index > 0 { "\n" } (text::printable(line)) } }
        }
    }
}

fn messages(messages: &[Message]) -> Markup {
    html! {
        @for message in messages {
            div.message.(class(message.speaker())) {
                div.role { (value_summary::label(&message.label())) }
                @for part in &message.parts { (self::part(part)) }
            }
        }
    }
}

/// The class of a speaker; what a trace holds never becomes a class.
fn class(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Assistant => "assistant",
        Speaker::Tool => "tool",
        Speaker::System | Speaker::User => "said-to",
    }
}

fn part(part: &MessagePart) -> Markup {
    let label = part_label(part).map(|label| {
        html! {
            span.muted { (value_summary::label(&label.text)) }
            @if let Some(name) = label.name { " " strong { (value_summary::label(name)) } }
        }
    });
    match (part, label) {
        (MessagePart::Reasoning(text), Some(label)) if !text.is_empty() => html! {
            details { summary { (label) } (value::words(text)) }
        },
        (part, label) => html! {
            @if let Some(label) = label { p { (label) } }
            @match part {
                MessagePart::Text(text) => { (value::markup(&Value::String(text.clone()))) }
                MessagePart::Refusal(text) => { (value::words(text)) }
                MessagePart::ToolCall { arguments: value, .. }
                | MessagePart::ToolResult { value, .. }
                | MessagePart::Unknown(value) => { (value::markup(value)) }
                MessagePart::Reasoning(_) | MessagePart::Media(_) => {}
            }
        },
    }
}
