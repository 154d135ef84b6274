//! A run as text without times and IDs: each record in the place where it is nested, each message of a model call.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::Value;
use tracer_insight::conversation::{Conversation, Message, MessagePart};
use tracer_runs::LoadedRun;
use tracer_sdk::format::{ErrorPayload, EventType, Payload, Record, RecordedStatus};

const MAX_TEXT: usize = 120;

/// The run as indented text.
pub(super) fn transcript(run: &LoadedRun) -> String {
    let records = run.records();
    let mut children: HashMap<Option<&str>, Vec<&Record>> = HashMap::new();
    for record in records
        .iter()
        .filter(|record| record.event_type() != EventType::RunEnd)
    {
        children
            .entry(record.parent_id.as_deref())
            .or_default()
            .push(record);
    }
    let mut text = format!("run {:?}, {}\n", run.meta.run_name, outcome(run.meta.status));
    write_children(&children, None, 0, &mut text);
    text
}

fn write_children(
    children: &HashMap<Option<&str>, Vec<&Record>>,
    parent: Option<&str>,
    depth: usize,
    text: &mut String,
) {
    for record in children.get(&parent).into_iter().flatten() {
        for line in lines(record) {
            let _ = writeln!(text, "{}{line}", "  ".repeat(depth));
        }
        write_children(children, Some(&record.event_id), depth + 1, text);
    }
}

fn lines(record: &Record) -> Vec<String> {
    let mut lines = vec![format!("{} {}", record.event_type().as_str(), record.name)];
    match &record.payload {
        Payload::LlmCall {
            model,
            provider,
            usage,
            stop_reason,
            status,
            error,
            ..
        } => {
            let usage = serde_json::to_value(usage).unwrap();
            lines.push(format!(
                "  | model {model}, provider {provider}, finish reason {stop_reason:?}"
            ));
            lines.push(format!("  | usage {usage}"));
            let conversation = Conversation::from_payload(&record.payload).unwrap();
            lines.extend(conversation.prompt.iter().map(|message| said(">", message)));
            lines.extend(conversation.answer.iter().map(|message| said("<", message)));
            lines.extend(failure(*status, error.as_ref()));
        }
        Payload::ToolCall {
            tool_name,
            args,
            result,
            status,
            error,
        } => {
            lines.push(format!(
                "  | {tool_name} {} -> {}",
                short(&shown(args)),
                short(&shown(result))
            ));
            lines.extend(failure(*status, error.as_ref()));
        }
        Payload::Unknown { status, error, .. } => lines.extend(failure(*status, error.as_ref())),
        Payload::Error(error) => lines.extend(failure(RecordedStatus::Error, Some(error))),
        _ => {}
    }
    for (key, value) in record.meta.iter().filter(|(key, _)| is_mark(key)) {
        lines.push(format!(
            "  | {key} {}",
            if value.is_string() {
                "…".into()
            } else {
                short(&value.to_string())
            }
        ));
    }
    lines
}

/// What the projection adds to the metadata of a record.
fn is_mark(key: &str) -> bool {
    ["attempt_of", "same_call"].contains(&key)
}

fn said(sign: &str, message: &Message) -> String {
    let parts: Vec<String> = message.parts.iter().map(part).collect();
    format!("  {sign} {}: {}", message.label(), parts.join(" + "))
}

fn part(part: &MessagePart) -> String {
    match part {
        MessagePart::Text(text) => short(text),
        MessagePart::Reasoning(text) => format!("reasons {}", short(text)),
        MessagePart::ToolCall { id, name, arguments } => {
            format!(
                "calls {name} {} ({})",
                short(&shown(arguments)),
                is_given(id.as_ref())
            )
        }
        MessagePart::ToolResult { id, value, .. } => {
            format!("result {} ({})", short(&shown(value)), is_given(id.as_ref()))
        }
        other => short(&format!("{other:?}")),
    }
}

/// The IDs of calls are the stand-in's, so that they are the same at every recording.
fn is_given(id: Option<&String>) -> &str {
    id.map_or("no id", String::as_str)
}

fn failure(status: RecordedStatus, error: Option<&ErrorPayload>) -> Option<String> {
    (status == RecordedStatus::Error).then(|| match error {
        Some(error) => format!("  ! {}: {}", error.error_type, short(&error.message)),
        None => "  ! failed".to_owned(),
    })
}

fn outcome(status: RecordedStatus) -> String {
    serde_json::to_value(status).unwrap().as_str().unwrap().to_owned()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn short(text: &str) -> String {
    let text = text.replace('\n', "⏎");
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
