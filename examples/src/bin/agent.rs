//! An agent that answers questions from a folder of files, traced from end to end.
//!
//! ```text
//! cargo run -p tracer-examples --bin agent -- "What do 3 parcels to Norway cost?"
//! cargo run -p tracer-cli -- show
//! ```
//!
//! It asks the model that `OPENAI_BASE_URL` and `OPENAI_API_KEY` lead to (`OPENAI_MODEL` names it), or a stand-in on this
//! machine when they are not set. `--fail` shows the traces of failures.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use tracer_examples::model::{Endpoint, Message, Model, ModelError, ToolCall};
use tracer_examples::stand_in::{self, StandIn};
use tracer_examples::tools::Toolbox;
use tracer_sdk::GuardrailExceeded;

const INSTRUCTIONS: &str = "Answer the question from the files of the folder. Search them, read what you found, compute \
                            instead of guessing, and name the file that you have it from.";

/// The model that an endpoint of your own is asked for when `OPENAI_MODEL` is not set.
const DEFAULT_MODEL: &str = "gpt-4.1-mini";

#[derive(Parser)]
#[command(about = "Answer a question from a folder of files, and record how.")]
struct Arguments {
    /// What to ask.
    #[arg(default_value = "What do 3 parcels to Norway cost?")]
    question: String,
    /// The folder to answer from.
    #[arg(long, default_value_os_t = Path::new(env!("CARGO_MANIFEST_DIR")).join("data"))]
    folder: PathBuf,
    /// Let something go wrong.
    #[arg(long)]
    fail: Option<Fail>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fail {
    /// A tool fails; the agent goes on without it.
    Tool,
    /// The endpoint does not know the model: the call fails, and with it the agent.
    Model,
    /// The agent runs out of turns and returns an error.
    Error,
    /// The agent panics.
    Panic,
    /// The agent runs each tool again and again.
    Loop,
    /// The agent calls a tool that the model did not ask for.
    NewTool,
    /// The agent hands over another answer than the model's.
    Answer,
}

/// What an agent is made of.
struct Agent {
    model: Model,
    tools: Toolbox,
    max_turns: u32,
    fail: Option<Fail>,
}

/// What the agent knows of itself, recorded once a turn.
#[derive(Default, Serialize)]
struct State {
    turn: u32,
    tool_calls: u32,
    failed_tool_calls: u32,
    tokens: u64,
    done: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum AgentError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("no answer after {0} turns")]
    TooManyTurns(u32),
    #[error(transparent)]
    Stopped(#[from] GuardrailExceeded),
}

/// The loop: call the model, run the tools that it calls, send the results back, until it answers.
#[tracer_sdk::trace("research-agent")]
async fn run_agent(agent: &Agent, question: &str) -> Result<String, AgentError> {
    let tools = agent.tools.definitions();
    let mut messages = vec![Message::system(INSTRUCTIONS), Message::user(question)];
    let mut state = State::default();
    while state.turn < agent.max_turns {
        state.turn += 1;
        tracer_sdk::state(&state).record()?;

        let completion = agent.model.complete(&messages, &tools).await?;
        state.tokens += completion.usage.map_or(0, |usage| usage.total_tokens);
        messages.push(completion.message.clone());
        if completion.message.tool_calls.is_empty() {
            state.done = true;
            tracer_sdk::state(&state).record()?;
            if agent.fail == Some(Fail::Answer) {
                return Ok("Ask the support.".to_owned());
            }
            return Ok(completion.message.content.unwrap_or_default());
        }

        for call in &completion.message.tool_calls {
            messages.push(answer_call(agent, call, &mut state)?);
        }
        assert!(
            agent.fail != Some(Fail::Panic),
            "--fail panic: the agent panics after its first tool call"
        );
    }
    Err(AgentError::TooManyTurns(agent.max_turns))
}

/// Call a tool for the model. An error is recorded and sent to the model, which may find another way.
fn answer_call(agent: &Agent, call: &ToolCall, state: &mut State) -> Result<Message, GuardrailExceeded> {
    let name = &call.function.name;
    // Arguments that are no JSON are kept as they are: the tool says what is wrong with them.
    let arguments = serde_json::from_str(&call.function.arguments)
        .unwrap_or_else(|_| Value::String(call.function.arguments.clone()));

    match agent.fail {
        Some(Fail::Loop) => {
            for _ in 0..3 {
                let again = tracer_sdk::tool_call(name).args(&arguments);
                again.result(&agent.tools.call(name, &arguments).ok()).record()?;
            }
        }
        Some(Fail::NewTool) => tracer_sdk::tool_call("list_files").record()?,
        _ => {}
    }

    let mut span = tracer_sdk::tool_call(name).args(&arguments).start()?;
    state.tool_calls += 1;
    let result = agent.tools.call(name, &arguments);
    let answer = match &result {
        Ok(value) => {
            span.result(value);
            value.to_string()
        }
        Err(error) => {
            state.failed_tool_calls += 1;
            span.fail(error);
            json!({"error": error.to_string()}).to_string()
        }
    };
    span.end()?;
    Ok(Message::tool(&call.id, answer))
}

impl Agent {
    fn new(endpoint: Endpoint, model: &str, arguments: &Arguments) -> Result<Self, ModelError> {
        let fail = arguments.fail;
        let model = if fail == Some(Fail::Model) {
            "no-such-model"
        } else {
            model
        };
        // No file is as small as a byte: every reading fails.
        let max_read_bytes = if fail == Some(Fail::Tool) { 1 } else { 64 * 1024 };
        Ok(Self {
            model: Model::new(endpoint, model)?,
            tools: Toolbox::new(&arguments.folder, max_read_bytes),
            max_turns: if fail == Some(Fail::Error) { 2 } else { 8 },
            fail,
        })
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the answer and the talk of a command-line program"
)]
async fn main() -> ExitCode {
    match answer(&Arguments::parse()).await {
        Ok(answer) => {
            println!("{answer}");
            eprintln!("hint: `cargo run -p tracer-cli -- show` shows how it came about");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "which model answers is the first thing to know"
)]
async fn answer(arguments: &Arguments) -> Result<String, Box<dyn std::error::Error>> {
    if let Some(endpoint) = Endpoint::from_environment() {
        let model = std::env::var("OPENAI_MODEL").unwrap_or_else(|_| DEFAULT_MODEL.to_owned());
        eprintln!("asking {model} at {}", endpoint.base_url);
        let agent = Agent::new(endpoint, &model, arguments)?;
        return Ok(run_agent(&agent, &arguments.question).await?);
    }
    let stand_in = StandIn::start().await?;
    eprintln!(
        "asking a stand-in on this machine; set OPENAI_BASE_URL and OPENAI_API_KEY to ask a real model"
    );
    let agent = Agent::new(stand_in.endpoint(), stand_in::MODEL, arguments)?;
    Ok(run_agent(&agent, &arguments.question).await?)
}
