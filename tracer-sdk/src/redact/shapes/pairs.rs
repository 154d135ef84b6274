//! Values beside their names: `{"name": "password", "value": "…"}`, `name="token" value="…"`, and in any order.

use std::ops::Range;

use super::MAX_NAME_BYTES;
use super::SecretPlace;
use super::elements;
use super::value_places::{Gap, Quoted};
use crate::redact::byte_set::ByteSet;
use crate::redact::keys::RedactKeys;
use crate::redact::name_words::{NameMeaning, NameRole};
use crate::redact::text::Text;
use crate::redact::values::{MAX_JUDGED, is_number, is_plausible};

/// The number of members that are looked at behind the name, and before it.
const MAX_MEMBERS: usize = 4;
const MAX_MEMBERS_BEFORE: usize = 3;

/// The most bytes between two members, and of a member that is passed.
const MAX_BETWEEN: usize = 64;

/// The longest name of a member that has a role.
const MAX_ROLE_BYTES: usize = 24;

/// The longest value that is looked for before its name.
const MAX_BEFORE_BYTES: usize = 200;

/// How many headers of a part of a form are passed, and how long they are.
const MAX_HEADERS: usize = 4;
const MAX_HEADER_BYTES: usize = 128;

/// The work of deciding about the field of a form, beside what is looked at for it.
const FORM_WORK: usize = 25;

/// The values beside the name that is at `start`, the value of the member `named`.
pub(super) fn find(
    text: &Text<'_>,
    named: Range<usize>,
    role: NameRole,
    start: usize,
    is_markup: bool,
    keys: &RedactKeys,
) -> Option<SecretPlace> {
    let quoted = Quoted::within(text, start, MAX_NAME_BYTES + 1);
    let (name_start, name_end) = match &quoted {
        Some(quoted) => (quoted.start, quoted.seen),
        None => (start, text.run_within(start, MAX_NAME_BYTES + 1, is_bare_name)),
    };
    if name_end == name_start || name_end - name_start > MAX_NAME_BYTES {
        return None;
    }
    let says = text.class(name_start, name_end, keys)?;
    let behind = match quoted {
        Some(quoted) => quoted.behind(text)?,
        None => name_end,
    };
    let naming = NamingMember {
        key: text.slice(named.start, named.end),
        role,
        says,
        keys,
    };
    let mut places = Vec::new();
    naming.values_before(text, named.start, is_markup, &mut places);
    places.reverse();
    let end = naming.values_after(text, behind, is_markup, &mut places);
    if is_markup {
        let close = text.run_within(end, MAX_BETWEEN, |byte| byte.is_ascii_whitespace());
        let content = elements::behind_tag(text, named.start, close, says, keys)
            .or_else(|| form_field(text, named.start, behind, says));
        places.extend(content.map(|content| content.start..content.end));
    }
    SecretPlace::apart(places)
}

/// The values in YAML that are below the name of a secret: `credentials:` before `value: …`, which begins at `start`.
pub(super) fn below(
    text: &Text<'_>,
    start: usize,
    says: NameMeaning,
    keys: &RedactKeys,
) -> Option<SecretPlace> {
    let naming = NamingMember {
        key: b"",
        role: NameRole::Name,
        says,
        keys,
    };
    let mut places = Vec::new();
    naming.values_after(text, start, false, &mut places);
    SecretPlace::apart(places)
}

/// The value of a field of a form that consists of parts: `Content-Disposition: form-data; name="password"`, an empty line, the
/// value. `member` is where `name` begins, and `behind` where its value has ended.
fn form_field(text: &Text<'_>, member: usize, behind: usize, says: NameMeaning) -> Option<SecretPlace> {
    const KIND: &[u8] = b"form-data; ";
    text.spend(FORM_WORK);
    if !member
        .checked_sub(KIND.len())
        .is_some_and(|start| text.has_ignoring_case(start, KIND))
    {
        return None;
    }
    let mut position = behind;
    for _ in 0..MAX_HEADERS {
        let end = text.run_within(position, MAX_HEADER_BYTES, |byte| {
            !matches!(byte, b'\n' | b'\r' | b'\\')
        });
        let is_escaped = text.at(end) == b'\\';
        let gap = Gap::from(text, end).filter(|gap| gap.has_lines)?;
        let (line_break, breaks) = if is_escaped {
            (&b"\\n"[..], 2)
        } else {
            (&b"\n"[..], 1)
        };
        let lines = text
            .slice(end, gap.end)
            .windows(breaks)
            .filter(|part| *part == line_break);
        if lines.count() < 2 {
            position = gap.end;
            continue;
        }
        let ends = |byte: u8| matches!(byte, b'\n' | b'\r') || (is_escaped && matches!(byte, b'\\' | b'"'));
        let is_value = |byte: u8| !ends(byte);
        let seen = text.run_within(gap.end, MAX_JUDGED, is_value);
        let is_secret =
            seen > gap.end && !text.has(gap.end, b"--") && says.hides_meant(text.judged(gap.end, seen));
        return is_secret.then(|| SecretPlace::new(gap.end, text.run(seen, is_value)));
    }
    None
}

/// A member whose text names what a neighbour holds.
struct NamingMember<'a> {
    key: &'a [u8],
    role: NameRole,
    says: NameMeaning,
    keys: &'a RedactKeys,
}

fn is_bare_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || !byte.is_ascii()
}

impl NamingMember<'_> {
    /// The secrets in the members that begin at `behind`, and where those end that were passed.
    fn values_after(
        &self,
        text: &Text<'_>,
        behind: usize,
        is_markup: bool,
        places: &mut Vec<Range<usize>>,
    ) -> usize {
        let mut position = behind;
        for _ in 0..MAX_MEMBERS {
            // Behind another one of the same name is what that names.
            let Some(after) = MemberAfter::find(text, position) else {
                return position;
            };
            let name = &after.name;
            if text.slice(name.start, name.end) == self.key {
                return position;
            }
            let role = text.role(name.start, name.end, is_markup, self.keys);
            if role.is_value() {
                places.extend(self.secret_in(text, &after, role));
            }
            let Some(behind) = after.behind(text) else {
                return position;
            };
            position = behind;
        }
        position
    }

    /// The secret that is the value of `member`, which has this role.
    fn secret_in(&self, text: &Text<'_>, member: &MemberAfter, role: NameRole) -> Option<Range<usize>> {
        static VALUE: ByteSet = ByteSet::all_but(b" \t\n\r\x0c\"'`<>\\,})]");
        if let Some(quoted) = &member.quoted {
            let is_secret = quoted.seen > quoted.start && self.names(quoted.judged(text), role);
            return is_secret.then(|| quoted.start..quoted.end(text));
        }
        let start = member.value;
        let is_value = |byte| VALUE.has(byte);
        let seen = text.run_within(start, MAX_JUDGED, is_value);
        let value = text.judged(start, seen);
        let is_secret = seen > start && self.names(value, role) && is_plausible(value, 6);
        is_secret.then(|| start..text.run(seen, is_value))
    }

    /// Whether `value`, of a member with this role, is the secret.
    fn names(&self, value: &[u8], role: NameRole) -> bool {
        let is_number = self.says == NameMeaning::Token && is_number(value);
        !is_number && role.holds_secret(value, self.role, self.says)
    }

    /// The secrets in the members before the one whose name begins at `member`, the last first.
    fn values_before(&self, text: &Text<'_>, member: usize, is_markup: bool, places: &mut Vec<Range<usize>>) {
        let mut member = member;
        for _ in 0..MAX_MEMBERS_BEFORE {
            let Some(before) = MemberBefore::find(text, member, is_markup) else {
                return;
            };
            let key = text.slice(before.name.start, before.name.end);
            if key == self.key {
                return;
            }
            let role = text.role(before.name.start, before.name.end, false, self.keys);
            let is_secret = |value: &Range<usize>| {
                role.is_value()
                    && !value.is_empty()
                    && text.before_marker(value.start, value.end) == value.end
                    && self.names(text.judged(value.start, value.end), role)
            };
            places.extend(before.value.filter(is_secret));
            member = before.name.start;
        }
    }
}

/// A member directly behind another one.
struct MemberAfter {
    name: Range<usize>,
    /// Where its value begins.
    value: usize,
    quoted: Option<Quoted>,
}

impl MemberAfter {
    fn find(text: &Text<'_>, position: usize) -> Option<Self> {
        let start = between(text, position);
        let end = text.run_within(start, MAX_ROLE_BYTES + 1, is_bare_name);
        if end == start || end - start > MAX_ROLE_BYTES {
            return None;
        }
        let separator = text.run_within(end, 8, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b' '));
        if !matches!(text.at(separator), b':' | b'=') {
            return None;
        }
        let arrow = usize::from(text.at(separator + 1) == b'>');
        let value = Gap::from(text, separator + 1 + arrow)?.end;
        Some(Self {
            name: start..end,
            value,
            quoted: Quoted::at(text, value),
        })
    }

    /// The position behind its value, when that is not too long.
    fn behind(&self, text: &Text<'_>) -> Option<usize> {
        match &self.quoted {
            Some(quoted) => quoted.behind(text),
            None => Some(text.run_within(self.value, MAX_BETWEEN, is_bare_name)),
        }
    }
}

/// A member directly before another one.
struct MemberBefore {
    name: Range<usize>,
    /// Its value, when that is quoted.
    value: Option<Range<usize>>,
}

impl MemberBefore {
    fn find(text: &Text<'_>, member: usize, is_markup: bool) -> Option<Self> {
        let is_around = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\');
        // Attributes are separated by blanks.
        let blanks = text.run_before(member, MAX_BETWEEN, |byte| byte.is_ascii_whitespace());
        let value_end = if is_markup && blanks < member && matches!(text.before(blanks), b'"' | b'\'') {
            blanks
        } else {
            let comma = text.run_before(blanks, MAX_BETWEEN, is_around);
            if text.before(comma) != b',' {
                return None;
            }
            text.run_before(comma - 1, MAX_BETWEEN, |byte| byte.is_ascii_whitespace())
        };
        let quote = text.before(value_end);
        let (value_start, value) = if matches!(quote, b'"' | b'\'') {
            let end = text.run_before(value_end - 1, 8, |byte| byte == b'\\');
            let start = text.run_before(end, MAX_BEFORE_BYTES, |byte| byte != quote && byte != b'\n');
            if text.before(start) != quote {
                return None;
            }
            (start - 1, Some(start..end))
        } else {
            let start = text.run_before(value_end, MAX_BETWEEN, is_bare_name);
            (start, None)
        };
        let separator = text.run_before(value_start, MAX_BETWEEN, |byte| {
            byte.is_ascii_whitespace() || byte == b'\\'
        });
        if !matches!(text.before(separator), b':' | b'=') {
            return None;
        }
        let name_end = text.run_before(separator - 1, MAX_BETWEEN, is_around);
        let name = text.run_before(name_end, MAX_ROLE_BYTES, is_bare_name);
        Some(Self {
            name: name..name_end,
            value,
        })
    }
}

/// Where the next member begins: behind blanks, line breaks, commas and quotes.
fn between(text: &Text<'_>, position: usize) -> usize {
    static BETWEEN: ByteSet = ByteSet::of(b" \t\n\r\x0c,;\"'\\`");
    let is_between = |byte| BETWEEN.has(byte);
    let mut end = text.run_within(position, MAX_BETWEEN, is_between);
    // The letter of an escaped line break.
    while text.before(end) == b'\\'
        && matches!(text.at(end), b'n' | b'r' | b't')
        && end - position < MAX_BETWEEN
    {
        end = text.run_within(end + 1, MAX_BETWEEN, is_between);
    }
    end
}
