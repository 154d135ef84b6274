//! `grounded_arguments`: the arguments of a tool come from an input of the run, and no model made them up.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;
use tracer_insight::json_pointer::JsonPointer;
use tracer_insight::lineage::{LineageReader, LineageVerdict};
use tracer_sdk::format::Payload;

use super::{Invariant, InvariantSpec};
use crate::content::{Finding, RunContent, is_altered, parsed};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct GroundedArguments {
    /// The tool.
    #[schemars(length(min = 1))]
    tool: String,
    /// Argument, or JSON Pointer to it, with `*` for every item: `order_id`, `/items/*/id`.
    #[serde(deserialize_with = "path")]
    #[schemars(with = "String")]
    path: JsonPointer,
}

fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<JsonPointer, D::Error> {
    let path = String::deserialize(deserializer)?;
    let pointer = if path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    };
    JsonPointer::parse(&pointer)
        .filter(|_| pointer.len() > 1)
        .ok_or_else(|| D::Error::custom("must name an argument"))
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::of_content::<GroundedArguments>("grounded_arguments");

impl GroundedArguments {
    /// Verdict on the origin of a value of the call that is the record at `place`.
    fn verdict(run: &RunContent<'_>, place: usize, value: &Value) -> LineageVerdict {
        if is_altered(value) || value.is_object() || value.is_array() {
            return LineageVerdict::NotFound;
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut reader = LineageReader::new(&text);
        let until = run.records.iter().take(place + 1);
        until
            .enumerate()
            .for_each(|(step, record)| reader.take(step, record));
        reader.finish(run.meta.trace_id, Some(place)).verdict
    }
}

impl Invariant for GroundedArguments {
    fn needs_content(&self) -> bool {
        true
    }

    fn finding(&self, run: &RunContent<'_>) -> Option<Finding> {
        let (tool, path) = (&self.tool, &self.path);
        let calls = run
            .records
            .iter()
            .enumerate()
            .filter(|(_, record)| !record.is_leftover());
        let calls = calls.filter_map(|(place, record)| match &record.payload {
            Payload::ToolCall { tool_name, args, .. } if tool_name == tool => Some((place, args)),
            _ => None,
        });
        let (mut unknown, mut seen, mut has_values) = (None, 0, false);
        for (call, (place, args)) in (1..).zip(calls) {
            seen = call;
            let args = parsed(args);
            let values = path.select(&args);
            has_values |= !values.is_empty();
            if args.is_null() || values.is_empty() && is_altered(&args) {
                unknown.get_or_insert_with(|| {
                    format!("the arguments of call {call} of {tool} were not recorded in full")
                });
            }
            for value in values.into_iter().filter(|value| !value.is_null()) {
                match Self::verdict(run, place, value) {
                    LineageVerdict::Found => {}
                    LineageVerdict::MadeUp => {
                        return Some(Finding::broken(format!(
                            "call {call} of {tool}: {path} is in no input before it"
                        )));
                    }
                    _ => {
                        unknown.get_or_insert_with(|| {
                            format!("call {call} of {tool}: no source of {path} is certain")
                        });
                    }
                }
            }
        }
        let absent = || (seen > 0 && !has_values).then(|| format!("no call of {tool} has {path}"));
        let is_lost = run.may_lack_calls(tool, seen);
        let lost = || is_lost.then(|| format!("calls of {tool} may be missing from the trace"));
        Some(
            unknown
                .or_else(absent)
                .or_else(lost)
                .map_or_else(Finding::kept, Finding::unknown),
        )
    }

    fn description(&self) -> String {
        format!("{} of all calls of {} comes from an input", self.path, self.tool)
    }
}
