//! The words, signs and rows of a comparison, the same on every surface.

use tracer_sdk::format::EventType;

use super::{ArgumentDifference, Call, CallChange, CallPair, Comparison, MetricChange, Side};
use crate::line::Tone;
use crate::run_head::fork_place;
use crate::text;
use crate::value_summary;

/// A longer series of unchanged calls is folded.
const MAX_UNFOLDED: usize = 6;
/// Calls that stay visible at each end of a folded series.
const UNFOLDED_AT_EACH_END: usize = 2;
/// More differences of a call's arguments are counted.
const MAX_DIFFERENCES: usize = 3;
/// Length of an abbreviated run ID.
const SHORT_ID_LENGTH: usize = 8;
/// Text shown for a value that one side lacks.
const ABSENT: &str = "(none)";

/// One row of the calls side by side.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every row is the large one")]
pub enum CallRow<'a> {
    /// Successive pairs of the same calls with the same change.
    Calls {
        /// The first of them.
        first: CallPair<'a>,
        /// The last of them.
        last: CallPair<'a>,
        /// Their number.
        count: u64,
    },
    /// A fold of this many unchanged pairs.
    Unchanged(u64),
}

/// The pairs as rows: successive pairs that are alike share a row, long series of unchanged ones are folded.
pub fn call_rows<'a>(pairs: impl Iterator<Item = CallPair<'a>>) -> Vec<CallRow<'a>> {
    let mut rows: Vec<CallRow<'a>> = Vec::new();
    let mut same: Vec<CallPair<'a>> = Vec::new();
    for pair in pairs {
        if pair.change == CallChange::Same {
            same.push(pair);
            continue;
        }
        push_unchanged(&mut same, &mut rows);
        push_pair(pair, &mut rows);
    }
    push_unchanged(&mut same, &mut rows);
    rows
}

/// Adds a pair to the last row, or as a row of its own.
fn push_pair<'a>(pair: CallPair<'a>, rows: &mut Vec<CallRow<'a>>) {
    if let Some(CallRow::Calls { first, last, count }) = rows.last_mut()
        && is_alike(last, &pair)
        && first.differences.is_empty()
    {
        *last = pair;
        *count += 1;
        return;
    }
    rows.push(CallRow::Calls {
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

fn push_unchanged<'a>(same: &mut Vec<CallPair<'a>>, rows: &mut Vec<CallRow<'a>>) {
    let hidden = if same.len() > MAX_UNFOLDED {
        UNFOLDED_AT_EACH_END..same.len() - UNFOLDED_AT_EACH_END
    } else {
        0..0
    };
    for (number, pair) in same.drain(..).enumerate() {
        if number == hidden.start && !hidden.is_empty() {
            rows.push(CallRow::Unchanged(hidden.len() as u64));
        }
        if !hidden.contains(&number) {
            push_pair(pair, rows);
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

/// The call to name, and the call after where its name changed.
pub fn named_calls<'a>(pair: &CallPair<'a>) -> (Call<'a>, Option<Call<'a>>) {
    match (pair.before, pair.after) {
        (Some(before), Some(after)) if before.name != after.name => (before, Some(after)),
        (Some(call), None) | (_, Some(call)) => (call, None),
        (None, None) => (NO_CALL, None),
    }
}

/// Stand-in for a pair without calls, which no alignment yields.
const NO_CALL: Call<'static> = Call {
    step: None,
    event_id: None,
    event_type: EventType::Unknown,
    name: "",
    is_failed: false,
    fingerprint: None,
};

/// The steps of one side of a row, `#5` or `#5–#9`; a dash where it has no such call.
pub fn step_range(first: Option<Call<'_>>, last: Option<Call<'_>>) -> String {
    match (first, last) {
        (None, _) | (_, None) => "–".to_owned(),
        (Some(first), Some(last)) => match (first.step, last.step) {
            (Some(first), Some(last)) if first == last => format!("#{first}"),
            (Some(first), Some(last)) => format!("#{first}–#{last}"),
            _ => "·".to_owned(),
        },
    }
}

/// Remarks on a pair that its sign and names leave open.
pub fn remarks(pair: &CallPair<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    match pair.change {
        CallChange::Repeated => remarks.push("same as an earlier call".to_owned()),
        CallChange::Moved => remarks.push("moved".to_owned()),
        CallChange::Changed if pair.differences.is_empty() => {
            let asked = |call: Option<Call<'_>>| call.and_then(|call| call.fingerprint);
            let asked = asked(pair.before).zip(asked(pair.after));
            if asked.is_some_and(|(before, after)| before != after) && named_calls(pair).1.is_none() {
                remarks.push("other arguments".to_owned());
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

/// The first differences of a call's arguments, each as path, value before and value after, and the number of others.
pub fn short_differences(differences: &[ArgumentDifference]) -> (Vec<[String; 3]>, u64) {
    let value = |value: &Option<serde_json::Value>| {
        value
            .as_ref()
            .map_or_else(|| ABSENT.to_owned(), value_summary::summarize)
    };
    let first = differences.iter().take(MAX_DIFFERENCES).map(|difference| {
        let path = text::one_line(&difference.path, 60);
        [path, value(&difference.before), value(&difference.after)]
    });
    let others = differences.len().saturating_sub(MAX_DIFFERENCES);
    (first.collect(), others as u64)
}

/// The comparison in one sentence: `12 calls the same, 4 repeated, 1 removed.` Of a fork and its origin it begins with where
/// the fork is.
pub fn summary(comparison: &Comparison) -> String {
    let difference = difference_sentence(comparison);
    match &comparison.fork {
        Some(origin) => format!("Forked {}. {difference}", fork_place(origin)),
        None => difference,
    }
}

/// The first call that differs: `#7 look_up_order changed`.
pub fn first_difference(comparison: &Comparison) -> Option<String> {
    let pair = comparison
        .calls
        .pairs()
        .find(|pair| pair.change != CallChange::Same)?;
    let (call, now) = named_calls(&pair);
    let step = step_range(pair.after.or(pair.before), pair.after.or(pair.before));
    let name = text::one_line(call.name, 80);
    let now = now.map(|now| format!(" → {}", text::one_line(now.name, 80)));
    Some(format!(
        "{step} {name}{} {}",
        now.unwrap_or_default(),
        pair.change.as_str()
    ))
}

fn difference_sentence(comparison: &Comparison) -> String {
    const CHANGES: [CallChange; 5] = [
        CallChange::Added,
        CallChange::Removed,
        CallChange::Changed,
        CallChange::Moved,
        CallChange::Repeated,
    ];
    if comparison.is_same {
        return "The calls are the same; results and answers are not compared.".to_owned();
    }
    let count = |change| {
        let pairs = comparison.calls.pairs();
        pairs.filter(|pair| pair.change == change).count() as u64
    };
    let same = format!("{} the same", text::counted(count(CallChange::Same), "call"));
    let changes = CHANGES
        .into_iter()
        .map(|change| (change, count(change)))
        .filter(|(_, count)| *count > 0)
        .map(|(change, count)| format!("{count} {}", change.as_str()));
    let parts: Vec<String> = std::iter::once(same).chain(changes).collect();
    parts.join(", ") + "."
}

/// A sentence for each tool and model that only one side has, and for other changes of the tools.
pub fn name_changes(comparison: &Comparison) -> Vec<String> {
    let (tools, models) = (&comparison.tools, &comparison.models);
    let each = |words: &'static str, names: &[String]| -> Vec<String> {
        let sentence = |name: &String| format!("{words}{}", text::one_line(name, 80));
        names.iter().map(sentence).collect()
    };
    let mut changes: Vec<String> = tools
        .added
        .iter()
        .zip(each(NEW_TOOL, &tools.added))
        .map(|(tool, sentence)| {
            let mut repeated = tools.repeated.iter().filter(|repeated| repeated.tool == *tool);
            let times = repeated.next().map(|new| times_called(new.before, new.after));
            times.map_or(sentence.clone(), |times| format!("{sentence}, {times}"))
        })
        .collect();
    changes.extend(each(REMOVED_TOOL, &tools.removed));
    let known = tools
        .repeated
        .iter()
        .filter(|repeated| !tools.added.contains(&repeated.tool));
    changes.extend(known.map(|repeated| {
        let name = text::one_line(&repeated.tool, 80);
        format!("calls {name} {}", times_called(repeated.before, repeated.after))
    }));
    changes.extend(tools.is_reordered.then(|| REORDERED_TOOLS.to_owned()));
    changes.extend(each(NEW_MODEL, &models.added));
    changes.extend(each(REMOVED_MODEL, &models.removed));
    changes
}

/// Precedes the name of a tool that only the run after calls.
pub const NEW_TOOL: &str = "calls a new tool: ";
/// Precedes the name of a tool that only the run before calls.
pub const REMOVED_TOOL: &str = "no longer calls ";
/// Another order of the tool calls.
pub const REORDERED_TOOLS: &str = "calls tools in another order";
/// Precedes the name of a model that only the run after asks.
pub const NEW_MODEL: &str = "asks a new model: ";
/// Precedes the name of a model that only the run before asks.
pub const REMOVED_MODEL: &str = "no longer asks the model ";

/// `4 times (was 1)`.
pub fn times_called(before: u64, after: u64) -> String {
    match before {
        0 => format!("{after} times"),
        before => format!("{after} times (was {before})"),
    }
}

/// The beginning of a side's run ID.
pub fn short_id(side: &Side) -> String {
    side.run_id.chars().take(SHORT_ID_LENGTH).collect()
}

/// The metrics worth a row: without those that are zero or unknown on both sides.
pub fn relevant_metrics(comparison: &Comparison) -> impl Iterator<Item = &MetricChange> {
    comparison.metrics.iter().filter(|change| {
        let is_nothing = |value: Option<f64>| value.is_none_or(|value| value == 0.0);
        change.is_changed() || !(is_nothing(change.before) && is_nothing(change.after))
    })
}
