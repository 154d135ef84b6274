//! JSON Schemas of texts of a fixed form (feature `schema`).

use schemars::{Schema, SchemaGenerator, json_schema};

/// The SHA-256 digest of something.
pub(super) fn sha256(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

/// The SHA-256 digest of something that may not be there.
pub(super) fn sha256_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"})
}

/// Numbers by name that are not negative.
pub(super) fn measured(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "additionalProperties": {"type": "number", "minimum": 0}})
}
