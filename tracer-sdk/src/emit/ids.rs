//! Sources of identifiers: system randomness for traces, a scrambled counter for spans.

use std::sync::atomic::{AtomicU64, Ordering};

use tracer_format::{SpanId, TraceId};

/// A random trace ID (UUID version 4). The randomness is the system's own: seeding a generator in the program does not
/// repeat IDs.
pub(crate) fn new_trace_id() -> TraceId {
    loop {
        if let Some(id) = TraceId::from_u128(uuid::Uuid::new_v4().as_u128()) {
            return id;
        }
    }
}

/// The trace ID of every captured run.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn counted_trace_id() -> TraceId {
    TraceId::from_u128(1).unwrap_or_else(new_trace_id)
}

/// The span IDs of one run: unique within it, because scrambling a counter never maps two numbers to one.
#[derive(Debug)]
pub(crate) struct SpanIds {
    next: AtomicU64,
    scramble: fn(u64) -> u64,
}

impl SpanIds {
    pub(crate) fn new() -> Self {
        // The low half of a UUID has 62 random bits.
        let (_, start) = uuid::Uuid::new_v4().as_u64_pair();
        Self::starting_at(start)
    }

    fn starting_at(start: u64) -> Self {
        Self {
            next: AtomicU64::new(start),
            scramble,
        }
    }

    /// 1, 2, 3, …: the same in every run of the same code.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn counted() -> Self {
        Self {
            next: AtomicU64::new(1),
            scramble: std::convert::identity,
        }
    }

    pub(crate) fn next(&self) -> SpanId {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if let Some(id) = SpanId::from_u64((self.scramble)(number)) {
                return id;
            }
        }
    }
}

/// The finaliser of `SplitMix64`, a bijection on 64-bit numbers whose neighbours look unrelated.
const fn scramble(number: u64) -> u64 {
    let mut bits = number;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_span_ids_of_a_run_never_repeat_and_are_never_zero() {
        let ids = SpanIds::starting_at(u64::MAX - 5_000);
        let seen: HashSet<SpanId> = (0..10_000).map(|_| ids.next()).collect();
        assert_eq!(seen.len(), 10_000);
    }

    #[test]
    fn counted_ids_are_the_same_every_time() {
        let ids = SpanIds::counted();
        assert_eq!(ids.next().to_string(), "0000000000000001");
        assert_eq!(ids.next().to_string(), "0000000000000002");
    }

    #[test]
    fn trace_ids_differ() {
        assert_ne!(new_trace_id(), new_trace_id());
    }
}
