//! Numbers as people write them: `1,234.50` and `1234.5` are one.

use super::ValueMatch;

/// The number that a text is, in its shortest form; a sign of a currency before it is none of it.
pub(super) fn parse(text: &str) -> Option<String> {
    let text = text.trim_start_matches(['$', '€', '£', '¥']).trim();
    let (number, length, is_sure) = number_at(text)?;
    (length == text.len() && is_sure).then_some(number)
}

/// The best match of a number in a text.
pub(super) fn find(text: &str, wanted: &str) -> Option<ValueMatch> {
    let mut found = None;
    let mut rest = text;
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        let before = text.get(..text.len() - rest.len() + start).unwrap_or_default();
        // A sign belongs to a number that nothing precedes.
        let sign =
            usize::from(before.ends_with('-') && !continues(before.chars().rev().skip(1), Some('0'), "x"));
        let from = before.get(..before.len() - sign).unwrap_or_default();
        let here = text.get(from.len()..).unwrap_or_default();
        let Some((number, length, is_sure)) = number_at(here) else {
            break;
        };
        let after = here.get(length..).unwrap_or_default();
        if number == wanted {
            let is_part =
                continues(from.chars().rev(), Some('0'), "0") || continues(after.chars(), Some('0'), "0");
            found = found.max(Some(if is_sure && !is_part {
                ValueMatch::Normalised
            } else {
                ValueMatch::Part
            }));
        } else if is_in_groups(here.get(..length).unwrap_or_default(), wanted) {
            found = found.max(Some(ValueMatch::Part));
        }
        rest = after;
    }
    found
}

/// Returns whether a number with separators, which may be several, has a number: `100,250` may be two.
fn is_in_groups(text: &str, wanted: &str) -> bool {
    let text = text.trim_start_matches('-');
    text.split(|char: char| !char.is_ascii_digit() && char != '.')
        .filter(|group| group.len() < text.len())
        .any(|group| number_at(group).is_some_and(|(number, ..)| number == wanted))
}

/// The number at the beginning of a text: its shortest form, its length, and `false` where it may be read otherwise.
fn number_at(text: &str) -> Option<(String, usize, bool)> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - unsigned.len();
    let digits = |from: usize| {
        unsigned
            .get(from..)
            .unwrap_or_default()
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count()
    };
    let first = digits(0);
    if first == 0 {
        return None;
    }
    let mut whole = unsigned.get(..first)?.to_owned();
    let mut end = first;
    let mut separator = None;
    // Groups of three digits, all with the same sign between them.
    while first <= 3
        && let Some(sign) = unsigned.get(end..)?.chars().next()
    {
        let place = end + sign.len_utf8();
        let is_group = ",.'’_ \u{a0}\u{202f}".contains(sign)
            && separator.is_none_or(|known| known == sign)
            && digits(place) == 3;
        if !is_group {
            break;
        }
        // One group behind a full stop is decimals.
        if sign == '.'
            && separator.is_none()
            && digits(place + 4) != 3
            && !unsigned.get(place + 3..)?.starts_with(',')
        {
            break;
        }
        whole.push_str(unsigned.get(place..place + 3)?);
        (separator, end) = (Some(sign), place + 3);
    }
    let mark = unsigned
        .get(end..)?
        .chars()
        .next()
        .filter(|mark| ['.', ','].contains(mark) && Some(*mark) != separator);
    // Behind a comma are cents, or there is another number.
    let decimals = mark.map_or(0, |mark| {
        digits(end + 1) * usize::from(mark == '.' || digits(end + 1) <= 2)
    });
    // `3,50` may be two numbers, and so may `12 345`.
    let is_sure = separator != Some(' ') && (mark != Some(',') || decimals == 0 || separator == Some('.'));
    let fraction = if decimals > 0 {
        unsigned.get(end + 1..end + 1 + decimals)?
    } else {
        ""
    };
    let length = if decimals > 0 { end + 1 + decimals } else { end };
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let minus = if sign > 0 { "-" } else { "" };
    Some((format!("{minus}{whole}{point}{fraction}"), sign + length, is_sure))
}

/// Returns whether the characters behind an edge of a value continue it. With digits in it, a sign between two words
/// joins them, too: `12` is neither in `12.5` nor in `A-12`.
pub(super) fn continues(mut behind: impl Iterator<Item = char>, edge: Option<char>, value: &str) -> bool {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let Some(next) = behind.next().filter(|_| edge.is_some_and(is_word)) else {
        return false;
    };
    let has_digits = value.bytes().any(|byte| byte.is_ascii_digit());
    is_word(next) || has_digits && "-./:,@+".contains(next) && behind.next().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_however_it_is_written() {
        for (text, number) in [
            ("1,234.50", "1234.5"),
            ("1234.5", "1234.5"),
            ("$1,234.50", "1234.5"),
            ("1.234,50", "1234.5"),
            ("1'234.50", "1234.5"),
            ("1_234", "1234"),
            ("12.0", "12"),
            ("-7.10", "-7.1"),
            ("1,234,567", "1234567"),
            ("0.125", "0.125"),
            ("1.234", "1.234"),
            ("007", "007"),
        ] {
            assert_eq!(parse(text).as_deref(), Some(number), "{text}");
        }
        for text in ["3,50", "12 345", "1.2.3", "12a", "", "$", "1,2,3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_part_of_a_number_is_not_found() {
        let (whole, part) = (Some(ValueMatch::Normalised), Some(ValueMatch::Part));
        for (text, expected) in [
            ("a total of 1,234.50.", whole),
            ("[1234.50]", whole),
            ("(1234.50 USD)", whole),
            ("A,1234.5,250", part),
            ("100,234.5", None),
            ("1234.505", None),
            ("11234.5", None),
            ("-1234.5", None),
            ("A-1234.5", part),
            ("1234.50.2", part),
            ("1234.5k", part),
            ("1 234,50", part),
            ("5,1234.5", part),
        ] {
            assert_eq!(find(text, "1234.5"), expected, "{text}");
        }
        for text in ["A,100,250", "100,250.00", "250,100"] {
            assert_eq!(find(text, "250"), part, "{text}");
        }
    }
}
