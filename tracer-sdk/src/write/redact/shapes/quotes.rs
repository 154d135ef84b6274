//! Quoted values behind a word or another quoted text: `PASSWORD '…'`, `IDENTIFIED BY '…'`, `["x-api-key", "…"]`,
//! `("DB_PASSWORD", "…")`.

use super::assignments::{Gap, LONGEST_NAME, Quoted, is_screaming};
use super::names::{self, Name};
use super::values::{is_placeholder, is_plausible, looks_random};
use super::{ANY, Beside, Found, Notice, Sign};
use crate::write::redact::keys::Keys;
use crate::write::redact::text::{Text, count_work};

/// How far before `BY` the word `IDENTIFIED` is looked for: a plugin may be named between them.
const MOST_BEFORE_BY: usize = 48;

/// The most backslashes before a quote within a text within a text.
const MOST_BACKSLASHES: usize = 16;

pub(super) fn noticed_by(notice: &mut Notice<'_>) {
    for before in b" \t\n([,\\" {
        for quote in b"\"'" {
            notice(Sign {
                pair: [*before, *quote],
                beside: Beside::After(&ANY),
            });
        }
    }
}

pub(super) fn find(text: &Text<'_>, at: usize, keys: &Keys) -> Option<Found> {
    let quote = text.at(at + 1);
    let mut opening = at + 1;
    while text.before(opening) == b'\\' && at + 1 - opening < MOST_BACKSLASHES {
        opening -= 1;
    }
    match text.before(opening) {
        b'(' => in_list(text, opening, keys).or_else(|| behind_word(text, opening - 1, at + 1, keys)),
        b'[' | b',' => in_list(text, opening, keys),
        b' ' | b'\t' | b'\n' => {
            let mut end = opening;
            while matches!(text.before(end), b' ' | b'\t' | b'\n' | b'\r') && opening - end < 24 {
                end -= 1;
            }
            count_work(opening - end);
            match text.before(end) {
                b'(' | b'[' | b',' => in_list(text, opening, keys),
                before if before.is_ascii_alphanumeric() => behind_word(text, end, at + 1, keys),
                _ => None,
            }
        }
        b'n' | b'r' | b't' if quote == b'"' && opening < at + 1 => None,
        _ => None,
    }
}

/// The text behind the one that begins at `opening`, when that is a name: a pair, or a call.
fn in_list(text: &Text<'_>, opening: usize, keys: &Keys) -> Option<Found> {
    let start = text.run_within(opening, MOST_BACKSLASHES, |byte| byte == b'\\');
    let end = text.run_within(start + 1, LONGEST_NAME + 1, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ') || !byte.is_ascii()
    });
    let closing = text.run_within(end, MOST_BACKSLASHES, |byte| byte == b'\\');
    if end - start > LONGEST_NAME || text.at(closing) != text.at(start) {
        return None;
    }
    let comma = Gap::from(text, closing + 1)?.end;
    if text.at(comma) != b',' {
        return None;
    }
    let name = text.slice(start + 1, end);
    let class = names::class(name, keys)?;
    let value = Quoted::at(text, Gap::from(text, comma + 1)?.end)?;
    let is_secret = value
        .judged(text)
        .map_or(class != Name::Key, |value| match class {
            Name::Key => looks_random(value) && !is_placeholder(value),
            Name::Secret => is_plausible(value, 6),
            Name::Token => is_plausible(value, 8),
        });
    // Names of secrets in a list are followed by others.
    let is_name = || looks_like_name(text.slice(value.start, value.seen), keys);
    (is_secret && !is_name()).then(|| Found::new(value.start, value.end(text)))
}

fn looks_like_name(value: &[u8], keys: &Keys) -> bool {
    !looks_random(value) && names::class(value, keys).is_some()
}

/// The quoted text at `quote`, when the word that ends at `word_end` says that it is a secret.
fn behind_word(text: &Text<'_>, word_end: usize, quote: usize, keys: &Keys) -> Option<Found> {
    let mut start = word_end;
    while text.before(start).is_ascii_alphanumeric() || text.before(start) == b'_' {
        start -= 1;
        if word_end - start > LONGEST_NAME {
            return None;
        }
    }
    count_work(word_end - start);
    let word = text.slice(start, word_end);
    let is_by = word.eq_ignore_ascii_case(b"by");
    let class = if is_by {
        is_identified(text, start).then_some(Name::Secret)?
    } else {
        names::class(word, keys)?
    };
    let backslashes = quote
        - text
            .bytes()
            .get(..quote)?
            .iter()
            .rposition(|byte| *byte != b'\\')
            .map_or(0, |last| last + 1);
    let value = Quoted::at(text, quote - backslashes)?;
    let is_screaming = is_screaming(word);
    let is_secret = value.seen > value.start
        && value
            .judged(text)
            .map_or(class != Name::Key, |value| match class {
                Name::Key => false,
                Name::Secret if is_by || is_screaming => !is_placeholder(value),
                Name::Secret => is_plausible(value, 6),
                Name::Token => is_plausible(value, 8),
            });
    is_secret.then(|| Found::new(value.start, value.end(text)))
}

/// Whether `IDENTIFIED` is before the `BY` that begins at `by`.
fn is_identified(text: &Text<'_>, by: usize) -> bool {
    const IDENTIFIED: &[u8] = b"identified";
    let before = text.slice(by.saturating_sub(MOST_BEFORE_BY), by);
    count_work(before.len());
    before
        .windows(IDENTIFIED.len())
        .any(|window| window.eq_ignore_ascii_case(IDENTIFIED))
}
