//! [`MirrorLine`]: a line of facts as it comes from a bucket, checked. A bucket is as untrusted as a file from the web.

use serde::Deserialize;
use serde_json::value::RawValue;
use tracer_sdk::format::TraceId;

use crate::database::FactsTexts;
use crate::run_facts::{RunDetails, RunFacts};

/// The version of lines that this release writes and understands.
pub const FACTS_LINE_VERSION: u32 = 1;
/// Bytes of a line: much more than the texts that facts keep.
pub const MAX_FACTS_LINE_BYTES: usize = 4 * 1024 * 1024;

/// A state of a run, as a bucket lists it.
///
/// ```
/// use tracer_catalog::{LineProblem, MirrorLine};
///
/// let removed = br#"{"version":1,"trace_id":"10000000000000000000000000000001","generation":2,"removed":true}"#;
/// assert_eq!(MirrorLine::parse(removed)?.generation(), 2);
/// assert_eq!(MirrorLine::parse(b"{").unwrap_err(), LineProblem::Malformed);
/// assert_eq!(MirrorLine::parse(br#"{"version":2}"#).unwrap_err(), LineProblem::Newer);
/// # Ok::<(), LineProblem>(())
/// ```
#[derive(Debug, Clone)]
pub struct MirrorLine {
    pub(crate) trace_id: TraceId,
    pub(crate) generation: i64,
    /// The facts and details of the run; `None` when it was removed.
    pub(crate) state: Option<FactsTexts>,
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
    details: Option<Box<RawValue>>,
    meta: Option<Box<RawValue>>,
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
        if raw.version != u64::from(FACTS_LINE_VERSION) || raw.generation < 1 {
            return None;
        }
        let trace_id: TraceId = raw.trace_id.parse().ok()?;
        let state = if raw.removed {
            None
        } else {
            let (facts, details, meta) = (raw.facts?, raw.details?, raw.meta?);
            // What is kept is what was checked here: readers need not doubt it.
            let known: RunFacts = serde_json::from_str(facts.get()).ok()?;
            let _: RunDetails = serde_json::from_str(details.get()).ok()?;
            // Only completed runs are in a bucket; a reader cannot find out if another one is running.
            if known.is_open() || !meta.get().starts_with('{') {
                return None;
            }
            Some(FactsTexts {
                known,
                facts,
                details,
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
