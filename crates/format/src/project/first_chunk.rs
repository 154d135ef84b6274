//! Time to the first chunk of a streamed answer, in every vocabulary.

use std::time::Duration;

use serde_json::{Map, Value};

use super::values::number;
use crate::vocabulary::FIRST_CHUNK;

/// Longer times are none: a day.
const MAX_MICROSECONDS: f64 = 86_400_000_000.0;

/// Time to the first chunk of a streamed answer, from the attributes of the model call; `None` without such an
/// attribute.
pub(super) fn time_to_first_chunk(attributes: &Map<String, Value>) -> Option<Duration> {
    FIRST_CHUNK.iter().find_map(|(_, key, unit)| {
        let stored = attributes.get(*key)?;
        let amount = match stored {
            Value::String(text) => text.trim().parse().ok()?,
            stored => number(stored)?.as_f64()?,
        };
        let microseconds: f64 = amount * unit;
        let is_time = (0.0..=MAX_MICROSECONDS).contains(&microseconds);
        is_time.then(|| Duration::from_secs_f64(microseconds / 1_000_000.0))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_chunk_is_known_in_every_vocabulary() {
        for (attributes, expected) in [
            (json!({"tracer.time_to_first_chunk_ms": 120.5}), Some(120_500)),
            (
                json!({"gen_ai.response.time_to_first_chunk": "0.2"}),
                Some(200_000),
            ),
            (json!({"ai.response.msToFirstChunk": 80}), Some(80_000)),
            (json!({"ttft_ms": "90"}), Some(90_000)),
            (json!({"ttft_ms": -1}), None),
            (
                json!({"ttft_ms": "soon", "ai.response.msToFirstChunk": 1e300}),
                None,
            ),
            (json!({"ttft_ms": "NaN"}), None),
            (json!({}), None),
        ] {
            let first = time_to_first_chunk(attributes.as_object().unwrap());
            assert_eq!(first.map(|first| first.as_micros()), expected, "{attributes}");
        }
    }
}
