//! The trials of one gate: run, moved to the store, and judged as they end.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tracer_capture::cassette::ReplayOutcome;
use tracer_insight::profile::RunProfile;
use tracer_insight::units::now;
use tracer_runs::maintenance::{self, MaintenanceError};
use tracer_runs::{RunDirectory, RunReader, RunStore, Strictness};
use tracer_sdk::format::{GateTrial, Timestamp};

use super::attempt::{Attempt, TrialCommand};
use super::environment::{environment, refuse_other_evidence};
use super::notices;
use super::process::Orphans;
use super::schedule::{Watcher, run_trials};
use super::scratch::Scratch;
use super::stop::{Stop, TrialsStop};
use crate::files::{self, BaselineInput, GateInputs};
use crate::policy::OnInconclusive;
use crate::{
    CheckKind, FailureReason, Gate, GateDetails, InputError, Report, StopReason, Trial, TrialFailure, Verdict,
};

/// Progress of a gate.
#[derive(Debug, Default)]
pub struct GateProgress {
    /// The running trials, by number.
    pub running: BTreeSet<u32>,
    /// Planned trials.
    pub planned: u32,
    /// Passed trials.
    pub passed: u32,
    /// Failed trials.
    pub failed: u32,
    /// Time since the start.
    pub elapsed: Duration,
    /// The gate fails whatever the other trials do.
    pub is_lost: bool,
}

/// Display of the trials.
pub trait TrialDisplay {
    /// Shows a remark before the first trial, which the report repeats.
    fn remark(&mut self, remark: &str);
    /// Shows the progress.
    fn progress(&mut self, progress: &GateProgress);
    /// Shows a trial that has ended; `not_kept` are the invariants that it did not keep.
    fn ended(&mut self, trial: &Trial, not_kept: &[&str], planned: u32);
    /// Shows a notice, which the report repeats.
    fn notice(&mut self, notice: &str);
}

/// The trials of a gate to be made.
pub struct GateRun<'a> {
    /// Its policy and its baseline.
    pub inputs: &'a GateInputs,
    /// The gate of both.
    pub gate: &'a Gate<'a>,
    /// Any agent's baseline will do.
    pub is_forced: bool,
    /// The command of each trial.
    pub command: &'a TrialCommand,
    /// Its description for the report.
    pub details: GateDetails,
    /// The store that the runs are moved to.
    pub store: RunStore,
}

/// The trials that were made.
#[derive(Debug, Default)]
struct MadeTrials {
    /// Those that count, in order.
    trials: Vec<Trial>,
    /// Outcomes of their replays.
    replays: Vec<ReplayOutcome>,
    /// Notices for the report.
    notices: Vec<String>,
    /// They were interrupted before the verdict was certain.
    was_interrupted: bool,
    /// Agent of the trials when it is not the baseline's, which stops them.
    foreign_agent: Option<String>,
}

impl GateRun<'_> {
    /// Makes the trials until the verdict is certain or a signal stops them, and gives the report on them, and its exit
    /// code where it is INCONCLUSIVE.
    ///
    /// # Errors
    ///
    /// [`InputError`] when the baseline is not of these trials, the workspace cannot be read, or signals cannot be received.
    pub fn report(self, display: &mut dyn TrialDisplay) -> Result<(Report, OnInconclusive), InputError> {
        let (policy, capture) = (&self.inputs.policy, self.command.capture.as_ref());
        let cassette = capture.and_then(|capture| capture.cassette.as_deref());
        if let Some(baseline) = &self.inputs.baseline {
            refuse_other_evidence(baseline, cassette.is_some())?;
        }
        if let Some(baseline) = self.of_agent() {
            files::refuse_baseline_of_another_program(baseline, &self.details.command)?;
        }
        let environment = environment(&self.command.workspace, cassette)?;
        for notice in self.gate.notices() {
            display.remark(notice);
        }
        let started = now();
        let made = self.make(display)?;
        if let Some((baseline, agent)) = self.of_agent().zip(made.foreign_agent.as_deref()) {
            return Err(files::foreign_baseline(baseline, agent));
        }
        let mut judgement = self.gate.judge(&made.trials);
        if made.was_interrupted {
            judgement.stop_reason = Some(StopReason::Interrupted);
        }
        let aged = cassette.zip(policy.cassette_max_age);
        let aged = aged.and_then(|(cassette, max_age)| notices::aged(cassette, max_age, started));
        let mut gate = self.details;
        gate.started_at = Some(started.to_string());
        gate.ended_at = Some(now().to_string());
        gate.policy.clone_from(&self.inputs.policy_file);
        let baseline = self.inputs.baseline.as_ref();
        gate.baseline = baseline.and_then(|input| input.file.clone());
        gate.notices.extend(notices::captured(capture));
        gate.notices.extend(notices::replayed(&made.replays));
        gate.notices.extend(aged);
        gate.notices.extend_from_slice(self.gate.notices());
        gate.notices.extend(made.notices);
        gate.notices.extend(notices::without_trace(capture, &made.trials));
        let baseline = baseline.map(|input| &input.baseline);
        let report = Report::new(judgement, &made.trials, baseline, environment, gate);
        // A request without a recorded answer is no evidence, whatever the policy says of other doubts.
        let on_inconclusive = if made.replays.iter().any(|replay| replay.missed > 0) {
            OnInconclusive::Fail
        } else {
            policy.on_inconclusive
        };
        Ok((report, on_inconclusive))
    }

    /// The baseline whose agent the trials must be of.
    fn of_agent(&self) -> Option<&BaselineInput> {
        self.inputs.baseline.as_ref().filter(|_| !self.is_forced)
    }

    fn make(&self, display: &mut dyn TrialDisplay) -> Result<MadeTrials, InputError> {
        let stop = Stop::on_signals()?;
        let (policy, command) = (&self.inputs.policy, self.command);
        let orphans = Orphans::adopt();
        // Among several trials nothing shows whose the orphans are: they end with the last one.
        let of_trial = (policy.jobs.min(policy.trials) == 1).then_some(&orphans);
        let mut follower = TrialFollower {
            run: self,
            stop: &stop,
            display,
            began: now(),
            made: MadeTrials::default(),
            is_decided: false,
            started: Instant::now(),
            progress: GateProgress {
                planned: policy.trials,
                ..GateProgress::default()
            },
        };
        run_trials(
            [policy.trials, policy.jobs],
            &stop,
            |number| command.attempt(number, policy, of_trial, &stop),
            &mut follower,
        );
        let TrialFollower {
            mut made, is_decided, ..
        } = follower;
        if !orphans.end() {
            made.notices
                .push("failed to end some processes of the trials".to_owned());
        }
        let is_whole = is_decided || made.trials.len() as u64 == u64::from(policy.trials);
        made.was_interrupted = stop.reason() == Some(TrialsStop::Interrupted)
            && (!is_whole || made.trials.iter().any(is_interrupted));
        if made.was_interrupted {
            add_interrupted(&mut made.trials, policy.trials);
        }
        Ok(made)
    }
}

/// Follows the trials of one gate.
struct TrialFollower<'a> {
    run: &'a GateRun<'a>,
    stop: &'a Stop,
    display: &'a mut dyn TrialDisplay,
    /// Start of the gate: a run that started earlier does not belong to it.
    began: Timestamp,
    made: MadeTrials,
    /// The trials stopped early because the verdict was certain.
    is_decided: bool,
    started: Instant,
    progress: GateProgress,
}

impl TrialFollower<'_> {
    /// Moves the runs of a trial to the store. A run that cannot be kept is judged all the same; a run that the store
    /// has already is not this trial's.
    fn keep(&mut self, trial: &mut Trial, runs: &[RunDirectory]) {
        let number = trial.number;
        let mark = GateTrial {
            id: self.run.command.gate.clone(),
            trial: u64::from(number),
        };
        for run in runs {
            match maintenance::adopt_run(run, &self.run.store, &mark) {
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

    /// Fails a trial whose trace an earlier one has, under the same ID or another: trials are independent only if their
    /// traces are (gate, *Evidence*).
    fn refuse_copy_of_trial(&self, trial: &mut Trial) {
        let earlier = |is_same: &dyn Fn(&Trial) -> bool| {
            let found = self.made.trials.iter().find(|other| is_same(other));
            found.map(|other| other.number)
        };
        let content = |trial: &Trial| trial.metrics.as_ref().map(|metrics| metrics.content);
        let same_id = earlier(&|other| trial.trace_id.is_some() && other.trace_id == trial.trace_id);
        let copied = earlier(&|other| content(trial).is_some() && content(other) == content(trial));
        let detail = match (same_id, copied) {
            (Some(other), _) => format!("it has the trace ID of trial {other}"),
            (None, Some(other)) => format!("it is a copy of that of trial {other}"),
            (None, None) => return,
        };
        trial.fail(not_independent(&detail));
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
        let stored = self.run.store.list().unwrap_or_default();
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

    /// Judges the trials so far, and shows the result of the last one.
    fn judge(&mut self) {
        let judgement = self.run.gate.judge(&self.made.trials);
        let (Some(trial), Some(findings)) = (self.made.trials.last(), judgement.findings.last()) else {
            return;
        };
        let with = |wanted: Option<bool>| -> Vec<&str> {
            let found = findings.iter().filter(|(_, finding)| finding.outcome == wanted);
            found.map(|(name, _)| name.as_str()).collect()
        };
        let not_kept = with(Some(false));
        if !trial.is_sound() || !not_kept.is_empty() {
            self.progress.failed += 1;
        } else if with(None).is_empty() {
            self.progress.passed += 1;
        }
        self.display.ended(trial, &not_kept, self.progress.planned);
        // A violated invariant fails the gate whatever the next trials do.
        self.progress.is_lost |= judgement
            .checks
            .iter()
            .any(|check| check.kind == CheckKind::Invariant && check.verdict == Some(Verdict::Fail));
    }

    /// Shows a notice and adds it to the report.
    fn notice(&mut self, text: String) {
        self.display.notice(&text);
        self.made.notices.push(text);
    }
}

fn not_independent(detail: &str) -> TrialFailure {
    TrialFailure::new(FailureReason::NotIndependent).with(detail)
}

impl Watcher<Attempt> for TrialFollower<'_> {
    fn started(&mut self, number: u32) {
        self.progress.running.insert(number);
        self.tick();
    }

    fn ended(&mut self, number: u32) {
        self.progress.running.remove(&number);
    }

    fn tick(&mut self) {
        self.progress.elapsed = self.started.elapsed();
        self.display.progress(&self.progress);
    }

    fn take(&mut self, attempt: Attempt) -> ControlFlow<()> {
        let Attempt {
            mut trial,
            runs,
            replay,
            has_survivors,
            scratch,
        } = attempt;
        self.made.replays.extend(replay);
        self.refuse_copy_of_trial(&mut trial);
        self.refuse_copy_of_stored_run(&mut trial);
        self.keep(&mut trial, &runs);
        self.clean_up(trial.number, has_survivors, scratch);
        let foreign = self.run.of_agent().zip(trial.metrics.as_ref());
        let foreign = foreign.and_then(|(input, run)| input.baseline.foreign_agent(run));
        self.made.foreign_agent = foreign.map(str::to_owned);
        if self.made.foreign_agent.is_none() {
            self.made.trials.push(trial);
            self.judge();
            let is_interrupted = self.stop.reason() == Some(TrialsStop::Interrupted);
            if is_interrupted || self.run.gate.stop_reason(&self.made.trials).is_none() {
                return ControlFlow::Continue(());
            }
        }
        self.is_decided = true;
        ControlFlow::Break(())
    }
}

fn is_interrupted(trial: &Trial) -> bool {
    let failure = trial.failure.as_ref();
    failure.is_some_and(|failure| failure.reason == FailureReason::Interrupted)
}

/// Adds an interrupted trial when no trial was running at the interruption, because missing trials are no evidence
/// and the gate must not pass.
fn add_interrupted(trials: &mut Vec<Trial>, budgeted: u32) {
    if trials.iter().any(is_interrupted) {
        return;
    }
    let missing = (1..=budgeted).find(|number| trials.iter().all(|trial| trial.number != *number));
    if let Some(number) = missing {
        let failure = TrialFailure::new(FailureReason::Interrupted);
        trials.push(Trial::failed(number, failure));
        trials.sort_by_key(|trial| trial.number);
    }
}
