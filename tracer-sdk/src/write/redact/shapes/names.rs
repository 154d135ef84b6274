//! What a name in a text says about the value after it: by the key rule, or as `NAME_KEY`, `NAME_TOKEN`, `NAME_PWD`.

use super::values::{is_digest, is_number, is_placeholder, is_plausible, looks_random};
use crate::write::redact::keys::{KeyVerdict, Keys, spelled_at_end, without_trailing_number};
use crate::write::redact::tails::Tails;

/// How much a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    /// It names a secret.
    Secret,
    /// It names a token: a secret unless it is a number.
    Token,
    /// It names a key: a secret when its value looks like one.
    Key,
}

impl Name {
    /// Whether `value` goes where the name is surely an option's.
    pub(in crate::write::redact) fn hides(self, value: &[u8]) -> bool {
        match self {
            Self::Secret => true,
            Self::Token => !is_number(value) && !matches!(value, b"true" | b"false"),
            Self::Key => looks_random(value),
        }
    }

    /// Whether `value` goes where it is a member of JSON and no redact key says so.
    pub(crate) fn hides_member(self, value: &[u8]) -> bool {
        match self {
            Self::Secret | Self::Token => is_plausible(value, 6),
            Self::Key => looks_random(value) && !is_digest(value) && !is_placeholder(value),
        }
    }
}

/// Last words of secret-like names of two words or more, beside `key`.
const LAST_WORDS: [&[u8]; 8] = [
    b"token",
    b"secret",
    b"password",
    b"passwd",
    b"passphrase",
    b"pwd",
    b"credential",
    b"credentials",
];

/// Words that say so alone.
const WORDS: [&[u8]; 2] = [b"passwd", b"passphrase"];

/// The tails of all of them.
const TAILS: Tails = {
    let mut tails = Tails::none().and(b"key");
    let mut number = 0;
    while number < LAST_WORDS.len() {
        tails = tails.and(LAST_WORDS[number]);
        number += 1;
    }
    tails
};

/// Words before `key` that make a name harmless.
const HARMLESS_KEYS: [&[u8]; 30] = [
    b"primary",
    b"foreign",
    b"public",
    b"sort",
    b"partition",
    b"cache",
    b"idempotency",
    b"row",
    b"index",
    b"shard",
    b"routing",
    b"group",
    b"object",
    b"unique",
    b"composite",
    b"map",
    b"dict",
    b"registry",
    b"hot",
    b"lookup",
    b"order",
    b"range",
    b"dedupe",
    b"dedup",
    b"natural",
    b"candidate",
    b"join",
    b"storage",
    b"hash",
    b"config",
];

/// What `name` says, if anything.
pub(super) fn class(name: &[u8], keys: &Keys) -> Option<Name> {
    match keys.verdict(name) {
        KeyVerdict::Secret => Some(Name::Secret),
        KeyVerdict::SecretUnlessNumber => Some(Name::Token),
        KeyVerdict::Keep => by_last_word(name),
    }
}

/// What `name` says by its last word, although no redact key says so.
pub(in crate::write::redact) fn by_last_word(name: &[u8]) -> Option<Name> {
    let end = without_trailing_number(name, name.len());
    if !TAILS.may_match(name.get(..end).unwrap_or_default()) {
        return None;
    }
    let is_one_of_more = |start: usize| without_trailing_number(name, start) > 0;
    if let Some(start) = spelled_at_end(name, end, b"key").filter(|&start| is_one_of_more(start)) {
        let before = without_trailing_number(name, start);
        let is_harmless = HARMLESS_KEYS
            .iter()
            .any(|word| spelled_at_end(name, before, word).is_some());
        return (!is_harmless).then_some(Name::Key);
    }
    let says_more = LAST_WORDS
        .iter()
        .any(|word| spelled_at_end(name, end, word).is_some_and(is_one_of_more));
    let says_alone = || WORDS.iter().any(|word| spelled_at_end(name, end, word).is_some());
    if !says_more && !says_alone() {
        return None;
    }
    Some(if spelled_at_end(name, end, b"token").is_some() {
        Name::Token
    } else {
        Name::Secret
    })
}
