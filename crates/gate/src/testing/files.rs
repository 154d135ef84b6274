//! The place of a baseline in a package, and the pending file next to it.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::Baseline;
use crate::baseline::path_of;
use tracer_runs::read_input;

/// The file of a baseline.
#[derive(Debug, Clone)]
pub(super) struct BaselineFile {
    /// The baseline that is checked in.
    pub(super) path: PathBuf,
}

impl BaselineFile {
    /// The file of the agent `name` in a package.
    pub(super) fn of(package: &Path, name: &str) -> Self {
        let path = package.join(path_of(name, "baseline"));
        Self { path }
    }

    /// The file that waits to be accepted.
    pub(super) fn pending(&self) -> PathBuf {
        self.path.with_extension("json.new")
    }

    /// The baseline; nothing when there is no file.
    pub(super) fn read(&self) -> Result<Option<Baseline>, String> {
        let reported = |error: &dyn std::fmt::Display| format!("{}: {error}", self.path.display());
        match read_input(&self.path, Baseline::MAX_BYTES) {
            Ok(text) => Baseline::parse(&text).map(Some).map_err(|error| {
                let next = "delete the file, run the test again, and check in what it writes";
                format!("{}\nhint: {next}", reported(&error))
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(reported(&error)),
        }
    }

    /// Writes what waits to be accepted, whole or not at all.
    pub(super) fn write_pending(&self, baseline: &Baseline) -> Result<(), String> {
        let pending = self.pending();
        // Tests run side by side in threads and in processes: each writes a file of its own.
        let thread =
            format!("{:?}", std::thread::current().id()).replace(|letter: char| !letter.is_ascii_digit(), "");
        let temporary = self
            .path
            .with_extension(format!("json.{}-{thread}.tmp", std::process::id()));
        let write = || {
            fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
            // Whatever has the name already is not written through.
            let mut file = fs::File::create_new(&temporary)?;
            file.write_all(baseline.to_json().as_bytes())?;
            fs::rename(&temporary, &pending)
        };
        write().map_err(|error| format!("{} cannot be written: {error}", pending.display()))
    }

    pub(super) fn remove_pending(&self) -> Result<(), String> {
        let pending = self.pending();
        match fs::remove_file(&pending) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("{} cannot be removed: {error}", pending.display()))
            }
            _ => Ok(()),
        }
    }
}

/// Checks if this is a CI job, where tests write nothing.
pub(super) fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}
