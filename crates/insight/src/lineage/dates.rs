//! Dates as people write them: `2026-11-29`, `29 Nov 2026` and `November 29th, 2026` are one.

use super::ValueMatch;
use super::numbers::continues;

/// A day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    year: u32,
    month: u32,
    day: u32,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The days that a text may be, if it is nothing else.
pub(super) fn parse(text: &str) -> [Option<Date>; 2] {
    let words = words(text);
    match words.as_slice() {
        [(0, _), _, (start, last)] if start + last.len() == text.len() => readings(&words, text),
        _ => [None, None],
    }
}

/// The best match of a day in a text; of days that either may be meant, none is more than a part.
pub(super) fn find(text: &str, wanted: [Option<Date>; 2]) -> Option<ValueMatch> {
    let [first @ Some(_), second] = wanted else {
        return None;
    };
    let words = words(text);
    let found = words.windows(3).filter_map(|three| match readings(three, text) {
        [date, None] if date == first && second.is_none() && !is_joined(three, text) => {
            Some(ValueMatch::Normalised)
        }
        both => both
            .iter()
            .flatten()
            .any(|date| wanted.contains(&Some(*date)))
            .then_some(ValueMatch::Part),
    });
    found.max()
}

/// Returns whether the words around a day continue it: `INV-2026-11-29-7`.
fn is_joined(words: &[(usize, &str)], text: &str) -> bool {
    let (Some((start, first)), Some((end, last))) = (words.first(), words.last()) else {
        return false;
    };
    let before = text.get(..*start).unwrap_or_default();
    let after = text.get(end + last.len()..).unwrap_or_default();
    // Cells of a table and names of fields may stand next to it, and a time behind it.
    let is_apart = [',', ':'];
    let is_time = last.contains(['T', 't']);
    !before.ends_with(is_apart) && continues(before.chars().rev(), first.chars().next(), "0")
        || !is_time && !after.starts_with(is_apart) && continues(after.chars(), last.chars().next_back(), "0")
}

/// The words and numbers of a text, each with its place.
fn words(text: &str) -> Vec<(usize, &str)> {
    let words = text
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
        .collect()
}

/// The days that three words may be: `03/04/2026` is one of two.
fn readings(words: &[(usize, &str)], text: &str) -> [Option<Date>; 2] {
    let &[(start, one), (middle, two), (end, three)] = words else {
        return [None, None];
    };
    let sign = text.get(start + one.len()..middle).unwrap_or_default();
    let second = text.get(middle + two.len()..end).unwrap_or_default();
    let is_joined = |sign: &str| ["-", "/", ".", " ", ", ", ". "].contains(&sign);
    if !is_joined(sign) || !is_joined(second) {
        return [None, None];
    }
    // A time may follow the day.
    let last = three.split(['T', 't']).next().unwrap_or_default();
    let [first, middle, last] = [one, two, last].map(number);
    match (first, middle, last) {
        (Some((year, 4)), Some((month, _)), Some((day, _))) if sign == second => {
            [date(year, month, day), None]
        }
        (Some((day, _)), None, Some((year, 4))) => {
            [month(two).and_then(|month| date(year, month, day)), None]
        }
        (None, Some((day, _)), Some((year, 4))) => {
            [month(one).and_then(|month| date(year, month, day)), None]
        }
        (Some((one, _)), Some((two, _)), Some((year, 4))) if sign == second => {
            let [day_first, month_first] = [
                date(year, two, one),
                date(year, one, two).filter(|_| one != two && sign != "."),
            ];
            if day_first.is_some() {
                [day_first, month_first]
            } else {
                [month_first, None]
            }
        }
        _ => [None, None],
    }
}

/// A number and the number of its digits, without the ending of an ordinal.
fn number(word: &str) -> Option<(u32, usize)> {
    let digits = word.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let is_ordinal = ["", "st", "nd", "rd", "th"].contains(&word.get(digits.len()..)?);
    (is_ordinal && digits.len() <= 4)
        .then(|| Some((digits.parse().ok()?, digits.len())))
        .flatten()
}

fn month(word: &str) -> Option<u32> {
    let word = word.to_lowercase();
    let place = MONTHS
        .iter()
        .position(|month| word.len() >= 3 && month.starts_with(&word))?;
    u32::try_from(place + 1).ok()
}

fn date(year: u32, month: u32, day: u32) -> Option<Date> {
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(Date { year, month, day })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_one_however_it_is_written() {
        let day = parse("2026-11-29");
        assert!(matches!(day, [Some(_), None]));
        for text in [
            "2026/11/29",
            "29 Nov 2026",
            "Nov 29, 2026",
            "November 29th, 2026",
            "29.11.2026",
            "11/29/2026",
            "29/11/2026",
        ] {
            assert_eq!(parse(text), day, "{text}");
            assert_eq!(
                find(&format!("due on {text}, at noon"), day),
                Some(ValueMatch::Normalised),
                "{text}"
            );
        }
        assert_eq!(find("at 2026-11-29T10:00:00Z", day), Some(ValueMatch::Normalised));
        assert_eq!(find("2026-11-28", day), None);
        for text in [
            "2026-13-01",
            "29 Foo 2026",
            "1.2.3",
            "2026-11",
            "on 2026-11-29",
            "",
        ] {
            assert_eq!(parse(text), [None, None], "{text}");
        }
    }

    #[test]
    fn a_date_in_two_readings_is_no_evidence() {
        for (one, other) in [
            ("03/04/2026", "2026-04-03"),
            ("03/04/2026", "2026-03-04"),
            ("03/04/2026", "03/04/2026"),
        ] {
            assert_eq!(find(one, parse(other)), Some(ValueMatch::Part), "{one} {other}");
            assert_eq!(find(other, parse(one)), Some(ValueMatch::Part), "{other} {one}");
        }
        assert_eq!(find("03.04.2026", parse("2026-03-04")), None);
    }
}
