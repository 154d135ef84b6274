//! Names with values: `NAME_KEY=value`, `password: value`, `"api_key": "value"`, `?token=value`, `X-Api-Key: value`.
//!
//! How sure a value must look depends on how sure its place is: JSON, an environment variable, an option and a query
//! say that a value is meant; `token: …` may as well be code or prose.

use super::names::{self, Name, Role};
use super::pairs;
use super::values::{
    MAX_JUDGED, is_code, is_digest, is_number, is_path, is_pattern, is_placeholder, is_plausible,
    looks_random,
};
use super::{ANY, Beside, Found, Notice, Sign};
use crate::format::names::markers::REDACTED;
use crate::redact::keys::Keys;
use crate::redact::text::Text;

/// The longest name; longer runs are something else.
pub(super) const LONGEST_NAME: usize = 64;

/// The most blanks between a name, its separator and the value, on one line.
const MOST_BLANKS: usize = 24;

/// The most blanks and line breaks between them.
const MOST_BLANK_LINES: usize = 128;

/// Shorter numbers are counts.
const SHORTEST_NUMBER: usize = 6;

/// The longest type between a name and its value, and the longest name of what is called there.
const LONGEST_TYPE: usize = 32;

/// How many bytes of a name are enough to rule out most names.
const END_OF_NAME: usize = 12;

/// Names in the query of a URL that the key rule does not know, reversed.
pub(in crate::redact) const QUERY_NAMES: [&[u8]; 3] = [b"gis", b"erutangis", b"yek"];

pub(super) fn noticed_by(notice: &mut Notice<'_>) {
    let ends = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_\"'` \t\n\r]:";
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
            return (text.before(at) == WIDE[0]).then(|| Self {
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
struct Named {
    start: usize,
    end: usize,
    is_quoted: bool,
    /// The separator follows at once.
    is_tight: bool,
}

pub(super) fn find(text: &Text<'_>, at: usize, keys: &Keys) -> Option<Found> {
    let separator = Separator::at(text, at)?;
    if is_redacted(text, separator.end) {
        return None;
    }
    let end = end_of_name(text, separator.start)?;
    // Most names end here.
    if !keys.may_say_something(text.slice(end.at.saturating_sub(END_OF_NAME), end.at)) {
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

#[inline(never)]
fn find_named(text: &Text<'_>, separator: &Separator, end: &EndOfName, keys: &Keys) -> Option<Found> {
    let is_colon = separator.is_colon;
    let named = end.name(text)?;
    let gap = Gap::from(text, separator.end)?;
    let says = text.said_by(named.start, named.end, keys);
    let is_query = !is_colon && !named.is_quoted && matches!(text.before(named.start), b'?' | b'&' | b';');
    let class = says
        .class
        .or_else(|| (is_query && says.is_query_name).then_some(Name::Key));
    let Some(class) = class else {
        return (says.role == Role::Name)
            .then(|| pairs::find(text, named.start, gap.end, !is_colon, keys))?;
    };
    let start = gap.end;
    if is_colon
        && !named.is_quoted
        && !gap.has_lines
        && let Some(header) = says.header
    {
        return header.find(text, start);
    }
    let is_name = |value: &[u8]| names::class(value, keys).is_some();
    let quoted = Quoted::at(text, start)
        .or_else(|| {
            (is_colon && !named.is_quoted)
                .then(|| after_type(text, start))
                .flatten()
        })
        .or_else(|| wrapped(text, start));
    if let Some(quoted) = quoted {
        return quoted.find(text, class, &named, is_colon, is_name);
    }
    if named.is_quoted && is_colon {
        return number(text, start, &named)
            .filter(|_| says.is_own)
            .or_else(|| list(text, start, class));
    }
    if gap.has_lines {
        return None;
    }
    let start = if is_colon {
        block_scalar(text, start).unwrap_or(start)
    } else {
        start
    };
    bare(text, start, class, &named, is_query, is_colon)
}

/// Blanks and line breaks; a line break may be spelled `\n`.
pub(super) struct Gap {
    pub(super) end: usize,
    pub(super) has_lines: bool,
}

impl Gap {
    /// The gap from `start` on; nothing when it is too wide.
    pub(super) fn from(text: &Text<'_>, start: usize) -> Option<Self> {
        let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
        let mut end = text.run_within(start, MOST_BLANKS + 1, is_blank);
        let mut has_lines = false;
        loop {
            let is_escaped = text.at(end) == b'\\' && matches!(text.at(end + 1), b'n' | b'r' | b't');
            if !is_escaped && !matches!(text.at(end), b'\n' | b'\r') {
                break;
            }
            has_lines = true;
            end = text.run_within(end + 1 + usize::from(is_escaped), MOST_BLANK_LINES, is_blank);
            if end - start > MOST_BLANK_LINES {
                return None;
            }
        }
        let most = if has_lines { MOST_BLANK_LINES } else { MOST_BLANKS };
        (end - start <= most).then_some(Self { end, has_lines })
    }
}

/// Where a name ends that is before a separator.
struct EndOfName {
    at: usize,
    /// The quote behind it.
    quote: Option<u8>,
    is_tight: bool,
}

/// The end of the name before `separator`, if there may be one.
#[inline]
fn end_of_name(text: &Text<'_>, separator: usize) -> Option<EndOfName> {
    let mut end = separator;
    if text.before(end) == b':' {
        end -= 1;
    }
    let mut has_lines = false;
    while separator - end < MOST_BLANKS {
        match text.before(end) {
            b' ' | b'\t' => {}
            b'\n' | b'\r' => has_lines = true,
            _ => break,
        }
        end -= 1;
    }
    let is_tight = end == separator;
    if text.before(end) == b']' && matches!(text.before(end - 1), b'"' | b'\'') {
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
    text.spend((separator - end) / 2);
    Some(EndOfName {
        at: end,
        quote,
        is_tight,
    })
}

impl EndOfName {
    fn name(&self, text: &Text<'_>) -> Option<Named> {
        let end = self.at;
        let is_quoted = self.quote.is_some();
        let is_name = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-' | b'.')
                || !byte.is_ascii()
                || (is_quoted && byte == b' ')
        };
        let mut start = end;
        loop {
            let before = text.before(start);
            let is_wide = || is_wide_separator(text.slice(start.saturating_sub(3), start));
            if !is_name(before) || (!before.is_ascii() && is_wide()) {
                break;
            }
            start -= 1;
            // Letters of other scripts take up to four bytes.
            if end - start > LONGEST_NAME * if text.at(start).is_ascii() { 1 } else { 4 } {
                return None;
            }
        }
        text.spend(end - start);
        let is_closed = self.quote.is_none_or(|quote| text.before(start) == quote);
        (start < end && is_closed).then_some(Named {
            start,
            end,
            is_quoted,
            is_tight: self.is_tight,
        })
    }
}

/// A value in quotes.
pub(super) struct Quoted {
    pub(super) start: usize,
    /// As far as it was looked at.
    pub(super) seen: usize,
    pub(super) quote: u8,
    pub(super) backslashes: usize,
    place: Place,
}

/// Where a value in quotes is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Behind the separator.
    Plain,
    /// In what stands for a value that may be missing, as in `Some("…")`.
    Option,
    /// What is called with it decides what it is, as in `getenv("…")`.
    Call,
}

/// More backslashes before a quote are no text within texts.
const MOST_BACKSLASHES: usize = 64;

impl Quoted {
    /// The quoted value at `start`, after the letters that some languages set before quotes.
    pub(super) fn at(text: &Text<'_>, start: usize) -> Option<Self> {
        Self::within(text, start, MAX_JUDGED)
    }

    /// As [`at`](Self::at), of which about `most` bytes are looked at.
    pub(super) fn within(text: &Text<'_>, start: usize, most: usize) -> Option<Self> {
        let letters = text.run_within(start, 3, |byte| {
            matches!(byte, b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'F' | b'U')
        });
        let start = if letters - start <= 2 { letters } else { start };
        let quote_at = text.run_within(start, MOST_BACKSLASHES, |byte| byte == b'\\');
        let quote = text.at(quote_at);
        let backslashes = quote_at - start;
        if !matches!(quote, b'"' | b'\'' | b'`') {
            return None;
        }
        Some(Self {
            start: quote_at + 1,
            seen: quoted_end(text, quote_at + 1, quote, backslashes, most),
            quote,
            backslashes,
            place: Place::Plain,
        })
    }

    /// Where it ends, however long it is.
    pub(super) fn end(&self, text: &Text<'_>) -> usize {
        quoted_end(text, self.start, self.quote, self.backslashes, usize::MAX)
    }

    /// The part that it is judged by.
    pub(super) fn judged<'a>(&self, text: &Text<'a>) -> &'a [u8] {
        text.judged(self.start, self.seen)
    }

    /// The position behind the quote that closes it, when that was seen.
    pub(super) fn behind(&self, text: &Text<'_>) -> Option<usize> {
        let quote = text.run_within(self.seen, MOST_BACKSLASHES, |byte| byte == b'\\');
        (text.at(quote) == self.quote).then_some(quote + 1)
    }

    fn find(
        &self,
        text: &Text<'_>,
        class: Name,
        named: &Named,
        is_colon: bool,
        is_name: impl Fn(&[u8]) -> bool,
    ) -> Option<Found> {
        let is_variable = !is_colon && is_screaming(text.slice(named.start, named.end));
        let is_meant = (named.is_quoted && is_colon) || is_variable || self.place == Place::Option;
        let is_secret = |value: &[u8]| match class {
            _ if self.place == Place::Call => {
                is_plausible(value, 8) && (looks_random(value) || !is_name(value))
            }
            Name::Token if is_number(value) => false,
            Name::Secret if is_meant => !is_placeholder(value),
            Name::Token if is_meant => (value.len() >= 8 || is_plausible(value, 6)) && !is_placeholder(value),
            Name::Secret => is_plausible(value, 6),
            Name::Token => is_plausible(value, 8),
            Name::Key if is_variable => is_plausible(value, 8) && (looks_random(value) || !is_pattern(value)),
            Name::Key => looks_random(value) && !is_digest(value) && !is_placeholder(value),
        };
        let is_secret = self.seen > self.start && is_secret(self.judged(text));
        is_secret.then(|| Found::new(self.start, self.end(text)))
    }
}

/// A number in JSON, as `"pin": 12345678`; the marker is quoted as the name is.
fn number(text: &Text<'_>, start: usize, named: &Named) -> Option<Found> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b'-';
    let seen = text.run_within(start, SHORTEST_NUMBER, is_digit);
    (seen - start >= SHORTEST_NUMBER).then(|| Found {
        start,
        end: text.run(seen, is_digit),
        quotes: named.end..text.run(named.end, |byte| byte == b'\\') + 1,
    })
}

/// The texts in a JSON array, as `"x-api-key": ["…", "…"]`, from the first to the last.
fn list(text: &Text<'_>, start: usize, class: Name) -> Option<Found> {
    if text.at(start) != b'[' {
        return None;
    }
    let is_between = |byte: u8| byte.is_ascii_whitespace() || byte == b',';
    let first = Quoted::at(text, text.run_within(start + 1, MOST_BLANK_LINES, is_between))?;
    let is_secret = |value: &[u8]| {
        !is_placeholder(value) && (class != Name::Key || (looks_random(value) && !is_digest(value)))
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
    Some(Found::new(first.start, end))
}

/// The literal in `api_key: &str = "…"`.
fn after_type(text: &Text<'_>, start: usize) -> Option<Quoted> {
    let is_type =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'&' | b'<' | b'>' | b'\'' | b' ');
    let end = text.run_within(start, LONGEST_TYPE + 1, is_type);
    if end == start || end - start > LONGEST_TYPE || text.at(end) != b'=' {
        return None;
    }
    Quoted::at(text, text.run_within(end + 1, MOST_BLANKS, |byte| byte == b' '))
}

/// The text in `Some("…")`, `SecretString::from("…")`, `Some(Token("…"))`.
fn wrapped(text: &Text<'_>, start: usize) -> Option<Quoted> {
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.');
    let mut position = start;
    let mut place = Place::Option;
    for _ in 0..3 {
        let end = text.run_within(position, LONGEST_TYPE + 1, is_path);
        let name = text.slice(position, end);
        if name.is_empty() || name.len() > LONGEST_TYPE || text.at(end) != b'(' {
            return None;
        }
        if !matches!(name, b"Some" | b"Ok" | b"Just" | b"Optional") {
            place = Place::Call;
        }
        position = Gap::from(text, end + 1)?.end;
        if let Some(quoted) = Quoted::at(text, position) {
            return Some(Quoted { place, ..quoted });
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

/// Where the text in quotes that begins at `start` ends; at the end of its line when no quote closes it. At most about
/// `most` bytes of it are looked at.
pub(super) fn quoted_end(text: &Text<'_>, start: usize, quote: u8, backslashes: usize, most: usize) -> usize {
    let limit = start.saturating_add(most);
    let mut position = start;
    loop {
        position = text.run_within(position, limit.saturating_sub(position), |byte| {
            byte != quote && byte != b'\\' && byte != b'\n'
        });
        if text.at(position) != b'\\' || position >= limit {
            return position;
        }
        let from = position;
        let run = text.run_within(position, limit - position, |byte| byte == b'\\');
        if text.at(run) == quote && run - position <= backslashes {
            return position;
        }
        // Backslashes escape each other in pairs, and one that is left over what follows.
        position = if backslashes == 0 && (run - position).is_multiple_of(2) {
            run
        } else {
            next_character(text, run).min(text.len())
        };
        // The escaped character may be the first of a marker.
        let marker = text.before_marker(from, position);
        if marker != position {
            return marker;
        }
    }
}

/// The position after the character at `position`.
fn next_character(text: &Text<'_>, position: usize) -> usize {
    text.run(position + 1, |byte| matches!(byte, 0x80..=0xbf))
}

fn bare(
    text: &Text<'_>,
    start: usize,
    class: Name,
    named: &Named,
    is_query: bool,
    is_colon: bool,
) -> Option<Found> {
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
            Name::Token if is_number(value) || (is_path(value) && !looks_random(value)) => false,
            Name::Secret if is_meant => !is_placeholder(value),
            Name::Token if is_meant => (value.len() >= 8 && !is_placeholder(value)) || is_plausible(value, 4),
            Name::Key if is_query => is_plausible(value, 12),
            Name::Key if is_variable => is_plausible(value, 8) && (looks_random(value) || !is_pattern(value)),
            Name::Key => looks_random(value) && !is_digest(value) && !is_placeholder(value),
            Name::Secret => is_plausible(value, 6) && !value.starts_with(b"_"),
            Name::Token => is_plausible(value, 8) && !value.starts_with(b"_"),
        };
        is_likely && !is_expression()
    };
    let is_secret = seen > start && is_secret(text.judged(start, without_full_stop(text, start, seen)));
    is_secret.then(|| {
        let end = text.run(seen, is_value);
        Found::new(start, without_full_stop(text, start, end))
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
