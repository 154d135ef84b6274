//! Transcripts of the Gemini CLI: messages, written again when their tools have ended; sub-agents in files of their own.

use std::collections::HashSet;

use serde_json::{Value, json};
use tracer_providers::ModelApi;

use super::RecordReader;
use super::discover::SubAgent;
use super::transcript::{AgentThread, AnsweredCall, SessionTranscript, ToolEnd, items, text_at};

/// Messages of the program itself.
const BOOKKEEPING: [&str; 3] = ["info", "warning", "summary"];

/// The state of one file, which is one thread.
#[derive(Debug, Default)]
pub(super) struct GeminiCli {
    thread: Option<AgentThread>,
    sub_agent: Option<SubAgent>,
    /// The newest message as it was written last.
    message: Option<Value>,
    /// Messages that others follow: written again, they are history.
    messages: HashSet<String>,
}

impl RecordReader for GeminiCli {
    fn begin_file(&mut self, sub_agent: Option<&SubAgent>) {
        self.sub_agent = sub_agent.cloned();
    }

    fn take(&mut self, record: &Value, transcript: &mut SessionTranscript) {
        let set = record.get("$set").unwrap_or(record);
        if text_at(record, "/sessionId").is_some() && self.sub_agent.is_none() {
            transcript.describe("tracer.cwd", record.pointer("/directories/0"));
        }
        if let Some(messages) = set.get("messages").and_then(Value::as_array) {
            for message in messages {
                self.take_message(message, transcript);
            }
        } else if text_at(record, "/id").is_some() {
            self.take_message(record, transcript);
        } else if text_at(record, "/sessionId").is_none()
            && set == record
            && record.get("$rewindTo").is_none()
        {
            let keys = record
                .as_object()
                .map(|record| record.keys().cloned().collect::<Vec<_>>());
            transcript.unknown(&keys.unwrap_or_default().join(" "), record);
        }
    }

    fn end_file(&mut self, is_quiet: bool, transcript: &mut SessionTranscript) {
        self.give_message(Some(is_quiet), transcript);
        if let Some(mut thread) = self.thread.take() {
            transcript.is_open |= self.sub_agent.is_none() && thread.is_open();
            transcript.leave(&mut thread);
        }
    }
}

impl GeminiCli {
    fn take_message(&mut self, message: &Value, transcript: &mut SessionTranscript) {
        let id = |message: &Value| text_at(message, "/id").unwrap_or_default().to_owned();
        if self.messages.contains(&id(message)) {
            return;
        }
        if self.message.as_ref().is_some_and(|last| id(last) != id(message)) {
            self.give_message(None, transcript);
        }
        self.message = Some(message.clone());
    }

    /// Gives the newest message. `end` says of the last message of a file whether the file is quiet.
    fn give_message(&mut self, end: Option<bool>, transcript: &mut SessionTranscript) {
        let Some(message) = self.message.take() else {
            return;
        };
        let id = text_at(&message, "/id").unwrap_or_default().to_owned();
        let begin = || transcript.thread(self.sub_agent.as_ref());
        let mut thread = self.thread.take().unwrap_or_else(begin);
        match text_at(&message, "/type").unwrap_or("(none)") {
            "user" => self.prompt(&message, &mut thread, transcript),
            "gemini" => answer(&message, &id, end, &mut thread, transcript),
            "error" => {
                let start = thread.at;
                let at = transcript.time(&mut thread, &message);
                let text = text_at(&message, "/content").unwrap_or_default().to_owned();
                let call = AnsweredCall {
                    id: transcript.span_id(&[&id]),
                    api: ModelApi::GenerateContent,
                    input: thread.take_input(),
                    answer: json!({}),
                    start,
                    end: at,
                    is_open: false,
                    failure: Some(("ApiError".to_owned(), text)),
                };
                transcript.model_call(&thread, call);
            }
            kind if BOOKKEEPING.contains(&kind) => {}
            kind => transcript.unknown(&format!("message {kind}"), &message),
        }
        self.messages.insert(id);
        self.thread = Some(thread);
    }

    fn prompt(&self, message: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        transcript.time(thread, message);
        let content = message.get("content").cloned().unwrap_or_default();
        let parts = if content.is_string() {
            json!([{"text": content}])
        } else {
            content
        };
        let text = items(&parts, "").find_map(|part| text_at(part, "/text"));
        // Additions of the program are in elements.
        let is_added = text.is_some_and(|text| text.starts_with('<'));
        thread.is_awaiting |= !is_added;
        if let Some(text) = text.filter(|_| !is_added && self.sub_agent.is_none()) {
            transcript.prompted(text);
        }
        thread.give(json!({"role": "user", "parts": parts}));
    }
}

/// A message of the model, and the tools that it asked for.
fn answer(
    message: &Value,
    id: &str,
    end: Option<bool>,
    thread: &mut AgentThread,
    transcript: &mut SessionTranscript,
) {
    let start = thread.at;
    let at = transcript.time(thread, message);
    let span = transcript.span_id(&[id]);
    let mut parts = Vec::new();
    for thought in items(message, "/thoughts") {
        let words = ["/subject", "/description"].map(|place| text_at(thought, place).unwrap_or_default());
        parts.push(json!({"text": words.join("\n").trim(), "thought": true}));
    }
    parts.extend(text_at(message, "/content").map(|text| json!({"text": text})));
    let input = thread.take_input();
    for tool in items(message, "/toolCalls") {
        let name = text_at(tool, "/name").unwrap_or_default();
        let call = text_at(tool, "/id").unwrap_or_default();
        let arguments = tool.get("args").cloned().unwrap_or_default();
        parts.push(json!({"functionCall": {"id": call, "name": name, "args": arguments}}));
        let tool_span = transcript.tool_call(thread, span, (call, name), arguments);
        if let Some(agent) = text_at(tool, "/agentId") {
            transcript.started_by(agent, tool_span);
        }
        let status = text_at(tool, "/status");
        if matches!(status, Some("success" | "error" | "cancelled")) {
            transcript.time(thread, tool);
            transcript.tool_end(thread, call, tool_end(tool, status != Some("success")));
        }
    }
    let is_open = end == Some(false) && items(message, "/toolCalls").next().is_none();
    thread.is_awaiting = is_open;
    let count = |key: &str| {
        message
            .pointer(&format!("/tokens/{key}"))
            .cloned()
            .unwrap_or_default()
    };
    let answer = json!({
        "responseId": id,
        "modelVersion": message.get("model"),
        "candidates": [{"content": {"role": "model", "parts": parts}}],
        "usageMetadata": message.get("tokens").is_some_and(Value::is_object).then(|| json!({
            "promptTokenCount": count("input"), "candidatesTokenCount": count("output"),
            "cachedContentTokenCount": count("cached"), "thoughtsTokenCount": count("thoughts"),
            "toolUsePromptTokenCount": count("tool"), "totalTokenCount": count("total"),
        })),
    });
    transcript.model_call(
        thread,
        AnsweredCall {
            id: span,
            api: ModelApi::GenerateContent,
            input,
            answer,
            start,
            end: at,
            is_open,
            failure: None,
        },
    );
}

/// The end of a tool call: what the model was given, and the file that was written.
fn tool_end(tool: &Value, is_error: bool) -> ToolEnd {
    let response = tool.pointer("/result/0/functionResponse/response");
    let text = response.and_then(|response| response.get("output").or(response.get("error")));
    let result = text.or(response).or(tool.get("result"));
    let changed = text_at(tool, "/resultDisplay/fileDiff").is_some();
    let file = ["/args/file_path", "/resultDisplay/fileName"]
        .iter()
        .find_map(|place| text_at(tool, place));
    ToolEnd {
        result: result.cloned().unwrap_or_default(),
        is_error,
        files: file.filter(|_| changed).map(str::to_owned).into_iter().collect(),
    }
}
