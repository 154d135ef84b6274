//! Names with values: one grammar of a name, a gap and a value.
//!
//! The gap decides how sure the value must look: JSON, an environment variable, an option and a query surely hold one;
//! `token: …` may as well be code or prose.

use std::ops::Range;

use super::anchored::{authorization, cookies};
use super::beside;
use super::fold::FoldedName;
use super::keys::{Confidence, KeyVerdict, NameMeaning, RedactKeys, begins_with, looks_up};
use super::name::{AssignedName, is_wide_separator};
use super::nested;
use super::place::{SecretPlace, SecretPlaces};
use super::text::{BACK, Quoted, Text, is_quote};
use super::value::{
    MAX_JUDGED, is_code, is_number, is_path, is_pattern, is_placeholder, is_plausible, looks_random,
    looks_secret,
};

/// The longest type between a name and its value, and the longest name of a function there.
const MAX_TYPE_BYTES: usize = 32;

/// Beginning of the value of a name, and the gap before it.
#[derive(Debug, Clone, Copy)]
struct Assigned {
    value: usize,
    is_colon: bool,
    /// The separator follows the name at once.
    is_tight: bool,
    has_lines: bool,
}

/// The secret that belongs to the name around an anchor.
pub(super) fn find(
    text: Text<'_>,
    anchor: Range<usize>,
    ends_word: bool,
    keys: &RedactKeys,
    places: &mut SecretPlaces,
) -> Option<SecretPlace> {
    if ends_word && text.at(anchor.end).is_ascii_alphabetic() {
        return None;
    }
    let name = AssignedName::around(text, &anchor, places.covered.end)?;
    let bytes = text.slice(name.start, name.end);
    let meaning = || keys.meaning(bytes);
    if let Some(assigned) = assigned(text, &name) {
        let is_query =
            !assigned.is_colon && !name.is_quoted && matches!(text.before(name.start), b'?' | b'&' | b';');
        let meaning = meaning().or_else(|| (is_query && is_query_name(bytes)).then_some(NameMeaning::Key))?;
        let named = Named {
            text,
            keys,
            name,
            meaning,
            assigned,
        };
        return named.find(is_query, places);
    }
    match text.at(name.outer.1) {
        b'(' => called(text, &name, meaning()?),
        b'>' | b'<' if !name.is_quoted => beside::element(text, &name, keys, places),
        b' ' | b'\t' | b'\n' | b'\r' | b'\\' | b',' | b';' | b'/' | b'>' => {
            let meaning = meaning()?;
            flagged(text, &name, meaning)
                .or_else(|| worded(text, &name, meaning))
                .or_else(|| listed(text, &name, meaning, keys))
                .or_else(|| beside::element(text, &name, keys, places))
                .or_else(|| {
                    beside::siblings(text, &name, meaning, places);
                    None
                })
        }
        _ => None,
    }
}

/// Names of parameters in the query of a URL that count there only.
fn is_query_name(name: &[u8]) -> bool {
    let name = FoldedName::new(name);
    let is = |word: &str| name.spelled(name.length(), word);
    is("signature").is_some() || [is("sig"), is("key")].contains(&Some(0))
}

/// The gap of a separator between a name and its value.
fn assigned(text: Text<'_>, name: &AssignedName) -> Option<Assigned> {
    let mut end = name.outer.1;
    if text.at(end) == b']' && text.before(name.outer.0) == b'[' {
        end += 1;
    } else if text.at(end) == b'[' {
        let length = text.run(end + 1, 4, |byte| byte.is_ascii_digit());
        end = if text.at(length) == b']' { length + 1 } else { end };
    }
    end = text.run(end, 2, |byte| byte == b'*');
    if text.has(end, " string") && text.at(text.blanks(end + 7)) == b'=' {
        end += 7;
    }
    let separator = if name.is_quoted {
        text.gap(end).end
    } else {
        text.blanks(end)
    };
    let (first, second) = (text.at(separator), text.at(separator + 1));
    let third = text.at(separator + 2);
    let (length, is_colon) = match (first, second) {
        (b':', b':') if third == b'=' => (3, false),
        (b':' | b'?' | b'+', b'=') | (b'=', b'>') => (2, false),
        (b':', b':' | b'/') | (b'=', b'=' | b'~') => return None,
        (b':', b'>') | (b'?', b':') => (2, true),
        (b':', _) => (1, true),
        (b'=', _) => (1, false),
        _ if is_wide_separator(text, separator) => (3, text.has(separator, "：")),
        _ => return None,
    };
    let mut value = text.gap(separator + length);
    if !name.is_quoted && text.has(value.end, "**") {
        value = text.gap(value.end + 2);
    }
    if is_colon && !name.is_quoted && text.has(value.end, "!!") {
        // `password: !!str "…"`
        let tag = text.run(value.end + 2, MAX_TYPE_BYTES, |byte| byte.is_ascii_lowercase());
        let behind = text.gap(tag);
        value = if behind.end > tag { behind } else { value };
    }
    Some(Assigned {
        value: value.end,
        is_colon,
        is_tight: separator == end,
        has_lines: value.has_lines,
    })
}

/// A name that surely names a secret, with its gap.
struct Named<'a> {
    text: Text<'a>,
    keys: &'a RedactKeys,
    name: AssignedName,
    meaning: NameMeaning,
    assigned: Assigned,
}

impl Named<'_> {
    fn find(&self, is_query: bool, places: &mut SecretPlaces) -> Option<SecretPlace> {
        let (text, name, meaning) = (self.text, &self.name, self.meaning);
        let Assigned {
            value,
            is_colon,
            has_lines,
            ..
        } = self.assigned;
        let bytes = text.slice(name.start, name.end);
        if text.is_marker(value) || is_in_resource_name(text, name.start) {
            return None;
        }
        if is_colon && !name.is_quoted && !has_lines {
            let folded = FoldedName::new(bytes);
            if folded.spelled(folded.length(), "authorization").is_some() {
                return authorization(text, value);
            }
            if folded.spelled_or_plural(folded.length(), "cookie").is_some() {
                return cookies(text, value);
            }
        }
        let is_variable = !is_colon && is_screaming(bytes);
        if let Some(quoted) = self.literal() {
            let is_meant = (name.is_quoted && is_colon) || is_variable || quoted.place == Literal::Optional;
            return self.quoted(&quoted, is_meant, is_variable);
        }
        if name.is_quoted && is_colon {
            let is_own = self.keys.verdict(&FoldedName::new(bytes)) == KeyVerdict::Secret;
            return number(text, value, name).filter(|_| is_own).or_else(|| {
                nested::json(text, value, meaning, places);
                None
            });
        }
        if is_colon && !name.is_quoted && has_lines {
            return nested::yaml(text, value, meaning, places);
        }
        if has_lines {
            return None;
        }
        let start = if is_colon { yaml_scalar(text, value) } else { value };
        self.bare(start, is_query, is_variable)
    }

    /// The text in quotes that is the value: at once, behind a type, or in a call.
    fn literal(&self) -> Option<LiteralText> {
        let (text, value) = (self.text, self.assigned.value);
        let plain = |quoted| LiteralText {
            quoted,
            place: Literal::Plain,
        };
        if let Some(quoted) = text.quoted(value) {
            return Some(plain(quoted));
        }
        if self.assigned.is_colon && !self.name.is_quoted {
            // `api_key: Optional[str] = "…"`
            let is_type = |byte: u8| {
                byte.is_ascii_alphanumeric()
                    || matches!(
                        byte,
                        b'_' | b'&'
                            | b'<'
                            | b'>'
                            | b'\''
                            | b' '
                            | b'['
                            | b']'
                            | b'|'
                            | b'.'
                            | b'?'
                            | b':'
                            | b'!'
                    )
            };
            let end = text.run(value, MAX_TYPE_BYTES, is_type);
            let quoted = (end > value && text.at(end) == b'=').then(|| text.quoted(text.blanks(end + 1)));
            if let Some(Some(quoted)) = quoted {
                return Some(plain(quoted));
            }
        }
        // `Some("…")`, `SecretString::from("…")`, `Some(Token("…"))`
        let (mut at, mut place) = (value, Literal::Optional);
        for _ in 0..3 {
            let end = text.run(at, MAX_TYPE_BYTES, |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.')
            });
            let function = text.slice(at, end);
            let last = function
                .rsplit(|byte| matches!(byte, b':' | b'.'))
                .next()
                .unwrap_or_default();
            if function.is_empty() || text.at(end) != b'(' || looks_up(last, self.meaning) {
                return None;
            }
            if !matches!(function, b"Some" | b"Ok" | b"Just" | b"Optional") {
                place = Literal::Called;
            }
            at = text.gap(end + 1).end;
            if let Some(quoted) = text.quoted(at) {
                return Some(LiteralText { quoted, place });
            }
        }
        None
    }

    fn quoted(&self, literal: &LiteralText, is_meant: bool, is_variable: bool) -> Option<SecretPlace> {
        let value = literal.quoted.judged(self.text);
        let is_secret = match self.meaning {
            NameMeaning::Key if literal.place == Literal::Called => {
                looks_random(value) && !is_placeholder(value) && !is_pattern(value)
            }
            _ if literal.place == Literal::Called => {
                is_plausible(value, 8) && (looks_random(value) || self.keys.meaning(value).is_none())
            }
            NameMeaning::Key if is_variable => is_key_of_variable(value),
            meaning if is_meant => meaning.hides(value, Confidence::Structured),
            meaning => meaning.hides(value, Confidence::Likely),
        };
        (!value.is_empty() && is_secret).then(|| literal.quoted.place(self.text))
    }

    /// A value without quotes.
    fn bare(&self, start: usize, is_query: bool, is_variable: bool) -> Option<SecretPlace> {
        let text = self.text;
        let is_colon = self.assigned.is_colon;
        let is_option = text.has(self.name.start, "--");
        let is_variable = is_variable && self.assigned.is_tight;
        let is_line = is_variable && begins_line(text, self.name.start);
        let is_value = |byte: u8| {
            !byte.is_ascii_whitespace()
                && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
                && (is_line
                    || !matches!(
                        byte,
                        b'&' | b';' | b',' | b')' | b'(' | b']' | b'[' | b'}' | b'{' | b'|'
                    ))
        };
        let seen = text.run(start, MAX_JUDGED, is_value);
        let is_meant = is_query || is_variable || (is_option && !is_colon);
        let value = text.judged(start, without_full_stop(text, start, seen));
        let is_likely = match self.meaning {
            NameMeaning::Token if is_number(value) || (is_path(value) && !looks_random(value)) => false,
            NameMeaning::Secret if is_meant => !is_placeholder(value),
            NameMeaning::Token if is_meant => {
                (value.len() >= 8 && !is_placeholder(value)) || is_plausible(value, 4)
            }
            NameMeaning::Key if is_query => is_plausible(value, 12),
            NameMeaning::Key if is_variable => is_key_of_variable(value),
            meaning => meaning.hides(value, Confidence::Likely) && !value.starts_with(b"_"),
        };
        let next = text.at(seen);
        let continues = matches!(next, b'(' | b'[') || (!is_meant && matches!(next, b'{' | b'<'));
        (is_likely && !is_expression(value, continues, is_meant)).then(|| {
            let end = text.end_of(seen, is_value);
            SecretPlace::new(start, without_full_stop(text, start, end))
        })
    }
}

/// Says whether a bare value is code: `config.token`, `!secret`, or the function of a call that continues behind it.
fn is_expression(value: &[u8], continues: bool, is_meant: bool) -> bool {
    let is_path_of_names = || {
        value
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'&' | b'!'))
    };
    let is_negated = || {
        !is_meant && value.starts_with(b"!") && !value.iter().any(u8::is_ascii_digit) && is_path_of_names()
    };
    (is_code(value) || is_negated() || (continues && is_path_of_names())) && !looks_random(value)
}

/// Says whether the value of a variable such as `SERVICE_KEY` is one.
pub(super) fn is_key_of_variable(value: &[u8]) -> bool {
    is_plausible(value, 8) && (looks_random(value) || !is_pattern(value))
}

/// Place of a text in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Literal {
    /// Behind the separator.
    Plain,
    /// In what says that a value may be missing, as in `Some("…")`.
    Optional,
    /// An argument, as in `getenv("…")`.
    Called,
}

struct LiteralText {
    quoted: Quoted,
    place: Literal,
}

impl Quoted {
    /// The place of all of its text.
    pub(super) fn place(self, text: Text<'_>) -> SecretPlace {
        SecretPlace::new(self.start, self.end(text, usize::MAX))
    }
}

/// Says whether the word at `start` is behind an account in the name of a resource: `arn:aws:secretsmanager:…:123456789012:secret:…`.
fn is_in_resource_name(text: Text<'_>, start: usize) -> bool {
    const ACCOUNT_BYTES: usize = 12;
    let account = text.slice(start.saturating_sub(ACCOUNT_BYTES + 1), start.saturating_sub(1));
    text.before(start) == b':' && account.len() == ACCOUNT_BYTES && account.iter().all(u8::is_ascii_digit)
}

/// A number in JSON under a key of the user's own, as `"pin": 12345678`; the marker is quoted as the name is.
fn number(text: Text<'_>, start: usize, name: &AssignedName) -> Option<SecretPlace> {
    /// Shorter numbers are counts.
    const MIN_BYTES: usize = 6;
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let end = text.end_of(start, is_digit);
    (end - start >= MIN_BYTES).then(|| SecretPlace {
        quotes: (name.end, name.outer.1),
        ..SecretPlace::new(start, end)
    })
}

/// The value of a key in YAML, also in the lines below `|`.
fn yaml_scalar(text: Text<'_>, start: usize) -> usize {
    if matches!(text.at(start), b'|' | b'>') {
        let gap = text.gap(text.run(start + 1, 2, |byte| {
            matches!(
                byte,
                b'+' | b'-' | b'1' | b'2' | b'3' | b'4' | b'5' | b'6' | b'7' | b'8' | b'9'
            )
        }));
        if gap.has_lines {
            return gap.end;
        }
    }
    start
}

/// `end` without the full stop that ends a sentence.
fn without_full_stop(text: Text<'_>, start: usize, end: usize) -> usize {
    end - usize::from(end > start && text.before(end) == b'.')
}

/// Says whether a name is written as environment variables are.
fn is_screaming(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_uppercase)
        && !name.iter().any(|byte| byte.is_ascii_lowercase() || *byte == b'-')
}

/// Says whether a name begins its line, or follows `export`.
fn begins_line(text: Text<'_>, start: usize) -> bool {
    matches!(text.before(start), 0 | b'\n') || text.ends_with_ignoring_case(start, "export ")
}

/// The text of a call: `.password("…")`, `set_service_key("…")`, `PASSWORD('…')`.
fn called(text: Text<'_>, name: &AssignedName, meaning: NameMeaning) -> Option<SecretPlace> {
    let word = text.slice(name.start, name.end);
    let word = word.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    if looks_up(word, meaning) {
        return None;
    }
    let quoted = text.quoted(text.gap(name.outer.1 + 1).end)?;
    let value = quoted.judged(text);
    let is_method = text.slice(name.start, name.end).len() > word.len() || text.before(name.start) == b'.';
    let may_take_key = is_method || begins_with(word, b"set") || begins_with(word, b"with");
    let is_secret = match meaning {
        // Identities are looked up by keys.
        NameMeaning::Key => may_take_key && looks_secret(value) && !value.iter().all(u8::is_ascii_hexdigit),
        NameMeaning::Secret if is_screaming(word) => !is_placeholder(value),
        _ => looks_secret(value),
    };
    is_secret.then(|| quoted.place(text))
}

/// The words that a variable and its value follow.
const VARIABLE_KEYWORDS: [&str; 6] = ["setenv", "setx", "set -x", "set -gx", "set -Ux", "env"];

/// The argument of an option, and the value of a variable in an instruction: `--token …`, `ENV TOKEN …`, `set -gx TOKEN …`.
fn flagged(text: Text<'_>, name: &AssignedName, meaning: NameMeaning) -> Option<SecretPlace> {
    let is_bare =
        |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b';' | b'|');
    if text.has(name.start, "--") {
        let start = text.run(name.end, 9, |byte| {
            matches!(byte, b' ' | b'"' | b'\'' | b',' | b'\\')
        });
        if start == name.end || text.at(start) == b'-' {
            return None;
        }
        if let Some(quoted) = text
            .quoted(text.before_quote(start))
            .filter(|quoted| quoted.start == start)
        {
            let value = quoted.judged(text);
            return meaning
                .hides(value, Confidence::Explicit)
                .then(|| quoted.place(text));
        }
        let seen = text.run(start, MAX_JUDGED, is_bare);
        let value = text.judged(start, seen);
        let is_secret = match meaning {
            NameMeaning::Token if is_number(value) => false,
            NameMeaning::Secret | NameMeaning::Token => is_plausible(value, 6),
            _ => meaning.hides(value, Confidence::Explicit),
        };
        return is_secret.then(|| SecretPlace::new(start, text.end_of(seen, is_bare)));
    }
    let before = text.run_back(name.outer.0, BACK, |byte| matches!(byte, b' ' | b'\t'));
    let is_keyword = |keyword: &&&str| {
        text.ends_with_ignoring_case(before, keyword) && text.is_word_start(before - keyword.len())
    };
    let keyword = VARIABLE_KEYWORDS
        .iter()
        .find(is_keyword)
        .filter(|_| before < name.outer.0);
    let Some(keyword) = keyword else {
        return netrc(text, name);
    };
    let is_instruction = *keyword == "env";
    if is_instruction && !(text.has(before - 3, "ENV") && begins_line(text, before - 3)) {
        return None;
    }
    let start = text.blanks(name.outer.1);
    let hides = |value: &[u8]| match meaning {
        NameMeaning::Key => is_key_of_variable(value),
        meaning => meaning.hides(value, Confidence::Structured),
    };
    if let Some(quoted) = text.quoted(start) {
        return hides(quoted.judged(text)).then(|| quoted.place(text));
    }
    // An instruction takes the rest of its line.
    let is_value = |byte: u8| {
        !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\')
            && (is_instruction || !matches!(byte, b' ' | b'\t' | b';'))
    };
    let seen = text.run(start, MAX_JUDGED, is_value);
    let is_secret = start > name.outer.1 && seen > start && hides(text.judged(start, seen));
    is_secret.then(|| SecretPlace::new(start, text.end_of(seen, is_value)))
}

/// The password in `machine … login … password …`.
fn netrc(text: Text<'_>, name: &AssignedName) -> Option<SecretPlace> {
    if text.slice(name.start, name.end) != b"password" || name.is_quoted {
        return None;
    }
    let line = text.slice(name.start.saturating_sub(BACK), name.start);
    super::text::count(line.len());
    let words: Vec<&[u8]> = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .collect();
    let is_entry = matches!(words.as_slice(), [.., b"login" | b"machine", _]);
    let is_file = matches!(
        words.as_slice(),
        [.., b"machine", _] | [.., b"machine", _, b"login", _] | [.., b"default", b"login", _]
    );
    let start = text.gap(name.end).end;
    let is_value = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'`' | b'\\' | b'<');
    let seen = text.run(start, MAX_JUDGED, is_value);
    let value = text.judged(start, seen);
    let is_secret =
        is_entry && start > name.end && (is_plausible(value, 6) || (is_file && looks_random(value)));
    is_secret.then(|| SecretPlace::new(start, text.end_of(seen, is_value)))
}

/// The text in quotes behind a word: `PASSWORD '…'`, `ALTER USER … PASSWORD E'…'`, `SET PASSWORD FOR ada = '…'`.
fn worded(text: Text<'_>, name: &AssignedName, meaning: NameMeaning) -> Option<SecretPlace> {
    if name.is_quoted {
        return None;
    }
    let is_screaming = is_screaming(text.slice(name.start, name.end));
    let mut start = text.blanks(name.end);
    let is_user = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'\'' | b'"' | b'@' | b'%' | b'`')
    };
    if text.has_ignoring_case(start, "for ") {
        let equals = text.blanks(text.run(text.blanks(start + 4), BACK, is_user));
        let quoted = (text.at(equals) == b'=').then(|| text.quoted(text.blanks(equals + 1)))??;
        return (!is_placeholder(quoted.judged(text))).then(|| quoted.place(text));
    }
    // Strings between dollars.
    let tag = text.run(start + 1, 16, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_screaming && text.at(start) == b'$' && text.at(tag) == b'$' {
        start = tag + 1;
        let end = text.run(start, MAX_JUDGED, |byte| !matches!(byte, b'$' | b'\n'));
        let is_secret = text.at(end) == b'$' && meaning.hides(text.judged(start, end), Confidence::Likely);
        return is_secret.then(|| SecretPlace::new(start, end));
    }
    let quoted = text.quoted(start)?;
    // Prose has double quotes behind words.
    if text.before(quoted.start) != b'\'' && !is_screaming {
        return None;
    }
    let value = quoted.judged(text);
    let is_secret = match meaning {
        NameMeaning::Secret if is_screaming => !is_placeholder(value),
        NameMeaning::Key => false,
        meaning => meaning.hides(value, Confidence::Likely),
    };
    is_secret.then(|| quoted.place(text))
}

/// The text behind a name in quotes in a list, a pair or a call: `["x-api-key", "…"]`, `("DB_PASSWORD", "…")`.
fn listed(
    text: Text<'_>,
    name: &AssignedName,
    meaning: NameMeaning,
    keys: &RedactKeys,
) -> Option<SecretPlace> {
    if !name.is_quoted || text.at(name.outer.1) != b',' {
        return None;
    }
    let before_blanks = |end| text.run_back(end, BACK, |byte| byte.is_ascii_whitespace());
    let list = before_blanks(name.outer.0);
    let is_pair = match text.before(list) {
        b'(' => true,
        // In an array of pairs.
        b'[' => matches!(text.before(before_blanks(list - 1)), b'[' | b','),
        b',' => false,
        _ => return None,
    };
    let value = text.gap(name.outer.1 + 1).end;
    let quoted = text
        .quoted(value)
        .filter(|_| is_quote(text.at(name.outer.1 - 1)))?;
    let value = quoted.judged(text);
    let is_random = looks_random(value) && !is_placeholder(value);
    let is_secret = match meaning {
        // In a list there are more names than values, and names of secrets are followed by others.
        meaning if is_pair && meaning != NameMeaning::Key => {
            meaning.hides(value, Confidence::Likely) && (is_random || keys.meaning(value).is_none())
        }
        _ => is_random,
    };
    is_secret.then(|| quoted.place(text))
}
