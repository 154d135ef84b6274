//! Pages of the documentation: few, of bounded length, with links that lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Pages that are made from code or from what programs did.
const GENERATED: [&str; 3] = ["command-line.md", "frameworks.md", "vocabularies.md"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn pages_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect()
}

/// The lines of a page outside of its code blocks, without what is in code font.
fn prose(page: &str) -> Vec<String> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line.split('`').step_by(2).collect());
        }
    }
    lines
}

/// The anchors of a page's headings, as a repository's page makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in page.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|char| char.is_alphanumeric() || " -_".contains(*char));
            anchors.insert(kept.collect::<String>().replace(' ', "-"));
        }
    }
    anchors
}

#[test]
fn there_are_twelve_pages_of_at_most_300_lines() {
    let pages: Vec<PathBuf> = pages_of(&repository().join("docs"))
        .into_iter()
        .filter(|path| !GENERATED.iter().any(|name| path.ends_with(name)))
        .collect();
    assert!(pages.len() <= 12, "{pages:#?}");
    for page in pages {
        let lines = fs::read_to_string(&page).unwrap().lines().count();
        assert!(lines <= 300, "{}: {lines} lines", page.display());
    }
}

#[test]
fn every_link_leads_somewhere() {
    let root = repository();
    let folders = [
        "",
        "docs",
        "examples",
        "benches",
        "fuzz",
        "tests/interop",
        "tests/frameworks",
    ];
    let mut links = 0;
    for page in folders.iter().flat_map(|folder| pages_of(&root.join(folder))) {
        let text = fs::read_to_string(&page).unwrap();
        for line in prose(&text) {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if target.contains("://") {
                    continue;
                }
                links += 1;
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = if path.is_empty() {
                    page.clone()
                } else {
                    page.with_file_name(path)
                };
                assert!(path.exists(), "{}: {target}", page.display());
                let is_there = || anchors(&fs::read_to_string(&path).unwrap()).contains(anchor);
                assert!(anchor.is_empty() || is_there(), "{}: {target}", page.display());
            }
        }
    }
    assert!(links > 80, "{links} links");
}
