//! Records as a tree of lines.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use tracer_format::{ErrorPayload, Payload, Record, RecordedStatus};

/// Number of characters of a value that are shown.
const MAX_GIST: usize = 120;

/// The records of one run, ready to be shown.
#[derive(Debug)]
pub(super) struct RecordTree<'a> {
    root: Option<&'a Record>,
    status: Option<RecordedStatus>,
    /// The records within each, by the ID of their parent, in the order of time.
    within: HashMap<&'a str, Vec<&'a Record>>,
}

impl<'a> RecordTree<'a> {
    pub(super) fn of(records: &'a [Record]) -> Self {
        let mut tree = Self {
            root: None,
            status: None,
            within: HashMap::new(),
        };
        for record in records {
            match &record.payload {
                Payload::RunStart { .. } => tree.root = Some(record),
                Payload::RunEnd { status } => tree.status = Some(*status),
                _ => {
                    let parent = record.parent_id.as_deref().unwrap_or_default();
                    tree.within.entry(parent).or_default().push(record);
                }
            }
        }
        tree
    }

    fn write_within(&self, parent: &Record, indent: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = self
            .within
            .get(parent.event_id.as_str())
            .map(Vec::as_slice)
            .unwrap_or_default();
        for (position, record) in records.iter().enumerate() {
            let is_last = position + 1 == records.len();
            let (branch, further) = if is_last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            writeln!(out, "{indent}{branch}{}", line(record))?;
            self.write_within(record, &format!("{indent}{further}"), out)?;
        }
        Ok(())
    }
}

impl fmt::Display for RecordTree<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(root) = self.root else { return Ok(()) };
        let has_failed = self.status == Some(RecordedStatus::Error);
        let mark = if has_failed { " ✗" } else { "" };
        writeln!(out, "run {}{mark}", root.name)?;
        self.write_within(root, "", out)
    }
}

/// Summary of a record, in one line.
fn line(record: &Record) -> String {
    match &record.payload {
        Payload::LlmCall {
            model,
            prompt,
            response,
            error,
            ..
        } => call("llm", model, prompt, response, error.as_ref()),
        Payload::ToolCall {
            tool_name,
            args,
            result,
            error,
            ..
        } => call("tool", tool_name, args, result, error.as_ref()),
        Payload::StateUpdate { state, diff } => match diff {
            Some(diff) => format!("state{} diff{}", given(state), given(diff)),
            None => format!("state{}", given(state)),
        },
        Payload::Error(error) => format!("error {}", reported(error)),
        Payload::LoopWarning {
            pattern, repetitions, ..
        } => format!("loop {} ×{repetitions}", short(pattern)),
        Payload::Unknown { error, .. } => format!("span {}{}", record.name, failed(error.as_ref())),
        Payload::RunStart { .. } | Payload::RunEnd { .. } => record.name.clone(),
    }
}

fn call(kind: &str, name: &str, given_to: &Value, gave: &Value, error: Option<&ErrorPayload>) -> String {
    let result = match gave {
        Value::Null => String::new(),
        gave => format!(" →{}", given(gave)),
    };
    format!("{kind} {name}{}{result}{}", given(given_to), failed(error))
}

/// A value behind a space; nothing for null.
fn given(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => format!(" {}", short(&unwrapped(value).to_string())),
    }
}

/// Values that are neither objects nor strings are stored as `{"value": …}`; here they are shown as they were.
fn unwrapped(value: &Value) -> &Value {
    match value {
        Value::Object(object) if object.len() == 1 => object.get("value").unwrap_or(value),
        value => value,
    }
}

fn failed(error: Option<&ErrorPayload>) -> String {
    error.map_or_else(String::new, |error| format!(" ✗ {}", reported(error)))
}

fn reported(error: &ErrorPayload) -> String {
    let message = error.message.lines().next().unwrap_or_default();
    format!("{}: {}", error.error_type, short(message))
}

/// The beginning of a text.
fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_GIST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
