//! The text by which records are compared in loop detection (decisions, section 7).

use super::shape::shape_of_value;
use crate::format::{EventType, Payload, Record};

/// The name of a model or tool without one.
const UNKNOWN: &str = "UNKNOWN";

/// The signature of a state update: its record type.
pub(crate) const STATE_SIGNATURE: &str = EventType::StateUpdate.as_str();

/// Appends the signature of a model call, `LLM_CALL:<model>`; an empty model is `UNKNOWN`.
pub(crate) fn llm_signature(model: &str, out: &mut Vec<u8>) {
    append_named(EventType::LlmCall, model, out);
}

/// Appends the signature of a tool call, `TOOL_CALL:<tool>`, and ` args:<shape>` where arguments are present; an empty
/// tool is `UNKNOWN`.
pub(crate) fn tool_signature(tool: &str, shape: Option<&[u8]>, out: &mut Vec<u8>) {
    append_named(EventType::ToolCall, tool, out);
    if let Some(shape) = shape {
        out.extend_from_slice(b" args:");
        out.extend_from_slice(shape);
    }
}

/// The signature of a record that was read; empty for what loop detection does not look at.
pub(crate) fn signature_of(record: &Record) -> String {
    let mut out = Vec::new();
    match &record.payload {
        Payload::LlmCall { model, .. } => llm_signature(model, &mut out),
        Payload::ToolCall { tool_name, args, .. } => {
            let shape = (!args.is_null()).then(|| shape_of_value(args));
            tool_signature(tool_name, shape.as_deref().map(str::as_bytes), &mut out);
        }
        Payload::StateUpdate { .. } => out.extend_from_slice(STATE_SIGNATURE.as_bytes()),
        _ => {}
    }
    // Its parts are texts.
    String::from_utf8(out).unwrap_or_default()
}

fn append_named(event_type: EventType, name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(event_type.as_str().as_bytes());
    out.push(b':');
    out.extend_from_slice(if name.is_empty() { UNKNOWN } else { name }.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_name_is_unknown_and_absent_arguments_leave_no_shape() {
        let mut out = b"kept ".to_vec();
        llm_signature("", &mut out);
        assert_eq!(out, b"kept LLM_CALL:UNKNOWN");

        out.clear();
        tool_signature("", None, &mut out);
        assert_eq!(out, b"TOOL_CALL:UNKNOWN");

        out.clear();
        tool_signature("read", Some(b"{}"), &mut out);
        assert_eq!(out, b"TOOL_CALL:read args:{}");
        assert_eq!(STATE_SIGNATURE, "STATE_UPDATE");
    }
}
