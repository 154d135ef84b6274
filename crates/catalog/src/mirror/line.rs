//! [`MirrorLine`]: a line of facts as it comes from a bucket, checked. A bucket is as untrusted as a file from the web.

use serde::Deserialize;
use serde_json::value::RawValue;
use tracer_sdk::format::{Timestamp, TraceId};

use crate::run_row::RunRow;

/// The version of lines that this release writes; it understands those before, too.
pub const FACTS_LINE_VERSION: u32 = 2;
/// Bytes of a line: much more than the texts that facts keep.
pub const MAX_FACTS_LINE_BYTES: usize = 4 * 1024 * 1024;

/// A state of a run, as a bucket lists it.
#[derive(Debug, Clone)]
pub struct MirrorLine {
    pub(crate) trace_id: TraceId,
    pub(crate) generation: i64,
    /// `None` when it was removed.
    pub(crate) state: Option<MirroredState>,
}

/// The state of a run that was not removed.
#[derive(Debug, Clone)]
pub(crate) struct MirroredState {
    pub(crate) started: Option<Timestamp>,
    /// Its [`RunRow`] as JSON.
    pub(crate) facts: String,
    /// Its metadata as JSON.
    pub(crate) meta: Box<RawValue>,
}

/// Why a line is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// A newer release wrote it.
    #[error("is of a newer version")]
    Newer,
    /// It is no line of facts.
    #[error("is malformed")]
    Malformed,
    /// It is longer than any line of facts.
    #[error("is too large")]
    TooLarge,
}

#[derive(Deserialize)]
struct Version {
    version: u64,
}

#[derive(Deserialize)]
struct RawLine {
    version: u64,
    trace_id: String,
    generation: i64,
    #[serde(default)]
    removed: bool,
    facts: Option<Box<RawValue>>,
    /// The rest of the facts in lines of the first version.
    details: Option<Box<RawValue>>,
    meta: Option<Box<RawValue>>,
}

/// The row whose second half a line of the first version has for itself.
fn with_details(row: RunRow, details: RunRow) -> RunRow {
    RunRow {
        subtitle: details.subtitle,
        path: details.path,
        prompt: details.prompt,
        answer: details.answer,
        command: details.command,
        tags: details.tags,
        tools: details.tools,
        models: details.models,
        model_calls: details.model_calls,
        failures: details.failures,
        error: details.error,
        ..row
    }
}

impl MirrorLine {
    /// Checks a line.
    ///
    /// # Errors
    ///
    /// [`LineProblem`]: the line is to be passed over.
    pub fn parse(line: &[u8]) -> Result<Self, LineProblem> {
        if line.len() > MAX_FACTS_LINE_BYTES {
            return Err(LineProblem::TooLarge);
        }
        Self::checked(line).ok_or_else(|| match serde_json::from_slice(line) {
            Ok(Version { version }) if version > FACTS_LINE_VERSION.into() => LineProblem::Newer,
            _ => LineProblem::Malformed,
        })
    }

    fn checked(line: &[u8]) -> Option<Self> {
        let raw: RawLine = serde_json::from_slice(line).ok()?;
        if !(1..=u64::from(FACTS_LINE_VERSION)).contains(&raw.version) || raw.generation < 1 {
            return None;
        }
        let trace_id: TraceId = raw.trace_id.parse().ok()?;
        let state = if raw.removed {
            None
        } else {
            let (facts, meta) = (raw.facts?, raw.meta?);
            let mut row: RunRow = serde_json::from_str(facts.get()).ok()?;
            if raw.version == 1 {
                row = with_details(row, serde_json::from_str(raw.details?.get()).ok()?);
            }
            // Only completed runs are in a bucket; a reader cannot find out if another one is running.
            if row.is_open() || !meta.get().starts_with('{') {
                return None;
            }
            Some(MirroredState {
                started: row.started(),
                // Only checked values are kept: readers need not doubt them.
                facts: serde_json::to_string(&row).ok()?,
                meta,
            })
        };
        Some(Self {
            trace_id,
            generation: raw.generation,
            state,
        })
    }

    /// Which state of the run it is: of several lines the highest counts.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_first_version_is_read_whole() {
        let line = |version, facts: &str| {
            let id = "1".repeat(32);
            let line =
                format!(r#"{{"version":{version},"trace_id":"{id}","generation":1,"meta":{{}},{facts}}}"#);
            MirrorLine::parse(line.as_bytes()).unwrap().state.unwrap().facts
        };
        let details = r#""s":"late","p":["tool"],"q":"Go","a":"Done","c":"agent","g":{"k":"v"},"t":{"search":{"n":1}},"m":{"gpt-5":{"n":2}},"e":{"Timeout":{"n":1}},"f":"Timeout""#;
        let first = line(
            1,
            &format!(r#""facts":{{"name":"a","st":"failed"}},"details":{{{details}}}"#),
        );
        let second = line(2, &format!(r#""facts":{{"name":"a","st":"failed",{details}}}"#));
        assert_eq!(first, second);
        for part in details.split(r#"","#) {
            assert!(first.contains(part.trim_end_matches('"')), "{part}: {first}");
        }
    }
}
