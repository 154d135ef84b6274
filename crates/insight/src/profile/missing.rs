//! Missing spans of a trace, where the trace shows them.
//!
//! A verdict is never better than its evidence.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use tracer_sdk::format::{Counts, RunMeta, names};

/// The additive key of `meta.json` for spans that could not be written (decisions, section 5).
const DROPPED: &str = "dropped";

/// The spans that a trace has lost.
///
/// ```
/// use tracer_insight::profile::MissingSpans;
///
/// let missing = MissingSpans { spans: Some(3), reason: "No space left on device".to_owned() };
/// assert_eq!(missing.to_string(), "3 spans are missing from its trace: No space left on device");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MissingSpans {
    /// Number of missing spans; null when not known.
    pub spans: Option<u64>,
    /// Why the first one is missing, or the sign that it is.
    pub reason: String,
}

impl std::fmt::Display for MissingSpans {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.spans {
            Some(1) => formatter.write_str("1 span is missing from its trace")?,
            Some(spans) => write!(formatter, "{spans} spans are missing from its trace")?,
            None => formatter.write_str("an unknown number of spans is missing from its trace")?,
        }
        if self.reason.is_empty() {
            return Ok(());
        }
        write!(formatter, ": {}", self.reason)
    }
}

impl MissingSpans {
    /// Of two accounts of the same loss, the one with more spans.
    fn or_more(self, other: Option<Self>) -> Self {
        match other {
            Some(other)
                if self.spans.is_some() && other.spans.is_none_or(|spans| Some(spans) > self.spans) =>
            {
                other
            }
            _ => self,
        }
    }

    /// Loss reported by the emitter: an object with the number of spans. Any other value is a loss of an unknown
    /// number of spans.
    fn reported(dropped: &Value) -> Option<Self> {
        let (spans, reason) = match dropped {
            Value::Null | Value::Bool(false) => return None,
            Value::Object(object) => (object.get("spans"), object.get("reason").and_then(Value::as_str)),
            other => (Some(other), None),
        };
        let spans = match spans.and_then(Value::as_u64) {
            Some(0) => return None,
            spans => spans,
        };
        Some(Self {
            spans,
            reason: reason.unwrap_or_default().to_owned(),
        })
    }
}

/// Gathers the signs of missing spans.
#[derive(Debug, Default)]
pub(crate) struct MissingSpanSigns {
    /// Spans that another process lost, by the span that it left for them.
    of_processes: u64,
    reason: String,
    /// Stand-ins for spans that others name as their parent.
    stand_ins: u64,
    /// Spans that other emitters count as model calls and the projection does not.
    counted_elsewhere: u64,
}

impl MissingSpanSigns {
    /// Counts the signs in a span that is of no other type.
    pub(crate) fn look_at(&mut self, attributes: &Map<String, Value>) {
        let value = |name: names::Name| name.spellings().iter().find_map(|key| attributes.get(*key));
        if let Some(spans) = value(names::DROPPED_SPANS).and_then(Value::as_u64) {
            self.of_processes = self.of_processes.saturating_add(spans);
            if let Some(reason) = value(names::DROPPED_REASON).and_then(Value::as_str) {
                reason.clone_into(&mut self.reason);
            }
        }
        self.stand_ins += u64::from(value(names::LOST).is_some_and(|lost| *lost == Value::Bool(true)));
        self.counted_elsewhere += u64::from(attributes.keys().any(|key| key.starts_with("gen_ai.")));
    }

    /// Missing spans of a run whose records add up to `counted`.
    pub(crate) fn missing(self, meta: &RunMeta, counted: Counts) -> Option<MissingSpans> {
        let reported = meta.additional.get(DROPPED).and_then(MissingSpans::reported);
        let found = |spans: u64, reason: &str| {
            (spans > 0).then(|| MissingSpans {
                spans: Some(spans),
                reason: reason.to_owned(),
            })
        };
        let accounts = [
            reported,
            found(self.of_processes, &self.reason),
            found(self.stand_ins, "other spans name them as their parent"),
            found(
                uncounted(meta.counts, counted, self.counted_elsewhere),
                "meta.json counts more than the log holds",
            ),
        ];
        accounts
            .into_iter()
            .flatten()
            .reduce(|known, other| known.or_more(Some(other)))
    }
}

/// By how many records `meta.json` counts more than there are. What is counted as another type, here or there, is not
/// missing.
fn uncounted(reported: Counts, counted: Counts, counted_elsewhere: u64) -> u64 {
    let pairs = [
        (reported.llm_calls, counted.llm_calls),
        (reported.tool_calls, counted.tool_calls),
        (reported.errors, counted.errors),
        (reported.loop_warnings, counted.loop_warnings),
    ];
    let more: u64 = pairs
        .iter()
        .map(|(reported, found)| reported.saturating_sub(*found))
        .fold(0, u64::saturating_add);
    let less: u64 = pairs
        .iter()
        .map(|(reported, found)| found.saturating_sub(*reported))
        .fold(0, u64::saturating_add);
    more.saturating_sub(less).saturating_sub(counted_elsewhere)
}
