//! Where the trials ran, for the report and the baselines made from it.

use tracer_gate::EnvironmentFingerprint;

use crate::error::CliError;
use tracer_gate::trials::{self, Workspace};

/// The digest of the workspace, the platform, and this program's version.
pub(super) fn fingerprint(workspace: &Workspace) -> Result<EnvironmentFingerprint, CliError> {
    let digest = trials::fingerprint(workspace)
        .map_err(|error| CliError::input(format!("the workspace cannot be read: {error}")))?;
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let told = [
        ("algorithm", "sha256"),
        ("workspace", &digest),
        ("platform", &platform),
        ("tracer", env!("CARGO_PKG_VERSION")),
    ];
    Ok(told
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect())
}
