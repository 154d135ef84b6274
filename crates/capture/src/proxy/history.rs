//! The history that a request carries, in normal form, as hashes: a request continues an answer when two of them are equal.
//!
//! The normal form has texts, calls by name and arguments, and results, each by who said it; no instructions, reasoning, IDs,
//! marks for caches, white space, bounds between messages, or text of an answer that calls, which some clients drop.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use serde_json::Value;
use tracer_insight::conversation::{Message, MessagePart, Role, Speaker, embedded_json, prompt_messages};
use tracer_insight::text::beginning;

/// The most that is kept of what a request says, in bytes.
const MAX_SAID_BYTES: usize = 16 * 1024;

/// The members of a request that name what it continues, instead of repeating it: an answer, else a conversation.
const REFERENCES: [&str; 3] = ["previous_response_id", "previous_interaction_id", "conversation"];

/// Conversation history that a request carries.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    said: Chain,
    /// The last message before an answer.
    before: u64,
    /// The answer that was read last, as long as nothing is behind it: its texts, and its calls.
    answer: Option<[Chain; 2]>,
    /// The end of the last answer.
    pub(super) end: Option<AnswerEnd>,
    /// Each answer with the message before it.
    pub(super) answers: Vec<u64>,
    /// The answer, or the conversation, that the request refers to.
    pub(super) reference: Option<u64>,
    /// The reference is a conversation.
    pub(super) is_shared: bool,
    /// The hash of the instructions without the times of day in them.
    pub(super) instructions: u64,
    /// The first message that is no instruction.
    pub(super) first: u64,
    /// The beginning of what the user said before the first answer.
    pub(super) question: String,
    /// The beginning of all texts.
    pub(super) texts: String,
    /// The results behind the last answer.
    pub(super) results: Vec<MessagePart>,
    /// The results before it, of calls whose ID the request has once.
    pub(super) earlier: Vec<MessagePart>,
}

/// The hashes at the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerEnd {
    /// Of all that was said until then.
    pub(super) all: u64,
    /// Of the answer with the message before it.
    pub(super) latest: u64,
    /// Of the IDs of its calls.
    pub(super) ids: u64,
}

impl History {
    /// Reads the body of a request.
    pub(super) fn of(request: &Value) -> Self {
        let mut history = Self::default();
        let named = |key: &&'static str| {
            let named = request.get(*key)?;
            Some((named.as_str().or_else(|| named["id"].as_str())?, *key))
        };
        if let Some((id, key)) = REFERENCES.iter().find_map(named) {
            history.said.add(id);
            history.reference = Some(hash(&id));
            history.is_shared = key == "conversation";
        }
        let mut instructions = DefaultHasher::new();
        let messages = prompt_messages(request);
        for message in &messages {
            for part in &message.parts {
                let MessagePart::Text(text) = part else { continue };
                let is_question = message.role == Role::User && history.end.is_none();
                let question = is_question.then_some(&mut history.question);
                for kept in question.into_iter().chain([&mut history.texts]) {
                    if let Some(room) = MAX_SAID_BYTES.checked_sub(kept.len()) {
                        kept.push_str(beginning(text, room));
                        kept.push('\n');
                    }
                }
                if message.speaker() == Speaker::System {
                    let words = text.split_whitespace().filter(|word| !is_time(word));
                    words.for_each(|word| word.hash(&mut instructions));
                }
            }
            if message.speaker() != Speaker::System {
                history.add(message, is_of_model(message));
            }
        }
        history.instructions = instructions.finish();
        history.keep_earlier(&messages);
        history
    }

    /// Keeps those of the earlier results whose calls cannot be confused.
    fn keep_earlier(&mut self, messages: &[Message]) {
        if self.earlier.is_empty() {
            return;
        }
        let mut asked: HashMap<&str, usize> = HashMap::new();
        for part in messages.iter().flat_map(|message| &message.parts) {
            if let MessagePart::ToolCall { id: Some(id), .. } = part {
                *asked.entry(id).or_default() += 1;
            }
        }
        self.earlier.retain(|part| match part {
            MessagePart::ToolResult { id: Some(id), .. } => asked.get(id.as_str()) == Some(&1),
            _ => false,
        });
    }

    fn add(&mut self, message: &Message, by_model: bool) {
        if by_model {
            return self.add_answer(message);
        }
        self.said = self.all();
        self.answer = None;
        let mut alone = Chain::default();
        for part in &message.parts {
            self.said.part(part, false);
            alone.part(part, false);
            if matches!(part, MessagePart::ToolResult { .. }) {
                self.results.push(part.clone());
            }
        }
        self.before = alone.finish();
        if self.first == 0 {
            self.first = self.before;
        }
    }

    fn add_answer(&mut self, message: &Message) {
        self.earlier.append(&mut self.results);
        let end = self.end.filter(|_| self.answer.is_some());
        if end.is_some() {
            self.answers.pop();
        }
        let mut ids = end.map_or(0, |end| end.ids);
        let [texts, calls] = self.answer.get_or_insert_default();
        for part in &message.parts {
            let is_text = matches!(part, MessagePart::Text(_));
            if is_text { &mut *texts } else { &mut *calls }.part(part, true);
            if let MessagePart::ToolCall { id, .. } = part {
                ids = hash(&(ids, id));
            }
        }
        let latest = hash(&(self.before, said_in(texts, calls)));
        self.answers.push(latest);
        self.end = Some(AnswerEnd {
            all: self.all().finish(),
            latest,
            ids,
        });
    }

    /// All that was said.
    fn all(&self) -> Chain {
        let mut all = self.said.clone();
        if let Some([texts, calls]) = &self.answer {
            all.add(said_in(texts, calls));
        }
        all
    }

    /// Hash of all that the request says; 0 where its conversation is unknown.
    pub(super) fn whole(&self) -> u64 {
        self.all().finish()
    }

    /// The end of an answer to the request, where that says anything.
    pub(super) fn after(&self, answer: &[Message]) -> Option<AnswerEnd> {
        let mut all = Self {
            said: self.said.clone(),
            answer: self.answer.clone(),
            before: self.before,
            end: self.end,
            ..Self::default()
        };
        for message in answer {
            all.add_answer(message);
        }
        all.end.filter(|end| end.all != self.whole())
    }
}

/// True of a word that a later attempt has another of: a time of day, alone or behind a date, and the seconds or milliseconds after
/// 1970 of a year like ours.
fn is_time(word: &str) -> bool {
    let word = word.trim_matches(|char: char| !char.is_alphanumeric());
    is_clock(word.rsplit(['T', '_']).next().unwrap_or(word)) || is_epoch(word)
}

/// True of `12:00`, `9:05:30`, `12:00:01.5`, with an offset or a `Z` behind it.
fn is_clock(word: &str) -> bool {
    let time = word.trim_end_matches(['Z', 'z']);
    let time = time.split(['+', '-', '.']).next().unwrap_or(time);
    let mut parts = time.split(':');
    let is_part = |part: &str, digits: RangeInclusive<usize>| {
        digits.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let has_hour = parts.next().is_some_and(|hour| is_part(hour, 1..=2));
    let has_minute = parts.next().is_some_and(|minute| is_part(minute, 2..=2));
    has_hour
        && has_minute
        && parts.next().is_none_or(|second| is_part(second, 2..=2))
        && parts.next().is_none()
}

fn is_epoch(word: &str) -> bool {
    let (seconds, fraction) = word.split_once('.').unwrap_or((word, ""));
    let is_number = seconds
        .bytes()
        .chain(fraction.bytes())
        .all(|byte| byte.is_ascii_digit());
    let seconds = seconds
        .get(..10)
        .filter(|_| is_number && matches!(seconds.len(), 10 | 13));
    let seconds = seconds.and_then(|seconds| seconds.parse::<u32>().ok());
    // The years 2023 to 2036.
    seconds.is_some_and(|seconds| (1_672_531_200..2_082_758_400).contains(&seconds))
}

/// True of an answer, in one message or in several: some APIs have a call, or reasoning, without a role.
fn is_of_model(message: &Message) -> bool {
    let is_answer =
        |part: &MessagePart| matches!(part, MessagePart::ToolCall { .. } | MessagePart::Reasoning(_));
    message.role == Role::Assistant || message.parts.iter().any(is_answer)
}

/// The results in messages.
pub(super) fn results_in(messages: &[Message]) -> Vec<MessagePart> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter(|part| matches!(part, MessagePart::ToolResult { .. }))
        .cloned()
        .collect()
}

fn said_in(texts: &Chain, calls: &Chain) -> u64 {
    let calls = calls.finish();
    if calls == 0 { texts.finish() } else { calls }
}

/// A hash of texts, calls and results in order; 0 of nothing. Texts of one side that follow each other are one.
#[derive(Debug, Clone, Default)]
struct Chain {
    closed: u64,
    text: Option<(bool, DefaultHasher)>,
}

impl Chain {
    fn part(&mut self, part: &MessagePart, by_model: bool) {
        match part {
            MessagePart::Text(text) | MessagePart::Refusal(text) => {
                for word in text.split_whitespace() {
                    if self.text.as_ref().is_none_or(|(side, _)| *side != by_model) {
                        self.closed = self.finish();
                        self.text = Some((by_model, DefaultHasher::new()));
                    }
                    if let Some((_, hasher)) = &mut self.text {
                        hasher.write(word.as_bytes());
                    }
                }
            }
            MessagePart::ToolCall { name, arguments, .. } => self.add((name, canonical(arguments))),
            MessagePart::ToolResult { value, .. } => self.add(canonical(value)),
            MessagePart::Media(media) => self.add(format!("{media:?}")),
            MessagePart::Reasoning(_) | MessagePart::Unknown(_) => {}
        }
    }

    fn add(&mut self, item: impl Hash) {
        self.closed = hash(&(self.finish(), item));
        self.text = None;
    }

    fn finish(&self) -> u64 {
        let text = self.text.as_ref();
        text.map_or(self.closed, |(side, text)| {
            hash(&(self.closed, side, text.finish()))
        })
    }
}

/// A value as text, whether it was sent as JSON or as the text of that; nothing where it has nothing.
fn canonical(value: &Value) -> String {
    let json = value.as_str().and_then(embedded_json);
    let text = match json.as_ref().unwrap_or(value) {
        Value::String(text) => text.trim().to_owned(),
        json => json.to_string(),
    };
    if text == "{}" || text == "null" {
        String::new()
    } else {
        text
    }
}

/// A hash that is never 0.
pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish().max(1)
}
