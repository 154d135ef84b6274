//! Warnings about data that can be read and disagrees: `meta.json` with the spans, and times with each other.
//!
//! Emitters differ in these; strict validation treats them as errors.

use crate::log::Problems;
use tracer_format::parse::{Location, ParsedSpan};
use tracer_format::{Counts, ProblemCode, RecordedStatus, RunMeta, StatusCode, StoredTime, Timestamp};

/// Difference up to which times agree, in microseconds: emitters round to the millisecond.
const TOLERANCE_US: i64 = 1_000;

/// The root span: the fields that these checks need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RootSpan {
    pub(crate) start: Timestamp,
    pub(crate) status_code: StatusCode,
}

/// Warns of a span whose times disagree.
pub(crate) fn span_times<A>(span: &ParsedSpan<'_, A>, line: u64, warnings: &mut Problems) {
    let Some((_, end)) = span.end_time else {
        return;
    };
    times(
        span.start_time.1,
        end,
        span.duration_ms,
        Location::Line(line),
        "end_time",
        |problem| warnings.push(line, problem),
    );
}

/// Warns of a `meta.json` that disagrees with the spans. `counts` are those of the projection, given when every span can
/// be read; the root is given when there is one.
pub(crate) fn meta_against_spans(
    meta: &RunMeta,
    counts: Option<Counts>,
    root: Option<RootSpan>,
    warnings: &mut Problems,
) {
    let mut warn = |field: &str, code, message: &'static str| {
        warnings.push(0, Location::Meta.field_problem(field, code, message));
    };
    if let Some(root) = root
        && meta
            .started_at
            .instant()
            .microseconds_since(root.start)
            .saturating_abs()
            > TOLERANCE_US
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
                "is null; a completed run records when it ended",
            );
        }
        if meta.duration_ms.is_none() {
            warn(
                "duration_ms",
                ProblemCode::MissingEnd,
                "is null; a completed run records how long it took",
            );
        }
        let failed = meta.status == RecordedStatus::Error;
        if root.is_some_and(|root| (root.status_code == StatusCode::Error) != failed) {
            warn(
                "status",
                ProblemCode::StatusMismatch,
                "does not match the status_code of the root span",
            );
        }
    }
    if let Some(ended_at) = &meta.ended_at {
        let (start, end) = (meta.started_at.instant(), StoredTime::instant(ended_at));
        times(
            start,
            end,
            meta.duration_ms,
            Location::Meta,
            "ended_at",
            |problem| {
                warnings.push(0, problem);
            },
        );
    }
    if let Some(counts) = counts.filter(|_| meta.status.is_completed()) {
        let recorded = meta.counts;
        for (field, recorded, counted) in [
            ("llm_calls", recorded.llm_calls, counts.llm_calls),
            ("tool_calls", recorded.tool_calls, counts.tool_calls),
            ("errors", recorded.errors, counts.errors),
            ("loop_warnings", recorded.loop_warnings, counts.loop_warnings),
        ] {
            if recorded != counted {
                let message = "is not the number of records of this type that the spans give";
                let problem = Location::Counts.field_problem(field, ProblemCode::CountsMismatch, message);
                warnings.push(0, problem);
            }
        }
    }
}

fn times(
    start: Timestamp,
    end: Timestamp,
    duration_ms: Option<u64>,
    place: Location,
    end_field: &str,
    mut warn: impl FnMut(tracer_format::Problem),
) {
    let elapsed = end.microseconds_since(start);
    if elapsed < 0 {
        warn(place.field_problem(end_field, ProblemCode::EndsBeforeStart, "lies before the start"));
    } else if let Some(duration_ms) = duration_ms {
        let recorded = i64::try_from(duration_ms)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000);
        // Rounded up or down, and a millisecond more or less.
        if recorded.saturating_sub(elapsed).saturating_abs() >= 2 * TOLERANCE_US {
            warn(place.field_problem(
                "duration_ms",
                ProblemCode::DurationMismatch,
                "is not the time between start and end",
            ));
        }
    }
}
