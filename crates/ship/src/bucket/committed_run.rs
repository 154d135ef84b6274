//! [`CommittedRun`]: `meta.json` of a run in a bucket: the run's own metadata, and where its spans are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bucket::layout;

/// The key of `meta.json` that a bucket adds. Readers of the trace format ignore keys that they do not know.
const KEY: &str = "stored";
/// Version of what is under the key.
const VERSION: u32 = 1;
/// Bytes of a `meta.json` in a bucket.
pub(crate) const MAX_META_BYTES: u64 = 4 * 1024 * 1024;

/// Place of the spans of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSpans {
    version: u32,
    /// Which state of the run this is, from 1.
    pub(crate) generation: u64,
    /// The object in the folder of `meta.json`.
    pub(crate) spans: String,
    /// Bytes of the log.
    pub(crate) bytes: u64,
    /// Hash of the log.
    pub(crate) sha256: String,
}

impl StoredSpans {
    pub(crate) fn new(generation: u64, spans: String, bytes: u64, sha256: String) -> Self {
        Self {
            version: VERSION,
            generation,
            spans,
            bytes,
            sha256,
        }
    }
}

/// A `meta.json` in a bucket.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommittedRun {
    /// The run's own metadata.
    pub(crate) meta: Map<String, Value>,
    pub(crate) stored: StoredSpans,
}

impl CommittedRun {
    /// Parses what a bucket has; `None` when that is no `meta.json` of this version, or names what cannot be spans.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut meta: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        let stored: StoredSpans = serde_json::from_value(meta.remove(KEY)?).ok()?;
        let is_hash = stored.sha256.len() == 64 && stored.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_valid = stored.version == VERSION && is_hash && layout::is_spans_name(&stored.spans);
        is_valid.then_some(Self { meta, stored })
    }

    /// The bytes of the object.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut meta = self.meta.clone();
        // Numbers and texts are always JSON.
        meta.insert(
            KEY.to_owned(),
            serde_json::to_value(&self.stored).unwrap_or_default(),
        );
        let mut bytes = serde_json::to_vec_pretty(&meta).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Metadata of this machine without what a bucket added, should the run come from one.
    pub(crate) fn own_meta(bytes: &[u8]) -> Option<Map<String, Value>> {
        let mut meta: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        meta.remove(KEY);
        Some(meta)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn run() -> CommittedRun {
        let Value::Object(meta) = json!({"trace_id": "x", "unknown": [1, 2.5]}) else {
            panic!("an object");
        };
        CommittedRun {
            meta,
            stored: StoredSpans::new(2, "spans.jsonl".to_owned(), 7, "ab".repeat(32)),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(CommittedRun::parse(&run().to_bytes()), Some(run()));
        let own = CommittedRun::own_meta(&run().to_bytes()).unwrap();
        assert_eq!(own, run().meta);
    }

    #[rstest]
    #[case::no_json("{")]
    #[case::no_object("[]")]
    #[case::not_stored(r#"{"trace_id":"x"}"#)]
    #[case::newer(
        r#"{"stored":{"version":2,"generation":1,"spans":"spans.jsonl","bytes":1,"sha256":"HASH"}}"#
    )]
    #[case::upwards(
        r#"{"stored":{"version":1,"generation":1,"spans":"../x/spans.jsonl","bytes":1,"sha256":"HASH"}}"#
    )]
    #[case::no_hash(
        r#"{"stored":{"version":1,"generation":1,"spans":"spans.jsonl","bytes":1,"sha256":"../"}}"#
    )]
    #[case::negative(
        r#"{"stored":{"version":1,"generation":-1,"spans":"spans.jsonl","bytes":1,"sha256":"HASH"}}"#
    )]
    fn another_object_is_no_run(#[case] text: &str) {
        let text = text.replace("HASH", &"ab".repeat(32));
        assert_eq!(CommittedRun::parse(text.as_bytes()), None);
    }
}
