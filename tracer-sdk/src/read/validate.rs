//! Whether a run of any size keeps to the format, and what in it does not fit together (decisions, section 10).

use std::path::Path;

use super::cross_check;
use super::gather::{gather, locate};
use super::load::InvalidRun;
use super::order::types;
use super::project::count_types;
use super::tally::Tally;
use crate::format::{Problem, RecordedStatus, TraceId};

/// What validation found.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// let report = tracer_sdk::read::validate(&directory);
/// assert!(report.is_valid());
/// assert_eq!(report.span_count, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationReport {
    /// Everything that is wrong: `meta.json` first, then by line; empty for a valid run.
    pub problems: Vec<Problem>,
    /// How many problems there are besides: the first 10,000 of a log are listed, the others counted.
    pub more_problems: u64,
    /// What can be read and does not fit together: the counts, the outcome, the times. Emitters differ in these.
    pub warnings: Vec<Problem>,
    /// How many warnings there are besides.
    pub more_warnings: u64,
    /// The run's ID, when it can be read.
    pub trace_id: Option<TraceId>,
    /// The declared version, when it looks like one; a legacy run declares none.
    pub spec_version: Option<String>,
    /// The status, when it can be read.
    pub status: Option<RecordedStatus>,
    /// How many spans can be read; `None` when there was no span log to read.
    pub span_count: Option<u64>,
}

impl ValidationReport {
    /// Whether the run has no problem; warnings do not count.
    ///
    /// ```
    /// let report = tracer_sdk::read::validate("no/such/run".as_ref());
    /// assert!(!report.is_valid());
    /// ```
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether files are missing or unreadable, rather than read and found wrong.
    ///
    /// ```
    /// let report = tracer_sdk::read::validate("no/such/run".as_ref());
    /// assert!(report.is_input());
    /// ```
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.problems.iter().any(|problem| problem.code.is_input())
    }

    /// How many problems there are.
    ///
    /// ```
    /// let report = tracer_sdk::read::validate("no/such/run".as_ref());
    /// assert_eq!(report.problem_count(), 1);
    /// ```
    #[must_use]
    pub fn problem_count(&self) -> u64 {
        self.more_problems.saturating_add(self.problems.len() as u64)
    }

    /// How many warnings there are.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let report = tracer_sdk::read::validate(&directory);
    /// assert_eq!(report.warning_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn warning_count(&self) -> u64 {
        self.more_warnings.saturating_add(self.warnings.len() as u64)
    }

    /// The report where every warning is a problem, behind the others.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let meta = std::fs::read_to_string(directory.join("meta.json"))?;
    /// let wrong = meta.replace(r#""llm_calls":0"#, r#""llm_calls":7"#).replace(r#""llm_calls": 0"#, r#""llm_calls": 7"#);
    /// std::fs::write(directory.join("meta.json"), wrong)?;
    /// let report = tracer_sdk::read::validate(&directory);
    /// assert!(report.is_valid());
    /// assert!(!report.strict().is_valid());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.problems.append(&mut self.warnings);
        self.more_problems = self
            .more_problems
            .saturating_add(std::mem::take(&mut self.more_warnings));
        self
    }

    /// What is told of a run that is refused, whether or not it has a problem.
    fn of(invalid: InvalidRun) -> Self {
        Self {
            problems: invalid.problems,
            more_problems: invalid.more_problems,
            warnings: Vec::new(),
            more_warnings: 0,
            trace_id: invalid.trace_id,
            spec_version: invalid.spec_version,
            status: invalid.status,
            span_count: invalid.span_count.map(|count| count as u64),
        }
    }
}

/// Validates a run, in one pass and with at most 64 bytes in memory for each span.
///
/// `path` is a run directory or its `meta.json`. What has a problem here is what [`open_run`](super::open_run)
/// refuses.
///
/// ```
/// use tracer_sdk::format::ProblemCode;
///
/// let directory = tempfile::tempdir()?;
/// let report = tracer_sdk::read::validate(directory.path());
/// assert!(!report.is_valid() && report.is_input());
/// assert_eq!(report.problems[0].code, ProblemCode::MissingFile);
/// assert_eq!(report.span_count, None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn validate(path: &Path) -> ValidationReport {
    let directory = match locate(path) {
        Ok(directory) => directory,
        Err(problem) => return ValidationReport::of(InvalidRun::at_path(problem)),
    };
    let mut gathered = gather::<Tally>(&directory);
    let tally = std::mem::take(&mut gathered.log.visitor);
    let entries = std::mem::take(&mut gathered.log.entries);
    let meta = gathered.meta.meta.take();
    let mut report = ValidationReport::of(InvalidRun::of(gathered));
    let mut warnings = tally.warnings;
    if let Some(meta) = meta {
        // Counts are compared only when every span could be read.
        let counts = report
            .is_valid()
            .then(|| count_types(types(&entries, &tally.promoted)));
        let mut of_meta = super::log::Problems::default();
        cross_check::run(&meta, counts, tally.root, &mut of_meta);
        warnings.merge(of_meta);
    }
    let (kept, more) = warnings.into_parts();
    report.warnings = kept.collect();
    report.more_warnings = more;
    report
}
