//! Which run somebody means: the newest, a full ID, or the beginning of one (specification, *Run directory*, rule 3).

use std::cmp::Reverse;
use std::error::Error;
use std::fmt;

use super::store::{RunDirectory, RunStore, StoreError};

/// The word for the newest run.
const LATEST: &str = "latest";
/// How many runs are suggested when nothing matches.
const MAX_SUGGESTIONS: usize = 3;
/// How many characters a suggestion has in common with what was asked for, at least: less is chance.
const MIN_COMMON: usize = 3;

impl RunStore {
    /// The newest run, damaged or not.
    ///
    /// # Errors
    ///
    /// [`SelectError::NoRuns`] when there is none, [`SelectError::Store`] when they cannot be listed.
    pub fn newest(&self) -> Result<RunDirectory, SelectError> {
        let newest = self.list()?.into_iter().next();
        newest.map(|run| run.directory).ok_or(SelectError::NoRuns)
    }

    /// The run that `wanted` means: a full trace ID, a beginning that only one run has, or `latest`. Upper case is
    /// taken for lower case, as in an ID that was copied from elsewhere.
    ///
    /// What is asked for never becomes a path: only the names of directories that are there are compared.
    ///
    /// # Errors
    ///
    /// [`SelectError`], with the candidates when several runs match and the nearest when none does.
    pub fn select(&self, wanted: &str) -> Result<RunDirectory, SelectError> {
        if wanted == LATEST {
            return self.newest();
        }
        let directories = self.directories()?;
        if directories.is_empty() {
            return Err(SelectError::NoRuns);
        }
        let prefix = wanted.to_ascii_lowercase();
        let mut candidates: Vec<RunDirectory> = directories
            .iter()
            .filter(|directory| !prefix.is_empty() && directory.trace_id.to_string().starts_with(&prefix))
            .cloned()
            .collect();
        match candidates.len() {
            0 => Err(SelectError::NotFound {
                candidates: nearest(directories, &prefix),
            }),
            1 => Ok(candidates.remove(0)),
            _ => Err(SelectError::Ambiguous { candidates }),
        }
    }
}

/// The runs whose IDs begin most like what was asked for.
fn nearest(directories: Vec<RunDirectory>, prefix: &str) -> Vec<RunDirectory> {
    let mut ranked: Vec<(usize, RunDirectory)> = directories
        .into_iter()
        .map(|directory| {
            let id = directory.trace_id.to_hex();
            let common = id
                .iter()
                .zip(prefix.as_bytes())
                .take_while(|(one, other)| one == other)
                .count();
            (common, directory)
        })
        .filter(|(common, _)| *common >= MIN_COMMON)
        .collect();
    ranked.sort_by_key(|(common, _)| Reverse(*common));
    ranked
        .into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, directory)| directory)
        .collect()
}

/// Why no run was selected.
#[derive(Debug)]
#[non_exhaustive]
pub enum SelectError {
    /// The store is empty.
    NoRuns,
    /// No run has such an ID.
    NotFound {
        /// The runs whose IDs are nearest, the nearest first; often none.
        candidates: Vec<RunDirectory>,
    },
    /// Several runs have IDs that begin so.
    Ambiguous {
        /// All of them, by ID.
        candidates: Vec<RunDirectory>,
    },
    /// The runs cannot be listed.
    Store(StoreError),
}

impl From<StoreError> for SelectError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for SelectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRuns => formatter.write_str("there are no runs yet"),
            Self::NotFound { .. } => formatter.write_str("no run has an ID that begins so"),
            Self::Ambiguous { candidates } => {
                write!(
                    formatter,
                    "{} runs have an ID that begins so; give more of it",
                    candidates.len()
                )
            }
            Self::Store(error) => error.fmt(formatter),
        }
    }
}

impl Error for SelectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(error) => error.source(),
            Self::NoRuns | Self::NotFound { .. } | Self::Ambiguous { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::store_with;
    use super::*;

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
            ("latest", RUNS[1].0),
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
            ("latest~1", vec![]),
        ] {
            let Err(SelectError::NotFound { candidates }) = store.select(wanted) else {
                panic!("{wanted} is found")
            };
            assert_eq!(ids(&candidates), nearest);
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
    fn an_empty_store_and_one_that_is_missing_are_told_apart() {
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
