//! What a run directory holds and what is wrong with it, before anybody decides what a problem means.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::fields::Place;
use super::file::{self, OpenError};
use super::log::{Expected, Problems, Scanned, Visit, first_trace_id, scan};
use super::meta::{MAX_META_BYTES, MetaReading, read_meta};
use super::structure::{self, Expectations};
use crate::format::{META_FILE, Problem, ProblemCode, RecordedStatus, SPANS_FILE, TraceId};

/// The files of the `0.1` format.
const LEGACY_FILES: [&str; 2] = ["run.json", "events.jsonl"];

/// A run directory, read.
#[derive(Debug)]
pub(super) struct Gathered<V> {
    pub(super) meta: MetaReading,
    /// What the log holds, its problems moved to the list below.
    pub(super) log: Scanned<V>,
    /// The log itself; `None` when it could not be opened.
    pub(super) file: Option<File>,
    /// The problems of both files: `meta.json` first, then by line.
    pub(super) problems: Vec<Problem>,
    /// How many problems there are besides: of a log with very many, only the first are kept.
    pub(super) more_problems: u64,
}

impl<V> Gathered<V> {
    /// How many spans can be read; `None` when there was no log to read.
    pub(super) fn span_count(&self) -> Option<u64> {
        self.log.is_read.then_some(self.log.span_count)
    }

    /// The ID that the spans of the run have: what `meta.json` tells, or else that of the first span.
    pub(super) fn own_trace_id(&self) -> Option<TraceId> {
        self.meta.trace_id.or(self.log.own_trace_id)
    }
}

/// Finds the run directory that a path means: the directory itself, or its `meta.json`.
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

/// Reads both files, and gives every span that can be read to a visitor. A version that is not supported ends the
/// reading: the spans of another version cannot be judged.
pub(super) fn gather<V: Visit>(directory: &Path) -> Gathered<V> {
    gather_files(read_meta_file(directory), |meta, problems| {
        read_log(directory, meta, problems)
    })
}

/// The same from what the files hold; there is no log to read again.
#[cfg(any(test, feature = "testing"))]
pub(super) fn gather_bytes<V: Visit>(meta: &[u8], log: &[u8]) -> Gathered<V> {
    gather_files(read_meta(meta), |meta, problems| {
        let log = scan_log(&mut io::Cursor::new(log), meta);
        (log.unwrap_or_else(|error| failed(&error.into(), problems)), None)
    })
}

fn gather_files<V: Visit>(
    mut meta: MetaReading,
    read_log: impl FnOnce(&MetaReading, &mut Problems) -> (Scanned<V>, Option<File>),
) -> Gathered<V> {
    let mut problems = std::mem::take(&mut meta.problems);
    let is_supported = !problems
        .iter()
        .any(|problem| problem.code == ProblemCode::UnsupportedVersion);
    let mut log = Scanned::default();
    let mut file = None;
    let mut more_problems = 0;
    if is_supported {
        let mut of_file = Problems::default();
        (log, file) = read_log(&meta, &mut of_file);
        if let Some(error) = log.failure.take() {
            of_file.push(0, file_problem(SPANS_FILE, &OpenError::Io(error)));
        }
        let expected = Expectations {
            is_completed: meta.status.is_some_and(RecordedStatus::is_completed),
            is_whole: log.is_whole,
        };
        let mut of_log = std::mem::take(&mut log.problems);
        of_log.merge(of_file);
        of_log.merge(structure::check(&mut log.entries, expected));
        let (kept, more) = of_log.into_parts();
        problems.extend(kept);
        more_problems = more;
    }
    Gathered {
        meta,
        log,
        file,
        problems,
        more_problems,
    }
}

/// Reads the `meta.json` of a run directory.
pub(super) fn read_meta_file(directory: &Path) -> MetaReading {
    // Room for any ordinary file, so that it is read at once.
    let mut bytes = Vec::with_capacity(4096);
    let read = file::open(&directory.join(META_FILE)).and_then(|file| {
        file.take(MAX_META_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(())
    });
    if let Err(error) = read {
        return MetaReading::nothing(file_problem(META_FILE, &error));
    }
    if bytes.len() as u64 > MAX_META_BYTES {
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
    if let (Some(named), Some(told)) = (named, reading.trace_id)
        && named != told
        && !reading.is_unsupported()
    {
        reading.problems.push(Place::Meta.field_problem(
            "trace_id",
            ProblemCode::TraceIdMismatch,
            "is not the name of the run directory; a run directory is named after its run",
        ));
    }
    reading
}

/// Reads the `spans.jsonl` of a run directory. A run that is running may not have one yet.
fn read_log<V: Visit>(
    directory: &Path,
    meta: &MetaReading,
    problems: &mut Problems,
) -> (Scanned<V>, Option<File>) {
    let read = file::open(&directory.join(SPANS_FILE))
        .and_then(|mut file| Ok((scan_log(&mut file, meta)?, Some(file))));
    match read {
        Ok(read) => read,
        Err(OpenError::Missing) if meta.status == Some(RecordedStatus::Running) => (Scanned::default(), None),
        Err(error) => (failed(&error, problems), None),
    }
}

fn scan_log<V: Visit>(log: &mut (impl Read + Seek + Send), meta: &MetaReading) -> io::Result<Scanned<V>> {
    let own = match meta.trace_id {
        Some(told) => Some(told),
        None => first_trace_id(log)?,
    };
    let expected = Expected {
        told: meta.trace_id,
        own,
        is_running: meta.status == Some(RecordedStatus::Running),
    };
    Ok(Scanned {
        own_trace_id: own,
        is_read: true,
        ..scan(log, expected)
    })
}

/// A log that could not be read.
fn failed<V: Visit>(error: &OpenError, problems: &mut Problems) -> Scanned<V> {
    problems.push(0, file_problem(SPANS_FILE, error));
    Scanned {
        is_whole: false,
        ..Scanned::default()
    }
}

pub(super) fn file_problem(name: &str, error: &OpenError) -> Problem {
    match error {
        OpenError::Missing => Problem::new(
            ProblemCode::MissingFile,
            name,
            "is missing; a run directory holds meta.json and spans.jsonl",
        ),
        OpenError::NotRegular(_) => Problem::new(
            ProblemCode::UnreadableFile,
            name,
            "is not a regular file; symbolic links, pipes and folders are not read in its place",
        ),
        OpenError::Io(error) => Problem::new(
            ProblemCode::UnreadableFile,
            name,
            format!("cannot be read: {error}"),
        ),
    }
}
