//! `.live`: the process that records a run, and its calls under way.
//!
//! It is locked for as long as the process records the run, where there is a descriptor for it (decisions, section 5). On
//! Windows a lock keeps readers out of its file: there `.lock`, beside it, is locked.
//!
//! JSON lines: first the run, then one line for each timed span that starts. A span that is in `spans.jsonl` has ended;
//! its line is dropped by rewriting the file now and then.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::files::{FileSystem, OpenFile, OpenMode, open_own, write_all};
use super::kept_files::KeptFile;
use super::open_entries::{OpenEntries, OpenEntry};
use crate::process::OwnIdentity;
use tracer_format::{LIVE_FILE, LOCK_FILE, SpanId, Timestamp};

/// Most lines of ended spans before the file is rewritten: some 40 KB, which readers read whole.
const MAX_ENDED_LINES: usize = 256;
/// Bytes of its buffer that are kept after the file was rewritten.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// The first line: the run, and what tells this process from a later one with its number.
#[derive(Debug, Serialize)]
pub struct LiveHeader<'a> {
    /// Its name, redacted.
    pub run_name: &'a str,
    /// Its tags, redacted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: &'a BTreeMap<String, String>,
    /// When it began.
    pub started_at: Timestamp,
    /// The process that records it.
    pub pid: u32,
    /// Its identity; a field is `None` where the system does not report it.
    #[serde(flatten)]
    pub process: OwnIdentity,
}

/// The first line with what only the files know.
#[derive(Debug, Serialize)]
struct LockedHeader<'a> {
    #[serde(flatten)]
    header: &'a LiveHeader<'a>,
    /// The file whose lock the process holds; `None` when it holds none.
    lock: Option<&'static str>,
    /// The number of its descriptor in the process.
    lock_descriptor: Option<u32>,
}

/// The file of a run that is being recorded.
#[derive(Debug)]
pub struct LiveFileWriter {
    path: PathBuf,
    is_named: bool,
    /// Locked where it is kept open, unless there is a lock file.
    file: KeptFile,
    /// On Windows.
    lock_file: Option<Box<dyn OpenFile>>,
    header_length: u64,
    lines: usize,
    /// A fault left part of a line, or took lines away.
    is_torn: bool,
    /// Used again for every write.
    buffer: Vec<u8>,
}

impl LiveFileWriter {
    /// Creates the file, and locks it.
    pub fn create(
        file_system: &dyn FileSystem,
        directory: &Path,
        header: &LiveHeader<'_>,
    ) -> io::Result<Self> {
        let path = directory.join(LIVE_FILE);
        // Locked and filled before it gets its name, so that no reader ever sees it free or without its first line.
        let temporary = directory.join(format!("{LIVE_FILE}.{}.tmp", header.pid));
        let lock_path = cfg!(windows).then(|| directory.join(LOCK_FILE));
        let lock_file = lock_path.map(|path| file_system.open(&path, OpenMode::Append));
        let lock_file = lock_file.transpose()?;
        let mut file = KeptFile::open(open_own(file_system, &temporary)?)?;
        let written = write_header(file_system, &mut file, lock_file.as_deref(), &temporary, header);
        let header_length = written.and_then(|length| {
            file_system.rename(&temporary, &path)?;
            Ok(length)
        });
        let header_length = match header_length {
            Ok(length) => length,
            Err(error) => {
                // It may not be there; the error that matters is the first one.
                let _ = file_system.remove(&temporary);
                return Err(error);
            }
        };
        file.release();
        Ok(Self {
            path,
            is_named: true,
            file,
            lock_file,
            header_length,
            lines: 0,
            is_torn: false,
            buffer: Vec::new(),
        })
    }

    /// Adds the span `id`, which has started; `open` is everything else that is open.
    pub(crate) fn add(
        &mut self,
        file_system: &dyn FileSystem,
        id: SpanId,
        entry: &OpenEntry,
        open: &OpenEntries,
    ) -> io::Result<()> {
        let written = self.append(file_system, id, entry, open);
        self.file.release();
        written
    }

    fn append(
        &mut self,
        file_system: &dyn FileSystem,
        id: SpanId,
        entry: &OpenEntry,
        open: &OpenEntries,
    ) -> io::Result<()> {
        self.buffer.clear();
        if self.is_torn || self.lines > open.len().saturating_mul(2) + MAX_ENDED_LINES {
            return self.rewrite(file_system, id, entry, open);
        }
        self.lines += 1;
        entry.append_line(id, &mut self.buffer);
        let file = self.file.get(file_system, &self.path, OpenMode::Existing)?;
        let written = write_all(file, &self.buffer);
        self.is_torn = written.is_err();
        written
    }

    /// Rewrites the file in place: the run, and the spans that are still open.
    fn rewrite(
        &mut self,
        file_system: &dyn FileSystem,
        id: SpanId,
        entry: &OpenEntry,
        open: &OpenEntries,
    ) -> io::Result<()> {
        for (id, entry) in open {
            entry.append_line(*id, &mut self.buffer);
        }
        entry.append_line(id, &mut self.buffer);
        // Until the last line is in, it has to be done again.
        self.is_torn = true;
        let file = self.file.get(file_system, &self.path, OpenMode::Existing)?;
        file.cut(self.header_length)?;
        self.lines = open.len() + 1;
        write_all(file, &self.buffer)?;
        self.is_torn = false;
        self.buffer.shrink_to(MAX_KEPT_BYTES);
        Ok(())
    }

    /// The run's directory has another name now, and all that is in it went along.
    pub fn moved_to(&mut self, directory: &Path) {
        self.path = directory.join(LIVE_FILE);
    }

    /// Removes the file, and the lock's: the run has ended. It may be tried again.
    pub fn remove(&mut self, file_system: &dyn FileSystem) -> io::Result<()> {
        if self.is_named {
            file_system.remove(&self.path)?;
            self.is_named = false;
        }
        if self.lock_file.is_some() {
            file_system.remove(&self.path.with_file_name(LOCK_FILE))?;
            self.lock_file = None;
        }
        Ok(())
    }
}

/// Locks the lock file, or where there is none the file unless no descriptor is left for it, and writes the first line; its
/// length.
fn write_header(
    file_system: &dyn FileSystem,
    file: &mut KeptFile,
    lock_file: Option<&dyn OpenFile>,
    path: &Path,
    header: &LiveHeader<'_>,
) -> io::Result<u64> {
    file.release();
    let name = if lock_file.is_some() { LOCK_FILE } else { LIVE_FILE };
    let kept = lock_file.or_else(|| file.as_open().map(|file| &*file));
    let is_locked = kept.map_or(Ok(false), try_lock)?;
    let locked = LockedHeader {
        header,
        lock: is_locked.then_some(name),
        lock_descriptor: kept.filter(|_| is_locked).and_then(OpenFile::descriptor),
    };
    let mut line = Vec::new();
    append_json_line(&locked, &mut line)?;
    write_all(file.get(file_system, path, OpenMode::Existing)?, &line)?;
    Ok(line.len() as u64)
}

/// Locks a file; `false` where files cannot be locked.
fn try_lock(file: &dyn OpenFile) -> io::Result<bool> {
    match file.try_lock() {
        Ok(true) => Ok(true),
        Ok(false) => Err(io::ErrorKind::WouldBlock.into()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error),
    }
}

fn append_json_line<T: Serialize>(value: &T, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.push(b'\n');
    Ok(())
}
