//! [`Vendor`]: whose events an answer is put together from where no path names the API.

use serde_json::Value;

use super::assemble::assemble_values;
use super::frames::divide;
use super::{Assembled, ModelApi, list_items};

/// The maker of an API, and with it the form of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// `OpenAI`'s chat completions, completions and responses, and what is compatible with them.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
}

/// The events that end a stream, by their `type`.
const LAST_EVENTS: [&str; 6] = [
    "message",
    "message_stop",
    "error",
    "response.completed",
    "response.failed",
    "response.incomplete",
];

impl Vendor {
    /// The answer that events make, in the order in which they came; a whole answer is one event.
    #[must_use]
    pub fn answer(self, events: Vec<Value>) -> Assembled {
        let api = self.api(&events);
        match <[Value; 1]>::try_from(events) {
            Ok([document]) if self.is_document(&document) => Assembled {
                body: document,
                chunks: 0,
                is_complete: true,
            },
            Ok(events) => assemble_values(api, events.into()),
            Err(events) => assemble_values(api, events),
        }
    }

    /// The events in a text: one as JSON, or lines of server-sent events as they arrived. The end's sentinel is none.
    #[must_use]
    pub fn events_of_text(text: &str) -> Vec<Value> {
        divide("", text.as_bytes()).values
    }

    /// True of an event after which only counts of tokens come.
    #[must_use]
    pub fn is_last(self, event: &Value) -> bool {
        let reasons = ["finish_reason", "finishReason"];
        let mut choices = ["choices", "candidates"]
            .iter()
            .flat_map(|list| list_items(event.get(*list)));
        choices.any(|choice| reasons.iter().any(|reason| choice[*reason].is_string()))
            || text(event, "type").is_some_and(|event| LAST_EVENTS.contains(&event))
            || text(event, "object") == Some("response")
            || event["error"].is_object()
    }

    fn api(self, events: &[Value]) -> ModelApi {
        let has_text =
            |event: &Value| list_items(event.get("choices")).any(|choice| choice.get("text").is_some());
        match self {
            Self::Anthropic => ModelApi::Messages,
            Self::Gemini => ModelApi::GenerateContent,
            Self::OpenAi if events.iter().any(is_of_responses) => ModelApi::Responses,
            Self::OpenAi if events.iter().any(has_text) => ModelApi::Completions,
            Self::OpenAi => ModelApi::ChatCompletions,
        }
    }

    fn is_document(self, event: &Value) -> bool {
        let has_delta = || list_items(event.get("choices")).any(|choice| choice.get("delta").is_some());
        match self {
            Self::OpenAi => {
                text(event, "object") == Some("response") || (!is_of_responses(event) && !has_delta())
            }
            Self::Anthropic => matches!(text(event, "type"), None | Some("message" | "error")),
            Self::Gemini => true,
        }
    }
}

/// Returns whether it is an event, or the whole answer, of the Responses API.
fn is_of_responses(event: &Value) -> bool {
    text(event, "object") == Some("response")
        || text(event, "type").is_some_and(|event| event.starts_with("response."))
}

fn text<'a>(event: &'a Value, key: &str) -> Option<&'a str> {
    event[key].as_str()
}
