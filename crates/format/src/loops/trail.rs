//! The records of a stored run as loop detection sees them: attempts folded, warnings judged by what they rest on.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::LoopWarning;
use super::asked::{Asked, Likeness, TrailKind};
use super::branch::{self, SpanTree};
use super::detector::{LoopDetector, WarnedPatterns};
use super::signature::{StepSignature, signature_of};
use super::value;
use crate::{Payload, Record, Timestamp};

/// Key in the `meta` of an attempt: the ID of the call.
pub(crate) const ATTEMPT_OF: &str = "attempt_of";

/// Key in the `meta` of a call on the wire: the number of its conversation.
pub(crate) const CONVERSATION: &str = "conversation_number";

/// The window that loops are looked for in, unless a warning says that the run's was larger.
const WINDOW: usize = 12;
/// A run that claims a larger window is searched with this one.
const MAX_WINDOW: usize = 1024;

/// State kept for a run: a few hashes for each call and state, and the warnings.
#[derive(Debug, Default)]
pub struct Trail {
    entries: Vec<TrailEntry>,
    /// Many records, few signatures.
    signatures: HashSet<Rc<str>>,
    warnings: Vec<Warning>,
    spans: SpanTree,
}

/// A model call, a tool call or a state update.
#[derive(Debug)]
pub struct TrailEntry {
    /// The signature that the loop detection of the recorder compares.
    pub signature: Rc<str>,
    /// The further fields that are compared.
    pub asked: Asked,
    id: u64,
    parent: Option<u64>,
    conversation: Option<u64>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

/// The steps of one agent or of one of several concurrent tasks; loops are detected within a branch.
#[derive(Debug, Default)]
pub struct Branch {
    /// The places of its entries in the trail, in order.
    pub places: Vec<usize>,
}

/// A loop warning that is stored.
#[derive(Debug)]
struct Warning {
    pattern_length: Option<usize>,
    repetitions: usize,
    window: usize,
    evidence: Vec<u64>,
}

/// The evidence of a warning.
#[derive(Debug)]
pub struct Judged {
    /// Result of comparing the repetitions; `None` for a warning with incomplete evidence, though there are records
    /// that repeat.
    pub likeness: Option<Likeness>,
    /// The places of the entries, in order, attempts left out.
    pub evidence: Vec<usize>,
    /// Length of the block, in entries.
    pub length: usize,
}

impl TrailEntry {
    /// The entry of a record; `None` of one that loop detection ignores.
    fn of(record: &Record, scalar: &impl Fn(Option<&str>, &Value) -> u64) -> Option<Self> {
        Some(Self {
            asked: Asked::of_record(record, scalar)?,
            signature: signature_of(record).into(),
            id: branch::number(&record.event_id),
            parent: record.parent_id.as_deref().map(branch::number),
            conversation: conversation_of(record),
            start: record.ts.parse().ok(),
            end: record.end,
        })
    }

    /// Returns whether `next`, which follows it among calls and states, is a retry. A nested or overlapping call is none.
    fn is_tried_again_by(&self, next: &Self) -> bool {
        let began_before = next.start.zip(self.end).is_some_and(|(start, end)| start < end);
        self.signature == next.signature
            && next.asked.tries_again(&self.asked)
            && next.parent != Some(self.id)
            && !began_before
    }
}

impl Trail {
    /// Takes the next record of the run. `scalar` numbers what stands in values, as `Asked::of_record` does.
    pub fn take(&mut self, record: &Record, scalar: &impl Fn(Option<&str>, &Value) -> u64) {
        self.spans.add(record);
        if let Some(mut entry) = TrailEntry::of(record, scalar) {
            match self.signatures.get(&entry.signature) {
                Some(known) => entry.signature = Rc::clone(known),
                None => drop(self.signatures.insert(Rc::clone(&entry.signature))),
            }
            self.entries.push(entry);
        }
        if let Payload::LoopWarning {
            pattern_length,
            repetitions,
            window_size,
            evidence_event_ids,
            ..
        } = &record.payload
        {
            let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            self.warnings.push(Warning {
                pattern_length: pattern_length.map(number),
                repetitions: number(*repetitions),
                window: number(*window_size),
                evidence: evidence_event_ids.iter().map(|id| branch::number(id)).collect(),
            });
        }
    }

    /// The records so far that loop detection considers.
    pub fn entries(&self) -> &[TrailEntry] {
        &self.entries
    }

    /// The places of the entries of each branch of the run, in order; see [`Branch`].
    pub fn branches(&self) -> Vec<Branch> {
        let mut branches: Vec<Branch> = Vec::new();
        let mut of_spans = self.spans.branches();
        let places = self.entries.iter();
        let places = places.map(|entry| (of_spans.of_child(entry.parent), entry.conversation));
        for (place, number) in branch::number_branches(places.collect()).into_iter().enumerate() {
            if branches.len() <= number {
                branches.resize_with(number + 1, Branch::default);
            }
            if let Some(branch) = branches.get_mut(number) {
                branch.places.push(place);
            }
        }
        branches
    }

    /// Returns whether the recorder warned of a loop.
    pub fn has_warnings(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// Returns whether the run looped: a warning reports a block whose calls are not known to differ, or the run later
    /// came to one, for which there is no second warning. A run without a warning did not loop.
    pub fn has_loop(&self) -> bool {
        !self.warnings.is_empty()
            && (self
                .of_warnings()
                .any(|judged| judged.likeness.is_some_and(Likeness::is_loop))
                || self.first_loop().is_some())
    }

    /// The evidence of each warning, with the result of comparing its repetitions.
    pub fn of_warnings(&self) -> impl Iterator<Item = Judged> {
        let places: HashMap<u64, usize> = (0..)
            .zip(&self.entries)
            .map(|(place, entry)| (entry.id, place))
            .collect();
        let branches = self.branches();
        let calls = self.calls(&branches);
        let repeats = branches.iter().any(|branch| {
            let at_end = self
                .detector()
                .map(|new| self.observe(&branch.places, new, |_| false));
            at_end.is_some_and(|detector| detector.repetitions() > 0)
        });
        let mut branch_of = vec![0; self.entries.len()];
        for (number, branch) in branches.iter().enumerate() {
            for place in &branch.places {
                if let Some(of) = branch_of.get_mut(*place) {
                    *of = number;
                }
            }
        }
        self.warnings.iter().map(move |warning| {
            let evidence: Option<Vec<usize>> = warning
                .evidence
                .iter()
                .map(|id| Some(*calls.get(*places.get(id)?)?))
                .collect();
            match evidence {
                Some(evidence) if !evidence.is_empty() => self.judged(evidence, warning, &branch_of),
                // Missing records prove nothing, unless there are other records that repeat.
                _ => Judged {
                    likeness: (!repeats).then_some(Likeness::Unknown),
                    evidence: Vec::new(),
                    length: 0,
                },
            }
        })
    }

    fn judged(&self, mut evidence: Vec<usize>, warning: &Warning, branch_of: &[usize]) -> Judged {
        let length = warning
            .pattern_length
            .unwrap_or(evidence.len() / warning.repetitions.max(1))
            .max(1);
        evidence.sort_unstable();
        evidence.dedup();
        let entries: Vec<&TrailEntry> = evidence
            .iter()
            .filter_map(|place| self.entries.get(*place))
            .collect();
        let mut in_branches = evidence.iter().map(|place| branch_of.get(*place));
        let first = in_branches.next();
        let is_one_branch = in_branches.all(|branch| Some(branch) == first);
        let likeness = if entries.len() < length.saturating_mul(2) || !is_one_branch {
            // Attempts at one call, or calls of agents at the same time that each made it once.
            Likeness::Differs
        } else {
            compared(&entries, length)
        };
        Judged {
            likeness: Some(likeness),
            evidence,
            length,
        }
    }

    /// For each entry the call that it is an attempt at: itself, unless the next one of its branch tries it again.
    fn calls(&self, branches: &[Branch]) -> Vec<usize> {
        let mut calls: Vec<usize> = (0..self.entries.len()).collect();
        for branch in branches {
            for (place, next) in branch.places.iter().zip(branch.places.iter().skip(1)).rev() {
                let next = calls
                    .get(*next)
                    .copied()
                    .filter(|_| self.is_attempt(*place, *next));
                if let (Some(next), Some(call)) = (next, calls.get_mut(*place)) {
                    *call = next;
                }
            }
        }
        calls
    }

    /// Returns whether the entry at `next`, which follows in its branch, is a retry of the one at `place`.
    pub fn is_attempt(&self, place: usize, next: usize) -> bool {
        let (Some(entry), Some(next)) = (self.entries.get(place), self.entries.get(next)) else {
            return false;
        };
        entry.is_tried_again_by(next)
    }

    /// The loops in the branches of the run, as warnings whose evidence is places in the trail. Calls with an unknown
    /// request are no loops: telemetry often has no content. Equal calls at the same time, as for several samples of one
    /// answer, count as one.
    pub fn loops(&self, window: usize, repetitions: usize) -> Vec<LoopWarning<usize>> {
        let mut loops = Vec::new();
        let is_same = |warning: &LoopWarning<usize>| {
            let evidence = warning.evidence_event_ids.iter();
            let entries: Vec<&TrailEntry> = evidence.filter_map(|place| self.entries.get(*place)).collect();
            compared(&entries, warning.pattern_length) == Likeness::Same
                && asks_the_same(&entries, warning.pattern_length)
        };
        for Branch { mut places } in self.branches() {
            let mut ends: HashMap<(&str, Option<u64>), Option<Timestamp>> = HashMap::new();
            places.retain(|place| {
                let Some(entry) = self.entries.get(*place) else {
                    return false;
                };
                let end = ends.entry((&entry.signature, entry.asked.asked)).or_default();
                let is_at_once = entry.start.zip(*end).is_some_and(|(start, end)| start < end);
                *end = entry.end.max(*end);
                !is_at_once
            });
            let mut warned = 0;
            self.observe(&places, LoopDetector::new(window, repetitions), |detector| {
                let found = detector.loop_warning().filter(|_| detector.loops() > warned);
                if let Some(warning) = found.filter(is_same) {
                    warned = detector.loops();
                    loops.push(warning);
                }
                false
            });
        }
        loops
    }

    /// The first loop that a branch of the run comes to.
    fn first_loop(&self) -> Option<LoopWarning<usize>> {
        let branches = self.branches();
        let loops = branches.iter().filter_map(|branch| {
            let looped = |detector: &LoopDetector<usize>| detector.loops() > 0;
            self.observe(&branch.places, self.detector()?, looped)
                .loop_warning()
        });
        loops.min_by_key(|found| found.evidence_event_ids.last().copied())
    }

    /// The detector when it has observed the entries at these places, up to the one with which `is_enough`.
    fn observe(
        &self,
        places: &[usize],
        mut detector: LoopDetector<usize>,
        mut is_enough: impl FnMut(&LoopDetector<usize>) -> bool,
    ) -> LoopDetector<usize> {
        let mut warned = WarnedPatterns::default();
        for place in places {
            let Some(entry) = self.entries.get(*place) else {
                continue;
            };
            let signature = StepSignature::stored(&entry.signature);
            let _ = detector.observe(&mut warned, &signature, entry.asked, *place);
            if is_enough(&detector) {
                break;
            }
        }
        detector
    }

    /// A detector with the settings that the warnings tell of; `None` without a warning.
    fn detector(&self) -> Option<LoopDetector<usize>> {
        let repetitions = self.warnings.iter().map(|warning| warning.repetitions).min()?;
        let window = self.warnings.iter().map(|warning| warning.window).max()?;
        Some(LoopDetector::new(
            window.clamp(WINDOW, MAX_WINDOW),
            repetitions.max(2),
        ))
    }
}

/// Compares the repetitions of a block of `length` entries.
pub(crate) fn compared(entries: &[&TrailEntry], length: usize) -> Likeness {
    let block = entries.get(..length).unwrap_or(entries);
    let has = |kind| block.iter().any(|entry| entry.asked.kind == kind);
    let with_tools = has(TrailKind::Tool);
    if !with_tools && !has(TrailKind::Model) {
        return Likeness::Differs;
    }
    entries
        .iter()
        .skip(length)
        .zip(entries)
        .map(|(entry, before)| {
            if entry.signature == before.signature {
                entry.asked.compare(&before.asked, with_tools)
            } else {
                Likeness::Differs
            }
        })
        .fold(Likeness::Same, Likeness::and)
}

/// Returns whether the repetitions of a block without tools have the same whole requests, as far as these are known: a last
/// message that is the same may follow another document, or another answer.
fn asks_the_same(entries: &[&TrailEntry], length: usize) -> bool {
    let repeated = entries.iter().skip(length).zip(entries);
    entries.iter().any(|entry| entry.asked.kind == TrailKind::Tool)
        || repeated
            .into_iter()
            .all(|(entry, before)| entry.asked.asked == before.asked.asked)
}

/// Compares the repetitions of a block of `length` records. Attempts at one call, by their `meta`, count as one.
pub fn compare_repetitions(records: &[&Record], length: usize) -> Likeness {
    let mut trail = Trail::default();
    let mut calls = HashSet::new();
    for record in records {
        let call = record.meta.get(ATTEMPT_OF).and_then(Value::as_str);
        if calls.insert(call.unwrap_or(&record.event_id)) {
            trail.take(record, &value::of_scalar);
        }
    }
    let entries: Vec<&TrailEntry> = trail.entries.iter().collect();
    if entries.len() < length.max(1).saturating_mul(2) {
        return Likeness::Differs;
    }
    compared(&entries, length.max(1))
}

/// For each of the records of a run the number of its branch; equal numbers are one branch.
pub fn branches(records: &[&Record]) -> Vec<u64> {
    let mut spans = SpanTree::default();
    for record in records {
        spans.add(record);
    }
    let mut branches = spans.branches();
    let places = records.iter().map(|record| {
        let parent = record.parent_id.as_deref().map(branch::number);
        (branches.of_child(parent), conversation_of(record))
    });
    let numbers = branch::number_branches(places.collect());
    numbers.into_iter().map(|number| number as u64).collect()
}

fn conversation_of(record: &Record) -> Option<u64> {
    record.meta.get(CONVERSATION).and_then(Value::as_u64)
}

/// The first loop that a run with these records comes to: the numbers of its records, from 0, and how many the block
/// has.
pub fn first_loop(records: &[&Record]) -> Option<(Vec<usize>, usize)> {
    let mut trail = Trail::default();
    let mut numbers = Vec::new();
    for (number, record) in records.iter().enumerate() {
        let before = trail.entries.len();
        trail.take(record, &value::of_scalar);
        if trail.entries.len() > before {
            numbers.push(number);
        }
    }
    let found = trail.first_loop()?;
    let places = found.evidence_event_ids.iter();
    let numbers = places.filter_map(|place| numbers.get(*place).copied());
    Some((numbers.collect(), found.pattern_length))
}

/// Returns whether `next`, which follows `record` among calls and states, is a retry: a failed call is an attempt at
/// the same call that directly follows it. A nested or overlapping call is no retry.
pub fn is_attempt(record: &Record, next: &Record) -> bool {
    let entry = |record| TrailEntry::of(record, &value::of_scalar);
    // Most calls did not fail.
    record.outcome().is_failure()
        && entry(record)
            .zip(entry(next))
            .is_some_and(|(record, next)| record.is_tried_again_by(&next))
}
