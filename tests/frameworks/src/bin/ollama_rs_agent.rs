//! A hand-written loop around ollama-rs, which reports nothing. `--stream` takes the answers as streams, `--recorded` uses the
//! recorders of tracer's SDK.

use futures_util::StreamExt;
use ollama_rs::Ollama;
use ollama_rs::generation::chat::request::ChatMessageRequest;
use ollama_rs::generation::chat::{ChatMessage, ChatMessageResponse};
use ollama_rs::generation::tools::ToolInfo;
use serde_json::json;
use tracer_framework_agents::{
    Answer, Failure, PREAMBLE, Task, recorded_weather, telemetry, weather, weather_parameters,
};
use tracer_sdk::Usage;

const MODEL: &str = "qwen3";

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
    // `Ollama::default()` reads nothing from the environment.
    let host = std::env::var("OLLAMA_HOST").unwrap_or_else(|_| "http://127.0.0.1:11434".to_owned());
    let client = Ollama::try_new(host)?;
    let tool: ToolInfo = serde_json::from_value(json!({"type": "function", "function": {
        "name": "get_weather", "description": "The weather of a city.", "parameters": weather_parameters()}}))?;
    let mut messages = vec![
        ChatMessage::system(PREAMBLE.to_owned()),
        ChatMessage::user(question.to_owned()),
    ];
    loop {
        let request = ChatMessageRequest::new(MODEL.to_owned(), messages.clone()).tools(vec![tool.clone()]);
        let message = if task.has("--recorded") {
            recorded_ask(&client, request, task.has("--stream")).await?
        } else {
            ask(&client, request, task.has("--stream")).await?
        }
        .message;
        if message.tool_calls.is_empty() {
            return Ok(message.content);
        }
        messages.push(message.clone());
        for call in message.tool_calls {
            let run = if task.has("--recorded") {
                recorded_weather
            } else {
                weather
            };
            let result = run(call.function.arguments["city"].as_str().unwrap_or_default())?;
            messages.push(ChatMessage::tool(result));
        }
    }
}

#[tracer_sdk::trace(llm, model = MODEL, provider = "ollama", args(request), result, usage = |answer| answer.usage)]
async fn recorded_ask(
    client: &Ollama,
    request: ChatMessageRequest,
    is_streamed: bool,
) -> Result<Answer<ChatMessage>, Failure> {
    ask(client, request, is_streamed).await
}

/// One model call.
async fn ask(
    client: &Ollama,
    request: ChatMessageRequest,
    is_streamed: bool,
) -> Result<Answer<ChatMessage>, Failure> {
    if !is_streamed {
        let answer = client.send_chat_messages(request).await?;
        return Ok(Answer {
            usage: tokens(&answer),
            message: answer.message,
        });
    }
    let mut chunks = client.send_chat_messages_stream(request).await?;
    let mut whole = Answer {
        message: ChatMessage::assistant(String::new()),
        usage: Usage::default(),
    };
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|()| "the stream broke off")?;
        // The last one alone has it.
        whole.usage = tokens(&chunk);
        whole.message.content += &chunk.message.content;
        whole.message.tool_calls.extend(chunk.message.tool_calls);
    }
    Ok(whole)
}

fn tokens(answer: &ChatMessageResponse) -> Usage {
    let data = answer.final_data.as_ref();
    data.map_or_else(Usage::default, |data| {
        Usage::new(data.prompt_eval_count, data.eval_count)
    })
}
