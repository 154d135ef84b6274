//! Facts of request and response bodies, apart from the messages.
//!
//! The model, parameters, token usage, IDs and finish reasons, with tables of their place in each API.

use serde_json::{Map, Value, json};
use tracer_format::{Usage, UsageObject, names};

use super::{Assembled, error_body, list_items};

/// Facts of a request: the model and its parameters.
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

/// Facts that an answer states about itself: ID, model, finish reasons, token usage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseFacts {
    /// The provider's ID of the answer.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Finish reason of each choice, in the provider's words.
    pub finish_reasons: Vec<String>,
    /// Tokens.
    pub usage: Usage,
    /// Which numbers of the body's usage have no count there: the call costs at least what the counts do.
    pub usage_not_counted: Vec<String>,
    /// Those of them that are whole numbers above zero.
    pub usage_further: Vec<(String, u64)>,
    /// By which prices the call was served, where these are not the usual ones.
    pub service_tier: Option<String>,
    /// The class and the message of the error that the body holds.
    pub error: Option<(String, String)>,
}

const REQUEST_MODEL: [&str; 1] = ["/model"];
const TEMPERATURE: [&str; 5] = [
    "/temperature",
    "/inferenceConfig/temperature",
    "/generationConfig/temperature",
    "/request/generationConfig/temperature",
    "/options/temperature",
];
const TOP_P: [&str; 5] = [
    "/top_p",
    "/inferenceConfig/topP",
    "/generationConfig/topP",
    "/request/generationConfig/topP",
    "/options/top_p",
];
const MAX_TOKENS: [&str; 7] = [
    "/inferenceConfig/maxTokens",
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
const FINISH: [&str; 5] = [
    "/stop_reason",
    "/stopReason",
    "/incomplete_details/reason",
    "/done_reason",
    "/promptFeedback/blockReason",
];

/// JSON pointers to the usage: Groq has it in an extension, Gemini under another name, Cohere among other facts.
const USAGES: [&str; 5] = [
    "/usage",
    "/usageMetadata",
    "/x_groq/usage",
    "/meta/billed_units",
    "/message/usage",
];

impl RequestFacts {
    /// Reads the facts from the body of a request.
    #[must_use]
    pub fn from_body(body: &Value) -> Self {
        let number = |places: &[&str]| first(body, places).and_then(Value::as_f64);
        Self {
            model: text(body, &REQUEST_MODEL),
            temperature: number(&TEMPERATURE),
            top_p: number(&TOP_P),
            max_tokens: whole(body, &MAX_TOKENS),
            stream: body["stream"] == true,
        }
    }
}

impl ResponseFacts {
    /// Reads the facts from an assembled answer.
    #[must_use]
    pub fn from_answer(answer: &Assembled) -> Self {
        let body = &answer.body;
        let read = usage(body);
        Self {
            id: text(body, &RESPONSE_ID),
            model: text(body, &RESPONSE_MODEL),
            finish_reasons: finish_reasons(body),
            usage: read.usage,
            usage_not_counted: read.not_counted,
            usage_further: read.further,
            service_tier: read.service_tier,
            error: error_body::stated(body),
        }
    }

    /// The attributes of a span that hold these facts, but for the error.
    #[must_use]
    pub fn attributes(&self) -> Vec<(String, Value)> {
        let text = |name: names::Name, text: &Option<String>| Some((name.written(), text.clone()?.into()));
        let reasons = Some(&self.finish_reasons).filter(|reasons| !reasons.is_empty());
        let not_counted = Some(self.usage_not_counted.join(", ")).filter(|paths| !paths.is_empty());
        let texts = [
            text(names::RESPONSE_ID, &self.id),
            text(names::RESPONSE_MODEL, &self.model),
            reasons.map(|reasons| (names::FINISH_REASONS.written(), json!(reasons).to_string().into())),
            text(names::USAGE_NOT_COUNTED, &not_counted),
            text(names::SERVICE_TIER, &self.service_tier),
        ];
        let counts = self.usage.attributes();
        let counts = counts.map(|(name, tokens)| (name.written(), Value::from(tokens)));
        // Under the names of counts that only this provider has.
        let further = self
            .usage_further
            .iter()
            .filter(|_| !self.usage_not_counted.is_empty());
        let further = further.map(|(path, number)| (format!("gen_ai.usage.{path}"), (*number).into()));
        let known = texts.into_iter().flatten().chain(counts);
        known
            .map(|(name, value)| (name.to_owned(), value))
            .chain(further)
            .collect()
    }
}

/// Token usage of the body: in an object of its own, in each choice (Kimi), or at the top level (Ollama).
fn usage(body: &Value) -> UsageObject {
    let place = USAGES
        .iter()
        .filter_map(|place| body.pointer(place))
        .find(|usage| usage.as_object().is_some_and(|usage| !usage.is_empty()));
    let of_choices = || list_items(body.get("choices")).find_map(|choice| choice.get("usage"));
    let mut object = match place.or_else(of_choices) {
        Some(Value::Object(usage)) => usage.clone(),
        _ => Map::new(),
    };
    let beside_all = body.as_object().into_iter().flatten();
    object.extend(
        beside_all
            .filter(|(key, _)| key.ends_with("_count") || *key == "service_tier")
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    UsageObject::read(&object.into())
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

fn finish_reasons(body: &Value) -> Vec<String> {
    let choices = ["choices", "candidates"]
        .iter()
        .filter_map(|list| body[*list].as_array());
    let of_choices: Vec<String> = choices
        .flatten()
        .filter_map(|choice| text(choice, &FINISH_OF_CHOICE))
        .collect();
    if !of_choices.is_empty() {
        return of_choices;
    }
    // The Responses API and Gemini's interactions have no word but the status.
    let has_status = ["output", "outputs", "steps", "object"]
        .iter()
        .any(|key| body.get(*key).is_some());
    text(body, &FINISH)
        .or_else(|| text(body, &["/status"]).filter(|_| has_status))
        .into_iter()
        .collect()
}
