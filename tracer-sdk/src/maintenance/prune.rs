//! Which runs of a store go: pure, from what a list tells of them.

use crate::format::Timestamp;
use crate::read::RunStatus;

/// A run that may go.
///
/// ```
/// use tracer_sdk::read::RunStatus;
/// use tracer_sdk::maintenance::{Candidate, PruneRules, choose};
///
/// let live = Candidate { status: RunStatus::Running, may_be_live: true, started: None, bytes: 10 };
/// let rules = PruneRules { max_bytes: Some(0), ..PruneRules::default() };
/// assert!(choose(&[live], &rules).is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its status.
    pub status: RunStatus,
    /// Somebody records it, or may do so.
    pub may_be_live: bool,
    /// When it started; `None` when it cannot tell.
    pub started: Option<Timestamp>,
    /// How many bytes it holds.
    pub bytes: u64,
}

/// What goes. At least one rule must be set for anything to go.
///
/// ```
/// use tracer_sdk::read::RunStatus;
/// use tracer_sdk::maintenance::{Candidate, PruneRules, choose};
///
/// let run = |status| Candidate { status, may_be_live: false, started: None, bytes: 10 };
/// let failed = PruneRules { statuses: vec![RunStatus::Failed], ..PruneRules::default() };
/// assert_eq!(choose(&[run(RunStatus::Ok), run(RunStatus::Failed)], &failed), [1]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneRules {
    /// Only runs with one of these statuses; none means any, save damaged ones, which go only when they are named.
    pub statuses: Vec<RunStatus>,
    /// So many of the newest of those stay, whatever else is said.
    pub keep: Option<usize>,
    /// Runs that started before this go.
    pub before: Option<Timestamp>,
    /// The oldest go until the store holds no more bytes than these.
    pub max_bytes: Option<u64>,
}

impl PruneRules {
    /// Whether nothing is set.
    ///
    /// ```
    /// use tracer_sdk::maintenance::PruneRules;
    ///
    /// assert!(PruneRules::default().is_empty());
    /// assert!(!PruneRules { keep: Some(20), ..PruneRules::default() }.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn concerns(&self, run: &Candidate) -> bool {
        if self.statuses.is_empty() {
            run.status != RunStatus::Damaged
        } else {
            self.statuses.contains(&run.status)
        }
    }
}

/// The positions of the runs that go, the oldest first. `runs` are all runs of a store, the newest first.
///
/// Never a run that may be live. Without a rule about age or size, everything that the others leave goes.
///
/// ```
/// use tracer_sdk::read::RunStatus;
/// use tracer_sdk::maintenance::{Candidate, PruneRules, choose};
///
/// let run = Candidate { status: RunStatus::Ok, may_be_live: false, started: None, bytes: 10 };
/// let rules = PruneRules { keep: Some(2), ..PruneRules::default() };
/// assert_eq!(choose(&[run; 4], &rules), [3, 2]);
/// ```
#[must_use]
pub fn choose(runs: &[Candidate], rules: &PruneRules) -> Vec<usize> {
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
        let Some(run) = runs.get(position).filter(|run| !run.may_be_live) else {
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

    /// Five runs of ten bytes, the newest first; the one at second 40 may be live, the one at 20 is damaged.
    fn runs() -> Vec<Candidate> {
        let run = |second, status| Candidate {
            status,
            may_be_live: status == RunStatus::Running,
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
        fn what_may_be_live_never_goes_and_the_newest_are_kept(
            live in prop::collection::vec(any::<bool>(), 0..20),
            keep in prop::option::of(0usize..5),
            max_bytes in prop::option::of(0u64..300),
            before in prop::option::of(-20i64..1),
        ) {
            let runs: Vec<Candidate> = live.iter().zip(0..).map(|(live, age)| Candidate {
                status: RunStatus::Ok,
                may_be_live: *live,
                started: Some(at(-age)),
                bytes: 10,
            }).collect();
            let rules = PruneRules { keep, max_bytes, before: before.map(at), ..PruneRules::default() };
            for position in choose(&runs, &rules) {
                prop_assert!(!runs[position].may_be_live);
                prop_assert!(position >= keep.unwrap_or(0));
            }
        }
    }
}
