//! Words and bounds of settings' values.

use std::time::Duration;

/// Default number of repetitions that stop a run when `stop_on_loop` is on.
pub const DEFAULT_MIN_REPETITIONS: u64 = 3;
/// Smallest number of repetitions that can stop a run.
pub const MIN_LOOP_REPETITIONS: u64 = 2;

/// Word that `stop_on_loop` takes in addition to true and false.
pub(super) const SHAPE: &str = "shape";

/// The repetitions that stop a run (decisions, section 7).
///
/// ```
/// use tracer_sdk::guardrails::{Guardrails, StopOnLoop};
///
/// assert_eq!(Guardrails::new().stop_on_loop(true).stop_on_loop, Some(StopOnLoop::Calls));
/// assert_eq!(StopOnLoop::from(false), StopOnLoop::Never);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopOnLoop {
    /// None: `false` in settings.
    #[default]
    Never,
    /// A loop: calls that ask the same again and again; `true` in settings.
    ///
    /// Arguments are compared, of model calls that repeat by themselves the last message. What was not recorded is not
    /// known to differ, and counts.
    Calls,
    /// Calls of the same shape, whatever they ask, as in a loop warning; `"shape"` in settings.
    Shape,
}

impl From<bool> for StopOnLoop {
    fn from(stop: bool) -> Self {
        if stop { Self::Calls } else { Self::Never }
    }
}

/// Number of spans that a batch holds before it is written ([`Flush::Batched`]).
pub const BATCH_SPANS: usize = 64;
/// Time that a span waits in a batch before it is written ([`Flush::Batched`]).
pub const BATCH_INTERVAL: Duration = Duration::from_millis(250);

/// The smallest `max_field_bytes`.
pub(crate) const MIN_FIELD_BYTES: usize = 100;

/// When finished spans are written (decisions, section 5).
///
/// ```
/// use tracer_sdk::settings::{Flush, Settings};
///
/// assert_eq!(Settings::with_data_dir("/tmp/runs").flush, Flush::Each);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flush {
    /// A span is in the file when the call that finished it returns.
    #[default]
    Each,
    /// Spans are written together: [`BATCH_SPANS`] of them, or what came within [`BATCH_INTERVAL`]; and when the run
    /// ends, when the program unwinds, and on request. While a batched run is live a thread of the SDK, `tracer-flush`,
    /// writes what waits though the program does nothing.
    Batched,
}
