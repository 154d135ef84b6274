//! Which run somebody means: the newest or one before it, a full ID, the beginning of one, or a name (specification,
//! *Run directory*, rule 3).

use super::summary::{RunDirectory, RunSummary};
use super::{RunStore, StoreError};
use strsim::levenshtein;
use thiserror::Error;

/// The word for the newest run, which `~2` behind it makes the second before it.
const LATEST: &str = "latest";
/// Maximum number of suggestions when nothing matches.
const MAX_SUGGESTIONS: usize = 3;
/// Minimum number of characters that a suggestion shares with the text asked for: fewer are chance.
const MIN_COMMON: usize = 3;

impl RunStore {
    /// The newest run, damaged or not.
    ///
    /// # Errors
    ///
    /// [`SelectError::NoRuns`] when there is none, [`SelectError::Store`] when they cannot be listed.
    pub fn newest(&self) -> Result<RunDirectory, SelectError> {
        self.before_newest(0)
    }

    /// The run that `wanted` means: a full trace ID, a beginning that only one run has, `latest`, `latest~2` (the
    /// second before the newest), or a name that only one run has. Upper case in an ID is taken for lower case, as in
    /// one that was copied from elsewhere; a name has to be exact. What is both the beginning of an ID and a name is the
    /// beginning of an ID.
    ///
    /// The text asked for never becomes a path, unless it is a whole ID: else only the names of existing directories
    /// are compared.
    ///
    /// # Errors
    ///
    /// [`SelectError`], with the candidates when several runs match and the nearest when none does.
    pub fn select(&self, wanted: &str) -> Result<RunDirectory, SelectError> {
        if let Some(steps) = steps_before_latest(wanted) {
            return self.before_newest(steps);
        }
        if let Some(run) = self.with_full_id(wanted) {
            return Ok(run);
        }
        let mut candidates = self.list_directories()?;
        if candidates.is_empty() {
            return Err(SelectError::NoRuns);
        }
        let prefix = wanted.to_ascii_lowercase();
        candidates.retain(|directory| {
            !prefix.is_empty() && directory.trace_id.to_hex().starts_with(prefix.as_bytes())
        });
        if candidates.is_empty() {
            let runs = self.list()?;
            let is_named = |run: &&RunSummary| !wanted.is_empty() && name(run) == Some(wanted);
            candidates = runs
                .iter()
                .filter(is_named)
                .map(|run| run.directory.clone())
                .collect();
            if candidates.is_empty() {
                return Err(SelectError::NotFound {
                    candidates: nearest(&runs, wanted, &prefix),
                });
            }
        }
        match <[RunDirectory; 1]>::try_from(candidates) {
            Ok([only]) => Ok(only),
            Err(candidates) => Err(SelectError::Ambiguous { candidates }),
        }
    }

    /// The run with this ID: a receiver asks for each of its runs, so that the others are not looked through.
    fn with_full_id(&self, wanted: &str) -> Option<RunDirectory> {
        // An ID is 32 hexadecimal digits, and so the name of one directory.
        let trace_id = wanted.to_ascii_lowercase().parse().ok()?;
        let run = RunDirectory::in_folder(&self.runs_dir(), trace_id);
        let is_there = run.path.symlink_metadata().is_ok_and(|found| found.is_dir());
        is_there.then_some(run)
    }

    fn before_newest(&self, steps: usize) -> Result<RunDirectory, SelectError> {
        let newest = self.list_newest(steps.saturating_add(1))?;
        let count = newest.len();
        match newest.into_iter().nth(steps) {
            Some(run) => Ok(run.directory),
            None if count == 0 => Err(SelectError::NoRuns),
            None => Err(SelectError::TooFew { count }),
        }
    }
}

/// Number of steps back from the newest run that `latest` or `latest~2` means; `None` for any other text.
#[must_use]
pub fn steps_before_latest(wanted: &str) -> Option<usize> {
    let steps = wanted.strip_prefix(LATEST)?;
    if steps.is_empty() {
        return Some(0);
    }
    let digits = steps.strip_prefix('~')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that is too large is past every run.
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

fn name(run: &RunSummary) -> Option<&str> {
    run.meta.as_ref().ok()?.run_name.as_deref()
}

/// The runs whose IDs begin or whose names are most like what was asked for, the nearest first.
fn nearest(runs: &[RunSummary], wanted: &str, prefix: &str) -> Vec<RunDirectory> {
    let wanted = wanted.to_lowercase();
    let allowed = wanted.chars().count() / 3;
    let mut ranked: Vec<(usize, &RunSummary)> = runs
        .iter()
        .filter_map(|run| {
            let of_name = name(run)
                .map(|name| levenshtein(&wanted, &name.to_lowercase()))
                .filter(|distance| *distance <= allowed);
            let of_id = id_distance(run, prefix);
            Some((of_name.into_iter().chain(of_id).min()?, run))
        })
        .collect();
    // Stable: among equals the newest comes first.
    ranked.sort_by_key(|(distance, _)| *distance);
    ranked
        .into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, run)| run.directory.clone())
        .collect()
}

/// Edit distance between the text asked for and the beginning of a run's ID; `None` when it is not near.
fn id_distance(run: &RunSummary, prefix: &str) -> Option<usize> {
    let id = run.directory.trace_id.to_string();
    let common = id
        .bytes()
        .zip(prefix.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    let distance = levenshtein(prefix, id.get(..prefix.len()).unwrap_or(&id));
    // One slip anywhere in an ID that was typed or copied.
    let is_slip = prefix.len() > MIN_COMMON && distance <= 2;
    (common >= MIN_COMMON || is_slip).then_some(distance)
}

/// Why no run was selected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The store is empty.
    #[error("there are no runs yet")]
    NoRuns,
    /// No run has such an ID or name.
    #[error("no run has an ID that begins so, or this name")]
    NotFound {
        /// The runs whose IDs or names are nearest, the nearest first; often none.
        candidates: Vec<RunDirectory>,
    },
    /// Several runs have IDs that begin so, or have this name.
    #[error("{} runs have an ID that begins so, or this name; give more of the ID", candidates.len())]
    Ambiguous {
        /// All of them: by ID, or the newest first.
        candidates: Vec<RunDirectory>,
    },
    /// There are not that many runs before the newest.
    #[error("there {}", if *count == 1 { "is only one run".to_owned() } else { format!("are only {count} runs") })]
    TooFew {
        /// Number of runs in the store.
        count: usize,
    },
    /// The runs cannot be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::store_with;

    const RUNS: [(&str, &str); 3] = [
        ("abcd0000000000000000000000000001", "2026-01-01T00:00:00Z"),
        ("abce0000000000000000000000000002", "2026-01-03T00:00:00Z"),
        ("f0000000000000000000000000000003", "2026-01-02T00:00:00Z"),
    ];

    fn ids(directories: &[RunDirectory]) -> Vec<String> {
        directories
            .iter()
            .map(|directory| directory.trace_id.to_string())
            .collect()
    }

    #[test]
    fn a_run_is_selected_by_its_id_by_a_unique_beginning_and_as_the_latest() {
        let (_data, store) = store_with(&RUNS);
        for (wanted, expected) in [
            (RUNS[0].0, RUNS[0].0),
            ("f", RUNS[2].0),
            ("abcd", RUNS[0].0),
            ("ABCE", RUNS[1].0),
            ("F0000000000000000000000000000003", RUNS[2].0),
            ("latest", RUNS[1].0),
            ("latest~0", RUNS[1].0),
            ("latest~1", RUNS[2].0),
            ("latest~2", RUNS[0].0),
        ] {
            let selected = store.select(wanted).unwrap();
            assert_eq!(selected.trace_id.to_string(), expected);
            assert_eq!(selected.path, store.runs_dir().join(expected));
        }
        assert_eq!(store.newest().unwrap().trace_id.to_string(), RUNS[1].0);
    }

    #[test]
    fn a_beginning_of_several_runs_is_an_error_that_names_them() {
        let (_data, store) = store_with(&RUNS);
        let Err(SelectError::Ambiguous { candidates }) = store.select("abc") else {
            panic!("not ambiguous")
        };
        assert_eq!(ids(&candidates), [RUNS[0].0, RUNS[1].0]);
    }

    #[test]
    fn what_matches_no_run_is_an_error_that_names_the_nearest() {
        let (_data, store) = store_with(&RUNS);
        for (wanted, nearest) in [
            ("abcdf", vec![RUNS[0].0, RUNS[1].0]),
            ("0", vec![]),
            ("", vec![]),
            ("bcd0000", vec![RUNS[0].0]),
            ("nihgtly", vec![RUNS[1].0, RUNS[2].0, RUNS[0].0]),
            ("latest~", vec![]),
            ("latest~-1", vec![]),
        ] {
            let Err(SelectError::NotFound { candidates }) = store.select(wanted) else {
                panic!("{wanted} is found")
            };
            assert_eq!(ids(&candidates), nearest);
        }
    }

    #[test]
    fn a_run_is_selected_by_its_exact_name_when_no_other_has_it() {
        let (_data, store) = store_with(&RUNS);
        let rename = |run: usize, name: &str| {
            let path = store.runs_dir().join(RUNS[run].0).join("meta.json");
            let meta = std::fs::read_to_string(&path).unwrap();
            std::fs::write(path, meta.replace("\"nightly\"", &format!("{name:?}"))).unwrap();
        };
        rename(0, "support agent");
        assert_eq!(
            store.select("support agent").unwrap().trace_id.to_string(),
            RUNS[0].0
        );
        let Err(SelectError::Ambiguous { candidates }) = store.select("nightly") else {
            panic!("not ambiguous")
        };
        assert_eq!(ids(&candidates), [RUNS[1].0, RUNS[2].0], "the newest first");
        assert!(matches!(
            store.select("Support agent"),
            Err(SelectError::NotFound { candidates }) if ids(&candidates) == [RUNS[0].0]
        ));
        rename(1, "f");
        assert_eq!(
            store.select("f").unwrap().trace_id.to_string(),
            RUNS[2].0,
            "the beginning of an ID comes first"
        );
    }

    #[test]
    fn before_the_oldest_there_is_no_run() {
        let (_data, store) = store_with(&RUNS);
        for wanted in ["latest~3", "latest~99999999999999999999999"] {
            assert!(
                matches!(store.select(wanted), Err(SelectError::TooFew { count: 3 })),
                "{wanted}"
            );
        }
    }

    #[test]
    fn what_is_asked_for_never_becomes_a_path() {
        let (_data, store) = store_with(&RUNS);
        std::fs::create_dir(store.runs_dir().join("notes")).unwrap();
        let absolute = store.runs_dir().join(RUNS[0].0);
        for hostile in [
            "..",
            "../runs",
            "notes",
            "/",
            ".",
            "abcd0000000000000000000000000001/",
            "*",
            absolute.to_str().unwrap(),
        ] {
            assert!(
                matches!(store.select(hostile), Err(SelectError::NotFound { .. })),
                "{hostile}"
            );
        }
    }

    #[test]
    fn a_link_with_the_name_of_a_run_is_no_run() {
        let (_data, store) = store_with(&RUNS);
        let id = "abcd0000000000000000000000000009";
        #[cfg(unix)]
        std::os::unix::fs::symlink(store.runs_dir().join(RUNS[0].0), store.runs_dir().join(id)).unwrap();
        #[cfg(not(unix))]
        std::fs::write(store.runs_dir().join(id), "").unwrap();
        assert!(matches!(store.select(id), Err(SelectError::NotFound { .. })));
    }

    #[test]
    fn an_empty_store_differs_from_a_missing_one() {
        let (_data, store) = store_with(&[]);
        for wanted in ["latest", "abc"] {
            assert!(matches!(store.select(wanted), Err(SelectError::NoRuns)));
        }
        let missing = RunStore::new(store.data_dir().join("nowhere"));
        assert!(matches!(
            missing.newest(),
            Err(SelectError::Store(StoreError::Missing { .. }))
        ));
    }
}
