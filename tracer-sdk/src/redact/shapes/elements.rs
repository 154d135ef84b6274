//! Elements of XML: `<password>…</password>`, `<key>password</key><string>…</string>`.

use memchr::memchr;

use super::{ANY, Beside, SecretPlace, Sign, SignSink};
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::{self, NameMeaning, NameRole};
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
    let mut start = end;
    while !matches!(text.before(start), b'<' | b'>' | 0) {
        start -= 1;
        if end - start > MAX_TAG_BYTES {
            return None;
        }
    }
    text.spend((end - start) / 2);
    let name_end = text.run_within(start, MAX_NAME_BYTES, is_name).min(end);
    if text.before(start) != b'<' || name_end == start {
        return None;
    }
    let name = text.slice(start, name_end);
    match text.class(start, name_end, keys) {
        Some(class) => secret(text, end + 1, class),
        None if name_end == end && name_words::role_of_member(name, true) == NameRole::Name => {
            let content = text.run_within(end + 1, MAX_NAME_BYTES, is_name);
            let class = text.class(end + 1, content, keys)?;
            let close = text.run_within(content, MAX_NAME_BYTES, |byte| byte != b'>');
            let open = text.run_within(close + 1, MAX_NAME_BYTES, |byte| byte.is_ascii_whitespace());
            let is_next = text.has(content, b"</") && text.at(open) == b'<' && text.at(open + 1) != b'/';
            let value = text.run_within(open, MAX_NAME_BYTES, |byte| byte != b'>');
            (is_next && text.at(value) == b'>').then(|| secret(text, value + 1, class))?
        }
        None => None,
    }
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
