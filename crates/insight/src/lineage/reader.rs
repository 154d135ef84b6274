//! [`LineageReader`]: finds the places of a value while the records of a run go by, then its source.

use std::collections::HashMap;
use std::io::Write as _;

use serde_json::{Map, Value};
use tracer_sdk::format::{Payload, Record, SPEC_VERSION, Timestamp, TraceId};

use super::gap::InputGap;
use super::needle::Needle;
use super::{Lineage, LineageVerdict, PlaceKind, ValueMatch, ValuePlace, words};
use crate::conversation::{
    Message, MessagePart, Speaker, answer_messages, offered_tools, prompt_messages, unwrapped, value_key,
};
use crate::digest::fingerprint;
use crate::{step_summary, steps};

/// Places that are listed.
const MAX_PLACES: usize = 12;

/// A place before anybody used the value.
#[derive(Debug)]
struct Origin {
    place: ValuePlace,
    /// The arguments had the value already: the result only repeats it.
    is_echo: bool,
    /// A model had said it before: this may only repeat it.
    is_after: bool,
    end: Option<Timestamp>,
}

/// A model call that has the value in its input or its answer, or may have it.
#[derive(Debug)]
struct AskingCall {
    place: ValuePlace,
    step: usize,
    /// The places of its input, by their position.
    inputs: Vec<usize>,
    is_answer: bool,
    /// Tools that its answer passes the value to, with the arguments.
    asked: Vec<(String, u64)>,
    has_answer: bool,
    gap: Option<InputGap>,
}

/// A tool call with the value in its arguments.
#[derive(Debug)]
struct ValueUse {
    place: ValuePlace,
    step: usize,
    arguments: u64,
    start: Option<Timestamp>,
}

/// Finds where a value came from while the records of a run go by, in the order of time.
#[derive(Debug)]
pub struct LineageReader {
    value: String,
    needle: Needle,
    origins: Vec<Origin>,
    /// The positions of the origins with a content.
    by_content: HashMap<u64, Vec<usize>>,
    calls: Vec<AskingCall>,
    uses: Vec<ValueUse>,
    /// When the record that is read ended.
    end: Option<Timestamp>,
}

impl LineageReader {
    /// Looks for a value.
    pub fn new(value: &str) -> Self {
        Self {
            value: value.to_owned(),
            needle: Needle::new(value),
            origins: Vec::new(),
            by_content: HashMap::new(),
            calls: Vec::new(),
            uses: Vec::new(),
            end: None,
        }
    }

    /// Returns whether a tool was passed the value.
    pub(crate) fn is_passed(&self) -> bool {
        !self.uses.is_empty()
    }

    /// Takes the record of a step with the attributes of its span, which may have the tools that a model was offered; 0 is
    /// the number of the start of the run.
    pub fn take(&mut self, step: usize, record: &Record, attributes: &Map<String, Value>) {
        if record.is_leftover() || self.needle.is_empty() {
            return;
        }
        self.end = record.end.or_else(|| record.ts.parse().ok());
        let at = |kind, name: &str, found| place(step, record, kind, name, found);
        match &record.payload {
            Payload::RunStart { argv, .. } => {
                let question = record.question().and_then(|question| self.needle.find(question));
                let argument = argv
                    .iter()
                    .filter_map(|argument| self.needle.find_in_text(argument))
                    .max();
                if let Some(found) = question.max(argument) {
                    self.add(at(PlaceKind::RunInput, "", found), "");
                }
            }
            Payload::LlmCall { prompt, response, .. } => {
                self.take_call(step, record, (prompt, attributes), response);
            }
            Payload::ToolCall {
                tool_name,
                args,
                result,
                ..
            } => {
                let used = self.needle.find(args);
                if let Some(found) = used.filter(|found| *found > ValueMatch::Part) {
                    self.uses.push(ValueUse {
                        place: at(PlaceKind::Arguments, tool_name, found),
                        step,
                        arguments: content(unwrapped(args)),
                        start: record.ts.parse().ok(),
                    });
                }
                let result = unwrapped(result);
                let failure = step_summary::failure(&record.payload)
                    .and_then(|failure| self.needle.find_in_text(&failure.message));
                if let Some(found) = self.needle.find(result).max(failure) {
                    let place = at(PlaceKind::ToolResult, tool_name, found);
                    let origin = self.add(place, &value_key(result));
                    self.origins[origin].is_echo = used.is_some_and(|used| used > ValueMatch::Part);
                }
            }
            Payload::StateUpdate { state, .. } => {
                // A state that repeats a model is not the source.
                if let Some(found) = self.needle.find(state).filter(|_| !self.is_said()) {
                    self.add(at(PlaceKind::State, "", found), "");
                }
            }
            _ => {}
        }
    }

    fn is_said(&self) -> bool {
        self.calls.iter().any(|call| call.is_answer) || self.is_passed()
    }

    fn take_call(
        &mut self,
        step: usize,
        record: &Record,
        (prompt, attributes): (&Value, &Map<String, Value>),
        response: &Value,
    ) {
        let at = |kind, name: &str, found| place(step, record, kind, name, found);
        let messages = prompt_messages(prompt);
        let mut inputs = Vec::new();
        let mut gap = InputGap::of(prompt, attributes, &messages);
        for tool in offered_tools(prompt, Some(attributes)) {
            let definition = serde_json::to_value(&tool).unwrap_or_default();
            gap = gap.or_else(|| InputGap::of_tool(&definition));
            if let Some(found) = self.needle.find(&definition) {
                let place = at(PlaceKind::ToolDefinition, &tool.name, found);
                inputs.push(self.known_or_new(place, &definition.to_string()));
            }
        }
        let mut is_in_messages = false;
        let mut asked: Vec<(&Option<String>, &String, bool)> = Vec::new();
        for message in &messages {
            for part in &message.parts {
                let found = self.find_in_part(part);
                if let MessagePart::ToolCall { id, name, .. } = part {
                    asked.push((id, name, found.is_some_and(|found| found > ValueMatch::Part)));
                }
                let Some(found) = found else { continue };
                is_in_messages = true;
                match part {
                    MessagePart::ToolResult { id, name, value, .. } => {
                        let call = asked.iter().find(|(known, ..)| id.is_some() && *known == id);
                        let tool = call.map(|(_, name, _)| name.as_str()).or(name.as_deref());
                        let is_echo = call.is_some_and(|(.., has_value)| *has_value);
                        let place = at(PlaceKind::ToolResult, tool.unwrap_or_default(), found);
                        inputs.extend(self.result(place, is_echo, unwrapped(value)));
                    }
                    _ if self.may_be_from(message, found) => {
                        let kind = match message.speaker() {
                            Speaker::System => PlaceKind::SystemPrompt,
                            Speaker::User | Speaker::Tool => PlaceKind::UserMessage,
                            Speaker::Assistant => PlaceKind::EarlierAnswer,
                        };
                        let place = at(kind, &message.label(), found);
                        inputs.push(self.known_or_new(place, &format!("{part:?}")));
                    }
                    _ => {}
                }
            }
        }
        if inputs.is_empty() && !is_in_messages && !self.is_said() && self.needle.find(prompt).is_some() {
            gap.get_or_insert(InputGap::Elsewhere);
        }
        let answer = answer_messages(response);
        let mut call = AskingCall {
            place: at(PlaceKind::Answer, &steps::name(record), ValueMatch::Verbatim),
            step,
            inputs,
            is_answer: false,
            asked: Vec::new(),
            has_answer: !answer.is_empty() || step_summary::failed(record),
            gap,
        };
        for part in answer.iter().flat_map(|message| &message.parts) {
            let Some(found) = self.find_in_part(part).filter(|found| *found > ValueMatch::Part) else {
                continue;
            };
            match part {
                // The provider ran the tool: the model did not write what it returned.
                MessagePart::ToolResult { name, value, .. } => {
                    let place = at(PlaceKind::ToolResult, name.as_deref().unwrap_or_default(), found);
                    call.inputs.push(self.add(place, &value_key(unwrapped(value))));
                    continue;
                }
                MessagePart::ToolCall { name, arguments, .. } => {
                    call.asked.push((name.clone(), content(unwrapped(arguments))));
                }
                _ => {}
            }
            call.is_answer = true;
            call.place.found = found;
        }
        self.calls.push(call);
    }

    /// The origins of a result in an input: the steps that returned it, else itself.
    fn result(&mut self, place: ValuePlace, is_echo: bool, value: &Value) -> Vec<usize> {
        let key = value_key(value);
        if let Some(known) = self.by_content.get(&origin_key(place.kind, &key)) {
            return known.clone();
        }
        // The program may have changed the result of a step on the way.
        let is_it = |origin: &Origin| {
            origin.place.kind == place.kind && (place.name.is_empty() || place.name == origin.place.name)
        };
        if let Some(nearest) = self.origins.iter().rposition(is_it) {
            return vec![nearest];
        }
        let origin = self.add(place, &key);
        self.origins[origin].is_echo = is_echo;
        vec![origin]
    }

    /// Returns whether a text of a message in an input may be an origin: not where the model said it in this run.
    fn may_be_from(&self, message: &Message, found: ValueMatch) -> bool {
        // Of a part of something longer it is not known who said it, nor what an answer said that was not recorded.
        message.speaker() != Speaker::Assistant
            || found > ValueMatch::Part && !self.is_said() && self.calls.iter().all(|call| call.has_answer)
    }

    fn known_or_new(&mut self, place: ValuePlace, text: &str) -> usize {
        let known = self.by_content.get(&origin_key(place.kind, text));
        match known.and_then(|known| known.first()) {
            Some(known) => *known,
            None => self.add(place, text),
        }
    }

    fn add(&mut self, place: ValuePlace, text: &str) -> usize {
        let position = self.origins.len();
        self.by_content
            .entry(origin_key(place.kind, text))
            .or_default()
            .push(position);
        self.origins.push(Origin {
            place,
            is_echo: false,
            is_after: self.calls.iter().any(|call| call.is_answer),
            end: self.end,
        });
        position
    }

    fn find_in_part(&self, part: &MessagePart) -> Option<ValueMatch> {
        match part {
            MessagePart::Text(text) | MessagePart::Reasoning(text) | MessagePart::Refusal(text) => {
                self.needle.find_in_string(text, 0)
            }
            MessagePart::ToolCall { arguments: value, .. }
            | MessagePart::ToolResult { value, .. }
            | MessagePart::Unknown(value) => self.needle.find(value),
            MessagePart::Media(_) => None,
        }
    }

    /// The origin of the value as a step used it, or without one as its first use.
    #[must_use]
    pub fn finish(&self, run_id: TraceId, step: Option<usize>) -> Lineage {
        let used = self
            .uses
            .iter()
            .find(|used| step.is_none_or(|step| step == used.step));
        let is_wanted = |call: &&AskingCall| call.is_answer && step.is_none_or(|step| step == call.step);
        let asker = match used {
            Some(used) => self.asker(used),
            None => self.calls.iter().find(is_wanted),
        };
        let is_used = used.is_some() || asker.is_some();
        // Where the model had said it before, what it had then counts, too.
        let first = self.calls.iter().find(|call| call.is_answer);
        let given: Vec<usize> = match (asker, step) {
            (Some(asker), _) => [Some(asker), first.filter(|first| first.step < asker.step)]
                .into_iter()
                .flatten()
                .flat_map(|call| call.inputs.iter().copied())
                .collect(),
            (None, Some(step)) if !is_used => match self.calls.iter().find(|call| call.step == step) {
                Some(call) => call.inputs.clone(),
                None => self.positions(|origin| origin.place.step == Some(step)),
            },
            (None, _) => {
                let start = used.and_then(|used| used.start);
                self.positions(|origin| start.is_none() || origin.end.is_none() || origin.end <= start)
            }
        };
        let until = asker
            .map(|asker| asker.step)
            .or(used.map(|used| used.step))
            .or(step);
        let is_source = |position: &usize| {
            self.origins
                .get(*position)
                .is_some_and(|origin| !origin.is_echo && origin.place.found > ValueMatch::Part)
        };
        let mut sources: Vec<usize> = given.into_iter().filter(is_source).collect();
        // A value that came after a model had said it may repeat the model.
        if sources.iter().all(|position| self.origins[*position].is_after) {
            sources.clear();
        }
        let mut candidates = self.positions(|origin| {
            !origin.is_echo && until.is_none_or(|until| origin.place.step.is_none_or(|step| step <= until))
        });
        let earlier = self
            .calls
            .iter()
            .filter(|call| until.is_none_or(|until| call.step <= until));
        let gaps = earlier.rev().find_map(|call| Some(call.gap?.words(call.step)));
        let verdict = if !is_used && self.origins.is_empty() {
            LineageVerdict::Absent
        } else if self.needle.is_common() || sources.len() > MAX_PLACES {
            candidates.append(&mut sources);
            candidates.retain(is_source);
            LineageVerdict::Common
        } else if !sources.is_empty() {
            LineageVerdict::Found
        } else if asker.is_some() && candidates.is_empty() && gaps.is_none() {
            LineageVerdict::MadeUp
        } else {
            LineageVerdict::NotFound
        };
        let is_certain = matches!(verdict, LineageVerdict::Found | LineageVerdict::MadeUp);
        if is_certain {
            candidates.clear();
        }
        let (sources, more_sources) = self.nearest_first(sources);
        let (candidates, more_candidates) = self.nearest_first(candidates);
        let mut lineage = Lineage {
            spec_version: SPEC_VERSION,
            run_id,
            value: self.value.clone(),
            verdict,
            sentence: String::new(),
            used_by: used.map(|used| used.place.clone()),
            asked_by: asker.map(|asker| asker.place.clone()),
            sources,
            candidates,
            more: more_sources + more_candidates,
            limits: gaps.filter(|_| !is_certain).into_iter().collect(),
        };
        lineage.sentence = words::sentence(&lineage).plain();
        lineage
    }

    /// The model call that asked for a tool call: with the same arguments, for the same tool, or at least with the value.
    fn asker(&self, used: &ValueUse) -> Option<&AskingCall> {
        let before = || {
            self.calls
                .iter()
                .rev()
                .filter(|call| call.step < used.step && call.is_answer)
        };
        let same_tool = |call: &&AskingCall| call.asked.iter().any(|(tool, _)| *tool == used.place.name);
        let same = |call: &&AskingCall| {
            call.asked
                .iter()
                .any(|(tool, arguments)| *tool == used.place.name && *arguments == used.arguments)
        };
        before()
            .find(same)
            .or_else(|| before().find(same_tool))
            .or_else(|| before().next())
    }

    fn positions(&self, is_wanted: impl Fn(&Origin) -> bool) -> Vec<usize> {
        (0..self.origins.len())
            .filter(|position| is_wanted(&self.origins[*position]))
            .collect()
    }

    fn nearest_first(&self, mut positions: Vec<usize>) -> (Vec<ValuePlace>, u64) {
        positions.sort_unstable_by_key(|position| {
            std::cmp::Reverse((self.origins[*position].place.step, *position))
        });
        positions.dedup();
        let more = positions.len().saturating_sub(MAX_PLACES) as u64;
        let listed = positions.into_iter().take(MAX_PLACES);
        (
            listed
                .map(|position| self.origins[position].place.clone())
                .collect(),
            more,
        )
    }
}

fn place(step: usize, record: &Record, kind: PlaceKind, name: &str, found: ValueMatch) -> ValuePlace {
    let mut place = ValuePlace {
        kind,
        step: (step > 0).then_some(step),
        event_id: record.event_id.clone(),
        name: name.to_owned(),
        found,
        words: String::new(),
    };
    place.words = words::place(&place).plain();
    place
}

fn content(value: &Value) -> u64 {
    let key = value_key(value);
    origin_key(PlaceKind::Arguments, &key)
}

fn origin_key(kind: PlaceKind, text: &str) -> u64 {
    fingerprint(|hashing| {
        // Writing to a hash cannot fail.
        let _ = write!(hashing, "{}\0{text}", kind.as_str());
    })
}
