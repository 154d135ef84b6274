//! The correlation of a scanned run: its entries and sums, where several reporters have a call.

use std::collections::HashMap;

use super::tally::Tally;
use crate::read::log::{IdTable, LineReader};
use tracer_format::parse::parse_span;
use tracer_format::project::IndexEntry;
use tracer_format::project::{
    Ancestor, CallReport, Correlation, RepeatableTypes, ReportedArguments, correlate,
};

/// Finds the calls that are recorded more than once, and takes those that repeat them out of the entries and the sums.
pub(super) fn correlate_entries(
    entries: &mut [IndexEntry],
    tally: &mut Tally,
    lines: Option<&mut LineReader>,
) -> Correlation {
    let calls = std::mem::take(&mut tally.calls);
    let (false, Some(lines)) = (calls.is_empty(), lines) else {
        return Correlation::default();
    };
    let entry_at =
        |entries: &[IndexEntry], line: u64| entries.binary_search_by_key(&line, IndexEntry::line).ok();
    let is_shown = |entries: &[IndexEntry], call: &CallReport| {
        let entry = entry_at(entries, call.place.line).and_then(|at| entries.get(at));
        entry.is_some_and(IndexEntry::is_shown)
    };
    let shown_calls = || calls.iter().filter(|call| is_shown(entries, call));
    let repeatable = RepeatableTypes::of(shown_calls().map(|call| call.event_type));
    let found = shown_calls().count();
    let mut table = IdTable::with_room_for(entries.len());
    for position in 0..u32::try_from(entries.len()).unwrap_or(u32::MAX) {
        if entries.get(position as usize).is_some_and(IndexEntry::is_shown) {
            table.insert(entries, position);
        }
    }
    let ancestor = |span| {
        let entry = entries.get(table.find(entries, span)? as usize);
        entry.map(Ancestor::from)
    };
    let is_repeatable = |entry: &&IndexEntry| entry.is_shown() && repeatable.contains(entry.event_type());
    // Most runs have one emitter for each type of call, which recorded each of them once.
    if entries.iter().filter(is_repeatable).count() == found && !calls.may_repeat(ancestor) {
        return Correlation::default();
    }
    let mut reports: Vec<CallReport> = shown_calls().collect();
    let is_found = |reports: &[CallReport], line: u64| {
        let found = reports.get(..found).unwrap_or_default();
        found.binary_search_by_key(&line, |call| call.place.line).is_ok()
    };
    for entry in entries.iter().filter(is_repeatable) {
        if is_found(&reports, entry.line()) {
            continue;
        }
        let bytes = lines.read(entry.place()).unwrap_or_default();
        // One that can no longer be read is reported when it is read.
        reports.extend(
            parse_span(bytes).and_then(|span| CallReport::of(&span, entry.event_type(), entry.place())),
        );
    }
    reports.sort_by_key(|call| call.place);
    let arguments = |place| {
        let bytes = lines.read(place).ok()?;
        parse_span(bytes).as_ref().map(ReportedArguments::of_span)
    };
    let same = correlate(&reports, ancestor, arguments);
    if same.is_empty() {
        return same;
    }
    let by_line: HashMap<u64, &CallReport> = reports.iter().map(|call| (call.place.line, call)).collect();
    for line in same.no_calls() {
        if let (Some(at), Some(call)) = (entry_at(entries, line), by_line.get(&line))
            && let Some(entry) = entries.get_mut(at)
        {
            entry.mark_leftover(same.is_repeat(line));
            entry.mark_step(!same.is_repeat(line));
            entry.set_outcome(call.span_outcome);
            tally.tokens = tally.tokens.without(call.usage.into());
        }
    }
    for (line, outcome) in same.outcomes(&reports) {
        if let Some(entry) = entry_at(entries, line).and_then(|at| entries.get_mut(at)) {
            entry.set_outcome(outcome);
        }
    }
    for (line, usage) in same.usages(&reports) {
        if let Some(call) = by_line.get(&line) {
            tally.tokens = tally.tokens.without(call.usage.into()).and(usage.into());
        }
    }
    same
}
