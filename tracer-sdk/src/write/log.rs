//! The append log `spans.jsonl`: whole lines, one write each, mended before the next append when a fault tore one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::files::{FileSystem, Open, OpenFile, write_once};

/// A line is never longer than this, newline included (decisions, section 5).
pub(crate) const MAX_LINE_BYTES: usize = 1024 * 1024;

/// How many finished spans wait to be written together, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    /// How many spans wait at the most.
    pub(crate) max_spans: usize,
    /// How long a span waits at the most, while others arrive.
    pub(crate) max_delay: Duration,
}

/// How many bytes wait at the most, whatever the number of spans.
const MAX_PENDING_BYTES: usize = 256 * 1024;

/// How often and how long an append waits for another process that shares the file.
const LOCK_TRIES: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Part of a line that a fault left in the file.
#[derive(Debug, Clone, Copy)]
struct Torn {
    from: u64,
    until: u64,
}

/// What became of the lines that an operation handled.
#[derive(Debug, Default)]
pub(crate) struct Appended {
    /// Lines that are in the file now.
    pub(crate) written: u64,
    /// Lines that are lost, and why.
    pub(crate) lost: Option<(u64, io::Error)>,
}

/// An open span log.
#[derive(Debug)]
pub(crate) struct SpanLog {
    file_system: Arc<dyn FileSystem>,
    path: PathBuf,
    file: Option<Box<dyn OpenFile>>,
    /// How long the file is, as far as this process knows.
    length: u64,
    /// The file holds part of a line between these two lengths.
    torn: Option<Torn>,
    /// Somebody appended behind a torn line before it could be cut off.
    spoiled: bool,
    /// Another process may append too: every append takes the file's lock and asks for its length.
    shared: bool,
    /// The lock is kept between appends.
    held: bool,
    /// Nothing is appended once this file is gone.
    only_while: Option<PathBuf>,
    /// Without it every span is in the file on return.
    batch: Option<Batch>,
    pending: Vec<u8>,
    pending_lines: u64,
    oldest_pending: Option<Instant>,
}

impl SpanLog {
    pub(crate) fn new(file_system: Arc<dyn FileSystem>, path: PathBuf, batch: Option<Batch>) -> Self {
        Self {
            file_system,
            path,
            file: None,
            length: 0,
            torn: None,
            spoiled: false,
            shared: false,
            held: false,
            only_while: None,
            batch,
            pending: Vec::new(),
            pending_lines: 0,
            oldest_pending: None,
        }
    }

    /// From now on another process may append to the same file.
    pub(crate) fn share(&mut self) {
        self.shared = true;
    }

    /// Whether another process may append to the same file.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// From now on nothing is appended once `file` is gone: whoever owns the run has ended it.
    pub(crate) fn only_while(&mut self, file: PathBuf) {
        self.only_while = Some(file);
    }

    /// Keeps the others who share the file from appending, until [`SpanLog::let_go`].
    pub(crate) fn hold(&mut self) {
        if self.shared && !self.held && self.open().is_ok() {
            self.held = self.wait_for_lock();
        }
    }

    /// Lets the others append again.
    pub(crate) fn let_go(&mut self) {
        if let (true, Some(file)) = (std::mem::take(&mut self.held), &mut self.file) {
            // A lock that cannot be given back goes with the process.
            let _ = file.unlock();
        }
    }

    /// Adds one line, which ends with its newline; it is in the file on return unless batching is on.
    pub(crate) fn append(&mut self, line: &[u8]) -> Appended {
        let Some(batch) = self.batch else {
            return self.write_lines(line, 1);
        };
        if self.pending.is_empty() {
            self.oldest_pending = Some(Instant::now());
        }
        self.pending.extend_from_slice(line);
        self.pending_lines += 1;
        let full = self.pending_lines >= batch.max_spans as u64 || self.pending.len() >= MAX_PENDING_BYTES;
        let due = self
            .oldest_pending
            .is_some_and(|oldest| oldest.elapsed() >= batch.max_delay);
        if full || due {
            self.flush()
        } else {
            Appended::default()
        }
    }

    /// Writes everything that waits. What a fault keeps out of the file waits on while there is room for it: many faults
    /// pass.
    pub(crate) fn flush(&mut self) -> Appended {
        let has_room = self.pending.len() < MAX_PENDING_BYTES;
        self.write_pending(has_room)
    }

    /// Writes everything that waits, or loses it.
    pub(crate) fn flush_or_lose(&mut self) -> Appended {
        self.write_pending(false)
    }

    fn write_pending(&mut self, keep_on_fault: bool) -> Appended {
        if self.pending.is_empty() {
            return Appended::default();
        }
        // Taken out and put back, so that a steady stream of batches does not allocate.
        let mut lines = std::mem::take(&mut self.pending);
        let mut appended = self.write_lines(&lines, self.pending_lines);
        if appended.lost.is_some() && keep_on_fault {
            appended.lost = None;
            lines.drain(..end_of_lines(&lines, appended.written));
            self.pending_lines -= appended.written;
        } else {
            lines.clear();
            self.pending_lines = 0;
            self.oldest_pending = None;
        }
        self.pending = lines;
        appended
    }

    /// Cuts off what a fault left behind a whole line, if it can be cut.
    pub(crate) fn mend(&mut self) -> io::Result<()> {
        let (Some(torn), Some(file)) = (self.torn, &mut self.file) else {
            return Ok(());
        };
        // Whoever shares the file may have appended behind the torn line; their lines are not ours to cut.
        if file.length()? == torn.until {
            file.cut(torn.from)?;
            self.length = torn.from;
        } else {
            self.spoiled = true;
        }
        self.torn = None;
        Ok(())
    }

    /// Writes one line now, past the batch, which is empty.
    pub(crate) fn append_now(&mut self, line: &[u8]) -> io::Result<()> {
        self.write_whole_lines(line).map_err(|(_, error)| error)
    }

    /// Whether a broken line is in the file for good.
    pub(crate) fn is_spoiled(&self) -> bool {
        self.spoiled
    }

    /// Whether readers can find what was written: the file is where it was opened, or was never opened. What cannot be
    /// found out counts as well.
    pub(crate) fn is_in_place(&self) -> bool {
        self.file
            .as_ref()
            .is_none_or(|file| file.is_at(&self.path).unwrap_or(true))
    }

    fn write_lines(&mut self, lines: &[u8], count: u64) -> Appended {
        let written = self.write_whole_lines(lines);
        match written {
            Ok(()) => Appended {
                written: count,
                lost: None,
            },
            Err((bytes, error)) => {
                let written = lines[..bytes].split(|&byte| byte == b'\n').count() as u64 - 1;
                Appended {
                    written,
                    lost: Some((count - written, error)),
                }
            }
        }
    }

    /// Writes the lines; on a fault tells how many bytes of whole lines stayed in the file.
    fn write_whole_lines(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        self.open().map_err(|error| (0, error))?;
        let locked = self.shared && !self.held && self.wait_for_lock();
        let outcome = self.write_locked(lines, locked || self.held);
        if let (true, Some(file)) = (locked, &mut self.file) {
            // A lock that cannot be given back goes with the process; appending goes on.
            let _ = file.unlock();
        }
        outcome
    }

    fn open(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            let file = self.file_system.open(&self.path, Open::Append)?;
            // What others left in a shared file is looked at before the first append.
            self.length = if self.shared { 0 } else { file.length()? };
            self.file = Some(file);
        }
        Ok(())
    }

    fn write_locked(&mut self, lines: &[u8], locked: bool) -> Result<(), (usize, io::Error)> {
        if self.only_while.as_ref().is_some_and(|file| !file.exists()) {
            return Err((0, io::Error::other("the run has ended")));
        }
        self.mend().map_err(|error| (0, error))?;
        // `open` went well.
        let Some(file) = &mut self.file else {
            return Err((0, io::ErrorKind::NotFound.into()));
        };
        if self.shared {
            let length = file.length().map_err(|error| (0, error))?;
            if locked && length != self.length {
                // Somebody else wrote behind us, and may have been killed within a line.
                let whole = file.whole_lines().map_err(|error| (0, error))?;
                if whole < length {
                    file.cut(whole).map_err(|error| (0, error))?;
                }
                self.length = whole;
            } else {
                self.length = length;
            }
        }
        let taken = match write_once(file.as_mut(), lines) {
            Ok(taken) => taken,
            Err(error) => return Err((0, error)),
        };
        let kept = lines[..taken]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |last| last + 1);
        let torn = Torn {
            from: self.length + kept as u64,
            until: self.length + taken as u64,
        };
        self.length = torn.from;
        if taken == lines.len() {
            return Ok(());
        }
        if torn.until > torn.from {
            self.torn = Some(torn);
            // When it cannot be mended now, it is before the next append.
            let _ = self.mend();
        }
        Err((
            kept,
            io::Error::new(io::ErrorKind::WriteZero, "the disk took only part of a line"),
        ))
    }

    /// Waits a moment for the others who share the file. Without the lock a whole line still goes in with one write;
    /// only mending a torn one needs it, so a stopped holder never stops the traced program.
    fn wait_for_lock(&self) -> bool {
        let Some(file) = &self.file else { return false };
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(true) => return true,
                Ok(false) => std::thread::sleep(LOCK_PAUSE),
                Err(_) => return false,
            }
        }
        false
    }
}

/// Where the first `count` lines end.
fn end_of_lines(lines: &[u8], count: u64) -> usize {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    lines
        .split_inclusive(|&byte| byte == b'\n')
        .take(count)
        .map(<[u8]>::len)
        .sum()
}
