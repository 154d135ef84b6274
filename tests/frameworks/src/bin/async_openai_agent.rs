//! A hand-written loop around async-openai, without a line of telemetry. `--stream` takes the answers as streams.

use std::collections::BTreeMap;
use std::pin::Pin;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use futures_util::{Stream, StreamExt};
use serde_json::{Value, json};
use tracer_framework_agents::{MODEL, PREAMBLE, Task, weather, weather_parameters};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Chunks = Pin<Box<dyn Stream<Item = Result<Value, OpenAIError>> + Send>>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let task = Task::from_arguments();
    let client = Client::new();
    let tool = json!({"name": "get_weather", "description": "The weather of a city.", "parameters": weather_parameters()});
    let mut messages = vec![
        json!({"role": "system", "content": PREAMBLE}),
        json!({"role": "user", "content": task.question}),
    ];
    loop {
        let request =
            json!({"model": MODEL, "messages": messages, "tools": [{"type": "function", "function": tool}]});
        let message = if task.has("--stream") {
            streamed(&client, request).await?
        } else {
            whole(&client, request).await?
        };
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        if calls.is_empty() {
            println!("{}", message["content"].as_str().unwrap_or_default());
            return Ok(());
        }
        messages.push(message);
        for call in calls {
            let arguments: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or_default())?;
            let result = weather(arguments["city"].as_str().unwrap_or_default())?;
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
        }
    }
}

async fn whole(client: &Client<OpenAIConfig>, request: Value) -> Result<Value, OpenAIError> {
    let mut answer: Value = client.chat().create_byot(request).await?;
    Ok(answer["choices"][0]["message"].take())
}

async fn streamed(client: &Client<OpenAIConfig>, mut request: Value) -> Result<Value, OpenAIError> {
    request["stream"] = true.into();
    request["stream_options"] = json!({"include_usage": true});
    let mut chunks: Chunks = client.chat().create_stream_byot(request).await?;
    let (mut text, mut calls) = (String::new(), BTreeMap::new());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        let delta = &chunk["choices"][0]["delta"];
        text += delta["content"].as_str().unwrap_or_default();
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let (id, name, arguments) = calls
                .entry(piece["index"].as_u64())
                .or_insert_with(<(String, String, String)>::default);
            *id += piece["id"].as_str().unwrap_or_default();
            *name += piece["function"]["name"].as_str().unwrap_or_default();
            *arguments += piece["function"]["arguments"].as_str().unwrap_or_default();
        }
    }
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        let calls = calls.into_values().map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        });
        message["tool_calls"] = calls.collect();
    }
    Ok(message)
}
