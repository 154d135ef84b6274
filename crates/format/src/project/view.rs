//! [`SpanView`]: the parts of a span that the projection reads.
//!
//! A span may be read whole or in outline; both must give the same result.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::values::Lookup;
use crate::parse::ParsedSpan;
use crate::{SpanId, SpanRecord, StatusCode, StoredTime, Timestamp};

/// The span event that holds the attributes of a model call, instead of its span (capture, section 1).
const DETAILS_EVENT: &str = "gen_ai.client.inference.operation.details";

/// A span, read whole or in outline.
pub trait SpanView {
    /// Storage of the attributes.
    type Attributes: Lookup;

    /// Its name.
    fn name(&self) -> &str;

    /// Its ID and that of its parent.
    fn ids(&self) -> (SpanId, Option<SpanId>);

    /// When it started and when it ended.
    fn times(&self) -> (Timestamp, Option<Timestamp>);

    /// Its status.
    fn status_code(&self) -> StatusCode;

    /// Returns whether it is a root.
    fn is_root(&self) -> bool {
        self.ids().1.is_none()
    }

    /// Its attributes.
    fn attributes(&self) -> &Self::Attributes;

    /// The names and attributes of its span events.
    fn events(&self) -> impl DoubleEndedIterator<Item = (&str, &Self::Attributes)>;

    /// Its attributes, and those of the span event that holds details of it.
    fn facts(&self) -> SpanFacts<'_, Self::Attributes> {
        let details = self.events().rfind(|(name, _)| *name == DETAILS_EVENT);
        let details = details.map(|(_, attributes)| attributes);
        SpanFacts {
            own: self.attributes(),
            own_groups: self.attributes().groups(),
            details,
            details_groups: details.map_or(0, Lookup::groups),
        }
    }
}

impl SpanView for SpanRecord {
    type Attributes = Map<String, Value>;

    fn name(&self) -> &str {
        &self.name
    }

    fn status_code(&self) -> StatusCode {
        self.status_code
    }

    fn ids(&self) -> (SpanId, Option<SpanId>) {
        (self.span_id, self.parent_span_id)
    }

    fn times(&self) -> (Timestamp, Option<Timestamp>) {
        (
            self.start_time.instant(),
            self.end_time.as_ref().map(StoredTime::instant),
        )
    }

    fn attributes(&self) -> &Map<String, Value> {
        &self.attributes
    }

    fn events(&self) -> impl DoubleEndedIterator<Item = (&str, &Map<String, Value>)> {
        self.events
            .iter()
            .map(|event| (event.name.as_str(), &event.attributes))
    }
}

impl<A: Lookup> SpanView for ParsedSpan<'_, A> {
    type Attributes = A;

    fn name(&self) -> &str {
        &self.name
    }

    fn status_code(&self) -> StatusCode {
        self.status_code
    }

    fn ids(&self) -> (SpanId, Option<SpanId>) {
        (self.span_id, self.parent_span_id)
    }

    fn times(&self) -> (Timestamp, Option<Timestamp>) {
        (self.start_time.1, self.end_time.as_ref().map(|(_, end)| *end))
    }

    fn attributes(&self) -> &A {
        &self.attributes
    }

    fn events(&self) -> impl DoubleEndedIterator<Item = (&str, &A)> {
        self.events.iter().map(|event| (&*event.name, &event.attributes))
    }
}

/// The attributes of a span, followed by those of its details. The groups of their keys are cached, because they are
/// queried repeatedly and to find them takes a scan of every key.
#[derive(Debug)]
pub struct SpanFacts<'a, A> {
    own: &'a A,
    own_groups: u8,
    details: Option<&'a A>,
    details_groups: u8,
}

/// The facts of a span that is read whole.
pub(super) type WholeFacts<'a> = SpanFacts<'a, Map<String, Value>>;

impl<'a, A: Lookup> SpanFacts<'a, A> {
    /// The attributes of the span without those of its details.
    pub(super) fn without_details(&self) -> Self {
        Self {
            details: None,
            details_groups: 0,
            ..*self
        }
    }

    /// The attributes where a key says something.
    fn of(&self, key: &str) -> &'a A {
        self.details.filter(|_| !self.own.says(key)).unwrap_or(self.own)
    }
}

impl<A: Lookup> Lookup for SpanFacts<'_, A> {
    fn text_at(&self, key: &str) -> Option<&str> {
        self.of(key).text_at(key)
    }

    fn has(&self, key: &str) -> bool {
        self.of(key).has(key)
    }

    fn whole_number_at(&self, key: &str) -> Option<u64> {
        self.of(key).whole_number_at(key)
    }

    fn truth_at(&self, key: &str) -> Option<bool> {
        self.of(key).truth_at(key)
    }

    fn structure_at(&self, key: &str) -> Option<Cow<'_, Value>> {
        self.of(key).structure_at(key)
    }

    fn all_keys(&self, test: &dyn Fn(&str) -> bool) -> bool {
        self.own.all_keys(test) && self.details.is_none_or(|details| details.all_keys(test))
    }

    fn has_beginning(&self, beginning: &str) -> bool {
        self.own.has_beginning(beginning)
            || self
                .details
                .is_some_and(|details| details.has_beginning(beginning))
    }

    fn numbers_beginning(&self, beginning: &str, give: &mut dyn FnMut(&str, Option<u64>)) {
        self.own.numbers_beginning(beginning, give);
        if let Some(details) = self.details {
            details.numbers_beginning(beginning, &mut |rest, number| {
                if !self.own.says(&format!("{beginning}{rest}")) {
                    give(rest, number);
                }
            });
        }
    }

    fn groups(&self) -> u8 {
        self.own_groups | self.details_groups
    }
}

/// The attributes of a span and of its details, as one object.
pub(super) fn all_attributes<'a>(facts: &WholeFacts<'a>) -> Cow<'a, Map<String, Value>> {
    let Some(details) = facts.details else {
        return Cow::Borrowed(facts.own);
    };
    let mut all = facts.own.clone();
    for (key, value) in details {
        if !facts.own.says(key) {
            all.insert(key.clone(), value.clone());
        }
    }
    Cow::Owned(all)
}
