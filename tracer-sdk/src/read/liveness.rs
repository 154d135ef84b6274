//! Whether a run is still going on: by its status and by the lock that a running emitter holds (decisions, section 5).

use std::fs::TryLockError;
use std::path::Path;

use super::file::{self, OpenError};
use super::gather::read_meta_file;
use super::live_file::{Process, read_live_file};
use crate::format::{LIVE_FILE, RunStatus};

/// Whether a run is still going on. Looking never changes anything.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// use tracer_sdk::read::{Liveness, RunStore};
///
/// let run = tracer_sdk::Run::new("support-agent").config(&config).start();
/// let store = RunStore::new(folder.path());
/// assert_eq!(store.list()?[0].liveness(), Liveness::Running);
/// run.finish();
/// assert_eq!(store.list()?[0].liveness(), Liveness::Ended);
/// # Ok::<(), tracer_sdk::read::StoreError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// The run has ended, well or with an error.
    Ended,
    /// A process holds the lock of the run.
    Running,
    /// The process died before the run could end: its `.live` is there and nobody holds it.
    Interrupted,
    /// The run says that it is running, and nothing tells whether it is: an emitter without `.live` wrote it, or the
    /// file system has no locks. It is shown as running.
    Unknown,
}

/// Tells whether the run in a directory is still going on. `status` is what its `meta.json` says; a run that has no
/// `meta.json` yet is [`RunStatus::Running`].
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// use tracer_sdk::format::RunStatus;
/// use tracer_sdk::read::{Liveness, liveness};
///
/// let run = tracer_sdk::Run::new("support-agent").config(&config).start();
/// assert_eq!(liveness(&run.dir().unwrap(), RunStatus::Running), Liveness::Running);
/// ```
#[must_use]
pub fn liveness(directory: &Path, status: RunStatus) -> Liveness {
    if status.is_completed() {
        return Liveness::Ended;
    }
    match probe(directory) {
        Lock::Held => held(directory),
        Lock::Unknown => Liveness::Unknown,
        Lock::Free => {
            // The run may have ended since its status was read: an emitter says so before it lets go of the lock.
            if read_meta_file(directory)
                .status
                .is_some_and(RunStatus::is_completed)
            {
                return Liveness::Ended;
            }
            // The emitter may have put a new `.live` in the place of the one that was looked at; it holds the new one
            // before it lets go of the old.
            match probe(directory) {
                Lock::Free => Liveness::Interrupted,
                Lock::Held => held(directory),
                Lock::Unknown => Liveness::Unknown,
            }
        }
    }
}

/// Somebody holds the lock: the writer, or a child that was forked from it and outlived it.
fn held(directory: &Path) -> Liveness {
    match read_live_file(directory).map(|live| live.process.look()) {
        Some(Process::Gone) => Liveness::Interrupted,
        Some(Process::Alive | Process::Unknown) | None => Liveness::Running,
    }
}

enum Lock {
    Held,
    Free,
    Unknown,
}

/// Tries a shared lock, so that two readers never take each other for the writer.
fn probe(directory: &Path) -> Lock {
    let file = match file::open(&directory.join(LIVE_FILE)) {
        Ok(file) => file,
        Err(OpenError::Missing | OpenError::NotRegular(_) | OpenError::Io(_)) => return Lock::Unknown,
    };
    // An emitter takes the lock before it writes the first line. Looking earlier would find it free, or even take it
    // away from the emitter.
    if file.metadata().map_or(0, |metadata| metadata.len()) == 0 {
        return Lock::Unknown;
    }
    match file.try_lock_shared() {
        // Closing the file gives the lock back.
        Ok(()) => Lock::Free,
        Err(TryLockError::WouldBlock) => Lock::Held,
        Err(TryLockError::Error(_)) => Lock::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::super::tests::meta;
    use super::*;

    #[test]
    fn a_run_lives_as_long_as_its_lock_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let running = || liveness(directory.path(), RunStatus::Running);
        assert_eq!(running(), Liveness::Unknown);

        let mut live = File::create(directory.path().join(LIVE_FILE)).unwrap();
        assert_eq!(
            running(),
            Liveness::Unknown,
            "an emitter that starts has not locked it yet"
        );
        live.write_all(b"{}\n").unwrap();
        assert_eq!(running(), Liveness::Interrupted);
        live.lock().unwrap();
        assert_eq!(running(), Liveness::Running);
        assert_eq!(
            running(),
            Liveness::Running,
            "looking takes nothing from the writer"
        );
        drop(live);
        assert_eq!(running(), Liveness::Interrupted);
    }

    #[test]
    fn a_run_that_has_ended_is_never_interrupted() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(LIVE_FILE), "{}\n").unwrap();
        assert_eq!(liveness(directory.path(), RunStatus::Ok), Liveness::Ended);
        assert_eq!(liveness(directory.path(), RunStatus::Error), Liveness::Ended);
        // The status was read before the run ended, the lock tried after.
        fs::write(directory.path().join("meta.json"), meta("ok")).unwrap();
        assert_eq!(liveness(directory.path(), RunStatus::Running), Liveness::Ended);
    }

    #[test]
    fn two_readers_do_not_take_each_other_for_the_writer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(LIVE_FILE);
        fs::write(&path, "{}\n").unwrap();
        let other_reader = File::open(&path).unwrap();
        other_reader.lock_shared().unwrap();
        assert_eq!(
            liveness(directory.path(), RunStatus::Running),
            Liveness::Interrupted
        );
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_tells_nothing() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", directory.path().join(LIVE_FILE)).unwrap();
        assert_eq!(liveness(directory.path(), RunStatus::Running), Liveness::Unknown);
    }
}
