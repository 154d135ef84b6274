//! [`AgentDigests`]: what an agent asks its models with. The head of a cassette has them, so that a replay says what changed
//! since it was recorded (capture-facts, section E.5).

use std::collections::BTreeSet;

use serde_json::Value;
use tracer_insight::digest::sha256_hex;

use super::normalise::{NormalRequest, TOOL_LISTS, canonical, tool_name};
use super::recorded::RecordedExchange;
use super::rules::Rules;

/// Digits of a digest: enough to see a change, and to read it in a review.
const DIGITS: usize = 16;
/// Members that hold the system prompt.
const SYSTEM_PROMPTS: [&str; 4] = [
    "instructions",
    "system",
    "systemInstruction",
    "system_instruction",
];

/// The models, system prompts and tools of an agent, as calls of models name them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentDigests {
    /// The models that were asked.
    pub models: BTreeSet<String>,
    /// The system prompts, by their digests.
    pub system_prompts: BTreeSet<String>,
    /// The tools that were offered, each by its name and the digest of its definition: `search:3fa91c0b5d2e7788`.
    pub tools: BTreeSet<String>,
}

impl AgentDigests {
    /// Those of the calls of models among exchanges.
    #[must_use]
    pub(crate) fn of_exchanges(exchanges: &[RecordedExchange], rules: &Rules) -> Self {
        let calls = exchanges.iter().filter(|exchange| exchange.api.is_some());
        calls.fold(Self::default(), |mut all, exchange| {
            all.add(&Self::of_request(
                &NormalRequest::recorded(exchange, rules),
                exchange.model(),
            ));
            all
        })
    }

    /// Those of one call.
    pub(super) fn of_request(request: &NormalRequest, model: Option<&str>) -> Self {
        // Code Assist wraps Gemini's request.
        let body = request.body.get("request").filter(|inner| inner.is_object());
        let body = body.unwrap_or(&request.body);
        let mut tools = BTreeSet::new();
        add_tools(body, &mut tools);
        Self {
            models: model.map(str::to_owned).into_iter().collect(),
            system_prompts: system_prompt(body).iter().map(digest).collect(),
            tools,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.models.extend(other.models.iter().cloned());
        self.system_prompts.extend(other.system_prompts.iter().cloned());
        self.tools.extend(other.tools.iter().cloned());
    }

    /// Whether no call was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a call has that is not among these, a phrase each.
    pub(super) fn changes(&self, now: &Self) -> Vec<String> {
        let models = now.models.difference(&self.models);
        let mut changes: Vec<String> = models.map(|model| format!("the model, now {model}")).collect();
        if now.system_prompts != BTreeSet::new() && now.system_prompts.is_disjoint(&self.system_prompts) {
            changes.push("the system prompt".to_owned());
        }
        let name = |tool: &str| tool.rsplit_once(':').map_or(tool, |(name, _)| name).to_owned();
        let known: BTreeSet<String> = self.tools.iter().map(|tool| name(tool)).collect();
        changes.extend(now.tools.difference(&self.tools).map(|tool| match name(tool) {
            name if known.contains(&name) => format!("the definition of tool {name}"),
            name => format!("the new tool {name}"),
        }));
        changes
    }
}

/// What a request says as its system prompt; `None` when it says nothing.
fn system_prompt(body: &Value) -> Option<Value> {
    let members = SYSTEM_PROMPTS.iter().filter_map(|key| body.get(*key));
    let messages = ["messages", "input"]
        .iter()
        .filter_map(|list| body.get(*list)?.as_array());
    let of_system = messages.flatten().filter(|message| {
        let role = message.get("role").and_then(Value::as_str);
        matches!(role, Some("system" | "developer"))
    });
    let parts: Vec<Value> = members.chain(of_system).cloned().collect();
    (!parts.is_empty()).then_some(Value::Array(parts))
}

/// Adds the tools that a request offers; Gemini has them in lists within its list.
fn add_tools(value: &Value, tools: &mut BTreeSet<String>) {
    let lists = TOOL_LISTS.iter().filter_map(|key| value.get(*key)?.as_array());
    for tool in lists.flatten() {
        match tool_name(tool) {
            Some(name) => {
                tools.insert(format!("{name}:{}", digest(tool)));
            }
            None => add_tools(tool, tools),
        }
    }
}

fn digest(value: &Value) -> String {
    let mut digest = sha256_hex(canonical(value, false).as_bytes());
    digest.truncate(DIGITS);
    digest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::normalise::Place;
    use super::super::recorded::RecordedRequest;
    use super::*;
    use crate::model_api::ModelApi;

    fn digests(api: ModelApi, body: Value) -> AgentDigests {
        let place = Place {
            api: Some(api),
            method: "POST",
            path: "/",
            query: "",
        };
        let model = body.get("model").and_then(Value::as_str).map(str::to_owned);
        let request = NormalRequest::new(place, &RecordedRequest::Json(body), &Rules::default());
        AgentDigests::of_request(&request, model.as_deref())
    }

    fn chat(model: &str, prompt: &str, tools: &Value) -> AgentDigests {
        let messages = json!([{"role": "system", "content": prompt}, {"role": "user", "content": "hi"}]);
        digests(
            ModelApi::ChatCompletions,
            json!({"model": model, "messages": messages, "tools": tools}),
        )
    }

    #[test]
    fn every_api_has_its_prompt_and_tools() {
        let function = json!({"name": "search", "description": "d", "parameters": {"type": "object"}});
        let of_chat = chat(
            "m",
            "Be kind.",
            &json!([{"type": "function", "function": function}]),
        );
        let of_messages = digests(
            ModelApi::Messages,
            json!({"model": "m", "system": "Be kind.", "messages": [], "tools": [function]}),
        );
        let of_responses = digests(
            ModelApi::Responses,
            json!({"model": "m", "instructions": "Be kind.", "input": "hi", "tools": [function]}),
        );
        let gemini = json!({"systemInstruction": {"parts": [{"text": "Be kind."}]}, "contents": [],
            "tools": [{"functionDeclarations": [function]}]});
        let of_gemini = digests(ModelApi::GenerateContent, gemini.clone());
        let of_code_assist = digests(
            ModelApi::GenerateContent,
            json!({"model": "m", "request": gemini}),
        );
        for found in [&of_chat, &of_messages, &of_responses, &of_gemini, &of_code_assist] {
            assert_eq!(
                (found.system_prompts.len(), found.tools.len()),
                (1, 1),
                "{found:?}"
            );
            assert!(
                found.tools.iter().all(|tool| tool.starts_with("search:")),
                "{found:?}"
            );
        }
        assert_eq!(
            of_gemini.tools, of_messages.tools,
            "one definition has one digest"
        );
    }

    #[test]
    fn what_changed_is_named() {
        let search = |description: &str| json!([{"type": "function", "function": {"name": "search", "description": description}}]);
        let recorded = chat("m", "Be kind.", &search("Searches."));
        let changes = |now: AgentDigests| recorded.changes(&now);
        assert!(changes(chat("m", "Be kind.", &search("Searches."))).is_empty());
        assert!(changes(chat("m", "Be kind.", &json!([]))).is_empty());
        assert_eq!(changes(chat("m", "Be quick.", &json!([]))), ["the system prompt"]);
        assert_eq!(changes(chat("n", "Be kind.", &json!([]))), ["the model, now n"]);
        assert_eq!(
            changes(chat("m", "Be kind.", &search("Looks."))),
            ["the definition of tool search"]
        );
        let other = json!([{"type": "function", "function": {"name": "send"}}]);
        assert_eq!(changes(chat("m", "Be kind.", &other)), ["the new tool send"]);
    }

    #[test]
    fn dates_in_a_prompt_change_nothing() {
        let on = |day: &str| chat("m", &format!("Today is {day}."), &json!([]));
        assert_eq!(on("2026-11-23"), on("2026-11-24"));
    }
}
