//! Names with values: `NAME_KEY=value`, `password: value`, `"api_key": "value"`, `?token=value`, `X-Api-Key: value`.
//!
//! How sure a value must look depends on how sure its place is: JSON, an environment variable, an option and a query
//! say that a value is meant; `token: …` may as well be code or prose.

use super::headers::Header;
use super::names::{self, Name};
use super::values::{is_code, is_digest, is_number, is_placeholder, is_plausible, looks_random};
use super::{ANY, Beside, Found, Notice, Sign};
use crate::write::redact::keys::Keys;
use crate::write::redact::text::Text;

/// The longest name; longer runs are something else.
const LONGEST_NAME: usize = 64;

/// The most blanks between a name, its separator and the value.
const MOST_BLANKS: usize = 24;

/// Shorter numbers are counts.
const SHORTEST_NUMBER: usize = 6;

/// Names in the query of a URL that the key rule does not know.
const QUERY_NAMES: [&[u8]; 6] = [b"sig", b"signature", b"x-amz-signature", b"key", b"auth", b"pwd"];

pub(super) fn noticed_by(notice: &mut Notice<'_>) {
    for first in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_\"'` \t]:" {
        for separator in b"=:" {
            notice(Sign {
                pair: [*first, *separator],
                beside: Beside::After(&ANY),
            });
        }
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
    let separator = at + 1;
    let is_colon = text.at(separator) == b':';
    let next = text.at(separator + 1);
    if next == b'=' && !is_colon || is_colon && (next == b':' || next == b'/' || text.at(at) == b':') {
        return None;
    }
    let named = name_before(text, separator)?;
    let name = text.slice(named.start, named.end);
    let is_query = !is_colon && !named.is_quoted && matches!(text.before(named.start), b'?' | b'&' | b';');
    let class = names::class(name, keys).or_else(|| {
        (is_query && QUERY_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))).then_some(Name::Key)
    })?;

    let after_arrow = if next == b'>' || (is_colon && next == b'=') {
        separator + 2
    } else {
        separator + 1
    };
    let start = text.run(after_arrow, |byte| matches!(byte, b' ' | b'\t'));
    if start - after_arrow > MOST_BLANKS {
        return None;
    }
    if is_colon
        && !named.is_quoted
        && let Some(header) = Header::named(name)
    {
        return header.find(text, start);
    }
    if let Some(quoted) =
        Quoted::at(text, start).or_else(|| after_type(text, start, is_colon && !named.is_quoted))
    {
        return quoted.find(text, class, &named, is_colon);
    }
    if named.is_quoted && is_colon {
        return number(text, start, class, &named).or_else(|| list(text, start, class));
    }
    bare(text, start, class, &named, is_query, is_colon)
}

/// The name that ends before `separator`.
fn name_before(text: &Text<'_>, separator: usize) -> Option<Named> {
    let mut end = separator;
    if text.before(end) == b':' {
        end -= 1;
    }
    while matches!(text.before(end), b' ' | b'\t') && separator - end < MOST_BLANKS {
        end -= 1;
    }
    let is_tight = end == separator;
    if text.before(end) == b']' && matches!(text.before(end - 1), b'"' | b'\'') {
        end -= 1;
    }
    let quote = text.before(end);
    let is_quoted = matches!(quote, b'"' | b'\'' | b'`');
    if is_quoted {
        end -= 1;
        while text.before(end) == b'\\' {
            end -= 1;
        }
    }
    let is_name = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || (is_quoted && byte == b' ')
    };
    let mut start = end;
    while is_name(text.before(start)) {
        start -= 1;
        if end - start > LONGEST_NAME {
            return None;
        }
    }
    let is_closed = !is_quoted || text.before(start) == quote;
    (start < end && is_closed).then_some(Named {
        start,
        end,
        is_quoted,
        is_tight,
    })
}

/// A value in quotes.
struct Quoted {
    start: usize,
    end: usize,
}

impl Quoted {
    /// The quoted value at `start`, after the letters that some languages set before quotes.
    fn at(text: &Text<'_>, start: usize) -> Option<Self> {
        let letters = text.run(start, |byte| {
            matches!(byte, b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'F' | b'U')
        });
        let start = if letters - start <= 2 { letters } else { start };
        let quote_at = text.run(start, |byte| byte == b'\\');
        let quote = text.at(quote_at);
        let backslashes = quote_at - start;
        if !matches!(quote, b'"' | b'\'' | b'`') {
            return None;
        }
        Some(Self {
            start: quote_at + 1,
            end: quoted_end(text, quote_at + 1, quote, backslashes),
        })
    }

    fn find(&self, text: &Text<'_>, class: Name, named: &Named, is_colon: bool) -> Option<Found> {
        let value = text.slice(self.start, self.end);
        let is_variable = !is_colon && is_screaming(text.slice(named.start, named.end));
        let is_meant = (named.is_quoted && is_colon) || is_variable;
        let is_secret = match class {
            Name::Token if is_number(value) => false,
            Name::Secret if is_meant => !is_placeholder(value),
            Name::Token if is_meant => value.len() >= 8 && !is_placeholder(value),
            Name::Secret => is_plausible(value, 6),
            Name::Token => is_plausible(value, 8),
            Name::Key if is_variable => is_plausible(value, 8),
            Name::Key => looks_random(value) && !is_digest(value) && !is_placeholder(value),
        };
        is_secret.then_some(Found::new(self.start, self.end))
    }
}

/// A number in JSON, as `"password": 12345678`; the marker is quoted as the name is.
fn number(text: &Text<'_>, start: usize, class: Name, named: &Named) -> Option<Found> {
    let end = text.run(start, |byte| {
        byte.is_ascii_digit() || byte == b'.' || byte == b'-'
    });
    let quotes = named.end..text.run(named.end, |byte| byte == b'\\') + 1;
    (class == Name::Secret && end - start >= SHORTEST_NUMBER).then_some(Found { start, end, quotes })
}

/// The texts in a JSON array, as `"x-api-key": ["…", "…"]`, from the first to the last.
fn list(text: &Text<'_>, start: usize, class: Name) -> Option<Found> {
    let is_between = |byte: u8| byte.is_ascii_whitespace() || byte == b',';
    if text.at(start) != b'[' || class == Name::Key {
        return None;
    }
    let first = Quoted::at(text, text.run(start + 1, is_between))?;
    let mut end = first.end;
    loop {
        let closed = text.run(end, |byte| matches!(byte, b'\\' | b'"' | b'\''));
        match Quoted::at(text, text.run(closed, is_between)) {
            Some(next) if closed > end => end = next.end,
            _ => break,
        }
    }
    (!is_placeholder(text.slice(first.start, end))).then_some(Found::new(first.start, end))
}

/// The literal in `api_key: &str = "…"`.
fn after_type(text: &Text<'_>, start: usize, may_be_type: bool) -> Option<Quoted> {
    if !may_be_type {
        return None;
    }
    let is_type =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'&' | b'<' | b'>' | b'\'' | b' ');
    let end = text.run(start, is_type);
    if end == start || end - start > 32 || text.at(end) != b'=' {
        return None;
    }
    Quoted::at(text, text.run(end + 1, |byte| byte == b' '))
}

/// Where the text in quotes that begins at `start` ends; at the end of its line when no quote closes it.
pub(super) fn quoted_end(text: &Text<'_>, start: usize, quote: u8, backslashes: usize) -> usize {
    let mut position = start;
    loop {
        position = text.run(position, |byte| byte != quote && byte != b'\\' && byte != b'\n');
        if text.at(position) != b'\\' {
            return position;
        }
        let run = text.run(position, |byte| byte == b'\\');
        if text.at(run) == quote && run - position <= backslashes {
            return position;
        }
        // A backslash and what it escapes belong to the text.
        let escaped = if backslashes == 0 { position + 1 } else { run - 1 };
        position = if escaped + 1 < text.len() {
            next_character(text, escaped + 1)
        } else {
            text.len()
        };
        if text.before_marker(start, position) != position {
            return text.before_marker(start, position);
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
    let end = text.run(start, |byte| {
        !byte.is_ascii_whitespace()
            && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
            && (begins_line
                || !matches!(
                    byte,
                    b'&' | b';' | b',' | b')' | b'(' | b']' | b'[' | b'}' | b'{' | b'|'
                ))
    });
    let end = if text.before(end) == b'.' && end > start {
        end - 1
    } else {
        end
    };
    let value = text.slice(start, end);
    let is_meant = is_query || is_variable || (is_option && !is_colon);
    let is_path = value
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'&' | b'!'));
    let goes_on = matches!(text.at(end), b'(' | b'[') || (!is_meant && matches!(text.at(end), b'{' | b'<'));
    let is_expression = is_code(value) || (is_path && goes_on);
    if (is_expression && !looks_random(value)) || is_placeholder(value) {
        return None;
    }
    let is_secret = match class {
        Name::Token if is_number(value) => false,
        Name::Secret if is_meant => true,
        Name::Token if is_meant => value.len() >= 8 || is_plausible(value, 4),
        Name::Key if is_query => is_plausible(value, 12),
        Name::Key if is_variable => is_plausible(value, 8),
        Name::Key => looks_random(value) && !is_digest(value),
        Name::Secret => is_plausible(value, 6) && !value.starts_with(b"_"),
        Name::Token => is_plausible(value, 8) && !value.starts_with(b"_"),
    };
    is_secret.then_some(Found::new(start, end))
}

/// Whether a name is written as environment variables are.
fn is_screaming(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase)
        && !name.iter().any(|byte| byte.is_ascii_lowercase() || *byte == b'-')
}

/// Whether a name begins its line, or follows `export`.
fn begins_line(text: &Text<'_>, start: usize) -> bool {
    matches!(text.before(start), 0 | b'\n') || text.slice(start.saturating_sub(7), start) == b"export "
}
