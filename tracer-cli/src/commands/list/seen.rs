//! What the spans of listed runs tell: of each only the two ends are read, and of all together only so much.

use tracer_sdk::format::{EventType, Payload, Usage};
use tracer_sdk::read::RunSummary;

use crate::terminal::run_list::Seen;
use tracer_insight::log_ends;
use tracer_insight::run_subtitle;
use tracer_insight::status::RunStatus;
use tracer_insight::totals;

/// So much is read of all runs together.
const ALL_BYTES: u64 = 64 * 1024 * 1024;

/// Looks at the spans of runs while there is time for it.
#[derive(Debug)]
pub(super) struct Looker {
    bytes_left: u64,
    /// How many runs were not looked at.
    pub(super) passed_over: u64,
}

impl Looker {
    pub(super) fn new() -> Self {
        Self {
            bytes_left: ALL_BYTES,
            passed_over: 0,
        }
    }

    /// What the first spans of the run tell.
    pub(super) fn look(&mut self, run: &RunSummary, standing: RunStatus) -> Option<Seen> {
        if self.bytes_left == 0 {
            self.passed_over += 1;
            return None;
        }
        // A log that cannot be read leaves its cells empty; `show` says why.
        let ends = log_ends::read(&run.directory.path)?;
        self.bytes_left = self.bytes_left.saturating_sub(ends.first.next_offset);
        if ends.first.spans.is_empty() && !ends.first.is_to_end {
            return None;
        }
        let mut tokens = Usage::default();
        let mut steps = 0;
        for record in &ends.records {
            if !matches!(record.event_type(), EventType::RunStart | EventType::RunEnd) {
                steps += 1;
            }
            if let Payload::LlmCall { usage, .. } = &record.payload {
                totals::add(&mut tokens, usage);
            }
        }
        Some(Seen {
            steps,
            tokens: tokens.total_tokens,
            is_whole: ends.first.is_to_end,
            subtitle: run_subtitle::of(standing, &ends.records, ends.last.as_deref()),
        })
    }
}
