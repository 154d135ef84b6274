//! Credentials after the name of their scheme, outside a header too: `Bearer …`, `Basic …`.

use super::{Beside, SecretPlace, Sign, SignSink};
use crate::redact::keys::RedactKeys;
use crate::redact::text::Text;
use crate::redact::values::{MAX_JUDGED, is_plausible, looks_random};

/// Shorter words after `bearer` are prose.
const MIN_BEARER_BYTES: usize = 10;

/// Shorter words after `basic` are prose.
const MIN_BASIC_BYTES: usize = 8;

/// The most blanks between the name of a scheme and the credentials.
const MAX_BLANKS: usize = 24;

/// The most signs of equality behind them.
const MAX_PADDING: usize = 4;

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    for (pairs, after) in [
        ([*b"Be", *b"be", *b"BE"], b"aA"),
        ([*b"Ba", *b"ba", *b"BA"], b"sS"),
    ] {
        for pair in pairs {
            notice(Sign {
                pair,
                beside: Beside::After(after),
            });
        }
    }
}

pub(super) fn find(text: &Text<'_>, at: usize, _: &RedactKeys) -> Option<SecretPlace> {
    if text.has_ignoring_case(at, b"bearer") {
        let credentials = Credentials::after(text, at + 6)?;
        let is_token =
            text.is_open_end(credentials.seen) || is_plausible(credentials.judged(text), MIN_BEARER_BYTES);
        return is_token.then(|| credentials.found(text));
    }
    if text.has_ignoring_case(at, b"basic") {
        let credentials = Credentials::after(text, at + 5)?;
        let token = credentials.judged(text);
        let is_secret = (token.len() >= MIN_BASIC_BYTES && holds_login(token)) || looks_random(token);
        return is_secret.then(|| credentials.found(text));
    }
    None
}

/// What may be the credentials after the name of a scheme: after white space, in one word.
pub(super) struct Credentials {
    start: usize,
    /// As far as they were looked at.
    seen: usize,
}

impl Credentials {
    pub(super) fn after(text: &Text<'_>, scheme_end: usize) -> Option<Self> {
        let start = if text.has(scheme_end, b"%20") {
            scheme_end + 3
        } else {
            text.run_within(scheme_end, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t'))
        };
        let seen = text.run_within(start, MAX_JUDGED, is_token68);
        let seen = text.run_within(seen, MAX_PADDING, |byte| byte == b'=');
        // After `name=` there would be a parameter, not padding.
        let is_padded = text.before(seen) != b'='
            || !matches!(text.at(seen), b'"' | b'\'' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z');
        (start > scheme_end && seen > start && is_padded).then_some(Self { start, seen })
    }

    /// The part that they are judged by.
    pub(super) fn judged<'a>(&self, text: &Text<'a>) -> &'a [u8] {
        text.judged(self.start, self.seen)
    }

    /// The byte behind the part that was looked at.
    pub(super) fn next(&self, text: &Text<'_>) -> u8 {
        text.at(self.seen)
    }

    pub(super) fn found(&self, text: &Text<'_>) -> SecretPlace {
        let end = if text.before(self.seen) == b'=' {
            self.seen
        } else {
            let end = text.run(self.seen, is_token68);
            text.run(end, |byte| byte == b'=')
        };
        SecretPlace::new(self.start, end)
    }
}

/// What the credentials of a header are made of (RFC 7235, `token68`).
fn is_token68(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'|' | b':')
}

/// Whether base64 `token` decodes to `user:password`.
fn holds_login(token: &[u8]) -> bool {
    let mut bits = 0_u32;
    let mut count = 0;
    let mut has_colon = false;
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
