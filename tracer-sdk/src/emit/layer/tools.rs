//! Arguments and results of tools that a library keeps to itself: the model's reply names the arguments, the next request
//! the result, and the model's ID for the call joins them with the tool's span.

use std::collections::VecDeque;

use serde_json::Value;
use tracer_format::SpanId;

/// Maximum number of remembered calls of a run whose tool has not run.
const MAX_ARGUMENTS: usize = 1024;

/// Maximum depth of calls and results in a body.
const MAX_DEPTH: usize = 16;

/// The tool calls that models asked for in a run. Some providers give calls of different conversations equal IDs.
#[derive(Debug, Default)]
pub(super) struct ToolArguments(VecDeque<AskedCall>);

/// A call in the reply to a model call.
#[derive(Debug)]
pub(super) struct AskedCall {
    /// The branch of the run in which the model was called.
    pub(super) branch: SpanId,
    id: String,
    /// JSON text.
    pub(super) arguments: String,
}

impl ToolArguments {
    /// Remembers the calls in a reply.
    pub(super) fn add_reply(&mut self, reply: &Value, branch: SpanId) {
        each_object(reply, MAX_DEPTH, &mut |object| {
            let Some(arguments) = arguments_of(object) else {
                return;
            };
            for key in ["id", "call_id"] {
                if let Some(id) = object.get(key).and_then(Value::as_str) {
                    self.0.retain(|asked| asked.branch != branch || asked.id != id);
                    self.0.push_back(AskedCall {
                        branch,
                        id: id.to_owned(),
                        arguments: arguments.clone(),
                    });
                }
            }
        });
        let too_many = self.0.len().saturating_sub(MAX_ARGUMENTS);
        self.0.drain(..too_many);
    }

    /// The call that a tool runs in a branch, once: of this branch, else the only one with its ID.
    pub(super) fn take(&mut self, call_id: &str, branch: SpanId) -> Option<AskedCall> {
        let with_id = |asked: &&AskedCall| asked.id == call_id;
        let is_only = self.0.iter().filter(with_id).count() == 1;
        let is_it = |asked: &AskedCall| asked.id == call_id && (is_only || asked.branch == branch);
        self.0.remove(self.0.iter().position(is_it)?)
    }
}

type ToolFields = serde_json::Map<String, Value>;

/// The arguments of a call in the shape of any provider, as JSON text.
fn arguments_of(object: &ToolFields) -> Option<String> {
    let function = object
        .get("function")
        .or_else(|| object.get("functionCall"))
        .and_then(Value::as_object)
        .unwrap_or(object);
    // Everything that is called has a name; a message with an ID has none.
    function.get("name")?.as_str()?;
    let arguments = ["arguments", "args", "input"]
        .iter()
        .find_map(|key| function.get(*key))?;
    Some(json_text(arguments))
}

/// The result of a call in a request, as JSON text; `None` when the request does not hold it.
pub(super) fn result_in(request: &Value, call_id: &str) -> Option<String> {
    let mut found = None;
    each_object(request, MAX_DEPTH, &mut |object| {
        let is_it = ["tool_call_id", "call_id", "tool_use_id", "id", "toolUseId"]
            .iter()
            .any(|key| object.get(*key).and_then(Value::as_str) == Some(call_id));
        if !is_it || found.is_some() || arguments_of(object).is_some() {
            return;
        }
        let response = object
            .get("function_response")
            .or_else(|| object.get("functionResponse"));
        let holder = response.and_then(Value::as_object).unwrap_or(object);
        found = ["output", "response", "result", "content"]
            .iter()
            .find_map(|key| holder.get(*key))
            .map(|result| {
                text_of_blocks(result).map_or_else(|| json_text(result), |text| json_text(&text.into()))
            });
    });
    found
}

/// The text of a result that a provider takes in blocks, if each block is text.
fn text_of_blocks(result: &Value) -> Option<String> {
    let blocks = result.as_array().filter(|blocks| !blocks.is_empty())?;
    blocks
        .iter()
        .map(|block| {
            let is_text = block
                .get("type")
                .is_none_or(|kind| kind == "text" || kind == "input_text");
            block.get("text")?.as_str().filter(|_| is_text)
        })
        .collect()
}

/// A value as JSON text; a text that is JSON already as it is.
fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => text.clone(),
        value => value.to_string(),
    }
}

fn each_object(value: &Value, depth: usize, visit: &mut dyn FnMut(&ToolFields)) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Object(object) => {
            visit(object);
            for member in object.values() {
                each_object(member, depth - 1, visit);
            }
        }
        Value::Array(items) => {
            for item in items {
                each_object(item, depth - 1, visit);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn branch(number: u8) -> SpanId {
        format!("{number:016x}").parse().unwrap()
    }

    #[test]
    fn calls_with_equal_ids_are_those_of_their_branches() {
        let asks = |city: &str| json!({"id": "weather:0", "name": "weather", "arguments": {"city": city}});
        let both = || {
            let mut arguments = ToolArguments::default();
            arguments.add_reply(&asks("Oslo"), branch(1));
            arguments.add_reply(&asks("Paris"), branch(2));
            arguments
        };
        let (mut one, mut other) = (both(), both());
        let taken = |arguments: &mut ToolArguments, number| {
            let asked = arguments.take("weather:0", branch(number))?;
            Some((asked.branch, asked.arguments))
        };
        let (oslo, paris) = (r#"{"city":"Oslo"}"#.to_owned(), r#"{"city":"Paris"}"#.to_owned());
        assert_eq!(taken(&mut one, 1), Some((branch(1), oslo)));
        // A branch within that of the agent.
        assert_eq!(taken(&mut one, 3), Some((branch(2), paris.clone())));
        assert_eq!(taken(&mut other, 3), None);
        assert_eq!(taken(&mut other, 2), Some((branch(2), paris)));
    }

    #[test]
    fn arguments_are_found_in_every_providers_reply() {
        for reply in [
            json!({"choices": [{"message": {"tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{\"x\":2}"}}]}}]}),
            json!({"output": [{"type": "function_call", "id": "fc", "call_id": "c1", "name": "add", "arguments": "{\"x\":2}"}]}),
            json!({"content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"x": 2}}]}),
            json!({"candidates": [{"content": {"parts": [{"functionCall": {"id": "c1", "name": "add", "args": {"x": 2}}}]}}]}),
            json!({"role": "model", "parts": [{"name": "add", "args": {"x": 2}, "id": "c1"}]}),
        ] {
            let mut arguments = ToolArguments::default();
            arguments.add_reply(&reply, branch(1));
            let taken = arguments.take("c1", branch(1));
            assert_eq!(taken.unwrap().arguments, r#"{"x":2}"#, "{reply}");
            assert!(arguments.take("c1", branch(1)).is_none(), "{reply}");
        }
    }

    #[test]
    fn results_are_found_in_every_providers_request() {
        for request in [
            json!({"messages": [{"role": "tool", "tool_call_id": "c1", "content": "5"}]}),
            json!({"input": [
                {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "5"}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "5"}]}]}),
            json!({"contents": [{"parts": [{"function_response": {"name": "add", "response": 5}, "id": "c1"}]}]}),
        ] {
            assert_eq!(result_in(&request, "c1").as_deref(), Some("5"), "{request}");
            assert_eq!(result_in(&request, "c2"), None, "{request}");
        }
    }

    #[test]
    fn blocks_of_text_are_the_text_that_the_tool_returned() {
        let result = |content: Value| {
            let request = json!({"messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": content}]}]});
            result_in(&request, "c1")
        };
        let text = |text: &str| json!({"type": "text", "text": text});
        assert_eq!(result(json!([text("7 C")])).as_deref(), Some(r#""7 C""#));
        assert_eq!(
            result(json!([text("{\"c\":"), text("7}")])).as_deref(),
            Some(r#"{"c":7}"#)
        );
        let image = json!([text("7 C"), {"type": "image", "source": {}}]);
        assert_eq!(result(image.clone()), Some(image.to_string()));
    }

    #[test]
    fn plain_text_becomes_json_text() {
        let request = json!({"messages": [{"role": "tool", "tool_call_id": "c1", "content": "7 C, rain"}]});
        assert_eq!(result_in(&request, "c1").as_deref(), Some(r#""7 C, rain""#));
    }

    #[test]
    fn hostile_bodies_are_bounded() {
        let mut deep = json!({"id": "c1", "name": "add", "arguments": "{}"});
        for _ in 0..100 {
            deep = json!([deep]);
        }
        let many: Vec<Value> = (0..5_000)
            .map(|number| json!({"id": format!("c{number}"), "name": "add", "arguments": "{}"}))
            .collect();
        let mut arguments = ToolArguments::default();
        arguments.add_reply(&deep, branch(1));
        assert!(arguments.0.is_empty());
        arguments.add_reply(&json!(many), branch(1));
        assert_eq!(arguments.0.len(), MAX_ARGUMENTS);
        assert!(arguments.take("c4999", branch(1)).is_some());
    }
}
