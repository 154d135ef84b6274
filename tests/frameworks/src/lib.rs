//! What the agents have in common: their arguments, who watches them, and the weather.

pub mod telemetry;

use std::future::Future;

use futures_util::future::join_all;
use serde::Serialize;
use tracer_sdk::Usage;

/// Task of an agent, from its arguments: questions, each a conversation, and options that begin with two dashes.
#[derive(Debug)]
pub struct Task {
    questions: Vec<String>,
    switches: Vec<String>,
}

impl Task {
    pub fn from_arguments() -> Self {
        let (switches, questions): (Vec<_>, Vec<_>) = std::env::args()
            .skip(1)
            .partition(|argument| argument.starts_with("--"));
        assert!(!questions.is_empty(), "no question is asked");
        Self { questions, switches }
    }

    /// Prints the answer to each question, asked at the same time.
    pub async fn print_answers<'a, F: Future<Output = Result<String, Failure>>>(
        &'a self,
        answer: impl Fn(&'a str) -> F,
    ) -> Result<(), Failure> {
        for answer in join_all(self.questions.iter().map(|question| answer(question))).await {
            println!("{}", answer?);
        }
        Ok(())
    }

    /// Whether a switch is given, such as `--stream`.
    pub fn has(&self, switch: &str) -> bool {
        self.switches.iter().any(|given| given == switch)
    }
}

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An answer of a model, as its client gives it, with its tokens.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Answer<Message> {
    pub message: Message,
    #[serde(skip)]
    pub usage: Usage,
}

/// What every agent is.
pub const PREAMBLE: &str = "Answer about weather.";
pub const MODEL: &str = "gpt-5-mini";

/// Where the model is, for libraries that do not look for it themselves.
pub fn base_url() -> String {
    std::env::var("OPENAI_BASE_URL").unwrap_or_else(|_| "https://api.openai.com/v1".to_owned())
}

/// The weather of a city; the service is down for Rome.
pub fn weather(city: &str) -> Result<String, WeatherError> {
    if city == "Rome" {
        Err(WeatherError)
    } else {
        Ok(format!("{city}: 7 C"))
    }
}

/// The same with one line of tracer's SDK.
#[tracer_sdk::trace(tool, "get_weather", args, result)]
pub fn recorded_weather(city: &str) -> Result<String, WeatherError> {
    weather(city)
}

/// The schema of the arguments of `get_weather`, for libraries that want it written down.
pub fn weather_parameters() -> serde_json::Value {
    serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

/// Why there is no weather.
#[derive(Debug)]
pub struct WeatherError;

impl std::fmt::Display for WeatherError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the weather service is down")
    }
}

impl std::error::Error for WeatherError {}
