//! The tool `read_file`: the text of one file of the folder.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, arguments, text_of};

/// Reads one file of a folder.
pub struct ReadFile {
    folder: PathBuf,
    max_file_bytes: u64,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
}

impl ReadFile {
    /// Read files of `folder`, none larger than `max_file_bytes`.
    pub fn new(folder: PathBuf, max_file_bytes: u64) -> Self {
        Self {
            folder,
            max_file_bytes,
        }
    }

    /// The file that `path` names, when it lies in the folder. Links and `..` are followed before that is decided.
    fn inside_folder(&self, path: &str) -> Result<PathBuf, ToolError> {
        let resolve = |given: &Path| {
            given.canonicalize().map_err(|source| ToolError::Unreadable {
                path: path.to_owned(),
                source,
            })
        };
        let folder = resolve(&self.folder)?;
        let file = resolve(&folder.join(path))?;
        if file.starts_with(&folder) {
            Ok(file)
        } else {
            Err(ToolError::OutsideFolder(path.to_owned()))
        }
    }
}

impl Tool for ReadFile {
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn description(&self) -> &'static str {
        "Read a text file. The path is relative to the folder, as search_files gives it."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        })
    }

    fn call(&self, given: &Value) -> Result<Value, ToolError> {
        let Arguments { path } = arguments(given)?;
        let text = text_of(&self.inside_folder(path)?, path, self.max_file_bytes)?;
        Ok(json!({"path": path, "text": text}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder `inside` with one file, and a secret beside it.
    fn folder_with_a_neighbour() -> (tempfile::TempDir, ReadFile) {
        let parent = tempfile::tempdir().unwrap();
        let inside = parent.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("notes.md"), "Hello").unwrap();
        std::fs::write(parent.path().join("secret.md"), "Nobody may read this").unwrap();
        let tool = ReadFile::new(inside, 10);
        (parent, tool)
    }

    #[test]
    fn a_file_of_the_folder_is_read() {
        let (_parent, tool) = folder_with_a_neighbour();
        let result = tool.call(&json!({"path": "notes.md"})).unwrap();
        assert_eq!(result, json!({"path": "notes.md", "text": "Hello"}));
    }

    #[test]
    fn a_path_that_leads_out_of_the_folder_is_refused() {
        let (parent, tool) = folder_with_a_neighbour();
        let absolute = parent.path().join("secret.md");
        for path in [
            "../secret.md",
            "./../inside/../secret.md",
            absolute.to_str().unwrap(),
        ] {
            let error = tool.call(&json!({"path": path})).unwrap_err();
            assert!(matches!(error, ToolError::OutsideFolder(_)), "{path}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_of_the_folder_is_refused() {
        let (parent, tool) = folder_with_a_neighbour();
        std::os::unix::fs::symlink(
            parent.path().join("secret.md"),
            parent.path().join("inside/link.md"),
        )
        .unwrap();
        let error = tool.call(&json!({"path": "link.md"})).unwrap_err();
        assert!(matches!(error, ToolError::OutsideFolder(_)), "{error}");
    }

    #[test]
    fn what_cannot_be_read_is_an_error_that_names_it() {
        let (parent, tool) = folder_with_a_neighbour();
        std::fs::write(parent.path().join("inside/long.md"), "0123456789x").unwrap();
        let message = |path: &str| tool.call(&json!({"path": path})).unwrap_err().to_string();
        assert!(message("absent.md").starts_with("`absent.md` cannot be read: "));
        assert_eq!(
            message("long.md"),
            "`long.md` has 11 bytes; at most 10 may be read"
        );
        let missing = tool.call(&json!({"file": "notes.md"})).unwrap_err().to_string();
        assert!(missing.contains("missing field `path`"), "{missing}");
    }
}
