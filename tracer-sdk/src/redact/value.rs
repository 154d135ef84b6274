//! Judgement of a value: a placeholder, a plausible secret, something random, an expression of code.
//!
//! A value is judged by its beginning ([`MAX_JUDGED`]), so that what it costs to reject one does not grow with its length.

/// Longest part of a value that it is judged by, in bytes: no secret needs more to be recognised.
pub(super) const MAX_JUDGED: usize = 128;

/// The shortest part of a value that may look random.
pub(super) const MIN_RANDOM_BYTES: usize = 12;

/// The same in a short value.
const MIN_RANDOM_ALONE_BYTES: usize = 16;

/// The part of `value` that it is judged by.
fn judged(value: &[u8]) -> &[u8] {
    value.get(..MAX_JUDGED).unwrap_or(value)
}

/// Words that stand in documentation and templates where a secret goes.
const STAND_INS: [&[u8]; 40] = [
    b"password",
    b"passwd",
    b"pass",
    b"pwd",
    b"secret",
    b"token",
    b"key",
    b"apikey",
    b"api_key",
    b"api-key",
    b"value",
    b"string",
    b"str",
    b"text",
    b"null",
    b"none",
    b"nil",
    b"true",
    b"false",
    b"undefined",
    b"optional",
    b"required",
    b"hidden",
    b"masked",
    b"redacted",
    b"[redacted]",
    b"unset",
    b"empty",
    b"default",
    b"example",
    b"test",
    b"todo",
    b"changeme",
    b"change-me",
    b"change_me",
    b"placeholder",
    b"credentials",
    b"bearer",
    b"basic",
    b"default_value",
];

/// Parts of such words.
const STAND_IN_PARTS: [&[u8]; 11] = [
    b"your_",
    b"your-",
    b"-your",
    b"_your",
    b"placeholder",
    b"example",
    b"changeme",
    b"redacted",
    b"dummy",
    b"_here",
    b"-here",
];

/// Says whether `value` only says that a secret goes here.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    is_blank(value) || is_stand_in(value)
}

/// Says whether `value` is empty, masked, or the name of a variable.
pub(super) fn is_blank(value: &[u8]) -> bool {
    let value = judged(value);
    let (Some(&first), Some(&last)) = (value.first(), value.last()) else {
        return true;
    };
    let is_enclosed = matches!(
        (first, last),
        (b'<', b'>') | (b'{', b'}') | (b'[', b']') | (b'%', b'%') | (b'(', b')')
    );
    let second = value.get(1).copied().unwrap_or_default();
    let is_variable =
        first == b'$' && (second.is_ascii_alphabetic() || matches!(second, b'{' | b'(' | b'_' | b'$'));
    let is_masked = || {
        value
            .iter()
            .all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-' | b'_' | b'#' | b'?'))
            || value.starts_with(b"***")
            || is_ellipsis(value)
            || has_crosses(value)
    };
    is_enclosed || is_variable || is_masked() || is_repeated(value, first)
}

/// Says whether eight `x` follow each other.
fn has_crosses(value: &[u8]) -> bool {
    let is_cross = |byte: &u8| byte.eq_ignore_ascii_case(&b'x');
    value.windows(8).any(|neighbours| neighbours.iter().all(is_cross))
}

fn is_ellipsis(value: &[u8]) -> bool {
    value.ends_with(b"...") && value.len() < 12 || value.ends_with("…".as_bytes()) && value.len() < 12
}

fn is_repeated(value: &[u8], first: u8) -> bool {
    value.len() >= 4 && value.iter().all(|&byte| byte == first)
}

fn is_stand_in(value: &[u8]) -> bool {
    let is_word = || STAND_INS.iter().any(|word| value.eq_ignore_ascii_case(word));
    let has_part = |part: &&[u8]| {
        value
            .windows(part.len())
            .any(|place| place.eq_ignore_ascii_case(part))
    };
    value.len() <= 64 && (is_word() || (STAND_IN_PARTS.iter().any(has_part) && !looks_random(value)))
}

/// Says whether `value` may well be a secret: letters with digits or with the signs that passwords have, in one word.
pub(super) fn is_plausible(value: &[u8], shortest: usize) -> bool {
    let value = judged(value);
    let mut letters = false;
    let mut others = false;
    for &byte in value {
        match byte {
            b'0'..=b'9' | b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'*' | b'+' | b'~' | b'?' => {
                others = true;
            }
            b' ' | b'\t' | b'\n' => return false,
            byte if byte.is_ascii_alphabetic() => letters = true,
            _ => {}
        }
    }
    value.len() >= shortest && ((letters && others) || looks_random(value)) && !is_placeholder(value)
}

/// Says whether `value` has a long part in which letters and digits, or small letters and capitals, follow each other more
/// often than in words and identifiers.
pub(super) fn looks_random(value: &[u8]) -> bool {
    /// The shortest value that is random as a whole, or in a part that is shorter than others.
    const MIN_LONG_BYTES: usize = 24;
    let value = judged(value);
    if value.len() < MIN_RANDOM_ALONE_BYTES {
        return false;
    }
    let is_long_value = value.len() >= MIN_LONG_BYTES;
    let has_random_part = value
        .split(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')))
        .any(|part| {
            let is_long =
                part.len() >= MIN_RANDOM_ALONE_BYTES || (part.len() >= MIN_RANDOM_BYTES && is_long_value);
            if !is_long {
                return false;
            }
            let changes = changes_of_kind(part);
            let a_change_in = match (part.iter().any(u8::is_ascii_digit), part.len()) {
                (true, _) => 8,
                (false, 24..) => 6,
                (false, _) => 5,
            };
            let often_enough = changes >= 3 && changes * a_change_in >= part.len();
            let is_hex = || part.len() >= 24 && changes >= 2 && part.iter().all(u8::is_ascii_hexdigit);
            often_enough || is_hex()
        });
    has_random_part || (is_long_value && changes_of_kind(value) * 4 >= value.len())
}

/// Counts the changes of the kind of sign, but where a capital begins a word in small letters.
fn changes_of_kind(part: &[u8]) -> usize {
    /// The kind of a letter or digit; 0 for other signs, which are passed over.
    const KINDS: [u8; 256] = {
        let mut kinds = [0; 256];
        let mut byte = 0;
        while byte < 128 {
            kinds[byte as usize] = match byte {
                b'0'..=b'9' => DIGIT,
                b'A'..=b'Z' => UPPER,
                b'a'..=b'z' => LOWER,
                _ => 0,
            };
            byte += 1;
        }
        kinds
    };
    const DIGIT: u8 = 1;
    const UPPER: u8 = 2;
    const LOWER: u8 = 3;
    let (mut before, mut after_capital, mut changes) = (0, false, 0);
    for &byte in part {
        let kind = KINDS[usize::from(byte)];
        if kind == 0 {
            continue;
        }
        let begins_word = before == UPPER && kind == LOWER && !after_capital;
        changes += usize::from(before != 0 && before != kind && !begins_word);
        after_capital = before == UPPER;
        before = kind;
    }
    changes
}

/// Says whether `value` is nothing but a number.
pub(super) fn is_number(value: &[u8]) -> bool {
    let value = judged(value);
    !value.is_empty()
        && value
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_'))
}

/// Says whether `value` looks like a secret wherever it stands: random, and no identity.
pub(super) fn looks_secret(value: &[u8]) -> bool {
    looks_random(value) && !is_digest(value) && !is_placeholder(value) && !is_pattern(value)
}

/// Says whether `value` is a number that counts or measures: with signs in it, or shorter than numbers that people remember.
pub(super) fn is_count(value: &[u8]) -> bool {
    is_number(value) && (value.len() < 6 || !value.iter().all(u8::is_ascii_digit))
}

/// Says whether `value` is a UUID or a hexadecimal digest: an identity, seldom a secret.
fn is_digest(value: &[u8]) -> bool {
    let value = judged(value);
    value.len() >= 32 && value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
}

/// Says whether a bare `value` is an expression of code: `config.token`, `std::env`, `&token`.
pub(super) fn is_code(value: &[u8]) -> bool {
    let value = judged(value);
    let is_word = |part: &[u8]| {
        part.len() < 24
            && part
                .first()
                .is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && part
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let has_dots = value.contains(&b'.') && value.split(|byte| *byte == b'.').all(is_word);
    has_dots
        || matches!(value.first(), Some(b'&' | b'*' | b'|'))
        || value.windows(2).any(|pair| pair == b"::")
}

/// Says whether `value` is the path of a file: `PWD=/home/ada`, `CREDENTIALS=~/.config/key.json`.
pub(super) fn is_path(value: &[u8]) -> bool {
    let is_drive = matches!(value, [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
    is_drive
        || [&b"/"[..], b"~/", b"./", b"../"]
            .iter()
            .any(|start| value.starts_with(start))
}

/// Says whether `value` is a pattern rather than a key: `NAME_PAT = r"[^\\W\\d]\\w*"`.
pub(super) fn is_pattern(value: &[u8]) -> bool {
    value.iter().any(|byte| {
        matches!(
            byte,
            b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'|' | b'\\' | b'<' | b'>'
        )
    })
}
