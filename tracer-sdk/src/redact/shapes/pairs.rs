//! Values beside their names: `{"name": "password", "value": "…"}`, `name="token" value="…"`, and in any order.

use super::MAX_NAME_BYTES;
use super::SecretPlace;
use super::value_places::{Gap, Quoted};
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::{self, NameMeaning, NameRole};
use crate::redact::text::Text;
use crate::redact::values::{MAX_JUDGED, is_digest, is_number, is_placeholder, is_plausible, looks_random};

/// How many members may be between the name and the value.
const MAX_MEMBERS: usize = 3;

/// The most bytes between two members, and of a member that is passed.
const MAX_BETWEEN: usize = 64;

/// The longest name of a member that has a role.
const MAX_ROLE_BYTES: usize = 24;

/// The longest value that is looked for before its name.
const MAX_BEFORE_BYTES: usize = 200;

/// The value beside the name that is at `start`, the value of a member whose own name begins at `member`.
pub(super) fn find(
    text: &Text<'_>,
    member: usize,
    start: usize,
    is_markup: bool,
    keys: &RedactKeys,
) -> Option<SecretPlace> {
    let quoted = Quoted::within(text, start, MAX_NAME_BYTES + 1);
    let (name_start, name_end) = match &quoted {
        Some(quoted) => (quoted.start, quoted.seen),
        None => (start, text.run_within(start, MAX_NAME_BYTES + 1, is_bare_name)),
    };
    if name_end == name_start || name_end - name_start > MAX_NAME_BYTES {
        return None;
    }
    let class = text.class(name_start, name_end, keys)?;
    let behind = match quoted {
        Some(quoted) => quoted.behind(text)?,
        None => name_end,
    };
    after(text, behind, class, is_markup).or_else(|| before(text, member, class))
}

fn is_bare_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || !byte.is_ascii()
}

/// The value in one of the members after the name.
fn after(text: &Text<'_>, behind: usize, class: NameMeaning, is_markup: bool) -> Option<SecretPlace> {
    let mut position = behind;
    for _ in 0..MAX_MEMBERS {
        let start = between(text, position);
        let end = text.run_within(start, MAX_ROLE_BYTES + 1, is_bare_name);
        if end == start || end - start > MAX_ROLE_BYTES {
            return None;
        }
        let separator = text.run_within(end, 8, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b' '));
        if !matches!(text.at(separator), b':' | b'=') {
            return None;
        }
        let arrow = usize::from(text.at(separator + 1) == b'>');
        let value = Gap::from(text, separator + 1 + arrow)?.end;
        match name_words::role_of_member(text.slice(start, end), is_markup) {
            NameRole::Value => return secret_at(text, value, class),
            NameRole::Name => return None,
            NameRole::Other => {
                position = match Quoted::at(text, value) {
                    Some(quoted) => quoted.behind(text)?,
                    None => text.run_within(value, MAX_BETWEEN, is_bare_name),
                };
            }
        }
    }
    None
}

/// Where the next member begins: behind blanks, line breaks, commas and quotes.
fn between(text: &Text<'_>, position: usize) -> usize {
    let is_between =
        |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';' | b'"' | b'\'' | b'\\' | b'`');
    let mut end = text.run_within(position, MAX_BETWEEN, is_between);
    // The letter of an escaped line break.
    while text.before(end) == b'\\'
        && matches!(text.at(end), b'n' | b'r' | b't')
        && end - position < MAX_BETWEEN
    {
        end = text.run_within(end + 1, MAX_BETWEEN, is_between);
    }
    end
}

/// The secret that is the value at `start`.
fn secret_at(text: &Text<'_>, start: usize, class: NameMeaning) -> Option<SecretPlace> {
    if let Some(quoted) = Quoted::at(text, start) {
        let is_secret = quoted.seen > quoted.start && is_secret(quoted.judged(text), class);
        return is_secret.then(|| SecretPlace::new(quoted.start, quoted.end(text)));
    }
    let is_value = |byte: u8| {
        !byte.is_ascii_whitespace()
            && !matches!(
                byte,
                b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',' | b'}' | b')' | b']'
            )
    };
    let seen = text.run_within(start, MAX_JUDGED, is_value);
    let value = text.judged(start, seen);
    let is_secret = seen > start && is_secret(value, class) && is_plausible(value, 6);
    is_secret.then(|| SecretPlace::new(start, text.run(seen, is_value)))
}

fn is_secret(value: &[u8], class: NameMeaning) -> bool {
    match class {
        NameMeaning::Token if is_number(value) => false,
        NameMeaning::Key if is_digest(value) => false,
        NameMeaning::Key => looks_random(value) && !is_placeholder(value),
        NameMeaning::Secret | NameMeaning::Token => !is_placeholder(value),
    }
}

/// The quoted value in the member directly before the one whose name begins at `member`.
fn before(text: &Text<'_>, member: usize, class: NameMeaning) -> Option<SecretPlace> {
    let back = |from: usize, most: usize, belongs: &dyn Fn(u8) -> bool| {
        let mut start = from;
        while start > 0 && from - start < most && belongs(text.before(start)) {
            start -= 1;
        }
        text.spend(from - start);
        start
    };
    let is_around = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\');
    let comma = back(member, MAX_BETWEEN, &is_around);
    if text.before(comma) != b',' {
        return None;
    }
    let quote_at = back(comma - 1, MAX_BETWEEN, &|byte| byte.is_ascii_whitespace());
    let quote = text.before(quote_at);
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let end = back(quote_at - 1, 8, &|byte| byte == b'\\');
    let start = back(end, MAX_BEFORE_BYTES, &|byte| byte != quote && byte != b'\n');
    if text.before(start) != quote {
        return None;
    }
    let separator = back(start - 1, MAX_BETWEEN, &|byte| {
        byte.is_ascii_whitespace() || byte == b'\\'
    });
    if !matches!(text.before(separator), b':' | b'=') {
        return None;
    }
    let name_end = back(separator - 1, MAX_BETWEEN, &is_around);
    let name = back(name_end, MAX_ROLE_BYTES, &is_bare_name);
    let role = name_words::role_of_member(text.slice(name, name_end), false);
    let is_secret = role == NameRole::Value
        && text.before_marker(start, end) == end
        && is_secret(text.judged(start, end), class);
    (is_secret && end > start).then(|| SecretPlace::new(start, end))
}
