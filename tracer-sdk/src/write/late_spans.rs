//! Spans that end after their run: they are behind the root in the log, and `meta.json` follows (decisions, section 5).
//!
//! `meta.json` is read before it is replaced: it may have another name in it meanwhile, or what another process added.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::files::FileSystem;
use super::meta_file::replace_text;
use super::meta_text::MetaText;
use tracer_format::meta::{COUNTS_EXACT, DROPPED, LATE_SPANS, UNFINISHED_SPANS};
use tracer_format::{Counts, Dropped, META_FILE};

/// This many late spans each replace `meta.json` at once. Replacing it costs as much as writing a hundred spans, so a
/// long task does it less often.
const REPLACED_AT_ONCE: u64 = 64;
/// Interval between the later replacements.
const INTERVAL: Duration = Duration::from_millis(100);

/// Counts of the spans that ended after their run, where `meta.json` does not have them yet.
#[derive(Debug, Default)]
pub struct LateSpans {
    counts: Counts,
    spans: u64,
    /// Number of them that were open when the run ended.
    finished: u64,
    lost: Option<Dropped>,
    /// The process that ended the run did not count what others had written.
    counts_inexact: bool,
    /// All that were ever lost after the end; `meta.json` may say some already.
    all_lost: u64,
    replaced: u64,
    last_replaced: Option<Instant>,
}

impl LateSpans {
    /// Spans are behind the root.
    pub fn add(&mut self, spans: u64, counts: Counts) {
        self.spans += spans;
        self.counts.add(counts);
    }

    /// Has readers count the records of the run.
    pub fn mark_counts_inexact(&mut self) {
        self.counts_inexact = true;
    }

    /// A span that was open when the run ended has ended.
    pub fn finish(&mut self) {
        self.finished += 1;
    }

    /// Spans could not be written.
    pub fn lose(&mut self, spans: u64, reason: &dyn Display) {
        self.all_lost += spans;
        let lost = self.lost.get_or_insert_with(|| Dropped {
            spans: 0,
            reason: reason.to_string(),
        });
        lost.spans += spans;
    }

    /// Of all that was lost, adds what was not added when it was lost.
    pub fn lose_the_rest(&mut self, dropped: &Dropped) {
        let rest = dropped.spans.saturating_sub(self.all_lost);
        if rest > 0 {
            self.lose(rest, &dropped.reason);
        }
    }

    /// Returns whether `meta.json` is due to be replaced.
    pub fn is_due(&self) -> bool {
        self.replaced < REPLACED_AT_ONCE || self.last_replaced.is_none_or(|last| last.elapsed() >= INTERVAL)
    }

    /// Returns whether there is something that `meta.json` does not say.
    pub fn is_pending(&self) -> bool {
        self.spans > 0 || self.finished > 0 || self.lost.is_some() || self.counts_inexact
    }

    /// Adds everything to `meta.json`. A file that is not there is not made again: somebody removed the run.
    pub fn settle(&mut self, file_system: &dyn FileSystem, directory: &Path) -> io::Result<()> {
        if !self.is_pending() {
            return Ok(());
        }
        // Counted whether or not it can be done, so that a full disk is not asked for every span.
        self.replaced += 1;
        self.last_replaced = Some(Instant::now());
        let mut meta = MetaText::parse(&file_system.read_whole(&directory.join(META_FILE))?)?;
        let mut counts: Map<String, Value> = meta.get("counts").unwrap_or_default();
        for (key, more) in [
            ("llm_calls", self.counts.llm_calls),
            ("tool_calls", self.counts.tool_calls),
            ("errors", self.counts.errors),
            ("loop_warnings", self.counts.loop_warnings),
        ] {
            let count = counts.entry(key).or_insert_with(|| 0.into());
            *count = count.as_u64().unwrap_or(0).saturating_add(more).into();
        }
        meta.set("counts", &counts)?;
        if self.counts_inexact {
            meta.set(COUNTS_EXACT, &false)?;
        }
        if self.spans > 0 {
            let late: u64 = meta.get(LATE_SPANS).unwrap_or(0);
            meta.set(LATE_SPANS, &late.saturating_add(self.spans))?;
        }
        let unfinished: u64 = meta.get(UNFINISHED_SPANS).unwrap_or(0);
        match unfinished.saturating_sub(self.finished) {
            0 => meta.remove(UNFINISHED_SPANS),
            left => meta.set(UNFINISHED_SPANS, &left)?,
        }
        if let Some(lost) = &self.lost {
            let mut dropped: Map<String, Value> = meta.get(DROPPED).unwrap_or_default();
            let before = dropped.get("spans").and_then(Value::as_u64).unwrap_or(0);
            dropped.insert("spans".to_owned(), before.saturating_add(lost.spans).into());
            dropped
                .entry("reason")
                .or_insert_with(|| lost.reason.as_str().into());
            meta.set(DROPPED, &dropped)?;
        }
        replace_text(file_system, directory, &meta.to_text()?)?;
        self.counts = Counts::default();
        self.spans = 0;
        self.finished = 0;
        self.lost = None;
        self.counts_inexact = false;
        Ok(())
    }
}
