//! Secrets where a command or a file puts them without a separator: `ENV DB_PASSWORD …`, `sshpass -p …`, `-u user:password`, netrc.

use super::MAX_NAME_BYTES;
use super::assignments::begins_line;
use super::value_places::{COLOUR, Gap, Quoted};
use super::{Beside, SecretPlace, Sign, SignSink};
use crate::redact::byte_set::ByteSet;
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::NameMeaning;
use crate::redact::text::{Text, is_url_safe};
use crate::redact::values::{MAX_JUDGED, is_path, is_placeholder, is_plausible, looks_random};

/// How far before an option its command is looked for.
const MAX_COMMAND_BYTES: usize = 256;

/// The work of comparing the keywords that a variable stands behind.
const KEYWORDS_WORK: usize = 10;

/// The work of deciding about a user with a password, beside what is looked at for it.
const LOGIN_WORK: usize = 30;

/// The option for a user with a password.
const LOGIN_OPTION: u8 = b'u';

/// A command with an option for a password, or for a user with a password ([`LOGIN_OPTION`]).
struct PasswordCommand {
    words: &'static [u8],
    option: u8,
    /// The password is an argument of its own.
    is_apart: bool,
    /// The password may follow the option at once.
    is_attached: bool,
}

const fn command(words: &'static str, option: u8, is_apart: bool, is_attached: bool) -> PasswordCommand {
    PasswordCommand {
        words: words.as_bytes(),
        option,
        is_apart,
        is_attached,
    }
}

const COMMANDS: [PasswordCommand; 14] = [
    command("sshpass", b'p', true, true),
    command("mysql", b'p', false, true),
    command("mysqldump", b'p', false, true),
    command("mysqladmin", b'p', false, true),
    command("mariadb", b'p', false, true),
    command("docker login", b'p', true, false),
    command("podman login", b'p', true, false),
    command("az login", b'p', true, false),
    command("mongosh", b'p', true, false),
    command("redis-cli", b'a', true, false),
    command("ldapsearch", b'w', true, true),
    command("sqlcmd", b'P', true, true),
    command("curl", LOGIN_OPTION, true, true),
    command("wget", LOGIN_OPTION, true, true),
];

pub(super) fn noticed_by(notice: &mut SignSink<'_>) {
    for pair in [*b"NV", *b"nv", *b"gx", *b"-x", *b"Ux", *b"tx"] {
        notice(Sign {
            pair,
            beside: Beside::After(b" \t"),
        });
    }
    for option in b"pPaw" {
        notice(Sign {
            pair: [b'-', *option],
            beside: Beside::Before(b" \t\"'"),
        });
    }
    notice(Sign {
        pair: [b'-', LOGIN_OPTION],
        beside: Beside::Before(b" \t\n\r\x0c"),
    });
    notice(Sign {
        pair: *b"gi",
        beside: Beside::Before(b"o"),
    });
}

pub(super) fn find(text: &Text<'_>, at: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    match text.at(at) {
        b'-' if text.at(at + 1) == LOGIN_OPTION => login_option(text, at),
        b'-' if text.at(at + 1) != b'x' => option(text, at),
        b'g' if text.at(at + 1) == b'i' => login(text, at),
        _ => variable(text, at + 2, keys),
    }
}

/// `ENV NAME value`, `setenv NAME value`, `set -gx NAME value`, `setx NAME value`.
fn variable(text: &Text<'_>, keyword_end: usize, keys: &RedactKeys) -> Option<SecretPlace> {
    const KEYWORDS: [&[u8]; 6] = [b"setenv", b"setx", b"set -x", b"set -gx", b"set -Ux", b"env"];
    static REST_OF_LINE: ByteSet = ByteSet::all_but(b"\n\r\"'`\\");
    static WORD: ByteSet = ByteSet::all_but(b"\n\r\"'`\\ \t;");
    text.spend(KEYWORDS_WORK);
    let keyword = KEYWORDS.iter().find(|keyword| {
        keyword_end
            .checked_sub(keyword.len())
            .is_some_and(|start| text.has_ignoring_case(start, keyword) && text.is_token_start(start))
    })?;
    let is_instruction = *keyword == b"env";
    if is_instruction && !(text.has(keyword_end - 3, b"ENV") && begins_line(text, keyword_end - 3)) {
        return None;
    }
    let name_start = Gap::from(text, keyword_end).filter(|gap| !gap.has_lines)?.end;
    let name_end = text.run_within(name_start, MAX_NAME_BYTES + 1, is_url_safe);
    if name_end == name_start || name_end - name_start > MAX_NAME_BYTES {
        return None;
    }
    let class = text.class(name_start, name_end, keys)?;
    let start = Gap::from(text, name_end)
        .filter(|gap| !gap.has_lines && gap.end > name_end)?
        .end;
    let is_secret = |value: &[u8]| match class {
        NameMeaning::Key => is_plausible(value, 8),
        class => class.hides_meant(value),
    };
    if let Some(quoted) = Quoted::at(text, start) {
        return is_secret(quoted.judged(text)).then(|| SecretPlace::new(quoted.start, quoted.end(text)));
    }
    // An instruction takes the rest of its line.
    let value = if is_instruction { &REST_OF_LINE } else { &WORD };
    let is_value = |byte| value.has(byte);
    let seen = text.run_within(start, MAX_JUDGED, is_value);
    let is_secret = seen > start && (is_secret(text.judged(start, seen)));
    is_secret.then(|| SecretPlace::new(start, text.run(seen, is_value)))
}

/// The password in `sshpass -p …`, `mysql -p…`, also in a list of arguments.
fn option(text: &Text<'_>, at: usize) -> Option<SecretPlace> {
    static VALUE: ByteSet = ByteSet::all_but(&[
        b' ', b'\t', b'\n', b'\r', b'\x0c', b'"', b'\'', b'`', b'\\', b';', b'|', b'&', COLOUR,
    ]);
    if !matches!(text.before(at), b' ' | b'\t' | b'"' | b'\'') {
        return None;
    }
    let command = command_before(text, at, text.at(at + 1))?;
    let value = at + 2;
    let apart = text.run_within(value, 8, |byte| {
        matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b',' | b'\\')
    });
    let start = if apart > value { apart } else { value };
    let fits = if apart > value {
        command.is_apart
    } else {
        command.is_attached
    };
    let is_value = |byte| VALUE.has(byte);
    let seen = text.run_within(start, MAX_JUDGED, is_value);
    if !fits || seen == start || text.at(start) == b'-' {
        return None;
    }
    (!is_placeholder(text.judged(start, seen))).then(|| SecretPlace::new(start, text.run(seen, is_value)))
}

/// Whether a command is in the line before `at` that takes a user with a password.
pub(super) fn take_login(text: &Text<'_>, at: usize) -> bool {
    command_before(text, at, LOGIN_OPTION).is_some()
}

/// The command in the line before `at` that has this option.
fn command_before(text: &Text<'_>, at: usize, option: u8) -> Option<&'static PasswordCommand> {
    let found = commands_before(text, at);
    let mut commands = COMMANDS.iter().enumerate();
    commands
        .find(|(number, command)| command.option == option && found & (1 << number) != 0)
        .map(|(_, command)| command)
}

/// A bit for each command in the line before `at`. A line is looked through once, whatever options it has.
fn commands_before(text: &Text<'_>, at: usize) -> u16 {
    static FIRST: ByteSet = ByteSet::of(b"acdlmprsw");
    let (known, found_before) = text.commands.get();
    let from = at.saturating_sub(MAX_COMMAND_BYTES).max(known);
    let part = text.slice(from, at);
    text.spend(part.len() * 4 / 3);
    // A line goes on behind a backslash, as commands do.
    let ends_line = |offset: &usize| match text.at(from + offset) {
        b'\n' => text.before(from + offset) != b'\\',
        byte => matches!(byte, b';' | b'|' | b'&'),
    };
    let (line, mut found) = match (0..part.len()).rev().find(ends_line) {
        Some(end) => (from + end + 1, 0),
        None if from > known => (from, 0),
        None => (from, found_before),
    };
    for start in line..at {
        if FIRST.has(text.at(start)) && !is_word(text.before(start)) {
            for (number, command) in COMMANDS.iter().enumerate() {
                let end = start + command.words.len();
                let is_first = command.words.first() == Some(&text.at(start));
                if is_first && end <= at && text.has(start, command.words) && !is_word(text.at(end)) {
                    found |= 1 << number;
                }
            }
        }
    }
    text.commands.set((at, found));
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// The password in `machine … login … password …`, in any order.
fn login(text: &Text<'_>, at: usize) -> Option<SecretPlace> {
    const LOGIN: &[u8] = b"login";
    const PASSWORD: &[u8] = b"password";
    static VALUE: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"`\\<");
    let start = at.checked_sub(2).filter(|&start| text.has(start, LOGIN))?;
    let is_blank = |byte: u8| byte.is_ascii_whitespace();
    let is_value = |byte| VALUE.has(byte);
    let user = text.run_within(start + LOGIN.len(), MAX_JUDGED, is_blank);
    if !text.is_token_start(start) || user == start + LOGIN.len() {
        return None;
    }
    let line = text.slice(start.saturating_sub(MAX_COMMAND_BYTES), start);
    text.spend(line.len() / 2);
    let mut words = line
        .rsplit(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let before = [words.next(), words.next(), words.next(), words.next()];
    // In a file they begin a line.
    let begins_line = |word: &[u8]| {
        memchr::memmem::rfind(line, word)
            .is_some_and(|offset| matches!(text.before(start - line.len() + offset), 0 | b'\n'))
    };
    let is_host = |last: Option<&[u8]>, before: Option<&[u8]>| {
        (last == Some(b"default") && begins_line(b"default"))
            || (before == Some(b"machine") && begins_line(b"machine"))
    };
    // Prose has these words, too.
    let secret = |start: usize, seen: usize, is_file: bool| {
        let is_secret = |value: &[u8]| {
            if is_file {
                !is_placeholder(value)
            } else {
                is_plausible(value, 6)
            }
        };
        let is_secret = seen > start && is_secret(text.judged(start, seen));
        is_secret.then(|| SecretPlace::new(start, text.run(seen, is_value)))
    };
    let user_end = text.run_within(user, MAX_NAME_BYTES, is_value);
    let keyword = text.run_within(user_end, MAX_JUDGED, is_blank);
    let password = text.run_within(keyword + PASSWORD.len(), MAX_JUDGED, is_blank);
    if text.has(keyword, PASSWORD) && password > keyword + PASSWORD.len() {
        let is_file = is_host(before[0], before[1]);
        return secret(password, text.run_within(password, MAX_JUDGED, is_value), is_file);
    }
    // The password may come first.
    let [Some(value), Some(PASSWORD), last, host] = before else {
        return None;
    };
    let begin = start - line.len() + memchr::memmem::rfind(line, value)?;
    secret(begin, begin + value.len(), is_host(last, host))
}

/// The password in `-u user:password`.
fn login_option(text: &Text<'_>, at: usize) -> Option<SecretPlace> {
    if text.before(at).is_ascii_whitespace() {
        password_of_login(text, at + 2)
    } else {
        None
    }
}

/// The password in `user:password`, the argument of the option that ends at `option_end`.
pub(super) fn password_of_login(text: &Text<'_>, option_end: usize) -> Option<SecretPlace> {
    static PASSWORD: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'\\");
    text.spend(LOGIN_WORK);
    let start = text.run_within(option_end, 8, |byte| matches!(byte, b' ' | b'"' | b'\'' | b'='));
    let user_end = text.run_within(start, MAX_NAME_BYTES, |byte| {
        is_url_safe(byte) || matches!(byte, b'.' | b'@')
    });
    if text.at(user_end) != b':' {
        return None;
    }
    let password = user_end + 1;
    let is_password = |byte| PASSWORD.has(byte);
    let seen = text.run_within(password, MAX_JUDGED, is_password);
    let is_secret = |value: &[u8]| {
        // Of `-url:…` this would be a part.
        if start > option_end {
            is_plausible(value, 6) && (!is_path(value) || looks_random(value))
        } else {
            looks_random(value)
        }
    };
    let is_secret = seen > password && is_secret(text.judged(password, seen));
    is_secret.then(|| SecretPlace::new(password, text.run(seen, is_password)))
}
