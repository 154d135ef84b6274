//! A hand-written loop around genai. `--stream` takes the answers as streams.

use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, MessageContent, Tool, ToolResponse,
};
use genai::otel::agent::{AgentSpan, ExecuteToolSpan, execute_tool_span, set_error};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use tracer_framework_agents::{MODEL, PREAMBLE, Task, base_url, telemetry, weather, weather_parameters};
use tracing::Instrument;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let task = Task::from_arguments();
    let _watching = telemetry::watch(&task);
    // genai has no agent of its own; this is its helper for the span of one.
    let agent = AgentSpan::invoke_agent().with_name("weather").internal().start();
    let answer = answer(&task).instrument(agent.clone()).await;
    let answer = answer.inspect_err(|error| set_error(&agent, error.to_string()))?;
    println!("{answer}");
    Ok(())
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

async fn answer(task: &Task) -> Result<String, Failure> {
    let client = client();
    let tool = Tool::new("get_weather")
        .with_description("The weather of a city.")
        .with_schema(weather_parameters());
    let mut request = ChatRequest::new(vec![ChatMessage::user(&task.question)])
        .with_system(PREAMBLE)
        .with_tools(vec![tool]);
    loop {
        let content = ask(&client, request.clone(), task.has("--stream")).await?;
        let calls: Vec<_> = content.tool_calls().into_iter().cloned().collect();
        if calls.is_empty() {
            return Ok(content.into_joined_texts().unwrap_or_default());
        }
        request = request.append_message(ChatMessage::assistant(content));
        for call in calls {
            let span = execute_tool_span(&call);
            let city = call.fn_arguments["city"].as_str().unwrap_or_default();
            let result = span
                .in_scope(|| weather(city))
                .inspect_err(|_| set_error(&span, "WeatherError"))?;
            ExecuteToolSpan::record_result(&span, &result);
            request = request.append_message(ToolResponse::new(call.call_id, result));
        }
    }
}

/// One model call.
async fn ask(client: &Client, request: ChatRequest, is_streamed: bool) -> Result<MessageContent, Failure> {
    if !is_streamed {
        return Ok(client.exec_chat(MODEL, request, None).await?.content);
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
    let mut content = MessageContent::default();
    while let Some(event) = stream.next().await {
        if let ChatStreamEvent::End(end) = event? {
            content = end.captured_content.unwrap_or_default();
        }
    }
    Ok(content)
}
