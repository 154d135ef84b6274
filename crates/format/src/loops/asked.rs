//! Hashes of a record's request and result, for comparison (decisions, section 7).

use super::value;
use crate::names::markers;
use crate::{Payload, Record, RecordedStatus};
use serde_json::Value;

/// Fields of a model call, a tool call or a state update that loop detection compares in addition to the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The kind of the record.
    pub kind: TrailKind,
    /// The arguments of a tool, the whole prompt of a model; `None` where they were not recorded.
    pub asked: Option<u64>,
    /// The last message of a prompt.
    pub last_message: Option<u64>,
    /// The result or the response; needed only where it is not known what was asked.
    pub came: Option<u64>,
    /// `true` when it failed.
    pub failed: bool,
    /// `true` when the compared content was truncated, so that equal hashes do not prove equal content.
    pub is_cut: bool,
}

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailKind {
    /// A model call.
    Model,
    /// A tool call.
    Tool,
    /// A state of the agent.
    State,
}

/// Result of comparing records at the same position of repetitions.
///
/// ```
/// use tracer_format::loops::Likeness;
///
/// assert!(Likeness::Same.is_loop() && Likeness::Unknown.is_loop() && !Likeness::Differs.is_loop());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Likeness {
    /// Their recorded contents differ.
    Differs,
    /// Neither what was asked nor what came of it was recorded, or it was cut.
    Unknown,
    /// They asked the same, or where that is not known, the same came of them.
    Same,
}

impl Likeness {
    /// Returns whether such repetitions count as a loop, for a guardrail and for the status of a run: all except those
    /// that are known to differ.
    ///
    /// ```
    /// assert!(!tracer_format::loops::Likeness::Differs.is_loop());
    /// ```
    #[must_use]
    pub const fn is_loop(self) -> bool {
        !matches!(self, Self::Differs)
    }

    /// Combines the results for two parts of a block: the weaker one.
    pub(crate) fn and(self, other: Self) -> Self {
        self.min(other)
    }

    fn of(is_same: bool, is_cut: bool) -> Self {
        match (is_same, is_cut) {
            (false, _) => Self::Differs,
            (true, true) => Self::Unknown,
            (true, false) => Self::Same,
        }
    }
}

impl Asked {
    /// The compared fields of a state: none.
    pub const STATE: Self = Self {
        kind: TrailKind::State,
        asked: None,
        last_message: None,
        came: None,
        failed: false,
        is_cut: false,
    };

    /// Compares this record to the one at the same position in another repetition of a block. In a block with a tool
    /// call, model calls match by their model: prompts grow.
    pub fn compare(&self, other: &Self, with_tools: bool) -> Likeness {
        let (asked, others) = match self.kind {
            TrailKind::State => return Likeness::Same,
            TrailKind::Model if with_tools => return Likeness::Same,
            TrailKind::Model => (self.last_message, other.last_message),
            TrailKind::Tool => (self.asked, other.asked),
        };
        asked
            .zip(others)
            .or_else(|| self.came.zip(other.came))
            .map_or(Likeness::Unknown, |(one, two)| {
                Likeness::of(one == two, self.is_cut || other.is_cut)
            })
    }

    /// The number of what this record is compared by; `None` where that is not known. The same rule as
    /// [`Asked::compare`] without a block: a model call stands by itself.
    pub fn compared_by(&self) -> Option<u64> {
        match self.kind {
            TrailKind::State => None,
            TrailKind::Model => self.last_message.or(self.came),
            TrailKind::Tool => self.asked.or(self.came),
        }
    }

    /// Returns whether this call, which directly follows `before` with the same signature, is a retry of it.
    pub fn tries_again(&self, before: &Self) -> bool {
        before.failed
            && self.kind == before.kind
            && self.kind != TrailKind::State
            && self.asked == before.asked
    }

    /// The compared fields of a record; `None` for records that loop detection ignores. `scalar` hashes the texts,
    /// numbers and words in values, each with the key that it is stored under.
    pub(crate) fn of_record(record: &Record, scalar: &impl Fn(Option<&str>, &Value) -> u64) -> Option<Self> {
        let number = |value: &Value| (!value.is_null()).then(|| value::of_value(value, None, scalar));
        Some(match &record.payload {
            Payload::LlmCall {
                prompt,
                response,
                status,
                ..
            } => {
                let last = last_message(prompt);
                Self {
                    kind: TrailKind::Model,
                    asked: number(prompt),
                    last_message: number(last),
                    came: number(response),
                    failed: *status == RecordedStatus::Error,
                    is_cut: is_cut(if prompt.is_null() { response } else { last }),
                }
            }
            Payload::ToolCall {
                args, result, status, ..
            } => Self {
                kind: TrailKind::Tool,
                asked: number(args),
                last_message: None,
                came: number(result),
                failed: *status == RecordedStatus::Error,
                is_cut: is_cut(if args.is_null() { result } else { args }),
            },
            Payload::StateUpdate { .. } => Self::STATE,
            _ => return None,
        })
    }
}

/// Returns whether this key of an object holds its messages.
pub(super) fn is_list_of_messages(key: &[u8]) -> bool {
    matches!(key, b"messages" | b"value" | b"input" | b"contents")
}

/// The last message of a prompt; of one that is no list of messages, all of it.
fn last_message(prompt: &Value) -> &Value {
    let list = match prompt {
        Value::Array(items) => Some(items),
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| is_list_of_messages(key.as_bytes()))
            .find_map(|(_, value)| value.as_array()),
        _ => None,
    };
    list.and_then(|items| items.last()).unwrap_or(prompt)
}

/// Returns whether a part of the value was left out when it was stored.
fn is_cut(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(markers::TRUNCATED),
        Value::Array(items) => items.iter().any(is_cut),
        Value::Object(object) => object
            .iter()
            .any(|(key, value)| key.contains(markers::TRUNCATED) || is_cut(value)),
        _ => false,
    }
}
