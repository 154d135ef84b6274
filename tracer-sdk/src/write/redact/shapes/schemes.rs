//! Credentials after the name of their scheme, outside a header too: `Bearer …`, `Basic …`.

use super::values::{is_plausible, looks_random};
use super::{Beside, Found, Notice, Sign};
use crate::write::redact::keys::Keys;
use crate::write::redact::text::Text;

/// Shorter words after `bearer` are prose.
const SHORTEST_BEARER: usize = 10;

/// Shorter words after `basic` are prose.
const SHORTEST_BASIC: usize = 8;

pub(super) fn noticed_by(notice: &mut Notice<'_>) {
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

pub(super) fn find(text: &Text<'_>, at: usize, _: &Keys) -> Option<Found> {
    if text.has_ignoring_case(at, b"bearer") {
        let (start, end) = credentials(text, at + 6)?;
        let token = text.slice(start, end);
        return (is_plausible(token, SHORTEST_BEARER) || text.is_open_end(end))
            .then_some(Found::new(start, end));
    }
    if text.has_ignoring_case(at, b"basic") {
        let (start, end) = credentials(text, at + 5)?;
        let token = text.slice(start, end);
        let is_login = token.len() >= SHORTEST_BASIC && holds_login(token);
        return (is_login || looks_random(token)).then_some(Found::new(start, end));
    }
    None
}

/// Where the credentials after the name of a scheme are: after white space, in one word.
pub(super) fn credentials(text: &Text<'_>, scheme_end: usize) -> Option<(usize, usize)> {
    let start = text.run(scheme_end, |byte| matches!(byte, b' ' | b'\t'));
    let start = if text.has(scheme_end, b"%20") {
        scheme_end + 3
    } else {
        start
    };
    let end = text.run(text.run(start, is_token68), |byte| byte == b'=');
    // After `name=` there would be a parameter, not padding.
    let is_padded = text.before(end) != b'='
        || !matches!(text.at(end), b'"' | b'\'' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z');
    (start > scheme_end && end > start && is_padded).then_some((start, end))
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
