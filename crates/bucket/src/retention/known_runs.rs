//! [`KnownRuns`]: every run as the facts of a bucket list it, and which line of which object says what.

use std::collections::HashMap;
use std::io::Read;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::ObjectMeta;
use object_store::path::Path;
use serde::Deserialize;
use tracer_facts::FACTS_LINE_VERSION;
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Timestamp, TraceId};

use crate::bucket::OpenBucket;
use crate::error::{BucketError, RequestFailure, if_there};
use crate::event::WaitEvent;
use crate::layout;
use crate::patience::{Halt, Patience, SharedObserver};

/// Bytes of an object of facts, and of what it holds.
const MAX_FACTS_BYTES: u64 = 512 * 1024 * 1024;
/// Objects that are read at the same time.
const CONCURRENT_OBJECTS: usize = 8;
/// How often the facts are listed again because an object was removed meanwhile.
const MAX_LISTINGS: usize = 5;

/// What a line of facts says, as far as retention needs it.
#[derive(Debug, Deserialize)]
struct FactsLine {
    version: u32,
    trace_id: TraceId,
    generation: u64,
    #[serde(default)]
    removed: bool,
    name: Option<String>,
    started_at: Option<String>,
    status: Option<String>,
    #[serde(default)]
    bytes: u64,
}

/// Which state of a run a line is of. Of several the greatest counts: a removal counts more than what it removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LineKey {
    pub(crate) run: TraceId,
    pub(crate) generation: u64,
    pub(crate) is_removal: bool,
}

impl LineKey {
    /// The key of a line; `None` when this version does not understand it.
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
        parse(line).map(|(key, _)| key)
    }
}

/// A run, by the line that counts.
#[derive(Debug, Clone)]
pub(crate) struct KnownRun {
    pub(crate) generation: u64,
    pub(crate) is_removed: bool,
    pub(crate) name: Option<String>,
    pub(crate) started: Option<Timestamp>,
    pub(crate) status: RunStatus,
    pub(crate) bytes: u64,
}

/// An object of facts.
#[derive(Debug)]
pub(crate) struct FactsObject {
    /// Its name below the folder of facts.
    pub(crate) name: String,
    pub(crate) path: Path,
    pub(crate) written: Timestamp,
    pub(crate) lines: Vec<LineKey>,
    /// Whether it has lines that this version does not understand: those are nobody's to change.
    pub(crate) is_foreign: bool,
}

/// What the facts say.
#[derive(Debug, Default)]
pub(crate) struct KnownRuns {
    pub(crate) runs: HashMap<TraceId, KnownRun>,
    pub(crate) objects: Vec<FactsObject>,
}

impl KnownRuns {
    /// Reads all facts.
    pub(crate) async fn read<Event: From<WaitEvent>>(
        bucket: &OpenBucket,
        patience: &Patience,
        observe: &SharedObserver<'_, Event>,
    ) -> Result<Self, Halt> {
        let folder = layout::facts(&bucket.prefix);
        for _ in 0..MAX_LISTINGS {
            let listed = patience.patiently(|| bucket.list(&folder), observe).await?;
            if let Some(known) = Self::of_listed(bucket, listed, patience, observe).await? {
                return Ok(known);
            }
        }
        Err(RequestFailure::Changed.into_error().into())
    }

    /// `None` when an object was removed after it was listed.
    async fn of_listed<Event: From<WaitEvent>>(
        bucket: &OpenBucket,
        listed: Vec<ObjectMeta>,
        patience: &Patience,
        observe: &SharedObserver<'_, Event>,
    ) -> Result<Option<Self>, Halt> {
        let folder = layout::facts(&bucket.prefix);
        let named = listed.into_iter().filter_map(|object| {
            let name = object.location.as_ref().strip_prefix(folder.as_ref())?;
            let name = name.strip_prefix('/')?.to_owned();
            layout::facts_date(&name)?;
            Some((name, object))
        });
        let mut reading = stream::iter(named)
            .map(|(name, object)| async move {
                let content = content(bucket, &object.location, &name, patience, observe).await?;
                Ok::<_, Halt>((name, object, content))
            })
            .buffer_unordered(CONCURRENT_OBJECTS);
        let mut known = Self::default();
        while let Some((name, object, content)) = reading.try_next().await? {
            let Some(content) = content else {
                return Ok(None);
            };
            known.add(name, &object, &content);
        }
        known.objects.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(known))
    }

    fn add(&mut self, name: String, object: &ObjectMeta, content: &[u8]) {
        let (mut lines, mut is_foreign) = (Vec::new(), false);
        for line in lines_of(content) {
            let Some((key, run)) = parse(line) else {
                is_foreign = true;
                continue;
            };
            lines.push(key);
            let counts = self
                .runs
                .get(&key.run)
                .is_none_or(|known| (known.generation, known.is_removed) < (key.generation, key.is_removal));
            if counts {
                self.runs.insert(key.run, run);
            }
        }
        self.objects.push(FactsObject {
            name,
            path: object.location.clone(),
            written: Timestamp::from_unix_microseconds(object.last_modified.timestamp_micros()),
            lines,
            is_foreign,
        });
    }

    /// Whether a line is the one that counts.
    pub(crate) fn counts(&self, line: &LineKey) -> bool {
        self.runs
            .get(&line.run)
            .is_some_and(|known| (known.generation, known.is_removed) == (line.generation, line.is_removal))
    }

    /// Whether a line says something of a run that was removed.
    pub(crate) fn is_forgotten(&self, line: &LineKey) -> bool {
        let is_removed = self.runs.get(&line.run).is_some_and(|known| known.is_removed);
        is_removed && !line.is_removal
    }
}

/// The lines of an object.
pub(crate) fn lines_of(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

/// What an object holds, not compressed; `None` when it is not there any more.
pub(crate) async fn content<Event: From<WaitEvent>>(
    bucket: &OpenBucket,
    path: &Path,
    name: &str,
    patience: &Patience,
    observe: &SharedObserver<'_, Event>,
) -> Result<Option<Vec<u8>>, Halt> {
    let get = || async { if_there(bucket.get(path, MAX_FACTS_BYTES).await) };
    let Some(found) = patience.patiently(get, observe).await? else {
        return Ok(None);
    };
    if !layout::is_compressed(name) {
        return Ok(Some(found.bytes.to_vec()));
    }
    let mut content = Vec::new();
    // What is beyond the limit is a trap.
    let read = zstd::Decoder::new(&*found.bytes)
        .and_then(|decoder| decoder.take(MAX_FACTS_BYTES + 1).read_to_end(&mut content));
    match read {
        Ok(read) if read as u64 <= MAX_FACTS_BYTES => Ok(Some(content)),
        _ => Err(BucketError::Refused {
            reason: format!("{path} cannot be decompressed, or holds more than {MAX_FACTS_BYTES} bytes"),
        }
        .into()),
    }
}

fn parse(line: &[u8]) -> Option<(LineKey, KnownRun)> {
    let line: FactsLine = serde_json::from_slice(line).ok()?;
    if line.version != FACTS_LINE_VERSION {
        return None;
    }
    let key = LineKey {
        run: line.trace_id,
        generation: line.generation,
        is_removal: line.removed,
    };
    let status = line.status.as_deref().and_then(RunStatus::from_word);
    let run = KnownRun {
        generation: line.generation,
        is_removed: line.removed,
        name: line.name,
        started: line.started_at.and_then(|at| at.parse().ok()),
        // A status that only a newer version knows is never asked for by its name.
        status: status.unwrap_or(RunStatus::Damaged),
        bytes: line.bytes,
    };
    Some((key, run))
}
