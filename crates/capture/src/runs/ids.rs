//! IDs: random ones, and those that are made of what identifies something, so that the same input gives the same run.

use sha2::{Digest, Sha256};
use tracer_sdk::format::{SpanId, TraceId};
use uuid::Uuid;

/// A random trace ID.
pub(crate) fn random_trace_id() -> TraceId {
    loop {
        if let Some(id) = TraceId::from_u128(Uuid::new_v4().as_u128()) {
            return id;
        }
    }
}

/// A random span ID.
pub(crate) fn random_span_id() -> SpanId {
    loop {
        // The upper half has the version's fixed bits.
        let (_, low) = Uuid::new_v4().as_u64_pair();
        if let Some(id) = SpanId::from_u64(low) {
            return id;
        }
    }
}

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        // With its length, so that no two lists of parts are the same bytes.
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// A trace ID made of `parts`.
pub(crate) fn derived_trace_id(parts: &[&[u8]]) -> TraceId {
    let digest = digest(parts);
    let value = digest
        .iter()
        .take(16)
        .fold(0_u128, |value, byte| value << 8 | u128::from(*byte));
    // Zero is no ID, and as likely as any other value.
    TraceId::from_u128(value.max(1)).unwrap_or_else(|| unreachable!("at least one"))
}

/// A span ID made of `parts`.
pub(crate) fn derived_span_id(parts: &[&[u8]]) -> SpanId {
    let digest = digest(parts);
    let value = digest
        .iter()
        .take(8)
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    SpanId::from_u64(value.max(1)).unwrap_or_else(|| unreachable!("at least one"))
}

/// The root that is made for a run that has none of its own.
pub(crate) fn synthetic_root(run: TraceId) -> SpanId {
    derived_span_id(&[b"tracer.synthetic", &run.to_hex()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_parts_give_the_same_id() {
        let one = derived_trace_id(&[b"codex", b"session"]);
        assert_eq!(one, derived_trace_id(&[b"codex", b"session"]));
        assert_ne!(one, derived_trace_id(&[b"codexs", b"ession"]));
        assert_ne!(synthetic_root(one), derived_span_id(&[b"tracer.synthetic"]));
    }
}
