//! Causes in a program that runs under observation: its layer writes what it sees into a file.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::process::Command;

use serde::Deserialize;

use crate::cause::Cause;

/// The variable that names the file for the layer.
const VARIABLE: &str = "TRACER_DOCTOR";

/// Reports of the layer, one line each.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LayerObservation {
    what: String,
    is_span: bool,
    target: String,
    is_recorded: bool,
    max_level: String,
    static_max_level: String,
}

/// Why a program could not be observed.
#[derive(Debug, thiserror::Error)]
pub enum NotObserved {
    /// It does not start.
    #[error("failed to start `{0}`")]
    Start(String, #[source] io::Error),
    /// Nothing can be written or read for its report.
    #[error("failed to read what the program reported")]
    Report(#[source] io::Error),
}

/// Runs the command and concludes from what its layer saw.
pub(super) fn causes(program: &str, arguments: &[String]) -> Result<Vec<Cause>, NotObserved> {
    let file = tempfile::NamedTempFile::new().map_err(NotObserved::Report)?;
    Command::new(program)
        .args(arguments)
        .env(VARIABLE, file.path())
        .status()
        .map_err(|error| NotObserved::Start(program.to_owned(), error))?;
    let report = fs::read_to_string(file.path()).map_err(NotObserved::Report)?;
    let observations: Vec<LayerObservation> = report
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    Ok(conclude(&observations))
}

fn conclude(observations: &[LayerObservation]) -> Vec<Cause> {
    let seen = |what: &str| observations.iter().any(|observation| observation.what == what);
    let one = |code, message: &str, remedy: &str| vec![Cause::new(code, message, remedy)];
    if !seen("layer_made") {
        return one(
            "layer_not_made",
            "the program made no layer",
            "add `.with(tracer_sdk::layer())` to its `tracing_subscriber::registry()`, or record it as it is: tracer record -- COMMAND",
        );
    }
    // An optional layer gets no callback when it is installed; only an installed one is queried for its interest.
    if !["layer_installed", "callsite", "span"].into_iter().any(seen) {
        return one(
            "layer_not_installed",
            "the program made a layer, and no subscriber has it: a second `init()` fails",
            "add it to the subscriber that is installed first",
        );
    }
    if seen("recording_off") {
        return one(
            "recording_off",
            "recording is off in the program",
            "remove `Config::enabled(false)`, and `enabled` from its settings",
        );
    }
    let level = observations
        .iter()
        .find(|observation| observation.what == "layer_made")
        .map_or("", |observation| observation.static_max_level.as_str());
    if ["off", "error", "warn"].contains(&level) {
        return vec![Cause::new(
            "spans_compiled_out",
            format!("the program is built with the level {level} at most, and spans of agents are at info"),
            "remove the feature `max_level_*` or `release_max_level_*` of tracing",
        )];
    }
    let spans = || {
        observations
            .iter()
            .filter(|observation| observation.what == "span")
    };
    if spans().next().is_none() {
        let callsites: BTreeSet<&str> = observations
            .iter()
            .filter(|observation| observation.what == "callsite" && observation.is_span)
            .map(|observation| observation.target.as_str())
            .collect();
        if callsites.is_empty() {
            return one(
                "no_agent_span",
                "the layer is installed, and no library reported an agent, a model call or a tool call",
                "does the program call a model? Record it as it is: tracer record -- COMMAND",
            );
        }
        let targets: Vec<&str> = callsites.into_iter().take(3).collect();
        return vec![Cause::new(
            "filtered_out",
            format!(
                "spans of {} are disabled before the layer sees them",
                targets.join(", ")
            ),
            "a filter in front hides them: give each layer its own, `fmt::layer().with_filter(filter)`",
        )];
    }
    if spans().all(|span| !span.is_recorded) {
        return one(
            "no_run",
            "agents were seen, and none of their spans belongs to a run",
            "with RunOn::Marked a span needs the field `tracer.run`; or start a run: tracer_sdk::traced_run",
        );
    }
    let is_rig = spans().any(|span| span.target.starts_with("rig"));
    let hides_bodies = spans().any(|span| !span.max_level.is_empty() && span.max_level != "trace");
    if is_rig && (hides_bodies || level != "trace") {
        return one(
            "bodies_hidden",
            "rig logs requests and replies at TRACE, which a filter or the build hides: prompts and answers are missing",
            "give filters to the layers that they are for, or call `.record_content_telemetry(true)` on the agent",
        );
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(lines: &[&str]) -> Vec<&'static str> {
        let observations: Vec<LayerObservation> = lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap_or_default())
            .collect();
        conclude(&observations).iter().map(|cause| cause.code).collect()
    }

    const MADE: &str = r#"{"what":"layer_made","static_max_level":"trace"}"#;
    const INSTALLED: &str = r#"{"what":"layer_installed"}"#;
    const CALLSITE: &str = r#"{"what":"callsite","is_span":true,"target":"rig::agent_chat"}"#;
    const SPAN: &str = r#"{"what":"span","target":"rig::agent_chat","is_recorded":true,"max_level":"trace"}"#;

    #[test]
    fn a_healthy_program_has_no_cause() {
        assert!(codes(&[MADE, INSTALLED, CALLSITE, SPAN]).is_empty());
        // As with `.with(enabled.then(tracer_sdk::layer))`.
        assert!(codes(&[MADE, CALLSITE, SPAN]).is_empty());
    }

    #[test]
    fn each_planted_cause_is_named() {
        let lost = SPAN.replace("true", "false");
        let hidden = SPAN.replace("\"trace\"", "\"info\"");
        let compiled_out = MADE.replace("\"trace\"", "\"warn\"");
        for (lines, expected) in [
            (vec![], "layer_not_made"),
            (vec![MADE], "layer_not_installed"),
            (
                vec![MADE, INSTALLED, r#"{"what":"recording_off"}"#],
                "recording_off",
            ),
            (vec![compiled_out.as_str(), INSTALLED], "spans_compiled_out"),
            (vec![MADE, INSTALLED], "no_agent_span"),
            (vec![MADE, INSTALLED, CALLSITE], "filtered_out"),
            (vec![MADE, INSTALLED, CALLSITE, lost.as_str()], "no_run"),
            (vec![MADE, INSTALLED, CALLSITE, hidden.as_str()], "bodies_hidden"),
        ] {
            assert_eq!(codes(&lines), [expected]);
        }
    }
}
