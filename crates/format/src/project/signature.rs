//! [`signature`]: a number that is equal for steps that were given the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::{SpanView, display_name, text};
use crate::EventType;
use crate::names::{self, Name, event_keys, events};
use crate::parse::{IndexedAttributes, ParsedSpan};
use crate::vocabulary::{ARGUMENT_FIELDS, ARGUMENTS, Content, ContentForm, MESSAGE_EVENTS, PROMPT};

/// Equal for calls with the same arguments; 0 for spans without a call, state or error.
pub fn signature(span: &ParsedSpan<'_, IndexedAttributes<'_>>, event_type: EventType) -> u32 {
    let mut hasher = DefaultHasher::new();
    event_type.hash(&mut hasher);
    display_name(&span.name, &span.facts(), event_type).hash(&mut hasher);
    let attribute = |name: Name, hasher: &mut DefaultHasher| text(name, &span.attributes).hash(hasher);
    let mut in_events = |is_one: &dyn Fn(&str) -> bool, keys: &[&str]| {
        let mut found = false;
        for event in span.events.iter().filter(|event| is_one(&event.name)) {
            for key in keys {
                found = true;
                event.attributes.text(key).hash(&mut hasher);
            }
        }
        found
    };
    let is_prompt = |name: &str| {
        events::PROMPT.is(name)
            || MESSAGE_EVENTS
                .iter()
                .any(|event| !event.is_answer && event.is_telling && event.name == name)
    };
    match event_type {
        EventType::LlmCall => {
            if !in_events(&is_prompt, &[event_keys::CONTENT]) {
                attribute(names::SYSTEM_INSTRUCTIONS, &mut hasher);
                attribute(names::INPUT_MESSAGES, &mut hasher);
                contents(PROMPT, span, &mut hasher);
            }
        }
        EventType::ToolCall => {
            if !in_events(&|name| events::TOOL_ARGUMENTS.is(name), &[event_keys::ARGUMENTS]) {
                contents(ARGUMENTS, span, &mut hasher);
                for (_, key, _) in ARGUMENT_FIELDS {
                    span.attributes.text(key).hash(&mut hasher);
                }
            }
        }
        EventType::StateUpdate => {
            in_events(
                &|name| events::STATE.is(name),
                &[event_keys::STATE, event_keys::DIFF],
            );
        }
        EventType::Error => {
            attribute(names::ERROR_TYPE, &mut hasher);
            attribute(names::ERROR_MESSAGE, &mut hasher);
        }
        EventType::RunStart | EventType::RunEnd | EventType::LoopWarning | EventType::Unknown => return 0,
    }
    // The lower half of a good hash is a good hash.
    #[expect(clippy::cast_possible_truncation, reason = "half of it is wanted")]
    let half = hasher.finish() as u32;
    half.max(1)
}

/// Hashes what a span of another vocabulary was given.
fn contents(table: &[Content], span: &ParsedSpan<'_, IndexedAttributes<'_>>, hasher: &mut DefaultHasher) {
    let attributes = &span.attributes;
    for content in table {
        match content.form {
            ContentForm::Flat => {
                for (key, value) in attributes.beginning(content.key) {
                    key.hash(hasher);
                    value.as_text().hash(hasher);
                }
            }
            _ => attributes.text(content.key).hash(hasher),
        }
    }
}
