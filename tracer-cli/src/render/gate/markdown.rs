//! A report as Markdown, for the comment of a pull request and for the summary of a job.

/// The comment's first line, by which the next run finds it.
pub const MARKER: &str = "<!-- tracer gate -->";
