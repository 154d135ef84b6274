//! Events of a vendor's stream as they come, and the call that they tell of: tokens, model, tool calls, why it stopped.

use serde::Serialize;
use serde_json::Value;
use tracer_format::names;
use tracer_providers::{Assembled, ResponseFacts, Vendor};

use super::error::ErrorInfo;
use crate::redact::Redactor;
use crate::write::draft::Draft;

/// Maximum size of the events in memory, in bytes of their text; the settings cut the answer further.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The events of one answer so far.
#[derive(Debug)]
pub(super) struct VendorEvents {
    vendor: Vendor,
    events: Vec<Value>,
    bytes: usize,
}

impl VendorEvents {
    pub(super) const fn new(vendor: Vendor) -> Self {
        Self {
            vendor,
            events: Vec::new(),
            bytes: 0,
        }
    }

    /// Keeps an event if there is room; `false` where there is none.
    pub(super) fn push(&mut self, event: Value, bytes: usize) -> bool {
        let has_room = self.bytes.saturating_add(bytes) <= MAX_BYTES;
        if has_room {
            self.bytes += bytes;
            self.events.push(event);
        }
        has_room
    }

    /// The answer that they make.
    pub(super) fn into_answer(self) -> Assembled {
        self.vendor.answer(self.events)
    }
}

/// The events in what a client library hands out, each with its size: a value, or the text of one or several.
pub(super) fn events_of<T: Serialize + ?Sized>(given: &T) -> Vec<(Value, usize)> {
    let events = match serde_json::to_value(given) {
        Ok(Value::String(text)) => Vendor::events_of_text(&text),
        Ok(Value::Null) | Err(_) => Vec::new(),
        Ok(event) => vec![event],
    };
    let sized = events.into_iter().map(|event| {
        let bytes = event.to_string().len();
        (event, bytes)
    });
    sized.collect()
}

/// Adds what an answer says of itself, and gives the error that it holds.
pub(super) fn add_facts(draft: &mut Draft, answer: &Assembled, redactor: &Redactor) -> Option<ErrorInfo> {
    let facts = ResponseFacts::from_answer(answer);
    let texts = [
        (names::RESPONSE_MODEL, facts.model),
        (names::RESPONSE_ID, facts.id),
        (names::SERVICE_TIER, facts.service_tier),
        (names::FINISH_REASONS, finish_reasons(facts.finish_reasons)),
        (
            names::USAGE_NOT_COUNTED,
            (!facts.usage_not_counted.is_empty()).then(|| facts.usage_not_counted.join(", ")),
        ),
    ];
    draft.usage(facts.usage);
    for (name, text) in texts {
        if let Some(text) = text {
            draft.text(name, &text, redactor);
        }
    }
    facts.error.map(|(class, message)| ErrorInfo::new(class, message))
}

/// Finish reasons of the choices: the word itself where there is one, a list as JSON where there are several.
fn finish_reasons(mut reasons: Vec<String>) -> Option<String> {
    match reasons.len() {
        0 => None,
        1 => reasons.pop(),
        _ => Some(Value::from(reasons).to_string()),
    }
}
