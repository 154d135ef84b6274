//! The grammar of the attribute as a table: which options there are, of what form, on which kind.

/// Kind of span that a function is recorded as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceKind {
    Run,
    Tool,
    Llm,
    Agent,
    Span,
}

impl TraceKind {
    /// The kind that a leading word names.
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "tool" => Some(Self::Tool),
            "llm" => Some(Self::Llm),
            "agent" => Some(Self::Agent),
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
            Self::Agent => "#[trace(agent)]",
            Self::Span => "#[trace(span)]",
        }
    }
}

/// Written form of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionForm {
    /// `name = EXPR`, where the value is a text.
    Text,
    /// `max_events = EXPR`, where the value is a number.
    Number,
    /// `usage = |answer| EXPR`
    Function,
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
    pub(crate) form: OptionForm,
    pub(crate) kinds: &'static [TraceKind],
    /// Example of its use.
    pub(crate) example: &'static str,
}

impl OptionRule {
    /// Returns whether it limits a run, as every option does that only a run takes.
    pub(crate) fn is_guardrail(&self) -> bool {
        matches!(self.kinds, [TraceKind::Run])
    }
}

const RUN: &[TraceKind] = &[TraceKind::Run];
const ANSWERING: &[TraceKind] = &[TraceKind::Run, TraceKind::Tool, TraceKind::Llm, TraceKind::Agent];
const NAMED: &[TraceKind] = &[TraceKind::Run, TraceKind::Tool, TraceKind::Agent, TraceKind::Span];
const ALL: &[TraceKind] = &[
    TraceKind::Run,
    TraceKind::Tool,
    TraceKind::Llm,
    TraceKind::Agent,
    TraceKind::Span,
];

const fn rule(
    word: &'static str,
    form: OptionForm,
    kinds: &'static [TraceKind],
    example: &'static str,
) -> OptionRule {
    OptionRule {
        word,
        form,
        kinds,
        example,
    }
}

/// Every option, in the order in which messages list them.
pub(crate) const OPTIONS: &[OptionRule] = &[
    rule("name", OptionForm::Text, NAMED, "name = \"…\""),
    rule("model", OptionForm::Text, &[TraceKind::Llm], "model = \"…\""),
    rule(
        "provider",
        OptionForm::Text,
        &[TraceKind::Llm],
        "provider = \"…\"",
    ),
    rule("args", OptionForm::Selection, ANSWERING, "args` or `args(a, b)"),
    rule("result", OptionForm::Flag, ANSWERING, "result"),
    rule(
        "usage",
        OptionForm::Function,
        &[TraceKind::Llm],
        "usage = |answer| Usage::new(answer.input, answer.output)",
    ),
    rule("max_llm_calls", OptionForm::Number, RUN, "max_llm_calls = 10"),
    rule("max_tool_calls", OptionForm::Number, RUN, "max_tool_calls = 20"),
    rule("max_events", OptionForm::Number, RUN, "max_events = 200"),
    rule("max_duration_s", OptionForm::Number, RUN, "max_duration_s = 30"),
    rule("max_cost_usd", OptionForm::Number, RUN, "max_cost_usd = 0.5"),
    rule(
        "stop_on_loop",
        OptionForm::FlagOrShape,
        RUN,
        "stop_on_loop` or `stop_on_loop = \"shape\"",
    ),
    rule(
        "stop_on_loop_min_repetitions",
        OptionForm::Number,
        RUN,
        "stop_on_loop_min_repetitions = 3",
    ),
    rule("on_exceed", OptionForm::Cancel, RUN, "on_exceed = cancel"),
    rule("crate", OptionForm::Path, ALL, "crate = path::to::tracer_sdk"),
];

/// The option of that name.
pub(crate) fn option(word: &str) -> Option<&'static OptionRule> {
    OPTIONS.iter().find(|rule| rule.word == word)
}
