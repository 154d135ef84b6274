//! `tracer run`: makes trials of a command, judges them, and reports.

mod environment;
mod follow;
mod options;

use std::num::NonZeroU32;

use tracer_sdk::judge::policy::Policy;
use tracer_sdk::judge::{Baseline, FailureReason, Gate, GateDetails, Report, Trial, TrialFailure};
use tracer_sdk::read::RunStore;

use super::{Verdict, now};
use crate::error::CliError;
use crate::gate::inputs::{self, BaselineInput};
use crate::gate::outputs;
use crate::render::line::{Line, Tone};
use crate::session::Session;
use crate::trials::{self, Output, Plan, Program, Stop, StopReason, TrialCommand, Workspace};
use follow::Follower;
pub use options::Args;

/// How many characters a gate's ID has: as many as tell it from all others in a store.
const ID_LENGTH: usize = 12;

/// Makes the trials and judges them.
pub fn run(args: &Args, session: &mut Session) -> Result<Verdict, CliError> {
    let (policy, policy_file) = inputs::policy(args.policy.as_deref(), &args.overrides())?;
    let baseline = args.baseline.as_deref().map(inputs::baseline).transpose()?;
    let gate = Gate::new(&policy, baseline.as_ref().map(|input| &input.baseline))
        .map_err(|error| inputs::refused(args.policy.as_deref(), &error))?;
    let (command, details) = command(args, &policy, session)?;
    let environment = environment::fingerprint(&command.workspace)?;
    let notices = inputs::notices(&policy, &gate);
    for notice in &notices {
        session.ui.note(&Line::of(notice, Tone::Muted));
    }
    let store = RunStore::new(session.data_dir()?);

    let stop = Stop::on_signals()?;
    trials::adopt_orphans();
    let started = now();
    let mut follower = Follower::new(&gate, &policy, &command.gate, &stop, store, session);
    let plan = Plan {
        trials: policy.trials,
        jobs: NonZeroU32::new(policy.jobs).unwrap_or(NonZeroU32::MIN),
    };
    trials::run_trials(
        plan,
        &stop,
        |number| command.attempt(number, &stop),
        &mut follower,
    );
    let mut followed = follower.end();
    if !trials::end_orphans() {
        followed
            .notices
            .push("processes of the trials could not be ended".to_owned());
    }
    let was_interrupted = stop.reason() == Some(StopReason::Interrupted) && !followed.is_decided;
    if was_interrupted {
        add_interrupted(&mut followed.trials, policy.trials);
    }

    let mut judgement = gate.judge(&followed.trials);
    if was_interrupted {
        judgement.abort_reason = Some("interrupted".to_owned());
    }
    let details = GateDetails {
        started_at: Some(started.to_string()),
        ended_at: Some(now().to_string()),
        policy: policy_file,
        baseline: baseline.as_ref().map(|input| input.file.clone()),
        notices: [notices, followed.notices].concat(),
        ..details
    };
    let baseline: Option<&Baseline> = baseline.as_ref().map(|BaselineInput { baseline, .. }| baseline);
    let report = Report::new(judgement, &followed.trials, baseline, environment, details);
    outputs::publish(&report, policy.on_inconclusive, &args.output, session)
}

/// What is run in each trial, and what the report says of it.
fn command(args: &Args, policy: &Policy, session: &Session) -> Result<(TrialCommand, GateDetails), CliError> {
    let here = std::env::current_dir()
        .map_err(|error| CliError::input(format!("the working directory cannot be told: {error}")))?;
    let workspace = Workspace::look(&here)?;
    let (name, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| CliError::input("there is no command to make trials of"))?;
    let output = Output::new(&session.settings()?);
    let id: String = uuid::Uuid::new_v4()
        .simple()
        .to_string()
        .chars()
        .take(ID_LENGTH)
        .collect();
    let told = args
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let details = GateDetails {
        id: Some(id.clone()),
        tracer_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: output.arguments(told),
        commit: workspace.commit().map(str::to_owned),
        ..GateDetails::default()
    };
    let command = TrialCommand {
        gate: id,
        program: Program::find(name, &workspace)?,
        arguments: arguments.to_vec(),
        workspace,
        in_place: args.in_place,
        timeout: policy.timeout,
        output,
    };
    Ok((command, details))
}

/// An interrupted gate has a trial that says so, also when none was running at that moment: what is missing is no
/// evidence, and the gate cannot pass.
fn add_interrupted(trials: &mut Vec<Trial>, budgeted: u32) {
    let is_interrupted = |trial: &Trial| {
        let failure = trial.failure.as_ref();
        failure.is_some_and(|failure| failure.reason == FailureReason::Interrupted)
    };
    let missing = (1..=budgeted).find(|number| trials.iter().all(|trial| trial.number != *number));
    if let Some(number) = missing.filter(|_| !trials.iter().any(is_interrupted)) {
        trials.push(Trial::failed(
            number,
            TrialFailure::new(FailureReason::Interrupted),
        ));
        trials.sort_by_key(|trial| trial.number);
    }
}
