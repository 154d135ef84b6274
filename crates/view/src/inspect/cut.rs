//! Values as they are answered: whole, or of a large one its beginning and its end, and where the whole is.

use serde::Serialize;
use serde_json::Value;
use tracer_insight::conversation::unwrapped;
use tracer_sdk::format::{Payload, TraceId};

use tracer_insight::run_steps::ReadRow;
use tracer_insight::text;

/// Larger values are cut.
const MAX_VALUE_BYTES: usize = 64 * 1024;
/// Bytes shown of the beginning of a large value.
const HEAD_BYTES: usize = 8 * 1024;
/// Bytes shown of its end.
const TAIL_BYTES: usize = 2 * 1024;

/// The run and the ID of a step, for the address of its values.
#[derive(Debug, Clone)]
pub(crate) struct StepAddress {
    pub(crate) run_id: TraceId,
    pub(crate) event_id: String,
}

/// A part of a step that may be large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepPart {
    Prompt,
    Response,
    Arguments,
    Result,
    State,
    Difference,
    Attributes,
    Raw,
}

impl StepPart {
    /// Every part with its name.
    pub(crate) const ALL: [(Self, &'static str); 8] = [
        (Self::Prompt, "prompt"),
        (Self::Response, "response"),
        (Self::Arguments, "arguments"),
        (Self::Result, "result"),
        (Self::State, "state"),
        (Self::Difference, "difference"),
        (Self::Attributes, "attributes"),
        (Self::Raw, "raw"),
    ];

    /// The part with a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|(_, known)| *known == name)
            .map(|(part, _)| part)
    }

    fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find(|(part, _)| *part == self)
            .map_or("", |(_, name)| name)
    }
}

impl StepAddress {
    /// The address of the Base64 text of media with this key.
    pub(super) fn media_url(&self, key: &str) -> String {
        format!("/api/runs/{}/steps/{}/media/{key}", self.run_id, self.event_id)
    }

    /// The address of a whole part.
    pub(crate) fn url(&self, part: StepPart) -> String {
        format!(
            "/api/runs/{}/steps/{}/values/{}",
            self.run_id,
            self.event_id,
            part.name()
        )
    }
}

/// A value, or of a large one its beginning and its end.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShownValue {
    /// The value; null for one that is cut.
    value: Value,
    /// Its size as JSON, in bytes.
    size: usize,
    /// Of a value that is cut, how its text begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// Of a value that is cut, how its text ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    tail: Option<String>,
    /// Of a value that is cut, where the whole is.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_url: Option<String>,
}

impl ShownValue {
    /// A value; `None` when there is none.
    pub(crate) fn of(value: &Value, part: StepPart, place: &StepAddress) -> Option<Self> {
        if value.is_null() {
            return None;
        }
        let value = unwrapped(value);
        let text = value.to_string();
        if text.len() <= MAX_VALUE_BYTES {
            return Some(Self {
                value: value.clone(),
                size: text.len(),
                ..Self::default()
            });
        }
        // A large text reads better than its JSON.
        let shown = value.as_str().unwrap_or(&text);
        Some(Self::cut(shown, text.len(), part, place))
    }

    /// A text.
    pub(super) fn text(text: &str, part: StepPart, place: &StepAddress) -> Self {
        if text.len() > MAX_VALUE_BYTES {
            return Self::cut(text, text.len(), part, place);
        }
        Self {
            value: Value::String(text.to_owned()),
            size: text.len(),
            ..Self::default()
        }
    }

    /// The text, or how it begins; `None` for any other value.
    pub(super) fn beginning(&self) -> Option<&str> {
        self.value.as_str().or(self.head.as_deref())
    }

    fn cut(text: &str, size: usize, part: StepPart, place: &StepAddress) -> Self {
        Self {
            value: Value::Null,
            size,
            head: Some(text::beginning(text, HEAD_BYTES).to_owned()),
            tail: Some(text::ending(text, TAIL_BYTES).to_owned()),
            value_url: Some(place.url(part)),
        }
    }
}

/// A whole part of a step; `None` when it has no such part, or the line itself is wanted.
pub(crate) fn part_of(read: &ReadRow, part: StepPart) -> Option<Value> {
    let payload = &read.record.payload;
    let value = match (part, payload) {
        (StepPart::Prompt, Payload::LlmCall { prompt, .. }) => prompt,
        (StepPart::Response, Payload::LlmCall { response, .. }) => response,
        (StepPart::Arguments, Payload::ToolCall { args, .. }) => args,
        (StepPart::Result, Payload::ToolCall { result, .. }) => result,
        (StepPart::State, Payload::StateUpdate { state, .. }) => state,
        (StepPart::Difference, Payload::StateUpdate { diff: Some(diff), .. }) => diff,
        (StepPart::Attributes, _) => return Some(Value::Object(read.span.as_ref()?.attributes.clone())),
        _ => return None,
    };
    (!value.is_null()).then(|| value.clone())
}
