//! Limit on the files that a process keeps open for its runs.
//!
//! It is low enough that three quarters of the process's descriptors and more are the program's own, whatever the
//! number of runs (decisions, section 5).

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::{FileIdentity, FileSystem, OpenFile, OpenMode};

static KEPT: AtomicU64 = AtomicU64::new(0);

/// The right to keep one file open.
#[derive(Debug)]
pub(super) struct Permit(());

impl Permit {
    /// One, if there is one left.
    pub(super) fn take() -> Option<Self> {
        let max = max_kept();
        let one_more = |kept| (kept < max).then_some(kept + 1);
        let taken = KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.ok().map(|_| Self(()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Three quarters of the quarter that runs may use; the rest is for files that are open for one operation.
#[cfg(unix)]
fn max_kept() -> u64 {
    use rustix::process::{Resource, getrlimit};
    let quarter = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4;
    quarter - quarter / 4
}

/// Elsewhere open files have no limit that a program meets.
#[cfg(not(unix))]
fn max_kept() -> u64 {
    u64::MAX
}

/// A file that is kept open between operations, or is opened for each of them.
#[derive(Debug)]
pub(super) struct KeptFile {
    file: Option<Box<dyn OpenFile>>,
    permit: Option<Permit>,
    /// Which file it was, once it has been open.
    known: Option<FileIdentity>,
}

impl KeptFile {
    /// A file that was not opened yet.
    pub(super) fn closed() -> Self {
        Self {
            file: None,
            permit: None,
            known: None,
        }
    }

    /// A file that is open.
    pub(super) fn open(file: Box<dyn OpenFile>) -> io::Result<Self> {
        let known = Some(file.identity()?);
        Ok(Self {
            file: Some(file),
            permit: None,
            known,
        })
    }

    /// Returns whether it was open before.
    pub(super) fn was_open(&self) -> bool {
        self.known.is_some()
    }

    /// The file: as it is, or opened. One that is no longer where it was is not replaced by a new one.
    pub(super) fn get(
        &mut self,
        file_system: &dyn FileSystem,
        path: &Path,
        first: OpenMode,
    ) -> io::Result<&mut dyn OpenFile> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.opened(file_system, path, first)?,
        };
        Ok(self.file.insert(file).as_mut())
    }

    fn opened(
        &mut self,
        file_system: &dyn FileSystem,
        path: &Path,
        first: OpenMode,
    ) -> io::Result<Box<dyn OpenFile>> {
        let Some(known) = &self.known else {
            let file = file_system.open(path, first)?;
            self.known = Some(file.identity()?);
            return Ok(file);
        };
        same(file_system, path, *known)
    }

    /// The file, if it is open.
    pub(super) fn as_open(&mut self) -> Option<&mut (dyn OpenFile + 'static)> {
        self.file.as_deref_mut()
    }

    /// Length of the file, in bytes; `None` when it was never opened.
    pub(super) fn length(&self, file_system: &dyn FileSystem, path: &Path) -> Option<io::Result<u64>> {
        match (&self.file, &self.known) {
            (Some(file), _) => Some(file.length()),
            (None, Some(known)) => Some(same(file_system, path, *known).and_then(|file| file.length())),
            (None, None) => None,
        }
    }

    /// Returns whether the path names this file; what cannot be found out counts as well.
    pub(super) fn is_in_place(&self, file_system: &dyn FileSystem, path: &Path) -> bool {
        let there = match (&self.file, &self.known) {
            (Some(file), _) => file.is_at(path),
            (None, Some(known)) => match same(file_system, path, *known) {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            },
            (None, None) => Ok(true),
        };
        there.unwrap_or(true)
    }

    /// An operation has ended: the file stays open if there is a descriptor for it.
    #[inline]
    pub(super) fn release(&mut self) {
        if self.permit.is_none() {
            self.permit = Permit::take();
            if self.permit.is_none() {
                self.file = None;
            }
        }
    }
}

/// The file that was at this path, opened again.
fn same(file_system: &dyn FileSystem, path: &Path, known: FileIdentity) -> io::Result<Box<dyn OpenFile>> {
    let file = file_system.open(path, OpenMode::Existing)?;
    if file.identity()? != known {
        let reason = "the file was replaced while the run was recorded";
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    Ok(file)
}
