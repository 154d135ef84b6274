//! Liveness of a run, by status and emitter's lock (decisions, section 5).

use std::fs::{File, TryLockError};
use std::path::Path;

use super::live_file::read_recorder;
use super::process::ProcessState;
use super::scan::read_meta_file;
use crate::file::{self, OpenError};
use tracer_format::{LIVE_FILE, LOCK_FILE, RecordedStatus};

/// Liveness of a run: whether it is still being recorded. Probing never changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// The run has ended, well or with an error.
    Ended,
    /// A process holds the lock of the run.
    Running,
    /// The process died before the run could end: its `.live` is there, and no recording process holds the lock.
    Interrupted,
    /// The run is recorded as running, and nothing shows whether it is: an emitter without `.live` wrote it, or it
    /// holds no lock and its process is alive. It is shown as running.
    Unknown,
}

/// Checks whether the run in a directory is still going on. `status` is what its `meta.json` says; a run that has no
/// `meta.json` yet is [`RecordedStatus::Running`].
#[must_use]
pub fn probe_liveness(directory: &Path, status: RecordedStatus) -> Liveness {
    if status.is_completed() {
        return Liveness::Ended;
    }
    match recorder_state(directory) {
        RecorderState::Recorded => Liveness::Running,
        RecorderState::Unknown => Liveness::Unknown,
        RecorderState::Left => {
            // The run may have ended since its status was read: an emitter says so before it lets go of the lock.
            if read_meta_file(directory)
                .status
                .is_some_and(RecordedStatus::is_completed)
            {
                return Liveness::Ended;
            }
            // The emitter may have replaced the `.live` that was probed; it locks the new one before unlocking the old.
            match recorder_state(directory) {
                RecorderState::Left => Liveness::Interrupted,
                RecorderState::Recorded => Liveness::Running,
                RecorderState::Unknown => Liveness::Unknown,
            }
        }
    }
}

/// The state of a run's recorder, by the lock and the process behind it.
enum RecorderState {
    Recorded,
    /// No process records it any more.
    Left,
    Unknown,
}

fn recorder_state(directory: &Path) -> RecorderState {
    let recorder = read_recorder(directory);
    let lock = recorder.lock.map(|name| directory.join(name));
    match lock.map_or(LockProbe::Unknown, |path| probe(&path)) {
        // The writer, or a child that was forked from it and outlived it or its program.
        LockProbe::Held(file) => match recorder
            .process
            .state(recorder.descriptor.map(|number| (&file, number)))
        {
            ProcessState::Gone => RecorderState::Left,
            ProcessState::Alive | ProcessState::Unknown => RecorderState::Recorded,
        },
        LockProbe::Free => RecorderState::Left,
        // An emitter takes its name away before it takes it from the others.
        LockProbe::Missing if recorder.lock == Some(LOCK_FILE) => RecorderState::Left,
        // A process that is there may record another run by now.
        LockProbe::Missing | LockProbe::Unknown => match recorder.process.state(None) {
            ProcessState::Gone => RecorderState::Left,
            ProcessState::Alive | ProcessState::Unknown => RecorderState::Unknown,
        },
    }
}

enum LockProbe {
    Held(File),
    Free,
    Missing,
    Unknown,
}

/// Tries a shared lock, so that two readers never take each other for the writer.
fn probe(path: &Path) -> LockProbe {
    let file = match file::open(path) {
        Ok(file) => file,
        Err(OpenError::Missing) => return LockProbe::Missing,
        Err(OpenError::NotRegular(_) | OpenError::Io(_)) => return LockProbe::Unknown,
    };
    // Emitters that lock `.live` do so before they write its first line. Looking earlier would find it free, or even
    // take it away from the emitter.
    let is_live_file = path.ends_with(LIVE_FILE);
    if is_live_file && file.metadata().map_or(0, |metadata| metadata.len()) == 0 {
        return LockProbe::Unknown;
    }
    match file.try_lock_shared() {
        // Closing the file gives the lock back.
        Ok(()) => LockProbe::Free,
        Err(TryLockError::WouldBlock) => LockProbe::Held(file),
        Err(TryLockError::Error(_)) => LockProbe::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::*;
    use crate::tests::meta;

    #[test]
    fn a_run_lives_as_long_as_its_lock_is_held() {
        let directory = tempfile::tempdir().unwrap();
        let running = || probe_liveness(directory.path(), RecordedStatus::Running);
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
        assert_eq!(
            probe_liveness(directory.path(), RecordedStatus::Ok),
            Liveness::Ended
        );
        assert_eq!(
            probe_liveness(directory.path(), RecordedStatus::Error),
            Liveness::Ended
        );
        // The status was read before the run ended, the lock tried after.
        fs::write(directory.path().join("meta.json"), meta("ok")).unwrap();
        assert_eq!(
            probe_liveness(directory.path(), RecordedStatus::Running),
            Liveness::Ended
        );
    }

    #[test]
    fn two_readers_do_not_take_each_other_for_the_writer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(LIVE_FILE);
        fs::write(&path, "{}\n").unwrap();
        let other_reader = File::open(&path).unwrap();
        other_reader.lock_shared().unwrap();
        assert_eq!(
            probe_liveness(directory.path(), RecordedStatus::Running),
            Liveness::Interrupted
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_run_without_a_lock_is_interrupted_once_its_process_is_gone() {
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let mut header = serde_json::to_value(tracer_sdk::disk::process_identity()).unwrap();
        header["lock"] = serde_json::Value::Null;
        let directory = tempfile::tempdir().unwrap();
        for (pid, liveness) in [
            (std::process::id(), Liveness::Unknown),
            (ended.id(), Liveness::Interrupted),
        ] {
            header["pid"] = pid.into();
            fs::write(directory.path().join(LIVE_FILE), format!("{header}\n")).unwrap();
            assert_eq!(
                probe_liveness(directory.path(), RecordedStatus::Running),
                liveness
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_proves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("elsewhere", directory.path().join(LIVE_FILE)).unwrap();
        assert_eq!(
            probe_liveness(directory.path(), RecordedStatus::Running),
            Liveness::Unknown
        );
    }
}
