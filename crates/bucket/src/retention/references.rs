//! The runs that baselines in a bucket need: they are never removed.

use std::collections::HashSet;

use serde_json::Value;
use tracer_sdk::format::TraceId;

use crate::bucket::OpenBucket;
use crate::error::{BucketError, if_there};
use crate::event::WaitEvent;
use crate::gate_files::MAX_BASELINE_BYTES;
use crate::layout;
use crate::patience::{Halt, Patience, SharedObserver};

/// The runs that a baseline of the bucket names. A baseline that cannot be read is an error: nobody knows what it needs.
pub(crate) async fn referenced_runs<Event: From<WaitEvent>>(
    bucket: &OpenBucket,
    patience: &Patience,
    observe: &SharedObserver<'_, Event>,
) -> Result<HashSet<TraceId>, Halt> {
    let folder = layout::baselines(&bucket.prefix);
    let listed = patience.patiently(|| bucket.list(&folder), observe).await?;
    let mut runs = HashSet::new();
    for object in listed {
        let get = || async { if_there(bucket.get(&object.location, MAX_BASELINE_BYTES).await) };
        let Some(found) = patience.patiently(get, observe).await? else {
            continue;
        };
        let baseline: Value = serde_json::from_slice(&found.bytes).map_err(|_| BucketError::Refused {
            reason: format!(
                "{} cannot be read, and nobody knows which runs it needs",
                object.location
            ),
        })?;
        collect_runs(&baseline, &mut runs);
    }
    Ok(runs)
}

/// Whatever looks like a run is one: the files of other versions name them under other keys.
fn collect_runs(value: &Value, runs: &mut HashSet<TraceId>) {
    match value {
        Value::String(text) => runs.extend(text.parse::<TraceId>()),
        Value::Array(items) => items.iter().for_each(|item| collect_runs(item, runs)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            runs.extend(key.parse::<TraceId>());
            collect_runs(value, runs);
        }),
        _ => {}
    }
}
