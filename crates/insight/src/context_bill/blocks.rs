//! Blocks of a model request: each message, tool result, tool definition and attachment, with its estimated size.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Map, Value};
use tracer_sdk::format::names::{self, markers};

use crate::conversation::{
    Message, MessagePart, OfferedTool, Speaker, offered_tools, part_label, prompt_messages, unwrapped,
    value_key,
};
use crate::text;
use crate::value_summary::{label, summarize};

/// Bytes of a token, as every estimate here takes it.
pub(super) const BYTES_PER_TOKEN: u64 = 4;
/// Size of the marks that a provider puts around each block.
const FRAME_BYTES: u64 = 16;
/// Size of an image, a recording or a document, whose tokens do not follow from its bytes.
const MEDIA_BYTES: u64 = 1_000 * BYTES_PER_TOKEN;
/// Characters of a block's label.
const MAX_LABEL_CHARS: usize = 60;
/// Fields of a request that name messages which the provider has stored.
const STORED_BY_PROVIDER: [&str; 3] = ["previous_response_id", "previous_interaction_id", "conversation"];

tracer_sdk::words! {
    /// A kind of block.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum BlockKind in tracer_insight::context_bill {
        /// Instructions.
        SystemPrompt = "system_prompt",
        /// Definition of a tool that the model may call.
        ToolDefinition = "tool_definition",
        /// Result of a tool call.
        ToolResult = "tool_result",
        /// A message of the user or the model.
        Message = "message",
        /// An image, a recording, a document.
        Media = "media",
        /// Input that was reported and not recorded.
        NotRecorded = "not_recorded",
    }
}

/// A part of a request that is the same wherever its content is.
#[derive(Debug)]
pub(super) struct ContextBlock {
    pub(super) kind: BlockKind,
    pub(super) label: String,
    pub(super) content: String,
    /// Estimated size.
    pub(super) bytes: u64,
}

impl ContextBlock {
    fn new(kind: BlockKind, label: impl Into<String>, content: String) -> Self {
        let bytes = match kind {
            BlockKind::Media => MEDIA_BYTES,
            _ => content.len() as u64 + FRAME_BYTES,
        };
        Self {
            kind,
            label: label.into(),
            content,
            bytes,
        }
    }

    pub(super) fn not_recorded(bytes: u64) -> Self {
        Self {
            bytes,
            ..Self::new(BlockKind::NotRecorded, "", String::new())
        }
    }
}

/// Returns whether a call was given more than its record: messages that the provider has, or those that a transcript has
/// with earlier calls.
pub(crate) fn is_continued(prompt: &Value, attributes: Option<&Map<String, Value>>) -> bool {
    let is_named = |key: &&str| prompt.get(key).is_some_and(|value| !value.is_null());
    let source = attributes.and_then(|attributes| attributes.get(names::SOURCE.written()));
    STORED_BY_PROVIDER.iter().any(is_named) || source.is_some_and(|source| source == "transcript")
}

/// The blocks of a request in the order in which providers cache them: tools, instructions, messages.
pub(super) fn blocks(prompt: &Value, attributes: Option<&Map<String, Value>>) -> Vec<ContextBlock> {
    let mut blocks: Vec<ContextBlock> = offered_tools(prompt, attributes).iter().map(definition).collect();
    let mut asked = VecDeque::new();
    for message in prompt_messages(prompt) {
        add_message(&message, &mut asked, &mut blocks);
    }
    blocks
}

/// Returns whether a block was shortened when it was recorded.
pub(super) fn is_cut(block: &ContextBlock) -> bool {
    block.kind != BlockKind::Media
        && [markers::TRUNCATED, markers::OMITTED]
            .iter()
            .any(|marker| block.content.contains(marker))
}

fn definition(tool: &OfferedTool) -> ContextBlock {
    let content = serde_json::to_string(tool).unwrap_or_default();
    ContextBlock::new(BlockKind::ToolDefinition, label(&tool.name), content)
}

/// A tool call of an earlier message: its ID, its tool, its label.
type UnansweredCall = (Option<String>, String, String);

fn add_message(message: &Message, asked: &mut VecDeque<UnansweredCall>, blocks: &mut Vec<ContextBlock>) {
    let (speaker, role) = (message.speaker(), message.label());
    let mut content = vec![role.clone()];
    let mut first_words = None;
    let place = blocks.len();
    for part in &message.parts {
        let words = match part {
            MessagePart::ToolResult { id, name, value, .. } => {
                let tool = take_call(asked, id.as_deref(), name.as_deref());
                let content = value_key(unwrapped(value));
                blocks.push(ContextBlock::new(BlockKind::ToolResult, tool, content));
                continue;
            }
            MessagePart::Media(media) => {
                let words = part_label(part).map(|part| part.text).unwrap_or_default();
                blocks.push(ContextBlock::new(
                    BlockKind::Media,
                    label(&words),
                    format!("{media:?}"),
                ));
                continue;
            }
            MessagePart::ToolCall { id, name, arguments } => {
                let words = call_label(name, arguments);
                asked.push_back((id.clone(), name.clone(), words.clone()));
                content.push(format!("{name} {arguments}"));
                format!("calls {words}")
            }
            MessagePart::Text(text) | MessagePart::Reasoning(text) | MessagePart::Refusal(text) => {
                content.push(text.clone());
                text::one_line(text, MAX_LABEL_CHARS)
            }
            MessagePart::Unknown(value) => {
                content.push(value.to_string());
                summarize(value)
            }
        };
        first_words.get_or_insert(words);
    }
    let Some(words) = first_words else { return };
    let kind = match speaker {
        Speaker::System => BlockKind::SystemPrompt,
        _ => BlockKind::Message,
    };
    let words = text::one_line(&label(&words), MAX_LABEL_CHARS);
    // Before its results and attachments, as it begins before them.
    blocks.insert(
        place,
        ContextBlock::new(kind, format!("{role}: {words}"), content.join("\0")),
    );
}

/// The label of the call that a result answers: by its ID, else the first of its tool without a result.
fn take_call(asked: &mut VecDeque<UnansweredCall>, id: Option<&str>, name: Option<&str>) -> String {
    let is_it = |(known, tool, _): &UnansweredCall| match (id, known) {
        (Some(id), Some(known)) => id == known,
        _ => name.is_none_or(|name| name == tool),
    };
    let place = asked.iter().position(is_it);
    let found = place.and_then(|place| asked.remove(place));
    found.map_or_else(|| label(name.unwrap_or("a tool")), |(.., label)| label)
}

/// `read_file big.rs`: the tool, and its only argument, or all of them with their names.
fn call_label(name: &str, arguments: &Value) -> String {
    let only = arguments
        .as_object()
        .filter(|map| map.len() == 1)
        .and_then(|map| map.values().next());
    let arguments = match only {
        Some(value) if !value.is_object() && !value.is_array() => summarize(value),
        _ => summarize(arguments),
    };
    text::one_line(&format!("{} {arguments}", label(name)), MAX_LABEL_CHARS)
        .trim_end()
        .to_owned()
}
