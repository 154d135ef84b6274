//! Quoted values behind a word or another quoted text: `PASSWORD '…'`, `IDENTIFIED BY '…'`, `["x-api-key", "…"]`,
//! `("DB_PASSWORD", "…")`, `.password("…")`.

use super::MAX_NAME_BYTES;
use super::assignments::is_screaming;
use super::value_places::{Gap, Quoted};
use super::{ANY, Beside, SecretPlace, Sign, SignSink};
use crate::redact::byte_set::ByteSet;
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::NameMeaning;
use crate::redact::names;
use crate::redact::text::Text;
use crate::redact::values::{MAX_JUDGED, is_placeholder, is_plausible, looks_random, looks_secret};

/// How far before `BY` the word `IDENTIFIED` is looked for: a plugin may be named between them.
const MAX_BEFORE_BY: usize = 48;

/// How many bytes of a name are enough to rule out most names.
const END_OF_NAME: usize = 12;

/// The most blanks between a word and the quotes.
const MAX_BLANKS: usize = 24;

/// The most backslashes before a quote within a text within a text.
const MAX_BACKSLASHES: usize = 16;

/// What may be before the quote that closes a name: its last sign, or a backslash in a text within a text.
const ENDS_OF_NAMES: &[u8] = &{
    const ASCII: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_\\";
    let mut ends = [0; 2 * ASCII.len()];
    let mut number = 0;
    // The last bytes of characters outside ASCII.
    let mut last = 0x80;
    while number < ASCII.len() {
        ends[number] = ASCII[number];
        ends[ASCII.len() + number] = last;
        last += 1;
        number += 1;
    }
    ends
};

/// What the words in capitals end with that may be before a quote.
const ENDS_OF_WORDS: &[u8] = b"DEYTNSRHL";

/// What the names of functions end with that may take a secret.
const ENDS_OF_CALLS: &[u8] = b"dnythsremwkpWK";

pub(super) fn words_noticed_by(notice: &mut SignSink<'_>) {
    // Prose has double quotes behind words, but seldom behind words in capitals.
    for before in b" \t\n(" {
        for quote in b"\"'\\" {
            notice(Sign {
                pair: [*before, *quote],
                beside: Beside::Before(ENDS_OF_WORDS),
            });
        }
    }
    // Strings of PostgreSQL and others.
    for before in b"EN$" {
        notice(Sign {
            pair: [*before, b'\''],
            beside: Beside::Before(b" "),
        });
    }
    notice(Sign {
        pair: *b" $",
        beside: Beside::Before(ENDS_OF_WORDS),
    });
    for quote in b"\"'\\" {
        notice(Sign {
            pair: [b'(', *quote],
            beside: Beside::Before(ENDS_OF_CALLS),
        });
    }
}

pub(super) fn single_quotes_noticed_by(notice: &mut SignSink<'_>) {
    for before in b" =" {
        notice(Sign {
            pair: [*before, b'\''],
            beside: Beside::After(&ANY),
        });
    }
}

pub(super) fn lists_noticed_by(notice: &mut SignSink<'_>) {
    for quote in b"\"'" {
        // Commas are too common to look behind each.
        notice(Sign {
            pair: [*quote, b','],
            beside: Beside::Before(ENDS_OF_NAMES),
        });
    }
    // What PHP serialises.
    notice(Sign {
        pair: *b"\";",
        beside: Beside::Before(ENDS_OF_NAMES),
    });
    // Cells of a table.
    for before in ENDS_OF_NAMES.iter().chain(b"*` ") {
        notice(Sign {
            pair: [*before, b'|'],
            beside: Beside::After(&ANY),
        });
    }
}

/// The text in the cell behind the one that ends at `bar`, when that holds a name: `| password | … |`.
fn find_in_table(text: &Text<'_>, bar: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    static VALUE: ByteSet = ByteSet::all_but(b" \t\n\r\x0c|`\\\"");
    let back = |from: usize, signs: &[u8]| text.run_before(from, MAX_BLANKS, |byte| signs.contains(&byte));
    let end = back(bar, b" \t*`");
    if !keys.may_name(text.slice(end.saturating_sub(END_OF_NAME), end)) {
        return None;
    }
    let start = text.run_before(end, MAX_NAME_BYTES + 1, |byte| is_name(byte) && byte != b' ');
    if end - start > MAX_NAME_BYTES {
        return None;
    }
    let begin = back(start, b" \t*`");
    let begins_cell = matches!(text.before(begin), b'|' | b'\n' | 0)
        || text.slice(begin.saturating_sub(2), begin) == b"\\n";
    if !begins_cell {
        return None;
    }
    let class = text.class(start, end, keys)?;
    let start = text.run_within(bar + 1, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t' | b'`'));
    let is_value = |byte| VALUE.has(byte);
    let seen = text.run_within(start, MAX_JUDGED, is_value);
    let is_secret = seen > start && class.hides_likely(text.judged(start, seen));
    is_secret.then(|| SecretPlace::new(start, text.run(seen, is_value)))
}

/// Whether a sign of these shapes is behind what it is noticed behind: the signs of a shape are looked up together, each behind what
/// any of them may be behind.
fn is_behind_word(text: &Text<'_>, at: usize) -> bool {
    let is_behind = |ends: &[u8]| ends.contains(&text.before(at));
    match [text.at(at), text.at(at + 1)] {
        [b' ' | b'=', b'\''] => true,
        [b'E' | b'N' | b'$', _] => is_behind(b" "),
        [b'(', _] => is_behind(ENDS_OF_CALLS) || is_behind(ENDS_OF_WORDS),
        _ => is_behind(ENDS_OF_WORDS),
    }
}

/// The text in the quotes at `at + 1`, behind a word.
pub(super) fn find_behind_word(text: &Text<'_>, at: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    if !is_behind_word(text, at) {
        return None;
    }
    let end = text.run_before(at, MAX_BLANKS, |byte| matches!(byte, b' ' | b'\t'));
    text.spend(WORD_BEFORE_WORK);
    if text.at(at) == b'=' || text.before(end) == b'=' {
        set_for_user(text, end - usize::from(text.before(end) == b'='), at + 1)
    } else if text.before(end).is_ascii_alphanumeric() {
        behind_word(text, end, at + 1, keys)
    } else {
        None
    }
}

/// The work of deciding about a word that may be a name, beside what is looked at for it.
const DECISION_WORK: usize = 30;

/// The work of finding out what is before quotes behind a word, beside what is looked at for it.
const WORD_BEFORE_WORK: usize = 10;

/// The longest name of a user.
const MAX_USER_BYTES: usize = 64;

/// The password in `SET PASSWORD FOR 'ada'@'host' = '…'`, where the sign of equality is at `equals`.
fn set_for_user(text: &Text<'_>, equals: usize, opening: usize) -> Option<SecretPlace> {
    const SET: &[u8] = b"password for";
    static SIGNS: ByteSet = ByteSet::of(b"_-.'\"@%`");
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let user_end = text.run_before(equals, MAX_BLANKS, is_blank);
    let user = text.run_before(user_end, MAX_USER_BYTES, |byte| {
        byte.is_ascii_alphanumeric() || SIGNS.has(byte)
    });
    let words = text.run_before(user, MAX_BLANKS, is_blank);
    let is_set = user < user_end
        && words < user
        && words
            .checked_sub(SET.len())
            .is_some_and(|start| text.has_ignoring_case(start, SET));
    let value = is_set.then(|| Quoted::at(text, opening))??;
    (value.seen > value.start && !is_placeholder(value.judged(text)))
        .then(|| SecretPlace::new(value.start, value.end(text)))
}

/// The text between dollars in SQL, `$$…$$` or `$tag$…$tag$`: where it begins and ends.
fn between_dollars(text: &Text<'_>, opening: usize) -> Option<(usize, usize)> {
    let tag = text.run_within(opening + 1, MAX_TAG_BYTES, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'_'
    });
    if text.at(opening) != b'$' || text.at(tag) != b'$' {
        return None;
    }
    let start = tag + 1;
    let end = text.run_within(start, MAX_DOLLAR_BYTES, |byte| !matches!(byte, b'$' | b'\n'));
    text.has(end, text.slice(opening, start)).then_some((start, end))
}

/// The longest tag of such a text, and how long it may be.
const MAX_TAG_BYTES: usize = 16;
const MAX_DOLLAR_BYTES: usize = 256;

/// The text behind the one that the quote at `closing` closes, when that is a name: a pair, or a call.
pub(super) fn find_in_list(text: &Text<'_>, closing: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    let quote = text.at(closing);
    if text.at(closing + 1) == b'|' {
        return find_in_table(text, closing + 1, keys);
    }
    let is_serialised = text.at(closing + 1) == b';';
    let end = text.run_before(closing, MAX_BACKSLASHES, |byte| byte == b'\\');
    if !keys.may_name(text.slice(end.saturating_sub(END_OF_NAME), end)) {
        return None;
    }
    let start = text.run_before(end, MAX_NAME_BYTES + 1, is_name);
    if end - start > MAX_NAME_BYTES {
        return None;
    }
    let mut opening = start
        .checked_sub(1)
        .filter(|&opening| text.at(opening) == quote)?;
    while text.before(opening) == b'\\' && start - opening < MAX_BACKSLASHES {
        opening -= 1;
    }
    let before_blanks = |mut position: usize| {
        let end = position;
        while text.before(position).is_ascii_whitespace() && end - position < MAX_BLANKS {
            position -= 1;
        }
        position
    };
    let list = before_blanks(opening);
    if is_serialised {
        return serialised(text, list, closing, text.class(start, end, keys)?);
    }
    if !matches!(text.before(list), b'(' | b'[' | b',') {
        return None;
    }
    let is_pair = match text.before(list) {
        b'(' => true,
        // In an array of pairs.
        b'[' => matches!(text.before(before_blanks(list - 1)), b'[' | b','),
        _ => false,
    };
    let class = text.class(start, end, keys)?;
    let value = Quoted::at(text, Gap::from(text, closing + 2)?.end)?;
    let is_secret = |value: &[u8]| match class {
        // In a list there are more names than values.
        _ if !is_pair => looks_random(value) && !is_placeholder(value),
        NameMeaning::Key => looks_random(value) && !is_placeholder(value),
        class => class.hides_likely(value),
    };
    // Names of secrets in a list are followed by others.
    let judged = value.judged(text);
    let names_another = || {
        let end = value.start + judged.len();
        text.class(value.start, end, keys).is_some()
    };
    (is_secret(judged) && (looks_random(judged) || !names_another()))
        .then(|| SecretPlace::new(value.start, value.end(text)))
}

/// The text behind a name that PHP serialised: `s:8:"password";s:12:"…"`.
fn serialised(text: &Text<'_>, opening: usize, closing: usize, class: NameMeaning) -> Option<SecretPlace> {
    let length = text.run_within(closing + 4, MAX_BLANKS, |byte| byte.is_ascii_digit());
    if text.before(opening) != b':' || !text.has(closing + 2, b"s:") || text.at(length) != b':' {
        return None;
    }
    let value = Quoted::at(text, length + 1)?;
    (value.seen > value.start && class.hides_meant(value.judged(text)))
        .then(|| SecretPlace::new(value.start, value.end(text)))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ') || !byte.is_ascii()
}

/// The text whose quotes begin at `opening`, when the word that ends at `word_end` says that it is a secret.
fn behind_word(text: &Text<'_>, word_end: usize, opening: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    let last = text.slice(word_end.saturating_sub(END_OF_NAME), word_end);
    let is_by = matches!(last, [.., before, b'b' | b'B', b'y' | b'Y'] if !before.is_ascii_alphanumeric());
    if !is_by && !keys.may_name(last) {
        return None;
    }
    let start = text.run_before(word_end, MAX_NAME_BYTES + 1, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'_'
    });
    if word_end - start > MAX_NAME_BYTES {
        return None;
    }
    text.spend(DECISION_WORK);
    let word = text.slice(start, word_end);
    let is_screaming = is_screaming(word);
    let is_call = text.before(opening) == b'(';
    let class = if is_by {
        is_identified(text, start).then_some(NameMeaning::Secret)?
    } else {
        text.class(start, word_end, keys)?
    };
    if is_call && names::looks_up(word, class) {
        return None;
    }
    if text.at(opening) == b'$'
        && let Some((start, end)) = between_dollars(text, opening)
    {
        return class
            .hides_likely(text.judged(start, end))
            .then(|| SecretPlace::new(start, end));
    }
    let value = Quoted::at(text, opening)?;
    // What is called may as well take a name.
    let must_look_random = is_call && (!is_screaming || class == NameMeaning::Key);
    let may_take_key = || {
        text.before(start) == b'.'
            || [&b"set"[..], b"with"]
                .iter()
                .any(|verb| names::begins_with(word, verb))
    };
    let is_hexadecimal = |value: &[u8]| value.iter().all(u8::is_ascii_hexdigit);
    let is_secret = |value: &[u8]| match class {
        // Identities are looked up by keys.
        NameMeaning::Key if !is_call || !may_take_key() || is_hexadecimal(value) => false,
        _ if must_look_random => looks_secret(value),
        NameMeaning::Secret if is_by || is_screaming => !is_placeholder(value),
        NameMeaning::Key => is_plausible(value, 8),
        class => class.hides_likely(value),
    };
    (value.seen > value.start && is_secret(value.judged(text)))
        .then(|| SecretPlace::new(value.start, value.end(text)))
}

/// Whether `IDENTIFIED` is before the `BY` that begins at `by`.
fn is_identified(text: &Text<'_>, by: usize) -> bool {
    const IDENTIFIED: &[u8] = b"identified";
    let before = text.slice(by.saturating_sub(MAX_BEFORE_BY), by);
    text.spend(before.len());
    before
        .windows(IDENTIFIED.len())
        .any(|window| window.eq_ignore_ascii_case(IDENTIFIED))
}
