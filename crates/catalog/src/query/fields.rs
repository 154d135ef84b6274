//! The fields of the query language: their names, what they hold, what they are compared with.

use tracer_insight::status::RunStatus;

tracer_sdk::words! {
    /// A field that holds a name or a text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TextField in tracer_catalog::query {
        /// The label of the run.
        Name = "name",
        /// The agent: the label without its time stamp.
        Agent = "agent",
        /// The beginning of the run's ID.
        Id = "id",
        /// The conversation or session of the run.
        Session = "session",
        /// The command that was run.
        Command = "command",
        /// A tag of the run: `KEY`, or `KEY=VALUE`.
        Tag = "tag",
        /// The commit of the program: the beginning of the tag `commit`.
        Commit = "commit",
        /// A tool that the run called.
        Tool = "tool",
        /// A model that the run asked.
        Model = "model",
        /// A tool or a model with a failed call.
        Failed = "failed",
        /// The type of an error: of a failed call, or recorded for itself.
        Error = "error",
        /// The arguments of a tool call.
        Args = "args",
        /// The result of a tool call.
        Result = "result",
        /// The prompt of a model call.
        Prompt = "prompt",
        /// The answer of a model call.
        Answer = "answer",
    }
}

impl TextField {
    /// True of a field in the steps of a run, not among its facts.
    #[must_use]
    pub(crate) const fn is_in_steps(self) -> bool {
        matches!(self, Self::Args | Self::Result | Self::Prompt | Self::Answer)
    }
}

tracer_sdk::words! {
    /// A field that holds a number.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum NumberField in tracer_catalog::query {
        /// All tokens of all model calls.
        Tokens = "tokens",
        /// Tokens of prompts.
        Input = "input",
        /// Tokens of answers.
        Output = "output",
        /// Tokens of prompts that were read from the provider's cache.
        Cached = "cached",
        /// Tokens used for reasoning.
        Reasoning = "reasoning",
        /// The cost of the model calls, in millionths of a dollar.
        Cost = "cost",
        /// The duration of the run, in microseconds.
        Duration = "duration",
        /// The duration of the slowest call, in microseconds, to half a percent: of those that the last `tool` or `model`
        /// of the same query names, or of all. Of a run that called more tools or models than are kept of it, it is not known how
        /// long those took that are not: they count where all calls are meant.
        Slowest = "slowest",
        /// Steps.
        Steps = "steps",
        /// Model calls.
        LlmCalls = "llm_calls",
        /// Tool calls.
        ToolCalls = "tool_calls",
        /// Errors that were recorded for themselves.
        Errors = "errors",
        /// Model and tool calls that failed.
        Failures = "failures",
        /// Model and tool calls without a recorded end.
        UnknownCalls = "unknown_calls",
        /// Tool calls that a model asked for and that never ran. They are counted where a query asks for them: that takes the
        /// content of all calls.
        NotRunCalls = "not_run_calls",
        /// Failed calls that were tried again.
        Retries = "retries",
    }
}

/// The unit of the numbers of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Time,
    Money,
}

impl NumberField {
    pub(crate) const fn unit(self) -> Unit {
        match self {
            Self::Cost => Unit::Money,
            Self::Duration | Self::Slowest => Unit::Time,
            _ => Unit::Count,
        }
    }
}

tracer_sdk::words! {
    /// A feature of a run, for `has:`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Feature in tracer_catalog::query {
        /// Its last model call gave a text.
        Answer = "answer",
        /// A call failed, or an error was recorded.
        Error = "error",
        /// A failed call was tried again.
        Retry = "retry",
        /// Tokens are known.
        Tokens = "tokens",
        /// It has a tag.
        Tag = "tag",
        /// It belongs to a conversation or session.
        Session = "session",
        /// It is a trial of a gate.
        Trial = "trial",
        /// It waits for a person.
        Waiting = "waiting",
    }
}

/// Fields that are neither texts nor numbers.
pub(crate) const STATUS: &str = "status";
pub(crate) const KIND: &str = "kind";
pub(crate) const HAS: &str = "has";
pub(crate) const SINCE: &str = "since";
pub(crate) const UNTIL: &str = "until";

/// The subject of a query. The grammar is one; the fields are those of the subject.
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
            "failed_calls" => Some("failures"),
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
