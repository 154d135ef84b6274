//! [`RunScan`]: both files of a run directory read, with their problems, before anybody decides what a problem means.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::file;
use crate::index::LogIndex;
use tracer_format::parse::{Location, MAX_META_BYTES, MetaReading, read_meta};
use tracer_format::{META_FILE, Problem, ProblemCode, RecordedStatus, RunMeta, SPANS_FILE, TraceId};

/// The files of the `0.1` format.
const LEGACY_FILES: [&str; 2] = ["run.json", "events.jsonl"];

/// Both files of a run directory, with all their problems.
#[derive(Debug)]
pub(super) struct RunScan {
    /// The metadata.
    pub(super) meta: MetaReading,
    /// The readable part of the log.
    pub(super) index: LogIndex,
    /// All problems: those of `meta.json` first, then by line.
    pub(super) problems: Vec<Problem>,
    /// Number of further problems.
    pub(super) more_problems: u64,
}

impl RunScan {
    /// Reads both files.
    pub(super) fn read(directory: &Path) -> Self {
        Self::new(read_meta_file(directory), |trace_id, running| {
            LogIndex::read_any(directory, trace_id, running)
        })
    }

    /// The same of files that are in memory.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn from_bytes(meta: &[u8], log: &[u8]) -> Self {
        Self::new(read_meta(meta), |trace_id, running| {
            LogIndex::of_bytes(log, trace_id, running)
        })
    }

    fn new(mut meta: MetaReading, read_log: impl FnOnce(Option<TraceId>, bool) -> LogIndex) -> Self {
        let is_unsupported = meta.is_unsupported();
        let mut problems = std::mem::take(&mut meta.problems);
        let (mut index, mut more_problems) = (LogIndex::empty(Path::new(""), None), 0);
        if !is_unsupported {
            index = read_log(meta.trace_id, meta.status == Some(RecordedStatus::Running));
            let has_all_spans = meta.meta.as_ref().is_none_or(RunMeta::has_exact_counts);
            let (of_log, more) = index.problems(meta.status, has_all_spans);
            problems.extend(of_log);
            more_problems = more;
        }
        Self {
            meta,
            index,
            problems,
            more_problems,
        }
    }

    /// Number of spans that can be read; `None` where there is no log to read.
    pub(super) fn span_count(&self) -> Option<usize> {
        self.index.is_read().then(|| self.index.readable_spans())
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
