//! Results of tools in a request, which a fixed tool may change.

use serde_json::Value;

use super::file::Cassette;

impl Cassette {
    /// The cassette with the rule by which requests match whatever the results of their tools are.
    #[must_use]
    pub fn ignoring_tool_results(mut self) -> Self {
        self.head.ignore_tool_results = true;
        self.rules.ignores_tool_results = true;
        self
    }
}

/// Replaces each result of a tool by null. It is known by its shape: its place differs from one conversation to the next.
pub(super) fn remove(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(remove),
        Value::Object(members) => {
            let word = |key: &str| members.get(key).and_then(Value::as_str);
            let result = match (word("role"), word("type")) {
                (Some("tool" | "function"), _) | (_, Some("tool_result")) => Some("content"),
                (_, Some(kind)) if kind.ends_with("_call_output") => Some("output"),
                _ => None,
            };
            if let Some(result) = result.and_then(|member| members.get_mut(member)) {
                *result = Value::Null;
            }
            for (key, member) in members {
                let wrapped = match key.as_str() {
                    "functionResponse" | "function_response" => member.get_mut("response"),
                    "toolResult" => member.get_mut("content"),
                    _ => None,
                };
                match wrapped {
                    Some(result) => *result = Value::Null,
                    None => remove(member),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn results_of_tools_are_found_in_every_shape() {
    let with = |result: &Value| {
        serde_json::json!({
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "tool", "content": result},
                {"role": "user", "content": [
                    {"type": "text", "text": "x"},
                    {"type": "tool_result", "content": result},
                    {"toolResult": {"toolUseId": "t", "content": result}},
                ]},
            ],
            "input": [
                {"type": "message", "content": "hi"},
                {"type": "function_call_output", "output": result},
                {"type": "shell_call_output", "output": result},
            ],
            "contents": [{"parts": [{"functionResponse": {"name": "add", "response": result}}]}],
        })
    };
    let mut request = with(&serde_json::json!({"sum": 6}));
    remove(&mut request);
    assert_eq!(request, with(&Value::Null));
}
