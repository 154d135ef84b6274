//! An agent with one tool, on adk-rust. `--content` records what is longer than 2,048 bytes, too.

use std::sync::Arc;

use adk_rust::futures::StreamExt;
use adk_rust::model::RetryConfig;
use adk_rust::prelude::*;
use adk_rust::session::{CreateRequest, SessionService};
use tracer_framework_agents::{
    Failure, MODEL, PREAMBLE, Task, base_url, telemetry, weather, weather_parameters,
};

struct GetWeather;

#[adk_rust::async_trait]
impl Tool for GetWeather {
    fn name(&self) -> &str {
        "get_weather"
    }

    fn description(&self) -> &str {
        "The weather of a city."
    }

    fn parameters_schema(&self) -> Option<serde_json::Value> {
        Some(weather_parameters())
    }

    async fn execute(
        &self,
        _: Arc<dyn ToolContext>,
        arguments: serde_json::Value,
    ) -> Result<serde_json::Value> {
        let city = arguments["city"].as_str().unwrap_or_default();
        let weather = weather(city).map_err(|error| AdkError::tool(error.to_string()))?;
        Ok(serde_json::json!({ "weather": weather }))
    }
}

#[tokio::main]
async fn main() -> std::result::Result<(), Failure> {
    let task = Task::from_arguments();
    let _watching = telemetry::watch(&task);
    task.print_answers(|question| answer(&task, question)).await
}

async fn answer(task: &Task, question: &str) -> std::result::Result<String, Failure> {
    // adk-rust reads no base URL from the environment.
    let key = std::env::var("OPENAI_API_KEY")?;
    let model = OpenAIClient::new(OpenAIConfig::compatible(key, base_url(), MODEL))?
        .with_retry_config(RetryConfig::disabled());
    let agent = LlmAgentBuilder::new("weather")
        .instruction(PREAMBLE)
        .model(Arc::new(model))
        .tool(Arc::new(GetWeather))
        .build()?;
    let sessions = Arc::new(InMemorySessionService::new());
    sessions
        .create(CreateRequest {
            app_name: "weather".into(),
            user_id: "user".into(),
            session_id: Some("session".into()),
            state: Default::default(),
        })
        .await?;
    let runner = Runner::builder()
        .app_name("weather")
        .agent(Arc::new(agent))
        .session_service(sessions)
        .run_config(
            RunConfig::builder()
                .record_payloads(task.has("--content"))
                .build(),
        )
        .build()?;
    let mut events = runner
        .run_str("user", "session", Content::new("user").with_text(question))
        .await?;
    let mut answer = String::new();
    while let Some(event) = events.next().await {
        let event = event?;
        if event.llm_response.partial {
            continue;
        }
        if let Some(content) = event.llm_response.content {
            answer = content.parts.iter().filter_map(Part::text).collect();
        }
    }
    Ok(answer)
}
