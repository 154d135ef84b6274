//! Long options in a command line: `--api-key value`, `"--api-key", "value"`, `curl --user user:password`. With `=` they are assignments.

use super::MAX_NAME_BYTES;
use super::commands;
use super::value_places::{COLOUR, quoted_end};
use super::{Beside, SecretPlace, Sign, SignSink};
use crate::redact::byte_set::ByteSet;
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::NameMeaning;
use crate::redact::text::{Text, is_url_safe};
use crate::redact::values::{MAX_JUDGED, is_number, is_placeholder, is_plausible};

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    notice(Sign {
        pair: *b"--",
        beside: Beside::After(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    });
}

pub(super) fn find(text: &Text<'_>, at: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    let name_start = at + 2;
    if !text.at(name_start).is_ascii_alphabetic() || !text.is_token_start(at) {
        return None;
    }
    let name_end = text.run_within(name_start, MAX_NAME_BYTES + 1, is_url_safe);
    if name_end - name_start > MAX_NAME_BYTES {
        return None;
    }
    if matches!(text.slice(name_start, name_end), b"user" | b"proxy-user") {
        // Other commands take a user with a group, or a URL.
        return commands::password_of_login(text, name_end).filter(|_| commands::take_login(text, at));
    }
    let name = text.class(name_start, name_end, keys)?;
    value_after(text, name_end)
        .filter(|value| value.is_secret(text, name))
        .map(|value| value.found(text))
}

/// What follows an option as its value.
struct OptionArgument {
    start: usize,
    /// As far as it was looked at.
    seen: usize,
    quote: Option<u8>,
}

fn value_after(text: &Text<'_>, name_end: usize) -> Option<OptionArgument> {
    let start = text.run_within(name_end, 9, |byte| {
        matches!(byte, b' ' | b'"' | b'\'' | b',' | b'\\')
    });
    if start == name_end || start - name_end > 8 || text.at(start) == b'-' {
        return None;
    }
    let quote = Some(text.before(start)).filter(|quote| matches!(quote, b'"' | b'\''));
    let seen = match quote {
        Some(quote) => quoted_end(text, start, quote, 0, MAX_JUDGED),
        None => text.run_within(start, MAX_JUDGED, is_bare),
    };
    Some(OptionArgument { start, seen, quote })
}

fn is_bare(byte: u8) -> bool {
    static BARE: ByteSet = ByteSet::all_but(&[
        b' ', b'\t', b'\n', b'\r', b'\x0c', b'"', b'\'', b'`', b'\\', b';', b'|', COLOUR,
    ]);
    BARE.has(byte)
}

impl OptionArgument {
    fn is_secret(&self, text: &Text<'_>, name: NameMeaning) -> bool {
        let value = text.judged(self.start, self.seen);
        match name {
            NameMeaning::Token if is_number(value) => false,
            NameMeaning::Key | NameMeaning::Code | NameMeaning::Word => name.hides(value),
            NameMeaning::Secret | NameMeaning::Token if self.quote.is_some() => !is_placeholder(value),
            NameMeaning::Secret | NameMeaning::Token => is_plausible(value, 6),
        }
    }

    fn found(&self, text: &Text<'_>) -> SecretPlace {
        let end = match self.quote {
            Some(quote) => quoted_end(text, self.start, quote, 0, usize::MAX),
            None => text.run(self.seen, is_bare),
        };
        SecretPlace::new(self.start, end)
    }
}
