//! Values of a trace in Markdown: shown as code, so that nothing in them formats, links, mentions or breaks out.
//!
//! Inside a code span Markdown obeys nothing but the backtick, a table nothing but the pipe and the line's end, and no
//! surface makes links or mentions of code. So a value that has none of the three cannot do anything.

use crate::text;

/// A longer value is cut: names differ in their first words.
const MAX_LENGTH: usize = 80;
/// A longer line of output is cut.
const MAX_LINE_LENGTH: usize = 160;

/// The value in a code span, on one line, cut to 80 columns.
///
/// ```
/// use tracer_insight::markdown::code;
///
/// assert_eq!(code("search_kb"), "`search_kb`");
/// assert_eq!(code("a`b|c\n# d"), "`aˋb∣c␊# d`");
/// assert_eq!(code(""), "(empty)");
/// ```
pub fn code(value: &str) -> String {
    // The part that is cut off anyway is not read: a name may be as long as the disk allows.
    let start: String = value.chars().take(MAX_LENGTH + 1).collect();
    let shown: String = text::fit(&text::printable(&start), MAX_LENGTH)
        .chars()
        .map(alike)
        .collect();
    if shown.trim().is_empty() {
        return "(empty)".to_owned();
    }
    format!("`{shown}`")
}

/// Lines of output in a fenced block. None begins with what was output: a CI server obeys some beginnings.
pub fn block<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut block = vec!["```text".to_owned()];
    block.extend(lines.into_iter().map(|line| {
        let start: String = line.chars().take(MAX_LINE_LENGTH + 1).collect();
        let printable = text::printable(&start);
        let line: String = text::fit(&printable, MAX_LINE_LENGTH)
            .chars()
            .map(alike)
            .collect();
        format!("│ {line}")
    }));
    block.push("```".to_owned());
    block
}

/// Commands in a fenced block, each whole however long it is, up to what a command line may sensibly be.
pub fn commands<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const MAX_COMMAND_LENGTH: usize = 1_000;
    let mut block = vec!["```sh".to_owned()];
    block.extend(lines.into_iter().map(|line| {
        let start: String = line.chars().take(MAX_COMMAND_LENGTH + 1).collect();
        let printable = text::printable(&start);
        // A backtick in a command stays what it is; only a line of backticks could close the block.
        let line = text::fit(&printable, MAX_COMMAND_LENGTH).into_owned();
        if line.trim_start().starts_with("```") {
            line.chars().map(alike).collect()
        } else {
            line
        }
    }));
    block.push("```".to_owned());
    block
}

/// The character, or one that looks alike where Markdown would obey it.
fn alike(char: char) -> char {
    match char {
        '`' => '\u{2cb}',
        '|' => '\u{2223}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hostile_names_stay_what_they_are_called() {
        // gate, *Report*
        for (name, shown) in [
            ("@everyone", "`@everyone`"),
            ("[a](https://evil.example)", "`[a](https://evil.example)`"),
            ("x\r\n# Heading", "`x␍␊# Heading`"),
            ("</details><script>", "`</details><script>`"),
            ("| cell | cell |", "`∣ cell ∣ cell ∣`"),
            ("```\n**b**", "`ˋˋˋ␊**b**`"),
            ("\u{202e}txt.exe", "`�txt.exe`"),
            ("  \t", "`  ␉`"),
            ("   ", "(empty)"),
        ] {
            assert_eq!(code(name), shown);
        }
    }

    #[test]
    fn a_long_value_is_cut_and_marked() {
        let shown = code(&"a".repeat(100_000));
        assert_eq!(shown.chars().count(), MAX_LENGTH + 2);
        assert!(shown.ends_with("…`"));
    }

    proptest! {
        #[test]
        fn a_value_keeps_to_its_code_span(value in any::<String>()) {
            let shown = code(&value);
            let inner = shown.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            prop_assert!(inner.map_or(shown == "(empty)", |inner| !inner.contains(['`', '|', '\n', '\r'])));
        }

        #[test]
        fn output_cannot_close_its_block(lines in prop::collection::vec(any::<String>(), 0..4)) {
            let block = block(lines.iter().map(String::as_str));
            prop_assert_eq!(block.len(), lines.len() + 2);
            for line in &block[1..block.len() - 1] {
                prop_assert!(!line.contains(['`', '\n', '\r']));
            }
        }
    }
}
