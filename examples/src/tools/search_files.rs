//! The tool `search_files`: the lines of a folder's text files that hold the words that are looked for.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Tool, ToolError, arguments, text_of};

/// How many lines are returned.
const MAX_MATCHES: usize = 8;

/// Larger files are passed over.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Searches a folder and what lies below it.
pub struct SearchFiles {
    folder: PathBuf,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    query: &'a str,
}

#[derive(Serialize)]
struct Match {
    path: String,
    line: usize,
    text: String,
    words: usize,
}

impl SearchFiles {
    /// Search `folder`; files larger than a MiB, or not UTF-8, are passed over.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Every file below the folder, in the order of their paths. Links are not followed.
    fn files(&self) -> Result<Vec<PathBuf>, ToolError> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            let unreadable = |source| ToolError::Unreadable {
                path: self.relative(&folder),
                source,
            };
            for entry in folder.read_dir().map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let kind = entry.file_type().map_err(unreadable)?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    files.push(entry.path());
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// The path as the model sees it, with `/` on every platform.
    fn relative(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        if parts.is_empty() {
            ".".to_owned()
        } else {
            parts.join("/")
        }
    }
}

impl Tool for SearchFiles {
    fn name(&self) -> &'static str {
        "search_files"
    }

    fn description(&self) -> &'static str {
        "Search the folder's files. Returns the lines that hold most of the words of the query, best first."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words, separated by spaces"}},
            "required": ["query"],
        })
    }

    fn call(&self, given: &Value) -> Result<Value, ToolError> {
        let Arguments { query } = arguments(given)?;
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let mut matches = Vec::new();
        let mut searched = 0;
        for file in self.files()? {
            let path = self.relative(&file);
            let Ok(text) = text_of(&file, &path, MAX_FILE_BYTES) else {
                continue;
            };
            searched += 1;
            for (index, line) in text.lines().enumerate() {
                let lower = line.to_lowercase();
                let found = words.iter().filter(|word| lower.contains(**word)).count();
                if found > 0 {
                    let text = line.trim().to_owned();
                    matches.push(Match {
                        path: path.clone(),
                        line: index + 1,
                        text,
                        words: found,
                    });
                }
            }
        }
        matches.sort_by_key(|found| Reverse(found.words));
        let total = matches.len();
        matches.truncate(MAX_MATCHES);
        Ok(json!({"matches": matches, "total": total, "files_searched": searched}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_most_words_comes_first_whatever_the_case() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        std::fs::write(folder.path().join("a.md"), "To Norway\nnothing\n").unwrap();
        std::fs::write(folder.path().join("below/b.md"), "\nA PARCEL to NORWAY\n").unwrap();
        let tool = SearchFiles::new(folder.path().to_owned());
        let result = tool.call(&json!({"query": "parcel Norway"})).unwrap();
        assert_eq!(
            result,
            json!({
                "matches": [
                    {"path": "below/b.md", "line": 2, "text": "A PARCEL to NORWAY", "words": 2},
                    {"path": "a.md", "line": 1, "text": "To Norway", "words": 1},
                ],
                "total": 2,
                "files_searched": 2,
            })
        );
    }

    #[test]
    fn files_that_are_too_large_or_no_text_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("binary"), [0xff, 0xfe, b'x']).unwrap();
        std::fs::write(folder.path().join("large"), "x".repeat(1024 * 1024 + 1)).unwrap();
        let tool = SearchFiles::new(folder.path().to_owned());
        let result = tool.call(&json!({"query": "x"})).unwrap();
        assert_eq!(result, json!({"matches": [], "total": 0, "files_searched": 0}));
    }

    #[test]
    fn a_common_word_returns_the_best_lines_and_how_many_there_were() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "word\n".repeat(30)).unwrap();
        let tool = SearchFiles::new(folder.path().to_owned());
        let result = tool.call(&json!({"query": "word"})).unwrap();
        assert_eq!(result["matches"].as_array().unwrap().len(), MAX_MATCHES);
        assert_eq!(result["total"], 30);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error() {
        let tool = SearchFiles::new(PathBuf::from("no-such-folder"));
        assert!(matches!(
            tool.call(&json!({"query": "x"})),
            Err(ToolError::Unreadable { .. })
        ));
    }
}
