//! The key rule, and other names of secrets: which keys, options and variables hold one (decisions, section 6).
//!
//! A key matches when its last words spell a redact key, alone or followed by `value`, `key`, `hash` or `header`. Separators are
//! skipped, so `api_key`, `X-Api-Key`, `apiKey` and `apikey` are one key, and a match begins where a word begins, so `compass` is not `pass`.

use crate::settings::DEFAULT_REDACT_KEYS;
use tracer_format::Computed;

use super::fold::FoldedName;
use super::value::{
    is_count, is_number, is_pattern, is_placeholder, is_plausible, looks_random, looks_secret,
};

/// Verdict of a key on the value under it.
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

impl KeyVerdict {
    /// Says whether a value is a secret: one that `is_scalar` if it is a number or a boolean.
    pub(crate) fn hides(self, is_scalar: bool) -> bool {
        self == Self::Secret || (self == Self::SecretUnlessNumber && !is_scalar)
    }
}

/// Meaning of a name, the surest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMeaning {
    /// It names a key: a secret when its value looks like one.
    Key,
    /// It names a token: a secret unless it is a count or a mode.
    Token,
    /// It names a secret.
    Secret,
}

/// Confidence that a place holds the value of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Confidence {
    /// Code and prose are as likely.
    Likely,
    /// JSON, an element, an environment variable, a member next to its name.
    Structured,
    /// The argument of an option.
    Explicit,
}

impl NameMeaning {
    /// Says whether `value` is a secret under a name that says this.
    pub(crate) fn hides(self, value: &[u8], confidence: Confidence) -> bool {
        match (self, confidence) {
            (Self::Secret, Confidence::Likely) => is_plausible(value, 6),
            (Self::Secret, _) => !is_placeholder(value),
            (Self::Token, Confidence::Likely) => !is_number(value) && is_plausible(value, 8),
            (Self::Token, Confidence::Structured) => {
                let is_long = value.len() >= 8 || is_plausible(value, 6) || is_number(value);
                is_long && !is_count(value) && !is_placeholder(value)
            }
            (Self::Token, Confidence::Explicit) => !is_count(value) && !is_placeholder(value),
            (Self::Key, Confidence::Explicit) => {
                is_plausible(value, 8) && (looks_random(value) || !is_pattern(value))
            }
            (Self::Key, _) => looks_secret(value),
        }
    }
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

/// Words that may follow a redact key without making it harmless.
const FOLLOWING_WORDS: [&str; 4] = ["value", "key", "hash", "header"];

/// Redact keys that no other word ends in: they count without a boundary before them, as in `PGPASSWORD`.
const UNMISTAKABLE: [&str; 4] = ["password", "passwd", "passphrase", "apikey"];

/// Words that the other redact keys may be joined to without a boundary, as in `sshpass` and `authtoken`.
const JOINED_TO: &str = " access admin api app auth aws azure bearer bot client csrf database db email encryption ftp git github gitlab \
    http id imap ldap login mail master mongo my mysql oauth pg postgres private proxy redis refresh require root secret session signing \
    smtp sql ssh sudo user xsrf ";

/// Words before `token` for a place in a list, or for a token of a model's vocabulary.
const HARMLESS_TOKENS: [&str; 30] = [
    "cancel",
    "cancellation",
    "cancelation",
    "next",
    "page",
    "input",
    "output",
    "previous",
    "prev",
    "continuation",
    "continue",
    "pagination",
    "cursor",
    "sync",
    "resume",
    "eos",
    "bos",
    "pad",
    "padding",
    "unk",
    "unknown",
    "sep",
    "cls",
    "mask",
    "special",
    "start",
    "end",
    "stop",
    "first",
    "last",
];

/// Words before `key` that make a name harmless.
const HARMLESS_KEYS: [&str; 29] = [
    "primary",
    "foreign",
    "public",
    "sort",
    "partition",
    "cache",
    "idempotency",
    "row",
    "index",
    "shard",
    "routing",
    "group",
    "object",
    "unique",
    "composite",
    "map",
    "dict",
    "registry",
    "hot",
    "lookup",
    "order",
    "range",
    "dedupe",
    "dedup",
    "natural",
    "candidate",
    "join",
    "hash",
    "config",
];

/// Words before the name of a secret that ask for its presence.
const QUESTIONS: [&str; 6] = ["has", "is", "needs", "requires", "show", "hide"];

/// A last word of names, in addition to the redact keys.
struct LastWord {
    word: &'static str,
    /// The meaning of a name of several words.
    ending: NameMeaning,
    /// The meaning of the word alone.
    alone: Option<NameMeaning>,
}

const fn word(word: &'static str, ending: NameMeaning, alone: Option<NameMeaning>) -> LastWord {
    LastWord { word, ending, alone }
}

const LAST_WORDS: &[LastWord] = {
    use NameMeaning::{Key, Secret, Token};
    &[
        word("key", Key, None),
        word("pat", Key, Some(Key)),
        word("sk", Key, None),
        word("totp", Key, Some(Key)),
        word("otp", Key, Some(Key)),
        word("pin", Key, Some(Key)),
        word("mfacode", Key, Some(Key)),
        word("backupcode", Key, Some(Key)),
        word("recoverycode", Key, Some(Key)),
        word("creds", Token, Some(Token)),
        word("cred", Token, Some(Token)),
        word("pw", Secret, Some(Token)),
        word("psk", Secret, Some(Token)),
        word("token", Token, None),
        word("secret", Secret, None),
        word("password", Secret, None),
        word("passwd", Secret, Some(Secret)),
        word("passphrase", Secret, Some(Secret)),
        word("passcode", Secret, Some(Secret)),
        word("pwd", Secret, None),
        word("credential", Secret, None),
        word("credentials", Secret, None),
        word("secretkeybase", Secret, Some(Secret)),
        word("passwordconfirmation", Secret, Some(Secret)),
        word("passwordconfirm", Secret, Some(Secret)),
        word("passwordagain", Secret, Some(Secret)),
        word("passwordplain", Secret, Some(Secret)),
        word("privatekeypem", Secret, Some(Secret)),
        word("credentialsjson", Secret, Some(Secret)),
    ]
};

/// Says whether the words before `start`, where the word for a secret begins, make the name harmless.
fn is_harmless_before(name: &FoldedName, start: usize, last_word: &str) -> bool {
    let more: &[&str] = match last_word {
        "token" => &HARMLESS_TOKENS,
        "key" | "pat" | "sk" => &HARMLESS_KEYS,
        _ => &[],
    };
    QUESTIONS
        .iter()
        .chain(more)
        .any(|word| name.spelled(start, word).is_some())
}

/// The meaning of a name by its last word, although no redact key matches.
pub(super) fn by_last_word(name: &FoldedName) -> Option<NameMeaning> {
    let end = name.without_number(name.length());
    LAST_WORDS.iter().find_map(|last| {
        let start = name.without_number(name.spelled(end, last.word)?);
        let meaning = if start == 0 { last.alone } else { Some(last.ending) }?;
        (!is_harmless_before(name, start, last.word)).then_some(meaning)
    })
}

/// The keys of the default list, whatever the settings say.
pub(super) static DEFAULTS: Computed<RedactKeys> =
    Computed::new(|| RedactKeys::new(&DEFAULT_REDACT_KEYS.map(str::to_owned)));

/// The redact keys, ready for comparing.
#[derive(Debug)]
pub(super) struct RedactKeys(Vec<RedactKey>);

#[derive(Debug)]
struct RedactKey {
    /// Its letters and digits, folded.
    letters: Vec<u8>,
    verdict: KeyVerdict,
    meaning: NameMeaning,
    is_unmistakable: bool,
    /// Words before it may make the name harmless.
    is_default: bool,
    /// `tokens` are what models count: it has no plural.
    is_token: bool,
}

impl RedactKey {
    fn new(key: &str) -> Option<Self> {
        let folded = FoldedName::new(key.as_bytes());
        let letters = folded.before(folded.length());
        let is = |word: &str| {
            word.bytes()
                .filter(|byte| *byte != b'_')
                .eq(letters.iter().copied())
        };
        let is_default = DEFAULT_REDACT_KEYS.iter().any(|key| is(key));
        let is_token = folded.spelled(folded.length(), "token").is_some();
        (!letters.is_empty()).then(|| Self {
            verdict: if is_token || is_default {
                KeyVerdict::SecretUnlessNumber
            } else {
                KeyVerdict::Secret
            },
            meaning: if is_token || OFTEN_WORDS.iter().any(|word| is(word)) {
                NameMeaning::Token
            } else {
                NameMeaning::Secret
            },
            is_default,
            is_token,
            is_unmistakable: UNMISTAKABLE.iter().any(|word| is(word)),
            letters: letters.to_vec(),
        })
    }

    fn is_spelled(&self, name: &FoldedName, end: usize) -> bool {
        let Some(start) = name
            .before(end)
            .strip_suffix(self.letters.as_slice())
            .map(<[u8]>::len)
        else {
            return false;
        };
        let last_word = if self.is_token { "token" } else { "" };
        if self.is_default && is_harmless_before(name, start, last_word) {
            return false;
        }
        name.begins_word(start) || self.is_unmistakable || {
            let joined = std::str::from_utf8(name.beginning_of_word(start)).unwrap_or_default();
            !joined.is_empty() && JOINED_TO.split(' ').any(|word| word == joined)
        }
    }
}

impl RedactKeys {
    pub(super) fn new(redact_keys: &[String]) -> Self {
        Self(redact_keys.iter().filter_map(|key| RedactKey::new(key)).collect())
    }

    /// Letters of each key of the user's own, as a name in a text contains them.
    pub(super) fn own_letters(&self) -> impl Iterator<Item = &[u8]> {
        let own = self.0.iter().filter(|key| !key.is_default);
        own.map(|key| key.letters.as_slice())
    }

    pub(super) fn verdict(&self, name: &FoldedName) -> KeyVerdict {
        self.find(name).map_or(KeyVerdict::Keep, |key| key.verdict)
    }

    /// The meaning of a name in a text: by the key rule, or by its last word.
    pub(super) fn meaning(&self, name: &[u8]) -> Option<NameMeaning> {
        let name = FoldedName::new(name);
        self.find(&name)
            .map(|key| key.meaning)
            .or_else(|| by_last_word(&name))
    }

    fn find(&self, name: &FoldedName) -> Option<&RedactKey> {
        let mut end = name.without_number(name.length());
        loop {
            if let Some(key) = self.find_at(name, end) {
                return Some(key);
            }
            let start = FOLLOWING_WORDS
                .iter()
                .find_map(|word| name.spelled_or_plural(end, word))?;
            end = name.without_number(start);
        }
    }

    /// The key before `end`; one of the user's own before a default one.
    fn find_at(&self, name: &FoldedName, end: usize) -> Option<&RedactKey> {
        let singular = name.without_plural(end, false);
        let singular_of_es = name.without_plural(end, true);
        let is_spelled = |key: &&RedactKey| {
            let is_es = key.letters.ends_with(b"h");
            let stem = if is_es { singular_of_es } else { singular };
            key.is_spelled(name, end) || stem.is_some_and(|stem| !key.is_token && key.is_spelled(name, stem))
        };
        self.0
            .iter()
            .filter(is_spelled)
            .max_by_key(|key| key.verdict == KeyVerdict::Secret)
    }
}

/// The position of a member among its neighbours: `{"name": "password", "value": …}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NameRole {
    /// None.
    #[default]
    Other,
    /// Its text names the value of a neighbour, with this confidence: a label is for people.
    Name(Confidence),
    /// It holds the value that a neighbour names, with this confidence: a default may be a text for people, too.
    Value(Confidence),
}

const NAME_WORDS: [&str; 15] = [
    "name",
    "key",
    "header",
    "field",
    "variable",
    "var",
    "param",
    "parameter",
    "property",
    "setting",
    "option",
    "attribute",
    "env",
    "id",
    "k",
];
const VALUE_WORDS: [&str; 4] = ["value", "values", "val", "v"];

/// The longest name of a member with a role.
pub(super) const MAX_ROLE_BYTES: usize = 24;

impl NameRole {
    /// The role of `value`.
    pub(super) const VALUE: Self = Self::Value(Confidence::Structured);

    /// The role of a member by its last word; a single letter must be the whole name.
    pub(super) fn of(name: &[u8]) -> Self {
        if name.len() > MAX_ROLE_BYTES {
            return Self::Other;
        }
        let name = FoldedName::new(name);
        let is = |word: &&str| {
            name.spelled(name.length(), word)
                .is_some_and(|start| word.len() > 1 || start == 0)
        };
        if VALUE_WORDS.iter().any(is) {
            Self::VALUE
        } else if NAME_WORDS.iter().any(is) {
            Self::Name(Confidence::Structured)
        } else if is(&"default") {
            Self::Value(Confidence::Likely)
        } else if is(&"label") {
            Self::Name(Confidence::Likely)
        } else {
            Self::Other
        }
    }

    /// Says whether the text of such a member may name what a neighbour holds.
    pub(crate) fn is_name(self) -> bool {
        matches!(self, Self::Name(_))
    }

    /// Says whether such a member may hold what a neighbour names.
    pub(crate) fn is_value(self) -> bool {
        matches!(self, Self::Value(_))
    }
}

/// Meaning of the members before one in an object, by their texts that name a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Neighbours {
    name: Option<NameMeaning>,
    label: Option<NameMeaning>,
}

/// The meanings of a value, each with its confidence: one by a name, and one by a label.
pub(super) type Meanings = [Option<(NameMeaning, Confidence)>; 2];

impl Neighbours {
    /// Adds the meaning of the text of a member with this role.
    pub(super) fn add(&mut self, role: NameRole, meaning: NameMeaning) {
        let known = match role {
            NameRole::Name(Confidence::Likely) => &mut self.label,
            NameRole::Name(_) => &mut self.name,
            NameRole::Other | NameRole::Value(_) => return,
        };
        *known = (*known).max(Some(meaning));
    }

    /// Meanings of a value in a member with this role.
    pub(super) fn meanings(self, role: NameRole) -> Meanings {
        let NameRole::Value(confidence) = role else {
            return Meanings::default();
        };
        [
            self.name.map(|name| (name, confidence)),
            self.label.map(|label| (label, Confidence::Likely)),
        ]
    }

    /// Says whether a string is a secret in a member with this role.
    pub(super) fn hide(self, role: NameRole, value: &[u8]) -> bool {
        let mut meanings = self.meanings(role).into_iter().flatten();
        meanings.any(|(meaning, confidence)| meaning.hides(value, confidence))
    }
}

/// Says whether the first word of `name` is `word`, which is in lower case.
pub(super) fn begins_with(name: &[u8], word: &[u8]) -> bool {
    name.split_at_checked(word.len()).is_some_and(|(first, rest)| {
        let ends_word = match rest.first() {
            None | Some(b'_') => true,
            Some(next) => next.is_ascii_uppercase() && first.last().is_some_and(u8::is_ascii_lowercase),
        };
        ends_word && first.eq_ignore_ascii_case(word)
    })
}
