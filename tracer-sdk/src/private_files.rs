//! Folders and files that only their user can read, once they are made.

#![cfg_attr(
    not(unix),
    expect(
        unused_mut,
        reason = "elsewhere the user's profile folder is private by itself"
    )
)]

use std::fs::{DirBuilder, OpenOptions};

/// Makes folders.
#[must_use]
pub fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Opens files; the caller adds the access mode.
#[must_use]
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
