//! Fingerprint of the environment of the trials, for reports and baselines.

use tracer_gate::EnvironmentFingerprint;

use crate::error::CliError;
use tracer_gate::trials::{self, Workspace};

/// The digest of the workspace, the platform, and this program's version.
pub(super) fn fingerprint(workspace: &Workspace) -> Result<EnvironmentFingerprint, CliError> {
    let digest = trials::fingerprint(workspace)
        .map_err(|error| CliError::input("failed to read the workspace").with_source(error))?;
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let entries = [
        ("algorithm", "sha256"),
        ("workspace", &digest),
        ("platform", &platform),
        ("tracer", env!("CARGO_PKG_VERSION")),
    ];
    Ok(entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect())
}
