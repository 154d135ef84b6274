//! Fingerprint of the files of a workspace.

use std::io::{self, Write};

use tracer_insight::digest::Hashing;

use super::Workspace;
use super::files::{Listed, look_at};

/// The SHA-256 over the regular files of a workspace, in the order of their names: name, NUL, content, NUL each.
pub(crate) fn fingerprint(workspace: &Workspace) -> io::Result<String> {
    let mut hashing = Hashing::default();
    for name in &workspace.files {
        let Listed::File(mut file) = look_at(&workspace.root, name)? else {
            continue;
        };
        hashing.write_all(name.as_os_str().as_encoded_bytes())?;
        hashing.write_all(&[0])?;
        io::copy(&mut file, &mut hashing)?;
        hashing.write_all(&[0])?;
    }
    Ok(hashing.hex())
}
