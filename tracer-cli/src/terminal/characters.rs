//! Characters that a terminal can show: where it knows only ASCII, a letter takes the place of every sign.

use std::borrow::Cow;

use tracer_insight::text;

/// The characters that are shown as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    /// All.
    All,
    /// All but the signs of this tool, which fonts of old terminals lack.
    PlainSigns,
    /// ASCII only: the terminal would take the bytes of any other for something else.
    Ascii,
}

impl Characters {
    /// Reads the locale and `TERM` of a terminal; a file or a pipe takes all characters.
    pub fn from_environment(is_terminal: bool) -> Self {
        if !is_terminal {
            return Self::All;
        }
        let variable = |name: &str| std::env::var(name).ok();
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .filter_map(variable)
            .find(|locale| !locale.is_empty());
        Self::of_terminal(locale.as_deref(), variable("TERM").as_deref())
    }

    /// An unknown locale counts as UTF-8, as it is nearly everywhere.
    fn of_terminal(locale: Option<&str>, term: Option<&str>) -> Self {
        let is_utf_8 = |locale: &str| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        };
        match locale {
            Some(locale) if !is_utf_8(locale) => Self::Ascii,
            _ if term == Some("dumb") => Self::PlainSigns,
            _ => Self::All,
        }
    }

    /// The text as it is shown; it takes as many columns as before.
    pub fn shown(self, line: &str) -> Cow<'_, str> {
        if self == Self::All || line.is_ascii() {
            return Cow::Borrowed(line);
        }
        let mut shown = String::with_capacity(line.len());
        for char in line.chars() {
            match plain(char) {
                Some(sign) => shown.push(sign),
                None if self == Self::PlainSigns || char.is_ascii() => shown.push(char),
                None => shown.extend(std::iter::repeat_n('?', text::columns_of(char))),
            }
        }
        Cow::Owned(shown)
    }
}

/// The letter for a sign of this tool.
fn plain(char: char) -> Option<char> {
    Some(match char {
        '✓' => '+',
        '✗' | '×' => 'x',
        '●' | '✦' => '*',
        '◌' => 'o',
        '⟳' => '@',
        '⚒' | '→' | '›' | '▸' => '>',
        '‹' => '<',
        '◆' => '=',
        '…' => '~',
        '·' | '–' => '-',
        'µ' => 'u',
        '█' => '#',
        '░' => ':',
        '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' => '|',
        // The signs for control characters.
        '\u{2400}'..='\u{2421}' => '^',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracer_insight::text::width;

    #[test]
    fn signs_have_letters_of_the_same_width() {
        let line = "✗ 日本  ⚒ search… → 5 µs";
        assert_eq!(Characters::All.shown(line), line);
        assert_eq!(Characters::PlainSigns.shown(line), "x 日本  > search~ > 5 us");
        assert_eq!(Characters::Ascii.shown(line), "x ????  > search~ > 5 us");
        assert_eq!(width(&Characters::Ascii.shown(line)), width(line));
    }

    #[test]
    fn the_locale_and_the_terminal_decide() {
        let detect = Characters::of_terminal;
        assert_eq!(detect(Some("de_DE.UTF-8"), Some("xterm")), Characters::All);
        assert_eq!(detect(None, Some("xterm")), Characters::All);
        assert_eq!(detect(Some("C.utf8"), Some("dumb")), Characters::PlainSigns);
        assert_eq!(detect(Some("C"), Some("xterm")), Characters::Ascii);
        assert_eq!(detect(Some("de_DE.ISO-8859-1"), None), Characters::Ascii);
    }
}
