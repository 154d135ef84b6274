//! [`CauseKind`]: the kinds of causes, with the code and the words of each.

/// Why a run failed, looped, was interrupted, or ended with less than it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CauseKind {
    /// The provider or a tool refuses more calls for now.
    RateLimit,
    /// The account has no quota or credit left.
    Quota,
    /// The prompt is longer than the model takes.
    ContextLength,
    /// The key or the token is missing, wrong or expired.
    Authentication,
    /// The key is right and may not do this.
    Permission,
    /// There is no such model.
    ModelNotFound,
    /// A filter of the provider blocked the prompt or the answer.
    ContentFilter,
    /// The provider takes the request for malformed.
    InvalidRequest,
    /// The provider failed, or has too much to do.
    ProviderError,
    /// A call took longer than it may.
    Timeout,
    /// No connection, or one that broke.
    Network,
    /// There is no such tool.
    ToolNotFound,
    /// The model gave a tool arguments that it does not take.
    WrongArguments,
    /// A tool failed for another reason.
    ToolError,
    /// A model call failed for another reason.
    ModelError,
    /// The program failed outside its calls.
    ProgramError,
    /// The program panicked.
    Panic,
    /// The run was cancelled.
    Cancelled,
    /// The guardrail `stop_on_loop`.
    GuardrailLoop,
    /// The guardrail `max_llm_calls`.
    GuardrailLlmCalls,
    /// The guardrail `max_tool_calls`.
    GuardrailToolCalls,
    /// The guardrail `max_events`.
    GuardrailEvents,
    /// The guardrail `max_duration_s`.
    GuardrailDuration,
    /// The guardrail `max_cost_usd`.
    GuardrailCost,
    /// The guardrail `max_tokens`.
    GuardrailTokens,
    /// A guardrail that is not named.
    Guardrail,
    /// One step was repeated.
    LoopIdentical,
    /// Several steps were repeated in turn.
    LoopAlternating,
    /// The process ended and the run did not.
    Killed,
    /// The model asked for a tool, and nothing followed.
    NoAnswer,
    /// The last answer is empty.
    EmptyAnswer,
    /// The model refused.
    Refused,
    /// The model's call of a tool could not be read, or was none that it was offered.
    MalformedCall,
    /// The last answer was cut at the limit of output tokens.
    CutAnswer,
    /// A part of the log cannot be read.
    DamagedLog,
    /// The last line of the log is cut short.
    TornTail,
    /// Spans could not be written.
    LostSpans,
    /// Records found no run.
    UnattachedRecords,
    /// Spans had not ended when the run did.
    UnfinishedSpans,
    /// The run failed and does not say why.
    Unknown,
}

impl CauseKind {
    /// The code for programs.
    pub(crate) const fn code(self) -> &'static str {
        self.names().0
    }

    /// First words of every sentence about the cause.
    pub(crate) const fn words(self) -> &'static str {
        self.names().1
    }

    /// Returns whether the provider or the model kept the last answer back, or could not give it: the reason for what the
    /// run lacks.
    pub(crate) const fn is_withheld(self) -> bool {
        matches!(self, Self::Refused | Self::ContentFilter | Self::MalformedCall)
    }

    /// The guardrail that an error names, by the setting in its message.
    pub(crate) fn of_guardrail(message: &str) -> Self {
        const SETTINGS: [(&str, CauseKind); 9] = [
            ("stop_on_loop", CauseKind::GuardrailLoop),
            ("max_llm_calls", CauseKind::GuardrailLlmCalls),
            ("max_tool_calls", CauseKind::GuardrailToolCalls),
            ("max_events", CauseKind::GuardrailEvents),
            ("max_duration", CauseKind::GuardrailDuration),
            ("max_duration_s", CauseKind::GuardrailDuration),
            ("max_cost", CauseKind::GuardrailCost),
            ("max_cost_usd", CauseKind::GuardrailCost),
            ("max_tokens", CauseKind::GuardrailTokens),
        ];
        // As a word of its own: another emitter's `max_events_per_tool` is none of these.
        let mut words = message.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        let named = words.find_map(|word| SETTINGS.iter().find(|(setting, _)| *setting == word));
        named.map_or(Self::Guardrail, |(_, kind)| *kind)
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::RateLimit => ("rate_limit", "Rate limit exhausted"),
            Self::Quota => ("quota", "Quota or credit exhausted"),
            Self::ContextLength => ("context_length", "Context length exceeded"),
            Self::Authentication => ("authentication", "Authentication failed"),
            Self::Permission => ("permission", "Permission denied"),
            Self::ModelNotFound => ("model_not_found", "Model not found"),
            Self::ContentFilter => ("content_filter", "Blocked by a content filter"),
            Self::InvalidRequest => ("invalid_request", "Request refused as invalid"),
            Self::ProviderError => ("provider_error", "The provider failed"),
            Self::Timeout => ("timeout", "Timed out"),
            Self::Network => ("network", "Network error"),
            Self::ToolNotFound => ("tool_not_found", "Tool not found"),
            Self::WrongArguments => ("wrong_arguments", "Wrong arguments for a tool"),
            Self::ToolError => ("tool_error", "Failed"),
            Self::ModelError => ("model_error", "Failed"),
            Self::ProgramError => ("program_error", "Failed"),
            Self::Panic => ("panic", "Panicked"),
            Self::Cancelled => ("cancelled", "Cancelled"),
            Self::GuardrailLoop => ("guardrail_stop_on_loop", "Stopped by the loop guardrail"),
            Self::GuardrailLlmCalls => ("guardrail_max_llm_calls", "Stopped by a guardrail"),
            Self::GuardrailToolCalls => ("guardrail_max_tool_calls", "Stopped by a guardrail"),
            Self::GuardrailEvents => ("guardrail_max_events", "Stopped by a guardrail"),
            Self::GuardrailDuration => ("guardrail_max_duration_s", "Stopped by a guardrail"),
            Self::GuardrailCost => ("guardrail_max_cost_usd", "Stopped by a guardrail"),
            Self::GuardrailTokens => ("guardrail_max_tokens", "Stopped by a guardrail"),
            Self::Guardrail => ("guardrail", "Stopped by a guardrail"),
            Self::LoopIdentical => ("loop_identical", "Repeated"),
            Self::LoopAlternating => ("loop_alternating", "Repeated"),
            Self::Killed => ("killed", "Interrupted: its process is gone"),
            Self::NoAnswer => ("no_answer", "Ended without an answer"),
            Self::EmptyAnswer => ("empty_answer", "The last answer is empty"),
            Self::Refused => ("refused", "The model refused"),
            Self::MalformedCall => ("malformed_call", "The model's call of a tool was malformed"),
            Self::CutAnswer => (
                "cut_answer",
                "The last answer was cut at the limit of output tokens",
            ),
            Self::DamagedLog => ("damaged_log", "A part of the run cannot be read"),
            Self::TornTail => ("torn_tail", "The last line of spans.jsonl is cut short"),
            Self::LostSpans => ("lost_spans", "Spans could not be written"),
            Self::UnattachedRecords => ("unattached_records", "Records found no run"),
            Self::UnfinishedSpans => ("unfinished_spans", "Spans had not ended when the run did"),
            Self::Unknown => ("unknown", "Failed without saying why"),
        }
    }
}
