//! Secrets that are known by their own form: key formats, private key blocks, tokens of parts, logins in URLs, credentials of a scheme.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::place::SecretPlace;
use super::rules::{Parts, Scheme, TokenFormat, is_url_safe};
use super::text::{AHEAD, BACK, Text, count, is_quote};
use super::value::{MAX_JUDGED, is_blank, is_code, is_number, is_placeholder, is_plausible, looks_random};

/// A key in a published format. The last secret ends at `secret_end`, where a word may begin.
pub(super) fn token(
    text: Text<'_>,
    anchor: Range<usize>,
    format: &TokenFormat,
    secret_end: usize,
) -> Option<SecretPlace> {
    let is_word_start = || anchor.start == secret_end || text.is_word_start(anchor.start);
    if !text.has(anchor.start, format.prefix) || (format.is_common && !is_word_start()) {
        return None;
    }
    let seen = text.run(anchor.end, MAX_JUDGED, format.body);
    let body = text.slice(anchor.end, seen);
    let is_key = if format.is_common {
        looks_random(body)
    } else {
        !is_blank(body) && !body.starts_with(b"your")
    };
    (is_key && body.len() >= format.shortest)
        .then(|| SecretPlace::new(anchor.start, text.end_of(seen, format.body)))
}

/// A private key block, whole or cut short, also with numbers, signs or quotes around its lines.
pub(super) fn private_key(text: Text<'_>, anchor: Range<usize>) -> Option<SecretPlace> {
    /// The longest label: `PGP PRIVATE KEY BLOCK` and the like.
    const MAX_LABEL_BYTES: usize = 40;
    const END: &str = "-----END ";
    let is_label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let label_end = text.run(anchor.end, MAX_LABEL_BYTES, is_label);
    let is_private = memmem::find(text.slice(anchor.end, label_end), b"PRIVATE KEY").is_some();
    if !is_private || !text.has(label_end, "-----") {
        return None;
    }
    let mut line = label_end + 5;
    // In code the label is a text of its own, in a list the first of several.
    if is_quote(text.at(line)) && text.at(line + 1) != b',' {
        line = text.line_end(line);
    }
    let (mut end, mut is_random, mut has_key) = (line, false, false);
    loop {
        let line_end = text.line_end(line);
        let content = text.slice(line, line_end);
        count(content.len());
        let label = memmem::find(content, b"-----").unwrap_or(content.len());
        let body = text.slice(line, line + label);
        let mut word_end = line;
        let mut last = None;
        for word in body.split(|byte| !is_base64(*byte)) {
            word_end += word.len();
            if word.len() >= MIN_KEY_WORD_BYTES {
                last = Some(word_end);
                is_random |= looks_random(word);
            }
            word_end += 1;
        }
        // The last line of a key may be short; only numbers and signs are before it.
        let signs = body.iter().rev().take_while(|byte| !is_base64(**byte)).count();
        let short_end = body.len() - signs;
        let short_start = text.run_back(line + short_end, short_end, is_base64) - line;
        let is_short =
            has_key && short_end > 0 && !body.iter().take(short_start).any(u8::is_ascii_alphabetic);
        let is_header = || !has_key && memmem::find(body, b": ").is_some();
        if let Some(last) = last {
            has_key = true;
            end = text.end_of(last, is_base64);
        } else if is_short {
            end = line + short_end;
        } else if !has_no_letters(body) && !is_header() && !text.has(line + label, END) {
            break;
        }
        if label < content.len() {
            let label_end = text.run(line + label + END.len(), MAX_LABEL_BYTES, is_label);
            if text.has(line + label, END) && has_key {
                return Some(SecretPlace::new(
                    anchor.start,
                    text.run(label_end, 5, |byte| byte == b'-'),
                ));
            }
            break;
        }
        let next = text.gap(end.max(line_end)).end;
        if next <= line {
            break;
        }
        line = next;
    }
    is_random.then(|| SecretPlace::new(anchor.start, end))
}

/// The shortest word of base64 in a line of a private key.
const MIN_KEY_WORD_BYTES: usize = 16;

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Says whether there are no letters in `line` but that of an escape.
fn has_no_letters(line: &[u8]) -> bool {
    !line
        .windows(2)
        .any(|pair| pair.iter().all(u8::is_ascii_alphabetic))
}

/// A token of parts. `rejected` is where the run ends that the last `eyJ` begins, when that is no token.
pub(super) fn parts(
    text: Text<'_>,
    anchor: Range<usize>,
    parts: Parts,
    rejected: &mut usize,
) -> Option<SecretPlace> {
    match parts {
        Parts::WebToken => {
            if anchor.start < *rejected || !text.has(anchor.start, "eyJ") {
                return None;
            }
            let header = text.end_of(anchor.start, is_url_safe);
            let payload = text.run(header + 1, AHEAD, is_url_safe);
            if header - anchor.start < 10 || text.at(header) != b'.' || payload <= header + 10 {
                *rejected = header;
                return None;
            }
            let end = text.end_of(payload, |byte| is_url_safe(byte) || byte == b'.');
            Some(SecretPlace::new(
                anchor.start,
                end - usize::from(text.before(end) == b'.'),
            ))
        }
        Parts::Telegram => {
            if !text.has(anchor.start, ":AA") {
                return None;
            }
            let start = text.run_back(anchor.start, 13, |byte| byte.is_ascii_digit());
            let end = text.run(anchor.start + 1, 41, is_url_safe);
            let is_token = (8..=12).contains(&(anchor.start - start)) && end - anchor.start >= 34;
            is_token.then(|| SecretPlace::new(start, text.end_of(end, is_url_safe)))
        }
        Parts::Discord => {
            let at = anchor.start;
            if text.at(at + 7) != b'.' {
                return None;
            }
            let start = text.run_back(at, 30, is_url_safe);
            let end = text.run(at + 8, 46, is_url_safe);
            let is_token = (23..=28).contains(&(at - start))
                && matches!(text.at(start), b'M' | b'N' | b'O')
                && text.run(at + 1, 7, is_url_safe) == at + 7
                && end - (at + 8) >= 27;
            is_token.then(|| SecretPlace::new(start, text.end_of(end, is_url_safe)))
        }
    }
}

/// The password in a URL behind `://`, or a user that looks random.
pub(super) fn login(text: Text<'_>, start: usize) -> Option<SecretPlace> {
    let is_url = |byte: u8| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'\0')
    };
    let is_authority = |byte: u8| is_url(byte) && !matches!(byte, b'/' | b'?' | b'#');
    let authority = text.run(start, AHEAD, is_authority);
    // Only a run longer than any host and login has no end in sight.
    let is_endless = authority - start >= AHEAD;
    let mut login_end = memrchr(b'@', text.slice(start, authority)).map(|offset| start + offset);
    let colon = memchr(b':', text.slice(start, authority));
    if login_end.is_none() && colon.is_none() {
        let is_user = is_endless && looks_random(text.judged(start, authority));
        login_end = is_user.then(|| text.end_of(authority, |byte| is_authority(byte) && byte != b'@'));
    } else if login_end.is_none() {
        // A password may hold a sign that it should not; then what looks like a port is none.
        let colon = start + colon?;
        let port = text.slice(colon + 1, authority);
        if port.is_empty() || is_number(port) || is_placeholder(port) {
            return None;
        }
        let all = text.run(authority, AHEAD, is_url);
        let sign = memchr(b'@', text.slice(authority, all)).map(|offset| authority + offset);
        login_end = sign.or_else(|| is_endless.then(|| text.end_of(all, is_url)));
    }
    let login_end = login_end?;
    let judged = |from: usize| text.judged(from, login_end);
    match memchr(b':', text.slice(start, authority.min(login_end))) {
        None => (looks_random(judged(start)) && !is_placeholder(judged(start)))
            .then(|| SecretPlace::new(start, login_end)),
        Some(colon) => {
            let password = start + colon + 1;
            let is_secret = !is_placeholder(judged(password)) && !text.is_marker(password);
            is_secret.then(|| SecretPlace::new(password, login_end))
        }
    }
}

/// The shortest credentials outside a header: shorter words after `bearer` and `basic` are prose.
const MIN_BEARER_BYTES: usize = 10;
const MIN_BASIC_BYTES: usize = 8;

/// Credentials behind the name of their scheme.
pub(super) fn scheme(text: Text<'_>, end: usize, scheme: Scheme) -> Option<SecretPlace> {
    let credentials = Credentials::after(text, end)?;
    let token = credentials.judged(text);
    let is_secret = match scheme {
        Scheme::Bearer => is_plausible(token, MIN_BEARER_BYTES),
        Scheme::Basic => (token.len() >= MIN_BASIC_BYTES && holds_login(token)) || looks_random(token),
    };
    is_secret.then(|| credentials.place(text))
}

/// One word behind the name of a scheme.
struct Credentials {
    start: usize,
    /// End offset of the part that is judged.
    seen: usize,
}

impl Credentials {
    fn after(text: Text<'_>, scheme_end: usize) -> Option<Self> {
        let start = text.blanks(scheme_end);
        let seen = text.run(start, MAX_JUDGED, is_token68);
        let seen = text.run(seen, 4, |byte| byte == b'=');
        // After `name=` there would be a parameter, not padding.
        let is_value = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'"' | b'\'');
        let is_padded = text.before(seen) != b'=' || !(is_value(text.at(seen)) || text.is_marker(seen));
        (start > scheme_end && seen > start && is_padded).then_some(Self { start, seen })
    }

    fn judged<'a>(&self, text: Text<'a>) -> &'a [u8] {
        text.judged(self.start, self.seen)
    }

    fn place(&self, text: Text<'_>) -> SecretPlace {
        SecretPlace::new(
            self.start,
            text.end_of(text.end_of(self.seen, is_token68), |byte| byte == b'='),
        )
    }
}

/// The signs of credentials in a header (RFC 7235, `token68`).
fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'|' | b':')
}

/// Says whether base64 `token` decodes to `user:password`.
fn holds_login(token: &[u8]) -> bool {
    let (mut bits, mut count, mut has_colon) = (0_u32, 0, false);
    for &byte in token.iter().take_while(|byte| **byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            let decoded = (bits >> count) & 0xff;
            if decoded < 0x20 {
                return false;
            }
            has_colon |= decoded == u32::from(b':');
        }
    }
    has_colon
}

/// Schemes of headers whose credentials are one word, and those whose credentials go to the end of the line.
const SCHEMES: &[&str] = &[
    "bearer",
    "basic",
    "token",
    "apikey",
    "api-key",
    "key",
    "bot",
    "negotiate",
    "ntlm",
    "dpop",
    "ssws",
    "geniekey",
    "kerberos",
];
const SCHEMES_WITH_PARAMETERS: &[&str] = &[
    "digest",
    "aws4-hmac-sha256",
    "hawk",
    "oauth",
    "signature",
    "hmac",
    "mutual",
    "hmac-sha256",
];

/// The credentials of a header `Authorization`, whose value begins at `start`.
pub(super) fn authorization(text: Text<'_>, start: usize) -> Option<SecretPlace> {
    let scheme_end = text.run(start, 24, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let scheme = text.slice(start, scheme_end);
    let is_one_of = |schemes: &[&str]| {
        schemes
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known.as_bytes()))
    };
    if is_one_of(SCHEMES_WITH_PARAMETERS) {
        let parameters = text.blanks(scheme_end);
        let seen = end_of_header(text, parameters, MAX_JUDGED);
        let has_parameters = memchr(b'=', text.slice(parameters, seen)).is_some();
        return has_parameters
            .then(|| SecretPlace::new(parameters, end_of_header(text, parameters, usize::MAX)));
    }
    if is_one_of(SCHEMES)
        && let Some(credentials) = Credentials::after(text, scheme_end)
    {
        let token = credentials.judged(text);
        let is_alone =
            token.len() >= 8 && !matches!(text.at(credentials.seen), b' ' | b'\t') && !is_placeholder(token);
        return (is_alone || is_plausible(token, 6)).then(|| credentials.place(text));
    }
    let is_word = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    let seen = text.run(start, MAX_JUDGED, is_word);
    let value = text.judged(start, seen);
    let is_expression = is_code(value) || value.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<'));
    (is_plausible(value, 6) && !is_expression).then(|| SecretPlace::new(start, text.end_of(seen, is_word)))
}

/// The cookies of a header, whose value begins at `start`.
pub(super) fn cookies(text: Text<'_>, start: usize) -> Option<SecretPlace> {
    let name_end = text.run(start, BACK, |byte| !byte.is_ascii_whitespace() && byte != b';');
    let has_name = memchr(b'=', text.slice(start, name_end)).is_some_and(|length| length > 0);
    let is_secret = has_name && !is_placeholder(text.judged(start, end_of_header(text, start, MAX_JUDGED)));
    is_secret.then(|| SecretPlace::new(start, end_of_header(text, start, usize::MAX)))
}

/// The end of the line, or of the quoted text that the line is in; quotes after `=` belong to the value.
fn end_of_header(text: Text<'_>, start: usize, most: usize) -> usize {
    let limit = start.saturating_add(most);
    let mut end = start;
    while end < limit {
        end = text.run(end, limit - end, |byte| {
            !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\')
        });
        let quote = text.at(end);
        if !matches!(quote, b'"' | b'\'') || text.before(end) != b'=' {
            break;
        }
        let closing = text.run(end + 1, most, |byte| byte != quote && byte != b'\n');
        if text.at(closing) != quote {
            break;
        }
        end = closing + 1;
    }
    text.run_back(end, end - start, |byte| byte == b' ')
}
