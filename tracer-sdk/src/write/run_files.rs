//! The files of one run that is being recorded: its directory, the span log and `meta.json`, with what was written
//! and what was lost (decisions, sections 4 and 5).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::FileSystem;
use super::live_file::{LiveFile, LiveHeader, OpenEntry};
use super::log::{Appended, Batch, SpanLog};
use super::meta_file::MetaFile;
use crate::format::{
    Counts, Dropped, EventType, LIVE_FILE, RUNS_FOLDER, RunStatus, SPANS_FILE, SpanId, Timestamp, TraceId,
};

/// What does not change while a run is recorded.
#[derive(Debug, Clone)]
pub(crate) struct RunIdentity {
    pub(crate) trace_id: TraceId,
    pub(crate) name: String,
    pub(crate) started_at: Timestamp,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) status: RunStatus,
    pub(crate) ended_at: Timestamp,
    pub(crate) duration_ms: u64,
}

/// A span that is lost, though others may name it as their parent.
#[derive(Debug)]
pub(crate) struct LostParent {
    pub(crate) id: SpanId,
    pub(crate) parent: SpanId,
    pub(crate) name: String,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// A line that waits in the log's batch.
#[derive(Debug)]
struct Pending {
    event_type: EventType,
    as_parent: Option<LostParent>,
}

/// How many lost parents are kept; with more the run cannot be told as complete.
const MAX_LOST_PARENTS: usize = 4096;

/// The files of a run.
#[derive(Debug)]
pub(crate) struct RunFiles {
    file_system: Arc<dyn FileSystem>,
    data_directory: PathBuf,
    directory: PathBuf,
    identity: RunIdentity,
    log: SpanLog,
    live: Option<LiveFile>,
    /// Another process made the directory and writes `meta.json`.
    joined: bool,
    directory_made: bool,
    meta_written: bool,
    /// The lines that wait in the log's batch.
    pending: Vec<Pending>,
    lost_parents: Vec<LostParent>,
    written: u64,
    counts: Counts,
    dropped: Option<Dropped>,
}

impl RunFiles {
    pub(crate) fn new(
        file_system: Arc<dyn FileSystem>,
        data_directory: &Path,
        identity: RunIdentity,
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
            // Emitters of other kinds have no such file.
            if live.exists() {
                log.only_while(live);
            }
        }
        Self {
            file_system,
            data_directory: data_directory.to_owned(),
            directory,
            identity,
            log,
            live: None,
            joined,
            directory_made: joined,
            meta_written: joined,
            pending: Vec::new(),
            lost_parents: Vec::new(),
            written: 0,
            counts: Counts::default(),
            dropped: None,
        }
    }

    /// The run's directory, whether or not it exists yet.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// From now on another process may append to the span log; the directory and `meta.json` are there for it.
    pub(crate) fn share(&mut self) -> io::Result<()> {
        self.log.share();
        self.make_ready()
    }

    /// Whether other processes may have written into this run.
    pub(crate) fn is_shared(&self) -> bool {
        self.log.is_shared()
    }

    /// The run is about to end: the other processes that share it wait, and then find it ended.
    pub(crate) fn hold(&mut self) {
        self.log.hold();
    }

    /// The run has ended, or could not be: whoever shares it goes on.
    pub(crate) fn let_go(&mut self) {
        self.log.let_go();
    }

    /// Makes the directory and tells readers who is recording.
    pub(crate) fn begin(&mut self, header: &LiveHeader<'_>) -> io::Result<()> {
        self.make_directory()?;
        self.live = Some(LiveFile::create(
            self.file_system.as_ref(),
            &self.directory,
            header,
        )?);
        Ok(())
    }

    /// Tells readers of a timed span that has started; `open` is everything that is open.
    pub(crate) fn started(&mut self, id: SpanId, open: &HashMap<SpanId, OpenEntry>) -> io::Result<()> {
        self.live.as_mut().map_or(Ok(()), |live| live.started(id, open))
    }

    /// What the lines in the file add up to.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// How many lines are in the file.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// What was lost.
    pub(crate) fn dropped(&self) -> Option<&Dropped> {
        self.dropped.as_ref()
    }

    /// Appends a span. `meta.json` appears with the first one. A span that may have children says what a stand-in for
    /// it would need.
    pub(crate) fn append(
        &mut self,
        line: &[u8],
        event_type: EventType,
        as_parent: Option<LostParent>,
    ) -> io::Result<()> {
        let pending = Pending {
            event_type,
            as_parent,
        };
        if let Err(error) = self.make_ready() {
            self.lose(1, &error);
            self.keep_lost(pending);
            return Err(error);
        }
        self.pending.push(pending);
        let appended = self.log.append(line);
        self.settle(appended)
    }

    /// Appends a line that stands in for a lost one, which stays counted as lost.
    pub(crate) fn append_stand_in(&mut self, line: &[u8]) -> io::Result<()> {
        self.make_ready()?;
        let appended = self.log.append(line);
        match appended.lost.or_else(|| self.log.flush().lost) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Notes spans that others name as their parent and that are not in the file.
    pub(crate) fn add_lost_parents(&mut self, parents: impl IntoIterator<Item = LostParent>) {
        for parent in parents {
            self.keep_lost_parent(parent);
        }
    }

    /// The lost spans that others may name as their parent.
    pub(crate) fn take_lost_parents(&mut self) -> Vec<LostParent> {
        std::mem::take(&mut self.lost_parents)
    }

    /// Writes whatever waits in the batch.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let appended = self.log.flush();
        self.settle(appended)
    }

    /// Counts a span that never came as far as a line.
    pub(crate) fn lose(&mut self, spans: u64, reason: &dyn std::fmt::Display) {
        match &mut self.dropped {
            Some(dropped) => dropped.spans = dropped.spans.saturating_add(spans),
            None => {
                self.dropped = Some(Dropped {
                    spans,
                    reason: reason.to_string(),
                });
            }
        }
    }

    /// Writes the last `meta.json`. A run whose log is not whole stays `running`, so that readers tell it as
    /// interrupted and not as a broken run.
    pub(crate) fn finish(&mut self, ending: Ending, counts: Counts, whole: bool) -> io::Result<()> {
        if self.joined {
            return Ok(());
        }
        self.log.mend()?;
        self.make_directory()?;
        let identity = &self.identity;
        let mut meta = MetaFile::running(identity.trace_id, &identity.name, identity.started_at);
        meta.counts = counts;
        meta.dropped.clone_from(&self.dropped);
        if whole {
            meta.status = ending.status;
            meta.ended_at = Some(ending.ended_at);
            meta.duration_ms = Some(ending.duration_ms);
        }
        meta.replace(self.file_system.as_ref(), &self.directory)?;
        match self.live.take() {
            // A run that could not be completed keeps the file, without its lock, and so is told as interrupted.
            Some(live) if whole => live.remove(self.file_system.as_ref()),
            _ => Ok(()),
        }
    }

    fn make_ready(&mut self) -> io::Result<()> {
        self.make_directory()?;
        if !self.meta_written {
            let identity = &self.identity;
            let meta = MetaFile::running(identity.trace_id, &identity.name, identity.started_at);
            meta.replace(self.file_system.as_ref(), &self.directory)?;
            self.meta_written = true;
        }
        Ok(())
    }

    fn make_directory(&mut self) -> io::Result<()> {
        if !self.directory_made {
            self.file_system
                .create_directories(&self.data_directory.join(RUNS_FOLDER))?;
            // The directory must be new: an ID is never used twice, and nobody else may have laid one ready.
            self.file_system.create_directory(&self.directory)?;
            self.directory_made = true;
        }
        Ok(())
    }

    fn settle(&mut self, appended: Appended) -> io::Result<()> {
        let lost = appended.lost.as_ref().map_or(0, |(lines, _)| *lines);
        let handled = usize::try_from(appended.written + lost).unwrap_or(usize::MAX);
        let written = usize::try_from(appended.written).unwrap_or(usize::MAX);
        // Taken out while it is looked through, and put back with its memory.
        let mut waiting = std::mem::take(&mut self.pending);
        let handled = handled.min(waiting.len());
        for (position, pending) in waiting.drain(..handled).enumerate() {
            if position < written {
                self.count(pending.event_type);
            } else {
                self.keep_lost(pending);
            }
        }
        self.pending = waiting;
        self.written += appended.written;
        match appended.lost {
            Some((lines, error)) => {
                self.lose(lines, &error);
                Err(error)
            }
            None => Ok(()),
        }
    }

    fn count(&mut self, event_type: EventType) {
        match event_type {
            EventType::LlmCall => self.counts.llm_calls += 1,
            EventType::ToolCall => self.counts.tool_calls += 1,
            EventType::Error => self.counts.errors += 1,
            EventType::LoopWarning => self.counts.loop_warnings += 1,
            _ => {}
        }
    }

    fn keep_lost(&mut self, pending: Pending) {
        if let Some(parent) = pending.as_parent {
            self.keep_lost_parent(parent);
        }
    }

    fn keep_lost_parent(&mut self, parent: LostParent) {
        if self.lost_parents.len() < MAX_LOST_PARENTS {
            self.lost_parents.push(parent);
        }
    }
}
