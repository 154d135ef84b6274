//! Names with values: `NAME_KEY=value`, `password: value`, `"api_key": "value"`, `?token=value`, `X-Api-Key: value`.
//!
//! How sure a value must look depends on how sure its place is: JSON, an environment variable, an option and a query
//! say that a value is meant; `token: …` may as well be code or prose.

use super::MAX_NAME_BYTES;
use super::headers;
use super::pairs;
use super::value_places::{Gap, MAX_BLANK_LINES, MAX_BLANKS, Quoted};
use super::{ANY, Beside, SecretPlace, Sign, SignSink};
use crate::format::names::markers::REDACTED;
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::{NameMeaning, NameRole};
use crate::redact::names;
use crate::redact::text::{Text, is_url_safe};
use crate::redact::values::{
    MAX_JUDGED, is_code, is_digest, is_number, is_path, is_pattern, is_placeholder, is_plausible,
    looks_random,
};

/// Shorter numbers are counts.
const MIN_NUMBER_BYTES: usize = 6;

/// The work that deciding about a name takes beside what is looked at for it.
const NAMED_WORK: usize = 2;

/// The longest type between a name and its value, and the longest name of what is called there.
const MAX_TYPE_BYTES: usize = 32;

/// How much of a JSON array or object under a name is looked at.
const MAX_NESTED_BYTES: usize = 512;

/// How many bytes of a name are enough to rule out most names.
const END_OF_NAME: usize = 12;

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    let ends = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_\"'` \t\n\r]*:";
    // What characters outside ASCII end with.
    for first in ends.iter().copied().chain(0x80..=0xbf) {
        for separator in b"=:" {
            notice(Sign {
                pair: [first, *separator],
                beside: Beside::After(&ANY),
            });
        }
    }
    for last in [WIDE_COLON, WIDE_EQUALS] {
        notice(Sign {
            pair: [WIDE[1], last],
            beside: Beside::Before(&[WIDE[0]]),
        });
    }
}

/// The full-width forms of the separators are these two bytes and one of the next two.
const WIDE: [u8; 2] = [0xef, 0xbc];
const WIDE_COLON: u8 = 0x9a;
const WIDE_EQUALS: u8 = 0x9d;

fn is_wide_separator(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, WIDE_COLON | WIDE_EQUALS] if [*first, *second] == WIDE)
}

/// What is between a name and its value.
struct Separator {
    start: usize,
    end: usize,
    is_colon: bool,
}

impl Separator {
    fn at(text: &Text<'_>, at: usize) -> Option<Self> {
        let last = text.at(at + 1);
        if matches!(last, WIDE_COLON | WIDE_EQUALS) {
            // Behind another one there is no name.
            let has_name = !is_wide_separator(text.slice(at.saturating_sub(4), at.saturating_sub(1)));
            return (text.before(at) == WIDE[0] && has_name).then(|| Self {
                start: at - 1,
                end: at + 2,
                is_colon: last == WIDE_COLON,
            });
        }
        let (start, is_colon, next) = (at + 1, last == b':', text.at(at + 2));
        let is_operator = if is_colon {
            next == b':' || next == b'/' || text.at(at) == b':'
        } else {
            next == b'='
        };
        let is_arrow = next == b'>' || (is_colon && next == b'=');
        (!is_operator).then_some(Self {
            start,
            end: start + 1 + usize::from(is_arrow),
            is_colon,
        })
    }
}

/// A name before a separator.
struct AssignedName {
    start: usize,
    end: usize,
    is_quoted: bool,
    /// The separator follows at once.
    is_tight: bool,
}

pub(super) fn find(text: &Text<'_>, at: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    let last = match (text.at(at), text.at(at + 1)) {
        (b':', b':') => return None,
        // The name is before all of `:=`.
        (b':', _) => at.checked_sub(1)?,
        // An operator, or the beginning of a URL.
        (_, b':') if matches!(text.at(at + 2), b':' | b'/') => return None,
        _ => at,
    };
    // Most names end directly before the separator, and in nothing that says something. Nor does one end before most line
    // breaks and brackets.
    let byte = text.at(last);
    let may_be_named = match byte {
        b'\n' | b'\r' => matches!(
            text.before(last),
            b'"' | b'\'' | b'`' | b']' | b' ' | b'\t' | b'\n' | b'\r'
        ),
        b']' => matches!(text.before(last), b'"' | b'\'') || may_say_something(text, last, keys),
        b' ' if text.before(last).is_ascii_alphanumeric() => may_say_something(text, last, keys),
        b'"' | b'\'' | b'`' => return find_behind_quote(text, at, last, keys),
        b' ' | b'\t' | b'*' => true,
        byte if byte.is_ascii_alphanumeric() => may_say_something(text, last + 1, keys),
        byte => is_name(byte),
    };
    if !may_be_named {
        return None;
    }
    find_separated(text, at, byte.is_ascii_alphanumeric(), keys)
}

/// As [`find`], when the quote at `quote` is before the separator. Most close what names nothing, in JSON as in what is made to
/// be slow, and are passed here.
fn find_behind_quote(text: &Text<'_>, at: usize, quote: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    let separator = Separator::at(text, at)?;
    let mut end = quote;
    while text.before(end) == b'\\' {
        end -= 1;
    }
    if is_name(text.before(end)) && may_say_something(text, end, keys) {
        return find_separated(text, at, true, keys);
    }
    // As the way of all other names counts it.
    if separator.start - end > 1 {
        text.spend((separator.start - end) / 2);
    }
    None
}

/// Whether what the name that ends at `end` ends in may say something.
#[inline]
fn may_say_something(text: &Text<'_>, end: usize, keys: &RedactKeys) -> bool {
    keys.may_say_something(text.slice(end.saturating_sub(END_OF_NAME), end))
}

/// As [`find`]; `is_known` when the name was found to end in what may say something.
#[inline(never)]
fn find_separated(text: &Text<'_>, at: usize, is_known: bool, keys: &RedactKeys) -> Option<SecretPlace> {
    let separator = Separator::at(text, at)?;
    let end = end_of_name(text, separator.start)?;
    let may_name = is_known || (is_name(text.before(end.at)) && may_say_something(text, end.at, keys));
    if !may_name || is_redacted(text, separator.end) {
        return None;
    }
    find_named(text, &separator, &end, keys)
}

/// Whether a marker is in the place of the value, as in most that are looked at a second time.
fn is_redacted(text: &Text<'_>, start: usize) -> bool {
    let start = start + usize::from(text.at(start) == b' ');
    let start = start + usize::from(matches!(text.at(start), b'"' | b'\''));
    text.at(start) == b'_' && text.has(start, REDACTED.as_bytes())
}

fn find_named(
    text: &Text<'_>,
    separator: &Separator,
    end: &EndOfName,
    keys: &RedactKeys,
) -> Option<SecretPlace> {
    let is_colon = separator.is_colon;
    let named = end.name(text)?;
    text.spend(NAMED_WORK);
    let gap = Gap::from(text, separator.end)?;
    let says = text.said_by(named.start, named.end, keys);
    let is_query = !is_colon && !named.is_quoted && matches!(text.before(named.start), b'?' | b'&' | b';');
    let class = says
        .class
        .or_else(|| (is_query && says.is_query_name).then_some(NameMeaning::Key));
    let Some(class) = class else {
        return if says.role == NameRole::Name {
            pairs::find(text, named.start, gap.end, !is_colon, keys)
        } else {
            None
        };
    };
    let start = gap.end;
    if is_colon
        && !named.is_quoted
        && !gap.has_lines
        && let Some(header) = says.header
    {
        return headers::find(header, text, start);
    }
    let start = behind_markup(text, start, &named);
    let is_name = |value: &[u8]| names::class(value, keys).is_some();
    let quoted = Quoted::at(text, start)
        .or_else(|| {
            (is_colon && !named.is_quoted)
                .then(|| after_type(text, start))
                .flatten()
        })
        .map(|quoted| AssignedQuoted {
            quoted,
            place: QuotedPlace::Plain,
        })
        .or_else(|| wrapped(text, start));
    if let Some(quoted) = quoted {
        return quoted.find(text, class, &named, is_colon, is_name);
    }
    if named.is_quoted && is_colon {
        return number(text, start, &named)
            .filter(|_| says.is_own)
            .or_else(|| nested(text, start, class));
    }
    if gap.has_lines || matches!(text.at(start), b'!' | b'&') {
        return (is_colon && !named.is_quoted)
            .then(|| in_yaml(text, start))
            .flatten();
    }
    let start = if is_colon {
        block_scalar(text, start).unwrap_or(start)
    } else {
        start
    };
    bare(text, start, class, &named, is_query, is_colon)
}

/// Where a name ends that is before a separator.
struct EndOfName {
    at: usize,
    /// The quote behind it.
    quote: Option<u8>,
    is_tight: bool,
    /// It is an index without quotes, as in `user[password]=…`.
    is_index: bool,
}

/// The end of the name before `separator`, if there may be one.
#[inline]
fn end_of_name(text: &Text<'_>, separator: usize) -> Option<EndOfName> {
    let mut end = separator;
    if text.before(end) == b':' {
        end -= 1;
    }
    let mut has_lines = false;
    while separator - end < MAX_BLANKS {
        match text.before(end) {
            b' ' | b'\t' => {}
            b'\n' | b'\r' => has_lines = true,
            _ => break,
        }
        end -= 1;
    }
    let is_tight = end == separator;
    while text.before(end) == b'*' && separator - end < MAX_BLANKS {
        end -= 1;
    }
    let is_index = text.before(end) == b']' && text.before(end - 1).is_ascii_alphanumeric();
    if is_index || text.before(end) == b']' && matches!(text.before(end - 1), b'"' | b'\'') {
        end -= 1;
    }
    let quote = Some(text.before(end)).filter(|quote| matches!(quote, b'"' | b'\'' | b'`'));
    if quote.is_some() {
        end -= 1;
        while text.before(end) == b'\\' {
            end -= 1;
        }
    } else if has_lines {
        return None;
    }
    if separator - end > 1 {
        text.spend((separator - end) / 2);
    }
    Some(EndOfName {
        at: end,
        quote,
        is_tight,
        is_index,
    })
}

/// What names are made of; those in quotes have blanks, too.
fn is_name(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'.' || !byte.is_ascii()
}

impl EndOfName {
    fn name(&self, text: &Text<'_>) -> Option<AssignedName> {
        let end = self.at;
        let is_quoted = self.quote.is_some();
        let seen = text.slice(end.saturating_sub(MAX_NAME_BYTES + 1), end);
        let is_in_name = |byte: &&u8| byte.is_ascii() && (is_name(**byte) || (is_quoted && **byte == b' '));
        let length = seen.iter().rev().take_while(is_in_name).count();
        let start = if text.before(end - length).is_ascii() {
            end - length
        } else {
            self.start_of_any(text)
        };
        text.spend(end - start);
        if is_too_long(text, start, end) {
            // It was counted, so that it is looked at again when what makes it too long is replaced.
            return None;
        }
        let is_closed = self.quote.is_none_or(|quote| text.before(start) == quote)
            && (!self.is_index || text.before(start) == b'[');
        (start < end && is_closed).then_some(AssignedName {
            start,
            end,
            is_quoted,
            is_tight: self.is_tight,
        })
    }

    /// Where a name begins that has other letters than those of ASCII, or where it is found to be too long.
    #[cold]
    fn start_of_any(&self, text: &Text<'_>) -> usize {
        let end = self.at;
        let is_quoted = self.quote.is_some();
        let is_name = |byte: u8| is_name(byte) || (is_quoted && byte == b' ');
        let mut start = end;
        loop {
            let before = text.before(start);
            let is_wide = || is_wide_separator(text.slice(start.saturating_sub(3), start));
            if !is_name(before) || (!before.is_ascii() && is_wide()) {
                return start;
            }
            start -= 1;
            if is_too_long(text, start, end) {
                return start;
            }
        }
    }
}

/// Whether a name that begins at `start` or before it is too long. Letters of other scripts take up to four bytes.
fn is_too_long(text: &Text<'_>, start: usize, end: usize) -> bool {
    end - start > MAX_NAME_BYTES * if text.at(start).is_ascii() { 1 } else { 4 }
}

/// Where a value in quotes is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuotedPlace {
    /// Behind the separator.
    Plain,
    /// In what stands for a value that may be missing, as in `Some("…")`.
    Option,
    /// What is called with it decides what it is, as in `getenv("…")`.
    Call,
}

/// A value in quotes behind a name.
struct AssignedQuoted {
    quoted: Quoted,
    place: QuotedPlace,
}

impl AssignedQuoted {
    fn find(
        &self,
        text: &Text<'_>,
        class: NameMeaning,
        named: &AssignedName,
        is_colon: bool,
        is_name: impl Fn(&[u8]) -> bool,
    ) -> Option<SecretPlace> {
        let is_variable = !is_colon && is_screaming(text.slice(named.start, named.end));
        let is_meant = (named.is_quoted && is_colon) || is_variable || self.place == QuotedPlace::Option;
        let is_secret = |value: &[u8]| match class {
            _ if self.place == QuotedPlace::Call => {
                is_plausible(value, 8) && (looks_random(value) || !is_name(value))
            }
            NameMeaning::Token if is_number(value) => false,
            NameMeaning::Secret if is_meant => !is_placeholder(value),
            NameMeaning::Token if is_meant => {
                (value.len() >= 8 || is_plausible(value, 6)) && !is_placeholder(value)
            }
            NameMeaning::Secret => is_plausible(value, 6),
            NameMeaning::Token => is_plausible(value, 8),
            NameMeaning::Key if is_variable => {
                is_plausible(value, 8) && (looks_random(value) || !is_pattern(value))
            }
            NameMeaning::Key => looks_random(value) && !is_digest(value) && !is_placeholder(value),
        };
        let is_secret = self.quoted.seen > self.quoted.start && is_secret(self.quoted.judged(text));
        is_secret.then(|| SecretPlace::new(self.quoted.start, self.quoted.end(text)))
    }
}

/// A number in JSON, as `"pin": 12345678`; the marker is quoted as the name is.
fn number(text: &Text<'_>, start: usize, named: &AssignedName) -> Option<SecretPlace> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b'-';
    let seen = text.run_within(start, MIN_NUMBER_BYTES, is_digit);
    (seen - start >= MIN_NUMBER_BYTES).then(|| SecretPlace {
        start,
        end: text.run(seen, is_digit),
        quotes: named.end..text.run(named.end, |byte| byte == b'\\') + 1,
    })
}

/// The texts in a JSON array, as `"x-api-key": ["…", "…"]`, from the first to the last.
fn list(text: &Text<'_>, start: usize, class: NameMeaning) -> Option<SecretPlace> {
    if text.at(start) != b'[' {
        return None;
    }
    let is_between = |byte: u8| byte.is_ascii_whitespace() || byte == b',';
    let first = Quoted::at(text, text.run_within(start + 1, MAX_BLANK_LINES, is_between))?;
    let is_secret = |value: &[u8]| {
        !is_placeholder(value) && (class != NameMeaning::Key || (looks_random(value) && !is_digest(value)))
    };
    if !is_secret(first.judged(text)) {
        return None;
    }
    let mut end = first.end(text);
    loop {
        let closed = text.run(end, |byte| matches!(byte, b'\\' | b'"' | b'\''));
        match Quoted::at(text, text.run(closed, is_between)) {
            Some(next) if closed > end => end = next.end(text),
            _ => break,
        }
    }
    Some(SecretPlace::new(first.start, end))
}

/// The texts of a JSON array or object that are secrets, from the first to the last: those that begin an array, and those
/// that look random anywhere in it.
fn nested(text: &Text<'_>, start: usize, class: NameMeaning) -> Option<SecretPlace> {
    let listed = list(text, start, class);
    if !matches!(text.at(start), b'[' | b'{') {
        return None;
    }
    let (mut first, mut last) = match &listed {
        Some(place) => (Some(place.start), place.end),
        None => (None, start),
    };
    let mut position = last.max(start + 1);
    let mut depth = 1;
    while depth > 0 && position - start < MAX_NESTED_BYTES {
        match text.at(position) {
            0 => break,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'"' | b'\'' | b'\\' => {
                if let Some(quoted) = Quoted::at(text, position) {
                    let end = quoted.end(text);
                    let behind =
                        text.run_within(end, MAX_BLANKS, |byte| matches!(byte, b'\\' | b'"' | b'\''));
                    let value = quoted.judged(text);
                    let is_member = text.at(behind) == b':';
                    if !is_member && looks_random(value) && !is_digest(value) && !is_placeholder(value) {
                        first = first.or(Some(quoted.start));
                        last = end;
                    }
                    position = behind.max(position + 1);
                    continue;
                }
            }
            _ => {}
        }
        position += 1;
    }
    text.spend((position - start) / 8);
    first.map(|first| SecretPlace::new(first, last))
}

/// What is behind `**` in Markdown, `**Password:** …`, and behind the first two quotes of three.
fn behind_markup(text: &Text<'_>, start: usize, named: &AssignedName) -> usize {
    if text.has(start, b"\"\"\"") || text.has(start, b"'''") {
        return start + 2;
    }
    if named.is_quoted || !text.has(start, b"**") {
        return start;
    }
    match Gap::from(text, start + 2) {
        Some(gap) if !gap.has_lines => gap.end,
        _ => start,
    }
}

/// A value that looks random in YAML: in the line below its name, an item there, or behind an anchor or a tag.
fn in_yaml(text: &Text<'_>, start: usize) -> Option<SecretPlace> {
    let mut start = start;
    if text.has(start, b"- ") {
        start += 2;
    } else if matches!(text.at(start), b'!' | b'&') {
        let end = text.run_within(start, MAX_TYPE_BYTES, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'!' | b'&' | b'_' | b'-')
        });
        start = (text.at(end) == b' ').then_some(end + 1)?;
    } else if !matches!(text.before(start), b' ' | b'\t') {
        return None;
    }
    let is_value = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    let seen = text.run_within(start, MAX_JUDGED, is_value);
    let value = text.judged(start, seen);
    let is_secret = seen > start && looks_random(value) && !is_digest(value) && !is_placeholder(value);
    is_secret.then(|| SecretPlace::new(start, text.run(seen, is_value)))
}

/// The literal in `api_key: &str = "…"`.
fn after_type(text: &Text<'_>, start: usize) -> Option<Quoted> {
    let is_type =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'&' | b'<' | b'>' | b'\'' | b' ');
    let end = text.run_within(start, MAX_TYPE_BYTES + 1, is_type);
    if end == start || end - start > MAX_TYPE_BYTES || text.at(end) != b'=' {
        return None;
    }
    Quoted::at(text, text.run_within(end + 1, MAX_BLANKS, |byte| byte == b' '))
}

/// The text in `Some("…")`, `SecretString::from("…")`, `Some(Token("…"))`.
fn wrapped(text: &Text<'_>, start: usize) -> Option<AssignedQuoted> {
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.');
    let mut position = start;
    let mut place = QuotedPlace::Option;
    for _ in 0..3 {
        let end = text.run_within(position, MAX_TYPE_BYTES + 1, is_path);
        let name = text.slice(position, end);
        if name.is_empty() || name.len() > MAX_TYPE_BYTES || text.at(end) != b'(' {
            return None;
        }
        if !matches!(name, b"Some" | b"Ok" | b"Just" | b"Optional") {
            place = QuotedPlace::Call;
        }
        position = Gap::from(text, end + 1)?.end;
        if let Some(quoted) = Quoted::at(text, position) {
            return Some(AssignedQuoted { quoted, place });
        }
    }
    None
}

/// The first line of a YAML text that begins below its key: `password: |`.
fn block_scalar(text: &Text<'_>, start: usize) -> Option<usize> {
    if !matches!(text.at(start), b'|' | b'>') {
        return None;
    }
    let style = text.run_within(start + 1, 2, |byte| matches!(byte, b'+' | b'-' | b'1'..=b'9'));
    Gap::from(text, style)
        .filter(|gap| gap.has_lines)
        .map(|gap| gap.end)
}

fn bare(
    text: &Text<'_>,
    start: usize,
    class: NameMeaning,
    named: &AssignedName,
    is_query: bool,
    is_colon: bool,
) -> Option<SecretPlace> {
    let name = text.slice(named.start, named.end);
    let is_option = name.starts_with(b"--");
    let is_variable = !is_colon && named.is_tight && is_screaming(name);
    let begins_line = is_variable && begins_line(text, named.start);
    let is_value = |byte: u8| {
        !byte.is_ascii_whitespace()
            && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
            && (begins_line
                || !matches!(
                    byte,
                    b'&' | b';' | b',' | b')' | b'(' | b']' | b'[' | b'}' | b'{' | b'|'
                ))
    };
    let seen = if begins_line || named.end > start {
        text.run_within(start, MAX_JUDGED, is_value)
    } else {
        let [.., of_bare] = &text.runs;
        text.run_remembered(of_bare, start, is_value)
            .min(start + MAX_JUDGED)
    };
    let is_meant = is_query || is_variable || (is_option && !is_colon);
    let is_secret = |value: &[u8]| {
        let is_path_of_names = || {
            value
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'&' | b'!'))
        };
        let goes_on =
            matches!(text.at(seen), b'(' | b'[') || (!is_meant && matches!(text.at(seen), b'{' | b'<'));
        let is_expression = || (is_code(value) || (goes_on && is_path_of_names())) && !looks_random(value);
        let is_likely = match class {
            NameMeaning::Token if is_number(value) || (is_path(value) && !looks_random(value)) => false,
            NameMeaning::Secret if is_meant => !is_placeholder(value),
            NameMeaning::Token if is_meant => {
                (value.len() >= 8 && !is_placeholder(value)) || is_plausible(value, 4)
            }
            NameMeaning::Key if is_query => is_plausible(value, 12),
            NameMeaning::Key if is_variable => {
                is_plausible(value, 8) && (looks_random(value) || !is_pattern(value))
            }
            NameMeaning::Key => looks_random(value) && !is_digest(value) && !is_placeholder(value),
            NameMeaning::Secret => is_plausible(value, 6) && !value.starts_with(b"_"),
            NameMeaning::Token => is_plausible(value, 8) && !value.starts_with(b"_"),
        };
        is_likely && !is_expression()
    };
    let is_secret = seen > start && is_secret(text.judged(start, without_full_stop(text, start, seen)));
    is_secret.then(|| {
        let end = text.run(seen, is_value);
        SecretPlace::new(start, without_full_stop(text, start, end))
    })
}

/// `end` without the full stop that ends a sentence.
fn without_full_stop(text: &Text<'_>, start: usize, end: usize) -> usize {
    if text.before(end) == b'.' && end > start {
        end - 1
    } else {
        end
    }
}

/// Whether a name is written as environment variables are.
pub(super) fn is_screaming(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase)
        && !name.iter().any(|byte| byte.is_ascii_lowercase() || *byte == b'-')
}

/// Whether a name begins its line, or follows `export`.
pub(super) fn begins_line(text: &Text<'_>, start: usize) -> bool {
    matches!(text.before(start), 0 | b'\n') || text.slice(start.saturating_sub(7), start) == b"export "
}
