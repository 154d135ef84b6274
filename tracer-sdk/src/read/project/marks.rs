//! Marks of a span beside its type: a tool on the span of a model call, a tool only in the name of a span, a model's tokens
//! on the span of a tool call.

use super::classify::{TOOL_OPERATION, tool_in_name};
use super::payload::usage;
use super::values::{named, texts};
use crate::format::names;
use crate::format::{OtherMarks, Payload, SpanRecord, Usage};

/// The other marks of a span; `None` of nearly every span.
pub(super) fn other_marks(span: &SpanRecord, payload: &Payload) -> Option<Box<OtherMarks>> {
    let own = match payload {
        Payload::ToolCall { tool_name, .. } => Some(tool_name.as_str()),
        _ => None,
    };
    let attributes = &span.attributes;
    let is_tool_operation =
        named(names::OPERATION, attributes).is_some_and(|name| name.eq_ignore_ascii_case(TOOL_OPERATION));
    let in_attributes = texts(names::TOOL_NAME, attributes).filter(|name| !name.is_empty());
    let in_name = tool_in_name(&span.name).or((is_tool_operation && own.is_none()).then_some(&*span.name));
    let mut tools: Vec<String> = Vec::new();
    for name in in_attributes.chain(in_name) {
        if own != Some(name) && !tools.iter().any(|known| known == name) {
            tools.push(name.to_owned());
        }
    }
    let usage = own.and_then(|_| model_usage(span));
    (!tools.is_empty() || usage.is_some()).then(|| Box::new(OtherMarks { tools, usage }))
}

/// The tokens of the model that the span of a tool call names, or reports tokens of. A provider alone is no model:
/// frameworks put their own name there.
fn model_usage(span: &SpanRecord) -> Option<Usage> {
    let usage = usage(&span.attributes);
    let model = [names::REQUEST_MODEL, names::RESPONSE_MODEL]
        .into_iter()
        .find_map(|name| named(name, &span.attributes));
    (model.is_some() || usage != Usage::default()).then_some(usage)
}
