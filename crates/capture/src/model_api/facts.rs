//! What bodies say beside the messages: the model, parameters, tokens, IDs, how the answer ended. Tables of where each
//! API has it.

use serde_json::Value;
use tracer_sdk::Usage;

use super::{Assembled, error_body};

/// What a request asks for.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RequestFacts {
    /// The model, unless the path names it.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The answer was asked for as a stream.
    pub stream: bool,
}

/// What an answer says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseFacts {
    /// The provider's ID of the answer.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// How each choice ended, in the provider's words.
    pub finish_reasons: Vec<String>,
    /// Tokens.
    pub usage: Usage,
    /// The class and the message of the error that the body holds.
    pub error: Option<(String, String)>,
}

const REQUEST_MODEL: [&str; 1] = ["/model"];
const TEMPERATURE: [&str; 4] = [
    "/temperature",
    "/generationConfig/temperature",
    "/request/generationConfig/temperature",
    "/options/temperature",
];
const TOP_P: [&str; 4] = [
    "/top_p",
    "/generationConfig/topP",
    "/request/generationConfig/topP",
    "/options/top_p",
];
const MAX_TOKENS: [&str; 6] = [
    "/max_completion_tokens",
    "/max_tokens",
    "/max_output_tokens",
    "/generationConfig/maxOutputTokens",
    "/request/generationConfig/maxOutputTokens",
    "/options/num_predict",
];

const RESPONSE_ID: [&str; 2] = ["/id", "/responseId"];
const RESPONSE_MODEL: [&str; 2] = ["/model", "/modelVersion"];
/// Of each choice or candidate, and of the whole answer.
const FINISH_OF_CHOICE: [&str; 2] = ["/finish_reason", "/finishReason"];
const FINISH: [&str; 4] = [
    "/stop_reason",
    "/incomplete_details/reason",
    "/done_reason",
    "/promptFeedback/blockReason",
];

/// Where tokens are counted, and what is counted beside them: Anthropic's cache, which others that use its names count
/// within the input; what Gemini's own tools read; Gemini's thoughts, also where there is nothing else.
type CountPlace = (&'static str, &'static [&'static str]);
const INPUT_TOKENS: [CountPlace; 4] = [
    ("/usage/prompt_tokens", &[]),
    (
        "/usage/input_tokens",
        &[
            "/usage/cache_read_input_tokens",
            "/usage/cache_creation_input_tokens",
        ],
    ),
    (
        "/usageMetadata/promptTokenCount",
        &["/usageMetadata/toolUsePromptTokenCount"],
    ),
    ("/prompt_eval_count", &[]),
];
const OUTPUT_TOKENS: [CountPlace; 5] = [
    ("/usage/completion_tokens", &[]),
    ("/usage/output_tokens", &[]),
    (
        "/usageMetadata/candidatesTokenCount",
        &["/usageMetadata/thoughtsTokenCount"],
    ),
    ("/usageMetadata/thoughtsTokenCount", &[]),
    ("/eval_count", &[]),
];
const TOTAL_TOKENS: [&str; 2] = ["/usage/total_tokens", "/usageMetadata/totalTokenCount"];
const CACHE_READ_TOKENS: [&str; 5] = [
    "/usage/prompt_tokens_details/cached_tokens",
    "/usage/input_tokens_details/cached_tokens",
    "/usage/cache_read_input_tokens",
    "/usage/prompt_cache_hit_tokens",
    "/usageMetadata/cachedContentTokenCount",
];
const CACHE_WRITE_TOKENS: [&str; 1] = ["/usage/cache_creation_input_tokens"];
const REASONING_TOKENS: [&str; 5] = [
    "/usage/completion_tokens_details/reasoning_tokens",
    "/usage/output_tokens_details/reasoning_tokens",
    "/usage/output_tokens_details/thinking_tokens",
    "/usage/reasoning_tokens",
    "/usageMetadata/thoughtsTokenCount",
];

impl RequestFacts {
    /// What the body of a request says.
    #[must_use]
    pub(crate) fn from_body(body: &Value) -> Self {
        let number = |places: &[&str]| first(body, places).and_then(Value::as_f64);
        Self {
            model: text(body, &REQUEST_MODEL),
            temperature: number(&TEMPERATURE),
            top_p: number(&TOP_P),
            max_tokens: whole(body, &MAX_TOKENS),
            stream: body.get("stream") == Some(&Value::Bool(true)),
        }
    }
}

impl ResponseFacts {
    /// What an answer says.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_capture::model_api::{ModelApi, ResponseFacts, assemble};
    ///
    /// let body = json!({"id": "msg_1", "model": "claude", "stop_reason": "end_turn", "content": [],
    ///     "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}});
    /// let answer = assemble(ModelApi::Messages, "application/json", body.to_string().as_bytes());
    /// let facts = ResponseFacts::from_answer(&answer);
    /// assert_eq!(facts.usage.prompt_tokens, Some(100)); // cached tokens included, as everywhere
    /// assert_eq!(facts.finish_reasons, ["end_turn"]);
    /// ```
    #[must_use]
    pub fn from_answer(answer: &Assembled) -> Self {
        let body = &answer.body;
        Self {
            id: text(body, &RESPONSE_ID),
            model: text(body, &RESPONSE_MODEL),
            finish_reasons: finish_reasons(body),
            usage: usage(body),
            error: error_body::stated(body),
        }
    }
}

/// Tokens, as the body gives them; nothing is added up that it does not give.
fn usage(body: &Value) -> Usage {
    let mut usage = Usage::default();
    usage.prompt_tokens = counted(body, &INPUT_TOKENS);
    usage.completion_tokens = counted(body, &OUTPUT_TOKENS);
    usage.total_tokens = whole(body, &TOTAL_TOKENS);
    usage.cache_read_tokens = whole(body, &CACHE_READ_TOKENS);
    usage.cache_write_tokens = whole(body, &CACHE_WRITE_TOKENS);
    usage.reasoning_tokens = whole(body, &REASONING_TOKENS);
    usage
}

/// The first of the places that has something.
fn first<'a>(body: &'a Value, places: &[&str]) -> Option<&'a Value> {
    let mut values = places.iter().filter_map(|place| body.pointer(place));
    values.find(|value| !value.is_null())
}

fn text(body: &Value, places: &[&str]) -> Option<String> {
    let text = first(body, places).and_then(Value::as_str);
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn whole(body: &Value, places: &[&str]) -> Option<u64> {
    first(body, places).and_then(Value::as_u64)
}

/// The first of the places that has a number, and what is counted beside it.
fn counted(body: &Value, places: &[CountPlace]) -> Option<u64> {
    let number = |place: &str| body.pointer(place).and_then(Value::as_u64);
    let (known, beside) = places
        .iter()
        .find_map(|(place, beside)| Some((number(place)?, beside)))?;
    let beside = beside.iter().filter_map(|place| number(place));
    Some(beside.fold(known, u64::saturating_add))
}

fn finish_reasons(body: &Value) -> Vec<String> {
    let choices = ["choices", "candidates"]
        .iter()
        .filter_map(|list| body.get(*list)?.as_array());
    let of_choices: Vec<String> = choices
        .flatten()
        .filter_map(|choice| text(choice, &FINISH_OF_CHOICE))
        .collect();
    if !of_choices.is_empty() {
        return of_choices;
    }
    // The Responses API has no word but the status.
    text(body, &FINISH)
        .or_else(|| body.get("output").and_then(|_| text(body, &["/status"])))
        .into_iter()
        .collect()
}
