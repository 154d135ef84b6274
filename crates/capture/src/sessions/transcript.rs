//! [`SessionTranscript`]: the spans of the records of a session, and the facts of the session as a whole.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};
use tracer_insight::text;
use tracer_providers::{ModelApi, ResponseFacts, assemble};
use tracer_sdk::format::names::{Name, event_keys, events};
use tracer_sdk::format::{SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, Timestamp, TraceId, names};

use super::discover::SubAgent;
use crate::runs::{CodingAgent, derived_span_id, derived_trace_id, synthetic_root};

/// Records of unknown kinds that are kept with the run, and the most bytes of each.
pub(super) const MAX_KEPT_RECORDS: usize = 32;
const MAX_KEPT_BYTES: usize = 4096;
/// Most kinds that are told apart.
const MAX_KINDS: usize = 256;
const MAX_TITLE_COLUMNS: usize = 60;
/// The value of the tag `from` of such runs, and of [`names::SOURCE`] of their spans.
const TRANSCRIPT: &str = "transcript";
/// Files that a tool changed, as its agent says: JSON text of an array.
const FILES_CHANGED: &str = "tracer.files_changed";

/// The time of what has none.
fn no_time() -> Timestamp {
    Timestamp::from_unix_microseconds(0)
}

/// The run of a session, whenever it is read.
pub(super) fn transcript_run(agent: CodingAgent, session: &str) -> TraceId {
    derived_trace_id(&[
        b"tracer.transcript",
        agent.as_str().as_bytes(),
        session.as_bytes(),
    ])
}

/// A session as it is read: the same records give the same spans, however many of them there are yet.
#[derive(Debug)]
pub(super) struct SessionTranscript {
    agent: CodingAgent,
    session: String,
    pub(super) run: TraceId,
    pub(super) root: SpanId,
    spans: Vec<SpanRecord>,
    /// Spans that were given, so that repeated history gives none.
    seen: HashSet<SpanId>,
    /// The tool calls by their IDs.
    tools: HashMap<String, SpanId>,
    /// The tool calls that started sub-agents, by the sub-agent's ID.
    starters: HashMap<String, SpanId>,
    /// The session's own name, or what was asked first.
    pub(super) title: Option<String>,
    first_prompt: Option<String>,
    /// The name says nothing of what was asked.
    pub(super) without_content: bool,
    /// Where the session ran, and by which version.
    about: BTreeMap<&'static str, String>,
    pub(super) started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    /// Number of records of each unknown kind.
    pub(super) unknown: BTreeMap<String, u64>,
    kept: Vec<SpanEvent>,
    /// The session's own agent has not finished its turn.
    pub(super) is_open: bool,
    /// The error of the session's own last model call, if it failed.
    failure: Option<CallFailure>,
}

/// Class and message of an error.
type CallFailure = (String, String);

/// The agent of one file, the session's own or a sub-agent: what it was given since its last model call, and what is open.
#[derive(Debug)]
pub(super) struct AgentThread {
    parent: SpanId,
    sub_agent: Option<String>,
    pub(super) input: Vec<Value>,
    /// When its last record was written.
    pub(super) at: Timestamp,
    /// The model call whose records are read.
    pub(super) call: Option<OpenCall>,
    pub(super) open_tools: BTreeMap<String, SpanRecord>,
    /// Facts of tool calls from before their results, by their IDs.
    pub(super) said_of_tools: BTreeMap<String, ToolEnd>,
    /// It was asked something, and has not answered.
    pub(super) is_awaiting: bool,
}

/// A model call of whose answer some was read.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) id: SpanId,
    input: Vec<Value>,
    start: Timestamp,
    pub(super) end: Timestamp,
    /// The answer in the form of its API, without its parts.
    pub(super) answer: Value,
    /// Blocks, items or candidates of the answer.
    pub(super) parts: Vec<Value>,
    pub(super) failure: Option<CallFailure>,
}

/// The end of a tool call.
#[derive(Debug, Default)]
pub(super) struct ToolEnd {
    pub(super) result: Value,
    pub(super) is_error: bool,
    /// Files that it changed.
    pub(super) files: Vec<String>,
}

impl AgentThread {
    /// Adds a message that the next model call gets.
    pub(super) fn give(&mut self, message: Value) {
        self.input.push(message);
    }

    /// The model call whose records are read, begun where there is none.
    pub(super) fn call(&mut self, start: Timestamp, id: impl FnOnce() -> SpanId) -> &mut OpenCall {
        self.call.get_or_insert_with(|| {
            self.is_awaiting = false;
            OpenCall {
                id: id(),
                input: std::mem::take(&mut self.input),
                // Before the first record nothing was.
                start: if start == no_time() { self.at } else { start },
                end: self.at,
                answer: json!({}),
                parts: Vec::new(),
                failure: None,
            }
        })
    }

    /// True of the session's own agent.
    pub(super) fn is_own(&self) -> bool {
        self.sub_agent.is_none()
    }
}

impl SessionTranscript {
    pub(super) fn new(agent: CodingAgent, session: &str) -> Self {
        let run = transcript_run(agent, session);
        Self {
            agent,
            session: session.to_owned(),
            run,
            root: synthetic_root(run),
            spans: Vec::new(),
            seen: HashSet::new(),
            tools: HashMap::new(),
            starters: HashMap::new(),
            title: None,
            first_prompt: None,
            without_content: false,
            about: BTreeMap::new(),
            started_at: None,
            ended_at: None,
            unknown: BTreeMap::new(),
            kept: Vec::new(),
            is_open: false,
            failure: None,
        }
    }

    /// The thread of a file: the session's own, or a sub-agent's below the tool call that started it.
    pub(super) fn thread(&self, sub_agent: Option<&SubAgent>) -> AgentThread {
        let starter = |agent: &SubAgent| {
            let named = || self.tools.get(agent.tool.as_ref()?);
            self.starters.get(&agent.id).or_else(named).copied()
        };
        AgentThread {
            parent: sub_agent.and_then(starter).unwrap_or(self.root),
            sub_agent: sub_agent.map(|agent| agent.name.clone().unwrap_or_else(|| "sub-agent".to_owned())),
            input: Vec::new(),
            at: no_time(),
            call: None,
            open_tools: BTreeMap::new(),
            said_of_tools: BTreeMap::new(),
            is_awaiting: false,
        }
    }

    /// Ends the thread of a file with what has not ended.
    pub(super) fn leave(&mut self, thread: AgentThread) {
        let is_waiting = thread.is_awaiting || !thread.open_tools.is_empty();
        self.is_open |= thread.is_own() && is_waiting;
        thread.open_tools.into_values().for_each(|span| self.add(span));
    }

    /// The spans of what was read since the last call.
    pub(super) fn take_spans(&mut self) -> Vec<SpanRecord> {
        std::mem::take(&mut self.spans)
    }

    pub(super) fn waiting_spans(&self) -> usize {
        self.spans.len()
    }

    pub(super) fn has_given(&self, id: SpanId) -> bool {
        self.seen.contains(&id)
    }

    /// An ID made of what identifies a call, whichever session repeats it.
    pub(super) fn span_id(&self, parts: &[&str]) -> SpanId {
        let mut all: Vec<&[u8]> = vec![b"tracer.transcript", self.agent.as_str().as_bytes()];
        all.extend(parts.iter().map(|part| part.as_bytes()));
        derived_span_id(&all)
    }

    /// Moves a thread to the time of a record, and gives the time before; a record without one is as old as the last.
    pub(super) fn time(&mut self, thread: &mut AgentThread, record: &Value) -> Timestamp {
        let before = thread.at;
        if let Some(at) = timestamp(record) {
            self.started_at = Some(self.started_at.map_or(at, |first| first.min(at)));
            self.ended_at = self.ended_at.max(Some(at));
            thread.at = before.max(at);
        }
        before
    }

    /// Keeps a record of a kind that is not known.
    pub(super) fn unknown(&mut self, kind: &str, record: &Value) {
        let kind = text::one_line(kind, MAX_TITLE_COLUMNS);
        if self.unknown.len() < MAX_KINDS || self.unknown.contains_key(&kind) {
            *self.unknown.entry(kind.clone()).or_default() += 1;
        }
        if self.kept.len() < MAX_KEPT_RECORDS {
            let at = timestamp(record).or(self.ended_at).unwrap_or_else(no_time);
            let raw = record.to_string();
            let kept = SpanEvent::new("transcript.record", at).with("kind", kind);
            self.kept
                .push(kept.with(event_keys::CONTENT, text::beginning(&raw, MAX_KEPT_BYTES)));
        }
    }

    /// Notes a prompt of the user: the first one is the title of a session without one.
    pub(super) fn prompted(&mut self, thread: &AgentThread, prompt: Option<&str>) {
        let prompt = prompt.filter(|prompt| thread.is_own() && !prompt.trim().is_empty());
        self.first_prompt = self.first_prompt.take().or(prompt.map(str::to_owned));
    }

    /// Notes the folder, the version and the branch of a session from these places of a record.
    pub(super) fn describe(&mut self, record: &Value, places: &[&str]) {
        let names = ["tracer.cwd", "service.version", "vcs.ref.head.name"];
        for (name, place) in names.into_iter().zip(places) {
            let text = text_at(record, place);
            self.about.extend(text.map(|text| (name, text.to_owned())));
        }
    }

    /// Notes which tool call started a sub-agent.
    pub(super) fn started_by(&mut self, sub_agent: &str, call_id: &str) {
        if let Some(tool) = self.tools.get(call_id) {
            self.starters.insert(sub_agent.to_owned(), *tool);
        }
    }

    /// Name of the run.
    pub(super) fn name(&self) -> String {
        let agent = self.agent.as_str();
        if self.without_content {
            let session: String = self.session.chars().take(8).collect();
            return format!("{agent} {session}");
        }
        let title = self.title.as_ref().or(self.first_prompt.as_ref());
        let title = title.map(|title| text::one_line(title, MAX_TITLE_COLUMNS));
        title.map_or_else(|| agent.to_owned(), |title| format!("{agent}: {title}"))
    }

    /// Gives the model call whose records were read. More may come of one that `is_open`.
    pub(super) fn end_call(&mut self, thread: &mut AgentThread, is_open: bool) {
        let Some(call) = thread.call.take() else { return };
        let (api, prompt_key, parts_key) = match self.agent {
            CodingAgent::ClaudeCode => (ModelApi::Messages, "messages", "content"),
            CodingAgent::Codex => (ModelApi::Responses, "input", "output"),
            CodingAgent::GeminiCli => (ModelApi::GenerateContent, "contents", "candidates"),
        };
        thread.is_awaiting |= is_open;
        let mut answer = call.answer;
        answer[parts_key] = call.parts.into();
        let body = answer.to_string();
        let facts = ResponseFacts::from_answer(&assemble(api, "application/json", body.as_bytes()));
        let model = facts.model.as_deref().unwrap_or("UNKNOWN");
        let operation = api.operation();
        let mut span = self.span(thread, call.id, format!("{operation} {model}"), call.start);
        span.kind = SpanKind::Client;
        span.end_time = (!is_open).then(|| call.end.max(call.start).into());
        span.set(names::OPERATION, operation);
        span.set(names::PROVIDER, self.agent.provider());
        span.set(names::REQUEST_MODEL, model);
        // A transcript has the end of a call; it began when what it answers was written.
        span.set(names::INFERRED, "start");
        span.attributes.extend(facts.attributes());
        if !call.input.is_empty() {
            let prompt = json!({prompt_key: call.input}).to_string();
            span.events.push(content(events::PROMPT, call.start, prompt));
        }
        match &call.failure {
            Some(failure) => fail(&mut span, failure),
            None => span.events.push(content(events::RESPONSE, call.end, body)),
        }
        if thread.is_own() {
            self.failure = call.failure;
        }
        self.add(span);
    }

    /// Opens a tool call that the model call `asker` asked for.
    pub(super) fn tool_call(
        &mut self,
        thread: &mut AgentThread,
        asker: SpanId,
        (call_id, name): (&str, &str),
        arguments: Value,
    ) {
        let id = self.span_id(&[&asker.to_string(), call_id]);
        self.tools.insert(call_id.to_owned(), id);
        if self.seen.contains(&id) {
            return;
        }
        let mut span = self.span(thread, id, format!("execute_tool {name}"), thread.at);
        span.end_time = None;
        span.set(names::OPERATION, "execute_tool");
        span.set(names::TOOL_NAME, name);
        span.set(names::TOOL_CALL_ID, call_id);
        span.attributes
            .insert(names::TOOL_CALL_ARGUMENTS.written().to_owned(), arguments);
        thread.open_tools.insert(call_id.to_owned(), span);
    }

    /// Ends a tool call.
    pub(super) fn tool_end(&mut self, thread: &mut AgentThread, call_id: &str, end: ToolEnd) {
        let Some(mut span) = thread.open_tools.remove(call_id) else {
            return;
        };
        span.end_time = Some(thread.at.max(span.start_time.instant()).into());
        span.status_code = StatusCode::Ok;
        if end.is_error {
            let message = end.result.as_str().map(str::to_owned);
            let message = message.unwrap_or_else(|| end.result.to_string());
            fail(&mut span, &("ToolError".to_owned(), message));
        }
        if !end.files.is_empty() {
            span.set(FILES_CHANGED, json!(end.files).to_string());
        }
        span.attributes
            .insert(names::TOOL_CALL_RESULT.written().to_owned(), end.result);
        self.add(span);
    }

    /// The root of the run as it is known now; `last_end` is that of its last span.
    pub(super) fn root_span(&self, last_end: Option<Timestamp>) -> SpanRecord {
        let start = self.started_at.unwrap_or_else(no_time);
        let end = start.max(self.ended_at.max(last_end).unwrap_or(start));
        let (name, agent) = (self.name(), self.agent.as_str());
        let mut span = SpanRecord::new(self.run, self.root, None, name.clone(), (start, end));
        span.set(names::RUN_NAME, name);
        span.set(names::SOURCE, TRANSCRIPT);
        span.set("tracer.tag.from", TRANSCRIPT);
        for key in ["session.id", "gen_ai.conversation.id"] {
            span.set(key, self.session.as_str());
        }
        for key in [names::AGENT_NAME.written(), "service.name", "tracer.tag.agent"] {
            span.set(key, agent);
        }
        for (key, text) in &self.about {
            span.set(*key, text.as_str());
        }
        span.events.clone_from(&self.kept);
        span.status_code = StatusCode::Ok;
        if self.is_open {
            span.end_time = None;
            span.status_code = StatusCode::Unset;
        } else if let Some(failure) = &self.failure {
            fail(&mut span, failure);
        }
        span
    }

    /// A span of a thread.
    fn span(&self, thread: &AgentThread, id: SpanId, name: String, start: Timestamp) -> SpanRecord {
        let mut span = SpanRecord::new(self.run, id, Some(thread.parent), name, (start, start));
        span.set(names::SOURCE, TRANSCRIPT);
        span.set(names::AGENT_NAME, thread.sub_agent.as_deref());
        span
    }

    fn add(&mut self, span: SpanRecord) {
        if self.seen.insert(span.span_id) {
            self.spans.push(span);
        }
    }
}

fn fail(span: &mut SpanRecord, (class, message): &CallFailure) {
    span.status_code = StatusCode::Error;
    message.clone_into(&mut span.status_description);
    span.set(names::ERROR_TYPE, class.as_str());
}

/// A prompt or an answer as the format has it: JSON text that says that it is JSON.
fn content(name: Name, at: Timestamp, json: String) -> SpanEvent {
    SpanEvent::new(name, at)
        .with(event_keys::CONTENT, json)
        .with(event_keys::FORMAT, event_keys::FORMAT_JSON)
}

/// The time that a record says.
fn timestamp(record: &Value) -> Option<Timestamp> {
    text_at(record, "/timestamp")?.parse().ok()
}

/// A text of a record that is not empty.
pub(super) fn text_at<'a>(record: &'a Value, pointer: &str) -> Option<&'a str> {
    record.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// The first text that is at one of these places.
pub(super) fn first_text<'a>(record: &'a Value, pointers: &[&str]) -> Option<&'a str> {
    pointers.iter().find_map(|pointer| text_at(record, pointer))
}

/// A value of a record; null where there is none.
pub(super) fn value_at(record: &Value, pointer: &str) -> Value {
    record.pointer(pointer).cloned().unwrap_or_default()
}

/// True where a record has `true` at this place.
pub(super) fn is_true(record: &Value, pointer: &str) -> bool {
    record.pointer(pointer) == Some(&Value::Bool(true))
}

/// The items of a list.
pub(super) fn items<'a>(record: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    record
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
