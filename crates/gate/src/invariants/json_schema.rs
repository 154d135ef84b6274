//! JSON Schemas in the keys of checks.

use jsonschema::Validator;
use serde_json::Value;

/// A compiled schema.
#[derive(Debug)]
pub(super) struct JsonSchema(Validator);

impl JsonSchema {
    /// Compiles a schema. References lead to its own parts only: nothing is fetched.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        jsonschema::validator_for(schema)
            .map(Self)
            .map_err(|error| format!("is no JSON Schema: {}", error.masked()))
    }

    /// The first error of a value, without its content.
    pub(super) fn error(&self, value: &Value) -> Option<String> {
        let error = self.0.validate(value).err()?;
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "the value" } else { &place };
        Some(format!("{place} does not fit: {}", error.masked()))
    }
}
