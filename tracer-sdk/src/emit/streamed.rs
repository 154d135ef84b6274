//! A streamed answer as it comes: text, and the tool calls that the model asks for, in pieces.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
#[cfg(feature = "providers")]
use tracer_providers::Vendor;

#[cfg(feature = "providers")]
use super::vendor_events::VendorEvents;

/// Maximum size of a streamed answer in memory, in bytes; the settings cut it further.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum number of tool calls of a streamed answer that are kept.
const MAX_CALLS: usize = 1024;

/// A piece of a tool call that a model streams, as the vendors' streams have it: the ID and the name come once, the arguments
/// in pieces.
///
/// ```
/// let chunk = tracer_sdk::ToolCallChunk::new(1).id("call_7").name("search").arguments("{");
/// assert_eq!(chunk, chunk.clone());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCallChunk<'a> {
    index: usize,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: &'a str,
}

impl<'a> ToolCallChunk<'a> {
    /// A piece of the call with this index in the answer, from 0.
    ///
    /// ```
    /// use tracer_sdk::ToolCallChunk;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let mut call = tracer_sdk::llm_call("gpt-5").start()?;
    ///     call.tool_call_chunk(ToolCallChunk::new(0).name("search"));
    ///     call.tool_call_chunk(ToolCallChunk::new(1).name("open"));
    ///     call.stop_reason("tool_calls");
    ///     call.end()
    /// });
    /// assert_eq!(run.spans[0].attributes["tracer.chunks"], 2);
    /// ```
    #[must_use]
    pub const fn new(index: usize) -> Self {
        Self {
            index,
            id: None,
            name: None,
            arguments: "",
        }
    }

    /// The call's ID.
    ///
    /// ```
    /// let chunk = tracer_sdk::ToolCallChunk::new(0).id("call_7");
    /// assert_ne!(chunk, tracer_sdk::ToolCallChunk::new(0));
    /// ```
    #[must_use]
    pub const fn id(mut self, id: &'a str) -> Self {
        self.id = Some(id);
        self
    }

    /// The tool's name.
    ///
    /// ```
    /// let chunk = tracer_sdk::ToolCallChunk::new(0).name("search");
    /// assert_ne!(chunk, tracer_sdk::ToolCallChunk::new(0));
    /// ```
    #[must_use]
    pub const fn name(mut self, name: &'a str) -> Self {
        self.name = Some(name);
        self
    }

    /// The next piece of the arguments' text.
    ///
    /// ```
    /// let chunk = tracer_sdk::ToolCallChunk::new(0).arguments(r#"{"query":"#);
    /// assert_ne!(chunk, tracer_sdk::ToolCallChunk::new(0));
    /// ```
    #[must_use]
    pub const fn arguments(mut self, piece: &'a str) -> Self {
        self.arguments = piece;
        self
    }
}

/// A streamed answer so far.
#[derive(Debug)]
pub(super) struct StreamedAnswer {
    text: String,
    /// The tool calls that the model asks for, by their index.
    calls: BTreeMap<usize, StreamedToolCall>,
    /// Size of the kept content, in bytes.
    bytes: usize,
    /// Number of chunks that are not kept.
    pub(super) left_out: u64,
    /// Number of received chunks.
    pub(super) chunks: u64,
    /// Time until the first chunk.
    pub(super) first_after: Duration,
    /// Chunks received as a vendor's events.
    #[cfg(feature = "providers")]
    pub(super) events: Option<VendorEvents>,
}

/// A tool call of a streamed answer so far.
#[derive(Debug, Default)]
struct StreamedToolCall {
    id: String,
    name: String,
    arguments: String,
}

impl StreamedAnswer {
    /// An answer whose first chunk took this long.
    pub(super) fn new(first_after: Duration) -> Self {
        Self {
            text: String::new(),
            calls: BTreeMap::new(),
            bytes: 0,
            left_out: 0,
            chunks: 0,
            first_after,
            #[cfg(feature = "providers")]
            events: None,
        }
    }

    fn has_room(&self) -> bool {
        self.bytes < MAX_BYTES
    }

    /// Adds text.
    pub(super) fn push_text(&mut self, text: &str) {
        self.chunks += 1;
        if self.has_room() {
            self.bytes += text.len();
            self.text.push_str(text);
        } else {
            self.left_out += 1;
        }
    }

    /// Adds to a tool call.
    pub(super) fn push_tool_call(&mut self, chunk: &ToolCallChunk<'_>) {
        self.chunks += 1;
        let is_kept = self.calls.len() < MAX_CALLS || self.calls.contains_key(&chunk.index);
        if !self.has_room() || !is_kept {
            self.left_out += 1;
            return;
        }
        let call = self.calls.entry(chunk.index).or_default();
        // Some vendors repeat the ID and the name with every piece, others leave them empty behind the first.
        for (known, text) in [(&mut call.id, chunk.id), (&mut call.name, chunk.name)] {
            if let Some(text) = text.filter(|_| known.is_empty()) {
                self.bytes += text.len();
                known.push_str(text);
            }
        }
        self.bytes += chunk.arguments.len();
        call.arguments.push_str(chunk.arguments);
    }

    /// Adds an event of a vendor's stream.
    #[cfg(feature = "providers")]
    pub(super) fn push_event(&mut self, vendor: Vendor, event: Value, bytes: usize) {
        self.chunks += 1;
        let events = self.events.get_or_insert_with(|| VendorEvents::new(vendor));
        if !events.push(event, bytes) {
            self.left_out += 1;
        }
    }

    /// Forgets what was said: the answer is known as a whole.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.calls.clear();
        self.left_out = 0;
    }

    /// Returns the content so far, a text or a message with tool calls; `None` when there is none.
    pub(super) fn content(&self) -> Option<Value> {
        if self.calls.is_empty() {
            return (!self.text.is_empty()).then(|| self.text.as_str().into());
        }
        let text = (!self.text.is_empty()).then(|| json!({"type": "text", "content": self.text}));
        let calls = self.calls.values().map(StreamedToolCall::part);
        let parts: Vec<Value> = text.into_iter().chain(calls).collect();
        Some(json!({"role": "assistant", "parts": parts}))
    }
}

impl StreamedToolCall {
    /// The call as a part of a message of OpenTelemetry's.
    fn part(&self) -> Value {
        let arguments = arguments(&self.arguments);
        let mut part = json!({"type": "tool_call", "name": self.name, "arguments": arguments});
        if let (Some(part), false) = (part.as_object_mut(), self.id.is_empty()) {
            part.insert("id".to_owned(), self.id.as_str().into());
        }
        part
    }
}

/// The arguments that a model wrote: structured when their text is whole, so that a secret in them is known by its key.
pub(super) fn arguments(written: &str) -> Value {
    match serde_json::from_str(written) {
        Ok(arguments) => arguments,
        Err(_) if written.is_empty() => Value::Null,
        Err(_) => written.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(answer: &StreamedAnswer) -> Value {
        serde_json::to_value(answer.content()).unwrap()
    }

    #[test]
    fn pieces_are_put_together_by_index() {
        let mut answer = StreamedAnswer::new(Duration::ZERO);
        assert_eq!(content(&answer), Value::Null);
        answer.push_text("Let me ");
        answer.push_text("look.");
        assert_eq!(content(&answer), "Let me look.");
        let chunk = ToolCallChunk::new;
        for piece in [
            chunk(1).id("b").name("open").arguments("{\"page\""),
            chunk(0).id("a").name("search"),
            chunk(1).id("b").name("open").arguments(":7}"),
            chunk(0).id("").name("").arguments("{\"query\":\"ru"),
        ] {
            answer.push_tool_call(&piece);
        }
        let expected = json!({"role": "assistant", "parts": [
            {"type": "text", "content": "Let me look."},
            {"type": "tool_call", "id": "a", "name": "search", "arguments": "{\"query\":\"ru"},
            {"type": "tool_call", "id": "b", "name": "open", "arguments": {"page": 7}},
        ]});
        assert_eq!(content(&answer), expected);
        assert_eq!(answer.chunks, 6);
        answer.clear();
        assert_eq!(content(&answer), Value::Null);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut answer = StreamedAnswer::new(Duration::ZERO);
        for index in 0..5_000 {
            answer.push_tool_call(&ToolCallChunk::new(index));
        }
        assert_eq!(answer.calls.len(), MAX_CALLS);
        let piece = "x".repeat(100_000);
        for _ in 0..100 {
            answer.push_tool_call(&ToolCallChunk::new(0).arguments(&piece));
            answer.push_text(&piece);
        }
        assert!(content(&answer).to_string().len() < 2 * MAX_BYTES);
        assert_eq!(answer.chunks, 5_200);
    }
}
