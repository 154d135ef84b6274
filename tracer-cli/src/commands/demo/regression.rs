//! `tracer demo --regression`: demonstrates the gate. A good run becomes the baseline; the agent changes for the worse
//! and still ends `ok`; the gate fails, prints why, and prints the comment for the pull request.

use std::path::{Path, PathBuf};

use tracer_gate::policy::Overrides;
use tracer_gate::{Baseline, InputFile, Report, Trial};

use super::recorded::record;
use crate::demo_agent;
use crate::error::CliError;
use crate::gate::stored_run;
use crate::outcome::CommandOutcome;
use crate::output_file;
use crate::session::Session;
use crate::terminal::gate_report;
use tracer_gate::files::{self, GateInputs};
use tracer_gate::formats::{markdown, next};
use tracer_insight::text::path_below_home as shown;
use tracer_insight::units::now;

const POLICY: &str = include_str!("policy.yaml");

/// Runs the demonstration.
pub(super) fn run(session: &mut Session) -> Result<CommandOutcome, CliError> {
    // In the data directory, not in the working directory: a demo leaves nothing in the user's project.
    let folder = session.data_dir()?.join("demo");
    let (policy_file, baseline_file) = (folder.join("policy.yaml"), folder.join("baseline.json"));

    session
        .ui
        .remark("1. A simulated support agent answers a ticket (no network, no keys) …");
    let good = record(demo_agent::answer_ticket, session)?;
    let stored = stored_run::select(Some(&good.trace_id), session)?;
    let baseline = Baseline::of_run(&stored.metrics, &now().to_string());
    output_file::write_new(&policy_file, true, POLICY.as_bytes())?;
    output_file::write_new(&baseline_file, true, baseline.to_json().as_bytes())?;
    let stage = format!(
        "   Run {} becomes the baseline: {}",
        good.short_id,
        shown(&baseline_file)
    );
    session.ui.remark(stage);

    session
        .ui
        .remark("2. A prompt change makes the agent \"more thorough\". It still ends ok …");
    let changed = record(demo_agent::changed::answer_ticket, session)?;
    session.ui.remark("3. The gate compares the two runs:");
    session.ui.remark("");
    let report = judge(&policy_file, &baseline_file, &changed.trace_id, session)?;
    let lines = gate_report::lines(&report, session.ui.width());
    session.ui.lines(&lines)?;

    session.ui.remark("");
    session.ui.remark("4. The comment on the pull request:");
    session.ui.remark("");
    let comment = on_a_pull_request(report.clone());
    let steps = next::without_runs(&comment, Some("report.json"));
    session
        .ui
        .plain(markdown::document(&comment, &steps).trim_end())?;

    session.ui.remark("");
    for step in next::steps(&report, None) {
        let what = format!("{:23}", format!("{}:", step.what));
        session.print_next(&what, &step.arguments);
    }
    session.print_next("gate your own agent:   ", "init --github");
    Ok(CommandOutcome::Done)
}

fn judge(
    policy_file: &Path,
    baseline_file: &Path,
    trace_id: &str,
    session: &mut Session,
) -> Result<Report, CliError> {
    let inputs = GateInputs::read(Some(policy_file), Some(baseline_file), &Overrides::default())?;
    let stored = stored_run::select(Some(trace_id), session)?;
    Ok(inputs.judge_runs(&[Trial::of_run(1, stored.metrics)], Vec::new())?)
}

/// The report as a workflow would write it: with paths in the repository, and with a command to run again.
fn on_a_pull_request(mut report: Report) -> Report {
    let place = |file: &mut Option<InputFile>, path: &str| {
        if let Some(file) = file {
            path.clone_into(&mut file.path);
        }
    };
    place(&mut report.gate.policy, files::POLICY_FILE);
    let usual = PathBuf::from(".tracer/baselines").join(format!("{}.json", demo_agent::NAME));
    place(&mut report.gate.baseline, &usual.display().to_string());
    report.gate.command = vec![format!("target/release/{}", demo_agent::NAME)];
    report
}
