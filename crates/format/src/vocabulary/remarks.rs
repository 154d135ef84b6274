//! Remarks on a step: ratings, guardrail results, decisions on tools, hand-overs.
//!
//! Attributes that OpenTelemetry's conventions only propose are read if they come.

use super::Vocabulary::{
    self, ClaudeCode, Langfuse, OpenInference, OpenLlmetry, OtelGenAi, OtelGenAiOld, PydanticAi, Tracer,
};
use super::kinds::{Pattern, Test};
use crate::names;

/// A kind of remarks: where they are and what they hold.
#[derive(Debug)]
pub(crate) struct RemarkKind {
    /// The key of the record's `meta` that lists them.
    pub(crate) key: &'static str,
    /// The span events that are such a remark.
    pub(crate) events: &'static [(Vocabulary, &'static str)],
    /// The spans whose own attributes are one.
    pub(crate) spans: &'static [(Vocabulary, Test)],
    /// Its fields, each from the first of these attributes that says something.
    pub(crate) fields: &'static [(&'static str, &'static [&'static str])],
}

/// The key of ratings.
pub(crate) const EVALUATIONS: &str = "evaluations";
/// The key of what guardrails found.
pub(crate) const GUARDRAILS: &str = "guardrails";

/// The kinds of remarks.
pub(crate) const REMARKS: &[RemarkKind] = &[
    RemarkKind {
        key: EVALUATIONS,
        events: &[
            (OtelGenAi, "gen_ai.evaluation.result"),
            (OtelGenAiOld, "gen_ai.evaluation"),
        ],
        spans: &[(
            OtelGenAi,
            Test::Has(&["gen_ai.evaluation.name", "gen_ai.evaluation.score.value"]),
        )],
        fields: &[
            ("name", &["gen_ai.evaluation.name"]),
            (
                "score",
                &["gen_ai.evaluation.score.value", "gen_ai.evaluation.score"],
            ),
            (
                "label",
                &[
                    "gen_ai.evaluation.score.label",
                    "gen_ai.evaluation.label",
                    "gen_ai.evaluation.status",
                ],
            ),
            ("explanation", &["gen_ai.evaluation.explanation"]),
            ("response_id", &["gen_ai.response.id"]),
        ],
    },
    RemarkKind {
        key: GUARDRAILS,
        events: &[
            (OtelGenAi, "gen_ai.guardrail.result"),
            (OtelGenAi, "gen_ai.security.finding"),
        ],
        spans: &[
            (
                OtelGenAi,
                Test::Word(
                    "gen_ai.operation.name",
                    &["run_guardrail", "apply_guardrail", "guardrail_check", "guardrail"],
                ),
            ),
            (
                OtelGenAi,
                Test::Has(&[
                    "gen_ai.guardrail.name",
                    "gen_ai.guardrail.triggered",
                    "gen_ai.security.guardrail.name",
                    "gen_ai.security.verdict.type",
                    "gen_ai.security.decision.type",
                ]),
            ),
            (
                OpenInference,
                Test::Word("openinference.span.kind", &["GUARDRAIL"]),
            ),
            (OpenLlmetry, Test::Word("traceloop.span.kind", &["guardrail"])),
            (Langfuse, Test::Word("langfuse.observation.type", &["guardrail"])),
            (
                PydanticAi,
                Test::Text("logfire.msg_template", Pattern::Begins("Guardrail ")),
            ),
        ],
        fields: &[
            (
                "name",
                &[
                    "gen_ai.guardrail.name",
                    "gen_ai.security.guardrail.name",
                    "gen_ai.guardian.name",
                    "guardrail.name",
                    "name",
                ],
            ),
            (
                "triggered",
                &[
                    "gen_ai.guardrail.triggered",
                    "guardrail.triggered",
                    "tripwire_triggered",
                    "triggered",
                ],
            ),
            (
                "verdict",
                &[
                    "gen_ai.security.verdict.type",
                    "gen_ai.security.decision.type",
                    "gen_ai.guardrail.verdict",
                    "gen_ai.guardrail.status",
                    "guardrail.outcome",
                    "guardrail.status",
                ],
            ),
            (
                "action",
                &["gen_ai.security.action.type", "gen_ai.guardrail.action"],
            ),
            (
                "reason",
                &[
                    "gen_ai.security.verdict.reason",
                    "gen_ai.security.decision.reason",
                    "gen_ai.security.risk.finding",
                    "gen_ai.security.risk.category",
                ],
            ),
            (
                "target",
                &["gen_ai.security.target.type", "gen_ai.guardrail.target.type"],
            ),
        ],
    },
    RemarkKind {
        key: "decisions",
        events: &[
            (OtelGenAi, "gen_ai.tool.call.decision"),
            (OtelGenAi, "tool.call.decision"),
        ],
        spans: &[
            (
                OtelGenAi,
                Test::Has(&[
                    "gen_ai.tool.call.decision.outcome",
                    "gen_ai.tool.call.decision",
                    "tool.call.decision.outcome",
                    "tool.call.decision",
                ]),
            ),
            (ClaudeCode, Test::Has(&["tool_decision.decision"])),
            (ClaudeCode, Test::Word("span.type", &["tool.blocked_on_user"])),
            (Tracer, Test::Word(names::FROM_LOG.written(), &["tool_decision"])),
        ],
        fields: &[
            (
                "decision",
                &[
                    "gen_ai.tool.call.decision.outcome",
                    "gen_ai.tool.call.decision",
                    "tool.call.decision.outcome",
                    "tool.call.decision",
                    "tool_decision.decision",
                    "decision",
                    "outcome",
                ],
            ),
            (
                "by",
                &[
                    "gen_ai.tool.call.decision.source",
                    "tool.call.decision.source",
                    "tool_decision.source",
                    "source",
                ],
            ),
            (
                "reason",
                &["gen_ai.tool.call.decision.reason", "tool.call.decision.reason"],
            ),
            ("tool", &["gen_ai.tool.name", "tool_name"]),
            ("call_id", &["gen_ai.tool.call.id", "tool_use_id"]),
        ],
    },
    RemarkKind {
        key: "hand_overs",
        events: &[],
        spans: &[
            (
                OtelGenAi,
                Test::Word(
                    "gen_ai.operation.name",
                    &["handoff", "agent_handoff", "hand_over"],
                ),
            ),
            (
                OtelGenAi,
                Test::Has(&["gen_ai.handoff.to_agent", "gen_ai.handoff.from_agent"]),
            ),
            (
                PydanticAi,
                Test::Text("logfire.msg_template", Pattern::Begins("Handoff")),
            ),
        ],
        fields: &[
            ("from", &["gen_ai.handoff.from_agent", "from_agent"]),
            ("to", &["gen_ai.handoff.to_agent", "to_agent"]),
        ],
    },
];

/// Prefixes of flattened lists of ratings.
pub(crate) const FLAT_EVALUATIONS: [(Vocabulary, &str); 2] =
    [(OpenInference, "evaluations"), (OpenInference, "annotations")];

/// Verdicts of a guardrail, for one without an explicit `triggered` value.
pub(crate) const VERDICTS: &[(&str, bool)] = &[
    ("allow", false),
    ("allowed", false),
    ("pass", false),
    ("passed", false),
    ("success", false),
    ("block", true),
    ("blocked", true),
    ("deny", true),
    ("denied", true),
    ("fail", true),
    ("failed", true),
    ("modify", true),
    ("warn", true),
];

/// The beginnings of the names of tools by which a model hands over to another agent; the rest is its name. The words may be
/// divided in another way, `transferToBilling`.
pub(crate) const HAND_OVER_TOOLS: [&str; 6] = [
    "transfer_to_",
    "transfer_back_to_",
    "handoff_to_",
    "hand_off_to_",
    "delegate_to_",
    HANDOFF,
];
/// The one that is no tool's, but begins the name of `OpenInference`'s span of a hand-over.
pub(crate) const HANDOFF: &str = "handoff to ";

/// Tools that are the form of a last answer, in smolagents, Pydantic AI and `DSPy`.
pub(crate) const ANSWER_TOOLS: [&str; 3] = ["final_answer", "final_result", "finish"];
/// Beginning of the names of those of Pydantic AI where an answer has one of several types, which the rest names.
pub(crate) const ANSWER_TOOL_OF_TYPE: &str = "final_result_";

/// A tool by which a model hands over to the agent that an argument names.
pub(crate) const HAND_OVER_BY_ARGUMENT: &str = "handoff";
