//! The tools that a model may call, whatever shape the provider gives them.

use serde::Serialize;
use serde_json::{Map, Value};

use super::parse::embedded_json;

/// `OpenTelemetry` attributes with the tools that a model may call.
const ATTRIBUTES: [&str; 2] = ["gen_ai.tool.definitions", "gen_ai.request.tools"];
/// JSON pointers to the tools in requests.
const REQUEST: [&str; 2] = ["/tools", "/toolConfig/tools"];
/// Objects around a tool.
const WRAPPERS: [&str; 3] = ["function", "toolSpec", "custom"];
/// Lists of tools within an item of the list.
const LISTS: [&str; 2] = ["functionDeclarations", "function_declarations"];
const PARAMETERS: [&str; 6] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameter_definitions",
    "args_schema",
];

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// Description of the tool.
    pub description: Option<String>,
    /// Parameters of the tool, as a JSON Schema.
    pub parameters: Option<Value>,
}

/// The tools in a prompt, else in the attributes of its span.
pub fn offered_tools(prompt: &Value, attributes: Option<&Map<String, Value>>) -> Vec<OfferedTool> {
    let stored = || {
        let stored = ATTRIBUTES.into_iter().find_map(|key| attributes?.get(key))?;
        match stored {
            Value::String(text) => embedded_json(text),
            stored => Some(stored.clone()),
        }
    };
    let in_prompt = REQUEST.into_iter().find_map(|path| prompt.pointer(path));
    let tools = in_prompt.cloned().or_else(stored);
    let tools = tools.as_ref().and_then(Value::as_array);
    tools.into_iter().flatten().flat_map(in_item).collect()
}

fn in_item(item: &Value) -> Vec<OfferedTool> {
    match LISTS.into_iter().find_map(|key| item.get(key)?.as_array()) {
        Some(declared) => declared.iter().filter_map(tool).collect(),
        None => tool(item).into_iter().collect(),
    }
}

fn tool(item: &Value) -> Option<OfferedTool> {
    let inner = WRAPPERS.into_iter().find_map(|key| item.get(key)).unwrap_or(item);
    let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::to_owned);
    let parameters = PARAMETERS.into_iter().find_map(|key| inner.get(key));
    Some(OfferedTool {
        // A tool built in by the provider has but a type: `web_search_preview`.
        name: text("name").or_else(|| text("type").filter(|kind| kind != "function"))?,
        description: text("description"),
        parameters: parameters.map(|schema| schema.get("json").unwrap_or(schema).clone()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(prompt: &Value, attributes: &Value) -> Vec<String> {
        let tools = offered_tools(prompt, attributes.as_object());
        tools.into_iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn tools_of_every_provider_are_offered() {
        let schema = json!({"type": "object"});
        let shapes = [
            json!({"type": "function", "function": {"name": "ls", "parameters": schema}}),
            json!({"type": "function", "name": "ls", "parameters": schema}),
            json!({"type": "custom", "custom": {"name": "ls", "parameters": schema}}),
            json!({"name": "ls", "input_schema": schema}),
            json!({"functionDeclarations": [{"name": "ls", "parameters": schema}]}),
            json!({"toolSpec": {"name": "ls", "inputSchema": {"json": schema}}}),
        ];
        for shape in shapes {
            let tools = offered_tools(&json!({"tools": [shape]}), None);
            assert_eq!(tools.len(), 1, "{shape}");
            assert_eq!(tools[0].name, "ls", "{shape}");
            assert_eq!(tools[0].parameters, Some(schema.clone()), "{shape}");
        }
    }

    #[test]
    fn tools_are_found_in_requests_and_attributes() {
        let none = json!({});
        assert_eq!(
            names(
                &json!({"toolConfig": {"tools": [{"toolSpec": {"name": "a"}}]}}),
                &none
            ),
            ["a"]
        );
        assert_eq!(
            names(&json!({"tools": [{"type": "web_search_preview"}]}), &none),
            ["web_search_preview"]
        );
        let stored = json!({"gen_ai.tool.definitions": r#"[{"type": "function", "name": "b"}]"#});
        assert_eq!(names(&json!("Hello"), &stored), ["b"]);
        let listed = json!({"gen_ai.tool.definitions": [{"name": "c"}]});
        assert_eq!(names(&json!("Hello"), &listed), ["c"]);
        assert!(names(&json!({"tools": 7}), &none).is_empty());
    }
}
