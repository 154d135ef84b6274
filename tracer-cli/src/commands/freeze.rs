//! `tracer freeze`: turns a recorded run that went wrong into a test.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tracer_gate::Verdict;
use tracer_gate::draft::{self, DraftedCheck};
use tracer_gate::files::{self, GateInputs};
use tracer_gate::formats::cargo_test;
use tracer_gate::policy::{Check, Overrides, Policy};
use tracer_insight::profile::{Metric, MetricUnit};

use crate::cassettes::RecordedCalls;
use crate::error::CliError;
use crate::gate::stored_run;
use crate::outcome::CommandOutcome;
use crate::output_file::{self, NewFileError};
use crate::recorded_command::quoted_words;
use crate::session::Session;

/// The folder whose `main.rs` is a test of Cargo.
const CARGO_FOLDER: &str = "tests/frozen";

/// Options of `tracer freeze`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer freeze latest --check 'required_tools: {all_of: [send_reply]}'

Writes a cassette with the recorded answers of the models, and a policy with what went wrong as its checks: a loop, a failed call \
that no successful one followed, a guardrail, an error, each check of the project's policy that the run broke, and those of \
--check. In a package of Cargo it also adds a test to tests/frozen/main.rs. The test fails now, and passes once the agent is \
fixed. It tests the code around the model, not the model.")]
pub struct Args {
    /// Run to freeze: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    /// Write the files to DIR
    #[arg(long, value_name = "DIR", default_value = CARGO_FOLDER)]
    dir: PathBuf,

    /// Name of the test [default: the agent and the run]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Also check METRIC, as a line of a policy states it, which the run must break
    #[arg(long, value_name = "METRIC")]
    check: Vec<String>,

    /// Also freeze what the run broke of the policy in FILE [default: .tracer/policy.yaml here or in a folder above]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Proceed although the files exist: replace them
    #[arg(long)]
    force: bool,

    /// Command of the test [default: the recorded command]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Freezes a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let recorded = RecordedCalls::select(args.run_id.as_deref().unwrap_or("latest"), session)?;
    let id = recorded.short_id.clone();
    let command = if args.command.is_empty() {
        recorded.command()?
    } else {
        args.command.clone()
    };
    let run = recorded.directory.trace_id.to_string();
    let stored = stored_run::select(Some(&run), session)?;
    let agent = stored.metrics.agent().unwrap_or("run").to_owned();
    let name = args.name.clone().unwrap_or_else(|| format!("{agent}-{id}"));
    let name: String = name
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() { char } else { '-' })
        .collect();
    if !name.contains(|char: char| char.is_ascii_alphanumeric()) {
        return Err(CliError::input("the name of the test has no letter or digit")
            .with_hint("name it after what went wrong: --name refund-twice"));
    }

    let demanded = demanded(&args.check)?;
    // A demand comes before what is drafted of its metric.
    let mut checks = demanded.clone();
    checks.extend(draft::what_went_wrong(&stored.metrics));
    if args.policy.is_some() || files::project_policy().is_some() {
        let (policy, _) = files::policy(args.policy.as_deref(), &Overrides::default())?;
        let stated = policy.for_a_run_alone().checks;
        checks.extend(stated.iter().filter(|check| !is_of_time(check)).map(broken));
    }
    let mut seen = BTreeSet::new();
    checks.retain(|check| seen.insert(check.metric.clone()));
    // The score of another output than the one demanded.
    checks.retain(|check| {
        let output = output_of_score(&check.metric);
        demanded.contains(check)
            || !demanded
                .iter()
                .any(|other| Some(&other.metric) == output.as_ref())
    });
    let heading = [
        &*format!("What went wrong in run {id}, frozen by `tracer freeze`: a fixed agent passes."),
        "The models answer as they were recorded: this tests the code around the model, not the model.",
    ];
    let verdicts = if checks.is_empty() {
        BTreeMap::new()
    } else {
        let policy = parsed(&draft::policy_text(&heading, 1, &checks))?;
        let trial = stored.trial(&policy, 1, session)?;
        let inputs = GateInputs {
            policy,
            policy_file: None,
            baseline: None,
        };
        let judged = inputs.judge_runs(&[trial], Vec::new())?.checks;
        judged
            .into_iter()
            .map(|check| (check.name, check.verdict))
            .collect()
    };
    let is = |check: &DraftedCheck, verdict| verdicts.get(&check.metric) == Some(&Some(verdict));
    if let Some(check) = demanded.iter().find(|check| is(check, Verdict::Pass)) {
        return Err(CliError::input(format!(
            "run {id} does not break {}: its test would pass today",
            check.metric
        ))
        .with_hint("leave the check out, or state what the run should have done"));
    }
    // A trial shows more than a recorded run: its standard output.
    let is_frozen = |check: &&DraftedCheck| is(check, Verdict::Fail) || demanded.contains(check);
    let outputs = checks
        .iter()
        .filter(is_frozen)
        .filter_map(|check| output_of_score(&check.metric));
    let outputs: BTreeSet<String> = outputs.collect();
    checks.retain(|check| is_frozen(&check) || outputs.contains(&check.metric));
    if checks.is_empty() {
        return Err(
            CliError::input(format!("nothing went wrong in run {id} that a check would find"))
                .with_hint("say what it should have done: --check 'required_tools: {all_of: [send_reply]}'")
                .with_hint("keep a good run as it is: tracer baseline --out FILE"),
        );
    }
    let text = draft::policy_text(&heading, 1, &checks);
    parsed(&text)?;
    let [cassette, policy] = ["jsonl", "yaml"].map(|end| args.dir.join(format!("{name}.{end}")));
    if let Some(path) = [&cassette, &policy]
        .into_iter()
        .find(|path| !args.force && files::is_there(path))
    {
        return Err(NewFileError::exists(path).into());
    }
    let exchanges = recorded.cassette.ignoring_tool_results().text();
    output_file::write_in_project(&cassette, args.force, exchanges.as_bytes())?;
    output_file::write_in_project(&policy, args.force, text.as_bytes())?;
    session
        .ui
        .done(format!("wrote {} and {}", cassette.display(), policy.display()))?;
    add_cargo_test(args, &name, &command, session)?;
    let checks_with = |wanted: Verdict| -> Vec<&str> {
        let checks = checks.iter().filter(|check| is(check, wanted));
        checks.map(|check| check.metric.as_str()).collect()
    };
    session.ui.remark(format!(
        "fails until the agent is fixed: {}",
        checks_with(Verdict::Fail).join(", ")
    ));
    let unseen = checks_with(Verdict::Inconclusive);
    if !unseen.is_empty() {
        let names = unseen.join(", ");
        session.ui.warn(format!(
            "the recorded run does not show whether it breaks {names}: run the test to see it fail"
        ));
    }
    let [policy, cassette] = [&policy, &cassette].map(|path| crate::session::quoted(path));
    let words = quoted_words(&command);
    session.print_next(
        "test it: ",
        &format!("run --policy {policy} --cassette {cassette} -- {words}"),
    );
    Ok(CommandOutcome::Done)
}

/// The checks that `--check` states, each as a line of a policy.
fn demanded(lines: &[String]) -> Result<Vec<DraftedCheck>, CliError> {
    let mut demanded: Vec<DraftedCheck> = Vec::new();
    for line in lines {
        let policy = parsed(&format!("version: 2\nmetrics:\n  {line}\n"))?.for_a_run_alone();
        let check = policy.checks.first().ok_or_else(|| {
            CliError::input("--check states nothing that one run without a baseline can break")
                .with_hint("state an invariant or a limit: every metric and its keys: docs/policy.md")
        })?;
        if demanded.iter().any(|other| other.metric == check.name) {
            return Err(CliError::input(format!("--check states {} twice", check.name))
                .with_hint("state both demands in one check, or name each of several outputs: output.NAME"));
        }
        let reason = "The run did otherwise.";
        demanded.push(DraftedCheck::new(&check.name, check.keys.clone(), reason));
    }
    Ok(demanded)
}

/// The check whose command gives a score: `output.tone` of `score.tone`.
fn output_of_score(metric: &str) -> Option<String> {
    let label = metric.strip_prefix("score")?;
    (label.is_empty() || label.starts_with('.')).then(|| format!("output{label}"))
}

/// Returns whether a check is about time, of which a run whose models answer at once says nothing.
fn is_of_time(check: &Check) -> bool {
    Metric::from_name(&check.name).is_some_and(|metric| metric.unit() == MetricUnit::Milliseconds)
}

/// A check of the project's policy for a run that broke it.
fn broken(check: &Check) -> DraftedCheck {
    let mut keys = check.keys.clone();
    // There is no baseline to tolerate a distance from.
    keys.as_object_mut().map(|keys| keys.remove("tolerance"));
    DraftedCheck::new(&check.name, keys, "The run broke this check of the policy.")
}

fn parsed(text: &str) -> Result<Policy, CliError> {
    Policy::parse(text, &Overrides::default()).map_err(|error| {
        CliError::input("the check cannot be used")
            .with_source(error)
            .with_hint("every metric and its keys: docs/policy.md")
    })
}

/// Adds the test to those of Cargo, where the folder is one of its tests.
fn add_cargo_test(
    args: &Args,
    name: &str,
    command: &[OsString],
    session: &mut Session,
) -> Result<(), CliError> {
    // A workspace alone has no tests.
    let is_package = fs::read_to_string("Cargo.toml")
        .is_ok_and(|manifest| manifest.lines().any(|line| line.trim().starts_with("[package]")));
    if args.dir != Path::new(CARGO_FOLDER) || !is_package {
        return Ok(());
    }
    let path = args.dir.join("main.rs");
    let words: Vec<String> = command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let text = match fs::read_to_string(&path) {
        Ok(existing) => cargo_test::with_test(Some(&existing), name, &words),
        Err(error) if error.kind() == ErrorKind::NotFound => cargo_test::with_test(None, name, &words),
        Err(_) => None,
    };
    if let Some(text) = text {
        output_file::write_in_project(&path, true, text.as_bytes())?;
        return session.ui.done(format!("added a test to {}", path.display()));
    }
    session.ui.remark(format!(
        "kept {}: it has this test, is another file, or cannot be read",
        path.display()
    ));
    Ok(())
}
