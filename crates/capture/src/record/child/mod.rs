//! The recorded command as a process: started with the streams, the terminal and the process group of this one, waited for,
//! and sent the signals that reach this process alone.

#[cfg_attr(not(unix), path = "signals_elsewhere.rs")]
mod signals;
#[cfg_attr(not(target_os = "linux"), path = "survivors_elsewhere.rs")]
mod survivors;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use shared_child::SharedChild;
use tracer_insight::process_exit::ProcessExit;
use tracer_insight::text::shell_quoted;

pub use signals::Signals;
pub use survivors::{Survivor, survivors};

/// Exit code of a command that is there and cannot be run (decisions, section 11).
pub const NOT_EXECUTABLE: u8 = 126;
/// Exit code of a command that is not there.
pub const NOT_FOUND: u8 = 127;

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no such program.
    #[error("there is no program {}", name.display())]
    NotFound {
        /// As the command names it.
        name: PathBuf,
    },
    /// There is a file that cannot be run.
    #[error("{} cannot be run", name.display())]
    NotExecutable {
        /// As the command names it, or with the folder of PATH that has it.
        name: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system has no room for another process.
    #[error("failed to start {}", name.display())]
    Failed {
        /// As the command names it.
        name: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was started, and cannot be waited for.
    #[error("failed to wait for the command")]
    Lost(#[from] io::Error),
}

impl StartError {
    fn new(name: &Path, source: io::Error) -> Self {
        let name = name.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { name },
            io::ErrorKind::PermissionDenied
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::ExecutableFileBusy
            | io::ErrorKind::ArgumentListTooLong
            | io::ErrorKind::InvalidInput => Self::NotExecutable { name, source },
            // A file of another format or for another machine has no kind of its own.
            _ if name.is_file() => Self::NotExecutable { name, source },
            _ => Self::Failed { name, source },
        }
    }

    /// The exit code that shells give: 127, 126; `None` for what is no fault of the command.
    #[must_use]
    pub fn exit_code(&self) -> Option<u8> {
        match self {
            Self::NotFound { .. } => Some(NOT_FOUND),
            Self::NotExecutable { .. } => Some(NOT_EXECUTABLE),
            Self::Failed { .. } | Self::Lost(_) => None,
        }
    }

    /// Next step for the user.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound { name } if name.components().count() == 1 => {
                let shown = shell_quoted(&name.display().to_string());
                format!("check the name, or name a file with its path: ./{shown}")
            }
            Self::NotFound { .. } => "check the path; it is seen from the current directory".to_owned(),
            Self::NotExecutable { name, source } => {
                let shown = shell_quoted(&name.display().to_string());
                if source.kind() == io::ErrorKind::IsADirectory {
                    return format!("{shown} is a folder: name the program in it");
                }
                format!("allow it with chmod +x {shown}, or name the program that runs it: python3, node, sh")
            }
            Self::Failed { .. } | Self::Lost(_) => "close other programs, and try again".to_owned(),
        }
    }
}

/// Checks that a program can be started from a folder, before anything is recorded of it.
///
/// # Errors
///
/// [`StartError`] when it is not there or is no program.
pub fn check_program(name: &OsStr, here: &Path) -> Result<(), StartError> {
    check_in(name, here, std::env::var_os("PATH").as_deref())
}

fn check_in(name: &OsStr, here: &Path, folders: Option<&OsStr>) -> Result<(), StartError> {
    let path = Path::new(name);
    let is_path = path.components().count() != 1 || path.file_name() != Some(name);
    // The system has folders of its own where there is no PATH.
    let folders = folders.filter(|folders| !folders.is_empty());
    if which::which_in(name, folders, here).is_ok() || !is_path && folders.is_none() {
        return Ok(());
    }
    // A file that cannot be run is not a missing one, in the folders of PATH, too, as in shells.
    let found = if is_path {
        // No name joins to the folder itself.
        (!name.is_empty() && here.join(path).exists()).then(|| path.to_owned())
    } else {
        let mut files = std::env::split_paths(folders.unwrap_or_default()).map(|folder| folder.join(name));
        files.find(|file| file.is_file())
    };
    Err(match found {
        Some(file) if here.join(&file).is_dir() => StartError::new(&file, io::ErrorKind::IsADirectory.into()),
        Some(file) => StartError::new(&file, io::ErrorKind::PermissionDenied.into()),
        None => StartError::new(path, io::ErrorKind::NotFound.into()),
    })
}

/// The exit in words, a signal by its name.
#[must_use]
pub fn exit_words(exit: ProcessExit) -> String {
    match exit {
        ProcessExit::Signal(signal) => signals::name(signal).map(str::to_owned),
        ProcessExit::Code(_) => None,
    }
    .unwrap_or_else(|| exit.to_string())
}

/// Time for processes to end after they were asked to, and then after they were killed.
const GRACE: Duration = Duration::from_secs(5);
/// Poll interval of an end that may not come.
const POLL: Duration = Duration::from_millis(20);

/// A command that is running.
#[derive(Debug)]
pub struct RunningCommand {
    child: Arc<SharedChild>,
}

impl RunningCommand {
    /// Starts a command; from now on it gets the signals that `signals` keeps from this process.
    ///
    /// # Errors
    ///
    /// [`StartError`] when it cannot be started.
    pub fn start(mut command: Command, signals: &Signals) -> Result<Self, StartError> {
        let (started, caught) = signals.start(|| SharedChild::spawn(&mut command));
        let child = started.map_err(|source| StartError::new(Path::new(command.get_program()), source))?;
        let child = Arc::new(child);
        signals.forward_to(Arc::clone(&child), caught);
        Ok(Self { child })
    }

    /// Waits for its end.
    ///
    /// # Errors
    ///
    /// The error of the system where it cannot be waited for.
    pub fn wait(&self) -> io::Result<ProcessExit> {
        self.child.wait().map(ProcessExit::of)
    }

    /// Waits for its end for this long; `None` when it is still running.
    ///
    /// # Errors
    ///
    /// The error of the system where it cannot be waited for.
    pub fn wait_for(&self, time: Duration) -> io::Result<Option<ProcessExit>> {
        let began = Instant::now();
        loop {
            let exit = self.child.try_wait()?.map(ProcessExit::of);
            let left = time.saturating_sub(began.elapsed());
            if exit.is_some() || left.is_zero() {
                return Ok(exit);
            }
            thread::sleep(left.min(POLL));
        }
    }

    /// Ends it and what it started, which `started` lists: they are asked to, and killed when they take too long.
    ///
    /// # Errors
    ///
    /// The error of the system where it cannot be waited for.
    pub fn end(&self, started: impl Fn() -> Vec<Survivor>) -> io::Result<ProcessExit> {
        for kills in [false, true] {
            let asked = Instant::now();
            let id = self.child.id();
            let is_running = self.child.try_wait()?.is_none();
            let others = started().into_iter().map(|process| process.id);
            // A shell whose child ends before it goes on with its script, and may exit with 0: the command itself is first.
            for process in is_running
                .then_some(id)
                .into_iter()
                .chain(others.filter(|process| *process != id))
            {
                signals::end_process(process, kills);
            }
            if kills {
                // An error means that it has ended.
                let _ = self.child.kill();
            }
            while asked.elapsed() < GRACE {
                let exit = self.wait_for(POLL)?;
                if let Some(exit) = exit.filter(|_| started().is_empty()) {
                    return Ok(exit);
                }
                thread::sleep(POLL);
            }
        }
        self.wait()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn code(name: &Path) -> Option<u8> {
        check_program(name.as_os_str(), Path::new("."))
            .err()
            .and_then(|error| error.exit_code())
    }

    #[test]
    fn what_cannot_be_started_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("agent");
        fs::write(&file, "#!/bin/sh\n").unwrap();
        assert_eq!(code(&file), Some(NOT_EXECUTABLE));
        assert_eq!(code(folder.path()), Some(NOT_EXECUTABLE), "a folder");
        let hint = check_program(".".as_ref(), folder.path()).unwrap_err().hint();
        assert_eq!(hint, ". is a folder: name the program in it");
        let named = |name: &str| check_in(name.as_ref(), Path::new("."), Some(folder.path().as_os_str()));
        let error = named("agent").unwrap_err();
        assert_eq!(error.exit_code(), Some(NOT_EXECUTABLE), "by its bare name");
        let allow = format!("chmod +x {}", file.display());
        assert!(error.hint().contains(&allow), "{}", error.hint());
        assert_eq!(named("missing").unwrap_err().exit_code(), Some(NOT_FOUND));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(code(&file), None);
        assert!(named("agent").is_ok());
        assert_eq!(code(&folder.path().join("missing")), Some(NOT_FOUND));
        assert_eq!(code(Path::new("no-such-program-anywhere")), Some(NOT_FOUND));
        assert_eq!(code(Path::new("sh")), None);
        assert_eq!(code(Path::new("")), Some(NOT_FOUND));
    }

    #[test]
    fn what_the_check_misses_has_the_same_code() {
        let folder = tempfile::tempdir().unwrap();
        let lost = folder.path().join("lost");
        fs::write(&lost, "#!/nonexistent/interpreter\n").unwrap();
        fs::set_permissions(&lost, fs::Permissions::from_mode(0o755)).unwrap();
        let broken = folder.path().join("broken");
        fs::write(&broken, b"\x7fELF broken").unwrap();
        fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
        for (file, expected) in [(&lost, NOT_FOUND), (&broken, NOT_EXECUTABLE)] {
            let error = Command::new(file).spawn().map(drop);
            if let Err(error) = error {
                assert_eq!(
                    StartError::new(file, error).exit_code(),
                    Some(expected),
                    "{file:?}"
                );
            }
        }
    }

    #[test]
    fn signals_have_their_names() {
        assert_eq!(exit_words(ProcessExit::Signal(9)), "SIGKILL");
        assert_eq!(exit_words(ProcessExit::Signal(64)), "signal 64");
        assert_eq!(exit_words(ProcessExit::Code(7)), "exit code 7");
        assert_eq!(ProcessExit::Code(-1).shell_code(), 255);
    }
}
