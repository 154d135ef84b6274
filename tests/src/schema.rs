//! A JSON Schema of `docs/schemas`, and whether documents keep to it.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

/// A schema by its name.
pub struct Schema(Validator);

impl Schema {
    /// The schema in `docs/schemas/<name>.json`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas");
        let text = fs::read_to_string(Path::new(path).join(format!("{name}.json"))).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{name}.json is no schema");
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        Self(options.build(&schema).unwrap())
    }

    /// Whether it takes the document.
    #[must_use]
    pub fn is_kept(&self, document: &Value) -> bool {
        self.0.is_valid(document)
    }

    /// That it takes the document.
    #[track_caller]
    pub fn takes(&self, document: &Value) {
        let errors: Vec<String> = self
            .0
            .iter_errors(document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?} in {document:#}");
    }

    /// That the document is refused when the value at this place is another one, or `None` is there.
    #[track_caller]
    pub fn refuses(&self, document: &Value, place: &str, value: Option<Value>) {
        self.takes(document);
        let mut changed = document.clone();
        let (parent, key) = place.rsplit_once('/').unwrap();
        let reported = format!("{place}: {value:?}");
        match (changed.pointer_mut(parent).unwrap(), value) {
            (Value::Object(object), Some(value)) => object.insert(key.to_owned(), value),
            (Value::Object(object), None) => object.remove(key),
            (parent, value) => panic!("{parent} is no object, for {key} and {value:?}"),
        };
        assert!(!self.0.is_valid(&changed), "{reported} is taken");
    }
}
