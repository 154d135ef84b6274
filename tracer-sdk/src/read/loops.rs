//! Whether a run looped: told from what is stored of it (decisions, section 7).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use super::outline::outline_run;
use super::store::RunSummary;
use crate::format::{META_FILE, Record, RecordedStatus, RunMeta};
use crate::loops::{self, Trail};
use crate::process::{OwnLock, PerProcess};

pub use crate::loops::Likeness;

/// What `meta.json` says how many loops the run had under.
const LOOPS: &str = "loops";

impl RunSummary {
    /// Whether the run ended well and looped on the way: calls asked the same again and again, or may have, where what
    /// they asked was not recorded. A loop warning alone says that shapes repeat, which three files read in a row do
    /// as well.
    ///
    /// This is what makes the status of a run `loop`, wherever it is shown. An emitter that saw all of a run says it in
    /// `meta.json` (`loops`); of any other run with a warning the spans are read.
    ///
    /// ```
    /// # let (folder, _) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// # let data_dir = folder.path();
    /// let run = &tracer_sdk::read::RunStore::new(data_dir).list()?[0];
    /// assert!(!run.has_looped());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn has_looped(&self) -> bool {
        let meta = self.meta.as_ref();
        meta.is_ok_and(|meta| has_looped(meta, || self.spans_loop_once()))
    }

    /// [`RunSummary::spans_loop`], read once for each `meta.json`: a viewer asks again and again.
    fn spans_loop_once(&self) -> bool {
        static KNOWN: PerProcess<OwnLock<BTreeMap<PathBuf, (SystemTime, bool)>>> =
            PerProcess::new(|process| OwnLock::new(process, BTreeMap::new()));
        /// So many answers are kept.
        const MAX_CACHED: usize = 10_000;

        let path = &self.directory.path;
        let changed = fs::metadata(path.join(META_FILE)).and_then(|metadata| metadata.modified());
        let Ok(changed) = changed else {
            return self.spans_loop();
        };
        let cached = KNOWN.get().lock().and_then(|known| known.get(path).copied());
        if let Some((_, looped)) = cached.filter(|(then, _)| *then == changed) {
            return looped;
        }
        // Not under the lock: a log may be long.
        let looped = self.spans_loop();
        if let Some(mut known) = KNOWN.get().lock() {
            if known.len() >= MAX_CACHED {
                known.clear();
            }
            known.insert(path.clone(), (changed, looped));
        }
        looped
    }

    /// Whether the spans tell of a loop. Where they cannot be read, or lack the warnings, these count.
    fn spans_loop(&self) -> bool {
        let Ok(run) = outline_run(&self.directory.path) else {
            return true;
        };
        let mut trail = Trail::default();
        for record in run.records {
            let Ok(record) = record else { return true };
            trail.take(&record, &loops::of_scalar);
        }
        !trail.has_warnings() || trail.has_loop()
    }
}

/// Whether a run with this metadata looped, see [`RunSummary::has_looped`]; `spans_loop` is asked only where the
/// metadata leaves it open.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// let run = recorded(|| Ok(()));
/// assert!(!tracer_sdk::read::has_looped(&run.meta, || unreachable!("it has no loop warning")));
/// ```
pub fn has_looped(meta: &RunMeta, spans_loop: impl FnOnce() -> bool) -> bool {
    if meta.status != RecordedStatus::Ok || meta.counts.loop_warnings == 0 {
        return false;
    }
    let counted = meta.additional.get(LOOPS).and_then(serde_json::Value::as_u64);
    counted.map_or_else(spans_loop, |loops| loops > 0)
}

/// Whether records tell of a loop, see [`RunSummary::has_looped`].
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::read::has_loop;
///
/// fn read(file: &str) -> Result<(), tracer_sdk::GuardrailExceeded> {
///     tracer_sdk::tool_call("read").args(&file).record()
/// }
/// let stuck = recorded(|| (0..3).try_for_each(|_| read("a.rs")));
/// assert!(has_loop(&stuck.records()));
/// let three_files = recorded(|| ["a.rs", "b.rs", "c.rs"].into_iter().try_for_each(read));
/// assert!(!has_loop(&three_files.records())); // though there is a warning
/// ```
#[must_use]
pub fn has_loop<'a>(records: impl IntoIterator<Item = &'a Record>) -> bool {
    loops::has_loop(records)
}

/// Whether the call of one record is an attempt at the one of `next`: it failed, and `next`, which follows it among
/// calls and states, asks the same.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// let run = recorded(|| {
///     let ask = || tracer_sdk::llm_call("gpt-5").prompt("Where is my refund?");
///     ask().error("429 Too Many Requests").record()?;
///     ask().response("On its way.").record()
/// });
/// let records = run.records();
/// assert!(tracer_sdk::read::is_attempt(&records[1], &records[2]));
/// assert_eq!(records[1].meta["attempt_of"], records[2].event_id);
/// ```
#[must_use]
pub fn is_attempt(record: &Record, next: &Record) -> bool {
    loops::is_attempt(record, next)
}

/// The first loop that a run with these records comes to: the numbers of its records, from 0, and how many of them the
/// block has. It may come after the warning of its shape, which is given once.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// fn read(file: &str) -> Result<(), tracer_sdk::GuardrailExceeded> {
///     tracer_sdk::tool_call("read").args(&file).record()
/// }
/// let run = recorded(|| ["a.rs", "b.rs", "a.rs", "b.rs", "a.rs", "b.rs"].into_iter().try_for_each(read));
/// let records = run.records();
/// let calls: Vec<_> = records.iter().collect();
/// let (numbers, length) = tracer_sdk::read::first_loop(&calls).unwrap();
/// assert_eq!((numbers.len(), length), (6, 2)); // two files in turn
/// ```
#[must_use]
pub fn first_loop(records: &[&Record]) -> Option<(Vec<usize>, usize)> {
    loops::first_loop(records)
}

/// How the repetitions of a block compare that these records are, one repetition after the other, each of `length`
/// records.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::read::{Likeness, compare_repetitions};
///
/// let run = recorded(|| (0..2).try_for_each(|_| tracer_sdk::tool_call("search").record()));
/// let records = run.records();
/// assert_eq!(compare_repetitions(&[&records[1], &records[2]], 1), Likeness::Unknown);
/// ```
#[must_use]
pub fn compare_repetitions(records: &[&Record], length: usize) -> Likeness {
    loops::compare_repetitions(records, length)
}
