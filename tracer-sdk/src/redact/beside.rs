//! Values next to their names: `{"name": "password", "value": "…"}`, attributes, and the text of elements.

use memchr::memrchr;

use super::keys::{Confidence, MAX_ROLE_BYTES, NameMeaning, NameRole, RedactKeys};
use super::name::{AssignedName, is_name};
use super::place::{SecretPlace, SecretPlaces};
use super::text::{AHEAD, BACK, Text, is_quote};
use super::value::{MAX_JUDGED, is_number, is_plausible};

/// Most members behind the one with the name that are examined.
const MAX_MEMBERS: usize = 4;

/// Longest gap between two members.
const MAX_BETWEEN: usize = 64;

/// Elements of configurations, whose text is what an attribute names.
const PROPERTIES: [&str; 7] = [
    "property",
    "prop",
    "entry",
    "string",
    "setting",
    "param",
    "parameter",
];

const CDATA: &str = "<![CDATA[";

/// The values of the members behind one whose text is the name of a secret.
pub(super) fn siblings(text: Text<'_>, name: &AssignedName, meaning: NameMeaning, places: &mut SecretPlaces) {
    let blanks = text.run_back(name.outer.0, MAX_ROLE_BYTES, |byte| byte.is_ascii_whitespace());
    let is_markup = text.before(blanks) == b'=';
    if !is_markup && text.before(blanks) != b':' {
        return;
    }
    let is_around = |byte: u8| is_quote(byte) || matches!(byte, b' ' | b'\\');
    let key_end = text.run_back(blanks - 1, 8, is_around);
    let key_start = text.run_back(key_end, MAX_ROLE_BYTES, is_role_name);
    let key = text.slice(key_start, key_end);
    let role = NameRole::of(key);
    if !role.is_name() {
        return;
    }
    let end = members(text, name.outer.1, key, (role, meaning), is_markup, places);
    let close = text.gap(end).end;
    if is_markup && text.at(close) == b'>' {
        let tag = text.slice(key_start.saturating_sub(BACK), key_start);
        let open = memrchr(b'<', tag).map(|offset| key_start - tag.len() + offset + 1);
        let is_property = open.is_some_and(|open| {
            let element = text.slice(open, text.run(open, BACK, is_name));
            PROPERTIES
                .iter()
                .any(|property| element.eq_ignore_ascii_case(property.as_bytes()))
        });
        let inner = text.gap(close + 1).end;
        let inner_end = text.run(inner + 1, MAX_ROLE_BYTES, is_name);
        let has_inner = text.at(inner) == b'<' && !matches!(text.at(inner + 1), b'!' | b'/');
        let is_value =
            NameRole::of(text.slice(inner + 1, inner_end)) == NameRole::Value && text.at(inner_end) == b'>';
        let content = match has_inner {
            true if is_value => content(text, inner_end + 1, places),
            true => None,
            false => content(text, close + 1, places),
        };
        if let Some(place) =
            content.filter(|place| is_content(text.judged(place.start, place.end), meaning, is_property))
        {
            places.push(place);
        }
    }
}

fn is_role_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Finds the secrets in the members from `start` on that one with the key `key` names, and says where the last of them ends.
pub(super) fn members(
    text: Text<'_>,
    start: usize,
    key: &[u8],
    naming: (NameRole, NameMeaning),
    is_markup: bool,
    places: &mut SecretPlaces,
) -> usize {
    let mut end = start;
    for _ in 0..MAX_MEMBERS {
        let mut name_start = end;
        loop {
            name_start = text.run(name_start, MAX_BETWEEN, |byte| {
                byte.is_ascii_whitespace() || is_quote(byte) || matches!(byte, b',' | b';' | b'\\')
            });
            if name_start - end >= MAX_BETWEEN || !text.is_escape(name_start) {
                break;
            }
            name_start += 1;
        }
        let name_end = text.run(name_start, MAX_ROLE_BYTES + 1, is_role_name);
        let member = text.slice(name_start, name_end);
        let separator = text.run(name_end, 8, |byte| is_quote(byte) || matches!(byte, b'\\' | b' '));
        // Behind another one of the same key are the values that it names.
        if member.is_empty()
            || member == key
            || !matches!(text.at(separator), b':' | b'=')
            || end - start > AHEAD
        {
            break;
        }
        let arrow = usize::from(text.at(separator + 1) == b'>');
        let value = text.gap(separator + 1 + arrow).end;
        let role = match NameRole::of(member) {
            NameRole::Other if is_markup && member.eq_ignore_ascii_case(b"content") => NameRole::Value,
            role => role,
        };
        let is_secret = |value: &[u8]| !value.is_empty() && role.is_value() && is_beside(value, role, naming);
        if let Some(quoted) = text.quoted(value) {
            let is_secret = !text.is_marker(quoted.start) && is_secret(quoted.judged(text));
            if is_secret {
                places.push(quoted.place(text));
            }
            match quoted.behind(text, if is_secret { usize::MAX } else { AHEAD }) {
                Some(behind) => end = behind,
                None => break,
            }
        } else {
            let is_value = |byte: u8| {
                !byte.is_ascii_whitespace()
                    && !matches!(
                        byte,
                        b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b',' | b'}' | b')' | b']'
                    )
            };
            let seen = text.run(value, MAX_JUDGED, is_value);
            let judged = text.judged(value, seen);
            end = seen;
            if is_secret(judged) && is_plausible(judged, 6) {
                end = text.end_of(seen, is_value);
                places.push(SecretPlace::new(value, end));
            }
            if end == value {
                break;
            }
        }
    }
    end
}

/// The text of an element that has the name, `<password>…</password>`, or of the one behind it, `<key>password</key><string>…</string>`.
pub(super) fn element(
    text: Text<'_>,
    name: &AssignedName,
    keys: &RedactKeys,
    places: &mut SecretPlaces,
) -> Option<SecretPlace> {
    if name.is_quoted {
        return None;
    }
    let meaning = || keys.meaning(text.slice(name.start, name.end));
    let prefix = text.run_back(name.start, MAX_ROLE_BYTES, |byte| is_name(byte) || byte == b':');
    if text.before(prefix) == b'<' {
        let close = text.run(name.end, BACK, |byte| !matches!(byte, b'<' | b'>'));
        let place = (text.at(close) == b'>' && text.before(close) != b'/')
            .then(|| content(text, close + 1, places))??;
        return is_content(text.judged(place.start, place.end), meaning()?, true).then_some(place);
    }
    if text.before(name.start) == b'>' && text.has(name.end, "</") {
        let tag = text.run_back(name.start - 1, MAX_ROLE_BYTES, is_name);
        let close = text.run(name.end, BACK, |byte| byte != b'>');
        let open = text.gap(close + 1).end;
        let is_next = text.at(open) == b'<' && !matches!(text.at(open + 1), b'/' | b'!');
        let next = text.run(open, BACK, |byte| byte != b'>');
        if NameRole::of(text.slice(tag, name.start - 1)) == NameRole::Name && is_next && text.at(next) == b'>'
        {
            let place = content(text, next + 1, places)?;
            if is_content(text.judged(place.start, place.end), meaning()?, true) {
                places.push(place);
            }
        }
    }
    None
}

/// The text of the element whose tag ends before `start`, up to the closing tag.
fn content(text: Text<'_>, start: usize, places: &mut SecretPlaces) -> Option<SecretPlace> {
    let is_quoted = text.has(start, CDATA);
    let start = if is_quoted { start + CDATA.len() } else { start };
    let end = if places.content.contains(&start) && !is_quoted {
        places.content.end
    } else {
        text.end_of(start, |byte| {
            !(matches!(byte, b'<' | b'\0') || (is_quoted && byte == b']'))
        })
    };
    if !is_quoted {
        places.content = start..end;
    }
    // One word that is longer than any other may be cut.
    let is_endless = || {
        end - start >= AHEAD
            && !text
                .slice(start, start + AHEAD)
                .iter()
                .any(u8::is_ascii_whitespace)
    };
    let is_closed = text.has(end, "</") || text.has(end, "]]>") || is_endless();
    let is_blank = text.judged(start, end).iter().all(u8::is_ascii_whitespace);
    (is_closed && !is_blank).then(|| SecretPlace::new(start, end))
}

/// Says whether a value next to its name is a secret, as [`NameRole::holds_secret`] says, and, for a token, no number.
fn is_beside(value: &[u8], role: NameRole, naming: (NameRole, NameMeaning)) -> bool {
    let is_number = naming.1 == NameMeaning::Token && is_number(value);
    !is_number && role.holds_secret(value, naming.0, naming.1)
}

/// Says whether the text of an element is a secret, surely when its tag says that it is a property.
fn is_content(value: &[u8], meaning: NameMeaning, is_property: bool) -> bool {
    let confidence = if is_property {
        Confidence::Structured
    } else {
        Confidence::Likely
    };
    meaning.hides(value, confidence)
}
