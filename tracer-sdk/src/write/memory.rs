//! A file system in memory, for tests: nothing of it ever reaches the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::process::Mutex;

use super::files::{FileIdentity, FileSystem, OpenFile, OpenMode};

/// A file system in memory; clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    names: Arc<Mutex<FileNames>>,
}

#[derive(Debug, Default)]
struct FileNames {
    directories: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Arc<MemoryNode>>,
}

/// A file, whatever it is called: one that is open outlives its name.
#[derive(Debug, Default)]
struct MemoryNode {
    bytes: Mutex<Vec<u8>>,
    is_locked: AtomicBool,
}

impl Memory {
    /// An empty file system.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Content of a file; `None` when there is none.
    #[must_use]
    pub fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let node = self.names.lock().files.get(path).cloned()?;
        let bytes = node.bytes.lock().clone();
        Some(bytes)
    }

    /// The paths of all files, sorted.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.names.lock().files.keys().cloned().collect()
    }
}

impl FileNames {
    fn require_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if !self.directories.contains(parent) => Err(io::ErrorKind::NotFound.into()),
            _ => Ok(()),
        }
    }
}

impl FileSystem for Memory {
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        let mut names = self.names.lock();
        names.directories.extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut names = self.names.lock();
        names.require_parent(path)?;
        if names.directories.insert(path.to_owned()) {
            Ok(())
        } else {
            Err(io::ErrorKind::AlreadyExists.into())
        }
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn OpenFile>> {
        let mut names = self.names.lock();
        names.require_parent(path)?;
        match (mode, names.files.contains_key(path)) {
            (OpenMode::New, true) => return Err(io::ErrorKind::AlreadyExists.into()),
            (OpenMode::Existing, false) => return Err(io::ErrorKind::NotFound.into()),
            _ => {}
        }
        let node = names.files.entry(path.to_owned()).or_default();
        Ok(Box::new(MemoryFile {
            node: Arc::clone(node),
            names: Arc::clone(&self.names),
            holds_lock: AtomicBool::new(false),
            position: 0,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = self.names.lock();
        names.require_parent(to)?;
        let node = names.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        names.files.insert(to.to_owned(), node);
        Ok(())
    }

    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        let node = self.names.lock().files.get(path).cloned();
        let node = node.ok_or(io::ErrorKind::NotFound)?;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let mut file = node.bytes.lock();
        let place = file.get_mut(at..at.saturating_add(bytes.len()));
        place.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(bytes);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match self.names.lock().files.remove(path) {
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn remove_empty_directory(&self, path: &Path) -> io::Result<()> {
        let mut names = self.names.lock();
        let is_inside = |other: &PathBuf| other.parent() == Some(path);
        if names.directories.iter().chain(names.files.keys()).any(is_inside) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if names.directories.remove(path) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }
}

#[derive(Debug)]
struct MemoryFile {
    node: Arc<MemoryNode>,
    names: Arc<Mutex<FileNames>>,
    holds_lock: AtomicBool,
    position: usize,
}

impl OpenFile for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.node.bytes.lock();
        file.extend_from_slice(bytes);
        self.position = file.len();
        Ok(bytes.len())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.node.bytes.lock().len() as u64)
    }

    fn position(&self) -> io::Result<u64> {
        Ok(self.position as u64)
    }

    fn read_before(&self, end: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        let [start, end] =
            [end.saturating_sub(max_bytes), end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        Ok(self
            .node
            .bytes
            .lock()
            .get(start..end)
            .unwrap_or_default()
            .to_vec())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.node.bytes.lock().resize(length, 0);
        Ok(())
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let names = self.names.lock();
        Ok(names
            .files
            .get(path)
            .is_some_and(|node| Arc::ptr_eq(node, &self.node)))
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(FileIdentity(0, Arc::as_ptr(&self.node).addr() as u64))
    }

    fn descriptor(&self) -> Option<u32> {
        None
    }

    fn try_lock(&self) -> io::Result<bool> {
        if !self.holds_lock.load(Ordering::Acquire) && !self.node.is_locked.swap(true, Ordering::AcqRel) {
            self.holds_lock.store(true, Ordering::Release);
        }
        Ok(self.holds_lock.load(Ordering::Acquire))
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        // Closing a file gives its lock back.
        if *self.holds_lock.get_mut() {
            self.node.is_locked.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_directory() -> Memory {
        let memory = Memory::new();
        memory.create_directories(Path::new("/data/runs")).unwrap();
        memory
    }

    fn kind<T>(result: io::Result<T>) -> Option<io::ErrorKind> {
        result.err().map(|error| error.kind())
    }

    #[test]
    fn names_behave_as_on_a_disk() {
        let memory = with_directory();
        let (runs, one, two) = (
            Path::new("/data/runs"),
            Path::new("/data/runs/1"),
            Path::new("/data/runs/2"),
        );
        assert_eq!(
            kind(memory.create_directory(runs)),
            Some(io::ErrorKind::AlreadyExists)
        );
        assert_eq!(
            kind(memory.open(Path::new("/none/1"), OpenMode::New)),
            Some(io::ErrorKind::NotFound)
        );
        memory.open(one, OpenMode::New).unwrap();
        assert_eq!(
            kind(memory.open(one, OpenMode::New)),
            Some(io::ErrorKind::AlreadyExists)
        );
        memory.rename(one, two).unwrap();
        assert_eq!(memory.files(), [two]);
        assert_eq!(kind(memory.remove(one)), Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_lock_has_one_holder_and_ends_with_its_file() {
        let memory = with_directory();
        let path = Path::new("/data/runs/live");
        let (first, second) = (
            memory.open(path, OpenMode::Append).unwrap(),
            memory.open(path, OpenMode::Append).unwrap(),
        );
        assert!(first.try_lock().unwrap());
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
    }
}
