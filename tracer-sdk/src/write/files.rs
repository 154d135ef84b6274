//! The seam between the SDK and the disk: every operation that changes a run's files goes through these two traits,
//! so that a test can make any of them fail (architecture, *write*).
//!
//! Users see it as `testing`; without that feature there is nothing for its examples to call.

use std::fmt;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::log::MAX_LINE_BYTES;

/// The longest file that is read whole, in bytes.
const MAX_WHOLE_BYTES: u64 = 16 * 1024 * 1024;

/// How a file is opened.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// # let folder = tempfile::tempdir()?;
/// use tracer_sdk::testing::{Disk, FileSystem, Open};
///
/// let path = folder.path().join("notes");
/// Disk.open(&path, Open::Append)?.write(b"one")?;
/// Disk.open(&path, Open::Append)?.write(b", two")?;
/// assert_eq!(std::fs::read(&path)?, b"one, two");
/// assert!(Disk.open(&path, Open::New).is_err());
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// Appends to the file, which is created when it is missing.
    Append,
    /// Creates the file, and fails when there is one.
    New,
    /// Appends to the file, and fails when there is none.
    Existing,
}

/// What tells a file from every other one that is there, whatever it is called: the device and the number on it.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// # let folder = tempfile::tempdir()?;
/// use tracer_sdk::testing::{Disk, FileSystem, Open};
///
/// let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
/// let file = Disk.open(&one, Open::New)?;
/// Disk.link(&one, &other)?;
/// assert_eq!(Disk.open(&other, Open::Existing)?.identity()?, file.identity()?);
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity(pub u64, pub u64);

/// The operations on names.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use std::sync::Arc;
/// use tracer_sdk::testing::{FileSystem, Memory};
///
/// let memory = Memory::new();
/// let file_system: Arc<dyn FileSystem> = Arc::new(memory.clone());
/// tracer_sdk::Run::new("in memory").file_system(file_system).start().finish();
/// assert!(memory.files().iter().any(|path| path.ends_with("meta.json")));
/// # }
/// ```
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// Creates a directory and whatever leads to it, private to the user; one that exists is left as it is.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem};
    ///
    /// let path = folder.path().join("a/b");
    /// Disk.create_directories(&path)?;
    /// Disk.create_directories(&path)?; // as it is
    /// assert!(path.is_dir());
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn create_directories(&self, path: &Path) -> io::Result<()>;
    /// Creates one directory, private to the user; fails when it exists.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem};
    ///
    /// let path = folder.path().join("a");
    /// Disk.create_directory(&path)?;
    /// assert!(Disk.create_directory(&path).is_err());
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Opens a file, private to the user; a symbolic link in its place is refused.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let file = Disk.open(&folder.path().join("notes"), Open::New)?;
    /// assert_eq!(file.length()?, 0);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn open(&self, path: &Path, open: Open) -> io::Result<Box<dyn OpenFile>>;
    /// Moves a file over another one, in one step.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let [new, old] = ["meta.json.new", "meta.json"].map(|name| folder.path().join(name));
    /// Disk.open(&new, Open::New)?.write(b"{}")?;
    /// Disk.rename(&new, &old)?;
    /// assert_eq!(std::fs::read(&old)?, b"{}");
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a further name; fails when that is taken, or where files have one name only.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    /// let file = Disk.open(&one, Open::New)?;
    /// Disk.link(&one, &other)?;
    /// assert!(file.is_at(&other)?);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// What tells this file system from others in the process.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// use tracer_sdk::testing::{Disk, FileSystem, Memory};
    ///
    /// let memory = Memory::new();
    /// assert_eq!(memory.identity(), memory.clone().identity());
    /// assert_ne!(memory.identity(), Disk.identity());
    /// # }
    /// ```
    fn identity(&self) -> usize;
    /// Reads a small file whole; anything but a regular file, and one that is longer than 16 MiB, is refused.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem};
    ///
    /// let path = folder.path().join("meta.json");
    /// std::fs::write(&path, "{}")?;
    /// assert_eq!(Disk.read_whole(&path)?, b"{}");
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Removes a file.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let path = folder.path().join(".live");
    /// Disk.open(&path, Open::New)?;
    /// Disk.remove(&path)?;
    /// assert!(!path.exists());
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem};
    ///
    /// let path = folder.path().join("a");
    /// Disk.create_directories(&path.join("b"))?;
    /// assert!(Disk.remove_empty_directory(&path).is_err());
    /// Disk.remove_empty_directory(&path.join("b"))?;
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn remove_empty_directory(&self, path: &Path) -> io::Result<()>;
}

/// The operations on an open file.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// # let folder = tempfile::tempdir()?;
/// use tracer_sdk::testing::{Disk, FileSystem, Open, OpenFile};
///
/// let mut file: Box<dyn OpenFile> = Disk.open(&folder.path().join("notes"), Open::New)?;
/// file.write(b"12345")?;
/// file.cut(3)?;
/// assert_eq!(file.length()?, 3);
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait OpenFile: fmt::Debug + Send + Sync {
    /// Writes at the end, once, and tells how many bytes were taken.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let mut file = Disk.open(&folder.path().join("notes"), Open::New)?;
    /// assert_eq!(file.write(b"12345")?, 5);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// How long the file is.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let mut file = Disk.open(&folder.path().join("notes"), Open::New)?;
    /// file.write(b"12345")?;
    /// assert_eq!(file.length()?, 5);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn length(&self) -> io::Result<u64>;
    /// How long the file is up to the end of its last whole line; looks no further back than a line can be long.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let mut file = Disk.open(&folder.path().join("notes"), Open::New)?;
    /// file.write(b"whole\ntorn")?;
    /// assert_eq!(file.whole_lines()?, 6);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn whole_lines(&self) -> io::Result<u64>;
    /// Whether these are the last bytes of the file.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let mut file = Disk.open(&folder.path().join("notes"), Open::New)?;
    /// file.write(b"one\ntwo\n")?;
    /// assert!(file.ends_with(b"two\n")? && !file.ends_with(b"one\n")?);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn ends_with(&self, bytes: &[u8]) -> io::Result<bool>;
    /// Cuts the file to a length.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let path = folder.path().join("notes");
    /// let mut file = Disk.open(&path, Open::New)?;
    /// file.write(b"12345")?;
    /// file.cut(2)?;
    /// assert_eq!(std::fs::read(&path)?, b"12");
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Whether this path names this file: it does not when the file was removed, moved or replaced meanwhile.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let path = folder.path().join("notes");
    /// let file = Disk.open(&path, Open::New)?;
    /// assert!(file.is_at(&path)?);
    /// Disk.remove(&path)?;
    /// assert!(!file.is_at(&path)?);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn is_at(&self, path: &Path) -> io::Result<bool>;
    /// Which file this is.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let file = Disk.open(&folder.path().join("notes"), Open::New)?;
    /// assert_eq!(file.identity()?, file.identity()?);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn identity(&self) -> io::Result<FileIdentity>;
    /// The number by which the process knows the open file, where files have one.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// use tracer_sdk::testing::{FileSystem, Memory, Open};
    ///
    /// let memory = Memory::new();
    /// memory.create_directories("data".as_ref())?;
    /// assert_eq!(memory.open("data/notes".as_ref(), Open::New)?.descriptor(), None);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn descriptor(&self) -> Option<u32>;
    /// Takes the exclusive lock of the file when it is free; closing the file gives it back.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let path = folder.path().join(".live");
    /// let (one, other) = (Disk.open(&path, Open::Append)?, Disk.open(&path, Open::Append)?);
    /// assert!(one.try_lock()?);
    /// assert!(!other.try_lock()?);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn try_lock(&self) -> io::Result<bool>;
    /// Gives the lock back.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let path = folder.path().join(".live");
    /// let (one, other) = (Disk.open(&path, Open::Append)?, Disk.open(&path, Open::Append)?);
    /// one.try_lock()?;
    /// one.unlock()?;
    /// assert!(other.try_lock()?);
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn unlock(&self) -> io::Result<()>;
    /// Waits until what was written is on the disk.
    ///
    /// ```
    /// # #[cfg(feature = "testing")] {
    /// # let folder = tempfile::tempdir()?;
    /// use tracer_sdk::testing::{Disk, FileSystem, Open};
    ///
    /// let mut file = Disk.open(&folder.path().join("notes"), Open::New)?;
    /// file.write(b"12345")?;
    /// file.sync()?;
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn sync(&self) -> io::Result<()>;
}

/// The machine's own file system.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// # let folder = tempfile::tempdir()?;
/// use std::sync::Arc;
/// use tracer_sdk::testing::{Disk, Faulty, FileSystem};
///
/// let counted = Faulty::new(Arc::new(Disk));
/// counted.create_directory(&folder.path().join("runs"))?;
/// assert!(folder.path().join("runs").is_dir());
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl FileSystem for Disk {
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        private_directory().recursive(true).create(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        private_directory().create(path)
    }

    fn open(&self, path: &Path, open: Open) -> io::Result<Box<dyn OpenFile>> {
        let mut options = OpenOptions::new();
        match open {
            // Reading is asked for because some platforms lock only files that can be read.
            Open::Append => options.read(true).append(true).create(true),
            Open::New => options.read(true).append(true).create_new(true),
            Open::Existing => options.read(true).append(true),
        };
        make_private(&mut options);
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Box::new(DiskFile {
            file,
            found_unlimited: None,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn identity(&self) -> usize {
        0
    }

    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut options = OpenOptions::new();
        options.read(true);
        make_private(&mut options);
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_WHOLE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_WHOLE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_empty_directory(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }
}

#[derive(Debug)]
struct DiskFile {
    file: File,
    /// When the system was last asked for the limit of files, and there was none.
    found_unlimited: Option<Instant>,
}

/// For so long a file without a limit has none: asking costs two fifths of a write, and only bursts of spans come
/// faster than this.
const UNLIMITED_FOR: Duration = Duration::from_micros(5);

impl DiskFile {
    fn room(&mut self) -> io::Result<Option<u64>> {
        let now = Instant::now();
        if self
            .found_unlimited
            .is_some_and(|found| now.duration_since(found) < UNLIMITED_FOR)
        {
            return Ok(None);
        }
        let room = room_in(&self.file)?;
        self.found_unlimited = room.is_none().then_some(now);
        Ok(room)
    }
}

impl DiskFile {
    /// The last bytes, at most so many, and where they begin.
    fn tail(&self, max_bytes: u64) -> io::Result<(u64, Vec<u8>)> {
        let length = self.length()?;
        let start = length.saturating_sub(max_bytes);
        // Where this reads does not matter to the writes: they go to the end, wherever that is.
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        file.take(length - start).read_to_end(&mut tail)?;
        Ok((start, tail))
    }
}

impl OpenFile for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room()?;
        self.file.write(within(room, bytes)?)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn whole_lines(&self) -> io::Result<u64> {
        let (start, tail) = self.tail(MAX_LINE_BYTES as u64)?;
        after_last_newline(start, &tail)
    }

    fn ends_with(&self, bytes: &[u8]) -> io::Result<bool> {
        Ok(self.tail(bytes.len() as u64)?.1 == bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        match std::fs::symlink_metadata(path) {
            Ok(found) => Ok(identity_of(&found) == self.identity()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn identity(&self) -> io::Result<FileIdentity> {
        Ok(identity_of(&self.file.metadata()?))
    }

    fn descriptor(&self) -> Option<u32> {
        descriptor_of(&self.file)
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// How much the process may append to a file (`RLIMIT_FSIZE`); `None` when there is no limit. To begin a write where the
/// room ends raises a signal that kills a program which does not know it, so that none is begun there.
#[cfg(unix)]
pub(crate) fn room_in(file: &File) -> io::Result<Option<u64>> {
    use rustix::process::{Resource, getrlimit};
    match getrlimit(Resource::Fsize).current {
        None => Ok(None),
        Some(limit) => Ok(Some(limit.saturating_sub(file.metadata()?.len()))),
    }
}

#[cfg(not(unix))]
pub(crate) fn room_in(_file: &File) -> io::Result<Option<u64>> {
    Ok(None)
}

/// As much of `bytes` as there is room for; an error when that is nothing.
pub(crate) fn within(room: Option<u64>, bytes: &[u8]) -> io::Result<&[u8]> {
    let room = room.map_or(usize::MAX, |room| usize::try_from(room).unwrap_or(usize::MAX));
    if room == 0 && !bytes.is_empty() {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes.get(..room).unwrap_or(bytes))
}

#[cfg(unix)]
fn private_directory() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(unix)]
fn make_private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    // Not following links keeps another user of a shared folder from pointing our file at theirs; not blocking keeps
    // a FIFO in its place from stopping the traced program.
    options
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
}

#[cfg(unix)]
fn identity_of(file: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    FileIdentity(file.dev(), file.ino())
}

#[cfg(unix)]
fn descriptor_of(file: &File) -> Option<u32> {
    use std::os::fd::AsRawFd;
    u32::try_from(file.as_raw_fd()).ok()
}

// Elsewhere the user's profile folder is private by itself.
#[cfg(not(unix))]
fn private_directory() -> DirBuilder {
    DirBuilder::new()
}

#[cfg(not(unix))]
fn make_private(_options: &mut OpenOptions) {}

// Elsewhere a file that is open cannot be removed or moved.
#[cfg(not(unix))]
fn identity_of(_file: &Metadata) -> FileIdentity {
    FileIdentity(0, 0)
}

#[cfg(not(unix))]
fn descriptor_of(_file: &File) -> Option<u32> {
    None
}

/// Where the last whole line of a file ends, whose bytes from `start` on are `tail`.
pub(super) fn after_last_newline(start: u64, tail: &[u8]) -> io::Result<u64> {
    match tail.iter().rposition(|&byte| byte == b'\n') {
        Some(last) => Ok(start + last as u64 + 1),
        None if start == 0 => Ok(0),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the file has a line that is too long",
        )),
    }
}

/// How often a write that a signal interrupted is tried again.
const INTERRUPTED_TRIES: usize = 64;

/// Writes once; what a signal interrupted is tried again, though not for ever.
pub(super) fn write_once(file: &mut dyn OpenFile, bytes: &[u8]) -> io::Result<usize> {
    for _ in 0..INTERRUPTED_TRIES {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// Writes all of `bytes`, for small files that nobody reads while they are written.
pub(crate) fn write_all(file: &mut dyn OpenFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write_once(file, bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            taken => bytes = bytes.get(taken..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Does what a run is not complete without, and once more when it fails: many faults pass.
pub(super) fn try_twice(mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    attempt().or_else(|_| attempt())
}
