//! Requests to models and their replies, as a library logs them whole: what it does not put into fields of the span.

use serde_json::Value;

/// One side of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSide {
    Request,
    Reply,
}

/// The side and the JSON text in a message such as `Responses completion request: {…}` or `reply: {…}`.
pub(super) fn parse_message(message: &str) -> Option<(CallSide, &str)> {
    let start = message.find('{')?;
    let (label, json) = message.split_at_checked(start)?;
    let label = label.to_ascii_lowercase();
    let side = if label.contains("request") {
        CallSide::Request
    } else if label.contains("reply") || label.contains("response") {
        CallSide::Reply
    } else {
        return None;
    };
    Some((side, json.trim_end()))
}

/// Settings of a call in its request, which no field of rig gives.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RigRequest {
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) top_p: Option<f64>,
}

impl RigRequest {
    pub(super) fn of(request: &Value) -> Self {
        const SETTINGS: [&str; 4] = ["", "generationConfig", "options", "inferenceConfig"];
        let find = |keys: &[&str]| {
            SETTINGS.iter().find_map(|within| {
                let settings = match *within {
                    "" => request,
                    key => request.get(key)?,
                };
                keys.iter().find_map(|key| settings.get(key))
            })
        };
        Self {
            temperature: find(&["temperature"]).and_then(Value::as_f64),
            max_tokens: find(&[
                "max_tokens",
                "max_completion_tokens",
                "max_output_tokens",
                "maxOutputTokens",
                "num_predict",
                "maxTokens",
            ])
            .and_then(Value::as_u64),
            top_p: find(&["top_p", "topP"]).and_then(Value::as_f64),
        }
    }
}

/// Why the model stopped, as its provider says it: chat completions, responses, Anthropic, Gemini, Ollama, Bedrock.
pub(super) fn finish_reason(reply: &Value) -> Option<&str> {
    const PATHS: [&str; 9] = [
        "/choices/0/finish_reason",
        "/incomplete_details/reason",
        "/stop_reason",
        "/stopReason",
        "/candidates/0/finishReason",
        "/done_reason",
        "/finish_reason",
        "/finishReason",
        "/status",
    ];
    PATHS
        .iter()
        .find_map(|path| reply.pointer(path)?.as_str())
        .filter(|reason| !reason.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_say_which_side_a_body_is() {
        for (message, side) in [
            (
                "OpenAI Chat Completions request: {\n  \"model\": \"m\"}",
                CallSide::Request,
            ),
            ("Responses completion request: {}", CallSide::Request),
            ("Anthropic completion response: {}", CallSide::Reply),
            ("reply: {\"id\": 1}\n", CallSide::Reply),
        ] {
            let (found, json) = parse_message(message).unwrap();
            assert_eq!(found, side, "{message}");
            assert!(serde_json::from_str::<Value>(json).is_ok(), "{message}");
        }
        assert_eq!(parse_message("something else: {}"), None);
        assert_eq!(parse_message("request without a body"), None);
    }

    #[test]
    fn settings_of_every_provider_are_found() {
        for request in [
            json!({"temperature": 0.2, "max_tokens": 64, "top_p": 0.5}),
            json!({"temperature": 0.2, "max_output_tokens": 64, "top_p": 0.5}),
            json!({"generationConfig": {"temperature": 0.2, "maxOutputTokens": 64, "topP": 0.5}}),
            json!({"options": {"temperature": 0.2, "num_predict": 64, "top_p": 0.5}}),
        ] {
            let facts = RigRequest::of(&request);
            let expected = RigRequest {
                temperature: Some(0.2),
                max_tokens: Some(64),
                top_p: Some(0.5),
            };
            assert_eq!(facts, expected, "{request}");
        }
        assert_eq!(
            RigRequest::of(&json!({"temperature": "hot"})),
            RigRequest::default()
        );
    }

    #[test]
    fn the_reason_of_every_provider_is_found() {
        for (reply, reason) in [
            (
                json!({"choices": [{"finish_reason": "tool_calls"}]}),
                Some("tool_calls"),
            ),
            (json!({"status": "completed", "output": []}), Some("completed")),
            (
                json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
                Some("max_output_tokens"),
            ),
            (json!({"stop_reason": "end_turn"}), Some("end_turn")),
            (json!({"candidates": [{"finishReason": "STOP"}]}), Some("STOP")),
            (json!({"done": true, "done_reason": "stop"}), Some("stop")),
            (json!({"choices": [{"finish_reason": null}]}), None),
            (json!({"choices": "none"}), None),
        ] {
            assert_eq!(finish_reason(&reply), reason, "{reply}");
        }
    }
}
