//! The history that a request carries, in normal form, as hashes: a request continues an answer when two of them are equal.
//!
//! The normal form has texts, calls by name and arguments, and results, each by who said it; no instructions, reasoning, IDs,
//! marks for caches, white space or bounds between messages. The loose one has calls and texts alone, no results, and no text of
//! an answer that calls.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use tracer_insight::conversation::{Message, MessagePart, Role, Speaker, embedded_json, prompt_messages};

/// The most that is kept of what a request says, in bytes; a text that goes beyond it is taken whole.
const MAX_SAID_BYTES: usize = 16 * 1024;

/// The members of a request that name the answer which it continues, instead of repeating what was before.
const REFERENCES: [&str; 2] = ["previous_response_id", "previous_interaction_id"];

/// A result of a tool, behind the last answer that a request repeats.
#[derive(Debug, Clone)]
pub(super) struct BroughtResult {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) value: Value,
    pub(super) is_error: bool,
}

impl BroughtResult {
    /// The results in messages of which `is_one` is true, in order.
    pub(super) fn all(messages: &[Message], is_one: impl Fn(&Message) -> bool) -> Vec<Self> {
        let parts = messages
            .iter()
            .filter(|message| is_one(message))
            .flat_map(|message| &message.parts);
        parts
            .filter_map(|part| match part.clone() {
                MessagePart::ToolResult {
                    id,
                    name,
                    value,
                    is_error,
                } => Some(Self {
                    id,
                    name,
                    value,
                    is_error,
                }),
                _ => None,
            })
            .collect()
    }
}

/// What a request says of the conversation that it is part of.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    all: Said,
    /// The answer or the conversation that the request refers to.
    pub(super) reference: Option<u64>,
    /// The conversation that it names.
    pub(super) conversation: Option<u64>,
    pub(super) instructions: u64,
    /// The first message that is no instruction.
    pub(super) first: u64,
    /// What the user said before the first answer.
    pub(super) question: String,
    /// The beginning of what the request says in all.
    pub(super) said: String,
    /// The IDs of the calls in the last answer.
    pub(super) call_ids: u64,
    /// The results behind the last answer.
    pub(super) results: Vec<BroughtResult>,
}

/// The hashes at the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) strict: u64,
    pub(super) loose: u64,
    /// Of the answer with the message before it alone.
    pub(super) latest: u64,
}

impl History {
    /// Reads the body of a request.
    pub(super) fn of(request: &Value) -> Self {
        let messages = prompt_messages(request);
        let mut history = Self::default();
        let named = |key: &str| {
            let named = request.get(key)?;
            named
                .as_str()
                .or_else(|| named.get("id")?.as_str())
                .map(reference_hash)
        };
        history.conversation = named("conversation");
        let answer = REFERENCES.iter().find_map(|key| named(key));
        history.reference = answer.or(history.conversation);
        if let Some(reference) = history.reference {
            history.all.strict.add(reference);
            history.all.loose.add(reference);
        }
        let mut instructions = Chain::default();
        for message in &messages {
            let texts = message.parts.iter().filter_map(|part| match part {
                MessagePart::Text(text) => Some(text),
                _ => None,
            });
            for text in texts.clone() {
                if history.said.len() < MAX_SAID_BYTES {
                    history.said.push_str(text);
                    history.said.push('\n');
                }
            }
            if message.speaker() == Speaker::System {
                texts.for_each(|text| instructions.text(false, text));
                continue;
            }
            let by_model = is_of_model(message);
            if message.role == Role::User && !by_model && history.all.last.is_none() {
                for text in texts {
                    history.question.push_str(text);
                    history.question.push('\n');
                }
            }
            history.all.add(message, by_model);
            if history.first == 0 {
                history.first = history.all.before;
            }
        }
        history.instructions = instructions.finish();
        let last = messages.iter().rposition(is_of_model);
        let behind = messages
            .get(last.map_or(0, |last| last + 1)..)
            .unwrap_or_default();
        history.results = BroughtResult::all(behind, |_| true);
        if let Some(last) = last {
            let answer = messages.get(..=last).unwrap_or_default();
            let first = answer.iter().rposition(|message| !is_of_model(message));
            history.call_ids = call_ids(
                answer
                    .get(first.map_or(0, |first| first + 1)..)
                    .unwrap_or_default(),
            );
        }
        history
    }

    /// True where nothing is known of the conversation.
    pub(super) fn is_empty(&self) -> bool {
        self.all.strict.is_empty()
    }

    /// The hashes up to the last answer that the request repeats.
    pub(super) fn continues(&self) -> Option<Ends> {
        self.all.last
    }

    /// The hash of all that the request says.
    pub(super) fn whole(&self) -> u64 {
        self.all.strict.finish()
    }

    /// The hashes behind an answer to the request.
    pub(super) fn after(&self, answer: &[Message]) -> Option<Ends> {
        let mut all = self.all.clone();
        for message in answer {
            all.add(message, true);
        }
        all.last.filter(|last| last.strict != self.whole())
    }

    /// True if the request repeats an answer, with the message before it, that has this hash.
    pub(super) fn repeats(&self, latest: u64) -> bool {
        self.all.answers.contains(&latest)
    }
}

/// The hash of the ID of an answer, or of a conversation.
pub(super) fn reference_hash(id: &str) -> u64 {
    hash(&("reference", id))
}

/// The hash of the IDs of the calls in an answer.
pub(super) fn call_ids(answer: &[Message]) -> u64 {
    let parts = answer.iter().flat_map(|message| &message.parts);
    let ids: Vec<&str> = parts
        .filter_map(|part| match part {
            MessagePart::ToolCall { id, .. } => id.as_deref(),
            _ => None,
        })
        .collect();
    hash(&ids)
}

/// True of an answer, in one message or in several: some APIs have a call, or reasoning, without a role.
fn is_of_model(message: &Message) -> bool {
    let is_answer =
        |part: &MessagePart| matches!(part, MessagePart::ToolCall { .. } | MessagePart::Reasoning(_));
    message.role == Role::Assistant || message.parts.iter().any(is_answer)
}

/// Both forms of what was said so far.
#[derive(Debug, Clone, Default)]
struct Said {
    strict: Chain,
    /// Without the answer that is read.
    loose: Chain,
    /// The last message before an answer.
    before: u64,
    /// The answer that is read: in the strict form, its texts and its calls.
    answer: Option<[Chain; 3]>,
    /// The hashes behind the last answer.
    last: Option<Ends>,
    /// Each answer with the message before it; the last one as far as it is read.
    answers: Vec<u64>,
}

impl Said {
    fn add(&mut self, message: &Message, by_model: bool) {
        if !by_model {
            if self.answer.take().is_some() {
                self.loose = self.closed();
            }
            let mut alone = Chain::default();
            for part in &message.parts {
                self.strict.part(part, false);
                alone.part(part, false);
                if let MessagePart::Text(text) = part {
                    self.loose.text(false, text);
                }
            }
            if !alone.is_empty() {
                self.before = alone.finish();
            }
            return;
        }
        let is_new = self.answer.is_none();
        let [alone, texts, calls] = self.answer.get_or_insert_default();
        for part in &message.parts {
            self.strict.part(part, true);
            alone.part(part, true);
            match part {
                MessagePart::Text(text) => texts.text(true, text),
                MessagePart::ToolCall { .. } => calls.part(part, true),
                _ => {}
            }
        }
        let latest = hash(&(self.before, alone.finish()));
        if !is_new {
            self.answers.pop();
        }
        self.answers.push(latest);
        self.last = Some(Ends {
            strict: self.strict.finish(),
            loose: self.closed().finish(),
            latest,
        });
    }

    /// The loose form with the answer that is read.
    fn closed(&self) -> Chain {
        let mut loose = self.loose.clone();
        if let Some([_, texts, calls]) = &self.answer {
            let said = if calls.is_empty() { texts } else { calls };
            loose.add(said.finish());
        }
        loose
    }
}

/// A hash of texts, calls and results in order. Texts of one side that follow each other are one.
#[derive(Debug, Clone, Default)]
struct Chain {
    closed: u64,
    text: Option<(bool, DefaultHasher)>,
}

impl Chain {
    fn part(&mut self, part: &MessagePart, by_model: bool) {
        match part {
            MessagePart::Text(text) | MessagePart::Refusal(text) => self.text(by_model, text),
            MessagePart::ToolCall { name, arguments, .. } => self.add((name, canonical(arguments))),
            MessagePart::ToolResult { value, .. } => self.add(canonical(value)),
            MessagePart::Media(media) => self.add(format!("{media:?}")),
            MessagePart::Reasoning(_) | MessagePart::Unknown(_) => {}
        }
    }

    fn text(&mut self, by_model: bool, text: &str) {
        for word in text.split_whitespace() {
            if self.text.as_ref().is_none_or(|(side, _)| *side != by_model) {
                self.close();
            }
            let (_, hasher) = self.text.get_or_insert_with(|| (by_model, DefaultHasher::new()));
            hasher.write(word.as_bytes());
        }
    }

    fn add(&mut self, item: impl Hash) {
        self.close();
        self.closed = hash(&(self.closed, item));
    }

    fn close(&mut self) {
        if let Some((by_model, hasher)) = self.text.take() {
            self.closed = hash(&(self.closed, by_model, hasher.finish()));
        }
    }

    fn is_empty(&self) -> bool {
        self.closed == 0 && self.text.is_none()
    }

    fn finish(&self) -> u64 {
        let mut chain = self.clone();
        chain.close();
        chain.closed
    }
}

/// A value as text, whether it was sent as JSON or as the text of that; nothing where it has nothing.
fn canonical(value: &Value) -> String {
    let text = match value {
        Value::String(text) => {
            embedded_json(text).map_or_else(|| text.trim().to_owned(), |json| json.to_string())
        }
        value => value.to_string(),
    };
    if ["{}", "null"].contains(&text.as_str()) {
        return String::new();
    }
    text
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
