//! The append log `spans.jsonl`: whole lines, one write each, by every process of the run.
//!
//! Processes append side by side (`O_APPEND`) and never wait for each other. A log of one process is cut back behind a
//! write that failed. In a shared one nothing is cut: the next line begins with a newline, and once it is in the file,
//! what lies torn before it is final and becomes blanks.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::files::{FileSystem, OpenFile, OpenMode, write_once};
use super::kept_files::KeptFile;
use tracer_format::{MAX_LINE_BYTES, RecordedStatus, names};

/// Size and delay of a batch of finished spans, which are written together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Most spans that wait.
    pub max_spans: usize,
    /// Longest time that a span waits, while others arrive.
    pub max_delay: Duration,
}

/// Most bytes that wait, whatever the number of spans.
const MAX_PENDING_BYTES: usize = 256 * 1024;

/// No file is so long: where the last line of this process ends is not known.
const UNKNOWN: u64 = u64::MAX;

/// Part of a line that a fault left, or may have left, in the file: nothing of ours lies past `until`.
#[derive(Debug, Clone, Copy)]
struct Torn {
    from: u64,
    until: u64,
}

/// Sign for a process that joined a run that the run has not ended.
#[derive(Debug)]
pub enum Owner {
    /// This file is there for as long as the run has not ended.
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

/// Part of a `meta.json` that is read.
#[derive(Debug, Deserialize)]
struct MetaStatus {
    status: String,
}

/// Outcome for the lines that an operation handled.
#[derive(Debug, Default)]
pub struct AppendOutcome {
    /// Lines that are in the file now.
    pub written: u64,
    /// Lines that are lost, and why.
    pub lost: Option<(u64, io::Error)>,
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
    /// Number of bytes of whole lines that are in the file all the same.
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
pub struct SpanLog {
    file_system: Arc<dyn FileSystem>,
    path: PathBuf,
    file: KeptFile,
    /// End offset of the last line of this process.
    length: u64,
    /// The file holds part of a line between these two lengths.
    torn: Option<Torn>,
    /// Another process may append too.
    is_shared: bool,
    /// Another process has appended.
    others_wrote: bool,
    /// The file was shorter once than this process had left it.
    was_cut: bool,
    /// Sign that the run has not ended, for a process that joined it: nothing is appended behind its end.
    owner: Option<Owner>,
    /// Without it every span is in the file on return.
    batch: Option<Batch>,
    pending: Vec<u8>,
    pending_lines: u64,
    oldest_pending: Option<Instant>,
    /// A line with the newline before it, for a log that others share.
    closing: Vec<u8>,
}

impl SpanLog {
    /// A log at a path, which is opened with the first line.
    pub fn new(file_system: Arc<dyn FileSystem>, path: PathBuf, batch: Option<Batch>) -> Self {
        Self {
            file_system,
            path,
            file: KeptFile::closed(),
            length: 0,
            torn: None,
            is_shared: false,
            others_wrote: false,
            was_cut: false,
            owner: None,
            batch,
            pending: Vec::new(),
            pending_lines: 0,
            oldest_pending: None,
            closing: Vec::new(),
        }
    }

    /// From now on another process may append to the same file.
    pub fn share(&mut self) {
        let _ = self.mend();
        self.is_shared = true;
        if self.torn.take().is_some() {
            self.length = UNKNOWN;
        }
    }

    /// Returns whether another process may append to the same file.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// From now on nothing is appended once `owner` has ended the run.
    pub fn set_owner(&mut self, owner: Owner) {
        self.owner = Some(owner);
    }

    /// Returns whether the run's owner has ended it.
    pub fn has_run_ended(&self) -> bool {
        self.owner.as_ref().is_some_and(Owner::has_ended_run)
    }

    /// From now on lines are appended though the run has ended.
    pub fn continue_after_end(&mut self) {
        self.owner = None;
        let lines = std::mem::take(&mut self.pending);
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            push_marked(&mut self.pending, line);
        }
    }

    /// Adds one line, which ends with its newline; it is in the file on return unless batching is on.
    pub fn append(&mut self, line: &[u8]) -> AppendOutcome {
        let Some(batch) = self.batch else {
            return AppendOutcome::new(line, 1, self.write(line));
        };
        if self.pending.is_empty() {
            self.oldest_pending = Some(Instant::now());
        }
        self.pending.extend_from_slice(line);
        self.pending_lines += 1;
        let is_due = self.pending_lines >= batch.max_spans as u64
            || self.pending.len() >= MAX_PENDING_BYTES
            || self.has_waited(batch.max_delay);
        if is_due {
            self.flush()
        } else {
            AppendOutcome::default()
        }
    }

    /// Returns whether something waits, and has waited so long.
    pub fn has_waited(&self, delay: Duration) -> bool {
        self.oldest_pending
            .is_some_and(|oldest| oldest.elapsed() >= delay)
    }

    /// Writes everything that waits. What a fault keeps out of the file waits on while there is room for it: many faults
    /// pass.
    pub fn flush(&mut self) -> AppendOutcome {
        let has_room = self.pending.len() < MAX_PENDING_BYTES;
        self.write_pending(has_room)
    }

    /// Writes everything that waits, or loses it.
    pub fn flush_or_lose(&mut self) -> AppendOutcome {
        self.write_pending(false)
    }

    fn write_pending(&mut self, keep_on_fault: bool) -> AppendOutcome {
        if self.pending.is_empty() {
            return AppendOutcome::default();
        }
        // Taken out and put back, so that a steady stream of batches does not allocate.
        let mut lines = std::mem::take(&mut self.pending);
        let mut appended = AppendOutcome::new(&lines, self.pending_lines, self.write(&lines));
        if keep_on_fault && appended.lost.is_some() {
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

    /// Cuts off, or closes, what a fault left behind a whole line, if that can be done.
    pub fn mend(&mut self) -> io::Result<()> {
        if self.is_shared && self.length == UNKNOWN {
            return self.write(&[]).map_err(|fault| fault.error);
        }
        let (Some(torn), Some(file)) = (self.torn, self.file.as_open()) else {
            return Ok(());
        };
        let length = file.length()?;
        // Bytes that another program has appended behind it are not ours to cut.
        if length > torn.from && length <= torn.until {
            file.cut(torn.from)?;
        }
        self.torn = None;
        Ok(())
    }

    /// Writes one line now, past the batch, which is empty.
    pub fn append_now(&mut self, line: &[u8]) -> io::Result<()> {
        self.write(line).map_err(|fault| fault.error)
    }

    /// Returns whether another process has appended, or the file is not as this process has left it. What cannot be
    /// found out counts as unchanged.
    pub fn has_changed(&self) -> bool {
        self.others_wrote || self.length_now().is_some_and(|length| length != self.length)
    }

    /// Returns whether the file was shorter once than this process had left it.
    pub fn was_cut(&self) -> bool {
        let is_shorter = |length| length < self.length && self.length != UNKNOWN;
        self.was_cut || self.length_now().is_some_and(is_shorter)
    }

    /// Length of the file in bytes, where it was opened and that can be found out.
    pub fn length_now(&self) -> Option<u64> {
        self.file.length(self.file_system.as_ref(), &self.path)?.ok()
    }

    /// Returns whether readers can find what was written: the file is where it was opened, or was never opened. What
    /// cannot be found out counts as well.
    pub fn is_in_place(&self) -> bool {
        self.file.is_in_place(self.file_system.as_ref(), &self.path)
    }

    /// Returns whether the file was opened, and is where it was opened.
    pub fn is_still_in_place(&self) -> bool {
        self.file.was_open() && self.is_in_place()
    }

    /// Writes whole lines in one piece: the one place where `spans.jsonl` grows.
    fn write(&mut self, lines: &[u8]) -> Result<(), WriteFault> {
        let outcome = match self.open() {
            Ok(()) if self.is_shared => self.write_beside_others(lines),
            Ok(()) => self.write_alone(lines),
            Err(error) => Err(WriteFault::before_any_line(error)),
        };
        // The file need not stay open for what comes next.
        if self.torn.is_none() {
            self.file.release();
        }
        outcome
    }

    fn write_alone(&mut self, lines: &[u8]) -> Result<(), WriteFault> {
        self.mend().map_err(WriteFault::before_any_line)?;
        match write_once(self.opened()?, lines) {
            Ok(taken) if taken == lines.len() => {
                self.length += taken as u64;
                Ok(())
            }
            Ok(taken) => self.recover(lines, Some(taken), io::ErrorKind::WriteZero.into()),
            Err(error) => self.recover(lines, None, error),
        }
    }

    /// Appends to a log that other processes append to. Behind another one's line, which may be torn, it begins with a
    /// newline: an empty line is no line.
    fn write_beside_others(&mut self, lines: &[u8]) -> Result<(), WriteFault> {
        let before = self.opened()?.length();
        let before = before.map_err(WriteFault::before_any_line)?;
        let closes = before != self.length;
        if self.length != UNKNOWN {
            self.others_wrote |= closes;
            self.was_cut |= before < self.length;
        }
        let mut bytes = std::mem::take(&mut self.closing);
        bytes.clear();
        bytes.extend_from_slice(if closes { b"\n" } else { b"" });
        let first = bytes.len();
        bytes.extend_from_slice(lines);
        let outcome = self.append_at_end(before, &bytes, first);
        self.closing = bytes;
        outcome
    }

    /// Writes `bytes`, whose lines begin behind the `first` of them; `before` is how long the file was.
    fn append_at_end(&mut self, before: u64, bytes: &[u8], first: usize) -> Result<(), WriteFault> {
        self.length = UNKNOWN;
        let file = self.opened()?;
        let (start, taken, error) = match write_once(file, bytes) {
            Ok(taken) => {
                let end = file.position().ok();
                let start = end.and_then(|end| end.checked_sub(taken as u64));
                (start, taken, io::ErrorKind::WriteZero.into())
            }
            // It may have stored a part and failed all the same.
            Err(error) => (Some(before), stored_at(file, before, bytes).unwrap_or(0), error),
        };
        let kept = whole_lines(bytes.get(..taken).unwrap_or_default());
        if let Some(start) = start.filter(|_| taken > 0) {
            let end = start + taken as u64;
            if first > 0 {
                // A line that cannot be mended is reported by readers.
                let _ = self.blank_torn_line_before(start);
            }
            if taken == kept || self.blank(start + kept as u64, end).is_ok() {
                self.length = end;
            }
        }
        if taken == bytes.len() {
            return Ok(());
        }
        Err(WriteFault {
            kept: kept.saturating_sub(first),
            error,
        })
    }

    /// Makes blanks of a torn line before a write of this process: no other process is going to end it, because writes
    /// follow one another.
    fn blank_torn_line_before(&mut self, start: u64) -> io::Result<()> {
        let Some(file) = self.file.as_open() else {
            return Ok(());
        };
        if file.read_before(start, 1)? == b"\n" {
            return Ok(());
        }
        let before = file.read_before(start, MAX_LINE_BYTES as u64)?;
        let torn = before.len() - whole_lines(&before);
        self.blank(start.saturating_sub(torn as u64), start)
    }

    /// Makes an empty line of a part of the file.
    fn blank(&self, from: u64, until: u64) -> io::Result<()> {
        let length = usize::try_from(until.saturating_sub(from)).unwrap_or(0);
        let mut blanks = vec![b' '; length];
        if let Some(last) = blanks.last_mut() {
            *last = b'\n';
        }
        self.file_system.overwrite(&self.path, from, &blanks)
    }

    fn opened(&mut self) -> Result<&mut (dyn OpenFile + 'static), WriteFault> {
        let missing = || WriteFault::before_any_line(io::ErrorKind::NotFound.into());
        self.file.as_open().ok_or_else(missing)
    }

    fn open(&mut self) -> io::Result<()> {
        let was_open = self.file.was_open();
        let file = self
            .file
            .get(self.file_system.as_ref(), &self.path, OpenMode::Append)?;
        if !was_open {
            // A shared file may end within a line.
            self.length = if self.is_shared { 0 } else { file.length()? };
        }
        Ok(())
    }

    /// Finds out what a write left that failed, or that took only a part; the file is read, because a write may store a
    /// part and fail all the same.
    #[cold]
    fn recover(&mut self, lines: &[u8], taken: Option<usize>, error: io::Error) -> Result<(), WriteFault> {
        let start = self.length;
        let until = start + lines.len() as u64;
        let length = self.file.as_open().and_then(|file| file.length().ok());
        let stored = length
            .filter(|length| (start..=until).contains(length))
            .and_then(|length| usize::try_from(length - start).ok());
        let Some(taken) = stored.or(taken) else {
            // It may have left anything up to all of it; all of it counts as lost.
            self.torn = Some(Torn { from: start, until });
            // When it cannot be mended now, it is before the next append.
            let _ = self.mend();
            return Err(WriteFault::before_any_line(error));
        };
        let kept = whole_lines(&lines[..taken]);
        self.length = start + kept as u64;
        if taken == lines.len() {
            return Ok(());
        }
        if taken > kept {
            self.torn = Some(Torn {
                from: self.length,
                until: start + taken as u64,
            });
            let _ = self.mend();
        }
        Err(WriteFault { kept, error })
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

/// Number of `bytes` that the file holds from `start` on, where nothing else follows.
fn stored_at(file: &dyn OpenFile, start: u64, bytes: &[u8]) -> Option<usize> {
    let length = file.length().ok()?.checked_sub(start)?;
    let is_possible = length <= bytes.len() as u64;
    let stored = is_possible.then(|| file.read_before(start + length, length).ok())??;
    bytes.starts_with(&stored).then_some(stored.len())
}

/// End offset of the last whole line.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |last| last + 1)
}

/// End offset of the first `count` lines.
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
