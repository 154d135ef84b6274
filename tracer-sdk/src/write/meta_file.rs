//! Writing `meta.json`: always whole, by a temporary file and a rename in the same folder (decisions, section 5).

use std::io;
use std::path::Path;

use serde::Serialize;

use super::files::{FileSystem, open_own, write_all};
use tracer_format::{
    Counts, Dropped, META_FILE, RecordedStatus, SPEC_VERSION, Timestamp, TraceId, is_default,
};

/// The metadata that an emitter writes (specification, `meta.json`).
#[derive(Debug, Serialize)]
pub struct MetaFile<'a> {
    /// The version of the format.
    pub spec_version: &'static str,
    /// The run.
    pub trace_id: TraceId,
    /// Its name, redacted.
    pub run_name: &'a str,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The time between both.
    pub duration_ms: Option<u64>,
    /// Its status.
    pub status: RecordedStatus,
    /// The counts of its calls, errors and warnings.
    pub counts: Counts,
    /// Additive: `false` where the counts are not those of the projection, so that readers count.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub counts_exact: bool,
    /// Additive: spans that could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// Additive: parts of records that are past what a record keeps.
    #[serde(skip_serializing_if = "is_default")]
    pub left_out: u64,
    /// Additive: how many of the blocks that were warned of are loops, so that a list of runs need not read their spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loops: Option<u64>,
    /// Additive: spans that had not ended when the run did, and have not since.
    #[serde(skip_serializing_if = "is_default")]
    pub unfinished_spans: u64,
    /// Additive: records that found no run while this one and others were live.
    #[serde(skip_serializing_if = "is_default")]
    pub unattached: u64,
}

impl<'a> MetaFile<'a> {
    /// The metadata of a run that has started.
    pub fn running(trace_id: TraceId, run_name: &'a str, started_at: Timestamp) -> Self {
        Self {
            spec_version: SPEC_VERSION,
            trace_id,
            run_name,
            started_at,
            ended_at: None,
            duration_ms: None,
            status: RecordedStatus::Running,
            counts: Counts::default(),
            counts_exact: true,
            dropped: None,
            left_out: 0,
            loops: None,
            unfinished_spans: 0,
            unattached: 0,
        }
    }

    /// Replaces the file in `directory`; when it fails the old one is untouched.
    pub fn replace(&self, file_system: &dyn FileSystem, directory: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        replace_text(file_system, directory, &text)
    }
}

/// Replaces the `meta.json` in `directory`; when it fails the old one is untouched.
pub fn replace_text(file_system: &dyn FileSystem, directory: &Path, text: &[u8]) -> io::Result<()> {
    let temporary = directory.join(format!(".{META_FILE}.{}.tmp", std::process::id()));
    let outcome = write_new(file_system, &temporary, text)
        .and_then(|()| file_system.rename(&temporary, &directory.join(META_FILE)));
    if outcome.is_err() {
        // It may not be there; the error that matters is the first one.
        let _ = file_system.remove(&temporary);
    }
    outcome
}

/// Writes the `meta.json` of a directory that has no reader yet; when it fails there is none.
pub fn write_unread(file_system: &dyn FileSystem, directory: &Path, text: &[u8]) -> io::Result<()> {
    let path = directory.join(META_FILE);
    let written = write_new(file_system, &path, text);
    if written.is_err() {
        // It may not be there; the error that matters is the first one.
        let _ = file_system.remove(&path);
    }
    written
}

fn write_new(file_system: &dyn FileSystem, path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = open_own(file_system, path)?;
    write_all(file.as_mut(), text)
}
