//! Result of a capture: the returned value, and the run as read.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::tree::RecordTree;
use crate::write::files::{Disk, FileSystem, OpenMode, write_all};
use crate::write::memory::Memory;
use tracer_format::parse::{parse_span, read_meta};
use tracer_format::{META_FILE, RUNS_FOLDER, Record, RunMeta, SPANS_FILE, SpanRecord, spans_to_events};

/// Return value and recorded run of a piece of code.
///
/// ```
/// use tracer_sdk::format::EventType;
/// use tracer_sdk::testing::capture;
///
/// let captured = capture(|| tracer_sdk::tool_call("search").record());
/// assert_eq!(captured.spans[0].name, "search");
/// assert_eq!(captured.records[1].event_type(), EventType::ToolCall);
/// assert_eq!(captured.meta.counts.tool_calls, 1);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Captured<R> {
    /// Return value of the code.
    pub result: R,
    /// The spans, in the order in which they ended; the root is the last one.
    pub spans: Vec<SpanRecord>,
    /// The projected records, in the order of time (see [`spans_to_events`](crate::spans_to_events)).
    pub records: Vec<Record>,
    /// The run's metadata: how it ended and what it counted.
    pub meta: RunMeta,
    files: CapturedFiles,
}

/// The files of a run as recording wrote them.
#[derive(Clone)]
struct CapturedFiles {
    meta: Vec<u8>,
    spans: Vec<u8>,
}

/// Omits the bytes: their content is in the other fields of [`Captured`].
impl fmt::Debug for CapturedFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CapturedFiles").finish_non_exhaustive()
    }
}

impl<R> Captured<R> {
    /// The run in `memory`, which has ended.
    #[expect(
        clippy::expect_used,
        reason = "for tests, where a run that cannot be read is a fault to be reported at once"
    )]
    pub(super) fn of(result: R, memory: &Memory) -> Self {
        let file = |name: &str| {
            let path = memory
                .files()
                .into_iter()
                .find(|path| path.ends_with(Path::new(name)));
            path.and_then(|path| memory.read(&path)).unwrap_or_default()
        };
        let files = CapturedFiles {
            meta: file(META_FILE),
            spans: file(SPANS_FILE),
        };
        let meta = read_meta(&files.meta).meta.expect("a captured run has metadata");
        let lines = files.spans.split(|byte| *byte == b'\n');
        let spans: Vec<SpanRecord> = lines.filter_map(parse_span).collect();
        Self {
            result,
            records: spans_to_events(&spans),
            spans,
            meta,
            files,
        }
    }

    /// Writes the run into a data directory as it was recorded, for `tracer show` and `tracer view`, and gives its own
    /// directory there.
    ///
    /// All captures have the same ID, so that a data directory has room for one.
    ///
    /// ```
    /// use tracer_runs::RunStore;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let captured = capture(|| tracer_sdk::tool_call("search").fail("no index").record());
    /// let directory = captured.save(folder.path())?; // `tracer --data-dir … show latest` shows why
    /// assert_eq!(RunStore::new(folder.path()).newest()?.path, directory);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) when the data directory has a capture already, which is left as it
    /// is; what the system says when a file cannot be written, after which the data directory has no such run.
    pub fn save(&self, data_dir: impl AsRef<Path>) -> io::Result<PathBuf> {
        self.save_on(data_dir.as_ref(), &Disk)
    }

    fn save_on(&self, data_dir: &Path, file_system: &dyn FileSystem) -> io::Result<PathBuf> {
        let runs = data_dir.join(RUNS_FOLDER);
        let path = runs.join(self.meta.trace_id.to_string());
        if path.symlink_metadata().is_ok() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the data directory has a capture already",
            ));
        }
        // No reader takes this name for a run; `tracer prune` removes it if this process dies.
        let hidden = runs.join(format!(".{}.removed", self.meta.trace_id));
        file_system.create_directories(&runs)?;
        remove_capture(file_system, &hidden);
        let write = |name: &str, bytes: &[u8]| {
            let mut file = file_system.open(&hidden.join(name), OpenMode::New)?;
            write_all(file.as_mut(), bytes)
        };
        let placed = file_system
            .create_directory(&hidden)
            .and_then(|()| write(SPANS_FILE, &self.files.spans))
            .and_then(|()| write(META_FILE, &self.files.meta))
            .and_then(|()| file_system.rename(&hidden, &path));
        if placed.is_err() {
            remove_capture(file_system, &hidden);
        }
        placed.map(|()| path)
    }

    /// The records as a tree for reading and for snapshots: what happened, within what, with a gist of the values and
    /// the errors. It holds no times and no IDs.
    ///
    /// A line begins with `run`, `llm`, `tool`, `state`, `error`, `loop` or `span`; what failed ends with `✗`, the
    /// error's type and its message. Siblings stand in the order in which they started.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let captured = capture(|| tracer_sdk::tool_call("search").fail("no index").record());
    /// assert_eq!(captured.tree(), "run captured\n└─ tool search ✗ Error: no index\n");
    /// ```
    #[must_use]
    pub fn tree(&self) -> String {
        RecordTree::of(&self.records).to_string()
    }
}

/// Removes what saving left; what is not there, or cannot be removed, is no reason to fail.
fn remove_capture(file_system: &dyn FileSystem, directory: &Path) {
    for name in [SPANS_FILE, META_FILE] {
        let _ = file_system.remove(&directory.join(name));
    }
    let _ = file_system.remove_empty_directory(directory);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use tracer_runs::{LoadedRun, RunStore};

    use super::*;
    use crate::testing::{Capture, capture};
    use crate::tool_call;
    use crate::write::faulty::{Fault, Faulty};

    const EIO: i32 = 5;

    fn captured() -> Captured<()> {
        let run = || tool_call("search").args("refunds").record().unwrap();
        Capture::new().name("support-agent").run(run)
    }

    #[test]
    fn a_saved_run_reads_back_equal() {
        let (captured, folder) = (captured(), tempfile::tempdir().unwrap());
        let directory = captured.save(folder.path()).unwrap();
        let run = LoadedRun::read(&directory).unwrap();
        assert_eq!((&run.meta, &run.spans), (&captured.meta, &captured.spans));
        assert_eq!(run.records(), captured.records);
        let report = tracer_runs::validate(&directory).strict();
        assert!(report.is_valid(), "{report:?}");
        let newest = RunStore::new(folder.path()).newest().unwrap();
        assert_eq!(newest.path, directory);
    }

    #[test]
    fn a_saved_run_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let directory = captured().save(folder.path()).unwrap();
        let again = capture(|| ()).save(folder.path());
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(LoadedRun::read(&directory).unwrap().meta, captured().meta);
    }

    #[test]
    fn a_run_is_saved_whole_or_not_at_all() {
        for position in 0.. {
            for fault in [Fault::Error(EIO), Fault::ShortWrite] {
                let (captured, folder) = (captured(), tempfile::tempdir().unwrap());
                let disk = Faulty::new(Arc::new(Disk)).failing_once(position, fault);
                let saved = captured.save_on(folder.path(), &disk);
                let runs = RunStore::new(folder.path()).list().unwrap_or_default();
                assert_eq!(runs.len(), usize::from(saved.is_ok()), "{:?}", disk.operations());
                if let Ok(directory) = saved {
                    assert_eq!(LoadedRun::read(&directory).unwrap().meta, captured.meta);
                    assert_eq!(fs::read_dir(directory).unwrap().count(), 2);
                }
                if disk.operations().len() as u64 <= position {
                    assert!(position > 0, "nothing was done");
                    return;
                }
            }
        }
    }
}
