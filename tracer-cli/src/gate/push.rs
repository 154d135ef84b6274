//! A gate for a team: its runs, its report and its baseline go into the team's bucket. What fails there changes no verdict.

use tracer_bucket::{BucketError, OpenBucket, ShipEvent, ShipOptions, ShipSummary, Shipper};
use tracer_capture::push::JournalError;
use tracer_gate::{Baseline, Report};
use tracer_insight::text;
use tracer_sdk::format::TraceId;
use tracer_sdk::read::{RunDirectory, RunStore};

use crate::confirmation;
use crate::error::CliError;
use crate::runtime::{block_on, stop_signal};
use crate::session::Session;
use crate::team_bucket::{self, WaitDisplay};

/// What is done, as a part of an error.
const ACTION: &str = "push to";

/// Options of the commands of the gate that push.
#[derive(Debug, clap::Args)]
pub(crate) struct PushArgs {
    /// Also send the runs, and what is made of them, to the team's bucket at URL [example: s3://team/agents]
    #[arg(long, value_name = "URL")]
    push: Option<String>,

    /// Send to another machine without asking
    #[arg(long, short, requires = "push")]
    yes: bool,
}

/// A bucket that the user agreed to send runs to.
pub(crate) struct GatePush {
    bucket: OpenBucket,
}

impl PushArgs {
    /// Opens the bucket, before anything is paid for; `None` when nothing is to be pushed.
    pub(crate) fn prepare(&self, session: &mut Session) -> Result<Option<GatePush>, CliError> {
        let Some(url) = &self.push else {
            return Ok(None);
        };
        let bucket = team_bucket::open(url, ACTION)?;
        let url = bucket.url().clone();
        let failed = |error| team_bucket::failed(ACTION, &url, &error);
        match Shipper::open(&session.settings()?, bucket.clone(), ShipOptions::default()) {
            Ok(mut shipper) => {
                if shipper.needs_confirmation() {
                    let what = "the runs of this gate, with their messages, arguments and results,";
                    if !self.yes && !confirmation::may_send(what, &url.to_string(), session)? {
                        return Err(CliError::input("nothing was done: runs may not be sent"));
                    }
                    shipper.confirm().map_err(failed)?;
                }
            }
            // Whoever sends them now was agreed to.
            Err(BucketError::Journal(JournalError::Locked)) => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(Some(GatePush { bucket }))
    }
}

/// What has become of runs that were to be sent.
pub(crate) struct PushedRuns {
    /// Where some of them are.
    pub(crate) store: Option<String>,
    /// Where they are, or why they are not there, without a full stop.
    pub(crate) sentence: String,
}

impl GatePush {
    /// Sends these runs.
    pub(crate) fn runs(&self, runs: &[TraceId], session: &mut Session) -> PushedRuns {
        let url = self.bucket.url();
        let summary = match self.send(runs, session) {
            Ok(summary) => summary,
            Err(reason) => {
                return PushedRuns {
                    store: None,
                    sentence: format!("the runs are not in {url}: {reason}"),
                };
            }
        };
        let there = summary.runs + summary.runs_sent_before;
        let counted = text::counted(runs.len() as u64, "run");
        let reason = summary.not_sent.first().map(|run| run.reason.as_str());
        let reason = reason.unwrap_or(if summary.is_stopped {
            "it was stopped"
        } else {
            "they have not ended"
        });
        PushedRuns {
            store: (there > 0).then(|| url.to_string()),
            sentence: if there >= runs.len() as u64 {
                format!("the runs are in {url}")
            } else {
                format!("{there} of {counted} are in {url}, the others are not: {reason}")
            },
        }
    }

    fn send(&self, runs: &[TraceId], session: &mut Session) -> Result<ShipSummary, String> {
        let settings = session.settings().map_err(|error| error.to_string())?;
        let store = RunStore::new(&settings.data_dir);
        let directories: Vec<RunDirectory> = runs
            .iter()
            .map(|run| RunDirectory {
                trace_id: *run,
                path: store.runs_dir().join(run.to_string()),
            })
            .collect();
        let mut shipper = Shipper::open(&settings, self.bucket.clone(), ShipOptions::default())
            .map_err(|error| error.to_string())?;
        let mut wait = WaitDisplay::default();
        let ui = &mut session.ui;
        let mut observe = |event| {
            if let ShipEvent::Wait(event) = event {
                wait.show(event, ui);
            }
        };
        block_on(shipper.push(&directories, stop_signal(), &mut observe))
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())
    }

    /// Sends the report; that it is not there is said, and no more.
    pub(crate) fn report(&self, report: &Report, session: &mut Session) {
        let Some(id) = &report.gate.id else {
            return;
        };
        let url = self.bucket.url();
        let mut wait = WaitDisplay::default();
        let mut observe = |event| wait.show(event, &mut session.ui);
        let sent = serde_json::to_vec_pretty(report)
            .map_err(|error| error.to_string())
            .and_then(|json| {
                block_on(self.bucket.write_report(id, json, &mut observe))
                    .map_err(|error| error.to_string())?
                    .map_err(|error| error.to_string())
            });
        match sent {
            Ok(name) => session.ui.remark(format!("  report:  {url}/{name}")),
            Err(reason) => session.ui.warn(format!("the report is not in {url}: {reason}")),
        }
    }

    /// Sends the runs of a baseline, and then the baseline, whose runs stay in the bucket from then on.
    pub(crate) fn baseline(
        &self,
        baseline: &Baseline,
        name: &str,
        replace: bool,
        session: &mut Session,
    ) -> Result<(), CliError> {
        let url = self.bucket.url().clone();
        let store = RunStore::new(session.data_dir()?);
        let (here, elsewhere): (Vec<TraceId>, Vec<TraceId>) = baseline
            .source_run_ids
            .iter()
            .filter_map(|run| run.parse().ok())
            .partition(|run: &TraceId| store.runs_dir().join(run.to_string()).is_dir());
        if !here.is_empty() {
            let said = self.runs(&here, session).sentence;
            session.ui.remark(format!("  {said}"));
        }
        if !elsewhere.is_empty() {
            let runs = text::counted(elsewhere.len() as u64, "run");
            let line = format!("{runs} of the baseline not on this machine: push them where they are");
            session.ui.warn(line);
        }
        let json = baseline.to_json().into_bytes();
        let mut wait = WaitDisplay::default();
        let mut observe = |event| wait.show(event, &mut session.ui);
        let name = block_on(self.bucket.write_baseline(name, json, replace, &mut observe))?
            .map_err(|error| team_bucket::failed(ACTION, &url, &error))?;
        session.ui.done(format!("pushed {url}/{name}"))
    }
}
