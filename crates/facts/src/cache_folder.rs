//! The folder in a data directory for what can be computed again, and files in it, which only their user can read.

use std::fs;

/// The folder in the data directory for what can be computed again.
pub(crate) const CACHE_FOLDER: &str = "cache";

#[cfg(unix)]
pub(crate) fn private_folder() -> fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
pub(crate) fn private_folder() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

#[cfg(unix)]
pub(crate) fn private_file() -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
pub(crate) fn private_file() -> fs::OpenOptions {
    fs::OpenOptions::new()
}
