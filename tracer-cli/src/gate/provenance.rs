//! Who accepts a change, and where it comes from, read from the environment.

use tracer_gate::{AcceptanceSource, PullRequest};

/// Who accepts: as `TRACER_ACCEPTED_BY` says, else the user of GitHub, else the user of this system.
pub(crate) fn accepted_by() -> String {
    [
        "TRACER_ACCEPTED_BY",
        "GITHUB_ACTOR",
        "USER",
        "LOGNAME",
        "USERNAME",
    ]
    .into_iter()
    .find_map(variable)
    .unwrap_or_else(|| "unknown".to_owned())
}

/// Where the change comes from, as far as a workflow states it.
pub(crate) fn source() -> AcceptanceSource {
    let repository = variable("GITHUB_REPOSITORY");
    let number = variable("TRACER_PR_NUMBER").and_then(|text| text.parse().ok());
    let pull_request = number
        .filter(|number| *number > 0)
        .map(|number: u64| PullRequest {
            number,
            url: repository
                .as_ref()
                .zip(variable("GITHUB_SERVER_URL"))
                .map(|(repository, server)| format!("{server}/{repository}/pull/{number}")),
        });
    AcceptanceSource {
        repository,
        pull_request,
        commit_sha: variable("TRACER_EXPECTED_HEAD_SHA"),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
