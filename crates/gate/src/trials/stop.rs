//! Why trials end before they end by themselves: the verdict is known, or the user wants to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::InputError;

/// Asked by everything that takes long; the same for all trials of a gate.
#[derive(Debug)]
pub struct Stop {
    decided: AtomicBool,
    /// Number of requests to stop.
    interrupts: Arc<AtomicU8>,
}

/// Why to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialsStop {
    /// The user pressed Ctrl-C, or the process was asked to end.
    Interrupted,
    /// No trial that is still running can change the verdict.
    Decided,
}

impl Stop {
    /// Ctrl-C, and a request to end the process, stop the trials from now on, instead of ending the process.
    pub fn on_signals() -> Result<Self, InputError> {
        let interrupts = Arc::<AtomicU8>::default();
        let counted = Arc::clone(&interrupts);
        ctrlc::set_handler(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        })
        .map_err(|error| InputError::new(format!("cannot listen to Ctrl-C: {error}")))?;
        Ok(Self {
            decided: AtomicBool::new(false),
            interrupts,
        })
    }

    /// One that no signal reaches.
    #[must_use]
    pub fn unasked() -> Self {
        Self {
            decided: AtomicBool::new(false),
            interrupts: Arc::default(),
        }
    }

    /// As if the user had pressed Ctrl-C.
    #[cfg(test)]
    pub fn interrupt(&self) {
        self.interrupts.fetch_add(1, Ordering::Relaxed);
    }

    /// The verdict is known.
    pub fn decide(&self) {
        self.decided.store(true, Ordering::Relaxed);
    }

    /// The reason to stop, if any.
    pub fn reason(&self) -> Option<TrialsStop> {
        if self.interrupts.load(Ordering::Relaxed) > 0 {
            Some(TrialsStop::Interrupted)
        } else if self.decided.load(Ordering::Relaxed) {
            Some(TrialsStop::Decided)
        } else {
            None
        }
    }

    /// Second interrupt: kill at once.
    pub(crate) fn is_urgent(&self) -> bool {
        self.interrupts.load(Ordering::Relaxed) > 1
    }
}
