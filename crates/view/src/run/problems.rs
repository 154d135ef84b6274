//! What is wrong with a run, found when it is first asked for: a log with a problem takes another look at all of it.

use std::path::Path;

use tracer_sdk::format::{Problem, ProblemCode, RunMeta, SPANS_FILE};
use tracer_sdk::read::{LogIndex, RunReader, Strictness};

use tracer_insight::status::RunStatus;

/// Further problems are counted.
const MAX_LISTED: usize = 200;

/// What is wrong.
#[derive(Debug, Default)]
pub(crate) struct RunProblems {
    pub(crate) listed: Vec<Problem>,
    pub(crate) more: u64,
    /// How many bytes of a last line were left out, because the run was stopped within it.
    pub(crate) cut_tail: Option<u64>,
}

impl RunProblems {
    /// Finds problems. A running run is not read again for each of its spans: only its unreadable lines count.
    pub(super) fn find(
        directory: &Path,
        meta: Option<&RunMeta>,
        status: RunStatus,
        index: &LogIndex,
    ) -> Self {
        if status == RunStatus::Running {
            return Self::of_lines(index);
        }
        if let Some((problems, more)) = Self::from_index(meta, index) {
            return Self::new(problems, more, None);
        }
        match RunReader::open(directory, Strictness::Lenient) {
            Ok(outlined) => Self::new(outlined.problems, outlined.more_problems, outlined.cut_tail),
            Err(invalid) => Self::new(invalid.problems, invalid.more_problems, None),
        }
    }

    /// The problems of a completed run whose metadata and lines have none: those of its spans with each other.
    fn from_index(meta: Option<&RunMeta>, index: &LogIndex) -> Option<(Vec<Problem>, u64)> {
        let has_every_parent = meta?.status.is_completed() && meta?.has_exact_counts();
        has_every_parent.then(|| index.completed_run_problems()).flatten()
    }

    fn new(mut problems: Vec<Problem>, more: u64, cut_tail: Option<u64>) -> Self {
        let hidden = problems.len().saturating_sub(MAX_LISTED) as u64;
        problems.truncate(MAX_LISTED);
        Self {
            listed: problems,
            more: more.saturating_add(hidden),
            cut_tail,
        }
    }

    fn of_lines(index: &LogIndex) -> Self {
        let lines = index.first_unreadable_lines();
        let problem = |line: &u64| {
            Problem::new(
                ProblemCode::MalformedJson,
                format!("{SPANS_FILE}:{line}"),
                "cannot be read as a span",
            )
        };
        let listed: Vec<Problem> = lines.iter().take(MAX_LISTED).map(problem).collect();
        let more = index.unreadable_lines() - listed.len() as u64;
        Self {
            listed,
            more,
            cut_tail: None,
        }
    }
}
