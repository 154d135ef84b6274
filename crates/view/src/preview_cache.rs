//! [`RunPreviewCache`]: the previews of runs, kept as long as their files stay the same.

use std::collections::HashMap;

use parking_lot::Mutex;
use tracer_insight::run_preview::RunPreview;
use tracer_sdk::format::TraceId;
use tracer_sdk::read::RunSummary;

use super::run::stamp::Stamp;

const MAX_RUNS: usize = 20_000;

/// The previews that were read, each with the state of the files that it was read from.
#[derive(Debug, Default)]
pub(super) struct RunPreviewCache(Mutex<HashMap<TraceId, (Stamp, RunPreview)>>);

impl RunPreviewCache {
    /// The preview of a run that has not changed since it was read.
    pub(super) fn get(&self, run: &RunSummary) -> Option<RunPreview> {
        let (stamp, preview) = self.0.lock().get(&run.directory.trace_id)?.clone();
        (stamp == Stamp::of(&run.directory.path)).then_some(preview)
    }

    /// The preview of a run, read when there is none yet. `None` when its log cannot be read: the page of the run says why.
    pub(super) fn get_or_read(&self, run: &RunSummary) -> Option<RunPreview> {
        if let Some(preview) = self.get(run) {
            return Some(preview);
        }
        let stamp = Stamp::of(&run.directory.path);
        let preview = RunPreview::read(run)?;
        let mut previews = self.0.lock();
        if previews.len() >= MAX_RUNS {
            previews.clear();
        }
        previews.insert(run.directory.trace_id, (stamp, preview.clone()));
        Some(preview)
    }
}
