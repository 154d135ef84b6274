//! Names in a bucket.
//!
//! ```text
//! runs/<trace_id>/spans.jsonl               the spans of a run; further states are spans-<hash>.jsonl; .zst when compressed
//! runs/<trace_id>/meta.json                 commits a run: it names the spans that belong to it
//! facts/date=2026-11-23/142233.123456-<shipper>-<random>.jsonl      a batch of runs, a line for each
//! facts/date=2026-11-23/235959.999999-compacted-<hash>.jsonl        the lines of a day that has passed
//! baselines/<name>.json                     a baseline of the gate, whose runs stay
//! reports/<id>.json                         what a gate found
//! pruned.json                               when runs were last removed or facts compacted
//! ```

use object_store::path::Path;
use tracer_sdk::format::{META_FILE, RUNS_FOLDER, SPANS_FILE, Timestamp, TraceId};

/// Folder of the baselines, whose runs stay.
const BASELINES_FOLDER: &str = "baselines";
/// Folder of the reports of gates.
const REPORTS_FOLDER: &str = "reports";
/// What a name of a baseline or a report ends with.
const JSON: &str = ".json";
/// The object that says when runs were last removed or facts compacted: readers compare it with where they stopped.
const PRUNED_FILE: &str = "pruned.json";
/// In the name of an object of facts, what wrote it: compaction.
const COMPACTION: &str = "compacted";
/// The time of a day in the name of what compaction wrote: after everything else of the day.
const END_OF_DAY: &str = "235959.999999";
/// Folder of the objects of facts.
pub(crate) const FACTS_FOLDER: &str = "facts";
/// Ending of what is compressed.
const COMPRESSED: &str = ".zst";
/// Hexadecimal digits of the hash in the name of spans.
const HASH_DIGITS: usize = 16;

/// The object that commits a run.
pub(crate) fn meta(prefix: &Path, run: TraceId) -> Path {
    of_run(prefix, run, META_FILE)
}

/// The folder of a run.
pub(crate) fn run_folder(prefix: &Path, run: TraceId) -> Path {
    prefix.clone().join(RUNS_FOLDER).join(run.to_string())
}

/// An object of a run.
pub(crate) fn of_run(prefix: &Path, run: TraceId, name: &str) -> Path {
    run_folder(prefix, run).join(name)
}

/// The name of a run's spans: the plain one, or one of their own for a further state.
pub(crate) fn spans_name(hash: Option<&str>, is_compressed: bool) -> String {
    let ending = if is_compressed { COMPRESSED } else { "" };
    match hash {
        None => format!("{SPANS_FILE}{ending}"),
        Some(hash) => {
            let hash = hash.get(..HASH_DIGITS).unwrap_or(hash);
            format!("spans-{hash}.jsonl{ending}")
        }
    }
}

/// Whether a name can be that of spans. Names come from the bucket: nothing else is ever asked for.
pub(crate) fn is_spans_name(name: &str) -> bool {
    let plain = name.strip_suffix(COMPRESSED).unwrap_or(name);
    let hash = || plain.strip_prefix("spans-")?.strip_suffix(".jsonl");
    plain == SPANS_FILE
        || hash().is_some_and(|hash| {
            hash.len() == HASH_DIGITS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        })
}

/// The folder of a bucket's facts.
pub(crate) fn facts(prefix: &Path) -> Path {
    prefix.clone().join(FACTS_FOLDER)
}

/// The name below [`facts`] of a batch that is written at a time, by the store's clock: names sort by it, and no two
/// shippers make the same one.
pub(crate) fn facts_name(at: Timestamp, shipper: &str, random: u64, is_compressed: bool) -> String {
    let begin = facts_name_from(at);
    let ending = if is_compressed { COMPRESSED } else { "" };
    format!("{begin}-{shipper}-{random:016x}.jsonl{ending}")
}

/// The name below [`facts`] of lines that compaction keeps of a day, which their hash distinguishes.
pub(crate) fn compacted_name(date: &str, hash: &str, is_compressed: bool) -> String {
    let hash = hash.get(..HASH_DIGITS).unwrap_or(hash);
    let ending = if is_compressed { COMPRESSED } else { "" };
    format!("date={date}/{END_OF_DAY}-{COMPACTION}-{hash}.jsonl{ending}")
}

/// Whether a name is of what compaction wrote.
pub(crate) fn is_compacted(name: &str) -> bool {
    name.contains(&format!("/{END_OF_DAY}-{COMPACTION}-"))
}

/// The day in the name of an object of facts.
pub(crate) fn facts_date(name: &str) -> Option<&str> {
    let (date, _) = name.strip_prefix("date=")?.split_once('/')?;
    Some(date)
}

/// What the names of facts from a time on are greater than.
pub(crate) fn facts_name_from(at: Timestamp) -> String {
    let at = at.to_string();
    let date = at.get(..10).unwrap_or_default();
    let time: String = at
        .chars()
        .skip(11)
        .filter(|digit| digit.is_ascii_digit() || *digit == '.')
        .collect();
    format!("date={date}/{time}")
}

/// The time of a name of facts; `None` of what is no such name.
pub(crate) fn facts_time(name: &str) -> Option<Timestamp> {
    let (date, rest) = name.strip_prefix("date=")?.split_once('/')?;
    let time = rest.split('-').next()?;
    let (clock, fraction) = time.split_once('.')?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if clock.len() != 6 || !is_digits(clock) || !is_digits(fraction) {
        return None;
    }
    let (hour, minute, second) = (clock.get(..2)?, clock.get(2..4)?, clock.get(4..)?);
    format!("{date}T{hour}:{minute}:{second}.{fraction}Z")
        .parse()
        .ok()
}

/// The name below [`facts`] of an object that a listing has; `None` when it cannot be one of facts.
pub(crate) fn facts_name_of(prefix: &Path, object: &Path) -> Option<String> {
    let name = object
        .as_ref()
        .strip_prefix(facts(prefix).as_ref())?
        .strip_prefix('/')?;
    let plain = name.strip_suffix(COMPRESSED).unwrap_or(name);
    let is_one = plain.strip_suffix(".jsonl").is_some() && facts_time(name).is_some();
    is_one.then(|| name.to_owned())
}

/// Whether what has this name is compressed.
pub(crate) fn is_compressed(name: &str) -> bool {
    name.ends_with(COMPRESSED)
}

/// The folder of a bucket's baselines.
pub(crate) fn baselines(prefix: &Path) -> Path {
    prefix.clone().join(BASELINES_FOLDER)
}

/// The baseline of a name.
pub(crate) fn baseline(prefix: &Path, name: &str) -> Path {
    baselines(prefix).join(format!("{name}{JSON}"))
}

/// The URL of the baseline of a name in the bucket at a URL.
pub(crate) fn baseline_url(bucket: &str, name: &str) -> String {
    format!("{bucket}/{BASELINES_FOLDER}/{name}{JSON}")
}

/// The URL of the bucket and the name of the baseline in it, of the URL of a baseline.
pub(crate) fn split_baseline_url(url: &str) -> Option<(&str, &str)> {
    let (folder, file) = url.rsplit_once('/')?;
    let bucket = folder.strip_suffix(BASELINES_FOLDER)?.strip_suffix('/')?;
    let name = file.strip_suffix(JSON)?;
    (!name.is_empty()).then_some((bucket, name))
}

/// The report of a gate with an ID.
pub(crate) fn report(prefix: &Path, id: &str) -> Path {
    prefix.clone().join(REPORTS_FOLDER).join(format!("{id}{JSON}"))
}

/// The object that says when runs were last removed or facts compacted.
pub(crate) fn pruned(prefix: &Path) -> Path {
    prefix.clone().join(PRUNED_FILE)
}

/// The object of facts with a name.
pub(crate) fn facts_object(prefix: &Path, name: &str) -> Path {
    name.split('/').fold(facts(prefix), Path::join)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn later_facts_sort_last() {
        let moments = [0, 1, 999_999, 1_000_000, 86_400_000_000, 1_763_900_000_123_456];
        let names = moments.map(|at| facts_name(Timestamp::from_unix_microseconds(at), "ab", 7, false));
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(
            names[0],
            "date=1970-01-01/000000.000000-ab-0000000000000007.jsonl"
        );
        let path = facts_object(&Path::from("team/agents"), &names[0]);
        assert_eq!(path.as_ref(), format!("team/agents/facts/{}", names[0]));
    }

    #[test]
    fn a_name_of_facts_gives_its_time_back() {
        let at = Timestamp::from_unix_microseconds(1_763_900_000_123_456);
        let name = facts_name(at, "5f3a09c1", 7, true);
        assert_eq!(facts_time(&name), Some(at));
        let from = facts_name_from(at);
        assert_eq!(from, "date=2025-11-23/121320.123456");
        assert!(
            from < name && name < facts_name_from(Timestamp::from_unix_microseconds(1_763_900_000_123_457))
        );
        let prefix = Path::from("team/agents");
        assert_eq!(
            facts_name_of(&prefix, &facts_object(&prefix, &name)),
            Some(name.clone())
        );
        assert_eq!(
            facts_name_of(&Path::from("team"), &facts_object(&prefix, &name)),
            None
        );
    }

    #[rstest]
    #[case::no_day("date=x/121320.123456-a-1.jsonl")]
    #[case::no_time("date=2025-11-23/batch.jsonl")]
    #[case::no_clock("date=2025-11-23/+2:3:0.1-a-1.jsonl")]
    #[case::no_folder("121320.123456-a-1.jsonl")]
    fn another_name_is_none_of_facts(#[case] name: &str) {
        assert_eq!(facts_time(name), None);
    }

    #[rstest]
    #[case::plain("spans.jsonl", true)]
    #[case::compressed("spans.jsonl.zst", true)]
    #[case::further("spans-0123456789abcdef.jsonl", true)]
    #[case::further_compressed("spans-0123456789abcdef.jsonl.zst", true)]
    #[case::upwards("../20000000000000000000000000000002/spans.jsonl", false)]
    #[case::upper("spans-0123456789ABCDEF.jsonl", false)]
    #[case::short("spans-01.jsonl", false)]
    #[case::other("meta.json", false)]
    #[case::empty("", false)]
    fn only_names_of_spans_are_spans(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_spans_name(name), expected);
    }

    #[test]
    fn what_is_compacted_sorts_last_in_its_day() {
        let name = compacted_name("2026-11-23", &"ab".repeat(32), true);
        assert_eq!(
            name,
            "date=2026-11-23/235959.999999-compacted-abababababababab.jsonl.zst"
        );
        assert!(is_compacted(&name) && is_compressed(&name));
        assert_eq!(facts_date(&name), Some("2026-11-23"));
        let last: Timestamp = "2026-11-23T23:59:59.999999Z".parse().unwrap();
        let other = facts_name(last, "5f3a09c1", u64::MAX, false);
        assert!(other < name && !is_compacted(&other), "{other}");
    }

    #[test]
    fn further_states_have_names_of_their_own() {
        let hash = "0123456789abcdef0000";
        for (name, expected) in [
            (spans_name(None, false), "spans.jsonl"),
            (spans_name(Some(hash), true), "spans-0123456789abcdef.jsonl.zst"),
        ] {
            assert_eq!(name, expected);
            assert!(is_spans_name(&name));
        }
    }
}
