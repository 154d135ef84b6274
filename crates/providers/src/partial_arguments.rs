//! Gemini's calls whose arguments come in pieces: each piece says where it belongs (`$.city`), and the call whether more follows.

use serde_json::{Map, Value, json};

use super::list_items;
use super::merge::update;

/// The deepest place of a piece, and the highest index in it; what lies further is hostile.
const MAX_STEPS: usize = 32;
const MAX_INDEX: usize = 512;
/// Member that announces further pieces of a call.
const CONTINUES: &str = "willContinue";
const PIECES: &str = "partialArgs";

/// Adds a piece of a call to the parts of an answer; whether it is one.
pub(super) fn add_piece(parts: &mut Vec<Value>, part: &Value) -> bool {
    let Some(piece) = part["functionCall"].as_object() else {
        return false;
    };
    let is_open = parts
        .last()
        .is_some_and(|last| last["functionCall"][CONTINUES] == true);
    if !is_open && !piece.contains_key(PIECES) && !piece.contains_key(CONTINUES) {
        return false;
    }
    if !is_open {
        parts.push(json!({"functionCall": {}}));
    }
    let Some(call) = parts.last_mut().and_then(Value::as_object_mut) else {
        return true;
    };
    if let Some(part) = part.as_object() {
        update(call, part, &["functionCall"]);
    }
    if let Some(Value::Object(call)) = call.get_mut("functionCall") {
        add_members(call, piece);
    }
    true
}

fn add_members(call: &mut Map<String, Value>, piece: &Map<String, Value>) {
    update(call, piece, &[PIECES]);
    if piece.get(CONTINUES) != Some(&Value::Bool(true)) {
        call.remove(CONTINUES);
    }
    let arguments = call.entry("args").or_insert_with(|| json!({}));
    for piece in list_items(piece.get(PIECES)) {
        let path = piece["jsonPath"].as_str().unwrap_or_default();
        let Some(place) = place(arguments, path) else {
            continue;
        };
        match (place, piece["stringValue"].as_str()) {
            (Value::String(text), Some(more)) => text.push_str(more),
            (place, Some(text)) => *place = text.into(),
            (place, None) => {
                let value = ["numberValue", "boolValue"]
                    .iter()
                    .find_map(|key| piece.get(*key));
                *place = value.cloned().unwrap_or_default();
            }
        }
    }
}

/// The place that a path of JSON names, made where it is not there.
fn place<'a>(root: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let steps = path.trim_start_matches('$').split(['.', '[', ']']);
    let steps: Vec<&str> = steps.filter(|step| !step.is_empty()).collect();
    if steps.is_empty() || steps.len() > MAX_STEPS {
        return None;
    }
    steps.into_iter().try_fold(root, |at, step| {
        let name = step.trim_matches(['\'', '"']);
        match name.parse::<usize>() {
            Ok(index) if step == name => {
                if !at.is_array() {
                    *at = json!([]);
                }
                let list = at.as_array_mut().filter(|_| index <= MAX_INDEX)?;
                if list.len() <= index {
                    list.resize(index + 1, Value::Null);
                }
                list.get_mut(index)
            }
            _ => {
                if !at.is_object() {
                    *at = json!({});
                }
                Some(at.as_object_mut()?.entry(name).or_insert(Value::Null))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_arguments_go_to_their_places() {
        let text =
            |path: &str, text: &str| json!({"jsonPath": path, "stringValue": text, "willContinue": true});
        let piece = |pieces: Value| json!({"functionCall": {"partialArgs": pieces, "willContinue": true}});
        let mut parts = vec![json!({"text": "I look."})];
        for part in [
            json!({"functionCall": {"name": "ferry", "id": "f1", "willContinue": true}, "thoughtSignature": "c2ln"}),
            piece(json!([text("$.from.city", "Ber")])),
            piece(json!([text("$.from.city", "gen"), {"jsonPath": "$.days[1]", "numberValue": 2}])),
            piece(
                json!([{"jsonPath": "$['late']", "boolValue": false}, {"jsonPath": "$.none", "nullValue": "NULL_VALUE"}]),
            ),
            json!({"functionCall": {}}),
        ] {
            assert!(add_piece(&mut parts, &part));
        }
        let whole = json!({"functionCall": {"name": "clock", "args": {}}});
        assert!(!add_piece(&mut parts, &whole));
        assert_eq!(
            parts[1],
            json!({"functionCall": {"name": "ferry", "id": "f1", "args": {"from": {"city": "Bergen"}, "days": [null, 2], "late": false, "none": null}},
                "thoughtSignature": "c2ln"})
        );
    }

    #[test]
    fn hostile_places_are_left_out() {
        let path = ["$", &".a".repeat(1000)].concat();
        for path in [path.as_str(), "$.a[99999999]", "$", ""] {
            let mut root = json!({});
            assert!(place(&mut root, path).is_none(), "{path}");
        }
    }
}
