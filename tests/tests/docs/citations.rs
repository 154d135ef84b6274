//! What the documentation and the comments cite exists: sections of `docs/spec`, and files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Pages of `docs/spec` whose sections have numbers. They are cited in one form: `(decisions, sections 4 and 10)`.
const NUMBERED: [&str; 2] = ["capture", "decisions"];

/// Pages whose sections have names, by what citations call them, with the fewest citations that there must be:
/// `(specification, *Payloads*)`.
const NAMED: [(&str, &str, usize); 2] = [("specification", "run-trace-format", 20), ("gate", "gate", 100)];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            if !["target", "node_modules"].contains(&name.as_str()) && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if [".rs", ".js", ".mjs", ".py"]
            .iter()
            .any(|end| name.ends_with(end))
            && !path.ends_with(file!())
        {
            found.push(path);
        }
    }
}

/// The numbers in front of the headings: `5`, `15.1`, `D.3`.
fn sections(page: &str) -> BTreeSet<String> {
    let headings = page
        .lines()
        .filter_map(|line| line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")));
    let numbers = headings
        .filter_map(|heading| heading.split_once(' '))
        .map(|(number, _)| number);
    numbers
        .map(|number| number.trim_end_matches('.').to_owned())
        .collect()
}

/// A source on one line, without the marks of its comments: a citation may be broken anywhere.
fn unbroken(source: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.trim();
        ["//!", "///", "//", "#", "*"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark))
            .unwrap_or(line)
            .trim()
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// The number of a section that a text begins with, `5` of `5).`, and the rest.
fn number(text: &str) -> Option<(&str, &str)> {
    let length = text
        .find(|char: char| !char.is_ascii_digit() && !char.is_ascii_uppercase() && char != '.')
        .unwrap_or(text.len());
    let number = text[..length].trim_end_matches('.');
    let has_digit = number.contains(|char: char| char.is_ascii_digit());
    has_digit.then(|| (number, &text[number.len()..]))
}

/// The numbers after `section `, or after `sections `: `3.2 and 7.1`, `3 to 5`.
fn numbers(text: &str, are_several: bool) -> Vec<&str> {
    let mut numbers = Vec::new();
    let mut rest = text;
    while let Some((section, behind)) = number(rest) {
        numbers.push(section);
        let next = [", ", " and ", " to "]
            .iter()
            .find_map(|between| behind.strip_prefix(between));
        match next.filter(|_| are_several) {
            Some(next) => rest = next,
            None => break,
        }
    }
    numbers
}

/// The citations of a source: what is before the comma, and the number of the section.
fn citations(source: &str) -> Vec<(String, String)> {
    let text = unbroken(source);
    let mut found = Vec::new();
    for (word, are_several) in [("section ", false), ("sections ", true)] {
        for (position, _) in text.match_indices(word) {
            let before = text[..position].strip_suffix(", ").unwrap_or_default();
            let is_part = |char: char| char.is_alphanumeric() || "-_.`/".contains(char);
            let page = &before[before.trim_end_matches(is_part).len()..];
            for number in numbers(&text[position + word.len()..], are_several) {
                found.push((page.to_owned(), number.to_owned()));
            }
        }
    }
    found
}

#[test]
fn citations_are_read_in_one_form() {
    let source = "//! (capture, sections 3.1,\n//! 7\n//! and 8; see the decisions, section 5), capture,\n/// section 1.\n\
                  // decisions, section 15.2, F11: `spec/gate.md`, section 4; the gate section 2; in this section 7 is none";
    let found = citations(source);
    let found: BTreeSet<(&str, &str)> = found
        .iter()
        .map(|(page, number)| (page.as_str(), number.as_str()))
        .collect();
    let expected = [
        ("", "2"),
        ("", "7"),
        ("`spec/gate.md`", "4"),
        ("capture", "1"),
        ("capture", "3.1"),
        ("capture", "7"),
        ("capture", "8"),
        ("decisions", "15.2"),
        ("decisions", "5"),
    ];
    assert_eq!(found, expected.into());
}

#[test]
fn every_cited_section_exists() {
    let mut files = Vec::new();
    sources(&repository(), &mut files);
    let known: BTreeMap<&str, BTreeSet<String>> = NUMBERED
        .iter()
        .map(|page| {
            let path = repository().join("docs/spec").join(format!("{page}.md"));
            (*page, sections(&fs::read_to_string(path).unwrap()))
        })
        .collect();
    let (mut cited, mut wrong) = (0, Vec::new());
    for file in &files {
        for (page, number) in citations(&fs::read_to_string(file).unwrap()) {
            cited += 1;
            if !known
                .get(page.as_str())
                .is_some_and(|sections| sections.contains(&number))
            {
                wrong.push(format!("{}: {page}, section {number}", file.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "write (PAGE, section N), with one of {NUMBERED:?}: {wrong:#?}"
    );
    assert!(cited > 100, "{cited} citations");
}

#[test]
fn every_cited_heading_exists() {
    let mut files = Vec::new();
    sources(&repository(), &mut files);
    let texts = files
        .iter()
        .map(|file| (file, unbroken(&fs::read_to_string(file).unwrap())));
    let texts: Vec<(&PathBuf, String)> = texts.collect();
    for (word, name, fewest) in NAMED {
        let page = fs::read_to_string(repository().join("docs/spec").join(format!("{name}.md"))).unwrap();
        let mut cited = 0;
        for (file, text) in &texts {
            for behind in text.split(&format!("{word}, *")).skip(1) {
                let heading = behind.split('*').next().unwrap_or_default();
                let is_heading = |line: &str| {
                    line == heading
                        || line.starts_with('#') && line.trim_start_matches(['#', ' ']).starts_with(heading)
                };
                cited += 1;
                assert!(
                    page.lines().any(is_heading),
                    "{}: {word}, *{heading}*",
                    file.display()
                );
            }
        }
        assert!(cited > fewest, "{cited} citations of {name}");
    }
}

#[test]
fn ci_sets_the_variables_that_tests_read() {
    let steps = fs::read_to_string(repository().join(".ci/steps/slow")).unwrap();
    let words = steps
        .split_whitespace()
        .filter_map(|word| Some(word.split_once('=')?.0));
    let set: BTreeSet<&str> = words.filter(|name| name.starts_with("TRACER_")).collect();
    let mut files = Vec::new();
    sources(&repository(), &mut files);
    let code: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let read = |code: &str| -> Vec<String> {
        let reads = code.split("env::var(\"TRACER_TEST_").skip(1);
        reads
            .map(|rest| format!("TRACER_TEST_{}", rest.split('"').next().unwrap_or_default()))
            .collect()
    };
    let read: BTreeSet<String> = code.iter().flat_map(|code| read(code)).collect();
    let read: BTreeSet<&str> = read.iter().map(String::as_str).collect();
    assert_eq!(set, read);
}

/// What a page has in code font.
fn code_font(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2)
}

#[test]
fn every_path_for_contributors_exists() {
    let page = fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let is_path = |words: &&str| words.contains('/') && !words.contains([' ', '…']);
    let paths: BTreeSet<&str> = code_font(&page).filter(is_path).collect();
    assert!(paths.len() > 30, "{paths:?}");
    let missing: Vec<&&str> = paths
        .iter()
        .filter(|path| !repository().join(path).exists())
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn no_page_of_the_specification_leads_out_of_the_repository() {
    for entry in fs::read_dir(repository().join("docs/spec")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_elsewhere = target.starts_with("https://");
            assert!(
                is_elsewhere || path.with_file_name(target).exists(),
                "{}: {target}",
                path.display()
            );
        }
    }
}
