//! Parsing: from the bytes of `meta.json` and of a line of `spans.jsonl` to values and problems.

mod fields;
mod json;
mod meta;
mod scalar;
mod span;

pub use fields::{Location, no_spans};
pub use meta::{MAX_META_BYTES, MetaReading, read_meta};
pub(crate) use scalar::Scalar;
pub use span::{Identity, IndexedAttributes, KeyAttributes, ParsedSpan, parse_span, read_span};
