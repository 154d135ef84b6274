//! Secrets in command lines and in SQL, where no name of a secret is before them: `sshpass -p …`, `-u user:password`, `IDENTIFIED BY '…'`.

use std::ops::Range;

use memchr::memmem;

use super::place::{SecretPlace, SecretPlaces};
use super::rules::{PasswordCommand, is_url_safe};
use super::text::{AHEAD, BACK, Text};
use super::value::{MAX_JUDGED, is_path, is_placeholder, is_plausible, looks_random};

/// The password in the line of a command, also in a list of arguments; all passwords of its logins.
pub(super) fn passwords(
    text: Text<'_>,
    anchor: Range<usize>,
    command: &PasswordCommand,
    places: &mut SecretPlaces,
) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let secret_end = places.covered.end;
    let is_command = |start: usize| {
        text.has(start, command.words)
            && (start == secret_end || text.is_word_start(start))
            && !is_word(text.at(start + command.words.len()))
    };
    if !is_command(anchor.start) {
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
    let mut line = text.slice(anchor.end, end.min(anchor.end + AHEAD));
    // The next command has options of its own.
    let next = memmem::find_iter(line, command.words).find(|offset| is_command(anchor.end + offset));
    line = next.map_or(line, |next| text.slice(anchor.end, anchor.end + next));
    let dashes = memchr::memchr_iter(b'-', line).map(|offset| anchor.end + offset);
    let options = dashes.filter(|at| matches!(text.before(*at), b' ' | b'\t' | b'"' | b'\''));
    let found = options.filter_map(|at| {
        let option = command.options.iter().find(|option| text.has(at, option))?;
        let behind = at + option.len();
        if command.is_login {
            return password_of_login(text, behind).filter(|_| !is_word(text.at(behind)));
        }
        let start = text.run(behind, 8, |byte| {
            matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b',' | b'\\')
        });
        let fits = if start > behind {
            command.is_apart
        } else {
            command.is_attached
        };
        let is_value = |byte: u8| {
            !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b';' | b'|' | b'&')
        };
        let seen = text.run(start, MAX_JUDGED, is_value);
        let is_secret =
            fits && seen > start && text.at(start) != b'-' && !is_placeholder(text.judged(start, seen));
        is_secret.then(|| SecretPlace::new(start, text.end_of(seen, is_value)))
    });
    // Of `sshpass -p … ssh -p 22` the second is a port.
    let most = if command.is_login { usize::MAX } else { 1 };
    found.take(most).for_each(|place| places.push(place));
}

/// The password behind ` -u`, whatever the command.
pub(super) fn login_option(text: Text<'_>, anchor: Range<usize>) -> Option<SecretPlace> {
    if text.has(anchor.start, " -u") {
        password_of_login(text, anchor.end)
    } else {
        None
    }
}

/// The password in `user:password`, the argument of the option that ends at `option_end`.
fn password_of_login(text: Text<'_>, option_end: usize) -> Option<SecretPlace> {
    let is_password = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'\\');
    let start = text.run(option_end, 8, |byte| matches!(byte, b' ' | b'"' | b'\'' | b'='));
    let user_end = text.run(start, BACK, |byte| {
        is_url_safe(byte) || matches!(byte, b'.' | b'@')
    });
    let password = user_end + 1;
    let seen = text.run(password, MAX_JUDGED, is_password);
    let value = text.judged(password, seen);
    // Of `-url:…` this would be a part.
    let is_secret = if start > option_end {
        is_plausible(value, 6) && (!is_path(value) || looks_random(value))
    } else {
        looks_random(value)
    };
    (text.at(user_end) == b':' && is_secret)
        .then(|| SecretPlace::new(password, text.end_of(seen, is_password)))
}

/// The password in `IDENTIFIED WITH plugin BY '…'`.
pub(super) fn identified_by(text: Text<'_>, end: usize) -> Option<SecretPlace> {
    let is_word = |at: usize| text.before(at).is_ascii_whitespace() || text.is_escape(at - 1);
    let by = (end + 1..end + BACK).find(|at| text.has_ignoring_case(*at, "by") && is_word(*at))?;
    let quoted = text
        .quoted(text.gap(by + 2).end)
        .filter(|quoted| text.before(quoted.start) != b'`')?;
    (!is_placeholder(quoted.judged(text)))
        .then(|| SecretPlace::new(quoted.start, quoted.end(text, usize::MAX)))
}
