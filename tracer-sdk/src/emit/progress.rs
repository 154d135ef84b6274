//! Progress of a run: its limits, its loops and its errors.
//!
//! Pure state; the run state locks it.

use std::collections::HashMap;
use std::time::Duration;

use super::error::ErrorInfo;
#[cfg(feature = "prices")]
use crate::guardrails::CallSpend;
use crate::guardrails::{GuardrailExceeded, Monitor};
use crate::settings::Settings;
use tracer_format::loops::{Asked, LoopDetector, LoopWarning, StepSignature, WarnedPatterns};
use tracer_format::{EventType, SpanId, Timestamp};

/// Maximum number of errors of its own that a run keeps.
const MAX_EXCEPTIONS: usize = 16;

/// An error of the run itself, to be written as an event of the root span.
#[derive(Debug)]
pub(crate) struct Exception {
    pub(crate) at: Timestamp,
    pub(crate) error: ErrorInfo,
    pub(crate) guardrail: Option<GuardrailExceeded>,
}

/// A loop among the spans of a run.
pub(crate) type SpanLoop = LoopWarning<SpanId>;

/// A record that was written.
#[derive(Debug)]
pub(crate) struct WrittenRecord<'a> {
    pub(crate) id: SpanId,
    /// The span with which its branch of the run began.
    pub(crate) branch: SpanId,
    /// Event type that the limits count.
    pub(crate) event_type: EventType,
    /// Signature and request that the loop detector compares.
    pub(crate) signature: Option<(StepSignature<'a>, Asked)>,
    /// A place was kept for it when it started.
    pub(crate) is_reserved: bool,
    /// Cost of the call, where a limit counts that.
    #[cfg(feature = "prices")]
    pub(crate) spend: Option<CallSpend>,
}

/// The loops of a run: a detector for each branch, because agents at the same time are no loop together.
#[derive(Debug)]
struct BranchLoops {
    window: usize,
    repetitions: usize,
    branches: HashMap<SpanId, LoopDetector>,
    warned: WarnedPatterns,
    /// The loops of branches that have ended.
    ended: u64,
}

impl BranchLoops {
    fn new(window: usize, repetitions: usize) -> Self {
        Self {
            window,
            repetitions,
            branches: HashMap::new(),
            warned: WarnedPatterns::default(),
            ended: 0,
        }
    }

    fn observe(
        &mut self,
        branch: SpanId,
        signature: &StepSignature<'_>,
        asked: Asked,
        id: SpanId,
    ) -> Option<SpanLoop> {
        let new = || LoopDetector::new(self.window, self.repetitions);
        let detector = self.branches.entry(branch).or_insert_with(new);
        detector.observe(&mut self.warned, signature, asked, id)
    }

    /// Number of passes of the branch through the block of shapes that it ends with, and of those that asked the same.
    fn repetitions(&self, branch: SpanId) -> (usize, usize) {
        self.branches.get(&branch).map_or((0, 0), |detector| {
            (detector.repetitions(), detector.looping_repetitions())
        })
    }

    fn end(&mut self, branch: SpanId) {
        self.ended += self
            .branches
            .remove(&branch)
            .map_or(0, |detector| detector.loops());
    }

    fn loops(&self) -> u64 {
        self.ended + self.branches.values().map(LoopDetector::loops).sum::<u64>()
    }
}

#[derive(Debug)]
pub(crate) struct RunProgress {
    monitor: Monitor,
    loops: BranchLoops,
    exceptions: Vec<Exception>,
    /// Number of errors past those that are kept.
    left_out: u64,
}

impl RunProgress {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            monitor: Monitor::new(settings.guardrails.clone()),
            loops: BranchLoops::new(settings.loop_window, settings.loop_repetitions),
            exceptions: Vec::new(),
            left_out: 0,
        }
    }

    pub(crate) fn tripped(&self) -> Option<GuardrailExceeded> {
        self.monitor.tripped().cloned()
    }

    pub(crate) fn check(&mut self, elapsed: Duration, now: Timestamp) -> Result<(), GuardrailExceeded> {
        let outcome = self.monitor.check(elapsed);
        self.keep_trip(now);
        outcome
    }

    pub(crate) fn reserve(
        &mut self,
        event_type: EventType,
        elapsed: Duration,
        now: Timestamp,
    ) -> Result<(), GuardrailExceeded> {
        let outcome = self.monitor.reserve(event_type, elapsed);
        self.keep_trip(now);
        outcome
    }

    pub(crate) fn release(&mut self, event_type: EventType) {
        self.monitor.cancel(event_type);
    }

    /// A record was written. Returns the loop that it closed: its warning is written before anything stops over it, and
    /// reported with [`RunProgress::loop_written`].
    pub(crate) fn observe(
        &mut self,
        written: WrittenRecord<'_>,
        elapsed: Duration,
        now: Timestamp,
    ) -> Option<SpanLoop> {
        if written.is_reserved {
            self.monitor.finish(elapsed);
        } else {
            self.monitor.record(written.event_type, elapsed);
        }
        #[cfg(feature = "prices")]
        if let Some(spend) = written.spend {
            self.monitor.spend(spend);
        }
        let mut warning = None;
        if let Some((signature, asked)) = written.signature {
            warning = self.loops.observe(written.branch, &signature, asked, written.id);
            if warning.is_none() {
                self.loop_goes_on(written.branch);
            }
        }
        self.keep_trip(now);
        warning
    }

    /// The loop's warning is in the file: now it may stop the run, and it counts as an event.
    pub(crate) fn loop_written(&mut self, branch: SpanId, elapsed: Duration, now: Timestamp) {
        self.loop_goes_on(branch);
        self.monitor.record(EventType::LoopWarning, elapsed);
        self.keep_trip(now);
    }

    /// A branch of the run has ended: no call comes to it any more.
    pub(crate) fn end_branch(&mut self, branch: SpanId) {
        self.loops.end(branch);
    }

    fn loop_goes_on(&mut self, branch: SpanId) {
        let (shapes, calls) = self.loops.repetitions(branch);
        if shapes > 0 {
            self.monitor.loop_found(shapes as u64, calls as u64);
        }
    }

    /// Number of loops in the run.
    pub(crate) fn loops(&self) -> u64 {
        self.loops.loops()
    }

    pub(crate) fn fail(&mut self, error: ErrorInfo, at: Timestamp) {
        // A program that hands the guardrail's own error on has not failed a second time.
        let reported = self.exceptions.iter().any(|known| {
            known.guardrail.is_some() && error.message.contains(&known.error.message)
                || known.error.error_type == error.error_type && known.error.message == error.message
        });
        if reported {
            return;
        }
        if self.exceptions.len() >= MAX_EXCEPTIONS {
            self.left_out += 1;
            return;
        }
        self.exceptions.push(Exception {
            at,
            error,
            guardrail: None,
        });
    }

    /// Number of errors of the run past those that it keeps.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(crate) fn take_exceptions(&mut self) -> Vec<Exception> {
        std::mem::take(&mut self.exceptions)
    }

    /// Keeps the guardrail that tripped as the run's error, once.
    fn keep_trip(&mut self, at: Timestamp) {
        let Some(exceeded) = self.monitor.tripped() else {
            return;
        };
        if self.exceptions.iter().all(|known| known.guardrail.is_none()) {
            let error = ErrorInfo::new(exceeded.error_type(), exceeded.to_string());
            self.exceptions.push(Exception {
                at,
                error,
                guardrail: Some(exceeded.clone()),
            });
        }
    }
}
