//! Secrets in structures under or next to a name: arrays, objects, members, elements.

use super::keys::{Confidence, MAX_ROLE_BYTES, NameMeaning, NameRole, Neighbours};
use super::name::{AssignedName, is_name};
use super::place::{SecretPlace, SecretPlaces};
use super::rules::{Alphabet, is_content, is_item, is_word};
use super::text::{AHEAD, BACK, Text, is_quote};
use super::value::{is_placeholder, is_plausible, looks_secret};

/// Most members behind the one with the name that are examined.
const MAX_MEMBERS: usize = 4;

/// Finds the texts that look random in the array or object at `start`, and the items of an array. It is searched as long as they are secrets.
pub(super) fn json(text: Text<'_>, start: usize, meaning: NameMeaning, places: &mut SecretPlaces) {
    let is_array = text.at(start) == b'[';
    let may_extend = start >= places.nested_until;
    let (mut position, mut from, mut depth) = (start, start, 0);
    while position - from < AHEAD && position < text.0.len() {
        let byte = text.at(position);
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            break;
        }
        let Some(value) = text.quoted(position).filter(|_| is_quote(byte) || byte == b'\\') else {
            position = text.run(position, AHEAD, |byte| byte == b'\\').max(position + 1);
            continue;
        };
        let judged = value.judged(text);
        let is_random = looks_secret(judged);
        let is_item = is_array && depth == 1 && meaning != NameMeaning::Key && !is_placeholder(judged);
        let left = AHEAD.saturating_sub(position - from);
        let behind = value.behind(text, if is_random || is_item { usize::MAX } else { left });
        let next = behind.map(|behind| text.at(text.gap(behind).end));
        let is_key = matches!(next, Some(b':' | b'='));
        let is_json = is_key || matches!(next, Some(b',' | b']' | b'}' | b')' | b'\\'));
        // The end of the string that this is in may be cut off.
        let is_first = || behind.is_none() && position == text.gap(start + 1).end;
        let is_secret = is_random || (is_item && (is_json || is_first()));
        if is_secret && !is_key && !text.is_marker(value.start) {
            let place = value.place(text);
            places.push(place);
            if may_extend {
                from = place.end;
            }
        }
        let Some(behind) = behind.filter(|_| is_json) else {
            break;
        };
        position = behind;
    }
    super::text::count(position - start);
    if may_extend {
        places.nested_until = position;
    }
}

/// Finds the texts that look random in the lines and items from `start` on that are indented deeper than the name. They are
/// searched as long as they are secrets.
pub(super) fn yaml(
    text: Text<'_>,
    name_start: usize,
    start: usize,
    meaning: NameMeaning,
    places: &mut SecretPlaces,
) {
    let line_start = text.run_back(name_start, BACK, |byte| matches!(byte, b' ' | b'\t' | b'-'));
    let begins_line =
        matches!(text.before(line_start), 0 | b'\n' | b'\r') || text.is_escape(line_start.saturating_sub(1));
    let name_indent = if begins_line { name_start - line_start } else { 0 };
    let indent = |line| line - text.run_back(line, BACK, |byte| matches!(byte, b' ' | b'\t'));
    let (mut line, mut from) = (start.max(places.nested_until), start.max(places.nested_until));
    let is_item = |line| text.has(line, "- ");
    while line - from < AHEAD
        && (indent(line) > name_indent || (is_item(line) && indent(line) == name_indent))
    {
        let item = line + if is_item(line) { 2 } else { 0 };
        let key = text.run(item, BACK, is_name);
        let is_member = text.at(key) == b':' && text.blanks(key + 1) > key + 1;
        let value = text.value(if is_member { text.blanks(key + 1) } else { item }, is_word);
        let mut end = value.start;
        let judged = value.judged(text);
        let is_value = is_member && NameRole::of(text.slice(item, key)) == NameRole::VALUE;
        let is_secret = looks_secret(judged)
            || (is_value
                && (value.is_quoted() || is_plausible(judged, 6))
                && meaning.hides(judged, Confidence::Structured));
        if is_secret {
            let place = value.place(text);
            places.push(place);
            (end, from) = (place.end, line);
        }
        let next = text.gap(text.line_end(end));
        line = next.end;
        if !next.has_lines {
            break;
        }
    }
    places.nested_until = line;
}

/// Finds the values of the members behind one whose text is the name of a secret: `{"name": "password", "value": …}`.
pub(super) fn siblings(text: Text<'_>, name: &AssignedName, meaning: NameMeaning, places: &mut SecretPlaces) {
    let operator = text.run_back(name.outer.0, MAX_ROLE_BYTES, |byte| byte.is_ascii_whitespace());
    let is_markup = text.before(operator) == b'=';
    if !is_markup && text.before(operator) != b':' {
        return;
    }
    let is_around = |byte: u8| is_quote(byte) || matches!(byte, b' ' | b'\\');
    let key_end = text.run_back(operator - 1, 8, is_around);
    let key_start = text.run_back(key_end, MAX_ROLE_BYTES, is_name);
    let key = text.slice(key_start, key_end);
    let mut neighbours = Neighbours::default();
    neighbours.add(NameRole::of(key), meaning);
    if neighbours == Neighbours::default() {
        return;
    }
    let end = members(text, name.outer.1, key, neighbours, places);
    let close = text.gap(end).end;
    if !is_markup || text.at(close) != b'>' {
        return;
    }
    // `<property name="password">…</property>`, or with a `<value>` around the text.
    let inner = text.gap(close + 1).end;
    let start = if text.has(inner, "<value>") {
        inner + 7
    } else {
        close + 1
    };
    let is_secret = |value: &[u8]| {
        let is_word = !value.iter().any(u8::is_ascii_whitespace);
        is_word && neighbours.hide(NameRole::VALUE, value)
    };
    places.extend(content(text, start, is_secret));
}

/// Finds the secrets in the members from `start` on, behind the one with this key; and where the last of them ends.
fn members(
    text: Text<'_>,
    start: usize,
    key: &[u8],
    neighbours: Neighbours,
    places: &mut SecretPlaces,
) -> usize {
    let mut end = start;
    for _ in 0..MAX_MEMBERS {
        let comma = text.run(text.gap(end).end, 2, |byte| matches!(byte, b',' | b';'));
        let name_start = text.run(text.gap(comma).end, 17, |byte| is_quote(byte) || byte == b'\\');
        let name_end = text.run(name_start, MAX_ROLE_BYTES + 1, is_name);
        let member = text.slice(name_start, name_end);
        let separator = text.run(name_end, 17, |byte| {
            is_quote(byte) || matches!(byte, b'\\' | b' ')
        });
        // Behind another one of the same key are the values that it names.
        let is_member = !member.is_empty() && member != key && matches!(text.at(separator), b':' | b'=');
        if !is_member || end - start > AHEAD {
            break;
        }
        let arrow = usize::from(text.at(separator + 1) == b'>');
        let value = text.value(text.gap(separator + 1 + arrow).end, is_item);
        let judged = value.judged(text);
        // `<meta name="csrf-token" content="…">`
        let role = match member {
            b"content" => NameRole::VALUE,
            member => NameRole::of(member),
        };
        let is_secret = !judged.is_empty()
            && !text.is_marker(value.start)
            && (value.is_quoted() || is_plausible(judged, 6))
            && neighbours.hide(role, judged);
        if is_secret {
            places.push(value.place(text));
        }
        match value.behind(text, if is_secret { usize::MAX } else { AHEAD }) {
            Some(behind) if behind > name_end => end = behind,
            _ => break,
        }
    }
    end
}

/// The text of the element whose tag ends before `start`, when it is a secret.
pub(super) fn content(
    text: Text<'_>,
    start: usize,
    is_secret: impl Fn(&[u8]) -> bool,
) -> Option<SecretPlace> {
    const CDATA: &str = "<![CDATA[";
    let is_data = text.has(start, CDATA);
    let start = if is_data { start + CDATA.len() } else { start };
    let belongs: Alphabet = if is_data { |byte| byte != b']' } else { is_content };
    let seen = text.run(start, AHEAD, belongs);
    let is_whole = text.has(seen, "</") || text.has(seen, "]]>");
    // One word that is longer than any other may be cut.
    let is_endless = || seen - start >= AHEAD && !text.slice(start, seen).iter().any(u8::is_ascii_whitespace);
    let judged = text.judged(start, seen).trim_ascii();
    (!judged.is_empty() && is_secret(judged) && (is_whole || is_endless()))
        .then(|| SecretPlace::new(start, text.end_of(seen, belongs)))
}
