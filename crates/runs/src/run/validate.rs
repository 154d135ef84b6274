//! Validation of a run of any size: [`validate`] lists its problems and warnings (decisions, section 10).

use std::path::Path;

use super::reader::InvalidRun;
use super::scan::{RunScan, locate};
use crate::check::meta_against_spans;
use crate::log::Problems;
use tracer_format::{Counts, Problem, RecordedStatus, TraceId};

/// The problems and warnings of a run.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let report = tracer_runs::validate(&directory);
/// assert!(report.is_valid());
/// assert_eq!(report.span_count, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ValidationReport {
    /// All problems: `meta.json` first, then by line; empty for a valid run.
    pub problems: Vec<Problem>,
    /// Number of further problems: the first 10,000 of a log are listed, the others counted.
    pub more_problems: u64,
    /// Counts, outcomes and times that can be read and disagree. Emitters differ in these.
    pub warnings: Vec<Problem>,
    /// Number of further warnings.
    pub more_warnings: u64,
    /// The run's ID, when it can be read.
    pub trace_id: Option<TraceId>,
    /// The declared version, when it looks like one; a legacy run declares none.
    pub spec_version: Option<String>,
    /// The recorded status, when it can be read.
    pub status: Option<RecordedStatus>,
    /// Number of spans that can be read; `None` when there was no span log to read.
    pub span_count: Option<u64>,
}

impl ValidationReport {
    /// Returns whether the run has no problem; warnings do not count.
    ///
    /// ```
    /// let report = tracer_runs::validate("no/such/run".as_ref());
    /// assert!(!report.is_valid());
    /// ```
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns whether files are missing or unreadable, rather than read and found wrong.
    ///
    /// ```
    /// let report = tracer_runs::validate("no/such/run".as_ref());
    /// assert!(report.is_input());
    /// ```
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.problems.iter().any(|problem| problem.code.is_input())
    }

    /// Number of all problems, listed or not.
    ///
    /// ```
    /// let report = tracer_runs::validate("no/such/run".as_ref());
    /// assert_eq!(report.problem_count(), 1);
    /// ```
    #[must_use]
    pub fn problem_count(&self) -> u64 {
        self.more_problems.saturating_add(self.problems.len() as u64)
    }

    /// Number of all warnings, listed or not.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let report = tracer_runs::validate(&directory);
    /// assert_eq!(report.warning_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn warning_count(&self) -> u64 {
        self.more_warnings.saturating_add(self.warnings.len() as u64)
    }

    /// The report with every warning as a problem, after the others.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let meta = std::fs::read_to_string(directory.join("meta.json"))?;
    /// let wrong = meta.replace(r#""llm_calls":0"#, r#""llm_calls":7"#).replace(r#""llm_calls": 0"#, r#""llm_calls": 7"#);
    /// std::fs::write(directory.join("meta.json"), wrong)?;
    /// let report = tracer_runs::validate(&directory);
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

    /// The report on a run that is refused, or that has no problem.
    fn from_invalid(invalid: InvalidRun) -> Self {
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
/// `path` is a run directory or its `meta.json`. What has a problem here is what [`RunReader::open`](super::RunReader::open)
/// refuses strictly.
///
/// ```
/// use tracer_sdk::format::ProblemCode;
///
/// let directory = tempfile::tempdir()?;
/// let report = tracer_runs::validate(directory.path());
/// assert!(!report.is_valid() && report.is_input());
/// assert_eq!(report.problems[0].code, ProblemCode::MissingFile);
/// assert_eq!(report.span_count, None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn validate(path: &Path) -> ValidationReport {
    let directory = match locate(path) {
        Ok(directory) => directory,
        Err(problem) => return ValidationReport::from_invalid(InvalidRun::at_path(problem)),
    };
    let mut scan = RunScan::read(&directory);
    let (root, mut warnings) = scan.index.take_findings();
    let meta = scan.meta.meta.take();
    // Counts are compared only when every span could be read.
    let counts = scan
        .problems
        .is_empty()
        .then(|| Counts::of_types(&scan.index.records_by_type()));
    let mut report = ValidationReport::from_invalid(InvalidRun::from_scan(scan));
    if let Some(meta) = meta {
        let mut of_meta = Problems::default();
        let counts = counts.filter(|_| meta.has_exact_counts());
        meta_against_spans(&meta, counts, root, &mut of_meta);
        warnings.merge(of_meta);
    }
    let (kept, more) = warnings.into_parts();
    report.warnings = kept.collect();
    report.more_warnings = more;
    report
}
