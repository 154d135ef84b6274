//! The key rule: which field, map and option names hold a secret (decisions, section 6).
//!
//! A key matches when its last words spell a redact key, alone or followed by `value`, `key`, `hash` or `header`.
//! Separators are skipped, so `api_key`, `X-Api-Key`, `apiKey` and `apikey` are one key, and what was compared must
//! begin where a word begins, so `compass` is not `pass`. Nothing is allocated: this runs for every key of every payload.

use crate::process::Computed;
use crate::settings::DEFAULT_REDACT_KEYS;

use super::fold::{FoldedName, backwards, plural_endings, words_backwards};
use super::name_words::{self, NameMeaning};
use super::tails::Tails;

/// What a key says about the value under it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum KeyVerdict {
    /// Nothing: the value stays.
    #[default]
    Keep,
    /// The value is a secret, whatever its type.
    Secret,
    /// The value is a secret unless it is a number or a boolean: tests `pass`, and models count `token`s.
    SecretUnlessNumber,
}

/// Default redact keys that in a text seldom name a secret: `pass: …`, `auth: …`.
const OFTEN_WORDS: [&str; 8] = [
    "auth",
    "bearer",
    "credential",
    "dsn",
    "jwt",
    "pass",
    "pwd",
    "token",
];

/// The keys of the default list, whatever the settings say.
pub(super) static DEFAULTS: Computed<RedactKeys> =
    Computed::new(|| RedactKeys::new(&DEFAULT_REDACT_KEYS.map(str::to_owned)));

/// Words that may follow a redact key without making it harmless.
const FOLLOWING_WORDS: [&[u8]; 4] = words_backwards![b"value", b"key", b"hash", b"header"];

/// Redact keys that no other word ends in: they count without a boundary before them, as in `PGPASSWORD`.
const UNMISTAKABLE: [&str; 4] = ["password", "passwd", "passphrase", "apikey"];

/// What the other redact keys may be joined to without a boundary, as in `sshpass` and `authtoken`.
const JOINED_TO: [&str; 47] = [
    "access",
    "admin",
    "api",
    "app",
    "auth",
    "aws",
    "azure",
    "bearer",
    "bot",
    "client",
    "csrf",
    "database",
    "db",
    "email",
    "encryption",
    "ftp",
    "git",
    "github",
    "gitlab",
    "http",
    "id",
    "imap",
    "ldap",
    "login",
    "mail",
    "master",
    "mongo",
    "my",
    "mysql",
    "oauth",
    "pg",
    "postgres",
    "private",
    "proxy",
    "redis",
    "refresh",
    "require",
    "root",
    "secret",
    "session",
    "signing",
    "smtp",
    "sql",
    "ssh",
    "sudo",
    "user",
    "xsrf",
];

/// The redact keys, ready for comparing.
#[derive(Debug)]
pub(super) struct RedactKeys {
    list: Vec<RedactKey>,
    /// The numbers of the keys by their last letter.
    by_last: Box<[Vec<u16>; 256]>,
    tails: Tails,
    /// Those, and the last letters of the other names that are looked for in texts.
    names: Tails,
    /// Those, and the last letters of names that say something of another value.
    all: Tails,
}

#[derive(Debug)]
struct RedactKey {
    /// The key's letters and digits, folded, from the last to the first.
    reversed: Vec<u8>,
    verdict: KeyVerdict,
    /// What it says in a text.
    name: NameMeaning,
    is_unmistakable: bool,
    /// Words before it may say that the value is none of a secret.
    is_default: bool,
    /// `tokens` are what models count: it has no plural.
    is_token: bool,
}

impl RedactKey {
    fn new(key: &str) -> Option<Self> {
        let folded = FoldedName::new(key.as_bytes());
        let spells = |word: &str| reversed(word) == folded.from(0);
        let is_default = DEFAULT_REDACT_KEYS.iter().any(|key| spells(key));
        let is_token = folded.spelled(0, &backwards(b"token")).is_some();
        let reversed = folded.from(0).to_vec();
        (!reversed.is_empty()).then_some(Self {
            verdict: if is_token || is_default {
                KeyVerdict::SecretUnlessNumber
            } else {
                KeyVerdict::Secret
            },
            name: if is_token || OFTEN_WORDS.iter().any(|word| spells(word)) {
                NameMeaning::Token
            } else {
                NameMeaning::Secret
            },
            is_default,
            is_token,
            is_unmistakable: UNMISTAKABLE.iter().any(|word| spells(word)),
            reversed,
        })
    }
}

/// The letters of `word` from the last to the first.
fn reversed(word: &str) -> Vec<u8> {
    word.bytes().rev().filter(u8::is_ascii_alphanumeric).collect()
}

impl RedactKeys {
    pub(super) fn new(redact_keys: &[String]) -> Self {
        let keys: Vec<RedactKey> = redact_keys.iter().filter_map(|key| RedactKey::new(key)).collect();
        let mut by_last = Box::new([const { Vec::new() }; 256]);
        for (number, key) in keys.iter().enumerate() {
            if let (Some(last), Ok(number)) = (key.reversed.first(), u16::try_from(number)) {
                by_last[usize::from(*last)].push(number);
            }
        }
        let words = keys.iter().map(|key| key.reversed.as_slice());
        let tails = words.chain(FOLLOWING_WORDS).fold(Tails::none(), Tails::and);
        let names = name_words::other_names().fold(tails.clone(), Tails::and);
        Self {
            list: keys,
            by_last,
            tails,
            all: name_words::with_roles(names.clone()),
            names,
        }
    }

    /// Whether the name may end in a redact key.
    pub(super) fn may_match(&self, name: &[u8]) -> bool {
        self.tails.may_match(name)
    }

    pub(super) fn verdict(&self, name: &[u8]) -> KeyVerdict {
        if !self.may_match(name) {
            return KeyVerdict::Keep;
        }
        self.find(&FoldedName::new(name))
            .map_or(KeyVerdict::Keep, |(verdict, _)| verdict)
    }

    /// Whether the end of a name in a text may be that of one that says something.
    pub(super) fn may_name(&self, end: &[u8]) -> bool {
        self.names.may_match(end)
    }

    /// Whether the end of a name in a text may be that of one that says something of its value or of another.
    pub(super) fn may_say_something(&self, end: &[u8]) -> bool {
        self.all.may_match(end)
    }

    /// What the redact key says that the name's last words spell.
    pub(super) fn find(&self, name: &FoldedName) -> Option<(KeyVerdict, NameMeaning)> {
        let mut position = name.without_number(0);
        loop {
            if let Some(key) = self.find_at(name, position) {
                return Some((key.verdict, key.name));
            }
            let before = FOLLOWING_WORDS
                .iter()
                .find_map(|word| name.spelled_or_plural(position, word))?;
            position = name.without_number(before);
        }
    }

    fn find_at(&self, name: &FoldedName, position: usize) -> Option<&RedactKey> {
        let letters = name.from(position);
        let mut best: Option<&RedactKey> = None;
        let plural = plural_endings(letters, true);
        for (ending, is_plural) in [(Some(0), false), (plural[0], true), (plural[1], true)] {
            let Some(&last) = ending.and_then(|ending| letters.get(ending)) else {
                continue;
            };
            let from = position + ending.unwrap_or_default();
            for number in &self.by_last[usize::from(last)] {
                let Some(key) = self.list.get(usize::from(*number)) else {
                    continue;
                };
                let fits = !is_plural || (!key.is_token && (ending == Some(1) || last == b'h'));
                if fits
                    && key.is_spelled(name, from)
                    && best.is_none_or(|best| best.verdict != KeyVerdict::Secret)
                {
                    best = Some(key);
                }
            }
        }
        best
    }
}

impl RedactKey {
    fn is_spelled(&self, name: &FoldedName, position: usize) -> bool {
        let end = position + self.reversed.len();
        if !name.from(position).starts_with(&self.reversed)
            || (self.is_default && name_words::is_harmless_before(name, end, self.is_token))
        {
            return false;
        }
        name.is_word_start(end) || self.is_unmistakable || {
            let joined = name.rest_of_word(end);
            JOINED_TO
                .iter()
                .any(|word| word.len() == joined.len() && word.bytes().rev().eq(joined.iter().copied()))
        }
    }
}
