//! Tokens known by their parts: JWTs, Discord and Telegram bot tokens.

use super::{Beside, SecretPlace, Sign, SignSink};
use crate::redact::keys::RedactKeys;
use crate::redact::text::{Text, is_url_safe};

/// What base64 for URLs is made of, as [`is_url_safe`] tells.
const URL_SAFE: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

pub(super) fn web_tokens_noticed_by(notice: &mut SignSink<'_>) {
    notice(Sign {
        pair: *b"yJ",
        beside: Beside::Before(b"e"),
    });
}

pub(super) fn telegram_tokens_noticed_by(notice: &mut SignSink<'_>) {
    notice(Sign {
        pair: *b":A",
        beside: Beside::Before(b"0123456789"),
    });
}

pub(super) fn discord_tokens_noticed_by(notice: &mut SignSink<'_>) {
    for first in URL_SAFE {
        notice(Sign {
            pair: [b'.', *first],
            beside: Beside::Before(URL_SAFE),
        });
    }
}

/// `eyJ…`, at least two parts of base64 for URLs with dots between.
pub(super) fn find_web_token(text: &Text<'_>, at: usize, _: &RedactKeys) -> Option<SecretPlace> {
    let start = at.checked_sub(1).filter(|&start| text.at(start) == b'e')?;
    // For both runs, of which the end is mostly known.
    text.spend(5);
    let [_, of_header, of_payload, ..] = &text.runs;
    let header = text.run_remembered(of_header, start, is_url_safe);
    if text.is_open_end(header) {
        return Some(SecretPlace::new(start, header));
    }
    if header - start < 10 || text.at(header) != b'.' {
        return None;
    }
    let payload = text.run_remembered(of_payload, header + 1, is_url_safe);
    (payload > header + 10).then(|| {
        let end = text.run(payload, |byte| is_url_safe(byte) || byte == b'.');
        let end = if text.before(end) == b'.' { end - 1 } else { end };
        SecretPlace::new(start, end.max(payload))
    })
}

/// Digits, a colon, and 35 characters of which the first is `A`.
pub(super) fn find_telegram_token(text: &Text<'_>, at: usize, _: &RedactKeys) -> Option<SecretPlace> {
    let digits = text
        .bytes()
        .get(..at)?
        .iter()
        .rev()
        .take(13)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    text.spend(digits);
    if !(8..=12).contains(&digits) {
        return None;
    }
    let end = text.run_within(at + 1, 41, is_url_safe);
    let length = end - (at + 1);
    (33..=40)
        .contains(&length)
        .then_some(SecretPlace::new(at - digits, end))
}

/// Three parts with dots between, the middle one of six characters; the first is base64 of a number.
pub(super) fn find_discord_token(text: &Text<'_>, at: usize, _: &RedactKeys) -> Option<SecretPlace> {
    if text.at(at + 7) != b'.' {
        return None;
    }
    let first = text
        .bytes()
        .get(..at)?
        .iter()
        .rev()
        .take(30)
        .take_while(|byte| is_url_safe(**byte))
        .count();
    text.spend(first);
    let start = at - first;
    if !(23..=28).contains(&first) || !matches!(text.at(start), b'M' | b'N' | b'O') {
        return None;
    }
    let middle = text.run_within(at + 1, 7, is_url_safe);
    let end = text.run_within(at + 8, 46, is_url_safe);
    let is_token = middle == at + 7 && (27..=45).contains(&(end - (at + 8)));
    is_token.then_some(SecretPlace::new(start, end))
}
