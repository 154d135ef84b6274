//! [`signature`]: a number that is equal for steps that were given the same.

use super::{SpanView, display_name, text};
use crate::EventType;
use crate::loops::{mix, of_text};
use crate::names::{self, Name, event_keys, events};
use crate::parse::{IndexedAttributes, ParsedSpan};
use crate::vocabulary::{ARGUMENT_FIELDS, ARGUMENTS, Content, ContentForm, MESSAGE_EVENTS, PROMPT};

/// A number for texts, whose order counts.
struct TextsNumber(u64);

impl TextsNumber {
    fn add(&mut self, text: Option<&str>) {
        self.0 = mix(self.0, text.map_or(0, |text| of_text(text.as_bytes())));
    }
}

/// Equal for calls with the same arguments; 0 for spans without a call, state or error.
pub fn signature(span: &ParsedSpan<'_, IndexedAttributes<'_>>, event_type: EventType) -> u32 {
    let mut number = TextsNumber(0);
    number.add(Some(event_type.as_str()));
    number.add(Some(&display_name(&span.name, &span.facts(), event_type)));
    let attribute = |name: Name, number: &mut TextsNumber| number.add(text(name, &span.attributes));
    let mut in_events = |is_one: &dyn Fn(&str) -> bool, keys: &[&str]| {
        let mut found = false;
        for event in span.events.iter().filter(|event| is_one(&event.name)) {
            for key in keys {
                found = true;
                number.add(event.attributes.text(key));
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
                attribute(names::SYSTEM_INSTRUCTIONS, &mut number);
                attribute(names::INPUT_MESSAGES, &mut number);
                contents(PROMPT, span, &mut number);
            }
        }
        EventType::ToolCall => {
            if !in_events(&|name| events::TOOL_ARGUMENTS.is(name), &[event_keys::ARGUMENTS]) {
                contents(ARGUMENTS, span, &mut number);
                for (_, key, _) in ARGUMENT_FIELDS {
                    number.add(span.attributes.text(key));
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
            attribute(names::ERROR_TYPE, &mut number);
            attribute(names::ERROR_MESSAGE, &mut number);
        }
        EventType::RunStart | EventType::RunEnd | EventType::LoopWarning | EventType::Unknown => return 0,
    }
    // The lower half of a good hash is a good hash.
    #[expect(clippy::cast_possible_truncation, reason = "half of it is wanted")]
    let half = number.0 as u32;
    half.max(1)
}

/// Hashes what a span of another vocabulary was given.
fn contents(table: &[Content], span: &ParsedSpan<'_, IndexedAttributes<'_>>, number: &mut TextsNumber) {
    let attributes = &span.attributes;
    for content in table {
        match content.form {
            ContentForm::Flat => {
                for (key, value) in attributes.beginning(content.key) {
                    number.add(Some(key));
                    number.add(value.as_text());
                }
            }
            _ => number.add(attributes.text(content.key)),
        }
    }
}
