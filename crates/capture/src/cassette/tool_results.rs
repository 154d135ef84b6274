//! Places of tool results in the recorded requests, which a fixed tool may change.

use serde_json::Value;

use super::file::Cassette;
use super::rules::Rules;

/// Types of the items that hold a tool's result, and the member with it.
const RESULT_ITEMS: [(&str, &str); 5] = [
    ("computer_call_output", "output"),
    ("custom_tool_call_output", "output"),
    ("function_call_output", "output"),
    ("local_shell_call_output", "output"),
    ("tool_result", "content"),
];

impl Cassette {
    /// The cassette with rules by which requests match whatever the results of their tools are.
    #[must_use]
    pub fn ignoring_tool_results(mut self) -> Self {
        let ignore = &mut self.head.ignore;
        for request in self
            .exchanges
            .iter()
            .filter_map(|exchange| exchange.request.as_ref())
        {
            add_places(request, "", ignore);
        }
        ignore.sort_unstable();
        ignore.dedup();
        // Pointers that were made here, and rules that were read.
        if let Ok(rules) = Rules::new(ignore, &self.head.mask) {
            self.rules = rules;
        }
        self
    }
}

fn add_places(value: &Value, path: &str, places: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                add_places(item, &format!("{path}/{place}"), places);
            }
        }
        Value::Object(members) => {
            let word = |key: &str| members.get(key).and_then(Value::as_str);
            let result = match (word("role"), word("type")) {
                (Some("tool" | "function"), _) => Some("content"),
                (_, Some(kind)) => RESULT_ITEMS
                    .iter()
                    .find(|(item, _)| *item == kind)
                    .map(|(_, member)| *member),
                _ => None,
            };
            for (key, member) in members {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                if result == Some(&**key) {
                    places.push(path);
                } else if matches!(&**key, "functionResponse" | "function_response") {
                    places.push(format!("{path}/response"));
                } else {
                    add_places(member, &path, places);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn results_of_tools_are_found_in_every_shape() {
    let request = serde_json::json!({
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "tool", "content": "3"},
            {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "content": "4"}]},
        ],
        "input": [{"type": "message", "content": "hi"}, {"type": "function_call_output", "output": "5"}],
        "contents": [{"parts": [{"functionResponse": {"name": "add", "response": {"sum": 6}}}]}],
    });
    let mut places = Vec::new();
    add_places(&request, "", &mut places);
    places.sort_unstable();
    let expected = [
        "/contents/0/parts/0/functionResponse/response",
        "/input/1/output",
        "/messages/1/content",
        "/messages/2/content/1/content",
    ];
    assert_eq!(places, expected);
}
