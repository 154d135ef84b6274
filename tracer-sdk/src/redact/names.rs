//! What a name in a text says about the value after it: by the key rule, or as `NAME_KEY`, `NAME_TOKEN`, `NAME_PWD`.

use super::fold::{FoldedName, backwards};
use super::keys::{KeyVerdict, RedactKeys};
use super::name_words::{
    CONTENT_WORD, NameMeaning, NameRole, OTHER_TAILS, QUERY_NAMES, ROLE_TAILS, by_last_word_of, role_of,
};

/// What a header line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// Credentials, after the name of their scheme.
    Authorization,
    /// Names and values.
    Cookie,
}

impl Header {
    /// The header that `name` names.
    pub(super) fn named(name: &FoldedName) -> Option<Self> {
        if name.spelled(0, &backwards(b"authorization")).is_some() {
            Some(Self::Authorization)
        } else {
            name.spelled_or_plural(0, &backwards(b"cookie"))
                .map(|_| Self::Cookie)
        }
    }
}

/// What a name in a text says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    /// Of its value.
    pub(super) class: Option<NameMeaning>,
    /// The same under a redact key of the user's own, under which numbers are secrets, too.
    pub(super) is_own: bool,
    /// In the query of a URL.
    pub(super) is_query_name: bool,
    /// As the name of a header.
    pub(super) header: Option<Header>,
    /// Of its neighbours.
    pub(super) role: NameRole,
    /// As the name of an element or attribute: that it holds the content.
    is_content: bool,
}

impl Said {
    pub(super) fn by(name: &[u8], keys: &RedactKeys) -> Self {
        // What ends like none of the words that count is not compared with them.
        let may_be_key = keys.may_match(name);
        let may_have_role = ROLE_TAILS.may_match(name);
        let may_be_other = OTHER_TAILS.may_match(name);
        let name = FoldedName::new(name);
        let found = may_be_key.then(|| keys.find(&name)).flatten();
        let by_last_word = || may_be_other.then(|| by_last_word_of(&name)).flatten();
        let class = found.map(|(_, name)| name).or_else(by_last_word);
        Self {
            class,
            is_own: found.is_some_and(|(verdict, _)| verdict == KeyVerdict::Secret),
            is_query_name: may_be_other
                && QUERY_NAMES.iter().any(|known| {
                    name.spelled(0, known)
                        .is_some_and(|end| known.len() > 3 || name.is_at_beginning(end))
                }),
            header: class.and_then(|_| Header::named(&name)),
            role: if may_have_role {
                role_of(&name)
            } else {
                NameRole::Other
            },
            is_content: name.spelled(0, CONTENT_WORD).is_some(),
        }
    }

    pub(super) fn class(self) -> Option<NameMeaning> {
        self.class
    }

    /// Its role in markup.
    pub(super) fn role_in_markup(self) -> NameRole {
        match self.role {
            NameRole::Other if self.is_content => NameRole::Value,
            role => role,
        }
    }
}

/// What `name` says, if anything.
pub(super) fn class(name: &[u8], keys: &RedactKeys) -> Option<NameMeaning> {
    keys.may_name(name).then(|| Said::by(name, keys).class).flatten()
}

/// Whether the first word of `name` is `word`, which is written in small letters.
pub(super) fn begins_with(name: &[u8], word: &[u8]) -> bool {
    let Some((first, rest)) = name.split_at_checked(word.len()) else {
        return false;
    };
    let ends_word = match rest.first() {
        None | Some(b'_') => true,
        Some(next) => next.is_ascii_uppercase() && first.last().is_some_and(u8::is_ascii_lowercase),
    };
    ends_word && first.eq_ignore_ascii_case(word)
}

/// Whether the function `name`, whose name says this, takes the name of a secret: `get_secret("…")`. What is found by a key is no
/// secret either, but `find_user_by_token("…")` takes a token.
pub(super) fn looks_up(name: &[u8], says: NameMeaning) -> bool {
    const VERBS: [&[u8]; 9] = [
        b"get",
        b"find",
        b"has",
        b"fetch",
        b"load",
        b"read",
        b"list",
        b"describe",
        b"delete",
    ];
    let is_by = name.windows(4).any(|part| match part {
        b"_by_" | b"_BY_" => true,
        [_, b'B', b'y', next] => next.is_ascii_uppercase(),
        _ => false,
    });
    let is_lookup = VERBS.iter().any(|verb| begins_with(name, verb));
    match says {
        NameMeaning::Key | NameMeaning::Code => is_lookup || is_by,
        NameMeaning::Secret | NameMeaning::Token | NameMeaning::Word => is_lookup && !is_by,
    }
}
