//! One run of a [`FactsStore`]: the one that somebody means, on this machine or in a bucket, and its files.

use std::collections::HashSet;

use tracer_runs::{RunDirectory, RunSummary, SelectError, StoreError, steps_before_latest};
use tracer_sdk::format::{Timestamp, TraceId};

use crate::database::RunDatabase;
use crate::mirror::{FetchError, RunLease, TeamStore};
use crate::store::FactsStore;

/// Characters of a short ID at least.
const MIN_SHORT_ID: usize = 8;

impl FactsStore {
    /// The run that `wanted` means, as [`RunStore::select`](tracer_runs::RunStore::select) has it, and the newest
    /// without one; of this machine, and of the bucket that is read as well. The files of one in a bucket need not be here:
    /// see [`FactsStore::files`].
    ///
    /// # Errors
    ///
    /// [`SelectError::NoRuns`] when there is none at all, [`SelectError::NotFound`] with those of this machine that are nearest,
    /// [`SelectError::Ambiguous`] with all that are meant, [`SelectError::TooFew`] when there are not that many before the
    /// newest, and [`SelectError::Store`] when the runs of this machine cannot be listed.
    pub fn select(&self, wanted: Option<&str>) -> Result<RunDirectory, SelectError> {
        let bucket = self
            .team()
            .and_then(|team| Some((team, team.mirror().database()?)));
        let Some((team, database)) = bucket else {
            return match wanted {
                None => self.runs().newest(),
                Some(wanted) => self.runs().select(wanted),
            };
        };
        let both = Both {
            store: self,
            team,
            database,
        };
        let wanted = wanted.unwrap_or("latest");
        if let Some(before) = steps_before_latest(wanted) {
            return both.before_newest(before);
        }
        let mut candidates = both.by_id(&wanted.to_ascii_lowercase())?;
        if candidates.is_empty() {
            candidates = both.named(wanted)?;
        }
        match <[RunDirectory; 1]>::try_from(candidates) {
            Ok([only]) => Ok(only),
            Err(candidates) if candidates.is_empty() => Err(match self.runs().select(wanted) {
                Err(SelectError::NotFound { candidates }) => SelectError::NotFound { candidates },
                _ if both.is_empty() => SelectError::NoRuns,
                _ => SelectError::NotFound { candidates },
            }),
            Err(candidates) => Err(SelectError::Ambiguous { candidates }),
        }
    }

    /// The files of a run that was listed or selected, fetched where they are not here.
    ///
    /// # Errors
    ///
    /// [`FetchError`]: the run is in a bucket, and its files cannot be had.
    pub fn files(&self, run: &RunDirectory) -> Result<RunLease, FetchError> {
        match self.team().filter(|team| team.mirror().holds(run)) {
            None => Ok(RunLease::unheld(run.clone())),
            Some(team) => {
                let database = team.mirror().database();
                let generation = database.and_then(|database| database.generation(run.trace_id).ok()?);
                team.fetch(run.trace_id, generation.ok_or(FetchError::Gone)?)
            }
        }
    }

    /// The directory that the run with this ID is read from; `None` when there is none.
    #[must_use]
    pub fn locate(&self, run: TraceId) -> Option<RunDirectory> {
        let here = self.directory(run);
        let is_here = here.path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_mirrored = |team: &TeamStore| {
            let found = team
                .mirror()
                .database()
                .and_then(|database| database.generation(run).ok()?);
            found.is_some() && !(is_here && team.has_changed_here(&here))
        };
        match self.team().filter(|team| is_mirrored(team)) {
            Some(team) => Some(team.mirror().directory(run)),
            None => is_here.then_some(here),
        }
    }

    /// The URL of the bucket that a run is read from; `None` of one of this machine.
    #[must_use]
    pub fn origin(&self, run: &RunDirectory) -> Option<&str> {
        let team = self.team().filter(|team| team.mirror().holds(run));
        team.map(|team| team.origin())
    }

    /// The metadata of a run; the mirror has that of one in a bucket.
    #[must_use]
    pub fn summary(&self, run: RunDirectory) -> RunSummary {
        self.summary_by(self.mirror().as_ref(), run)
    }

    fn summary_by(&self, mirror: Option<&RunDatabase>, run: RunDirectory) -> RunSummary {
        let Some(mirror) = mirror.filter(|_| self.origin(&run).is_some()) else {
            return run.read_summary();
        };
        let meta = mirror.meta(run.trace_id).ok().flatten();
        run.summary_of(meta.unwrap_or_default().as_bytes())
    }

    /// The mirror of the bucket that is read as well.
    fn mirror(&self) -> Option<RunDatabase> {
        self.team()?.mirror().database()
    }

    /// The metadata of many runs.
    #[must_use]
    pub fn summaries(&self, runs: impl IntoIterator<Item = RunDirectory>) -> Vec<RunSummary> {
        let mirror = self.mirror();
        let summary = |run| self.summary_by(mirror.as_ref(), run);
        runs.into_iter().map(summary).collect()
    }

    /// The IDs of the runs whose IDs begin like this one: what a short ID has to differ from. A look at all IDs of a bucket
    /// would take seconds where it has a million.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the folder of runs cannot be read.
    pub fn ids_like(&self, run: TraceId) -> Result<Vec<TraceId>, StoreError> {
        let id = run.to_string();
        let beginning = id.get(..MIN_SHORT_ID).unwrap_or(&id);
        let here = self.local_directories()?.into_iter().map(|other| other.trace_id);
        let mut ids: Vec<TraceId> = here
            .filter(|other| other.to_hex().starts_with(beginning.as_bytes()))
            .collect();
        ids.extend(
            self.mirror()
                .and_then(|mirror| mirror.ids(beginning).ok())
                .unwrap_or_default(),
        );
        Ok(ids)
    }
}

/// The runs of this machine and of a bucket.
struct Both<'a> {
    store: &'a FactsStore,
    team: &'a std::sync::Arc<TeamStore>,
    database: RunDatabase,
}

impl Both<'_> {
    fn is_empty(&self) -> bool {
        let is_empty_here = self.store.local_directories().is_ok_and(|runs| runs.is_empty());
        is_empty_here && self.database.newest(1).is_ok_and(|runs| runs.is_empty())
    }

    /// True of a run of this machine that is read from here.
    fn is_read_here(&self, run: &RunDirectory) -> bool {
        let is_mirrored = self
            .database
            .generation(run.trace_id)
            .is_ok_and(|found| found.is_some());
        !is_mirrored || self.team.has_changed_here(run)
    }

    /// The runs of this machine that are read from here.
    fn here(&self) -> Result<(Vec<RunSummary>, HashSet<TraceId>), StoreError> {
        let listed = match self.store.runs().list() {
            Err(StoreError::Missing { .. }) => Vec::new(),
            listed => listed?,
        };
        let here = listed.into_iter().filter(|run| self.is_read_here(&run.directory));
        let here: Vec<RunSummary> = here.collect();
        let ids = here.iter().map(|run| run.directory.trace_id).collect();
        Ok((here, ids))
    }

    fn before_newest(&self, steps: usize) -> Result<RunDirectory, SelectError> {
        let (here, ids) = self.here()?;
        // As many more as may be read from here instead.
        let limit = steps.saturating_add(1).saturating_add(here.len());
        let mirrored = self.database.newest(limit).unwrap_or_default().into_iter();
        let mut all: Vec<(Option<Timestamp>, RunDirectory)> = mirrored
            .filter(|(run, _)| !ids.contains(run))
            .map(|(run, started)| (started, self.team.mirror().directory(run)))
            .collect();
        all.extend(here.into_iter().map(|run| (run.started(), run.directory)));
        all.sort_by(|one, other| {
            let newest_first = other.0.cmp(&one.0);
            newest_first.then_with(|| one.1.trace_id.cmp(&other.1.trace_id))
        });
        let count = all.len();
        match all.into_iter().nth(steps) {
            Some((_, run)) => Ok(run),
            None if count == 0 => Err(SelectError::NoRuns),
            None => Err(SelectError::TooFew { count }),
        }
    }

    /// The runs whose IDs begin so.
    fn by_id(&self, prefix: &str) -> Result<Vec<RunDirectory>, StoreError> {
        if prefix.is_empty() {
            return Ok(Vec::new());
        }
        let mut found: Vec<RunDirectory> = self
            .store
            .local_directories()?
            .into_iter()
            .filter(|run| run.trace_id.to_hex().starts_with(prefix.as_bytes()))
            .filter(|run| self.is_read_here(run))
            .collect();
        let here: Vec<TraceId> = found.iter().map(|run| run.trace_id).collect();
        let mirrored = self.database.ids(prefix).unwrap_or_default();
        let mirrored = mirrored.into_iter().filter(|run| !here.contains(run));
        found.extend(mirrored.map(|run| self.team.mirror().directory(run)));
        found.sort_by_key(|run| run.trace_id);
        Ok(found)
    }

    /// The runs with a name.
    fn named(&self, name: &str) -> Result<Vec<RunDirectory>, StoreError> {
        if name.is_empty() {
            return Ok(Vec::new());
        }
        let (here, ids) = self.here()?;
        let is_named =
            |run: &RunSummary| run.meta.as_ref().ok().and_then(|meta| meta.run_name.as_deref()) == Some(name);
        let named = here.into_iter().filter(is_named);
        let mut found: Vec<RunDirectory> = named.map(|run| run.directory).collect();
        let mirrored = self.database.named(name).unwrap_or_default().into_iter();
        let mirrored = mirrored.filter(|run| !ids.contains(run));
        found.extend(mirrored.map(|run| self.team.mirror().directory(run)));
        Ok(found)
    }
}
