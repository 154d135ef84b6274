//! The JSON Schemas in `docs/schemas`, generated from the types that are written and read.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p tracer-cli --lib schemas` rewrites them.

use std::fs;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use tracer_gate::Report;
use tracer_gate::policy::Policy;
use tracer_sdk::format::{ProblemCode, Record, RunMeta, SpanRecord};

use crate::commands::list;
use tracer_export::envelope;
use tracer_insight::schema::plain_descriptions;

/// The file names, and what stands in them.
fn all() -> [(&'static str, Schema); 7] {
    [
        ("meta", schema_of::<RunMeta>("meta.json of a run")),
        ("span", schema_of::<SpanRecord>("A line of spans.jsonl")),
        (
            "record",
            schema_of::<Record>("A projected record, and a line of `tracer export --format ndjson`"),
        ),
        ("export", schema_of::<envelope::Envelope>("`tracer export`")),
        ("list", schema_of::<list::RunList<'_>>("`tracer list --json`")),
        (
            "policy",
            schema_by::<Policy>(SchemaSettings::draft2020_12(), "A policy of the gate, as JSON"),
        ),
        (
            "report",
            schema_of::<Report>("`tracer run --format json` and `--json-out`"),
        ),
    ]
}

/// The schema of what is written.
fn schema_of<T: JsonSchema>(title: &str) -> Schema {
    schema_by::<T>(SchemaSettings::draft2020_12().for_serialize(), title)
}

fn schema_by<T: JsonSchema>(settings: SchemaSettings, title: &str) -> Schema {
    let mut schema = settings
        .with_transform(RecursiveTransform(plain_descriptions))
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas")).join(format!("{name}.json"))
}

#[test]
fn the_schemas_in_the_documentation_are_those_of_the_types() {
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    for (name, schema) in all() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if update {
            fs::write(file(name), &text).unwrap();
        }
        let checked_in = fs::read_to_string(file(name)).unwrap_or_default();
        // A checkout on Windows may have other line ends.
        assert!(
            checked_in.replace("\r\n", "\n") == text,
            "docs/schemas/{name}.json is not what the types say; rewrite it: \
             UPDATE_SCHEMAS=1 cargo test -p tracer-cli --lib schemas"
        );
    }
    let folder = fs::read_dir(file("meta").with_file_name("")).unwrap();
    assert_eq!(folder.count(), all().len(), "a file that nothing generates");
}

#[test]
fn the_page_about_the_format_names_every_code_of_a_problem() {
    let page = fs::read_to_string(file("meta").with_file_name("../trace-format.md")).unwrap();
    let schema = schema_of::<ProblemCode>("");
    let codes = schema.get("oneOf").unwrap().as_array().unwrap();
    assert!(codes.len() > 20);
    for code in codes {
        let code = code["const"].as_str().unwrap();
        assert!(
            page.contains(&format!("\n| `{code}` | ")),
            "{code} is not reported"
        );
    }
}
