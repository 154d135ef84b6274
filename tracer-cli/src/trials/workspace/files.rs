//! Which files belong to a folder: Git knows it, or else it is told from their names.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use walkdir::{DirEntry, WalkDir};

use crate::error::CliError;

/// Folders that are made from what belongs to a workspace.
const BUILD_FOLDERS: [&str; 4] = ["__pycache__", "node_modules", "target", "venv"];
/// Files that say the same of the folder that they are in: caches, and virtual environments of Python.
const BUILD_MARKS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// The files below a folder that Git tracks, and those that it neither tracks nor ignores.
pub(super) fn listed_by_git(root: &Path) -> Result<Vec<PathBuf>, CliError> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = git(root, &arguments).map_err(|error| {
        CliError::input(format!(
            "git cannot tell the files of {}: {error}",
            root.display()
        ))
        .with_hint("set that right, or run the trials in the folder itself: --in-place")
    })?;
    Ok(listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(path)
        .collect())
}

/// The commit that is checked out; `None` before the first one.
pub(super) fn commit(root: &Path) -> Option<String> {
    let told = git(root, &["rev-parse", "--verify", "--quiet", "HEAD"]).ok()?;
    Some(String::from_utf8(told).ok()?.trim().to_owned())
}

fn git(root: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()?;
    if status.success() {
        return Ok(stdout);
    }
    let said = String::from_utf8_lossy(&stderr);
    Err(io::Error::other(
        said.lines().next().unwrap_or_default().to_owned(),
    ))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere a name may be none")]
fn path(name: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn path(name: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(name).ok().map(PathBuf::from)
}

/// The files below a folder that Git knows nothing of.
pub(super) fn found(root: &Path) -> Result<Vec<PathBuf>, CliError> {
    let belongs = |entry: &DirEntry| entry.depth() == 0 || !(is_hidden(entry) || is_build_folder(entry));
    let mut files = Vec::new();
    for entry in WalkDir::new(root).into_iter().filter_entry(belongs) {
        let entry = entry.map_err(|error| {
            CliError::input(format!("cannot look at the workspace: {error}"))
                .with_hint("check the permissions, or run the trials in the folder itself: --in-place")
        })?;
        if !entry.file_type().is_dir() {
            let path = entry.path();
            files.push(path.strip_prefix(root).unwrap_or(path).to_owned());
        }
    }
    Ok(files)
}

fn is_hidden(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn is_build_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_dir()
        && (BUILD_FOLDERS.iter().any(|name| entry.file_name() == *name)
            || BUILD_MARKS.iter().any(|name| entry.path().join(name).exists()))
}
