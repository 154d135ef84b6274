//! JSON Schemas of the types of this module, for those whose serialised form a derive does not know (feature `schema`).
//!
//! The derives are at the types; here are the texts with a form of their own, the record, whose payload
//! depends on its type, and the values that a field's Rust type is wider than.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{
    Dropped, EventType, ForkOrigin, GateTrial, Payload, Record, RecordedStatus, SPEC_VERSION, SpanId,
    StoredTime, TraceId, TranscriptOrigin,
};

/// Text of a fixed form: its name among the definitions, and what it must be.
macro_rules! text {
    ($type:ty, $name:literal, $schema:tt) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

text!(TraceId, "TraceId", {
    "description": "Identifies a run: 32 lower-case hex characters, never all zeros.",
    "type": "string",
    "pattern": "^[0-9a-f]{32}$",
    "not": {"const": "00000000000000000000000000000000"},
});
text!(SpanId, "SpanId", {
    "description": "Identifies a span within its run: 16 lower-case hex characters, never all zeros.",
    "type": "string",
    "pattern": "^[0-9a-f]{16}$",
    "not": {"const": "0000000000000000"},
});
text!(StoredTime, "Time", {
    "description": "An RFC 3339 date-time with a zone. Emitters write UTC with six digits and a trailing Z.",
    "type": "string",
    "format": "date-time",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    "examples": ["2026-01-01T00:00:00.000000Z"],
});

/// The keys of `meta.json` that are no part of the specification and that we know (decisions, section 5).
#[derive(JsonSchema)]
pub(crate) struct AdditiveKeys {
    /// Spans that could not be written; there only when there are any.
    #[schemars(skip_serializing_if = "Option::is_none", with = "Dropped")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    dropped: Option<Dropped>,
    /// Parts of records that are past what a record keeps: attributes, logs, links, errors of the run, pieces of a streamed
    /// answer; there only when there are any.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    left_out: Option<u64>,
    /// `false` where readers count the log, because other processes or libraries recorded too; there only then.
    #[schemars(skip_serializing_if = "Option::is_none", with = "bool")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    counts_exact: Option<bool>,
    /// Spans that ended after the run had ended; there only when there are any.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    late_spans: Option<u64>,
    /// Spans that had not ended when the run did, and have not ended since; there only when there are any.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    unfinished_spans: Option<u64>,
    /// Records that found no run while this one and others were live; there only when there are any.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    unattached: Option<u64>,
    /// The gate that made the run; there only when one did.
    #[schemars(skip_serializing_if = "Option::is_none", with = "GateTrial")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    gate: Option<GateTrial>,
    /// The run that this one was forked from; there only when it was.
    #[schemars(skip_serializing_if = "Option::is_none", with = "ForkOrigin")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    fork: Option<ForkOrigin>,
    /// The coding agent's session that this run was made of; there only when it was not recorded.
    #[schemars(skip_serializing_if = "Option::is_none", with = "TranscriptOrigin")]
    #[expect(dead_code, reason = "only the shape is wanted")]
    transcript: Option<TranscriptOrigin>,
}

impl JsonSchema for Record {
    fn schema_name() -> Cow<'static, str> {
        "Record".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One projected record. What its payload is depends on its type.",
            "type": "object",
            "properties": {
                "spec_version": {"const": SPEC_VERSION},
                "event_id": {
                    "description": "The span's ID; `<root>.<n>` for what is surfaced from the root; `<root>.end` for the end of the run.",
                    "type": "string",
                    "pattern": r"^[0-9a-f]{16}(\.([0-9]+|end))?$",
                },
                "run_id": generator.subschema_for::<TraceId>(),
                "parent_id": generator.subschema_for::<Option<SpanId>>(),
                "event_type": generator.subschema_for::<EventType>(),
                "ts": generator.subschema_for::<StoredTime>(),
                "duration_ms": {
                    "description": "How long it took, in milliseconds; null for what has no duration.",
                    "type": ["integer", "null"],
                    "minimum": 0,
                },
                "name": {"description": "The span's name as stored.", "type": "string"},
                "payload": {"type": "object"},
                "meta": {"description": "The user's own metadata.", "type": "object"},
            },
            "required": [
                "spec_version", "event_id", "run_id", "parent_id", "event_type", "ts", "duration_ms", "name", "payload",
                "meta",
            ],
            "additionalProperties": false,
            "oneOf": payloads(generator),
        })
    }
}

/// For each event type, that the payload is the one of this type.
fn payloads(generator: &mut SchemaGenerator) -> Vec<Schema> {
    // The types are in the order of `Payload`; a derive gives its shapes without them.
    let mut shapes = Payload::json_schema(generator);
    let shapes = shapes.remove("anyOf").unwrap_or_default();
    let shapes = shapes.as_array().cloned().unwrap_or_default();
    EventType::ALL
        .iter()
        .zip(shapes)
        .map(|(event_type, payload)| {
            json_schema!({
                "properties": {"event_type": {"const": event_type.as_str()}, "payload": payload},
            })
        })
        .collect()
}

/// Schema of the outcome of a call: a status that is never `running`.
pub(crate) fn outcome(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": [RecordedStatus::Ok, RecordedStatus::Error]})
}

/// Schema of the type "object, string or null" of the specification.
pub(crate) fn content(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["object", "string", "null"]})
}

/// Attributes as the specification has them: no objects, arrays or nulls among their values.
pub(crate) fn attributes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {"type": ["string", "boolean", "integer", "number"]},
    })
}

/// The versions that are read.
pub(crate) fn readable_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^0\.2(\.(0|[1-9][0-9]{0,8}))?$",
        "examples": [SPEC_VERSION],
    })
}
