//! The key rule: which field, map and option names hold a secret (decisions, section 6).
//!
//! A key matches when its last words spell a redact key, alone or followed by `value`, `key`, `hash` or `header`.
//! Comparing starts at the end and skips separators, so `api_key`, `X-Api-Key`, `apiKey` and `apikey` are one key,
//! and what was compared must begin where a word begins, so `hotkey` is not `key`. Nothing is allocated: this
//! runs for every key of every payload.

use super::tails::Tails;

/// What a key says about the value under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum KeyVerdict {
    /// Nothing: the value stays.
    Keep,
    /// The value is a secret, whatever its type.
    Secret,
    /// The value is a secret unless it is a number or a boolean: `token` is also what models count.
    SecretUnlessNumber,
}

/// Words that may follow a redact key without making it harmless.
const FOLLOWING_WORDS: [&[u8]; 4] = [b"value", b"key", b"hash", b"header"];

/// The redact keys, ready for comparing.
#[derive(Debug)]
pub(super) struct Keys {
    keys: Vec<RedactKey>,
    tails: Tails,
}

#[derive(Debug)]
struct RedactKey {
    /// The key's letters and digits in lower case, without separators.
    letters: Vec<u8>,
    /// Whether its last word is `token`: no plural, numbers stay.
    is_token: bool,
}

impl Keys {
    pub(super) fn new(redact_keys: &[String]) -> Self {
        let keys = redact_keys.iter().filter_map(|key| {
            let is_word = |byte: &u8| is_word_byte(*byte);
            let letters: Vec<u8> = key
                .bytes()
                .filter(is_word)
                .map(|byte| byte.to_ascii_lowercase())
                .collect();
            let is_token = spelled_at_end(key.as_bytes(), key.len(), b"token").is_some();
            (!letters.is_empty()).then_some(RedactKey { letters, is_token })
        });
        let keys: Vec<RedactKey> = keys.collect();
        let words = keys
            .iter()
            .map(|key| key.letters.as_slice())
            .chain(FOLLOWING_WORDS);
        let tails = words.fold(Tails::none(), Tails::and);
        Self { keys, tails }
    }

    pub(super) fn verdict(&self, key: &[u8]) -> KeyVerdict {
        let mut end = without_trailing_number(key, key.len());
        loop {
            if !self.tails.may_match(key.get(..end).unwrap_or_default()) {
                return KeyVerdict::Keep;
            }
            let verdict = self.verdict_of_last_words(key, end);
            if verdict != KeyVerdict::Keep {
                return verdict;
            }
            let before = FOLLOWING_WORDS
                .iter()
                .find_map(|word| spelled_singular_or_plural(key, end, word));
            let Some(start) = before else {
                return KeyVerdict::Keep;
            };
            end = without_trailing_number(key, start);
        }
    }

    fn verdict_of_last_words(&self, bytes: &[u8], end: usize) -> KeyVerdict {
        let mut verdict = KeyVerdict::Keep;
        for key in &self.keys {
            if key.is_token {
                if spelled_at_end(bytes, end, &key.letters).is_some() {
                    verdict = KeyVerdict::SecretUnlessNumber;
                }
            } else if spelled_singular_or_plural(bytes, end, &key.letters).is_some() {
                return KeyVerdict::Secret;
            }
        }
        verdict
    }
}

/// Where the last words of `bytes[..end]` begin when they spell `letters`, or its plural.
pub(super) fn spelled_singular_or_plural(bytes: &[u8], end: usize, letters: &[u8]) -> Option<usize> {
    if end < letters.len() {
        return None;
    }
    spelled_at_end(bytes, end, letters).or_else(|| {
        let stem = end
            .checked_sub(1)
            .filter(|&last| bytes.get(last).is_some_and(|byte| matches!(byte, b's' | b'S')))?;
        spelled_at_end(bytes, stem, letters).or_else(|| {
            let stem = stem
                .checked_sub(1)
                .filter(|&last| matches!(bytes.get(last), Some(b'e' | b'E')))?;
            letters
                .ends_with(b"h")
                .then(|| spelled_at_end(bytes, stem, letters))
                .flatten()
        })
    })
}

/// Where the last words of `bytes[..end]` begin when they spell `letters` (lower case, no separators).
pub(super) fn spelled_at_end(bytes: &[u8], end: usize, letters: &[u8]) -> Option<usize> {
    if end < letters.len() {
        return None;
    }
    let mut position = end;
    for &letter in letters.iter().rev() {
        loop {
            position = position.checked_sub(1)?;
            let byte = *bytes.get(position)?;
            if is_word_byte(byte) {
                if byte.to_ascii_lowercase() != letter {
                    return None;
                }
                break;
            }
        }
    }
    is_word_start(bytes, position).then_some(position)
}

/// Where `bytes[..end]` ends when separators and digits at its end are left out: `api_key_2` is an `api_key`.
pub(super) fn without_trailing_number(bytes: &[u8], end: usize) -> usize {
    let is_word = |byte: &u8| is_word_byte(*byte) && !byte.is_ascii_digit();
    bytes
        .get(..end)
        .and_then(|head| head.iter().rposition(is_word))
        .map_or(0, |last| last + 1)
}

/// Letters, digits and everything outside ASCII; the rest separates words.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Whether a word begins at `position`: after a separator, at a case change (`authToken`, `oauth2Token`), or at the
/// last capital of a run that goes on in lower case (`APIKey`).
fn is_word_start(bytes: &[u8], position: usize) -> bool {
    let Some(before) = position.checked_sub(1).and_then(|before| bytes.get(before)) else {
        return true;
    };
    let first = bytes.get(position).copied().unwrap_or_default();
    let next = bytes.get(position + 1).copied().unwrap_or_default();
    !before.is_ascii_alphanumeric()
        || (first.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next.is_ascii_lowercase()))
}
