//! [`SessionTranscript`]: the spans of the records of a session, and the facts of the session as a whole.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};
use tracer_insight::text;
use tracer_providers::{ModelApi, ResponseFacts, assemble};
use tracer_sdk::format::names::{event_keys, events};
use tracer_sdk::format::{
    SpanEvent, SpanId, SpanKind, SpanRecord, StatusCode, StoredTime, Timestamp, TraceId, names,
};

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
    pub(super) run: TraceId,
    pub(super) root: SpanId,
    spans: Vec<SpanRecord>,
    /// Spans that were given, so that repeated history gives none.
    seen: HashSet<SpanId>,
    /// The tool calls that started sub-agents, by the sub-agent's ID.
    starters: HashMap<String, SpanId>,
    /// The session's own name, or what was asked first.
    pub(super) title: Option<String>,
    first_prompt: Option<String>,
    /// The name says nothing of what was asked.
    pub(super) without_content: bool,
    session: String,
    /// Attributes of the root: where the session ran, and by which version.
    pub(super) attributes: Map<String, Value>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    /// Number of records of each unknown kind.
    unknown: BTreeMap<String, u64>,
    kept: Vec<SpanEvent>,
    /// The session's own agent has not finished its turn.
    pub(super) is_open: bool,
    /// The error of the session's own last model call, if it failed.
    failure: Option<(String, String)>,
}

/// One agent of a session, the main one or a sub-agent: what it was given since its last model call, and its open tools.
#[derive(Debug)]
pub(super) struct AgentThread {
    parent: SpanId,
    agent_name: Option<String>,
    input: Vec<Value>,
    /// When its last record was written.
    pub(super) at: Timestamp,
    open_tools: BTreeMap<String, SpanRecord>,
    /// Facts of tool calls from before their results, by their IDs.
    pub(super) said_of_tools: BTreeMap<String, ToolEnd>,
    /// It was asked something, and has not answered.
    pub(super) is_awaiting: bool,
}

/// A model call: the answer in the form of its API, and how long it took.
#[derive(Debug)]
pub(super) struct AnsweredCall {
    pub(super) id: SpanId,
    pub(super) api: ModelApi,
    pub(super) input: Vec<Value>,
    pub(super) answer: Value,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// More of it may come.
    pub(super) is_open: bool,
    pub(super) failure: Option<(String, String)>,
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
    fn new(parent: SpanId, agent_name: Option<String>) -> Self {
        Self {
            parent,
            agent_name,
            input: Vec::new(),
            at: Timestamp::from_unix_microseconds(0),
            open_tools: BTreeMap::new(),
            said_of_tools: BTreeMap::new(),
            is_awaiting: false,
        }
    }

    /// Adds a message that the next model call gets.
    pub(super) fn give(&mut self, message: Value) {
        self.input.push(message);
    }

    /// Takes the messages that a model call that begins now gets.
    pub(super) fn take_input(&mut self) -> Vec<Value> {
        self.is_awaiting = false;
        std::mem::take(&mut self.input)
    }

    pub(super) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    pub(super) fn has_open_tool(&self, call_id: &str) -> bool {
        self.open_tools.contains_key(call_id)
    }

    /// The span of a tool that has not ended.
    pub(super) fn open_tool(&self, call_id: &str) -> Option<SpanId> {
        self.open_tools.get(call_id).map(|span| span.span_id)
    }

    /// True while it waits for a model or a tool.
    pub(super) fn is_open(&self) -> bool {
        self.is_awaiting || !self.open_tools.is_empty()
    }
}

impl SessionTranscript {
    pub(super) fn new(agent: CodingAgent, session: &str) -> Self {
        let run = transcript_run(agent, session);
        let mut attributes = Map::new();
        for key in ["session.id", "gen_ai.conversation.id"] {
            attributes.insert(key.to_owned(), session.into());
        }
        Self {
            agent,
            run,
            root: synthetic_root(run),
            spans: Vec::new(),
            seen: HashSet::new(),
            starters: HashMap::new(),
            title: None,
            first_prompt: None,
            without_content: false,
            session: session.to_owned(),
            attributes,
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
        let Some(agent) = sub_agent else {
            return AgentThread::new(self.root, None);
        };
        let name = agent.name.clone().unwrap_or_else(|| "sub-agent".to_owned());
        AgentThread::new(self.starter(&agent.id), Some(name))
    }

    /// The spans of what was read since the last call.
    pub(super) fn take_spans(&mut self) -> Vec<SpanRecord> {
        std::mem::take(&mut self.spans)
    }

    pub(super) fn waiting_spans(&self) -> usize {
        self.spans.len()
    }

    /// An ID made of what identifies a call, whichever session repeats it.
    pub(super) fn span_id(&self, parts: &[&str]) -> SpanId {
        let mut all: Vec<&[u8]> = vec![b"tracer.transcript", self.agent.as_str().as_bytes()];
        all.extend(parts.iter().map(|part| part.as_bytes()));
        derived_span_id(&all)
    }

    /// The time of a record, which is the thread's from now on; of a record without one, the time of the last.
    pub(super) fn time(&mut self, thread: &mut AgentThread, record: &Value) -> Timestamp {
        if let Some(at) = timestamp(record) {
            self.started_at = Some(self.started_at.map_or(at, |first| first.min(at)));
            self.ended_at = self.ended_at.max(Some(at));
            thread.at = thread.at.max(at);
        }
        thread.at
    }

    /// Keeps a record of a kind that is not known.
    pub(super) fn unknown(&mut self, kind: &str, record: &Value) {
        let kind = text::one_line(kind, MAX_TITLE_COLUMNS);
        if self.unknown.len() < MAX_KINDS || self.unknown.contains_key(&kind) {
            *self.unknown.entry(kind.clone()).or_default() += 1;
        }
        if self.kept.len() < MAX_KEPT_RECORDS {
            let raw = record.to_string();
            let raw = text::beginning(&raw, MAX_KEPT_BYTES);
            let at = timestamp(record).or(self.ended_at);
            let at = at.unwrap_or(Timestamp::from_unix_microseconds(0));
            let attributes = json!({"kind": kind, event_keys::CONTENT: raw});
            self.kept.push(event("transcript.record", at, &attributes));
        }
    }

    /// The kinds that were not known, each with the number of its records.
    pub(super) fn unknown_kinds(&self) -> &BTreeMap<String, u64> {
        &self.unknown
    }

    /// Notes a prompt of the user: the first one is the title of a session without one.
    pub(super) fn prompted(&mut self, prompt: &str) {
        if self.first_prompt.is_none() && !prompt.trim().is_empty() {
            self.first_prompt = Some(prompt.to_owned());
        }
    }

    /// Notes where the session ran, and by which version.
    pub(super) fn describe(&mut self, key: &str, value: Option<&Value>) {
        if let Some(value) = value.filter(|value| value.is_string()) {
            self.attributes.insert(key.to_owned(), value.clone());
        }
    }

    /// Notes which tool call started a sub-agent.
    pub(super) fn started_by(&mut self, sub_agent: &str, tool: SpanId) {
        self.starters.insert(sub_agent.to_owned(), tool);
    }

    /// The tool call that started a sub-agent; the root where none is known.
    fn starter(&self, sub_agent: &str) -> SpanId {
        self.starters.get(sub_agent).copied().unwrap_or(self.root)
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

    /// Adds a model call.
    pub(super) fn model_call(&mut self, thread: &AgentThread, call: AnsweredCall) {
        let body = call.answer.to_string();
        let facts = ResponseFacts::from_answer(&assemble(call.api, "application/json", body.as_bytes()));
        let model = facts.model.as_deref().unwrap_or("UNKNOWN");
        let name = format!("{} {model}", call.api.operation());
        // Before the first record of a thread nothing was.
        let is_first = call.start.unix_microseconds() == 0;
        let start = if is_first { call.end } else { call.start };
        let mut span = self.span(thread, call.id, &name, start);
        span.kind = SpanKind::Client;
        span.end_time = (!call.is_open).then(|| StoredTime::from(call.end.max(start)));
        let mut set = |name: names::Name, value: &str| {
            span.attributes.insert(name.written().to_owned(), value.into());
        };
        set(names::OPERATION, call.api.operation());
        set(names::PROVIDER, self.agent.provider());
        set(names::REQUEST_MODEL, model);
        // A transcript has the end of a call; it began when what it answers was written.
        set(names::INFERRED, "start");
        span.attributes.extend(facts.attributes());
        if !call.input.is_empty() {
            let prompt = json!({prompt_key(call.api): call.input});
            span.events.push(content(events::PROMPT, start, &prompt));
        }
        if call.failure.is_none() {
            span.events
                .push(content(events::RESPONSE, call.end, &call.answer));
        }
        if thread.agent_name.is_none() {
            self.failure.clone_from(&call.failure);
        }
        if let Some((class, message)) = call.failure {
            fail(&mut span, &class, &message);
        }
        self.add(span);
    }

    /// Opens a tool call that `asker` asked for.
    pub(super) fn tool_call(
        &mut self,
        thread: &mut AgentThread,
        asker: SpanId,
        (call_id, name): (&str, &str),
        arguments: Value,
    ) -> SpanId {
        let id = self.span_id(&[&asker.to_string(), call_id]);
        let mut span = self.span(thread, id, &format!("execute_tool {name}"), thread.at);
        let mut set = |name: names::Name, value: Value| {
            span.attributes.insert(name.written().to_owned(), value);
        };
        set(names::OPERATION, "execute_tool".into());
        set(names::TOOL_NAME, name.into());
        set(names::TOOL_CALL_ID, call_id.into());
        set(names::TOOL_CALL_ARGUMENTS, arguments);
        if !self.seen.contains(&id) {
            thread.open_tools.insert(call_id.to_owned(), span);
        }
        id
    }

    /// Ends a tool call.
    pub(super) fn tool_end(&mut self, thread: &mut AgentThread, call_id: &str, end: ToolEnd) {
        let Some(mut span) = thread.open_tools.remove(call_id) else {
            return;
        };
        span.end_time = Some(StoredTime::from(thread.at.max(span.start_time.instant())));
        if end.is_error {
            let message = end
                .result
                .as_str()
                .map_or_else(|| end.result.to_string(), str::to_owned);
            fail(&mut span, "ToolError", &message);
        } else {
            span.status_code = StatusCode::Ok;
        }
        if !end.files.is_empty() {
            let files = json!(end.files).to_string();
            span.attributes.insert(FILES_CHANGED.to_owned(), files.into());
        }
        let result = names::TOOL_CALL_RESULT.written().to_owned();
        span.attributes.insert(result, end.result);
        self.add(span);
    }

    /// Gives the tools of a thread that have not ended.
    pub(super) fn leave(&mut self, thread: &mut AgentThread) {
        for (_, span) in std::mem::take(&mut thread.open_tools) {
            self.add(span);
        }
    }

    /// The root of the run as it is known now; `last_end` is that of its last span.
    pub(super) fn root_span(&self, last_end: Option<Timestamp>) -> SpanRecord {
        let start = self.started_at.unwrap_or(Timestamp::from_unix_microseconds(0));
        let name = self.name();
        let mut attributes = self.attributes.clone();
        let agent = self.agent.as_str();
        for (key, value) in [
            (names::RUN_NAME.written(), name.as_str()),
            (names::AGENT_NAME.written(), agent),
            (names::SOURCE.written(), TRANSCRIPT),
            ("service.name", agent),
            ("tracer.tag.from", TRANSCRIPT),
            ("tracer.tag.agent", agent),
        ] {
            attributes.insert(key.to_owned(), value.into());
        }
        let mut span = SpanRecord {
            trace_id: self.run,
            span_id: self.root,
            parent_span_id: None,
            name: name.clone(),
            kind: SpanKind::Internal,
            start_time: StoredTime::from(start),
            end_time: Some(StoredTime::from(
                start.max(self.ended_at.max(last_end).unwrap_or(start)),
            )),
            duration_ms: None,
            attributes,
            events: self.kept.clone(),
            status_code: StatusCode::Ok,
            status_description: String::new(),
        };
        if self.is_open {
            span.end_time = None;
            span.status_code = StatusCode::Unset;
        } else if let Some((class, message)) = &self.failure {
            fail(&mut span, class, message);
        }
        span
    }

    pub(super) fn started_at(&self) -> Option<Timestamp> {
        self.started_at
    }

    /// A span of a thread that has not ended.
    fn span(&self, thread: &AgentThread, id: SpanId, name: &str, start: Timestamp) -> SpanRecord {
        let mut attributes = Map::new();
        attributes.insert(names::SOURCE.written().to_owned(), TRANSCRIPT.into());
        if let Some(agent) = &thread.agent_name {
            attributes.insert(names::AGENT_NAME.written().to_owned(), agent.as_str().into());
        }
        SpanRecord {
            trace_id: self.run,
            span_id: id,
            parent_span_id: Some(thread.parent),
            name: name.to_owned(),
            kind: SpanKind::Internal,
            start_time: StoredTime::from(start),
            end_time: None,
            duration_ms: None,
            attributes,
            events: Vec::new(),
            status_code: StatusCode::Unset,
            status_description: String::new(),
        }
    }

    fn add(&mut self, span: SpanRecord) {
        if self.seen.insert(span.span_id) {
            self.spans.push(span);
        }
    }
}

/// The key under which an API has the messages of a request.
const fn prompt_key(api: ModelApi) -> &'static str {
    match api {
        ModelApi::Responses => "input",
        ModelApi::GenerateContent => "contents",
        _ => "messages",
    }
}

fn fail(span: &mut SpanRecord, class: &str, message: &str) {
    span.status_code = StatusCode::Error;
    message.clone_into(&mut span.status_description);
    let key = names::ERROR_TYPE.written().to_owned();
    span.attributes.insert(key, class.into());
}

fn event(name: &str, at: Timestamp, attributes: &Value) -> SpanEvent {
    SpanEvent {
        name: name.to_owned(),
        timestamp: at.into(),
        attributes: attributes.as_object().cloned().unwrap_or_default(),
    }
}

/// A prompt or an answer as the format has it: JSON text that says that it is JSON.
fn content(name: names::Name, at: Timestamp, value: &Value) -> SpanEvent {
    let attributes = json!({
        event_keys::CONTENT: value.to_string(),
        event_keys::FORMAT: event_keys::FORMAT_JSON,
    });
    event(name.written(), at, &attributes)
}

/// The time that a record says.
pub(super) fn timestamp(record: &Value) -> Option<Timestamp> {
    record.get("timestamp")?.as_str()?.parse().ok()
}

/// A text of a record that is not empty.
pub(super) fn text_at<'a>(record: &'a Value, pointer: &str) -> Option<&'a str> {
    record.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// The items of a list.
pub(super) fn items<'a>(record: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    record
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
