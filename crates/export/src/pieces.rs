//! A long export in pieces: made on several threads at once, given in the order of the run.
//!
//! Each thread takes its turns of consecutive items, and the turns go round the threads. What a thread has made ahead of
//! its turn waits in a channel that holds little, so that memory does not grow with the run.

use std::io;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use super::ExportError;

/// Items of one turn of a thread.
pub(super) const TURN_ITEMS: usize = 512;
/// Bytes with which a piece is passed on even within a turn: items can be large.
pub(super) const PASSED_BYTES: usize = 1024 * 1024;
/// Pieces that wait for each thread.
const WAITING_PIECES: usize = 2;
/// One thread writes the file: more than these it cannot keep up with.
const MAX_THREADS: usize = 4;

/// The result of some consecutive items.
pub trait ExportChunk: Default + Send + 'static {
    /// About how many bytes of memory it has.
    fn bytes(&self) -> usize;
    /// Number of items that it is made of.
    fn count(&self) -> usize;
}

/// A thread's message.
enum Passed<P> {
    Piece(P),
    EndOfTurn,
    Failed(ExportError),
}

/// A thread that makes pieces.
#[derive(Debug)]
struct Maker<P> {
    made: Receiver<Passed<P>>,
    /// `None` when it was waited for.
    thread: Option<JoinHandle<()>>,
}

/// The pieces of a whole run.
#[derive(Debug)]
pub struct Pieces<P> {
    makers: Vec<Maker<P>>,
    /// Whose turn it is.
    turn: usize,
    turns: usize,
}

impl<P: ExportChunk> Pieces<P> {
    /// Begins to make `count` items; `add` adds the item with a number, from 0, to a piece. An error when no thread can
    /// be started.
    pub(super) fn new<Add>(count: usize, add: Add) -> io::Result<Self>
    where
        Add: FnMut(usize, &mut P) -> Result<(), ExportError> + Clone + Send + 'static,
    {
        let available = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::with_threads(available.min(MAX_THREADS), count, add)
    }

    pub(super) fn with_threads<Add>(most_threads: usize, count: usize, add: Add) -> io::Result<Self>
    where
        Add: FnMut(usize, &mut P) -> Result<(), ExportError> + Clone + Send + 'static,
    {
        let turns = count.div_ceil(TURN_ITEMS);
        let thread_count = most_threads.min(turns).max(1);
        let makers = (0..thread_count).map(|number| {
            let (sender, made) = mpsc::sync_channel(WAITING_PIECES);
            let mut add = add.clone();
            let thread = thread::Builder::new().name("export".to_owned()).spawn(move || {
                for turn in (number..turns).step_by(thread_count) {
                    let start = turn * TURN_ITEMS;
                    let items = start..count.min(start + TURN_ITEMS);
                    let made = pass_turn(items, &mut add, &sender);
                    let is_last = made.is_err();
                    let end = made.map_or_else(Passed::Failed, |()| Passed::EndOfTurn);
                    // The reader is gone.
                    if sender.send(end).is_err() || is_last {
                        return;
                    }
                }
            });
            Ok(Maker {
                made,
                thread: Some(thread?),
            })
        });
        Ok(Self {
            makers: makers.collect::<io::Result<_>>()?,
            turn: 0,
            turns,
        })
    }
}

impl<P> Iterator for Pieces<P> {
    type Item = Result<P, ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.turn < self.turns {
            let number = self.turn % self.makers.len();
            let maker = self.makers.get_mut(number)?;
            match maker.made.recv() {
                Ok(Passed::Piece(piece)) => return Some(Ok(piece)),
                Ok(Passed::EndOfTurn) => self.turn += 1,
                Ok(Passed::Failed(error)) => {
                    self.turn = self.turns;
                    return Some(Err(error));
                }
                // With turns left, only a panic ends a thread: it is resumed here, so that nothing is cut silently.
                Err(mpsc::RecvError) => {
                    if let Some(Err(panic)) = maker.thread.take().map(JoinHandle::join) {
                        std::panic::resume_unwind(panic);
                    }
                    self.turn = self.turns;
                    return Some(Err(ExportError::Read("a record is missing".to_owned())));
                }
            }
        }
        None
    }
}

/// Makes the items of one turn.
fn pass_turn<P: ExportChunk>(
    items: Range<usize>,
    add: &mut impl FnMut(usize, &mut P) -> Result<(), ExportError>,
    sender: &SyncSender<Passed<P>>,
) -> Result<(), ExportError> {
    let mut piece = P::default();
    for number in items {
        add(number, &mut piece)?;
        if piece.bytes() >= PASSED_BYTES {
            pass(std::mem::take(&mut piece), sender)?;
        }
    }
    pass(piece, sender)
}

fn pass<P>(piece: P, sender: &SyncSender<Passed<P>>) -> Result<(), ExportError> {
    sender
        .send(Passed::Piece(piece))
        .map_err(|_closed| ExportError::Write(io::ErrorKind::BrokenPipe.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers, as large as they say.
    #[derive(Debug, Default)]
    struct Numbers(Vec<usize>, usize);

    impl ExportChunk for Numbers {
        fn bytes(&self) -> usize {
            self.1
        }

        fn count(&self) -> usize {
            self.0.len()
        }
    }

    /// Some turns, the last of them short.
    const COUNT: usize = 5 * TURN_ITEMS + 7;

    /// Every number below the count, some of them large.
    fn pieces(threads: usize) -> Pieces<Numbers> {
        Pieces::with_threads(threads, COUNT, |number, numbers: &mut Numbers| {
            numbers.0.push(number);
            numbers.1 += if number % 900 == 0 { PASSED_BYTES } else { 10 };
            Ok(())
        })
        .unwrap()
    }

    #[test]
    fn however_many_threads_make_them_the_items_come_in_their_order() {
        for threads in [1, 2, 3, 100] {
            let numbers: Vec<usize> = pieces(threads).flat_map(|piece| piece.unwrap().0).collect();
            assert!(numbers.iter().copied().eq(0..COUNT), "{threads} threads");
        }
    }

    #[test]
    fn a_failure_is_reported_once_and_ends_the_output() {
        let failing = |number: usize, numbers: &mut Numbers| {
            if number == TURN_ITEMS + 3 {
                return Err(ExportError::Read("has changed".to_owned()));
            }
            numbers.0.push(number);
            Ok(())
        };
        let pieces: Vec<_> = Pieces::with_threads(2, COUNT, failing).unwrap().collect();
        assert!(
            matches!(pieces.as_slice(), [Ok(first), Err(ExportError::Read(reason))]
                if first.count() == TURN_ITEMS && reason == "has changed")
        );
    }

    #[test]
    fn whoever_stops_reading_stops_the_threads() {
        let mut pieces = pieces(2);
        assert!(pieces.next().is_some_and(|piece| piece.is_ok()));
        let threads: Vec<_> = pieces.makers.drain(..).map(|maker| maker.thread).collect();
        for thread in threads.into_iter().flatten() {
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_panic_goes_on_where_the_pieces_are_read() {
        let add = |_: usize, _: &mut Numbers| -> Result<(), ExportError> { panic!("a defect") };
        let mut pieces = Pieces::with_threads(1, 1, add).unwrap();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pieces.next()));
        assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "a defect");
    }
}
