//! [`PrepareTrial`]: variables and options of a trial's process, and what becomes of them when the process
//! has ended. The command supplies it, so that the gate knows nothing of how runs are captured.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::ProcessExit;

/// Prepares a trial before its process is started; the error is the reason why it cannot be.
pub type PrepareTrial = dyn Fn(&TrialStart<'_>) -> io::Result<PreparedTrial> + Sync;

/// A trial whose process is about to be started.
#[derive(Debug)]
pub struct TrialStart<'a> {
    /// Data directory of its run.
    pub data_dir: &'a Path,
    /// The working directory of its process.
    pub directory: &'a Path,
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
}

/// A trial that is prepared: the process that is started, and the end of the preparations.
pub struct PreparedTrial {
    /// Variables that its process gets.
    pub variables: Vec<(&'static str, OsString)>,
    /// Arguments of its program: its own, and those for capturing.
    pub arguments: Vec<OsString>,
    /// Ends the preparations, when the process has ended: its run is complete in the data directory then, if there is one.
    pub finish: Box<dyn FnOnce(TrialEnd) -> TrialRemarks>,
}

impl PreparedTrial {
    /// A program with these arguments, which records its own run.
    pub(super) fn plain(arguments: &[OsString]) -> Self {
        Self {
            variables: Vec::new(),
            arguments: arguments.to_vec(),
            finish: Box::new(|_| TrialRemarks::default()),
        }
    }
}

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
