//! The shapes of secrets: one recogniser for each family, in one table.

mod assignments;
mod commands;
mod elements;
mod formats;
mod headers;
mod names;
mod options;
mod pairs;
mod private_keys;
mod provider_keys;
mod quotes;
mod schemes;
mod structured_tokens;
mod urls;
mod values;

pub(crate) use names::{Name, Role};
pub(super) use names::{Said, by_last_word, class, other_names, role, with_roles};
pub(super) use values::{MAX_JUDGED, is_path, is_placeholder};

use std::ops::Range;

use super::keys::Keys;
use super::text::Text;

/// Where a secret is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its first byte.
    pub(super) start: usize,
    /// The byte after it.
    pub(super) end: usize,
    /// Where the quotes stand that the marker needs around it: a number in JSON becomes a string.
    pub(super) quotes: Range<usize>,
}

impl Found {
    pub(super) const fn new(start: usize, end: usize) -> Self {
        Self {
            start,
            end,
            quotes: 0..0,
        }
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
const ANY: [u8; 256] = {
    let mut all = [0; 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        all[byte as usize] = byte;
        byte -= 1;
    }
    all
};

/// Takes signs.
pub(super) type Notice<'n> = dyn FnMut(Sign<'_>) + 'n;

/// A family of secrets.
pub(super) struct Shape {
    /// Names the signs that one is noticed by.
    pub(super) noticed_by: fn(&mut Notice<'_>),
    /// The secret noticed by the pair at a position, if it is one.
    pub(super) find: fn(&Text<'_>, usize, &Keys) -> Option<Found>,
}

/// Every shape, the one that takes most first. At most 15: each is a bit in the scanner's table.
pub(super) const SHAPES: &[Shape] = &[
    Shape {
        noticed_by: private_keys::noticed_by,
        find: private_keys::find,
    },
    Shape {
        noticed_by: assignments::noticed_by,
        find: assignments::find,
    },
    Shape {
        noticed_by: urls::noticed_by,
        find: urls::find,
    },
    Shape {
        noticed_by: structured_tokens::web_tokens_noticed_by,
        find: structured_tokens::find_web_token,
    },
    Shape {
        noticed_by: structured_tokens::telegram_tokens_noticed_by,
        find: structured_tokens::find_telegram_token,
    },
    Shape {
        noticed_by: structured_tokens::discord_tokens_noticed_by,
        find: structured_tokens::find_discord_token,
    },
    Shape {
        noticed_by: provider_keys::noticed_by,
        find: provider_keys::find,
    },
    Shape {
        noticed_by: schemes::noticed_by,
        find: schemes::find,
    },
    Shape {
        noticed_by: options::noticed_by,
        find: options::find,
    },
    Shape {
        noticed_by: commands::noticed_by,
        find: commands::find,
    },
    Shape {
        noticed_by: quotes::lists_noticed_by,
        find: quotes::find_in_list,
    },
    Shape {
        noticed_by: quotes::words_noticed_by,
        find: quotes::find_behind_word,
    },
    Shape {
        noticed_by: quotes::single_quotes_noticed_by,
        find: quotes::find_behind_word,
    },
    Shape {
        noticed_by: elements::noticed_by,
        find: elements::find,
    },
];

/// What the name of an option of the command line says about its value.
pub(super) fn name_of_option(option: &str, keys: &Keys) -> Option<Name> {
    class(option.as_bytes(), keys)
}

/// The published prefixes of keys.
#[cfg(test)]
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    formats::FORMATS
        .iter()
        .filter_map(|format| std::str::from_utf8(format.prefix).ok())
}
