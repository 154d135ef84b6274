//! The text being written: its budget, the containers that are open, and how it is closed whatever happens.

mod closing;

use serde::Serialize;

use super::WrittenValue;
use super::interrupted::{Interrupted, WriteResult};
use crate::redact::{Hint, KeyVerdict, NameRole, Redactor, Siblings, prefix};
use crate::write::escape::push_string;
use tracer_format::names::markers::{REDACTED, TRUNCATED, UNSERIALIZABLE};

/// Most levels of arrays and objects that are kept; a top-level array or object is the first.
pub(super) const MAX_DEPTH: usize = 10;

/// Most values that one text holds, those within arrays and objects included.
const MAX_NODES: usize = 10_000;

/// Kept free for markers and closing brackets.
const RESERVE: usize = 128;

/// A string is not cut to less than this; the rest is cut instead.
const MIN_CUT_BYTES: usize = 64;

/// An open array or object.
#[derive(Debug, Clone, Copy, Default)]
struct Container {
    is_object: bool,
    has_items: bool,
    /// Its values so far, as they name others.
    siblings: Siblings,
}

/// JSON text under construction.
#[derive(Debug)]
pub(super) struct Output<'a> {
    out: &'a mut Vec<u8>,
    redactor: &'a Redactor,
    /// Largest end offset of the text, closing brackets not counted.
    limit: usize,
    /// The longest string, in bytes.
    max_string: usize,
    open: [Container; MAX_DEPTH],
    depth: usize,
    /// A value belongs here next: at the beginning, after a comma in an array, after a key in an object.
    awaiting: bool,
    nodes: usize,
    /// Hint of the last key, or the item before, about a value, in addition to the key's verdict.
    hint: Option<Hint>,
    /// The role of the member that is written, among its neighbours.
    role: NameRole,
    /// The budget is gone: nothing is written any more.
    stopped: bool,
    /// The value that was just interrupted has been replaced by a marker, and nothing is wrong.
    replaced: bool,
    written: WrittenValue,
}

impl<'a> Output<'a> {
    /// A text of at most `max_bytes` behind `out`, whose strings have at most `max_string` bytes, or as the settings say
    /// where that is less.
    pub(super) fn new(
        out: &'a mut Vec<u8>,
        redactor: &'a Redactor,
        max_bytes: usize,
        max_string: usize,
    ) -> Self {
        let limit = out.len().saturating_add(max_bytes).saturating_sub(RESERVE);
        Self {
            out,
            redactor,
            limit,
            max_string: max_string.min(redactor.max_field_bytes()).max(MIN_CUT_BYTES),
            open: [Container::default(); MAX_DEPTH],
            depth: 0,
            awaiting: true,
            nodes: 0,
            hint: None,
            role: NameRole::Other,
            stopped: false,
            replaced: false,
            written: WrittenValue::default(),
        }
    }

    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The innermost container that is open.
    #[inline]
    fn top(&mut self) -> Option<&mut Container> {
        self.open.get_mut(self.depth.checked_sub(1)?)
    }

    /// The most bytes of a string that can be of use.
    pub(super) fn longest_string(&self) -> usize {
        self.max_string
            .min(self.limit.saturating_sub(self.out.len()).max(MIN_CUT_BYTES))
    }

    /// A number, `true`, `false` or `null`, as `value` prints it.
    pub(super) fn literal(&mut self, value: &(impl Serialize + ?Sized)) -> WriteResult {
        self.value(|out| serde_json::to_writer(out, value).is_ok())
    }

    /// JSON text that is known to be valid.
    pub(super) fn verbatim(&mut self, text: &str) -> WriteResult {
        self.value(|out| {
            out.extend_from_slice(text.as_bytes());
            true
        })
    }

    /// A string, redacted and cut.
    pub(super) fn string(&mut self, text: &str) -> WriteResult {
        if self.hint.is_some_and(|hint| hint.hides(text)) {
            return self.secret();
        }
        let role = self.role;
        self.count_node()?;
        let longest = self.longest_string();
        let cleaned = self.redactor.value(text, longest);
        self.written.redacted = self.written.redacted.saturating_add(cleaned.redacted);
        self.written.truncated |= cleaned.truncated;
        if !self.append(&cleaned.text) {
            let room = self.limit.saturating_sub(self.out.len());
            if room < MIN_CUT_BYTES {
                return self.stop();
            }
            self.append(&fitting(&cleaned.text, room));
            self.written.truncated = true;
        }
        self.awaiting = false;
        let redactor = self.redactor;
        if let Some(container) = self.top()
            && (!container.is_object || role.is_name())
        {
            let role = container.is_object.then_some(role);
            container.siblings.add(text, role, redactor);
        }
        Ok(())
    }

    /// A text of our own, which needs neither redaction nor an escape.
    pub(super) fn plain(&mut self, text: &str) -> WriteResult {
        self.count_node()?;
        if !self.append(text) {
            return self.stop();
        }
        self.awaiting = false;
        Ok(())
    }

    /// The marker in the place of a secret.
    pub(super) fn secret(&mut self) -> WriteResult {
        self.plain(REDACTED)?;
        self.written.redacted = self.written.redacted.saturating_add(1);
        Ok(())
    }

    /// The marker in the place of a whole array or object; its `serialize` is interrupted before it reaches a child.
    pub(super) fn replace_secret<T>(&mut self) -> WriteResult<T> {
        self.secret()?;
        self.replaced = true;
        Err(Interrupted)
    }

    /// Begins an array or object, or replaces it when it is too deep.
    pub(super) fn begin(&mut self, is_object: bool) -> WriteResult {
        let depth = self.depth;
        if self.hint.is_some_and(Hint::hides_container) {
            return self.replace_secret();
        }
        if depth >= MAX_DEPTH {
            return self.replace_too_deep();
        }
        self.value(|out| {
            out.push(if is_object { b'{' } else { b'[' });
            true
        })?;
        if let Some(container) = self.open.get_mut(depth) {
            *container = Container {
                is_object,
                ..Container::default()
            };
        }
        self.depth = depth + 1;
        Ok(())
    }

    pub(super) fn replace_too_deep<T>(&mut self) -> WriteResult<T> {
        self.plain(TRUNCATED)?;
        self.written.truncated = true;
        self.replaced = true;
        Err(Interrupted)
    }

    /// Ends the container at `depth` and whatever was left open within it.
    pub(super) fn end(&mut self, depth: usize) -> WriteResult {
        self.back_to(depth)?;
        self.close_to(depth.saturating_sub(1), None);
        Ok(())
    }

    /// Makes ready for an item of the array at `depth`.
    pub(super) fn item(&mut self, depth: usize) -> WriteResult {
        self.back_to(depth)?;
        let in_array = depth
            .checked_sub(2)
            .and_then(|outer| self.open.get(outer))
            .is_some_and(|outer| !outer.is_object);
        let container = depth.checked_sub(1).and_then(|top| self.open.get_mut(top));
        self.hint = container.and_then(|container| container.siblings.item(in_array));
        self.comma()?;
        self.awaiting = true;
        self.role = NameRole::Other;
        Ok(())
    }

    /// Writes a key of the object at `depth`, and tells what it says about the value.
    pub(super) fn key(&mut self, depth: usize, key: &str) -> WriteResult<KeyVerdict> {
        self.back_to(depth)?;
        let start = self.out.len();
        let had_items = self.top().is_some_and(|container| container.has_items);
        self.comma()?;
        let longest = self.longest_string();
        let member = self.redactor.member(key, longest);
        self.written.redacted = self.written.redacted.saturating_add(member.key.redacted);
        self.written.truncated |= member.key.truncated;
        let fits = self.append(&member.key.text);
        if !fits {
            self.out.truncate(start);
            if let Some(container) = self.top() {
                container.has_items = had_items;
            }
            return self.stop();
        }
        self.out.push(b':');
        self.awaiting = true;
        self.role = member.role;
        let container = self.top().copied().unwrap_or_default();
        self.hint = container.siblings.member(&member);
        Ok(member.verdict)
    }

    /// The key of something that cannot be a key.
    pub(super) fn unusable_key(&mut self, depth: usize) -> WriteResult<KeyVerdict> {
        self.written.failed = true;
        self.key(depth, UNSERIALIZABLE)
    }

    #[inline]
    pub(super) fn is_awaiting(&self) -> bool {
        self.awaiting
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// A comma, unless the item is the first of its container.
    #[inline]
    fn comma(&mut self) -> WriteResult {
        self.fill();
        if self.out.len() >= self.limit || self.nodes >= MAX_NODES {
            return self.stop();
        }
        if let Some(container) = self.depth.checked_sub(1).and_then(|top| self.open.get_mut(top)) {
            if container.has_items {
                self.out.push(b',');
            }
            container.has_items = true;
        }
        Ok(())
    }

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> WriteResult {
        self.count_node()?;
        let start = self.out.len();
        if !write(self.out) || self.out.len() > self.limit {
            self.out.truncate(start);
            return self.stop();
        }
        self.awaiting = false;
        Ok(())
    }

    #[inline]
    fn count_node(&mut self) -> WriteResult {
        if self.stopped || !self.awaiting {
            return Err(Interrupted);
        }
        if self.nodes >= MAX_NODES {
            return self.stop();
        }
        self.nodes += 1;
        self.hint = None;
        self.role = NameRole::Other;
        Ok(())
    }

    /// Appends a JSON string, unless the budget does not hold it.
    fn append(&mut self, text: &str) -> bool {
        let start = self.out.len();
        push_string(self.out, text);
        let fits = self.out.len() <= self.limit;
        if !fits {
            self.out.truncate(start);
        }
        fits
    }

    fn stop<T>(&mut self) -> WriteResult<T> {
        self.stopped = true;
        self.written.truncated = true;
        Err(Interrupted)
    }
}

/// As much of `text` as takes at most `room` bytes as a JSON string, with the truncation marker at its end.
fn fitting(text: &str, room: usize) -> String {
    let mut left = room.saturating_sub(TRUNCATED.len() + 2);
    let mut end = text.len();
    for (position, character) in text.char_indices() {
        let length = match character {
            '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
            character if character < ' ' => 6,
            character => character.len_utf8(),
        };
        if length > left {
            end = position;
            break;
        }
        left -= length;
    }
    let mut result = prefix(text, end).to_owned();
    result.push_str(TRUNCATED);
    result
}

/// Written name of a number that JSON cannot hold.
pub(crate) fn name_of_non_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}
