//! Recording within recording: a `Serialize`, a `Display`, a file system or an allocator of the program may itself record
//! something while a record is made. It must not wait for what its own thread holds, and an allocator that records each
//! allocation would never come to an end: such a record is dropped and counted.

use std::cell::Cell;

use super::unattached;

thread_local! {
    /// This thread is recording something.
    static IS_RECORDING: Cell<bool> = const { Cell::new(false) };
    /// Number of records dropped meanwhile that no run has counted yet.
    static DROPPED: Cell<u64> = const { Cell::new(0) };
}

/// This thread is recording, until the guard is dropped.
#[must_use = "recording ends when this is dropped"]
#[derive(Debug)]
pub(crate) struct RecordingGuard {
    before: bool,
}

impl RecordingGuard {
    /// `None` when the thread is recording already.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        let recording = Self::mark();
        (!recording.before).then_some(recording)
    }

    /// As [`enter`](Self::enter), for what makes a record, which is counted when it is dropped.
    #[inline]
    pub(crate) fn enter_or_count() -> Option<Self> {
        let entered = Self::enter();
        if entered.is_none() {
            unattached::count();
            DROPPED.set(DROPPED.get() + 1);
        }
        entered
    }

    /// Marks the thread as recording, even if it is already: for code of the user that a recorder calls.
    #[inline]
    pub(crate) fn mark() -> Self {
        Self {
            before: IS_RECORDING.replace(true),
        }
    }
}

impl Drop for RecordingGuard {
    #[inline]
    fn drop(&mut self) {
        IS_RECORDING.set(self.before);
    }
}

/// Takes the number of records dropped on this thread since the last call.
#[inline]
pub(crate) fn take_dropped() -> u64 {
    DROPPED.take()
}
