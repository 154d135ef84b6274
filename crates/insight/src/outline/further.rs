//! [`FurtherDetail`]: how a reader of a text for models asks for what was left out of it.

/// Longer commands are not repeated in a text that has a budget, in bytes.
const MAX_COMMAND_BYTES: usize = 200;

/// Source of further detail on a run, for the reader to ask.
///
/// ```
/// use tracer_insight::outline::FurtherDetail;
///
/// let ask = FurtherDetail::by_command("tracer show bc519fdd", "bc519fdd");
/// assert_eq!(ask.step("4"), "tracer show bc519fdd --for-llm --step 4");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FurtherDetail {
    /// A command that shows the run.
    Command(String),
    /// The tools of `tracer mcp`, with the ID of the run.
    Tools(String),
}

impl FurtherDetail {
    /// By a command that shows the run, such as `tracer --data-dir DIR show bc519fdd`.
    #[must_use]
    pub fn by_command(command: &str, run_id: &str) -> Self {
        if command.len() <= MAX_COMMAND_BYTES {
            Self::Command(command.to_owned())
        } else {
            Self::Command(format!("tracer show {run_id}"))
        }
    }

    /// Command or tool call for a step, by its number or a placeholder for it.
    #[must_use]
    pub fn step(&self, number: &str) -> String {
        match self {
            Self::Command(command) => format!("{command} --for-llm --step {number}"),
            Self::Tools(run_id) => format!(r#"get_step {{"run_id": "{run_id}", "step": {number}}}"#),
        }
    }

    /// Command or tool call for the same run with a larger budget.
    #[must_use]
    pub(crate) fn larger_budget(&self) -> String {
        match self {
            Self::Command(command) => format!("{command} --for-llm=TOKENS"),
            Self::Tools(run_id) => format!(r#"get_run {{"run_id": "{run_id}", "budget": TOKENS}}"#),
        }
    }

    /// Command or tool call for the rest of a step.
    #[must_use]
    pub(crate) fn rest_of_step(&self, number: usize, cursor: &str) -> String {
        match self {
            Self::Command(command) => format!("{command} --step {number}"),
            Self::Tools(run_id) => {
                format!(r#"get_step {{"run_id": "{run_id}", "step": {number}, "cursor": "{cursor}"}}"#)
            }
        }
    }
}
