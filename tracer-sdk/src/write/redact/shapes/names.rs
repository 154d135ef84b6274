//! Names of variables and options that hold a secret although no redact key says so: `NAME_KEY`, `NAME_TOKEN`.

use crate::write::redact::keys::{spelled_at_end, without_trailing_number};

/// Last words of secret-like names of two words or more.
const LAST_WORDS: [&[u8]; 9] = [
    b"key",
    b"token",
    b"secret",
    b"password",
    b"passwd",
    b"passphrase",
    b"pwd",
    b"credential",
    b"credentials",
];

/// First words of names that end in `key` and name no secret.
const HARMLESS_KEYS: [&[u8]; 28] = [
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
];

/// Whether `name` has two words or more and the last one says that it holds a secret.
pub(in crate::write::redact) fn looks_secret(name: &str) -> bool {
    let bytes = name.as_bytes();
    let end = without_trailing_number(bytes, bytes.len());
    LAST_WORDS.iter().any(|word| {
        spelled_at_end(bytes, end, word).is_some_and(|start| {
            let first_words = without_trailing_number(bytes, start);
            let is_harmless = *word == b"key"
                && HARMLESS_KEYS
                    .iter()
                    .any(|harmless| spelled_at_end(bytes, first_words, harmless).is_some());
            first_words > 0 && !is_harmless
        })
    })
}
