//! One step for a model: all that is recorded of it, a page at a time.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use tracer_sdk::format::{ErrorPayload, SpanRecord, TraceId};

use super::rows::title;
use super::{FurtherDetail, TokenBudget};
use crate::conversation::{Message, MessagePart, part_label};
use crate::marked_text::{LEGEND, MarkedText, content, content_block};
use crate::step_detail::{SectionContent, StepDetail, StepNumbers};
use crate::steps::Step;
use crate::units;

/// Bytes of the facts of a model call.
const MAX_FACTS_BYTES: usize = 240;
const MAX_ROLE_BYTES: usize = 40;
/// A section is not begun in less room.
const MIN_SECTION_BYTES: usize = 160;

/// Cursor of the next page of a step: a section, and a byte offset in it.
///
/// ```
/// use tracer_insight::outline::StepCursor;
///
/// let cursor: StepCursor = "2.1200".parse().unwrap();
/// assert_eq!(cursor.to_string(), "2.1200");
/// assert!("next".parse::<StepCursor>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepCursor {
    section: usize,
    byte: usize,
}

/// A text that is no cursor of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidCursor;

impl fmt::Display for InvalidCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this cursor is none that an answer for this step gave")
    }
}

impl std::error::Error for InvalidCursor {}

impl FromStr for StepCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (section, byte) = text.split_once('.').ok_or(InvalidCursor)?;
        let number = |text: &str| text.parse().map_err(|_| InvalidCursor);
        Ok(Self {
            section: number(section)?,
            byte: number(byte)?,
        })
    }
}

impl fmt::Display for StepCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.section, self.byte)
    }
}

/// A part of a step under a title, not written yet.
struct RecordedPart<'a> {
    title: MarkedText,
    content: RecordedContent<'a>,
}

enum RecordedContent<'a> {
    Text(Cow<'a, str>),
    Value(Cow<'a, Value>),
    Failure(&'a ErrorPayload),
}

/// A step and what is around it.
pub(super) struct StepOutline<'a> {
    pub(super) run_id: TraceId,
    pub(super) step: &'a Step<'a>,
    pub(super) span: Option<&'a SpanRecord>,
    pub(super) step_count: usize,
    pub(super) further: &'a FurtherDetail,
}

impl StepOutline<'_> {
    /// The page that begins at a cursor.
    pub(super) fn text(&self, cursor: StepCursor, budget: TokenBudget) -> Result<String, InvalidCursor> {
        let step = self.step;
        let detail = StepDetail::new(step, self.span, &StepNumbers::new());
        let mut text = format!(
            "{LEGEND}\nrun {}, step {} of {}: ",
            self.run_id, step.number, self.step_count
        );
        text.push_str(&title(step).marked());
        if let Some(offset) = step.offset {
            text.push_str(", started +");
            text.push_str(&units::duration(offset));
        }
        text.push('\n');
        if !detail.facts.is_empty() && cursor == StepCursor::default() {
            text.push_str("facts: ");
            text.push_str(&content(&detail.facts.join(", "), MAX_FACTS_BYTES));
            text.push('\n');
        }
        let parts = parts(detail);
        let is_end = cursor.section == parts.len() && cursor.byte == 0;
        if parts.get(cursor.section).is_none() && !is_end {
            return Err(InvalidCursor);
        }
        // The largest size of the last line, whatever its numbers.
        let max_cursor = StepCursor {
            section: usize::MAX,
            byte: usize::MAX,
        };
        let rest = |cursor: StepCursor| {
            format!(
                "rest of this step: {}\n",
                self.further.rest_of_step(step.number, &cursor.to_string())
            )
        };
        let room = budget.bytes().saturating_sub(rest(max_cursor).len());
        for (section, part) in parts.iter().enumerate().skip(cursor.section) {
            let first = if section == cursor.section { cursor.byte } else { 0 };
            let whole = part.content.text();
            let content = whole.get(first..).ok_or(InvalidCursor)?;
            let continued = if first > 0 { ", continued" } else { "" };
            let title = format!("{}{continued}:\n", part.title.marked());
            let left = room.saturating_sub(text.len() + title.len() + 1);
            if left < MIN_SECTION_BYTES {
                text.push_str(&rest(StepCursor { section, byte: first }));
                return Ok(text);
            }
            let (block, more) = content_block(content, left);
            text.push_str(&title);
            text.push_str(&block);
            text.push('\n');
            if more > 0 {
                let byte = whole.len() - more;
                text.push_str(&rest(StepCursor { section, byte }));
                return Ok(text);
            }
        }
        if parts.is_empty() {
            text.push_str("nothing else is recorded of it\n");
        }
        Ok(text)
    }
}

impl RecordedContent<'_> {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Value(value) => match value.as_ref() {
                Value::String(text) => Cow::Borrowed(text),
                value => Cow::Owned(value.to_string()),
            },
            Self::Failure(error) => {
                let stack = error.stack.as_deref().map(|stack| format!("\n{stack}"));
                Cow::Owned(format!(
                    "{}: {}{}",
                    error.error_type,
                    error.message,
                    stack.unwrap_or_default()
                ))
            }
        }
    }
}

/// The parts of a step, what came out of it first; of the messages of a prompt the last first.
fn parts(detail: StepDetail<'_>) -> Vec<RecordedPart<'_>> {
    const ORDER: [&str; 8] = [
        "Error",
        "Answer",
        "Result",
        "Warning",
        "Arguments",
        "Changes",
        "State",
        "Prompt",
    ];
    let mut sections = detail.sections;
    sections.sort_by_key(|section| {
        ORDER
            .iter()
            .position(|title| *title == section.title)
            .unwrap_or(ORDER.len())
    });
    let mut parts = Vec::new();
    for section in sections {
        let title = MarkedText::own(section.title.to_lowercase());
        match section.content {
            SectionContent::Messages(messages) => add_messages(section.title, messages, &mut parts),
            SectionContent::Value(value) => parts.push(RecordedPart {
                title,
                content: RecordedContent::Value(value),
            }),
            SectionContent::Text(text) => parts.push(RecordedPart {
                title,
                content: RecordedContent::Text(text.into()),
            }),
            SectionContent::Failure(failure) => parts.push(RecordedPart {
                title,
                content: RecordedContent::Failure(failure),
            }),
        }
    }
    parts
}

fn add_messages(section: &str, messages: Vec<Message>, parts: &mut Vec<RecordedPart<'_>>) {
    let word = section.to_lowercase();
    let count = messages.len();
    for (index, message) in messages.into_iter().enumerate().rev() {
        let before = format!("{word}, message {} of {count}, by ", index + 1);
        let by = MarkedText::own(before).with_content(&message.label(), MAX_ROLE_BYTES);
        for part in message.parts {
            let label = part_label(&part).map(|label| match label.name {
                Some(name) => format!("{} {name}", label.text),
                None => label.text,
            });
            let title = match label {
                Some(label) => by.clone().with(": ").with_content(&label, MAX_ROLE_BYTES * 2),
                None => by.clone(),
            };
            let content = match part {
                MessagePart::Text(text) | MessagePart::Reasoning(text) | MessagePart::Refusal(text) => {
                    RecordedContent::Text(text.into())
                }
                MessagePart::ToolCall { arguments: value, .. }
                | MessagePart::ToolResult { value, .. }
                | MessagePart::Unknown(value) => RecordedContent::Value(Cow::Owned(value)),
                // Its label says what it is; bytes say nothing.
                MessagePart::Media(_) => RecordedContent::Text("(not shown)".into()),
            };
            parts.push(RecordedPart { title, content });
        }
    }
}
