//! Looking once more for secrets in what leaves the machine: another emitter may have redacted less than ours.

use serde_json::Value;
use tracer_sdk::format::{ErrorPayload, Payload, Record, Tags};
use tracer_sdk::redaction::Redaction;

/// Redacts records and counts what it changed.
pub(super) struct Rescan<'a> {
    redaction: &'a Redaction,
    /// Number of places that were changed.
    pub(super) changed: u64,
}

impl<'a> Rescan<'a> {
    pub(super) fn new(redaction: &'a Redaction) -> Self {
        Self {
            redaction,
            changed: 0,
        }
    }

    /// The tags without secrets.
    pub(super) fn tags(&mut self, tags: &Tags) -> Tags {
        let mut cleaned = Tags::default();
        for (key, value) in tags.iter() {
            let mut value = value.to_owned();
            self.text(&mut value);
            // A key is the same as it was.
            let _ = cleaned.set(key, &value);
        }
        cleaned
    }

    /// The record without secrets.
    pub(super) fn record(&mut self, mut record: Record) -> Record {
        self.text(&mut record.name);
        let meta = std::mem::take(&mut record.meta);
        record.meta = self.fields(meta);
        match &mut record.payload {
            Payload::RunStart {
                run_name, cwd, argv, ..
            } => {
                run_name.iter_mut().chain(cwd).for_each(|text| self.text(text));
                for argument in argv {
                    self.text(argument);
                }
            }
            Payload::RunEnd { .. } => {}
            Payload::LlmCall {
                model,
                prompt,
                response,
                error,
                ..
            } => {
                self.text(model);
                self.value(prompt);
                self.value(response);
                self.error(error.as_mut());
            }
            Payload::ToolCall {
                tool_name,
                args,
                result,
                error,
                ..
            } => {
                self.text(tool_name);
                self.value(args);
                self.value(result);
                self.error(error.as_mut());
            }
            Payload::StateUpdate { state, diff } => {
                self.value(state);
                if let Some(diff) = diff {
                    self.value(diff);
                }
            }
            Payload::Error(error) => self.error(Some(error)),
            Payload::LoopWarning { pattern, .. } => self.text(pattern),
            Payload::Unknown {
                attributes, error, ..
            } => {
                let fields = std::mem::take(attributes);
                *attributes = self.fields(fields);
                self.error(error.as_mut());
            }
        }
        record
    }

    /// The text without secrets, in its place.
    pub(super) fn text(&mut self, text: &mut String) {
        let cleaned = self.redaction.text(text);
        if cleaned != text.as_str() {
            self.changed += 1;
            *text = cleaned.into_owned();
        }
    }

    fn value(&mut self, value: &mut Value) {
        let (cleaned, changed) = self.redaction.value(value.take());
        *value = cleaned;
        self.changed += changed;
    }

    fn fields(&mut self, fields: serde_json::Map<String, Value>) -> serde_json::Map<String, Value> {
        let mut value = Value::Object(fields);
        self.value(&mut value);
        match value {
            Value::Object(fields) => fields,
            // Not reachable: redacting keeps the type of an object.
            _ => serde_json::Map::new(),
        }
    }

    fn error(&mut self, error: Option<&mut ErrorPayload>) {
        if let Some(error) = error {
            self.text(&mut error.message);
            error.stack.iter_mut().for_each(|stack| self.text(stack));
        }
    }
}
