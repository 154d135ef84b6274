//! Text that is safe to show and fits where it is put.
//!
//! A trace holds whatever a model or a tool said. Nothing of it may move the cursor, retitle the window or reverse the
//! reading direction, so control characters become visible signs before a width is ever measured.

use std::borrow::Cow;
use std::path::Path;

use unicode_width::UnicodeWidthChar;

use crate::units;

/// Marker of text that was cut.
pub const ELLIPSIS: &str = "…";

/// The text with every control character replaced by a visible sign.
///
/// ```
/// use tracer_insight::text::printable;
///
/// assert_eq!(printable("plain"), "plain");
/// assert_eq!(printable("\x1b]0;owned\x07"), "␛]0;owned␇");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|char| visible(char) == char) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.chars().map(visible).collect())
    }
}

/// The sign for a character: itself, unless a terminal would obey it instead of showing it.
pub(crate) fn visible(char: char) -> char {
    match char {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}' // control characters of one byte, `CSI` among them
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
        | '\u{2028}' | '\u{2029}' // line and paragraph separators
        | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}

/// Number of terminal columns that the text takes at most: the sum of its characters, so that a text cut or joined
/// anywhere, before or after it is made [`printable`], has the width of its parts.
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Most terminal columns that a character takes, whatever its neighbours, made visible as [`printable`] does.
pub fn columns_of(char: char) -> usize {
    match visible(char) {
        // Makes the sign before it an emoji, which is one column wider.
        '\u{fe0f}' => 1,
        other => other.width().unwrap_or(1),
    }
}

/// The text on one line: every run of white space becomes one space. Reads no further than `limit` characters.
///
/// ```
/// use tracer_insight::text::one_line;
///
/// assert_eq!(one_line("  Draft\n\ta reply ", 80), "Draft a reply");
/// assert_eq!(one_line("abcdef", 3), "abc…");
/// ```
pub fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        for char in word.chars() {
            if length >= limit {
                line.push_str(ELLIPSIS);
                return line;
            }
            line.push(char);
            length += 1;
        }
    }
    line
}

/// The text, cut to at most `columns` with an ellipsis.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(width(ELLIPSIS)) else {
        return Cow::Borrowed("");
    };
    Cow::Owned(start(text, room).trim_end().to_owned() + ELLIPSIS)
}

/// As much of the beginning of the text as takes at most `columns`.
pub fn start(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text
        .char_indices()
        .find(|(_, char)| {
            used += columns_of(*char);
            used > columns
        })
        .map_or(text.len(), |(position, _)| position);
    text.get(..end).unwrap_or_default()
}

/// The beginning of a text, at most `bytes` bytes.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The end of a text, at most `bytes` bytes.
pub fn ending(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..=text.len()).find(|start| text.is_char_boundary(*start));
    text.get(start.unwrap_or(0)..).unwrap_or_default()
}

/// The text, made printable, in lines of at most `columns`, broken between words where that is possible; white space is one
/// space.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let paragraphs = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    let paragraphs = paragraphs.filter(|line| !line.is_empty());
    paragraphs
        .flat_map(|line| wrap_as_it_is(&line, columns))
        .collect()
}

/// One line of text, made printable, in lines of at most `columns`, broken after a space where that is possible; its spaces stay.
pub(crate) fn wrap_as_it_is(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let text = printable(text);
    let mut rest = text.trim_end();
    let mut lines = Vec::new();
    loop {
        let fitting = start(rest, columns);
        if fitting.len() == rest.len() {
            lines.push(rest.to_owned());
            return lines;
        }
        let is_between_words = rest
            .get(fitting.len()..)
            .is_some_and(|next| next.starts_with(' '));
        let indent = fitting.len() - fitting.trim_start().len();
        let cut = match fitting.trim_start().rfind(' ') {
            Some(space) if !is_between_words => indent + space + 1,
            _ => fitting.len(),
        };
        let (line, next) = rest.split_at(cut);
        lines.push(line.trim_end().to_owned());
        rest = next.trim_start_matches(' ');
    }
}

/// A number and its noun, `1 run`, `2 runs`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", units::grouped(number))
}

/// The path with the home directory as `~`.
pub fn path_below_home(path: &Path) -> String {
    // A home that is the root directory would make every path one below it.
    let home = std::env::home_dir().filter(|home| home.parent().is_some());
    match home.and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned())) {
        Some(rest) => Path::new("~").join(rest).display().to_string(),
        None => path.display().to_string(),
    }
}

/// The text as a shell takes it.
pub fn shell_quoted(text: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "/._-+:@%,=".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Numbers of steps, neighbours joined: `#4–#6, #9`.
pub fn step_ranges(numbers: &[usize]) -> String {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => spans.push((number, number)),
        }
    }
    let ranges: Vec<String> = spans
        .into_iter()
        .map(|(start, end)| {
            if start == end {
                format!("#{start}")
            } else {
                format!("#{start}–#{end}")
            }
        })
        .collect();
    ranges.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_character_that_a_terminal_obeys_survives() {
        let hostile = "\x1b[2J\u{9b}31m\r\u{202e}gnp.exe\u{7f}\u{feff}\u{2028}";
        assert_eq!(printable(hostile), "␛[2J�31m␍�gnp.exe␡��");
    }

    #[test]
    fn a_cut_is_marked_and_wide_characters_count_twice() {
        assert_eq!(fit("search_kb", 9), "search_kb");
        assert_eq!(fit("search_kb", 8), "search_…");
        assert_eq!(fit("検索する", 6), "検索…");
        assert_eq!(fit("anything", 0), "");
    }

    #[test]
    fn long_words_are_broken_and_others_are_not() {
        assert_eq!(
            wrap("the refund API answered 503", 12),
            ["the refund", "API answered", "503"]
        );
        assert_eq!(wrap("aaaaaaaaaaaa", 8), ["aaaaaaaa", "aaaa"]);
        assert_eq!(wrap("one\n\ntwo", 20), ["one", "two"]);
    }

    /// Arabic letters that a terminal may draw as one, signs that a selector makes wider, joined emoji.
    const JOINED: [&str; 12] = [
        "\u{644}", "\u{627}", "\u{64b}", "\u{1af1}", "\u{feff}", "☂", "\u{fe0f}", "\u{fe0e}", "1",
        "\u{20e3}", "👩", "\u{200d}",
    ];

    proptest! {
        #[test]
        fn a_width_is_the_sum_of_its_parts_and_no_less_than_is_drawn(
            texts in prop::collection::vec(prop_oneof![prop::sample::select(&JOINED[..]).prop_map(str::to_owned), any::<char>().prop_map(String::from)], 0..40),
        ) {
            let joined = printable(&texts.concat()).into_owned();
            let sum: usize = texts.iter().map(|text| width(text)).sum();
            prop_assert_eq!(width(&joined), sum);
            prop_assert!(unicode_width::UnicodeWidthStr::width(joined.as_str()) <= sum);
        }

        #[test]
        fn what_is_fitted_fits(text in prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter), columns in 0usize..40) {
            let shown = printable(&text);
            prop_assert!(width(&fit(&shown, columns)) <= columns);
        }

        #[test]
        fn what_is_printable_stays_so(text in prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter)) {
            let once = printable(&text).into_owned();
            prop_assert_eq!(printable(&once), once.as_str());
        }
    }
}
