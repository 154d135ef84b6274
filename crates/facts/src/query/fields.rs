//! The fields of the query language: their names, what they hold, what they are compared with.

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
    pub const ALL: [Self; 14] = [
        Self::Name,
        Self::Agent,
        Self::Id,
        Self::Session,
        Self::Command,
        Self::Tag,
        Self::Commit,
        Self::Tool,
        Self::Model,
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
            Self::Error => "error",
            Self::Args => "args",
            Self::Result => "result",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
        }
    }

    /// Whether it is in the steps of a run and not among its facts.
    #[must_use]
    pub const fn is_in_steps(self) -> bool {
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
    pub const ALL: [Self; 13] = [
        Self::Tokens,
        Self::Input,
        Self::Output,
        Self::Cached,
        Self::Reasoning,
        Self::Cost,
        Self::Duration,
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
            Self::Duration => Unit::Time,
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

/// The names of all fields.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let others = [STATUS, SINCE, UNTIL, HAS, KIND];
    let texts = TextField::ALL.into_iter().map(TextField::as_str);
    let numbers = NumberField::ALL.into_iter().map(NumberField::as_str);
    texts.chain(others).chain(numbers)
}

/// The name most like a word that is none, if one is like it.
pub(crate) fn suggestion(word: &str) -> Option<&'static str> {
    const MAX_WORD: usize = 40;
    if word.len() > MAX_WORD {
        return None;
    }
    let word = word.to_lowercase();
    let plural =
        names().find(|name| word.strip_suffix('s') == Some(name) || name.strip_suffix('s') == Some(&word));
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
        "state" => Some(STATUS),
        "price" | "usd" => Some("cost"),
        _ => None,
    };
    plural.or(common).or_else(|| {
        let near = names().map(|name| (distance(&word, name), name));
        near.filter(|(distance, name)| *distance <= 2 && *distance < name.len() / 2 + 1)
            .min()
            .map(|(_, name)| name)
    })
}

/// Letters to add, drop or change to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, char) in one.chars().enumerate() {
        let mut before = line;
        let mut left = line + 1;
        for (cell, expected) in row.iter_mut().skip(1).zip(&other) {
            let above = *cell;
            left = (left + 1)
                .min(above + 1)
                .min(before + usize::from(char != *expected));
            before = above;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
    }
    row.last().copied().unwrap_or_default()
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
            assert_eq!(suggestion(word), expected, "{word}");
        }
    }
}
