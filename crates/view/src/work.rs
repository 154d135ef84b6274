//! The work behind answers: a bounded number of readings at a time, each cancelled when its client is gone.
//!
//! A reading has a turn while it works. It gives its turn away while it waits for something else: a reader who takes an
//! answer slowly, or another reading of the same run. Long readings have some of the turns only, so that a page is not kept
//! waiting by them.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracer_sdk::read::CancelToken;

/// Readings that work at once; others wait.
const MAX_READERS: usize = 4;
/// Of these, readings of whole logs.
const MAX_LONG_READERS: usize = 2;
/// How often a waiting reading checks whether it is still wanted.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);

thread_local! {
    /// The reading on this thread.
    static CURRENT: RefCell<Option<ActiveReading>> = const { RefCell::new(None) };
}

/// What does the work of all requests; a clone is the same one.
#[derive(Debug, Clone)]
pub(super) struct WorkPool {
    turns: Arc<Semaphore>,
    long_turns: Arc<Semaphore>,
}

/// Whether a reading may go through a whole log, or more of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkLength {
    Short,
    Long,
}

/// Where a reading gets its turn.
#[derive(Debug, Clone)]
struct TurnSource {
    turns: Arc<Semaphore>,
    /// Of a long reading.
    long_turns: Option<Arc<Semaphore>>,
}

/// The right to work.
#[derive(Debug)]
struct WorkTurn {
    _long: Option<OwnedSemaphorePermit>,
    _any: OwnedSemaphorePermit,
}

impl TurnSource {
    /// Waits for a turn; `None` when the viewer ends.
    async fn turn(&self) -> Option<WorkTurn> {
        let long = match &self.long_turns {
            Some(turns) => Some(Arc::clone(turns).acquire_owned().await.ok()?),
            None => None,
        };
        Some(WorkTurn {
            _long: long,
            _any: Arc::clone(&self.turns).acquire_owned().await.ok()?,
        })
    }
}

/// A reading that is under way.
struct ActiveReading {
    source: TurnSource,
    turn: Option<WorkTurn>,
    token: CancelToken,
}

/// Calls off a reading when nobody waits for it any more.
struct Wanted(CancelToken);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl WorkPool {
    pub(super) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(MAX_READERS)),
            long_turns: Arc::new(Semaphore::new(MAX_LONG_READERS)),
        }
    }

    /// Does what reads, on a thread that may wait, as long as somebody waits for what this gives. `None` when it panics.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        length: WorkLength,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let wanted = Wanted(CancelToken::default());
        self.begin(length, wanted.0.clone(), read).await
    }

    /// Does what changes something: once begun it is done to the end, whoever waits.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.begin(WorkLength::Short, CancelToken::default(), change)
            .await
    }

    async fn begin<T: Send + 'static>(
        &self,
        length: WorkLength,
        token: CancelToken,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let source = TurnSource {
            turns: Arc::clone(&self.turns),
            long_turns: (length == WorkLength::Long).then(|| Arc::clone(&self.long_turns)),
        };
        let turn = source.turn().await?;
        let reading = ActiveReading {
            source,
            turn: Some(turn),
            token: token.clone(),
        };
        let worked = tokio::task::spawn_blocking(move || {
            let _end = PreviousReading(CURRENT.replace(Some(reading)));
            token.within(work)
        });
        worked.await.ok()
    }
}

/// What this thread did before, put back however the reading ends.
struct PreviousReading(Option<ActiveReading>);

impl Drop for PreviousReading {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Whether nobody waits any more for what this thread reads.
pub(super) fn is_cancelled() -> bool {
    CURRENT.with_borrow(|current| {
        current
            .as_ref()
            .is_some_and(|reading| reading.token.is_cancelled())
    })
}

/// Cancels what this thread reads for somebody, when nobody waits for it any more.
pub(super) fn token() -> CancelToken {
    CURRENT.with_borrow(|current| {
        let token = current.as_ref().map(|reading| reading.token.clone());
        token.unwrap_or_default()
    })
}

/// Waits for something that is no work: another reading has this one's turn meanwhile.
pub(super) fn aside<T>(wait: impl FnOnce() -> T) -> T {
    let turn = CURRENT.with_borrow_mut(|current| current.as_mut()?.turn.take());
    let had_turn = turn.is_some();
    drop(turn);
    let waited = wait();
    if had_turn && !is_cancelled() {
        let source = CURRENT.with_borrow(|current| current.as_ref().map(|reading| reading.source.clone()));
        let turn = source.and_then(|source| Handle::current().block_on(source.turn()));
        CURRENT.with_borrow_mut(|current| {
            if let Some(reading) = current {
                reading.turn = turn;
            }
        });
    }
    waited
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
    }

    /// Readings that nobody has ended yet.
    struct OpenReadings<T> {
        ends: Vec<mpsc::Sender<()>>,
        waiting: Vec<tokio::task::JoinHandle<Option<T>>>,
    }

    impl<T: Send + 'static> OpenReadings<T> {
        /// Asks for more readings than have turns; what each is given ends with an error when it may.
        fn begin(
            runtime: &tokio::runtime::Runtime,
            work: &WorkPool,
            length: WorkLength,
            read: impl Fn(&mpsc::Receiver<()>) -> T + Clone + Send + 'static,
        ) -> Self {
            let (mut ends, mut waiting) = (Vec::new(), Vec::new());
            for _ in 0..3 * MAX_READERS {
                let (end, ended) = mpsc::channel::<()>();
                let (work, read) = (work.clone(), read.clone());
                waiting.push(runtime.spawn(async move { work.read(length, move || read(&ended)).await }));
                ends.push(end);
            }
            Self { ends, waiting }
        }

        /// Ends all of them, and gives what they gave.
        fn end(self, runtime: &tokio::runtime::Runtime) -> Vec<Option<T>> {
            drop(self.ends);
            let ended = self.waiting.into_iter();
            ended.map(|waiting| runtime.block_on(waiting).unwrap()).collect()
        }
    }

    #[test]
    fn a_reading_that_waits_for_something_else_has_no_turn() {
        let runtime = runtime();
        let work = WorkPool::new();
        let (begun, all_begun) = mpsc::channel();
        let open = OpenReadings::begin(&runtime, &work, WorkLength::Short, move |ended| {
            aside(|| {
                begun.send(()).unwrap();
                ended.recv().unwrap_err();
            });
            CURRENT.with_borrow(|current| current.as_ref().unwrap().turn.is_some())
        });
        // All of them wait at once, and more work is done meanwhile.
        for _ in 0..3 * MAX_READERS {
            all_begun.recv().unwrap();
        }
        assert_eq!(runtime.block_on(work.read(WorkLength::Short, || 7)), Some(7));
        assert_eq!(open.end(&runtime), [Some(true); 3 * MAX_READERS]);
        assert_eq!(work.turns.available_permits(), MAX_READERS);
    }

    #[test]
    fn long_readings_leave_turns_to_others() {
        let runtime = runtime();
        let work = WorkPool::new();
        let (begun, has_begun) = mpsc::channel();
        let open = OpenReadings::begin(&runtime, &work, WorkLength::Long, move |ended| {
            begun.send(()).unwrap();
            ended.recv().unwrap_err();
        });
        for _ in 0..MAX_LONG_READERS {
            has_begun.recv().unwrap();
        }
        assert_eq!(runtime.block_on(work.read(WorkLength::Short, || 7)), Some(7));
        assert_eq!(open.end(&runtime), [Some(()); 3 * MAX_READERS]);
        assert_eq!(has_begun.try_iter().count(), 3 * MAX_READERS - MAX_LONG_READERS);
    }

    #[test]
    fn what_nobody_waits_for_is_never_begun_and_called_off_once_it_is() {
        let runtime = runtime();
        let work = WorkPool::new();
        let (begun, has_begun) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        let mut asked = Vec::new();
        for _ in 0..10 * MAX_READERS {
            let (work, begun, sender) = (work.clone(), begun.clone(), sender.clone());
            asked.push(runtime.spawn(async move {
                work.read(WorkLength::Short, move || {
                    begun.send(()).unwrap();
                    while !is_cancelled() {
                        std::thread::yield_now();
                    }
                    sender.send(()).unwrap();
                })
                .await
            }));
        }
        for _ in 0..MAX_READERS {
            has_begun.recv().unwrap();
        }
        for asked in &asked {
            asked.abort();
        }
        drop((begun, sender));
        assert_eq!(receiver.iter().count(), MAX_READERS);
        assert_eq!(has_begun.iter().count(), 0);
        assert_eq!(runtime.block_on(work.read(WorkLength::Short, || 7)), Some(7));
    }

    #[test]
    fn a_change_that_has_begun_is_done_whoever_waits() {
        let runtime = runtime();
        let work = WorkPool::new();
        let (begun, has_begun) = mpsc::channel();
        let (go_on, gone_on) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let asked = runtime.spawn(async move {
            work.change(move || {
                begun.send(()).unwrap();
                gone_on.recv().unwrap();
                sender.send(is_cancelled()).unwrap();
            })
            .await
        });
        has_begun.recv().unwrap();
        asked.abort();
        go_on.send(()).unwrap();
        assert!(!receiver.recv().unwrap());
    }
}
