//! What the documentation and the comments cite exists: sections of `docs/spec`, and the tests behind every promise.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How a comment names a page of `docs/spec`, in front of the number of a section.
const CITATIONS: [(&str, &str); 7] = [
    ("decisions, section ", "decisions.md"),
    ("the gate, section ", "gate-contract.md"),
    ("(gate, section ", "gate.md"),
    ("gate-2, section ", "gate-2.md"),
    ("gate-contract, section ", "gate-contract.md"),
    ("gate-contract ", "gate-contract.md"),
    ("capture, section ", "capture.md"),
];

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
        } else if [".rs", ".js", ".py"].iter().any(|end| name.ends_with(end)) && !path.ends_with(file!()) {
            found.push(path);
        }
    }
}

/// The numbers in front of the headings: `5`, `15.1`.
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

/// The number of a section at the beginning of a text: `5` of `5).`
fn number(text: &str) -> Option<&str> {
    let length = text
        .find(|char: char| !char.is_ascii_digit() && char != '.')
        .unwrap_or(text.len());
    let number = text[..length].trim_end_matches('.');
    (!number.is_empty()).then_some(number)
}

#[test]
fn every_cited_section_exists() {
    let mut files = Vec::new();
    sources(&repository(), &mut files);
    let mut cited = 0;
    for (words, page) in CITATIONS {
        let sections = sections(&fs::read_to_string(repository().join("docs/spec").join(page)).unwrap());
        for file in &files {
            let text = fs::read_to_string(file).unwrap();
            for (position, _) in text.match_indices(words) {
                let Some(number) = number(&text[position + words.len()..]) else {
                    continue;
                };
                cited += 1;
                assert!(
                    sections.contains(number),
                    "{}: {page} has no section {number}",
                    file.display()
                );
            }
        }
    }
    assert!(cited > 100, "{cited} citations");
}

#[test]
fn every_test_that_a_promise_names_exists() {
    let page = fs::read_to_string(repository().join("docs/reliability.md")).unwrap();
    let mut files = Vec::new();
    sources(&repository(), &mut files);
    let code: String = files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    // A name with three underscores says a rule; shorter ones are modules, files and settings.
    let tests: BTreeSet<&str> = code_font(&page)
        .filter(|name| name.matches('_').count() >= 3 && !name.contains(' '))
        .collect();
    assert!(tests.len() > 60, "{} tests", tests.len());
    let missing: Vec<&&str> = tests
        .iter()
        .filter(|name| !code.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
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
    assert!(paths.len() > 40, "{paths:?}");
    let missing: Vec<&&str> = paths
        .iter()
        .filter(|path| !repository().join(path).exists())
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_source_that_a_promise_names_exists() {
    let page = fs::read_to_string(repository().join("docs/reliability.md")).unwrap();
    let mut files = Vec::new();
    sources(&repository(), &mut files);
    let names = code_font(&page)
        .filter(|name| !name.contains(' ') && Path::new(name).extension().is_some_and(|end| end == "rs"));
    let missing: BTreeSet<&str> = names
        .filter(|name| !files.iter().any(|file| file.ends_with(name)))
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
