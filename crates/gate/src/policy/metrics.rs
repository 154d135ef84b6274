//! Table of the metrics of a policy: their kinds, the keys of each kind, and their schema.

use crate::CheckKind as Kind;
use tracer_insight::profile::Metric;

/// The rate of successful trials.
pub(super) const RATE: &str = "task_pass_rate";

/// Properties of one trial; every numeric [`Metric`] is a metric of a policy, too.
const INVARIANTS: [&str; 7] = [
    "stop_condition_reached",
    "forbidden_tools",
    "required_tools",
    "no_loops",
    "no_guardrails",
    "no_new_tools",
    "still_called",
];

/// The kinds that a metric can have; none where there is no such metric.
pub(super) fn kinds_of(metric: &str) -> &'static [Kind] {
    if INVARIANTS.contains(&metric) {
        &[Kind::Invariant]
    } else if metric == RATE {
        &[Kind::Statistical]
    } else if Metric::from_name(metric).is_some() {
        &[Kind::Measured, Kind::Distributional]
    } else {
        &[]
    }
}

/// The names of all metrics, for a hint.
pub(super) fn names() -> Vec<String> {
    let numbers = Metric::RECORDED.iter().map(ToString::to_string);
    let invariants = INVARIANTS.iter().map(ToString::to_string);
    let others = [RATE.to_owned(), "tool_calls.<tool>".to_owned()];
    invariants.chain(numbers).chain(others).collect()
}

/// The keys that a kind needs and those that it may have, beside `kind`.
pub(super) const fn keys_of(metric: &str, kind: Kind) -> (&'static [&'static str], &'static [&'static str]) {
    match (kind, metric.as_bytes()) {
        (Kind::Invariant, b"forbidden_tools") => (&["none_of"], &[]),
        (Kind::Invariant, b"required_tools") => (&["all_of"], &[]),
        (Kind::Invariant, b"no_new_tools" | b"still_called") => (&[], &["allow"]),
        (Kind::Invariant, b"no_loops") => (&[], &["require", "shape"]),
        (Kind::Invariant, _) => (&[], &["require"]),
        (Kind::Measured, _) => (&["direction"], &["tolerance", "limit", "aggregate"]),
        (Kind::Distributional, _) => (&["direction"], &["coverage", "confidence", "mode"]),
        (Kind::Statistical, _) => (
            &["direction", "threshold"],
            &["confidence", "mode", "success_predicate"],
        ),
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Map, Value, json};

    use super::{INVARIANTS, Kind, Metric, RATE, keys_of, kinds_of};
    use crate::policy::Policy;
    use crate::policy::file::{Demand, PolicyFile};

    /// The schema is for editors: it leaves to the reader what depends on several keys at once.
    impl JsonSchema for Policy {
        fn schema_name() -> Cow<'static, str> {
            "Policy".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            PolicyFile::json_schema(generator)
        }
    }

    pub(in crate::policy) fn version(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": [2, 2.1, "2", "2.0", "2.1"]})
    }

    /// The mapping of metrics, by the tables above.
    pub(in crate::policy) fn metrics(generator: &mut SchemaGenerator) -> Schema {
        let keys = Demand::json_schema(generator);
        let keys = keys.get("properties").and_then(Value::as_object);
        let keys = keys.cloned().unwrap_or_default();
        let number = metric("tool_calls.x", &keys);
        generator.definitions_mut().insert("Number".to_owned(), number);
        let number = json!({"$ref": "#/$defs/Number"});
        let numbers = Metric::RECORDED.map(|metric| (metric.to_string(), number.clone()));
        let others = INVARIANTS.iter().copied().chain([RATE]);
        let others = others.map(|name| (name.to_owned(), metric(name, &keys)));
        let properties: Map<String, Value> = others.chain(numbers).collect();
        json_schema!({
            "type": "object",
            "properties": properties,
            "patternProperties": {"^tool_calls\\..": number},
            "additionalProperties": false,
        })
    }

    fn metric(name: &str, keys: &Map<String, Value>) -> Value {
        let kinds = kinds_of(name);
        let of_kind = |kind: &Kind| {
            let (required, optional) = keys_of(name, *kind);
            let own = required.iter().chain(optional);
            let mut properties: Map<String, Value> = own
                .filter_map(|key| Some(((*key).to_owned(), keys.get(*key)?.clone())))
                .collect();
            properties.insert("kind".to_owned(), json!({"const": kind}));
            let mut required = required.to_vec();
            if kinds.len() > 1 {
                required.push("kind");
            }
            json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            })
        };
        match kinds {
            [kind] => of_kind(kind),
            _ => json!({"oneOf": kinds.iter().map(of_kind).collect::<Vec<_>>()}),
        }
    }
}

#[cfg(feature = "schema")]
pub(super) use schema::{metrics as schema, version as version_schema};
