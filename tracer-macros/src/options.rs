//! The grammar of the attribute as a table: which options there are, of what form, on which kind.

/// What a function is recorded as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Run,
    Tool,
    Llm,
    Span,
}

impl Kind {
    /// The kind that a leading word names.
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "tool" => Some(Self::Tool),
            "llm" => Some(Self::Llm),
            "span" => Some(Self::Span),
            _ => None,
        }
    }

    /// The attribute without options.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Run => "#[trace]",
            Self::Tool => "#[trace(tool)]",
            Self::Llm => "#[trace(llm)]",
            Self::Span => "#[trace(span)]",
        }
    }
}

/// How an option is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name = EXPR`, where the value is a text.
    Text,
    /// `max_events = EXPR`, where the value is a number.
    Number,
    /// `result`
    Flag,
    /// `stop_on_loop` or `stop_on_loop = "shape"`
    FlagOrShape,
    /// `args` or `args(a, b)`
    Selection,
    /// `on_exceed = cancel`
    Cancel,
    /// `crate = PATH`
    Path,
}

/// One option.
pub(crate) struct OptionRule {
    pub(crate) word: &'static str,
    pub(crate) form: Form,
    pub(crate) kinds: &'static [Kind],
    /// How to write it.
    pub(crate) example: &'static str,
}

impl OptionRule {
    /// Whether it limits a run, as whatever only a run takes does.
    pub(crate) fn is_guardrail(&self) -> bool {
        matches!(self.kinds, [Kind::Run])
    }
}

const RUN: &[Kind] = &[Kind::Run];
const CALLS: &[Kind] = &[Kind::Tool, Kind::Llm];
const NAMED: &[Kind] = &[Kind::Run, Kind::Tool, Kind::Span];
const ALL: &[Kind] = &[Kind::Run, Kind::Tool, Kind::Llm, Kind::Span];

const fn rule(word: &'static str, form: Form, kinds: &'static [Kind], example: &'static str) -> OptionRule {
    OptionRule {
        word,
        form,
        kinds,
        example,
    }
}

/// Every option, in the order in which messages list them.
pub(crate) const OPTIONS: &[OptionRule] = &[
    rule("name", Form::Text, NAMED, "name = \"…\""),
    rule("model", Form::Text, &[Kind::Llm], "model = \"…\""),
    rule("provider", Form::Text, &[Kind::Llm], "provider = \"…\""),
    rule("args", Form::Selection, CALLS, "args` or `args(a, b)"),
    rule("result", Form::Flag, CALLS, "result"),
    rule("max_llm_calls", Form::Number, RUN, "max_llm_calls = 10"),
    rule("max_tool_calls", Form::Number, RUN, "max_tool_calls = 20"),
    rule("max_events", Form::Number, RUN, "max_events = 200"),
    rule("max_duration_s", Form::Number, RUN, "max_duration_s = 30"),
    rule(
        "stop_on_loop",
        Form::FlagOrShape,
        RUN,
        "stop_on_loop` or `stop_on_loop = \"shape\"",
    ),
    rule(
        "stop_on_loop_min_repetitions",
        Form::Number,
        RUN,
        "stop_on_loop_min_repetitions = 3",
    ),
    rule("on_exceed", Form::Cancel, RUN, "on_exceed = cancel"),
    rule("crate", Form::Path, ALL, "crate = path::to::tracer_sdk"),
];

/// The option of that name.
pub(crate) fn option(word: &str) -> Option<&'static OptionRule> {
    OPTIONS.iter().find(|rule| rule.word == word)
}
