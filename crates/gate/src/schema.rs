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

/// The versions of a report that are written.
pub(super) fn report_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"const": super::report::REPORT_VERSION})
}

/// The versions of a baseline that are read.
pub(super) fn baseline_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^(0\.2(\.0)?|0\.3\.[0-9]+)$",
        "examples": [super::baseline::SCHEMA_VERSION],
    })
}

/// A number that was measured.
pub(super) fn measured_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["number", "null"], "minimum": 0})
}
