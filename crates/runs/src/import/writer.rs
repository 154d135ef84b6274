//! [`RunWriter`]: one run of another program on disk, from its first span to its end, and after a restart.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHasher;
use serde::Serialize;

use super::encoder::{encode, run_name};
use super::error::ImportError;
use super::importer::{IMPORTED, Importer};
use super::scan::{self, KnownSpan, KnownSpans, LogShape};
use crate::{RunReader, Strictness, count_records, spans_to_events};
use tracer_format::meta::COUNTS_EXACT;
use tracer_format::{
    Counts, ForkOrigin, LIVE_FILE, LOCK_FILE, META_FILE, RecordedStatus, RunMeta, SPANS_FILE, SpanId,
    SpanRecord, Timestamp, TraceId, is_default,
};
use tracer_format::{FORK_KEY, TRANSCRIPT_KEY, TranscriptOrigin};
use tracer_sdk::disk::Draft;
use tracer_sdk::disk::LateSpans;
use tracer_sdk::disk::MetaText;
use tracer_sdk::disk::process_identity;
use tracer_sdk::disk::{Batch, SpanLog};
use tracer_sdk::disk::{FileSystem, OpenMode, write_all};
use tracer_sdk::disk::{LiveFileWriter, LiveHeader};
use tracer_sdk::disk::{meta_text, replace_text, write_unread};

/// Tolerance for a span that begins before the root, in microseconds: beyond it the clocks are said to differ.
const CLOCK_TOLERANCE_US: i64 = 1_000_000;
/// The attribute of a root that holds when it began as it was sent.
const SOURCE_START: &str = "tracer.source_start";

/// State of a trace on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunPhase {
    /// Spans that are not known to be a run; readers do not see them.
    Staged,
    /// A run that has not ended.
    Running,
    /// A run that has ended; what is appended are late spans (decisions, section 5).
    Completed,
}

/// A span to append, and a fingerprint of it as it was sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ImportedSpan {
    /// The span. Attributes may hold arrays and objects, which become JSON text. It may be changed: a repetition is known
    /// by what was sent.
    pub record: SpanRecord,
    /// `None` where it was read back from a log, and its sender is gone.
    fingerprint: Option<u64>,
}

impl ImportedSpan {
    /// A span as it was sent.
    #[must_use]
    pub fn new(record: SpanRecord) -> Self {
        // The standard library's hash withstands attacks, for 8,000 instructions of a span of 1 kB: a fifth of all until it is
        // written. Where two spans with one ID had one fingerprint, the second would be counted as repeated.
        let mut hasher = FxHasher::default();
        hash_span(&record, &mut hasher);
        Self {
            fingerprint: Some(hasher.finish()),
            record,
        }
    }
}

fn hash_span(span: &SpanRecord, hasher: &mut FxHasher) {
    (span.span_id, span.parent_span_id, &span.name, span.kind).hash(hasher);
    span.start_time.instant().hash(hasher);
    span.end_time
        .as_ref()
        .map(tracer_format::StoredTime::instant)
        .hash(hasher);
    (span.status_code, &span.status_description).hash(hasher);
    span.attributes.hash(hasher);
    for event in &span.events {
        event.name.hash(hasher);
        event.timestamp.instant().hash(hasher);
        event.attributes.hash(hasher);
    }
}

/// Outcome of the spans that were given to [`RunWriter::append`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// Spans that are in the log now.
    pub written: u64,
    /// Spans that were there already.
    pub duplicates: u64,
    /// Spans with the ID of another one that is there, which stays.
    pub differing: u64,
    /// The ID of the first of these.
    pub first_differing: Option<SpanId>,
}

/// The additive key of `meta.json` that says how the run came here.
#[derive(Debug, Clone, Copy, Default, Serialize, serde::Deserialize)]
struct ImportedMeta {
    /// Spans whose values were cut further than the settings say, so that their lines fit.
    #[serde(default, skip_serializing_if = "is_default")]
    shortened_spans: u64,
    /// Spans that came again with another content.
    #[serde(default, skip_serializing_if = "is_default")]
    differing_spans: u64,
    /// Time by which the first span began before the root, in milliseconds, when it exceeds the clock tolerance.
    #[serde(default, skip_serializing_if = "is_default")]
    began_before_root_ms: u64,
}

/// One run of another program on disk. Every append is whole: one line per span, in the file before it returns.
///
/// Dropping it leaves the run as it is: readers see a running one as interrupted, and
/// [`Importer::resume`](super::Importer::resume) continues it.
#[derive(Debug)]
pub struct RunWriter {
    importer: Importer,
    trace_id: TraceId,
    directory: PathBuf,
    phase: RunPhase,
    log: SpanLog,
    live: Option<LiveFileWriter>,
    name: String,
    started_at: Timestamp,
    known: KnownSpans,
    /// A write failed: what is in the log has to be read.
    is_unsure: bool,
    imported: ImportedMeta,
    fork: Option<ForkOrigin>,
    transcript: Option<TranscriptOrigin>,
    late: LateSpans,
    draft: Draft,
    line: Vec<u8>,
}

impl RunWriter {
    pub(super) fn new(importer: Importer, trace_id: TraceId, directory: PathBuf, phase: RunPhase) -> Self {
        let log = open_log(&importer, &directory);
        Self {
            importer,
            trace_id,
            directory,
            phase,
            log,
            live: None,
            name: String::new(),
            started_at: Timestamp::from_unix_microseconds(0),
            known: KnownSpans::default(),
            is_unsure: false,
            imported: ImportedMeta::default(),
            fork: None,
            transcript: None,
            late: LateSpans::default(),
            draft: Draft::default(),
            line: Vec::new(),
        }
    }

    fn file_system(&self) -> Arc<dyn FileSystem> {
        Arc::clone(&self.importer.file_system)
    }

    /// Makes the run visible: `.live` for as long as this process records it, and then its `meta.json`: without the
    /// first, a run whose process was killed in between would seem to be running forever.
    pub(super) fn describe(&mut self, name: String, started_at: Timestamp) -> Result<(), ImportError> {
        (self.name, self.started_at) = (name, started_at);
        self.wake()?;
        self.write_meta(self.running_meta(started_at))
    }

    /// Takes over what an earlier process wrote of the run.
    pub(super) fn remember(&mut self, meta: &MetaText) {
        self.name = meta.get("run_name").unwrap_or_default();
        let started_at = meta
            .get::<String>("started_at")
            .and_then(|text| text.parse().ok());
        self.started_at = started_at.unwrap_or(self.started_at);
        self.imported = meta.get(IMPORTED).unwrap_or_default();
        self.fork = meta.get(FORK_KEY);
        self.transcript = meta.get(TRANSCRIPT_KEY);
    }

    /// Reads what is in the log.
    pub(super) fn read_known(&mut self) -> Result<(), ImportError> {
        self.known = KnownSpans::read(&self.directory)?;
        self.is_unsure = false;
        Ok(())
    }

    fn write_meta(&self, meta: RunMeta) -> Result<(), ImportError> {
        let path = self.directory.join(META_FILE);
        let text = self.meta_text(meta).map_err(io::Error::from);
        let text = text.map_err(ImportError::at(&path))?;
        let file_system = self.file_system();
        let written = if self.phase == RunPhase::Staged {
            // Readers see it when it is whole.
            write_unread(file_system.as_ref(), &self.directory, &text)
        } else {
            replace_text(file_system.as_ref(), &self.directory, &text)
        };
        written.map_err(ImportError::at(&path))
    }

    fn meta_text(&self, mut meta: RunMeta) -> serde_json::Result<Vec<u8>> {
        meta.set(IMPORTED, serde_json::to_value(self.imported)?);
        if let Some(fork) = &self.fork {
            meta.set(FORK_KEY, serde_json::to_value(fork)?);
        }
        if let Some(transcript) = &self.transcript {
            meta.set(TRANSCRIPT_KEY, serde_json::to_value(transcript)?);
        }
        meta_text(&meta)
    }

    fn running_meta(&self, started_at: Timestamp) -> RunMeta {
        RunMeta::running(self.trace_id, Some(self.name.clone()), started_at.into())
    }

    /// Notes that the run has not ended.
    fn mark_unfinished(&self) -> Result<(), ImportError> {
        self.importer.mark_unfinished(self.trace_id)
    }

    /// Marks a run that has begun as a fork of another one, for as long as it exists.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]: the metadata cannot be written.
    pub fn mark_fork(&mut self, origin: ForkOrigin) -> Result<(), ImportError> {
        self.fork = Some(origin);
        self.describe_again()
    }

    /// Marks a run that has begun as made of a transcript, for as long as it exists.
    ///
    /// ```
    /// use tracer_sdk::format::TranscriptOrigin;
    /// use tracer_runs::import::Importer;
    /// use tracer_sdk::settings::Settings;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let importer = Importer::new(&Settings::with_data_dir(folder.path()));
    /// let span = capture(|| ()).spans.remove(0);
    /// let mut run = importer.start(span.trace_id, "session", span.start_time.instant())?;
    /// run.mark_transcript(TranscriptOrigin { bytes: 7, ..TranscriptOrigin::default() })?;
    /// assert_eq!(importer.transcript(span.trace_id).unwrap().bytes, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]: the metadata cannot be written.
    pub fn mark_transcript(&mut self, origin: TranscriptOrigin) -> Result<(), ImportError> {
        self.transcript = Some(origin);
        self.describe_again()
    }

    /// Writes the metadata of a run that has not ended with what is known now.
    fn describe_again(&self) -> Result<(), ImportError> {
        if self.phase == RunPhase::Running {
            self.write_meta(self.running_meta(self.started_at))?;
        }
        Ok(())
    }

    /// The run.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    /// The current directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Phase of the trace.
    #[must_use]
    pub fn phase(&self) -> RunPhase {
        self.phase
    }

    /// Returns whether this span is in the log, or was merged into another one.
    #[must_use]
    pub fn contains(&self, span_id: SpanId) -> bool {
        self.known.spans.contains_key(&span_id) || self.known.joined.contains(&span_id)
    }

    /// Number of spans in the log.
    #[must_use]
    pub fn span_count(&self) -> usize {
        self.known.spans.len()
    }

    /// When the first span started.
    #[must_use]
    pub fn first_start(&self) -> Option<Timestamp> {
        self.known.first_start
    }

    /// When the last span ended.
    #[must_use]
    pub fn last_end(&self) -> Option<Timestamp> {
        self.known.last_end
    }

    /// Returns whether a span says that it failed.
    #[must_use]
    pub fn has_failed_span(&self) -> bool {
        self.known.has_failed
    }

    /// The only span without a parent; `None` when there is none, or several.
    #[must_use]
    pub fn root(&self) -> Option<SpanId> {
        let mut parentless = self.known.parentless.keys();
        parentless.next().copied().filter(|_| parentless.next().is_none())
    }

    /// Parent links of the spans.
    #[must_use]
    pub fn shape(&self) -> LogShape {
        self.known.shape()
    }

    /// Appends the spans whose IDs are not in the log. A run that was at rest is running again; of one that has ended they
    /// are late spans, and `meta.json` follows (decisions, section 5).
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]: some of the spans may be in the log. It may be tried again with the same spans.
    pub fn append(&mut self, spans: &[ImportedSpan]) -> Result<Appended, ImportError> {
        if self.is_unsure {
            self.read_known()?;
        }
        if self.phase == RunPhase::Running {
            self.wake()?;
        }
        let is_late = self.phase == RunPhase::Completed;
        let mut appended = Appended::default();
        let mut lost = None;
        let mut late = Counts::default();
        let mut new: Vec<&ImportedSpan> = Vec::new();
        let mut line = std::mem::take(&mut self.line);
        for span in spans {
            if let Some(known) = self.known.spans.get(&span.record.span_id) {
                let both = known.fingerprint.zip(span.fingerprint);
                let is_same = both.is_none_or(|(known, sent)| known == sent);
                appended.duplicates += u64::from(is_same);
                appended.differing += u64::from(!is_same);
                if !is_same {
                    appended.first_differing.get_or_insert(span.record.span_id);
                }
                continue;
            }
            if self.known.joined.contains(&span.record.span_id) {
                appended.duplicates += 1;
                continue;
            }
            let is_shortened = encode(
                &mut line,
                &mut self.draft,
                self.trace_id,
                &span.record,
                is_late,
                self.importer.limits,
                &self.importer.redactor,
            );
            self.imported.shortened_spans += u64::from(is_shortened);
            lost = lost.or(self.log.append(&line).lost);
            self.known.add(&span.record, span.fingerprint);
            new.push(span);
            if is_late {
                add_counts(&mut late, &span.record);
            }
        }
        self.line = line;
        self.line.shrink_to(64 * 1024);
        let flushed = self.log.flush_or_lose().lost;
        if let Some((_, source)) = lost.or(flushed) {
            self.is_unsure = true;
            return Err(ImportError::at(&self.directory.join(SPANS_FILE))(source));
        }
        appended.written = new.len() as u64;
        self.imported.differing_spans += appended.differing;
        if is_late && !new.is_empty() {
            self.late.add(new.len() as u64, late);
            let settled = self.late.settle(self.file_system().as_ref(), &self.directory);
            settled.map_err(ImportError::at(&self.directory.join(META_FILE)))?;
        }
        Ok(appended)
    }

    /// Makes a run of what was staged: from now on readers see it.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]; it stays staged.
    pub fn promote(&mut self, name: &str) -> Result<(), ImportError> {
        if self.phase != RunPhase::Staged {
            return Ok(());
        }
        let started_at = self.known.first_start.unwrap_or(self.started_at);
        self.promote_at(name, started_at)
    }

    /// Makes a run of what was staged, whatever its first span says about its start.
    pub(super) fn promote_at(&mut self, name: &str, started_at: Timestamp) -> Result<(), ImportError> {
        let runs = self.importer.runs();
        let directory = runs.join(self.trace_id.to_string());
        (self.name, self.started_at) = (run_name(name, &self.importer.redactor), started_at);
        // It has its lock when it becomes visible, so that a kill at this moment leaves no run that seems to be running.
        self.wake()?;
        self.mark_unfinished()?;
        self.write_meta(self.running_meta(started_at))?;
        let file_system = self.file_system();
        file_system
            .rename(&self.directory, &directory)
            // Only the first run finds no folder for it.
            .or_else(|_| {
                file_system.create_directories(&runs)?;
                file_system.rename(&self.directory, &directory)
            })
            .or_else(|_| {
                // Some systems do not rename what has open files.
                self.live = None;
                file_system.rename(&self.directory, &directory)
            })
            .map_err(ImportError::at(&directory))?;
        if let Some(live) = &mut self.live {
            live.moved_to(&directory);
        }
        self.log = open_log(&self.importer, &directory);
        (self.directory, self.phase) = (directory, RunPhase::Running);
        self.wake()
    }

    /// Removes what was staged.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]: the folder cannot be removed.
    pub fn discard(self) -> Result<(), ImportError> {
        if self.phase != RunPhase::Staged {
            return Ok(());
        }
        let file_system = self.file_system();
        // A process that was killed while it promoted the run leaves the last three.
        for file in [SPANS_FILE, META_FILE, LIVE_FILE, LOCK_FILE] {
            let path = self.directory.join(file);
            match file_system.remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ImportError::at(&path)(error));
                }
                _ => {}
            }
        }
        file_system
            .remove_empty_directory(&self.directory)
            .map_err(ImportError::at(&self.directory))
    }

    /// Reopens a completed run: a conversation that rested continues. Its root stays until it is replaced.
    ///
    /// # Errors
    ///
    /// [`ImportError::Io`]: the run cannot be marked as running.
    pub fn reopen(&mut self) -> Result<(), ImportError> {
        if self.phase != RunPhase::Completed {
            return Ok(());
        }
        self.mark_unfinished()?;
        self.write_meta(self.running_meta(self.started_at))?;
        self.phase = RunPhase::Running;
        self.wake()
    }

    /// Lets go of a running run: readers see it as interrupted until the next span comes.
    pub fn rest(&mut self) {
        self.live = None;
    }

    /// Shows a running run as running.
    fn wake(&mut self) -> Result<(), ImportError> {
        if self.live.is_some() {
            return Ok(());
        }
        let header = LiveHeader {
            run_name: &self.name,
            tags: &BTreeMap::new(),
            started_at: self.started_at,
            pid: std::process::id(),
            process: process_identity(),
        };
        let file_system = self.file_system();
        let path = self.directory.join(LIVE_FILE);
        let live = LiveFileWriter::create(file_system.as_ref(), &self.directory, &header);
        self.live = Some(live.map_err(ImportError::at(&path))?);
        Ok(())
    }

    /// Reads the log again: other processes may have appended to it.
    ///
    /// # Errors
    ///
    /// What reading the run can fail with.
    pub fn refresh(&mut self) -> Result<(), ImportError> {
        let before = std::mem::take(&mut self.known);
        self.read_known()?;
        for (id, span) in &mut self.known.spans {
            span.fingerprint = before
                .spans
                .get(id)
                .and_then(|known: &KnownSpan| known.fingerprint);
        }
        Ok(())
    }

    /// Gives every span in the log to `work`.
    ///
    /// # Errors
    ///
    /// What reading the run can fail with.
    pub fn for_each_span(&self, work: impl FnMut(SpanRecord)) -> Result<(), ImportError> {
        // Such a log may be missing, or hold nothing but a torn line: that is no run that can be opened.
        if self.known.spans.is_empty() {
            return Ok(());
        }
        scan::for_each_span(&self.directory, work)
    }

    /// The spans in the log, to be appended to another run.
    ///
    /// # Errors
    ///
    /// What reading the run can fail with.
    pub fn spans(&self) -> Result<Vec<ImportedSpan>, ImportError> {
        let mut spans = Vec::with_capacity(self.known.spans.len());
        self.for_each_span(|record| {
            let known = self.known.spans.get(&record.span_id);
            spans.push(ImportedSpan {
                fingerprint: known.and_then(|known| known.fingerprint),
                record,
            });
        })?;
        Ok(spans)
    }

    /// Rewrites the log, each span as `change` leaves it; a span for which it returns `false` is left out. The old log
    /// is replaced in one step.
    ///
    /// # Errors
    ///
    /// What reading the run can fail with, and [`ImportError::Io`]; the log is as it was.
    pub fn rewrite(&mut self, mut change: impl FnMut(&mut SpanRecord) -> bool) -> Result<(), ImportError> {
        /// Size of one write, in bytes.
        const CHUNK: usize = 256 * 1024;
        let file_system = self.file_system();
        let target = self.directory.join(SPANS_FILE);
        let temporary = self
            .directory
            .join(format!(".{SPANS_FILE}.{}.tmp", std::process::id()));
        // Left behind by a process that had this number and died.
        let _ = file_system.remove(&temporary);
        let mut known = KnownSpans::default();
        let mut draft = Draft::default();
        let mut line = Vec::new();
        let mut lines = Vec::new();
        let mut outcome = Ok(());
        let mut file = file_system
            .open(&temporary, OpenMode::New)
            .map_err(ImportError::at(&temporary))?;
        let (importer, fingerprints) = (&self.importer, &self.known.spans);
        let trace_id = self.trace_id;
        let read = self.for_each_span(|mut span| {
            if outcome.is_err() || !change(&mut span) {
                return;
            }
            encode(
                &mut line,
                &mut draft,
                trace_id,
                &span,
                false,
                importer.limits,
                &importer.redactor,
            );
            lines.extend_from_slice(&line);
            let fingerprint = fingerprints
                .get(&span.span_id)
                .and_then(|known| known.fingerprint);
            known.add(&span, fingerprint);
            if lines.len() >= CHUNK {
                outcome = write_all(file.as_mut(), &lines);
                lines.clear();
            }
        });
        // A log that was not read whole must not be replaced.
        let written = read.and_then(|()| {
            outcome
                .and_then(|()| write_all(file.as_mut(), &lines))
                .and_then(|()| file_system.rename(&temporary, &target))
                .map_err(ImportError::at(&temporary))
        });
        if let Err(error) = written {
            let _ = file_system.remove(&temporary);
            return Err(error);
        }
        self.log = open_log(&self.importer, &self.directory);
        self.known = known;
        Ok(())
    }

    /// Ends the run: `root`, which must be its only span without a parent, says when and how. Appends the loop warnings that
    /// `warnings` finds in the run, which is read once for them and for its counts.
    ///
    /// # Errors
    ///
    /// What reading the run can fail with, and [`ImportError::Io`]; it may be tried again.
    pub fn complete_with(
        &mut self,
        root: SpanId,
        name: &str,
        warnings: impl FnOnce(&mut RunReader) -> Vec<ImportedSpan>,
    ) -> Result<(), ImportError> {
        if self.phase != RunPhase::Running {
            return Ok(());
        }
        self.cover_early_spans(root)?;
        self.write_end(root, name, warnings)?;
        let file_system = self.file_system();
        if let Some(live) = &mut self.live {
            let removed = live.remove(file_system.as_ref());
            removed.map_err(ImportError::at(&self.directory.join(LIVE_FILE)))?;
        } else {
            // It was at rest: `.live` is there, but not locked.
            for file in [LIVE_FILE, LOCK_FILE] {
                let _ = file_system.remove(&self.directory.join(file));
            }
        }
        self.live = None;
        self.phase = RunPhase::Completed;
        self.importer.forget_unfinished(self.trace_id);
        Ok(())
    }

    /// Lets the root begin with the first span, where that was long before: the clocks of two machines differ, and the run
    /// would be shorter than what is in it.
    fn cover_early_spans(&mut self, root: SpanId) -> Result<(), ImportError> {
        let (Some(facts), Some(first)) = (self.known.parentless.get(&root), self.known.first_start) else {
            return Ok(());
        };
        let early_us = facts.start.microseconds_since(first);
        if early_us <= CLOCK_TOLERANCE_US {
            return Ok(());
        }
        let duration_ms = u64::try_from(facts.end.microseconds_since(first) / 1_000).ok();
        self.rewrite(|span| {
            if span.span_id == root {
                let sent = span.start_time.text().to_owned();
                span.attributes.entry(SOURCE_START).or_insert_with(|| sent.into());
                span.start_time = first.into();
                span.duration_ms = duration_ms;
            }
            true
        })?;
        self.imported.began_before_root_ms = u64::try_from(early_us / 1_000).unwrap_or(0);
        Ok(())
    }

    fn write_end(
        &mut self,
        root: SpanId,
        name: &str,
        warnings: impl FnOnce(&mut RunReader) -> Vec<ImportedSpan>,
    ) -> Result<(), ImportError> {
        let name = run_name(name, &self.importer.redactor);
        let before = self.log.length_now();
        let mut run = RunReader::open(&self.directory, Strictness::Lenient)?;
        let mut counts = run.counts();
        let warnings = warnings(&mut run);
        // Another process may have appended to the log meanwhile.
        let has_all_spans = before == self.log.length_now();
        counts.loop_warnings += self.append(&warnings)?.written;
        let Some(facts) = self.known.parentless.get(&root) else {
            return Err(ImportError::RunDamaged { problems: Vec::new() });
        };
        let mut meta = RunMeta::running(self.trace_id, Some(name.clone()), facts.start.into());
        meta.status = if facts.is_failed {
            RecordedStatus::Error
        } else {
            RecordedStatus::Ok
        };
        meta.ended_at = Some(facts.end.into());
        meta.duration_ms = Some(facts.duration_ms);
        meta.counts = counts;
        if !has_all_spans {
            meta.set(COUNTS_EXACT, false);
        }
        self.write_meta(meta)?;
        self.name = name;
        Ok(())
    }
}

/// A log whose lines wait until [`SpanLog::flush_or_lose`], so that the spans of a request are one write. Another process
/// may share it.
fn open_log(importer: &Importer, directory: &Path) -> SpanLog {
    let batch = Batch {
        max_spans: usize::MAX,
        max_delay: Duration::MAX,
    };
    let mut log = SpanLog::new(
        Arc::clone(&importer.file_system),
        directory.join(SPANS_FILE),
        Some(batch),
    );
    log.share();
    log
}

/// Counts a late span as the projection does.
fn add_counts(counts: &mut Counts, span: &SpanRecord) {
    let mut span = span.clone();
    // Of a root the projection makes other records.
    span.parent_span_id = span.parent_span_id.or(Some(span.span_id));
    counts.add(count_records(&spans_to_events(std::slice::from_ref(&span))));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use tracer_sdk::settings::Settings;
    use tracer_sdk::testing::capture;

    #[test]
    fn a_log_that_cannot_be_opened_is_no_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let importer = Importer::new(&Settings::with_data_dir(folder.path()));
        let span = capture(|| ()).spans.remove(0);
        let mut staged = importer.stage(span.trace_id).unwrap();
        assert_eq!(staged.spans().unwrap().len(), 0);
        staged.append(&[ImportedSpan::new(span)]).unwrap();
        let log = staged.directory().join(SPANS_FILE);
        fs::write(&log, "unreadable\n").unwrap();
        staged.spans().unwrap_err();
        staged.rewrite(|_| true).unwrap_err();
        assert_eq!(fs::read_to_string(&log).unwrap(), "unreadable\n");
    }
}
