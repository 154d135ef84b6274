//! Looks into the files afterwards: how many spans are really there, and in how many bytes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::work::SpanWork;

/// What is found in a directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogFiles {
    pub spans: u64,
    pub bytes: u64,
}

/// Counts the lines of one kind of work, wherever under `directory` a contestant put them.
pub fn count(directory: &Path, work: SpanWork) -> LogFiles {
    let name = format!(r#""name":"{}""#, work.span_name());
    let mut found = LogFiles::default();
    for file in span_files(directory) {
        let text = fs::read_to_string(file).expect("a contestant writes UTF-8");
        for line in text.lines().filter(|line| line.contains(&name)) {
            found.spans += 1;
            found.bytes += line.len() as u64 + 1;
        }
    }
    found
}

/// Every `.jsonl` file under `directory`.
pub fn span_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.push(path);
            }
        }
    }
    files
}
