//! What a capture gives: the result, and the run as a reader sees it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::tree::RecordTree;
use crate::maintenance::{MaintenanceError, place_run};
use crate::read::{LoadedRun, RunStore};
use crate::write::files::{Disk, FileSystem, OpenMode, write_all};
use crate::write::memory::Memory;
use tracer_format::{META_FILE, Record, RunMeta, SPANS_FILE, SpanRecord};

/// What a piece of code returned and recorded.
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
    /// What the code returned.
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

/// What is in them is shown by the fields beside.
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
        let run = LoadedRun::from_bytes(&files.meta, &files.spans).expect("a captured run is valid");
        Self {
            result,
            records: run.records(),
            spans: run.spans,
            meta: run.meta,
            files,
        }
    }

    /// Writes the run into a data directory as it was recorded, to be looked at with `tracer show` and `tracer view`, and
    /// gives its own directory there.
    ///
    /// All captures have the same ID, so that a data directory has room for one.
    ///
    /// ```
    /// use tracer_sdk::read::RunStore;
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
    /// [`MaintenanceError::RunExists`] when the data directory has a capture already, which is left as it is;
    /// [`MaintenanceError::Io`] when a file cannot be written, after which the data directory has no such run.
    pub fn save(&self, data_dir: impl AsRef<Path>) -> Result<PathBuf, MaintenanceError> {
        self.save_on(data_dir.as_ref(), &Disk)
    }

    fn save_on(&self, data_dir: &Path, file_system: &dyn FileSystem) -> Result<PathBuf, MaintenanceError> {
        let write = |directory: &Path, name: &str, bytes: &[u8]| {
            let path = directory.join(name);
            file_system
                .open(&path, OpenMode::New)
                .and_then(|mut file| write_all(file.as_mut(), bytes))
                .map_err(MaintenanceError::at(&path))
        };
        let store = RunStore::new(data_dir);
        let run = place_run(&store, self.meta.trace_id, file_system, |directory| {
            write(directory, SPANS_FILE, &self.files.spans)?;
            write(directory, META_FILE, &self.files.meta)
        })?;
        Ok(run.path)
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

    /// The same with times: when each began, in milliseconds since the run's start, and how long it took.
    ///
    /// A capture's clock starts at 2026-01-01T00:00:00Z and moves by one millisecond whenever it is read, so these times
    /// tell an order, and change when the SDK reads the clock more or less often.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let captured = capture(|| tracer_sdk::tool_call("search").start()?.end());
    /// assert!(captured.tree_with_times().starts_with("run captured"));
    /// ```
    #[must_use]
    pub fn tree_with_times(&self) -> String {
        RecordTree::of(&self.records).with_times().to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

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
        let report = crate::read::validate(&directory).strict();
        assert!(report.is_valid(), "{report:?}");
        let newest = RunStore::new(folder.path()).newest().unwrap();
        assert_eq!(newest.path, directory);
    }

    #[test]
    fn a_saved_run_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let directory = captured().save(folder.path()).unwrap();
        let again = capture(|| ()).save(folder.path());
        assert!(matches!(again, Err(MaintenanceError::RunExists)), "{again:?}");
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
