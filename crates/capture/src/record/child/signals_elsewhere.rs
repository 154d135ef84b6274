//! Signals where there are none: the console sends Ctrl-C to this process and to the command alike.

use std::convert::Infallible;
use std::sync::Arc;

use shared_child::SharedChild;

/// State that this process keeps for the command that it starts.
#[derive(Debug)]
pub struct Signals {
    _private: (),
}

impl Signals {
    /// From now on Ctrl-C does not end this process: the command decides what it means.
    #[must_use]
    pub fn keep() -> Self {
        // A refusal means that Ctrl-C ends this process as it would without it.
        let _ = ctrlc::set_handler(|| {});
        Self { _private: () }
    }

    /// Starts a command; no signal comes meanwhile.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> T) -> (T, Vec<Infallible>) {
        (start(), Vec::new())
    }

    /// The console has sent it to the command itself.
    pub(super) fn forward_to(&self, _child: Arc<SharedChild>, _first: Vec<Infallible>) {}
}

/// No process can be asked to end.
pub(super) fn end_process(_id: u32, _kills: bool) {}

/// Name of a signal: always `None`, as there are no signals here.
pub(super) fn name(_signal: i32) -> Option<&'static str> {
    None
}
