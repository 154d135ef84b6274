//! The append log `spans.jsonl`: whole lines, one write each, mended before the next append when a fault tore one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::files::{FileSystem, OpenMode, write_once};
use super::kept_files::KeptFile;
use tracer_format::{MAX_LINE_BYTES, RecordedStatus, names};

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
const MAX_LOCK_TRIES: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Part of a line that a fault left, or may have left, in the file: nothing of ours lies past `until`.
#[derive(Debug, Clone, Copy)]
struct Torn {
    from: u64,
    until: u64,
}

/// Whether the others who share a file are kept from appending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AppendLock {
    /// They are.
    Locked,
    /// One of them has kept the lock for too long.
    Busy,
    /// Files cannot be locked here.
    Unavailable,
}

/// What was found of the others who share a file.
#[derive(Debug, Default)]
struct Others {
    /// One has appended, or has cut the file, since [`SpanLog::remember_length`].
    wrote: bool,
    /// The file was shorter once than this process had left it.
    cut: bool,
    /// The last wait for the lock was in vain: the next append only tries.
    skip_wait: bool,
}

/// How a process that joined a run sees that the run goes on.
#[derive(Debug)]
pub(crate) enum Owner {
    /// This file is there for as long as it does.
    Live(PathBuf),
    /// This `meta.json` says so: emitters of other kinds have no such file.
    Meta(PathBuf),
}

impl Owner {
    fn has_ended_run(&self) -> bool {
        match self {
            Self::Live(live) => !live.exists(),
            Self::Meta(meta) => !std::fs::read(meta)
                .ok()
                .and_then(|text| serde_json::from_slice::<MetaStatus>(&text).ok())
                .is_some_and(|meta| RecordedStatus::from_word(&meta.status) == Some(RecordedStatus::Running)),
        }
    }
}

/// What is read of a `meta.json`.
#[derive(Debug, Deserialize)]
struct MetaStatus {
    status: String,
}

/// What became of the lines that an operation handled.
#[derive(Debug, Default)]
pub(crate) struct AppendOutcome {
    /// Lines that are in the file now.
    pub(crate) written: u64,
    /// Lines that are lost, and why.
    pub(crate) lost: Option<(u64, io::Error)>,
}

impl AppendOutcome {
    fn new(lines: &[u8], count: u64, outcome: Result<(), WriteFault>) -> Self {
        match outcome {
            Ok(()) => Self {
                written: count,
                lost: None,
            },
            Err(fault) => {
                let kept = lines.get(..fault.kept).unwrap_or_default();
                let written = kept.split(|&byte| byte == b'\n').count() as u64 - 1;
                Self {
                    written,
                    lost: Some((count - written, fault.error)),
                }
            }
        }
    }
}

/// A write that failed.
#[derive(Debug)]
struct WriteFault {
    /// How many bytes of whole lines are in the file all the same.
    kept: usize,
    error: io::Error,
}

impl WriteFault {
    fn before_any_line(error: io::Error) -> Self {
        Self { kept: 0, error }
    }
}

/// An open span log.
#[derive(Debug)]
pub(crate) struct SpanLog {
    file_system: Arc<dyn FileSystem>,
    path: PathBuf,
    file: KeptFile,
    /// How long the file is, as far as this process knows.
    length: u64,
    /// The file holds part of a line between these two lengths.
    torn: Option<Torn>,
    /// Another process may append too: every append takes the file's lock and asks for its length.
    is_shared: bool,
    others: Others,
    /// The lock is kept between appends.
    is_locked: bool,
    /// This process is ending the run: it no longer depends on the lock.
    ends_run: bool,
    /// Whether the run goes on, for a process that joined it: nothing is appended behind its end.
    owner: Option<Owner>,
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
            file: KeptFile::closed(),
            length: 0,
            torn: None,
            is_shared: false,
            others: Others::default(),
            is_locked: false,
            ends_run: false,
            owner: None,
            batch,
            pending: Vec::new(),
            pending_lines: 0,
            oldest_pending: None,
        }
    }

    /// From now on another process may append to the same file.
    pub(crate) fn share(&mut self) {
        self.is_shared = true;
    }

    /// Whether another process may append to the same file.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// From now on nothing is appended once `owner` has ended the run.
    pub(crate) fn set_owner(&mut self, owner: Owner) {
        self.owner = Some(owner);
    }

    /// Whether whoever owns the run has ended it.
    pub(crate) fn has_run_ended(&self) -> bool {
        self.owner.as_ref().is_some_and(Owner::has_ended_run)
    }

    /// From now on lines are appended though the run has ended.
    pub(crate) fn continue_after_end(&mut self) {
        self.owner = None;
        self.ends_run = true;
        let lines = std::mem::take(&mut self.pending);
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            push_marked(&mut self.pending, line);
        }
    }

    /// Locks the file, which others share, until [`SpanLog::unlock`].
    pub(crate) fn lock(&mut self) {
        if self.is_shared && !self.is_locked && self.open().is_ok() {
            self.is_locked = self.wait_for_lock() == AppendLock::Locked;
        }
    }

    /// Locks the file for the end of the run. A process that keeps the lock for too long is not waited for: it finds the run
    /// ended.
    pub(crate) fn lock_to_end(&mut self) {
        self.ends_run = true;
        self.others.skip_wait = false;
        self.lock();
    }

    /// Unlocks the file if it is locked.
    pub(crate) fn unlock(&mut self) {
        if let (true, Some(file)) = (std::mem::take(&mut self.is_locked), self.file.as_open()) {
            // A lock that cannot be unlocked goes with the process; appending goes on.
            let _ = file.unlock();
        }
        self.release();
    }

    /// Adds one line, which ends with its newline; it is in the file on return unless batching is on, or another process
    /// keeps the lock: then it waits for the next append.
    pub(crate) fn append(&mut self, line: &[u8]) -> AppendOutcome {
        if self.batch.is_none() && !self.is_shared {
            return AppendOutcome::new(line, 1, self.write(line));
        }
        if self.pending.is_empty() {
            self.oldest_pending = Some(Instant::now());
        }
        self.pending.extend_from_slice(line);
        self.pending_lines += 1;
        if self.is_due() {
            self.flush()
        } else {
            AppendOutcome::default()
        }
    }

    /// Whether what waits has waited long enough, or is enough.
    fn is_due(&self) -> bool {
        let Some(batch) = self.batch else { return true };
        self.pending_lines >= batch.max_spans as u64
            || self.pending.len() >= MAX_PENDING_BYTES
            || self.has_waited(batch.max_delay)
    }

    /// Whether something waits, and has waited so long.
    pub(crate) fn has_waited(&self, delay: Duration) -> bool {
        self.oldest_pending
            .is_some_and(|oldest| oldest.elapsed() >= delay)
    }

    /// Writes everything that waits. What a fault keeps out of the file waits on while there is room for it: many faults
    /// pass.
    pub(crate) fn flush(&mut self) -> AppendOutcome {
        let has_room = self.pending.len() < MAX_PENDING_BYTES;
        self.write_pending(has_room)
    }

    /// Writes everything that waits, or loses it.
    pub(crate) fn flush_or_lose(&mut self) -> AppendOutcome {
        self.others.skip_wait = false;
        self.write_pending(false)
    }

    fn write_pending(&mut self, keep_on_fault: bool) -> AppendOutcome {
        if self.pending.is_empty() {
            return AppendOutcome::default();
        }
        // Taken out and put back, so that a steady stream of batches does not allocate.
        let mut lines = std::mem::take(&mut self.pending);
        let mut appended = AppendOutcome::new(&lines, self.pending_lines, self.write(&lines));
        // Without batching only the lock is waited for.
        let may_pass = |error: &io::Error| self.batch.is_some() || error.kind() == io::ErrorKind::WouldBlock;
        let waits = keep_on_fault && appended.lost.as_ref().is_some_and(|(_, error)| may_pass(error));
        if waits {
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
        let (Some(torn), Some(file)) = (self.torn, self.file.as_open()) else {
            return Ok(());
        };
        let length = file.length()?;
        // What somebody else has appended behind it is not ours to cut: the log is read when the run ends.
        if length > torn.from && length <= torn.until {
            file.cut(torn.from)?;
        }
        self.torn = None;
        Ok(())
    }

    /// Writes one line now, past the batch, which is empty.
    pub(crate) fn append_now(&mut self, line: &[u8]) -> io::Result<()> {
        self.write(line).map_err(|fault| fault.error)
    }

    /// From now on [`SpanLog::has_changed`] tells what others do to the file.
    pub(crate) fn remember_length(&mut self) {
        self.others.wrote = false;
        if let Some(Ok(length)) = self.length_now() {
            self.length = length;
        }
    }

    /// Whether the file is not as this process has left it: another one appended, cut or emptied it. What cannot be found
    /// out counts as unchanged.
    pub(crate) fn has_changed(&self) -> bool {
        let length = self.length_now();
        self.others.wrote || length.is_some_and(|length| length.is_ok_and(|length| length != self.length))
    }

    /// Whether the file was shorter once than this process had left it.
    pub(crate) fn was_cut(&self) -> bool {
        let length = self.length_now();
        self.others.cut || length.is_some_and(|length| length.is_ok_and(|length| length < self.length))
    }

    /// Whether readers can find what was written: the file is where it was opened, or was never opened. What cannot be
    /// found out counts as well.
    pub(crate) fn is_in_place(&self) -> bool {
        self.file.is_in_place(self.file_system.as_ref(), &self.path)
    }

    fn length_now(&self) -> Option<io::Result<u64>> {
        self.file.length(self.file_system.as_ref(), &self.path)
    }

    /// Whether the file was opened, and is where it was opened.
    pub(crate) fn is_still_in_place(&self) -> bool {
        self.file.was_open() && self.is_in_place()
    }

    /// Writes whole lines in one piece: the one place where `spans.jsonl` grows.
    fn write(&mut self, lines: &[u8]) -> Result<(), WriteFault> {
        let was_locked = self.is_locked;
        let outcome = match self.prepare() {
            // `prepare` opened it.
            Ok(lock) => match self.file.as_open().map(|file| write_once(file, lines)) {
                Some(Ok(taken)) if taken == lines.len() => {
                    self.length += taken as u64;
                    self.undo_behind_the_end(lines)
                        .map_err(WriteFault::before_any_line)
                }
                Some(Ok(taken)) => self.recover(lines, lock, Some(taken), io::ErrorKind::WriteZero.into()),
                Some(Err(error)) => self.recover(lines, lock, None, error),
                None => Err(WriteFault::before_any_line(io::ErrorKind::NotFound.into())),
            },
            Err(error) => Err(WriteFault::before_any_line(error)),
        };
        if was_locked {
            self.release();
        } else {
            self.unlock();
        }
        outcome
    }

    /// Opens the file, locks it if others share it, and cuts off what lies behind its last whole line.
    fn prepare(&mut self) -> io::Result<AppendLock> {
        self.open()?;
        if !self.is_shared {
            self.mend()?;
            return Ok(AppendLock::Locked);
        }
        let lock = if self.is_locked {
            AppendLock::Locked
        } else {
            self.wait_for_lock()
        };
        self.is_locked = lock == AppendLock::Locked;
        self.find_end(lock)?;
        Ok(lock)
    }

    fn open(&mut self) -> io::Result<()> {
        let was_open = self.file.was_open();
        let file = self
            .file
            .get(self.file_system.as_ref(), &self.path, OpenMode::Append)?;
        if !was_open {
            // What others left in a shared file is looked at before the first append.
            self.length = if self.is_shared { 0 } else { file.length()? };
        }
        Ok(())
    }

    /// The file need not stay open for what comes next.
    fn release(&mut self) {
        if self.torn.is_none() && !self.is_locked {
            self.file.release();
        }
    }

    /// Finds out what a write left that failed, or that took only a part; the file is asked, because a write may store a
    /// part and fail all the same.
    #[cold]
    fn recover(
        &mut self,
        lines: &[u8],
        lock: AppendLock,
        taken: Option<usize>,
        error: io::Error,
    ) -> Result<(), WriteFault> {
        let start = self.length;
        let until = start + lines.len() as u64;
        let length = self.file.as_open().and_then(|file| file.length().ok());
        let stored = length
            .filter(|length| lock == AppendLock::Locked && (start..=until).contains(length))
            .and_then(|length| usize::try_from(length - start).ok());
        let Some(taken) = stored.or(taken) else {
            // It may have left anything up to all of it; all of it counts as lost.
            self.torn = Some(Torn { from: start, until });
            self.mend_own(lock);
            return Err(WriteFault::before_any_line(error));
        };
        let kept = lines[..taken]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |last| last + 1);
        self.length = start + kept as u64;
        if taken == lines.len() {
            return Ok(());
        }
        if taken > kept {
            self.torn = Some(Torn {
                from: self.length,
                until: start + taken as u64,
            });
            self.mend_own(lock);
        }
        Err(WriteFault { kept, error })
    }

    /// Mends what a fault has just left; when it cannot be mended now, it is before the next append.
    fn mend_own(&mut self, lock: AppendLock) {
        // Without the lock another process may append any moment.
        if lock == AppendLock::Locked {
            let _ = self.mend();
        }
    }

    /// Finds the end of the last whole line of a file that others append to, and cuts off what lies behind it.
    fn find_end(&mut self, lock: AppendLock) -> io::Result<()> {
        if lock == AppendLock::Busy && !self.ends_run {
            let reason = "another process keeps the lock of the run's log";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, reason));
        }
        if self.has_run_ended() {
            return Err(io::Error::other("the run has ended"));
        }
        // `open` went well.
        let Some(file) = self.file.as_open() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let length = file.length()?;
        self.others.cut |= length < self.length;
        if length != self.length || self.torn.is_some() {
            // Somebody else wrote behind us, and may have been killed within a line.
            self.others.wrote = true;
            let whole = file.whole_lines()?;
            if whole < length {
                if lock != AppendLock::Locked {
                    // Whoever has the lock may be writing it, or about to cut it off.
                    return Err(io::Error::other("the log ends within a line of another process"));
                }
                file.cut(whole)?;
            }
            self.length = whole;
            self.torn = None;
        }
        Ok(())
    }

    /// Takes lines back that came to lie behind the end of the run: this process was stopped between looking for the end
    /// and appending, and whoever ended the run did not wait for it.
    fn undo_behind_the_end(&mut self, lines: &[u8]) -> io::Result<()> {
        if !self.has_run_ended() {
            return Ok(());
        }
        let Some(file) = self.file.as_open() else {
            return Ok(());
        };
        // With the end behind them they count: whoever wrote it finds that the log has grown.
        if !file.ends_with(lines)? {
            return Ok(());
        }
        let start = file.length()?.saturating_sub(lines.len() as u64);
        file.cut(start)?;
        self.length = start;
        Err(io::Error::other("the run has ended"))
    }

    /// Waits a moment for the others who share the file, and after that was in vain only asks: a stopped process never
    /// stops the traced program.
    fn wait_for_lock(&mut self) -> AppendLock {
        let Some(file) = self.file.as_open() else {
            return AppendLock::Unavailable;
        };
        let tries = if self.others.skip_wait { 1 } else { MAX_LOCK_TRIES };
        for turn in 0..tries {
            match file.try_lock() {
                Ok(true) => {
                    self.others.skip_wait = false;
                    return AppendLock::Locked;
                }
                Ok(false) if turn + 1 < tries => std::thread::sleep(LOCK_PAUSE),
                Ok(false) => {}
                Err(_) => return AppendLock::Unavailable,
            }
        }
        self.others.skip_wait = true;
        AppendLock::Busy
    }
}

/// Adds a line to `lines`, with the attribute of a span that ended after its run, if there is room for it.
fn push_marked(lines: &mut Vec<u8>, line: &[u8]) {
    // A quote within a text is escaped, so that this can only be the key; that of a span event comes later.
    const ATTRIBUTES: &[u8] = br#""attributes":{"#;
    let mark = format!(r#""{}":true"#, names::AFTER_END.written());
    let start = line.windows(ATTRIBUTES.len()).position(|part| part == ATTRIBUTES);
    let Some((before, after)) = start
        .filter(|_| line.len() + mark.len() < MAX_LINE_BYTES)
        .and_then(|start| line.split_at_checked(start + ATTRIBUTES.len()))
    else {
        lines.extend_from_slice(line);
        return;
    };
    lines.extend_from_slice(before);
    lines.extend_from_slice(mark.as_bytes());
    if !after.starts_with(b"}") {
        lines.push(b',');
    }
    lines.extend_from_slice(after);
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

#[cfg(test)]
mod tests;
