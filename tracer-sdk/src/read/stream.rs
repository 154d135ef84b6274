//! A run of any size, refused when it has a problem, its records read one after the other.

use std::path::{Path, PathBuf};

use super::gather::{gather, locate};
use super::load::InvalidRun;
use super::order::Order;
use super::record_stream::RecordStream;
use super::tally::Tally;
use crate::format::RunMeta;

/// A run that has no problem, with its records still in the file.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// let run = tracer_sdk::read::stream_run(&directory)?;
/// assert_eq!(run.meta.run_name.as_deref(), Some("support-agent"));
/// assert_eq!(run.records.record_count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StreamedRun {
    /// The run directory.
    pub directory: PathBuf,
    /// The run's metadata.
    pub meta: RunMeta,
    /// How many bytes of a last line were left out, because the run is running and its log was cut there.
    pub cut_tail: Option<u64>,
    /// The records, in the order of the projection.
    pub records: RecordStream,
}

/// Reads a run as [`open_run`](super::open_run) does and refuses it for the same, but holds an index of its spans
/// only: at most 64 bytes for each.
///
/// # Errors
///
/// [`InvalidRun`] with every problem, not only the first.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # std::fs::write(directory.path().join("meta.json"), r#"{"spec_version": "0.2.0",
/// #     "trace_id": "10000000000000000000000000000001", "run_name": "agent", "started_at": "2026-01-01T00:00:00Z",
/// #     "ended_at": null, "duration_ms": null, "status": "running",
/// #     "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}}"#)?;
/// # std::fs::write(directory.path().join("spans.jsonl"), r#"{"trace_id": "10000000000000000000000000000001",
/// #     "span_id": "3333333333333333", "parent_span_id": "1111111111111111", "name": "search", "kind": "INTERNAL",
/// #     "start_time": "2026-01-01T00:00:01Z", "end_time": null, "duration_ms": null, "events": [],
/// #     "attributes": {"tracer.tool_name": "search"}, "status_code": "OK", "status_description": ""}"#
/// #     .replace('\n', " "))?;
/// let run = tracer_sdk::read::stream_run(directory.path())?;
/// for record in run.records {
///     println!("{}", record?.name);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn stream_run(path: &Path) -> Result<StreamedRun, InvalidRun> {
    let directory = locate(path).map_err(InvalidRun::at_path)?;
    let mut gathered = gather::<Tally>(&directory);
    match gathered.meta.meta.take() {
        Some(meta) if gathered.problems.is_empty() => Ok(StreamedRun {
            directory,
            meta,
            cut_tail: gathered.log.cut_tail,
            records: RecordStream::new(
                Order::new(gathered.log.entries, gathered.log.visitor.promoted),
                gathered.file,
            ),
        }),
        _ => Err(InvalidRun::of(gathered)),
    }
}
