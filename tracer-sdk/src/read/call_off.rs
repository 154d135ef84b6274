//! Calling off a reading that nobody waits for any more: a log of gigabytes is read to its end only for somebody.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// What calls off the readings that begin on this thread.
    static CURRENT: RefCell<Option<CallOff>> = const { RefCell::new(None) };
}

/// Calls off readings, from any thread; a clone is the same one.
///
/// Whatever is read [`within`](Self::within) it fails soon after it was called off: before the next file is opened,
/// and before the next quarter of a megabyte of a log. What such a reading gives is of no use, errors included.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// use tracer_sdk::read::{CallOff, stream_run};
///
/// let call_off = CallOff::default();
/// assert!(call_off.within(|| stream_run(&directory)).is_ok());
/// call_off.call_off();
/// assert!(call_off.within(|| stream_run(&directory)).is_err());
/// assert!(stream_run(&directory).is_ok()); // others go on
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallOff(Arc<AtomicBool>);

impl CallOff {
    /// Calls off what is read within it, now and later.
    ///
    /// ```
    /// let call_off = tracer_sdk::read::CallOff::default();
    /// call_off.clone().call_off();
    /// assert!(call_off.is_called_off());
    /// ```
    pub fn call_off(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was called off.
    ///
    /// ```
    /// assert!(!tracer_sdk::read::CallOff::default().is_called_off());
    /// ```
    #[must_use]
    pub fn is_called_off(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Does what reads; readings that begin on this thread meanwhile can be called off.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let call_off = tracer_sdk::read::CallOff::default();
    /// let run = call_off.within(|| tracer_sdk::read::stream_run(&directory))?;
    /// assert_eq!(run.records.record_count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn within<T>(&self, read: impl FnOnce() -> T) -> T {
        let _before = Before(CURRENT.replace(Some(self.clone())));
        read()
    }

    /// What calls off the readings that begin on this thread now.
    pub(super) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }
}

/// What called off readings before, put back however the reading ends.
struct Before(Option<CallOff>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// An error when what is read is wanted no more.
pub(super) fn check(call_off: Option<&CallOff>) -> io::Result<()> {
    match call_off {
        Some(call_off) if call_off.is_called_off() => Err(io::Error::other("nobody waits for it any more")),
        _ => Ok(()),
    }
}

/// The same of what is read on this thread.
pub(super) fn check_current() -> io::Result<()> {
    CURRENT.with_borrow(|current| check(current.as_ref()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::super::load::Spans;
    use super::super::log::{Expected, scan};
    use super::super::tests::{directory, meta, span};
    use super::super::{LogIndex, outline_run, read_log_part, salvage_run, stream_run, validate};
    use super::*;
    use crate::format::SPANS_FILE;

    /// A log without end that calls off its own reading with its first bytes, and counts what is read of it.
    struct Endless<'a> {
        call_off: &'a CallOff,
        bytes: &'a mut usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.call_off.call_off();
            buffer.fill(b'\n');
            *self.bytes += buffer.len();
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_log_is_read_no_further_than_the_block_in_which_it_is_called_off() {
        let call_off = CallOff::default();
        let mut bytes = 0;
        let log = Endless {
            call_off: &call_off,
            bytes: &mut bytes,
        };
        let expected = Expected {
            told: None,
            own: None,
            is_running: false,
        };
        let scanned = call_off.within(|| scan::<Spans>(log, expected));
        assert!(scanned.failure.is_some());
        assert_eq!(bytes, 256 * 1024);
    }

    #[test]
    fn every_way_to_read_a_run_can_be_called_off() {
        let directory = directory(&meta("ok"), format!("{}\n{}\n", span(2, Some(1)), span(1, None)));
        let path = directory.path();
        let call_off = CallOff::default();
        let mut index = LogIndex::open(path, None, false).unwrap();
        let mut records = stream_run(path).unwrap().records;
        call_off.call_off();
        call_off.within(|| {
            assert!(LogIndex::open(path, None, false).is_err());
            assert!(index.extend(false).is_err());
            assert!(stream_run(path).is_err());
            assert!(outline_run(path).is_err());
            assert!(salvage_run(path).is_err());
            assert!(read_log_part(path, 0, 1_000).is_err());
            assert!(!validate(path).problems.is_empty());
            assert!(records.record(0).is_err());
            assert!(records.clone().into_spans().span(0).is_err());
        });
        assert!(index.extend(false).unwrap());
        assert!(records.record(0).unwrap().is_some());
        assert_eq!(
            fs::read_to_string(path.join(SPANS_FILE)).unwrap().lines().count(),
            2
        );
    }

    #[test]
    fn a_call_off_ends_with_what_it_is_for_even_by_a_panic() {
        let (outer, inner) = (CallOff::default(), CallOff::default());
        inner.call_off();
        outer.within(|| {
            let caught = std::panic::catch_unwind(|| inner.within(|| panic!("on purpose")));
            assert!(caught.is_err());
            assert!(check_current().is_ok());
        });
        assert!(CallOff::current().is_none());
    }
}
