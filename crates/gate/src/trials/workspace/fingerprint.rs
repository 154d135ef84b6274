//! What tells whether two gates judged the same files.

use std::fmt::Write;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

use super::Workspace;
use super::files::{Listed, look_at};

/// The SHA-256 over the regular files of a workspace, in the order of their names: name, NUL, content, NUL each.
pub fn fingerprint(workspace: &Workspace) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    for name in &workspace.files {
        let Listed::File(mut file) = look_at(&workspace.root, name)? else {
            continue;
        };
        digest.update(name.as_os_str().as_encoded_bytes());
        digest.update([0]);
        loop {
            let length = file.read(&mut buffer)?;
            let Some(read) = buffer.get(..length).filter(|read| !read.is_empty()) else {
                break;
            };
            digest.update(read);
        }
        digest.update([0]);
    }
    Ok(digest.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
