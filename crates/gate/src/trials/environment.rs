//! [`PrepareTrial`]: variables and options of a trial's process, and what becomes of them when the process
//! has ended. The command supplies it, so that the gate knows nothing of how runs are captured.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::process::Launch;
use crate::ProcessExit;

/// Prepares a trial before its process is started, whose run is in this data directory; the error is the reason why it
/// cannot be started.
pub type PrepareTrial = dyn Fn(&Path, &mut Launch) -> io::Result<Box<FinishTrial>> + Sync;

/// Ends the preparations, when the process has ended: its run is complete in the data directory then, if there is one.
pub type FinishTrial = dyn FnOnce(TrialEnd) -> TrialRemarks;

/// Facts of an environment about a trial that its run lacks.
///
/// ```
/// use tracer_gate::trials::TrialRemarks;
///
/// assert_eq!(TrialRemarks::default().cut_short, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrialRemarks {
    /// Why there may be no run.
    pub no_run: Option<String>,
    /// Reason why the trial was truncated: only its violations count.
    pub cut_short: Option<String>,
}

/// End of the process of a trial.
#[derive(Debug, Clone, Copy)]
pub struct TrialEnd {
    /// Its exit; `None` when it was ended, or could not be started.
    pub exit: Option<ProcessExit>,
    /// Duration.
    pub took: Duration,
}
