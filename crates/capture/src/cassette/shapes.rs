//! Shapes of identifiers, times, paths and ports.
//!
//! These differ between two recordings of the same conversation.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Marks at the beginning and the end of an identifier that was found; no text of a request has them by chance.
pub(super) const ID_OPEN: &str = "‹id:";
pub(super) const CLOSE: char = '›';

const TIME: &str = "‹time›";
const PATH: &str = "‹path›";
/// Replacement of a text that a rule of the user masks.
const MASKED: &str = "‹masked›";

const MONTH: &str = "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)";
const DAY: &str = "(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?";
const CLOCK: &str =
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[AaPp][Mm]\b)?(?: ?(?:UTC|GMT|Z|[+-]\d{2}:?\d{2})\b)?";

/// An expression that is a constant of this file, and compiles: the tests use each.
#[expect(
    clippy::expect_used,
    reason = "the expressions are constants that tests compile"
)]
fn compiled(expression: &str) -> Regex {
    Regex::new(expression).expect("a constant expression compiles")
}

/// Identifiers that providers and clients generate: a prefix and a random part, UUID, ULID, and the like.
static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"\b(?:",
        r"(?:call|toolu|srvtoolu|msg|resp|fc|rs|ws|ci|ctc|mcp|mcpl|mcpr|run|thread|asst|batch|item|conv|sess|req|gen|cmpl)_",
        r"(?:vrtx_|bdrk_)?[A-Za-z0-9]{8,}",
        r"|(?:chatcmpl|cmpl|gen|req|file|call|run)-(?:tool-)?[A-Za-z0-9]{12,}",
        r"|(?:[a-z]{2,12}[_-](?:tool-|run-)?)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        r"|[0-7][0-9A-HJKMNP-TV-Z]{25}",
        r"|[0-9a-f]{32}",
        // Codex begins what a command printed with it.
        r"|Chunk ID: [0-9a-f]{6}",
        r")\b",
    ))
});

/// Dates and times as prompts have them.
static TIME_SHAPE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        concat!(
            r"\b(?:",
            r"(?:19|20)\d{{2}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ]{clock})?",
            r"|{day} {month} {{1,2}}\d{{1,2}} \d{{2}}:\d{{2}}:\d{{2}}(?: [A-Z]{{3,4}})? (?:19|20)\d{{2}}",
            r"|(?:{day},? )?(?:{month}\.? \d{{1,2}}(?:st|nd|rd|th)?,? (?:19|20)\d{{2}}|\d{{1,2}}(?:st|nd|rd|th)? {month}\.?,? (?:19|20)\d{{2}})",
            r"(?:,? (?:at )?{clock})?",
            r"|\d{{1,2}}/\d{{1,2}}/(?:19|20)\d{{2}}(?:,? {clock})?",
            r"|\d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d{{1,9}})?(?: ?[AaPp][Mm]\b)?(?: ?(?:UTC|GMT|Z)\b)?",
            r")",
        ),
        clock = CLOCK,
        day = DAY,
        month = MONTH,
    ))
});

/// Temporary files, whose names are made up.
static TEMPORARY: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r#"(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s"'`<>|,;:)\]}‹›]+"#,
        r#"|[A-Za-z]:\\(?:Users\\[^\\\s]+\\AppData\\Local\\Temp|Windows\\Temp)\\[^\s"'`<>|,;:)\]}]+"#,
    ))
});

/// Servers on this machine, whose ports are made up.
static LOCAL_PORT: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"\b(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):\d{2,5}\b"));

/// Names for the working directory and the home directory.
pub(super) const FOLDERS: [&str; 2] = ["‹dir›", "‹home›"];

/// The folders of a process, which differ from machine to machine.
///
/// ```
/// use tracer_capture::cassette::Places;
///
/// let places = Places { directory: Some("/srv/agent".into()), home: Some("/home/ada".into()) };
/// assert_eq!(places.text("see /srv/agent/notes.md and /home/ada/x"), "see ‹dir›/notes.md and ‹home›/x");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The working directory.
    pub directory: Option<String>,
    /// The home directory.
    pub home: Option<String>,
}

impl Places {
    /// The text with names for the folders.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for (place, name) in [&self.directory, &self.home].into_iter().zip(FOLDERS) {
            let Some(place) = place.as_deref().filter(|place| place.len() > 1) else {
                continue;
            };
            if text.contains(place) {
                text = Cow::Owned(replaced_folder(&text, place, name));
            }
        }
        text
    }
}

/// Replaces a folder, but not one whose name only begins like it.
fn replaced_folder(text: &str, place: &str, name: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find(place) {
        let (before, found) = rest.split_at(position);
        let behind = found.strip_prefix(place).unwrap_or_default();
        let goes_on = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
        result.push_str(before);
        result.push_str(if behind.starts_with(goes_on) { place } else { name });
        rest = behind;
    }
    result.push_str(rest);
    result
}

/// The text with identifiers marked, and times, temporary paths and ports replaced.
pub(super) fn marked<'a>(text: &'a str, masks: &[Regex]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for mask in masks {
        replace(&mut text, mask, |_| MASKED.to_owned());
    }
    if !text
        .bytes()
        .any(|byte| byte.is_ascii_digit() || byte == b'/' || byte == b'\\')
    {
        return text;
    }
    replace(&mut text, &IDENTIFIER, |found| {
        let id = found.get(0).map_or("", |id| id.as_str());
        // `call_forwarding` is a word.
        if id.bytes().any(|byte| byte.is_ascii_digit()) {
            format!("{ID_OPEN}{id}{CLOSE}")
        } else {
            id.to_owned()
        }
    });
    replace(&mut text, &TIME_SHAPE, |_| TIME.to_owned());
    replace(&mut text, &TEMPORARY, |_| PATH.to_owned());
    replace(&mut text, &LOCAL_PORT, |found| {
        format!("{}:‹port›", found.get(1).map_or("", |host| host.as_str()))
    });
    text
}

fn replace(text: &mut Cow<'_, str>, shape: &Regex, with: impl Fn(&Captures<'_>) -> String) {
    if let Cow::Owned(replaced) = shape.replace_all(text, with) {
        *text = Cow::Owned(replaced);
    }
}

/// The text as a whole as an identifier, wherever its place says that it is one.
pub(super) fn as_identifier(id: &str) -> String {
    format!("{ID_OPEN}{id}{CLOSE}")
}

/// A text divided at its identifiers: what is between them, and the identifiers, in turn.
pub(super) fn divided(text: &str) -> Vec<MarkedPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(ID_OPEN) {
        let Some((id, after)) = behind.split_once(CLOSE) else {
            break;
        };
        if !before.is_empty() {
            pieces.push(MarkedPiece::Text(before));
        }
        pieces.push(MarkedPiece::Id(id));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(MarkedPiece::Text(rest));
    }
    pieces
}

/// A piece of a marked text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkedPiece<'a> {
    Text(&'a str),
    Id(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_known_by_their_shape() {
        for id in [
            "call_8VQ3lmNw0p",
            "toolu_01A09q90qw90lq917835lq9",
            "toolu_vrtx_01A09q90qw90lq",
            "msg_013Zva2CMHLNnjNjtXJ",
            "resp_67ccd2bed1ec8190",
            "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
            "chatcmpl-tool-0123456789abcdef0123",
            "8c6ff5f4-4f0c-4d3e-9d0f-2f0a3a1b2c3d",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "0123456789abcdef0123456789abcdef",
            "Chunk ID: 79aafe",
        ] {
            assert_eq!(
                marked(&format!("see {id}."), &[]),
                format!("see ‹id:{id}›."),
                "{id}"
            );
        }
        for text in [
            "call_forwarding is a word",
            "call_1",
            "run-tests",
            "file-reader-2000x",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ1",
        ] {
            assert_eq!(marked(text, &[]), text);
        }
    }

    #[test]
    fn times_are_known_by_their_shape() {
        for time in [
            "2026-11-23",
            "2026-11-23T01:46:49Z",
            "2026-11-23T01:46:49.123456+00:00",
            "2026-11-23 01:46",
            "Mon, 23 Nov 2026 01:46:49 GMT",
            "Mon Nov 23 01:46:49 UTC 2026",
            "Monday, November 23, 2026",
            "November 23rd, 2026 at 1:46 PM",
            "23 Nov 2026",
            "11/23/2026",
            "01:46:49",
        ] {
            assert_eq!(
                marked(&format!("it is {time}, go"), &[]),
                "it is ‹time›, go",
                "{time}"
            );
        }
        for text in [
            "2026",
            "version 1.2.3",
            "May 5 people",
            "10:30",
            "in 2026-13-99 steps",
            "order 20261123",
        ] {
            assert_eq!(marked(text, &[]), text);
        }
    }

    #[test]
    fn paths_and_ports_of_the_machine_are_masked() {
        for (text, expected) in [
            ("read /tmp/tmpab12/x.txt now", "read ‹path› now"),
            ("/private/var/folders/zz/T/a1", "‹path›"),
            (r"C:\Users\ada\AppData\Local\Temp\x1 end", "‹path› end"),
            (
                "http://localhost:8123/a and 127.0.0.1:99",
                "http://localhost:‹port›/a and 127.0.0.1:‹port›",
            ),
            ("https://example.org:8443/", "https://example.org:8443/"),
            ("/usr/bin/python3", "/usr/bin/python3"),
        ] {
            assert_eq!(marked(text, &[]), expected);
        }
    }

    #[test]
    fn folders_are_named_whole() {
        let places = Places {
            directory: Some("/srv/a".to_owned()),
            home: Some("/home/ada".to_owned()),
        };
        assert_eq!(
            places.text("/srv/a /srv/ab /srv/a/b '/home/ada'"),
            "‹dir› /srv/ab ‹dir›/b '‹home›'"
        );
        assert_eq!(Places::default().text("/srv/a"), "/srv/a");
    }

    #[test]
    fn a_marked_text_divides_at_its_identifiers() {
        let text = marked("a call_12345678x b call_12345678y", &[]).into_owned();
        assert_eq!(
            divided(&text),
            [
                MarkedPiece::Text("a "),
                MarkedPiece::Id("call_12345678x"),
                MarkedPiece::Text(" b "),
                MarkedPiece::Id("call_12345678y")
            ]
        );
    }

    #[test]
    fn masks_of_the_user_come_first() {
        let mask = Regex::new("build-[0-9]+").unwrap();
        assert_eq!(marked("build-2026 at 2026-11-23", &[mask]), "‹masked› at ‹time›");
    }
}
