//! A comparison in words that every surface shows: statuses, numbers, and the calls side by side, where what is alike
//! in a row is one row.

use super::{Call, CallChange, CallPair, Comparison, Difference, MetricChange, Side, SideKind};
use crate::status::RunStatus;
use tracer_sdk::format::EventType;

use crate::line::Tone;
use crate::{step_summary, text};

/// So many calls in a row that are the same on both sides are told one by one.
const MOST_SAME: usize = 6;
/// Of more, the first and the last ones.
const SAME_AT_EACH_END: usize = 2;
/// More differences of a call's arguments are counted.
const MOST_DIFFERENCES: usize = 3;

/// A row: pairs that are alike in a row, or a gap of pairs that are the same on both sides.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every row is the large one")]
pub enum Row<'a> {
    /// Pairs of the same calls with the same change.
    Calls {
        /// The first of them.
        first: CallPair<'a>,
        /// The last of them.
        last: CallPair<'a>,
        /// How many they are.
        count: u64,
    },
    /// So many pairs that are the same on both sides.
    Same(u64),
}

/// The pairs as rows.
pub fn rows<'a>(pairs: impl Iterator<Item = CallPair<'a>>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut same: Vec<CallPair<'a>> = Vec::new();
    for pair in pairs {
        if pair.change == CallChange::Same {
            same.push(pair);
            continue;
        }
        close_same(&mut same, &mut rows);
        add(pair, &mut rows);
    }
    close_same(&mut same, &mut rows);
    rows
}

/// Adds a pair to the last row, or as a row of its own.
fn add<'a>(pair: CallPair<'a>, rows: &mut Vec<Row<'a>>) {
    if let Some(Row::Calls { first, last, count }) = rows.last_mut()
        && is_alike(last, &pair)
        && first.differences.is_empty()
    {
        *last = pair;
        *count += 1;
        return;
    }
    rows.push(Row::Calls {
        first: pair.clone(),
        last: pair,
        count: 1,
    });
}

fn is_alike(one: &CallPair<'_>, other: &CallPair<'_>) -> bool {
    let name = |call: Option<Call<'_>>| call.map(|call| (call.name.to_owned(), call.is_failed));
    one.change == other.change
        && other.differences.is_empty()
        && name(one.before) == name(other.before)
        && name(one.after) == name(other.after)
}

fn close_same<'a>(same: &mut Vec<CallPair<'a>>, rows: &mut Vec<Row<'a>>) {
    let hidden = if same.len() > MOST_SAME {
        SAME_AT_EACH_END..same.len() - SAME_AT_EACH_END
    } else {
        0..0
    };
    for (number, pair) in same.drain(..).enumerate() {
        if number == hidden.start && !hidden.is_empty() {
            rows.push(Row::Same(hidden.len() as u64));
        }
        if !hidden.contains(&number) {
            add(pair, rows);
        }
    }
}

/// The sign of a change, and its tone.
pub const fn sign(change: CallChange) -> (&'static str, Tone) {
    match change {
        CallChange::Same => (" ", Tone::Muted),
        CallChange::Changed => ("~", Tone::Warning),
        CallChange::Added => ("+", Tone::Good),
        CallChange::Removed => ("-", Tone::Bad),
        CallChange::Moved => (">", Tone::Warning),
        CallChange::Repeated => ("+", Tone::Warning),
    }
}

/// The word for a change.
pub const fn word(change: CallChange) -> &'static str {
    match change {
        CallChange::Same => "same",
        CallChange::Changed => "changed",
        CallChange::Added => "added",
        CallChange::Removed => "removed",
        CallChange::Moved => "moved",
        CallChange::Repeated => "repeated",
    }
}

/// The name of a call, or both names where it has another one now.
pub fn names<'a>(pair: &CallPair<'a>) -> (Call<'a>, Option<Call<'a>>) {
    match (pair.before, pair.after) {
        (Some(before), Some(after)) if before.name != after.name => (before, Some(after)),
        (Some(call), None) | (_, Some(call)) => (call, None),
        (None, None) => (NO_CALL, None),
    }
}

/// What stands for a pair without calls, which no alignment gives.
const NO_CALL: Call<'static> = Call {
    step: None,
    event_id: None,
    event_type: EventType::Unknown,
    name: "",
    is_failed: false,
    fingerprint: None,
};

/// The steps of a side, `#5`, `#5–#9`, or a dash where it has no such call.
pub fn steps(first: Option<Call<'_>>, last: Option<Call<'_>>) -> String {
    match (first, last) {
        (None, _) | (_, None) => "–".to_owned(),
        (Some(first), Some(last)) => match (first.step, last.step) {
            (Some(first), Some(last)) if first == last => format!("#{first}"),
            (Some(first), Some(last)) => format!("#{first}–#{last}"),
            _ => "·".to_owned(),
        },
    }
}

/// What is to be said of a pair behind its names: that it is the same as another, how it ended.
pub fn remarks(pair: &CallPair<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    match pair.change {
        CallChange::Repeated => remarks.push("identical to a call before".to_owned()),
        CallChange::Moved => remarks.push("moved".to_owned()),
        CallChange::Changed if pair.differences.is_empty() => {
            let asked = |call: Option<Call<'_>>| call.and_then(|call| call.fingerprint);
            let asked = asked(pair.before).zip(asked(pair.after));
            if asked.is_some_and(|(before, after)| before != after) && names(pair).1.is_none() {
                remarks.push("asked otherwise".to_owned());
            }
        }
        _ => {}
    }
    let failed = |call: Option<Call<'_>>| call.map(|call| call.is_failed);
    match (failed(pair.before), failed(pair.after)) {
        (Some(false) | None, Some(true)) => remarks.push("fails".to_owned()),
        (Some(true), Some(false)) => remarks.push("no longer fails".to_owned()),
        _ => {}
    }
    remarks
}

/// In what the arguments differ: path, value before, value after, in few words each.
pub fn differences(differences: &[Difference]) -> (Vec<[String; 3]>, u64) {
    let value = |value: &Option<serde_json::Value>| {
        value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), step_summary::value)
    };
    let told = differences.iter().take(MOST_DIFFERENCES).map(|difference| {
        let path = text::one_line(&difference.path, 60);
        [path, value(&difference.before), value(&difference.after)]
    });
    (
        told.collect(),
        differences.len().saturating_sub(MOST_DIFFERENCES) as u64,
    )
}

/// `12 calls the same, 4 repeated, 1 removed.`
pub fn sentence<'a>(pairs: impl Iterator<Item = CallPair<'a>>) -> String {
    const ORDER: [CallChange; 5] = [
        CallChange::Added,
        CallChange::Removed,
        CallChange::Changed,
        CallChange::Moved,
        CallChange::Repeated,
    ];
    let mut counts = [0_u64; ORDER.len()];
    let mut same = 0;
    for pair in pairs {
        match ORDER.iter().position(|change| *change == pair.change) {
            Some(place) => counts[place] += 1,
            None => same += 1,
        }
    }
    let mut told = vec![format!("{} the same", text::counted(same, "call"))];
    for (change, count) in ORDER.into_iter().zip(counts) {
        if count > 0 {
            told.push(format!("{count} {}", word(change)));
        }
    }
    told.join(", ") + "."
}

/// How many characters of an ID are told.
const ID_LENGTH: usize = 8;

/// The beginning of a run's ID.
pub fn short_id(side: &Side) -> String {
    side.run_id.chars().take(ID_LENGTH).collect()
}

/// How a side stands.
pub fn standing(side: &Side, number: impl Fn(&str) -> Option<f64>) -> RunStatus {
    let looped = number("repeated_calls").is_some_and(|count| count > 0.0);
    match side.status.as_str() {
        "ok" if looped => RunStatus::Looped,
        "ok" => RunStatus::Ok,
        "running" => RunStatus::Running,
        _ => RunStatus::Failed,
    }
}

/// How both sides stand.
pub fn standings(comparison: &Comparison) -> [RunStatus; 2] {
    let find = |metric: &str| comparison.metrics.iter().find(|change| change.metric == metric);
    [
        standing(&comparison.before, |metric| find(metric)?.before),
        standing(&comparison.after, |metric| find(metric)?.after),
    ]
}

/// What a side is called.
pub const fn kind(side: &Side) -> &'static str {
    match side.kind {
        SideKind::Run => "run",
        SideKind::Baseline => "baseline",
    }
}

/// The numbers worth a row: those that any side has, and that are not zero on both.
pub fn told_metrics(comparison: &Comparison) -> impl Iterator<Item = &MetricChange> {
    comparison.metrics.iter().filter(|change| {
        let nothing = |value: Option<f64>| value.is_none_or(|value| value == 0.0);
        change.is_changed() || !(nothing(change.before) && nothing(change.after))
    })
}

/// In one sentence: how many calls are the same, and what became of the others.
pub fn calls_sentence(comparison: &Comparison) -> String {
    if comparison.is_same {
        return "Nothing but the time differs.".to_owned();
    }
    sentence(comparison.calls.pairs())
}
