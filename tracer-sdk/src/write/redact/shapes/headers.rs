//! Header lines: `Authorization: …`, `Proxy-Authorization: …`, `Cookie: …`, `Set-Cookie: …`.

use memchr::memchr;

use super::Found;
use super::schemes::credentials;
use super::values::{is_code, is_placeholder, is_plausible};
use crate::write::redact::keys::{spelled_at_end, spelled_singular_or_plural};
use crate::write::redact::text::Text;

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

/// What a header line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// Credentials, after the name of their scheme.
    Authorization,
    /// Names and values.
    Cookie,
}

impl Header {
    /// The header that `name` names.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        if spelled_at_end(name, name.len(), b"authorization").is_some() {
            Some(Self::Authorization)
        } else {
            spelled_singular_or_plural(name, name.len(), b"cookie").map(|_| Self::Cookie)
        }
    }

    /// The secret in the header's value, which begins at `start`.
    pub(super) fn find(self, text: &Text<'_>, start: usize) -> Option<Found> {
        match self {
            Self::Authorization => authorization(text, start),
            Self::Cookie => {
                let first = text.run(start, |byte| !byte.is_ascii_whitespace() && byte != b';');
                let has_name = memchr(b'=', text.slice(start, first)).is_some_and(|length| length > 0);
                let end = end_of_value(text, start);
                (has_name && end > start && !is_placeholder(text.slice(start, end)))
                    .then_some(Found::new(start, end))
            }
        }
    }
}

fn authorization(text: &Text<'_>, start: usize) -> Option<Found> {
    let scheme_end = text.run(start, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let scheme = text.slice(start, scheme_end);
    let is_one_of = |schemes: &[&[u8]]| schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if is_one_of(&SCHEMES_WITH_PARAMETERS) {
        let parameters = text.run(scheme_end, |byte| byte == b' ');
        let end = end_of_value(text, parameters);
        let has_parameters = memchr(b'=', text.slice(parameters, end)).is_some();
        return has_parameters.then_some(Found::new(parameters, end));
    }
    if is_one_of(&SCHEMES)
        && let Some((credentials, end)) = credentials(text, scheme_end)
    {
        let token = text.slice(credentials, end);
        let is_alone = token.len() >= 8 && !matches!(text.at(end), b' ' | b'\t') && !is_placeholder(token);
        return (is_alone || is_plausible(token, 6)).then_some(Found::new(credentials, end));
    }
    let is_word = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    let end = text.run(start, is_word);
    let value = text.slice(start, end);
    let looks_like_code =
        is_code(value) || value.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<'));
    (is_plausible(value, 6) && !looks_like_code).then_some(Found::new(start, end))
}

/// The end of the line, or of the quoted text that the line is in; quotes after `=` belong to the value.
fn end_of_value(text: &Text<'_>, start: usize) -> usize {
    let mut position = start;
    loop {
        position = text.run(position, |byte| {
            !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\')
        });
        let quote = text.at(position);
        if !matches!(quote, b'"' | b'\'') || text.before(position) != b'=' {
            break;
        }
        let closing = text.run(position + 1, |byte| byte != quote && byte != b'\n');
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
