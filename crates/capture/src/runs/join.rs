//! One call with several sources: what was logged is put into the span that it belongs to, and a call that was logged and
//! sent as a span is that span (capture, section 1: a call counts once).
//!
//! Done when a run is completed, from what is in its log, so that the order in which things came does not matter.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};
use tracer_runs::import::{ImportError, ImportedSpan, RunWriter};
use tracer_runs::normal_model_name;
use tracer_sdk::format::{EventType, SpanEvent, SpanId, SpanRecord, StoredTime, Timestamp, names};

use super::attributes::{number, text};
use super::logs::{DETAILS, EVENT_FOR_PARENT, FROM_LOG, LOG_ID, REQUEST_ID, RESPONSE_ID, message};
use super::marks::call_type;

/// Difference between the times of one call that two programs measured, at most, in microseconds.
const TOLERANCE_US: i64 = 50_000;
/// Most bytes of log records that are held while they are joined; a record beyond them stays a span of its own.
const MAX_HELD_BYTES: usize = 64 * 1024 * 1024;
/// The event by which somebody lets a tool run, or refuses it.
const DECISION: &str = "tool_decision";
const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";

/// Facts of a span that may describe a call.
#[derive(Debug)]
struct CallSource {
    id: SpanId,
    call: Option<EventType>,
    /// The event that it was made of; `None` for a span that was sent as one.
    event: Option<String>,
    start: Timestamp,
    end: Timestamp,
    call_id: Option<String>,
    prompt_id: Option<String>,
    query_source: Option<String>,
    /// Its model or its tool, in the normal form of names.
    model: Option<String>,
    output_tokens: Option<u64>,
    /// Those of the output that are no answer.
    reasoning_tokens: Option<u64>,
    /// The arguments of a tool call, written in one way.
    arguments: Option<String>,
    has_prompt: bool,
    has_answer: bool,
    /// Attributes of a record that only adds to a call.
    adds: Map<String, Value>,
}

impl CallSource {
    fn is_event(&self, name: &str) -> bool {
        self.event.as_deref() == Some(name)
    }
}

/// Changes to the spans of a log.
#[derive(Debug, Default)]
struct JoinPlan {
    dropped: HashSet<SpanId>,
    changes: HashMap<SpanId, SpanChange>,
}

/// Changes of a span by the records that belong to it.
#[derive(Debug, Default)]
struct SpanChange {
    added: Map<String, Value>,
    /// Attributes that another record of the call says better.
    replaced: Map<String, Value>,
    events: Vec<SpanEvent>,
    start: Option<Timestamp>,
    /// Spans that are left out, because all of them is in this one.
    joined: BTreeSet<SpanId>,
}

impl JoinPlan {
    fn change(&mut self, id: SpanId) -> &mut SpanChange {
        self.changes.entry(id).or_default()
    }

    /// Leaves a span out because all of it is in another one, whose change it gives.
    fn put(&mut self, id: SpanId, into: SpanId) -> &mut SpanChange {
        self.dropped.insert(id);
        let change = self.change(into);
        change.joined.insert(id);
        change
    }

    /// Changes the spans of a log as planned.
    fn apply(&self, run: &mut RunWriter) -> Result<(), ImportError> {
        if self.dropped.is_empty() && self.changes.is_empty() {
            return Ok(());
        }
        run.rewrite(|span| {
            if let Some(change) = self.changes.get(&span.span_id) {
                change.apply(span);
            }
            !self.dropped.contains(&span.span_id)
        })
    }
}

impl SpanChange {
    fn add(&mut self, attributes: Map<String, Value>) {
        for (key, value) in attributes {
            self.added.entry(key).or_insert(value);
        }
    }

    fn replace(&mut self, key: &str, value: Value) {
        self.replaced.insert(key.to_owned(), value);
    }

    fn add_events(&mut self, events: Vec<SpanEvent>) {
        self.add(content_of(&events));
        self.events.extend(events);
    }

    fn apply(&self, span: &mut SpanRecord) {
        for (key, value) in &self.added {
            let known = span.attributes.entry(key.clone());
            known.or_insert_with(|| value.clone());
        }
        span.attributes.extend(self.replaced.clone());
        if !self.joined.is_empty() {
            let key = names::JOINED_SPANS.written();
            let before = span.attributes.get(key).and_then(Value::as_str);
            let before: Vec<SpanId> = before
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default();
            let all: BTreeSet<String> = self
                .joined
                .iter()
                .chain(&before)
                .map(ToString::to_string)
                .collect();
            span.attributes
                .insert(key.to_owned(), serde_json::json!(all).to_string().into());
        }
        if let Some(start) = self.start {
            span.start_time = StoredTime::from(start);
            span.duration_ms = None;
        }
        if !self.events.is_empty() {
            put_events(span, &self.events);
        }
    }
}

/// Puts everything that was logged where it belongs.
pub(super) fn join_logs(run: &mut RunWriter) -> Result<(), ImportError> {
    let mut plan = JoinPlan::default();
    let mut sources = Vec::new();
    let mut held = 0;
    let mut waiting: Vec<(SpanId, SpanId, Vec<SpanEvent>)> = Vec::new();
    run.for_each_span(|span| {
        if let (true, Some(parent)) = (
            span.attributes.contains_key(EVENT_FOR_PARENT),
            span.parent_span_id,
        ) {
            if held < MAX_HELD_BYTES {
                let events = span.events.iter();
                held += events.map(|event| held_bytes(&event.attributes)).sum::<usize>();
                waiting.push((span.span_id, parent, span.events));
            }
            return;
        }
        // Details are joined as what belongs to a call; they are one only where no other record of it is left.
        let call = call_type(&span).filter(|_| text(&span.attributes, FROM_LOG) != Some(DETAILS));
        let is_logged = span.attributes.contains_key(FROM_LOG);
        if call.is_some() || is_logged {
            sources.push(read_source(&span, call, &mut held));
        }
    })?;
    let model_calls = sources.iter().filter(|one| one.call == Some(EventType::LlmCall));
    let answered = by_call_id(model_calls);
    for (id, parent, events) in waiting {
        let parent = if run.contains(parent) {
            Some(parent)
        } else {
            let mut responses = events
                .iter()
                .filter_map(|event| text(&event.attributes, RESPONSE_ID));
            responses
                .next()
                .and_then(|response| answered.get(response))
                .map(|call| call.id)
        };
        if let Some(parent) = parent {
            plan.put(id, parent).add_events(events);
        }
    }
    sources.sort_by_key(|one| (one.start, one.id));
    join_duplicates(&mut plan, &sources);
    join_decisions(&mut plan, &sources);
    join_content(&mut plan, &sources);
    join_starts(&mut plan, &sources);
    plan.apply(run)
}

/// The first of each ID.
fn by_call_id<'a>(sources: impl Iterator<Item = &'a CallSource>) -> HashMap<&'a str, &'a CallSource> {
    let mut by_id = HashMap::new();
    for source in sources {
        if let Some(id) = &source.call_id {
            by_id.entry(id.as_str()).or_insert(source);
        }
    }
    by_id
}

/// The ID of the last span of each call ID.
fn last_by_call_id<'a>(sources: impl Iterator<Item = &'a CallSource>) -> HashMap<&'a str, SpanId> {
    sources
        .filter_map(|one| Some((one.call_id.as_deref()?, one.id)))
        .collect()
}

/// Calls in the order of their starts, so that those of a time are found by a binary search.
#[derive(Debug, Default)]
struct CallsByTime<'a> {
    calls: Vec<&'a CallSource>,
    /// The latest end of the calls up to each.
    ends: Vec<Timestamp>,
}

impl<'a> CallsByTime<'a> {
    /// Adds a call that starts with the last one, or later.
    fn push(&mut self, call: &'a CallSource) {
        let latest = self.ends.last().map_or(call.end, |end| call.end.max(*end));
        self.calls.push(call);
        self.ends.push(latest);
    }

    /// The calls that are under way at some time from `start` to `end`.
    fn around(&self, start: Timestamp, end: Timestamp) -> impl Iterator<Item = &'a CallSource> {
        let before = self
            .ends
            .partition_point(|latest| start.microseconds_since(*latest) > TOLERANCE_US);
        let calls = self.calls.get(before..).unwrap_or_default().iter().copied();
        calls
            .take_while(move |call| call.start.microseconds_since(end) <= TOLERANCE_US)
            .filter(move |call| start.microseconds_since(call.end) <= TOLERANCE_US)
    }
}

/// Puts events into spans of a run that has ended; gives back what belongs to none of them.
pub(super) fn join_late(
    run: &mut RunWriter,
    late: Vec<ImportedSpan>,
) -> Result<Vec<ImportedSpan>, ImportError> {
    let mut plan = JoinPlan::default();
    let mut rest = Vec::new();
    for span in late {
        let parent = span.record.parent_span_id.filter(|parent| run.contains(*parent));
        match parent.filter(|_| span.record.attributes.contains_key(EVENT_FOR_PARENT)) {
            Some(parent) if !run.contains(span.record.span_id) => {
                plan.put(span.record.span_id, parent)
                    .add_events(span.record.events);
            }
            _ => rest.push(span),
        }
    }
    plan.apply(run)?;
    Ok(rest)
}

fn put_events(span: &mut SpanRecord, events: &[SpanEvent]) {
    for event in events {
        if !has_event(span, event) {
            span.events.push(event.clone());
        }
    }
    let place = |event: &SpanEvent| (event.timestamp.instant(), log_id(event).map(str::to_owned));
    span.events.sort_by_cached_key(place);
}

fn log_id(event: &SpanEvent) -> Option<&str> {
    text(&event.attributes, LOG_ID)
}

fn has_event(span: &SpanRecord, event: &SpanEvent) -> bool {
    let id = log_id(event);
    id.is_some() && span.events.iter().any(|known| log_id(known) == id)
}

/// The bytes that attributes hold, more or less.
fn held_bytes(attributes: &Map<String, Value>) -> usize {
    let values = attributes.values();
    values.map(|value| value.as_str().map_or(64, str::len)).sum()
}

/// Attributes of the question and the answer of a model call.
const CONTENT_KEYS: [&str; 4] = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
];

/// The content attributes that an event carries for its span.
fn content_of(events: &[SpanEvent]) -> Map<String, Value> {
    let details = events.iter().filter(|event| event.name == DETAILS);
    details
        .flat_map(|event| selected(&event.attributes, &CONTENT_KEYS))
        .collect()
}

fn read_source(span: &SpanRecord, call: Option<EventType>, held: &mut usize) -> CallSource {
    let start = span.start_time.instant();
    let attributes = &span.attributes;
    let find = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| text(attributes, key))
            .map(str::to_owned)
    };
    let event = find(&[FROM_LOG]);
    let call_id = match (call, event.as_deref()) {
        (Some(EventType::ToolCall), _) | (_, Some(DECISION)) => find(&[
            "gen_ai.tool.call.id",
            "gen_ai.tool.call_id",
            "tool_use_id",
            "call_id",
        ]),
        _ => find(&["gen_ai.response.id", REQUEST_ID]),
    };
    let sources = CallSource {
        id: span.span_id,
        call,
        start,
        end: span.end_time.as_ref().map_or(start, StoredTime::instant),
        call_id,
        prompt_id: find(&["prompt.id", "prompt_id"]),
        query_source: find(&["query_source"]),
        model: find(&[
            "gen_ai.request.model",
            "gen_ai.response.model",
            "model",
            "gen_ai.tool.name",
        ])
        .map(|name| normal_model_name(&name)),
        output_tokens: number(attributes, OUTPUT_TOKENS).or(number(attributes, "output_tokens")),
        reasoning_tokens: number(attributes, REASONING_TOKENS),
        arguments: arguments(attributes).filter(|_| call == Some(EventType::ToolCall)),
        has_prompt: attributes.contains_key("gen_ai.input.messages"),
        has_answer: attributes.contains_key("gen_ai.output.messages"),
        adds: match &event {
            None => Map::new(),
            Some(_) if *held >= MAX_HELD_BYTES => Map::new(),
            Some(_) if call.is_some() => selected(attributes, &ADDED_BY_CALL),
            Some(event) if event == DETAILS => {
                selected(attributes, CONTENT_KEYS.iter().chain(&ADDED_BY_DETAILS))
            }
            Some(event) => adds(event, attributes),
        },
        event,
    };
    *held += held_bytes(&sources.adds);
    *held += sources.arguments.as_ref().map_or(0, String::len);
    sources
}

/// The arguments of a tool call: the Gemini CLI's spans have them within the request of the call.
fn arguments(attributes: &Map<String, Value>) -> Option<String> {
    let structure = |key: &str| match attributes.get(key)? {
        Value::String(text) => parsed(text),
        value => Some(value.clone()),
    };
    let arguments = structure("gen_ai.tool.call.arguments").or_else(|| {
        structure("gen_ai.input.messages")?
            .get_mut("args")
            .map(Value::take)
    });
    // The keys of an object are sorted.
    Some(arguments?.to_string())
}

/// The attributes with these keys.
fn selected<'a>(
    attributes: &Map<String, Value>,
    keys: impl IntoIterator<Item = &'a &'a str>,
) -> Map<String, Value> {
    let keys = keys.into_iter();
    keys.filter_map(|key| Some(((*key).to_owned(), attributes.get(*key)?.clone())))
        .collect()
}

/// Attributes that the details of a call, logged by themselves, add to it, besides its content.
const ADDED_BY_DETAILS: [&str; 3] = [
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.response.finish_reasons",
];

/// Attributes that only the log may have of a call that was sent as a span, too.
const ADDED_BY_CALL: [&str; 9] = [
    "cost_usd",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.model",
    REASONING_TOKENS,
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
];

/// Attributes that an event adds to its call.
fn adds(event: &str, attributes: &Map<String, Value>) -> Map<String, Value> {
    let mut adds = Map::new();
    let mut set = |key: &str, value: Value| adds.insert(key.to_owned(), value);
    match event {
        "assistant_response" => {
            if let Some(response) = text(attributes, "response") {
                set("gen_ai.output.messages", message("assistant", response));
            }
        }
        "user_prompt" => {
            if let Some(prompt) = text(attributes, "prompt").filter(|prompt| !is_redacted(prompt)) {
                set("gen_ai.input.messages", message("user", prompt));
            }
        }
        "api_request" => {
            if let Some(request) = text(attributes, "request_text") {
                set(
                    "gen_ai.input.messages",
                    parsed(request).unwrap_or_else(|| message("user", request)),
                );
            }
        }
        "api_request_body" => {
            let body = text(attributes, "body").and_then(parsed).unwrap_or_default();
            for (from, to) in [
                ("messages", "gen_ai.input.messages"),
                ("system", "gen_ai.system_instructions"),
                ("tools", "gen_ai.tool.definitions"),
            ] {
                if let Some(value) = body.get(from) {
                    set(to, value.clone());
                }
            }
        }
        "api_response_body" => {
            let body = text(attributes, "body").and_then(parsed).unwrap_or_default();
            if let Some(content) = body.get("content") {
                set(
                    "gen_ai.output.messages",
                    serde_json::json!([{"role": "assistant", "content": content}]),
                );
            }
            if let Some(reason) = body["stop_reason"].as_str() {
                set("gen_ai.response.finish_reasons", serde_json::json!([reason]));
            }
        }
        "api_refusal" => {
            set("gen_ai.response.finish_reasons", serde_json::json!(["refusal"]));
        }
        DECISION => {
            for key in ["decision", "source"] {
                if let Some(word) = text(attributes, key) {
                    set(&format!("{DECISION}.{key}"), word.into());
                }
            }
        }
        _ => {}
    }
    if !adds.is_empty() {
        adds.insert(names::JOINED.written().to_owned(), event.into());
    }
    adds
}

/// Recognises what agents write in the place of a prompt that they do not log.
fn is_redacted(prompt: &str) -> bool {
    matches!(prompt, "<REDACTED>" | "[REDACTED]")
}

/// A list or an object; JSON within a text of JSON counts.
fn parsed(json: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(json).ok()?;
    let inner = value.as_str().and_then(|inner| serde_json::from_str(inner).ok());
    inner
        .or(Some(value))
        .filter(|value: &Value| value.is_array() || value.is_object())
}

/// A call that was logged and sent as a span is the span, which gets what only the log says; a refusal of a tool call
/// whose result was logged is none.
fn join_duplicates(plan: &mut JoinPlan, sources: &[CallSource]) {
    let is_span = |one: &&CallSource| one.event.is_none() && one.call.is_some();
    let spans = || sources.iter().filter(is_span);
    let by_id = by_call_id(spans());
    let mut by_model: HashMap<&str, CallsByTime<'_>> = HashMap::new();
    for span in spans() {
        if let Some(model) = &span.model {
            by_model.entry(model).or_default().push(span);
        }
    }
    let results = sources.iter().filter(|one| one.is_event("tool_result"));
    let results = last_by_call_id(results);
    let mut taken = HashSet::new();
    for logged in sources
        .iter()
        .filter(|one| one.event.is_some() && one.call.is_some())
    {
        let id = logged.call_id.as_deref();
        let result = id
            .and_then(|id| results.get(id))
            .filter(|_| logged.is_event(DECISION));
        if let Some(result) = result {
            plan.put(logged.id, *result);
            continue;
        }
        let same = id.and_then(|id| by_id.get(id).copied()).or_else(|| {
            let candidates = by_model
                .get(logged.model.as_deref()?)?
                .around(logged.start, logged.end)
                .filter(|span| is_same_call(span, logged) && !taken.contains(&span.id));
            // Of the calls of one tool that run at the same time, the one with these arguments.
            candidates.max_by_key(|span| {
                let has_them = logged.arguments.is_some() && span.arguments == logged.arguments;
                (has_them, Reverse((span.start, span.id)))
            })
        });
        if let Some(span) = same.filter(|span| span.call == logged.call) {
            taken.insert(span.id);
            let change = plan.put(logged.id, span.id);
            change.add(logged.adds.clone());
            if let (Some(known), Some(output)) = (span.output_tokens, logged.output_tokens)
                && known < output
                && has_same_output(span, logged)
            {
                // The span leaves out reasoning, which is output.
                change.replace(OUTPUT_TOKENS, output.into());
            }
        }
    }
}

/// The same tokens, of calls of one model at one time.
fn is_same_call(span: &CallSource, logged: &CallSource) -> bool {
    span.call == logged.call
        && (span.call_id.is_none() || logged.call_id.is_none())
        && has_same_output(span, logged)
}

/// Compares the output that two records count, reasoning included or not: the Gemini CLI's spans leave it out.
fn has_same_output(span: &CallSource, logged: &CallSource) -> bool {
    let with_reasoning = || Some(span.output_tokens?.saturating_add(logged.reasoning_tokens?));
    span.output_tokens == logged.output_tokens
        || logged.output_tokens.is_some() && with_reasoning() == logged.output_tokens
}

/// Puts the permission of a tool call into the call.
fn join_decisions(plan: &mut JoinPlan, sources: &[CallSource]) {
    let tools = sources
        .iter()
        .filter(|one| one.call == Some(EventType::ToolCall) && !plan.dropped.contains(&one.id));
    let by_id = last_by_call_id(tools);
    for decision in sources
        .iter()
        .filter(|one| one.call.is_none() && one.is_event(DECISION))
    {
        let tool = decision.call_id.as_deref().and_then(|id| by_id.get(id));
        if let Some(tool) = tool {
            plan.put(decision.id, *tool).add(decision.adds.clone());
        }
    }
}

/// Prompts and answers that were logged by themselves belong to the call that they name, or to the next one.
fn join_content(plan: &mut JoinPlan, sources: &[CallSource]) {
    let left = |one: &&CallSource| one.call == Some(EventType::LlmCall) && !plan.dropped.contains(&one.id);
    let mut calls = CallsByTime::default();
    sources.iter().filter(left).for_each(|call| calls.push(call));
    let known = by_call_id(calls.calls.iter().copied());
    let mut by_end = calls.calls.clone();
    by_end.sort_by_key(|call| (call.end, call.id));
    // The calls before it have ended, or have their prompt.
    let mut next_call = 0;
    let mut prompted = HashSet::new();
    let mut detailed = HashSet::new();
    let mut answered: HashSet<(SpanId, &str)> = HashSet::new();
    for record in sources
        .iter()
        .filter(|one| one.call.is_none() && !one.adds.is_empty() && !one.is_event(DECISION))
    {
        let by_id = || known.get(record.call_id.as_deref()?).copied();
        let may_be_next = |call: &CallSource| call.end >= record.start && !prompted.contains(&call.id);
        while calls.calls.get(next_call).is_some_and(|call| !may_be_next(call)) {
            next_call += 1;
        }
        let next = |matches: &dyn Fn(&CallSource) -> bool| {
            let calls = calls.calls.get(next_call..).unwrap_or_default().iter().copied();
            calls.filter(|call| may_be_next(call)).find(|call| matches(call))
        };
        let may_be_same =
            |one: &Option<String>, other: &Option<String>| one.is_none() || other.is_none() || one == other;
        let has_same_source = |call: &CallSource| {
            may_be_same(&call.query_source, &record.query_source)
                && may_be_same(&call.prompt_id, &record.prompt_id)
        };
        let event = record.event.as_deref().unwrap_or_default();
        let call = match event {
            "user_prompt" => {
                next(&|call| may_be_same(&call.prompt_id, &record.prompt_id)).filter(|call| !call.has_prompt)
            }
            "api_request" | "api_request_body" => by_id().or_else(|| next(&has_same_source)),
            DETAILS => calls
                .around(record.start, record.start)
                .find(|call| has_same_output(record, call) && detailed.insert(call.id)),
            // Logged when the call has ended: of those without an ID in common it is the last one that has.
            _ => by_id().or_else(|| {
                let may_be_its_call =
                    |call: &&CallSource| may_be_same(&call.call_id, &record.call_id) && has_same_source(call);
                let ended =
                    by_end.partition_point(|call| call.end.microseconds_since(record.start) <= TOLERANCE_US);
                let ended = by_end.get(..ended).unwrap_or_default().iter().rev().copied();
                let last = ended.into_iter().find(may_be_its_call)?;
                (!answered.contains(&(last.id, event))).then_some(last)
            }),
        };
        let Some(call) = call else { continue };
        if !matches!(
            event,
            DETAILS | "assistant_response" | "api_response_body" | "api_refusal"
        ) {
            prompted.insert(call.id);
        }
        answered.insert((call.id, event));
        let change = plan.change(call.id);
        change.add(record.adds.clone());
        if event == DETAILS {
            // The log of a call has the answer as the vendor's text, if at all.
            for (key, is_in_span) in [
                ("gen_ai.input.messages", call.has_prompt),
                ("gen_ai.output.messages", call.has_answer),
            ] {
                if let (Some(messages), false) = (record.adds.get(key), is_in_span && call.event.is_none()) {
                    change.replace(key, messages.clone());
                }
            }
        }
        // The user's words stay as a step of their own, and a request that is no call says when it was made.
        if !matches!(event, "user_prompt" | "api_request") {
            plan.put(record.id, call.id);
        }
    }
}

/// Starts a call whose end alone was logged with the request before it.
fn join_starts(plan: &mut JoinPlan, sources: &[CallSource]) {
    let mut request: Option<&CallSource> = None;
    for one in sources {
        match one.event.as_deref() {
            Some("api_request") if one.call.is_none() => request = Some(one),
            Some("sse_event") if one.call.is_some() && one.start == one.end => {
                if let Some(request) = request.take() {
                    plan.change(one.id).start = Some(request.start);
                }
            }
            _ => {}
        }
    }
}
