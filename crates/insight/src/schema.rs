//! JSON Schemas that a derive cannot give (feature `schema`).

use schemars::{Schema, SchemaGenerator, json_schema};

/// The first 64 bits of a digest.
pub(crate) fn fingerprint(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": "^[0-9a-f]{16}$"})
}
