//! A file system that does something right before or after each write, for tests of what happens between two processes.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::files::{FileIdentity, FileSystem, OpenFile, OpenMode};

/// What is done at each write, whose bytes it is given.
type Hook = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Does what another file system does; clones count together.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: Arc<dyn FileSystem>,
    lock_tries: Arc<AtomicUsize>,
    pub(crate) before_write: Hook,
    pub(crate) after_write: Hook,
}

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

impl Watched {
    /// Does nothing of its own yet.
    pub(crate) fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self {
            inner,
            lock_tries: Arc::default(),
            before_write: Arc::new(|_| ()),
            after_write: Arc::new(|_| ()),
        }
    }

    /// How often a lock was tried.
    pub(crate) fn lock_tries(&self) -> usize {
        self.lock_tries.load(Ordering::Relaxed)
    }
}

impl FileSystem for Watched {
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directories(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directory(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(WatchedFile {
            inner: self.inner.open(path, mode)?,
            watched: self.clone(),
        }))
    }

    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.inner.read_whole(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.link(from, to)
    }

    fn identity(&self) -> usize {
        Arc::as_ptr(&self.lock_tries).addr()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn remove_empty_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_empty_directory(path)
    }
}

#[derive(Debug)]
struct WatchedFile {
    inner: Box<dyn OpenFile>,
    watched: Watched,
}

impl OpenFile for WatchedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.watched.before_write)(bytes);
        let taken = self.inner.write(bytes);
        (self.watched.after_write)(bytes);
        taken
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }

    fn whole_lines(&self) -> io::Result<u64> {
        self.inner.whole_lines()
    }

    fn ends_with(&self, bytes: &[u8]) -> io::Result<bool> {
        self.inner.ends_with(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.inner.cut(length)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.inner.is_at(path)
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.inner.identity()
    }

    fn descriptor(&self) -> Option<u32> {
        self.inner.descriptor()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.watched.lock_tries.fetch_add(1, Ordering::Relaxed);
        self.inner.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.inner.unlock()
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}
