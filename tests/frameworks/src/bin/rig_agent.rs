//! An agent with one tool, on rig. `--stream` takes the answers as streams, `--content` records messages in rig's own
//! form, `--chat` calls OpenAI's older API, `--recorded` uses the recorders of tracer's SDK besides.

use futures_util::StreamExt;
use rig::prelude::*;
use rig::providers::openai::{OpenAI, OpenAIConfig, Route};
use rig::rig_tool;
use rig::tool::ToolExecutionError;
use tracer_framework_agents::{Failure, MODEL, PREAMBLE, Task, telemetry, weather};

#[rig_tool(description = "The weather of a city.", params(city = "The city"))]
fn get_weather(city: String) -> Result<String, ToolExecutionError> {
    weather(&city).map_err(ToolExecutionError::from_error)
}

/// The same with one line of tracer's SDK.
mod recorded {
    use super::*;

    #[rig_tool(
        name = "get_weather",
        description = "The weather of a city.",
        params(city = "The city")
    )]
    #[tracer_sdk::trace(tool, name = "get_weather", args(city), result)]
    pub(super) fn recorded_weather(city: String) -> Result<String, ToolExecutionError> {
        weather(&city).map_err(ToolExecutionError::from_error)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let task = Task::from_arguments();
    let _watching = telemetry::watch(&task);
    if task.has("--recorded") {
        return task
            .print_answers(|question| recorded_answer(&task, question))
            .await;
    }
    task.print_answers(|question| answer(&task, question)).await
}

#[tracer_sdk::trace(name = "weather")]
async fn recorded_answer(task: &Task, question: &str) -> Result<String, Failure> {
    answer(task, question).await
}

async fn answer(task: &Task, question: &str) -> Result<String, Failure> {
    let openai = if task.has("--chat") {
        OpenAIConfig::from_env()?.with_route(Route::Chat).client()
    } else {
        OpenAI::from_env()?
    };
    let builder = AgentBuilder::new(openai.completion(MODEL))
        .name("weather")
        .preamble(PREAMBLE)
        .default_max_turns(4)
        .record_content_telemetry(task.has("--content"));
    let agent = if task.has("--recorded") {
        builder.tool(recorded::RecordedWeather).build()
    } else {
        builder.tool(GetWeather).build()
    };
    if !task.has("--stream") {
        return Ok(agent.prompt(question).await?.output().to_owned());
    }
    let mut stream = agent.prompt(question).stream();
    let mut answer = String::new();
    while let Some(item) = stream.next().await {
        if let MultiTurnStreamItem::FinalResponse(response) = item? {
            answer = response.output().to_owned();
        }
    }
    Ok(answer)
}
