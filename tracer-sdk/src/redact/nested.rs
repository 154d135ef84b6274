//! Lists and objects under a name, in JSON and in YAML: their texts that look random, and the items of a list.

use super::beside;
use super::keys::{NameMeaning, NameRole};
use super::place::{SecretPlace, SecretPlaces};
use super::text::{AHEAD, Text};
use super::value::{MAX_JUDGED, is_placeholder, looks_secret};

/// The secrets in the array or object at `start`. It is looked through as long as its items are secrets.
pub(super) fn json(text: Text<'_>, start: usize, meaning: NameMeaning, places: &mut SecretPlaces) {
    let is_list = text.at(start) == b'[';
    if !is_list && text.at(start) != b'{' {
        return;
    }
    let may_extend = start >= places.nested_until;
    let (mut position, mut from, mut depth) = (start + 1, start, 1);
    // JSON has no parentheses.
    let mut is_code = false;
    while depth > 0 && position - from < AHEAD && position < text.0.len() {
        let byte = text.at(position);
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'(' => is_code = true,
            _ => {}
        }
        let quoted = if matches!(byte, b'"' | b'\'' | b'\\') {
            text.quoted(position)
        } else {
            None
        };
        let Some(quoted) = quoted else {
            position = text.run(position, AHEAD, |byte| byte == b'\\').max(position + 1);
            continue;
        };
        let left = AHEAD.saturating_sub(position - from);
        let is_item = is_list && depth == 1 && !is_code;
        let value = quoted.judged(text);
        let is_random = looks_secret(value);
        let is_secret = is_random || (is_item && meaning != NameMeaning::Key && !is_placeholder(value));
        let behind = quoted.behind(text, if is_secret { usize::MAX } else { left });
        let next = behind.map(|behind| text.at(text.gap(behind).end));
        let is_key = matches!(next, Some(b':' | b'='));
        let is_json = is_key || matches!(next, Some(b',' | b']' | b'}' | b')' | b'\\'));
        // The text that ends the string may be cut.
        let may_be_cut = behind.is_none() && (is_random || position == text.gap(start + 1).end);
        if is_secret && !is_key && (is_json || may_be_cut || is_random) && !text.is_marker(quoted.start) {
            let place = quoted.place(text);
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

/// The secrets in YAML in the lines below a name: its value, the items of a list, or a member `value`.
pub(super) fn yaml(
    text: Text<'_>,
    start: usize,
    meaning: NameMeaning,
    places: &mut SecretPlaces,
) -> Option<SecretPlace> {
    if text.has(start, "- ") {
        yaml_items(text, start, places);
        return None;
    }
    // A value is indented.
    if !matches!(text.before(start), b' ' | b'\t') {
        return None;
    }
    if beside::members(text, start, b"", (NameRole::Name, meaning), false, places) > start {
        return None;
    }
    let (value, end) = yaml_value(text, start);
    looks_secret(text.judged(value, end)).then(|| SecretPlace::new(value, yaml_end(text, start)))
}

fn yaml_items(text: Text<'_>, start: usize, places: &mut SecretPlaces) {
    let may_extend = start >= places.nested_until;
    let (mut item, mut from) = (start, start);
    while text.has(item, "- ") && item - from < AHEAD {
        let (value, judged_end) = yaml_value(text, item + 2);
        let mut end = judged_end;
        if looks_secret(text.judged(value, judged_end)) {
            end = yaml_end(text, item + 2);
            places.push(SecretPlace::new(value, end));
            if may_extend {
                from = item;
            }
        }
        // A quote, and a comment, may be there.
        let mut line_end = end;
        loop {
            line_end = text.run(line_end, AHEAD, |byte| !matches!(byte, b'\n' | b'\r' | b'\\'));
            if text.at(line_end) != b'\\' || text.is_escape(line_end + 1) || line_end - end >= AHEAD {
                break;
            }
            line_end += 1;
        }
        item = text.gap(line_end).end;
    }
    if may_extend {
        places.nested_until = item;
    }
}

/// Finds where the value at `start` begins, with quotes or without, and where what it is judged by ends.
fn yaml_value(text: Text<'_>, start: usize) -> (usize, usize) {
    match text.quoted(start) {
        Some(quoted) => (quoted.start, quoted.end(text, MAX_JUDGED)),
        None => (start, text.run(start, MAX_JUDGED, is_bare)),
    }
}

fn yaml_end(text: Text<'_>, start: usize) -> usize {
    text.quoted(start).map_or_else(
        || text.end_of(start, is_bare),
        |quoted| quoted.end(text, usize::MAX),
    )
}

fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\')
}
