//! One step as markup: a line that says what it was, which unfolds into everything that is recorded of it.

use maud::{Markup, html};
use serde_json::{Map, Value};
use tracer_insight::conversation::{Conversation, Message, MessagePart, Speaker, part_label};
use tracer_sdk::format::{ErrorPayload, Payload};

use super::value;
use tracer_insight::step_kind::StepKind;
use tracer_insight::steps::Step;
use tracer_insight::{step_summary, text, units};

/// Deeper levels keep this indentation.
const MAX_INDENT: usize = 4;
/// So many columns of a name, and of what went in and came out, can be seen in a line of the page.
const LINE_COLUMNS: usize = 96;
/// What went in and came out has at least so many; when they do not fit, each has half.
const MIN_GIST_COLUMNS: usize = 40;
/// How many units wide a bar is drawn.
const BAR: u64 = 1_000;

/// The step; `total` is how long the run took, in microseconds.
pub(super) fn markup(step: &Step<'_>, total: Option<u64>) -> Markup {
    let tone = match (step.failed(), step.kind()) {
        (true, _) => "failed",
        (false, StepKind::Loop) => "warning",
        _ => "",
    };
    html! {
        li.step.(kind(step)).(tone) id=(format!("step-{}", step.number)) data-depth=(step.depth.min(MAX_INDENT)) {
            details {
                summary { (line(step, total)) }
                div.inside { (inside(step)) }
            }
        }
    }
}

fn kind(step: &Step<'_>) -> &'static str {
    match step.kind() {
        StepKind::Llm => "kind-llm",
        StepKind::Tool => "kind-tool",
        StepKind::State => "kind-state",
        StepKind::Error => "kind-error",
        StepKind::Loop => "kind-loop",
        StepKind::Run | StepKind::Span => "kind-other",
    }
}

fn line(step: &Step<'_>, total: Option<u64>) -> Markup {
    let name = step.name();
    let room = LINE_COLUMNS.saturating_sub(text::width(&name));
    let gist = step.gist().fitted(room.max(MIN_GIST_COLUMNS));
    let tokens = match &step.record.payload {
        Payload::LlmCall { usage, .. } => step_summary::tokens(usage),
        _ => None,
    };
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
            @if step.failed() { span.failed { "failed " } }
            @if step.in_flight { span.running { "in flight " } }
            span.muted { (gist) }
        }
        span.number.tokens { @if let Some(tokens) = tokens { (tokens) " tokens" } }
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

fn inside(step: &Step<'_>) -> Markup {
    html! {
        p.muted { (step.record.ts) " · span " code { (step.record.event_id) } }
        @match &step.record.payload {
            Payload::LlmCall { model, provider, temperature, .. } => {
                @let conversation = Conversation::from_payload(&step.record.payload);
                @let finish_reason = conversation.as_ref().and_then(|conversation| conversation.finish_reason.as_ref());
                p.muted {
                    "model " (step_summary::word(model)) " · provider " (step_summary::word(provider))
                    @if let Some(temperature) = temperature { " · temperature " (temperature) }
                    @if let Some(reason) = finish_reason { " · stopped for " (step_summary::word(reason)) }
                }
                @if let Some(conversation) = &conversation {
                    (section("Prompt", messages(&conversation.prompt)))
                    (section("Answer", messages(&conversation.answer)))
                }
            }
            Payload::ToolCall { args, result, .. } => {
                (told("Arguments", args))
                (told("Result", result))
            }
            Payload::StateUpdate { state, diff } => {
                (told("State", state))
                @if let Some(diff) = diff { (told("Changes", diff)) }
            }
            Payload::LoopWarning { pattern, evidence_event_ids, .. } => {
                (section("Pattern", Some(value::words(pattern))))
                (section("Evidence", Some(html! {
                    @for id in evidence_event_ids { code { (id) } " " }
                })))
            }
            Payload::Unknown { attributes, .. } => (told("Attributes", &Value::Object(attributes.clone()))),
            Payload::Error(_) | Payload::RunStart { .. } | Payload::RunEnd { .. } => {}
        }
        @if let Some(failure) = step_summary::failure(&step.record.payload) { (error(failure)) }
        @if !step.record.meta.is_empty() { (fields("Metadata", &step.record.meta)) }
    }
}

fn section(title: &str, content: Option<Markup>) -> Markup {
    html! { @if let Some(content) = content { h3 { (title) } (content) } }
}

fn told(title: &str, value: &Value) -> Markup {
    let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
    section(title, (!is_empty).then(|| value::markup(value)))
}

fn fields(title: &str, fields: &Map<String, Value>) -> Markup {
    told(title, &Value::Object(fields.clone()))
}

/// What went wrong, in full.
pub(super) fn error(error: &ErrorPayload) -> Markup {
    html! {
        h3 { "Error" }
        p { strong.failed { (step_summary::word(&error.error_type)) } ": " (value::words(&error.message)) }
        @if let Some(stack) = &error.stack {
            pre { @for (index, line) in stack.lines().enumerate() { @if index > 0 { "\n" } (text::printable(line)) } }
        }
    }
}

fn messages(messages: &[Message]) -> Option<Markup> {
    (!messages.is_empty()).then(|| {
        html! {
            @for message in messages {
                div.message.(class(message.speaker())) {
                    div.role { (step_summary::word(&message.label())) }
                    @for part in &message.parts { (self::part(part)) }
                }
            }
        }
    })
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
            span.muted { (step_summary::word(&label.text)) }
            @if let Some(name) = label.name { " " strong { (step_summary::word(name)) } }
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
