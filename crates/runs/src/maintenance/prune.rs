//! [`PrunePlan`]: the runs of a store that rules remove, worked out first and removed when it is applied.

use super::error::MaintenanceError;
use super::remove::{directory_bytes, remove_leftovers, remove_run};
use crate::{RunDirectory, RunStatus, RunStore, RunSummary};
use thiserror::Error;
use tracer_format::Timestamp;

/// The runs to remove. At least one rule must be set for any run to be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneRules {
    /// Only runs with one of these statuses; none means any except damaged ones, which are removed only when named.
    pub statuses: Vec<RunStatus>,
    /// Always keep this many of the newest of those.
    pub keep: Option<usize>,
    /// Remove runs that started before this.
    pub before: Option<Timestamp>,
    /// Remove the oldest runs until the store holds at most this many bytes.
    pub max_bytes: Option<u64>,
}

impl PruneRules {
    /// Returns whether no rule is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn concerns(&self, run: &PruneCandidate) -> bool {
        if self.statuses.is_empty() {
            run.status != RunStatus::Damaged
        } else {
            self.statuses.contains(&run.status)
        }
    }
}

/// A run that a plan removes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlannedRemoval {
    /// The run.
    pub run: RunSummary,
    /// Its status.
    pub status: RunStatus,
    /// Bytes of its files.
    pub bytes: u64,
}

/// The runs that rules remove, the oldest first.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PrunePlan {
    /// The runs to remove, the oldest first.
    pub removals: Vec<PlannedRemoval>,
}

/// The outcome of a plan that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneResult {
    /// Number of runs that were removed; a run that is being recorded again meanwhile is kept.
    pub removed_runs: usize,
    /// Bytes of their files.
    pub removed_bytes: u64,
}

impl PrunePlan {
    /// Reads the status and size of each run and applies the rules. `runs` are all runs of a store, the newest first;
    /// `on_run` is called after each.
    ///
    /// A run that may be live is never removed. Without a rule about age or size, every run that the others leave is.
    #[must_use]
    pub fn compute(runs: &[RunSummary], rules: &PruneRules, mut on_run: impl FnMut()) -> Self {
        RunSummary::check_all_logs(runs);
        let read = |run: &RunSummary| {
            let candidate = PruneCandidate {
                status: run.status(),
                is_protected: run.may_be_live(),
                started: run.started(),
                bytes: directory_bytes(&run.directory.path),
            };
            on_run();
            candidate
        };
        let candidates: Vec<PruneCandidate> = runs.iter().map(read).collect();
        let removals = choose(&candidates, rules).into_iter().filter_map(|position| {
            let candidate = candidates.get(position)?;
            Some(PlannedRemoval {
                run: runs.get(position)?.clone(),
                status: candidate.status,
                bytes: candidate.bytes,
            })
        });
        Self {
            removals: removals.collect(),
        }
    }

    /// Bytes of all runs to remove.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.removals
            .iter()
            .fold(0, |sum, removal| sum.saturating_add(removal.bytes))
    }

    /// Removes the runs, and what interrupted removals left in the store; `on_removed` is called after each run.
    ///
    /// # Errors
    ///
    /// [`PruneError`] at the first run that cannot be removed; those before it are gone.
    pub fn apply(&self, store: &RunStore, mut on_removed: impl FnMut()) -> Result<PruneResult, PruneError> {
        let mut result = PruneResult {
            removed_runs: 0,
            removed_bytes: 0,
        };
        for PlannedRemoval { run, bytes, .. } in &self.removals {
            // It may have been resumed since it was listed.
            if run.may_be_live() {
                continue;
            }
            remove_run(&run.directory).map_err(|source| PruneError {
                run: Some(run.directory.clone()),
                source,
            })?;
            result.removed_runs += 1;
            result.removed_bytes = result.removed_bytes.saturating_add(*bytes);
            on_removed();
        }
        remove_leftovers(&store.runs_dir()).map_err(|source| PruneError { run: None, source })?;
        Ok(result)
    }
}

/// A plan that could not be applied to its end.
#[derive(Debug, Error)]
#[error("failed to remove {}", run.as_ref().map_or_else(|| "what an interrupted removal left".to_owned(), |run| format!("run {}", run.trace_id)))]
#[non_exhaustive]
pub struct PruneError {
    /// The run that could not be removed; `None` when leftovers of earlier removals could not.
    pub run: Option<RunDirectory>,
    /// The cause.
    pub source: MaintenanceError,
}

/// A run as [`PruneRules`] see it.
#[derive(Debug, Clone, Copy)]
struct PruneCandidate {
    status: RunStatus,
    /// It is or may be recorded now.
    is_protected: bool,
    started: Option<Timestamp>,
    /// Bytes of its files.
    bytes: u64,
}

/// The positions of the runs to remove, the oldest first, among all runs of a store, the newest first. Without a rule about
/// age or size, every run that the others leave is.
fn choose(runs: &[PruneCandidate], rules: &PruneRules) -> Vec<usize> {
    if rules.is_empty() {
        return Vec::new();
    }
    let mut excess = rules.max_bytes.map(|max_bytes| {
        let held = runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.bytes));
        held.saturating_sub(max_bytes)
    });
    let by_itself = rules.before.is_none() && rules.max_bytes.is_none();
    let concerned: Vec<usize> = runs
        .iter()
        .enumerate()
        .filter(|(_, run)| rules.concerns(run))
        .map(|(position, _)| position)
        .collect();
    let free = concerned.into_iter().skip(rules.keep.unwrap_or(0));
    let mut chosen = Vec::new();
    for position in free.rev() {
        let Some(run) = runs.get(position).filter(|run| !run.is_protected) else {
            continue;
        };
        let is_old = rules
            .before
            .is_some_and(|before| run.started.is_some_and(|started| started < before));
        let is_too_much = excess.is_some_and(|excess| excess > 0);
        if by_itself || is_old || is_too_much {
            excess = excess.map(|excess| excess.saturating_sub(run.bytes));
            chosen.push(position);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_microseconds(second * 1_000_000)
    }

    #[test]
    fn a_store_without_rules_loses_nothing() {
        let run = PruneCandidate {
            status: RunStatus::Ok,
            is_protected: false,
            started: None,
            bytes: 10,
        };
        assert!(choose(&[run; 4], &PruneRules::default()).is_empty());
        let keep_two = PruneRules {
            keep: Some(2),
            ..PruneRules::default()
        };
        assert_eq!(choose(&[run; 4], &keep_two), [3, 2]);
    }

    /// Five runs of ten bytes, the newest first; the one at second 40 may be live, the one at 20 is damaged.
    fn runs() -> Vec<PruneCandidate> {
        let run = |second, status| PruneCandidate {
            status,
            is_protected: status == RunStatus::Running,
            started: Some(at(second)),
            bytes: 10,
        };
        vec![
            run(50, RunStatus::Ok),
            run(40, RunStatus::Running),
            run(30, RunStatus::Failed),
            run(20, RunStatus::Damaged),
            run(10, RunStatus::Ok),
        ]
    }

    #[test]
    fn each_rule_chooses_and_keep_protects() {
        let rules = PruneRules::default;
        for (rules, chosen) in [
            (rules(), vec![]),
            (
                PruneRules {
                    keep: Some(0),
                    ..rules()
                },
                vec![4, 2, 0],
            ),
            (
                PruneRules {
                    keep: Some(3),
                    ..rules()
                },
                vec![4],
            ),
            (
                PruneRules {
                    before: Some(at(31)),
                    ..rules()
                },
                vec![4, 2],
            ),
            (
                PruneRules {
                    before: Some(at(31)),
                    keep: Some(3),
                    ..rules()
                },
                vec![4],
            ),
            (
                PruneRules {
                    max_bytes: Some(35),
                    ..rules()
                },
                vec![4, 2],
            ),
            (
                PruneRules {
                    max_bytes: Some(50),
                    ..rules()
                },
                vec![],
            ),
            (
                PruneRules {
                    max_bytes: Some(0),
                    keep: Some(1),
                    ..rules()
                },
                vec![4, 2],
            ),
            (
                PruneRules {
                    statuses: vec![RunStatus::Damaged],
                    ..rules()
                },
                vec![3],
            ),
            (
                PruneRules {
                    statuses: vec![RunStatus::Ok],
                    keep: Some(1),
                    ..rules()
                },
                vec![4],
            ),
            (
                PruneRules {
                    statuses: vec![RunStatus::Running],
                    ..rules()
                },
                vec![],
            ),
        ] {
            assert_eq!(choose(&runs(), &rules), chosen, "{rules:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_protected_never_goes_and_the_newest_are_kept(
            live in prop::collection::vec(any::<bool>(), 0..20),
            keep in prop::option::of(0usize..5),
            max_bytes in prop::option::of(0u64..300),
            before in prop::option::of(-20i64..1),
        ) {
            let runs: Vec<PruneCandidate> = live.iter().zip(0..).map(|(live, age)| PruneCandidate {
                status: RunStatus::Ok,
                is_protected: *live,
                started: Some(at(-age)),
                bytes: 10,
            }).collect();
            let rules = PruneRules { keep, max_bytes, before: before.map(at), ..PruneRules::default() };
            for position in choose(&runs, &rules) {
                prop_assert!(!runs[position].is_protected);
                prop_assert!(position >= keep.unwrap_or(0));
            }
        }
    }
}
