//! The text being written: its budget, the containers that are open, and how it is closed whatever happens.

mod closing;

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

use super::interrupted::{Interrupted, WriteResult};
use super::{JsonPlace, WrittenValue, field_names};
use crate::format::names::markers::{REDACTED, TRUNCATED, UNSERIALIZABLE};
use crate::loops::{self, ValueNumbers};
use crate::redact::{Confidence, KeyVerdict, NameMeaning, NameRole, Neighbours, Redactor, prefix};
use crate::write::escape::{push_escaped, push_escaped_twice};

/// How many levels of arrays and objects are kept; a top-level array or object is the first.
pub(super) const MAX_DEPTH: usize = 10;

/// How many values one text holds, those within arrays and objects included.
const MAX_NODES: usize = 10_000;

/// Kept free for markers and closing brackets.
const RESERVE: usize = 128;

/// A string is not cut to less than this; the rest is cut instead.
const MIN_CUT_BYTES: usize = 64;

/// With so much room a field's name fits, a marker in the place before it, and what is between them.
const FIELD_ROOM: usize = 128;

/// An open array or object.
#[derive(Debug, Clone, Copy, Default)]
struct Container {
    is_object: bool,
    has_items: bool,
    /// In an array: more than one item was begun.
    has_second: bool,
    /// In an array: what the last item says about the one behind it.
    item: Option<Hint>,
    /// In an object: what its members say about the values beside them: `{"name": "password", "value": …}`.
    neighbours: Neighbours,
    /// In an object: values that a later member may name. More are not remembered.
    values: [ValuePlace; 3],
}

/// Where a value was written that a member beside it may name.
#[derive(Debug, Clone, Copy, Default)]
struct ValuePlace {
    start: u32,
    /// 0 while it is written.
    end: u32,
    role: NameRole,
}

/// What is known of a value beside what the rule says of its key.
#[derive(Debug, Clone, Copy)]
enum Hint {
    /// Its key says this of strings.
    Member(NameMeaning),
    /// Its member has this role beside these.
    Beside(Neighbours, NameRole),
    /// It is behind a name in an array of pairs.
    Pair(NameMeaning),
    /// It is behind a name in a list, which may as well be a list of names.
    List,
    /// It is behind an option in a list of arguments.
    Argument(NameMeaning),
}

impl Hint {
    fn hides(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match self {
            Self::Member(name) => name.hides(bytes, Confidence::Likely),
            Self::Beside(neighbours, role) => neighbours.hide(role, bytes),
            Self::Pair(name) => name.hides(bytes, Confidence::Named),
            Self::List => NameMeaning::Key.hides(bytes, Confidence::Likely),
            Self::Argument(name) => !text.starts_with("--") && name.hides(bytes, Confidence::Named),
        }
    }

    /// Whether an array or object is a secret as a whole.
    fn hides_container(self) -> bool {
        matches!(self, Self::Beside(neighbours, role) if neighbours.hide_container(role))
    }
}

/// JSON text under construction.
#[derive(Debug)]
pub(super) struct Output<'a> {
    out: &'a mut Vec<u8>,
    redactor: &'a Redactor,
    /// In a string once there is an array or an object.
    place: JsonPlace,
    /// How many bytes were added because quotes and backslashes in a string have a backslash before them; they do not count.
    added: usize,
    /// Where the text may end, closing brackets not counted.
    limit: usize,
    /// The longest string, in bytes.
    max_string: usize,
    open: [Container; MAX_DEPTH],
    depth: usize,
    /// A value belongs here next: at the beginning, after a comma in an array, after a key in an object.
    awaiting: bool,
    nodes: usize,
    /// What the last key, or the item before, says about a value beside the key's verdict.
    hint: Option<Hint>,
    /// The role of the member that is written, among its neighbours.
    role: NameRole,
    /// The budget is gone: nothing is written any more.
    stopped: bool,
    /// The value that was just interrupted has been replaced by a marker, and nothing is wrong.
    replaced: bool,
    written: WrittenValue,
    /// Follows what is written.
    numbers: Option<&'a mut ValueNumbers>,
}

impl<'a> Output<'a> {
    /// A text of at most `max_bytes` behind `out`, whose strings have at most `max_string` bytes, or as the settings say
    /// where that is less.
    pub(super) fn new(
        out: &'a mut Vec<u8>,
        redactor: &'a Redactor,
        place: JsonPlace,
        max_bytes: usize,
        max_string: usize,
        numbers: Option<&'a mut ValueNumbers>,
    ) -> Self {
        let limit = out.len().saturating_add(max_bytes).saturating_sub(RESERVE);
        Self {
            out,
            redactor,
            place,
            added: 0,
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
            numbers,
        }
    }

    /// Something was written past the numbers.
    #[inline]
    fn give_numbers_up(&mut self) {
        if let Some(numbers) = &mut self.numbers {
            numbers.give_up();
        }
    }

    /// The string from `start` on, quotes included, was written, and is a value.
    #[inline]
    fn number_string(&mut self, start: usize) {
        let quote = self.quote_length();
        if let Some(numbers) = &mut self.numbers {
            let text = self.out.get(start + quote..self.out.len() - quote);
            numbers.string(text.unwrap_or_default());
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

    /// The text is part of a JSON string: its quotes and backslashes have a backslash before them.
    #[inline]
    fn is_in_string(&self) -> bool {
        self.place == JsonPlace::InString
    }

    /// Where the text ends, without the bytes that its place in a string adds.
    #[inline]
    fn length(&self) -> usize {
        self.out.len() - self.added
    }

    /// The most bytes of a string that can be of use.
    pub(super) fn longest_string(&self) -> usize {
        self.max_string
            .min(self.limit.saturating_sub(self.length()).max(MIN_CUT_BYTES))
    }

    /// A number, `true`, `false` or `null`, as `value` prints it.
    pub(super) fn literal(&mut self, value: &(impl Serialize + ?Sized)) -> WriteResult {
        let start = self.out.len();
        self.value(|out| serde_json::to_writer(out, value).is_ok())?;
        self.number_word(start);
        Ok(())
    }

    /// The number or word from `start` on was written.
    #[inline]
    fn number_word(&mut self, start: usize) {
        if let Some(numbers) = &mut self.numbers {
            numbers.word(self.out.get(start..).unwrap_or_default());
        }
    }

    /// JSON text that is known to be valid.
    pub(super) fn verbatim(&mut self, text: &str) -> WriteResult {
        let start = self.out.len();
        self.value(|out| {
            out.extend_from_slice(text.as_bytes());
            true
        })?;
        self.number_word(start);
        Ok(())
    }

    /// A string, redacted and cut.
    pub(super) fn string(&mut self, text: &str) -> WriteResult {
        if self.hint.is_some_and(|hint| hint.hides(text)) {
            return self.secret();
        }
        let role = self.role;
        self.count_node()?;
        let start = self.out.len();
        let longest = self.longest_string();
        let is_harmless = self.redactor.role_of_harmless(text, longest).is_some();
        if !(is_harmless && self.append(text, true)) {
            self.unknown_string(text, longest)?;
        }
        self.number_string(start);
        self.awaiting = false;
        let in_array = self
            .depth
            .checked_sub(1)
            .and_then(|top| self.open.get(top))
            .is_some_and(|container| !container.is_object);
        if in_array || role.is_name() {
            self.name_neighbour(text, role);
        }
        Ok(())
    }

    /// Writes a string that is not known to be harmless, or for which there is little room.
    #[inline(never)]
    fn unknown_string(&mut self, text: &str, longest: usize) -> WriteResult {
        let (cleaned, is_plain) = self.redactor.value(text, longest);
        self.written.redacted = self.written.redacted.saturating_add(cleaned.redacted);
        self.written.truncated |= cleaned.truncated;
        if !self.append(&cleaned.text, is_plain) {
            let room = self.limit.saturating_sub(self.length());
            if room < MIN_CUT_BYTES {
                return self.stop();
            }
            self.append(&fitting(&cleaned.text, room), false);
            self.written.truncated = true;
        }
        Ok(())
    }

    /// What `text`, which was just written as an item or in a member with this role, says about the value beside it.
    #[inline(never)]
    fn name_neighbour(&mut self, text: &str, role: NameRole) {
        let name = self.redactor.name_of_neighbour(text);
        let Some(container) = self.top() else {
            return;
        };
        if !container.is_object {
            let is_option = text.starts_with('-');
            container.item = name.map(if is_option { Hint::Argument } else { Hint::Pair });
            return;
        }
        let Some(name) = name else {
            return;
        };
        container.neighbours.add(role, name);
        let (neighbours, values) = (container.neighbours, container.values);
        // The last first, so that the places of those before it stay true.
        let written = values.into_iter().rev().filter(|value| value.end > value.start);
        let replaced = written
            .filter(|value| self.replace_written(value, neighbours))
            .count();
        if replaced > 0
            && let Some(container) = self.top()
        {
            container.values = Default::default();
        }
    }

    /// Puts the marker in the place of a value whose name came after it, unless that is a number or nothing.
    fn replace_written(&mut self, place: &ValuePlace, neighbours: Neighbours) -> bool {
        let range: Range<usize> = place.start as usize..place.end as usize;
        let written = self.out.get(range.clone()).unwrap_or_default();
        let value = if self.is_in_string() {
            unescaped(written)
        } else {
            Cow::Borrowed(written)
        };
        let is_secret = match &*value {
            [b'"', text @ .., b'"'] => neighbours.hide(place.role, text) && text != REDACTED.as_bytes(),
            [b'[' | b'{', ..] => neighbours.hide_container(place.role),
            _ => false,
        };
        if is_secret {
            self.added -= written.len() - value.len();
            self.give_numbers_up();
            let behind = self.out.split_off(range.end);
            self.out.truncate(range.start);
            self.append_marker(REDACTED);
            self.out.extend_from_slice(&behind);
            self.written.redacted = self.written.redacted.saturating_add(1);
        }
        is_secret
    }

    /// A text of our own, which needs neither redaction nor an escape.
    pub(super) fn plain(&mut self, text: &str) -> WriteResult {
        self.count_node()?;
        let start = self.out.len();
        if !self.append(text, true) {
            return self.stop();
        }
        self.number_string(start);
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
        if let Some(numbers) = &mut self.numbers {
            numbers.open(is_object);
        }
        if self.place == JsonPlace::InStringUnlessScalar {
            self.place = JsonPlace::InString;
        }
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
        self.hint = container.and_then(|container| {
            let is_pair = in_array && container.has_items && !container.has_second;
            container.has_second = container.has_items;
            match container.item.take()? {
                Hint::Pair(_) if !is_pair => Some(Hint::List),
                hint => Some(hint),
            }
        });
        self.comma()?;
        self.awaiting = true;
        self.role = NameRole::Other;
        Ok(())
    }

    /// Writes a key of the object at `depth`, and tells what it says about the value.
    pub(super) fn key(&mut self, depth: usize, key: &str) -> WriteResult<KeyVerdict> {
        self.back_to(depth)?;
        let (start, added) = (self.out.len(), self.added);
        let had_items = self.top().is_some_and(|container| container.has_items);
        self.comma()?;
        let key_start = self.out.len();
        let longest = self.longest_string();
        let harmless = self.redactor.role_of_harmless(key, longest);
        let (verdict, name, role, fits) = if let Some(role) = harmless {
            (KeyVerdict::Keep, None, role, self.append(key, true))
        } else {
            let member = self.redactor.member(key, longest);
            self.written.redacted = self.written.redacted.saturating_add(member.key.redacted);
            self.written.truncated |= member.key.truncated;
            let fits = self.append(&member.key.text, member.is_plain);
            (member.verdict, member.name, member.role, fits)
        };
        if !fits {
            self.out.truncate(start);
            self.added = added;
            if let Some(container) = self.top() {
                container.has_items = had_items;
            }
            return self.stop();
        }
        let quote = self.quote_length();
        if let Some(numbers) = &mut self.numbers {
            let text = self.out.get(key_start + quote..self.out.len() - quote);
            let text = text.unwrap_or_default();
            numbers.key(loops::of_text(text), text.len());
        }
        self.out.push(b':');
        Ok(self.begin_member(depth, verdict, name, role))
    }

    /// As [`key`](Self::key), for the name of a field.
    pub(super) fn field(&mut self, depth: usize, name: &'static str) -> WriteResult<KeyVerdict> {
        let id = self.redactor.id();
        self.back_to(depth)?;
        let has_room = self.length() + FIELD_ROOM <= self.limit;
        if has_room && self.is_in_string() {
            let written = field_names::with_known(id, name, |known| {
                self.comma()?;
                known.push(self.out);
                self.added += 2;
                if let Some(numbers) = &mut self.numbers {
                    numbers.key(known.number, name.len());
                }
                Ok(self.begin_member(depth, KeyVerdict::Keep, None, known.role))
            });
            if let Some(verdict) = written {
                return verdict;
            }
        }
        let verdict = self.key(depth, name)?;
        if let Some(role) = self.redactor.role_of_harmless(name, usize::MAX) {
            field_names::remember(id, name, role);
        }
        Ok(verdict)
    }

    /// The key is written: what follows is its value.
    #[inline]
    fn begin_member(
        &mut self,
        depth: usize,
        verdict: KeyVerdict,
        name: Option<NameMeaning>,
        role: NameRole,
    ) -> KeyVerdict {
        self.awaiting = true;
        self.role = role;
        self.hint = name.map(Hint::Member);
        if role.is_value() {
            self.beside_name(depth, role);
        }
        verdict
    }

    /// A value is about to be written in the object at `depth` that members before or after it may name.
    fn beside_name(&mut self, depth: usize, role: NameRole) {
        let start = u32::try_from(self.out.len()).unwrap_or(0);
        let Some(container) = depth.checked_sub(1).and_then(|top| self.open.get_mut(top)) else {
            return;
        };
        if let Some(free) = container.values.iter_mut().find(|value| value.start == 0) {
            *free = ValuePlace { start, end: 0, role };
        }
        self.hint = Some(Hint::Beside(container.neighbours, role));
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
        if self.length() >= self.limit || self.nodes >= MAX_NODES {
            return self.stop();
        }
        if let Some(container) = self.depth.checked_sub(1).and_then(|top| self.open.get_mut(top)) {
            for value in &mut container.values {
                if value.start > value.end {
                    value.end = u32::try_from(self.out.len()).unwrap_or(0);
                }
            }
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
        if !write(self.out) || self.length() > self.limit {
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

    /// Appends a JSON string, unless the budget does not hold it; the text may be known to need no escape.
    #[inline]
    fn append(&mut self, text: &str, is_plain: bool) -> bool {
        let (start, added) = (self.out.len(), self.added);
        if is_plain {
            self.out.reserve(text.len() + "\\\"\\\":".len());
            self.quote();
            self.out.extend_from_slice(text.as_bytes());
            self.quote();
        } else {
            self.append_escaped(text);
        }
        let fits = self.length() <= self.limit;
        if !fits {
            self.out.truncate(start);
            self.added = added;
        }
        fits
    }

    #[inline(never)]
    fn append_escaped(&mut self, text: &str) {
        self.quote();
        if self.is_in_string() {
            self.added += push_escaped_twice(self.out, text.as_bytes());
        } else {
            push_escaped(self.out, text.as_bytes());
        }
        self.quote();
    }

    /// Appends the quote that begins or ends a string.
    #[inline]
    fn quote(&mut self) {
        if self.is_in_string() {
            self.out.extend_from_slice(b"\\\"");
            self.added += 1;
        } else {
            self.out.push(b'"');
        }
    }

    /// How many bytes [`quote`](Self::quote) appends.
    #[inline]
    fn quote_length(&self) -> usize {
        1 + usize::from(self.is_in_string())
    }

    fn stop<T>(&mut self) -> WriteResult<T> {
        self.give_numbers_up();
        self.stopped = true;
        self.written.truncated = true;
        Err(Interrupted)
    }
}

/// What is within a JSON string.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(backslash) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(backslash);
        plain.extend_from_slice(before);
        // JSON text has neither control characters nor anything else that is escaped by more than a backslash.
        plain.extend(escape.get(1));
        rest = escape.get(2..).unwrap_or_default();
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
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

/// How a number that JSON cannot hold is written.
pub(crate) fn name_of_non_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}
