//! `page/answers.d.ts`: the API's answers as the page's type check reads them.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p tracer-view --lib page_types` rewrites it.

use std::{fs, iter};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{api, inspect};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/page/answers.d.ts");
const HEAD: &str =
    "// The API's answers, made of its types by `UPDATE_SCHEMAS=1 cargo test -p tracer-view --lib page_types`.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
";

/// A JSON Schema as a type of TypeScript.
fn typescript(schema: &Value) -> String {
    let list = |key: &str| {
        schema[key]
            .as_array()
            .map(|of| of.iter().map(typescript).collect::<Vec<_>>())
    };
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(" | ");
    }
    if schema["const"].is_string() {
        return schema["const"].to_string();
    }
    if let Some(choices) = list("anyOf").or_else(|| list("oneOf")) {
        return choices.join(" | ");
    }
    match &schema["type"] {
        Value::Array(types) => {
            let one = |name: &Value| {
                let mut schema = schema.clone();
                schema["type"] = name.clone();
                typescript(&schema)
            };
            types.iter().map(one).collect::<Vec<_>>().join(" | ")
        }
        Value::String(name) => match name.as_str() {
            "array" => format!("Array<{}>", typescript(&schema["items"])),
            "object" => object(schema),
            "integer" => "number".to_owned(),
            simple => simple.to_owned(),
        },
        _ => "Json".to_owned(),
    }
}

fn object(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        return format!(
            "{{ [key: string]: {} }}",
            typescript(&schema["additionalProperties"])
        );
    };
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let fields = properties.iter().map(|(name, of)| {
        let of = typescript(of);
        if required.iter().any(|known| known == name) {
            format!("  {name}: {of};\n")
        } else {
            // A field that may be left out is left out in the place of null.
            format!("  {name}?: {};\n", of.trim_end_matches(" | null"))
        }
    });
    iter::once("{\n".to_owned())
        .chain(fields)
        .chain(["}".to_owned()])
        .collect()
}

/// The answers that the page reads, and the types in them.
fn types() -> Map<String, Value> {
    fn add<T: JsonSchema>(types: &mut schemars::SchemaGenerator) {
        types.subschema_for::<T>();
    }
    let mut types = SchemaSettings::draft2020_12().for_serialize().into_generator();
    add::<api::table::RunTable>(&mut types);
    add::<api::table::TableColumn>(&mut types);
    add::<api::stats::StatsAnswer>(&mut types);
    add::<api::overview::Overview>(&mut types);
    add::<api::rows::Rows>(&mut types);
    add::<tracer_insight::context_bill::ContextBill>(&mut types);
    add::<tracer_insight::lineage::Lineage>(&mut types);
    add::<inspect::StepJson>(&mut types);
    add::<api::transcript::Transcript>(&mut types);
    add::<api::diff::DiffAnswer<'_>>(&mut types);
    types.take_definitions(true)
}

#[test]
fn the_page_knows_the_answers_of_the_api() {
    let definitions = types();
    let types = definitions
        .iter()
        .map(|(name, schema)| format!("\nexport type {name} = {};\n", typescript(schema)));
    let text: String = iter::once(HEAD.to_owned()).chain(types).collect();
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(FILE, &text).unwrap();
    }
    let checked_in = fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        checked_in.replace("\r\n", "\n") == text,
        "page/answers.d.ts is not what the types say; rewrite it: UPDATE_SCHEMAS=1 cargo test -p tracer-view --lib page_types"
    );
}
