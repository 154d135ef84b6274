//! What the agents have in common: their arguments, who watches them, and the weather.

pub mod telemetry;

/// What an agent does, by its arguments: the question, and words that begin with two dashes.
#[derive(Debug)]
pub struct Task {
    pub question: String,
    switches: Vec<String>,
}

impl Task {
    pub fn from_arguments() -> Self {
        let (switches, mut words): (Vec<_>, Vec<_>) = std::env::args()
            .skip(1)
            .partition(|argument| argument.starts_with("--"));
        assert_eq!(words.len(), 1, "one question is asked; the words are {words:?}");
        Self {
            question: words.remove(0),
            switches,
        }
    }

    /// Whether a switch is given, such as `--stream`.
    pub fn has(&self, switch: &str) -> bool {
        self.switches.iter().any(|given| given == switch)
    }
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
