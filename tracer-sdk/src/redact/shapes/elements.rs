//! Elements of XML: `<password>…</password>`, `<key>password</key><string>…</string>`.

use memchr::memchr;

use super::{ANY, Beside, SecretPlace, Sign, SignSink};
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::{NameMeaning, NameRole};
use crate::redact::text::Text;
use crate::redact::values::MAX_JUDGED;

/// The longest tag, attributes included.
const MAX_TAG_BYTES: usize = 128;

/// The longest name of an element.
const MAX_NAME_BYTES: usize = 64;

/// How many bytes of a name are enough to rule out most names.
const END_OF_NAME: usize = 12;

const CDATA: &[u8] = b"<![CDATA[";

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    for last in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789\"'" {
        notice(Sign {
            pair: [*last, b'>'],
            beside: Beside::After(&ANY),
        });
    }
}

pub(super) fn find(text: &Text<'_>, at: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    let end = at + 1;
    // An element without attributes ends in its name.
    let last = text.slice(end.saturating_sub(END_OF_NAME), end);
    if text.at(at).is_ascii_alphanumeric() && !keys.may_say_something(last) {
        return None;
    }
    let start = text.run_before(end, MAX_TAG_BYTES + 1, |byte| !matches!(byte, b'<' | b'>' | 0));
    if end - start > MAX_TAG_BYTES {
        return None;
    }
    let name_end = text.run_within(start, MAX_NAME_BYTES, is_name).min(end);
    if text.before(start) != b'<' || name_end == start {
        return None;
    }
    match text.class(start, name_end, keys) {
        Some(class) => secret(text, end + 1, class),
        None if name_end == end && text.role(start, name_end, true, keys) == NameRole::Name => {
            let content = text.run_within(end + 1, MAX_NAME_BYTES, is_name);
            let class = text.class(end + 1, content, keys)?;
            let close = text.run_within(content, MAX_NAME_BYTES, |byte| byte != b'>');
            if !text.has(content, b"</") {
                return None;
            }
            within_next(text, close + 1, class)
        }
        None => None,
    }
}

/// The text of the element that begins at `position`, behind blanks.
fn within_next(text: &Text<'_>, position: usize, class: NameMeaning) -> Option<SecretPlace> {
    let open = text.run_within(position, MAX_NAME_BYTES, |byte| byte.is_ascii_whitespace());
    let is_next = text.at(open) == b'<' && !matches!(text.at(open + 1), b'/' | b'!');
    let tag = text.run_within(open, MAX_NAME_BYTES, |byte| byte != b'>');
    (is_next && text.at(tag) == b'>').then(|| secret(text, tag + 1, class))?
}

/// Elements of configurations, whose text is what an attribute names.
const PROPERTIES: [&[u8]; 7] = [
    b"property",
    b"prop",
    b"entry",
    b"string",
    b"setting",
    b"param",
    b"parameter",
];

/// What the attribute at `attribute` names, in the text behind its tag, which is closed at `close`, or in that of the element there:
/// `<property name="password">…`.
pub(super) fn behind_tag(
    text: &Text<'_>,
    attribute: usize,
    close: usize,
    class: NameMeaning,
    keys: &RedactKeys,
) -> Option<SecretPlace> {
    if text.at(close) != b'>' || text.before(close) == b'/' {
        return None;
    }
    let tag = text.slice(attribute.saturating_sub(MAX_TAG_BYTES), attribute);
    text.spend(tag.len() / 2);
    let open = attribute - tag.len() + memchr::memrchr(b'<', tag)? + 1;
    let name = text.slice(open, text.run_within(open, MAX_NAME_BYTES, is_name));
    let inner = text.run_within(close + 1, MAX_NAME_BYTES, |byte| byte.is_ascii_whitespace());
    let inner_end = text.run_within(inner + 1, MAX_NAME_BYTES, is_name);
    let found = if text.at(inner) == b'<' && text.at(inner + 1) != b'!' {
        (text.role(inner + 1, inner_end, true, keys) == NameRole::Value)
            .then(|| within_next(text, close + 1, class))??
    } else {
        secret(text, close + 1, class)?
    };
    // Other elements have text for people.
    let is_property = PROPERTIES
        .iter()
        .any(|property| name.eq_ignore_ascii_case(property));
    (is_property || class.hides_likely(text.judged(found.start, found.end))).then_some(found)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':') || !byte.is_ascii()
}

/// The text of the element whose tag ends before `start`, up to the closing tag.
fn secret(text: &Text<'_>, start: usize, class: NameMeaning) -> Option<SecretPlace> {
    let (start, last) = if text.has(start, CDATA) {
        (start + CDATA.len(), b']')
    } else {
        (start, b'<')
    };
    let [.., of_element, _] = &text.runs;
    let end = text.run_remembered(of_element, start, |byte| byte != b'<' && byte != b']');
    // A bracket may be part of a value.
    let end = if last == b'<' && text.at(end) == b']' {
        text.run_within(end, MAX_JUDGED, |byte| byte != b'<')
    } else {
        end
    };
    let is_closed = text.has(end, b"</") || text.has(end, b"]]>") || text.is_open_end(end);
    let seen = end.min(start + MAX_JUDGED);
    let value = text.judged(start, seen);
    let is_blank = || value.iter().all(u8::is_ascii_whitespace);
    if !is_closed || memchr(b'\0', value).is_some() || is_blank() {
        return None;
    }
    class.hides_meant(value).then(|| SecretPlace::new(start, end))
}
