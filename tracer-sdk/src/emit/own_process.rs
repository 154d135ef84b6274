//! Whether this is still the process that a run belongs to: a forked child inherits the run's memory, and must neither
//! write into it nor end it.

/// The process that started or joined a run.
#[derive(Debug)]
pub(crate) struct OwnProcess {
    id: u32,
    /// Counts forks by a handler. To ask the system for the process ID costs as much as a third of writing a span.
    #[cfg(unix)]
    forks: Option<forkguard::atfork::Guard>,
}

impl OwnProcess {
    /// This process.
    pub(crate) fn current() -> Self {
        Self {
            id: std::process::id(),
            #[cfg(unix)]
            forks: forkguard::atfork::Guard::try_new().ok(),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whether it runs this code. Told for every span: a child that was made past the C library is not noticed.
    pub(crate) fn is_current(&self) -> bool {
        #[cfg(unix)]
        if let Some(forks) = &self.forks {
            // A guard tells a fork once; the copy is what is told.
            return !forks.clone().detected_fork();
        }
        self.is_surely_current()
    }

    /// As [`is_current`](Self::is_current), asked of the system: for what happens once in a run.
    pub(crate) fn is_surely_current(&self) -> bool {
        self.id == std::process::id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_did_not_fork_is_its_own() {
        let process = OwnProcess::current();
        assert!(process.is_current() && process.is_surely_current());
        assert_eq!(process.id(), std::process::id());
    }
}
