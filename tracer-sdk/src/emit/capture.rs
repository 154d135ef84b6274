//! A run for a test: started without a look at the machine, and ended by its closure or its future alone.

use std::future::Future;
use std::sync::Arc;

use super::scope::Scope;
use super::start::start_captured_run;
use super::traced::Traced;
use crate::settings::Settings;
use crate::write::files::FileSystem;

/// A run that threads without a context do not attach to.
#[derive(Debug)]
pub(crate) struct CapturedRun(Scope);

/// Starts the run.
pub(crate) fn start(name: &str, settings: &Settings, file_system: &Arc<dyn FileSystem>) -> CapturedRun {
    CapturedRun(Scope::of_run(start_captured_run(name, settings, file_system)))
}

impl CapturedRun {
    /// Runs a closure as the run, which has ended on return.
    pub(crate) fn in_scope<R>(self, work: impl FnOnce() -> R) -> R {
        let _guard = self.0.enter();
        work()
    }

    /// Makes a future the run, which has ended when the future is ready.
    pub(crate) fn instrument<F: Future>(self, future: F) -> Traced<F> {
        Traced::new(self.0, future)
    }
}
