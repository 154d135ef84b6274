//! The JSON lines that the exporters of the peers write: as little as a useful line holds, into a buffer that is used
//! again.

use serde::{Serialize, Serializer};

/// One span as a line.
#[derive(Serialize)]
pub struct SpanLine<'a> {
    pub trace_id: String,
    pub span_id: String,
    pub parent_span_id: String,
    pub name: &'a str,
    pub start_unix_ns: u64,
    pub end_unix_ns: u64,
    #[serde(serialize_with = "as_object")]
    pub attributes: Vec<(&'a str, &'a str)>,
}

fn as_object<S: Serializer>(attributes: &[(&str, &str)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(attributes.iter().copied())
}

/// Appends a line to a buffer.
pub fn append(out: &mut Vec<u8>, line: &SpanLine<'_>) {
    serde_json::to_writer(&mut *out, line).expect("strings and numbers can be written");
    out.push(b'\n');
}
