//! `tracer run`: runs the trials of a command, gates on them, and reports.

mod captured;
mod environment;
mod options;

use std::path::Path;

use tracer_capture::cassette::ReplayOutcome;
use tracer_gate::policy::{OnInconclusive, Policy};
use tracer_gate::{FailureReason, GateDetails, Report, StopReason, Trial};
use tracer_runs::RunStore;

use crate::cassettes;
use crate::error::CliError;
use crate::gate::outputs;
use crate::outcome::CommandOutcome;
use crate::session::Session;
use crate::terminal::trial_progress;
use crate::ui::Ui;
use captured::TrialReplay;
pub use options::Args;
use tracer_gate::files;
use tracer_gate::trials::{
    GateProgress, GateRun, Launch, OutputCleaner, PrepareTrial, TrialCommand, TrialDisplay, TrialProgram,
    Workspace,
};
use tracer_insight::units::now;

/// Characters of a gate's ID: enough to be unique in a store.
const ID_LENGTH: usize = 12;

/// Misses that a report names, of each trial.
const MAX_MISS_NOTICES: usize = 3;

/// Runs the trials and gates on them.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    args.gate.output.format.of(session)?;
    let inputs = args.gate.read(&args.overrides())?;
    let (gate, policy, baseline) = (inputs.gate()?, &inputs.policy, inputs.baseline.as_ref());
    let cassette = args.cassette.as_deref().map(cassettes::read).transpose()?;
    if let Some(baseline) = baseline {
        environment::refuse_other_evidence(baseline, cassette.is_some())?;
    }
    let replay = cassette.clone().map(TrialReplay::new);
    let (command, details) = command(args, policy, replay.clone(), session)?;
    // Baseline whose agent the trials must be of.
    let of_agent = baseline.filter(|_| !args.gate.force);
    if let Some(baseline) = of_agent {
        files::refuse_baseline_of_another_program(baseline, &details.command)?;
    }
    outputs::prepare(&args.gate.output)?;
    let environment = environment::fingerprint(&command.workspace, cassette.as_deref())?;
    let notices = gate.notices().to_vec();
    for notice in &notices {
        session.ui.remark(notice);
    }

    let started = now();
    let run = GateRun {
        gate: &gate,
        policy,
        of_agent: of_agent.map(|input| &input.baseline),
        command: &command,
        store: RunStore::new(session.data_dir()?),
    };
    let made = run.make(&mut TrialLines(&mut session.ui))?;
    session.ui.clear_status();
    if let Some((baseline, agent)) = of_agent.zip(made.foreign_agent.as_deref()) {
        return Err(files::foreign_baseline(baseline, agent).into());
    }
    let mut judgement = gate.judge(&made.trials);
    if made.was_interrupted {
        judgement.stop_reason = Some(StopReason::Interrupted);
    }
    let outcomes = replay.as_ref().map(TrialReplay::outcomes).unwrap_or_default();
    let aged = cassette
        .zip(policy.cassette_max_age)
        .and_then(|(cassette, max_age)| cassettes::age_notice(&cassette, max_age, started));
    let details = GateDetails {
        started_at: Some(started.to_string()),
        ended_at: Some(now().to_string()),
        policy: inputs.policy_file.clone(),
        baseline: baseline.and_then(|input| input.file.clone()),
        notices: [
            evidence_notice(args).into_iter().collect(),
            replay_notices(&outcomes),
            aged.into_iter().collect(),
            notices,
            made.notices,
            missing_trace_advice(args, &made.trials),
        ]
        .concat(),
        ..details
    };
    let baseline = baseline.map(|input| &input.baseline);
    let report = Report::new(judgement, &made.trials, baseline, environment, details);
    // A request without a recorded answer is no evidence, whatever the policy says of other doubts.
    let on_inconclusive = if outcomes.iter().any(|outcome| outcome.missed > 0) {
        OnInconclusive::Fail
    } else {
        policy.on_inconclusive
    };
    outputs::publish(&report, on_inconclusive, &args.gate.output, session)
}

/// Notices on the coverage and the limits of replayed evidence.
fn replay_notices(outcomes: &[ReplayOutcome]) -> Vec<String> {
    let Some(first) = outcomes.first() else {
        return Vec::new();
    };
    let mut notices = vec![format!(
        "replayed evidence, from {}: it can show a change of the agent's code; a changed prompt or model needs a new recording",
        first.cassette.display()
    )];
    for outcome in outcomes {
        let unused = outcome
            .unused_sentence()
            .map_or_else(String::new, |sentence| format!("; {sentence}"));
        let coverage = format!("{}{unused}", outcome.coverage());
        if !notices.contains(&coverage) {
            notices.push(coverage);
        }
        let misses = outcome.misses.iter().map(|miss| format!("not answered: {miss}"));
        notices.extend(misses.take(MAX_MISS_NOTICES));
    }
    notices
}

/// The trials on a terminal: a status line, or a line for each that has ended.
struct TrialLines<'a>(&'a mut Ui);

impl TrialDisplay for TrialLines<'_> {
    fn progress(&mut self, progress: &GateProgress) {
        self.0.status(&trial_progress::status(progress));
    }

    fn ended(&mut self, trial: &Trial, not_kept: &[&str], planned: u32) {
        if !self.0.shows_status() {
            self.0.note(&trial_progress::ended(trial, not_kept, planned));
        }
    }

    fn notice(&mut self, notice: &str) {
        self.0.warn(notice);
    }
}

/// The command of each trial, and its description in the report.
fn command(
    args: &Args,
    policy: &Policy,
    replay: Option<TrialReplay>,
    session: &mut Session,
) -> Result<(TrialCommand, GateDetails), CliError> {
    let here = std::env::current_dir()
        .map_err(|error| CliError::input("failed to read the current directory").with_source(error))?;
    let settings = session.settings()?;
    let workspace = Workspace::look(&here, &settings.data_dir)?;
    let (name, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| CliError::input("there is no command to run"))?;
    let output = OutputCleaner::new(&settings);
    let id: String = uuid::Uuid::new_v4()
        .simple()
        .to_string()
        .chars()
        .take(ID_LENGTH)
        .collect();
    let words = args
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let details = GateDetails {
        id: Some(id.clone()),
        tracer_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: output.arguments(words),
        options: output.arguments(args.to_repeat()),
        commit: workspace.commit().map(str::to_owned),
        ..GateDetails::default()
    };
    let command = TrialCommand {
        gate: id,
        program: TrialProgram::find(name, &workspace)?,
        arguments: arguments.to_vec(),
        workspace,
        in_place: args.in_place,
        timeout: policy.timeout,
        output,
        environment: (args.capture || replay.is_some()).then(|| {
            let prepare = move |data_dir: &Path, launch: &mut Launch| {
                captured::prepare(settings.clone(), replay.clone(), data_dir, launch)
            };
            Box::new(prepare) as Box<PrepareTrial>
        }),
    };
    Ok((command, details))
}

/// Notice on captured evidence.
fn evidence_notice(args: &Args) -> Option<String> {
    let notice = "the runs were captured: their model calls and what they sent over OpenTelemetry are the evidence, with what they \
                  recorded themselves";
    args.capture.then(|| notice.to_owned())
}

/// Advice for an agent that records nothing, the first problem of a new user.
fn missing_trace_advice(args: &Args, trials: &[Trial]) -> Vec<String> {
    let left_none = |trial: &Trial| {
        let failure = trial.failure.as_ref();
        failure.is_some_and(|failure| failure.reason == FailureReason::NoTrace)
    };
    if args.capture || args.cassette.is_some() {
        // Each trial says why.
        return Vec::new();
    }
    let notice = "to record a trial as `tracer record` does, by its model calls and OpenTelemetry, add --capture; or annotate the agent's entry \
                  function with #[tracer_sdk::trace] (docs/instrument-rust.md), or write a run in the trace format to $TRACER_DATA_DIR, which \
                  is set for each trial (docs/trace-format.md)";
    if trials.iter().any(left_none) {
        vec![notice.to_owned()]
    } else {
        Vec::new()
    }
}
