//! Small files of a user that are read for what they say: settings, variables, manifests.

use std::path::Path;

/// The largest one that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The text of a file; `None` of what is not there, no regular file, or larger than such files are.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = tracer_runs::read_input(path, MAX_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
