//! What can be read and does not fit together: `meta.json` against the spans, and times against each other.
//!
//! Emitters differ in these, so they are warnings; strict validation takes them for problems.

use super::fields::Place;
use super::log::Problems;
use super::span::Span;
use super::tally::Root;
use crate::format::{Counts, ProblemCode, RecordedStatus, RunMeta, StatusCode, StoredTime, Timestamp};

/// By how much times may differ before they do not fit, in microseconds: emitters round to the millisecond.
const TOLERANCE: i64 = 1_000;

/// Warns of a span whose times do not fit each other.
pub(super) fn span_times<A>(span: &Span<'_, A>, line: u64, warnings: &mut Problems) {
    let Some((_, end)) = span.end_time else {
        return;
    };
    times(
        span.start_time.1,
        end,
        span.duration_ms,
        Place::Line(line),
        "end_time",
        |problem| warnings.push(line, problem),
    );
}

/// Warns of what `meta.json` tells otherwise than the spans. `counts` are those of the projection, given when every
/// span can be read; the root is given when there is one.
pub(super) fn run(meta: &RunMeta, counts: Option<Counts>, root: Option<Root>, warnings: &mut Problems) {
    let mut warn = |field: &str, code, message: &'static str| {
        warnings.push(0, Place::Meta.field_problem(field, code, message));
    };
    if let Some(root) = root
        && meta
            .started_at
            .instant()
            .microseconds_since(root.start)
            .saturating_abs()
            > TOLERANCE
    {
        warn(
            "started_at",
            ProblemCode::StartMismatch,
            "is not the start_time of the root span",
        );
    }
    if meta.status.is_completed() {
        if meta.ended_at.is_none() {
            warn(
                "ended_at",
                ProblemCode::MissingEnd,
                "is null; a completed run tells when it ended",
            );
        }
        if meta.duration_ms.is_none() {
            warn(
                "duration_ms",
                ProblemCode::MissingEnd,
                "is null; a completed run tells how long it took",
            );
        }
        let failed = meta.status == RecordedStatus::Error;
        if root.is_some_and(|root| (root.status_code == StatusCode::Error) != failed) {
            warn(
                "status",
                ProblemCode::StatusMismatch,
                "is not what the status_code of the root span tells",
            );
        }
    }
    if let Some(ended_at) = &meta.ended_at {
        let (start, end) = (meta.started_at.instant(), StoredTime::instant(ended_at));
        times(start, end, meta.duration_ms, Place::Meta, "ended_at", |problem| {
            warnings.push(0, problem);
        });
    }
    if let Some(counts) = counts.filter(|_| meta.status.is_completed()) {
        let told = meta.counts;
        for (field, told, counted) in [
            ("llm_calls", told.llm_calls, counts.llm_calls),
            ("tool_calls", told.tool_calls, counts.tool_calls),
            ("errors", told.errors, counts.errors),
            ("loop_warnings", told.loop_warnings, counts.loop_warnings),
        ] {
            if told != counted {
                let message = "is not how many records of this type the spans give";
                let problem = Place::Counts.field_problem(field, ProblemCode::CountsMismatch, message);
                warnings.push(0, problem);
            }
        }
    }
}

fn times(
    start: Timestamp,
    end: Timestamp,
    duration_ms: Option<u64>,
    place: Place,
    end_field: &str,
    mut warn: impl FnMut(crate::format::Problem),
) {
    let elapsed = end.microseconds_since(start);
    if elapsed < 0 {
        warn(place.field_problem(end_field, ProblemCode::EndsBeforeStart, "lies before the start"));
    } else if let Some(duration_ms) = duration_ms {
        let told = i64::try_from(duration_ms)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000);
        // Rounded up or down, and a millisecond more or less.
        if told.saturating_sub(elapsed).saturating_abs() >= 2 * TOLERANCE {
            warn(place.field_problem(
                "duration_ms",
                ProblemCode::DurationMismatch,
                "is not the time between start and end",
            ));
        }
    }
}
