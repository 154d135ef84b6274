//! [`RunScan`]: both files of a run directory read, with their problems, before anybody decides what a problem means.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::sums::{LogSums, NoSums, SpanSums, SummingTally};
use super::tally::Tally;
use crate::read::check::{Expectations, structure_problems};
use crate::read::file::{self, OpenError};
use crate::read::log::{LineReader, Problems, ScanOptions, ScanResult, SpanVisitor, first_trace_id, scan};
use tracer_format::parse::{Location, MAX_META_BYTES, MetaReading, read_meta};
use tracer_format::{META_FILE, Problem, ProblemCode, RecordedStatus, RunMeta, SPANS_FILE, TraceId};

/// The files of the `0.1` format.
const LEGACY_FILES: [&str; 2] = ["run.json", "events.jsonl"];

/// A run directory, scanned.
#[derive(Debug)]
pub(super) struct RunScan {
    pub(super) meta: MetaReading,
    /// The content of the log, its problems moved to the list below.
    pub(super) log: ScanResult<Tally>,
    /// The log itself; `None` when it could not be opened.
    pub(super) lines: Option<LineReader>,
    /// The problems of both files: `meta.json` first, then by line.
    pub(super) problems: Vec<Problem>,
    /// Number of further problems: of a log with very many, only the first are kept.
    pub(super) more_problems: u64,
}

type LogScan<Sums> = (ScanResult<SummingTally<Sums>>, Option<LineReader>);

impl RunScan {
    /// Scans both files. A version that is not supported ends the scan: the spans of another version cannot be judged.
    pub(super) fn read(directory: &Path) -> Self {
        Self::read_summed::<NoSums>(directory).0
    }

    /// The same with sums over the spans.
    pub(super) fn read_summed<Sums: SpanSums>(directory: &Path) -> (Self, LogSums<Sums>) {
        Self::new(read_meta_file(directory), |meta| read_log(directory, meta))
    }

    /// Scans the contents of both files.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn from_bytes(meta: &[u8], log: &[u8]) -> Self {
        let (scan, _) = Self::new::<NoSums>(read_meta(meta), |meta| {
            let scan = scan_log(&mut io::Cursor::new(log), meta)?;
            Ok((scan, Some(LineReader::in_memory(log.to_vec()))))
        });
        scan
    }

    fn new<Sums: SpanSums>(
        mut meta: MetaReading,
        scan_log: impl FnOnce(&MetaReading) -> Result<LogScan<Sums>, OpenError>,
    ) -> (Self, LogSums<Sums>) {
        let mut summed = LogSums::default();
        let mut scan = Self {
            problems: std::mem::take(&mut meta.problems),
            log: ScanResult::default(),
            lines: None,
            more_problems: 0,
            meta,
        };
        let is_unsupported = |problem: &Problem| problem.code == ProblemCode::UnsupportedVersion;
        if scan.problems.iter().any(is_unsupported) {
            return (scan, summed);
        }
        let failure = match scan_log(&scan.meta) {
            Ok((log, lines)) => {
                (scan.log, summed) = log.divided(|scanned| (scanned.tally, scanned.summed));
                scan.lines = lines;
                scan.log.failure.take().map(OpenError::Io)
            }
            Err(error) => {
                scan.log.is_whole = false;
                Some(error)
            }
        };
        let mut problems = std::mem::take(&mut scan.log.problems);
        if let Some(error) = failure {
            let mut of_file = Problems::default();
            of_file.push(0, file::problem(SPANS_FILE, &error));
            problems.merge(of_file);
        }
        let counted_all = scan.meta.meta.as_ref().is_none_or(RunMeta::has_exact_counts);
        let expected = Expectations {
            needs_parents: counted_all,
            is_completed: scan.meta.status.is_some_and(RecordedStatus::is_completed),
            is_whole: scan.log.is_whole,
        };
        problems.merge(structure_problems(&mut scan.log.entries, expected));
        let (kept, more) = problems.into_parts();
        scan.problems.extend(kept);
        scan.more_problems = more;
        (scan, summed)
    }

    /// Number of spans that can be read; `None` when there was no log to read.
    pub(super) fn span_count(&self) -> Option<u64> {
        self.log.is_read.then_some(self.log.span_count)
    }

    /// The ID that the spans of the run have: that of `meta.json`, or else of the first span.
    pub(super) fn own_trace_id(&self) -> Option<TraceId> {
        self.meta.trace_id.or(self.log.own_trace_id)
    }
}

/// Finds the run directory that a path names: the directory itself, or its `meta.json`.
pub(super) fn locate(path: &Path) -> Result<PathBuf, Problem> {
    let problem = |code, message| Problem::new(code, path.display().to_string(), message);
    let metadata = path.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => problem(
            ProblemCode::PathNotFound,
            "does not exist; name a run directory or its meta.json".to_owned(),
        ),
        _ => problem(ProblemCode::UnreadableFile, format!("cannot be read: {error}")),
    })?;
    if metadata.is_dir() {
        let has = |file: &str| path.join(file).symlink_metadata().is_ok();
        if has(META_FILE) || has(SPANS_FILE) {
            return Ok(path.to_owned());
        }
        let legacy = LEGACY_FILES.into_iter().find(|file| has(file));
        return legacy.map_or_else(|| Ok(path.to_owned()), |file| Err(legacy_format(file)));
    }
    match path.file_name().and_then(|name| name.to_str()) {
        Some(META_FILE) => Ok(match path.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        }),
        Some(name) if LEGACY_FILES.contains(&name) => Err(legacy_format(name)),
        _ => Err(problem(
            ProblemCode::UnsupportedPath,
            "is neither a run directory nor its meta.json; name one of these".to_owned(),
        )),
    }
}

fn legacy_format(file: &str) -> Problem {
    Problem::new(
        ProblemCode::LegacyFormat,
        file,
        "belongs to the 0.1 format, which is no longer read; record the run again with a current emitter, or read it \
         with the version of the tool that wrote it",
    )
}

/// Reads the `meta.json` of a run directory.
pub(crate) fn read_meta_file(directory: &Path) -> MetaReading {
    // Room for any ordinary file, so that it is read at once.
    let mut bytes = Vec::with_capacity(4096);
    let read = file::open(&directory.join(META_FILE)).and_then(|file| {
        // A file that is too large is refused by its length; one that grows meanwhile, by what was read of it.
        let length = file.metadata()?.len();
        if length > MAX_META_BYTES {
            return Ok(length);
        }
        file.take(MAX_META_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(bytes.len() as u64)
    });
    let length = match read {
        Ok(length) => length,
        Err(error) => return MetaReading::nothing(file::problem(META_FILE, &error)),
    };
    if length > MAX_META_BYTES {
        let message = format!(
            "is larger than {} MiB, which no run's metadata is",
            MAX_META_BYTES / 1024 / 1024
        );
        return MetaReading::nothing(Problem::new(ProblemCode::UnreadableFile, META_FILE, message));
    }
    let mut reading = read_meta(&bytes);
    let named: Option<TraceId> = directory
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.parse().ok());
    if let (Some(named), Some(recorded)) = (named, reading.trace_id)
        && named != recorded
        && !reading.is_unsupported()
    {
        reading.problems.push(Location::Meta.field_problem(
            "trace_id",
            ProblemCode::TraceIdMismatch,
            "is not the name of the run directory; a run directory is named after its run",
        ));
    }
    reading
}

/// Scans the `spans.jsonl` of a run directory. A run that is running may not have one yet.
fn read_log<Sums: SpanSums>(directory: &Path, meta: &MetaReading) -> Result<LogScan<Sums>, OpenError> {
    let mut file: File = match file::open(&directory.join(SPANS_FILE)) {
        Err(OpenError::Missing) if meta.status == Some(RecordedStatus::Running) => {
            return Ok(LogScan::default());
        }
        opened => opened?,
    };
    let scan = scan_log(&mut file, meta)?;
    Ok((scan, Some(LineReader::new(file))))
}

fn scan_log<V: SpanVisitor>(log: &mut (impl Read + Seek), meta: &MetaReading) -> io::Result<ScanResult<V>> {
    let own_trace_id = match meta.trace_id {
        Some(trace_id) => Some(trace_id),
        None => first_trace_id(log)?,
    };
    let options = ScanOptions {
        meta_trace_id: meta.trace_id,
        own_trace_id,
        is_running: meta.status == Some(RecordedStatus::Running),
    };
    Ok(ScanResult {
        own_trace_id,
        is_read: true,
        ..scan(log, options)
    })
}
