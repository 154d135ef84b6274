//! [`TrialEnvironment`]: variables and options of a trial's process, and what becomes of them when the process
//! has ended. The command supplies it, so that the gate knows nothing of how runs are captured.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::ProcessExit;

/// Environment of the process of every trial.
pub trait TrialEnvironment: Debug + Sync {
    /// Prepares a trial, before its process is started.
    ///
    /// # Errors
    ///
    /// Reason why the trial cannot be started.
    fn prepare(&self, trial: &TrialStart<'_>) -> io::Result<Box<dyn PreparedTrial>>;
}

/// A trial whose process is about to be started.
#[derive(Debug)]
pub struct TrialStart<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// Data directory of its run.
    pub data_dir: &'a Path,
    /// The working directory of its process.
    pub directory: &'a Path,
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
}

/// Preparations for one trial.
pub trait PreparedTrial {
    /// Variables that its process gets.
    fn variables(&self) -> Vec<(&'static str, OsString)>;

    /// Arguments of its program: its own, and those for capturing.
    fn arguments(&self, own: Vec<OsString>) -> Vec<OsString>;

    /// Ends it, when the process has: its run is complete in the data directory then, if there is one.
    fn finish(self: Box<Self>, ended: TrialEnd) -> TrialRemarks;
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

/// Nothing but the workspace and the data directory: the program records its own run.
///
/// ```
/// use std::path::Path;
/// use tracer_gate::trials::{PlainEnvironment, TrialEnvironment, TrialStart};
///
/// let here = Path::new(".");
/// let trial = TrialStart { number: 1, data_dir: here, directory: here, program: Path::new("agent"), arguments: &[] };
/// assert!(PlainEnvironment.prepare(&trial)?.variables().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainEnvironment;

impl TrialEnvironment for PlainEnvironment {
    fn prepare(&self, _: &TrialStart<'_>) -> io::Result<Box<dyn PreparedTrial>> {
        Ok(Box::new(Self))
    }
}

impl PreparedTrial for PlainEnvironment {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        Vec::new()
    }

    fn arguments(&self, own: Vec<OsString>) -> Vec<OsString> {
        own
    }

    fn finish(self: Box<Self>, _: TrialEnd) -> TrialRemarks {
        TrialRemarks::default()
    }
}
