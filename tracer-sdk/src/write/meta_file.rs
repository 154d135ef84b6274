//! Writing `meta.json`: always whole, by a temporary file and a rename in the same folder (decisions, section 5).

use std::io;
use std::path::Path;

use super::files::{FileSystem, open_own, write_all};
use tracer_format::{META_FILE, RunMeta};

/// The text of a `meta.json`, a key on each line.
pub fn meta_text(meta: &RunMeta) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(meta)?;
    text.push(b'\n');
    Ok(text)
}

/// Replaces the `meta.json` in `directory`; when it fails the old one is untouched.
pub fn replace_text(file_system: &dyn FileSystem, directory: &Path, text: &[u8]) -> io::Result<()> {
    let temporary = directory.join(format!(".{META_FILE}.{}.tmp", std::process::id()));
    let outcome = write_new(file_system, &temporary, text)
        .and_then(|()| file_system.rename(&temporary, &directory.join(META_FILE)));
    if outcome.is_err() {
        // It may not be there; the error that matters is the first one.
        let _ = file_system.remove(&temporary);
    }
    outcome
}

/// Writes the `meta.json` of a directory that has no reader yet; when it fails there is none.
pub fn write_unread(file_system: &dyn FileSystem, directory: &Path, text: &[u8]) -> io::Result<()> {
    let path = directory.join(META_FILE);
    let written = write_new(file_system, &path, text);
    if written.is_err() {
        // It may not be there; the error that matters is the first one.
        let _ = file_system.remove(&path);
    }
    written
}

fn write_new(file_system: &dyn FileSystem, path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = open_own(file_system, path)?;
    write_all(file.as_mut(), text)
}
