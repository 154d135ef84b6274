//! [`RunStatus`]: the status of a run, in the one vocabulary of everything that shows runs.

use serde::{Deserialize, Serialize};
use tracer_format::{RecordedStatus, RunMeta};

tracer_format::words! {
    /// The status of a run, as whatever shows runs names it: `list`, `show`, `prune`, the page, and `run_status` in JSON.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RunStatus in tracer_runs {
        /// The run is live, or nothing shows that it is not.
        #[default]
        Running = "running",
        /// The process that recorded the run died before the run could end.
        Interrupted = "interrupted",
        /// The run ended with an error; `error`, the format's word for it, is understood too.
        #[serde(alias = "error")]
        Failed = "failed" | "error",
        /// The run ended well, and asked the same again and again on the way.
        #[serde(rename = "loop")]
        Looped = "loop",
        /// The run ended well.
        Ok = "ok",
        /// The run's metadata or its log cannot be read.
        Damaged = "damaged",
    }
}

impl RunStatus {
    /// The status that metadata gives. `is_interrupted` is called only for a run whose recorded status is running, and
    /// `has_looped` only for one that ended well.
    pub fn recorded(
        meta: &RunMeta,
        is_interrupted: impl FnOnce() -> bool,
        has_looped: impl FnOnce() -> bool,
    ) -> Self {
        match meta.status {
            RecordedStatus::Running if is_interrupted() => Self::Interrupted,
            RecordedStatus::Running => Self::Running,
            RecordedStatus::Error => Self::Failed,
            RecordedStatus::Ok if has_looped() => Self::Looped,
            RecordedStatus::Ok => Self::Ok,
        }
    }

    /// Returns whether the run has no end yet, or never will have one.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Interrupted)
    }
}
