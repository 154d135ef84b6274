//! The world around the examples of the guides: a customer, a model, and a run in a folder that is thrown away.

#![expect(
    clippy::expect_used,
    clippy::unused_async,
    reason = "helpers of tests fail by panicking; the world of an agent is async"
)]

use std::fmt;
use std::future::Future;

use tracer_sdk::{Config, Run};

/// A customer of the guide's agent.
#[derive(Debug)]
pub struct Customer {
    /// The customer's name.
    pub name: String,
}

/// Looks a customer up.
pub async fn lookup_customer(_id: u32) -> anyhow::Result<Customer> {
    Ok(Customer { name: "Ada".into() })
}

/// What the guide's model answers.
#[derive(Debug)]
pub struct Reply {
    /// The answer.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
}

/// Asks the guide's model.
pub async fn ask_the_model() -> anyhow::Result<Reply> {
    Ok(Reply {
        text: "On its way.".into(),
        prompt_tokens: 12,
        completion_tokens: 4,
    })
}

/// A tool call that the guide's model asks for.
#[derive(Debug)]
pub struct AskedTool {
    /// The tool.
    pub name: String,
    /// The ID of the call.
    pub id: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// The tool calls of the model's last answer.
pub fn asked_tools() -> Vec<AskedTool> {
    let asked = |arguments: &str| AskedTool {
        name: "search".into(),
        id: "call_7".into(),
        arguments: arguments.into(),
    };
    vec![asked(r#"{"query": "refunds"}"#), asked(r#"{"query": "#)]
}

/// Calls a tool by its name.
pub async fn call_tool(_name: &str, arguments: &str) -> anyhow::Result<String> {
    let arguments: serde_json::Value = serde_json::from_str(arguments)?;
    Ok(format!("2 pages of {arguments}"))
}

/// The events of a vendor's stream, as its client hands them out.
pub fn stream_of_events() -> impl Iterator<Item = serde_json::Value> {
    let delta = |text| serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    ["An old ", "silent pond"].into_iter().map(delta)
}

fn run_in(folder: &tempfile::TempDir) -> Run {
    Run::new("guide").config(&Config::new().data_dir(folder.path()))
}

/// Runs a block of a guide within a run.
///
/// # Panics
///
/// When the block fails.
pub fn in_temp_run<E: fmt::Display + fmt::Debug>(block: impl FnOnce() -> Result<(), E>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    run_in(&folder).try_in_scope(block).expect("the block goes well");
}

/// Runs an async block of a guide within a run.
///
/// # Panics
///
/// When the block fails.
pub fn traced(block: impl Future<Output = anyhow::Result<()>>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let outcome = runtime.block_on(run_in(&folder).try_instrument(block));
    outcome.expect("the block goes well");
}
