//! One run on disk while it is recorded: its directory, the span log, `meta.json` and `.live`, with what was written, what
//! was lost and which spans are open (decisions, sections 4 and 5).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::files::{FileSystem, try_twice};
use super::late_spans::LateSpans;
use super::live_file::{LiveFileWriter, LiveHeader};
use super::log::{AppendOutcome, Batch, Owner, SpanLog};
use super::losses::{Losses, LostParent};
use super::meta_file::{meta_text, replace_text};
use super::open_entries::{IdHasher, OpenEntries, OpenEntry};
use tracer_format::meta::{COUNTS_EXACT, DROPPED, LEFT_OUT, LOOPS, UNATTACHED, UNFINISHED_SPANS};
use tracer_format::{
    Counts, EventType, LIVE_FILE, META_FILE, RUNS_FOLDER, RecordedStatus, RunMeta, SPANS_FILE, SpanId,
    SpanKind, Timestamp, TraceId,
};

/// Constants of a run while it is recorded.
#[derive(Debug, Clone)]
pub(crate) struct RunConstants {
    pub(crate) trace_id: TraceId,
    pub(crate) name: String,
    pub(crate) started_at: Timestamp,
}

/// End of a run: its status, times and counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) status: RecordedStatus,
    pub(crate) ended_at: Timestamp,
    pub(crate) duration_ms: u64,
    /// Counts of the run when nothing is missing.
    pub(crate) counts: Counts,
    /// Number of loops, where there is a warning or the counts are not exact.
    pub(crate) loops: Option<u64>,
    /// The counts are those of the projection, unless other processes wrote spans.
    pub(crate) counts_exact: bool,
    /// Number of spans that have not ended.
    pub(crate) unfinished_spans: u64,
    /// Number of records that found no run while this one and others were live.
    pub(crate) unattached: u64,
}

/// Why spans are lost that were written.
const LOG_WAS_CHANGED: &str = "spans.jsonl was cut, emptied or rewritten while the run was recorded";

/// The log does not hold what was written to it.
fn log_was_changed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, LOG_WAS_CHANGED)
}

/// A span that has ended, ready to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedSpan<'a> {
    pub(crate) id: SpanId,
    pub(crate) parent: SpanId,
    pub(crate) name: &'a str,
    pub(crate) event_type: EventType,
    /// Kind that its emitter gives; `None` leaves it to the type.
    pub(crate) kind: Option<SpanKind>,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// The message of the error that the span ended with.
    pub(crate) error: Option<&'a str>,
    pub(crate) may_have_children: bool,
}

/// A line that waits in the log's batch.
#[derive(Debug)]
struct PendingLine {
    event_type: EventType,
    as_parent: Option<LostParent>,
}

/// The files of a run.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a step that happens once and in any order"
)]
pub(crate) struct RunFiles {
    file_system: Arc<dyn FileSystem>,
    data_directory: PathBuf,
    /// The run's directory, whether or not it exists yet.
    pub(crate) directory: PathBuf,
    identity: RunConstants,
    pub(crate) log: SpanLog,
    live: Option<LiveFileWriter>,
    /// The timed spans that have started and have not ended. Those that a span in the file names as its parent get a
    /// stand-in when the run ends: a completed run has no missing parent.
    pub(crate) open: OpenEntries,
    /// Buffers of arguments of spans that have ended.
    buffers: Vec<String>,
    /// The names of spans: a program gives the same again and again.
    names: HashSet<Arc<str>>,
    /// Number of open holders below each span, the root included.
    open_holders: HashMap<SpanId, u32, BuildHasherDefault<IdHasher>>,
    /// The end of the last span that was written.
    pub(crate) last_end: Timestamp,
    /// This process has ended its part of the run.
    pub(crate) has_ended: bool,
    /// The run that this process joined was found to have ended.
    pub(crate) owner_has_ended: bool,
    directory_made: bool,
    meta_written: bool,
    /// The lines that wait in the log's batch.
    pending: Vec<PendingLine>,
    /// Number of lines in the file.
    pub(crate) written: u64,
    /// Sum of their counts.
    pub(crate) counts: Counts,
    /// Losses of this process and of others that worked for the run.
    pub(crate) losses: Losses,
    /// Spans that ended after the run.
    pub(crate) late: LateSpans,
    /// The last `meta.json` of the run's own end is written.
    is_complete: bool,
}

/// Highest number of names that are shared, and their greatest length in bytes.
const MAX_NAMES: usize = 256;
const MAX_NAME_BYTES: usize = 256;

/// Highest number of buffers of arguments that are kept for further spans.
const MAX_BUFFERS: usize = 4;

/// Why a record is missing that was made while its thread was recording something else.
const NESTED: &str = "it was recorded by code that a recorder called";

impl RunFiles {
    /// The files of a run that this process starts, or that it joined: then another one made the directory and writes
    /// `meta.json`.
    pub(crate) fn new(
        file_system: Arc<dyn FileSystem>,
        data_directory: &Path,
        identity: RunConstants,
        batch: Option<Batch>,
        joined: bool,
    ) -> Self {
        let directory = data_directory
            .join(RUNS_FOLDER)
            .join(identity.trace_id.to_string());
        let mut log = SpanLog::new(Arc::clone(&file_system), directory.join(SPANS_FILE), batch);
        if joined {
            log.share();
            let live = directory.join(LIVE_FILE);
            log.set_owner(if live.exists() {
                Owner::Live(live)
            } else {
                Owner::Meta(directory.join(META_FILE))
            });
        }
        Self {
            file_system,
            data_directory: data_directory.to_owned(),
            directory,
            last_end: identity.started_at,
            identity,
            log,
            live: None,
            open: OpenEntries::default(),
            buffers: Vec::new(),
            names: HashSet::default(),
            open_holders: HashMap::default(),
            has_ended: false,
            owner_has_ended: false,
            directory_made: joined,
            meta_written: joined,
            pending: Vec::new(),
            written: 0,
            counts: Counts::default(),
            losses: Losses::default(),
            late: LateSpans::default(),
            is_complete: false,
        }
    }

    /// From now on another process may append to the span log, below the span `parent`; the directory and `meta.json` are
    /// there for it, and the end of the run writes a stand-in for that span if it has not ended.
    pub(crate) fn share(&mut self, parent: SpanId) -> io::Result<()> {
        self.log.share();
        if let Some(entry) = self.open.get_mut(&parent) {
            entry.is_named = true;
        }
        self.make_directory()?;
        self.describe()
    }

    /// Makes the directory and tells readers who is recording.
    pub(crate) fn begin(&mut self, header: &LiveHeader<'_>) -> io::Result<()> {
        try_twice(|| {
            self.make_directory()?;
            let file_system = self.file_system.as_ref();
            self.live = Some(LiveFileWriter::create(file_system, &self.directory, header)?);
            Ok(())
        })
    }

    /// A name that others share.
    pub(crate) fn shared_name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = name.into();
        if self.names.len() < MAX_NAMES && name.len() <= MAX_NAME_BYTES {
            self.names.insert(Arc::clone(&shared));
        }
        shared
    }

    /// Adds a timed span that has started to the open ones, and to `.live`.
    pub(crate) fn add_open(&mut self, id: SpanId, entry: OpenEntry) -> io::Result<()> {
        if entry.is_holder {
            *self.open_holders.entry(entry.parent).or_default() += 1;
        }
        let shown = match &mut self.live {
            Some(live) => live.add(self.file_system.as_ref(), id, &entry, &self.open),
            None => Ok(()),
        };
        self.open.insert(id, entry);
        shown
    }

    /// An empty buffer for the arguments of a span that starts: a timed call takes no memory that the one before it gave back.
    pub(crate) fn arguments_buffer(&mut self) -> String {
        self.buffers.pop().unwrap_or_default()
    }

    /// Returns whether a holder is open below this span.
    pub(crate) fn has_open_holder(&self, parent: SpanId) -> bool {
        self.open_holders.contains_key(&parent)
    }

    /// Removes a timed span that has ended from the open ones.
    pub(crate) fn remove_open(&mut self, id: SpanId) -> Option<OpenEntry> {
        let entry = self.open.remove(&id)?;
        if entry.is_holder
            && let Entry::Occupied(mut open) = self.open_holders.entry(entry.parent)
        {
            *open.get_mut() -= 1;
            if *open.get() == 0 {
                open.remove();
            }
        }
        Some(entry)
    }

    /// Appends the line of a span. `meta.json` appears with the first one. A span that may have children says what a
    /// stand-in for it would need.
    pub(crate) fn append(&mut self, line: &[u8], span: &EndedSpan<'_>) -> io::Result<()> {
        if !self.open.is_empty() {
            let ended = self.remove_open(span.id);
            if let Some(mut buffer) = ended.map(|entry| entry.arguments)
                && buffer.capacity() > 0
                && self.buffers.len() < MAX_BUFFERS
            {
                buffer.clear();
                self.buffers.push(buffer);
            }
            if let Some(parent) = self.open.get_mut(&span.parent) {
                parent.is_named = true;
            }
        }
        self.last_end = self.last_end.max(span.end);
        let as_parent = span.may_have_children.then(|| LostParent {
            id: span.id,
            parent: span.parent,
            name: self.shared_name(span.name),
            start: span.start,
            end: span.end,
        });
        if let Err(error) = self.make_directory() {
            self.losses.add(1, &error);
            if let Some(parent) = as_parent {
                self.losses.keep_parent(parent);
            }
            return Err(error);
        }
        // Without `meta.json` a span is still worth having: the file is tried again with the next one.
        let described = self.describe();
        self.pending.push(PendingLine {
            event_type: span.event_type,
            as_parent,
        });
        let appended = self.log.append(line);
        self.settle(appended).and(described)
    }

    /// Appends a line that stands in for a lost one, which stays counted as lost. Nothing waits in the batch any more.
    pub(crate) fn append_stand_in(&mut self, line: &[u8]) -> io::Result<()> {
        try_twice(|| self.append_now(line))
    }

    /// Counts the call that a stand-in is, until the run has ended in its `meta.json`, later there.
    pub(crate) fn count_stand_in(&mut self, event_type: EventType) {
        let mut counts = Counts::default();
        counts.count(event_type);
        if self.is_complete {
            self.late.add(0, counts);
        } else {
            self.counts.add(counts);
        }
    }

    /// Appends the run's own span, the last one. Nothing waits in the batch any more.
    pub(crate) fn append_root(&mut self, line: &[u8]) -> io::Result<()> {
        let appended = try_twice(|| self.append_now(line));
        match &appended {
            Ok(()) => self.written += 1,
            Err(error) => self.losses.add(1, error),
        }
        appended
    }

    fn append_now(&mut self, line: &[u8]) -> io::Result<()> {
        self.make_directory()?;
        self.log.append_now(line)
    }

    /// From now on what is appended comes after the end of the run, which another process has ended. What waited in the
    /// batch is behind its root, too; what is before it that process has not counted.
    pub(crate) fn continue_after_end(&mut self) -> io::Result<()> {
        self.log.continue_after_end();
        if self.written > 0 {
            self.late.mark_counts_inexact();
        }
        let (written, counts) = (self.written, self.counts);
        let flushed = self.flush_at_end();
        self.late
            .add(self.written - written, self.counts.saturating_sub(counts));
        flushed
    }

    /// Appends a span that ended after its run; nothing waits in the batch any more. `meta.json` follows
    /// with [`RunFiles::settle_late_if_due`].
    pub(crate) fn append_late(&mut self, line: &[u8], event_type: EventType) -> io::Result<()> {
        let appended = self.log.append_now(line);
        match &appended {
            Ok(()) => {
                self.written += 1;
                let mut counts = Counts::default();
                counts.count(event_type);
                self.late.add(1, counts);
            }
            Err(error) => {
                self.losses.add(1, error);
                self.late.lose(1, error);
            }
        }
        appended
    }

    /// Notes records that were made while their thread was recording something else.
    pub(crate) fn drop_nested(&mut self, records: u64) {
        if records > 0 {
            self.losses.add(records, &NESTED);
            if self.is_complete {
                self.late.lose(records, &NESTED);
            }
        }
    }

    /// Adds the spans that ended after the run to `meta.json`, unless that was done a moment ago. Says whether something
    /// waits.
    pub(crate) fn settle_late_if_due(&mut self) -> io::Result<bool> {
        if self.late.is_due() {
            self.settle_late()?;
        }
        Ok(self.late.is_pending())
    }

    /// Adds everything that was lost to `meta.json`: the process that ended the run has read the reports of the others.
    pub(crate) fn settle_losses(&mut self) -> io::Result<()> {
        if let Some(dropped) = self.losses.dropped() {
            self.late.lose_the_rest(dropped);
        }
        self.settle_late()
    }

    /// Adds the spans that ended after the run to `meta.json`.
    pub(crate) fn settle_late(&mut self) -> io::Result<()> {
        self.late.settle(self.file_system.as_ref(), &self.directory)
    }

    /// Writes whatever waits in the batch. What a fault keeps out of the file waits on.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let appended = self.log.flush();
        self.settle(appended)
    }

    /// Writes what waits in the batch, if it has waited so long.
    pub(crate) fn flush_what_waited(&mut self, delay: Duration) -> io::Result<()> {
        if self.log.has_waited(delay) {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes whatever waits in the batch, or loses it: nothing comes after it but the end of the run.
    pub(crate) fn flush_at_end(&mut self) -> io::Result<()> {
        self.flush()?;
        let appended = self.log.flush_or_lose();
        self.settle(appended)
    }

    /// Writes the last `meta.json`. A run that is not whole stays `running`, so that readers tell it as interrupted and
    /// not as a broken run.
    pub(crate) fn finish(&mut self, ending: Ending, whole: bool) -> io::Result<()> {
        // Whatever happens now, the lock goes: recording is over.
        let mut live = self.live.take();
        self.is_complete = true;
        let checked = self.check_log();
        let whole = whole && checked.is_ok() && !self.losses.forgot_parents();
        let others_wrote = self.others_wrote();
        let described = self.describe_end(&ending, whole);
        let removed = match &mut live {
            Some(live) if whole && described.is_ok() => try_twice(|| live.remove(self.file_system.as_ref())),
            // A run that could not be completed keeps the file, without its lock, and so is reported as interrupted.
            _ => Ok(()),
        };
        // A process that appends from now on finds the run ended, and says so in `meta.json`.
        let came_last = !others_wrote && self.others_wrote();
        let corrected = if came_last {
            self.describe_end(&ending, whole)
        } else {
            Ok(())
        };
        checked.and(described).and(removed).and(corrected)
    }

    fn others_wrote(&self) -> bool {
        self.log.is_shared() && self.log.has_changed()
    }

    /// Writes how the run ended.
    fn describe_end(&mut self, ending: &Ending, whole: bool) -> io::Result<()> {
        try_twice(|| {
            self.make_directory()?;
            self.write_meta(&self.last_meta(ending, whole)?)
        })
    }

    fn last_meta(&self, ending: &Ending, whole: bool) -> io::Result<RunMeta> {
        let others_wrote = self.others_wrote();
        let mut meta = self.meta();
        meta.counts = if whole { ending.counts } else { self.counts };
        if let Some(dropped) = self.losses.dropped() {
            meta.set(DROPPED, serde_json::to_value(dropped)?);
        }
        let numbers = [
            (LEFT_OUT, self.losses.left_out()),
            (UNFINISHED_SPANS, ending.unfinished_spans),
            (UNATTACHED, ending.unattached),
        ];
        for (key, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
            meta.set(key, number);
        }
        if others_wrote || !ending.counts_exact {
            meta.set(COUNTS_EXACT, false);
        }
        if whole {
            meta.status = ending.status;
            meta.ended_at = Some(ending.ended_at.into());
            meta.duration_ms = Some(ending.duration_ms);
            // Of a run that others wrote into, this process knows a part: readers read its spans.
            if let Some(loops) = ending.loops.filter(|_| !others_wrote) {
                meta.set(LOOPS, loops);
            }
        }
        Ok(meta)
    }

    /// Looks whether readers will find in the log what this run says that it wrote.
    fn check_log(&mut self) -> io::Result<()> {
        try_twice(|| self.log.mend())?;
        if !self.log.is_in_place() {
            let reason = format!("{SPANS_FILE} was removed or replaced while the run was recorded");
            let gone = io::Error::new(io::ErrorKind::NotFound, reason);
            self.losses.add(std::mem::take(&mut self.written), &gone);
            self.counts = Counts::default();
            return Err(gone);
        }
        let is_harmed = if self.log.is_shared() {
            self.log.was_cut()
        } else {
            self.log.has_changed()
        };
        if is_harmed {
            return Err(log_was_changed());
        }
        Ok(())
    }

    fn meta(&self) -> RunMeta {
        let identity = &self.identity;
        RunMeta::running(
            identity.trace_id,
            Some(identity.name.clone()),
            identity.started_at.into(),
        )
    }

    fn write_meta(&self, meta: &RunMeta) -> io::Result<()> {
        replace_text(self.file_system.as_ref(), &self.directory, &meta_text(meta)?)
    }

    /// Writes `meta.json` unless it is there.
    fn describe(&mut self) -> io::Result<()> {
        if !self.meta_written {
            self.write_meta(&self.meta())?;
            self.meta_written = true;
        }
        Ok(())
    }

    fn make_directory(&mut self) -> io::Result<()> {
        if !self.directory_made {
            self.file_system
                .create_directories(&self.data_directory.join(RUNS_FOLDER))?;
            // The directory must be new: an ID is never used twice, and no other process may have laid one ready.
            self.file_system.create_directory(&self.directory)?;
            self.directory_made = true;
        }
        Ok(())
    }

    fn settle(&mut self, appended: AppendOutcome) -> io::Result<()> {
        let lost = appended.lost.as_ref().map_or(0, |(lines, _)| *lines);
        let handled = usize::try_from(appended.written + lost).unwrap_or(usize::MAX);
        let written = usize::try_from(appended.written).unwrap_or(usize::MAX);
        let handled = handled.min(self.pending.len());
        for (position, pending) in self.pending.drain(..handled).enumerate() {
            if position < written {
                self.counts.count(pending.event_type);
            } else if let Some(parent) = pending.as_parent {
                self.losses.keep_parent(parent);
            }
        }
        self.written += appended.written;
        match appended.lost {
            Some((lines, error)) => {
                self.losses.add(lines, &error);
                Err(error)
            }
            None => Ok(()),
        }
    }
}
