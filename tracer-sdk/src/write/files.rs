//! The seam between the SDK and the disk: every operation that changes a run's files goes through these two traits,
//! so that a test can make any of them fail (architecture, *write*).

use std::fmt;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use crate::private_files::{private_file, private_folder};
use crate::process::coarse_now;

/// The longest file that is read whole, in bytes.
const MAX_WHOLE_BYTES: u64 = 16 * 1024 * 1024;

/// The mode that a file is opened in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Appends to the file, which is created when it is missing.
    Append,
    /// Creates the file, and fails when there is one.
    New,
    /// Appends to the file, and fails when there is none.
    Existing,
}

/// The identity of a file under whatever name: the device and the number on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity(pub u64, pub u64);

/// The operations on names.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// Creates a directory and whatever leads to it, private to the user; one that exists is left as it is.
    fn create_directories(&self, path: &Path) -> io::Result<()>;
    /// Creates one directory, private to the user; fails when it exists.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Opens a file, private to the user; a symbolic link in its place is refused.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn OpenFile>>;
    /// Moves a file over another one, in one step.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Reads a small file whole; anything but a regular file, and one that is longer than 16 MiB, is refused.
    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Writes over a part of a file that is there.
    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_empty_directory(&self, path: &Path) -> io::Result<()>;
}

/// The operations on an open file.
pub trait OpenFile: fmt::Debug + Send + Sync {
    /// Writes at the end, once, and returns how many bytes were taken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// The length of the file.
    fn length(&self) -> io::Result<u64>;
    /// End offset of the last write of this process.
    fn position(&self) -> io::Result<u64>;
    /// The bytes before `end`, at most `max_bytes`.
    fn read_before(&self, end: u64, max_bytes: u64) -> io::Result<Vec<u8>>;
    /// Cuts the file to a length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Returns whether this path names this file: it does not when the file was removed, moved or replaced meanwhile.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
    /// The identity of this file.
    fn identity(&self) -> io::Result<FileIdentity>;
    /// The number by which the process knows the open file, where files have one.
    fn descriptor(&self) -> Option<u32>;
    /// Locks the file exclusively if it is not locked; closing the file unlocks it.
    fn try_lock(&self) -> io::Result<bool>;
    /// Waits until what was written is on the disk.
    fn sync(&self) -> io::Result<()>;
}

/// The machine's own file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl FileSystem for Disk {
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        private_folder().recursive(true).create(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        private_folder().create(path)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn OpenFile>> {
        let mut options = private_options();
        match mode {
            // Read access is needed because some platforms lock only files that can be read.
            OpenMode::Append => options.read(true).append(true).create(true),
            OpenMode::New => options.read(true).append(true).create_new(true),
            OpenMode::Existing => options.read(true).append(true),
        };
        let file = options.open(path)?;
        // A file that is created here is one.
        if mode != OpenMode::New && !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(Box::new(DiskFile {
            file,
            unlimited_at: None,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = private_options().read(true).open(path)?;
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

    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = private_options().write(true).open(path)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
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
    /// The tick of the coarse clock in which files had no limit. Asking the system costs a fifth of a write.
    unlimited_at: Option<Duration>,
}

impl DiskFile {
    fn room(&mut self) -> io::Result<Option<u64>> {
        let now = coarse_now();
        if self.unlimited_at == Some(now) {
            return Ok(None);
        }
        let room = room_in(&self.file)?;
        self.unlimited_at = room.is_none().then_some(now);
        Ok(room)
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

    fn position(&self) -> io::Result<u64> {
        (&self.file).stream_position()
    }

    fn read_before(&self, end: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        let start = end.saturating_sub(max_bytes);
        // The position of this read does not matter to the writes: they go to the end, wherever that is.
        let mut file = &self.file;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(end - start).read_to_end(&mut bytes)?;
        Ok(bytes)
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

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// The number of bytes that the process may append to a file (`RLIMIT_FSIZE`); `None` when there is no limit. A write that
/// begins where the room ends raises a signal that kills a program which does not handle it, so none is begun there.
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
fn private_options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = private_file();
    // Not following links keeps another user of a shared folder from pointing our file at theirs; not blocking keeps
    // a FIFO in its place from stopping the traced program.
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
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

#[cfg(not(unix))]
fn private_options() -> OpenOptions {
    private_file()
}

// Elsewhere a file that is open cannot be removed or moved.
#[cfg(not(unix))]
fn identity_of(_file: &Metadata) -> FileIdentity {
    FileIdentity(0, 0)
}

#[cfg(not(unix))]
fn descriptor_of(_file: &File) -> Option<u32> {
    None
}

/// The number of tries of a write that signals interrupt.
const MAX_INTERRUPTED_TRIES: usize = 64;

/// Writes once; what a signal interrupted is tried again, though not for ever.
pub(super) fn write_once(file: &mut dyn OpenFile, bytes: &[u8]) -> io::Result<usize> {
    for _ in 0..MAX_INTERRUPTED_TRIES {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// Makes a file whose name has this process's number. One of a process that had the number before, and died, goes: in a
/// container each start has the same one.
pub(super) fn open_own(file_system: &dyn FileSystem, path: &Path) -> io::Result<Box<dyn OpenFile>> {
    match file_system.open(path, OpenMode::New) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            file_system.remove(path)?;
            file_system.open(path, OpenMode::New)
        }
        opened => opened,
    }
}

/// Writes all of `bytes`, for small files that have no reader while they are written.
pub fn write_all(file: &mut dyn OpenFile, mut bytes: &[u8]) -> io::Result<()> {
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
