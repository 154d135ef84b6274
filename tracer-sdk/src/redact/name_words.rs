//! The words that names of secrets end in beside the redact keys, and those of names that say something of a neighbour.

use crate::process::Computed;

use super::fold::FoldedName;
use super::tails::Tails;
use super::values::{is_digest, is_number, is_placeholder, is_plausible, looks_random};

/// How much a name says, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMeaning {
    /// It names a secret.
    Secret,
    /// It names a token: a secret unless it is a number.
    Token,
    /// It names a key: a secret when its value looks like one.
    Key,
}

impl NameMeaning {
    /// Whether `value` goes where the name is surely an option's.
    pub(super) fn hides(self, value: &[u8]) -> bool {
        match self {
            Self::Secret => true,
            Self::Token => !is_number(value) && !matches!(value, b"true" | b"false"),
            Self::Key => looks_random(value),
        }
    }

    /// Whether `value` goes where a neighbour surely names it.
    pub(crate) fn hides_neighbour(self, value: &[u8]) -> bool {
        match self {
            Self::Secret | Self::Token => !is_placeholder(value),
            Self::Key => self.hides_member(value),
        }
    }

    /// Whether `value` goes behind the name in a list, where other names are more likely than values.
    pub(crate) fn hides_in_list(value: &[u8]) -> bool {
        Self::Key.hides_member(value)
    }

    /// Whether `value` goes where it is a member of JSON and no redact key says so.
    pub(crate) fn hides_member(self, value: &[u8]) -> bool {
        match self {
            Self::Secret | Self::Token => is_plausible(value, 6),
            Self::Key => looks_random(value) && !is_digest(value) && !is_placeholder(value),
        }
    }
}

/// Last words of secret-like names of two words or more, beside `key` and `pat`, reversed.
const LAST_WORDS: [&[u8]; 8] = [
    TOKEN,
    b"terces",
    b"drowssap",
    b"dwssap",
    b"esarhpssap",
    b"dwp",
    b"laitnederc",
    b"slaitnederc",
];

const TOKEN: &[u8] = b"nekot";

/// Last words of names whose values are secrets when they look like one, reversed: `key` and `pat`.
const KEY_WORDS: [&[u8]; 2] = [b"yek", b"tap"];

/// Words that say so alone, reversed.
const WORDS: [&[u8]; 10] = [
    b"dwssap",
    b"esarhpssap",
    b"edocssap",
    b"esabyekterces",
    b"noitamrifnocdrowssap",
    b"mrifnocdrowssap",
    b"niagadrowssap",
    b"nialpdrowssap",
    b"mepyeketavirp",
    b"nosjslaitnederc",
];

/// Names in the query of a URL that the key rule does not know, reversed.
pub(super) const QUERY_NAMES: [&[u8]; 3] = [b"gis", b"erutangis", b"yek"];

/// Names of a member that names what another member holds: `{"name": "password", "value": …}`; reversed.
const NAME_WORDS: [&[u8]; 15] = [
    b"eman",
    b"yek",
    b"redaeh",
    b"dleif",
    b"elbairav",
    b"rav",
    b"marap",
    b"retemarap",
    b"ytreporp",
    b"gnittes",
    b"noitpo",
    b"etubirtta",
    b"vne",
    b"di",
    b"k",
];

/// The name of a member that does so for people, who read other things there, too; reversed.
const LABEL_WORD: &[u8] = b"lebal";

/// Names of the member that holds it, reversed.
const VALUE_WORDS: [&[u8]; 4] = [b"eulav", b"seulav", b"lav", b"v"];

/// The name of a member that may hold it, and often says what it is, reversed.
const DEFAULT_WORD: &[u8] = b"tluafed";

/// Names of a member that hold it in markup only, reversed: `<meta name="csrf-token" content="…">`.
const CONTENT_WORD: &[u8] = b"tnetnoc";

/// The tails of all of them.
static TAILS: Computed<Tails> = Computed::new(|| {
    let words = LAST_WORDS.into_iter().chain(KEY_WORDS).chain(WORDS);
    words.fold(Tails::none(), Tails::and)
});

/// The tails of those and of the names in queries.
pub(super) static OTHER_TAILS: Computed<Tails> =
    Computed::new(|| other_names().fold(Tails::none(), Tails::and));

/// Words before `key` that make a name harmless, reversed.
const HARMLESS_KEYS: [&[u8]; 30] = [
    b"yramirp",
    b"ngierof",
    b"cilbup",
    b"tros",
    b"noititrap",
    b"ehcac",
    b"ycnetopmedi",
    b"wor",
    b"xedni",
    b"drahs",
    b"gnituor",
    b"puorg",
    b"tcejbo",
    b"euqinu",
    b"etisopmoc",
    b"pam",
    b"tcid",
    b"yrtsiger",
    b"toh",
    b"pukool",
    b"redro",
    b"egnar",
    b"epuded",
    b"puded",
    b"larutan",
    b"etadidnac",
    b"nioj",
    b"egarots",
    b"hsah",
    b"gifnoc",
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
    role_of_member(name, false)
}

/// As [`role`], in markup or not.
pub(super) fn role_of_member(name: &[u8], is_markup: bool) -> NameRole {
    // Longer names are none of these words.
    let may_have_one = name.len() <= MAX_BYTES_WITH_ROLE && (is_markup || ROLE_TAILS.may_match(name));
    if may_have_one {
        role_of(&FoldedName::new(name), is_markup)
    } else {
        NameRole::Other
    }
}

/// The longest name of a member with a role.
const MAX_BYTES_WITH_ROLE: usize = 24;

/// The words with a role.
static ROLE_WORDS: Computed<Vec<&[u8]>> = Computed::new(|| {
    let words = NAME_WORDS.into_iter().chain(VALUE_WORDS);
    words.chain([LABEL_WORD, DEFAULT_WORD]).collect()
});

/// The tails of those.
pub(super) static ROLE_TAILS: Computed<Tails> = Computed::new(|| with_roles(Tails::none()));

/// The role of a member by its last word; a single letter must be the whole name.
pub(super) fn role_of(name: &FoldedName, is_markup: bool) -> NameRole {
    let is = |word: &&[u8]| {
        name.spelled(0, word)
            .is_some_and(|end| word.len() > 1 || name.is_at_beginning(end))
    };
    if VALUE_WORDS.iter().any(is) || is_markup && is(&CONTENT_WORD) {
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

/// The words, reversed, beside the redact keys that a name in a text may end in and say something of its value.
pub(super) fn other_names() -> impl Iterator<Item = &'static [u8]> {
    let words = LAST_WORDS.into_iter().chain(KEY_WORDS).chain(WORDS);
    words.chain(QUERY_NAMES)
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
    let key = KEY_WORDS.iter().find_map(|word| name.spelled(end, word));
    if let Some(start) = key.filter(is_one_of_more) {
        let before = name.without_number(start);
        let is_harmless = HARMLESS_KEYS
            .iter()
            .any(|word| name.spelled(before, word).is_some());
        return (!is_harmless).then_some(NameMeaning::Key);
    }
    let says_more = || {
        LAST_WORDS
            .iter()
            .any(|word| name.spelled(end, word).as_ref().is_some_and(is_one_of_more))
    };
    let says_alone = || WORDS.iter().any(|word| name.spelled(end, word).is_some());
    if !says_more() && !says_alone() {
        return None;
    }
    Some(if name.spelled(end, TOKEN).is_some() {
        NameMeaning::Token
    } else {
        NameMeaning::Secret
    })
}
