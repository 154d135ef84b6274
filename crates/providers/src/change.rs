//! A request with another model or another system prompt, wherever its API has them.

use serde_json::{Value, json};

use super::ModelApi;

/// Lists of messages.
const MESSAGES: [&str; 2] = ["messages", "input"];

impl ModelApi {
    /// Asks another model of the same provider: in the body, and in the path where the API has it there. Gives the path if
    /// it changed.
    #[must_use]
    pub fn set_model(self, path: &str, body: &mut Value, model: &str) -> Option<String> {
        let around = self.path_around_model(path);
        let changed = around.map(|(before, _, behind)| format!("{before}{model}{behind}"));
        if let Value::Object(members) = body
            && (changed.is_none() || members.contains_key("model"))
        {
            members.insert("model".to_owned(), model.into());
        }
        changed
    }

    /// Gives the model another system prompt. `false` when the API, or this request, has no place for one.
    #[must_use]
    pub fn set_system_prompt(self, body: &mut Value, prompt: &str) -> bool {
        match self {
            Self::ChatCompletions | Self::OllamaChat => set_in_messages(body, prompt, true),
            Self::Responses | Self::Compaction => {
                if body["instructions"].is_null() && set_in_messages(body, prompt, false) {
                    return true;
                }
                set(body, "instructions", prompt.into())
            }
            Self::Messages | Self::OllamaGenerate => set(body, "system", prompt.into()),
            Self::GenerateContent => {
                // Code Assist wraps Gemini's request.
                let body = if body["request"].is_object() {
                    body.get_mut("request")
                } else {
                    Some(body)
                };
                let Some(body) = body else { return false };
                let key = match body.get("system_instruction") {
                    Some(_) => "system_instruction",
                    None => "systemInstruction",
                };
                set(body, key, json!({"parts": [{"text": prompt}]}))
            }
            Self::Interactions => set(body, "system_instruction", prompt.into()),
            _ => false,
        }
    }
}

fn set(body: &mut Value, key: &str, value: Value) -> bool {
    let Value::Object(members) = body else {
        return false;
    };
    members.insert(key.to_owned(), value);
    true
}

/// Replaces the system messages at the beginning; without any, one is put there if `adds`.
fn set_in_messages(body: &mut Value, prompt: &str, adds: bool) -> bool {
    let key = MESSAGES.into_iter().find(|key| body.get(key).is_some());
    let Some(Value::Array(messages)) = key.and_then(|key| body.get_mut(key)) else {
        return false;
    };
    let role = |message: &Value| message["role"].as_str().map(str::to_owned);
    let is_system = |message: &&Value| matches!(role(message).as_deref(), Some("system" | "developer"));
    let count = messages.iter().take_while(is_system).count();
    if count == 0 && !adds {
        return false;
    }
    let role = messages.first().filter(is_system).and_then(role);
    let message = json!({"role": role.as_deref().unwrap_or("system"), "content": prompt});
    messages.splice(..count, [message]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_api_has_its_place_for_a_system_prompt() {
        let user = json!({"role": "user", "content": "Hi"});
        for (api, mut body, place) in [
            (
                ModelApi::ChatCompletions,
                json!({"messages": [user]}),
                "/messages/0/content",
            ),
            (
                ModelApi::ChatCompletions,
                json!({"messages": [{"role": "developer", "content": "a"}, {"role": "system", "content": "b"}, user]}),
                "/messages/0/content",
            ),
            (
                ModelApi::Responses,
                json!({"input": "Hi", "instructions": "old"}),
                "/instructions",
            ),
            (
                ModelApi::Responses,
                json!({"input": [{"role": "developer", "content": "old"}, user]}),
                "/input/0/content",
            ),
            (ModelApi::Responses, json!({"input": [user]}), "/instructions"),
            (
                ModelApi::Messages,
                json!({"system": [{"type": "text", "text": "old"}], "messages": [user]}),
                "/system",
            ),
            (
                ModelApi::GenerateContent,
                json!({"contents": []}),
                "/systemInstruction/parts/0/text",
            ),
            (
                ModelApi::GenerateContent,
                json!({"request": {"contents": [], "system_instruction": {"parts": []}}}),
                "/request/system_instruction/parts/0/text",
            ),
            (
                ModelApi::OllamaChat,
                json!({"messages": [user]}),
                "/messages/0/content",
            ),
            (
                ModelApi::OllamaGenerate,
                json!({"prompt": "Hi", "system": "old"}),
                "/system",
            ),
        ] {
            assert!(api.set_system_prompt(&mut body, "new"), "{body}");
            assert_eq!(body.pointer(place).and_then(Value::as_str), Some("new"), "{body}");
            assert!(!body.to_string().contains("old"), "{body}");
            let messages = body["messages"].as_array().map_or(2, Vec::len);
            assert!(messages <= 2, "{body}");
        }
        for (api, mut body) in [
            (ModelApi::Embeddings, json!({"input": "a"})),
            (ModelApi::Completions, json!({"prompt": "a"})),
            (ModelApi::ChatCompletions, json!({"messages": 7})),
            (ModelApi::Messages, json!([])),
        ] {
            let before = body.clone();
            assert!(!api.set_system_prompt(&mut body, "new"));
            assert_eq!(body, before);
        }
    }

    #[test]
    fn a_model_in_the_path_is_changed_there() {
        for deployment in ["gpt-5", "chat", "deployments"] {
            let azure = format!("/openai/deployments/{deployment}/chat/completions");
            let path = ModelApi::ChatCompletions.set_model(&azure, &mut json!({}), "gpt-6");
            assert_eq!(
                path.as_deref(),
                Some("/openai/deployments/gpt-6/chat/completions")
            );
        }
        let mut body = json!({"model": "g-3", "request": {}});
        let path = ModelApi::GenerateContent.set_model("/v1internal:generateContent", &mut body, "g-4");
        assert_eq!((path, &body["model"]), (None, &json!("g-4")));
    }
}
