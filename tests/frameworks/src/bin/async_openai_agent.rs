//! A hand-written loop around async-openai, which reports nothing. `--stream` takes the answers as streams, `--recorded`
//! uses the recorders of tracer's SDK.

use std::collections::BTreeMap;
use std::pin::Pin;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use futures_util::{Stream, StreamExt};
use serde_json::{Value, json};
use tracer_framework_agents::{
    Answer, Failure, MODEL, PREAMBLE, Task, recorded_weather, telemetry, weather, weather_parameters,
};
use tracer_sdk::Usage;

type Chunks = Pin<Box<dyn Stream<Item = Result<Value, OpenAIError>> + Send>>;

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
    let client = Client::new();
    let tool = json!({"name": "get_weather", "description": "The weather of a city.", "parameters": weather_parameters()});
    let mut messages = vec![
        json!({"role": "system", "content": PREAMBLE}),
        json!({"role": "user", "content": question}),
    ];
    loop {
        let request =
            json!({"model": MODEL, "messages": messages, "tools": [{"type": "function", "function": tool}]});
        let message = if task.has("--recorded") {
            recorded_ask(&client, request, task.has("--stream")).await?
        } else {
            ask(&client, request, task.has("--stream")).await?
        }
        .message;
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        if calls.is_empty() {
            return Ok(message["content"].as_str().unwrap_or_default().to_owned());
        }
        messages.push(message);
        for call in calls {
            let arguments: Value =
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or_default())?;
            let run = if task.has("--recorded") {
                recorded_weather
            } else {
                weather
            };
            let result = run(arguments["city"].as_str().unwrap_or_default())?;
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
        }
    }
}

#[tracer_sdk::trace(llm, model = MODEL, provider = "openai", args(request), result, usage = |answer| answer.usage)]
async fn recorded_ask(
    client: &Client<OpenAIConfig>,
    request: Value,
    is_streamed: bool,
) -> Result<Answer<Value>, OpenAIError> {
    ask(client, request, is_streamed).await
}

/// One model call.
async fn ask(
    client: &Client<OpenAIConfig>,
    request: Value,
    is_streamed: bool,
) -> Result<Answer<Value>, OpenAIError> {
    if is_streamed {
        return streamed(client, request).await;
    }
    let mut answer: Value = client.chat().create_byot(request).await?;
    let usage = tokens(&answer);
    Ok(Answer {
        message: answer["choices"][0]["message"].take(),
        usage,
    })
}

fn tokens(answer: &Value) -> Usage {
    let tokens = |key: &str| answer["usage"][key].as_u64();
    match (tokens("prompt_tokens"), tokens("completion_tokens")) {
        (Some(input), Some(output)) => Usage::new(input, output),
        _ => Usage::default(),
    }
}

async fn streamed(client: &Client<OpenAIConfig>, mut request: Value) -> Result<Answer<Value>, OpenAIError> {
    request["stream"] = true.into();
    request["stream_options"] = json!({"include_usage": true});
    let mut chunks: Chunks = client.chat().create_stream_byot(request).await?;
    let (mut text, mut calls, mut usage) = (String::new(), BTreeMap::new(), Usage::default());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        // The last one alone has it.
        usage = tokens(&chunk);
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
    Ok(Answer { message, usage })
}
