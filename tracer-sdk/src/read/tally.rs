//! What is summed up of a run while its log goes by: counts, tokens, what the root gives besides its own record, and
//! times that do not fit each other.

use super::cross_check;
use super::log::{Known, LinePlace, Problems, Visit};
use super::project::{child_type, is_failed, promoted_type, usage};
use super::span::{Outline, Span};
use super::tokens::Tokens;
use crate::format::{EventType, StatusCode, Timestamp};

/// Sums over the spans that belong to the run. A second span with an ID is in it until it is taken out again.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Tokens of all model calls.
    pub(super) tokens: Tokens,
    /// The first root in the file.
    pub(super) root: Option<Root>,
    /// The records that roots give besides their own.
    pub(super) promoted: Vec<Promoted>,
    /// Spans whose times do not fit each other.
    pub(super) warnings: Problems,
}

/// What the checks across both files need of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) line: u64,
    pub(super) start: Timestamp,
    pub(super) status_code: StatusCode,
}

/// A record that a root gives besides its own: a span event that is promoted, or the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Promoted {
    pub(super) instant: Timestamp,
    pub(super) place: LinePlace,
    /// Its number among the records of the root, whose own has 0.
    pub(super) number: u32,
    pub(super) event_type: EventType,
}

impl Visit for Tally {
    type Attributes<'a> = Outline<'a>;

    fn visit(&mut self, span: Span<'_, Outline<'_>>, place: LinePlace, is_foreign: bool) -> Known {
        let start = span.start_time.1;
        let is_root = span.parent_span_id.is_none();
        let event_type = if is_root {
            EventType::RunStart
        } else {
            child_type(&span.name, &span.attributes)
        };
        if !is_foreign {
            cross_check::span_times(&span, place.line, &mut self.warnings);
            if event_type == EventType::LlmCall {
                self.tokens = self.tokens.and(usage(&span.attributes).into());
            }
            if is_root {
                self.visit_root(&span, place);
            }
        }
        Known {
            start,
            event_type,
            is_failed: is_failed(span.status_code, &span.attributes),
        }
    }

    fn append(&mut self, following: Self) {
        self.tokens = self.tokens.and(following.tokens);
        self.root = self.root.or(following.root);
        self.promoted.extend(following.promoted);
        self.warnings.append(following.warnings);
    }
}

impl Tally {
    fn visit_root(&mut self, span: &Span<'_, Outline<'_>>, place: LinePlace) {
        self.root.get_or_insert(Root {
            line: place.line,
            start: span.start_time.1,
            status_code: span.status_code,
        });
        self.promoted.extend(promoted(span, place));
    }
}

/// The records that a root gives besides its own.
pub(super) fn promoted<A>(span: &Span<'_, A>, place: LinePlace) -> impl Iterator<Item = Promoted> {
    let events = span.events.iter().filter_map(|event| {
        let promoted = promoted_type(&event.name)?;
        Some((event.timestamp.1, promoted.event_type()))
    });
    let end = span.end_time.as_ref().map(|(_, end)| (*end, EventType::RunEnd));
    (1..)
        .zip(events.chain(end))
        .map(move |(number, (instant, event_type))| Promoted {
            instant,
            place,
            number,
            event_type,
        })
}
