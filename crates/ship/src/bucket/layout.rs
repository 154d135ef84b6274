//! Names in a bucket.
//!
//! ```text
//! runs/<trace_id>/spans.jsonl               the spans of a run; further states are spans-<hash>.jsonl
//! runs/<trace_id>/meta.json                 commits a run: it names the spans that belong to it
//! facts/date=2026-11-23/142233.123456-<shipper>-<random>.jsonl      a batch of runs, a line for each
//! facts/date=2026-11-23/235959.999999-joined-<hash>.jsonl           the lines of a day that has passed
//! ```

use object_store::path::Path;
use tracer_sdk::format::{META_FILE, RUNS_FOLDER, SPANS_FILE, Timestamp, TraceId};

/// Begin of the name of what joins the objects of a day: it sorts after everything else of the day.
const JOINED: &str = "235959.999999-joined";
/// Folder of the objects of facts.
pub(crate) const FACTS_FOLDER: &str = "facts";
/// Begin of the name of a partition: the facts of a day.
const DATE: &str = "date=";
/// Microseconds of a day.
const DAY_US: i64 = 24 * 3600 * 1_000_000;
/// Hexadecimal digits of the hash in the name of spans.
const HASH_DIGITS: usize = 16;

/// The object that commits a run.
pub(crate) fn meta(prefix: &Path, run: TraceId) -> Path {
    of_run(prefix, run, META_FILE)
}

/// An object of a run.
pub(crate) fn of_run(prefix: &Path, run: TraceId, name: &str) -> Path {
    prefix.clone().join(RUNS_FOLDER).join(run.to_string()).join(name)
}

/// The name of a run's spans: the plain one, or one of their own for a further state.
pub(crate) fn spans_name(hash: Option<&str>) -> String {
    match hash {
        None => SPANS_FILE.to_owned(),
        Some(hash) => {
            let hash = hash.get(..HASH_DIGITS).unwrap_or(hash);
            format!("spans-{hash}.jsonl")
        }
    }
}

/// Checks if a name can be that of spans. Names come from the bucket: nothing else is ever read.
pub(crate) fn is_spans_name(name: &str) -> bool {
    let hash = || name.strip_prefix("spans-")?.strip_suffix(".jsonl");
    name == SPANS_FILE
        || hash().is_some_and(|hash| {
            hash.len() == HASH_DIGITS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        })
}

/// The folder of a bucket's facts.
pub(crate) fn facts(prefix: &Path) -> Path {
    prefix.clone().join(FACTS_FOLDER)
}

/// The name below [`facts`] of a batch that is written at a time: names sort by it, and no two shippers make the same one.
pub(crate) fn facts_name(at: Timestamp, shipper: &str, random: u64) -> String {
    let at = at.to_string();
    let date = at.get(..10).unwrap_or_default();
    let time: String = at
        .chars()
        .skip(11)
        .filter(|digit| digit.is_ascii_digit() || *digit == '.')
        .collect();
    format!("{DATE}{date}/{time}-{shipper}-{random:016x}.jsonl")
}

/// The name below [`facts`] of joined lines of a partition, which their hash distinguishes.
pub(crate) fn joined_name(partition: &str, hash: &str) -> String {
    let hash = hash.get(..HASH_DIGITS).unwrap_or(hash);
    format!("{partition}/{JOINED}-{hash}.jsonl")
}

/// Checks if an object has a name of [`joined_name`].
pub(crate) fn is_joined(object: &Path) -> bool {
    object.filename().is_some_and(|name| name.starts_with(JOINED))
}

/// The partition of the day of a time, or of a number of days before it.
pub(crate) fn partition(at: Timestamp, days_before: i64) -> String {
    let at = Timestamp::from_unix_microseconds(at.unix_microseconds() - days_before * DAY_US).to_string();
    format!("{DATE}{}", at.get(..10).unwrap_or_default())
}

/// Checks if a name is that of a partition: `date=` and a day.
pub(crate) fn is_partition(name: &str) -> bool {
    name.strip_prefix(DATE).is_some_and(|date| {
        date.len() == 10 && format!("{date}T00:00:00.000000Z").parse::<Timestamp>().is_ok()
    })
}

/// The partition in the name of an object of facts; `None` of what is no such name.
pub(crate) fn partition_of(name: &str) -> Option<&str> {
    let (partition, file) = name.strip_suffix(".jsonl")?.split_once('/')?;
    (is_partition(partition) && !file.contains('/')).then_some(partition)
}

/// The name below [`facts`] of an object that a listing has; `None` when it cannot be one of facts.
pub(crate) fn facts_name_of(prefix: &Path, object: &Path) -> Option<String> {
    let name = object
        .as_ref()
        .strip_prefix(facts(prefix).as_ref())?
        .strip_prefix('/')?;
    partition_of(name).map(|_| name.to_owned())
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
        let names = moments.map(|at| facts_name(Timestamp::from_unix_microseconds(at), "ab", 7));
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(
            names[0],
            "date=1970-01-01/000000.000000-ab-0000000000000007.jsonl"
        );
        let path = facts_object(&Path::from("team/agents"), &names[0]);
        assert_eq!(path.as_ref(), format!("team/agents/facts/{}", names[0]));
    }

    #[test]
    fn a_name_of_facts_gives_its_partition_back() {
        let at = Timestamp::from_unix_microseconds(1_763_900_000_123_456);
        let name = facts_name(at, "5f3a09c1", 7);
        assert_eq!(
            name,
            "date=2025-11-23/121320.123456-5f3a09c1-0000000000000007.jsonl"
        );
        assert_eq!(partition_of(&name), Some("date=2025-11-23"));
        assert_eq!(partition(at, 0), "date=2025-11-23");
        assert_eq!(partition(at, 23), "date=2025-10-31");
        let prefix = Path::from("team/agents");
        let object = facts_object(&prefix, &name);
        assert_eq!(facts_name_of(&prefix, &object), Some(name));
        assert_eq!(facts_name_of(&Path::from("team"), &object), None);
    }

    #[rstest]
    #[case::no_day("date=x/121320.123456-a-1.jsonl")]
    #[case::no_such_day("date=2025-13-23/121320.123456-a-1.jsonl")]
    #[case::no_folder("121320.123456-a-1.jsonl")]
    #[case::deeper("date=2025-11-23/more/121320.123456-a-1.jsonl")]
    #[case::other_ending("date=2025-11-23/notes.txt")]
    fn another_name_is_none_of_facts(#[case] name: &str) {
        assert_eq!(partition_of(name), None);
    }

    #[rstest]
    #[case::plain("spans.jsonl", true)]
    #[case::compressed("spans.jsonl.zst", false)]
    #[case::further("spans-0123456789abcdef.jsonl", true)]
    #[case::upwards("../20000000000000000000000000000002/spans.jsonl", false)]
    #[case::upper("spans-0123456789ABCDEF.jsonl", false)]
    #[case::short("spans-01.jsonl", false)]
    #[case::other("meta.json", false)]
    #[case::empty("", false)]
    fn only_names_of_spans_are_spans(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_spans_name(name), expected);
    }

    #[test]
    fn what_is_joined_sorts_last_in_its_day() {
        let name = joined_name("date=2026-11-23", &"ab".repeat(32));
        assert_eq!(
            name,
            "date=2026-11-23/235959.999999-joined-abababababababab.jsonl"
        );
        assert_eq!(partition_of(&name), Some("date=2026-11-23"));
        let last: Timestamp = "2026-11-23T23:59:59.999999Z".parse().unwrap();
        let other = facts_name(last, "5f3a09c1", u64::MAX);
        assert!(other < name, "{other}");
    }

    #[test]
    fn further_states_have_names_of_their_own() {
        let hash = "0123456789abcdef0000";
        for (name, expected) in [
            (spans_name(None), "spans.jsonl"),
            (spans_name(Some(hash)), "spans-0123456789abcdef.jsonl"),
        ] {
            assert_eq!(name, expected);
            assert!(is_spans_name(&name));
        }
    }
}
