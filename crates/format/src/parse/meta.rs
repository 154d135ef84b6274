//! From the bytes of `meta.json` to what they say and what is wrong with them (specification, *meta.json*; decisions,
//! section 10).

use serde_json::{Map, Value};

use super::fields::{self, Fields, Location};
use super::json;
use crate::version::{self, Support};
use crate::{Counts, Problem, ProblemCode, RecordedStatus, RunMeta, SPEC_VERSION, TraceId};

#[cfg(test)]
mod tests;

/// The largest `meta.json` that is read, in bytes: it is a page of text, and one that is not must not fill the memory.
pub const MAX_META_BYTES: u64 = 16 * 1024 * 1024;

/// Result of reading a `meta.json`.
#[derive(Debug, Default, PartialEq)]
pub struct MetaReading {
    /// The metadata, when every field can be read.
    pub meta: Option<RunMeta>,
    /// The run's ID, when it can be read.
    pub trace_id: Option<TraceId>,
    /// The declared version, when it looks like one.
    pub spec_version: Option<String>,
    /// The status, when it can be read.
    pub status: Option<RecordedStatus>,
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
}

impl MetaReading {
    /// The result for a file without any readable field.
    pub fn nothing(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
            ..Self::default()
        }
    }

    /// Returns whether the file declares a version that this reader does not support.
    pub fn is_unsupported(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.code == ProblemCode::UnsupportedVersion)
    }
}

/// Reads the content of a `meta.json`.
///
/// A version that is not supported is then the only problem: the fields of another version cannot be judged.
pub fn read_meta(bytes: &[u8]) -> MetaReading {
    let object = match json::parse(bytes) {
        Ok(Some(Value::Object(object))) => object,
        Ok(_) => return MetaReading::nothing(Location::Meta.not_an_object()),
        Err(error) => {
            return MetaReading::nothing(
                Location::Meta.problem(ProblemCode::MalformedJson, error.to_string()),
            );
        }
    };
    let mut reading = MetaReading::default();
    let mut problems = Vec::new();
    reading.meta = read_fields(object, &mut reading, &mut problems);
    reading.problems = problems;
    if reading.is_unsupported() {
        reading
            .problems
            .retain(|problem| problem.code == ProblemCode::UnsupportedVersion);
        reading.meta = None;
    }
    reading
}

/// Reads every field, so that every problem is listed; a run with problems keeps its readable fields in `reading`.
fn read_fields(
    object: Map<String, Value>,
    reading: &mut MetaReading,
    problems: &mut Vec<Problem>,
) -> Option<RunMeta> {
    let mut fields = Fields::new(object, Location::Meta, problems);
    let spec_version = fields.read_optional("spec_version", fields::owned_text);
    let trace_id = fields.read("trace_id", fields::id(TraceId::LENGTH));
    let run_name = fields.read("run_name", |value| fields::or_null(value, fields::owned_text));
    let started_at = fields.read("started_at", fields::stored_time);
    let ended_at = fields.read("ended_at", |value| fields::or_null(value, fields::stored_time));
    let duration_ms = fields.read("duration_ms", |value| fields::or_null(value, fields::duration));
    let status = fields.read(
        "status",
        fields::word(RecordedStatus::from_word, "running, ok, error"),
    );
    let counts = fields.read_object("counts");
    let additional = fields.rest();
    let counts = counts.and_then(|object| read_counts(object, problems));

    let declared = spec_version.as_ref().and_then(Option::as_deref);
    if version::support(declared) == Support::Unsupported {
        problems.push(unsupported(declared.unwrap_or_default()));
    }
    reading.trace_id = trace_id;
    reading.status = status;
    reading.spec_version = declared
        .filter(|version| looks_like_a_version(version))
        .map(str::to_owned);
    Some(RunMeta {
        spec_version: spec_version?,
        trace_id: trace_id?,
        run_name: run_name?,
        started_at: started_at?,
        ended_at: ended_at?,
        duration_ms: duration_ms?,
        status: status?,
        counts: counts?,
        additional,
    })
}

fn read_counts(object: Map<String, Value>, problems: &mut Vec<Problem>) -> Option<Counts> {
    let mut fields = Fields::new(object, Location::Counts, problems);
    let llm_calls = fields.read("llm_calls", fields::whole_number);
    let tool_calls = fields.read("tool_calls", fields::whole_number);
    let errors = fields.read("errors", fields::whole_number);
    let loop_warnings = fields.read("loop_warnings", fields::whole_number);
    Some(Counts {
        llm_calls: llm_calls?,
        tool_calls: tool_calls?,
        errors: errors?,
        loop_warnings: loop_warnings?,
    })
}

fn unsupported(declared: &str) -> Problem {
    // The one value of a file that a message may hold, and only when it cannot be anything else.
    let named = if looks_like_a_version(declared) {
        format!("version {declared}")
    } else {
        "this version".to_owned()
    };
    Location::Meta.field_problem(
        "spec_version",
        ProblemCode::UnsupportedVersion,
        format!("{named} is not supported; this reader understands {SPEC_VERSION} and later 0.2.x: use a newer tracer, or \
             record the run again"),
    )
}

/// Digits and dots, and short: what may be repeated in a message.
fn looks_like_a_version(text: &str) -> bool {
    text.len() <= 16
        && text
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
