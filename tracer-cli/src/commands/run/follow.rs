//! What is done with each trial as it comes: its runs are taken into the store, it is judged with those before it, and
//! whoever waits sees how far the gate is.

use std::collections::BTreeSet;
use std::time::Instant;

use tracer_sdk::format::GateTrial;
use tracer_sdk::judge::policy::Policy;
use tracer_sdk::judge::{CheckKind, CheckResult, Gate, Trial, Verdict};
use tracer_sdk::read::{RunDirectory, RunStore};
use tracer_sdk::tidy::{self, TidyError};

use crate::render::line::{Line, Tone};
use crate::render::trial_progress::{self, HowFar};
use crate::session::Session;
use crate::trials::{Attempt, Next, Scratch, Stop, StopReason, Watcher};

/// Follows the trials of one gate.
pub(super) struct Follower<'a> {
    gate: &'a Gate<'a>,
    budgeted: u32,
    id: &'a str,
    stop: &'a Stop,
    store: RunStore,
    session: &'a mut Session,
    followed: Followed,
    running: BTreeSet<u32>,
    passed: u32,
    failed: u32,
    /// Whether the gate fails whatever the other trials do.
    is_lost: bool,
    started: Instant,
}

/// What came of the trials.
#[derive(Default)]
pub(super) struct Followed {
    /// Those that count, in order.
    pub(super) trials: Vec<Trial>,
    /// What a reader of the report should know besides.
    pub(super) notices: Vec<String>,
    /// Whether they stopped because the verdict was known.
    pub(super) is_decided: bool,
}

impl<'a> Follower<'a> {
    pub(super) fn new(
        gate: &'a Gate<'a>,
        policy: &Policy,
        id: &'a str,
        stop: &'a Stop,
        store: RunStore,
        session: &'a mut Session,
    ) -> Self {
        Self {
            gate,
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

    /// Takes the runs of a trial into the store. What cannot be kept was judged all the same.
    fn keep(&mut self, number: u32, runs: &[RunDirectory]) {
        let mark = GateTrial {
            id: self.id.to_owned(),
            trial: u64::from(number),
        };
        for run in runs {
            match tidy::adopt_run(run, &self.store, &mark) {
                Ok(_) => {}
                Err(TidyError::Exists) => self.notice(format!(
                    "trial {number}: another run with the ID {} was there already, so this one is not kept",
                    run.trace_id
                )),
                Err(error) => self.notice(format!("trial {number}: its run is not kept: {error}")),
            }
        }
    }

    fn clean_up(&mut self, number: u32, has_survivors: bool, scratch: Option<Scratch>) {
        if has_survivors {
            self.notice(format!(
                "trial {number}: some of its processes could not be ended"
            ));
        }
        if let Some(Err((folder, error))) = scratch.map(Scratch::close) {
            let folder = folder.display();
            self.notice(format!(
                "trial {number}: its folder {folder} could not be removed: {error}"
            ));
        }
    }

    /// Judges the trials so far, of which the last one is new, and says how that one went.
    fn judge(&mut self) {
        let judgement = self.gate.judge(&self.followed.trials);
        let (Some(trial), Some(outcomes)) = (self.followed.trials.last(), judgement.invariants.last()) else {
            return;
        };
        let not_kept: Vec<&str> = outcomes
            .iter()
            .filter(|(_, kept)| !**kept)
            .map(|(name, _)| name.as_str())
            .collect();
        if trial.is_sound() && not_kept.is_empty() {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        if !self.session.ui.shows_status() {
            let line = trial_progress::ended(trial, &not_kept, self.budgeted);
            self.session.ui.note(&line);
        }
        self.is_lost |= judgement.checks.iter().any(is_lost);
    }

    /// Said at once, and in the report.
    fn notice(&mut self, text: String) {
        self.session.ui.note(&Line::of(&text, Tone::Warning));
        self.followed.notices.push(text);
    }

    fn show(&mut self) {
        let status = trial_progress::status(&HowFar {
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

/// Whether a check has failed that no further trial can mend.
fn is_lost(check: &CheckResult) -> bool {
    check.kind == CheckKind::Invariant && check.verdict == Some(Verdict::Fail)
}

impl Watcher<Attempt> for Follower<'_> {
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

    fn take(&mut self, attempt: Attempt) -> Next {
        let Attempt {
            trial,
            runs,
            has_survivors,
            scratch,
        } = attempt;
        self.keep(trial.number, &runs);
        self.clean_up(trial.number, has_survivors, scratch);
        self.followed.trials.push(trial);
        self.judge();
        if self.stop.reason() == Some(StopReason::Interrupted) {
            return Next::GoOn;
        }
        if self.gate.stop_reason(&self.followed.trials).is_some() {
            self.followed.is_decided = true;
            return Next::Enough;
        }
        Next::GoOn
    }
}
