//! `tracer run`: runs the trials of a command, gates on them, and reports.

mod options;

use tracer_gate::policy::Policy;
use tracer_gate::trials::{
    GateProgress, GateRun, OutputCleaner, TrialCapture, TrialCommand, TrialDisplay, TrialProgram, Workspace,
};
use tracer_gate::{GateDetails, Trial};
use tracer_runs::RunStore;

use crate::cassettes;
use crate::error::CliError;
use crate::gate::outputs;
use crate::outcome::CommandOutcome;
use crate::recorded_command::current_directory;
use crate::session::Session;
use crate::terminal::trial_progress;
use crate::ui::Ui;
pub use options::Args;

/// Characters of a gate's ID: enough to be unique in a store.
const ID_LENGTH: usize = 12;

/// Runs the trials and gates on them.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    args.gate.output.format.of(session)?;
    let inputs = args.gate.read(&args.overrides())?;
    let gate = inputs.gate()?;
    let (command, details) = command(args, &inputs.policy, session)?;
    outputs::prepare(&args.gate.output)?;
    let run = GateRun {
        inputs: &inputs,
        gate: &gate,
        is_forced: args.gate.force,
        command: &command,
        details,
        store: RunStore::new(session.data_dir()?),
    };
    let reported = run.report(&mut TrialLines(&mut session.ui));
    session.ui.clear_status();
    let (report, on_inconclusive) = reported?;
    outputs::publish(&report, on_inconclusive, &args.gate.output, session)
}

/// The trials on a terminal: a status line, or a line for each that has ended.
struct TrialLines<'a>(&'a mut Ui);

impl TrialDisplay for TrialLines<'_> {
    fn remark(&mut self, remark: &str) {
        self.0.remark(remark);
    }

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
    session: &mut Session,
) -> Result<(TrialCommand, GateDetails), CliError> {
    let settings = session.settings()?;
    let workspace = Workspace::look(&current_directory()?, &settings.data_dir)?;
    let cassette = args.cassette.as_deref().map(cassettes::read).transpose()?;
    let name = args
        .command
        .first()
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
        words: args.command.clone(),
        workspace,
        in_place: args.in_place,
        timeout: policy.timeout,
        output,
        capture: (args.capture || cassette.is_some()).then_some(TrialCapture { settings, cassette }),
    };
    Ok((command, details))
}
