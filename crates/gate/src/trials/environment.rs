//! Fingerprint of the environment of trials, for reports and baselines.

use tracer_capture::cassette::Cassette;
use tracer_insight::digest::sha256_hex;

use super::workspace::{Workspace, fingerprint};
use crate::files::BaselineInput;
use crate::{EnvironmentFingerprint, InputError};

/// The key of the kind of evidence, where that is not live trials.
const EVIDENCE: &str = "evidence";
/// Evidence of trials whose calls of models were answered from a cassette.
const REPLAYED: &str = "replayed";

/// The digest of the workspace, the platform, this program's version, and for a replay the digest of its cassette.
pub(super) fn environment(
    workspace: &Workspace,
    cassette: Option<&Cassette>,
) -> Result<EnvironmentFingerprint, InputError> {
    let digest = fingerprint(workspace)
        .map_err(|error| InputError::new(format!("failed to read the workspace: {error}")))?;
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let entries = [
        ("algorithm", "sha256"),
        ("workspace", &digest),
        ("platform", &platform),
        ("tracer", env!("CARGO_PKG_VERSION")),
    ];
    let entries = entries.into_iter();
    let mut fingerprint: EnvironmentFingerprint = entries
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    if let Some(cassette) = cassette {
        fingerprint.insert(EVIDENCE.to_owned(), REPLAYED.into());
        let digest = sha256_hex(cassette.text().as_bytes());
        fingerprint.insert("cassette".to_owned(), digest.into());
    }
    Ok(fingerprint)
}

/// Refuses a baseline of the other kind of evidence: live trials and replayed ones are never compared.
pub(super) fn refuse_other_evidence(input: &BaselineInput, is_replayed: bool) -> Result<(), InputError> {
    let fingerprint = input.baseline.environment.as_ref();
    let evidence = fingerprint.and_then(|fingerprint| fingerprint.get(EVIDENCE));
    let is_of_replay = evidence.is_some_and(|evidence| evidence == REPLAYED);
    let (trials, other) = match (is_replayed, is_of_replay) {
        (true, false) => ("replayed", "live"),
        (false, true) => ("live", "replayed"),
        _ => return Ok(()),
    };
    Err(InputError::new(format!(
        "the baseline {} is of {other} trials, and these are {trials}",
        input.path()
    ))
    .with_hint(format!(
        "compare {trials} trials with a baseline of {trials} trials: tracer baseline"
    )))
}
