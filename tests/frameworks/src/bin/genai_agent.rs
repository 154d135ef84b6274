//! A hand-written loop around genai. `--stream` takes the answers as streams, `--recorded` uses the recorders of tracer's SDK besides.

use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, MessageContent, Tool, ToolResponse, Usage,
};
use genai::otel::agent::{AgentSpan, ExecuteToolSpan, execute_tool_span, set_error};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use tracer_framework_agents::{
    Answer, Failure, MODEL, PREAMBLE, Task, base_url, recorded_weather, telemetry, weather,
    weather_parameters,
};
use tracing::Instrument;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let task = Task::from_arguments();
    let _watching = telemetry::watch(&task);
    if task.has("--recorded") {
        return task
            .print_answers(|question| recorded_agent(&task, question))
            .await;
    }
    task.print_answers(|question| agent(&task, question)).await
}

#[tracer_sdk::trace(name = "weather")]
async fn recorded_agent(task: &Task, question: &str) -> Result<String, Failure> {
    agent(task, question).await
}

/// genai has no agent of its own; this is its helper for the span of one.
async fn agent(task: &Task, question: &str) -> Result<String, Failure> {
    let agent = AgentSpan::invoke_agent().with_name("weather").internal().start();
    let answer = answer(task, question).instrument(agent.clone()).await;
    answer.inspect_err(|error| set_error(&agent, error.to_string()))
}

/// genai reads no base URL from the environment.
fn client() -> Client {
    let resolver = ServiceTargetResolver::from_resolver_fn(|target: ServiceTarget| {
        Ok(ServiceTarget {
            endpoint: Endpoint::from_owned(format!("{}/", base_url())),
            auth: AuthData::from_env("OPENAI_API_KEY"),
            model: ModelIden::new(AdapterKind::OpenAI, target.model.model_name),
        })
    });
    Client::builder()
        .with_service_target_resolver(resolver)
        .build()
        .expect("only the resolver is set")
}

async fn answer(task: &Task, question: &str) -> Result<String, Failure> {
    let client = client();
    let tool = Tool::new("get_weather")
        .with_description("The weather of a city.")
        .with_schema(weather_parameters());
    let mut request = ChatRequest::new(vec![ChatMessage::user(question)])
        .with_system(PREAMBLE)
        .with_tools(vec![tool]);
    loop {
        let answer = if task.has("--recorded") {
            recorded_ask(&client, request.clone(), task.has("--stream")).await?
        } else {
            ask(&client, request.clone(), task.has("--stream")).await?
        };
        let content = answer.message;
        let calls: Vec<_> = content.tool_calls().into_iter().cloned().collect();
        if calls.is_empty() {
            return Ok(content.into_joined_texts().unwrap_or_default());
        }
        request = request.append_message(ChatMessage::assistant(content));
        for call in calls {
            let span = execute_tool_span(&call);
            let city = call.fn_arguments["city"].as_str().unwrap_or_default();
            let run = if task.has("--recorded") {
                recorded_weather
            } else {
                weather
            };
            let result = span
                .in_scope(|| run(city))
                .inspect_err(|_| set_error(&span, "WeatherError"))?;
            ExecuteToolSpan::record_result(&span, &result);
            request = request.append_message(ToolResponse::new(call.call_id, result));
        }
    }
}

#[tracer_sdk::trace(llm, model = MODEL, provider = "openai", args(request), result, usage = |answer| answer.usage)]
async fn recorded_ask(
    client: &Client,
    request: ChatRequest,
    is_streamed: bool,
) -> Result<Answer<MessageContent>, Failure> {
    ask(client, request, is_streamed).await
}

fn tokens(usage: &Usage) -> tracer_sdk::Usage {
    let tokens = |number: Option<i32>| {
        number
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or_default()
    };
    tracer_sdk::Usage::new(tokens(usage.prompt_tokens), tokens(usage.completion_tokens))
}

/// One model call.
async fn ask(
    client: &Client,
    request: ChatRequest,
    is_streamed: bool,
) -> Result<Answer<MessageContent>, Failure> {
    if !is_streamed {
        let answer = client.exec_chat(MODEL, request, None).await?;
        return Ok(Answer {
            usage: tokens(&answer.usage),
            message: answer.content,
        });
    }
    // What genai is not asked to keep, its spans do not have.
    let options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true);
    let mut stream = client
        .exec_chat_stream(MODEL, request, Some(&options))
        .await?
        .stream;
    let mut answer = Answer {
        message: MessageContent::default(),
        usage: tracer_sdk::Usage::default(),
    };
    while let Some(event) = stream.next().await {
        if let ChatStreamEvent::End(end) = event? {
            answer.usage = tokens(&end.captured_usage.unwrap_or_default());
            answer.message = end.captured_content.unwrap_or_default();
        }
    }
    Ok(answer)
}
