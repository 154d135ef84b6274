//! Classification of errors by their type (specification, *Payloads*).

/// The error of a run that its loop guardrail stopped.
pub const LOOP_ABORT: &str = "LoopAbort";
/// The error of a run that another guardrail stopped.
pub const GUARDRAIL_EXCEEDED: &str = "GuardrailExceeded";

/// The error of work that was given up.
pub(crate) const CANCELLED: &str = "Cancelled";

/// The error of a run whose command was interrupted, as by Ctrl-C.
pub const INTERRUPTED: &str = "Interrupted";

/// The class of an error, whatever module the emitter names with it.
///
/// ```
/// use tracer_sdk::format::error_type;
///
/// assert_eq!(error_type::class("agentdbg.exceptions.LoopAbort"), error_type::LOOP_ABORT);
/// assert_eq!(error_type::class("agent::ParseError"), "ParseError");
/// ```
#[must_use]
pub fn class(error_type: &str) -> &str {
    error_type.rsplit(['.', ':']).next().unwrap_or(error_type)
}

/// Returns whether the error is that of a guardrail.
///
/// ```
/// use tracer_sdk::format::error_type;
///
/// assert!(error_type::is_guardrail("agentdbg.GuardrailExceeded"));
/// assert!(!error_type::is_guardrail("GuardrailExceededWarning"));
/// ```
#[must_use]
pub fn is_guardrail(error_type: &str) -> bool {
    matches!(class(error_type), LOOP_ABORT | GUARDRAIL_EXCEEDED)
}

/// Returns whether the error is a cancellation and not a failure.
///
/// ```
/// use tracer_sdk::format::error_type;
///
/// assert!(error_type::is_cancellation("asyncio.exceptions.CancelledError"));
/// assert!(!error_type::is_cancellation("CancellationPolicyError"));
/// ```
#[must_use]
pub fn is_cancellation(error_type: &str) -> bool {
    matches!(
        class(error_type),
        CANCELLED | "CancelledError" | "KeyboardInterrupt" | "AbortError" | INTERRUPTED
    )
}

/// Returns whether the error only hands the work over to another agent.
///
/// ```
/// use tracer_sdk::format::error_type;
///
/// assert!(error_type::is_hand_over("langgraph.errors.ParentCommand"));
/// assert!(!error_type::is_hand_over("CommandError"));
/// ```
#[must_use]
pub fn is_hand_over(error_type: &str) -> bool {
    // LangGraph
    class(error_type) == "ParentCommand"
}

/// Returns whether the error only says that the work waits for a person, who answers before it continues.
///
/// ```
/// use tracer_sdk::format::error_type;
///
/// assert!(error_type::is_wait("langgraph.errors.GraphInterrupt"));
/// assert!(!error_type::is_wait("KeyboardInterrupt"));
/// ```
#[must_use]
pub fn is_wait(error_type: &str) -> bool {
    matches!(
        class(error_type),
        // LangGraph
        "GraphInterrupt" | "NodeInterrupt" | "Interrupt"
        // Strands, Mastra and their like
        | "InterruptException" | "SuspendError" | "WorkflowSuspended"
        // Pydantic AI
        | "ApprovalRequired" | "CallDeferred"
        // OpenAI Agents, Agno and their like
        | "ToolApprovalRequired" | "HumanInputRequired" | "ConfirmationRequired"
    )
}
