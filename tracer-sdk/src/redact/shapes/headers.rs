//! Header lines: `Authorization: …`, `Proxy-Authorization: …`, `Cookie: …`, `Set-Cookie: …`.

use memchr::memchr;

use super::SecretPlace;
use super::schemes::Credentials;
use crate::redact::byte_set::ByteSet;
use crate::redact::names::Header;
use crate::redact::text::Text;
use crate::redact::values::{MAX_JUDGED, is_code, is_placeholder, is_plausible};

/// Schemes whose credentials are one word.
const SCHEMES: [&[u8]; 13] = [
    b"bearer",
    b"basic",
    b"token",
    b"apikey",
    b"api-key",
    b"key",
    b"bot",
    b"negotiate",
    b"ntlm",
    b"dpop",
    b"ssws",
    b"geniekey",
    b"kerberos",
];

/// Schemes whose credentials go to the end of the line.
const SCHEMES_WITH_PARAMETERS: [&[u8]; 8] = [
    b"digest",
    b"aws4-hmac-sha256",
    b"hawk",
    b"oauth",
    b"signature",
    b"hmac",
    b"mutual",
    b"hmac-sha256",
];

/// The sign of equality is looked for so far behind the beginning of a cookie.
const MAX_COOKIE_NAME_BYTES: usize = 64;

/// Longer words are no schemes.
const MAX_SCHEME_BYTES: usize = 24;

/// The secret in the value of a header line, which begins at `start`.
pub(super) fn find(header: Header, text: &Text<'_>, start: usize) -> Option<SecretPlace> {
    match header {
        Header::Authorization => authorization(text, start),
        Header::Cookie => {
            let first = text.run_within(start, MAX_COOKIE_NAME_BYTES, |byte| {
                !byte.is_ascii_whitespace() && byte != b';'
            });
            let has_name = memchr(b'=', text.slice(start, first)).is_some_and(|length| length > 0);
            if !has_name {
                return None;
            }
            let seen = end_of_value(text, start, MAX_JUDGED);
            let is_secret = seen > start && !is_placeholder(text.judged(start, seen));
            is_secret.then(|| SecretPlace::new(start, end_of_value(text, start, usize::MAX)))
        }
    }
}

fn authorization(text: &Text<'_>, start: usize) -> Option<SecretPlace> {
    static WORD: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'`\\");
    let scheme_end = text.run_within(start, MAX_SCHEME_BYTES, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'-'
    });
    let scheme = text.slice(start, scheme_end);
    let is_one_of = |schemes: &[&[u8]]| schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if is_one_of(&SCHEMES_WITH_PARAMETERS) {
        let parameters = text.run_within(scheme_end, MAX_JUDGED, |byte| byte == b' ');
        let seen = end_of_value(text, parameters, MAX_JUDGED);
        let has_parameters = memchr(b'=', text.slice(parameters, seen)).is_some();
        return has_parameters
            .then(|| SecretPlace::new(parameters, end_of_value(text, parameters, usize::MAX)));
    }
    if is_one_of(&SCHEMES)
        && let Some(credentials) = Credentials::after(text, scheme_end)
    {
        let token = credentials.judged(text);
        let is_alone =
            token.len() >= 8 && !matches!(credentials.next(text), b' ' | b'\t') && !is_placeholder(token);
        return (is_alone || is_plausible(token, 6)).then(|| credentials.found(text));
    }
    let is_word = |byte| WORD.has(byte);
    let seen = text.run_within(start, MAX_JUDGED, is_word);
    let value = text.judged(start, seen);
    let looks_like_code =
        || is_code(value) || value.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<'));
    let is_secret = seen > start && is_plausible(value, 6) && !looks_like_code();
    is_secret.then(|| SecretPlace::new(start, text.run(seen, is_word)))
}

/// The end of the line, or of the quoted text that the line is in; quotes after `=` belong to the value. At most about
/// `most` bytes are looked at.
fn end_of_value(text: &Text<'_>, start: usize, most: usize) -> usize {
    static UNQUOTED: ByteSet = ByteSet::all_but(b"\n\r\"'`\\");
    let limit = start.saturating_add(most);
    let mut position = start;
    while position < limit {
        position = text.run_within(position, limit - position, |byte| UNQUOTED.has(byte));
        let quote = text.at(position);
        if !matches!(quote, b'"' | b'\'') || text.before(position) != b'=' {
            break;
        }
        let closing = text.run_within(position + 1, most, |byte| byte != quote && byte != b'\n');
        if text.at(closing) != quote {
            break;
        }
        position = closing + 1;
    }
    while position > start && text.before(position) == b' ' {
        position -= 1;
    }
    position
}
