//! [`PackedReports`]: the calls of other emitters in a fifth of their room, as long as none may be recorded twice.

use super::folds::call_around;
use super::{Ancestor, CallReport, PackedNames};
use crate::parse::Identity;
use crate::project::correlate::{EntryBefore, IndexEntry, PackedBytes, PackedCursor, RecordHeader};
use crate::{EventType, SpanId, Timestamp};

/// Calls in the order of their lines, packed.
#[derive(Debug, Default)]
pub struct PackedReports {
    bytes: PackedBytes,
    names: PackedNames,
    before: EntryBefore,
}

impl PackedReports {
    /// Adds a call behind the others.
    pub fn push(&mut self, call: &CallReport) {
        let identity = Identity {
            trace_id: None,
            span_id: call.span_id,
            parent_span_id: call.parent,
        };
        let header = RecordHeader {
            event_type: call.event_type,
            instant: Timestamp::from_unix_microseconds(call.start),
            outcome: call.outcome,
            is_leftover: false,
        };
        let entry = IndexEntry::new(identity, call.place, Some(header), false);
        entry.pack(&self.before, &mut self.bytes);
        call.pack(&entry, &mut self.names, &mut self.bytes);
        self.before = (&entry).into();
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }

    /// The calls, as they were added.
    pub fn iter(&self) -> impl Iterator<Item = CallReport> {
        let mut cursor = PackedCursor::new(self.bytes.as_slice());
        let mut names = PackedNames::default();
        let mut before = EntryBefore::default();
        std::iter::from_fn(move || {
            let entry = IndexEntry::unpack(&before, &mut cursor)?;
            before = (&entry).into();
            CallReport::unpack(&entry, &mut names, &mut cursor)
        })
    }

    /// Whether any two of them may be one call, where these are all calls of their types in the run.
    pub fn may_repeat(&self, ancestor: impl Fn(SpanId) -> Option<Ancestor>) -> bool {
        let mut sources: [Option<u64>; 2] = [None; 2];
        self.iter().any(|call| {
            let [of_models, of_tools] = &mut sources;
            let source = match call.event_type {
                EventType::LlmCall => of_models,
                _ => of_tools,
            };
            *source.get_or_insert(call.source) != call.source
                || call.is_derived
                || call.is_fetch
                || call.retry_of.is_some()
                || call_around(&call, &ancestor).is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_span;
    use crate::project::LinePlace;

    /// A model call that another emitter recorded.
    fn call(number: u64, parent: u64, scope: &str) -> CallReport {
        let line = format!(
            r#"{{"trace_id":"10000000000000000000000000000001","span_id":"{number:016x}","parent_span_id":"{parent:016x}","name":"chat","kind":"CLIENT","start_time":"2026-01-01T00:{:02}:{:02}.000123Z","end_time":null,"duration_ms":null,"attributes":{{"gen_ai.operation.name":"chat","gen_ai.request.model":"gpt-{}","gen_ai.usage.input_tokens":{number},"gen_ai.response.id":"r{number}","otel.scope.name":"{scope}"}},"events":[],"status_code":"OK","status_description":""}}"#,
            number / 60 % 60,
            number % 60,
            number % 3,
        );
        let place = LinePlace {
            offset: number * 1_000,
            length: 900,
            line: number,
        };
        CallReport::of(&parse_span(line.as_bytes()).unwrap(), EventType::LlmCall, place).unwrap()
    }

    fn packed(calls: &[CallReport]) -> PackedReports {
        let mut packed = PackedReports::default();
        for call in calls {
            packed.push(call);
        }
        packed
    }

    #[test]
    fn packed_calls_are_what_they_were_in_less_than_a_third_of_the_room() {
        let calls: Vec<CallReport> = (1..500)
            .map(|number| {
                call(
                    number,
                    1 + number % 2,
                    if number % 7 == 0 { "one" } else { "two" },
                )
            })
            .collect();
        let packed = packed(&calls);
        let unpacked: Vec<CallReport> = packed.iter().collect();
        assert_eq!(format!("{unpacked:?}"), format!("{calls:?}"));
        assert!(packed.bytes.len() * 3 < size_of_val(calls.as_slice()));
        assert!(PackedReports::default().is_empty() && !packed.is_empty());
    }

    #[test]
    fn calls_may_repeat_each_other_across_emitters_and_within_each_other() {
        let nobody = |_: SpanId| None;
        let a_call = |_: SpanId| {
            Some(Ancestor {
                call: Some(EventType::LlmCall),
                parent: None,
            })
        };
        let alone = [call(5, 1, "one"), call(6, 1, "one")];
        assert!(!packed(&alone).may_repeat(nobody));
        assert!(packed(&alone).may_repeat(a_call), "they are within a call");
        let two = [call(5, 1, "one"), call(6, 1, "two")];
        assert!(packed(&two).may_repeat(nobody));
    }
}
