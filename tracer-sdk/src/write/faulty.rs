//! A file system that fails on demand, for tests: one operation, or every one from there on.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::process::Mutex;

use super::files::{FileIdentity, FileSystem, OpenFile, OpenMode};

/// Operation of a file system that the SDK uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "each is named after the operation of `FileSystem` or `OpenFile`"
)]
pub enum Operation {
    CreateDirectories,
    CreateDirectory,
    Open,
    Rename,
    Read,
    Remove,
    Write,
    Length,
    Cut,
    Overwrite,
    Find,
    Lock,
    RemoveEmptyDirectory,
    Sync,
}

/// Way in which an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is done, and the system gives this error number.
    Error(i32),
    /// A write takes the first half of the bytes. Other operations do not fail that way.
    ShortWrite,
    /// A write takes the first half of the bytes, and the system gives this error number all the same. Other operations do
    /// not fail that way.
    TornWrite(i32),
    /// A write takes all bytes, and the system gives this error number all the same. Other operations do not fail that way.
    FalseError(i32),
}

/// A file system that does what another one does until its fault is due; clones share their count.
#[derive(Debug, Clone)]
pub struct Faulty {
    inner: Arc<dyn FileSystem>,
    fault: Option<Due>,
    seen: Arc<SeenOperations>,
    #[cfg(test)]
    pub(crate) before_write: Hook,
    #[cfg(test)]
    pub(crate) after_write: Hook,
}

/// Action right before or right after each write, with its bytes: what happens between two processes.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<Action>);

#[cfg(test)]
type Action = dyn Fn(&[u8]) + Send + Sync;

#[cfg(test)]
impl Default for Hook {
    fn default() -> Self {
        Self(Arc::new(|_| ()))
    }
}

#[cfg(test)]
impl std::fmt::Debug for Hook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Hook")
    }
}

/// When the fault happens.
#[derive(Debug, Clone, Copy)]
struct Due {
    fault: Fault,
    /// At this operation, the first of all being 0.
    position: u64,
    /// And at every later one.
    lasting: bool,
}

#[derive(Debug, Default)]
struct SeenOperations {
    operations: Mutex<Vec<Operation>>,
    fired: AtomicU64,
}

impl Faulty {
    /// Fails nothing yet, and counts.
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self {
            inner,
            fault: None,
            seen: Arc::default(),
            #[cfg(test)]
            before_write: Hook::default(),
            #[cfg(test)]
            after_write: Hook::default(),
        }
    }

    /// Fails the operation at `position`, the first of all being 0, and no other.
    #[must_use]
    pub fn failing_once(mut self, position: u64, fault: Fault) -> Self {
        self.fault = Some(Due {
            fault,
            position,
            lasting: false,
        });
        self
    }

    /// Fails the operation at `position`, the first of all being 0, and every later one.
    #[must_use]
    pub fn failing_from(mut self, position: u64, fault: Fault) -> Self {
        self.fault = Some(Due {
            fault,
            position,
            lasting: true,
        });
        self
    }

    /// Every operation so far, the failed ones included.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.seen.operations.lock().clone()
    }

    /// Number of times that the fault happened. A test whose fault never happened has shown nothing.
    #[must_use]
    pub fn fired(&self) -> u64 {
        self.seen.fired.load(Ordering::Relaxed)
    }

    /// Counts an operation; the fault that is due.
    fn count(&self, operation: Operation) -> Option<Fault> {
        let mut operations = self.seen.operations.lock();
        let position = operations.len() as u64;
        operations.push(operation);
        let due = self.fault?;
        let is_due = position == due.position || due.lasting && position > due.position;
        let is_possible = matches!(due.fault, Fault::Error(_)) || operation == Operation::Write;
        (is_due && is_possible).then(|| {
            self.seen.fired.fetch_add(1, Ordering::Relaxed);
            due.fault
        })
    }

    fn pass(&self, operation: Operation) -> io::Result<()> {
        match self.count(operation) {
            Some(Fault::Error(number)) => Err(io::Error::from_raw_os_error(number)),
            Some(Fault::ShortWrite | Fault::TornWrite(_) | Fault::FalseError(_)) | None => Ok(()),
        }
    }
}

impl FileSystem for Faulty {
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::CreateDirectories)?;
        self.inner.create_directories(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::CreateDirectory)?;
        self.inner.create_directory(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn OpenFile>> {
        self.pass(Operation::Open)?;
        Ok(Box::new(FaultyFile {
            inner: self.inner.open(path, mode)?,
            faulty: self.clone(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.pass(Operation::Rename)?;
        self.inner.rename(from, to)
    }

    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.pass(Operation::Read)?;
        self.inner.read_whole(path)
    }

    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.pass(Operation::Overwrite)?;
        self.inner.overwrite(path, at, bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::Remove)?;
        self.inner.remove(path)
    }

    fn remove_empty_directory(&self, path: &Path) -> io::Result<()> {
        self.pass(Operation::RemoveEmptyDirectory)?;
        self.inner.remove_empty_directory(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    inner: Box<dyn OpenFile>,
    faulty: Faulty,
}

impl OpenFile for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(test)]
        (self.faulty.before_write.0)(bytes);
        let fault = self.faulty.count(Operation::Write);
        let stored = match fault {
            Some(Fault::Error(_)) => 0,
            Some(Fault::ShortWrite | Fault::TornWrite(_)) => bytes.len() / 2,
            Some(Fault::FalseError(_)) | None => bytes.len(),
        };
        let (stored, _) = bytes.split_at(stored);
        let taken = if stored.is_empty() {
            Ok(0)
        } else {
            self.inner.write(stored)
        };
        #[cfg(test)]
        (self.faulty.after_write.0)(bytes);
        match fault {
            Some(Fault::Error(number) | Fault::TornWrite(number) | Fault::FalseError(number)) => {
                Err(io::Error::from_raw_os_error(number))
            }
            Some(Fault::ShortWrite) | None => taken,
        }
    }

    fn length(&self) -> io::Result<u64> {
        self.faulty.pass(Operation::Length)?;
        self.inner.length()
    }

    fn position(&self) -> io::Result<u64> {
        self.faulty.pass(Operation::Length)?;
        self.inner.position()
    }

    fn read_before(&self, end: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        self.faulty.pass(Operation::Read)?;
        self.inner.read_before(end, max_bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.faulty.pass(Operation::Cut)?;
        self.inner.cut(length)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.faulty.pass(Operation::Find)?;
        self.inner.is_at(path)
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        self.faulty.pass(Operation::Find)?;
        self.inner.identity()
    }

    fn descriptor(&self) -> Option<u32> {
        self.inner.descriptor()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.faulty.pass(Operation::Lock)?;
        self.inner.try_lock()
    }

    fn sync(&self) -> io::Result<()> {
        self.faulty.pass(Operation::Sync)?;
        self.inner.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Memory;
    use super::*;

    const EIO: i32 = 5;

    fn outcomes(disk: &Faulty) -> Vec<bool> {
        let path = Path::new("/a");
        (0..4).map(|_| disk.create_directories(path).is_ok()).collect()
    }

    #[test]
    fn a_fault_happens_at_its_operation_once_or_from_there_on() {
        let memory = || Faulty::new(Arc::new(Memory::new()));
        let (none, once, lasting) = (
            memory(),
            memory().failing_once(1, Fault::Error(EIO)),
            memory().failing_from(1, Fault::Error(EIO)),
        );
        assert_eq!((outcomes(&none), none.fired()), (vec![true; 4], 0));
        assert_eq!(
            (outcomes(&once), once.fired()),
            (vec![true, false, true, true], 1)
        );
        assert_eq!(
            (outcomes(&lasting), lasting.fired()),
            (vec![true, false, false, false], 3)
        );
        assert_eq!(none.operations(), [Operation::CreateDirectories; 4]);
    }

    #[test]
    fn a_short_write_takes_half() {
        let memory = Memory::new();
        memory.create_directories(Path::new("/data")).unwrap();
        let disk = Faulty::new(Arc::new(memory.clone())).failing_from(0, Fault::ShortWrite);
        let path = Path::new("/data/file");
        let taken = disk.open(path, OpenMode::New).unwrap().write(b"123456").unwrap();
        assert_eq!((taken, memory.read(path)), (3, Some(b"123".to_vec())));
        assert_eq!(disk.fired(), 1);
    }

    #[test]
    fn a_write_may_fail_after_it_has_stored_a_part_or_all() {
        for (fault, stored) in [
            (Fault::TornWrite(EIO), &b"123"[..]),
            (Fault::FalseError(EIO), b"123456"),
        ] {
            let memory = Memory::new();
            memory.create_directories(Path::new("/data")).unwrap();
            let disk = Faulty::new(Arc::new(memory.clone())).failing_from(1, fault);
            let path = Path::new("/data/file");
            let mut file = disk.open(path, OpenMode::New).unwrap();
            assert_eq!(file.write(b"123456").unwrap_err().raw_os_error(), Some(EIO));
            assert_eq!(memory.read(path).as_deref(), Some(stored));
        }
    }
}
