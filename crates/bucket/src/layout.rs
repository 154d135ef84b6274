//! Names in a bucket.
//!
//! ```text
//! runs/<trace_id>/spans.jsonl               the spans of a run; further states are spans-<hash>.jsonl; .zst when compressed
//! runs/<trace_id>/meta.json                 commits a run: it names the spans that belong to it
//! facts/date=2026-11-23/142233.123456-<shipper>-<random>.jsonl      a batch of runs, a line for each
//! ```

use object_store::path::Path;
use tracer_sdk::format::{META_FILE, RUNS_FOLDER, SPANS_FILE, Timestamp, TraceId};

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

/// An object of a run.
pub(crate) fn of_run(prefix: &Path, run: TraceId, name: &str) -> Path {
    prefix.clone().join(RUNS_FOLDER).join(run.to_string()).join(name)
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
    let at = at.to_string();
    let date = at.get(..10).unwrap_or_default();
    let time: String = at
        .chars()
        .skip(11)
        .filter(|digit| digit.is_ascii_digit() || *digit == '.')
        .collect();
    let ending = if is_compressed { COMPRESSED } else { "" };
    format!("date={date}/{time}-{shipper}-{random:016x}.jsonl{ending}")
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
