//! The words that names of secrets end in beside the redact keys, and those of names that say something of a neighbour.

use crate::process::Computed;

use super::fold::{FoldedName, backwards, words_backwards};
use super::tails::Tails;
use super::values::{
    is_code_number, is_number, is_phrase, is_placeholder, is_plausible, looks_random, looks_secret,
};

/// How much a name says, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMeaning {
    /// It names a secret.
    Secret,
    /// It names a token: a secret unless it is a number.
    Token,
    /// It names a key: a secret when its value looks like one.
    Key,
    /// It names a code that people type, of digits or of words, or what such codes are made from.
    Code,
    /// It is a word that means other things, too: a secret when its value looks like a password.
    Word,
}

impl NameMeaning {
    /// Whether `value` goes where the name is surely an option's.
    pub(super) fn hides(self, value: &[u8]) -> bool {
        match self {
            Self::Secret => true,
            Self::Token => !is_number(value) && !matches!(value, b"true" | b"false"),
            Self::Key => looks_random(value),
            Self::Code | Self::Word => self.hides_member(value),
        }
    }

    /// Whether `value` goes where a neighbour surely names it.
    pub(crate) fn hides_neighbour(self, value: &[u8]) -> bool {
        match self {
            Self::Secret | Self::Token => !is_placeholder(value),
            Self::Key | Self::Code | Self::Word => self.hides_member(value),
        }
    }

    /// Whether `value` goes behind the name in a list, where other names are more likely than values.
    pub(crate) fn hides_in_list(value: &[u8]) -> bool {
        Self::Key.hides_member(value)
    }

    /// Whether `value` goes where it is a member of JSON and no redact key says so.
    pub(crate) fn hides_member(self, value: &[u8]) -> bool {
        match self {
            Self::Secret | Self::Token | Self::Word => is_plausible(value, 6),
            Self::Key => looks_secret(value),
            Self::Code => is_code_number(value) || is_phrase(value) || looks_secret(value),
        }
    }
}

impl NameMeaning {
    /// Whether `value` goes where a value is surely meant: in JSON, in an element, in an environment variable.
    pub(super) fn hides_meant(self, value: &[u8]) -> bool {
        match self {
            Self::Secret => !is_placeholder(value),
            Self::Token => {
                !is_number(value) && (value.len() >= 8 || is_plausible(value, 6)) && !is_placeholder(value)
            }
            Self::Key | Self::Code | Self::Word => self.hides_member(value),
        }
    }

    /// Whether `value` goes where code or prose are as likely.
    pub(super) fn hides_likely(self, value: &[u8]) -> bool {
        match self {
            Self::Secret => is_plausible(value, 6),
            Self::Token => !is_number(value) && is_plausible(value, 8),
            Self::Key | Self::Code | Self::Word => self.hides_member(value),
        }
    }
}

/// Last words of secret-like names of two words or more, beside `key` and `pat`.
const LAST_WORDS: [&[u8]; 8] = words_backwards![
    b"token",
    b"secret",
    b"password",
    b"passwd",
    b"passphrase",
    b"pwd",
    b"credential",
    b"credentials"
];

const TOKEN: &[u8] = &backwards(b"token");

/// Last words of names whose values are secrets when they look like one, reversed: `key` and `pat`.
const KEY_WORDS: [&[u8]; 3] = words_backwards![b"key", b"pat", b"sk"];

/// The one of them that says so alone.
const PAT: &[u8] = &backwards(b"pat");

/// Words that say so alone.
const WORDS: [&[u8]; 10] = words_backwards![
    b"passwd",
    b"passphrase",
    b"passcode",
    b"secretkeybase",
    b"passwordconfirmation",
    b"passwordconfirm",
    b"passwordagain",
    b"passwordplain",
    b"privatekeypem",
    b"credentialsjson",
];

/// Those that say so only where their values do, but for the last of several.
const SHORT_WORDS: [&[u8]; 2] = words_backwards![b"pw", b"psk"];

/// The same, of names that may as well say how to sign in.
const TOKEN_WORDS: [&[u8]; 2] = words_backwards![b"creds", b"cred"];

/// Last words of names of codes.
const CODE_WORDS: [&[u8]; 13] = words_backwards![
    b"pin",
    b"otp",
    b"totp",
    b"otpcode",
    b"totpcode",
    b"mfacode",
    b"pincode",
    b"recoverycode",
    b"backupcode",
    b"mnemonic",
    b"seedphrase",
    b"recoveryphrase",
    b"seedwords",
];

/// Words before `token` that say that it is a place in a list, or one of a model's vocabulary.
const HARMLESS_TOKENS: [&[u8]; 30] = words_backwards![
    b"cancel",
    b"cancellation",
    b"cancelation",
    b"next",
    b"page",
    b"input",
    b"output",
    b"previous",
    b"prev",
    b"continuation",
    b"continue",
    b"pagination",
    b"cursor",
    b"sync",
    b"resume",
    b"eos",
    b"bos",
    b"pad",
    b"padding",
    b"unk",
    b"unknown",
    b"sep",
    b"cls",
    b"mask",
    b"special",
    b"start",
    b"end",
    b"stop",
    b"first",
    b"last",
];

/// Words before the name of a secret that ask whether there is one.
const QUESTIONS: [&[u8]; 6] = words_backwards![b"has", b"is", b"needs", b"requires", b"show", b"hide"];

/// Whether what is before `start` in a name that ends in a word for a secret, a token or another one, says that it holds none.
pub(super) fn is_harmless_before(name: &FoldedName, start: usize, is_token: bool) -> bool {
    if name.is_at_beginning(start) {
        return false;
    }
    let is = |word: &&[u8]| name.spelled(start, word).is_some();
    QUESTIONS.iter().any(is) || (is_token && HARMLESS_TOKENS.iter().any(is))
}

/// Names in the query of a URL that the key rule does not know.
pub(super) const QUERY_NAMES: [&[u8]; 3] = words_backwards![b"sig", b"signature", b"key"];

/// Names of a member that names what another member holds: `{"name": "password", "value": …}`.
const NAME_WORDS: [&[u8]; 15] = words_backwards![
    b"name",
    b"key",
    b"header",
    b"field",
    b"variable",
    b"var",
    b"param",
    b"parameter",
    b"property",
    b"setting",
    b"option",
    b"attribute",
    b"env",
    b"id",
    b"k"
];

/// The name of a member that does so for people, who read other things there, too.
const LABEL_WORD: &[u8] = &backwards(b"label");

/// Names of the member that holds it.
const VALUE_WORDS: [&[u8]; 4] = words_backwards![b"value", b"values", b"val", b"v"];

/// The name of a member that may hold it, and often says what it is.
const DEFAULT_WORD: &[u8] = &backwards(b"default");

/// Names of a member that hold it in markup only, reversed: `<meta name="csrf-token" content="…">`.
pub(super) const CONTENT_WORD: &[u8] = &backwards(b"content");

/// The tails of all of them.
static TAILS: Computed<Tails> = Computed::new(|| words().fold(Tails::none(), Tails::and));

/// The tails of those and of the names in queries.
pub(super) static OTHER_TAILS: Computed<Tails> =
    Computed::new(|| other_names().fold(Tails::none(), Tails::and));

/// Words before `key` that make a name harmless.
const HARMLESS_KEYS: [&[u8]; 29] = words_backwards![
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
    b"hash",
    b"config"
];

/// What the name of a member says about itself and its neighbours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NameRole {
    /// Nothing.
    #[default]
    Other,
    /// Its value is the name of what a neighbour holds.
    Name,
    /// The same, for people.
    Label,
    /// It holds what a neighbour names.
    Value,
    /// It holds what a neighbour has when nothing is said.
    Default,
}

impl NameRole {
    /// Whether the text of such a member may name what a neighbour holds.
    pub(crate) fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::Label)
    }

    /// Whether such a member may hold what a neighbour names.
    pub(crate) fn is_value(self) -> bool {
        matches!(self, Self::Value | Self::Default)
    }

    /// Whether `value` in a member with this role goes, when one whose role is `naming` has a text that says this.
    pub(super) fn holds_secret(self, value: &[u8], naming: Self, says: NameMeaning) -> bool {
        match (self, naming) {
            (Self::Value, Self::Name) => says.hides_neighbour(value),
            // They are as often read by people.
            _ => self.is_value() && naming.is_name() && says.hides_member(value),
        }
    }
}

/// What the members of an object say about the values beside them, in whatever order they come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Neighbours {
    named: Option<NameMeaning>,
    labelled: Option<NameMeaning>,
}

impl Neighbours {
    /// The text of a member with this role says this.
    pub(crate) fn add(&mut self, role: NameRole, says: NameMeaning) {
        let known = match role {
            NameRole::Name => &mut self.named,
            NameRole::Label => &mut self.labelled,
            NameRole::Other | NameRole::Value | NameRole::Default => return,
        };
        *known = Some(known.map_or(says, |known| known.min(says)));
    }

    /// Whether a string goes in a member with this role.
    pub(crate) fn hide(self, role: NameRole, value: &[u8]) -> bool {
        let says = |naming, says: Option<NameMeaning>| {
            says.is_some_and(|says| role.holds_secret(value, naming, says))
        };
        says(NameRole::Name, self.named) || says(NameRole::Label, self.labelled)
    }

    /// Whether an array or object goes there as a whole.
    pub(crate) fn hide_container(self, role: NameRole) -> bool {
        role == NameRole::Value && matches!(self.named, Some(NameMeaning::Secret | NameMeaning::Token))
    }
}

/// The role of the member `name`.
pub(super) fn role(name: &[u8]) -> NameRole {
    if may_have_role(name) {
        role_of(&FoldedName::new(name))
    } else {
        NameRole::Other
    }
}

/// Whether the member `name` may have one: longer names are none of these words.
pub(super) fn may_have_role(name: &[u8]) -> bool {
    name.len() <= MAX_BYTES_WITH_ROLE && ROLE_TAILS.may_match(name)
}

/// The longest name of a member with a role.
pub(super) const MAX_BYTES_WITH_ROLE: usize = 24;

/// The words with a role.
static ROLE_WORDS: Computed<Vec<&[u8]>> = Computed::new(|| {
    let words = NAME_WORDS.into_iter().chain(VALUE_WORDS);
    words.chain([LABEL_WORD, DEFAULT_WORD]).collect()
});

/// The tails of those.
pub(super) static ROLE_TAILS: Computed<Tails> = Computed::new(|| with_roles(Tails::none()));

/// The role of a member by its last word; a single letter must be the whole name.
pub(super) fn role_of(name: &FoldedName) -> NameRole {
    let is = |word: &&[u8]| {
        name.spelled(0, word)
            .is_some_and(|end| word.len() > 1 || name.is_at_beginning(end))
    };
    if VALUE_WORDS.iter().any(is) {
        NameRole::Value
    } else if NAME_WORDS.iter().any(is) {
        NameRole::Name
    } else if is(&DEFAULT_WORD) {
        NameRole::Default
    } else if is(&LABEL_WORD) {
        NameRole::Label
    } else {
        NameRole::Other
    }
}

/// The words beside the redact keys that a name in a text may end in and say something of its value.
pub(super) fn other_names() -> impl Iterator<Item = &'static [u8]> {
    words().chain(QUERY_NAMES)
}

/// Those of them that count everywhere.
fn words() -> impl Iterator<Item = &'static [u8]> {
    let words = LAST_WORDS.into_iter().chain(KEY_WORDS).chain(WORDS);
    words.chain(SHORT_WORDS).chain(TOKEN_WORDS).chain(CODE_WORDS)
}

/// These tails and those of the words with a role.
pub(super) fn with_roles(tails: Tails) -> Tails {
    ROLE_WORDS.iter().fold(tails, |tails, word| match word {
        [letter] => tails.and_alone(*letter),
        word => tails.and(word),
    })
}

/// What `name` says by its last word, although no redact key says so.
pub(super) fn by_last_word(name: &[u8]) -> Option<NameMeaning> {
    TAILS
        .may_match(name)
        .then(|| by_last_word_of(&FoldedName::new(name)))
        .flatten()
}

pub(super) fn by_last_word_of(name: &FoldedName) -> Option<NameMeaning> {
    let end = name.without_number(0);
    let is_one_of_more = |start: &usize| !name.is_at_beginning(name.without_number(*start));
    let is_kept = |start: usize, is_token| is_harmless_before(name, name.without_number(start), is_token);
    if let Some((word, start)) = spelled(name, end, &KEY_WORDS)
        && (is_one_of_more(&start) || word == PAT)
    {
        let before = name.without_number(start);
        let is_harmless = spelled(name, before, &HARMLESS_KEYS).is_some() || is_kept(start, false);
        return (!is_harmless).then_some(NameMeaning::Key);
    }
    let (meaning, word, start) = if let Some((word, start)) = spelled(name, end, &TOKEN_WORDS) {
        (NameMeaning::Token, word, start)
    } else if let Some((word, start)) = spelled(name, end, &CODE_WORDS) {
        (NameMeaning::Code, word, start)
    } else if let Some((word, start)) = spelled(name, end, &SHORT_WORDS) {
        let meaning = if is_one_of_more(&start) {
            NameMeaning::Secret
        } else {
            NameMeaning::Word
        };
        (meaning, word, start)
    } else {
        let (word, start) = spelled(name, end, &LAST_WORDS)
            .filter(|(_, start)| is_one_of_more(start))
            .or_else(|| spelled(name, end, &WORDS))?;
        let is_token = word == TOKEN;
        (
            if is_token {
                NameMeaning::Token
            } else {
                NameMeaning::Secret
            },
            word,
            start,
        )
    };
    (!is_kept(start, word == TOKEN)).then_some(meaning)
}

/// The first of `words` that the words of `name` at `position` spell, and where they begin.
fn spelled(name: &FoldedName, position: usize, words: &[&'static [u8]]) -> Option<(&'static [u8], usize)> {
    let mut words = words.iter();
    words.find_map(|word| name.spelled(position, word).map(|start| (*word, start)))
}
