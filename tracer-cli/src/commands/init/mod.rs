//! `tracer init`: writes a starter policy, and a GitHub Actions workflow that uses it.

use std::path::Path;

use crate::commands::run_selection;
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::output_file::{self, NewFileError};
use crate::session::Session;
use serde_json::json;
use tracer_gate::draft::{self, DraftedCheck};
use tracer_gate::files;
use tracer_gate::formats::markdown::MARKER;
use tracer_insight::profile::{Metric, RunProfile};
use tracer_insight::text::{counted, shell_quoted};
use tracer_runs::{RunReader, RunStatus, RunStore, Strictness};
use tracer_sdk::format::Payload;

const POLICY: &str = include_str!("policy.yaml");
const WORKFLOW_FILE: &str = ".github/workflows/tracer.yml";
const WORKFLOW: &str = include_str!("workflow.yml");
/// Command of the workflow when none is given.
const COMMAND: &str = "target/release/agent";

/// Options of `tracer init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer init --github")]
pub struct Args {
    /// Also write a workflow for GitHub Actions
    #[arg(long)]
    github: bool,

    /// Draft the policy from the completed runs that match QUERY: limits above what was seen, tools that every run called
    #[arg(long, value_name = "QUERY")]
    from: Option<String>,

    /// Proceed although the files exist: replace them
    #[arg(long)]
    force: bool,

    /// Command that the workflow gates [default: target/release/agent]
    #[arg(last = true, value_name = "COMMAND", requires = "github")]
    command: Vec<String>,
}

/// Writes the files that do not exist yet.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.command.iter().any(|word| word.contains(char::is_control)) {
        return Err(
            CliError::input("the command contains a line break or another control character")
                .with_hint("move the command into a script, and give the script"),
        );
    }
    let (mut recorded, mut are_captured) = recorded_metrics(session);
    let drafted = args
        .from
        .as_deref()
        .map(|query| drafted(query, session))
        .transpose()?;
    let drafted = drafted.map(|(policy, is_captured)| {
        recorded.clear();
        are_captured = is_captured;
        policy
    });
    let policy = drafted.unwrap_or_else(|| starter(&recorded));
    let mut files = vec![(files::POLICY_FILE, policy)];
    if args.github {
        files.push((WORKFLOW_FILE, workflow(&args.command)));
    }
    let (kept, missing): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|(path, _)| !args.force && files::is_there(Path::new(path)));
    if missing.is_empty()
        && let Some((path, _)) = kept.first()
    {
        return Err(NewFileError::exists(path).into());
    }
    for (path, text) in missing {
        output_file::write_in_project(Path::new(path), args.force, text.as_bytes())?;
        session.ui.done(format!("wrote {path}"))?;
    }
    let kept_policy = kept.iter().find(|(path, _)| *path == files::POLICY_FILE).cloned();
    for (path, _) in kept {
        session.ui.remark(format!("kept {path}: it exists already"));
    }
    if args.github {
        let message = format!(
            "  set TRACER_GIT and TRACER_REV in {WORKFLOW_FILE}: the repository and commit to build tracer from"
        );
        session.ui.warn(message);
    }
    if !recorded.is_empty() && kept_policy.is_none() {
        let metrics: Vec<&str> = recorded.iter().map(|(metric, _)| *metric).collect();
        let metrics = metrics.join(" and ");
        session
            .ui
            .remark(format!("turned on what the runs here recorded: {metrics}"));
    }
    let capture = if are_captured { " --capture" } else { "" };
    print_next(capture, &shell_words(&args.command), session);
    Ok(CommandOutcome::Done)
}

/// A policy that the matching runs keep, and `true` when `tracer` recorded the newest of them from outside.
fn drafted(query: &str, session: &mut Session) -> Result<(String, bool), CliError> {
    let runs = run_selection::completed(query, session, |run, _, _| {
        let start = run.run.records.clone().next().and_then(Result::ok);
        Ok((
            run.metrics,
            start.is_some_and(|start| is_captured(&start.payload)),
        ))
    })?;
    let newest_is_captured = runs.first().is_some_and(|(_, is_captured)| *is_captured);
    let profiles: Vec<RunProfile> = runs.into_iter().map(|(metrics, _)| metrics).collect();
    let heading = format!(
        "Drafted by `tracer init` from {}. All keys and their meaning: docs/policy.md in tracer's repository.",
        counted(profiles.len() as u64, "run")
    );
    let limits = "A limit is half as much again as the most that was seen: tighten what matters, remove what does not.";
    let checks = draft::what_is_usual(&profiles);
    if checks.is_empty() {
        return Err(
            CliError::input("the runs have nothing in common that a policy could demand")
                .with_hint("choose runs that ended well: --from 'status:ok'"),
        );
    }
    let policy = draft::policy_text(&[&heading, limits], 3, &checks);
    Ok((policy, newest_is_captured))
}

/// The runs, the newest ones, that say what a policy can gate on.
const MAX_RUNS: usize = 5;

/// The metrics that the newest runs recorded, of those that a policy begins without: numbers that are not known would leave the gate
/// undecided; and `true` when `tracer` recorded the newest run from outside, as `--capture` does: an agent that records itself names
/// its language.
fn recorded_metrics(session: &Session) -> (Vec<(&'static str, f64)>, bool) {
    let Ok(data_dir) = session.data_dir() else {
        return (Vec::new(), false);
    };
    let runs = RunStore::new(&data_dir).list().unwrap_or_default();
    let whole = runs.iter().filter(|run| run.status() == RunStatus::Ok);
    let mut are_captured = None;
    let profiles: Vec<RunProfile> = whole
        .take(MAX_RUNS)
        .filter_map(|run| {
            let run = RunReader::open(&run.directory.path, Strictness::Lenient).ok()?;
            if let Some(Ok(start)) = run.records.clone().next() {
                are_captured.get_or_insert(is_captured(&start.payload));
            }
            RunProfile::read(run.require_meta().ok()?, run.records.clone()).ok()
        })
        .collect();
    // The largest value; nothing where one is not known.
    let most = |metric: &Metric| {
        let values: Option<Vec<f64>> = profiles.iter().map(|run| run.value(metric)).collect();
        values?.into_iter().reduce(f64::max).filter(|most| *most > 0.0)
    };
    let metrics = RECORDED
        .into_iter()
        .filter_map(|(name, ..)| Some((name, most(&Metric::from_name(name)?)?)))
        .collect();
    (metrics, are_captured.unwrap_or(false))
}

fn is_captured(start: &Payload) -> bool {
    matches!(
        start,
        Payload::RunStart {
            python_version: None,
            ..
        }
    )
}

/// Metrics that a policy demands only of agents that record them, each with its least limit.
const RECORDED: [(&str, f64, &str); 2] = [
    ("tool_call_count", 200.0, "Tool calls, likewise."),
    (
        "cost_tokens",
        50_000.0,
        "Tokens, likewise; where a model call does not say what it used, the gate cannot pass this check.",
    ),
];

/// The starter policy. What the runs here recorded is gated on, with a limit of at least four times the most of it; the
/// rest is a comment.
fn starter(recorded: &[(&str, f64)]) -> String {
    let check = |(metric, limit, reason): (&str, f64, &str)| {
        let most = recorded.iter().find(|(other, _)| *other == metric);
        let limit = most.map_or(limit, |(_, most)| limit.max(4.0 * most));
        let keys = json!({
            "kind": "measured", "direction": "upper", "tolerance": {"relative": 0.5}, "limit": limit,
        });
        let check = DraftedCheck::new(metric, keys, reason);
        match most {
            Some(_) => check.text(),
            None => format!(
                "{}  # Uncomment to gate on it:\n  # {}\n",
                check.reason_text(),
                check.line()
            ),
        }
    };
    POLICY.replace("@RECORDED@", &RECORDED.map(check).join("\n"))
}

fn print_next(capture: &str, command: &str, session: &mut Session) {
    for (what, next) in [
        ("gate your agent:", format!("run{capture} -- {command}")),
        (
            "write a baseline:",
            format!("run{capture} --json-out report.json -- {command}"),
        ),
        (
            "",
            "baseline --from-report report.json --out .tracer/baselines/agent.json".to_owned(),
        ),
        (
            "compare with it:",
            format!("run{capture} --baseline .tracer/baselines/agent.json -- {command}"),
        ),
    ] {
        session.print_next(&format!("{what:26}"), &next);
    }
}

/// The workflow for a command.
fn workflow(command: &[String]) -> String {
    WORKFLOW
        .replace("@COMMAND@", &shell_words(command))
        .replace("@MARKER@", MARKER)
}

/// The command, quoted for a shell.
fn shell_words(command: &[String]) -> String {
    if command.is_empty() {
        return COMMAND.to_owned();
    }
    let words: Vec<String> = command.iter().map(|word| shell_quoted(word)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use tracer_gate::policy::{Overrides, Policy};

    use super::*;

    #[test]
    fn what_runs_recorded_is_gated_on_and_the_rest_is_a_comment() {
        let policy = |recorded: &[(&str, f64)]| {
            let text = starter(recorded);
            let policy = Policy::parse(&text, &Overrides::default());
            (policy.unwrap_or_else(|error| panic!("{error}: {text}")), text)
        };
        let (alone, text) = policy(&[]);
        assert!(alone.check("tool_call_count").is_none(), "{text}");
        assert!(text.contains("\n  # tool_call_count: {"), "{text}");
        let (all, text) = policy(&[("tool_call_count", 3.0), ("cost_tokens", 40_000.0)]);
        assert!(all.check("cost_tokens").is_some(), "{text}");
        assert!(
            text.contains("limit: 200, ") && text.contains("limit: 160000, "),
            "{text}"
        );
    }
}
