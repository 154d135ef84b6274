//! Reading a body: within its size, within the memory of all requests together, and within time.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::refusal::Refusal;

/// Time for a body as a whole.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two parts of a body.
const PART_TIMEOUT: Duration = Duration::from_secs(10);
/// Time that a refused body may take to arrive: a sender that still writes would not read the answer.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);
/// When to send again what found no memory.
const MEMORY_RETRY: Duration = Duration::from_secs(1);

/// The memory for bodies, in bytes, of all requests together.
#[derive(Debug, Clone)]
pub(super) struct Budget(Arc<Semaphore>);

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// A reservation of nothing yet.
    pub(super) fn reservation(&self) -> MemoryReservation {
        MemoryReservation {
            budget: Arc::clone(&self.0),
            held: None,
        }
    }
}

/// The part of the budget that a request uses, until it is dropped.
#[derive(Debug)]
pub(super) struct MemoryReservation {
    budget: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
}

impl MemoryReservation {
    /// Takes more, or refuses: a request that waited here would keep what others wait for.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let busy = || Refusal::Busy {
            retry_after: MEMORY_RETRY,
        };
        let permits = u32::try_from(bytes).map_err(|_| busy())?;
        let more = Arc::clone(&self.budget)
            .try_acquire_many_owned(permits)
            .map_err(|_| busy())?;
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
        Ok(())
    }
}

/// Reads a body of at most `limit` bytes and `framing` around them, as it was sent.
pub(super) async fn read(
    mut body: Incoming,
    limit: usize,
    framing: usize,
    reservation: &mut MemoryReservation,
) -> Result<Bytes, Refusal> {
    let read = read_parts(&mut body, limit, framing, reservation).await;
    if read.is_err() {
        discard(body).await;
    }
    read
}

async fn read_parts(
    body: &mut Incoming,
    limit: usize,
    framing: usize,
    reservation: &mut MemoryReservation,
) -> Result<Bytes, Refusal> {
    let too_large = || Refusal::TooLarge { limit };
    let allowed = limit.saturating_add(framing);
    let announced = body.size_hint().exact();
    if announced
        .is_some_and(|announced| usize::try_from(announced).map_or(true, |announced| announced > allowed))
    {
        return Err(too_large());
    }
    let deadline = Instant::now() + BODY_TIMEOUT;
    // A small request is one part, which needs no copy. Others are copied together: a part of one byte takes far more memory.
    let (mut only, mut joined): (Option<Bytes>, Vec<u8>) = (None, Vec::new());
    let mut length = 0_usize;
    loop {
        let next_deadline = deadline.min(Instant::now() + PART_TIMEOUT);
        let frame = timeout_at(next_deadline, body.frame())
            .await
            .map_err(|_| Refusal::TooSlow)?;
        let Some(frame) = frame else {
            return Ok(only.unwrap_or_else(|| joined.into()));
        };
        let Ok(part) = frame.map_err(|_| Refusal::Aborted)?.into_data() else {
            continue;
        };
        length += part.len();
        if length > allowed {
            return Err(too_large());
        }
        reservation.grow(part.len())?;
        if length == part.len() {
            only = Some(part);
            continue;
        }
        if let Some(first) = only.take() {
            joined.extend_from_slice(&first);
        }
        joined.extend_from_slice(&part);
    }
}

/// Takes what still arrives, for a short time, so that the sender gets to read the answer.
pub(super) async fn discard(mut body: Incoming) {
    let _ = timeout(DISCARD_TIMEOUT, async {
        while let Some(Ok(_)) = body.frame().await {}
    })
    .await;
}
