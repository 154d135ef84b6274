//! [`CancelToken`]: cancellation of a read whose result is no longer wanted.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// Cancels the readings that begin on this thread.
    static CURRENT: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Cancels readings, from any thread; a clone is the same token.
///
/// A reading [`within`](Self::within) it fails soon after it was cancelled: before the next file is opened, and before the
/// next quarter of a megabyte of a log. Discard the results of such a reading, errors included.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Cancels the readings within it, now and later.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Calls `read`; readings that begin on this thread meanwhile can be cancelled.
    pub fn within<T>(&self, read: impl FnOnce() -> T) -> T {
        let _before = Before(CURRENT.replace(Some(self.clone())));
        read()
    }

    /// The token that this thread reads [`within`](Self::within).
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }
}

/// The token before, put back however the reading ends.
struct Before(Option<CancelToken>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// An error when the token was cancelled.
pub(super) fn check(token: Option<&CancelToken>) -> io::Result<()> {
    match token {
        Some(token) if token.is_cancelled() => Err(io::Error::other("reading was cancelled")),
        _ => Ok(()),
    }
}

/// The same for the token of this thread.
pub(super) fn check_current() -> io::Result<()> {
    CURRENT.with_borrow(|current| check(current.as_ref()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;
    use crate::log::{LineStart, LogLines};
    use crate::tests::{directory, meta, span};
    use crate::{LoadedRun, LogIndex, RunReader, Strictness, read_log_part, validate};
    use tracer_format::SPANS_FILE;

    /// A log without end that cancels its own reading with its first bytes, and counts what is read of it.
    struct Endless<'a> {
        token: &'a CancelToken,
        bytes: &'a mut usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.token.cancel();
            buffer.fill(b'\n');
            *self.bytes += buffer.len();
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_log_is_read_no_further_than_the_block_in_which_it_is_cancelled() {
        let token = CancelToken::default();
        let mut bytes = 0;
        let log = Endless {
            token: &token,
            bytes: &mut bytes,
        };
        let read = |log| LogLines::starting_at(log, LineStart::FILE).next_line().is_err();
        assert!(token.within(|| read(log)));
        assert_eq!(bytes, 256 * 1024);
    }

    #[test]
    fn every_way_to_read_a_run_can_be_cancelled() {
        let directory = directory(&meta("ok"), format!("{}\n{}\n", span(2, Some(1)), span(1, None)));
        let path = directory.path();
        let token = CancelToken::default();
        let mut index = LogIndex::open(path, None, false).unwrap();
        let mut records = RunReader::open(path, Strictness::Strict).unwrap().records;
        token.cancel();
        token.within(|| {
            assert!(LogIndex::open(path, None, false).is_err());
            assert!(index.extend(false).is_err());
            assert!(RunReader::open(path, Strictness::Strict).is_err());
            assert!(RunReader::open(path, Strictness::Lenient).is_err());
            assert!(LoadedRun::read(path).is_err());
            assert!(read_log_part(path, 0, 1_000).is_err());
            assert!(!validate(path).problems.is_empty());
            assert!(records.read_record(0).is_err());
            assert!(records.clone().into_spans().read_span(0).is_err());
        });
        assert!(index.extend(false).unwrap());
        assert!(records.read_record(0).unwrap().is_some());
        assert_eq!(
            fs::read_to_string(path.join(SPANS_FILE)).unwrap().lines().count(),
            2
        );
    }

    #[test]
    fn a_token_is_current_only_within_even_after_a_panic() {
        let (outer, inner) = (CancelToken::default(), CancelToken::default());
        inner.cancel();
        outer.within(|| {
            let caught = std::panic::catch_unwind(|| inner.within(|| panic!("on purpose")));
            assert!(caught.is_err());
            assert!(check_current().is_ok());
        });
        assert!(CancelToken::current().is_none());
    }
}
