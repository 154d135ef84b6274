//! The agent's tools. They do real work on the files of one folder, and never leave it.

mod compute;
mod expression;
mod read_file;
mod search_files;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

pub use compute::Compute;
pub use expression::{ExpressionError, evaluate};
pub use read_file::ReadFile;
pub use search_files::SearchFiles;

/// Something that the model may ask the agent to do.
pub trait Tool {
    /// What the model calls it.
    fn name(&self) -> &'static str;

    /// Description for the model.
    fn description(&self) -> &'static str;

    /// The arguments that it takes, as a JSON Schema.
    fn parameters(&self) -> Value;

    /// Do it.
    fn call(&self, arguments: &Value) -> Result<Value, ToolError>;
}

/// Why a tool could not do what it was asked. The text goes back to the model, which may try something else.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model asked for a tool that it was not offered.
    #[error("there is no tool called `{0}`")]
    UnknownTool(String),
    /// The model gave arguments that are not what the tool takes.
    #[error("the arguments do not fit: {0}")]
    Arguments(#[from] serde_json::Error),
    /// The path leads out of the agent's folder.
    #[error("`{0}` is outside the folder that may be read")]
    OutsideFolder(String),
    /// The file is larger than the agent may read.
    #[error("`{path}` has {bytes} bytes; at most {limit} may be read")]
    TooLarge {
        /// The file, relative to the folder.
        path: String,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        limit: u64,
    },
    /// A file or folder could not be read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The expression has no value.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

/// The tools that one agent has.
pub struct Toolbox {
    tools: Vec<Box<dyn Tool>>,
}

impl Toolbox {
    /// Search the files of `folder`, read those that are no larger than `max_read_bytes`, and compute.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_examples::tools::Toolbox;
    ///
    /// let tools = Toolbox::new("data", 64 * 1024);
    /// let result = tools.call("compute", &json!({"expression": "3 * 12.50"})).unwrap();
    /// assert_eq!(result, json!({"expression": "3 * 12.50", "value": 37.5}));
    /// ```
    pub fn new(folder: impl Into<PathBuf>, max_read_bytes: u64) -> Self {
        let folder = folder.into();
        Self {
            tools: vec![
                Box::new(SearchFiles::new(folder.clone())),
                Box::new(ReadFile::new(folder, max_read_bytes)),
                Box::new(Compute),
            ],
        }
    }

    /// Descriptions of the tools for the model, in the chat-completions protocol.
    pub fn definitions(&self) -> Vec<Value> {
        self.tools.iter().map(|tool| definition(tool.as_ref())).collect()
    }

    /// Call the tool with this name.
    pub fn call(&self, name: &str, arguments: &Value) -> Result<Value, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.name() == name);
        tool.ok_or_else(|| ToolError::UnknownTool(name.to_owned()))?
            .call(arguments)
    }
}

/// One tool as the protocol describes it.
fn definition(tool: &dyn Tool) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name(),
            "description": tool.description(),
            "parameters": tool.parameters(),
        },
    })
}

/// The arguments as the type that the tool works with.
fn arguments<'a, T: Deserialize<'a>>(arguments: &'a Value) -> Result<T, ToolError> {
    Ok(T::deserialize(arguments)?)
}

/// The text of the file at `path`, refused when it is larger than `limit`; errors call it `shown`.
fn text_of(path: &Path, shown: &str, limit: u64) -> Result<String, ToolError> {
    let unreadable = |source| ToolError::Unreadable {
        path: shown.to_owned(),
        source,
    };
    let bytes = path.metadata().map_err(unreadable)?.len();
    if bytes > limit {
        return Err(ToolError::TooLarge {
            path: shown.to_owned(),
            bytes,
            limit,
        });
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_described_as_the_protocol_wants_it() {
        let definitions = Toolbox::new("data", 100).definitions();
        let names: Vec<_> = definitions
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["search_files", "read_file", "compute"]);
        for tool in &definitions {
            assert_eq!(tool["type"], "function");
            let parameters = &tool["function"]["parameters"];
            for required in parameters["required"].as_array().unwrap() {
                assert_eq!(
                    parameters["properties"][required.as_str().unwrap()]["type"],
                    "string",
                    "{tool}"
                );
            }
        }
    }

    #[test]
    fn a_call_that_cannot_be_made_is_an_error_that_the_model_understands() {
        let tools = Toolbox::new("data", 100);
        let message = |name, arguments: Value| tools.call(name, &arguments).unwrap_err().to_string();
        assert_eq!(
            message("delete_file", json!({})),
            "there is no tool called `delete_file`"
        );
        assert!(message("compute", json!("3 * 4")).starts_with("the arguments do not fit: "));
        assert_eq!(
            message("compute", json!({"expression": "3 *"})),
            "the expression ends where a number or `)` is missing"
        );
    }
}
