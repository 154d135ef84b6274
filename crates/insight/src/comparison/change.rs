//! From aligned calls to what became of each: what was removed here and added there has moved, and what was added though
//! it was there already is a repetition.

use std::collections::{HashMap, HashSet, VecDeque};

use super::align::{AlignedStep, CallKey, align};
use super::aligned::{AlignedCalls, AlignedPair, CallChange};
use super::{Call, CallList};

impl AlignedCalls {
    /// Puts the calls of two runs side by side.
    ///
    /// ```
    /// use tracer_insight::comparison::{AlignedCalls, CallChange, CallList};
    /// use tracer_sdk::testing::capture;
    ///
    /// let once = capture(|| tracer_sdk::tool_call("search").record());
    /// let twice = capture(|| {
    ///     tracer_sdk::tool_call("search").record()?;
    ///     tracer_sdk::tool_call("search").record()
    /// });
    /// let aligned = AlignedCalls::new(CallList::of(&once.records), CallList::of(&twice.records));
    /// let changes: Vec<CallChange> = aligned.pairs().map(|pair| pair.change).collect();
    /// assert_eq!(changes, [CallChange::Same, CallChange::Repeated]);
    /// ```
    #[must_use]
    pub fn new(before: CallList, after: CallList) -> Self {
        let steps = align(&before, &after);
        let moved = Moved::among(&steps, &before, &after);
        let keys_before: HashSet<CallKey<'_>> = before.iter().map(|call| moved.key(&call)).collect();
        let pairs = steps
            .iter()
            .filter_map(|(left, right)| {
                let calls = (
                    left.and_then(|number| before.get(number)),
                    right.and_then(|number| after.get(number)),
                );
                let (change, left, right) = match (left, right, calls) {
                    (Some(left), _, _) if moved.removed.contains(left) => return None,
                    (None, Some(number), _) if moved.added.contains_key(number) => {
                        (CallChange::Moved, moved.added.get(number).copied(), *right)
                    }
                    (_, _, (Some(was), Some(is))) => (changed(&was, &is), *left, *right),
                    (_, _, (None, Some(is))) if keys_before.contains(&moved.key(&is)) => {
                        (CallChange::Repeated, None, *right)
                    }
                    (None, _, _) => (CallChange::Added, None, *right),
                    (Some(_), _, _) => (CallChange::Removed, *left, None),
                };
                Some(AlignedPair {
                    change,
                    before: left.and_then(|number| u32::try_from(number).ok()),
                    after: right.and_then(|number| u32::try_from(number).ok()),
                })
            })
            .collect();
        drop(keys_before);
        Self {
            before,
            after,
            pairs,
            differences: std::collections::BTreeMap::new(),
        }
    }
}

/// The change of two calls side by side.
fn changed(was: &Call<'_>, is: &Call<'_>) -> CallChange {
    let other_arguments = was
        .fingerprint
        .zip(is.fingerprint)
        .is_some_and(|(left, right)| left != right);
    // A baseline may not know which model a call asked.
    let other_name = was.name != is.name && !was.name.is_empty() && !is.name.is_empty();
    if other_name || was.ends_otherwise(is) || other_arguments {
        CallChange::Changed
    } else {
        CallChange::Same
    }
}

/// Calls that were removed in one place and added in another.
struct Moved {
    /// `true` when the arguments of both sides are known.
    with_arguments: bool,
    /// By number in the run before.
    removed: HashSet<usize>,
    /// From the number in the run after to that in the run before.
    added: HashMap<usize, usize>,
}

impl Moved {
    fn among(steps: &[AlignedStep], before: &CallList, after: &CallList) -> Self {
        let knows =
            |calls: &CallList| calls.is_empty() || calls.iter().any(|call| call.fingerprint.is_some());
        let mut moved = Self {
            with_arguments: knows(before) && knows(after),
            removed: HashSet::new(),
            added: HashMap::new(),
        };
        let mut removed: HashMap<CallKey<'_>, VecDeque<usize>> = HashMap::new();
        for (left, right) in steps {
            if let (Some(number), None) = (left, right)
                && let Some(call) = before.get(*number)
            {
                removed.entry(moved.key(&call)).or_default().push_back(*number);
            }
        }
        for (left, right) in steps {
            if let (None, Some(number)) = (left, right)
                && let Some(call) = after.get(*number)
                && let Some(origin) = removed.get_mut(&moved.key(&call)).and_then(VecDeque::pop_front)
            {
                moved.removed.insert(origin);
                moved.added.insert(*number, origin);
            }
        }
        moved
    }

    fn key<'a>(&self, call: &Call<'a>) -> CallKey<'a> {
        let fingerprint = call.fingerprint.filter(|_| self.with_arguments);
        (call.event_type, call.name, fingerprint)
    }
}
