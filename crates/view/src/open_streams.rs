//! The open event streams, of which there is a limited number.

use std::collections::VecDeque;
use std::convert::Infallible;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Streams open at once: fewer than connections, so that other requests are served.
const MAX_STREAMS: usize = 64;

/// The streams that are open.
#[derive(Debug, Default)]
pub(super) struct OpenStreams(Mutex<VecDeque<oneshot::Sender<Infallible>>>);

impl OpenStreams {
    /// Takes a place among them. When all are taken, the stream that was opened first ends: a page that still listens to it
    /// connects again.
    pub(super) fn enter(&self) -> oneshot::Receiver<Infallible> {
        let (place, given_up) = oneshot::channel();
        let mut places = self.0.lock();
        places.retain(|place| !place.is_closed());
        if places.len() >= MAX_STREAMS {
            places.pop_front();
        }
        places.push_back(place);
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_all_places_are_taken_the_stream_that_was_opened_first_gives_way() {
        let streams = OpenStreams::default();
        let mut first = streams.enter();
        let mut second = streams.enter();
        // Those that have ended keep no place.
        for _ in 0..3 * MAX_STREAMS {
            drop(streams.enter());
        }
        let others: Vec<_> = (2..MAX_STREAMS).map(|_| streams.enter()).collect();
        let open = oneshot::error::TryRecvError::Empty;
        assert_eq!(
            (first.try_recv(), second.try_recv()),
            (Err(open.clone()), Err(open.clone()))
        );
        let _newest = streams.enter();
        assert_eq!(first.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(second.try_recv(), Err(open));
        drop(others);
    }
}
