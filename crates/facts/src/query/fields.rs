//! The fields of the query language: their names, what they hold, what they are compared with.

use tracer_insight::status::RunStatus;

/// A field that holds a name or a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextField {
    /// The label of the run.
    Name,
    /// The agent: the label without its time stamp.
    Agent,
    /// The beginning of the run's ID.
    Id,
    /// The conversation or session of the run.
    Session,
    /// The command that was run.
    Command,
    /// A tag of the run: `KEY`, or `KEY=VALUE`.
    Tag,
    /// The commit of the program: the beginning of the tag `commit`.
    Commit,
    /// A tool that the run called.
    Tool,
    /// A model that the run asked.
    Model,
    /// A tool or a model of which a call failed.
    Failed,
    /// The type of an error: of a failed call, or recorded for itself.
    Error,
    /// The arguments of a tool call.
    Args,
    /// The result of a tool call.
    Result,
    /// The prompt of a model call.
    Prompt,
    /// The answer of a model call.
    Answer,
}

impl TextField {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 15] = [
        Self::Name,
        Self::Agent,
        Self::Id,
        Self::Session,
        Self::Command,
        Self::Tag,
        Self::Commit,
        Self::Tool,
        Self::Model,
        Self::Failed,
        Self::Error,
        Self::Args,
        Self::Result,
        Self::Prompt,
        Self::Answer,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Agent => "agent",
            Self::Id => "id",
            Self::Session => "session",
            Self::Command => "command",
            Self::Tag => "tag",
            Self::Commit => "commit",
            Self::Tool => "tool",
            Self::Model => "model",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Args => "args",
            Self::Result => "result",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
        }
    }

    /// Whether it is in the steps of a run and not among its facts.
    #[must_use]
    pub(crate) const fn is_in_steps(self) -> bool {
        matches!(self, Self::Args | Self::Result | Self::Prompt | Self::Answer)
    }
}

/// A field that holds a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberField {
    /// All tokens of all model calls.
    Tokens,
    /// Tokens of prompts.
    Input,
    /// Tokens of answers.
    Output,
    /// Tokens of prompts that were read from the provider's cache.
    Cached,
    /// Tokens used for reasoning.
    Reasoning,
    /// What the model calls cost, in millionths of a dollar.
    Cost,
    /// How long the run took, in microseconds.
    Duration,
    /// How long the slowest of its calls took, in microseconds, to half a percent: of those that the last `tool` or `model` of
    /// the same query names, or of all. Of a run that called more tools or models than are kept of it, nobody knows how long
    /// those took that are not: they count where all calls are meant.
    Slowest,
    /// Steps.
    Steps,
    /// Model calls.
    LlmCalls,
    /// Tool calls.
    ToolCalls,
    /// Errors that were recorded for themselves.
    Errors,
    /// Model and tool calls that failed.
    Failures,
    /// Failed calls that were tried again.
    Retries,
}

/// What numbers of a field mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Time,
    Money,
}

impl NumberField {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 14] = [
        Self::Tokens,
        Self::Input,
        Self::Output,
        Self::Cached,
        Self::Reasoning,
        Self::Cost,
        Self::Duration,
        Self::Slowest,
        Self::Steps,
        Self::LlmCalls,
        Self::ToolCalls,
        Self::Errors,
        Self::Failures,
        Self::Retries,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Input => "input",
            Self::Output => "output",
            Self::Cached => "cached",
            Self::Reasoning => "reasoning",
            Self::Cost => "cost",
            Self::Duration => "duration",
            Self::Slowest => "slowest",
            Self::Steps => "steps",
            Self::LlmCalls => "llm_calls",
            Self::ToolCalls => "tool_calls",
            Self::Errors => "errors",
            Self::Failures => "failures",
            Self::Retries => "retries",
        }
    }

    pub(crate) const fn unit(self) -> Unit {
        match self {
            Self::Cost => Unit::Money,
            Self::Duration | Self::Slowest => Unit::Time,
            _ => Unit::Count,
        }
    }
}

/// What a run has, for `has:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Its last model call gave a text.
    Answer,
    /// A call failed, or an error was recorded.
    Error,
    /// A failed call was tried again.
    Retry,
    /// Tokens are known.
    Tokens,
    /// It has a tag.
    Tag,
    /// It belongs to a conversation or session.
    Session,
    /// It is a trial of a gate.
    Trial,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Answer,
        Self::Error,
        Self::Retry,
        Self::Tokens,
        Self::Tag,
        Self::Session,
        Self::Trial,
    ];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Error => "error",
            Self::Retry => "retry",
            Self::Tokens => "tokens",
            Self::Tag => "tag",
            Self::Session => "session",
            Self::Trial => "trial",
        }
    }
}

/// Fields beside those of texts and numbers.
pub(crate) const STATUS: &str = "status";
pub(crate) const KIND: &str = "kind";
pub(crate) const HAS: &str = "has";
pub(crate) const SINCE: &str = "since";
pub(crate) const UNTIL: &str = "until";

/// What a query is about. The grammar is one; the fields are those that such a thing has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryScope {
    /// Runs, by their facts and by their steps: [`RunQuery`](super::RunQuery).
    Runs,
    /// The steps of one run: [`StepQuery`](super::StepQuery).
    Steps,
}

impl QueryScope {
    /// Its fields of texts.
    pub(crate) const fn text_fields(self) -> &'static [TextField] {
        match self {
            Self::Runs => &TextField::ALL,
            Self::Steps => &[
                TextField::Name,
                TextField::Tool,
                TextField::Model,
                TextField::Error,
                TextField::Args,
                TextField::Result,
                TextField::Prompt,
                TextField::Answer,
            ],
        }
    }

    /// Its fields of numbers.
    pub(crate) const fn number_fields(self) -> &'static [NumberField] {
        match self {
            Self::Runs => &NumberField::ALL,
            Self::Steps => &[
                NumberField::Tokens,
                NumberField::Input,
                NumberField::Output,
                NumberField::Duration,
            ],
        }
    }

    const fn other_fields(self) -> &'static [&'static str] {
        match self {
            Self::Runs => &[STATUS, SINCE, UNTIL, HAS, KIND],
            Self::Steps => &[STATUS, KIND],
        }
    }

    /// The statuses that such a thing can have.
    pub(crate) const fn statuses(self) -> &'static [RunStatus] {
        match self {
            Self::Runs => &RunStatus::ALL,
            Self::Steps => &[RunStatus::Ok, RunStatus::Failed, RunStatus::Running],
        }
    }

    /// The names of all its fields.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let texts = self.text_fields().iter().map(|field| field.as_str());
        let numbers = self.number_fields().iter().map(|field| field.as_str());
        texts.chain(self.other_fields().iter().copied()).chain(numbers)
    }

    /// The name most like a word that is none, if one is like it.
    pub(crate) fn suggestion(self, word: &str) -> Option<&'static str> {
        const MAX_WORD: usize = 40;
        if word.len() > MAX_WORD {
            return None;
        }
        let word = word.to_lowercase();
        let mut names = self.names();
        let plural =
            names.find(|name| word.strip_suffix('s') == Some(name) || name.strip_suffix('s') == Some(&word));
        let common = match word.as_str() {
            "latency" | "time" | "dur" | "took" => Some("duration"),
            "arguments" | "arg" | "params" => Some("args"),
            "output_tokens" | "completion_tokens" => Some("output"),
            "input_tokens" | "prompt_tokens" => Some("input"),
            "run" | "title" => Some("name"),
            "response" => Some("answer"),
            "after" | "from" => Some(SINCE),
            "before" | "to" => Some(UNTIL),
            "thread" | "conversation" => Some("session"),
            "state" | "outcome" => Some(STATUS),
            "price" | "usd" => Some("cost"),
            _ => None,
        };
        let common = common.filter(|field| self.names().any(|name| name == *field));
        plural.or(common).or_else(|| {
            let near = self.names().map(|name| (strsim::levenshtein(&word, name), name));
            near.filter(|(distance, name)| *distance <= 2 && *distance < name.len() / 2 + 1)
                .min()
                .map(|(_, name)| name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_field_suggests_one() {
        for (word, expected) in [
            ("tol", Some("tool")),
            ("modle", Some("model")),
            ("models", Some("model")),
            ("token", Some("tokens")),
            ("sinec", Some("since")),
            ("latency", Some("duration")),
            ("xylophone", None),
            ("", None),
        ] {
            assert_eq!(QueryScope::Runs.suggestion(word), expected, "{word}");
        }
    }

    #[test]
    fn only_fields_of_the_scope_are_suggested() {
        for (word, expected) in [
            ("dur", Some("duration")),
            ("knd", Some("kind")),
            ("stauts", Some("status")),
            ("after", None),
            ("price", None),
            ("sinec", None),
        ] {
            assert_eq!(QueryScope::Steps.suggestion(word), expected, "{word}");
        }
        let of_runs: Vec<&str> = QueryScope::Runs.names().collect();
        assert!(QueryScope::Steps.names().all(|name| of_runs.contains(&name)));
    }
}
