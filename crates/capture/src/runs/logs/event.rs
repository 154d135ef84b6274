//! A log record with what identifies it: its event name, time, IDs and content.

use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tracer_sdk::format::{SpanId, Timestamp, TraceId};

use super::AGENT_PREFIXES;
use crate::runs::attributes::text;
use crate::runs::conversation::remove_personal;
use crate::runs::convert::{attributes, kept_of_resource, span_id, trace_id, value, with_scope};

/// A log record.
#[derive(Debug)]
pub(super) struct LogEvent {
    pub(super) name: String,
    pub(super) time: Timestamp,
    pub(super) trace_id: Option<TraceId>,
    pub(super) span_id: Option<SpanId>,
    pub(super) attributes: Map<String, Value>,
    pub(super) body: Option<Value>,
    /// Attributes of the resource and the scope that are kept.
    pub(super) context: Map<String, Value>,
}

impl LogEvent {
    pub(super) fn service(&self) -> &str {
        text(&self.context, "service.name").unwrap_or_default()
    }

    pub(super) fn scope(&self) -> &str {
        text(&self.context, "otel.scope.name").unwrap_or_default()
    }

    /// Its attributes without its name, which readers would take for the event itself.
    pub(super) fn named_attributes(&self) -> Map<String, Value> {
        let mut attributes = self.attributes.clone();
        attributes.remove("event.name");
        attributes
    }

    /// The same, with the members of its body that are not among them.
    pub(super) fn all_attributes(&self) -> Map<String, Value> {
        let mut attributes = self.named_attributes();
        if let Some(Value::Object(body)) = &self.body {
            for (key, value) in body {
                attributes.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        attributes
    }

    /// Hash that tells it from another record of the same time.
    pub(super) fn content_hash(&self) -> [u8; 32] {
        // Objects are sorted by key.
        let content = serde_json::to_vec(&(&self.attributes, &self.body)).unwrap_or_default();
        Sha256::digest(content).into()
    }
}

/// The records of a request that have an event name.
pub(super) fn read_events(request: Vec<ResourceLogs>, now: Timestamp) -> Vec<LogEvent> {
    let mut events = Vec::new();
    for of_resource in request {
        let resource = of_resource.resource.as_ref();
        let kept = kept_of_resource(resource);
        // The records of some agents lack it: the session is named once, for all.
        let session = resource.and_then(|resource| {
            let attribute = resource
                .attributes
                .iter()
                .find(|attribute| attribute.key == "session.id")?;
            value(attribute.value.clone()?, 0)
        });
        for of_scope in of_resource.scope_logs {
            let context = with_scope(&kept, of_scope.scope.as_ref());
            for record in of_scope.log_records {
                events.push(read_event(record, &context, session.as_ref(), now));
            }
        }
    }
    events
}

fn read_event(
    record: LogRecord,
    context: &Map<String, Value>,
    session: Option<&Value>,
    now: Timestamp,
) -> LogEvent {
    let mut attributes = attributes(record.attributes);
    remove_personal(&mut attributes);
    if let Some(session) = session {
        attributes.entry("session.id").or_insert_with(|| session.clone());
    }
    let body = record.body.and_then(|body| value(body, 0));
    let in_body = body
        .as_ref()
        .and_then(Value::as_str)
        .filter(|body| is_event_name(body));
    // The attribute first: what bridges `tracing` to OpenTelemetry writes the place in the code as the field.
    let name = [
        text(&attributes, "event.name").unwrap_or_default(),
        record.event_name.as_str(),
    ]
    .into_iter()
    .find(|name| !name.is_empty())
    .or(in_body)
    .unwrap_or_default();
    LogEvent {
        name: name.to_owned(),
        time: match (record.time_unix_nano, record.observed_time_unix_nano) {
            (0, 0) => now,
            (0, observed) => Timestamp::from_unix_nanoseconds(observed),
            (time, _) => Timestamp::from_unix_nanoseconds(time),
        },
        trace_id: trace_id(&record.trace_id),
        span_id: span_id(&record.span_id),
        attributes,
        body,
        context: context.clone(),
    }
}

/// Some agents write the event's name as the body.
fn is_event_name(body: &str) -> bool {
    AGENT_PREFIXES.iter().any(|prefix| body.starts_with(prefix)) && !body.contains(char::is_whitespace)
}
