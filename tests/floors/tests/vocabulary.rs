//! Words that the project avoids, such as `told` for "printed" or "recorded": each area has at most as many as `avoided_words.txt` allows.
//!
//! `UPDATE_VOCABULARY=1` lowers the allowed counts to the current ones; it never raises one.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const AVOIDED: [&str; 7] = [
    "told",
    "tells us",
    "stands twice",
    "stands so",
    "glance",
    "standing",
    "so many",
];
const TEXTS: [&str; 8] = ["rs", "md", "js", "mjs", "html", "css", "yaml", "yml"];
/// Generated inputs of the fuzzer, and this test's own list.
const SKIPPED: [&str; 2] = ["vocabulary.rs", "corpus"];

/// Occurrences of avoided words, by area of the repository.
type Counts = BTreeMap<String, usize>;

/// Number of avoided words in a text. A word inside an identifier counts, a part of another word (`understanding`) does not.
fn avoided_words(text: &str) -> usize {
    let text = text.to_lowercase();
    let is_letter = |char: Option<char>| char.is_some_and(char::is_alphabetic);
    let is_word = |start: usize, word: &str| {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    };
    AVOIDED
        .iter()
        .map(|word| {
            text.match_indices(word)
                .filter(|(start, _)| is_word(*start, word))
                .count()
        })
        .sum()
}

/// Area of a path: `crates/gate`, `tests/browser`, else the first folder, or `.` for files at the top.
fn area(path: &Path) -> String {
    let folders: Vec<_> = path
        .parent()
        .unwrap()
        .iter()
        .map(|name| name.to_string_lossy())
        .collect();
    match folders.as_slice() {
        [] => ".".to_owned(),
        [top, next, ..] if ["crates", "tests"].contains(&top.as_ref()) => format!("{top}/{next}"),
        [top, ..] => top.to_string(),
    }
}

#[test]
fn no_area_has_more_avoided_words_than_allowed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let mut counts = Counts::new();
    for path in tracer_floors::files(&root, &TEXTS, &SKIPPED).unwrap() {
        let words = avoided_words(&fs::read_to_string(&path).unwrap());
        if words > 0 {
            *counts.entry(area(path.strip_prefix(&root).unwrap())).or_default() += words;
        }
    }
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("avoided_words.txt");
    let text = fs::read_to_string(&table).unwrap();
    let allowed: Counts = text
        .lines()
        .map(|line| {
            let (area, count) = line.split_once(' ').unwrap();
            (area.to_owned(), count.trim().parse().unwrap())
        })
        .collect();
    if std::env::var_os("UPDATE_VOCABULARY").is_some() {
        let mut lowered = String::new();
        for (area, allowed) in &allowed {
            let count = counts.get(area).map_or(0, |count| *count.min(allowed));
            if count > 0 {
                writeln!(lowered, "{area} {count}").unwrap();
            }
        }
        fs::write(&table, lowered).unwrap();
    }
    let exceeded: Vec<String> = counts
        .iter()
        .map(|(area, count)| (area, *count, allowed.get(area).copied().unwrap_or(0)))
        .filter(|(_, count, allowed)| count > allowed)
        .map(|(area, count, allowed)| format!("{area}: {count}, allowed {allowed}"))
        .collect();
    assert!(
        exceeded.is_empty(),
        "avoid these words, and write reported, printed, recorded, status, duplicate, number of …: {AVOIDED:?}\n{}",
        exceeded.join("\n")
    );
}

#[test]
fn only_whole_words_count() {
    for (text, expected) in [
        ("the user is told", 1),
        ("fn is_told_as_dead()", 1),
        ("Told, standing and so many", 3),
        ("an outstanding understanding", 0),
        ("printed", 0),
    ] {
        assert_eq!(avoided_words(text), expected, "{text}");
    }
}
