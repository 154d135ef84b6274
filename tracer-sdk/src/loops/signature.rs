//! The text that stands for one record in loop detection (decisions, section 7).

use crate::format::EventType;

/// What stands for a model or tool without a name.
const UNKNOWN: &str = "UNKNOWN";

/// The signature of a state update: its record type.
pub(crate) const STATE_SIGNATURE: &str = EventType::StateUpdate.as_str();

/// Appends the signature of a model call, `LLM_CALL:<model>`; an empty model is `UNKNOWN`.
pub(crate) fn llm_signature(model: &str, out: &mut String) {
    append_named(EventType::LlmCall, model, out);
}

/// Appends the signature of a tool call, `TOOL_CALL:<tool>`, and ` args:<shape>` where arguments are present; an empty
/// tool is `UNKNOWN`.
pub(crate) fn tool_signature(tool: &str, shape: Option<&str>, out: &mut String) {
    append_named(EventType::ToolCall, tool, out);
    if let Some(shape) = shape {
        out.push_str(" args:");
        out.push_str(shape);
    }
}

fn append_named(event_type: EventType, name: &str, out: &mut String) {
    out.push_str(event_type.as_str());
    out.push(':');
    out.push_str(if name.is_empty() { UNKNOWN } else { name });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_name_is_unknown_and_absent_arguments_leave_no_shape() {
        let mut out = String::from("kept ");
        llm_signature("", &mut out);
        assert_eq!(out, "kept LLM_CALL:UNKNOWN");

        out.clear();
        tool_signature("", None, &mut out);
        assert_eq!(out, "TOOL_CALL:UNKNOWN");

        out.clear();
        tool_signature("read", Some("{}"), &mut out);
        assert_eq!(out, "TOOL_CALL:read args:{}");
        assert_eq!(STATE_SIGNATURE, "STATE_UPDATE");
    }
}
