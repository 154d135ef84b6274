//! Who accepted a change of behaviour, when and why (gate-contract, section 9).

use serde::{Deserialize, Serialize};

/// The block of a baseline that records who accepted it.
///
/// ```
/// use tracer_gate::{Acceptance, AcceptanceSource, AcceptanceVerdict, PreviousBaseline};
///
/// let acceptance = Acceptance {
///     accepted_at: "2026-01-01T00:00:00.000Z".to_owned(),
///     accepted_by: "ada".to_owned(),
///     reason: "the agent looks twice now".to_owned(),
///     tracer_version: "0.1.0".to_owned(),
///     source_run_id: "10000000000000000000000000000001".to_owned(),
///     source: AcceptanceSource::default(),
///     verdict: AcceptanceVerdict { outcome: "accepted".to_owned(), summary: String::new() },
///     previous_baseline: None::<PreviousBaseline>,
/// };
/// assert_eq!(serde_json::to_value(&acceptance)?["accepted_by"], "ada");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Acceptance {
    /// When, in UTC.
    pub accepted_at: String,
    /// Who.
    pub accepted_by: String,
    /// Why.
    pub reason: String,
    /// The version of the program that wrote it.
    #[serde(alias = "maida_version")]
    pub tracer_version: String,
    /// The first run of the sample.
    pub source_run_id: String,
    /// Where the change comes from.
    pub source: AcceptanceSource,
    /// What was decided.
    pub verdict: AcceptanceVerdict,
    /// The baseline that this one replaced.
    pub previous_baseline: Option<PreviousBaseline>,
}

/// Where an accepted change comes from.
///
/// ```
/// use tracer_gate::AcceptanceSource;
///
/// assert_eq!(AcceptanceSource::default().repository, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceptanceSource {
    /// The repository, `owner/name`.
    pub repository: Option<String>,
    /// The pull request.
    pub pull_request: Option<PullRequest>,
    /// The commit.
    pub commit_sha: Option<String>,
}

/// A pull request.
///
/// ```
/// use tracer_gate::PullRequest;
///
/// let request = PullRequest { number: 7, url: None };
/// assert_eq!(serde_json::to_string(&request)?, r#"{"number":7,"url":null}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: Option<String>,
}

/// What was decided when a change was accepted.
///
/// ```
/// use tracer_gate::AcceptanceVerdict;
///
/// let verdict = AcceptanceVerdict { outcome: "accepted".to_owned(), summary: "1 tool added".to_owned() };
/// assert_eq!(verdict.outcome, "accepted");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceptanceVerdict {
    /// `accepted`.
    pub outcome: String,
    /// What changed, in a sentence.
    pub summary: String,
}

/// The baseline that an accepted one replaced.
///
/// ```
/// use tracer_gate::PreviousBaseline;
/// use tracer_insight::digest::sha256_hex;
///
/// let previous = PreviousBaseline {
///     path: ".tracer/baselines/agent.json".to_owned(),
///     source_run_id: "10000000000000000000000000000001".to_owned(),
///     created_at: None,
///     schema_version: Some("0.3.1".to_owned()),
///     sha256: sha256_hex(b"the file"),
/// };
/// assert_eq!(previous.sha256.len(), 64);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PreviousBaseline {
    /// Where it stood.
    pub path: String,
    /// Its first run.
    pub source_run_id: String,
    /// When it was made.
    pub created_at: Option<String>,
    /// The version of its form.
    pub schema_version: Option<String>,
    /// The SHA-256 digest of the file.
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::super::schema::sha256"))]
    pub sha256: String,
}
