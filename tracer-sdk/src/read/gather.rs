//! What a run directory holds and what is wrong with it, before anybody decides what a problem means.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::fields::Place;
use super::file::{self, OpenError};
use super::lines::{Line, Lines, MAX_LINE_BYTES};
use super::meta::{MAX_META_BYTES, MetaReading, read_meta};
use super::span::{Identity, read_span};
use super::structure::{self, Expectations, PlacedProblem};
use crate::format::{META_FILE, Problem, ProblemCode, RunStatus, SPANS_FILE, SpanRecord, TraceId};

/// The files of the `0.1` format.
const LEGACY_FILES: [&str; 2] = ["run.json", "events.jsonl"];

/// A run directory, read.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) meta: MetaReading,
    pub(super) log: SpanLog,
    /// The problems of both files: `meta.json` first, then by line.
    pub(super) problems: Vec<Problem>,
}

/// What could be read of a `spans.jsonl`.
#[derive(Debug, Default)]
pub(super) struct SpanLog {
    /// The spans that can be read, in the order of the file.
    pub(super) spans: Vec<SpanRecord>,
    /// How many bytes of a last line were left out, because a run that is still written was cut there.
    pub(super) cut_tail: Option<u64>,
    /// Whether the file was there.
    pub(super) is_read: bool,
    identities: Vec<Identity>,
    problems: Vec<PlacedProblem>,
    /// Whether where it stands is known of every span.
    is_whole: bool,
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

/// Reads both files. A version that is not supported ends the reading: the spans of another version cannot be judged.
pub(super) fn gather(directory: &Path) -> Gathered {
    gather_files(read_meta_file(directory), |status| read_log(directory, status))
}

/// The same from what the files hold.
#[cfg(any(test, feature = "testing"))]
pub(super) fn gather_bytes(meta: &[u8], spans: &[u8]) -> Gathered {
    gather_files(read_meta(meta), |status| SpanLog::read(spans, status))
}

fn gather_files(mut meta: MetaReading, read_log: impl FnOnce(Option<RunStatus>) -> SpanLog) -> Gathered {
    let is_supported = !meta.is_unsupported();
    let mut problems = std::mem::take(&mut meta.problems);
    let mut log = SpanLog::default();
    if is_supported {
        log = read_log(meta.status);
        let expected = Expectations {
            trace_id: meta.trace_id,
            is_completed: meta.status.is_some_and(RunStatus::is_completed),
            is_whole: log.is_whole,
        };
        let mut placed = std::mem::take(&mut log.problems);
        placed.extend(structure::check(&log.identities, expected));
        // Stable: on one line, the problems of its fields come before those with other lines.
        placed.sort_by_key(|(line, _)| *line);
        problems.extend(placed.into_iter().map(|(_, problem)| problem));
    }
    Gathered { meta, log, problems }
}

/// Reads the `meta.json` of a run directory.
pub(super) fn read_meta_file(directory: &Path) -> MetaReading {
    let mut bytes = Vec::new();
    let read = file::open(&directory.join(META_FILE)).and_then(|file| {
        file.take(MAX_META_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(())
    });
    if let Err(error) = read {
        return MetaReading::nothing(file_problem(META_FILE, &error));
    }
    if bytes.len() > MAX_META_BYTES {
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
fn read_log(directory: &Path, status: Option<RunStatus>) -> SpanLog {
    match file::open(&directory.join(SPANS_FILE)) {
        Ok(file) => SpanLog::read(BufReader::with_capacity(256 * 1024, file), status),
        Err(OpenError::Missing) if status == Some(RunStatus::Running) => SpanLog::empty(),
        Err(error) => {
            let mut log = SpanLog::empty();
            log.fail(file_problem(SPANS_FILE, &error));
            log
        }
    }
}

impl SpanLog {
    fn empty() -> Self {
        Self {
            is_whole: true,
            ..Self::default()
        }
    }

    /// Reads the lines of a log.
    fn read(reader: impl BufRead, status: Option<RunStatus>) -> Self {
        let is_running = status == Some(RunStatus::Running);
        let mut log = Self {
            is_read: true,
            ..Self::empty()
        };
        let mut lines = Lines::new(reader, MAX_LINE_BYTES);
        loop {
            match lines.next_line() {
                Ok(Some(line)) => log.read_line(&line, is_running),
                Ok(None) => return log,
                Err(error) => {
                    log.fail(file_problem(SPANS_FILE, &OpenError::Io(error)));
                    return log;
                }
            }
        }
    }

    /// The file cannot be read, or not to its end.
    fn fail(&mut self, problem: Problem) {
        self.is_whole = false;
        self.problems.push((0, problem));
    }

    fn read_line(&mut self, line: &Line<'_>, is_running: bool) {
        let number = line.number;
        let Some(bytes) = line.bytes else {
            self.is_whole = false;
            let message = format!(
                "is longer than {} MiB, which is not read",
                MAX_LINE_BYTES / 1024 / 1024
            );
            self.problems.push((
                number,
                Place::Line(number).problem(ProblemCode::InvalidValue, message),
            ));
            return;
        };
        let mut problems = Vec::new();
        match read_span(bytes, number, &mut problems) {
            Ok(reading) => {
                self.is_whole &= reading.identity.is_some();
                self.identities.extend(reading.identity);
                self.spans.extend(reading.span);
            }
            // The writer was stopped within its last line, or is within it now.
            Err(_) if is_running && !line.is_ended => self.cut_tail = Some(bytes.len() as u64),
            Err(error) => {
                self.is_whole = false;
                problems.push(Place::Line(number).problem(ProblemCode::MalformedJson, error.to_string()));
            }
        }
        self.problems
            .extend(problems.into_iter().map(|problem| (number, problem)));
    }
}

fn file_problem(name: &str, error: &OpenError) -> Problem {
    match error {
        OpenError::Missing => Problem::new(
            ProblemCode::MissingFile,
            name,
            "is missing; a run directory holds meta.json and spans.jsonl",
        ),
        OpenError::NotRegular => Problem::new(
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
