//! Compaction: the objects of facts of a day that has passed become one, or a few of a bounded size.
//!
//! What is written keeps every line that counts, but for removals that every reader knows by now; what was written before
//! is removed by a later compaction, once whoever had listed it has read it. So a reader finds each line at any moment, and
//! whoever is killed leaves duplicates at most. Where nothing is left of a day but such removals, an empty object says since
//! when: a reader that is at its first reading may have read what the run said, and the removal is still to come.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use tracer_insight::digest::sha256_hex;
use tracer_sdk::format::{Timestamp, TraceId};

use crate::bucket::OpenBucket;
use crate::error::{BucketError, RequestFailure};
use crate::event::WaitEvent;
use crate::layout;
use crate::package::compressed;
use crate::patience::{Halt, Patience, SharedObserver};
use crate::removals::MIN_REMOVAL_AGE;
use crate::retention::known_runs::{FactsObject, KnownRuns, LineKey, content, lines_of};

/// How long after its end facts may still be written under the name of a day: names are made before they are written.
const MAX_LATE_FACTS: Duration = Duration::from_secs(3600);
/// Bytes of what is written as one object, before compression.
#[cfg(not(test))]
const MAX_COMPACTED_BYTES: usize = 32 * 1024 * 1024;
#[cfg(test)]
const MAX_COMPACTED_BYTES: usize = 16 * 1024;

/// What is to be done with the facts of a day.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DayCompaction {
    pub(crate) date: String,
    /// The objects whose lines are written anew, by their names; none when nothing is to be written.
    pub(crate) sources: Vec<String>,
    /// The objects that nobody needs any more.
    pub(crate) removals: Vec<Path>,
}

/// What is to be done now, by the store's clock.
pub(crate) fn plan(lines: &CountedLines<'_>, settle: Duration) -> Vec<DayCompaction> {
    let now = lines.now;
    let mut days: BTreeMap<&str, Vec<&FactsObject>> = BTreeMap::new();
    for object in lines.known.objects.iter().filter(|object| !object.is_foreign) {
        if let Some(date) = layout::facts_date(&object.name) {
            days.entry(date).or_default().push(object);
        }
    }
    days.into_iter()
        .filter(|(date, _)| has_passed(date, now, MAX_LATE_FACTS))
        .map(|(date, objects)| plan_day(date, &objects, lines, settle))
        .filter(|day| !day.sources.is_empty() || !day.removals.is_empty())
        .collect()
}

/// Whether a day ended so long ago, or longer.
fn has_passed(date: &str, now: Timestamp, min_age: Duration) -> bool {
    let Ok(begin) = format!("{date}T00:00:00.000000Z").parse::<Timestamp>() else {
        return false;
    };
    begin.unix_microseconds() + micros(Duration::from_secs(24 * 3600) + min_age) <= now.unix_microseconds()
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Which lines are kept.
pub(crate) struct CountedLines<'a> {
    known: &'a KnownRuns,
    now: Timestamp,
    /// Removed runs of which another line says something still.
    still_listed: HashSet<TraceId>,
    /// Lines that this version does not understand may be of any run.
    has_foreign: bool,
}

impl<'a> CountedLines<'a> {
    pub(crate) fn of(known: &'a KnownRuns, now: Timestamp) -> Self {
        let lines = known.objects.iter().flat_map(|object| &object.lines);
        Self {
            still_listed: lines
                .filter(|line| known.is_forgotten(line))
                .map(|line| line.run)
                .collect(),
            has_foreign: known.objects.iter().any(|object| object.is_foreign),
            known,
            now,
        }
    }

    /// Whether a line of a day is kept.
    fn counts(&self, line: &LineKey, date: &str) -> bool {
        self.known.counts(line) && !self.is_settled_removal(line, date)
    }

    /// Whether a line of a day is to leave the facts soon: what a removed run said, and removals that every reader knows.
    fn is_outdated(&self, line: &LineKey, date: &str) -> bool {
        self.known.is_forgotten(line) || self.is_settled_removal(line, date)
    }

    /// Whether nobody needs a removal any more.
    fn is_settled_removal(&self, line: &LineKey, date: &str) -> bool {
        line.is_removal
            && !self.has_foreign
            && !self.still_listed.contains(&line.run)
            && has_passed(date, self.now, MIN_REMOVAL_AGE)
    }
}

fn plan_day(
    date: &str,
    objects: &[&FactsObject],
    lines: &CountedLines<'_>,
    settle: Duration,
) -> DayCompaction {
    let all_lines = objects.iter().flat_map(|object| &object.lines);
    let counting: HashSet<LineKey> = all_lines
        .clone()
        .filter(|line| lines.counts(line, date))
        .copied()
        .collect();
    let is_outdated = |object: &FactsObject| object.lines.iter().any(|line| lines.is_outdated(line, date));
    // What earlier compactions wrote serves as long as it says nothing that is to leave.
    let mut compacted: Vec<&&FactsObject> = objects
        .iter()
        .filter(|object| layout::is_compacted(&object.name))
        .filter(|object| !is_outdated(object))
        .collect();
    compacted.sort_by_key(|object| std::cmp::Reverse(object.lines.len()));
    let (mut kept, mut covered) = (Vec::new(), HashSet::new());
    for object in compacted {
        let lines = object.lines.iter().filter(|line| counting.contains(line));
        let before = covered.len();
        covered.extend(lines.copied());
        if covered.len() > before {
            kept.push(*object);
        }
    }
    let mut day = DayCompaction {
        date: date.to_owned(),
        ..DayCompaction::default()
    };
    let are_removals_left_out =
        counting.is_empty() && all_lines.clone().any(|line| lines.is_settled_removal(line, date));
    if are_removals_left_out {
        kept.extend(
            objects
                .iter()
                .copied()
                .filter(|object| is_empty_compaction(object)),
        );
        if kept.is_empty() {
            day.sources = objects.iter().map(|object| object.name.clone()).collect();
            return day;
        }
    }
    if covered.len() < counting.len() {
        if objects.len() > 1 || objects.iter().any(|object| is_outdated(object)) {
            day.sources = objects.iter().map(|object| object.name.clone()).collect();
        }
        return day;
    }
    let settled = lines.now.unix_microseconds().saturating_sub(micros(settle));
    if kept
        .iter()
        .all(|object| object.written.unix_microseconds() <= settled)
    {
        let is_kept = |object: &FactsObject| kept.iter().any(|kept| kept.name == object.name);
        let others = objects.iter().filter(|object| !is_kept(object));
        day.removals = others.map(|object| object.path.clone()).collect();
    }
    day
}

/// Whether an object says that nothing is left of a day.
fn is_empty_compaction(object: &FactsObject) -> bool {
    layout::is_compacted(&object.name) && object.lines.is_empty()
}

/// Writes the lines that count of a day anew, an empty object where none does, and gives the number of objects; `None` when another compaction was faster.
pub(crate) async fn write<Event: From<WaitEvent>>(
    bucket: &OpenBucket,
    day: &DayCompaction,
    counted: &CountedLines<'_>,
    patience: &Patience,
    observe: &SharedObserver<'_, Event>,
) -> Result<Option<u64>, Halt> {
    let (mut written, mut seen) = (0, HashSet::new());
    let mut lines = Vec::new();
    let is_compressed = day.sources.iter().all(|name| layout::is_compressed(name));
    for name in &day.sources {
        let path = layout::facts_object(&bucket.prefix, name);
        let Some(content) = content(bucket, &path, name, patience, observe).await? else {
            return Ok(None);
        };
        for line in lines_of(&content) {
            let Some(key) = LineKey::of(line) else {
                return Ok(None);
            };
            if !counted.counts(&key, &day.date) || !seen.insert(key) {
                continue;
            }
            if !lines.is_empty() && lines.len() + line.len() >= MAX_COMPACTED_BYTES {
                write_object(bucket, &day.date, &lines, is_compressed, patience, observe).await?;
                written += 1;
                lines.clear();
            }
            lines.extend_from_slice(line);
            lines.push(b'\n');
        }
    }
    if !lines.is_empty() || written == 0 {
        write_object(bucket, &day.date, &lines, is_compressed, patience, observe).await?;
        written += 1;
    }
    Ok(Some(written))
}

async fn write_object<Event: From<WaitEvent>>(
    bucket: &OpenBucket,
    date: &str,
    lines: &[u8],
    is_compressed: bool,
    patience: &Patience,
    observe: &SharedObserver<'_, Event>,
) -> Result<(), Halt> {
    let hash = sha256_hex(lines);
    let path = layout::facts_object(
        &bucket.prefix,
        &layout::compacted_name(date, &hash, is_compressed),
    );
    let bytes = if is_compressed {
        compressed(lines).map_err(|error| BucketError::Refused {
            reason: error.to_string(),
        })?
    } else {
        lines.to_vec()
    };
    let bytes = Bytes::from(bytes);
    let create = || async {
        match bucket.create(&path, bytes.clone()).await {
            // The same lines have the same name, whoever wrote them.
            Ok(()) | Err(RequestFailure::Exists) => Ok(()),
            Err(failure) => Err(failure),
        }
    };
    patience.patiently(create, observe).await
}
