//! JSON Schemas that a derive cannot express (feature `schema`): that of a policy file, which is YAML for people, and texts
//! of a fixed form.
//!
//! A schema of a policy is for editors. What depends on several places at once stays with the reader: that a threshold
//! can be reached with this many trials, that no key is duplicate, that a name names another one.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::policy::Policy;

/// The SHA-256 digest of something.
pub(super) fn sha256(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

/// The SHA-256 digest of something that may not be there.
pub(super) fn sha256_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"})
}

/// The versions of a report that are written.
pub(super) fn report_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"const": super::report::REPORT_VERSION})
}

/// The versions of a baseline that are read.
pub(super) fn baseline_version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": r"^(0\.2(\.0)?|0\.3\.[0-9]+)$",
        "examples": [super::baseline::SCHEMA_VERSION],
    })
}

/// A number that was measured.
pub(super) fn measured_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["number", "null"], "minimum": 0})
}

impl JsonSchema for Policy {
    fn schema_name() -> Cow<'static, str> {
        "Policy".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A policy of version 2: what a gate demands.",
            "type": "object",
            "properties": {
                "version": {
                    "description": "The version of the grammar.",
                    "enum": [2, 2.1, "2", "2.0", "2.1"],
                },
                "trials": {"description": "How many trials.", "type": "integer", "minimum": 1, "default": 3},
                "fail_fast": {
                    "description": "Whether the trials stop when one of them decides the verdict.",
                    "type": "boolean",
                    "default": true,
                },
                "metrics": metrics(),
                "x_tracer": extension(),
            },
            "required": ["version", "metrics"],
            "additionalProperties": false,
            "$defs": {"numeric": numeric(), "range": range(&json!({"type": "number"})), "share": share()},
        })
    }
}

/// A share, 0 and 1 included.
fn share() -> Value {
    json!({"type": "number", "minimum": 0, "maximum": 1})
}

/// Both ends of something.
fn range(end: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {"lower": end, "upper": end},
        "required": ["lower", "upper"],
        "additionalProperties": false,
    })
}

/// A share, 0 and 1 left out.
fn open_share(description: &str) -> Value {
    json!({
        "description": description, "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95,
    })
}

fn mode() -> Value {
    json!({
        "description": "Whether it decides the verdict; when left out, whether it can.",
        "enum": ["gating", "report_only", null],
    })
}

/// The metrics of the contract.
fn metrics() -> Value {
    let mut properties = json!({
        "stop_condition_reached": invariant(
            "Every trial ends well; with `require: false`, none does.",
            &json!({"require": {"type": "boolean", "default": true}}),
            &[],
        ),
        "forbidden_tools": invariant(
            "No trial calls one of these tools.", &json!({"none_of": tools()}), &["none_of"],
        ),
        "required_tools": invariant(
            "Every trial calls each of these tools.", &json!({"all_of": tools()}), &["all_of"],
        ),
        "no_loops": invariant(
            "No trial loops: no calls ask the same again and again.",
            &json!({"require": {"const": true}, "shape": {
                "type": "boolean", "default": false,
                "description": "Whether calls of one shape count too, whatever they ask: a loop warning is enough.",
            }}),
            &[],
        ),
        "no_guardrails": invariant("No trial is stopped by a guardrail.", &json!({"require": {"const": true}}), &[]),
        "task_pass_rate": statistical(),
    });
    for (name, description) in [
        (
            "step_count",
            "Steps of a run: its records but start, end and structure.",
        ),
        ("tool_call_count", "Tool calls."),
        ("cost_tokens", "Tokens of all model calls."),
        ("latency_ms", "Milliseconds from start to end."),
    ] {
        properties[name] = json!({"description": description, "$ref": "#/$defs/numeric"});
    }
    json!({
        "description": "What is checked, in this order.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn tools() -> Value {
    json!({"type": "array", "items": {"type": "string", "minLength": 1}})
}

/// A check of the tools against those of the baseline.
fn against_baseline(description: &str) -> Value {
    let mut allow = tools();
    allow["description"] =
        json!("Tools that the check does not ask about; `*` is any text, `?` any one character.");
    json!({
        "description": description, "type": "object", "properties": {"allow": allow}, "additionalProperties": false,
    })
}

fn invariant(description: &str, own: &Value, required: &[&str]) -> Value {
    let mut properties = own.clone();
    properties["kind"] = json!({"const": "invariant"});
    let required = [&["kind"], required].concat();
    json!({
        "description": description,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// What is asked of a rate; its shape depends on the direction.
fn statistical() -> Value {
    json!({
        "description": "The share of trials that keep all invariants.",
        "type": "object",
        "properties": {
            "kind": {"const": "statistical"},
            "direction": {"enum": ["upper", "lower", "both"]},
            "threshold": {"description": "The share; for both directions its ends."},
            "confidence": open_share("How sure the decision is."),
            "mode": mode(),
            "success_predicate": {"const": "all_invariants_passed"},
        },
        "required": ["kind", "direction", "threshold"],
        "additionalProperties": false,
        "if": {"properties": {"direction": {"const": "both"}}},
        "then": {"properties": {"threshold": range(&json!({"$ref": "#/$defs/share"}))}},
        "else": {"properties": {"threshold": {"$ref": "#/$defs/share"}}},
    })
}

/// A numeric metric: against a limit or a tolerance, or against the values of the baseline.
fn numeric() -> Value {
    json!({"oneOf": [measured(), distributional()]})
}

fn measured() -> Value {
    let part = |description: &str| json!({"description": description, "type": "number", "minimum": 0});
    json!({
        "description": "The trials, summed up, keep to a limit, or to the baseline with a tolerance.",
        "type": "object",
        "properties": {
            "kind": {"const": "measured"},
            "direction": {"enum": ["upper", "lower", "both"]},
            "tolerance": {
                "description": "By how much it may differ from the baseline.",
                "type": ["object", "null"],
                "properties": {
                    "relative": part("As a share of the baseline: 0.5 is half as much again."),
                    "absolute": part("In the metric's own unit."),
                },
                "minProperties": 1,
                "additionalProperties": false,
            },
            "limit": {"description": "The bound; for both directions its ends."},
            "aggregate": {
                "description": "How the trials are summed up.",
                "enum": ["median", "max", "p90"],
                "default": "median",
            },
        },
        "required": ["kind", "direction"],
        "additionalProperties": false,
        "anyOf": [
            {"properties": {"tolerance": {"type": "object"}}, "required": ["tolerance"]},
            {"properties": {"limit": {"type": ["number", "object"]}}, "required": ["limit"]},
        ],
        "allOf": [
            {
                "if": {"properties": {"direction": {"const": "both"}}},
                "then": {"properties": {"limit": {"anyOf": [{"$ref": "#/$defs/range"}, {"type": "null"}]}}},
                "else": {"properties": {"limit": {"type": ["number", "null"]}}},
            },
            {
                "if": {"properties": {"direction": {"enum": ["lower", "both"]}}},
                "then": {"properties": {"aggregate": {"const": "median"}}},
            },
        ],
    })
}

fn distributional() -> Value {
    json!({
        "description": "The trials keep to the values of the baseline's sample.",
        "type": "object",
        "properties": {
            "kind": {"const": "distributional"},
            "direction": {"enum": ["upper", "lower"]},
            "coverage": open_share("The share of usual runs that lie within the bound."),
            "confidence": open_share("How sure the decision is."),
            "mode": mode(),
        },
        "required": ["kind", "direction"],
        "additionalProperties": false,
    })
}

/// What this gate has beyond the contract.
fn extension() -> Value {
    let numeric = json!({"$ref": "#/$defs/numeric"});
    json!({
        "description": "What only tracer reads.",
        "type": "object",
        "properties": {
            "inconclusive": {
                "description": "Whether a gate that cannot decide ends like one that passed or like one that failed.",
                "enum": ["pass", "fail"],
                "default": "pass",
            },
            "decision": {
                "description": "The interval behind statistical and distributional checks.",
                "enum": ["wilson", "exact"],
                "default": "wilson",
            },
            "jobs": {"description": "Trials at once.", "type": "integer", "minimum": 1, "default": 1},
            "timeout_s": {
                "description": "How long a trial may take, in seconds.",
                "type": "number",
                "exclusiveMinimum": 0,
                "default": 600,
            },
            "replay_miss": {
                "description": "What a request without a recorded answer makes of a replayed trial.",
                "enum": ["inconclusive", "fail"],
                "default": "inconclusive",
            },
            "cassette_max_age": {
                "description": "How old a cassette may be before the report warns of it: hours, days or weeks, as in 90d.",
                "type": "string",
                "pattern": "^[0-9]+[hdw]$",
            },
            "metrics": {
                "description": "More numeric metrics.",
                "type": "object",
                "properties": {
                    "llm_call_count": numeric, "error_count": numeric, "failed_call_count": numeric, "not_run_call_count": numeric, "loop_warning_count": numeric,
                    "cost_usd": numeric,
                },
                "patternProperties": {"^tool_calls\\..": numeric},
                "additionalProperties": false,
            },
            "checks": {
                "description": "More checks of every trial, against the baseline.",
                "type": "object",
                "properties": {
                    "no_new_tools": against_baseline("No trial calls a tool that no run of the baseline called."),
                    "still_called": against_baseline("Every trial calls each tool that all runs of the baseline called."),
                },
                "additionalProperties": false,
            },
            "judged_by_rate": {
                "description": "Invariants that only task_pass_rate judges: a trial may break them.",
                "type": "array",
                "items": {"type": "string", "minLength": 1},
            },
        },
        "additionalProperties": false,
    })
}
