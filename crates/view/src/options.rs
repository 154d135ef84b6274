//! Options of the viewer.

use std::path::PathBuf;
use std::sync::Arc;

use tracer_catalog::TeamStore;
use tracer_sdk::prices::Prices;

/// Options that the command line sets.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on.
    pub host: String,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// A folder to serve the page's files from instead of those in the executable, while the page is developed.
    pub page_files: Option<PathBuf>,
    /// The prices of model calls.
    pub prices: Prices,
    /// The runs of a team's bucket, listed with those of this machine.
    pub team: Option<Arc<TeamStore>>,
    /// The beginning of the commands that the page suggests.
    pub command: CommandWords,
}

/// The beginning of command lines for the runs of this viewer.
#[derive(Debug, Clone)]
pub struct CommandWords {
    /// The program and its global options: `tracer`, or `tracer --data-dir DIR`.
    pub program: String,
    /// The option of commands that also read a bucket, after a space; empty where no option named one.
    pub store: String,
}

impl CommandWords {
    /// The command that shows a run.
    pub(crate) fn show(&self, run: &str) -> String {
        format!("{} show{} {run}", self.program, self.store)
    }
}
