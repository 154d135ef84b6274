//! The shapes of secrets: one recogniser for each family, in one table.

mod assignments;
mod commands;
mod elements;
mod formats;
mod headers;
mod options;
mod pairs;
mod private_keys;
mod provider_keys;
mod quotes;
mod schemes;
mod structured_tokens;
mod urls;
mod value_places;

use std::ops::Range;

use super::keys::RedactKeys;
use super::text::Text;

/// The longest name; longer runs are something else.
const MAX_NAME_BYTES: usize = 64;

/// Where a secret is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SecretPlace {
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after it.
    pub(super) end: usize,
    /// Where the quotes stand that the marker needs around it: a number in JSON becomes a string.
    pub(super) quotes: Range<usize>,
    /// Where secrets are instead of there that were found together, with others between them, maybe.
    pub(super) apart: Vec<Range<usize>>,
}

impl SecretPlace {
    pub(super) const fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            quotes: 0..0,
            apart: Vec::new(),
        }
    }

    /// These places, the first first; what is between was not looked at.
    fn apart(places: Vec<Range<usize>>) -> Option<Self> {
        let first = places.first()?.start;
        Some(Self {
            apart: places,
            ..Self::new(first, first)
        })
    }
}

/// Two neighbouring bytes that something is noticed by.
#[derive(Debug)]
pub(super) struct Sign<'a> {
    pub(super) pair: [u8; 2],
    /// What may stand on one side of them.
    pub(super) beside: Beside<'a>,
}

/// The bytes of which there is always one on this side of a pair; with any other there is nothing to be noticed.
#[derive(Debug)]
pub(super) enum Beside<'a> {
    Before(&'a [u8]),
    After(&'a [u8]),
}

/// Every byte.
pub(super) const ANY: [u8; 256] = {
    let mut all = [0; 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        all[byte as usize] = byte;
        byte -= 1;
    }
    all
};

/// Takes signs.
pub(super) type SignSink<'n> = dyn FnMut(Sign<'_>) + 'n;

/// A family of secrets.
pub(super) struct SecretShape {
    /// Names the signs that one is noticed by.
    pub(super) noticed_by: fn(&mut SignSink<'_>),
    /// The secret noticed by the pair at a position, if it is one.
    pub(super) find: fn(&Text<'_>, usize, &RedactKeys) -> Option<SecretPlace>,
}

/// Every shape, the one that takes most first. At most 14: each is a bit in the scanner's table.
pub(super) const SHAPES: &[SecretShape] = &[
    SecretShape {
        noticed_by: private_keys::noticed_by,
        find: private_keys::find,
    },
    SecretShape {
        noticed_by: assignments::noticed_by,
        find: assignments::find,
    },
    SecretShape {
        noticed_by: urls::noticed_by,
        find: urls::find,
    },
    SecretShape {
        noticed_by: structured_tokens::web_tokens_noticed_by,
        find: structured_tokens::find_web_token,
    },
    SecretShape {
        noticed_by: structured_tokens::telegram_tokens_noticed_by,
        find: structured_tokens::find_telegram_token,
    },
    SecretShape {
        noticed_by: structured_tokens::discord_tokens_noticed_by,
        find: structured_tokens::find_discord_token,
    },
    SecretShape {
        noticed_by: provider_keys::noticed_by,
        find: provider_keys::find,
    },
    SecretShape {
        noticed_by: schemes::noticed_by,
        find: schemes::find,
    },
    SecretShape {
        noticed_by: options::noticed_by,
        find: options::find,
    },
    SecretShape {
        noticed_by: commands::noticed_by,
        find: commands::find,
    },
    SecretShape {
        noticed_by: quotes::lists_noticed_by,
        find: quotes::find_in_list,
    },
    SecretShape {
        noticed_by: quotes::words_noticed_by,
        find: quotes::find_behind_word,
    },
    SecretShape {
        noticed_by: quotes::single_quotes_noticed_by,
        find: quotes::find_behind_word,
    },
    SecretShape {
        noticed_by: elements::noticed_by,
        find: elements::find,
    },
];

/// The published prefixes of keys.
#[cfg(test)]
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    formats::FORMATS
        .iter()
        .filter_map(|format| std::str::from_utf8(format.prefix).ok())
}
