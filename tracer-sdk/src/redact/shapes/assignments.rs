//! Names with values: `NAME_KEY=value`, `password: value`, `"api_key": "value"`, `?token=value`, `X-Api-Key: value`.
//!
//! How sure a value must look depends on how sure its place is: JSON, an environment variable, an option and a query
//! say that a value is meant; `token: …` may as well be code or prose.

use std::ops::Range;

use super::MAX_NAME_BYTES;
use super::headers;
use super::pairs;
use super::value_places::{Gap, MAX_BLANK_LINES, MAX_BLANKS, Quoted};
use super::{ANY, Beside, SecretPlace, Sign, SignSink};
use crate::format::names::markers::REDACTED;
use crate::redact::byte_set::ByteSet;
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::NameMeaning;
use crate::redact::names;
use crate::redact::text::{Text, is_url_safe};
use crate::redact::values::{
    MAX_JUDGED, MAX_PHRASE_BYTES, MAX_PHRASE_WORD_BYTES, is_code, is_number, is_path, is_pattern, is_phrase,
    is_placeholder, is_plausible, looks_random, looks_secret,
};

/// Shorter numbers are counts.
const MIN_NUMBER_BYTES: usize = 6;

/// The work of looking for an index or a length behind a name.
const INDEX_WORK: usize = 15;

/// The work that deciding about a name takes beside what is looked at for it.
const NAMED_WORK: usize = 38;

/// The longest type between a name and its value, and the longest name of what is called there.
const MAX_TYPE_BYTES: usize = 32;

/// How much of a JSON array or object under a name is looked at.
const MAX_NESTED_BYTES: usize = 512;

/// The work that a text in it takes beside what is judged of it.
const ITEM_WORK: usize = 16;

/// How much of what is behind an item in YAML is passed.
const MAX_COMMENT_BYTES: usize = 64;

/// How many bytes of a name are enough to rule out most names.
const END_OF_NAME: usize = 12;

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    let ends = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_\"'` \t\n\r]*:?+";
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

/// The work that one of them takes beyond that of another one: what is before it is looked at byte by byte.
const WIDE_WORK: usize = 20;
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
    if text.at(at) == WIDE[1] && text.before(at) == WIDE[0] {
        text.spend(WIDE_WORK);
    }
    let last = match (text.at(at), text.at(at + 1)) {
        (b':', b':') => return None,
        // The name is before all of `:=`, `::=`, `?=` and `+=`.
        (b':' | b'?' | b'+', _) => at.checked_sub(1 + usize::from(text.before(at) == b':'))?,
        // An operator, or the beginning of a URL; `:=` is noticed by its own two signs.
        (_, b':') if matches!(text.at(at + 2), b':' | b'/' | b'=') => return None,
        (_, b'=') if text.at(at + 2) == b'=' => return None,
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
        b']' => {
            matches!(text.before(last), b'"' | b'\'' | b'[' | b'0'..=b'9')
                || may_say_something(text, last, keys)
        }
        b' ' if text.before(last).is_ascii_alphanumeric() => {
            may_say_something(text, last, keys) || is_type(text, last)
        }
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
        return if says.role.is_name() {
            pairs::find(text, named.start..named.end, says.role, gap.end, !is_colon, keys)
        } else {
            None
        };
    };
    if is_in_arn(text, named.start) {
        return None;
    }
    let start = gap.end;
    if is_colon
        && !named.is_quoted
        && !gap.has_lines
        && let Some(header) = says.header
    {
        return headers::find(header, text, start);
    }
    if let Some(line) = behind_quotes(text, start) {
        return in_lines(text, start, line, class);
    }
    let start = behind_markup(text, start, &named);
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
        .or_else(|| dumped(text, start))
        .or_else(|| wrapped(text, start, class));
    if let Some(quoted) = quoted {
        return quoted.find(text, class, &named, is_colon, keys);
    }
    if named.is_quoted && is_colon {
        return number(text, start, &named)
            .filter(|_| says.is_own)
            .or_else(|| nested(text, start, class));
    }
    if is_colon
        && !named.is_quoted
        && let Some(place) = in_yaml(text, start, gap.has_lines, class, keys)
    {
        return Some(place);
    }
    if gap.has_lines {
        return None;
    }
    if class == NameMeaning::Code
        && let Some(end) = phrase_end(text, start)
    {
        return Some(SecretPlace::new(start, end));
    }
    let start = if is_colon {
        block_scalar(text, start).unwrap_or(start)
    } else {
        start
    };
    bare(text, start, class, &named, is_query, is_colon)
}

/// Whether the word at `start` is behind an account in the name of a resource: `arn:aws:secretsmanager:…:123456789012:secret:…`.
fn is_in_arn(text: &Text<'_>, start: usize) -> bool {
    const ACCOUNT_BYTES: usize = 12;
    let account = text.slice(start.saturating_sub(ACCOUNT_BYTES + 1), start.saturating_sub(1));
    text.before(start) == b':' && account.len() == ACCOUNT_BYTES && account.iter().all(u8::is_ascii_digit)
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
    while matches!(text.before(end), b':' | b'?' | b'+') && separator - end < 2 {
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
    // A type in Go, and a length in C.
    if is_type(text, end) {
        end -= TYPE.len();
    }
    if text.before(end) == b']' {
        text.spend(INDEX_WORK);
        let length = text.slice(end.saturating_sub(MAX_LENGTH_BYTES), end - 1);
        let digits = length
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if text.before(end - 1 - digits) == b'[' {
            end -= digits + 2;
        }
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

/// A type that is written between a name and `=`: `var password string = "…"`.
const TYPE: &[u8] = b" string";

/// The longest length of an array, with its brackets.
const MAX_LENGTH_BYTES: usize = 6;

fn is_type(text: &Text<'_>, end: usize) -> bool {
    text.before(end) == b'g'
        && end
            .checked_sub(TYPE.len())
            .is_some_and(|start| text.has(start, TYPE))
}

/// The longest name with other letters than those of ASCII, which take up to four bytes.
const MAX_WIDE_NAME_BYTES: usize = 4 * MAX_NAME_BYTES;

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
        let (start, longest) = if text.before(end - length).is_ascii() {
            (end - length, MAX_NAME_BYTES)
        } else {
            let start = self.start_of_any(text);
            if end - start > MAX_WIDE_NAME_BYTES && length > 0 && !is_quoted {
                // Scripts without blanks write it behind a sentence.
                (end - length, MAX_NAME_BYTES)
            } else {
                (start, MAX_WIDE_NAME_BYTES)
            }
        };
        text.spend(end - start);
        if end - start > longest {
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
                break;
            }
            start -= 1;
            if end - start > MAX_WIDE_NAME_BYTES {
                break;
            }
        }
        // The caller counts what any name takes.
        text.spend(2 * (end - start));
        start
    }
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
        keys: &RedactKeys,
    ) -> Option<SecretPlace> {
        let start = self.quoted.start;
        let is_name = |value: &[u8]| text.class(start, start + value.len(), keys).is_some();
        let is_variable = !is_colon && is_screaming(text.slice(named.start, named.end));
        let is_meant = (named.is_quoted && is_colon) || is_variable || self.place == QuotedPlace::Option;
        let is_secret = |value: &[u8]| match class {
            NameMeaning::Key if self.place == QuotedPlace::Call => {
                looks_random(value) && !is_placeholder(value) && !is_pattern(value)
            }
            _ if self.place == QuotedPlace::Call => {
                is_plausible(value, 8) && (looks_random(value) || !is_name(value))
            }
            NameMeaning::Key if is_variable => {
                is_plausible(value, 8) && (looks_random(value) || !is_pattern(value))
            }
            class if is_meant => class.hides_meant(value),
            class => class.hides_likely(value),
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
        quotes: named.end..text.run(named.end, |byte| byte == b'\\') + 1,
        ..SecretPlace::new(start, text.run(seen, is_digit))
    })
}

/// The texts of a JSON array or object that are secrets: those directly in an array, as one place while only texts and numbers
/// follow each other, and those that look random anywhere in it.
fn nested(text: &Text<'_>, start: usize, class: NameMeaning) -> Option<SecretPlace> {
    let is_list = match text.at(start) {
        b'[' => true,
        b'{' => false,
        _ => return None,
    };
    let mut places: Vec<Range<usize>> = Vec::new();
    let (mut position, mut from) = (start + 1, start);
    let mut depth = 1;
    // Since the last secret nothing was passed but a comma, and what is no secret directly in the array.
    let mut goes_on = false;
    // JSON has no parentheses.
    let (mut is_first, mut is_code) = (true, false);
    while depth > 0 && position - from < MAX_NESTED_BYTES {
        match text.at(position) {
            0 => break,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'(' => is_code = true,
            b'"' | b'\'' | b'\\' => {
                if let Some(quoted) = Quoted::within(text, position, MAX_NESTED_BYTES) {
                    text.spend(ITEM_WORK);
                    let is_item = is_list && depth == 1 && !is_code;
                    let value = quoted.judged(text);
                    let is_secret = looks_secret(value)
                        || (is_item && class != NameMeaning::Key && !is_placeholder(value));
                    let behind = quoted.behind_markers(text, is_secret);
                    let next = behind.map(|behind| {
                        text.at(text.run_within(behind, MAX_BLANK_LINES, |byte| byte.is_ascii_whitespace()))
                    });
                    let is_key = matches!(next, Some(b':' | b'='));
                    let is_json = matches!(next, Some(b',' | b']' | b'}' | b')' | b':' | b'=' | b'\\'));
                    // In a text that was cut no quote is there; what a cut left of a member's name is no item.
                    let may_be_cut = behind.is_none() && (is_first || goes_on);
                    let is_secret = is_secret && !is_key && (is_json || may_be_cut || looks_secret(value));
                    is_first = false;
                    match places.last_mut() {
                        _ if !is_secret => {}
                        Some(last) if goes_on => last.end = quoted.end(text),
                        _ => places.push(quoted.start..quoted.end(text)),
                    }
                    goes_on = is_secret || (goes_on && is_item && class != NameMeaning::Key);
                    let Some(behind) = behind.filter(|_| is_json) else {
                        break;
                    };
                    if is_secret && is_item && places.len() == 1 {
                        from = behind;
                    }
                    position = behind;
                    continue;
                }
            }
            _ => {}
        }
        let byte = text.at(position);
        let is_in_list = is_list && depth == 1 && byte.is_ascii_alphanumeric();
        goes_on &= byte == b',' || byte.is_ascii_whitespace() || is_in_list;
        position += 1;
    }
    text.spend(position - start);
    SecretPlace::apart(places)
}

/// The line below three quotes at `start`, if that is where a value begins.
fn behind_quotes(text: &Text<'_>, start: usize) -> Option<usize> {
    if !text.has(start, b"\"\"\"") && !text.has(start, b"'''") {
        return None;
    }
    // A backslash may escape the line break.
    let line = start + 3 + usize::from(text.has(start + 3, b"\\\n"));
    Gap::from(text, line)
        .filter(|gap| gap.has_lines)
        .map(|gap| gap.end)
}

/// The value that begins at `value`, below the three quotes at `start`: `api_key = """`, a line break, the value.
fn in_lines(text: &Text<'_>, start: usize, value: usize, class: NameMeaning) -> Option<SecretPlace> {
    static VALUE: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'\\");
    let is_value = |byte| VALUE.has(byte);
    let seen = text.run_within(value, MAX_JUDGED, is_value);
    if seen == value || !class.hides_likely(text.judged(value, seen)) {
        return None;
    }
    let end = text.run(seen, is_value);
    // It may have several lines.
    let rest = text.slice(end, text.len().min(end + MAX_NESTED_BYTES));
    let closing = memchr::memmem::find(rest, text.slice(start, start + 3))
        .map_or(end, |offset| text.before_marker(end, end + offset));
    let blanks = text
        .slice(end, closing)
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_whitespace());
    Some(SecretPlace::new(value, closing - blanks.count()))
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

/// A value in YAML that is in the line below its name, an item there, or behind an anchor or a tag.
fn in_yaml(
    text: &Text<'_>,
    start: usize,
    has_lines: bool,
    class: NameMeaning,
    keys: &RedactKeys,
) -> Option<SecretPlace> {
    let mut gap = Gap {
        end: start,
        has_lines,
    };
    // A tag of one's own may say that the value is a name.
    let (mut has_anchor, mut has_own_tag) = (false, false);
    for _ in 0..2 {
        match text.at(gap.end) {
            b'&' => has_anchor = true,
            b'!' => has_own_tag |= text.at(gap.end + 1) != b'!',
            _ => break,
        }
        let end = text.run_within(gap.end, MAX_TYPE_BYTES, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'!' | b'&' | b'_' | b'-')
        });
        let next = Gap::from(text, end).filter(|next| next.end > end)?;
        gap = Gap {
            has_lines: gap.has_lines || next.has_lines,
            ..next
        };
    }
    let is_tagged = gap.end > start;
    if gap.has_lines && text.has(gap.end, b"- ") {
        return yaml_items(text, gap.end);
    }
    if gap.has_lines
        && matches!(text.before(gap.end), b' ' | b'\t')
        && let Some(place) = pairs::below(text, gap.end, class, keys)
    {
        return Some(place);
    }
    let value = if is_tagged {
        YamlScalar::at(text, block_scalar(text, gap.end).unwrap_or(gap.end))
    } else if gap.has_lines && matches!(text.before(start), b' ' | b'\t') {
        YamlScalar::at(text, start)
    } else {
        return None;
    };
    let is_sure = is_tagged && !has_own_tag && (value.quoted.is_some() || !(has_anchor || gap.has_lines));
    let judged = text.judged(value.start, value.seen);
    let is_plausible = match class {
        NameMeaning::Secret | NameMeaning::Token => is_sure && class.hides_likely(judged),
        NameMeaning::Key | NameMeaning::Code | NameMeaning::Word => false,
    };
    (is_plausible || looks_secret(judged)).then(|| SecretPlace::new(value.start, value.end(text)))
}

/// Those items of a YAML list that look random, of the one at `start` and those in the lines below it.
fn yaml_items(text: &Text<'_>, start: usize) -> Option<SecretPlace> {
    let mut places = Vec::new();
    let (mut item, mut from) = (start, start);
    while text.has(item, b"- ") && item - from < MAX_NESTED_BYTES {
        let value = YamlScalar::at(text, item + 2);
        let is_secret = looks_secret(text.judged(value.start, value.seen));
        if is_secret {
            places.push(value.start..value.end(text));
            from = item;
        }
        let Some(behind) = value.behind(text, is_secret) else {
            break;
        };
        // A comment may be there.
        let end = text.run_within(behind, MAX_COMMENT_BYTES, |byte| {
            !matches!(byte, b'\n' | b'\r' | b'\\')
        });
        match Gap::from(text, end) {
            Some(gap) if gap.has_lines => item = gap.end,
            _ => break,
        }
    }
    SecretPlace::apart(places)
}

/// A value in YAML, with quotes or without.
struct YamlScalar {
    start: usize,
    /// As far as it was looked at.
    seen: usize,
    quoted: Option<Quoted>,
}

impl YamlScalar {
    fn at(text: &Text<'_>, start: usize) -> Self {
        match Quoted::at(text, start) {
            Some(quoted) => Self {
                start: quoted.start,
                seen: quoted.seen,
                quoted: Some(quoted),
            },
            None => Self {
                start,
                seen: text.run_within(start, MAX_JUDGED, Self::is_bare),
                quoted: None,
            },
        }
    }

    fn is_bare(byte: u8) -> bool {
        static BARE: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'`\\");
        BARE.has(byte)
    }

    fn end(&self, text: &Text<'_>) -> usize {
        match &self.quoted {
            Some(quoted) => quoted.end(text),
            None => text.run(self.seen, Self::is_bare),
        }
    }

    /// The position behind it, of one that `is_long` however far that is.
    fn behind(&self, text: &Text<'_>, is_long: bool) -> Option<usize> {
        match &self.quoted {
            Some(quoted) => quoted.behind_markers(text, is_long),
            None if is_long => Some(self.end(text)),
            None => Some(self.seen),
        }
    }
}

/// The literal in `api_key: &str = "…"`, `api_key: Optional[str] = "…"`.
fn after_type(text: &Text<'_>, start: usize) -> Option<Quoted> {
    static SIGNS: ByteSet = ByteSet::of(b"_&<>' []|.?:");
    let is_type = |byte: u8| byte.is_ascii_alphanumeric() || SIGNS.has(byte);
    let end = text.run_within(start, MAX_TYPE_BYTES + 1, is_type);
    if end == start || end - start > MAX_TYPE_BYTES || text.at(end) != b'=' {
        return None;
    }
    Quoted::at(text, text.run_within(end + 1, MAX_BLANKS, |byte| byte == b' '))
}

/// The text that PHP dumps as `string(12) "…"`.
fn dumped(text: &Text<'_>, start: usize) -> Option<AssignedQuoted> {
    const TYPE: &[u8] = b"string(";
    if !text.has(start, TYPE) {
        return None;
    }
    let end = text.run_within(start + TYPE.len(), MAX_LENGTH_BYTES, |byte| byte.is_ascii_digit());
    let quoted = text.has(end, b") ").then(|| Quoted::at(text, end + 2))??;
    Some(AssignedQuoted {
        quoted,
        place: QuotedPlace::Option,
    })
}

/// The text in `Some("…")`, `SecretString::from("…")`, `Some(Token("…"))`.
fn wrapped(text: &Text<'_>, start: usize, class: NameMeaning) -> Option<AssignedQuoted> {
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.');
    let mut position = start;
    let mut place = QuotedPlace::Option;
    for _ in 0..3 {
        let end = text.run_within(position, MAX_TYPE_BYTES + 1, is_path);
        let name = text.slice(position, end);
        if name.is_empty() || name.len() > MAX_TYPE_BYTES || text.at(end) != b'(' {
            return None;
        }
        let last = name.rsplit(|byte| matches!(byte, b':' | b'.')).next();
        if last.is_some_and(|name| names::looks_up(name, class)) {
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

/// Where the phrase ends that begins at `start`, if one does.
fn phrase_end(text: &Text<'_>, start: usize) -> Option<usize> {
    // Most values are one word.
    let first = text.run_within(start, MAX_PHRASE_WORD_BYTES + 1, |byte| byte.is_ascii_lowercase());
    if text.at(first) != b' ' {
        return None;
    }
    let is_in_phrase = |byte: u8| byte.is_ascii_lowercase() || byte == b' ';
    let end = text.run_within(start, MAX_PHRASE_BYTES, is_in_phrase);
    is_phrase(text.slice(start, end)).then_some(end)
}

fn bare(
    text: &Text<'_>,
    start: usize,
    class: NameMeaning,
    named: &AssignedName,
    is_query: bool,
    is_colon: bool,
) -> Option<SecretPlace> {
    static VALUE_OF_LINE: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'`<>\\");
    static VALUE: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'`<>\\&;,)(][}{|");
    let name = text.slice(named.start, named.end);
    let is_option = name.starts_with(b"--");
    let is_variable = !is_colon && named.is_tight && is_screaming(name);
    let begins_line = is_variable && begins_line(text, named.start);
    let value = if begins_line { &VALUE_OF_LINE } else { &VALUE };
    let is_value = |byte| value.has(byte);
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
        // A negation, or a tag.
        let is_negated = || {
            !is_meant
                && value.starts_with(b"!")
                && !value.iter().any(u8::is_ascii_digit)
                && is_path_of_names()
        };
        let is_expression =
            || (is_code(value) || is_negated() || (goes_on && is_path_of_names())) && !looks_random(value);
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
            NameMeaning::Secret | NameMeaning::Token => class.hides_likely(value) && !value.starts_with(b"_"),
            NameMeaning::Key | NameMeaning::Code | NameMeaning::Word => class.hides_member(value),
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
