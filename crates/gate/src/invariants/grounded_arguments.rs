//! `grounded_arguments`: the arguments of a tool come from an input of the run, and no model made them up.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;
use tracer_insight::json_pointer::JsonPointer;
use tracer_insight::lineage::{LineageReader, LineageVerdict};

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

pub(super) const SPEC: InvariantSpec =
    InvariantSpec::new::<GroundedArguments>("grounded_arguments").labelled();

impl GroundedArguments {
    /// Verdict on the origin of a value of the call that is the record at `place`.
    fn verdict(run: &RunContent<'_>, place: usize, value: &Value) -> LineageVerdict {
        if is_altered(value) || value.is_object() || value.is_array() {
            return LineageVerdict::NotFound;
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut reader = LineageReader::new(&text);
        let records = run.records.iter().zip(run.attributes).take(place + 1);
        for (step, (record, attributes)) in records.enumerate() {
            reader.take(step, record, attributes);
        }
        reader.finish(run.meta.trace_id, Some(place)).verdict
    }
}

impl Invariant for GroundedArguments {
    fn needs_content(&self) -> bool {
        true
    }

    fn content_finding(&self, run: &RunContent<'_>) -> Finding {
        let (tool, path) = (&self.tool, &self.path);
        let mut has_values = false;
        let judged = run.calls_of(tool).map(|(place, args)| {
            let args = parsed(args);
            let values = path.select(&args);
            has_values |= !values.is_empty();
            if args.is_null() || values.is_empty() && is_altered(&args) {
                return Finding::of_altered_arguments();
            }
            let values = values.into_iter().filter(|value| !value.is_null());
            Finding::worst(values.map(|value| match Self::verdict(run, place, value) {
                LineageVerdict::Found => Finding::kept(),
                LineageVerdict::MadeUp => Finding::broken(format!("{path} is in no input before it")),
                _ => Finding::unknown(format!("no source of {path} is certain")),
            }))
        });
        let judged: Vec<Finding> = judged.collect();
        let is_absent = !judged.is_empty() && !has_values;
        let finding = run.finding_on_calls(tool, judged);
        if is_absent && finding.outcome == Some(true) {
            return Finding::unknown(format!("no call of {tool} has {path}"));
        }
        finding
    }

    fn description(&self) -> String {
        format!("{} of all calls of {} comes from an input", self.path, self.tool)
    }
}
