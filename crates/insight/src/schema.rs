//! JSON Schemas that a derive cannot give (feature `schema`).

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use tracer_sdk::format::SPEC_VERSION;

/// The first 64 bits of a digest.
pub(crate) fn fingerprint(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": "^[0-9a-f]{16}$"})
}

/// The version that every document names.
pub fn spec_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"const": SPEC_VERSION})
}

/// The documentation of a type without what is for readers of the code: its examples, links, line breaks and references
/// behind the first sentence; and numbers without Rust's names.
pub fn plain_descriptions(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let prose = description.split("```").next().unwrap_or_default();
        let words: Vec<&str> = prose.split_whitespace().collect();
        *description = without_references(&words.join(" "))
            .replace("[`", "`")
            .replace("`]", "`")
            .replace("`None`", "null");
    }
    let is_number = schema.get("type").is_some_and(|kind| {
        let kind = kind.to_string();
        kind.contains("integer") || kind.contains("number")
    });
    if is_number {
        schema.remove("format");
    }
}

/// A text without `(specification, …)` and the like.
fn without_references(text: &str) -> String {
    let mut kept = text.to_owned();
    for reference in [" (specification, ", " (capture, ", " (decisions, ", " (gate, "] {
        while let Some((before, (_, after))) = kept
            .split_once(reference)
            .and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
        {
            kept = format!("{before}{after}");
        }
    }
    kept
}
