//! Secrets in command lines and in SQL, where no name of a secret is before them: `sshpass -p …`, `-u user:password`, `IDENTIFIED BY '…'`.

use std::ops::Range;

use super::place::{SecretPlace, SecretPlaces};
use super::rules::{PasswordCommand, is_url_safe, is_word};
use super::text::{AHEAD, BACK, Text, is_quote};
use super::value::{is_path, is_placeholder, is_plausible, looks_random};

/// Finds the password in the line of a command, also in a list of arguments; all passwords of its logins.
pub(super) fn passwords(
    text: Text<'_>,
    anchor: Range<usize>,
    command: &PasswordCommand,
    places: &mut SecretPlaces,
) {
    let is_in_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let begins_word = anchor.start == places.covered.end || text.is_word_start(anchor.start);
    if !text.has(anchor.start, command.words) || !begins_word || is_in_word(text.at(anchor.end)) {
        return;
    }
    let mut end = anchor.end;
    // A line continues after a backslash.
    while end - anchor.end < AHEAD {
        end = text.run(end, AHEAD, |byte| !matches!(byte, b'\n' | b';' | b'|' | b'&'));
        if text.at(end) != b'\n' || text.before(end) != b'\\' {
            break;
        }
        end += 1;
    }
    let line = text.slice(anchor.end, end.min(anchor.end + AHEAD));
    let dashes = memchr::memchr_iter(b'-', line).map(|offset| anchor.end + offset);
    let options = dashes.filter(|at| matches!(text.before(*at), b' ' | b'\t' | b'"' | b'\''));
    let found = options.filter_map(|at| {
        let option = command.options.iter().find(|option| text.has(at, option))?;
        let behind = at + option.len();
        if command.is_login {
            return password_of_login(text, behind).filter(|_| !is_in_word(text.at(behind)));
        }
        let start = text.run(behind, 8, |byte| {
            is_quote(byte) || matches!(byte, b' ' | b'\t' | b',' | b'\\')
        });
        let fits = if start > behind {
            command.is_apart
        } else {
            command.is_attached
        };
        // The next command follows a separator.
        let is_argument = |byte| is_word(byte) && !matches!(byte, b';' | b'|' | b'&');
        let value = text.value(start, is_argument);
        let is_secret = fits && text.at(start) != b'-' && !is_placeholder(value.judged(text));
        is_secret.then(|| value.place(text))
    });
    // Of `sshpass -p … ssh -p 22` the second is a port.
    places.extend(
        found
            .take(if command.is_login { usize::MAX } else { 1 })
            .collect::<Vec<_>>(),
    );
}

/// The password in `user:password`, the argument of an option as ` -u`, which ends at `option_end`.
pub(super) fn password_of_login(text: Text<'_>, option_end: usize) -> Option<SecretPlace> {
    let start = text.run(option_end, 8, |byte| matches!(byte, b' ' | b'"' | b'\'' | b'='));
    let user_end = text.run(start, BACK, |byte| {
        is_url_safe(byte) || matches!(byte, b'.' | b'@')
    });
    let password = text.value(user_end + 1, is_word);
    let judged = password.judged(text);
    // Of `-url:…` this would be a part.
    let is_secret = if start > option_end {
        is_plausible(judged, 6) && (!is_path(judged) || looks_random(judged))
    } else {
        looks_random(judged)
    };
    (text.at(user_end) == b':' && is_secret).then(|| password.place(text))
}

/// The password in `IDENTIFIED WITH plugin BY '…'`.
pub(super) fn identified_by(text: Text<'_>, end: usize) -> Option<SecretPlace> {
    let is_by = |at: &usize| {
        let is_word = text.before(*at).is_ascii_whitespace() || text.is_escape(at - 1);
        is_word && text.slice(*at, at + 2).eq_ignore_ascii_case(b"by")
    };
    let by = (end + 1..end + BACK).find(is_by)?;
    let value = text
        .quoted(text.gap(by + 2).end)
        .filter(|value| text.before(value.start) != b'`')?;
    (!is_placeholder(value.judged(text))).then(|| value.place(text))
}
