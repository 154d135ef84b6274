//! Transcripts of the Gemini CLI: messages, written again when their tools have ended; sub-agents in files of their own.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::RecordReader;
use super::transcript::{AgentThread, SessionTranscript, ToolEnd, first_text, items, text_at, value_at};

/// Messages of the program itself.
const BOOKKEEPING: [&str; 3] = ["info", "warning", "summary"];

/// The state of a session.
#[derive(Debug, Default)]
pub(super) struct GeminiCli {
    /// The newest message as it was written last.
    message: Option<Value>,
    /// Messages that others follow: written again, they are history.
    messages: HashSet<String>,
}

impl RecordReader for GeminiCli {
    fn take(&mut self, record: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        let set = record.get("$set").unwrap_or(record);
        let is_head = text_at(record, "/sessionId").is_some();
        if is_head && thread.is_own() {
            transcript.describe(record, &["/directories/0"]);
        }
        if set.get("messages").is_some() {
            for message in items(set, "/messages") {
                self.take_message(message, thread, transcript);
            }
        } else if text_at(record, "/id").is_some() {
            self.take_message(record, thread, transcript);
        } else if !is_head && set == record && record.get("$rewindTo").is_none() {
            let keys = record.as_object().into_iter().flatten();
            let keys: Vec<&str> = keys.map(|(key, _)| key.as_str()).collect();
            transcript.unknown(&keys.join(" "), record);
        }
    }

    fn end_file(&mut self, is_quiet: bool, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        self.give_message(!is_quiet, thread, transcript);
    }
}

impl GeminiCli {
    fn take_message(
        &mut self,
        message: &Value,
        thread: &mut AgentThread,
        transcript: &mut SessionTranscript,
    ) {
        let id = text_at(message, "/id").unwrap_or_default();
        if self.messages.contains(id) {
            return;
        }
        let is_it = |last: &Value| text_at(last, "/id").unwrap_or_default() == id;
        if !self.message.as_ref().is_some_and(is_it) {
            self.give_message(false, thread, transcript);
        }
        self.message = Some(message.clone());
    }

    /// Gives the newest message, of which more may come where it `may_grow`.
    fn give_message(&mut self, may_grow: bool, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        let Some(message) = self.message.take() else {
            return;
        };
        let kind = text_at(&message, "/type").unwrap_or("(none)");
        if BOOKKEEPING.contains(&kind) {
            return;
        }
        let id = text_at(&message, "/id").unwrap_or_default().to_owned();
        let start = transcript.time(thread, &message);
        let span = transcript.span_id(&[&id]);
        match kind {
            "user" => prompt(&message, thread, transcript),
            "gemini" => {
                thread.call(start, || span);
                let has_tools = answer(&message, &id, thread, transcript);
                transcript.end_call(thread, may_grow && !has_tools);
            }
            "error" => {
                let text = text_at(&message, "/content").unwrap_or_default().to_owned();
                thread.call(start, || span).failure = Some(("ApiError".to_owned(), text));
                transcript.end_call(thread, false);
            }
            _ => transcript.unknown(&format!("message {kind}"), &message),
        }
        self.messages.insert(id);
    }
}

fn prompt(message: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
    let parts = match value_at(message, "/content") {
        text @ Value::String(_) => json!([{"text": text}]),
        parts => parts,
    };
    let text = items(&parts, "").find_map(|part| text_at(part, "/text"));
    // Additions of the program are in elements.
    let is_added = text.is_some_and(|text| text.starts_with('<'));
    thread.is_awaiting |= !is_added;
    transcript.prompted(thread, text.filter(|_| !is_added));
    thread.give(json!({"role": "user", "parts": parts}));
}

/// A message of the model, and the tools that it asked for: `true` where there are any.
fn answer(message: &Value, id: &str, thread: &mut AgentThread, transcript: &mut SessionTranscript) -> bool {
    let Some(mut call) = thread.call.take() else {
        return false;
    };
    let mut parts = Vec::new();
    for thought in items(message, "/thoughts") {
        let words = ["/subject", "/description"].map(|place| text_at(thought, place).unwrap_or_default());
        parts.push(json!({"text": words.join("\n").trim(), "thought": true}));
    }
    parts.extend(text_at(message, "/content").map(|text| json!({"text": text})));
    for tool in items(message, "/toolCalls") {
        let name = text_at(tool, "/name").unwrap_or_default();
        let call_id = text_at(tool, "/id").unwrap_or_default();
        let arguments = value_at(tool, "/args");
        parts.push(json!({"functionCall": {"id": call_id, "name": name, "args": arguments}}));
        transcript.tool_call(thread, call.id, (call_id, name), arguments);
        if let Some(agent) = text_at(tool, "/agentId") {
            transcript.started_by(agent, call_id);
        }
        let status = text_at(tool, "/status");
        if matches!(status, Some("success" | "error" | "cancelled")) {
            transcript.time(thread, tool);
            transcript.tool_end(thread, call_id, tool_end(tool, status != Some("success")));
        }
    }
    call.answer = json!({"responseId": id, "modelVersion": message.get("model")});
    if message["tokens"].is_object() {
        let count = |key: &str| value_at(message, &format!("/tokens/{key}"));
        call.answer["usageMetadata"] = json!({
            "promptTokenCount": count("input"), "candidatesTokenCount": count("output"),
            "cachedContentTokenCount": count("cached"), "thoughtsTokenCount": count("thoughts"),
            "toolUsePromptTokenCount": count("tool"), "totalTokenCount": count("total"),
        });
    }
    call.parts = vec![json!({"content": {"role": "model", "parts": parts}})];
    thread.call = Some(call);
    items(message, "/toolCalls").next().is_some()
}

/// The end of a tool call: what the model was given, and the file that was written.
fn tool_end(tool: &Value, is_error: bool) -> ToolEnd {
    let response = tool.pointer("/result/0/functionResponse/response");
    let text = response.and_then(|response| response.get("output").or(response.get("error")));
    let result = text.or(response).or(tool.get("result"));
    let changed = text_at(tool, "/resultDisplay/fileDiff").is_some();
    let file = first_text(tool, &["/args/file_path", "/resultDisplay/fileName"]);
    ToolEnd {
        result: result.cloned().unwrap_or_default(),
        is_error,
        files: file.filter(|_| changed).map(str::to_owned).into_iter().collect(),
    }
}
