//! Options in a command line: `--api-key value`, `"--api-key", "value"`, `-u user:password`. With `=` they are assignments.

use super::assignments::quoted_end;
use super::names::{self, Name};
use super::values::{is_number, is_placeholder, is_plausible, looks_random};
use super::{Beside, Found, Notice, Sign};
use crate::write::redact::keys::Keys;
use crate::write::redact::text::{Text, is_url_safe};

pub(super) fn noticed_by(notice: &mut Notice<'_>) {
    notice(Sign {
        pair: *b"--",
        beside: Beside::After(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    });
    notice(Sign {
        pair: *b"-u",
        beside: Beside::Before(b" \t\n\r\x0c"),
    });
}

pub(super) fn find(text: &Text<'_>, at: usize, keys: &Keys) -> Option<Found> {
    let name_start = at + 2;
    if text.at(at + 1) == b'u' {
        return login(text, at);
    }
    if !text.at(name_start).is_ascii_alphabetic() || !text.is_token_start(at) {
        return None;
    }
    let name_end = text.run(name_start, is_url_safe);
    let name = names::class(text.slice(name_start, name_end), keys)?;
    let between = text.run(name_end, |byte| {
        matches!(byte, b' ' | b'"' | b'\'' | b',' | b'\\')
    });
    if between == name_end || between - name_end > 8 || text.at(between) == b'-' {
        return None;
    }
    let quote = text.before(between);
    let is_quoted = matches!(quote, b'"' | b'\'');
    let end = if is_quoted {
        quoted_end(text, between, quote, 0)
    } else {
        text.run(between, |byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b';' | b'|')
        })
    };
    let value = text.slice(between, end);
    let is_secret = match name {
        Name::Token if is_number(value) => false,
        Name::Key => looks_random(value),
        Name::Secret | Name::Token if is_quoted => !is_placeholder(value),
        Name::Secret | Name::Token => is_plausible(value, 6),
    };
    is_secret.then_some(Found::new(between, end))
}

/// The password in `-u user:password`.
fn login(text: &Text<'_>, at: usize) -> Option<Found> {
    let start = text.run(at + 2, |byte| matches!(byte, b' ' | b'"' | b'\''));
    if !text.before(at).is_ascii_whitespace() || start == at + 2 {
        return None;
    }
    let user_end = text.run(start, |byte| is_url_safe(byte) || matches!(byte, b'.' | b'@'));
    let end = text.run(user_end + 1, |byte| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'\\')
    });
    let is_secret = text.at(user_end) == b':' && is_plausible(text.slice(user_end + 1, end), 6);
    is_secret.then_some(Found::new(user_end + 1, end))
}
