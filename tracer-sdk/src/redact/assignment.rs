//! Names with values: one grammar of a name, a gap and a value.
//!
//! The gap says how sure it is that a value follows: JSON, an environment variable, an option and an element surely have one;
//! `token: …` may as well be code or prose.

use std::ops::Range;

use super::fold::FoldedName;
use super::forms::{authorization, cookies};
use super::keys::{Confidence, KeyVerdict, MAX_ROLE_BYTES, NameMeaning, NameRole, RedactKeys, begins_with};
use super::name::AssignedName;
use super::nested;
use super::place::{SecretPlace, SecretPlaces};
use super::rules::{is_term, is_word};
use super::text::{BACK, MAX_PREFIX_BYTES, Text, Value, is_prefix_of_quotes, is_quote};
use super::value::{is_code, is_number, is_path, is_placeholder, is_plausible, looks_random, looks_secret};

/// Gap between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// A colon behind a name in quotes: JSON.
    Json,
    /// A colon behind a bare name: YAML, headers, `Debug`.
    Colon,
    /// `=`, `:=`, `=>` and the like.
    Equals,
    /// Blanks behind an option: `--token …`, `"--token", "…"`.
    Flag,
    /// The end of a tag: `<password>…`, `<key>password</key><string>…`.
    Tag,
    /// Words, or none, before quotes: `PASSWORD '…'`, `token string = "…"`.
    Words,
    /// A comma in a list or a call: `("x-api-key", "…")`.
    Comma,
}

/// Signs between a name and its value; the longer of two with one beginning is first.
const OPERATORS: [(&str, Gap); 10] = [
    ("::=", Gap::Equals),
    (":=", Gap::Equals),
    ("?=", Gap::Equals),
    ("+=", Gap::Equals),
    ("=>", Gap::Equals),
    ("=", Gap::Equals),
    ("＝", Gap::Equals),
    ("?:", Gap::Colon),
    (":", Gap::Colon),
    ("：", Gap::Colon),
];

/// The longest type or calls between a name and its value.
const MAX_TYPE_BYTES: usize = 48;

/// The shortest text in a call that is a secret: `password.encode("latin1")`.
const MIN_ARGUMENT_BYTES: usize = 8;

/// First words of functions whose argument is the name of a secret: `get_secret("…")`.
const LOOKUPS: [&[u8]; 9] = [
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

/// Finds the secrets that belong to the name around an anchor.
pub(super) fn find(
    text: Text<'_>,
    anchor: Range<usize>,
    ends_word: bool,
    keys: &RedactKeys,
    places: &mut SecretPlaces,
) {
    if ends_word && text.at(anchor.end).is_ascii_alphabetic() {
        return;
    }
    let Some(name) = AssignedName::around(text, &anchor, places.covered.end) else {
        return;
    };
    let bytes = text.slice(name.start, name.end);
    let operator = operator(text, &name);
    let is_query = matches!(operator, Some((Gap::Equals, _)))
        && !name.is_quoted
        && matches!(text.before(name.start), b'?' | b'&' | b';');
    let may_follow = operator.is_some()
        || !text.at(name.outer.1).is_ascii_graphic()
        || matches!(
            text.at(name.outer.1),
            b'(' | b',' | b';' | b'<' | b'>' | b'/' | b'\\'
        );
    if !may_follow {
        return;
    }
    let meaning = keys
        .meaning(bytes)
        .or_else(|| (is_query && is_query_name(bytes)).then_some(NameMeaning::Key));
    let Some(meaning) = meaning else {
        return;
    };
    let named = Named {
        text,
        keys,
        name,
        meaning,
        is_query,
    };
    if let Some((gap, operator_end)) = operator {
        named.assigned(gap, operator_end, places);
    } else if let Some(place) = named.element().or_else(|| named.behind_blanks()) {
        places.push(place);
    } else {
        nested::siblings(text, &name, meaning, places);
    }
}

/// Names of parameters in the query of a URL that count there only.
fn is_query_name(name: &[u8]) -> bool {
    let name = FoldedName::new(name);
    let is = |word: &str| name.spelled(name.length(), word);
    is("signature").is_some() || [is("sig"), is("key")].contains(&Some(0))
}

/// The operator behind a name, as a gap, and the position behind it.
fn operator(text: Text<'_>, name: &AssignedName) -> Option<(Gap, usize)> {
    // `["token"] = …`, `token[64] = …`, `**token**: …`
    let end = text.run(name.outer.1, 4, |byte| {
        matches!(byte, b'[' | b']' | b'*' | b'0'..=b'9')
    });
    let at = if name.is_quoted {
        text.gap(end).end
    } else {
        text.blanks(end)
    };
    let &(sign, gap) = OPERATORS.iter().find(|(sign, _)| text.has(at, sign))?;
    let behind = at + sign.len();
    let is_other = match sign {
        "=" => matches!(text.at(behind), b'=' | b'~'),
        ":" => matches!(text.at(behind), b':' | b'/'),
        _ => false,
    };
    let gap = if gap == Gap::Colon && name.is_quoted {
        Gap::Json
    } else {
        gap
    };
    // `**token:** …`
    (!is_other).then(|| (gap, behind + if text.has(behind, "** ") { 2 } else { 0 }))
}

/// A name that means a secret.
struct Named<'a> {
    text: Text<'a>,
    keys: &'a RedactKeys,
    name: AssignedName,
    meaning: NameMeaning,
    /// It is the name of a parameter in the query of a URL.
    is_query: bool,
}

impl Named<'_> {
    fn bytes(&self) -> &[u8] {
        self.text.slice(self.name.start, self.name.end)
    }

    /// Says whether the name is written as environment variables are.
    fn is_screaming(&self) -> bool {
        self.bytes().iter().any(u8::is_ascii_uppercase)
            && !self
                .bytes()
                .iter()
                .any(|byte| byte.is_ascii_lowercase() || *byte == b'-')
    }

    /// Confidence that the value behind this gap belongs to the name.
    fn confidence(&self, gap: Gap) -> Confidence {
        match gap {
            Gap::Equals if self.is_query || self.is_screaming() => match self.meaning {
                NameMeaning::Key => Confidence::Explicit,
                NameMeaning::Token | NameMeaning::Secret => Confidence::Structured,
            },
            Gap::Equals if self.text.has(self.name.start, "--") => Confidence::Structured,
            Gap::Words if self.is_screaming() && self.meaning == NameMeaning::Secret => {
                Confidence::Structured
            }
            Gap::Flag => Confidence::Explicit,
            Gap::Json | Gap::Tag => Confidence::Structured,
            Gap::Colon | Gap::Equals | Gap::Words | Gap::Comma => Confidence::Likely,
        }
    }

    /// The secrets behind an operator.
    fn assigned(&self, gap: Gap, operator_end: usize, places: &mut SecretPlaces) {
        let (text, name) = (self.text, &self.name);
        let blanks = text.gap(operator_end);
        // The name of a resource, behind an account: `arn:aws:secretsmanager:…:123456789012:secret:…`.
        let account = text.slice(name.start.saturating_sub(13), name.start);
        let is_resource = account
            .strip_suffix(b":")
            .is_some_and(|account| account.len() == 12 && account.iter().all(u8::is_ascii_digit));
        if text.is_marker(blanks.end) || is_resource {
            return;
        }
        if gap == Gap::Colon && !blanks.has_lines {
            let folded = FoldedName::new(self.bytes());
            let is_authorization = folded.spelled(folded.length(), "authorization").is_some();
            let is_cookie = folded.spelled_or_plural(folded.length(), "cookie").is_some();
            if is_authorization || is_cookie {
                let header = if is_cookie { cookies } else { authorization };
                return header(text, blanks.end)
                    .into_iter()
                    .for_each(|place| places.push(place));
            }
        }
        if let Some((value, confidence)) = self.literal(gap, blanks.end) {
            let judged = value.judged(text);
            if !judged.is_empty() && self.meaning.hides(judged, confidence) {
                places.push(value.place(text));
            }
            return;
        }
        let is_own = || self.keys.verdict(&FoldedName::new(self.bytes())) == KeyVerdict::Secret;
        match gap {
            Gap::Json => match number(text, blanks.end, name).filter(|_| is_own()) {
                Some(place) => places.push(place),
                None => nested::json(text, blanks.end, self.meaning, places),
            },
            Gap::Colon if blanks.has_lines => {
                nested::yaml(text, name.outer.0, blanks.end, self.meaning, places);
            }
            _ if blanks.has_lines => {}
            _ => places.extend(self.bare(gap, operator_end, blanks.end)),
        }
    }

    /// The text in quotes that is the value: at once, behind a type, or in calls.
    fn literal(&self, gap: Gap, start: usize) -> Option<(Value, Confidence)> {
        let text = self.text;
        let confidence = self.confidence(gap);
        if let Some(value) = text.quoted(start) {
            return Some((value, confidence));
        }
        // `Optional[str] = "…"`, `&'static str = "…"`, `Some(Token("…"))`
        let is_code = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'_' | b'&' | b'<' | b'>' | b'[' | b']' | b'|' | b'.' | b'?' | b':' | b'(' | b' '
                )
        };
        let mut end = text.run(start, MAX_TYPE_BYTES, is_code);
        if text.has(end, "'static") {
            end = text.run(end + 7, MAX_TYPE_BYTES, is_code);
        }
        if text.at(end) == b'=' && gap == Gap::Colon {
            return text.quoted(text.blanks(end + 1)).map(|value| (value, confidence));
        }
        let value = text.quoted(text.gap(end).end)?;
        // `Some(b"…")`
        let end = text.run_back(end, MAX_PREFIX_BYTES, is_prefix_of_quotes);
        let functions = text.slice(start, text.run_back(end, MAX_TYPE_BYTES, |byte| byte == b' '));
        let calls = functions.strip_suffix(b"(")?;
        if matches!(calls, b"Some" | b"Ok" | b"Just" | b"Optional") {
            return Some((value, Confidence::Structured));
        }
        let judged = value.judged(text);
        let is_value = judged.len() >= MIN_ARGUMENT_BYTES
            && !calls.split(|byte| *byte == b'(').any(is_lookup)
            && (looks_random(judged) || self.keys.meaning(judged).is_none());
        is_value.then_some((value, Confidence::Likely))
    }

    /// A value without quotes.
    fn bare(&self, gap: Gap, operator_end: usize, start: usize) -> Option<SecretPlace> {
        let text = self.text;
        // Between blanks it may as well be a constant in code.
        let is_tight = start == operator_end
            || !text
                .slice(self.name.outer.1, operator_end)
                .iter()
                .any(|byte| matches!(byte, b' ' | b'\t'));
        let confidence = if is_tight {
            self.confidence(gap)
        } else {
            Confidence::Likely
        };
        let is_meant = confidence != Confidence::Likely;
        let begins_line = matches!(text.before(self.name.start), 0 | b'\n')
            || self
                .name
                .start
                .checked_sub(7)
                .is_some_and(|at| text.has(at, "export "));
        // In a file of variables the whole word is the value; elsewhere code and lists continue behind it.
        let is_line = gap == Gap::Equals && self.is_screaming() && is_tight && begins_line;
        let start = match text.at(start) {
            b'<' => return None,
            b'|' | b'>' if gap == Gap::Colon => below_block(text, start),
            _ => start,
        };
        let value = text.value(start, if is_line { is_word } else { is_term });
        let judged = value.judged(text);
        // It may end a sentence.
        let judged = judged.strip_suffix(b".").unwrap_or(judged);
        let is_harmless = self.meaning == NameMeaning::Token
            && (is_number(judged) || (is_path(judged) && !looks_random(judged)));
        let next = text.at(start + judged.len());
        let continues = matches!(next, b'(' | b'[') || (!is_meant && matches!(next, b'{' | b'<'));
        let is_short_token = is_meant && self.meaning == NameMeaning::Token && is_plausible(judged, 4);
        let is_secret = !is_harmless
            && (self.meaning.hides(judged, confidence) || is_short_token)
            && (is_meant || !judged.starts_with(b"_"))
            && !is_expression(judged, continues, is_meant);
        is_secret.then(|| {
            let end = value.place(text).end;
            SecretPlace::new(value.start, end - usize::from(text.before(end) == b'.'))
        })
    }

    /// The value behind blanks, a comma or a parenthesis.
    fn behind_blanks(&self) -> Option<SecretPlace> {
        let (text, name) = (self.text, &self.name);
        let behind = name.outer.1;
        if text.has(name.start, "--") {
            let start = text.run(name.end, 9, |byte| {
                is_quote(byte) || matches!(byte, b' ' | b',' | b'\\')
            });
            let quoted = text
                .quoted(text.before_quote(start))
                .filter(|quoted| quoted.start == start);
            let is_bare = quoted.is_none();
            let value = quoted.unwrap_or(text.value(start, is_word));
            // Prose speaks of options, too: `use --token to …`.
            let (meaning, confidence) = match self.meaning {
                NameMeaning::Token if is_bare && is_number(value.judged(text)) => return None,
                NameMeaning::Token | NameMeaning::Secret if is_bare => {
                    (NameMeaning::Secret, Confidence::Likely)
                }
                meaning => (meaning, self.confidence(Gap::Flag)),
            };
            let is_argument = start > name.end && text.at(start) != b'-';
            return (is_argument && meaning.hides(value.judged(text), confidence)).then(|| value.place(text));
        }
        match text.at(behind) {
            b'(' => self.called(text.quoted(text.gap(behind + 1).end)?),
            b',' if name.is_quoted => self.listed(text.quoted(text.gap(behind + 1).end)?),
            b' ' | b'\t' if !name.is_quoted => self.worded(text.blanks(behind)),
            _ => None,
        }
    }

    /// The text of a call: `.password("…")`, `set_service_key("…")`, `PASSWORD('…')`.
    fn called(&self, value: Value) -> Option<SecretPlace> {
        let judged = value.judged(self.text);
        // Identities in hexadecimal are looked up by keys.
        let is_random =
            !is_lookup(self.bytes()) && looks_secret(judged) && !judged.iter().all(u8::is_ascii_hexdigit);
        let is_sql = self.is_screaming() && self.meaning == NameMeaning::Secret && !is_placeholder(judged);
        (is_random || is_sql).then(|| value.place(self.text))
    }

    /// The text behind a name in a list, a pair or a call: `["x-api-key", "…"]`, `("DB_PASSWORD", "…")`.
    fn listed(&self, value: Value) -> Option<SecretPlace> {
        let (text, judged) = (self.text, value.judged(self.text));
        let before_blanks = |end| text.run_back(end, BACK, |byte| byte.is_ascii_whitespace());
        let list = before_blanks(self.name.outer.0);
        let is_pair = match text.before(list) {
            b'(' => self.meaning != NameMeaning::Key,
            // In an array of pairs.
            b'[' => matches!(text.before(before_blanks(list - 1)), b'[' | b','),
            _ => false,
        };
        let is_random = looks_random(judged) && !is_placeholder(judged);
        // In a list there are more names than values, and names of secrets are followed by others.
        let is_secret = is_random
            || (is_pair
                && self.meaning.hides(judged, self.confidence(Gap::Comma))
                && self.keys.meaning(judged).is_none());
        is_secret.then(|| value.place(text))
    }

    /// The value behind words: `PASSWORD '…'`, `SET PASSWORD FOR ada = '…'`, `token string = "…"`, `ENV TOKEN …`.
    fn worded(&self, start: usize) -> Option<SecretPlace> {
        let text = self.text;
        let is_user = |byte: u8| {
            byte.is_ascii_alphanumeric() || is_quote(byte) || matches!(byte, b'_' | b'-' | b'.' | b'@' | b'%')
        };
        let words = if text.slice(start, start + 4).eq_ignore_ascii_case(b"for ") {
            text.run(text.blanks(start + 4), BACK, is_user)
        } else {
            start + if text.has(start, "string") { 6 } else { 0 }
        };
        let equals = text.blanks(words);
        let assigned = (words > start && text.at(equals) == b'=')
            .then(|| text.quoted(text.blanks(equals + 1)))
            .flatten();
        let value = assigned.unwrap_or(text.value(start, is_word));
        let judged = value.judged(text);
        // Prose has double quotes behind words.
        let is_literal = text.before(value.start) == b'\'' || self.is_screaming();
        let is_secret = match value.is_quoted() {
            true if assigned.is_some() => self.meaning.hides(judged, self.confidence(Gap::Equals)),
            true if is_literal && self.meaning != NameMeaning::Key => {
                self.meaning.hides(judged, self.confidence(Gap::Words))
            }
            true => false,
            false => {
                // Of `id=…` the name is judged.
                let word = judged.split(|byte| matches!(byte, b'=' | b':')).next();
                let word = word.filter(|word| !is_path(word)).unwrap_or_default();
                looks_secret(word) || (self.is_screaming() && self.meaning.hides(word, Confidence::Likely))
            }
        };
        is_secret.then(|| value.place(text))
    }

    /// The text of the element that has the name, or of the one behind it.
    fn element(&self) -> Option<SecretPlace> {
        let (text, name) = (self.text, &self.name);
        let prefix = text.run_back(name.start, BACK, |byte| {
            super::name::is_name(byte) || byte == b':'
        });
        let (from, confidence) = if name.is_quoted {
            return None;
        } else if text.before(prefix) == b'<' {
            (name.end, self.confidence(Gap::Tag))
        } else if text.has(name.end, "</") {
            let tag = text.run_back(name.start.saturating_sub(1), MAX_ROLE_BYTES, super::name::is_name);
            let confidence = match NameRole::of(text.slice(tag, name.start.saturating_sub(1))) {
                NameRole::Name(confidence) if text.before(name.start) == b'>' => confidence,
                _ => Confidence::Likely,
            };
            let close = text.run(name.end, BACK, |byte| byte != b'>');
            let next = text.gap(close + 1).end;
            (next + usize::from(text.at(next) == b'<'), confidence)
        } else {
            return None;
        };
        let close = text.run(from, BACK, |byte| !matches!(byte, b'<' | b'>'));
        if text.at(close) != b'>' || text.before(close) == b'/' {
            return None;
        }
        nested::content(text, close + 1, |value| self.meaning.hides(value, confidence))
    }
}

/// Says whether the argument of a function, as `vault::get_secret`, is the name of what it returns.
fn is_lookup(function: &[u8]) -> bool {
    let mut words = function.rsplit(|byte| matches!(byte, b':' | b'.' | b' '));
    let name = words.next().unwrap_or_default();
    LOOKUPS.iter().any(|verb| begins_with(name, verb))
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

/// The beginning of a YAML value in the lines below `|` or `>`, at `start`.
fn below_block(text: Text<'_>, start: usize) -> usize {
    let gap = text.gap(text.run(start + 1, 2, |byte| matches!(byte, b'+' | b'-' | b'1'..=b'9')));
    if gap.has_lines { gap.end } else { start }
}
