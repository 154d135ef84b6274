//! What a run left behind, and what must hold of it whatever happened to the disk.

use std::path::Path;

use serde_json::Value;
use tracer_runs::{LoadedRun, count_records};
use tracer_sdk::RunStats;
use tracer_sdk::testing::file_systems::Memory;

use super::agent::SPANS;

/// The files of the only run, as far as they are there.
pub(crate) struct Files {
    meta: Option<Vec<u8>>,
    spans: Option<Vec<u8>>,
    others: Vec<String>,
}

impl Files {
    pub(crate) fn in_memory(memory: &Memory) -> Self {
        Self::of(
            memory
                .files()
                .iter()
                .map(|path| (path.as_path(), memory.read(path).unwrap())),
        )
    }

    pub(crate) fn on_disk(data_dir: &Path) -> Self {
        let runs = std::fs::read_dir(data_dir.join("runs")).into_iter().flatten();
        let run = runs.map(|entry| entry.unwrap().path()).next();
        let entries = run
            .map(|run| std::fs::read_dir(run).unwrap())
            .into_iter()
            .flatten();
        let paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        Self::of(
            paths
                .iter()
                .map(|path| (path.as_path(), std::fs::read(path).unwrap())),
        )
    }

    fn of<'a>(files: impl Iterator<Item = (&'a Path, Vec<u8>)>) -> Self {
        let mut found = Self {
            meta: None,
            spans: None,
            others: Vec::new(),
        };
        for (path, bytes) in files {
            match path.file_name().and_then(|name| name.to_str()) {
                Some("meta.json") => found.meta = Some(bytes),
                Some("spans.jsonl") => found.spans = Some(bytes),
                other => found.others.push(other.unwrap_or_default().to_owned()),
            }
        }
        found
    }
}

/// A run that is over.
pub(crate) struct Aftermath {
    pub(crate) stats: RunStats,
    pub(crate) files: Files,
}

impl Aftermath {
    /// Holds after every fault.
    pub(crate) fn check(&self, reported: &str) {
        let lines = self.own_lines(reported);
        assert_eq!(
            lines, self.stats.written,
            "the lines in the file are those claimed: {reported}"
        );
        self.check_meta(reported);
    }

    /// Holds after a fault that stores something and then refuses every question, too: what nobody can know is not
    /// claimed.
    pub(crate) fn check_nothing_false_is_claimed(&self, reported: &str) {
        let lines = self.own_lines(reported);
        assert!(
            lines >= self.stats.written,
            "what is claimed is in the file: {reported}"
        );
        self.check_meta(reported);
    }

    fn own_lines(&self, reported: &str) -> u64 {
        own_lines(self.files.spans.as_deref().unwrap_or_default(), reported)
    }

    fn check_meta(&self, reported: &str) {
        let RunStats { written, dropped, .. } = self.stats;
        assert_eq!(
            written + dropped,
            SPANS,
            "recorded = written + dropped: {reported}"
        );
        let log = self.files.spans.as_deref().unwrap_or_default();
        let Some(meta) = &self.files.meta else { return };
        let run =
            LoadedRun::from_bytes(meta, log).unwrap_or_else(|invalid| panic!("{reported}: {invalid:#?}"));
        if run.meta.status.is_completed() {
            assert_eq!(run.cut_tail, None, "{reported}");
            assert_eq!(run.meta.counts, count_records(&run.records()), "{reported}");
            let reported_dropped = run
                .meta
                .additional
                .get("dropped")
                .map_or(0, |reported| reported["spans"].as_u64().unwrap());
            assert_eq!(
                reported_dropped, dropped,
                "meta.json counts what is missing: {reported}"
            );
        }
    }

    /// Holds as well when the disk works again: the run is complete.
    pub(crate) fn check_fault_passed(&self, reported: &str) {
        self.check(reported);
        self.check_completed();
    }

    /// The run has ended, and nothing of the emitter's own is left.
    pub(crate) fn check_completed(&self) {
        let meta = self.files.meta.as_deref().unwrap_or_default();
        let meta: Value = serde_json::from_slice(meta).unwrap();
        assert_eq!(meta["status"], "error", "{meta}");
        assert!(self.files.others.is_empty(), "{:?}", self.files.others);
    }
}

/// How many spans of the program's are in the log; a stand-in for a lost one is none. Only what follows the last newline
/// may be broken.
fn own_lines(log: &[u8], reported: &str) -> u64 {
    let whole = log
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |last| last + 1);
    let lines = log[..whole]
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let spans = lines.map(|line| {
        serde_json::from_slice::<Value>(line).unwrap_or_else(|error| panic!("{reported}: {error}"))
    });
    spans
        .filter(|span| span["attributes"].get("tracer.lost").is_none())
        .count() as u64
}
