//! What a run left behind, and what must hold of it whatever happened to the disk.

use std::path::Path;

use serde_json::Value;
use tracer_sdk::RunStats;
use tracer_sdk::read::{LoadedRun, count_records};
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
    pub(crate) fn check(&self, told: &str) {
        let lines = self.own_lines(told);
        assert_eq!(
            lines, self.stats.written,
            "the lines in the file are those claimed: {told}"
        );
        self.check_meta(told);
    }

    /// Holds after a fault that stores something and then refuses every question, too: what nobody can know is not
    /// claimed.
    pub(crate) fn check_nothing_false_is_claimed(&self, told: &str) {
        let lines = self.own_lines(told);
        assert!(
            lines >= self.stats.written,
            "what is claimed is in the file: {told}"
        );
        self.check_meta(told);
    }

    fn own_lines(&self, told: &str) -> u64 {
        own_lines(self.files.spans.as_deref().unwrap_or_default(), told)
    }

    fn check_meta(&self, told: &str) {
        let RunStats { written, dropped, .. } = self.stats;
        assert_eq!(written + dropped, SPANS, "recorded = written + dropped: {told}");
        let log = self.files.spans.as_deref().unwrap_or_default();
        let Some(meta) = &self.files.meta else { return };
        let run = LoadedRun::from_bytes(meta, log).unwrap_or_else(|invalid| panic!("{told}: {invalid:#?}"));
        if run.meta.status.is_completed() {
            assert_eq!(run.cut_tail, None, "{told}");
            assert_eq!(run.meta.counts, count_records(&run.records()), "{told}");
            let told_dropped = run
                .meta
                .additional
                .get("dropped")
                .map_or(0, |told| told["spans"].as_u64().unwrap());
            assert_eq!(told_dropped, dropped, "meta.json tells what is missing: {told}");
        }
    }

    /// Holds as well when the disk works again: the run is complete.
    pub(crate) fn check_fault_passed(&self, told: &str) {
        self.check(told);
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
fn own_lines(log: &[u8], told: &str) -> u64 {
    let whole = log
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |last| last + 1);
    let lines = log[..whole]
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    let spans = lines
        .map(|line| serde_json::from_slice::<Value>(line).unwrap_or_else(|error| panic!("{told}: {error}")));
    spans
        .filter(|span| span["attributes"].get("tracer.lost").is_none())
        .count() as u64
}
