//! Handling of each finished trial: its runs are moved to the store, the gate judges the trials so far, and the
//! terminal shows the progress.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::time::Instant;

use tracer_gate::policy::Policy;
use tracer_gate::{
    Baseline, CheckKind, CheckResult, FailureReason, Gate, Independence, Trial, TrialFailure, Verdict,
};
use tracer_insight::profile::RunProfile;
use tracer_sdk::format::{GateTrial, Timestamp};
use tracer_sdk::maintenance::{self, MaintenanceError};
use tracer_sdk::read::{RunDirectory, RunReader, RunStore, Strictness};

use crate::session::Session;
use crate::terminal::trial_progress;
use crate::terminal::trial_progress::GateProgress;
use tracer_gate::trials::{AfterTrial, Attempt, Scratch, Stop, TrialsStop, Watcher};
use tracer_insight::units::now;

/// Follows the trials of one gate.
pub(super) struct TrialFollower<'a> {
    gate: &'a Gate<'a>,
    /// Baseline whose agent the trials must be of; `None` accepts any agent.
    of_agent: Option<&'a Baseline>,
    independence: Independence,
    /// Start of the gate: a run that started earlier does not belong to it.
    began: Timestamp,
    budgeted: u32,
    id: &'a str,
    stop: &'a Stop,
    store: RunStore,
    session: &'a mut Session,
    followed: Followed,
    running: BTreeSet<u32>,
    passed: u32,
    failed: u32,
    /// The gate fails whatever the other trials do.
    is_lost: bool,
    started: Instant,
}

/// Result of the trials.
#[derive(Default)]
pub(super) struct Followed {
    /// Those that count, in order.
    pub(super) trials: Vec<Trial>,
    /// Notices for the report.
    pub(super) notices: Vec<String>,
    /// The trials stopped early because the verdict was certain.
    pub(super) is_decided: bool,
    /// Agent of the trials when it is not the baseline's, which stops them.
    pub(super) foreign_agent: Option<String>,
}

impl<'a> TrialFollower<'a> {
    pub(super) fn new(
        gate: &'a Gate<'a>,
        policy: &Policy,
        of_agent: Option<&'a Baseline>,
        id: &'a str,
        stop: &'a Stop,
        store: RunStore,
        session: &'a mut Session,
    ) -> Self {
        Self {
            gate,
            of_agent,
            independence: Independence::default(),
            began: now(),
            budgeted: policy.trials,
            id,
            stop,
            store,
            session,
            followed: Followed::default(),
            running: BTreeSet::new(),
            passed: 0,
            failed: 0,
            is_lost: false,
            started: Instant::now(),
        }
    }

    pub(super) fn end(self) -> Followed {
        self.session.ui.clear_status();
        self.followed
    }

    /// Moves the runs of a trial to the store. A run that cannot be kept is judged all the same; a run that the store
    /// has already is not this trial's.
    fn keep(&mut self, trial: &mut Trial, runs: &[RunDirectory]) {
        let number = trial.number;
        let mark = GateTrial {
            id: self.id.to_owned(),
            trial: u64::from(number),
        };
        for run in runs {
            match maintenance::adopt_run(run, &self.store, &mark) {
                Ok(_) => {}
                Err(MaintenanceError::RunExists) => {
                    trial.fail(not_independent("the store already had a run with its trace ID"));
                    self.notice(format!(
                        "trial {number}: the store already has a run with the ID {}; this run is not kept",
                        run.trace_id
                    ));
                }
                Err(error) => {
                    let cause = error
                        .source()
                        .map_or_else(String::new, |cause| format!(": {cause}"));
                    self.notice(format!("trial {number}: failed to keep its run: {error}{cause}"));
                }
            }
        }
    }

    /// Fails a trial that recorded a copy, under a new ID, of a run that the store already had. A run that started during
    /// this gate cannot be one, so the store is rarely searched.
    fn refuse_copy_of_stored_run(&self, trial: &mut Trial) {
        let Some(run) = &trial.metrics else {
            return;
        };
        let Some(started) = run.started_at.filter(|started| *started < self.began) else {
            return;
        };
        let stored = self.store.list().unwrap_or_default();
        let same_start = stored.iter().filter(|stored| {
            let meta = stored.meta.as_ref().ok();
            meta.is_some_and(|meta| meta.started_at.instant() == started)
        });
        for stored in same_start {
            let content = RunReader::open(&stored.directory.path, Strictness::Strict)
                .ok()
                .and_then(|stored| RunProfile::read(stored.meta.as_ref()?, stored.records.clone()).ok())
                .map(|metrics| metrics.content);
            if content == Some(run.content) {
                let id: String = stored.directory.trace_id.to_string().chars().take(8).collect();
                trial.fail(not_independent(&format!(
                    "it is a copy of the run {id}, which the store already had"
                )));
                return;
            }
        }
    }

    fn clean_up(&mut self, number: u32, has_survivors: bool, scratch: Option<Scratch>) {
        if has_survivors {
            self.notice(format!("trial {number}: failed to end some of its processes"));
        }
        if let Some(Err((folder, error))) = scratch.map(Scratch::close) {
            let folder = folder.display();
            self.notice(format!(
                "trial {number}: failed to remove its folder `{folder}`: {error}"
            ));
        }
    }

    /// Judges the trials so far, and prints the result of the last one.
    fn judge(&mut self) {
        let judgement = self.gate.judge(&self.followed.trials);
        let (Some(trial), Some(outcomes)) = (self.followed.trials.last(), judgement.invariants.last()) else {
            return;
        };
        let with = |wanted: Option<bool>| -> Vec<&str> {
            let found = outcomes.iter().filter(|(_, kept)| **kept == wanted);
            found.map(|(name, _)| name.as_str()).collect()
        };
        let not_kept = with(Some(false));
        if !trial.is_sound() || !not_kept.is_empty() {
            self.failed += 1;
        } else if with(None).is_empty() {
            self.passed += 1;
        }
        if !self.session.ui.shows_status() {
            let line = trial_progress::ended(trial, &not_kept, self.budgeted);
            self.session.ui.note(&line);
        }
        self.is_lost |= judgement.checks.iter().any(is_lost);
    }

    /// Prints a notice and adds it to the report.
    fn notice(&mut self, text: String) {
        self.session.ui.warn(&text);
        self.followed.notices.push(text);
    }

    fn show(&mut self) {
        let status = trial_progress::status(&GateProgress {
            running: &self.running,
            budgeted: self.budgeted,
            passed: self.passed,
            failed: self.failed,
            elapsed: self.started.elapsed(),
            is_lost: self.is_lost,
        });
        self.session.ui.status(&status);
    }
}

/// Checks if a check has failed whatever the next trials do.
fn is_lost(check: &CheckResult) -> bool {
    check.kind == CheckKind::Invariant && check.verdict == Some(Verdict::Fail)
}

fn not_independent(detail: &str) -> TrialFailure {
    TrialFailure::new(FailureReason::NotIndependent).with(detail)
}

impl Watcher<Attempt> for TrialFollower<'_> {
    fn started(&mut self, number: u32) {
        self.running.insert(number);
        self.show();
    }

    fn ended(&mut self, number: u32) {
        self.running.remove(&number);
    }

    fn tick(&mut self) {
        self.show();
    }

    fn take(&mut self, attempt: Attempt) -> AfterTrial {
        let Attempt {
            mut trial,
            runs,
            has_survivors,
            scratch,
        } = attempt;
        self.independence.check(&mut trial);
        self.refuse_copy_of_stored_run(&mut trial);
        self.keep(&mut trial, &runs);
        self.clean_up(trial.number, has_survivors, scratch);
        let foreign = self.of_agent.zip(trial.metrics.as_ref());
        let foreign = foreign.and_then(|(baseline, run)| baseline.foreign_agent(run));
        if let Some(agent) = foreign {
            self.followed.foreign_agent = Some(agent.to_owned());
            self.followed.is_decided = true;
            return AfterTrial::Enough;
        }
        self.followed.trials.push(trial);
        self.judge();
        if self.stop.reason() == Some(TrialsStop::Interrupted) {
            return AfterTrial::GoOn;
        }
        if self.gate.stop_reason(&self.followed.trials).is_some() {
            self.followed.is_decided = true;
            return AfterTrial::Enough;
        }
        AfterTrial::GoOn
    }
}
