//! The files of the repository that a check reads: those of its own, neither hidden ones nor what a build makes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Build output, and dependencies of the page.
const NOT_OURS: [&str; 2] = ["target", "node_modules"];

/// The files below a folder whose names end in one of these, but for those and the folders that have one of the skipped names.
///
/// # Errors
///
/// When a folder cannot be listed.
pub fn files(folder: &Path, endings: &[&str], skipped: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    add_files(folder, endings, skipped, &mut found)?;
    Ok(found)
}

fn add_files(folder: &Path, endings: &[&str], skipped: &[&str], found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || NOT_OURS.contains(&name.as_ref()) || skipped.contains(&name.as_ref()) {
            continue;
        }
        if path.is_dir() {
            add_files(&path, endings, skipped, found)?;
        } else if path
            .extension()
            .is_some_and(|end| endings.iter().any(|ending| end == *ending))
        {
            found.push(path);
        }
    }
    Ok(())
}
